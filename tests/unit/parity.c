/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A thousand random multigraphs on every device, in every way a graph can get there: the oracle's
 * forest each time, and so the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/device.h"
#include "forest_checks.h"
#include "graph/resident.h"
#include "msf/gpu_stream.h"

#if defined(__SANITIZE_THREAD__)
enum { GRAPHS = 36 };
#elif defined(__SANITIZE_ADDRESS__)
enum { GRAPHS = 100 };
#else
enum { GRAPHS = 1000 };
#endif
enum { MOST_VERTICES = 200, TINY = 1 << 20 };

/* A way to solve: a device, its memory, and whether graphs are uploaded first. A hybrid leaves
 * small graphs to one processor unless it is made to use both. */
typedef struct way {
  const char *name;
  dzo_device device;
  uint64_t gpu_memory;
  bool upload;
  bool together;
  dzo_context *context;
} way;

static way ways[] = {{"cpu", DZO_DEVICE_CPU, 0, false, false, NULL},
                     {"cuda", DZO_DEVICE_CUDA, 0, false, false, NULL},
                     {"cuda, resident", DZO_DEVICE_CUDA, 0, true, false, NULL},
                     {"cuda, little memory", DZO_DEVICE_CUDA, TINY, false, false, NULL},
                     {"hybrid", DZO_DEVICE_HYBRID, 0, false, false, NULL},
                     {"hybrid, resident", DZO_DEVICE_HYBRID, 0, true, false, NULL},
                     {"both", DZO_DEVICE_HYBRID, 0, false, true, NULL},
                     {"both, little memory", DZO_DEVICE_HYBRID, TINY, false, true, NULL},
                     {"auto", DZO_DEVICE_AUTO, 0, false, false, NULL}};
enum { WAYS = sizeof ways / sizeof *ways };

/* compute-sanitizer slows a GPU down a hundredfold. */
#ifdef DZO_TEST_TINY
static uint64_t graph_count(void) { return 4; }
#else
static uint64_t graph_count(void) { return getenv("DZO_TEST_SMALL") != NULL ? 40 : GRAPHS; }
#endif

static bool has_gpu(void) {
  int count;
  const char *reason;
  dzo_devices(NULL, 0, &count, &reason);
  if (count < 2)
    print_message("no GPU (%s): only the CPU is tested\n", reason);
  return count >= 2;
}

static int open_ways(void **state) {
  (void)state;
  bool gpu = has_gpu();
  for (int i = 0; i < WAYS; i++) {
    dzo_context_options options;
    dzo_context_options_init(&options);
    options.device = ways[i].device;
    options.gpu_memory = ways[i].gpu_memory;
    options.threads = 1 + i % 3;
    bool needs_gpu = ways[i].device == DZO_DEVICE_CUDA || ways[i].device == DZO_DEVICE_HYBRID;
    ways[i].context = NULL;
    if ((gpu || !needs_gpu) && dzo_context_create(&options, &ways[i].context) != DZO_OK)
      return -1;
  }
  return 0;
}

static int close_ways(void **state) {
  (void)state;
  for (int i = 0; i < WAYS; i++)
    dzo_context_destroy(ways[i].context);
  return 0;
}

/* What follows is the `seed`-th graph, in a preparation and a direction that go round as well. */
typedef struct case_of {
  random_graph *graph;
  preparation how;
  int maximum;
  char name[64];
} case_of;

static case_of case_make(uint64_t seed, uint64_t turn) {
  uint64_t most = seed % 7 == 0 ? 5 : MOST_VERTICES;
  case_of c = {.graph = random_graph_make(seed, most, every_type[seed % TYPES], 0),
               .how = (preparation)((seed / TYPES + turn) % PREPARATIONS),
               .maximum = (int)((seed + turn) / 3 % 2)};
  (void)snprintf(c.name, sizeof c.name, "graph %d", (int)seed);
  return c;
}

static const msf_stream_ways both_ways = {.two_passes = MSF_ALWAYS, .whole_rows = MSF_BY_RATES};

/* Past the choice of the better device. */
static void check_together(const way *w, const case_of *c, const oracle_forest *f,
                           const char *name) {
  dzo_context *context = w->context;
  preparation how = c->how < RENUMBERED ? c->how : BY_NEIGHBOUR;
  dzo_graph *graph = prepare(context, &c->graph->edges, how);
  dzo_msf *msf = dzo_calloc(context, 1, sizeof *msf);
  assert_non_null(msf);
  *msf = (dzo_msf){.vertices = graph->vertices,
                   .graph_edges = graph->edges,
                   .weight_type = c->graph->edges.weight_type};
  must(context,
       msf_solve_in_ways(dzo_context_gpu(context), graph, c->maximum != 0, both_ways, msf));
  expect_forest(context, msf, graph, &c->graph->edges, f, name);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
}

static void check_graph(const way *w, const case_of *c, const oracle_forest *f) {
  char name[128];
  (void)snprintf(name, sizeof name, "%s on %s", c->name, w->name);
  if (w->together)
    check_together(w, c, f, name);
  else
    check_prepared(w->context, &c->graph->edges, c->how, w->upload, c->maximum, f, name);
}

