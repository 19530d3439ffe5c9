/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/entries.h"

#include "base/context.h"
#include "base/memory.h"

uint64_t dzo_row_of(const uint64_t *offsets, uint64_t vertices, uint64_t entry) {
  uint64_t low = 0, high = vertices; /* offsets[low] <= entry < offsets[high] */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (offsets[middle] <= entry)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Arcs before a loop, all rows counted: the loop's place in its row by the order of the row. */
static uint64_t arcs_before(const dzo_graph *g, uint64_t loop) {
  uint32_t vertex = g->loop_vertices[loop];
  uint64_t key = g->loop_keys[loop], low = g->offsets[vertex], high = g->offsets[vertex + 1];
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    uint64_t arc_key = g->row_order == DZO_ROWS_BY_WEIGHT ? dzo_arc_key(g, middle) : key;
    if (arc_key < key || (arc_key == key && dzo_arc_neighbour(g, middle) < vertex))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool comes_before(const dzo_graph *g, uint64_t a, uint64_t b) {
  if (g->loop_vertices[a] != g->loop_vertices[b])
    return g->loop_vertices[a] < g->loop_vertices[b];
  if (g->row_order == DZO_ROWS_BY_WEIGHT && g->loop_keys[a] != g->loop_keys[b])
    return g->loop_keys[a] < g->loop_keys[b];
  return g->loop_numbers[a] < g->loop_numbers[b];
}

static void sift_down(const dzo_graph *g, uint64_t *heap, uint64_t count, uint64_t i) {
  uint64_t moved = heap[i];
  for (uint64_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && comes_before(g, heap[child], heap[child + 1]))
      child++;
    if (!comes_before(g, moved, heap[child]))
      break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
}

/* Heapsort: needs no memory, and loops are few. */
static void sort_loops(const dzo_graph *g, uint64_t *loops) {
  for (uint64_t i = 0; i < g->loops; i++)
    loops[i] = i;
  for (uint64_t i = g->loops / 2; i-- > 0;)
    sift_down(g, loops, g->loops, i);
  for (uint64_t end = g->loops; end-- > 1;) {
    uint64_t last = loops[end];
    loops[end] = loops[0];
    loops[0] = last;
    sift_down(g, loops, end, 0);
  }
}

static dzo_status insert_loops(dzo_context *context, dzo_entries *rows) {
  const dzo_graph *g = rows->graph;
  rows->loops = dzo_alloc(context, g->loops, sizeof *rows->loops);
  rows->arcs_before = dzo_alloc(context, g->loops, sizeof *rows->arcs_before);
  rows->own_offsets = dzo_alloc(context, g->vertices + 1, sizeof *rows->own_offsets);
  if (rows->loops == NULL || rows->arcs_before == NULL || rows->own_offsets == NULL)
    return DZO_E_MEMORY;
  sort_loops(g, rows->loops);
  for (uint64_t i = 0; i < g->loops; i++)
    rows->arcs_before[i] = arcs_before(g, rows->loops[i]);
  uint64_t passed = 0;
  for (uint64_t v = 0; v <= g->vertices; v++) {
    while (passed < g->loops && g->loop_vertices[rows->loops[passed]] < v)
      passed++;
    rows->own_offsets[v] = g->offsets[v] + rows->copies * passed;
  }
  rows->offsets = rows->own_offsets;
  return DZO_OK;
}

dzo_status dzo_entries_create(dzo_context *context, const dzo_graph *graph, unsigned copies,
                              dzo_entries *out) {
  *out = (dzo_entries){.graph = graph,
                       .copies = copies,
                       .entries = graph->arcs + copies * graph->loops,
                       .offsets = graph->offsets};
  if (graph->loops == 0)
    return DZO_OK;
  dzo_status status = insert_loops(context, out);
  if (status != DZO_OK)
    dzo_entries_destroy(out);
  return status;
}

void dzo_entries_destroy(dzo_entries *rows) {
  dzo_free(rows->own_offsets);
  dzo_free(rows->loops);
  dzo_free(rows->arcs_before);
  *rows = (dzo_entries){0};
}

dzo_entry_cursor dzo_entries_seek(const dzo_entries *rows, uint64_t entry) {
  uint64_t low = 0, high = rows->graph->loops; /* loops that begin at `entry` or before */
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (rows->arcs_before[middle] + rows->copies * middle <= entry)
      low = middle + 1;
    else
      high = middle;
  }
  dzo_entry_cursor cursor = {entry - rows->copies * low, low, 0, 0};
  if (low > 0) {
    uint64_t into = entry - (rows->arcs_before[low - 1] + rows->copies * (low - 1));
    if (into < rows->copies)
      cursor = (dzo_entry_cursor){rows->arcs_before[low - 1], low - 1, (unsigned)into, 0};
  }
  cursor.loop_arcs = dzo_entries_loop_arcs(rows, cursor.loop);
  return cursor;
}
