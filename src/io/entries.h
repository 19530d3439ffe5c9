/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The rows of a graph as files store them: the arcs in their order, and the loops, which a graph
 * keeps apart, put back where the order of the row wants them. */
#ifndef DZO_IO_ENTRIES_H
#define DZO_IO_ENTRIES_H

#include "graph/compress.h"

typedef struct dzo_entries {
  const dzo_graph *graph;
  unsigned copies;         /* entries that a loop takes: 1, or 2 as in the contest's files */
  uint64_t entries;        /* arcs + copies * loops */
  const uint64_t *offsets; /* [vertices + 1] rows as entries */
  uint64_t *own_offsets;   /* NULL if there are no loops */
  uint64_t *loops;         /* [loops] in the order of their entries */
  uint64_t *arcs_before;   /* [loops] arcs before each, in that order */
} dzo_entries;

dzo_status dzo_entries_create(dzo_context *context, const dzo_graph *graph, unsigned copies,
                              dzo_entries *out);
void dzo_entries_destroy(dzo_entries *rows);

/* Walks along the entries. */
typedef struct dzo_entry_cursor {
  uint64_t arc;       /* the next */
  uint64_t loop;      /* the next, in the order of the entries */
  unsigned copy;      /* of that loop, the next */
  uint64_t loop_arcs; /* arcs before the next loop */
} dzo_entry_cursor;

DZO_ITEM uint64_t dzo_entries_loop_arcs(const dzo_entries *rows, uint64_t loop) {
  return loop < rows->graph->loops ? rows->arcs_before[loop] : UINT64_MAX;
}

dzo_entry_cursor dzo_entries_seek(const dzo_entries *rows, uint64_t entry);

/* Step over an entry: is it a loop? Then *index is its place in the graph's loops, else its arc. */
DZO_ITEM bool dzo_entries_step(const dzo_entries *rows, dzo_entry_cursor *cursor, uint64_t *index) {
  if (DZO_LIKELY(cursor->arc != cursor->loop_arcs)) {
    *index = cursor->arc++;
    return false;
  }
  *index = rows->loops[cursor->loop];
  if (++cursor->copy == rows->copies) {
    cursor->copy = 0;
    cursor->loop_arcs = dzo_entries_loop_arcs(rows, ++cursor->loop);
  }
  return true;
}

DZO_ITEM uint32_t dzo_entries_next_neighbour(const dzo_entries *rows, dzo_entry_cursor *cursor) {
  uint64_t index;
  return dzo_entries_step(rows, cursor, &index) ? rows->graph->loop_vertices[index]
                                                : dzo_arc_neighbour(rows->graph, index);
}

DZO_ITEM dzo_weight dzo_entries_next_weight(const dzo_entries *rows, dzo_entry_cursor *cursor) {
  uint64_t index;
  bool loop = dzo_entries_step(rows, cursor, &index);
  if (rows->graph->map.type == DZO_WEIGHT_NONE)
    return (dzo_weight){.u64 = 1};
  return dzo_key_weight(&rows->graph->map,
                        loop ? rows->graph->loop_keys[index] : dzo_arc_key(rows->graph, index));
}

/* The row of an entry. */
uint64_t dzo_row_of(const uint64_t *offsets, uint64_t vertices, uint64_t entry);

#endif
