/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A piece of a batch in GPU memory. Finds go straight to the slots, many of them brought to parts
 * of the table first, each of which the second-level cache holds; what changes the table is brought
 * to its regions. */
#include <string.h>

#include "base/memory.h"
#include "table/gpu.h"
#include "table/gpu_find.h"
#include "table/gpu_rest.h"

enum { MOST_PARTS = 256, USUAL_PARTS = 128, CACHES = 3, FULL_OVERFLOW = 64, DENSE = 8 };

#define DIRECT_FINDS (UINT64_C(6) << 20)
#define PIECE_BYTES (UINT64_C(1) << 28) /* of keys */
#define LEAST_PIECE (UINT64_C(1) << 16)
#define LEAST_STARVED UINT64_C(1024)

/* ---- Room ------------------------------------------------------------------------------------ */

/* Parts of the table that the second-level cache holds, with what else goes through it: the fewer
 * the faster a batch is brought to them. */
static uint64_t find_parts(const table_gpu *g) {
  uint64_t bytes = table_gpu_slots(g) * table_gpu_slot_bytes(g), part = g->unit->cache * 2 / 5;
  if (part == 0)
    return USUAL_PARTS;
  uint64_t parts = 8;
  while (parts < MOST_PARTS && bytes / parts > part)
    parts *= 2;
  return parts;
}

static table_partition partition_of(const table_gpu *g, const table_piece *piece) {
  bool find = piece->operation == DZO_TABLE_FIND, mixed = piece->operation == DZO_TABLE_MIXED;
  bool results = (find || mixed) && piece->results != NULL, any = find || piece->loose;
  return (table_partition){.wide = g->wide,
                           .any = any,
                           .pairs = !find && piece->operation != DZO_TABLE_ERASE,
                           .coded = mixed,
                           .back = results || piece->answers != NULL,
                           .results = results,
                           .mix = g->t.mix,
                           .parts = any || piece->parted ? find_parts(g) : g->t.regions,
                           .count = piece->count};
}

static uint64_t round_up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/* The arrays of a run, behind those of the partition. */
static uint64_t place_run(const table_gpu *g, table_piece *piece, char *workspace) {
  table_partition *p = &piece->partition;
  table_batch_run *run = &piece->run;
  uint64_t used = table_partition_place(g->unit, p, workspace);
  uint64_t regions = g->t.regions, most = regions < p->count ? regions : p->count;
  run->begin = workspace != NULL ? (uint32_t *)(void *)(workspace + used) : NULL;
  used += round_up((regions + 1) * sizeof *run->begin);
  run->stop = workspace != NULL ? (uint32_t *)(void *)(workspace + used) : NULL;
  used += round_up(regions * sizeof *run->stop);
  run->list = workspace != NULL ? (uint32_t *)(void *)(workspace + used) : NULL;
  used += round_up(most * sizeof *run->list);
  run->spill = workspace != NULL ? workspace + used : NULL;
  /* Of as many passes as there are, one array of items is free; but those of keys alone are too
   * small, and need no room. */
  return used;
}

static dzo_status take_workspace(table_gpu *g, table_piece *piece) {
  void *workspace;
  piece->partition = partition_of(g, piece);
  uint64_t bytes = place_run(g, piece, NULL);
  DZO_TRY(table_heavy_keep(g, piece, bytes));
  DZO_TRY(dzo_unit_workspace(g->unit, bytes, &workspace));
  place_run(g, piece, workspace);
  return DZO_OK;
}

/* ---- Finds ----------------------------------------------------------------------------------- */

static bool is_direct(const table_gpu *g, uint64_t count) {
  if (g->sizes.direct > 0)
    return count < g->sizes.direct;
  return count < DIRECT_FINDS ||
         table_gpu_slots(g) * table_gpu_slot_bytes(g) < CACHES * g->unit->cache;
}

uint64_t table_piece_usual(const table_gpu *g) {
  return g->sizes.piece > 0 ? g->sizes.piece : PIECE_BYTES / table_gpu_word(g);
}

/* What there is besides the workspace is asked for only where that does not suffice, since the
 * answer takes as long as a small batch. */
