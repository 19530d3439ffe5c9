/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sorting rows and renumbering vertices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "failing_memory.h"
#include "graph/csr.h"
#include "graph/edge_list.h"
#include "graph_checks.h"
#include "random_graphs.h"

/* ---- Arcs as records, so that qsort may order them ---------------------------------------------
 */

typedef struct plain_arc {
  uint64_t row, key, neighbour, number;
} plain_arc;

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_weight(const void *a, const void *b) {
  const plain_arc *x = a, *y = b;
  int order = compare(x->row, y->row);
  order = order != 0 ? order : compare(x->key, y->key);
  order = order != 0 ? order : compare(x->neighbour, y->neighbour);
  return order != 0 ? order : compare(x->number, y->number);
}

static int by_neighbour(const void *a, const void *b) {
  const plain_arc *x = a, *y = b;
  int order = compare(x->row, y->row);
  order = order != 0 ? order : compare(x->neighbour, y->neighbour);
  return order != 0 ? order : compare(x->number, y->number);
}

static plain_arc *arcs_of(const dzo_graph *g) {
  plain_arc *arcs = calloc(g->arcs + 1, sizeof *arcs);
  assert_non_null(arcs);
  for (uint64_t r = 0; r < g->vertices; r++)
    for (uint64_t i = g->offsets[r]; i < g->offsets[r + 1]; i++)
      arcs[i] = (plain_arc){r, dzo_arc_key(g, i), g->neighbours[i], dzo_arc_number(g, i)};
  return arcs;
}

static void expect_arcs(const dzo_graph *g, const plain_arc *expected) {
  plain_arc *arcs = arcs_of(g);
  assert_memory_equal(arcs, expected, (g->arcs + 1) * sizeof *arcs);
  free(arcs);
}

static void sort_and_back(dzo_context *context, const dzo_edges *edges) {
  dzo_graph *g;
  must(context, dzo_graph_from_edges(context, edges, &g));
  plain_arc *plain = arcs_of(g), *sorted = arcs_of(g);
  qsort(sorted, g->arcs, sizeof *sorted, by_weight);
  must(context, dzo_graph_sort_rows(context, g, DZO_ROWS_BY_WEIGHT));
  assert_int_equal(dzo_graph_row_order(g), DZO_ROWS_BY_WEIGHT);
  expect_arcs(g, sorted);
  must(context, dzo_graph_sort_rows(context, g, DZO_ROWS_BY_WEIGHT));
  expect_arcs(g, sorted);
  must(context, dzo_graph_sort_rows(context, g, DZO_ROWS_BY_NEIGHBOUR));
  assert_int_equal(dzo_graph_row_order(g), DZO_ROWS_BY_NEIGHBOUR);
  expect_arcs(g, plain);
  free(plain);
  free(sorted);
  dzo_graph_destroy(g);
}

static void rows_are_sorted_and_restored(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    random_graph *r = random_graph_make(seed, 150, (dzo_weight_type)(seed % TYPES), 0);
    sort_and_back(teams[seed / TYPES % TEAMS], &r->edges);
    random_graph_free(r);
  }
}

/* Many groups of rows, 64-bit keys and numbers, and a row so large that it has its turn alone. */
static dzo_edge_list *make_large(dzo_weight_type type) {
  enum { VERTICES = 3000, COUNT = 500000 };
  random_source random = {11};
  dzo_edge_list *list;
  must(teams[0], dzo_edge_list_create(teams[0], VERTICES, COUNT, type, &list));
  for (uint64_t i = 0; i < COUNT; i++) {
    list->u[i] = i % 2 ? 2000 : (uint32_t)random_below(&random, VERTICES);
    list->v[i] = (uint32_t)random_below(&random, VERTICES);
    if (type == DZO_WEIGHT_F64)
      ((double *)list->weights)[i] = random_unit(&random) - 0.5;
    if (type == DZO_WEIGHT_U32)
      ((uint32_t *)list->weights)[i] = (uint32_t)random_below(&random, 10);
  }
  return list;
}

static void large_rows_are_sorted(void **state) {
  (void)state;
  for (int t = 0; t < TEAMS; t++) {
    dzo_edge_list *list = make_large(t % 2 ? DZO_WEIGHT_F64 : DZO_WEIGHT_U32);
    dzo_edges e;
    dzo_edge_list_view(list, &e);
    e.first_number = t >= 2 ? UINT64_C(1) << 33 : 0;
    sort_and_back(teams[t], &e);
    dzo_edge_list_destroy(list);
  }
}

/* ---- Renumbering ------------------------------------------------------------------------------
 */

