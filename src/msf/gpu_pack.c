/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_pack.h"

#include <string.h>

#include "base/clock.h"
#include "base/clones.h"
#include "graph/compress.h"

enum { AHEAD = 16 }; /* rows */
enum { SLACK = 64 }; /* bytes that copy_words() may write behind its words */

/* ---- Slots ----------------------------------------------------------------------------------- */

static uint64_t cut(uint64_t *at, uint64_t count, uint64_t size) {
  uint64_t begin = (*at + size - 1) / size * size;
  *at = begin + count * size;
  return begin;
}

void msf_packed_place(msf_packed *packed, unsigned key_bytes, uint32_t edges, uint32_t rows) {
  uint64_t at = 0;
  packed->edges = edges;
  packed->rows = rows;
  packed->keyed = key_bytes > 0;
  if (rows > 0) {
    packed->starts = cut(&at, (uint64_t)rows + 1, 4);
    packed->shifts = cut(&at, rows, 4);
    packed->tile_rows = cut(&at, (uint64_t)edges / MSF_TILE + 2, 4);
  } else {
    packed->u = cut(&at, edges, 4);
    packed->ids = cut(&at, edges, 4);
  }
  packed->v = cut(&at, edges, 4);
  at += rows > 0 ? SLACK : 0;
  packed->keys = key_bytes > 0 ? cut(&at, edges, key_bytes) : 0;
}

uint64_t msf_packed_head(const msf_packed *packed) {
  return packed->v + packed->edges * sizeof(uint32_t);
}

uint64_t msf_slot_bytes(uint64_t units, unsigned key_bytes, bool lists) {
  uint64_t an_edge = 4 + key_bytes, of_list = 12 + key_bytes;
  uint64_t of_rows = an_edge > 8 ? an_edge : 8;
  uint64_t bytes = units * (lists ? of_list : of_rows) + units / MSF_TILE * 4 + 4 * SLACK;
  return (bytes + 255) / 256 * 256;
}

uint64_t msf_slot_list_edges(uint64_t slot_bytes, unsigned key_bytes) {
  uint64_t bytes = slot_bytes - 4 * SLACK;
  return bytes / (12 + key_bytes);
}

static msf_chunk whole_chunk(const msf_packed *p, const char *memory) {
  return (msf_chunk){.edges = p->edges,
                     .back = p->back,
                     .rows = p->rows,
                     .first_row = p->first_row,
                     .offsets = (const uint64_t *)(const void *)(memory + p->starts),
                     .first_arc = p->first_arc,
                     .v = (const uint32_t *)(const void *)(memory + p->v),
                     .keys = p->keyed ? memory + p->keys : NULL};
}

msf_chunk msf_packed_chunk(const msf_packed *p, const char *memory) {
  if (p->whole != NULL)
    return whole_chunk(p, memory);
  const bool rows = p->rows > 0;
  return (msf_chunk){.edges = p->edges,
                     .back = p->back,
                     .rows = p->rows,
                     .first_row = p->first_row,
                     .starts = rows ? (const uint32_t *)(const void *)(memory + p->starts) : NULL,
                     .shifts = rows ? (const uint32_t *)(const void *)(memory + p->shifts) : NULL,
                     .tile_rows =
                         rows ? (const uint32_t *)(const void *)(memory + p->tile_rows) : NULL,
                     .u = rows ? NULL : (const uint32_t *)(const void *)(memory + p->u),
                     .ids = rows ? NULL : (const uint32_t *)(const void *)(memory + p->ids),
                     .first_id = p->first_id,
                     .v = (const uint32_t *)(const void *)(memory + p->v),
                     .keys = p->keyed ? memory + p->keys : NULL};
}

/* ---- Which rows ------------------------------------------------------------------------------ */

/* A place in the graph: a row, and an arc of it that comes next. */
typedef struct place {
  uint32_t row;
  uint64_t arc;
} place;

static uint64_t all_units(const dzo_graph *g) { return g->arcs + g->vertices; }

uint64_t msf_packer_chunks(const msf_packer *packer) {
  return (all_units(packer->graph) + packer->units - 1) / packer->units;
}

/* Row r is the unit offsets[r] + r, and its arcs are those behind it. */
static place place_of(const dzo_graph *g, uint64_t unit) {
  uint64_t low = 0, high = g->vertices - 1;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (g->offsets[middle] + middle <= unit)
      low = middle;
    else
      high = middle - 1;
  }
  uint64_t in_row = unit - g->offsets[low] - low;
  return (place){(uint32_t)low, g->offsets[low] + (in_row > 0 ? in_row - 1 : 0)};
}

