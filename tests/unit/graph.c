/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "graph_checks.h"
#include "random_graphs.h"

static void any_multigraph_is_built(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 600; seed++) {
    random_graph *r = random_graph_make(seed, 120, (dzo_weight_type)(seed % TYPES), 0);
    dzo_context *context = teams[seed / TYPES % TEAMS];
    dzo_graph *g;
    must(context, dzo_graph_from_edges(context, &r->edges, &g));
    expect_graph(g, &r->edges);
    dzo_graph_destroy(g);
    random_graph_free(r);
  }
}

/* ---- Larger lists -----------------------------------------------------------------------------
 */

static dzo_edge_list *make_list(uint64_t seed, uint64_t vertices, uint64_t count,
                                dzo_weight_type type) {
  random_source random = {seed};
  dzo_edge_list *list;
  must(teams[0], dzo_edge_list_create(teams[0], vertices, count, type, &list));
  for (uint64_t i = 0; i < count; i++) {
    list->u[i] = (uint32_t)random_below(&random, vertices);
    list->v[i] = (uint32_t)random_below(&random, 1 + random_below(&random, vertices));
    uint64_t x = random_bits(&random);
    if (type == DZO_WEIGHT_U32)
      ((uint32_t *)list->weights)[i] = (uint32_t)x;
    else if (type == DZO_WEIGHT_F32)
      ((float *)list->weights)[i] = (float)(x % 1000);
    else if (type == DZO_WEIGHT_F64)
      ((double *)list->weights)[i] = (double)(x >> 11) * 0x1p-53;
    else if (type != DZO_WEIGHT_NONE)
      ((uint64_t *)list->weights)[i] = x;
  }
  return list;
}

static void expect_same(const void *a, const void *b, uint64_t count, size_t size) {
  assert_int_equal(a == NULL, b == NULL);
  if (a != NULL && count > 0)
    assert_memory_equal(a, b, count * size);
}

static void expect_same_graphs(const dzo_graph *a, const dzo_graph *b) {
  assert_int_equal(a->arcs, b->arcs);
  assert_int_equal(a->loops, b->loops);
  expect_same(a->offsets, b->offsets, a->vertices + 1, sizeof *a->offsets);
  expect_same(a->neighbours, b->neighbours, a->arcs, sizeof *a->neighbours);
  expect_same(a->keys32, b->keys32, a->arcs, sizeof *a->keys32);
  expect_same(a->keys64, b->keys64, a->arcs, sizeof *a->keys64);
  expect_same(a->numbers32, b->numbers32, a->arcs, sizeof *a->numbers32);
  expect_same(a->numbers64, b->numbers64, a->arcs, sizeof *a->numbers64);
  expect_same(a->loop_vertices, b->loop_vertices, a->loops, sizeof *a->loop_vertices);
  expect_same(a->loop_keys, b->loop_keys, a->loops, sizeof *a->loop_keys);
  expect_same(a->loop_numbers, b->loop_numbers, a->loops, sizeof *a->loop_numbers);
  expect_same(a->labels, b->labels, a->vertices, sizeof *a->labels);
}

/* Long enough for several chunks of edges and many buckets of rows. */
static void any_number_of_threads_builds_the_same(void **state) {
  (void)state;
  /* Keys of 0, 4 and 8 bytes with numbers of 4 and 8. */
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_NONE, DZO_WEIGHT_U32,
                                   DZO_WEIGHT_U32, DZO_WEIGHT_NONE, DZO_WEIGHT_I64};
  for (int k = 0; k < 6; k++) {
    dzo_edge_list *list = make_list(7 + (uint64_t)k, k == 2 ? 300000 : 5000, 200000, types[k]);
    dzo_edges e;
    dzo_edge_list_view(list, &e);
    e.first_number = k % 2 ? (UINT64_C(1) << 32) - 5 : 0;
    dzo_graph *first, *g;
    must(teams[0], dzo_graph_from_edges(teams[0], &e, &first));
    expect_graph(first, &e);
    for (int t = 1; t < TEAMS; t++) {
      must(teams[t], dzo_graph_from_edges(teams[t], &e, &g));
      expect_same_graphs(first, g);
      dzo_graph_destroy(g);
    }
    dzo_graph_destroy(first);
    dzo_edge_list_destroy(list);
  }
}

