/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GraphHPC-2015 contest's binary: u32 n, u64 arcs, u8 directed = 0, u8 align = 0,
 * u64 offsets[n + 1], u32 neighbours[arcs], f64 weights[arcs]. A loop is two arcs. Edges are laid
 * out as the contest's generators do: taken in order, each fills the rows of its endpoints from the
 * back. */
#include "base/bytes.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/write.h"
#include "io/write_entries.h"

enum { EDGE_GRAIN = 1 << 16, POLL = 1 << 20 };

static dzo_status put_header(dzo_output *output, uint64_t vertices, uint64_t arcs) {
  char header[14] = {0};
  (void)dzo_put64(dzo_put32(header, (uint32_t)vertices), arcs);
  return dzo_output_write(output, header, sizeof header);
}

static bool is_inexact(dzo_weight_type type, dzo_weight weight) {
  if (type != DZO_WEIGHT_I64 && type != DZO_WEIGHT_U64)
    return false;
  uint64_t size = weight.u64;
  if (type == DZO_WEIGHT_I64 && weight.i64 < 0)
    size = 0 - size;
  return size >> 53 != 0 && (size & ((UINT64_C(1) << (11 - __builtin_clzll(size))) - 1)) != 0;
}

/* ---- A graph, as its rows are ordered -------------------------------------------------------- */

static bool arc_is_inexact(const void *argument, uint64_t arc) {
  const dzo_graph *g = argument;
  return is_inexact(g->map.type, dzo_key_weight(&g->map, dzo_arc_key(g, arc)));
}

static bool loop_is_inexact(const void *argument, uint64_t loop) {
  const dzo_graph *g = argument;
  return is_inexact(g->map.type, dzo_key_weight(&g->map, g->loop_keys[loop]));
}

static dzo_status check_graph(dzo_context *context, const dzo_graph *g) {
  if (g->map.type != DZO_WEIGHT_I64 && g->map.type != DZO_WEIGHT_U64)
    return DZO_OK;
  uint64_t i = dzo_find_first(context, g->arcs, arc_is_inexact, g);
  if (i < g->arcs)
    return dzo_fail_weight(context, DZO_FORMAT_GRAPHHPC, "doubles only", dzo_arc_number(g, i),
                           g->map.type, dzo_key_weight(&g->map, dzo_arc_key(g, i)));
  i = dzo_find_first(context, g->loops, loop_is_inexact, g);
  if (i < g->loops)
    return dzo_fail_weight(context, DZO_FORMAT_GRAPHHPC, "doubles only", g->loop_numbers[i],
                           g->map.type, dzo_key_weight(&g->map, g->loop_keys[i]));
  return DZO_OK;
}

static dzo_status put_rows(const dzo_entries *rows, dzo_output *output) {
  DZO_TRY(put_header(output, rows->graph->vertices, rows->entries));
  DZO_TRY(dzo_output_items(output, rows->graph->vertices + 1, 8, dzo_put_offsets64, rows));
  DZO_TRY(dzo_output_items(output, rows->entries, 4, dzo_put_neighbours, rows));
  return dzo_output_items(output, rows->entries, 8, dzo_put_weights_f64, rows);
}

static dzo_status write_graph(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  dzo_entries rows;
  DZO_TRY(dzo_entries_create(context, graph, 2, &rows));
  dzo_status status = put_rows(&rows, output);
  dzo_entries_destroy(&rows);
  return status;
}

/* ---- Edges, as the contest lays them out ----------------------------------------------------- */

static bool edge_is_inexact(const void *argument, uint64_t i) {
  const dzo_edges *e = argument;
  return is_inexact(e->weight_type, dzo_edges_weight(e, i));
}

static dzo_status check_edges(dzo_context *context, const dzo_edges *e) {
  uint64_t arcs;
  if (__builtin_mul_overflow(e->count, UINT64_C(2), &arcs))
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%llu edges are too many for 64-bit arc numbers",
                    (unsigned long long)e->count);
  if (e->weight_type != DZO_WEIGHT_I64 && e->weight_type != DZO_WEIGHT_U64)
    return DZO_OK;
  uint64_t i = dzo_find_first(context, e->count, edge_is_inexact, e);
  if (i == e->count)
    return DZO_OK;
  return dzo_fail_weight(context, DZO_FORMAT_GRAPHHPC, "doubles only", dzo_edge_number(e, i),
                         e->weight_type, dzo_edges_weight(e, i));
}

/* Rows are filled block by block: a block's entries are in memory, and each member of the team
 * passes over all edges and fills the rows of its share of the block, so that the order of the
 * edges within a row does not depend on the team. */
typedef struct layout {
  dzo_context *context;
  const dzo_edges *edges;
  uint64_t *offsets; /* [vertices + 1] */
  uint64_t *next;    /* [vertices] where the next entry of the row goes, plus 1 */
  char *block;       /* entries of the rows first_row .. last_row - 1 */
  uint64_t first_row, last_row;
  uint64_t room;         /* bytes in `block` */
  uint32_t entry_bytes;  /* 4: neighbours; 8: weights */
  uint64_t written, all; /* entries, for progress */
} layout;

static void count_degrees(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  layout *l = argument;
  if (dzo_is_cancelled(l->context))
    return;
  for (uint64_t i = begin; i < end; i++) {
    dzo_fetch_add_u64(&l->offsets[l->edges->u[i]], 1);
    dzo_fetch_add_u64(&l->offsets[l->edges->v[i]], 1);
  }
}

