/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forest_checks.h"

const dzo_weight_type every_type[TYPES] = {DZO_WEIGHT_NONE, DZO_WEIGHT_U32, DZO_WEIGHT_I64,
                                           DZO_WEIGHT_U64,  DZO_WEIGHT_F32, DZO_WEIGHT_F64};
static const int every_team[TEAMS] = {1, 2, 3, 8};

dzo_context *teams[TEAMS];

bool tests_gpu(void) {
  const char *device = getenv("DZO_TEST_DEVICE");
  return device != NULL && (strcmp(device, "cuda") == 0 || strcmp(device, "hybrid") == 0);
}

dzo_context_options wishes_of(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  options.device = DZO_DEVICE_CPU;
  if (tests_gpu())
    options.device = getenv("DZO_TEST_DEVICE")[0] == 'c' ? DZO_DEVICE_CUDA : DZO_DEVICE_HYBRID;
  const char *memory = getenv("DZO_TEST_GPU_MEMORY");
  options.gpu_memory = memory != NULL ? strtoull(memory, NULL, 10) : 0;
  return options;
}

bool takes_turn(void) {
  static uint64_t calls;
  random_source random = {++calls};
  return random_below(&random, STRIDE) == 0;
}

bool leaks(const dzo_context *context) {
  return context->gpu == NULL && dzo_context_memory_used(context) != 0;
}

dzo_context *context_of(int threads) {
  dzo_context_options options = wishes_of(threads);
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

int make_teams(void **state) {
  (void)state;
  for (int i = 0; i < TEAMS; i++)
    teams[i] = context_of(every_team[i]);
  return 0;
}

int break_teams(void **state) {
  (void)state;
  for (int i = 0; i < TEAMS; i++)
    dzo_context_destroy(teams[i]);
  return 0;
}

void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
}

/* ---- Comparing with the oracle --------------------------------------------------------------- */

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition))                                                                              \
      fail_msg("%s: not so: %s", what, #condition);                                                \
  } while (0)

static void expect_endpoints(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                             const oracle_forest *f, dzo_weight_type type, const char *what) {
  uint32_t *u = malloc((f->count + 1) * sizeof *u), *v = malloc((f->count + 1) * sizeof *v);
  dzo_weight *w = malloc((f->count + 1) * sizeof *w);
  assert_true(u && v && w);
  must(context, dzo_msf_endpoints_into(context, msf, graph, u, v, w));
  for (uint64_t i = 0; i < f->count; i++) {
    EXPECT(u[i] == f->u[i] && v[i] == f->v[i]);
    EXPECT(oracle_compare_weights(type, w[i], f->weights[i]) == 0);
  }
  must(context, dzo_msf_endpoints_into(context, msf, graph, NULL, NULL, NULL));
  free(u);
  free(v);
  free(w);
}

static dzo_weight_sum *tree_weights_of(dzo_context *context, const dzo_msf *msf,
                                       const dzo_graph *graph) {
  dzo_weight_sum *trees = malloc((dzo_msf_components(msf) + 1) * sizeof *trees);
  assert_non_null(trees);
  must(context, dzo_msf_tree_weights_into(context, msf, graph, trees));
  return trees;
}

static void expect_components(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                              const oracle_forest *f, const char *what) {
  EXPECT(dzo_msf_components(msf) == f->components);
  const uint32_t *component_of = dzo_msf_component_of(msf);
  for (uint64_t v = 0; v < f->vertices; v++)
    EXPECT(component_of[v] == f->component_of[v]);
  dzo_weight_sum *trees = tree_weights_of(context, msf, graph);
  for (uint64_t c = 0; c < f->components; c++)
    EXPECT(oracle_same_sum(trees[c], f->trees[c]));
  free(trees);
}

void expect_forest(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                   const dzo_edges *edges, const oracle_forest *f, const char *what) {
  EXPECT(dzo_msf_vertices(msf) == edges->vertices);
  EXPECT(dzo_msf_graph_edges(msf) == edges->count);
  EXPECT(dzo_msf_count(msf) == f->count);
  const uint64_t *numbers = dzo_msf_edges(msf);
  for (uint64_t i = 0; i < f->count; i++)
    EXPECT(numbers[i] == f->numbers[i]);
  EXPECT(oracle_same_sum(dzo_msf_weight(msf), f->total));
  EXPECT(dzo_msf_plan(msf) != NULL);
  expect_components(context, msf, graph, f, what);
  expect_endpoints(context, msf, graph, f, edges->weight_type, what);
}

