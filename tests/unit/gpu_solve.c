/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GPU's solver called directly, with its choices made by hand so that all its paths run. */
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
#include "msf/gpu_solve.h"

/* Under the shim a kernel costs a thousand times what it does on a GPU. Where that is watched, too,
 * each graph is solved once, in one way after the other. */
enum { SEEDS = ROUNDS / 10, SCALE = MEDIUM_SCALE - 3, WATCHED = MEDIUM_SCALE < 9, TUNED = 4 };

static gpu_host host;

/* All steps with thresholds, in each way to scan; supertiles of one tile; lists that overflow. */
static const msf_gpu_tuning tunings[] = {
    {0, 0, 0, 0, 0, 0, false},     {1, 0.3, 0.5, 0, 0, 0, false},
    {0.3, 0.1, 0, 0, 9, 1, false}, {0.5, 0.2, 0.2, 0, 10, 2, false},
    {0.7, -1, 0, 0, 9, 3, false},  {1.5, 0.5, 1, 0, 0, 3, false},
    {0.01, 0, 0, 0, 9, 1, false},  {0.01, 0.002, 0, 0, 9, 3, false},
    {2, 0.7, 1.2, 1, 9, 0, false}, {0.4, 0.01, 0.1, 1, 9, 2, false},
    {-1, 0, 0, 0, 9, 0, false},    {-1, 0.5, 0, 1, 9, 0, false},
    {-1, 0.3, 1, 0, 9, 0, false},  {3, 2, 2.5, 0, 9, 2, false},
    {1, 0.5, 0, 64, 10, 1, false},
};
enum { TUNINGS = sizeof tunings / sizeof *tunings };

/* Without a tuning: as the solver chooses. */
static void check_with(const dzo_graph *graph, const device_graph *d, const msf_gpu_tuning *tuning,
                       bool labels, const oracle_forest *f, const char *what) {
  msf_gpu_forest forest = {.timed = labels};
  forest.arcs = to_gpu(host, NULL, graph->vertices, sizeof *forest.arcs);
  if (labels)
    forest.labels = to_gpu(host, NULL, graph->vertices, sizeof *forest.labels);
  must_on(host, tuning != NULL ? msf_gpu_solve_tuned(host.unit, &d->graph, tuning, &forest)
                               : msf_gpu_solve(host.unit, &d->graph, &forest));
  assert_true(forest.count <= graph->vertices);
  uint64_t *arcs = malloc((graph->vertices + 1) * sizeof *arcs);
  uint32_t *names = labels ? malloc((graph->vertices + 1) * sizeof *names) : NULL;
  assert_non_null(arcs);
  from_gpu(host, arcs, forest.arcs, forest.count, sizeof *arcs);
  if (labels)
    from_gpu(host, names, forest.labels, graph->vertices, sizeof *names);
  expect_arcs(graph, arcs, forest.count, names, forest.components, f, what);
  free(arcs);
  free(names);
  dzo_unit_release(host.unit, forest.arcs);
  dzo_unit_release(host.unit, forest.labels);
}

static void check_tuned(const dzo_graph *graph, const device_graph *d, uint64_t which, bool labels,
                        const oracle_forest *f, const char *name) {
  const msf_gpu_tuning *tuning = &tunings[which % TUNINGS];
  char what[160];
  snprintf(what, sizeof what, "%s%s%s, light %g, first %g, %g, capacity %d, super %d, scan %d",
           name, d->graph.maximum ? ", maximum" : "", d->raw != NULL ? ", raw" : "", tuning->light,
           tuning->first, tuning->second, (int)tuning->capacity, tuning->super_log, tuning->scan);
  check_with(graph, d, tuning, labels, f, what);
}

static void check_edges(const dzo_edges *edges, preparation how, uint64_t seed, const char *name) {
  static uint64_t
      turns; /* of watched graphs: all ways come, since four and TUNINGS share nothing */
  dzo_graph *graph = prepare(host.context, edges, how);
  for (int maximum = 0; maximum < 2; maximum++) {
    oracle_forest *f = oracle_solve(edges, maximum, 0);
    for (int raw = 0; raw < 2; raw++) {
      uint64_t way = (uint64_t)(2 * maximum + raw);
      if (WATCHED && turns % 4 != way)
        continue;
      device_graph d = device_graph_make(host, graph, raw ? edges : NULL, maximum);
      for (uint64_t k = 0; k < TUNED && !WATCHED; k++)
        check_tuned(graph, &d, seed + TUNED * way + k, k % 2 == 0, f, name);
      if (WATCHED)
        check_tuned(graph, &d, turns, turns / 4 % 2 == 0, f, name);
      device_graph_free(host, &d);
    }
    oracle_free(f);
  }
  turns++;
  dzo_graph_destroy(graph);
}

