/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engine of the CPU: the table as a whole. */
#include "table/cpu.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "table/engine.h"

/* ---- Making ---------------------------------------------------------------------------------- */

dzo_status table_cpu_create(const table_plan *plan, const table_cpu_sizes *sizes, table_cpu **out) {
  /* Regions must be evenly filled also where another engine has a range of the plan's hash. */
  static const uint64_t own_seed = 0xd1b54a32d192ed03u;
  *out = NULL;
  table_cpu *t = dzo_alloc(plan->context, 1, sizeof *t);
  if (t == NULL)
    return DZO_E_MEMORY;
  *t = (table_cpu){.context = plan->context,
                   .wide = plan->wide,
                   .fixed = plan->fixed,
                   .max_load = plan->max_load,
                   .seed = table_hash(plan->seed, own_seed),
                   .sizes = *sizes};
  dzo_status status = table_cpu_rebuild(t, NULL, plan->capacity, plan->context->threads, &t->store);
  if (status != DZO_OK) {
    dzo_free(t);
    return status;
  }
  *out = t;
  return DZO_OK;
}

static dzo_status create(const table_plan *plan, void **out) {
  table_cpu_sizes sizes = {
      .region_buckets = plan->wide ? TABLE_CPU_WIDE_REGION : TABLE_CPU_NARROW_REGION,
      .piece = TABLE_CPU_PIECE,
      .direct = TABLE_CPU_DIRECT,
      .pass = TABLE_CPU_PASS,
  };
  table_cpu *t = NULL;
  dzo_status status = table_cpu_create(plan, &sizes, &t);
  *out = t;
  return status;
}

static void destroy(void *state) {
  table_cpu *t = state;
  if (t == NULL)
    return;
  table_cpu_store_free(t->store);
  dzo_free(t);
}

/* ---- Size ------------------------------------------------------------------------------------ */

static uint64_t size(const void *state) { return ((const table_cpu *)state)->pairs; }

static uint64_t capacity(const void *state) {
  const table_cpu *t = state;
  return table_cpu_limit(t, t->store);
}

static uint64_t bytes(const void *state) {
  const table_cpu *t = state;
  return sizeof *t + table_cpu_store_bytes(t->store);
}

static dzo_status clear(void *state) {
  table_cpu *t = state;
  table_cpu_store_clear(t->store, t->context->threads);
  for (unsigned i = 0; i < TABLE_CPU_SIDES; i++)
    t->side[i] = (table_cpu_side){0};
  t->pairs = 0;
  return DZO_OK;
}

static dzo_status reserve(void *state, uint64_t capacity) {
  table_cpu *t = state;
  return capacity > table_cpu_limit(t, t->store) ? table_cpu_resize(t, capacity) : DZO_OK;
}

static dzo_status shrink(void *state) {
  table_cpu *t = state;
  return table_cpu_resize(t, t->pairs);
}

/* ---- Export ---------------------------------------------------------------------------------- */

typedef struct export_job {
  const table_cpu *table;
  void *keys, *values; /* or NULL */
  uint64_t *begins;    /* [regions]: how many pairs are in each; then, are before it */
} export_job;

/* Write pairs from number `at` on. */
static void write_pairs(const export_job *job, uint64_t at, unsigned count, const uint64_t *keys,
                        const uint64_t *values) {
  bool wide = job->table->wide;
  for (unsigned i = 0; i < count; i++) {
    if (job->keys != NULL && wide)
      ((uint64_t *)job->keys)[at + i] = keys[i];
    else if (job->keys != NULL)
      ((uint32_t *)job->keys)[at + i] = (uint32_t)keys[i];
    if (job->values != NULL && wide)
      ((uint64_t *)job->values)[at + i] = values[i];
    else if (job->values != NULL)
      ((uint32_t *)job->values)[at + i] = (uint32_t)values[i];
  }
}

static void count_region(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const export_job *job = argument;
  const table_cpu_store *s = job->table->store;
  uint64_t keys[TABLE_CPU_WORDS], values[TABLE_CPU_WORDS];
  for (uint64_t r = begin; r < end; r++) {
    uint64_t count = s->regions[r].pairs;
    for (uint64_t b = r * s->buckets; b < (r + 1) * s->buckets; b++)
      count += table_cpu_width_of(s)->list(table_cpu_bucket(s, b), keys, values);
    job->begins[r] = count;
  }
}

static void export_region(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const export_job *job = argument;
  const table_cpu_store *s = job->table->store;
  uint64_t keys[TABLE_CPU_WORDS], values[TABLE_CPU_WORDS];
  for (uint64_t r = begin; r < end; r++) {
    uint64_t at = job->begins[r];
    for (uint64_t b = r * s->buckets; b < (r + 1) * s->buckets; b++) {
      unsigned count = table_cpu_width_of(s)->list(table_cpu_bucket(s, b), keys, values);
      write_pairs(job, at, count, keys, values);
      at += count;
    }
    for (uint64_t i = 0; i < s->regions[r].nodes; i++) {
      const table_cpu_node *node = table_cpu_overflow_at(&s->regions[r], i);
      if (node->alive != 0)
        write_pairs(job, at++, 1, &node->key, &node->value);
    }
  }
}

static uint64_t side_key(const table_cpu *t, unsigned side) {
  return (t->wide ? TABLE_CPU_WIDE_RESERVED : TABLE_CPU_NARROW_RESERVED) + side;
}

