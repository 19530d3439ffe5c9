/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The yardstick of the benchmarks must be right, or its speed means nothing. The oracle is Prim's
 * algorithm on a dense matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "bench/filter_kruskal.h"

enum { MOST = 300 };

typedef struct matrix {
  uint32_t n;
  uint64_t edges;
  uint64_t lightest[MOST][MOST]; /* UINT64_MAX: no edge */
} matrix;

typedef struct rows {
  uint64_t offsets[MOST + 1];
  uint32_t *neighbours, *weights;
} rows;

static matrix random_matrix;

static rows random_rows(uint32_t n, uint64_t edges, uint32_t weights, uint64_t seed) {
  matrix *m = &random_matrix;
  m->n = n;
  m->edges = edges;
  memset(m->lightest, 0xff, sizeof m->lightest);
  uint32_t *u = malloc(3 * (edges + 1) * sizeof *u), *v = u + edges, *w = v + edges;
  rows r = {.neighbours = malloc(2 * (edges + 1) * sizeof *u),
            .weights = malloc(2 * (edges + 1) * sizeof *u)};
  assert_true(u != NULL && r.neighbours != NULL && r.weights != NULL);
  uint64_t degree[MOST + 1] = {0};
  for (uint64_t i = 0; i < edges; i++) {
    u[i] = (uint32_t)(dzo_random_word(seed, 3 * i) % n);
    v[i] = (u[i] + 1 + (uint32_t)(dzo_random_word(seed, 3 * i + 1) % (n - 1))) % n;
    w[i] = weights == 0 ? (uint32_t)dzo_random_word(seed, 3 * i + 2)
                        : (uint32_t)(dzo_random_word(seed, 3 * i + 2) % weights);
    degree[u[i]]++;
    degree[v[i]]++;
    if (w[i] < m->lightest[u[i]][v[i]])
      m->lightest[u[i]][v[i]] = m->lightest[v[i]][u[i]] = w[i];
  }
  for (uint32_t x = 0; x < n; x++)
    r.offsets[x + 1] = r.offsets[x] + degree[x];
  for (uint64_t i = 0; i < edges; i++) {
    uint64_t a = r.offsets[u[i]] + --degree[u[i]], b = r.offsets[v[i]] + --degree[v[i]];
    r.neighbours[a] = v[i];
    r.neighbours[b] = u[i];
    r.weights[a] = r.weights[b] = w[i];
  }
  free(u);
  return r;
}

/* Weight and edges of the forest. */
static uint64_t prim(const matrix *m, uint64_t *count) {
  uint64_t nearest[MOST], total = 0;
  bool done[MOST] = {false};
  memset(nearest, 0xff, sizeof nearest);
  *count = 0;
  for (uint32_t step = 0; step < m->n; step++) {
    uint32_t best = MOST;
    for (uint32_t x = 0; x < m->n; x++) {
      if (!done[x] && (best == MOST || nearest[x] < nearest[best]))
        best = x;
    }
    done[best] = true;
    if (nearest[best] != UINT64_MAX) {
      total += nearest[best];
      (*count)++;
    }
    for (uint32_t x = 0; x < m->n; x++) {
      if (m->lightest[best][x] < nearest[x])
        nearest[x] = m->lightest[best][x];
    }
  }
  return total;
}

static uint32_t root(uint32_t *parent, uint32_t x) {
  while (parent[x] != x)
    x = parent[x];
  return x;
}

static void check(dzo_context *context, uint32_t n, uint64_t edges, uint32_t weights,
                  uint64_t seed) {
  rows r = random_rows(n, edges, weights, seed);
  const filter_kruskal_graph graph = {n, r.offsets, r.neighbours, r.weights};
  filter_kruskal_edge *forest;
  uint64_t count, expected_count, total = 0;
  assert_int_equal(filter_kruskal(context, &graph, seed % 2 == 0, &forest, &count), DZO_OK);
  uint64_t expected = prim(&random_matrix, &expected_count);
  uint32_t parent[MOST];
  for (uint32_t x = 0; x < n; x++)
    parent[x] = x;
  for (uint64_t i = 0; i < count; i++) {
    const filter_kruskal_edge *e = &forest[i];
    assert_true(e->weight == random_matrix.lightest[e->u][e->v]);
    uint32_t x = root(parent, e->u), y = root(parent, e->v);
    assert_int_not_equal(x, y);
    parent[x] = y;
    total += e->weight;
  }
  assert_true(count == expected_count && total == expected);
  dzo_free(forest);
  free(r.neighbours);
  free(r.weights);
}

static void forests_are_minimum(void **unused) {
  (void)unused;
  dzo_context *context;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  const uint64_t edges[] = {0, 1, 50, 299, 2000, 9000, 40000};
  const uint32_t weights[] = {0, 1, 2, 3, 1000};
  for (uint64_t seed = 1; seed <= 3; seed++) {
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
      for (size_t w = 0; w < sizeof weights / sizeof weights[0]; w++) {
        check(context, MOST, edges[e], weights[w], seed);
        check(context, 2, edges[e], weights[w], seed);
      }
    }
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forests_are_minimum)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