/* A vertex with most of the arcs. */
static void a_star_is_built(void **state) {
  (void)state;
  uint64_t n = 400000;
  dzo_edge_list *list = make_list(3, n, n, DZO_WEIGHT_U32);
  for (uint64_t i = 0; i < n; i++)
    list->u[i] = 70000;
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g;
  must(teams[2], dzo_graph_from_edges(teams[2], &e, &g));
  expect_graph(g, &e);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
}

static void tiny_graphs_are_built(void **state) {
  (void)state;
  const uint32_t zeros[3] = {0, 0, 0};
  const double weights[3] = {2, -0.0, -INFINITY};
  const dzo_edges cases[] = {
      {.vertices = 0},
      {.vertices = 1, .weight_type = DZO_WEIGHT_F64},
      {.vertices = 100000},
      {.vertices = 1,
       .count = 3,
       .u = zeros,
       .v = zeros,
       .weight_type = DZO_WEIGHT_F64,
       .weights = weights},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int t = 0; t < TEAMS; t++) {
      dzo_graph *g;
      must(teams[t], dzo_graph_from_edges(teams[t], &cases[i], &g));
      expect_graph(g, &cases[i]);
      dzo_graph_destroy(g);
    }
}

static void bytes_are_what_was_allocated(void **state) {
  (void)state;
  dzo_edge_list *list = make_list(5, 20000, 100000, DZO_WEIGHT_F64);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g;
  must(teams[1], dzo_graph_from_edges(teams[1], &e, &g));
  uint64_t told = dzo_graph_bytes(g), held = dzo_context_memory_used(teams[1]);
  assert_true(told <= held && held <= told + 2048);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
}

/* ---- Errors -----------------------------------------------------------------------------------
 */

static void wrong_edges_are_named(void **state) {
  (void)state;
  const uint32_t u[] = {0, 1, 2, 3}, v[] = {1, 2, 3, 4};
  const double weights[] = {1, 2, (double)NAN, (double)NAN};
  const float floats[] = {1, 2, 3, NAN};
  const uint64_t numbers[] = {10, 20, 30, 40}, descending[] = {10, 20, 20, 40};
  dzo_context *context = teams[1];
  dzo_graph *g = (dzo_graph *)&state;
  dzo_edges e = {.vertices = 5, .count = 4, .u = u, .v = v};
  e.weight_type = DZO_WEIGHT_F64;
  e.weights = weights;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge 2 has weight NaN");
  assert_null(g);
  e.numbers = numbers;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge 30 has weight NaN");
  e.weight_type = DZO_WEIGHT_F32;
  e.weights = floats;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge 40 has weight NaN");
  e.weight_type = DZO_WEIGHT_NONE;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "weights of type none take no array");
  e.weights = NULL;
  e.vertices = 4;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge 40: endpoint 4 is not below 4 vertices");
  e.vertices = 5;
  e.numbers = descending;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge numbers do not ascend below 2^64 - 1 at position 2");
  e.numbers = NULL;
  e.first_number = UINT64_MAX - 3;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "edge numbers from 18446744073709551612 on exceed 64 bits");
  e.first_number = 0;
  e.vertices = UINT64_C(1) << 32;
  must_fail(context, dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT,
            "4294967296 vertices are more than 2^32 - 1");
  e.vertices = 5;
  e.v = NULL;
  assert_int_equal(dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_from_edges(context, NULL, &g), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_from_edges(context, &e, NULL), DZO_E_ARGUMENT);
  e.weight_type = (dzo_weight_type)17;
  assert_int_equal(dzo_graph_from_edges(context, &e, &g), DZO_E_ARGUMENT);
}

