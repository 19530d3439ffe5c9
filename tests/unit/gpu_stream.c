/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Graphs and sources streamed to the GPU, with so little of its memory that chunks are a few edges
 * and merges many; against the oracle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "device/device.h"
#include "forest_checks.h"
#include "msf/gpu_stream.h"

enum { GPU_ROUNDS = ROUNDS / 3 };
/* Opening a GPU takes long where it is watched: few operations are made to fail then, and graphs
 * are smaller, whose chunks are many. */
#ifdef DZO_TEST_TINY
enum { SMALLER = 4, FAR_APART = 1 };
#else
enum { SMALLER = 1, FAR_APART = 0 };
#endif

static dzo_context *host;
static dzo_unit *unit;
static uint64_t whole; /* the limit it came with */
static int on_gpu;     /* sources that the GPU finished */
static msf_choice whole_rows = MSF_BY_RATES;
static double packed_part; /* then, of graphs too small to be worth it */

static int open_gpu(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.threads = 3;
  if (dzo_context_create(&options, &host) != DZO_OK)
    return 0;
  unit = dzo_context_gpu(host);
  whole = unit->limit;
  return 0;
}

static int close_gpu(void **state) {
  (void)state;
  dzo_context_destroy(host);
  host = NULL;
  unit = NULL;
  return 0;
}

static void need_gpu(void) {
  if (unit != NULL)
    return;
  print_message("skipped: there is no GPU\n");
  skip();
}

/* Solve with `limit` bytes, or what more it takes; the bytes that were enough. */
static uint64_t solve_within(const dzo_graph *graph, bool maximum, bool hybrid, uint64_t limit,
                             dzo_msf *out) {
  msf_stream_ways ways = {.two_passes = hybrid ? MSF_ALWAYS : MSF_NEVER,
                          .whole_rows = whole_rows,
                          .both_ends = MSF_ALWAYS,
                          .part = packed_part};
  for (;; limit += limit / 8) {
    *out = (dzo_msf){.vertices = dzo_graph_vertices(graph),
                     .graph_edges = dzo_graph_edges(graph),
                     .weight_type = dzo_graph_weight_type(graph)};
    dzo_unit_workspace_release(unit);
    unit->limit = limit;
    dzo_status status = msf_solve_in_ways(unit, graph, maximum, ways, out);
    unit->limit = whole;
    if (status == DZO_OK)
      return limit;
    msf_reset(out);
    if (status != DZO_E_MEMORY || limit > whole)
      must(host, status);
  }
}

static void check_graph(const random_graph *g, preparation how, bool maximum, bool hybrid,
                        uint64_t limit, const oracle_forest *f, const char *what) {
  dzo_graph *graph = prepare(host, &g->edges, how);
  dzo_msf out;
  (void)solve_within(graph, maximum, hybrid, limit, &out);
  expect_forest(host, &out, graph, &g->edges, f, what);
  msf_reset(&out);
  dzo_graph_destroy(graph);
}

static void graphs_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  for (uint64_t seed = 0; seed < GPU_ROUNDS; seed++) {
    random_source random = {seed};
    random_graph *g = random_graph_make(seed + 3000000, 200, every_type[seed % TYPES], 0);
    bool maximum = random_below(&random, 2) == 1, hybrid = random_below(&random, 2) == 1;
    preparation how = (preparation)random_below(&random, PREPARATIONS);
    oracle_forest *f = oracle_solve(&g->edges, maximum, 0);
    char what[80];
    (void)snprintf(what, sizeof what, "seed %d + 3000000, prepared %d%s%s", (int)seed, (int)how,
                   maximum ? ", maximum" : "", hybrid ? ", hybrid" : "");
    if (how == RENUMBERED || how == RENUMBERED_BY_WEIGHT)
      how = BY_NEIGHBOUR; /* the oracle does not renumber */
    check_graph(g, how, maximum, hybrid, 8192, f, what);
    if (seed % 7 == 0)
      check_graph(g, how, maximum, hybrid, whole, f, what);
    oracle_free(f);
    random_graph_free(g);
  }
}

