/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edges of a stream, and the total order on them. */
#ifndef DZO_MSF_STREAM_EDGE_H
#define DZO_MSF_STREAM_EDGE_H

#include "base/context.h"
#include "base/item.h"

typedef struct stream_edge {
  uint64_t key; /* the weight's pattern, flipped for a maximum forest */
  uint64_t number;
  uint32_t u, v;
} stream_edge;

/* How the order sees vertices: by the input's names where it gives them. */
DZO_ITEM uint64_t stream_name(const uint64_t *labels, uint32_t v) {
  return labels != NULL ? labels[v] : v;
}

/* Does a come before b? */
DZO_ITEM bool stream_before(const uint64_t *labels, const stream_edge *a, const stream_edge *b) {
  if (a->key != b->key)
    return a->key < b->key;
  uint64_t ua = stream_name(labels, a->u), va = stream_name(labels, a->v);
  uint64_t ub = stream_name(labels, b->u), vb = stream_name(labels, b->v);
  uint64_t min_a = ua < va ? ua : va, max_a = ua < va ? va : ua;
  uint64_t min_b = ub < vb ? ub : vb, max_b = ub < vb ? vb : ub;
  if (min_a != min_b)
    return min_a < min_b;
  if (max_a != max_b)
    return max_a < max_b;
  return a->number < b->number;
}

/* Sort in place, by the order or by number, on one thread. */
void stream_sort(stream_edge *edges, uint64_t count, const uint64_t *labels);
void stream_sort_by_number(stream_edge *edges, uint64_t count);

#endif
