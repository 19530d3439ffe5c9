/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Random multigraphs for tests: many shapes, with loops, parallel edges, ties, negative and extreme
 * weights, infinities, isolated vertices. One seed, one graph. */
#ifndef DZO_TESTS_RANDOM_GRAPHS_H
#define DZO_TESTS_RANDOM_GRAPHS_H

#include "dzo/graph.h"

typedef struct random_source {
  uint64_t state;
} random_source;

uint64_t random_bits(random_source *random);
/* 0 .. bound - 1; bound > 0. */
uint64_t random_below(random_source *random, uint64_t bound);
/* 0 <= x < 1 */
double random_unit(random_source *random);

enum {
  RANDOM_PLAIN_NUMBERS = 1, /* edges are numbered 0 .. count - 1, vertices have no labels */
  RANDOM_FINITE = 2         /* no infinities */
};

/* A graph of at most `most` vertices (0 is possible) with weights of `type`; free with
 * random_graph_free. The arrays may be written. */
typedef struct random_graph {
  dzo_edges edges;
  uint32_t *u, *v;
  void *weights;
  uint64_t *numbers;
  uint64_t *labels;
} random_graph;
random_graph *random_graph_make(uint64_t seed, uint64_t most, dzo_weight_type type, int flags);
void random_graph_free(random_graph *graph);

#endif