/* Labels must tell the new vertices apart. */
static uint32_t *old_vertices(const dzo_graph *g, const dzo_edges *e) {
  uint32_t *old_of = calloc(g->vertices + 1, sizeof *old_of);
  bool *seen = calloc(g->vertices + 1, sizeof *seen);
  assert_true(old_of != NULL && seen != NULL);
  for (uint64_t v = 0; v < g->vertices; v++) {
    uint64_t label = dzo_graph_label(g, (uint32_t)v), old = label - e->first_label;
    for (old = e->labels ? 0 : old; e->labels && e->labels[old] != label; old++)
      assert_true(old < g->vertices);
    assert_true(old < g->vertices && !seen[old]);
    seen[old] = true;
    old_of[v] = (uint32_t)old;
  }
  free(seen);
  return old_of;
}

/* Every edge has its number, weight and, by way of the labels, its ends. */
static void expect_same_edges(dzo_context *context, const dzo_graph *g, const dzo_edges *e) {
  uint32_t *old_of = old_vertices(g, e);
  dzo_edge_list *list;
  must(context, dzo_graph_to_edge_list(context, g, &list));
  assert_int_equal(list->count, e->count);
  for (uint64_t i = 0; i < e->count; i++) {
    uint32_t u = old_of[list->u[i]], v = old_of[list->v[i]];
    assert_true((u == e->u[i] && v == e->v[i]) || (u == e->v[i] && v == e->u[i]));
    assert_int_equal(list->numbers ? list->numbers[i] : i, dzo_edge_number(e, i));
    assert_int_equal(dzo_weight_pattern(e->weight_type, list->weights, i),
                     dzo_weight_pattern(e->weight_type, e->weights, i));
  }
  dzo_edge_list_destroy(list);
  free(old_of);
}

static void expect_ordered(const dzo_graph *g, dzo_row_order order) {
  assert_int_equal(g->row_order, order);
  plain_arc *arcs = arcs_of(g);
  int (*compare_arcs)(const void *, const void *) =
      order == DZO_ROWS_BY_WEIGHT ? by_weight : by_neighbour;
  for (uint64_t i = 1; i < g->arcs; i++)
    assert_true(compare_arcs(&arcs[i - 1], &arcs[i]) < 0);
  free(arcs);
}

static void renumbering_keeps_the_graph(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    random_graph *r = random_graph_make(seed, 150, (dzo_weight_type)(seed % TYPES), 0);
    dzo_context *context = teams[seed / TYPES % TEAMS];
    dzo_row_order order = seed % 5 < 2 ? DZO_ROWS_BY_WEIGHT : DZO_ROWS_BY_NEIGHBOUR;
    dzo_graph *g;
    must(context, dzo_graph_from_edges(context, &r->edges, &g));
    must(context, dzo_graph_sort_rows(context, g, order));
    must(context, dzo_graph_renumber(context, g));
    expect_ordered(g, order);
    expect_same_edges(context, g, &r->edges);
    must(context, dzo_graph_renumber(context, g)); /* twice is no harm */
    expect_same_edges(context, g, &r->edges);
    dzo_graph_destroy(g);
    random_graph_free(r);
  }
}

/* Cliques with shuffled vertices, and a few links between them. */
static dzo_edge_list *make_cliques(uint64_t cliques, uint64_t size, uint64_t links) {
  random_source random = {5};
  uint64_t n = cliques * size, count = cliques * (size * (size - 1) / 2) + links, at = 0;
  uint32_t *shuffled = malloc(n * sizeof *shuffled);
  dzo_edge_list *list;
  assert_non_null(shuffled);
  must(teams[0], dzo_edge_list_create(teams[0], n, count, DZO_WEIGHT_NONE, &list));
  for (uint64_t i = 0; i < n; i++) {
    uint64_t j = random_below(&random, i + 1);
    shuffled[i] = shuffled[j];
    shuffled[j] = (uint32_t)i;
  }
  for (uint64_t c = 0; c < cliques; c++)
    for (uint64_t i = 0; i < size; i++)
      for (uint64_t j = 0; j < i; j++, at++) {
        list->u[at] = shuffled[c * size + i];
        list->v[at] = shuffled[c * size + j];
      }
  for (; at < count; at++) {
    list->u[at] = (uint32_t)random_below(&random, n);
    list->v[at] = (uint32_t)random_below(&random, n);
  }
  free(shuffled);
  return list;
}