uint64_t table_piece_most(const table_gpu *g, const dzo_table_batch *batch) {
  uint64_t most = table_piece_usual(g);
  uint64_t room = g->unit->workspace_bytes;
  bool asked = false;
  table_piece piece = {
      .operation = (int)batch->operation, .results = batch->results, .answers = batch->answers};
  most = most < batch->count ? most : batch->count;
  if ((batch->operation == DZO_TABLE_FIND && is_direct(g, most)) ||
      table_direct_is_ready(g, piece.operation, most))
    return most;
  for (; most > LEAST_PIECE; most /= 2) {
    piece.count = most;
    piece.partition = partition_of(g, &piece);
    uint64_t bytes = place_run(g, &piece, NULL);
    if (bytes > room && !asked) {
      room += dzo_unit_available(g->unit);
      asked = true;
    }
    if (bytes <= room)
      break;
  }
  return most;
}

/* Finds and loose erases, of keys or of items, which are mixed. */
static dzo_status look_at(table_gpu *g, const table_piece *piece, const void *keys, bool mixed,
                          void *results, uint8_t *answers) {
  if (piece->loose)
    return table_gpu_erase(g->unit, &g->t, piece->count, keys, mixed, answers, g->counters);
  return table_gpu_find(g->unit, &g->t, g->wide, piece->count, keys, mixed, results, answers,
                        g->counters);
}

static dzo_status start_find(table_gpu *g, table_piece *piece) {
  if (is_direct(g, piece->count))
    return look_at(g, piece, piece->keys, false, piece->results, piece->answers);
  table_partition *p = &piece->partition;
  DZO_TRY(take_workspace(g, piece));
  DZO_TRY(table_partition_run(g->unit, p, piece->keys, false, NULL, 0, NULL));
  DZO_TRY(look_at(g, piece, p->items[p->at], true, piece->results != NULL ? p->values[0] : NULL,
                  piece->answers != NULL ? p->answers[0] : NULL));
  if (!p->back)
    return DZO_OK;
  return table_partition_back(g->unit, p, piece->results, piece->answers, NULL);
}

/* Erases where nobody asks which of equal keys was the one that found it: a slot of 32-bit words
 * can be freed from anywhere. */
static bool is_loose(const table_gpu *g, const table_piece *piece) {
  return piece->operation == DZO_TABLE_ERASE && !g->wide && g->t.over_count == 0 &&
         (piece->answers == NULL || !piece->ordered);
}

/* ---- What changes the table ------------------------------------------------------------------ */

/* What is left of the batch may be about keys that are there, which need no room. */
static dzo_status starve(table_gpu *g) {
  uint64_t capacity = table_gpu_capacity(g);
  g->asked = g->pairs > capacity ? g->pairs : capacity;
  g->starved = g->fixed = true;
  return DZO_OK;
}

/* Room for the new keys that are to be expected, of this piece or of all that is left. */
static dzo_status make_room(table_gpu *g, const table_piece *piece) {
  if (g->fixed || piece->operation == DZO_TABLE_ERASE)
    return DZO_OK;
  uint64_t capacity = table_gpu_capacity(g);
  double margin = 1.02 * g->fresh < 1 ? 1.02 * g->fresh : 1;
  uint64_t soon = g->pairs + (uint64_t)((double)piece->count * margin);
  if (soon <= capacity)
    return DZO_OK;
  uint64_t all = g->pairs + (uint64_t)((double)piece->left * margin);
  uint64_t most = soon > 4 * capacity ? soon : 4 * capacity, least = 2 * capacity;
  uint64_t wanted = all < most ? all : most;
  wanted = wanted > least ? wanted : least;
  dzo_status status = table_gpu_resize(g, wanted);
  if (status == DZO_E_MEMORY && soon < wanted)
    status = table_gpu_resize(g, soon);
  return status == DZO_E_MEMORY ? starve(g) : status;
}