/* The arcs of one chunk, whose rows are first.row .. last. */
typedef struct extent {
  place first;
  uint32_t last;
  uint64_t end;               /* arc */
  const uint32_t *neighbours; /* of arc `first.arc` and on */
} extent;

static extent extent_of(const msf_packer *p, uint64_t chunk, int thread) {
  const dzo_graph *g = p->graph;
  uint64_t begin = chunk * p->units, end = begin + p->units;
  if (end > all_units(g))
    end = all_units(g);
  place last = place_of(g, end - 1);
  uint64_t in_row = end - g->offsets[last.row] - last.row; /* at least 1 */
  extent x = {
      .first = place_of(g, begin), .last = last.row, .end = g->offsets[last.row] + in_row - 1};
  if (g->neighbours != NULL) {
    x.neighbours = g->neighbours + x.first.arc;
  } else {
    uint32_t *decoded = p->decoded + (uint64_t)thread * p->units;
    dzo_compressed_decode(g->compressed, x.first.arc, x.end, decoded);
    x.neighbours = decoded;
  }
  return x;
}

/* The arcs of a row that are in the extent. */
static uint64_t row_begin(const dzo_graph *g, const extent *x, uint32_t row) {
  return row == x->first.row ? x->first.arc : g->offsets[row];
}
static uint64_t row_end(const dzo_graph *g, const extent *x, uint32_t row) {
  return row == x->last ? x->end : g->offsets[row + 1];
}

/* ---- Rows by neighbour ----------------------------------------------------------------------- */

/* How many of the ascending neighbours are at most v. */
static inline uint64_t count_up_to(const uint32_t *row, uint64_t count, uint32_t v) {
  const uint32_t *base = row;
  while (count > 1) {
    uint64_t half = count / 2;
    base += base[half - 1] <= v ? half : 0;
    count -= half;
  }
  return (uint64_t)(base - row) + (count == 1 && *base <= v);
}

/* Copy words in blocks; up to 60 bytes behind them are read and written, too, where that much is
 * there to read. */
static inline void copy_words(uint32_t *to, const uint32_t *from, uint64_t count,
                              const uint32_t *readable) {
  if (count + 16 > (uint64_t)(readable - from)) {
    memcpy(to, from, count * sizeof *to);
    return;
  }
  for (uint64_t i = 0; i < count; i += 16)
    memcpy(to + i, from + i, 64);
}

/* The same; short rows without a search, whose steps wait for each other. */
static inline uint64_t count_lower(const msf_scan *scan, const uint32_t *row, uint64_t count,
                                   uint32_t v) {
  if (count > 64)
    return count_up_to(row, count, v);
  return (uint64_t)__builtin_popcountll(scan->at_most32(row, (unsigned)count, 0, v));
}

/* Where the rows of a chunk are written. */
typedef struct rows_writer {
  uint32_t *starts, *shifts, *v;
  char *keys;
} rows_writer;

/* The upper parts of all rows of the extent; the number of their arcs. */
DZO_CLONES static uint32_t write_rows(const msf_packer *p, const extent *x, const rows_writer *w) {
  const dzo_graph *g = p->graph;
  const uint32_t *readable = x->neighbours + (x->end - x->first.arc);
  const uint32_t *keys32 = g->keys32, *last32 = keys32 != NULL ? keys32 + g->arcs : NULL;
  uint32_t edges = 0;
  uint64_t begin = x->first.arc;
  for (uint32_t row = x->first.row;; row++) {
    uint64_t end = row_end(g, x, row), count = end - begin;
    const uint32_t *neighbours = x->neighbours + (begin - x->first.arc);
    uint64_t lower = count > 0 ? count_lower(&p->scan, neighbours, count, row) : 0;
    uint32_t r = row - x->first.row;
    if (keys32 != NULL && row + AHEAD <= x->last)
      DZO_PREFETCH(&keys32[g->offsets[row + AHEAD]]);
    w->starts[r] = edges;
    w->shifts[r] = (uint32_t)(begin + lower - g->offsets[row]) - edges;
    copy_words(w->v + edges, neighbours + lower, count - lower, readable);
    if (keys32 != NULL)
      copy_words((uint32_t *)(void *)w->keys + edges, keys32 + begin + lower, count - lower,
                 last32);
    else if (g->keys64 != NULL)
      memcpy(w->keys + 8 * (uint64_t)edges, g->keys64 + begin + lower, 8 * (count - lower));
    edges += (uint32_t)(count - lower);
    if (row == x->last)
      break;
    begin = end;
  }
  w->starts[x->last - x->first.row + 1] = edges;
  return edges;
}

