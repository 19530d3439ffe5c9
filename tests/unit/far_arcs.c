/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Graphs whose arcs 32 bits cannot number, in small: the solvers are compiled so that no arc fits
 * an entry (far_arcs32.c, far_arcs64.c), and every step keeps arcs and rows beside its entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "forest_checks.h"
#include "graph/csr.h"

/* Streams have no arcs. */
static void check_graphs(const dzo_edges *edges, int team, const char *name) {
  for (int maximum = 0; maximum < 2; maximum++) {
    oracle_forest *f = oracle_solve(edges, maximum, 0);
    for (int how = BY_NEIGHBOUR; how <= COMPRESSED; how++)
      check_in_memory(teams[(team + how) % TEAMS], edges, (preparation)how, maximum, f, name);
    oracle_free(f);
  }
}

static void random_graphs_equal_the_oracle(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS / 3; seed++) {
    random_graph *g =
        random_graph_make(seed, seed % 50 == 0 ? 3000 : 60, every_type[seed % TYPES], 0);
    check_graphs(&g->edges, (int)(seed % TEAMS), "random");
    random_graph_free(g);
  }
}

/* Three weights, so that the order of arcs settles most comparisons. If `wide`, every weight that
 * the library samples for its dictionary is another one far away, which makes keys 64 bits. */
static void weigh(int64_t *weights, uint64_t count, bool wide) {
  enum { SAMPLE = 4096 };
  random_source random = {count};
  for (uint64_t i = 0; i < count; i++)
    weights[i] = (int64_t)random_below(&random, 3);
  for (uint64_t i = 0; wide && i < count; i += count / SAMPLE)
    weights[i] = (int64_t)(random_bits(&random) / 4);
}

static void expect_width(const dzo_edges *edges, bool wide) {
  dzo_graph *graph;
  must(teams[0], dzo_graph_from_edges(teams[0], edges, &graph));
  assert_int_equal(graph->keys64 != NULL, wide);
  dzo_graph_destroy(graph);
}

static void tied_graphs_equal_the_oracle(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = kind == DZO_GENERATE_GRID ? 15 : 12;
    options.degree = 24; /* graphs of fewer edges are not sampled */
    options.weight_type = DZO_WEIGHT_NONE;
    dzo_context *maker = context_of(2);
    dzo_edge_list *list;
    must(maker, dzo_edge_list_generate(maker, (dzo_generator)kind, &options, &list));
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    int64_t *weights = malloc(edges.count * sizeof *weights);
    assert_non_null(weights);
    check_graphs(&edges, kind, "equal");
    edges.weight_type = DZO_WEIGHT_I64;
    edges.weights = weights;
    for (int wide = 0; wide < 2; wide++) {
      weigh(weights, edges.count, wide);
      expect_width(&edges, wide);
      check_graphs(&edges, kind + 1 + wide, wide ? "wide" : "tied");
    }
    free(weights);
    dzo_edge_list_destroy(list);
    dzo_context_destroy(maker);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_graphs_equal_the_oracle, make_teams, break_teams),
      cmocka_unit_test_setup_teardown(tied_graphs_equal_the_oracle, make_teams, break_teams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
