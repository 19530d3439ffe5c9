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
#include "failing_memory.h"
#include "graph/csr.h"
#include "graph/edge_list.h"
#include "random_graphs.h"

enum { TYPES = 6, TEAMS = 4 };
static const int team_sizes[TEAMS] = {1, 2, 3, 8};
static dzo_context *teams[TEAMS];

static int make_teams(void **state) {
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

static int break_teams(void **state) {
  (void)state;
  for (int t = 0; t < TEAMS; t++) {
    assert_int_equal(dzo_context_memory_used(teams[t]), 0);
    dzo_context_destroy(teams[t]);
  }
  return 0;
}

static void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
}

static void must_fail(dzo_context *context, dzo_status status, dzo_status expected,
                      const char *message) {
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
static int compare_weights(const dzo_edges *e, uint64_t i, dzo_weight w) {
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

static uint64_t number_of(const dzo_edges *e, uint64_t i) {
  return e->numbers ? e->numbers[i] : e->first_number + i;
}

static uint64_t plain_arcs(const dzo_edges *e, plain_arc **out) {
  plain_arc *arcs = malloc((2 * e->count + 1) * sizeof *arcs);
  assert_non_null(arcs);
  uint64_t count = 0;
  for (uint64_t i = 0; i < e->count; i++) {
    if (e->u[i] == e->v[i])
      continue;
    arcs[count++] = (plain_arc){e->u[i], e->v[i], number_of(e, i), i};
    arcs[count++] = (plain_arc){e->v[i], e->u[i], number_of(e, i), i};
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
    assert_int_equal(g->loop_numbers[loops], number_of(e, i));
    assert_int_equal(compare_weights(e, i, dzo_key_weight(&g->map, g->loop_keys[loops])), 0);
    loops++;
  }
  assert_int_equal(g->loops, loops);
}

static void expect_graph(const dzo_graph *g, const dzo_edges *e) {
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
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_NONE, DZO_WEIGHT_I64};
  for (int k = 0; k < 3; k++) {
    dzo_edge_list *list = make_list(7 + (uint64_t)k, k == 2 ? 300000 : 5000, 300000, types[k]);
    dzo_edges e;
    dzo_edge_list_view(list, &e);
    e.first_number = k == 1 ? (UINT64_C(1) << 32) - 5 : 0;
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
    assert_int_equal(number_of(a, i), number_of(b, i));
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

/* ---- A caller's CSR ---------------------------------------------------------------------------
 */

typedef struct own_csr {
  dzo_csr csr;
  uint64_t *offsets;
  uint32_t *neighbours;
  int64_t *weights;
  uint64_t room;
} own_csr;

static void csr_free(own_csr *c) {
  free(c->offsets);
  free(c->neighbours);
  free(c->weights);
}

typedef struct csr_entry {
  uint32_t row, neighbour;
  int64_t weight;
  uint64_t shuffle;
} csr_entry;

static int by_row_shuffled(const void *a, const void *b) {
  const csr_entry *x = a, *y = b;
  if (x->row != y->row)
    return x->row < y->row ? -1 : 1;
  return (x->shuffle > y->shuffle) - (x->shuffle < y->shuffle);
}

/* Edges with both directions stored (loops once), each row in a random order. */
static own_csr shuffled_csr(random_source *random, uint64_t n, uint64_t edges) {
  csr_entry *entries = malloc((2 * edges + 1) * sizeof *entries);
  uint64_t count = 0;
  for (uint64_t i = 0; i < edges; i++) {
    uint32_t u = (uint32_t)random_below(random, n), v = (uint32_t)random_below(random, n);
    int64_t w = (int64_t)random_below(random, 5) - 2;
    entries[count++] = (csr_entry){u, v, w, random_bits(random)};
    if (u != v)
      entries[count++] = (csr_entry){v, u, w, random_bits(random)};
  }
  qsort(entries, count, sizeof *entries, by_row_shuffled);
  own_csr c = {.offsets = calloc(n + 1, sizeof *c.offsets),
               .neighbours = calloc(count + 1, sizeof *c.neighbours),
               .weights = calloc(count + 1, sizeof *c.weights)};
  for (uint64_t i = 0; i < count; i++) {
    c.offsets[entries[i].row + 1] = i + 1;
    c.neighbours[i] = entries[i].neighbour;
    c.weights[i] = entries[i].weight;
  }
  for (uint64_t r = 0; r < n; r++)
    if (c.offsets[r + 1] < c.offsets[r])
      c.offsets[r + 1] = c.offsets[r];
  c.csr = (dzo_csr){n, c.offsets, c.neighbours, DZO_WEIGHT_I64, c.weights, 1};
  free(entries);
  return c;
}

/* The edges as the interface defines them. */
static uint64_t edges_of_csr(const own_csr *c, uint32_t *u, uint32_t *v, int64_t *w,
                             uint64_t *numbers) {
  uint64_t count = 0;
  for (uint64_t r = 0; r < c->csr.vertices; r++)
    for (uint64_t i = c->offsets[r]; i < c->offsets[r + 1]; i++) {
      if (c->csr.symmetric && c->neighbours[i] < r)
        continue;
      u[count] = (uint32_t)r;
      v[count] = c->neighbours[i];
      w[count] = c->weights[i];
      numbers[count++] = i;
    }
  return count;
}

static void a_callers_csr_is_taken(void **state) {
  (void)state;
  static uint32_t u[1000], v[1000];
  static int64_t w[1000];
  static uint64_t numbers[1000];
  random_source random = {1};
  for (int round = 0; round < 200; round++) {
    uint64_t n = 1 + random_below(&random, 30);
    own_csr c = shuffled_csr(&random, n, random_below(&random, 120));
    dzo_context *context = teams[round % TEAMS];
    for (c.csr.symmetric = 0; c.csr.symmetric < 2; c.csr.symmetric++) {
      dzo_edges e = {.vertices = n, .u = u, .v = v, .weight_type = DZO_WEIGHT_I64, .weights = w};
      e.count = edges_of_csr(&c, u, v, w, numbers);
      e.numbers = numbers;
      dzo_graph *g;
      must(context, dzo_graph_from_csr(context, &c.csr, &g));
      expect_graph(g, &e);
      dzo_graph_destroy(g);
    }
    csr_free(&c);
  }
}

/* Break one entry in any way; the message names an entry of that pair. */
static void asymmetry_is_found(void **state) {
  (void)state;
  random_source random = {2};
  int found = 0;
  for (int round = 0; round < 400; round++) {
    uint64_t n = 3 + random_below(&random, 20);
    own_csr c = shuffled_csr(&random, n, 1 + random_below(&random, 60));
    dzo_context *context = teams[round % TEAMS];
    uint64_t entry = random_below(&random, c.offsets[n]), row = 0;
    while (c.offsets[row + 1] <= entry)
      row++;
    uint32_t neighbour = c.neighbours[entry];
    if (neighbour != row) { /* a loop would stay one whatever its weight */
      if (round % 2)
        c.weights[entry] += 1 + (int64_t)random_below(&random, 3);
      else
        c.neighbours[entry] =
            (uint32_t)(neighbour + 1 + random_below(&random, n - 1)) % (uint32_t)n;
      dzo_graph *g = (dzo_graph *)&state;
      assert_int_equal(dzo_graph_from_csr(context, &c.csr, &g), DZO_E_ARGUMENT);
      assert_null(g);
      assert_non_null(strstr(dzo_context_message(context), "not symmetric: entry "));
      found++;
    }
    csr_free(&c);
  }
  assert_true(found > 300);
  const uint64_t offsets[] = {0, 1, 3, 4};
  const uint32_t neighbours[] = {1, 0, 2, 0};
  dzo_graph *g;
  must_fail(teams[0],
            dzo_graph_from_csr(teams[0],
                               &(dzo_csr){3, offsets, neighbours, DZO_WEIGHT_NONE, NULL, 1}, &g),
            DZO_E_ARGUMENT, "not symmetric: entry 2 (row 1, neighbour 2) has no twin in row 2");
}

static void a_wrong_csr_is_refused(void **state) {
  (void)state;
  const uint64_t offsets[] = {0, 2, 1}, late[] = {1, 2}, good[] = {0, 1};
  const uint32_t neighbours[] = {0, 7};
  dzo_graph *g = (dzo_graph *)&state;
  dzo_csr csr = {2, offsets, neighbours, DZO_WEIGHT_NONE, NULL, 0};
  must_fail(teams[0], dzo_graph_from_csr(teams[0], &csr, &g), DZO_E_ARGUMENT,
            "offset 2 is less than the one before");
  assert_null(g);
  csr.vertices = 1;
  csr.offsets = late;
  must_fail(teams[0], dzo_graph_from_csr(teams[0], &csr, &g), DZO_E_ARGUMENT,
            "the first offset is 1, not 0");
  csr.offsets = good;
  csr.neighbours = neighbours + 1;
  for (csr.symmetric = 0; csr.symmetric < 2; csr.symmetric++)
    must_fail(teams[0], dzo_graph_from_csr(teams[0], &csr, &g), DZO_E_ARGUMENT,
              "edge 0: endpoint 7 is not below 1 vertices");
  csr.weight_type = DZO_WEIGHT_F64;
  for (csr.symmetric = 0; csr.symmetric < 2; csr.symmetric++)
    must_fail(teams[0], dzo_graph_from_csr(teams[0], &csr, &g), DZO_E_ARGUMENT,
              "weights of type f64 need an array");
  csr.neighbours = NULL;
  assert_int_equal(dzo_graph_from_csr(teams[0], &csr, &g), DZO_E_ARGUMENT);
  assert_int_equal(dzo_graph_from_csr(teams[0], NULL, &g), DZO_E_ARGUMENT);
}

/* ---- Failing memory ---------------------------------------------------------------------------
 */

static dzo_status call_from_edges(dzo_context *context, const own_csr *c) {
  static uint32_t u[1000], v[1000];
  static int64_t w[1000];
  static uint64_t numbers[1000];
  dzo_edges e = {.vertices = c->csr.vertices, .u = u, .v = v, .weight_type = DZO_WEIGHT_I64};
  e.count = edges_of_csr(c, u, v, w, numbers);
  e.labels = c->offsets;
  e.weights = w;
  for (uint64_t i = 0; i < e.count; i++) /* few distinct ones, far apart: a dictionary */
    w[i] *= INT64_C(1) << 40;
  dzo_graph *g;
  dzo_edge_list *list = NULL, *copy = NULL;
  dzo_status status = dzo_graph_from_edges(context, &e, &g);
  if (status == DZO_OK)
    assert_int_equal(g->map.kind, DZO_KEY_DICTIONARY);
  if (status == DZO_OK)
    status = dzo_graph_to_edge_list(context, g, &list);
  if (status == DZO_OK)
    status = dzo_edge_list_copy(context, &e, &copy);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
  dzo_edge_list_destroy(copy);
  return status;
}

static dzo_status call_from_csr(dzo_context *context, const own_csr *c) {
  dzo_graph *g;
  dzo_edge_list *list = NULL;
  dzo_status status = dzo_graph_from_csr(context, &c->csr, &g);
  if (status == DZO_OK) /* numbers with gaps */
    status = dzo_graph_to_edge_list(context, g, &list);
  dzo_graph_destroy(g);
  dzo_edge_list_destroy(list);
  return status;
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  random_source random = {3};
  own_csr c = shuffled_csr(&random, 40, 200);
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int what = 0; what < 2; what++) {
    dzo_status status = DZO_E_MEMORY;
    int failures = 0;
    for (int64_t k = 0; status != DZO_OK; k++) {
      memory.left = k;
      status = what ? call_from_csr(context, &c) : call_from_edges(context, &c);
      assert_int_equal(memory.alive, 1); /* the context */
      assert_true(status == DZO_OK || status == DZO_E_MEMORY);
      failures += status != DZO_OK;
      if (status != DZO_OK)
        assert_true(dzo_context_message(context)[0] != '\0');
    }
    assert_true(failures > 20);
    memory.left = -1;
  }
  dzo_context_destroy(context);
  csr_free(&c);
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
      cmocka_unit_test(an_edge_list_is_copied),
      cmocka_unit_test(a_graph_becomes_its_edge_list_again),
      cmocka_unit_test(a_callers_csr_is_taken),
      cmocka_unit_test(asymmetry_is_found),
      cmocka_unit_test(a_wrong_csr_is_refused),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_teams, break_teams);
}
