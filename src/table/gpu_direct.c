/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A piece of a batch that is done without regions. */
#include "table/gpu.h"
#include "table/gpu_rest.h"

/* Regions cost as much as there are of them: they are not worth it where queries are fewer than one
 * for so many slots. Where the order of all queries of a key has to be found, it costs more. */
enum { WORTH_PARTS = 1 << 21, QUICK = 1 << 21 };
enum { SPARSE = 12, SPARSE_ERASE = 32, SPARSE_ASSIGN = 64 };

/* A fixed table that may have to refuse keys does it in regions. */
static bool has_room(const table_gpu *g, const table_piece *piece) {
  if (piece->operation == DZO_TABLE_ERASE || !g->fixed)
    return true;
  uint64_t most = piece->count < g->stores ? piece->count : g->stores;
  return g->pairs <= g->asked && most <= g->asked - g->pairs;
}

static uint64_t slots_each(int operation, bool ordered) {
  if (operation == DZO_TABLE_ASSIGN && ordered)
    return SPARSE_ASSIGN;
  return operation == DZO_TABLE_ERASE ? SPARSE_ERASE : SPARSE;
}

static bool is_cached(const table_gpu *g) {
  return table_gpu_slots(g) * table_gpu_slot_bytes(g) <= g->unit->cache;
}

/* Many queries for a table of few regions would have few blocks. */
static bool is_small(const table_gpu *g, int operation, bool ordered, uint64_t count) {
  uint64_t slots = table_gpu_slots(g), each = slots_each(operation, ordered);
  return count <= slots / each || (each == SPARSE && count > 2 * slots && is_cached(g));
}

/* Batches between that and what regions are better for: stores in tables that stay half empty, so
 * that few pairs have to move. */
static bool is_medium(const table_gpu *g, int operation, bool ordered, uint64_t count) {
  uint64_t slots = table_gpu_slots(g);
  if (operation == DZO_TABLE_ERASE || (operation == DZO_TABLE_ASSIGN && ordered))
    return false;
  if (g->sizes.direct > 0)
    return count < g->sizes.parted;
  return count <= slots / 3 && 5 * (g->pairs + count) <= 3 * slots;
}

/* Stores of small batches, too, gain by being brought to parts, unless they are very small; the
 * more, the more pairs have to move. */
static bool is_worth_parts(const table_gpu *g, const table_piece *piece, bool ordered) {
  uint64_t worth = 4 * g->pairs > 3 * table_gpu_slots(g) ? WORTH_PARTS / 2 : WORTH_PARTS;
  return g->sizes.direct == 0 && piece->count >= worth && !is_cached(g) &&
         slots_each(piece->operation, ordered) == SPARSE;
}

/* Mixed batches in some order of the operations: words of 32 bits take it in their stride. */
static bool suits_mixed(const table_gpu *g, table_piece *piece) {
  if (piece->ordered || g->wide || g->t.over_count > 0)
    return false;
  piece->parted = g->sizes.direct > 0 ? piece->count < g->sizes.parted
                                      : is_worth_parts(g, piece, false) ||
                                            !is_small(g, DZO_TABLE_INSERT, false, piece->count);
  return true;
}

/* Queries that were made one a key need no order. */
bool table_direct_suits(const table_gpu *g, table_piece *piece) {
  piece->parted = false;
  if (!has_room(g, piece))
    return false;
  if (piece->operation == DZO_TABLE_MIXED)
    return suits_mixed(g, piece);
  bool ordered = piece->ordered && !piece->heavy.used;
  bool small =
      (piece->heavy.used && is_cached(g)) || is_small(g, piece->operation, ordered, piece->count);
  if (g->sizes.direct > 0)
    small = piece->count < g->sizes.direct;
  bool medium = is_medium(g, piece->operation, ordered, piece->count);
  piece->parted = !small ? medium : is_worth_parts(g, piece, ordered);
  return small || medium;
}

bool table_direct_is_ready(const table_gpu *g, int operation, uint64_t count) {
  if (operation == DZO_TABLE_MIXED || operation == DZO_TABLE_FIND || g->sizes.direct > 0 ||
      !is_small(g, operation, true, count))
    return false;
  table_direct d = {.operation = operation, .count = (uint32_t)count};
  return table_direct_place(&g->t, g->wide, &d, NULL) <= g->unit->workspace_bytes;
}

/* What such a batch takes is taken beforehand, lest the overflow had no memory for its pairs. */
static uint64_t bytes_to_spill(const table_gpu *g, uint64_t pairs) {
  return table_gpu_add_over_bytes(g->unit, &g->t, g->wide, pairs) + pairs * table_gpu_slot_bytes(g);
}

/* In small batches it is not worth asking the host whether some keys found no slot: in a table that
 * is not nearly empty, some did. */
static bool is_quick(const table_gpu *g, const table_piece *piece) {
  return piece->operation != DZO_TABLE_ERASE && piece->count <= QUICK &&
         10 * (g->pairs + piece->count) > 3 * table_gpu_slots(g);
}

static uint32_t salt_of(const table_gpu *g, const void *workspace) {
  uint64_t x = table_hash(g->unit->operations, g->t.mix ^ g->pairs);
  return (uint32_t)(table_hash((uint64_t)(uintptr_t)workspace, x) >> 32);
}