/* ---- Graphs prepared in every way ------------------------------------------------------------ */

static const char *const preparation_names[] = {"by neighbour", "by weight",
                                                "compressed",   "compressed by weight",
                                                "renumbered",   "renumbered by weight"};

dzo_graph *prepare(dzo_context *context, const dzo_edges *edges, preparation how) {
  dzo_graph *graph;
  must(context, dzo_graph_from_edges(context, edges, &graph));
  if (how == RENUMBERED || how == RENUMBERED_BY_WEIGHT)
    must(context, dzo_graph_renumber(context, graph));
  if (how == BY_WEIGHT || how == COMPRESSED_BY_WEIGHT || how == RENUMBERED_BY_WEIGHT)
    must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
  if (how == COMPRESSED || how == COMPRESSED_BY_WEIGHT)
    must(context, dzo_graph_compress(context, graph));
  if (tests_gpu() && getenv("DZO_TEST_RESIDENT") != NULL)
    must(context, dzo_graph_upload(context, graph));
  return graph;
}

dzo_msf *solve(dzo_context *context, const dzo_graph *graph, int maximum) {
  dzo_msf_options options;
  dzo_msf_options_init(&options);
  options.maximum = maximum;
  dzo_msf *msf = (dzo_msf *)&options;
  must(context, dzo_msf_run(context, graph, &options, &msf));
  assert_non_null(msf);
  return msf;
}

static void expect_verified(dzo_context *context, const dzo_edges *edges, const dzo_msf *msf,
                            int maximum, const char *what) {
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.maximum = maximum;
  claim.count = dzo_msf_count(msf);
  claim.numbers = dzo_msf_edges(msf);
  int valid;
  must(context, dzo_msf_verify(context, edges, &claim, &valid));
  if (!valid)
    fail_msg("%s: %s", what, dzo_context_message(context));
}

/* Vertex of the original graph that has this label. */
static uint32_t vertex_labelled(const dzo_edges *edges, uint64_t label) {
  if (edges->labels == NULL)
    return (uint32_t)(label - edges->first_label);
  uint32_t v = 0;
  while (edges->labels[v] != label)
    v++;
  return v;
}

/* A renumbered graph is the one whose edges have the new endpoints; its forest is as good. */
static void expect_renumbered(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                              const dzo_edges *edges, int maximum, const oracle_forest *f,
                              const char *what) {
  uint32_t *place = malloc((edges->vertices + 1) * sizeof *place);
  uint32_t *u = malloc((edges->count + 1) * sizeof *u), *v = malloc((edges->count + 1) * sizeof *v);
  assert_true(place && u && v);
  memset(place, 0xff, (edges->vertices + 1) * sizeof *place);
  for (uint32_t i = 0; i < edges->vertices; i++)
    place[vertex_labelled(edges, dzo_graph_label(graph, i))] = i;
  for (uint64_t i = 0; i < edges->vertices; i++)
    EXPECT(place[i] < edges->vertices);
  for (uint64_t i = 0; i < edges->count; i++) {
    u[i] = place[edges->u[i]];
    v[i] = place[edges->v[i]];
  }
  dzo_edges moved = *edges;
  moved.u = u;
  moved.v = v;
  oracle_forest *there = oracle_solve(&moved, maximum, 0);
  EXPECT(oracle_same_sum(there->total, f->total));
  expect_forest(context, msf, graph, &moved, there, what);
  oracle_free(there);
  free(place);
  free(u);
  free(v);
}

void check_in_memory(dzo_context *context, const dzo_edges *edges, preparation how, int maximum,
                     const oracle_forest *f, const char *name) {
  check_prepared(context, edges, how, false, maximum, f, name);
}

