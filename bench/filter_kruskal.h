/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The yardstick of the spanning forest benchmarks: filter-Kruskal (V. Osipov, P. Sanders,
 * J. Singler, "The filter-Kruskal minimum spanning tree algorithm", ALENEX 2009), one thread. Part
 * of the program, not of the library. */
#ifndef DZO_BENCH_FILTER_KRUSKAL_H
#define DZO_BENCH_FILTER_KRUSKAL_H

#include <stdbool.h>

#include "dzo/graph.h"

/* Symmetric rows with 32-bit weights. */
typedef struct filter_kruskal_graph {
  uint64_t vertices;
  const uint64_t *offsets;
  const uint32_t *neighbours;
  const uint32_t *weights;
} filter_kruskal_graph;

typedef struct filter_kruskal_edge {
  uint32_t weight, u, v;
} filter_kruskal_edge;

/* The forest's edges, dzo_alloc'ed, and how many. `prefetch` goes beyond the textbook: the filter
 * then asks for the vertices of coming edges early. */
dzo_status filter_kruskal(dzo_context *context, const filter_kruskal_graph *graph, bool prefetch,
                          filter_kruskal_edge **forest, uint64_t *count);

#endif