/* Queries in the order of the parts, and answers in that order, too. */
static dzo_status bring_to_parts(table_gpu *g, table_piece *piece) {
  table_partition *p = &piece->partition;
  table_direct *d = &piece->direct;
  DZO_TRY(table_partition_run(g->unit, p, piece->keys, piece->mixed, piece->values, d->value,
                              piece->codes));
  d->items = p->items[p->at];
  d->codes = p->coded ? p->codes[p->at] : NULL;
  d->results = p->results ? p->values[0] : NULL;
  d->answers = piece->answers != NULL ? p->answers[0] : NULL;
  return DZO_OK;
}

dzo_status table_direct_start(table_gpu *g, table_piece *piece) {
  table_direct *d = &piece->direct;
  *d = (table_direct){.operation = piece->operation,
                      .count = (uint32_t)piece->count,
                      .value = piece->operation == DZO_TABLE_ADD ? 1 : 0,
                      .mixed = piece->mixed,
                      .ordered = piece->ordered && !piece->heavy.used,
                      .codes = piece->codes,
                      .all_store = g->all_store,
                      .results = piece->results,
                      .answers = piece->answers,
                      .counters = g->counters,
                      .at_once = is_quick(g, piece)};
  table_partition *p = &piece->partition;
  uint64_t parts = piece->parted ? table_partition_place(g->unit, p, NULL) : 0;
  uint64_t bytes = parts + table_direct_place(&g->t, g->wide, d, NULL);
  if (d->at_once && bytes < bytes_to_spill(g, piece->count))
    bytes = bytes_to_spill(g, piece->count);
  void *workspace;
  DZO_TRY(table_heavy_keep(g, piece, bytes));
  d->keys = piece->keys;
  d->values = piece->values;
  DZO_TRY(dzo_unit_workspace(g->unit, bytes, &workspace));
  table_direct_place(&g->t, g->wide, d, (char *)workspace + parts);
  d->set.salt = salt_of(g, workspace);
  if (piece->parted) {
    table_partition_place(g->unit, p, workspace);
    DZO_TRY(bring_to_parts(g, piece));
  }
  if (piece->operation == DZO_TABLE_ERASE)
    return table_direct_erase(g->unit, &g->t, g->wide, d);
  DZO_TRY(piece->operation == DZO_TABLE_MIXED ? table_direct_mixed(g->unit, &g->t, d)
                                              : table_direct_store(g->unit, &g->t, g->wide, d));
  return d->at_once ? table_direct_bring_in(g->unit, &g->t, g->wide, d, piece->count, false)
                    : DZO_OK;
}

static dzo_status add_spill(table_gpu *g, const table_direct *d, uint64_t spilled) {
  dzo_status status = table_gpu_add_over(g->unit, &g->t, g->wide, d->spill, spilled, g->counters);
  if (status != DZO_E_MEMORY)
    return status;
  g->context->message[0] = '\0';
  if (table_piece_rescue(g, d->spill, spilled) != DZO_OK)
    return dzo_unit_lose(g->unit, "no memory is left for pairs that have to be moved");
  return DZO_OK;
}

bool table_direct_may_spill(const table_gpu *g, uint64_t pairs) {
  uint64_t bytes = bytes_to_spill(g, pairs);
  return bytes <= g->unit->workspace_bytes ||
         bytes <= g->unit->workspace_bytes + dzo_unit_available(g->unit);
}

/* Results, and answers as they were settled, in the order of the batch. */
static dzo_status bring_back(table_gpu *g, table_piece *piece) {
  if (!piece->parted || !piece->partition.back)
    return DZO_OK;
  return table_partition_back(g->unit, &piece->partition, piece->results, piece->answers,
                              piece->codes);
}

/* Queries that met their key, and of those that found no slot all but `refused`. */
static dzo_status settle(table_gpu *g, table_piece *piece, uint64_t refused) {
  table_direct *d = &piece->direct;
  uint64_t left = g->seen->left - refused;
  if (g->seen->met > 0)
    DZO_TRY(table_direct_settle(g->unit, &g->t, g->wide, d, g->seen));
  if (left > 0)
    DZO_TRY(table_direct_bring_in(g->unit, &g->t, g->wide, d, left, true));
  if (refused > 0)
    DZO_TRY(table_direct_refuse(g->unit, d, refused));
  return DZO_OK;
}

dzo_status table_direct_finish(table_gpu *g, table_piece *piece) {
  table_direct *d = &piece->direct;
  if (piece->operation == DZO_TABLE_ERASE) {
    g->pairs -= g->seen->erased;
    return DZO_OK;
  }
  bool done = d->at_once && g->seen->met == 0, some_left = !done && g->seen->left > 0;
  uint64_t refused = some_left && !table_direct_may_spill(g, g->seen->left) ? g->seen->left : 0;
  if (!done)
    DZO_TRY(settle(g, piece, refused));
  DZO_TRY(bring_back(g, piece));
  if (some_left) {
    DZO_TRY(table_gpu_read_counters(g));
    DZO_TRY(dzo_unit_wait(g->unit, 0));
  }
  g->pairs += g->seen->inserted - g->seen->erased;
  g->seen->refused += refused;
  if (g->seen->spilled > 0)
    DZO_TRY(add_spill(g, d, g->seen->spilled));
  if (refused > 0)
    return dzo_fail(g->context, DZO_E_MEMORY, "out of GPU memory (pairs beside their buckets)");
  return DZO_OK;
}