/* Cancels at the k-th report; reports of one total never go back. */
typedef struct reporter {
  int left;
  uint64_t done, total;
} reporter;

static int report(void *user, const char *phase, uint64_t done, uint64_t total) {
  reporter *r = user;
  assert_non_null(phase);
  assert_true(total == 0 || total != r->total || done >= r->done);
  r->done = done;
  r->total = total;
  return r->left-- == 0;
}

static void every_report_may_cancel(void **state) {
  (void)state;
  dzo_edge_list *list = make_list(5, 20000, 200000, DZO_WEIGHT_F64);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  reporter r;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.progress = report;
  options.progress_user = &r;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_status status = DZO_E_CANCELLED;
  int cancelled = 0;
  for (int k = 0; status != DZO_OK; k++) {
    r = (reporter){.left = k};
    dzo_context_resume(context);
    dzo_graph *g;
    dzo_edge_list *again = NULL;
    status = dzo_graph_from_edges(context, &e, &g);
    if (status == DZO_OK)
      status = dzo_graph_to_edge_list(context, g, &again);
    assert_true(status == DZO_OK || status == DZO_E_CANCELLED);
    dzo_graph_destroy(g);
    dzo_edge_list_destroy(again);
    assert_int_equal(dzo_context_memory_used(context), 0);
    cancelled += status != DZO_OK;
  }
  assert_true(cancelled > 4);
  dzo_context_destroy(context);
  dzo_edge_list_destroy(list);
}

static void building_needs_little_memory(void **state) {
  (void)state;
  dzo_edge_list *list = make_list(6, 100000, 1000000, DZO_WEIGHT_U32);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_graph *g;
  must(context, dzo_graph_from_edges(context, &e, &g));
  uint64_t extra = dzo_context_memory_peak(context) - dzo_graph_bytes(g);
  assert_true(extra < 2 * dzo_graph_arcs(g) + 2 * 5000000);
  dzo_graph_destroy(g);
  dzo_context_destroy(context);
  dzo_edge_list_destroy(list);
}

static void building_can_be_cancelled(void **state) {
  (void)state;
  dzo_edge_list *list = make_list(5, 20000, 100000, DZO_WEIGHT_F64);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g;
  dzo_context_cancel(teams[1]);
  assert_int_equal(dzo_graph_from_edges(teams[1], &e, &g), DZO_E_CANCELLED);
  assert_null(g);
  dzo_context_resume(teams[1]);
  dzo_edge_list_destroy(list);
}

/* ---- Edge lists -------------------------------------------------------------------------------
 */

static void expect_same_edges(const dzo_edges *a, const dzo_edges *b) {
  assert_int_equal(a->vertices, b->vertices);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->weight_type, b->weight_type);
  for (uint64_t i = 0; i < a->count; i++) {
    uint64_t pair_a =
        a->u[i] < a->v[i] ? (uint64_t)a->u[i] << 32 | a->v[i] : (uint64_t)a->v[i] << 32 | a->u[i];
    uint64_t pair_b =
        b->u[i] < b->v[i] ? (uint64_t)b->u[i] << 32 | b->v[i] : (uint64_t)b->v[i] << 32 | b->u[i];
    assert_int_equal(pair_a, pair_b);
    assert_int_equal(dzo_edge_number(a, i), dzo_edge_number(b, i));
    dzo_weight w =
        dzo_weight_of_pattern(b->weight_type, dzo_weight_pattern(b->weight_type, b->weights, i));
    assert_int_equal(compare_weights(a, i, w), 0);
  }
  for (uint64_t v = 0; v < a->vertices; v++)
    assert_int_equal(a->labels ? a->labels[v] : v + a->first_label,
                     b->labels ? b->labels[v] : v + b->first_label);
}

