/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_memory.h"

static const int team_sizes[TEAMS] = {1, 2, 3, 8};
dzo_context *teams[TEAMS];

int make_teams(void **state) {
  (void)state;
  for (int t = 0; t < TEAMS; t++) {
    dzo_context_options options;
    dzo_context_options_init(&options);
    options.threads = team_sizes[t];
    if (dzo_context_create(&options, &teams[t]) != DZO_OK)
      return -1;
  }
  return 0;
}

int break_teams(void **state) {
  (void)state;
  for (int t = 0; t < TEAMS; t++) {
    assert_int_equal(dzo_context_memory_used(teams[t]), 0);
    dzo_context_destroy(teams[t]);
  }
  return 0;
}

void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
}

void must_fail(dzo_context *context, dzo_status status, dzo_status expected, const char *message) {
  assert_string_equal(dzo_status_name(status), dzo_status_name(expected));
  assert_string_equal(dzo_context_message(context), message);
}

/* ---- An oracle: arcs sorted by qsort ----------------------------------------------------------
 */

typedef struct plain_arc {
  uint32_t row, neighbour;
  uint64_t number;
  uint64_t edge; /* position in the list */
} plain_arc;

static int by_row(const void *a, const void *b) {
  const plain_arc *x = a, *y = b;
  if (x->row != y->row)
    return x->row < y->row ? -1 : 1;
  if (x->neighbour != y->neighbour)
    return x->neighbour < y->neighbour ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

/* -1, 0, 1, computed on the values themselves. */
int compare_weights(const dzo_edges *e, uint64_t i, dzo_weight w) {
  switch (e->weight_type) {
  case DZO_WEIGHT_NONE:
    return w.u64 != 1;
  case DZO_WEIGHT_U32:
    return ((const uint32_t *)e->weights)[i] != w.u64;
  case DZO_WEIGHT_I64:
    return ((const int64_t *)e->weights)[i] != w.i64;
  case DZO_WEIGHT_U64:
    return ((const uint64_t *)e->weights)[i] != w.u64;
  case DZO_WEIGHT_F32:
    return (double)((const float *)e->weights)[i] != w.f64;
  case DZO_WEIGHT_F64:
    return ((const double *)e->weights)[i] != w.f64;
  }
  return 1;
}

static uint64_t plain_arcs(const dzo_edges *e, plain_arc **out) {
  plain_arc *arcs = malloc((2 * e->count + 1) * sizeof *arcs);
  assert_non_null(arcs);
  uint64_t count = 0;
  for (uint64_t i = 0; i < e->count; i++) {
    if (e->u[i] == e->v[i])
      continue;
    arcs[count++] = (plain_arc){e->u[i], e->v[i], dzo_edge_number(e, i), i};
    arcs[count++] = (plain_arc){e->v[i], e->u[i], dzo_edge_number(e, i), i};
  }
  qsort(arcs, count, sizeof *arcs, by_row);
  *out = arcs;
  return count;
}

static void expect_loops(const dzo_graph *g, const dzo_edges *e) {
  uint64_t loops = 0;
  for (uint64_t i = 0; i < e->count; i++) {
    if (e->u[i] != e->v[i])
      continue;
    assert_true(loops < g->loops);
    assert_int_equal(g->loop_vertices[loops], e->u[i]);
    assert_int_equal(g->loop_numbers[loops], dzo_edge_number(e, i));
    assert_int_equal(compare_weights(e, i, dzo_key_weight(&g->map, g->loop_keys[loops])), 0);
    loops++;
  }
  assert_int_equal(g->loops, loops);
}

void expect_graph(const dzo_graph *g, const dzo_edges *e) {
  plain_arc *arcs;
  uint64_t count = plain_arcs(e, &arcs);
  assert_int_equal(dzo_graph_vertices(g), e->vertices);
  assert_int_equal(dzo_graph_edges(g), e->count);
  assert_int_equal(dzo_graph_arcs(g), count);
  assert_int_equal(dzo_graph_weight_type(g), e->weight_type);
  assert_int_equal(dzo_graph_row_order(g), DZO_ROWS_BY_NEIGHBOUR);
  assert_int_equal(g->offsets[0], 0);
  uint64_t at = 0;
  for (uint64_t row = 0; row < e->vertices; row++) {
    assert_int_equal(g->offsets[row], at);
    while (at < count && arcs[at].row == row)
      at++;
    uint64_t label = e->labels ? e->labels[row] : row + e->first_label;
    assert_int_equal(dzo_graph_label(g, (uint32_t)row), label);
  }
  assert_int_equal(g->offsets[e->vertices], count);
  for (uint64_t i = 0; i < count; i++) {
    assert_int_equal(g->neighbours[i], arcs[i].neighbour);
    assert_int_equal(dzo_arc_number(g, i), arcs[i].number);
    assert_int_equal(compare_weights(e, arcs[i].edge, dzo_key_weight(&g->map, dzo_arc_key(g, i))),
                     0);
  }
  expect_loops(g, e);
  free(arcs);
}

void fail_each_allocation(dzo_status (*fn)(dzo_context *context, void *argument), void *argument,
                          int least) {
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  assert_non_null(context);
  dzo_status status = DZO_E_MEMORY;
  int failures = 0;
  for (int64_t k = 0; status != DZO_OK; k++) {
    memory.left = k;
    status = fn(context, argument);
    assert_int_equal(memory.alive, 1); /* the context */
    if (status == DZO_OK)
      break;
    assert_int_equal(status, DZO_E_MEMORY);
    assert_true(dzo_context_message(context)[0] != '\0');
    failures++;
  }
  assert_true(failures >= least);
  dzo_context_destroy(context);
}
