/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Everything that the rest of the library takes for granted in a graph, checked after loading. */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/compress.h"
#include "io/native.h"

enum { ROW_GRAIN = 1 << 10, BLOCK_GRAIN = 1 << 10, DECODE = 1 << 10, SPARSE = 64, WORD = 64 };

typedef struct check {
  dzo_context *context;
  const dzo_graph *graph;
  const dzo_sections *sections;
  const char *name;
  uint64_t bad_arc;           /* accessed atomically, as all below */
  uint64_t bad_block;         /* of compressed neighbours */
  uint64_t low, negated_high; /* keys */
  uint64_t sum[2];            /* of arcs up - arcs down; 0 if each edge is two like arcs */
  uint64_t *used;             /* bit map of edge numbers */
  uint64_t *sorted;           /* edge numbers, where they are sparse */
  uint64_t up;                /* arcs up */
} check;

static dzo_status fail(const check *c, int section, uint64_t item, const char *what) {
  const dzo_section *s = &c->sections->list[section];
  return dzo_fail(c->context, DZO_E_FORMAT, "%s: byte %llu: %s", c->name,
                  (unsigned long long)(s->at + item * s->width), what);
}

/* ---- Offsets and compressed blocks ----------------------------------------------------------- */

static dzo_status check_offsets(const check *c) {
  const dzo_graph *g = c->graph;
  if (g->offsets[0] != 0)
    return fail(c, c->sections->offsets, 0, "the first row offset is not 0");
  for (uint64_t v = 0; v < g->vertices; v++)
    if (g->offsets[v + 1] < g->offsets[v])
      return fail(c, c->sections->offsets, v + 1, "row offsets descend");
  if (g->offsets[g->vertices] != g->arcs)
    return fail(c, c->sections->offsets, g->vertices,
                "the last row offset is not the number of arcs");
  return DZO_OK;
}

static uint64_t exceptions_begin(const dzo_compressed *z, uint64_t block) {
  return z->group_exception[block / DZO_GROUP_BLOCKS] + z->block_exception[block];
}

static uint64_t escapes_in(const dzo_compressed *z, uint64_t block) {
  const uint8_t *low = z->low + block * DZO_BLOCK_ARCS, *high = z->high + block * DZO_BLOCK_PLANE;
  uint64_t count = 0;
  for (unsigned j = 0; j < DZO_BLOCK_ARCS; j++)
    count += low[j] == 255 && (high[j % DZO_BLOCK_PLANE] >> 2 * (j / DZO_BLOCK_PLANE) & 3) == 3;
  return count;
}

static void check_blocks(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  check *c = argument;
  const dzo_compressed *z = c->graph->compressed;
  for (uint64_t b = begin; b < end; b++) {
    uint64_t first = exceptions_begin(z, b), next = exceptions_begin(z, b + 1);
    if (first > z->exception_count || next > z->exception_count || next < first ||
        next - first != escapes_in(z, b)) {
      dzo_min_u64(&c->bad_block, b);
      return;
    }
  }
}

static dzo_status check_compressed(check *c) {
  const dzo_compressed *z = c->graph->compressed;
  if (z == NULL)
    return DZO_OK;
  if (exceptions_begin(z, 0) != 0 || exceptions_begin(z, z->blocks) != z->exception_count)
    return fail(c, c->sections->neighbours, 0, "the exceptions do not agree with their counts");
  dzo_parallel_for(c->context->threads, z->blocks, BLOCK_GRAIN, check_blocks, c);
  if (c->bad_block != UINT64_MAX)
    return fail(c, c->sections->neighbours, c->bad_block,
                "a block's exceptions do not agree with their count");
  return DZO_OK;
}

/* ---- Arcs ------------------------------------------------------------------------------------ */

