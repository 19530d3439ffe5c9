/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_GRAPH_EDGE_LIST_H
#define DZO_GRAPH_EDGE_LIST_H

#include "base/item.h"
#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays as in dzo_edges, owned (dzo_alloc); NULL where the view has NULL. */
struct dzo_edge_list {
  dzo_context *context;
  dzo_format format;
  uint64_t vertices;
  uint64_t count;
  uint32_t *u;
  uint32_t *v;
  dzo_weight_type weight_type;
  void *weights;
  uint64_t *numbers;
  uint64_t *labels;
  uint64_t first_label;
};

/* An edge list with room for `count` edges in u, v and, by type, weights; the rest is zero and may
 * be filled by the caller. */
dzo_status dzo_edge_list_create(dzo_context *context, uint64_t vertices, uint64_t count,
                                dzo_weight_type type, dzo_edge_list **out);

/* The number of edge i of `edges`. */
DZO_ITEM uint64_t dzo_edge_number(const dzo_edges *edges, uint64_t i) {
  return edges->numbers != NULL ? edges->numbers[i] : edges->first_number + i;
}

/* Are the fields of a caller's view consistent? Looks at no array. DZO_E_ARGUMENT. */
dzo_status dzo_edges_check_shape(dzo_context *context, const dzo_edges *edges);
/* Say what is wrong with edge i: endpoints, number or NaN. DZO_E_ARGUMENT. */
dzo_status dzo_edges_fail(dzo_context *context, const dzo_edges *edges, uint64_t i);
/* Check all: shape, endpoints, ascending numbers, no NaN. DZO_E_ARGUMENT names the first culprit.
 */
dzo_status dzo_edges_check(dzo_context *context, const dzo_edges *edges);

#ifdef __cplusplus
}
#endif
#endif