static dzo_status run_regions(table_gpu *g, table_piece *piece) {
  const table_batch_run *run = &piece->run;
  DZO_TRY(table_region_bounds(g->unit, &g->t, g->wide, piece->partition.pairs, run));
  switch (piece->operation) {
  case DZO_TABLE_ERASE:
    return table_region_erase(g->unit, &g->t, g->wide, run);
  case DZO_TABLE_MIXED:
    return table_region_mixed(g->unit, &g->t, g->wide, run);
  default:
    return table_region_store(g->unit, &g->t, g->wide, piece->operation, run);
  }
}

/* Pairs from which on a region puts off its queries: all of them where the table is full, and the
 * overflow is not to become one. */
static uint32_t region_limit(const table_gpu *g) {
  if (g->fixed && g->pairs >= g->asked && g->t.over_count > table_gpu_slots(g) / FULL_OVERFLOW)
    return 0;
  return g->t.buckets * g->t.bucket_slots;
}

/* Answers of more than two passes overwrite, on their way back, those that they are made of: what
 * is put off would have none to go back with. So they go once, when all is done. */
static bool goes_back_late(const table_piece *piece) {
  return piece->partition.back && piece->partition.passes > 2;
}

static dzo_status go_back(table_gpu *g, table_piece *piece) {
  return table_partition_back(g->unit, &piece->partition, piece->results, piece->answers,
                              piece->codes);
}

static dzo_status start_change(table_gpu *g, table_piece *piece) {
  table_partition *p = &piece->partition;
  DZO_TRY(take_workspace(g, piece));
  DZO_TRY(table_partition_run(g->unit, p, piece->keys, piece->mixed, piece->values,
                              piece->operation == DZO_TABLE_ADD ? 1 : 0, piece->codes));
  table_batch_run *run = &piece->run;
  run->items = p->items[p->at];
  run->codes = p->coded ? p->codes[p->at] : NULL;
  run->count = (uint32_t)piece->count;
  if (p->passes == 1) {
    run->starts = p->offsets;
    run->stride = (uint32_t)p->blocks;
  }
  run->values = p->results ? p->values[0] : NULL;
  run->answers = piece->answers != NULL ? p->answers[0] : NULL;
  run->spill = p->items[p->at ^ 1];
  run->counters = g->counters;
  run->limit = region_limit(g);
  run->ordered = piece->ordered;
  run->dense = piece->count / DENSE >= g->t.regions;
  DZO_TRY(run_regions(g, piece));
  return p->back && !goes_back_late(piece) ? go_back(g, piece) : DZO_OK;
}

/* Without regions, where that suits. */
static dzo_status change(table_gpu *g, table_piece *piece) {
  piece->straight = table_direct_suits(g, piece);
  if (piece->straight) {
    piece->partition = partition_of(g, piece);
    dzo_status status = table_direct_start(g, piece);
    if (status != DZO_E_MEMORY)
      return status;
    g->context->message[0] = '\0';
    piece->straight = piece->parted = false;
  }
  return start_change(g, piece);
}

/* Queries that share keys become one a key. Where they do not, only so many are done as may all be
 * of new keys. */
static dzo_status share(table_gpu *g, table_piece *piece) {
  if (table_heavy_is_worth(g, piece)) {
    piece->partition = partition_of(g, piece);
    DZO_TRY(table_heavy_begin(g, piece, place_run(g, piece, NULL)));
  }
  if (!piece->heavy.used && piece->cautious > 0 && piece->count > piece->cautious)
    piece->count = piece->cautious;
  piece->taken = piece->heavy.used ? piece->heavy.count : piece->count;
  return DZO_OK;
}

/* As many pairs as regions put out at once, at most, go to the overflow. */
static bool may_spill(const table_gpu *g, const table_piece *piece) {
  uint64_t most = g->t.regions * TABLE_STASH, pairs = piece->count < most ? piece->count : most;
  return table_direct_may_spill(g, piece->heavy.used ? pairs + piece->count : pairs);
}

/* Where there is no memory to grow, or the overflow is crowded, there may be none for pairs that
 * find no slot, and those must not get lost: fewer queries at a time, if that can be chosen, or
 * none. */
