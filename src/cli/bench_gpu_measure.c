/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One row of dzo bench msf for a graph in GPU memory: it is made there, solved, and the answer
 * checked. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_gpu.h"
#include "msf/gpu_check.h"
#include "msf/seed.h"

enum {
  HOST_SCALE = 22, /* larger graphs are verified on the GPU, unless --verify */
  CALL_SCALE = 24, /* larger graphs have no copy on the host */
  REPEATS = 7,
  SEED_REPEATS = 3,
  CALL_REPEATS = 5
};

typedef struct gpu_run {
  gpu_bench *bench;
  gpu_prepared *prepared;
  gpu_row *row;
  dzo_gpu_edges edges;
  dzo_gpu_csr csr;
  dzo_edge_list *list; /* to be verified on the host, or NULL */
  dzo_graph *graph;    /* to be solved with the result on the host, or NULL */
  msf_gpu_graph on_gpu;
  msf_gpu_forest forest;
} gpu_run;

/* ---- Making the graph ------------------------------------------------------------------------ */

static bool on_host(const gpu_run *run) {
  return run->row->of.scale <= HOST_SCALE || run->bench->settings->common.verify;
}

static bool with_call(const gpu_run *run) {
  const gpu_case *of = &run->row->of;
  return of->form == GPU_BY_NEIGHBOUR && of->weights == DZO_WEIGHT_U32 && of->scale <= CALL_SCALE;
}

/* Renumbered on the CPU, and kept for the next row. */
static dzo_status renumber(gpu_run *run) {
  gpu_prepared *p = run->prepared;
  const gpu_case *of = &run->row->of;
  dzo_context *context = run->bench->context;
  if (p->graph != NULL && strcmp(p->kind, of->kind) == 0 && p->scale == of->scale)
    return DZO_OK;
  dzo_graph_destroy(p->graph);
  p->graph = NULL;
  p->kind = of->kind;
  p->scale = of->scale;
  DZO_TRY(dzo_gpu_csr_download(context, &run->csr, &run->edges, &p->graph));
  return dzo_graph_renumber(context, p->graph);
}

static dzo_status replace_by_prepared(gpu_run *run) {
  DZO_TRY(renumber(run));
  dzo_gpu_csr_destroy(&run->csr);
  if (run->row->of.form == GPU_COMPRESSED)
    DZO_TRY(dzo_graph_compress(run->bench->context, run->prepared->graph));
  return dzo_gpu_csr_upload(run->bench->unit, run->prepared->graph, on_host(run), &run->csr);
}

static dzo_status make_graph(gpu_run *run) {
  const gpu_case *of = &run->row->of;
  dzo_context *context = run->bench->context;
  bool prepare = of->form == GPU_RENUMBERED || of->form == GPU_COMPRESSED;
  const dzo_gpu_csr_choices choices = {
      .numbers = on_host(run) || with_call(run) || prepare,
      .presort = of->form == GPU_BY_WEIGHT,
      .raw = of->weights == DZO_WEIGHT_F64,
  };
  DZO_TRY(gpu_bench_generate(run->bench, of->kind, of->scale, of->weights, &run->edges));
  DZO_TRY(dzo_gpu_csr_from_edges(&run->edges, &choices, &run->csr));
  if (on_host(run))
    DZO_TRY(dzo_gpu_edges_download(context, &run->edges, &run->list));
  if (prepare)
    DZO_TRY(replace_by_prepared(run));
  else if (with_call(run))
    DZO_TRY(dzo_gpu_csr_download(context, &run->csr, &run->edges, &run->graph));
  dzo_gpu_edges_destroy(&run->edges);
  return DZO_OK;
}