/* Large enough for many groups of chunks. */
static void larger_graphs_take_many_chunks(void **state) {
  (void)state;
  need_gpu();
  for (int i = 0; i < 6; i++) {
    random_graph *g = random_graph_make((uint64_t)i + 4000, 3000 / SMALLER, every_type[i], 0);
    oracle_forest *f = oracle_solve(&g->edges, i % 2, 0);
    char what[64];
    (void)snprintf(what, sizeof what, "seed %d + 4000", i);
    check_graph(g, i % 3 == 0 ? BY_WEIGHT : BY_NEIGHBOUR, i % 2 == 1, i % 4 >= 2, 100000, f, what);
    oracle_free(f);
    random_graph_free(g);
  }
}

/* Graphs with many more edges than vertices, and a part that hangs loosely together, so that the
 * hybrid sends light edges first; full of ties and parallel edges. */
static void two_passes_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  enum { EDGES = 6000 };
  uint32_t *u = malloc(EDGES * sizeof *u), *v = malloc(EDGES * sizeof *v);
  double *w = malloc(EDGES * sizeof *w);
  assert_true(u && v && w);
  int twice = 0;
  for (uint64_t seed = 0; seed < GPU_ROUNDS; seed++) {
    random_source random = {seed};
    uint64_t n = 20 + random_below(&random, 250), kinds = seed % 3 == 0 ? 40 : 100000;
    uint64_t count = 20 * n < EDGES ? 20 * n : EDGES;
    for (uint64_t i = 0; i < count; i++) {
      bool loose = random_below(&random, 40) == 0;
      u[i] = (uint32_t)(loose ? random_below(&random, n) : random_below(&random, n / 2 + 1));
      v[i] = (uint32_t)(loose ? random_below(&random, n) : random_below(&random, n / 2 + 1));
      w[i] = (double)random_below(&random, kinds) * (seed % 2 == 0 ? 1 : 0.1) - 7;
    }
    random_graph g = {.edges = {.vertices = n, .count = count, .u = u, .v = v, .weights = w}};
    g.edges.weight_type = DZO_WEIGHT_F64;
    bool maximum = seed / 2 % 2 == 1;
    oracle_forest *f = oracle_solve(&g.edges, maximum, 0);
    dzo_graph *graph = prepare(host, &g.edges, BY_NEIGHBOUR);
    const uint64_t limits[] = {10000, 40000, whole};
    for (int i = 0; i < 3; i++) {
      char what[64];
      (void)snprintf(what, sizeof what, "seed %d within %d", (int)seed, (int)limits[i]);
      dzo_msf out;
      (void)solve_within(graph, maximum, true, limits[i], &out);
      expect_forest(host, &out, graph, &g.edges, f, what);
      twice += strstr(out.plan, "light first") != NULL;
      msf_reset(&out);
    }
    dzo_graph_destroy(graph);
    oracle_free(f);
  }
  assert_in_range(twice, GPU_ROUNDS, 3 * GPU_ROUNDS);
  free(u);
  free(v);
  free(w);
}

/* A star from either end, a path, parallel edges, ties; no edge, one. */
static void extremes_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  enum { N = (GPU_ROUNDS < 30 ? 600 : 5000) / SMALLER };
  static uint32_t u[N], v[N], w[N];
  const char *const names[] = {"star", "star below", "path", "parallel", "ties", "isolated", "one"};
  for (int shape = 0; shape < 7; shape++) {
    for (uint32_t i = 0; i < N; i++) {
      u[i] = shape == 0 ? 0 : shape == 1 ? N : shape == 2 ? i : shape == 3 ? 1 : i % 7;
      v[i] = shape == 3 ? 2 : shape == 0 || shape == 2 ? i + 1 : i;
      w[i] = shape == 2 ? i : N - i / 3;
    }
    random_graph g = {.edges = {.vertices = N + 1, .u = u, .v = v}};
    g.edges.count = shape == 5 ? 0 : shape == 6 ? 1 : N;
    g.edges.weight_type = shape == 4 ? DZO_WEIGHT_NONE : DZO_WEIGHT_U32;
    g.edges.weights = shape == 4 ? NULL : w;
    for (int maximum = 0; maximum < 2; maximum++) {
      oracle_forest *f = oracle_solve(&g.edges, maximum, 0);
      check_graph(&g, BY_NEIGHBOUR, maximum, false, 200000, f, names[shape]);
      check_graph(&g, BY_WEIGHT, maximum, true, whole, f, names[shape]);
      oracle_free(f);
    }
  }
}