/* The row in which each tile begins, and the last row. */
static void find_tiles(const uint32_t *starts, uint32_t rows, uint32_t edges, uint32_t *tile_rows) {
  uint32_t row = 0, tiles = edges / MSF_TILE + 1;
  for (uint32_t t = 0; t < tiles; t++) {
    while (row + 1 < rows && starts[row + 1] <= t * MSF_TILE)
      row++;
    tile_rows[t] = row;
  }
  tile_rows[tiles] = rows - 1;
}

static void pack_rows(const msf_packer *p, const extent *x, char *slot, msf_packed *out) {
  uint32_t rows = x->last - x->first.row + 1;
  msf_packed_place(out, p->key_bytes, (uint32_t)(x->end - x->first.arc), rows);
  rows_writer w = {.starts = (uint32_t *)(void *)(slot + out->starts),
                   .shifts = (uint32_t *)(void *)(slot + out->shifts),
                   .v = (uint32_t *)(void *)(slot + out->v),
                   .keys = slot + out->keys};
  out->first_row = x->first.row;
  out->edges = write_rows(p, x, &w);
  find_tiles(w.starts, rows, out->edges, (uint32_t *)(void *)(slot + out->tile_rows));
}

/* ---- Lists ----------------------------------------------------------------------------------- */

typedef struct list_writer {
  uint32_t *u, *ids, *v;
  uint64_t *wide;
  uint32_t *narrow;
  uint32_t count;
} list_writer;

/* A list as long as the extent may need, which pack_list() then closes up. */
static list_writer open_list(const msf_packer *p, uint64_t most, char *slot) {
  msf_packed all = {0};
  msf_packed_place(&all, p->key_bytes, (uint32_t)most, 0);
  list_writer w = {.u = (uint32_t *)(void *)(slot + all.u),
                   .ids = (uint32_t *)(void *)(slot + all.ids),
                   .v = (uint32_t *)(void *)(slot + all.v)};
  if (p->key_bytes == 8)
    w.wide = (uint64_t *)(void *)(slot + all.keys);
  else if (p->key_bytes == 4)
    w.narrow = (uint32_t *)(void *)(slot + all.keys);
  return w;
}

static void close_list(const msf_packer *p, const list_writer *w, char *slot, msf_packed *out) {
  msf_packed_place(out, p->key_bytes, w->count, 0);
  memmove(slot + out->ids, w->ids, 4 * (uint64_t)w->count);
  memmove(slot + out->v, w->v, 4 * (uint64_t)w->count);
  if (w->wide != NULL)
    memmove(slot + out->keys, w->wide, 8 * (uint64_t)w->count);
  else if (w->narrow != NULL)
    memmove(slot + out->keys, w->narrow, 4 * (uint64_t)w->count);
}

static inline void write_edge(list_writer *w, uint32_t u, uint32_t v, uint32_t id, uint64_t key) {
  w->u[w->count] = u;
  w->v[w->count] = v;
  w->ids[w->count] = id;
  if (w->wide != NULL)
    w->wide[w->count] = key;
  else if (w->narrow != NULL)
    w->narrow[w->count] = (uint32_t)key;
  w->count++;
}

/* Rows in no order of neighbours: all of each row is looked at. */
static void list_row(const msf_packer *p, const extent *x, uint32_t row, list_writer *w) {
  const dzo_graph *g = p->graph;
  uint64_t begin = row_begin(g, x, row), end = row_end(g, x, row);
  const uint32_t *neighbours = x->neighbours + (begin - x->first.arc);
  for (uint64_t i = 0; i < end - begin; i++)
    if (neighbours[i] > row)
      write_edge(w, row, neighbours[i], (uint32_t)(begin + i - g->offsets[row]),
                 dzo_arc_key(g, begin + i));
}

static void pack_list(const msf_packer *p, const extent *x, char *slot, msf_packed *out) {
  list_writer w = open_list(p, x->end - x->first.arc, slot);
  for (uint32_t row = x->first.row;; row++) {
    list_row(p, x, row, &w);
    if (row == x->last)
      break;
  }
  close_list(p, &w, slot, out);
}

/* ---- Edges picked ---------------------------------------------------------------------------- */

/* Those of up to 64 arcs from `arc` on whose keys are at most `last`. */
static uint64_t light_mask(const msf_packer *p, uint64_t arc, unsigned count) {
  const dzo_graph *g = p->graph;
  if (g->keys32 != NULL)
    return p->scan.at_most32(g->keys32 + arc, count, (uint32_t)p->flip, (uint32_t)p->last);
  return p->scan.at_most64(g->keys64 + arc, count, p->flip, p->last);
}

