/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_GRAPH_CSR_H
#define DZO_GRAPH_CSR_H

#include "graph/weight_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compressed neighbours; see compress.h. */
typedef struct dzo_compressed dzo_compressed;

/* Symmetric CSR without loops, which no forest needs and which are kept apart. Each edge u - v is
 * an arc in row u and one in row v. All arrays are dzo_alloc'ed. */
struct dzo_graph {
  dzo_context *context;
  dzo_format format; /* it was read from, or AUTO */
  uint64_t vertices;
  uint64_t edges; /* loops included */
  uint64_t arcs;  /* 2 * (edges - loops) */

  uint64_t *offsets;          /* [vertices + 1] */
  uint32_t *neighbours;       /* [arcs]; NULL when compressed */
  dzo_compressed *compressed; /* or NULL */

  /* Keys of the arcs by map.wide; both NULL for DZO_WEIGHT_NONE, whose keys are all 0. */
  dzo_weight_map map;
  uint32_t *keys32; /* [arcs] */
  uint64_t *keys64; /* [arcs] */

  /* Edge number of each arc; 32 bits when number_bound fits, else 64. */
  uint32_t *numbers32;   /* [arcs] */
  uint64_t *numbers64;   /* [arcs] */
  uint64_t number_bound; /* every number is below */

  uint64_t loops;
  uint32_t *loop_vertices; /* [loops] in the order of their numbers */
  uint64_t *loop_keys;     /* [loops] */
  uint64_t *loop_numbers;  /* [loops] */

  uint64_t *labels; /* [vertices] or NULL: v + first_label */
  uint64_t first_label;
  dzo_row_order row_order;
  struct dzo_resident *resident; /* the copy in GPU memory, or NULL; see resident.h */
};

/* A row_order that no caller may ask for: sorting was cancelled half-way. */
#define DZO_ROWS_IN_NO_ORDER ((dzo_row_order)2)

DZO_ITEM uint64_t dzo_arc_key(const dzo_graph *g, uint64_t arc) {
  return g->keys32 != NULL ? g->keys32[arc] : g->keys64 != NULL ? g->keys64[arc] : 0;
}

DZO_ITEM uint64_t dzo_arc_number(const dzo_graph *g, uint64_t arc) {
  return g->numbers32 != NULL ? g->numbers32[arc] : g->numbers64[arc];
}

/* The edges of a graph as a list again, loops included, in the order of their numbers (and with
 * `numbers` set unless they are 0 .. edges - 1). */
dzo_status dzo_graph_to_edge_list(dzo_context *context, const dzo_graph *graph,
                                  dzo_edge_list **out);

#ifdef __cplusplus
}
#endif
#endif
