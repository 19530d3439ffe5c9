/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/distinct.h"

#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/weight_map.h"

enum {
  SAMPLE = 4096,
  REPEATS = 3, /* the sample of 2^20 equally frequent values has 8 repeats on average */
  MAX_TEAM = 16,
  FIRST_SLOTS = 1 << 10,
  POLL = 1 << 16
};

/* A set of patterns by linear probing; 0 marks a free slot and is kept apart. */
typedef struct pattern_set {
  uint64_t *slots;
  unsigned log_slots;
  uint64_t count; /* in slots */
  bool has_zero;
} pattern_set;

typedef struct collect_job {
  dzo_context *context;
  const dzo_edges *edges;
  uint64_t limit;
  int too_many; /* accessed atomically */
  int failed;   /* accessed atomically */
  pattern_set sets[MAX_TEAM];
} collect_job;

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t unique_sorted(uint64_t *values, uint64_t count) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < count; i++)
    if (i == 0 || values[i] != values[kept - 1])
      values[kept++] = values[i];
  return kept;
}

/* Do repeats in an evenly spread sample promise few distinct values? */
static bool sample_promises(const dzo_edges *edges) {
  if (edges->count <= SAMPLE)
    return true;
  uint64_t sample[SAMPLE];
  uint64_t step = edges->count / SAMPLE;
  for (uint64_t i = 0; i < SAMPLE; i++)
    sample[i] = dzo_weight_pattern(edges->weight_type, edges->weights, i * step);
  qsort(sample, SAMPLE, sizeof *sample, compare_u64);
  return SAMPLE - unique_sorted(sample, SAMPLE) >= REPEATS;
}

static uint64_t slot_of(const pattern_set *set, uint64_t pattern) {
  return pattern * UINT64_C(0x9E3779B97F4A7C15) >> (64 - set->log_slots);
}

static void set_put(pattern_set *set, uint64_t pattern) {
  uint64_t mask = (UINT64_C(1) << set->log_slots) - 1, i = slot_of(set, pattern);
  while (set->slots[i] != 0) {
    if (set->slots[i] == pattern)
      return;
    i = (i + 1) & mask;
  }
  set->slots[i] = pattern;
  set->count++;
}

static bool set_grow(dzo_context *context, pattern_set *set) {
  pattern_set larger = {.log_slots = set->log_slots + 1, .has_zero = set->has_zero};
  larger.slots = dzo_calloc(context, UINT64_C(1) << larger.log_slots, sizeof *larger.slots);
  if (larger.slots == NULL)
    return false;
  for (uint64_t i = 0; i < UINT64_C(1) << set->log_slots; i++)
    if (set->slots[i] != 0)
      set_put(&larger, set->slots[i]);
  dzo_free(set->slots);
  *set = larger;
  return true;
}

static bool set_add(dzo_context *context, pattern_set *set, uint64_t pattern) {
  if (pattern == 0) {
    set->has_zero = true;
    return true;
  }
  set_put(set, pattern);
  return 2 * set->count <= UINT64_C(1) << set->log_slots || set_grow(context, set);
}

static bool stopped(const collect_job *job) {
  return dzo_is_cancelled(job->context) || __atomic_load_n(&job->too_many, __ATOMIC_RELAXED) ||
         __atomic_load_n(&job->failed, __ATOMIC_RELAXED);
}

static void collect(void *argument, uint64_t begin, uint64_t end, int thread) {
  collect_job *job = argument;
  pattern_set *set = &job->sets[thread];
  if (stopped(job))
    return;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t pattern = dzo_weight_pattern(job->edges->weight_type, job->edges->weights, i);
    if (!set_add(job->context, set, pattern)) {
      __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  if (set->count > job->limit)
    __atomic_store_n(&job->too_many, 1, __ATOMIC_RELAXED);
}

static uint64_t *gather(dzo_context *context, const collect_job *job, int team, uint64_t *count) {
  uint64_t total = 0;
  for (int t = 0; t < team; t++)
    total += job->sets[t].count + job->sets[t].has_zero;
  uint64_t *all = dzo_alloc(context, total, sizeof *all);
  if (all == NULL)
    return NULL;
  uint64_t used = 0;
  for (int t = 0; t < team; t++) {
    const pattern_set *set = &job->sets[t];
    if (set->has_zero)
      all[used++] = 0;
    for (uint64_t i = 0; i < UINT64_C(1) << set->log_slots; i++)
      if (set->slots[i] != 0)
        all[used++] = set->slots[i];
  }
  qsort(all, (size_t)total, sizeof *all, compare_u64);
  *count = unique_sorted(all, total);
  return all;
}

static dzo_status collect_all(dzo_context *context, collect_job *job, int team, uint64_t **out,
                              uint64_t *count) {
  for (int t = 0; t < team; t++) {
    job->sets[t].log_slots = 10;
    job->sets[t].slots = dzo_calloc(context, FIRST_SLOTS, sizeof *job->sets[t].slots);
    if (job->sets[t].slots == NULL)
      return DZO_E_MEMORY;
  }
  dzo_parallel_for(team, job->edges->count, POLL, collect, job);
  if (job->failed)
    return DZO_E_MEMORY;
  DZO_TRY(dzo_progress(context, "build", 0, 0));
  if (job->too_many)
    return DZO_OK;
  uint64_t *all = gather(context, job, team, count);
  if (all == NULL)
    return DZO_E_MEMORY;
  if (*count > job->limit) {
    dzo_free(all);
    *count = 0;
    return DZO_OK;
  }
  *out = all;
  return DZO_OK;
}

dzo_status dzo_distinct_patterns(dzo_context *context, const dzo_edges *edges, uint64_t limit,
                                 uint64_t **out, uint64_t *count) {
  *out = NULL;
  *count = 0;
  if (!sample_promises(edges))
    return DZO_OK;
  int team = context->threads < MAX_TEAM ? context->threads : MAX_TEAM;
  collect_job job = {.context = context, .edges = edges, .limit = limit};
  dzo_status status = collect_all(context, &job, team, out, count);
  for (int t = 0; t < team; t++)
    dzo_free(job.sets[t].slots);
  return status;
}