/* Goes over the keys without looking at rows, whose bounds are found for the light ones only. False
 * if the slot is too short. */
static bool list_light(const msf_packer *p, const extent *x, list_writer *w) {
  const dzo_graph *g = p->graph;
  uint32_t row = x->first.row;
  for (uint64_t at = x->first.arc; at < x->end; at += 64) {
    unsigned count = x->end - at < 64 ? (unsigned)(x->end - at) : 64;
    uint64_t mask = light_mask(p, at, count);
    if (w->count + (unsigned)__builtin_popcountll(mask) > p->list_edges)
      return false;
    for (; mask != 0; mask &= mask - 1) {
      uint64_t arc = at + (unsigned)__builtin_ctzll(mask);
      uint32_t v = g->neighbours[arc];
      while (g->offsets[row + 1] <= arc)
        row++;
      if (v > row)
        write_edge(w, row, v, (uint32_t)(arc - g->offsets[row]), dzo_arc_key(g, arc));
    }
  }
  return true;
}

/* An edge between two vertices outside is packed from the smaller one's row. */
static bool list_outside(const msf_packer *p, const extent *x, list_writer *w) {
  const dzo_graph *g = p->graph;
  for (uint32_t row = x->first.row;; row++) {
    uint64_t begin = row_begin(g, x, row), end = row_end(g, x, row);
    bool inside = p->giant[row / 32] >> row % 32 & 1;
    if (!inside && w->count + (end - begin) > p->list_edges)
      return false;
    for (uint64_t arc = begin; !inside && arc < end; arc++) {
      uint32_t v = g->neighbours[arc];
      uint64_t key = dzo_arc_key(g, arc);
      if ((key ^ p->flip) > p->last && (v > row || p->giant[v / 32] >> v % 32 & 1))
        write_edge(w, row, v, (uint32_t)(arc - g->offsets[row]), key);
    }
    if (row == x->last)
      return true;
  }
}

static void pack_picked(const msf_packer *p, const extent *x, char *slot, msf_packed *out) {
  list_writer w = open_list(p, p->list_edges, slot);
  bool fits = p->packing == MSF_PACK_LIGHT ? list_light(p, x, &w) : list_outside(p, x, &w);
  close_list(p, &w, slot, out);
  out->overflow = !fits;
}

/* Does an arc stand 2^32 arcs or more behind the beginning of its row? Edges are known by 32 bits
 * of that; the row is much longer than a chunk, so it is the first one of this. */
static bool is_too_far(const msf_packer *p, const extent *x) {
  uint32_t row = x->first.row;
  return row_end(p->graph, x, row) - p->graph->offsets[row] > UINT64_C(1) << 32;
}

void msf_pack_whole(const msf_packer *p, uint64_t chunk, msf_packed *out) {
  const dzo_graph *g = p->graph;
  extent x = extent_of(p, chunk, 0);
  uint64_t at = 0;
  *out = (msf_packed){.whole = g,
                      .first_arc = x.first.arc,
                      .units = p->units,
                      .edges = (uint32_t)(x.end - x.first.arc),
                      .rows = x.last - x.first.row + 1,
                      .first_row = x.first.row,
                      .keyed = p->key_bytes > 0,
                      .overflow = is_too_far(p, &x)};
  out->starts = cut(&at, (uint64_t)out->rows + 1, 8);
  out->v = cut(&at, out->edges, 4);
  out->keys = p->key_bytes > 0 ? cut(&at, out->edges, p->key_bytes) : 0;
}

/* Rows were laid out as if all arcs led upwards: keys move to the rest, so that one copy takes all.
 */
static void close_up(msf_packed *packed, unsigned key_bytes, char *slot) {
  if (!packed->keyed)
    return;
  uint64_t at = msf_packed_head(packed);
  uint64_t keys = cut(&at, packed->edges, key_bytes);
  memmove(slot + keys, slot + packed->keys, (uint64_t)packed->edges * key_bytes);
  packed->keys = keys;
  packed->closed_up = true;
}

void msf_pack(const msf_packer *p, uint64_t chunk, int thread, char *slot, msf_packed *out) {
  double begin = dzo_clock();
  extent x = extent_of(p, chunk, thread);
  *out = (msf_packed){.units = p->units};
  if (p->packing != MSF_PACK_ALL)
    pack_picked(p, &x, slot, out);
  else if (p->lists)
    pack_list(p, &x, slot, out);
  else
    pack_rows(p, &x, slot, out);
  if (out->rows > 0)
    close_up(out, p->key_bytes, slot);
  out->overflow |= is_too_far(p, &x);
  out->seconds = dzo_clock() - begin;
}
