/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Orders the arcs of a group of consecutive rows: a radix sort, least significant digit first, of
 * 64-bit words (value, arc of the group), one stage a sort criterion, the least significant
 * criterion first and the row last; then each array is permuted once. A group that fits the cache
 * costs a few passes over it, and any group is sorted in linear time. */
#ifndef DZO_GRAPH_ROW_SORT_H
#define DZO_GRAPH_ROW_SORT_H

#include "graph/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DZO_GROUP_ROWS = 1 << 16 }; /* at most so many rows a group */

/* The scratch memory of one thread: 26 bytes an arc of the largest group. */
typedef struct dzo_row_sorter {
  dzo_context *context;
  uint64_t capacity;
  uint64_t count; /* arcs of the group in hand */
  uint64_t *items;
  uint64_t *spare;
  uint64_t *copy;
  uint16_t *rows;     /* [capacity] room for the caller to write the rows of the arcs */
  uint32_t *row_ends; /* [DZO_GROUP_ROWS] after dzo_rows_place: where each row ends in the group */
} dzo_row_sorter;

void dzo_row_sorter_free(dzo_row_sorter *sorter);

/* Have room for `count` arcs: afterwards groups up to that size cannot fail. DZO_E_MEMORY;
 * DZO_E_LIMIT beyond 2^32 - 1 arcs. */
dzo_status dzo_rows_reserve(dzo_row_sorter *sorter, uint64_t count);
/* Begin a group of `count` arcs. */
dzo_status dzo_rows_begin(dzo_row_sorter *sorter, uint64_t count);
/* One stage: sort stably by values[arc of the group]. */
void dzo_rows_by_u32(dzo_row_sorter *sorter, const uint32_t *values);
void dzo_rows_by_u64(dzo_row_sorter *sorter, const uint64_t *values);
/* The last stage: rows[arc of the group] < row_count is the arc's row, counted from the first. */
void dzo_rows_place(dzo_row_sorter *sorter, const uint16_t *rows, uint64_t row_count);
/* Permute an array of the group. NULL is fine. */
void dzo_rows_apply_u32(dzo_row_sorter *sorter, uint32_t *values);
void dzo_rows_apply_u64(dzo_row_sorter *sorter, uint64_t *values);

/* Rows first .. last - 1. */
typedef struct dzo_row_group {
  uint64_t first, last;
} dzo_row_group;

/* A graph's rows are cut into groups by arcs + rows, so that a group fits the cache whether there
 * are many arcs a row or hardly any; only a group that ends in a row of more is larger. */
uint64_t dzo_row_group_count(const dzo_graph *graph);
dzo_row_group dzo_row_group_at(const dzo_graph *graph, uint64_t group);
/* Write the rows of the group's arcs to sorter->rows, where room is reserved. */
void dzo_row_group_number(const dzo_graph *graph, dzo_row_group group, dzo_row_sorter *sorter);

/* Order the rows of a whole graph in parallel, by (neighbour, number) or (weight, neighbour,
 * number), whatever order they have now. DZO_E_MEMORY changes nothing; DZO_E_CANCELLED leaves each
 * row in one order or the other. Does not set graph->row_order. */
dzo_status dzo_graph_order_rows(dzo_context *context, dzo_graph *graph, dzo_row_order order);

#ifdef __cplusplus
}
#endif
#endif