void check_prepared(dzo_context *context, const dzo_edges *edges, preparation how, bool upload,
                    int maximum, const oracle_forest *f, const char *name) {
  char what[200];
  snprintf(what, sizeof what, "%s, %s, %s, %d threads", name, preparation_names[how],
           maximum ? "maximum" : "minimum", dzo_context_threads(context));
  dzo_graph *graph = prepare(context, edges, how);
  if (upload)
    must(context, dzo_graph_upload(context, graph));
  dzo_msf *msf = solve(context, graph, maximum);
  if (dzo_context_notice(context)[0] != '\0')
    fail_msg("%s: %s", what, dzo_context_notice(context));
  if (how < RENUMBERED)
    expect_forest(context, msf, graph, edges, f, what);
  else
    expect_renumbered(context, msf, graph, edges, maximum, f, what);
  expect_verified(context, edges, msf, maximum, what);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  if (leaks(context))
    fail_msg("%s: %d bytes leak", what, (int)dzo_context_memory_used(context));
}

/* ---- Streams --------------------------------------------------------------------------------- */

static dzo_status next_chunk(void *user, dzo_context *context, dzo_edges *chunk) {
  (void)context;
  chunk_source *s = user;
  const dzo_edges *e = s->edges;
  uint64_t left = e->count - s->at, count = 1 + random_below(&s->random, s->most);
  if (s->failure != DZO_OK && s->at >= e->count / 2)
    return s->failure;
  count = count < left ? count : left;
  size_t width = e->weight_type == DZO_WEIGHT_U32 || e->weight_type == DZO_WEIGHT_F32 ? 4 : 8;
  *chunk = *e;
  chunk->count = count;
  if (s->at > 0) { /* not where there are no edges: NULL + 0 is undefined */
    chunk->u += s->at;
    chunk->v += s->at;
    chunk->weights = e->weights ? (const char *)e->weights + s->at * width : NULL;
    chunk->numbers = e->numbers ? e->numbers + s->at : NULL;
  }
  chunk->first_number = e->first_number + s->at;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t far = chunk->u[i] > chunk->v[i] ? chunk->u[i] : chunk->v[i];
    s->seen = far + 1 > s->seen ? far + 1 : s->seen;
  }
  if (s->growing && count > 0)
    chunk->vertices = s->seen;
  s->at += count;
  return DZO_OK;
}

static void close_chunks(void *user) { ((chunk_source *)user)->closed++; }

dzo_status stream(dzo_context *context, chunk_source *chunks, int maximum, dzo_msf **msf) {
  dzo_edge_source source = {chunks, next_chunk, close_chunks};
  dzo_msf_options options;
  dzo_msf_options_init(&options);
  options.maximum = maximum;
  return dzo_msf_stream(context, &source, &options, msf);
}

void check_stream(dzo_context *context, const dzo_edges *edges, uint64_t most, bool growing,
                  int maximum, const oracle_forest *f, const char *name) {
  char what[200];
  snprintf(what, sizeof what, "%s, streamed by up to %d%s, %s, %d threads", name, (int)most,
           growing ? ", growing" : "", maximum ? "maximum" : "minimum",
           dzo_context_threads(context));
  chunk_source chunks = {.edges = edges, .most = most, .growing = growing, .random = {most}};
  dzo_msf *msf = NULL;
  dzo_status status = stream(context, &chunks, maximum, &msf);
  if (status != DZO_OK)
    fail_msg("%s: %s: %s", what, dzo_status_name(status), dzo_context_message(context));
  if (dzo_context_notice(context)[0] != '\0')
    fail_msg("%s: %s", what, dzo_context_notice(context));
  EXPECT(chunks.at == edges->count);
  EXPECT(chunks.closed == 0); /* the caller's to close */
  expect_forest(context, msf, NULL, edges, f, what);
  dzo_msf_destroy(msf);
  if (leaks(context))
    fail_msg("%s: %d bytes leak", what, (int)dzo_context_memory_used(context));
}

void check_everywhere(const dzo_edges *edges, const char *name) {
  for (int maximum = 0; maximum < 2; maximum++) {
    oracle_forest *f = oracle_solve(edges, maximum, 0);
    for (int how = 0; how < PREPARATIONS; how++)
      if (takes_turn())
        check_in_memory(teams[(how + maximum) % TEAMS], edges, (preparation)how, maximum, f, name);
    for (int team = 0; team < TEAMS; team++) {
      if (takes_turn())
        check_in_memory(teams[team], edges, BY_NEIGHBOUR, maximum, f, name);
      if (takes_turn())
        check_stream(teams[team], edges, team % 2 ? 700 : 30000, team == 2, maximum, f, name);
    }
    oracle_free(f);
  }
}
