/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forest_checks.h"

static void small_graphs_equal_the_oracle(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    uint64_t most = seed % 100 == 0 ? 2000 : seed % 3 == 0 ? 6 : 50;
    random_graph *g = random_graph_make(seed, most, every_type[seed % TYPES], 0);
    for (int maximum = 0; maximum < 2; maximum++) {
      oracle_forest *f = oracle_solve(&g->edges, maximum, 0);
      for (int how = 0; how < PREPARATIONS; how++) {
        char name[64];
        snprintf(name, sizeof name, "seed %d", (int)seed);
        check_in_memory(teams[(seed / TYPES + (uint64_t)how) % TEAMS], &g->edges, (preparation)how,
                        maximum, f, name);
      }
      oracle_free(f);
    }
    random_graph_free(g);
  }
}

static void generated_graphs_equal_the_oracle(void **state) {
  (void)state;
  const char *const names[] = {"rmat", "ssca2", "uniform", "grid"};
  const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_F32, DZO_WEIGHT_U32, DZO_WEIGHT_NONE};
  for (int kind = 0; kind < 4; kind++) {
    for (int type = 0; type < 4; type++) {
      dzo_generate_options options;
      dzo_generate_options_init(&options);
      options.scale = type == 0 ? MEDIUM_SCALE : MEDIUM_SCALE - 1;
      options.degree = type == 1 ? 6 : 20;
      options.weight_type = types[type];
      options.seed = 2387 + (uint64_t)type;
      dzo_context *maker = context_of(2);
      dzo_edge_list *list;
      must(maker, dzo_edge_list_generate(maker, (dzo_generator)kind, &options, &list));
      dzo_edges edges;
      dzo_edge_list_view(list, &edges);
      check_everywhere(&edges, names[kind]);
      dzo_edge_list_destroy(list);
      dzo_context_destroy(maker);
    }
  }
}