static dzo_status export_into(void *state, void *keys, void *values) {
  const table_cpu *t = state;
  uint64_t regions = UINT64_C(1) << t->store->bits, at = 0;
  export_job job = {t, keys, values, dzo_alloc(t->context, regions, sizeof *job.begins)};
  if (job.begins == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(t->context->threads, regions, 1, count_region, &job);
  for (uint64_t r = 0; r < regions; r++) {
    uint64_t here = job.begins[r];
    job.begins[r] = at;
    at += here;
  }
  dzo_parallel_for(t->context->threads, regions, 1, export_region, &job);
  for (unsigned i = 0; i < TABLE_CPU_SIDES; i++) {
    uint64_t key = side_key(t, i);
    if (t->side[i].alive)
      write_pairs(&job, at++, 1, &key, &t->side[i].value);
  }
  dzo_free(job.begins);
  return DZO_OK;
}

/* A cursor counts buckets, then nodes of the overflow, then the cells aside. */
static dzo_status export_some(void *state, uint64_t *cursor, uint64_t room, void *keys,
                              void *values, uint64_t *count) {
  const table_cpu *t = state;
  const table_cpu_store *s = t->store;
  export_job job = {t, keys, values, NULL};
  uint64_t found_keys[TABLE_CPU_WORDS], found_values[TABLE_CPU_WORDS];
  uint64_t at = *cursor, buckets = s->buckets << s->bits, first = buckets;
  *count = 0;
  for (; at < buckets && *count + TABLE_CPU_WORDS <= room; at++) {
    unsigned here = table_cpu_width_of(s)->list(table_cpu_bucket(s, at), found_keys, found_values);
    write_pairs(&job, *count, here, found_keys, found_values);
    *count += here;
  }
  for (uint64_t r = 0; at >= buckets && r < UINT64_C(1) << s->bits; r++) {
    const table_cpu_region *region = &s->regions[r];
    for (; at < first + region->nodes && *count < room; at++) {
      const table_cpu_node *node = table_cpu_overflow_at(region, at - first);
      if (node->alive != 0)
        write_pairs(&job, (*count)++, 1, &node->key, &node->value);
    }
    first += region->nodes;
  }
  for (; at >= first && at < first + TABLE_CPU_SIDES && *count < room; at++) {
    uint64_t key = side_key(t, (unsigned)(at - first));
    if (t->side[at - first].alive)
      write_pairs(&job, (*count)++, 1, &key, &t->side[at - first].value);
  }
  *cursor = at >= first + TABLE_CPU_SIDES ? UINT64_MAX : at;
  return DZO_OK;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

typedef struct stats_job {
  const table_cpu *table;
  uint64_t probes[3]; /* accessed atomically: pairs that take one, two, three */
  uint64_t tombs;     /* the same */
} stats_job;

static void look_at_region(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  stats_job *job = argument;
  const table_cpu_store *s = job->table->store;
  uint64_t keys[TABLE_CPU_WORDS], values[TABLE_CPU_WORDS], probes[2] = {0}, tombs = 0, over = 0;
  for (uint64_t r = begin; r < end; r++) {
    for (uint64_t b = r * s->buckets; b < (r + 1) * s->buckets; b++) {
      unsigned count = table_cpu_width_of(s)->list(table_cpu_bucket(s, b), keys, values);
      for (unsigned i = 0; i < count; i++)
        probes[table_cpu_find_place(s, table_hash(keys[i], s->seed)).first != b]++;
      tombs += table_cpu_width_of(s)->tombs(table_cpu_bucket(s, b));
    }
    over += s->regions[r].pairs;
  }
  (void)dzo_fetch_add_u64(&job->probes[0], probes[0]);
  (void)dzo_fetch_add_u64(&job->probes[1], probes[1]);
  (void)dzo_fetch_add_u64(&job->probes[2], over);
  (void)dzo_fetch_add_u64(&job->tombs, tombs);
}

static dzo_status stats(void *state, dzo_table_stats *out) {
  const table_cpu *t = state;
  stats_job job = {.table = t};
  dzo_parallel_for(t->context->threads, UINT64_C(1) << t->store->bits, 1, look_at_region, &job);
  uint64_t aside = 0;
  for (unsigned i = 0; i < TABLE_CPU_SIDES; i++)
    aside += t->side[i].alive;
  job.probes[0] += aside;
  out->pairs = t->pairs;
  out->slots = t->store->slots;
  out->bucket_slots = table_cpu_width_of(t->store)->slots;
  out->bytes = bytes(t);
  out->load = (double)t->pairs / (double)t->store->slots;
  for (unsigned i = 0; i < 3; i++) {
    out->probes[i] = job.probes[i];
    if (job.probes[i] > 0)
      out->max_depth = i;
  }
  out->erased = job.tombs;
  out->overflow = job.probes[2] + aside;
  if (t->pairs > 0)
    out->mean_depth = (double)(job.probes[1] + 2 * job.probes[2]) / (double)t->pairs;
  return DZO_OK;
}

const table_engine table_engine_cpu = {
    .name = "cpu",
    .device = DZO_DEVICE_CPU,
    .create = create,
    .destroy = destroy,
    .run = table_cpu_run,
    .size = size,
    .capacity = capacity,
    .bytes = bytes,
    .clear = clear,
    .reserve = reserve,
    .shrink = shrink,
    .export_into = export_into,
    .export_some = export_some,
    .stats = stats,
};
