/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Rows of dzo bench msf whose graphs lie in host memory: they must cross the bus, whole or, with
 * little GPU memory, in pieces. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_gpu.h"
#include "device/rates.h"
#include "device/transfer.h"
#include "graph/csr.h"
#include "msf/gpu_check.h"
#include "msf/seed.h"

enum { REPEATS = 5, SEED_REPEATS = 2, LARGE_SCALE = 24, ARC_BYTES = 8, MAX_ROWS = 64 };

#define LITTLE_MEMORY (UINT64_C(1) << 30)

typedef struct host_case {
  const char *kind;
  unsigned scale;
  bool all; /* pinned and pageable, with much and with little GPU memory */
} host_case;

static const host_case full[] = {
    {"rmat", 24, true}, {"ssca2", 24, false}, {"uniform", 22, false}, {"grid", 24, false}};
static const host_case any_scale[] = {
    {"rmat", 0, true}, {"ssca2", 0, false}, {"uniform", 0, false}, {"grid", 0, false}};

enum { QUICK_SCALE = 16 };

/* Who solves from where. */
typedef struct contestant {
  dzo_device device;
  bool seed;   /* the contest's method, which reads the arcs over the bus in every round */
  bool pinned; /* the graph lies in pinned memory */
  bool little; /* GPU memory */
} contestant;

typedef struct host_row {
  host_case of;
  contestant by;
  uint64_t gpu_memory; /* 0: all */
  uint64_t vertices, edges, arcs;
  double median, least;
  double bus;    /* seconds that the arcs, at 8 bytes, take over the bus */
  double single; /* of a hybrid: the better device alone; 0: unknown */
  dzo_device worked;
  char plan[256], notice[256], reason[256];
  bool verified;
} host_row;

/* One graph, in up to two kinds of memory, and its forest. */
typedef struct host_graph {
  gpu_bench *bench;
  host_case of;
  dzo_graph *pageable, *pinned;
  dzo_context *pinned_context;
  uint64_t *numbers;
  uint64_t count;
  bool verified; /* the forest */
  char reason[256];
} host_graph;

typedef struct host_job {
  gpu_bench *bench;
  bool hybrid;
  host_row rows[MAX_ROWS];
  size_t count;
} host_job;

/* ---- Graphs ---------------------------------------------------------------------------------- */

static void *allocate_pinned(void *user, size_t bytes) {
  void *block = NULL;
  return dzo_unit_allocate_staging(user, bytes, 1, &block) == DZO_OK ? block : NULL;
}

static void release_pinned(void *user, void *block) { dzo_unit_release_staging(user, block); }

/* A context whose memory is pinned. */
static dzo_status make_pinned_context(host_graph *g) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.threads = g->bench->machine.threads;
  options.allocator = (dzo_allocator){g->bench->unit, allocate_pinned, release_pinned};
  return dzo_context_create(&options, &g->pinned_context);
}

/* The forest, and whether the checker on the GPU agrees. */
static dzo_status solve_once(host_graph *g, const dzo_gpu_csr *csr) {
  gpu_bench *bench = g->bench;
  msf_gpu_graph on_gpu = msf_gpu_graph_of(csr, false);
  msf_gpu_forest forest = {0};
  msf_gpu_verdict verdict = {0};
  DZO_TRY(
      dzo_unit_allocate(bench->unit, csr->vertices, sizeof *forest.arcs, (void **)&forest.arcs));
  dzo_status status = msf_gpu_solve(bench->unit, &on_gpu, &forest);
  if (status == DZO_OK)
    status = msf_gpu_check(bench->unit, &on_gpu, forest.arcs, forest.count, &verdict);
  if (status == DZO_OK)
    status = gpu_bench_numbers(bench, csr, &forest, &g->numbers);
  g->count = forest.count;
  g->verified = verdict.valid;
  (void)snprintf(g->reason, sizeof g->reason, "%s", verdict.reason);
  dzo_unit_release(bench->unit, forest.arcs);
  dzo_unit_workspace_release(bench->unit);
  return status;
}

static dzo_status fetch_graphs(host_graph *g, const dzo_gpu_edges *edges, dzo_gpu_csr *csr) {
  const dzo_gpu_csr_choices choices = {.numbers = true};
  DZO_TRY(dzo_gpu_csr_from_edges(edges, &choices, csr));
  DZO_TRY(solve_once(g, csr));
  DZO_TRY(dzo_gpu_csr_download(g->bench->context, csr, edges, &g->pageable));
  if (!g->of.all)
    return DZO_OK;
  DZO_TRY(make_pinned_context(g));
  return dzo_gpu_csr_download(g->pinned_context, csr, edges, &g->pinned);
}