/* Large enough for every step of the plan. */
static void larger_graphs_equal_the_oracle(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = kind == DZO_GENERATE_GRID ? MEDIUM_SCALE + 3 : MEDIUM_SCALE + 1;
    options.weight_type = kind % 2 ? DZO_WEIGHT_F32 : DZO_WEIGHT_F64;
    dzo_context *maker = context_of(2);
    dzo_edge_list *list;
    must(maker, dzo_edge_list_generate(maker, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    for (int maximum = 0; maximum < 2; maximum++) {
      oracle_forest *f = oracle_solve(&edges, maximum, 0);
      for (int how = 0; how < RENUMBERED; how++)
        if (takes_turn())
          check_in_memory(teams[how], &edges, (preparation)how, maximum, f, "larger");
      check_stream(teams[1], &edges, 100000, false, maximum, f, "larger");
      oracle_free(f);
    }
    dzo_edge_list_destroy(list);
    dzo_context_destroy(maker);
  }
}

/* Weights of a few values, or of one value for most edges: where the sampled threshold falls among
 * ties, endpoints decide. */
static void fill_tied(int64_t *weights, uint64_t count, int style) {
  random_source random = {(uint64_t)style};
  for (uint64_t i = 0; i < count; i++) {
    uint64_t few = 2 + (uint64_t)style;
    weights[i] = style < 3                      ? (int64_t)random_below(&random, few)
                 : random_below(&random, 8) > 0 ? INT64_MIN / 2
                                                : (int64_t)random_bits(&random) / 2;
  }
}

static void tied_graphs_equal_the_oracle(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = MEDIUM_SCALE < 10 ? MEDIUM_SCALE : 12;
    options.degree = 24; /* graphs of fewer edges are not sampled */
    options.weight_type = DZO_WEIGHT_NONE;
    dzo_context *maker = context_of(2);
    dzo_edge_list *list;
    must(maker, dzo_edge_list_generate(maker, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    int64_t *weights = malloc(edges.count * sizeof *weights);
    assert_non_null(weights);
    edges.weight_type = DZO_WEIGHT_I64;
    edges.weights = weights;
    for (int style = 0; style < 5; style++) {
      fill_tied(weights, edges.count, style);
      for (int maximum = 0; maximum < 2; maximum++) {
        oracle_forest *f = oracle_solve(&edges, maximum, 0);
        for (int how = 0; how < PREPARATIONS; how++)
          if (takes_turn())
            check_in_memory(teams[(how + style) % TEAMS], &edges, (preparation)how, maximum, f,
                            "tied");
        if (takes_turn())
          check_stream(teams[style % TEAMS], &edges, 5000, true, maximum, f, "tied");
        oracle_free(f);
      }
    }
    free(weights);
    dzo_edge_list_destroy(list);
    dzo_context_destroy(maker);
  }
}

/* Light edges within a core, then many more heavy ones, mostly ties and often parallel, among the
 * other vertices and between both: after the light edges, most edges still join two components, and
 * are taken in several bounded steps. */
static void cores_in_crusts_equal_the_oracle(void **state) {
  (void)state;
  enum { N = MEDIUM_SCALE < 10 ? 1000 : 4000, M = 15 * N };
  uint32_t *u = malloc(M * sizeof *u), *v = malloc(M * sizeof *v), *w = malloc(M * sizeof *w);
  assert_true(u && v && w);
  random_source random = {77};
  for (uint64_t core = N / 20; core <= N / 2; core += N / 2 - N / 20) {
    for (int heavy = 1; heavy <= 4; heavy += 3) { /* values of the heavy weights */
      for (uint64_t i = 0; i < M; i++) {
        bool light = i<4 * core, mixed = i % 8 == 0, again = i> 4 * core && i % 5 == 0;
        uint64_t first = light ? 0 : core, count = light ? core : N - core;
        u[i] = again ? v[i - 1] : (uint32_t)(first + random_below(&random, count));
        v[i] = again ? u[i - 1] : (uint32_t)(first + random_below(&random, count));
        if (!light && !again && mixed)
          v[i] = (uint32_t)random_below(&random, core);
        w[i] = again   ? w[i - 1]
               : light ? (uint32_t)random_below(&random, 3)
                       : 100 + (uint32_t)random_below(&random, (uint64_t)heavy);
      }
      for (uint64_t i = 0; i < M && heavy > 1; i++) { /* mix the core's vertices with the others */
        u[i] = (u[i] * 1117 + 13) % N;
        v[i] = (v[i] * 1117 + 13) % N;
      }
      dzo_edges edges = {.vertices = N, .count = M, .u = u, .v = v};
      edges.weight_type = DZO_WEIGHT_U32;
      edges.weights = w;
      check_everywhere(&edges, core > N / 4 ? "large core" : "small core");
    }
  }
  free(u);
  free(v);
  free(w);
}

enum { SHAPE_SIZE = 1 << MEDIUM_SCALE };

/* u, v, weight of the i-th edge of a graph of SHAPE_SIZE vertices. */
typedef struct shape {
  const char *name;
  uint64_t (*edge)(uint64_t i, uint32_t *u, uint32_t *v);
} shape;

static uint64_t star(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = SHAPE_SIZE / 2;
  *v = (uint32_t)i;
  return i * 7919 % 1000;
}
static uint64_t rising_path(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = (uint32_t)i;
  *v = (uint32_t)(i + 1 < SHAPE_SIZE ? i + 1 : 0);
  return i;
}
static uint64_t ruler_path(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = (uint32_t)(i + 1 < SHAPE_SIZE ? i + 1 : 0);
  *v = (uint32_t)i;
  return (i + 1) & ~i; /* 1 2 1 4 1 2 1 8: halves in each round of Boruvka */
}
static uint64_t one_pair(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = 5;
  *v = 9;
  return SHAPE_SIZE - i % 1000;
}
static uint64_t caterpillar(uint64_t i, uint32_t *u, uint32_t *v) {
  *v = (uint32_t)i;
  *u = (uint32_t)(i < 100 ? i / 2 : i % 100);
  return 3;
}
static uint64_t loops_only(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = *v = (uint32_t)(i * 31 % SHAPE_SIZE);
  return i;
}
static uint64_t pairs(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = (uint32_t)i;
  *v = (uint32_t)(i ^ 1);
  return i % 3;
}
static uint64_t binary_tree(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = (uint32_t)i;
  *v = (uint32_t)(i / 2);
  return i * 2654435761u % SHAPE_SIZE;
}
static uint64_t hubs_and_far_arcs(uint64_t i, uint32_t *u, uint32_t *v) {
  *u = (uint32_t)(i % 7);
  *v = (uint32_t)(i * 40503 % SHAPE_SIZE);
  return i * i % 10007;
}

static const shape shapes[] = {
    {"star", star},         {"rising path", rising_path}, {"ruler path", ruler_path},
    {"one pair", one_pair}, {"caterpillar", caterpillar}, {"loops only", loops_only},
    {"pairs", pairs},       {"binary tree", binary_tree}, {"hubs and far arcs", hubs_and_far_arcs},
};

static void extreme_shapes_equal_the_oracle(void **state) {
  (void)state;
  uint32_t *u = malloc(SHAPE_SIZE * sizeof *u), *v = malloc(SHAPE_SIZE * sizeof *v);
  uint64_t *w = malloc(SHAPE_SIZE * sizeof *w);
  double *reals = malloc(SHAPE_SIZE * sizeof *reals);
  int64_t *wide = malloc(SHAPE_SIZE * sizeof *wide);
  assert_true(u && v && w && reals && wide);
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    for (uint64_t i = 0; i < SHAPE_SIZE; i++) {
      w[i] = shapes[s].edge(i, &u[i], &v[i]);
      reals[i] = 1.0 / (double)(w[i] + 1); /* more digits than an f32 holds */
      wide[i] = (int64_t)(w[i] * UINT64_C(0x9e3779b97f4a7c15));
    }
    dzo_edges edges = {.vertices = SHAPE_SIZE, .count = SHAPE_SIZE, .u = u, .v = v};
    edges.weight_type = DZO_WEIGHT_U64;
    edges.weights = w;
    check_everywhere(&edges, shapes[s].name);
    edges.weight_type = DZO_WEIGHT_F64;
    edges.weights = reals;
    check_everywhere(&edges, shapes[s].name);
    edges.weight_type = DZO_WEIGHT_I64;
    edges.weights = wide;
    check_everywhere(&edges, shapes[s].name);
  }
  free(wide);
  free(u);
  free(v);
  free(w);
  free(reals);
}

/* ---- Real files ------------------------------------------------------------------------------ */

typedef struct known {
  const char *file;
  uint64_t vertices, edges, components;
  const char *weight; /* integers exactly, others to 15 digits */
} known;

static const known known_files[] = {
    {"tinyEWG.txt", 8, 16, 1, "181"},
    {"mediumEWG.txt", 250, 1273, 1, "1046351"},
    {"rome99.gr", 3353, 4444, 22, "1215457"},
    {"soc-sign-bitcoinotc.csv", 5881, 35592, 4, "-6190"},
    {"wiki-Vote.txt", 7115, 103689, 24, "7091"},
    {"foodweb-baydry.konect", 128, 2137, 1, "72.0773488772629"},
    {"astro-ph.graph", 16706, 121251, 1029, "15677"},
    {"PGPgiantcompo.graph", 10680, 24316, 1, "10679"},
    {"power.graph", 4941, 6594, 1, "4940"},
    {"lesmis.graph", 77, 254, 1, "105"},
    {"4elt.graph", 15606, 45878, 1, "15605"},
    {"bcsstk13.mtx", 2003, 42943, 1, "-27812381075940.4"},
    {"bips98_606.mtx", 7135, 34738, 542, "-785578.353626197"},
    {"LFAT5.mtx", 14, 30, 3, "-12581762.2443262"},
    {"jagmesh7.mtx", 1138, 4294, 1, "1137"},
    {"west0067.mtx", 67, 294, 1, "-63.9103636"},
    {"karate.mtx", 34, 78, 1, "33"},
    {"chesapeake.mtx", 39, 170, 1, "38"},
    {"msf1.mtx", 6, 8, 1, "5"},
    {"msf2.mtx", 8, 12, 1, "13"},
    {"msf3.mtx", 5, 7, 1, "5"},
    {"ldbc-undirected-example.mtx", 9, 12, 1, "3.11"},
    {"full_symmetric.mtx", 4, 10, 1, "56.1435070037842"},
    {"matrix_int64.mtx", 7, 12, 1, "-9223372036854775792"},
    {"matrix_uint64.mtx", 7, 12, 1, "8"},
    {"graphhpc2015/rmat-10", 1024, 16384, 1, "72.932623094063"},
    {"graphhpc2015/ssca2-10", 1024, 3056, 130, "188.787097606928"},
    {"graphhpc2015/ssca2-5", 32, 20, 16, "8.73775726972067"},
};

static void expect_known_weight(const known *k, dzo_weight_sum sum) {
  if (sum.type != DZO_WEIGHT_F64) {
    long long weight = strtoll(k->weight, NULL, 10);
    if (sum.high != (weight < 0 ? -1 : 0) || sum.low != (uint64_t)weight)
      fail_msg("%s: weight %lld + %lld * 2^64 instead of %s", k->file, (long long)sum.low,
               (long long)sum.high, k->weight);
    return;
  }
  double weight = strtod(k->weight, NULL);
  if (fabs(sum.real - weight) > 1e-14 * fabs(weight))
    fail_msg("%s: weight %.17g instead of %s", k->file, sum.real, k->weight);
}

static void check_known(const char *folder, const known *k) {
  char path[4096];
  snprintf(path, sizeof path, "%s/mst/%s", folder, k->file);
  dzo_context *context = context_of(2);
  dzo_edge_list *list;
  must(context, dzo_edge_list_read(context, path, NULL, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  if (edges.vertices != k->vertices || edges.count != k->edges)
    fail_msg("%s: %d vertices, %d edges", k->file, (int)edges.vertices, (int)edges.count);
  oracle_forest *f = oracle_solve(&edges, 0, 0);
  assert_int_equal(f->components, k->components);
  expect_known_weight(k, f->total);
  for (int team = 0; team < TEAMS; team++)
    if (takes_turn())
      check_in_memory(teams[team], &edges, (preparation)team, 0, f, k->file);
  if (takes_turn())
    check_stream(teams[1], &edges, 1000, true, 0, f, k->file);

  dzo_graph *graph;
  must(context, dzo_graph_read(context, path, NULL, &graph));
  dzo_msf *msf = solve(context, graph, 0);
  expect_forest(context, msf, graph, &edges, f, k->file);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  oracle_free(f);
  dzo_edge_list_destroy(list);
  assert_false(leaks(context));
  dzo_context_destroy(context);
}

static void real_files_give_the_known_forests(void **state) {
  (void)state;
  const char *folder = getenv("DZO_TEST_DATA");
  if (folder == NULL || folder[0] == '\0') {
    print_message("skipped: DZO_TEST_DATA is not set\n");
    skip();
  }
  for (size_t i = 0; i < sizeof known_files / sizeof *known_files; i++)
    check_known(folder, &known_files[i]);
}

/* ---- Memory, cancellation, arguments --------------------------------------------------------- */

static void memory_is_at_most_half_of_the_graph_again(void **state) {
  (void)state;
  if (tests_gpu())
    skip();
  const double degrees[] = {16, 32};
  for (int kind = 0; kind < 3; kind++) {
    for (int d = 0; d < 2; d++) {
      dzo_generate_options options;
      dzo_generate_options_init(&options);
      options.scale = 16;
      options.degree = degrees[d];
      dzo_context *maker = context_of(2), *solver = context_of(2);
      dzo_edge_list *list;
      must(maker, dzo_edge_list_generate(maker, (dzo_generator)kind, &options, &list));
      dzo_edges edges;
      dzo_edge_list_view(list, &edges);
      dzo_graph *graph;
      must(maker, dzo_graph_from_edges(maker, &edges, &graph));
      dzo_msf *msf = solve(solver, graph, 0);
      uint64_t peak = dzo_context_memory_peak(solver), held = dzo_graph_bytes(graph);
      if (peak > held / 2)
        fail_msg("generator %d, degree %g: %d bytes beside a graph of %d (%s)", kind, degrees[d],
                 (int)peak, (int)held, dzo_msf_plan(msf));
      dzo_msf_destroy(msf);
      dzo_graph_destroy(graph);
      dzo_edge_list_destroy(list);
      dzo_context_destroy(solver);
      dzo_context_destroy(maker);
    }
  }
}

static int stop_after(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  return --*(int *)user < 0;
}

/* Cancelled at its first, second, ... look at the progress, until it gets through. */
static void cancelling_leaves_nothing(void **state) {
  (void)state;
  int calls_left = INT32_MAX, cancelled = 0;
  dzo_context_options options = wishes_of(2);
  options.progress = stop_after;
  options.progress_user = &calls_left;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  random_graph *g = random_graph_make(3 * TYPES + 5, 3000, DZO_WEIGHT_F64, 0);
  dzo_graph *graph;
  must(context, dzo_graph_from_edges(context, &g->edges, &graph));
  uint64_t held = dzo_context_memory_used(context);
  dzo_msf *msf;
  for (dzo_status status = DZO_E_CANCELLED; status != DZO_OK; cancelled++) {
    calls_left = cancelled;
    msf = (dzo_msf *)&calls_left;
    status = dzo_msf_run(context, graph, NULL, &msf);
    dzo_context_resume(context);
    if (status != DZO_OK) {
      assert_int_equal(status, DZO_E_CANCELLED);
      assert_null(msf);
      assert_true(context->gpu != NULL || dzo_context_memory_used(context) == held);
    }
    assert_in_range(cancelled, 0, 10000);
  }
  assert_in_range(cancelled, 2, 10000);
  dzo_msf_destroy(msf);
  calls_left = INT32_MAX;
  dzo_context_cancel(context); /* as a signal handler would */
  assert_int_equal(dzo_msf_run(context, graph, NULL, &msf), DZO_E_CANCELLED);
  assert_null(msf);
  dzo_context_resume(context);
  dzo_graph_destroy(graph);
  random_graph_free(g);
  assert_false(leaks(context));
  dzo_context_destroy(context);
}

static void wrong_arguments_are_named(void **state) {
  (void)state;
  const uint32_t u[] = {0, 1}, v[] = {1, 2};
  dzo_edges edges = {.vertices = 3, .count = 2, .u = u, .v = v};
  dzo_context *context = teams[1];
  dzo_graph *graph;
  must(context, dzo_graph_from_edges(context, &edges, &graph));
  dzo_msf_options options;
  dzo_msf_options_init(&options);
  options.size = 3;
  dzo_msf *msf = (dzo_msf *)&options;
  assert_int_equal(dzo_msf_run(context, graph, &options, &msf), DZO_E_ARGUMENT);
  assert_null(msf);
  msf = (dzo_msf *)&options;
  assert_int_equal(dzo_msf_run(context, NULL, NULL, &msf), DZO_E_ARGUMENT);
  assert_null(msf);
  assert_int_equal(dzo_msf_run(context, graph, NULL, NULL), DZO_E_ARGUMENT);
  dzo_msf_destroy(NULL);
  dzo_graph_destroy(graph);
  assert_false(leaks(context));
}

static int stop_sorting(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)user, (void)total;
  return strcmp(phase, "sort") == 0 && done > 0;
}

static void expect_same_edges(dzo_context *context, const dzo_graph *graph, dzo_msf *const *of) {
  for (int maximum = 0; maximum < 2; maximum++) {
    dzo_msf *msf = solve(context, graph, maximum);
    assert_int_equal(dzo_msf_count(msf), dzo_msf_count(of[maximum]));
    assert_memory_equal(dzo_msf_edges(msf), dzo_msf_edges(of[maximum]),
                        dzo_msf_count(msf) * sizeof(uint64_t));
    dzo_msf_destroy(msf);
  }
}

/* Sorting that was cancelled leaves rows in either order; the forest is the same, ties and all. */
static void rows_in_no_order_give_the_same_forest(void **state) {
  (void)state;
  dzo_context_options wishes = wishes_of(2);
  wishes.progress = stop_sorting;
  dzo_context *context, *maker = teams[1];
  assert_int_equal(dzo_context_create(&wishes, &context), DZO_OK);
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = MEDIUM_SCALE < 10 ? 10 : 14;
  options.degree = 80;
  options.weight_type = DZO_WEIGHT_U32;
  dzo_edge_list *list;
  must(maker, dzo_edge_list_generate(maker, DZO_GENERATE_UNIFORM, &options, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  uint32_t *weights = malloc(edges.count * sizeof *weights);
  assert_non_null(weights);
  for (uint64_t i = 0; i < edges.count; i++)
    weights[i] = ((const uint32_t *)edges.weights)[i] % 50;
  edges.weights = weights;
  dzo_graph *graph;
  must(maker, dzo_graph_from_edges(maker, &edges, &graph));
  dzo_msf *of[] = {solve(maker, graph, 0), solve(maker, graph, 1)};
  assert_int_equal(dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT), DZO_E_CANCELLED);
  assert_true(dzo_graph_row_order(graph) != DZO_ROWS_BY_NEIGHBOUR &&
              dzo_graph_row_order(graph) != DZO_ROWS_BY_WEIGHT);
  expect_same_edges(maker, graph, of);
  assert_int_equal(dzo_graph_write(maker, graph, DZO_FORMAT_DZO, "none"), DZO_E_UNSUPPORTED);
  must(maker, dzo_graph_sort_rows(maker, graph, DZO_ROWS_BY_WEIGHT));
  expect_same_edges(maker, graph, of);
  dzo_context_resume(context);
  assert_int_equal(dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_NEIGHBOUR), DZO_E_CANCELLED);
  must(maker, dzo_graph_compress(maker, graph));
  expect_same_edges(maker, graph, of);
  for (int i = 0; i < 2; i++)
    dzo_msf_destroy(of[i]);
  dzo_graph_destroy(graph);
  free(weights);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
  assert_false(leaks(maker));
}

/* Looking a forest up in a graph of the same size with other edge numbers, below or above. */
static void another_graph_is_refused(void **state) {
  (void)state;
  enum { EDGES = 3000 };
  uint32_t ends[EDGES + 1], u[EDGES], v[EDGES];
  for (uint32_t i = 0; i <= EDGES; i++)
    ends[i] = i;
  dzo_context *context = teams[1];
  dzo_graph *graphs[4];
  const uint64_t first[] = {0, 1, 100000, UINT64_C(1) << 40};
  for (int i = 0; i < 4; i++) {
    dzo_edges edges = {
        .vertices = EDGES + 1, .count = EDGES, .u = ends, .v = ends + 1, .first_number = first[i]};
    must(context, dzo_graph_from_edges(context, &edges, &graphs[i]));
  }
  for (int of = 0; of < 4; of++) {
    dzo_msf *msf = solve(context, graphs[of], 0);
    for (int in = 0; in < 4; in++) {
      dzo_weight weight[EDGES];
      dzo_weight_sum sum;
      dzo_status expected = in == of ? DZO_OK : DZO_E_ARGUMENT;
      assert_int_equal(dzo_msf_endpoints_into(context, msf, graphs[in], u, v, weight), expected);
      assert_int_equal(dzo_msf_tree_weights_into(context, msf, graphs[in], &sum), expected);
    }
    assert_int_equal(dzo_msf_endpoints_into(context, msf, NULL, u, v, NULL), DZO_E_ARGUMENT);
    dzo_msf_destroy(msf);
  }
  for (int i = 0; i < 4; i++)
    dzo_graph_destroy(graphs[i]);
  assert_false(leaks(context));
}

/* The sums of forests whose weights overflow 64 bits, or cancel. */
static void sums_are_exact(void **state) {
  (void)state;
  const uint32_t u[] = {0, 1, 2, 3, 4}, v[] = {1, 2, 3, 4, 5};
  dzo_edges edges = {.vertices = 6, .count = 5, .u = u, .v = v, .weight_type = DZO_WEIGHT_U64};
  edges.weights = (const uint64_t[]){UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, 1};
  dzo_graph *graph = prepare(teams[1], &edges, BY_NEIGHBOUR);
  dzo_msf *msf = solve(teams[1], graph, 0);
  assert_int_equal(dzo_msf_weight(msf).high, 2);
  assert_int_equal(dzo_msf_weight(msf).low, UINT64_MAX);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  edges.weight_type = DZO_WEIGHT_I64;
  edges.weights = (const int64_t[]){INT64_MIN, INT64_MIN, INT64_MIN, 5, -6};
  graph = prepare(teams[1], &edges, BY_NEIGHBOUR);
  msf = solve(teams[1], graph, 0);
  assert_true(dzo_msf_weight(msf).high == -2);
  assert_int_equal(dzo_msf_weight(msf).low, (UINT64_C(1) << 63) - 1);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  edges.weight_type = DZO_WEIGHT_F64;
  edges.weights = (const double[]){1e100, 1, -1e100, 1e-300, 0x1p1023};
  graph = prepare(teams[1], &edges, COMPRESSED);
  msf = solve(teams[1], graph, 0);
  assert_true(dzo_msf_weight(msf).real == 0x1p1023);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  edges.count = 4;
  graph = prepare(teams[1], &edges, BY_WEIGHT);
  msf = solve(teams[1], graph, 1);
  assert_true(dzo_msf_weight(msf).real == 1);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(small_graphs_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(generated_graphs_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(larger_graphs_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(tied_graphs_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(cores_in_crusts_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(extreme_shapes_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(real_files_give_the_known_forests, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(memory_is_at_most_half_of_the_graph_again, make_teams,
                                      break_teams),
      cmocka_unit_test_setup_teardown(cancelling_leaves_nothing, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(wrong_arguments_are_named, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(another_graph_is_refused, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(rows_in_no_order_give_the_same_forest, make_teams,
                                      break_teams),
      cmocka_unit_test_setup_teardown(sums_are_exact, make_teams, break_teams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