static void describe(gpu_run *run) {
  gpu_row *row = run->row;
  const dzo_gpu_csr *csr = &run->csr;
  uint64_t keys = csr->keys32 != NULL ? 4 : csr->keys64 != NULL ? 8 : 0;
  row->vertices = csr->vertices;
  row->edges = csr->edges;
  row->arcs = csr->arcs;
  row->neighbour_bytes =
      csr->compressed != NULL ? dzo_compressed_bytes(csr->compressed) : csr->arcs * 4;
  row->graph_bytes = (csr->vertices + 1) * 8 + row->neighbour_bytes + csr->arcs * keys;
  row->workspace_bytes = msf_gpu_workspace_bytes(&run->on_gpu);
  row->floor = (double)row->graph_bytes / run->bench->machine.read_rate;
}

/* ---- Solving --------------------------------------------------------------------------------- */

static dzo_status solve(gpu_run *run) {
  gpu_bench *bench = run->bench;
  gpu_row *row = run->row;
  DZO_TRY(dzo_unit_allocate(bench->unit, row->vertices, sizeof *run->forest.arcs,
                            (void **)&run->forest.arcs));
  DZO_TRY(gpu_bench_time(bench, msf_gpu_solve, &run->on_gpu, &run->forest, bench->settings->repeats,
                         &row->median, &row->least));
  (void)snprintf(row->plan, sizeof row->plan, "%s", run->forest.plan);
  row->forest_edges = run->forest.count;
  return DZO_OK;
}

