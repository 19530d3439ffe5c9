/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engine that keeps a table in GPU memory. */
#include <string.h>

#include "base/memory.h"
#include "device/transfer.h"
#include "table/gpu.h"
#include "table/gpu_codes.h"
#include "table/gpu_rebuild.h"
#include "table/gpu_rest.h"

/* Shared memory of a block that CUDA itself takes, and what kernels have of their own. */
enum { OWN_SHARED = 2048 };

/* Slots of a region, where the GPU has the shared memory: the smaller, the more often one is full
 * while others are not. */
enum { ENOUGH_SLOTS = 1024 };

/* Up to this load, buckets of 4 suffice. */
static const double light = 0.9;

/* So that a multiprocessor has room for as many blocks as it can work on. */
static uint32_t region_slots(const table_gpu *g, const table_gpu_sizes *sizes) {
  if (sizes != NULL && sizes->region_slots > 0)
    return sizes->region_slots;
  for (uint64_t blocks = g->wide ? 2 : 3;; blocks--) {
    uint64_t each = g->unit->shared_all / blocks;
    uint64_t shared = each < g->unit->shared ? each : g->unit->shared;
    uint32_t slots = table_region_slots(shared - OWN_SHARED, g->wide, g->t.bucket_slots);
    if (slots >= ENOUGH_SLOTS || blocks == 1)
      return slots;
  }
}

static void destroy(void *state) {
  table_gpu *g = state;
  if (g == NULL)
    return;
  table_gpu_view_close(g->unit, &g->view);
  table_gpu_unmake(g);
  dzo_unit_release(g->unit, g->counters < g->next ? g->counters : g->next);
  dzo_unit_release(g->unit, g->spill);
  dzo_unit_release(g->unit, g->buffers);
  dzo_unit_release_staging(g->unit, g->seen);
  dzo_free(g);
}

static dzo_status make_all(table_gpu *g, uint64_t capacity) {
  DZO_TRY(dzo_unit_allocate(g->unit, 2, sizeof *g->counters, (void **)&g->counters));
  g->next = g->counters + 1;
  DZO_TRY(dzo_unit_allocate(g->unit, TABLE_SPILL_ROOM, table_gpu_slot_bytes(g), &g->spill));
  DZO_TRY(dzo_unit_allocate_staging(g->unit, 1, sizeof *g->seen, (void **)&g->seen));
  DZO_TRY(table_gpu_make(g, capacity));
  return dzo_unit_wait(g->unit, 0);
}

dzo_status table_gpu_create(const table_plan *plan, const table_gpu_sizes *sizes, void **out) {
  dzo_unit *unit;
  *out = NULL;
  DZO_TRY(dzo_context_need_gpu(plan->context, &unit));
  table_gpu *g = dzo_calloc(plan->context, 1, sizeof *g);
  if (g == NULL)
    return DZO_E_MEMORY;
  g->context = plan->context;
  g->unit = unit;
  g->wide = plan->wide;
  g->fixed = plan->fixed;
  g->max_load = plan->max_load;
  g->asked = plan->capacity;
  g->fresh = 1;
  g->t.mix = table_layout_mix(plan->seed);
  g->t.bucket_slots = plan->max_load <= light ? 4 : 8;
  if (sizes != NULL)
    g->sizes = *sizes;
  g->sizes.region_slots = region_slots(g, sizes);
  dzo_status status = make_all(g, plan->capacity);
  if (status != DZO_OK) {
    destroy(g);
    return status;
  }
  *out = g;
  return DZO_OK;
}

static dzo_status create(const table_plan *plan, void **out) {
  return table_gpu_create(plan, NULL, out);
}