static dzo_status make_graphs(host_graph *g) {
  dzo_gpu_edges edges = {0};
  dzo_gpu_csr csr = {0};
  dzo_status status = gpu_bench_generate(g->bench, g->of.kind, g->of.scale, DZO_WEIGHT_U32, &edges);
  if (status == DZO_OK)
    status = fetch_graphs(g, &edges, &csr);
  dzo_gpu_csr_destroy(&csr);
  dzo_gpu_edges_destroy(&edges);
  return status;
}

static void free_graphs(host_graph *g) {
  dzo_graph_destroy(g->pageable);
  dzo_graph_destroy(g->pinned);
  dzo_context_destroy(g->pinned_context);
  dzo_free(g->numbers);
}

/* ---- Solving --------------------------------------------------------------------------------- */

/* What --gpu-memory says; or 1 GiB, which large graphs exceed; small ones get a sixth. */
static uint64_t little_memory(const host_graph *g) {
  const dzo_graph *graph = g->pageable;
  uint64_t given = g->bench->settings->common.gpu_memory;
  if (given != 0 || g->of.scale >= LARGE_SCALE)
    return given != 0 ? given : LITTLE_MEMORY;
  return graph->arcs * ARC_BYTES / 6 + graph->vertices * 100 + (UINT64_C(1) << 20);
}

static void take_answer(const host_graph *g, dzo_context *context, const dzo_msf *msf,
                        host_row *row) {
  row->verified = g->verified && gpu_bench_same(msf, g->numbers, g->count);
  row->worked = dzo_msf_device(msf);
  (void)snprintf(row->plan, sizeof row->plan, "%s", dzo_msf_plan(msf));
  (void)snprintf(row->notice, sizeof row->notice, "%.250s", dzo_context_notice(context));
  if (!row->verified)
    (void)snprintf(row->reason, sizeof row->reason, "%.250s",
                   g->verified ? "other edges than the verified forest has" : g->reason);
}

static dzo_status solve_on(const host_graph *g, dzo_context *context, host_row *row) {
  enum { MOST = 1000 };
  const dzo_graph *graph = row->by.pinned ? g->pinned : g->pageable;
  double times[MOST];
  uint64_t repeats = gpu_bench_repeats(g->bench, REPEATS);
  dzo_msf *msf = NULL;
  dzo_status status = DZO_OK;
  /* Once beforehand: memory is taken, and rates are learnt. */
  for (uint64_t i = 0; i <= repeats && status == DZO_OK; i++) {
    dzo_msf_destroy(msf);
    msf = NULL;
    double begun = cli_now();
    status = dzo_msf_run(context, graph, NULL, &msf);
    if (i > 0)
      times[i - 1] = cli_now() - begun;
  }
  if (status == DZO_OK)
    take_answer(g, context, msf, row);
  if (status == DZO_OK)
    bench_summarize(times, repeats, &row->median, &row->least);
  dzo_msf_destroy(msf);
  return status;
}

static dzo_status run_contestant(const host_graph *g, host_row *row) {
  dzo_context *context = NULL;
  dzo_status status = gpu_bench_context(g->bench, row->by.device, row->gpu_memory,
                                        dzo_graph_bytes(g->pageable), &context);
  if (status == DZO_OK)
    status = solve_on(g, context, row);
  if (status != DZO_OK && context != NULL)
    (void)dzo_fail(g->bench->context, status, "%s", dzo_context_message(context));
  dzo_context_destroy(context);
  return status;
}

static dzo_status check_seed(const host_graph *g, const msf_gpu_forest *forest, host_row *row) {
  dzo_context *context = g->bench->context;
  uint64_t count = forest->count;
  uint64_t *arcs = dzo_alloc(context, count, sizeof *arcs);
  dzo_status status = arcs == NULL ? DZO_E_MEMORY : DZO_OK;
  if (status == DZO_OK)
    status = dzo_unit_fetch(g->bench->unit, arcs, forest->arcs, count * sizeof *arcs);
  if (status == DZO_OK)
    status = gpu_bench_number(g->bench, arcs, count, g->pinned->numbers32, row->arcs, row->edges);
  row->verified = status == DZO_OK && g->verified && count == g->count &&
                  (count == 0 || memcmp(arcs, g->numbers, count * sizeof *arcs) == 0);
  if (!row->verified)
    (void)snprintf(row->reason, sizeof row->reason, "other edges than the verified forest has");
  dzo_free(arcs);
  return status;
}