static void cliques_come_together(void **state) {
  (void)state;
  dzo_edge_list *list = make_cliques(2000, 20, 4000);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g[TEAMS];
  for (int t = 0; t < TEAMS; t++) {
    must(teams[t], dzo_graph_from_edges(teams[t], &e, &g[t]));
    must(teams[t], dzo_graph_renumber(teams[t], g[t]));
    assert_memory_equal(g[t]->neighbours, g[0]->neighbours, g[0]->arcs * sizeof(uint32_t));
    assert_memory_equal(g[t]->numbers32, g[0]->numbers32, g[0]->arcs * sizeof(uint32_t));
    assert_memory_equal(g[t]->labels, g[0]->labels, g[0]->vertices * sizeof(uint64_t));
  }
  uint64_t near = 0;
  for (uint64_t r = 0; r < g[0]->vertices; r++)
    for (uint64_t i = g[0]->offsets[r]; i < g[0]->offsets[r + 1]; i++)
      near += g[0]->neighbours[i] + 20 > r && g[0]->neighbours[i] < r + 20;
  assert_true(100 * near > 98 * g[0]->arcs); /* 1.05 % are links */
  for (int t = 0; t < TEAMS; t++)
    dzo_graph_destroy(g[t]);
  dzo_edge_list_destroy(list);
}

/* ---- Errors -----------------------------------------------------------------------------------
 */

static void wrong_calls_are_refused(void **state) {
  (void)state;
  dzo_context *context = teams[0];
  random_graph *r = random_graph_make(1, 50, DZO_WEIGHT_U32, 0);
  dzo_graph *g;
  must(context, dzo_graph_from_edges(context, &r->edges, &g));
  assert_int_equal(dzo_graph_sort_rows(context, NULL, DZO_ROWS_BY_WEIGHT), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_sort_rows(context, g, (dzo_row_order)2), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_renumber(context, NULL), DZO_E_ARGUMENT);
  must(context, dzo_graph_compress(context, g));
  assert_int_equal(dzo_graph_sort_rows(context, g, DZO_ROWS_BY_WEIGHT), DZO_E_UNSUPPORTED);
  assert_int_equal(dzo_graph_renumber(context, g), DZO_E_UNSUPPORTED);
  dzo_graph_destroy(g);
  random_graph_free(r);
}

static void cancelled_rows_can_be_sorted_again(void **state) {
  (void)state;
  dzo_context *context = teams[1];
  dzo_edge_list *list = make_large(DZO_WEIGHT_U32);
  dzo_edges e;
  dzo_edge_list_view(list, &e);
  dzo_graph *g;
  must(context, dzo_graph_from_edges(context, &e, &g));
  plain_arc *plain = arcs_of(g);
  dzo_context_cancel(context);
  assert_int_equal(dzo_graph_sort_rows(context, g, DZO_ROWS_BY_WEIGHT), DZO_E_CANCELLED);
  assert_int_equal(dzo_graph_renumber(context, g), DZO_E_CANCELLED);
  dzo_context_resume(context);
  must(context, dzo_graph_sort_rows(context, g, DZO_ROWS_BY_NEIGHBOUR));
  expect_arcs(g, plain);
  free(plain);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
}

static dzo_status sort_by_weight(dzo_context *context, dzo_graph *g) {
  return dzo_graph_sort_rows(context, g, DZO_ROWS_BY_WEIGHT);
}

/* A failed preparation changes nothing. */
static void each_allocation_may_fail(void **state) {
  (void)state;
  dzo_status (*const calls[])(dzo_context *, dzo_graph *) = {sort_by_weight, dzo_graph_renumber,
                                                             dzo_graph_compress};
  random_graph *r = random_graph_make(8, 150, DZO_WEIGHT_F64, 0);
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int what = 0; what < 3; what++) {
    dzo_graph *g;
    must(context, dzo_graph_from_edges(context, &r->edges, &g));
    plain_arc *plain = arcs_of(g);
    int64_t alive = memory.alive;
    dzo_status status = DZO_E_MEMORY;
    int failures = 0;
    for (int64_t k = 0; status != DZO_OK; k++) {
      memory.left = k;
      status = calls[what](context, g);
      assert_true(status == DZO_OK || status == DZO_E_MEMORY);
      if (status == DZO_OK)
        break;
      failures++;
      assert_int_equal(memory.alive, alive);
      assert_int_equal(g->row_order, DZO_ROWS_BY_NEIGHBOUR);
      expect_arcs(g, plain);
    }
    assert_true(failures > 5);
    memory.left = -1;
    free(plain);
    dzo_graph_destroy(g);
    assert_int_equal(memory.alive, 1);
  }
  dzo_context_destroy(context);
  random_graph_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_sorted_and_restored),
      cmocka_unit_test(large_rows_are_sorted),
      cmocka_unit_test(renumbering_keeps_the_graph),
      cmocka_unit_test(cliques_come_together),
      cmocka_unit_test(wrong_calls_are_refused),
      cmocka_unit_test(cancelled_rows_can_be_sorted_again),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_teams, break_teams);
}
