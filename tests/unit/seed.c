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

#include "device_graphs.h"
#include "forest_checks.h"
#include "msf/seed.h"

static gpu_host host;

static void check_forest(const dzo_graph *graph, msf_gpu_forest *forest, const oracle_forest *f,
                         const char *what) {
  uint64_t *arcs = malloc((graph->vertices + 1) * sizeof *arcs);
  uint32_t *labels = malloc((graph->vertices + 1) * sizeof *labels);
  assert_true(arcs && labels);
  from_gpu(host, arcs, forest->arcs, forest->count, sizeof *arcs);
  from_gpu(host, labels, forest->labels, graph->vertices, sizeof *labels);
  expect_arcs(graph, arcs, forest->count, labels, forest->components, f, what);
  free(arcs);
  free(labels);
}

static msf_gpu_forest forest_make(const dzo_graph *graph, bool timed) {
  msf_gpu_forest forest = {.timed = timed};
  forest.arcs = to_gpu(host, NULL, graph->vertices, sizeof *forest.arcs);
  forest.labels = to_gpu(host, NULL, graph->vertices, sizeof *forest.labels);
  return forest;
}

static void forest_free(msf_gpu_forest *forest) {
  dzo_unit_release(host.unit, forest->arcs);
  dzo_unit_release(host.unit, forest->labels);
}

/* From device memory; with the weights as they are, where `edges` is given. */
static void check_on_device(const dzo_graph *graph, const dzo_edges *edges, bool maximum,
                            const oracle_forest *f, const char *what) {
  device_graph d = device_graph_make(host, graph, edges, maximum);
  msf_gpu_forest forest = forest_make(graph, edges != NULL);
  must_on(host, msf_seed_solve(host.unit, &d.graph, &forest));
  check_forest(graph, &forest, f, what);
  if (graph->vertices > 0)
    assert_true((strstr(forest.plan, "minimum") != NULL) == forest.timed);
  forest_free(&forest);
  device_graph_free(host, &d);
}

static void *pinned(const void *items, uint64_t count, size_t size) {
  if (items == NULL)
    return NULL;
  void *copy;
  must_on(host, dzo_unit_allocate_staging(host.unit, count, size, &copy));
  memcpy(copy, items, count * size);
  return copy;
}

/* From pinned memory of the host. */
static void check_on_host(const dzo_graph *graph, bool maximum, const oracle_forest *f,
                          const char *what) {
  dzo_graph g = *graph;
  dzo_compressed packed;
  g.keys32 = pinned(graph->keys32, graph->arcs, sizeof *g.keys32);
  g.keys64 = pinned(graph->keys64, graph->arcs, sizeof *g.keys64);
  g.neighbours = pinned(graph->neighbours, graph->arcs, sizeof *g.neighbours);
  if (graph->compressed != NULL) {
    const dzo_compressed *c = graph->compressed;
    packed = *c;
    g.compressed = &packed;
    packed.bases = pinned(c->bases, c->blocks, sizeof *c->bases);
    packed.low = pinned(c->low, c->blocks, DZO_BLOCK_ARCS);
    packed.high = pinned(c->high, c->blocks, DZO_BLOCK_PLANE);
    packed.block_exception = pinned(c->block_exception, c->blocks + 1, sizeof *c->block_exception);
    packed.group_exception =
        pinned(c->group_exception, c->blocks / DZO_GROUP_BLOCKS + 1, sizeof *c->group_exception);
    packed.exceptions = pinned(c->exceptions, c->exception_count, sizeof *c->exceptions);
  }
  msf_gpu_forest forest = forest_make(graph, true);
  must_on(host, msf_seed_solve_host(host.unit, &g, maximum, &forest));
  check_forest(graph, &forest, f, what);
  forest_free(&forest);
  void *all[] = {g.keys32, g.keys64, g.neighbours};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    dzo_unit_release_staging(host.unit, all[i]);
  if (graph->compressed == NULL)
    return;
  void *parts[] = {packed.bases,           packed.low,       packed.high, packed.block_exception,
                   packed.group_exception, packed.exceptions};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    dzo_unit_release_staging(host.unit, parts[i]);
}

/* Weights as they are need edges numbered by place. */
static void check_edges(const dzo_edges *edges, preparation how, const char *name) {
  dzo_graph *graph = prepare(host.context, edges, how);
  for (int maximum = 0; maximum < 2; maximum++) {
    oracle_forest *f = oracle_solve(edges, maximum, 0);
    check_on_device(graph, ((int)how + maximum) % 2 ? edges : NULL, maximum, f, name);
    check_on_host(graph, maximum, f, name);
    oracle_free(f);
  }
  dzo_graph_destroy(graph);
}

static void small_graphs_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  for (uint64_t seed = 0; seed < gpu_rounds(); seed++) {
    uint64_t most = seed % 50 == 0 ? 2000 : seed % 3 == 0 ? 6 : 80;
    random_graph *g = random_graph_make(seed, most, every_type[seed % TYPES], RANDOM_PLAIN_NUMBERS);
    char name[64];
    snprintf(name, sizeof name, "seed %d", (int)seed);
    check_edges(&g->edges, (preparation)(seed / TYPES % RENUMBERED), name);
    random_graph_free(g);
  }
}