static void small_graphs_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    uint64_t most = seed % 50 == 0 ? 2000 : seed % 3 == 0 ? 6 : 80;
    random_graph *g = random_graph_make(seed, most, every_type[seed % TYPES], RANDOM_PLAIN_NUMBERS);
    char name[64];
    snprintf(name, sizeof name, "seed %d", (int)seed);
    check_edges(&g->edges, (preparation)(seed / TYPES % RENUMBERED), seed, name);
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
    options.scale = SCALE;
    options.weight_type = types[kind];
    dzo_edge_list *list;
    must(host.context, dzo_edge_list_generate(host.context, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    for (int how = 0; how < RENUMBERED; how++)
      check_edges(&edges, (preparation)how, (uint64_t)(7 * kind + how), names[kind]);
    dzo_edge_list_destroy(list);
  }
}

static void make_shape(int shape, uint32_t n, uint64_t count, uint32_t *u, uint32_t *v) {
  random_source random = {99};
  for (uint64_t i = 0; i < count; i++) {
    uint32_t a = (uint32_t)random_below(&random, n), b = (uint32_t)random_below(&random, n);
    u[i] = shape == 0 ? n - 1 : shape == 1 ? (uint32_t)(i % n) : shape == 2 ? a % 5 : a;
    v[i] = shape == 0   ? (uint32_t)(i % n)
           : shape == 1 ? (uint32_t)((i + 1) % n)
           : shape == 2 ? b
                        : a / 7 * 7;
  }
}

/* Stars, paths, few hubs with many parallel edges, small cliques of loops and parallel edges; few
 * different weights. */
static void shapes_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { N = 700, COUNT = 4000 };
  static uint32_t u[COUNT], v[COUNT], weights[COUNT];
  static int64_t wide[COUNT];
  for (int shape = 0; shape < 4; shape++)
    for (uint32_t kinds = 1; kinds <= 3000; kinds = kinds * 50 + 4) {
      make_shape(shape, N, COUNT, u, v);
      random_source random = {kinds};
      for (int i = 0; i < COUNT; i++) {
        weights[i] = (uint32_t)random_below(&random, kinds) * (UINT32_MAX / kinds);
        wide[i] = INT64_MIN + (int64_t)((random_below(&random, kinds) << 40) + weights[i] % 3);
      }
      dzo_edges edges = {0};
      edges.vertices = N;
      edges.count = COUNT;
      edges.u = u;
      edges.v = v;
      char name[64];
      for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "shape %d, %d weights", shape, (int)kinds);
        edges.weight_type = k == 0 ? DZO_WEIGHT_U32 : DZO_WEIGHT_I64;
        edges.weights = k == 0 ? (const void *)weights : wide;
        check_edges(&edges, (preparation)((shape + k) % RENUMBERED), kinds + (uint64_t)k, name);
      }
    }
}

/* Cliques, each of which has heavier edges than those before; then many parallel edges of few
 * vertices, whose weights fall. */
static uint64_t make_crowd(bool parallel, uint32_t size, uint32_t cliques, uint32_t *u, uint32_t *v,
                           uint32_t *weights) {
  random_source random = {7};
  uint64_t count = 0;
  for (uint32_t c = 0; c < cliques; c++)
    for (uint32_t a = 0; a < size; a++)
      for (uint32_t b = 0; b < a; b++, count++) {
        u[count] = parallel ? a % 4 : c * size + a;
        v[count] = parallel ? 4 + b % 3 : c * size + b;
        weights[count] = parallel ? 1000000 - (uint32_t)(count / 2)
                                  : c * 1000 + (uint32_t)random_below(&random, 1000);
      }
  return count;
}

/* The list of edges is so short that what is left fits into it in several parts only. */
static void crowds_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { SIZE = 28, CLIQUES = WATCHED ? 6 : 36, MOST = SIZE * (SIZE - 1) / 2 * CLIQUES };
  static uint32_t u[MOST], v[MOST], weights[MOST];
  static int64_t wide[MOST];
  const msf_gpu_tuning crowded[] = {{-1, 0, 0, 1, 13, 0, false},
                                    {-1, 0.5, 1, 1, 15, 0, false},
                                    {0.01, 0, 0, 1, 14, 2, false},
                                    {0.5, 0.1, 0.2, 1, 14, 3, false}};
  for (int parallel = 0; parallel < 2; parallel++) {
    dzo_edges edges = {0};
    edges.count = make_crowd(parallel, SIZE, CLIQUES, u, v, weights);
    edges.vertices = parallel ? 7 : SIZE * CLIQUES;
    edges.u = u;
    edges.v = v;
    for (uint64_t i = 0; i < edges.count; i++)
      wide[i] = INT64_MIN + ((int64_t)weights[i] << 36) + (int64_t)(i % 3);
    for (int k = 0; k < 4; k++) {
      edges.weight_type = k % 2 == 0 ? DZO_WEIGHT_U32 : DZO_WEIGHT_I64;
      edges.weights = k % 2 == 0 ? (const void *)weights : wide;
      dzo_graph *graph = prepare(host.context, &edges, (preparation)k);
      oracle_forest *f = oracle_solve(&edges, k >= 2, 0);
      device_graph d = device_graph_make(host, graph, NULL, k >= 2);
      for (int t = WATCHED ? k : 0; t < (WATCHED ? k + 1 : 4); t++)
        check_with(graph, &d, &crowded[t], t % 2 == 0, f, parallel ? "parallel" : "cliques");
      device_graph_free(host, &d);
      dzo_graph_destroy(graph);
      oracle_free(f);
    }
  }
}