static dzo_status run_seed(const host_graph *g, host_row *row) {
  dzo_unit *unit = g->bench->unit;
  double times[SEED_REPEATS];
  msf_gpu_forest forest = {0};
  DZO_TRY(dzo_unit_allocate(unit, row->vertices, sizeof *forest.arcs, (void **)&forest.arcs));
  dzo_status status = DZO_OK;
  for (int i = 0; i <= SEED_REPEATS && status == DZO_OK; i++) {
    double begun = cli_now();
    status = msf_seed_solve_host(unit, g->pinned, false, &forest);
    if (i > 0)
      times[i - 1] = cli_now() - begun;
  }
  if (status == DZO_OK)
    status = check_seed(g, &forest, row);
  if (status == DZO_OK)
    bench_summarize(times, SEED_REPEATS, &row->median, &row->least);
  row->worked = DZO_DEVICE_CUDA;
  (void)snprintf(row->plan, sizeof row->plan, "%s", forest.plan);
  dzo_unit_release(unit, forest.arcs);
  dzo_unit_workspace_release(unit);
  return status;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void print_header(const gpu_machine *m) {
  (void)printf("%s; %s, %d threads; the bus moves %.1f GB/s\n\n", m->gpu, m->processor, m->threads,
               m->bus_rate / 1e9);
  (void)printf("%-11s %-8s %-9s %-7s %9s %11s %7s %6s %8s %s\n", "graph", "memory", "on GPU",
               "device", "ms", "(min)", "GB/s", "x bus", "MTEPS", "x single");
}

static void print_row(const host_row *row) {
  char name[32], memory[32] = "all", least[32];
  (void)snprintf(name, sizeof name, "%s.%u", row->of.kind, row->of.scale);
  if (row->gpu_memory != 0)
    cli_bytes_text(row->gpu_memory, memory);
  (void)printf("%-11s %-8s %-9s %-7s ", name, row->by.pinned ? "pinned" : "pageable", memory,
               row->by.seed ? "seed" : cli_device_name(row->by.device));
  if (!row->verified) {
    (void)printf("not verified: %s\n", row->reason);
    return;
  }
  (void)snprintf(least, sizeof least, "(%.2f)", row->least * 1e3);
  (void)printf("%9.2f %11s %7.1f %6.2f %8.0f", row->median * 1e3, least,
               (double)(row->arcs * ARC_BYTES) / row->median / 1e9, row->median / row->bus,
               (double)row->edges / row->median / 1e6);
  if (row->single > 0)
    (void)printf(" %8.3f", row->single / row->median);
  if (row->worked != row->by.device)
    (void)printf(" by the %s%s%s", cli_device_name(row->worked), row->notice[0] != '\0' ? ": " : "",
                 row->notice);
  (void)putchar('\n');
}

static void print_notes(void) {
  (void)fputs(
      "\nms: dzo_msf_run() of a graph in host memory, the result there too. GB/s: 8 bytes an "
      "arc. x bus: ms in units of the\ntime that these bytes take over the bus. x single: "
      "the better device alone / ms. seed: the method of the contest's\nentry, which reads "
      "the arcs over the bus in every round. Every row has the edges of a verified forest.\n",
      stdout);
}

static void json_row(cli_json *json, const host_row *row) {
  cli_json_open_object(json, NULL);
  cli_json_text(json, "graph", row->of.kind);
  cli_json_count(json, "scale", row->of.scale);
  cli_json_text(json, "memory", row->by.pinned ? "pinned" : "pageable");
  cli_json_count(json, "gpu_memory", row->gpu_memory);
  cli_json_text(json, "device", cli_device_name(row->by.device));
  cli_json_text(json, "method", row->by.seed ? "seed" : "dzo");
  cli_json_count(json, "vertices", row->vertices);
  cli_json_count(json, "edges", row->edges);
  cli_json_count(json, "arcs", row->arcs);
  cli_json_flag(json, "verified", row->verified);
  if (!row->verified) {
    cli_json_text(json, "reason", row->reason);
    cli_json_close_object(json);
    return;
  }
  cli_json_text(json, "worked", cli_device_name(row->worked));
  cli_json_text(json, "plan", row->plan);
  if (row->notice[0] != '\0')
    cli_json_text(json, "notice", row->notice);
  cli_json_open_object(json, "seconds");
  cli_json_seconds(json, "solve", row->median);
  cli_json_seconds(json, "solve_min", row->least);
  cli_json_seconds(json, "bus", row->bus);
  cli_json_close_object(json);
  cli_json_real(json, "bytes_per_second", (double)(row->arcs * ARC_BYTES) / row->median);
  cli_json_real(json, "x_bus", row->median / row->bus);
  cli_json_real(json, "mteps", (double)row->edges / row->median / 1e6);
  if (row->single > 0)
    cli_json_real(json, "x_single", row->single / row->median);
  cli_json_close_object(json);
}

static void print_json(const host_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, true);
  cli_json_open_object(&json, NULL);
  gpu_bench_json_machine(&json, job->bench);
  cli_json_text(&json, "device", job->hybrid ? "hybrid" : "cuda");
  cli_json_text(&json, "from", "host");
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < job->count; i++)
    json_row(&json, &job->rows[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

/* ---- All rows -------------------------------------------------------------------------------- */

/* The better device alone with the same memory, of the same graph. */
static double best_single(const host_job *job, const host_row *of) {
  double best = 0;
  for (size_t i = 0; i < job->count; i++) {
    const host_row *row = &job->rows[i];
    bool comparable = row->verified && !row->by.seed && row->by.device != DZO_DEVICE_HYBRID &&
                      strcmp(row->of.kind, of->of.kind) == 0;
    if (row->by.device == DZO_DEVICE_CUDA)
      comparable = comparable && row->by.little == of->by.little && row->by.pinned == of->by.pinned;
    if (comparable && (best == 0 || row->median < best))
      best = row->median;
  }
  return best;
}

static cli_exit add_row(host_job *job, const host_graph *g, contestant by) {
  gpu_bench *bench = job->bench;
  const dzo_graph *graph = g->pageable;
  if (job->count == MAX_ROWS || (by.pinned && g->pinned == NULL))
    return CLI_DONE;
  host_row *row = &job->rows[job->count];
  *row = (host_row){.of = g->of,
                    .by = by,
                    .gpu_memory = by.little ? little_memory(g) : 0,
                    .vertices = graph->vertices,
                    .edges = graph->edges,
                    .arcs = graph->arcs,
                    .bus = (double)(graph->arcs * ARC_BYTES) / bench->machine.bus_rate};
  dzo_status status = by.seed ? run_seed(g, row) : run_contestant(g, row);
  if (status != DZO_OK) {
    cli_error("bench: %s.%u: %s", g->of.kind, g->of.scale, dzo_context_message(bench->context));
    return CLI_FAILED;
  }
  if (by.device == DZO_DEVICE_HYBRID)
    row->single = best_single(job, row);
  job->count++;
  bench->wrong = bench->wrong || !row->verified;
  if (bench->call->common->json)
    return CLI_DONE;
  print_row(row);
  return cli_flush(bench->call);
}

static cli_exit run_all(host_job *job, const host_graph *g) {
  static const contestant contestants[] = {
      {DZO_DEVICE_CPU, false, false, false},    {DZO_DEVICE_CUDA, false, false, false},
      {DZO_DEVICE_HYBRID, false, false, false}, {DZO_DEVICE_CUDA, false, true, false},
      {DZO_DEVICE_HYBRID, false, true, false},  {DZO_DEVICE_CUDA, false, false, true},
      {DZO_DEVICE_HYBRID, false, false, true},  {DZO_DEVICE_CUDA, false, true, true},
      {DZO_DEVICE_HYBRID, false, true, true},   {DZO_DEVICE_CUDA, true, true, false},
  };
  for (size_t i = 0; i < sizeof contestants / sizeof contestants[0]; i++) {
    contestant by = contestants[i];
    if ((!job->hybrid && by.device != DZO_DEVICE_CUDA) ||
        (!g->of.all && (by.pinned || by.little || by.seed)))
      continue;
    cli_exit result = add_row(job, g, by);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

static cli_exit run_graph(host_job *job, host_case of) {
  gpu_bench *bench = job->bench;
  host_graph graph = {.bench = bench, .of = of};
  dzo_status status = make_graphs(&graph);
  cli_exit result = CLI_FAILED;
  if (status == DZO_OK)
    result = run_all(job, &graph);
  else
    cli_error("bench: %s.%u: %s", of.kind, of.scale, dzo_context_message(bench->context));
  free_graphs(&graph);
  return result;
}

static cli_exit run_graphs(host_job *job) {
  const bench_settings *settings = job->bench->settings;
  bool any = settings->quick || settings->scale != 0;
  const host_case *cases = any ? any_scale : full;
  for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) {
    host_case of = cases[i];
    if (any)
      of.scale = settings->scale != 0 ? (unsigned)settings->scale : QUICK_SCALE;
    if (strcmp(settings->graph, "all") != 0 && strcmp(settings->graph, of.kind) != 0)
      continue;
    of.all = of.all || strcmp(settings->graph, "all") != 0;
    cli_exit result = run_graph(job, of);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

cli_exit gpu_bench_host(gpu_bench *bench) {
  host_job job = {.bench = bench,
                  .hybrid = bench->settings->common.device.kind == DZO_DEVICE_HYBRID};
  uint64_t bytes = UINT64_C(1) << (gpu_bench_is_small(bench->settings) ? 20 : 28);
  if (dzo_gpu_bus_rate(bench->unit, bytes, &bench->machine.bus_rate) != DZO_OK) {
    cli_error("bench: %s", dzo_context_message(bench->context));
    return CLI_FAILED;
  }
  bool json = bench->call->common->json;
  if (!json)
    print_header(&bench->machine);
  cli_exit result = run_graphs(&job);
  if (result != CLI_DONE)
    return result;
  if (json)
    print_json(&job);
  else if (!bench->wrong)
    print_notes();
  return gpu_bench_verdict(bench);
}
