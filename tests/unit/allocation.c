/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edge lists, graphs and forests without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "failing_calls.h"

/* ---- Contexts -------------------------------------------------------------------------------- */

static void a_context_needs_memory(void **state) {
  (void)state;
  failing allocator = {.fail_at = 0};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.allocator = (dzo_allocator){&allocator, fail_or_allocate, release};
  dzo_context *context = (dzo_context *)&options;
  assert_int_equal(dzo_context_create(&options, &context), DZO_E_MEMORY);
  assert_null(context);
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_context_destroy(context);
  assert_int_equal(allocator.live, 0);
}

/* ---- Edge lists ------------------------------------------------------------------------------ */

static dzo_status copy(fixture *f) {
  static const uint64_t numbers[] = {3, 5}, labels[] = {7, 9};
  static const uint32_t u[] = {0, 1}, v[] = {1, 0};
  static const float weights[] = {2, 3};
  dzo_edges edges = {.vertices = 2,
                     .count = 2,
                     .u = u,
                     .v = v,
                     .weight_type = DZO_WEIGHT_F32,
                     .weights = weights,
                     .numbers = numbers,
                     .labels = labels};
  dzo_edge_list *list = (dzo_edge_list *)f;
  dzo_status status = dzo_edge_list_copy(f->context, &edges, &list);
  EXPECT_NOTHING(status, list);
  dzo_edge_list_destroy(list);
  return status;
}

static dzo_status generate(fixture *f) {
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 6;
  dzo_edge_list *list = (dzo_edge_list *)f;
  dzo_status status = dzo_edge_list_generate(f->context, f->generator, &options, &list);
  EXPECT_NOTHING(status, list);
  dzo_edge_list_destroy(list);
  return status;
}