static void start_rows(layout *l) {
  uint64_t sum = 0;
  for (uint64_t v = 0; v <= l->edges->vertices; v++) {
    uint64_t degree = l->offsets[v];
    l->offsets[v] = sum;
    sum += degree;
  }
}

DZO_ITEM void fill_entry(layout *l, uint64_t row, uint32_t neighbour, uint64_t edge) {
  char *to = l->block + (--l->next[row] - l->offsets[l->first_row]) * l->entry_bytes;
  if (l->entry_bytes == 4)
    (void)dzo_put32(to, neighbour);
  else
    (void)dzo_put_double(
        to, dzo_weight_as_f64(l->edges->weight_type, dzo_edges_weight(l->edges, edge)));
}

/* The first row of a member's share; shares hold about equally many entries. */
static uint64_t share_begin(const layout *l, int thread, int threads) {
  if (thread >= threads)
    return l->last_row;
  uint64_t begin = l->offsets[l->first_row], size = l->offsets[l->last_row] - begin;
  uint64_t entry = begin + size / (uint64_t)threads * (uint64_t)thread, row = l->first_row;
  uint64_t high = l->last_row;
  while (row < high) { /* the first row that begins at `entry` or later */
    uint64_t middle = row + (high - row) / 2;
    if (l->offsets[middle] < entry)
      row = middle + 1;
    else
      high = middle;
  }
  return row;
}

static void fill_share(void *argument, int thread, int threads) {
  layout *l = argument;
  uint64_t begin = share_begin(l, thread, threads), end = share_begin(l, thread + 1, threads);
  if (begin >= end)
    return;
  for (uint64_t v = begin; v < end; v++)
    l->next[v] = l->offsets[v + 1];
  const uint32_t *us = l->edges->u, *vs = l->edges->v;
  for (uint64_t i = 0; i < l->edges->count; i++) {
    if (i % POLL == 0 && dzo_is_cancelled(l->context))
      return;
    if (us[i] - begin < end - begin)
      fill_entry(l, us[i], vs[i], i);
    if (vs[i] - begin < end - begin)
      fill_entry(l, vs[i], us[i], i);
  }
}

/* As many rows as there is room for; a row longer than that gets the room it needs. */
static dzo_status next_block(layout *l) {
  l->first_row = l->last_row;
  uint64_t begin = l->offsets[l->first_row], most = l->room / l->entry_bytes;
  while (l->last_row < l->edges->vertices && l->offsets[l->last_row + 1] - begin <= most)
    l->last_row++;
  if (l->last_row > l->first_row)
    return DZO_OK;
  uint64_t needed = (l->offsets[++l->last_row] - begin) * l->entry_bytes;
  dzo_free(l->block);
  l->block = dzo_alloc(l->context, needed, 1);
  l->room = l->block != NULL ? needed : 0;
  return l->block != NULL ? DZO_OK : DZO_E_MEMORY;
}

static dzo_status put_section(layout *l, uint32_t entry_bytes, dzo_output *output) {
  l->entry_bytes = entry_bytes;
  l->last_row = 0;
  while (l->last_row < l->edges->vertices) {
    DZO_TRY(next_block(l));
    dzo_team_run(l->context->threads, fill_share, l);
    uint64_t entries = l->offsets[l->last_row] - l->offsets[l->first_row];
    DZO_TRY(dzo_progress(l->context, "write", l->written, l->all));
    DZO_TRY(dzo_output_write(output, l->block, entries * entry_bytes));
    l->written += entries;
  }
  return dzo_progress(l->context, "write", l->written, l->all);
}

static char *put_layout_offsets(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const layout *l = argument;
  for (uint64_t v = begin; v < end; v++)
    to = dzo_put64(to, l->offsets[v]);
  return to;
}

static dzo_status put_layout(layout *l, dzo_output *output) {
  const uint64_t least = 1 << 20, arcs = 2 * l->edges->count;
  l->room = l->context->memory / 16;
  l->room = l->room < least ? least : l->room;
  if (l->room / 8 > arcs)
    l->room = arcs * 8;
  l->all = 2 * arcs;
  l->offsets = dzo_calloc(l->context, l->edges->vertices + 1, sizeof *l->offsets);
  l->next = dzo_alloc(l->context, l->edges->vertices, sizeof *l->next);
  l->block = dzo_alloc(l->context, l->room, 1);
  if (l->offsets == NULL || l->next == NULL || l->block == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(l->context->threads, l->edges->count, EDGE_GRAIN, count_degrees, l);
  start_rows(l);
  DZO_TRY(put_header(output, l->edges->vertices, arcs));
  DZO_TRY(dzo_output_items(output, l->edges->vertices + 1, 8, put_layout_offsets, l));
  DZO_TRY(put_section(l, 4, output));
  return put_section(l, 8, output);
}

static dzo_status write_edges(dzo_context *context, const dzo_edges *edges, dzo_output *output) {
  layout l = {.context = context, .edges = edges};
  dzo_status status = put_layout(&l, output);
  dzo_free(l.offsets);
  dzo_free(l.next);
  dzo_free(l.block);
  return status;
}

const dzo_writer dzo_writer_graphhpc = {.format = DZO_FORMAT_GRAPHHPC,
                                        .check_edges = check_edges,
                                        .edges = write_edges,
                                        .check_graph = check_graph,
                                        .graph = write_graph};