/* Those in host memory were checked there. The counters lend three words. */
static dzo_status check_codes(table_gpu *g, const dzo_table_batch *batch) {
  table_counters *n = g->counters;
  DZO_TRY(dzo_unit_fill(g->unit, 0, n, 0, sizeof *n));
  DZO_TRY(dzo_unit_fill(g->unit, 0, &n->found, 0xff, sizeof n->found));
  DZO_TRY(table_gpu_check_codes(g->unit, batch->operations, batch->count, &n->found, &n->inserted,
                                &n->erased));
  DZO_TRY(table_gpu_read_counters(g));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  g->stores = g->seen->inserted;
  g->erases = g->seen->erased;
  g->all_store = g->stores == batch->count;
  if (g->seen->found == UINT64_MAX)
    return DZO_OK;
  return dzo_fail(g->context, DZO_E_ARGUMENT,
                  "query %llu of the batch has an operation that is none",
                  (unsigned long long)g->seen->found);
}

static dzo_status run(void *state, dzo_table_batch *batch) {
  table_gpu *g = state;
  g->stores = batch->count;
  g->all_store = false;
  if (batch->operations != NULL && dzo_unit_owns(g->unit, batch->operations))
    DZO_TRY(check_codes(g, batch));
  return table_gpu_run(g, batch);
}

static uint64_t size(const void *state) { return ((const table_gpu *)state)->pairs; }

static uint64_t capacity(const void *state) { return table_gpu_capacity(state); }

static uint64_t bytes(const void *state) {
  const table_gpu *g = state;
  return (table_gpu_slots(g) + 1) * table_gpu_slot_bytes(g) + table_gpu_over_bytes(&g->t, g->wide) +
         2 * sizeof *g->counters + TABLE_SPILL_ROOM * table_gpu_slot_bytes(g) + g->buffer_bytes;
}

static dzo_status clear(void *state) {
  table_gpu *g = state;
  table_gpu_free_over(g->unit, &g->t);
  g->pairs = 0;
  uint64_t all = (table_gpu_slots(g) + 1) * table_gpu_slot_bytes(g);
  DZO_TRY(dzo_unit_fill(g->unit, 0, g->t.slots, 0xff, all));
  return dzo_unit_wait(g->unit, 0);
}

static dzo_status reserve(void *state, uint64_t wanted) {
  table_gpu *g = state;
  if (wanted <= table_gpu_capacity(g))
    return DZO_OK;
  DZO_TRY(table_gpu_resize(g, wanted));
  g->asked = wanted;
  return DZO_OK;
}

static dzo_status shrink(void *state) {
  table_gpu *g = state;
  DZO_TRY(table_gpu_resize(g, g->pairs));
  g->asked = g->pairs;
  return DZO_OK;
}

/* ---- Out ------------------------------------------------------------------------------------- */

/* Places that are exported at once through the workspace, at most. */
enum { EXPORTED = 1 << 24, LEAST_EXPORTED = 1 << 10 };

static dzo_status export_on_gpu(table_gpu *g, void *keys, void *values) {
  DZO_TRY(table_gpu_zero_counters(g));
  DZO_TRY(table_gpu_export(g->unit, &g->t, g->wide, 0, table_gpu_places(&g->t), keys, values,
                           g->counters));
  return dzo_unit_wait(g->unit, 0);
}

/* Workspace for the pairs of at most *room places, or of fewer if there is no more memory; an array
 * takes *array bytes of it. */
static dzo_status export_room(table_gpu *g, uint64_t *room, uint64_t *array, char **memory) {
  for (;; *room /= 2) {
    *array = (*room * table_gpu_word(g) + 255) / 256 * 256;
    dzo_status status = dzo_unit_workspace(g->unit, 2 * *array, (void **)memory);
    if (status != DZO_E_MEMORY || *room <= LEAST_EXPORTED)
      return status;
    g->context->message[0] = '\0';
  }
}

/* The pairs of at most `room` places, from *cursor on. */
static dzo_status export_some(void *state, uint64_t *cursor, uint64_t room, void *keys,
                              void *values, uint64_t *count) {
  table_gpu *g = state;
  uint64_t places = table_gpu_places(&g->t), word = table_gpu_word(g), left = places - *cursor;
  if (room > EXPORTED)
    room = EXPORTED;
  if (room > left)
    room = left;
  char *memory;
  uint64_t array;
  DZO_TRY(export_room(g, &room, &array, &memory));
  DZO_TRY(table_gpu_zero_counters(g));
  DZO_TRY(table_gpu_export(g->unit, &g->t, g->wide, *cursor, room, keys != NULL ? memory : NULL,
                           values != NULL ? memory + array : NULL, g->counters));
  DZO_TRY(table_gpu_read_counters(g));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  *count = g->seen->found;
  if (keys != NULL)
    DZO_TRY(dzo_unit_fetch(g->unit, keys, memory, *count * word));
  if (values != NULL)
    DZO_TRY(dzo_unit_fetch(g->unit, values, memory + array, *count * word));
  *cursor = room < left ? *cursor + room : UINT64_MAX;
  return DZO_OK;
}