static dzo_status leave_room_to_spill(const table_gpu *g, table_piece *piece) {
  bool crowded = g->t.over_count > table_gpu_slots(g) / FULL_OVERFLOW;
  if (piece->operation == DZO_TABLE_ERASE || (!g->starved && !crowded))
    return DZO_OK;
  bool whole = piece->heavy.used || piece->cautious == 0;
  while (!may_spill(g, piece)) {
    if (whole || piece->count <= LEAST_STARVED)
      return dzo_fail(g->context, DZO_E_MEMORY, "out of GPU memory (pairs beside their buckets)");
    piece->count /= 2;
  }
  if (!piece->heavy.used)
    piece->taken = piece->count;
  return DZO_OK;
}

static dzo_status start_piece(table_gpu *g, table_piece *piece) {
  piece->taken = piece->count;
  piece->loose = is_loose(g, piece);
  bool find = piece->operation == DZO_TABLE_FIND || piece->loose;
  if (!find)
    DZO_TRY(share(g, piece));
  if (piece->heavy.filled)
    return DZO_OK;
  if (!find) {
    DZO_TRY(make_room(g, piece));
    DZO_TRY(leave_room_to_spill(g, piece));
  }
  DZO_TRY(table_gpu_zero_counters(g));
  DZO_TRY(find ? start_find(g, piece) : change(g, piece));
  return table_gpu_read_counters(g);
}

dzo_status table_piece_start(table_gpu *g, table_piece *piece) {
  dzo_status status = start_piece(g, piece);
  if (status != DZO_OK)
    table_heavy_drop(g, piece);
  return status;
}

/* ---- The rest -------------------------------------------------------------------------------- */

/* The pairs that the regions had no room for, to the overflow; from the host's memory once the
 * workspace is given back, where the GPU's does not suffice. */
dzo_status table_piece_rescue(table_gpu *g, const void *spill, uint64_t spilled) {
  void *slots, *host = dzo_alloc(g->context, spilled, table_gpu_slot_bytes(g));
  if (host == NULL)
    return DZO_E_MEMORY;
  uint64_t bytes = spilled * table_gpu_slot_bytes(g);
  dzo_status status = dzo_unit_copy(g->unit, 0, host, spill, bytes);
  if (status == DZO_OK)
    status = dzo_unit_wait(g->unit, 0);
  dzo_unit_workspace_release(g->unit);
  if (status == DZO_OK)
    status = dzo_unit_allocate(g->unit, bytes, 1, &slots);
  if (status == DZO_OK) {
    status = dzo_unit_copy(g->unit, 0, slots, host, bytes);
    if (status == DZO_OK)
      status = table_gpu_add_over(g->unit, &g->t, g->wide, slots, spilled, g->counters);
    dzo_unit_release(g->unit, slots);
  }
  dzo_free(host);
  return status;
}

typedef struct rest_memory {
  uint64_t fresh_count, granted;
} rest_memory;

/* Queries that the regions put off. `memory` has room for their new pairs, and `cushion`, given
 * back in time, for bringing those to the overflow. */
static dzo_status do_rest(table_gpu *g, const table_piece *piece, uint64_t count, char *memory,
                          void *cushion) {
  rest_memory *numbers = (rest_memory *)(void *)memory, seen = {0, 0};
  uint64_t room = UINT64_MAX / 2;
  if (g->fixed)
    room = g->asked > g->pairs ? g->asked - g->pairs : 0;
  table_rest rest = {.operation = piece->operation,
                     .count = count,
                     .room = room,
                     .fresh = memory + 256,
                     .fresh_count = &numbers->fresh_count,
                     .granted = &numbers->granted};
  dzo_status status = dzo_unit_fill(g->unit, 0, memory, 0, sizeof *numbers);
  if (status == DZO_OK)
    status = table_gpu_rest(g->unit, &g->t, g->wide, piece->partition.pairs, &piece->run, &rest);
  dzo_unit_release(g->unit, cushion);
  DZO_TRY(status);
  DZO_TRY(table_gpu_read_counters(g));
  DZO_TRY(dzo_unit_copy(g->unit, 0, &seen, numbers, sizeof seen));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  if (seen.fresh_count == 0)
    return DZO_OK;
  return table_gpu_add_over(g->unit, &g->t, g->wide, rest.fresh, seen.fresh_count, g->counters);
}

