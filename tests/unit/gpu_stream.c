/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Graphs and sources streamed to the GPU, with so little of its memory that chunks are a few edges
 * and merges many; against the oracle. */
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
#include "msf/gpu_stream.h"

enum { GPU_ROUNDS = ROUNDS / 3 };

static dzo_context *host;
static dzo_unit *unit;
static uint64_t whole; /* the limit it came with */

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
  for (;; limit += limit / 8) {
    *out = (dzo_msf){.vertices = dzo_graph_vertices(graph),
                     .graph_edges = dzo_graph_edges(graph),
                     .weight_type = dzo_graph_weight_type(graph)};
    dzo_unit_workspace_release(unit);
    unit->limit = limit;
    dzo_status status = hybrid ? msf_solve_hybrid(unit, graph, maximum, out)
                               : msf_solve_streamed(unit, graph, maximum, out);
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
    random_graph *g = random_graph_make((uint64_t)i + 4000, 3000, every_type[i], 0);
    oracle_forest *f = oracle_solve(&g->edges, i % 2, 0);
    char what[64];
    (void)snprintf(what, sizeof what, "seed %d + 4000", i);
    check_graph(g, i % 3 == 0 ? BY_WEIGHT : BY_NEIGHBOUR, i % 2 == 1, i % 4 >= 2, 100000, f, what);
    oracle_free(f);
    random_graph_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(graphs_equal_the_oracle, open_gpu, close_gpu),
      cmocka_unit_test_setup_teardown(larger_graphs_take_many_chunks, open_gpu, close_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
