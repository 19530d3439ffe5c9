/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One row of dzo bench msf: our solver and the yardstick take turns on the same graph in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "bench/filter_kruskal.h"
#include "cli/bench.h"
#include "graph/csr.h"

enum { MAX_REPEATS = 1000 };

typedef struct bench_run {
  cli_call *call;
  const bench_settings *settings;
  bench_row *row;
  dzo_edge_list *list;
  dzo_graph *graph;
  bool compare;           /* with the yardstick */
  dzo_context *solving;   /* counts the memory of a solve, and keeps it for the next */
  dzo_context *measuring; /* the same for the yardstick */
  dzo_msf *msf;           /* the last answer */
  double ours[MAX_REPEATS], theirs[MAX_REPEATS];
  uint64_t yardstick_edges, yardstick_weight;
} bench_run;

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void bench_summarize(double *times, uint64_t count, double *median, double *least) {
  qsort(times, count, sizeof *times, by_time);
  *least = times[0];
  *median = (times[(count - 1) / 2] + times[count / 2]) / 2;
}

/* Progress of the solving context goes to nobody, but Ctrl-C reaches the command's context. */
static int stop_with_command(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase;
  (void)done;
  (void)total;
  return dzo_is_cancelled(user) ? 1 : 0;
}

static dzo_status prepare(bench_run *run) {
  dzo_context *context = run->call->context;
  bench_row *row = run->row;
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = row->of.scale;
  options.degree = row->of.degree;
  options.keep = row->of.keep;
  options.seed = run->settings->common.seed;
  options.weight_type = DZO_WEIGHT_U32;
  double begun = cli_now();
  DZO_TRY(dzo_edge_list_generate(context, row->of.generator, &options, &run->list));
  dzo_edges edges;
  dzo_edge_list_view(run->list, &edges);
  double generated = cli_now();
  DZO_TRY(dzo_graph_from_edges(context, &edges, &run->graph));
  double built = cli_now();
  if (row->of.sorted)
    DZO_TRY(dzo_graph_sort_rows(context, run->graph, DZO_ROWS_BY_WEIGHT));
  row->sort = row->of.sorted ? cli_now() - built : 0;
  row->generate = generated - begun;
  row->build = built - generated;
  row->vertices = dzo_graph_vertices(run->graph);
  row->edges = dzo_graph_edges(run->graph);
  row->arcs = dzo_graph_arcs(run->graph);
  row->graph_bytes = dzo_graph_bytes(run->graph);
  row->pass_bytes = (row->vertices + 1) * sizeof(uint64_t) + row->arcs * 2 * sizeof(uint32_t);
  return DZO_OK;
}

/* A context of its own, so that its peak is that of a solve. It keeps what a solve frees: all but
 * the first run on memory whose pages are there. */
static dzo_status make_context(const bench_run *run, dzo_context **out) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = run->settings->common.device.kind;
  options.device_index = run->settings->common.device.index;
  options.threads = dzo_context_threads(run->call->context);
  options.progress = stop_with_command;
  options.progress_user = run->call->context;
  options.keep = run->row->graph_bytes;
  return dzo_context_create(&options, out);
}

static dzo_status solve_once(bench_run *run, double *seconds) {
  dzo_msf_destroy(run->msf);
  run->msf = NULL;
  double begun = cli_now();
  dzo_status status = dzo_msf_run(run->solving, run->graph, NULL, &run->msf);
  *seconds = cli_now() - begun;
  if (status != DZO_OK)
    return dzo_fail(run->call->context, status, "%s", dzo_context_message(run->solving));
  uint64_t peak = run->row->graph_bytes + dzo_context_memory_peak(run->solving);
  if (peak > run->row->peak_bytes)
    run->row->peak_bytes = peak;
  return DZO_OK;
}