/* Pinning memory takes longer than solving a small graph. */
static void a_small_graph_pins_little_memory(void **state) {
  (void)state;
  need_gpu();
  random_graph *g = random_graph_make(77, 300, DZO_WEIGHT_U32, 0);
  dzo_graph *graph = prepare(host, &g->edges, BY_NEIGHBOUR);
  dzo_msf out;
  dzo_unit_staging_release(unit);
  (void)solve_within(graph, false, false, whole, &out);
  assert_true(unit->staging_bytes < 1 << 20);
  msf_reset(&out);
  dzo_graph_destroy(graph);
  random_graph_free(g);
}

static void *allocate_pinned(void *user, size_t bytes) {
  void *block;
  return dzo_unit_allocate_staging(user, bytes, 1, &block) == DZO_OK ? block : NULL;
}

static void release_pinned(void *user, void *block) { dzo_unit_release_staging(user, block); }

/* A context whose graphs lie in pinned memory. */
static dzo_context *open_pinned(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.allocator = (dzo_allocator){unit, allocate_pinned, release_pinned};
  dzo_context *pinned;
  assert_int_equal(dzo_context_create(&options, &pinned), DZO_OK);
  return pinned;
}

/* Chunks, and those of whole rows, as the plan tells them; edge numbers found before the end. */
static void read_plan(const dzo_msf *out, int *chunks, int *fetched, int *numbers) {
  const char *plan = strchr(out->plan, ':'), *merges = strstr(out->plan, "merges of");
  assert_true(plan && merges);
  assert_int_equal(sscanf(plan, ": %d chunks, %d of them", chunks, fetched), 2);
  assert_int_equal(sscanf(merges, "merges of %*d; %d numbers", numbers), 1);
}

/* From pinned memory the bus fetches chunks as they are, from one end or from both, and threads
 * pack those at the end until they meet. */
static void pinned_graphs_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  dzo_context *pinned = open_pinned();
  const double parts[] = {1, 0.2, 0.6, 0};
  int fetched = 0, shared = 0, early = 0;
  uint64_t seed = 0;
  /* Threads may be too late to look a number up. */
  for (; seed < GPU_ROUNDS || (early == 0 && seed < 20 * GPU_ROUNDS); seed++) {
    random_graph *g = random_graph_make(seed + 8000000, 300, every_type[seed % TYPES], 0);
    oracle_forest *f = oracle_solve(&g->edges, seed % 2 == 1, 0);
    dzo_graph *graph;
    must(pinned, dzo_graph_from_edges(pinned, &g->edges, &graph));
    char what[64];
    (void)snprintf(what, sizeof what, "seed %d + 8000000", (int)seed);
    packed_part = parts[seed % 4];
    for (whole_rows = MSF_NEVER; whole_rows <= MSF_BY_RATES; whole_rows++) {
      dzo_msf out;
      (void)solve_within(graph, seed % 2 == 1, seed % 3 == 0, seed % 5 == 0 ? whole : 9000, &out);
      expect_forest(host, &out, graph, &g->edges, f, what);
      int chunks, whole_chunks, numbers;
      read_plan(&out, &chunks, &whole_chunks, &numbers);
      fetched += whole_chunks > 0 && whole_rows == MSF_ALWAYS;
      shared += whole_chunks > 0 && whole_chunks < chunks;
      early += numbers > 0;
      assert_true(whole_chunks == 0 || whole_rows != MSF_NEVER);
      msf_reset(&out);
    }
    whole_rows = MSF_BY_RATES;
    dzo_graph_destroy(graph);
    oracle_free(f);
    random_graph_free(g);
  }
  assert_in_range(fetched, seed / 2, seed);
  assert_in_range(shared, 1, 2 * seed);
  assert_in_range(early, 1, 3 * seed);
  dzo_context_destroy(pinned);
}

