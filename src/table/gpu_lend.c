/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table lent to kernels of the caller's, and taken back: they stored and erased pairs as they
 * liked, but moved none, and left erased slots and a stash. */
#include "table/gpu.h"
#include "table/gpu_rebuild.h"
#include "table/gpu_rest.h"

/* A table is made anew if more than one slot in so many is in the overflow, or was erased. */
enum { CROWDED = 1024, ERASED = 8 };

dzo_status table_gpu_view_begin(table_gpu *g, dzo_table_view *view) {
  return table_gpu_view_open(g->unit, g->wide, &g->t, &g->view, view);
}

/* What the stash holds becomes the overflow: both buckets of each of its keys are full. The old
 * overflow went to the stash. */
static dzo_status take_stash(table_gpu *g, uint64_t *count) {
  table_layout t = g->t;
  void *slots = NULL;
  t.over_keys = t.over_values = NULL;
  t.over_gone = NULL;
  t.over_count = t.over_room = 0;
  DZO_TRY(table_gpu_view_count(g->unit, g->wide, &g->view, count));
  if (*count > 0) {
    DZO_TRY(dzo_unit_allocate(g->unit, *count, table_gpu_slot_bytes(g), &slots));
    dzo_status status = table_gpu_view_take(g->unit, g->wide, &g->view, slots);
    if (status == DZO_OK)
      status = table_gpu_add_over(g->unit, &t, g->wide, slots, *count, g->counters);
    dzo_unit_release(g->unit, slots);
    DZO_TRY(status);
  }
  table_gpu_free_over(g->unit, &g->t);
  g->t = t;
  return DZO_OK;
}

/* Is there a pair in the slot behind the buckets? Its mixed key stands as 0 there. */
static dzo_status count_lone(table_gpu *g, uint64_t *lone) {
  uint64_t words[2] = {0, 0}, each = table_gpu_slot_bytes(g);
  const char *slot = (const char *)g->t.slots + table_gpu_slots(g) * each;
  DZO_TRY(dzo_unit_copy(g->unit, 0, words, slot, each));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  *lone = (g->wide ? words[1] : words[0] >> 32) == 0;
  return DZO_OK;
}

static dzo_status count_pairs(table_gpu *g, table_census *census) {
  table_census *on_gpu;
  DZO_TRY(dzo_unit_allocate(g->unit, 1, sizeof *census, (void **)&on_gpu));
  dzo_status status = dzo_unit_fill(g->unit, 0, on_gpu, 0, sizeof *census);
  if (status == DZO_OK)
    status = table_gpu_census(g->unit, &g->t, g->wide, on_gpu);
  if (status == DZO_OK)
    status = dzo_unit_copy(g->unit, 0, census, on_gpu, sizeof *census);
  if (status == DZO_OK)
    status = dzo_unit_wait(g->unit, 0);
  dzo_unit_release(g->unit, on_gpu);
  return status;
}

/* Where there is no memory for that, the table is as good as it was. */
static dzo_status tidy(table_gpu *g, uint64_t over, uint64_t erased) {
  uint64_t slots = table_gpu_slots(g), capacity = table_gpu_capacity(g);
  bool full = !g->fixed && g->pairs > capacity;
  if (over <= slots / CROWDED && erased <= slots / ERASED && !full)
    return DZO_OK;
  dzo_status status = table_gpu_resize(g, full ? 2 * capacity : capacity);
  return status == DZO_E_MEMORY ? DZO_OK : status;
}

dzo_status table_gpu_view_end(table_gpu *g) {
  table_census census;
  uint64_t over, lone;
  DZO_TRY(dzo_unit_wait_all(g->unit));
  DZO_TRY(count_pairs(g, &census));
  DZO_TRY(count_lone(g, &lone));
  DZO_TRY(take_stash(g, &over));
  table_gpu_view_close(g->unit, &g->view);
  g->pairs = census.first + census.second + lone + over;
  return tidy(g, over, census.erased);
}