static void small_graphs_have_one_forest_everywhere(void **state) {
  (void)state;
  for (uint64_t seed = 0, count = graph_count(); seed < count; seed++) {
    for (uint64_t i = 0; i < WAYS; i++) {
      if (ways[i].context == NULL)
        continue;
      case_of c = case_make(seed, i);
      oracle_forest *f = oracle_solve(&c.graph->edges, c.maximum, 0);
      check_graph(&ways[i], &c, f);
      oracle_free(f);
      random_graph_free(c.graph);
    }
  }
}

static void small_streams_have_the_same_forest(void **state) {
  (void)state;
  for (uint64_t seed = 0, count = graph_count(); seed < count; seed++) {
    const way *w = &ways[seed % WAYS];
    if (w->context == NULL || w->upload)
      continue;
    case_of c = case_make(seed, seed / WAYS);
    oracle_forest *f = oracle_solve(&c.graph->edges, c.maximum, 0);
    check_stream(w->context, &c.graph->edges, 1 + seed % 90, seed % 3 == 0, c.maximum, f, c.name);
    oracle_free(f);
    random_graph_free(c.graph);
  }
}

/* Who solved is who was asked, and a copy is used where there is one. */
static void results_tell_who_solved(void **state) {
  (void)state;
  random_graph *g = random_graph_make(11, MOST_VERTICES, DZO_WEIGHT_F64, 0);
  for (int i = 0; i < WAYS; i++) {
    const way *w = &ways[i];
    if (w->context == NULL)
      continue;
    dzo_graph *graph = prepare(w->context, &g->edges, BY_NEIGHBOUR);
    if (w->upload)
      must(w->context, dzo_graph_upload(w->context, graph));
    assert_true((dzo_graph_gpu_bytes(graph) > 0) == w->upload);
    dzo_msf *msf = solve(w->context, graph, 0);
    dzo_device device = dzo_msf_device(msf);
    assert_true(device != DZO_DEVICE_AUTO);
    if (w->device == DZO_DEVICE_CPU || w->device == DZO_DEVICE_CUDA)
      assert_int_equal(device, w->device);
    if (w->upload)
      assert_int_equal(device, DZO_DEVICE_CUDA);
    dzo_msf_destroy(msf);
    dzo_graph_destroy(graph);
  }
  random_graph_free(g);
}

/* A preparation makes the copy stale, so it goes; uploading again brings a new one. */
static void preparations_drop_the_copy(void **state) {
  (void)state;
  dzo_context *context = ways[2].context;
  if (context == NULL)
    skip();
  random_graph *g = random_graph_make(23, MOST_VERTICES, DZO_WEIGHT_U32, 0);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  dzo_graph *graph = prepare(context, &g->edges, BY_NEIGHBOUR);
  dzo_graph_evict(graph); /* nothing yet */
  must(context, dzo_graph_upload(context, graph));
  must(context, dzo_graph_upload(context, graph));
  must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
  assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
  must(context, dzo_graph_upload(context, graph));
  must(context, dzo_graph_compress(context, graph));
  assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
  must(context, dzo_graph_upload(context, graph));
  dzo_msf *msf = solve(context, graph, 0);
  expect_forest(context, msf, graph, &g->edges, f, "compressed and resident");
  dzo_msf_destroy(msf);
  dzo_graph_evict(graph);
  assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
  assert_int_equal(dzo_graph_upload(ways[0].context, graph), DZO_E_DEVICE);
  assert_int_equal(dzo_graph_upload(context, NULL), DZO_E_ARGUMENT);
  /* A copy is another context's to use, or nobody's. */
  must(context, dzo_graph_upload(context, graph));
  msf = solve(ways[0].context, graph, 0);
  assert_int_equal(dzo_msf_device(msf), DZO_DEVICE_CPU);
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  oracle_free(f);
  random_graph_free(g);
}

/* Memory for neither the graph nor a piece of it: the CPU does it and says so. */
static void without_gpu_memory_the_cpu_takes_over(void **state) {
  (void)state;
  if (ways[1].context == NULL)
    skip();
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.gpu_memory = 512;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  random_graph *g = random_graph_make(31, MOST_VERTICES, DZO_WEIGHT_I64, 0);
  oracle_forest *f = oracle_solve(&g->edges, 1, 0);
  dzo_graph *graph = prepare(context, &g->edges, BY_NEIGHBOUR);
  assert_int_equal(dzo_graph_upload(context, graph), DZO_E_MEMORY);
  assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
  dzo_msf *msf = solve(context, graph, 1);
  assert_true(dzo_context_notice(context)[0] != '\0');
  assert_string_equal(dzo_context_message(context), "");
  assert_int_equal(dzo_msf_device(msf), DZO_DEVICE_CPU);
  expect_forest(context, msf, graph, &g->edges, f, "no GPU memory");
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  oracle_free(f);
  random_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_graphs_have_one_forest_everywhere),
      cmocka_unit_test(small_streams_have_the_same_forest),
      cmocka_unit_test(results_tell_who_solved),
      cmocka_unit_test(preparations_drop_the_copy),
      cmocka_unit_test(without_gpu_memory_the_cpu_takes_over),
  };
  return cmocka_run_group_tests(tests, open_ways, close_ways);
}
