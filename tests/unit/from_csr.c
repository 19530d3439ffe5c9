/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph_checks.h"
#include "random_graphs.h"

/* ---- A caller's CSR ---------------------------------------------------------------------------
 */

typedef struct own_csr {
  dzo_csr csr;
  uint64_t *offsets;
  uint32_t *neighbours;
  int64_t *weights;
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

static dzo_status build_and_list(dzo_context *context, void *argument) {
  const own_csr *c = argument;
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
  for (c.csr.symmetric = 0; c.csr.symmetric < 2; c.csr.symmetric++)
    fail_each_allocation(build_and_list, &c, 20);
  csr_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callers_csr_is_taken),
      cmocka_unit_test(asymmetry_is_found),
      cmocka_unit_test(a_wrong_csr_is_refused),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_teams, break_teams);
}
