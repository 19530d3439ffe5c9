/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/hybrid.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "device/device.h"

enum { ALONE = 1 << 14 };

#define CURSOR_ON_GPU (UINT64_C(1) << 63)

/* ---- The GPU part's context ------------------------------------------------------------------ */

/* It takes memory from the caller's context, whose GPU it uses, and asks it about cancelling; but
 * the caller's progress function is only called from the caller's thread. */
static int pass_on(void *user, const char *phase, uint64_t done, uint64_t total) {
  const table_hybrid *h = user;
  if (!h->reports)
    return dzo_is_cancelled(h->context);
  return dzo_progress(h->context, phase, done, total) != DZO_OK;
}

static dzo_status make_aside(table_hybrid *h) {
  dzo_context *context = h->context;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.device_index = context->device_index;
  options.threads = context->threads;
  options.memory = context->memory;
  options.gpu_memory = context->gpu_memory;
  options.allocator = dzo_memory_inside(context);
  options.progress = pass_on;
  options.progress_user = h;
  DZO_TRY(dzo_context_make(&options, &h->aside));
  h->aside->gpu = dzo_context_gpu(context);
  h->aside->gpu_tried = true;
  return DZO_OK;
}

dzo_status table_hybrid_fail(table_hybrid *h, int part, dzo_status status) {
  if (part == ON_GPU && status != DZO_OK && h->aside->message[0] != '\0')
    memcpy(h->context->message, h->aside->message, sizeof h->context->message);
  if (part == ON_GPU) {
    dzo_begin(h->aside);
    dzo_context_resume(h->aside);
  }
  return status;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

/* A part gets its share of the pairs, and what chance may add: six standard deviations. */
static uint64_t part_capacity(const table_hybrid *h, int part, uint64_t capacity) {
  double ranges = part == ON_GPU ? h->share : (double)TABLE_HYBRID_RANGES - h->share;
  double mean = (double)capacity * ranges / TABLE_HYBRID_RANGES;
  double room = mean + 6 * sqrt(mean) + 64;
  if (!(mean > 0))
    return 0;
  if (room >= (double)capacity)
    return capacity;
  return (uint64_t)room;
}

/* ---- Creating -------------------------------------------------------------------------------- */

static void destroy(void *state) {
  table_hybrid *h = state;
  if (h == NULL)
    return;
  table_hybrid_free_room(&h->parted);
  h->engine[ON_GPU]->destroy(h->part[ON_GPU]);
  h->engine[ON_CPU]->destroy(h->part[ON_CPU]);
  if (h->aside != NULL)
    dzo_context_free(h->aside);
  dzo_free(h);
}

static dzo_status make_part(table_hybrid *h, const table_plan *plan, int part) {
  table_plan own = *plan;
  own.context = part == ON_GPU ? h->aside : h->context;
  own.capacity = part_capacity(h, part, plan->capacity);
  return table_hybrid_fail(h, part, h->engine[part]->create(&own, &h->part[part]));
}

/* All of it on the GPU, or as much as its memory holds. */
static dzo_status make_gpu_part(table_hybrid *h, const table_plan *plan) {
  for (h->share = TABLE_HYBRID_RANGES;; h->share /= 2) {
    dzo_status status = make_part(h, plan, ON_GPU);
    if (status != DZO_E_MEMORY || h->share == 0)
      return status;
  }
}

static dzo_status make_parts(table_hybrid *h, const table_plan *plan) {
  DZO_TRY(make_aside(h));
  DZO_TRY(make_gpu_part(h, plan));
  h->context->message[0] = '\0'; /* of a try that was too large */
  return make_part(h, plan, ON_CPU);
}

static dzo_status create(const table_plan *plan, void **out) {
  *out = NULL;
  table_hybrid *h = dzo_calloc(plan->context, 1, sizeof *h);
  if (h == NULL)
    return DZO_E_MEMORY;
  *h = (table_hybrid){.context = plan->context,
                      .engine = {&table_engine_cpu, &table_engine_cuda},
                      .wide = plan->wide,
                      .fixed = plan->fixed,
                      .max_load = plan->max_load,
                      .capacity = plan->capacity,
                      .seed = ~plan->seed * UINT64_C(0x9e3779b97f4a7c15),
                      .piece = TABLE_HYBRID_PIECE,
                      .alone = ALONE};
  dzo_status status = make_parts(h, plan);
  if (status != DZO_OK) {
    destroy(h);
    return status;
  }
  *out = h;
  return DZO_OK;
}

/* ---- The table as a whole -------------------------------------------------------------------- */

static uint64_t size(const void *state) {
  const table_hybrid *h = state;
  return table_hybrid_size_of(h, ON_CPU) + table_hybrid_size_of(h, ON_GPU);
}

static uint64_t capacity(const void *state) {
  const table_hybrid *h = state;
  if (h->fixed)
    return h->capacity;
  return h->engine[ON_CPU]->capacity(h->part[ON_CPU]) +
         h->engine[ON_GPU]->capacity(h->part[ON_GPU]);
}

static uint64_t bytes(const void *state) {
  const table_hybrid *h = state;
  return h->engine[ON_CPU]->bytes(h->part[ON_CPU]) + h->engine[ON_GPU]->bytes(h->part[ON_GPU]);
}

/* An empty table may be the GPU's again. */
static dzo_status clear(void *state) {
  table_hybrid *h = state;
  for (int part = 0; part < TABLE_PARTS; part++)
    DZO_TRY(table_hybrid_fail(h, part, h->engine[part]->clear(h->part[part])));
  if (!h->fixed)
    h->share = TABLE_HYBRID_RANGES;
  return DZO_OK;
}

static dzo_status reserve_part(table_hybrid *h, int part, uint64_t capacity) {
  uint64_t own = part_capacity(h, part, capacity);
  return table_hybrid_fail(h, part, h->engine[part]->reserve(h->part[part], own));
}

static dzo_status reserve(void *state, uint64_t capacity) {
  table_hybrid *h = state;
  for (;;) {
    dzo_status status = reserve_part(h, ON_GPU, capacity);
    if (status == DZO_OK)
      break;
    if (status != DZO_E_MEMORY || h->share == 0)
      return status;
    DZO_TRY(table_hybrid_shift(h));
  }
  DZO_TRY(reserve_part(h, ON_CPU, capacity));
  h->context->message[0] = '\0';
  if (capacity > h->capacity)
    h->capacity = capacity;
  return DZO_OK;
}

static dzo_status shrink(void *state) {
  table_hybrid *h = state;
  for (int part = 0; part < TABLE_PARTS; part++)
    DZO_TRY(table_hybrid_fail(h, part, h->engine[part]->shrink(h->part[part])));
  table_hybrid_free_room(&h->parted);
  h->capacity = size(h);
  return DZO_OK;
}

/* ---- Export ---------------------------------------------------------------------------------- */

static dzo_status export_into(void *state, void *keys, void *values) {
  table_hybrid *h = state;
  uint64_t skip = table_hybrid_size_of(h, ON_CPU) * table_hybrid_word(h);
  DZO_TRY(h->engine[ON_CPU]->export_into(h->part[ON_CPU], keys, values));
  char *more_keys = keys, *more_values = values;
  return table_hybrid_fail(
      h, ON_GPU,
      h->engine[ON_GPU]->export_into(h->part[ON_GPU], keys != NULL ? more_keys + skip : NULL,
                                     values != NULL ? more_values + skip : NULL));
}

/* The CPU's part first. */
static dzo_status export_some(void *state, uint64_t *cursor, uint64_t room, void *keys,
                              void *values, uint64_t *count) {
  table_hybrid *h = state;
  int part = (*cursor & CURSOR_ON_GPU) != 0 ? ON_GPU : ON_CPU;
  uint64_t own = *cursor & ~CURSOR_ON_GPU;
  dzo_status status = h->engine[part]->export_some(h->part[part], &own, room, keys, values, count);
  DZO_TRY(table_hybrid_fail(h, part, status));
  if (own != UINT64_MAX)
    *cursor = own | (part == ON_GPU ? CURSOR_ON_GPU : 0);
  else
    *cursor = part == ON_GPU ? UINT64_MAX : CURSOR_ON_GPU;
  return DZO_OK;
}

static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

static dzo_status stats(void *state, dzo_table_stats *out) {
  table_hybrid *h = state;
  dzo_table_stats s[TABLE_PARTS] = {{.size = sizeof s[0]}, {.size = sizeof s[0]}};
  for (int part = 0; part < TABLE_PARTS; part++)
    DZO_TRY(table_hybrid_fail(h, part, h->engine[part]->stats(h->part[part], &s[part])));
  const dzo_table_stats *a = &s[ON_CPU], *b = &s[ON_GPU];
  out->pairs = a->pairs + b->pairs;
  out->slots = a->slots + b->slots;
  out->bucket_slots = greater(a->bucket_slots, b->bucket_slots);
  out->bytes = a->bytes + b->bytes;
  out->load = out->slots > 0 ? (double)out->pairs / (double)out->slots : 0;
  for (int i = 0; i < DZO_TABLE_PROBES; i++)
    out->probes[i] = a->probes[i] + b->probes[i];
  out->erased = a->erased + b->erased;
  out->overflow = a->overflow + b->overflow;
  double depth = a->mean_depth * (double)a->pairs + b->mean_depth * (double)b->pairs;
  out->mean_depth = out->pairs > 0 ? depth / (double)out->pairs : 0;
  out->max_depth = greater(a->max_depth, b->max_depth);
  return DZO_OK;
}

const table_engine table_engine_hybrid = {.name = "hybrid",
                                          .device = DZO_DEVICE_HYBRID,
                                          .create = create,
                                          .destroy = destroy,
                                          .run = table_hybrid_run,
                                          .size = size,
                                          .capacity = capacity,
                                          .bytes = bytes,
                                          .clear = clear,
                                          .reserve = reserve,
                                          .shrink = shrink,
                                          .export_into = export_into,
                                          .stats = stats,
                                          .export_some = export_some};
