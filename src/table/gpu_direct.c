/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A piece of a batch that is done without regions. */
#include "table/gpu.h"
#include "table/gpu_rest.h"

/* Regions cost as much as there are of them; where queries are fewer than one for so many slots, or
 * where the second-level cache holds the table, they are not worth it. */
enum { SPARSE = 16, SPARSER = 64 };

/* A fixed table that may have to refuse keys does it in regions. */
static bool has_room(const table_gpu *g, const table_piece *piece) {
  if (piece->operation == DZO_TABLE_ERASE || !g->fixed)
    return true;
  return g->pairs <= g->asked && piece->count <= g->asked - g->pairs;
}

static bool is_small(const table_gpu *g, int operation, bool ordered, uint64_t count) {
  uint64_t slots = table_gpu_slots(g);
  bool slow = operation == DZO_TABLE_ERASE || (operation == DZO_TABLE_ASSIGN && ordered);
  return count <= slots / (slow ? SPARSER : SPARSE) ||
         (!slow && slots * table_gpu_slot_bytes(g) <= g->unit->cache);
}

/* Queries that were made one a key come in an order that the cache likes. */
bool table_direct_suits(const table_gpu *g, const table_piece *piece) {
  if (piece->operation == DZO_TABLE_MIXED || !has_room(g, piece))
    return false;
  if (g->sizes.direct > 0)
    return piece->count < g->sizes.direct;
  return piece->heavy.used || is_small(g, piece->operation, piece->ordered, piece->count);
}

bool table_direct_is_ready(const table_gpu *g, int operation, uint64_t count) {
  if (operation == DZO_TABLE_MIXED || operation == DZO_TABLE_FIND || g->sizes.direct > 0 ||
      !is_small(g, operation, true, count))
    return false;
  table_direct d = {.operation = operation, .count = (uint32_t)count};
  return table_direct_place(&g->t, g->wide, &d, NULL) <= g->unit->workspace_bytes;
}

static uint32_t salt_of(const table_gpu *g, const void *workspace) {
  uint64_t x = table_hash(g->unit->operations, g->t.mix ^ g->pairs);
  return (uint32_t)(table_hash((uint64_t)(uintptr_t)workspace, x) >> 32);
}

dzo_status table_direct_start(table_gpu *g, table_piece *piece) {
  table_direct *d = &piece->direct;
  *d = (table_direct){.operation = piece->operation,
                      .count = (uint32_t)piece->count,
                      .keys = piece->keys,
                      .values = piece->values,
                      .value = piece->operation == DZO_TABLE_ADD ? 1 : 0,
                      .mixed = piece->mixed,
                      .ordered = piece->ordered && !piece->heavy.used,
                      .answers = piece->answers,
                      .counters = g->counters};
  uint64_t bytes = table_direct_place(&g->t, g->wide, d, NULL);
  void *workspace;
  DZO_TRY(table_heavy_keep(g, piece, bytes));
  d->keys = piece->keys;
  d->values = piece->values;
  DZO_TRY(dzo_unit_workspace(g->unit, bytes, &workspace));
  table_direct_place(&g->t, g->wide, d, workspace);
  d->set.salt = salt_of(g, workspace);
  if (piece->operation == DZO_TABLE_ERASE)
    return table_direct_erase(g->unit, &g->t, g->wide, d);
  return table_direct_store(g->unit, &g->t, g->wide, d);
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

/* Will there be memory for all of them in the overflow? The workspace can be had back. */
static bool may_spill(const table_gpu *g, uint64_t pairs) {
  uint64_t bytes =
      table_gpu_add_over_bytes(g->unit, &g->t, g->wide, pairs) + pairs * table_gpu_slot_bytes(g);
  return bytes <= g->unit->workspace_bytes ||
         bytes <= g->unit->workspace_bytes + dzo_unit_available(g->unit);
}

static dzo_status refuse_left(table_gpu *g, const table_direct *d, uint64_t left) {
  g->seen->refused += left;
  DZO_TRY(table_direct_refuse(g->unit, d, left));
  return dzo_fail(g->context, DZO_E_MEMORY, "out of GPU memory (pairs beside their buckets)");
}

dzo_status table_direct_finish(table_gpu *g, table_piece *piece) {
  table_direct *d = &piece->direct;
  if (piece->operation == DZO_TABLE_ERASE) {
    g->pairs -= g->seen->erased;
    return DZO_OK;
  }
  table_counters first = *g->seen;
  uint64_t refused = first.left > 0 && !may_spill(g, first.left) ? first.left : 0;
  first.left -= refused;
  if (first.met > 0 || first.left > 0)
    DZO_TRY(table_direct_settle(g->unit, &g->t, g->wide, d, &first));
  if (first.left > 0) {
    DZO_TRY(table_gpu_read_counters(g));
    DZO_TRY(dzo_unit_wait(g->unit, 0));
  }
  g->pairs += g->seen->inserted;
  if (g->seen->spilled > 0)
    DZO_TRY(add_spill(g, d, g->seen->spilled));
  return refused > 0 ? refuse_left(g, d, refused) : DZO_OK;
}
