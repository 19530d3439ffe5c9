/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/weight_map.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/distinct.h"
#include "graph/edge_list.h"

enum { GRAIN = 1 << 16, DICTIONARY_LIMIT = 1 << 20 };

const char *dzo_weight_type_name(dzo_weight_type type) {
  static const char *const names[] = {"none", "u32", "i64", "u64", "f32", "f64"};
  return (unsigned)type <= DZO_WEIGHT_F64 ? names[type] : "unknown";
}

typedef struct scan_job {
  const dzo_context *context;
  const dzo_edges *edges;
  uint64_t low, negated_high; /* least pattern, least ~pattern; accessed atomically */
  uint64_t first_nan;         /* position; accessed atomically */
  uint64_t not_f32;           /* 0 when some weight is no f32; accessed atomically */
} scan_job;

static void offer_range(scan_job *job, uint64_t low, uint64_t high) {
  dzo_min_u64(&job->low, low);
  dzo_min_u64(&job->negated_high, ~high);
}

static void scan_integers(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  scan_job *job = argument;
  const dzo_edges *e = job->edges;
  uint64_t low = UINT64_MAX, high = 0;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t pattern = e->weight_type == DZO_WEIGHT_I64
                           ? dzo_pattern_of_i64(((const int64_t *)e->weights)[i])
                           : ((const uint64_t *)e->weights)[i];
    low = pattern < low ? pattern : low;
    high = pattern > high ? pattern : high;
  }
  offer_range(job, low, high);
}

static void scan_f64(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  scan_job *job = argument;
  const double *weights = job->edges->weights;
  uint64_t low = UINT64_MAX, high = 0;
  uint64_t nans = 0, inexact = 0;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t i = begin; i < end; i++) {
    double x = weights[i];
    uint64_t pattern = dzo_pattern_of_f64(x);
    low = pattern < low ? pattern : low;
    high = pattern > high ? pattern : high;
    nans += x != x;
    inexact += (double)(float)x != x;
  }
  offer_range(job, low, high);
  if (inexact > 0)
    dzo_store_u64(&job->not_f32, 0);
  for (uint64_t i = begin; nans > 0 && i < end; i++)
    if (weights[i] != weights[i]) {
      dzo_min_u64(&job->first_nan, i);
      return;
    }
}

static void scan_f32(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  scan_job *job = argument;
  const float *weights = job->edges->weights;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t i = begin; i < end; i++)
    if (DZO_UNLIKELY(weights[i] != weights[i])) {
      dzo_min_u64(&job->first_nan, i);
      return;
    }
}

static dzo_status scan(dzo_context *context, scan_job *job, dzo_range_fn fn) {
  dzo_parallel_for(context->threads, job->edges->count, GRAIN, fn, job);
  DZO_TRY(dzo_progress(context, "build", 0, 0));
  return job->first_nan == UINT64_MAX ? DZO_OK
                                      : dzo_edges_fail(context, job->edges, job->first_nan);
}

/* For the 64-bit types. */
static dzo_status choose_wide(dzo_context *context, const dzo_edges *edges, dzo_weight_map *out) {
  bool real = edges->weight_type == DZO_WEIGHT_F64;
  scan_job job = {context, edges, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  DZO_TRY(scan(context, &job, real ? scan_f64 : scan_integers));
  if (edges->count == 0)
    return DZO_OK;
  if (real && job.not_f32 != 0) {
    out->kind = DZO_KEY_F32;
    return DZO_OK;
  }
  if (~job.negated_high - job.low <= UINT32_MAX) {
    out->base = job.low;
    return DZO_OK;
  }
  DZO_TRY(dzo_distinct_patterns(context, edges, DICTIONARY_LIMIT, &out->dictionary,
                                &out->dictionary_size));
  if (out->dictionary != NULL)
    out->kind = DZO_KEY_DICTIONARY;
  else
    out->wide = true;
  return DZO_OK;
}

dzo_status dzo_weight_map_choose(dzo_context *context, const dzo_edges *edges,
                                 dzo_weight_map *out) {
  *out = (dzo_weight_map){.type = edges->weight_type, .kind = DZO_KEY_OFFSET};
  scan_job job = {context, edges, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  switch (edges->weight_type) {
  case DZO_WEIGHT_NONE:
    out->base = 1;
    return DZO_OK;
  case DZO_WEIGHT_U32:
    return DZO_OK;
  case DZO_WEIGHT_F32:
    return scan(context, &job, scan_f32);
  case DZO_WEIGHT_I64:
  case DZO_WEIGHT_U64:
  case DZO_WEIGHT_F64:
    return choose_wide(context, edges, out);
  }
  return dzo_fail(context, DZO_E_ARGUMENT, "there is no weight type %d", (int)edges->weight_type);
}

uint64_t dzo_dictionary_find(const dzo_weight_map *map, uint64_t pattern) {
  const uint64_t *at = map->dictionary;
  for (uint64_t left = map->dictionary_size; left > 1;) {
    uint64_t half = left / 2;
    at = at[half] <= pattern ? at + half : at;
    left -= half;
  }
  return (uint64_t)(at - map->dictionary);
}