DZO_ITEM uint64_t mix(uint64_t x) { /* splitmix64 */
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

typedef struct arc {
  uint64_t key, number;
  uint32_t neighbour;
} arc;

static void add_sum(uint64_t sum[2], uint32_t row, arc a) {
  bool up = row < a.neighbour;
  uint64_t ends = up ? (uint64_t)row << 32 | a.neighbour : (uint64_t)a.neighbour << 32 | row;
  uint64_t h = mix(mix(ends + UINT64_C(0x9e3779b97f4a7c15)) + a.key) + a.number;
  uint64_t first = mix(h), second = mix(h ^ UINT64_C(0xd1b54a32d192ed03));
  sum[0] += up ? first : 0 - first;
  sum[1] += up ? second : 0 - second;
}

static bool in_order(dzo_row_order order, arc a, arc b) {
  if (order == DZO_ROWS_BY_WEIGHT && a.key != b.key)
    return a.key < b.key;
  return a.neighbour != b.neighbour ? a.neighbour < b.neighbour : a.number < b.number;
}

typedef struct row_sums {
  uint64_t low, high, sum[2], up;
} row_sums;

/* Takes an edge number; false if it was taken before. */
static bool use_number(check *c, uint64_t number) {
  if (c->used == NULL)
    return true;
  uint64_t bit = UINT64_C(1) << number % WORD;
  return (dzo_fetch_or_u64(&c->used[number / WORD], bit) & bit) == 0;
}

static bool arc_is_good(check *c, uint32_t row, bool first, arc before, arc a) {
  const dzo_graph *g = c->graph;
  return a.neighbour < g->vertices && a.neighbour != row && a.number < g->number_bound &&
         (first || in_order(g->row_order, before, a)) &&
         (row > a.neighbour || use_number(c, a.number));
}

static bool check_row(check *c, uint32_t row, row_sums *sums) {
  const dzo_graph *g = c->graph;
  uint32_t decoded[DECODE];
  uint64_t begin = g->offsets[row], end = g->offsets[row + 1];
  arc before = {0};
  for (uint64_t at = begin; at < end;) {
    uint64_t stop = end - at < DECODE ? end : at + DECODE;
    const uint32_t *neighbours = g->compressed == NULL ? g->neighbours + at : decoded;
    if (g->compressed != NULL)
      dzo_compressed_decode(g->compressed, at, stop, decoded);
    for (uint64_t i = at; i < stop; i++) {
      arc a = {dzo_arc_key(g, i), dzo_arc_number(g, i), neighbours[i - at]};
      if (!arc_is_good(c, row, i == begin, before, a)) {
        dzo_min_u64(&c->bad_arc, i);
        return false;
      }
      sums->low = a.key < sums->low ? a.key : sums->low;
      sums->high = a.key > sums->high ? a.key : sums->high;
      sums->up += row < a.neighbour;
      add_sum(sums->sum, row, a);
      before = a;
    }
    at = stop;
  }
  return true;
}

static void check_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  check *c = argument;
  row_sums sums = {.low = UINT64_MAX};
  if (dzo_is_cancelled(c->context))
    return;
  for (uint64_t v = begin; v < end; v++)
    if (!check_row(c, (uint32_t)v, &sums))
      return;
  dzo_min_u64(&c->low, sums.low);
  dzo_min_u64(&c->negated_high, ~sums.high);
  dzo_fetch_add_u64(&c->sum[0], sums.sum[0]);
  dzo_fetch_add_u64(&c->sum[1], sums.sum[1]);
  dzo_fetch_add_u64(&c->up, sums.up);
}

static dzo_status check_arcs(check *c) {
  const dzo_graph *g = c->graph;
  dzo_parallel_for(c->context->threads, g->vertices, ROW_GRAIN, check_rows, c);
  if (c->bad_arc != UINT64_MAX)
    return fail(c, c->sections->neighbours, g->compressed == NULL ? c->bad_arc : 0,
                "an arc's neighbour or edge number is out of range or out of order");
  DZO_TRY(dzo_progress(c->context, "read", 1, 1));
  if (c->up != g->arcs / 2 || c->sum[0] != 0 || c->sum[1] != 0)
    return fail(c, c->sections->neighbours, 0, "an edge's two arcs differ, or one is missing");
  return DZO_OK;
}

/* ---- Keys, loops, numbers -------------------------------------------------------------------- */

static bool is_nan_key(const dzo_weight_map *map, uint64_t key) {
  return (map->type == DZO_WEIGHT_F32 || map->type == DZO_WEIGHT_F64) &&
         isnan(dzo_key_weight(map, key).f64);
}