/* From both ends: nothing at all, loops alone, one row that holds all, all edges parallel. */
static void pinned_extremes_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  enum { N = 4000 / SMALLER };
  static uint32_t u[N], v[N], w[N];
  static const uint64_t vertices[] = {0, 1, 1, N, N + 1, N + 1, 3, 3};
  dzo_context *pinned = open_pinned();
  for (int shape = 0; shape < 8; shape++) {
    for (uint32_t i = 0; i < N; i++) {
      u[i] = shape == 3 ? i : shape == 5 ? N : shape >= 6 ? 1 : 0;
      v[i] = shape == 3 ? i : shape == 4 ? i + 1 : shape == 5 ? i : shape >= 6 ? 2 : 0;
      w[i] = shape == 7 ? N - i / 3 : 5;
    }
    dzo_edges edges = {.vertices = vertices[shape], .u = u, .v = v, .weights = w};
    edges.count = shape < 2 ? 0 : N;
    edges.weight_type = DZO_WEIGHT_U32;
    for (int part = 0; part < 2; part++) {
      oracle_forest *f = oracle_solve(&edges, part, 0);
      dzo_graph *graph;
      dzo_msf out;
      char what[64];
      (void)snprintf(what, sizeof what, "shape %d, %s", shape, part ? "all packed" : "a third");
      must(pinned, dzo_graph_from_edges(pinned, &edges, &graph));
      whole_rows = MSF_ALWAYS;
      packed_part = part ? 1 : 0.3;
      (void)solve_within(graph, part, false, 9000, &out);
      whole_rows = MSF_BY_RATES;
      expect_forest(host, &out, graph, &edges, f, what);
      msf_reset(&out);
      dzo_graph_destroy(graph);
      oracle_free(f);
    }
  }
  dzo_context_destroy(pinned);
}

/* Whichever operation fails while chunks come from both ends: threads end, nothing is kept. */
static void a_failing_gpu_stops_both_ends(void **state) {
  (void)state;
  need_gpu();
  const msf_stream_ways ways = {
      .two_passes = MSF_NEVER, .whole_rows = MSF_ALWAYS, .both_ends = MSF_ALWAYS, .part = 1};
  random_graph *g = random_graph_make(8000007, 300, DZO_WEIGHT_U32, RANDOM_PLAIN_NUMBERS);
  bool failed = true;
  uint64_t k = 1;
  for (uint64_t limit = 0; failed; k += FAR_APART ? k : 1 + k / 4) {
    (void)close_gpu(NULL);
    (void)open_gpu(NULL);
    need_gpu();
    dzo_context *pinned = open_pinned();
    dzo_graph *graph;
    dzo_msf out;
    must(pinned, dzo_graph_from_edges(pinned, &g->edges, &graph));
    if (limit == 0) {
      packed_part = 1;
      limit = solve_within(graph, false, false, 9000, &out);
      msf_reset(&out);
    }
    out = (dzo_msf){.vertices = dzo_graph_vertices(graph),
                    .graph_edges = dzo_graph_edges(graph),
                    .weight_type = dzo_graph_weight_type(graph)};
    unit->limit = limit;
    unit->fail_at = unit->operations + k;
    dzo_status status = msf_solve_in_ways(unit, graph, false, ways, &out);
    failed = status != DZO_OK;
    assert_int_equal(status, failed ? DZO_E_DEVICE : DZO_OK);
    assert_true(unit->lost == failed);
    msf_reset(&out);
    dzo_graph_destroy(graph);
    dzo_context_destroy(pinned);
  }
  assert_true(k > 50);
  random_graph_free(g);
}

/* ---- Sources ----------------------------------------------------------------------------------
 */

static void check_source(const random_graph *g, uint64_t most, bool growing, bool maximum,
                         uint64_t limit, const oracle_forest *f, const char *what) {
  chunk_source chunks = {.edges = &g->edges, .most = most, .growing = growing, .random = {most}};
  dzo_msf *msf = NULL;
  dzo_unit_workspace_release(unit);
  unit->limit = limit;
  dzo_status status = stream(host, &chunks, maximum, &msf);
  unit->limit = whole;
  if (status != DZO_OK)
    fail_msg("%s: %s", what, dzo_context_message(host));
  expect_forest(host, msf, NULL, &g->edges, f, what);
  if (limit == whole && g->edges.count > 0 && msf->device != DZO_DEVICE_CUDA)
    fail_msg("%s: not on the GPU: %s", what, dzo_context_notice(host));
  on_gpu += msf->device == DZO_DEVICE_CUDA;
  dzo_msf_destroy(msf);
}