/* All or, for want of memory, nothing of that. */
static dzo_status try_rest(table_gpu *g, const table_piece *piece, uint64_t count) {
  void *memory, *cushion;
  DZO_TRY(dzo_unit_allocate(g->unit, 256 + count * table_gpu_slot_bytes(g), 1, &memory));
  dzo_status status = dzo_unit_allocate(
      g->unit, table_gpu_add_over_bytes(g->unit, &g->t, g->wide, count), 1, &cushion);
  if (status == DZO_OK)
    status = do_rest(g, piece, count, memory, cushion);
  dzo_unit_release(g->unit, memory);
  return status;
}

static dzo_status refuse_rest(table_gpu *g, const table_piece *piece, uint64_t count) {
  g->seen->refused += count;
  return piece->partition.back ? table_gpu_refuse(g->unit, &g->t, g->wide, &piece->run) : DZO_OK;
}

static dzo_status finish_rest(table_gpu *g, table_piece *piece) {
  table_counters before = *g->seen;
  g->pairs += before.inserted - before.erased;
  dzo_status spill = DZO_OK, rest = DZO_OK;
  if (before.spilled > 0)
    spill =
        table_gpu_add_over(g->unit, &g->t, g->wide, piece->run.spill, before.spilled, g->counters);
  if (spill != DZO_OK && spill != DZO_E_MEMORY)
    return spill;
  if (before.put_off > 0) {
    DZO_TRY(dzo_unit_copy(g->unit, 0, g->counters, g->seen, sizeof before));
    DZO_TRY(dzo_unit_wait(g->unit, 0));
    rest = spill == DZO_OK ? try_rest(g, piece, before.put_off) : DZO_E_MEMORY;
    if (rest == DZO_E_MEMORY)
      DZO_TRY(refuse_rest(g, piece, before.put_off));
    else
      DZO_TRY(rest);
    g->pairs += g->seen->inserted - before.inserted + before.erased - g->seen->erased;
  }
  if (piece->partition.back && (before.put_off > 0 || goes_back_late(piece)))
    DZO_TRY(go_back(g, piece));
  if (spill == DZO_E_MEMORY && table_piece_rescue(g, piece->run.spill, before.spilled) != DZO_OK)
    return dzo_unit_lose(g->unit, "no memory is left for pairs that have to be moved");
  return rest;
}

/* The regions have done all of it. */
static dzo_status finish_whole(table_gpu *g, table_piece *piece) {
  g->pairs += g->seen->inserted - g->seen->erased;
  return goes_back_late(piece) ? go_back(g, piece) : DZO_OK;
}

static dzo_status finish_piece(table_gpu *g, table_piece *piece, dzo_table_batch *batch) {
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  dzo_status status = DZO_OK;
  if (piece->straight)
    status = table_direct_finish(g, piece);
  else if (g->seen->spilled > 0 || g->seen->put_off > 0)
    status = finish_rest(g, piece);
  else
    status = finish_whole(g, piece);
  if (status != DZO_OK && status != DZO_E_MEMORY)
    return status;
  batch->found += g->seen->found;
  batch->inserted += g->seen->inserted;
  batch->refused += g->seen->refused;
  if (piece->operation != DZO_TABLE_FIND && piece->operation != DZO_TABLE_ERASE)
    g->fresh = (double)g->seen->inserted / (double)piece->count;
  return status;
}

dzo_status table_piece_finish(table_gpu *g, table_piece *piece, dzo_table_batch *batch) {
  if (!piece->heavy.used)
    return finish_piece(g, piece, batch);
  dzo_table_batch unique = {.size = sizeof unique};
  if (piece->heavy.filled)
    unique.inserted = g->pairs;
  dzo_status status = piece->heavy.filled ? DZO_OK : finish_piece(g, piece, &unique);
  if (status == DZO_OK || status == DZO_E_MEMORY)
    DZO_TRY(table_heavy_end(g, piece, &unique, batch));
  table_heavy_drop(g, piece);
  return status;
}