static void check_chosen(const dzo_edges *edges, preparation how, bool maximum, const char *name) {
  dzo_graph *graph = prepare(host.context, edges, how);
  oracle_forest *f = oracle_solve(edges, maximum, 0);
  device_graph d = device_graph_make(host, graph, NULL, maximum);
  check_with(graph, &d, NULL, true, f, name);
  device_graph_free(host, &d);
  dzo_graph_destroy(graph);
  oracle_free(f);
}

/* Too many edges are left after the light ones: first more are light, then there are phases. */
static void a_misled_choice_is_mended(void **state) {
  (void)state;
  need_gpu(host);
  enum { SIZE = 66, CLIQUES = WATCHED ? 4 : 36, MOST = SIZE * (SIZE - 1) / 2 * CLIQUES };
  static uint32_t u[MOST], v[MOST], weights[MOST];
  dzo_edges edges = {0};
  edges.count = make_crowd(false, SIZE, CLIQUES, u, v, weights);
  edges.vertices = SIZE * CLIQUES;
  edges.u = u;
  edges.v = v;
  edges.weight_type = DZO_WEIGHT_U32;
  edges.weights = weights;
  check_chosen(&edges, BY_NEIGHBOUR, false, "cliques");
  check_chosen(&edges, BY_WEIGHT, false, "cliques, presorted");
  check_chosen(&edges, COMPRESSED, true, "cliques, compressed, maximum");
}

/* A star from either end, a path, parallel edges, a few vertices of many arcs; no edge, one. */
static void extremes_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(host);
  enum { N = 8 << MEDIUM_SCALE };
  static uint32_t u[N], v[N], weights[N];
  const char *const names[] = {"star", "star below", "path", "parallel", "ties", "isolated", "one"};
  for (int shape = 0; shape < 7; shape++) {
    dzo_edges edges = {0};
    for (uint32_t i = 0; i < N; i++) {
      u[i] = shape == 0 ? 0 : shape == 1 ? N : shape == 2 ? i : shape == 3 ? 1 : i % 7;
      v[i] = shape == 3 ? 2 : shape == 0 || shape == 2 ? i + 1 : i;
      weights[i] = shape == 4 ? 5 : shape == 2 ? i : N - i / 3;
    }
    edges.count = shape == 5 ? 0 : shape == 6 ? 1 : N;
    edges.vertices = N + 1;
    edges.u = u;
    edges.v = v;
    edges.weight_type = shape == 4 ? DZO_WEIGHT_NONE : DZO_WEIGHT_U32;
    edges.weights = shape == 4 ? NULL : weights;
    check_chosen(&edges, (preparation)(shape % RENUMBERED), shape % 2 != 0, names[shape]);
    check_chosen(&edges, BY_NEIGHBOUR, false, names[shape]);
  }
}

/* 24 bytes a vertex, 16 (wide keys: 20) a light edge, and 8.7 MB. */
static void the_workspace_is_what_is_promised(void **state) {
  (void)state;
  need_gpu(host);
  const uint64_t vertices[] = {1, 1000, 1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 27, 1 << 29};
  const double degrees[] = {1, 2, 4.9, 5.1, 16, 32, 100};
  const uint32_t none = 0;
  for (size_t i = 0; i < sizeof vertices / sizeof *vertices; i++)
    for (size_t d = 0; d < sizeof degrees / sizeof *degrees; d++)
      for (int kind = 0; kind < 4; kind++) {
        double n = (double)vertices[i], edges = n * degrees[d] / 2;
        msf_gpu_graph graph = {.vertices = (uint32_t)vertices[i], .neighbours = &none};
        graph.arcs = (uint64_t)(n * degrees[d]);
        graph.presorted = kind % 2 == 1;
        graph.key_type = kind < 2 ? MSF_KEY_U32 : MSF_KEY_F64;
        double most = n * (graph.presorted ? 1.75 : 1.5);
        double light = edges <= 2.5 * n || graph.arcs <= 1 << 16 ? edges : most;
        double promised = 24 * n + (kind < 2 ? 16 : 20) * light + 8.7e6;
        if ((double)msf_gpu_workspace_bytes(&graph) > promised)
          fail_msg("%g vertices of degree %g: %g bytes instead of %g", n, degrees[d],
                   (double)msf_gpu_workspace_bytes(&graph), promised);
      }
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
      cmocka_unit_test(shapes_equal_the_oracle),
      cmocka_unit_test(crowds_equal_the_oracle),
      cmocka_unit_test(a_misled_choice_is_mended),
      cmocka_unit_test(the_workspace_is_what_is_promised),
      cmocka_unit_test(extremes_equal_the_oracle),
      cmocka_unit_test(generated_graphs_equal_the_oracle),
  };
  return cmocka_run_group_tests(tests, open_host, close_host);
}