static void sources_equal_the_oracle(void **state) {
  (void)state;
  need_gpu();
  for (uint64_t seed = 0; seed < GPU_ROUNDS; seed++) {
    random_source random = {seed};
    uint64_t size = seed % 50 == 0 ? 2000 : 100;
    random_graph *g = random_graph_make(seed + 5000000, size, every_type[seed % TYPES], 0);
    bool maximum = random_below(&random, 2) == 1;
    oracle_forest *f = oracle_solve(&g->edges, maximum, 0);
    const uint64_t most[] = {1, 5, 64, 100000}, limits[] = {16384, 40000, 150000, whole};
    for (int i = (int)seed % 2; i < 4; i += 2) {
      char what[80];
      bool growing = random_below(&random, 2) == 0;
      (void)snprintf(what, sizeof what, "seed %d + 5000000, chunks of %d%s", (int)seed,
                     (int)most[i], growing ? ", growing" : "");
      check_source(g, most[i], growing, maximum, limits[random_below(&random, 4)], f, what);
    }
    oracle_free(f);
    random_graph_free(g);
  }
  assert_in_range(on_gpu, GPU_ROUNDS, GPU_ROUNDS * 2);
}

/* What the host keeps in case the GPU fails does not grow with the edges. */
static void little_memory_is_enough_for_many_edges(void **state) {
  (void)state;
  need_gpu();
  enum { N = 500, EDGES = 60000, MEMORY = 1 << 20 };
  uint32_t *u = malloc(EDGES * sizeof *u), *v = malloc(EDGES * sizeof *v);
  uint32_t *w = malloc(EDGES * sizeof *w);
  assert_true(u && v && w);
  random_source random = {99};
  for (int i = 0; i < EDGES; i++) {
    u[i] = (uint32_t)random_below(&random, N);
    v[i] = (uint32_t)random_below(&random, N);
    w[i] = (uint32_t)(EDGES - i); /* the later, the lighter: most edges are kept for a while */
  }
  random_graph g = {.edges = {.vertices = N, .count = EDGES, .u = u, .v = v, .weights = w}};
  g.edges.weight_type = DZO_WEIGHT_U32;
  oracle_forest *f = oracle_solve(&g.edges, 0, 0);
  uint64_t memory = host->memory;
  host->memory = MEMORY;
  host->memory_peak = host->memory_used;
  check_source(&g, 4000, false, false, whole, f, "little memory");
  assert_true(dzo_context_memory_peak(host) < MEMORY);
  host->memory = memory;
  oracle_free(f);
  free(u);
  free(v);
  free(w);
}

/* The forest's edge numbers alone, for streams whose vertices are not those of the oracle. */
static void check_numbers(const dzo_edges *edges, uint64_t most, uint64_t limit, int maximum,
                          const oracle_forest *f, const char *what) {
  chunk_source chunks = {.edges = edges, .most = most, .growing = most % 2 == 0, .random = {most}};
  dzo_msf *msf;
  dzo_unit_workspace_release(unit);
  unit->limit = limit;
  dzo_status status = stream(host, &chunks, maximum, &msf);
  unit->limit = whole;
  must(host, status);
  if (dzo_msf_count(msf) != f->count)
    fail_msg("%s: %d edges", what, (int)dzo_msf_count(msf));
  for (uint64_t i = 0; i < f->count; i++)
    if (dzo_msf_edges(msf)[i] != f->numbers[i])
      fail_msg("%s: forest edge %d differs", what, (int)i);
  dzo_msf_destroy(msf);
}