/* Patterns are ascending with keys, so that the extremes speak for all. */
static bool keys_are_good(const dzo_weight_map *map, uint64_t low, uint64_t high) {
  if (map->type == DZO_WEIGHT_NONE)
    return low == 0 && high == 0;
  if (!map->wide && high > UINT32_MAX)
    return false;
  bool narrow = map->type == DZO_WEIGHT_U32 || map->type == DZO_WEIGHT_F32;
  if (map->kind == DZO_KEY_OFFSET && high > (narrow ? UINT32_MAX : UINT64_MAX) - map->base)
    return false;
  if (map->kind == DZO_KEY_DICTIONARY && high >= map->dictionary_size)
    return false;
  return !is_nan_key(map, low) && !is_nan_key(map, high);
}

static dzo_status check_keys(const check *c) {
  const dzo_weight_map *map = &c->graph->map;
  bool narrow = map->type == DZO_WEIGHT_U32 || map->type == DZO_WEIGHT_F32;
  for (uint64_t i = 0; i < map->dictionary_size; i++)
    if ((i > 0 && map->dictionary[i - 1] >= map->dictionary[i]) ||
        (narrow && map->dictionary[i] > UINT32_MAX))
      return fail(c, c->sections->dictionary, i, "the distinct weights do not ascend");
  if (narrow && map->base > UINT32_MAX)
    return fail(c, c->sections->offsets, 0, "the base of the keys is out of range");
  if (c->low <= ~c->negated_high && !keys_are_good(map, c->low, ~c->negated_high))
    return fail(c, c->sections->keys >= 0 ? c->sections->keys : c->sections->loops, 0,
                "the keys hold a weight that its type does not have");
  return DZO_OK;
}

static dzo_status check_loops(check *c) {
  const dzo_graph *g = c->graph;
  for (uint64_t i = 0; i < g->loops; i++) {
    if (g->loop_vertices[i] >= g->vertices)
      return fail(c, c->sections->loops, i, "a loop's vertex is out of range");
    if (g->loop_numbers[i] >= g->number_bound ||
        (i > 0 && g->loop_numbers[i - 1] >= g->loop_numbers[i]) ||
        !use_number(c, g->loop_numbers[i]))
      return fail(c, c->sections->loops + 2, i, "a loop's edge number is out of range or order");
    c->low = g->loop_keys[i] < c->low ? g->loop_keys[i] : c->low;
    c->negated_high = ~g->loop_keys[i] < c->negated_high ? ~g->loop_keys[i] : c->negated_high;
  }
  return DZO_OK;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sparse numbers: sorted, none may be there twice. Arcs are known to be symmetric by now. */
static dzo_status check_sparse_numbers(check *c) {
  const dzo_graph *g = c->graph;
  uint64_t count = 0;
  for (uint64_t v = 0; v < g->vertices; v++)
    for (uint64_t i = g->offsets[v]; i < g->offsets[v + 1]; i++)
      if (v < dzo_arc_neighbour(g, i))
        c->sorted[count++] = dzo_arc_number(g, i);
  for (uint64_t i = 0; i < g->loops; i++)
    c->sorted[count++] = g->loop_numbers[i];
  if (count > 0)
    qsort(c->sorted, (size_t)count, sizeof *c->sorted, compare_u64);
  for (uint64_t i = 1; i < count; i++)
    if (c->sorted[i - 1] == c->sorted[i])
      return fail(c, c->sections->numbers, 0, "two edges have the same number");
  return DZO_OK;
}

static dzo_status check_all(check *c) {
  const dzo_graph *g = c->graph;
  DZO_TRY(check_offsets(c));
  DZO_TRY(check_compressed(c));
  bool dense = g->number_bound / SPARSE <= g->edges;
  if (dense)
    c->used = dzo_calloc(c->context, g->number_bound / WORD + 1, sizeof *c->used);
  else
    c->sorted = dzo_alloc(c->context, g->edges, sizeof *c->sorted);
  if (c->used == NULL && c->sorted == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(check_arcs(c));
  DZO_TRY(check_loops(c));
  DZO_TRY(check_keys(c));
  return dense ? DZO_OK : check_sparse_numbers(c);
}

dzo_status dzo_graph_check_loaded(dzo_context *context, const dzo_graph *graph,
                                  const dzo_sections *sections, const char *name) {
  check c = {.context = context,
             .graph = graph,
             .sections = sections,
             .name = name,
             .bad_arc = UINT64_MAX,
             .bad_block = UINT64_MAX,
             .low = UINT64_MAX,
             .negated_high = UINT64_MAX};
  dzo_status status = check_all(&c);
  dzo_free(c.used);
  dzo_free(c.sorted);
  return status;
}