static void edge_lists_survive(void **state) {
  fixture *f = fix(state);
  check_call(f, "copy", copy);
  const char *const names[] = {"rmat", "ssca2", "uniform", "grid"};
  for (int g = 0; g < 4; g++) {
    f->generator = (dzo_generator)g;
    check_call(f, names[g], generate);
  }
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static dzo_status build(fixture *f) {
  dzo_edges edges = view(f);
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_edges(f->context, &edges, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  return status;
}

static dzo_status build_with_names(fixture *f) {
  random_graph *named = random_graph_make(4, 50, DZO_WEIGHT_F32, 0);
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_edges(f->context, &named->edges, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  random_graph_free(named);
  return status;
}

static dzo_status import_csr(fixture *f, int symmetric) {
  static const uint64_t offsets[] = {0, 3, 5, 7};
  static const uint32_t neighbours[] = {0, 1, 2, 0, 2, 0, 1};
  static const int64_t weights[] = {9, 4, 5, 4, 6, 5, 6};
  dzo_csr csr = {3, offsets, neighbours, DZO_WEIGHT_I64, weights, symmetric};
  dzo_graph *graph = (dzo_graph *)f;
  dzo_status status = dzo_graph_from_csr(f->context, &csr, &graph);
  EXPECT_NOTHING(status, graph);
  dzo_graph_destroy(graph);
  return status;
}
static dzo_status import_symmetric(fixture *f) { return import_csr(f, 1); }
static dzo_status import_directed(fixture *f) { return import_csr(f, 0); }

/* A graph is as good as before, whatever became of the call. */
static void expect_sound(fixture *f, const dzo_graph *graph) {
  uint64_t fail_at = f->allocator.fail_at, calls = f->allocator.calls;
  f->allocator.fail_at = NEVER;
  dzo_edges edges = view(f);
  oracle_forest *forest = oracle_solve(&edges, 0, 0);
  dzo_msf *msf;
  must(f, dzo_msf_run(f->context, graph, NULL, &msf));
  if (!oracle_same_sum(dzo_msf_weight(msf), forest->total))
    fail_msg("%s: the graph has changed", f->name);
  dzo_msf_destroy(msf);
  oracle_free(forest);
  f->allocator.fail_at = fail_at;
  f->allocator.calls = calls;
}

typedef dzo_status (*preparation_fn)(dzo_context *context, dzo_graph *graph);

static dzo_status prepared(fixture *f, preparation_fn prepare) {
  dzo_graph *graph = graph_of(f);
  dzo_status status = prepare(f->context, graph);
  char message[600];
  snprintf(message, sizeof message, "%s", dzo_context_message(f->context));
  expect_sound(f, graph);
  (void)dzo_fail(f->context, status, "%s", message); /* as the call left it */
  dzo_graph_destroy(graph);
  return status;
}

static dzo_status by_weight(dzo_context *context, dzo_graph *graph) {
  return dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT);
}
static dzo_status sort_rows(fixture *f) { return prepared(f, by_weight); }
static dzo_status renumber(fixture *f) { return prepared(f, dzo_graph_renumber); }
static dzo_status compress_neighbours(fixture *f) { return prepared(f, dzo_graph_compress); }

static void graphs_survive(void **state) {
  fixture *f = fix(state);
  for (f->kind = 0; f->kind < KINDS; f->kind++) {
    check_call(f, "build", build);
    check_call(f, "sort rows", sort_rows);
    check_call(f, "renumber", renumber);
    check_call(f, "compress", compress_neighbours);
  }
  check_call(f, "build with names", build_with_names);
  check_call(f, "symmetric CSR", import_symmetric);
  check_call(f, "directed CSR", import_directed);
}

/* ---- Forests --------------------------------------------------------------------------------- */

static dzo_status run(fixture *f) {
  dzo_msf *msf = (dzo_msf *)f;
  dzo_status status = dzo_msf_run(f->context, f->graph, NULL, &msf);
  EXPECT_NOTHING(status, msf);
  dzo_msf_destroy(msf);
  return status;
}

typedef struct pieces {
  dzo_edges edges;
  uint64_t at;
} pieces;

static dzo_status next_piece(void *user, dzo_context *context, dzo_edges *chunk) {
  (void)context;
  pieces *p = user;
  uint64_t left = p->edges.count - p->at;
  *chunk = p->edges;
  chunk->count = left < 37 ? left : 37;
  chunk->u += p->at;
  chunk->v += p->at;
  chunk->weights = (const char *)chunk->weights + 8 * p->at;
  chunk->first_number = p->at;
  p->at += chunk->count;
  return DZO_OK;
}

static dzo_status run_stream(fixture *f) {
  pieces p = {view(f), 0};
  dzo_edge_source source = {&p, next_piece, NULL};
  dzo_msf *msf = (dzo_msf *)f;
  dzo_status status = dzo_msf_stream(f->context, &source, NULL, &msf);
  EXPECT_NOTHING(status, msf);
  dzo_msf_destroy(msf);
  return status;
}

static dzo_status endpoints(fixture *f) {
  uint64_t count = dzo_msf_count(f->msf);
  uint32_t *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v);
  dzo_weight *w = malloc(count * sizeof *w);
  assert_true(u && v && w);
  dzo_status status = dzo_msf_endpoints_into(f->context, f->msf, f->graph, u, v, w);
  free(u);
  free(v);
  free(w);
  return status;
}

static dzo_status tree_weights(fixture *f) {
  dzo_weight_sum *trees = malloc(dzo_msf_components(f->msf) * sizeof *trees);
  assert_non_null(trees);
  dzo_status status = dzo_msf_tree_weights_into(f->context, f->msf, f->graph, trees);
  free(trees);
  return status;
}

static dzo_status verify(fixture *f, bool pairs) {
  dzo_edges edges = view(f);
  uint64_t count = dzo_msf_count(f->msf);
  uint32_t *u = malloc(count * sizeof *u), *v = malloc(count * sizeof *v);
  assert_true(u && v);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.count = count;
  claim.numbers = pairs ? NULL : dzo_msf_edges(f->msf);
  claim.u = u;
  claim.v = v;
  for (uint64_t i = 0; i < count; i++) {
    u[i] = edges.u[dzo_msf_edges(f->msf)[i]];
    v[i] = edges.v[dzo_msf_edges(f->msf)[i]];
  }
  int valid = -1;
  dzo_status status = dzo_msf_verify(f->context, &edges, &claim, &valid);
  assert_int_equal(valid, status == DZO_OK);
  free(u);
  free(v);
  return status;
}
static dzo_status verify_numbers(fixture *f) { return verify(f, false); }
static dzo_status verify_pairs(fixture *f) { return verify(f, true); }

static void forests_survive(void **state) {
  fixture *f = fix(state);
  for (f->kind = 0; f->kind < KINDS; f->kind++) {
    f->graph = graph_of(f);
    for (int prepared = 0; prepared < 3; prepared++) {
      check_call(f, "run", run);
      must(f, dzo_msf_run(f->context, f->graph, NULL, &f->msf));
      check_call(f, "endpoints", endpoints);
      check_call(f, "tree weights", tree_weights);
      check_call(f, "verify numbers", verify_numbers);
      check_call(f, "verify pairs", verify_pairs);
      dzo_msf_destroy(f->msf);
      must(f, prepared == 0 ? dzo_graph_sort_rows(f->context, f->graph, DZO_ROWS_BY_WEIGHT)
                            : dzo_graph_compress(f->context, f->graph));
    }
    dzo_graph_destroy(f->graph);
    check_call(f, "stream", run_stream);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_context_needs_memory),
      cmocka_unit_test_setup_teardown(edge_lists_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(graphs_survive, set_up, tear_down),
      cmocka_unit_test_setup_teardown(forests_survive, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