/* Vertices that are numbered as they come: the order of their names breaks the ties. */
static void names_break_ties(void **state) {
  (void)state;
  need_gpu();
  for (uint64_t seed = 0; seed < GPU_ROUNDS / 4; seed++) {
    random_graph *g = random_graph_make(seed + 6000000, 40, every_type[seed % TYPES], 0);
    random_source random = {seed};
    uint64_t n = g->edges.vertices;
    int maximum = seed % 2 == 1;
    oracle_forest *f = oracle_solve(&g->edges, maximum, 0);
    uint64_t *labels = calloc(n + 1, sizeof *labels);
    uint32_t *place = calloc(n + 1, sizeof *place);
    assert_true(labels && place);
    for (uint64_t i = 0; i < n; i++) { /* a random permutation, inside out */
      uint64_t j = random_below(&random, i + 1);
      place[i] = place[j];
      place[j] = (uint32_t)i;
    }
    for (uint64_t v = 0; v < n; v++)
      labels[place[v]] = (v << 33) + 3;
    for (uint64_t i = 0; i < g->edges.count; i++) {
      g->u[i] = place[g->u[i]];
      g->v[i] = place[g->v[i]];
    }
    dzo_edges shuffled = g->edges;
    shuffled.labels = labels;
    char what[64];
    (void)snprintf(what, sizeof what, "seed %d + 6000000", (int)seed);
    check_numbers(&shuffled, 1 + random_below(&random, 20), 30000, maximum, f, what);
    free(labels);
    free(place);
    oracle_free(f);
    random_graph_free(g);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Each operation in turn fails, on a new GPU each time, until none does. */
static void what_a_failing_gpu_was_told_is_not_lost(void **state) {
  (void)state;
  need_gpu();
  for (int kind = 0; kind < 3; kind++) {
    random_graph *g = random_graph_make((uint64_t)kind + 7000, 400, every_type[3 * kind % TYPES],
                                        RANDOM_PLAIN_NUMBERS);
    oracle_forest *f = oracle_solve(&g->edges, kind == 1, 0);
    random_source random = {7};
    bool failed = true;
    for (uint64_t k = 1; failed; k += FAR_APART ? k : 1 + random_below(&random, 1 + k / 8)) {
      (void)close_gpu(NULL);
      (void)open_gpu(NULL);
      need_gpu();
      unit->limit = 60000;
      unit->fail_at = unit->operations + k;
      chunk_source chunks = {.edges = &g->edges, .most = 90, .growing = kind == 2, .random = {k}};
      dzo_msf *msf = NULL;
      must(host, stream(host, &chunks, kind == 1, &msf));
      char what[64];
      (void)snprintf(what, sizeof what, "kind %d, operation %d fails", kind, (int)k);
      failed = unit->lost;
      if (failed != (strstr(dzo_context_notice(host), "solved on the CPU") != NULL))
        fail_msg("%s: notice '%s'", what, dzo_context_notice(host));
      expect_forest(host, msf, NULL, &g->edges, f, what);
      dzo_msf_destroy(msf);
    }
    oracle_free(f);
    random_graph_free(g);
  }
}

/* Input that is not legal is reported as by the CPU, whatever was sent before. */
static void wrong_input_is_named(void **state) {
  (void)state;
  need_gpu();
  uint32_t u[200], v[200];
  double weights[200];
  for (int i = 0; i < 200; i++) {
    u[i] = (uint32_t)i % 50;
    v[i] = (uint32_t)(i * 7 + 1) % 50;
    weights[i] = i;
  }
  dzo_edges edges = {.vertices = 50, .count = 200, .u = u, .v = v, .weights = weights};
  edges.weight_type = DZO_WEIGHT_F64;
  for (int wrong = 0; wrong < 2; wrong++) {
    if (wrong == 0)
      weights[150] = (double)NAN;
    else
      v[120] = 50;
    chunk_source chunks = {.edges = &edges, .most = 30, .random = {1}};
    dzo_msf *msf = NULL;
    assert_int_equal(stream(host, &chunks, 0, &msf), DZO_E_ARGUMENT);
    if (strstr(dzo_context_message(host), wrong == 0 ? "edge 150" : "edge 120") == NULL)
      fail_msg("message: %s", dzo_context_message(host));
    assert_string_equal(dzo_context_notice(host), "");
    assert_null(msf);
  }
  chunk_source chunks = {.edges = &edges, .most = 30, .random = {1}, .failure = DZO_E_MEMORY};
  dzo_msf *msf = NULL;
  edges.count = 100;
  assert_int_equal(stream(host, &chunks, 0, &msf), DZO_E_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(graphs_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(larger_graphs_take_many_chunks, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(extremes_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(a_small_graph_pins_little_memory, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(pinned_graphs_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(pinned_extremes_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(a_failing_gpu_stops_both_ends, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(two_passes_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(sources_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(little_memory_is_enough_for_many_edges, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(names_break_ties, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(what_a_failing_gpu_was_told_is_not_lost, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(wrong_input_is_named, open_gpu, close_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