static void generated_graphs_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  const char *const names[] = {"rmat", "ssca2", "uniform", "grid"};
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_U32, DZO_WEIGHT_NONE, DZO_WEIGHT_F32};
  for (int kind = 0; kind < 4; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = GPU_SCALE;
    options.weight_type = types[kind];
    dzo_edge_list *list;
    must(host.context, dzo_edge_list_generate(host.context, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    for (int how = 0; how < RENUMBERED; how += GPU_STEP)
      check_edges(&edges, (preparation)how, names[kind]);
    dzo_edge_list_destroy(list);
  }
}

/* Rows that are cut into parts, with ties and parallel arcs across the cuts, and neighbours too far
 * apart for one base. */
static void long_rows_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { N = 4000, M = 4000, HUBS = 3 };
  uint32_t *u = malloc(M * sizeof *u), *v = malloc(M * sizeof *v), *w = malloc(M * sizeof *w);
  assert_true(u && v && w);
  random_source random = {5};
  for (uint32_t values = 1; values < 100000; values *= 700) {
    for (int i = 0; i < M; i++) {
      u[i] = (uint32_t)random_below(&random, HUBS) * (N / HUBS);
      v[i] = (uint32_t)random_below(&random, i % 4 == 0 ? 5 : N);
      w[i] = (uint32_t)random_below(&random, values);
    }
    dzo_edges edges = {.vertices = N, .count = M, .u = u, .v = v};
    edges.weight_type = DZO_WEIGHT_U32;
    edges.weights = w;
    for (int how = 0; how < RENUMBERED; how += GPU_STEP)
      check_edges(&edges, (preparation)how, "long rows");
  }
  free(u);
  free(v);
  free(w);
}

/* Cliques whose rows are short, with the ways out behind some of their arcs within. */
static void cliques_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { CLIQUES = 24, SIZE = 14, OUT = 3, N = CLIQUES * SIZE, MOST = N * (SIZE + OUT) };
  uint32_t *u = malloc(MOST * sizeof *u), *v = malloc(MOST * sizeof *v);
  uint32_t *w = malloc(MOST * sizeof *w);
  assert_true(u && v && w);
  random_source random = {11};
  uint64_t count = 0;
  for (uint32_t a = 0; a < N; a++) {
    for (uint32_t b = a / SIZE * SIZE; b < a; b++) {
      if (random_below(&random, 3) == 0 && b + 1 < a)
        continue;
      u[count] = a;
      v[count] = b;
      w[count++] = (uint32_t)random_below(&random, 1000);
    }
    for (int i = 0; i < OUT; i++) {
      u[count] = a;
      v[count] = (uint32_t)random_below(&random, N);
      w[count++] = 500 + (uint32_t)random_below(&random, 100000);
    }
  }
  dzo_edges edges = {.vertices = N, .count = count, .u = u, .v = v};
  edges.weight_type = DZO_WEIGHT_U32;
  edges.weights = w;
  for (int how = 0; how < RENUMBERED; how += GPU_STEP)
    check_edges(&edges, (preparation)how, "cliques");
  free(u);
  free(v);
  free(w);
}

/* A path whose weights rise makes one chain of hooks. */
static void long_chains_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { N = 1500 };
  static uint32_t u[N], v[N];
  static int64_t w[N];
  for (int falling = 0; falling < 2; falling++) {
    for (int i = 0; i + 1 < N; i++) {
      u[i] = (uint32_t)i;
      v[i] = (uint32_t)i + 1;
      w[i] = falling ? -i : i;
    }
    dzo_edges edges = {.vertices = N, .count = N - 1, .u = u, .v = v};
    edges.weight_type = DZO_WEIGHT_I64;
    edges.weights = w;
    check_edges(&edges, falling ? COMPRESSED_BY_WEIGHT : BY_NEIGHBOUR, "chain");
  }
}

static void too_much_is_refused(void **state) {
  (void)state;
  need_gpu(host);
  msf_gpu_forest forest = {.arcs = NULL};
  msf_gpu_graph graph = {.vertices = UINT32_C(1) << 30};
  assert_int_equal(msf_seed_solve(host.unit, &graph, &forest), DZO_E_UNSUPPORTED);
  graph = (msf_gpu_graph){.vertices = 1, .arcs = UINT64_C(1) << 36};
  assert_int_equal(msf_seed_solve(host.unit, &graph, &forest), DZO_E_UNSUPPORTED);
}

/* A GPU that fails in the middle. */
static void failures_end_it(void **state) {
  (void)state;
  need_gpu(host);
  gpu_host other = host;
  random_graph *g = random_graph_make(12, 60, DZO_WEIGHT_U32, RANDOM_PLAIN_NUMBERS);
  dzo_graph *graph = prepare(host.context, &g->edges, BY_WEIGHT);
  bool failed = true;
  for (uint64_t k = 1; failed; k += 1 + k / 4) {
    host = gpu_host_open();
    device_graph d = device_graph_make(host, graph, NULL, false);
    msf_gpu_forest forest = forest_make(graph, k % 2 == 0);
    host.unit->fail_at = host.unit->operations + k;
    dzo_status status = msf_seed_solve(host.unit, &d.graph, &forest);
    failed = host.unit->lost;
    assert_int_equal(status, failed ? DZO_E_DEVICE : DZO_OK);
    forest_free(&forest);
    device_graph_free(host, &d);
    gpu_host_close(&host);
  }
  dzo_graph_destroy(graph);
  random_graph_free(g);
  host = other;
}

static int open_host(void **state) {
  (void)state;
  host = gpu_host_open();
  return 0;
}

static int close_host(void **state) {
  (void)state;
  gpu_host_close(&host);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_graphs_equal_the_oracle),
      cmocka_unit_test(generated_graphs_equal_the_oracle),
      cmocka_unit_test(long_rows_equal_the_oracle),
      cmocka_unit_test(cliques_equal_the_oracle),
      cmocka_unit_test(long_chains_equal_the_oracle),
      cmocka_unit_test(too_much_is_refused),
      cmocka_unit_test(failures_end_it),
  };
  return cmocka_run_group_tests(tests, open_host, close_host);
}