/* The steps, of a run that is slower for being measured. */
static dzo_status solve_in_steps(gpu_run *run) {
  msf_gpu_forest timed = run->forest;
  timed.timed = true;
  DZO_TRY(msf_gpu_solve(run->bench->unit, &run->on_gpu, &timed));
  (void)snprintf(run->row->steps, sizeof run->row->steps, "%s", timed.plan);
  return DZO_OK;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static dzo_status check_on_gpu(gpu_run *run, const msf_gpu_forest *forest, const char *of,
                               msf_gpu_verdict *verdict) {
  gpu_row *row = run->row;
  DZO_TRY(msf_gpu_check(run->bench->unit, &run->on_gpu, forest->arcs, forest->count, verdict));
  row->verified = row->verified && verdict->valid;
  if (!verdict->valid)
    (void)snprintf(row->reason, sizeof row->reason, "%s: %.200s", of, verdict->reason);
  return DZO_OK;
}

static dzo_status check_on_host(gpu_run *run) {
  gpu_row *row = run->row;
  dzo_context *context = run->bench->host;
  uint64_t *numbers;
  DZO_TRY(gpu_bench_numbers(run->bench, &run->csr, &run->forest, &numbers));
  dzo_edges edges;
  dzo_edge_list_view(run->list, &edges);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = run->forest.count;
  claim.numbers = numbers;
  int valid = 0;
  dzo_status status = dzo_msf_verify(context, &edges, &claim, &valid);
  dzo_free(numbers);
  row->on_host = true;
  row->verified = row->verified && valid == 1;
  if (status == DZO_OK && valid != 1)
    (void)snprintf(row->reason, sizeof row->reason, "%.250s", dzo_context_message(context));
  else if (status != DZO_OK)
    (void)dzo_fail(run->bench->context, status, "%s", dzo_context_message(context));
  return status;
}

static dzo_status check(gpu_run *run) {
  double begun = cli_now();
  msf_gpu_verdict verdict = {0};
  run->row->verified = true;
  DZO_TRY(check_on_gpu(run, &run->forest, "dzo", &verdict));
  run->row->components = verdict.components;
  if (on_host(run))
    DZO_TRY(check_on_host(run));
  run->row->verify = cli_now() - begun;
  return DZO_OK;
}

/* ---- Others beside it ------------------------------------------------------------------------ */

/* The contest's method on the same rows. */
static dzo_status measure_seed(gpu_run *run) {
  gpu_row *row = run->row;
  gpu_bench *bench = run->bench;
  msf_gpu_verdict verdict = {0};
  msf_gpu_forest forest = {0};
  DZO_TRY(
      dzo_unit_allocate(bench->unit, row->vertices, sizeof *forest.arcs, (void **)&forest.arcs));
  dzo_status status = gpu_bench_time(bench, msf_seed_solve, &run->on_gpu, &forest, SEED_REPEATS,
                                     &row->seed_median, &row->seed_least);
  if (status == DZO_OK)
    status = check_on_gpu(run, &forest, "the contest's method", &verdict);
  dzo_unit_release(bench->unit, forest.arcs);
  return status;
}

static dzo_status call_on(gpu_run *run, dzo_context *context, const uint64_t *numbers) {
  gpu_row *row = run->row;
  double times[CALL_REPEATS];
  dzo_msf *msf = NULL;
  dzo_status status = dzo_graph_upload(context, run->graph);
  for (int i = -1; i < CALL_REPEATS && status == DZO_OK; i++) {
    dzo_msf_destroy(msf);
    msf = NULL;
    double begun = cli_now();
    status = dzo_msf_run(context, run->graph, NULL, &msf);
    if (i >= 0)
      times[i] = cli_now() - begun;
  }
  /* It counts only if the GPU did it. */
  if (status == DZO_OK && dzo_msf_device(msf) == DZO_DEVICE_CUDA)
    bench_summarize(times, CALL_REPEATS, &row->call_median, &row->call_least);
  if (status == DZO_OK)
    (void)snprintf(row->call_plan, sizeof row->call_plan, "%s", dzo_msf_plan(msf));
  if (status == DZO_OK && !gpu_bench_same(msf, numbers, run->forest.count)) {
    row->verified = false;
    (void)snprintf(row->reason, sizeof row->reason, "dzo_msf_run() gave other edges");
  }
  dzo_msf_destroy(msf);
  return status;
}

/* What a caller waits for: the graph is on the GPU, the forest ends on the host. Its context keeps
 * memory, as the CPU's rows have it. */
static dzo_status measure_call(gpu_run *run) {
  gpu_bench *bench = run->bench;
  uint64_t *numbers;
  dzo_context *context = NULL;
  DZO_TRY(gpu_bench_numbers(bench, &run->csr, &run->forest, &numbers));
  /* Its copy takes the place of ours. */
  dzo_gpu_csr_destroy(&run->csr);
  dzo_unit_workspace_release(bench->unit);
  dzo_status status =
      gpu_bench_context(bench, DZO_DEVICE_CUDA, 0, dzo_graph_bytes(run->graph), &context);
  if (status == DZO_OK)
    status = call_on(run, context, numbers);
  if (status != DZO_OK && context != NULL)
    (void)dzo_fail(bench->context, status, "%s", dzo_context_message(context));
  dzo_graph_evict(run->graph);
  dzo_context_destroy(context);
  dzo_free(numbers);
  return status;
}

static dzo_status measure(gpu_run *run) {
  double begun = cli_now();
  DZO_TRY(make_graph(run));
  run->row->generate = cli_now() - begun;
  run->on_gpu = msf_gpu_graph_of(&run->csr, false);
  describe(run);
  DZO_TRY(solve(run));
  DZO_TRY(check(run));
  DZO_TRY(solve_in_steps(run));
  if (run->row->of.seed)
    DZO_TRY(measure_seed(run));
  return with_call(run) ? measure_call(run) : DZO_OK;
}

dzo_status gpu_measure(gpu_bench *bench, const gpu_case *which, gpu_prepared *prepared,
                       gpu_row *row) {
  *row = (gpu_row){.of = *which};
  gpu_run run = {.bench = bench, .prepared = prepared, .row = row};
  dzo_status status = measure(&run);
  dzo_graph_destroy(run.graph);
  dzo_edge_list_destroy(run.list);
  dzo_gpu_edges_destroy(&run.edges);
  dzo_gpu_csr_destroy(&run.csr);
  dzo_unit_release(bench->unit, run.forest.arcs);
  dzo_unit_workspace_release(bench->unit);
  return status;
}