static void an_edge_list_is_copied(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    random_graph *r = random_graph_make(seed, 80, (dzo_weight_type)(seed % TYPES), 0);
    dzo_edge_list *list;
    must(teams[1], dzo_edge_list_copy(teams[1], &r->edges, &list));
    dzo_edges e;
    dzo_edge_list_view(list, &e);
    expect_same_edges(&r->edges, &e);
    assert_int_equal(dzo_edge_list_format(list), DZO_FORMAT_AUTO);
    dzo_edge_list_destroy(list);
    random_graph_free(r);
  }
  const uint32_t u[] = {0, 3};
  const float weights[] = {1, NAN};
  dzo_edges bad = {.vertices = 3, .count = 2, .u = u, .v = u};
  dzo_edge_list *list = (dzo_edge_list *)&state;
  must_fail(teams[0], dzo_edge_list_copy(teams[0], &bad, &list), DZO_E_ARGUMENT,
            "edge 1: endpoint 3 is not below 3 vertices");
  assert_null(list);
  bad.vertices = 4;
  bad.weight_type = DZO_WEIGHT_F32;
  bad.weights = weights;
  bad.first_number = 5;
  must_fail(teams[0], dzo_edge_list_copy(teams[0], &bad, &list), DZO_E_ARGUMENT,
            "edge 6 has weight NaN");
}

static void a_graph_becomes_its_edge_list_again(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    random_graph *r = random_graph_make(seed, 100, (dzo_weight_type)(seed % TYPES), 0);
    dzo_context *context = teams[seed % TEAMS];
    if (seed % 7 == 0 && r->edges.numbers == NULL) /* far apart: no bit map of numbers */
      r->edges.first_number = UINT64_C(1) << 60;
    dzo_graph *g;
    dzo_edge_list *list;
    must(context, dzo_graph_from_edges(context, &r->edges, &g));
    must(context, dzo_graph_to_edge_list(context, g, &list));
    dzo_edges e;
    dzo_edge_list_view(list, &e);
    expect_same_edges(&r->edges, &e);
    assert_int_equal(e.numbers != NULL, g->number_bound != g->edges);
    dzo_edge_list_destroy(list);
    dzo_graph_destroy(g);
    random_graph_free(r);
  }
}

/* ---- Failing memory ---------------------------------------------------------------------------
 */

static dzo_status build_list_copy(dzo_context *context, void *argument) {
  const dzo_edges *e = argument;
  dzo_graph *g;
  dzo_edge_list *list = NULL, *copy = NULL;
  dzo_status status = dzo_graph_from_edges(context, e, &g);
  if (status == DZO_OK)
    assert_int_equal(g->map.kind, DZO_KEY_DICTIONARY);
  if (status == DZO_OK)
    status = dzo_graph_to_edge_list(context, g, &list);
  if (status == DZO_OK)
    status = dzo_edge_list_copy(context, e, &copy);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
  dzo_edge_list_destroy(copy);
  return status;
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  static const uint64_t labels[100] = {5};
  dzo_edge_list *list = make_list(9, 100, 1000, DZO_WEIGHT_I64);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  e.labels = labels;
  e.first_number = 7;
  for (uint64_t i = 0; i < e.count; i++) /* few distinct ones, far apart: a dictionary */
    ((int64_t *)list->weights)[i] = (int64_t)(i % 5) << 40;
  fail_each_allocation(build_list_copy, &e, 20);
  dzo_edge_list_destroy(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_multigraph_is_built),
      cmocka_unit_test(any_number_of_threads_builds_the_same),
      cmocka_unit_test(a_star_is_built),
      cmocka_unit_test(tiny_graphs_are_built),
      cmocka_unit_test(bytes_are_what_was_allocated),
      cmocka_unit_test(wrong_edges_are_named),
      cmocka_unit_test(building_can_be_cancelled),
      cmocka_unit_test(every_report_may_cancel),
      cmocka_unit_test(building_needs_little_memory),
      cmocka_unit_test(an_edge_list_is_copied),
      cmocka_unit_test(a_graph_becomes_its_edge_list_again),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_teams, break_teams);
}