static dzo_status measure_yardstick(bench_run *run, double *seconds) {
  const dzo_graph *g = run->graph;
  const filter_kruskal_graph rows = {g->vertices, g->offsets, g->neighbours, g->keys32};
  if (rows.weights == NULL || g->map.kind != DZO_KEY_OFFSET)
    return dzo_fail(run->call->context, DZO_E_INTERNAL, "the yardstick needs 32-bit integers");
  const bool prefetch = strcmp(run->settings->yardstick, "prefetch") == 0;
  filter_kruskal_edge *forest;
  double begun = cli_now();
  dzo_status status =
      filter_kruskal(run->measuring, &rows, prefetch, &forest, &run->yardstick_edges);
  if (status != DZO_OK)
    return dzo_fail(run->call->context, status, "%s", dzo_context_message(run->measuring));
  *seconds = cli_now() - begun;
  run->yardstick_weight = run->yardstick_edges * g->map.base;
  for (uint64_t i = 0; i < run->yardstick_edges; i++)
    run->yardstick_weight += forest[i].weight;
  dzo_free(forest);
  return DZO_OK;
}

static dzo_status take_turns(bench_run *run) {
  uint64_t repeats = run->settings->repeats;
  DZO_TRY(make_context(run, &run->solving));
  DZO_TRY(make_context(run, &run->measuring));
  for (uint64_t i = 0; i < repeats; i++) {
    if (run->compare)
      DZO_TRY(measure_yardstick(run, &run->theirs[i]));
    DZO_TRY(solve_once(run, &run->ours[i]));
  }
  run->row->first = run->ours[0];
  bench_summarize(run->ours, repeats, &run->row->median, &run->row->least);
  if (run->compare)
    bench_summarize(run->theirs, repeats, &run->row->yardstick_median, &run->row->yardstick_least);
  return DZO_OK;
}

/* The verifier's word, and the yardstick's weight. */
static dzo_status check_answer(bench_run *run) {
  bench_row *row = run->row;
  dzo_context *context = run->call->context;
  row->forest_edges = dzo_msf_count(run->msf);
  row->components = dzo_msf_components(run->msf);
  row->weight = dzo_msf_weight(run->msf);
  (void)snprintf(row->plan, sizeof row->plan, "%s", dzo_msf_plan(run->msf));
  if (run->compare && (row->forest_edges != run->yardstick_edges || row->weight.high != 0 ||
                       row->weight.low != run->yardstick_weight)) {
    (void)snprintf(row->reason, sizeof row->reason,
                   "%llu edges of weight %llu, but the yardstick found %llu of weight %llu",
                   (unsigned long long)row->forest_edges, (unsigned long long)row->weight.low,
                   (unsigned long long)run->yardstick_edges,
                   (unsigned long long)run->yardstick_weight);
    return DZO_OK;
  }
  dzo_edges edges;
  dzo_edge_list_view(run->list, &edges);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = row->forest_edges;
  claim.numbers = dzo_msf_edges(run->msf);
  int valid = 0;
  double begun = cli_now();
  DZO_TRY(dzo_msf_verify(context, &edges, &claim, &valid));
  row->verify = cli_now() - begun;
  row->verified = valid == 1;
  if (!row->verified)
    (void)snprintf(row->reason, sizeof row->reason, "%.250s", dzo_context_message(context));
  return DZO_OK;
}

static dzo_status measure(bench_run *run) {
  DZO_TRY(prepare(run));
  DZO_TRY(take_turns(run));
  return check_answer(run);
}

dzo_status bench_measure(cli_call *call, const bench_case *which, bench_row *row) {
  *row = (bench_row){.of = *which};
  bench_run run = {.call = call, .settings = call->settings, .row = row};
  run.compare = strcmp(run.settings->yardstick, "none") != 0;
  dzo_status status = measure(&run);
  dzo_msf_destroy(run.msf);
  dzo_context_destroy(run.solving);
  dzo_context_destroy(run.measuring);
  dzo_graph_destroy(run.graph);
  dzo_edge_list_destroy(run.list);
  return status;
}