static dzo_status export_to_host(table_gpu *g, void *keys, void *values) {
  uint64_t word = table_gpu_word(g), done = 0;
  for (uint64_t cursor = 0, count; cursor != UINT64_MAX; done += count) {
    char *to_keys = keys, *to_values = values;
    DZO_TRY(export_some(g, &cursor, EXPORTED, keys != NULL ? to_keys + done * word : NULL,
                        values != NULL ? to_values + done * word : NULL, &count));
  }
  return DZO_OK;
}

static dzo_status export_into(void *state, void *keys, void *values) {
  table_gpu *g = state;
  const void *some = keys != NULL ? keys : values;
  if (g->pairs == 0 || some == NULL)
    return DZO_OK;
  return dzo_unit_owns(g->unit, some) ? export_on_gpu(g, keys, values)
                                      : export_to_host(g, keys, values);
}

/* The overflow's pairs cost a search more than both buckets. */
static void tell_stats(const table_gpu *g, const table_census *census, dzo_table_stats *stats) {
  uint64_t slots = table_gpu_slots(g), seen = census->first + census->second;
  uint64_t aside = g->pairs > seen ? g->pairs - seen : 0;
  stats->pairs = g->pairs;
  stats->slots = slots;
  stats->bucket_slots = g->t.bucket_slots;
  stats->bytes = bytes(g);
  stats->load = (double)g->pairs / (double)slots;
  memset(stats->probes, 0, sizeof stats->probes);
  stats->probes[0] = census->first;
  stats->probes[1] = census->second;
  stats->probes[2] = aside;
  stats->erased = census->erased;
  stats->overflow = aside;
  if (g->pairs > 0)
    stats->mean_depth = (double)(census->second + 2 * aside) / (double)g->pairs;
  stats->max_depth = aside > 0 ? 2 : census->second > 0 ? 1 : 0;
}

static dzo_status stats(void *state, dzo_table_stats *out) {
  table_gpu *g = state;
  table_census census, *on_gpu;
  DZO_TRY(dzo_unit_allocate(g->unit, 1, sizeof census, (void **)&on_gpu));
  dzo_status status = dzo_unit_fill(g->unit, 0, on_gpu, 0, sizeof census);
  if (status == DZO_OK)
    status = table_gpu_census(g->unit, &g->t, g->wide, on_gpu);
  if (status == DZO_OK)
    status = dzo_unit_copy(g->unit, 0, &census, on_gpu, sizeof census);
  if (status == DZO_OK)
    status = dzo_unit_wait(g->unit, 0);
  dzo_unit_release(g->unit, on_gpu);
  if (status == DZO_OK)
    tell_stats(g, &census, out);
  return status;
}

static bool owns(const void *state, const void *pointer) {
  return dzo_unit_owns(((const table_gpu *)state)->unit, pointer);
}

static dzo_status view_begin(void *state, dzo_table_view *view) {
  return table_gpu_view_begin(state, view);
}

static dzo_status view_end(void *state) { return table_gpu_view_end(state); }

const table_engine table_engine_cuda = {
    .name = "cuda",
    .device = DZO_DEVICE_CUDA,
    .create = create,
    .destroy = destroy,
    .run = run,
    .size = size,
    .capacity = capacity,
    .bytes = bytes,
    .clear = clear,
    .reserve = reserve,
    .shrink = shrink,
    .export_into = export_into,
    .stats = stats,
    .owns = owns,
    .export_some = export_some,
    .view_begin = view_begin,
    .view_end = view_end,
};
