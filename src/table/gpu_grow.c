/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables in GPU memory made, and made anew in another size. */
#include <string.h>

#include "table/gpu.h"
#include "table/gpu_counters.h"
#include "table/gpu_rebuild.h"
#include "table/gpu_rest.h"

enum { LEAST_SLOTS = 64, FREE_BYTE = 0xff };

/* Of a small table: so many regions as one pass brings a batch to, so that many blocks are at work;
 * each with so many slots that none gets many more pairs than others. */
enum { USUAL_REGIONS = 256, ENOUGH_SLOTS = 2048 };

uint64_t table_gpu_capacity(const table_gpu *g) {
  if (g->fixed)
    return g->asked;
  return (uint64_t)((double)table_gpu_slots(g) * g->max_load);
}

/* Regions of one size, as few as hold the slots; or more, if those are fewer than the GPU works on.
 */
static void shape(const table_gpu *g, uint64_t capacity, table_layout *t) {
  uint64_t slots = (uint64_t)((double)capacity / g->max_load) + 1, most = g->sizes.region_slots;
  slots = slots < LEAST_SLOTS ? LEAST_SLOTS : slots;
  *t = g->t;
  t->regions = (slots + most - 1) / most;
  if (t->regions < USUAL_REGIONS && t->bucket_slots == 4 && t->regions < slots / ENOUGH_SLOTS)
    t->regions = slots / ENOUGH_SLOTS < USUAL_REGIONS ? slots / ENOUGH_SLOTS : USUAL_REGIONS;
  t->buckets =
      (uint32_t)((slots + t->regions * t->bucket_slots - 1) / (t->regions * t->bucket_slots));
}

/* The same for a table that grows, with a multiple of the regions that it has: so each region's
 * pairs come from one region, and a block reads no other. */
static void shape_grown(const table_gpu *g, uint64_t capacity, table_layout *t) {
  uint64_t old = table_gpu_slots(g), slots = (uint64_t)((double)capacity / g->max_load) + 1;
  shape(g, capacity, t);
  /* What was asked for is often twice of what there is, up to rounding. */
  if (slots < 2 * old + 2 && (uint64_t)((double)(2 * old) * g->max_load) >= capacity)
    slots = slots > 2 * old ? 2 * old : slots;
  if (slots <= old || g->t.regions == 0)
    return;
  uint64_t each = g->t.regions * g->sizes.region_slots, times = (slots + each - 1) / each;
  t->regions = times * g->t.regions;
  each = t->regions * t->bucket_slots;
  t->buckets = (uint32_t)((slots + each - 1) / each);
}

static dzo_status allocate_slots(table_gpu *g, table_layout *t) {
  if (t->regions > UINT32_MAX - 1)
    return dzo_fail(g->context, DZO_E_MEMORY, "out of GPU memory (a table of that size)");
  uint64_t slots = t->regions * t->buckets * t->bucket_slots + 1;
  return dzo_unit_allocate(g->unit, slots, table_gpu_slot_bytes(g), &t->slots);
}

static uint64_t bytes_of(const table_gpu *g, const table_layout *t) {
  return (t->regions * t->buckets * t->bucket_slots + 1) * table_gpu_slot_bytes(g);
}

dzo_status table_gpu_make(table_gpu *g, uint64_t capacity) {
  table_layout t;
  shape(g, capacity, &t);
  DZO_TRY(allocate_slots(g, &t));
  g->t = t;
  return dzo_unit_fill(g->unit, 0, t.slots, FREE_BYTE, bytes_of(g, &t));
}

void table_gpu_unmake(table_gpu *g) {
  table_gpu_free_over(g->unit, &g->t);
  dzo_unit_release(g->unit, g->t.slots);
  g->t.slots = NULL;
}

/* Usually the last batch has left others that are, so that a small batch need not wait for it. */
dzo_status table_gpu_zero_counters(table_gpu *g) {
  table_counters *last = g->counters;
  if (!g->clean)
    return dzo_unit_fill(g->unit, 0, g->counters, 0, sizeof *g->counters);
  g->counters = g->next;
  g->next = last;
  g->clean = false;
  return DZO_OK;
}

dzo_status table_gpu_read_counters(table_gpu *g) {
  DZO_TRY(table_gpu_show_counters(g->unit, g->counters, g->seen, g->next));
  g->clean = true;
  return DZO_OK;
}

/* Into `to`, all but what comes to `spill`. */
static dzo_status rebuild(table_gpu *g, const table_layout *to, void *spill, uint64_t room) {
  DZO_TRY(table_gpu_zero_counters(g));
  bool plenty = 2 * g->pairs <= to->regions * to->buckets * to->bucket_slots;
  DZO_TRY(table_gpu_rebuild(g->unit, &g->t, to, g->wide, plenty, spill, room, g->counters));
  DZO_TRY(table_gpu_read_counters(g));
  return dzo_unit_wait(g->unit, 0);
}

/* The same with as much room for the rest as it takes, and the overflow made of that. */
static dzo_status rebuild_all(table_gpu *g, table_layout *to) {
  void *spill = g->spill;
  for (uint64_t room = TABLE_SPILL_ROOM;;) {
    dzo_status status = rebuild(g, to, spill, room);
    uint64_t spilled = g->seen->spilled;
    if (status == DZO_OK && spilled > 0 && spilled <= room)
      status = table_gpu_add_over(g->unit, to, g->wide, spill, spilled, g->counters);
    if (spill != g->spill)
      dzo_unit_release(g->unit, spill);
    if (status != DZO_OK || spilled <= room)
      return status;
    room = spilled + spilled / 8; /* how many it is depends a little on the order of things */
    DZO_TRY(dzo_unit_allocate(g->unit, room, table_gpu_slot_bytes(g), &spill));
  }
}

dzo_status table_gpu_resize(table_gpu *g, uint64_t capacity) {
  table_layout to;
  shape_grown(g, capacity > g->pairs ? capacity : g->pairs, &to);
  to.over_keys = to.over_values = NULL;
  to.over_gone = NULL;
  to.over_count = to.over_room = 0;
  DZO_TRY(allocate_slots(g, &to));
  dzo_status status = rebuild_all(g, &to);
  if (status != DZO_OK) {
    dzo_unit_release(g->unit, to.slots);
    return status;
  }
  table_gpu_unmake(g);
  g->t = to;
  return DZO_OK;
}
