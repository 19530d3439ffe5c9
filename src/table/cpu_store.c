/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Stores: how large they are made, and how a new one takes over what an old one holds. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "table/cpu.h"

/* ---- Sizes ----------------------------------------------------------------------------------- */

static uint64_t limit_of(uint64_t slots, double max_load) {
  return (uint64_t)((double)slots * max_load);
}

uint64_t table_cpu_limit(const table_cpu *t, const table_cpu_store *s) {
  return limit_of(s->slots, t->max_load);
}

static uint64_t divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* Choose regions and their buckets for `capacity` pairs. */
static void choose_size(const table_cpu *t, uint64_t capacity, table_cpu_store *s) {
  unsigned bucket_slots = table_cpu_width_of(s)->slots;
  uint64_t slots = (uint64_t)((double)capacity / t->max_load);
  while (limit_of(slots, t->max_load) < capacity)
    slots++;
  uint64_t buckets = divide_up(slots, bucket_slots);
  while (divide_up(buckets, UINT64_C(1) << s->bits) > t->sizes.region_buckets)
    s->bits++;
  s->buckets = divide_up(buckets, UINT64_C(1) << s->bits);
  s->buckets = s->buckets < 2 ? 2 : s->buckets;
  s->slots = (s->buckets << s->bits) * bucket_slots;
}

static uint64_t region_count(const table_cpu_store *s) { return UINT64_C(1) << s->bits; }

/* A store whose words are not set yet. */
static dzo_status make_store(const table_cpu *t, uint64_t capacity, table_cpu_store **out) {
  enum { MOST_BITS = 48 };
  *out = NULL;
  if (capacity >> MOST_BITS != 0)
    return dzo_fail(t->context, DZO_E_MEMORY, "no memory for a table of %llu pairs",
                    (unsigned long long)capacity);
  table_cpu_store *s = dzo_alloc(t->context, 1, sizeof *s);
  if (s == NULL)
    return DZO_E_MEMORY;
  *s = (table_cpu_store){.context = t->context, .wide = t->wide, .seed = t->seed};
  choose_size(t, capacity, s);
  s->words = dzo_alloc(t->context, s->buckets << s->bits, TABLE_CPU_WORDS * sizeof *s->words);
  if (s->words != NULL)
    s->regions = dzo_calloc(t->context, region_count(s), sizeof *s->regions);
  if (s->regions == NULL) {
    table_cpu_store_free(s);
    return DZO_E_MEMORY;
  }
  *out = s;
  return DZO_OK;
}

static void free_overflows(table_cpu_store *s) {
  for (uint64_t r = 0; r < region_count(s); r++)
    table_cpu_overflow_free(&s->regions[r]);
}

void table_cpu_store_free(table_cpu_store *s) {
  if (s == NULL)
    return;
  if (s->regions != NULL)
    free_overflows(s);
  dzo_free(s->regions);
  dzo_free(s->words);
  dzo_free(s);
}

uint64_t table_cpu_store_bytes(const table_cpu_store *s) {
  uint64_t bytes = sizeof *s + (s->buckets << s->bits) * TABLE_CPU_WORDS * sizeof *s->words +
                   region_count(s) * sizeof *s->regions;
  for (uint64_t r = 0; r < region_count(s); r++)
    bytes += table_cpu_overflow_bytes(&s->regions[r]);
  return bytes;
}

/* ---- Clearing -------------------------------------------------------------------------------- */

static void empty_regions(table_cpu_store *s, uint64_t begin, uint64_t end) {
  memset(table_cpu_bucket(s, begin * s->buckets), 0xff,
         (size_t)((end - begin) * s->buckets * TABLE_CPU_WORDS * sizeof *s->words));
}

static void clear_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  table_cpu_store *s = argument;
  empty_regions(s, begin, end);
  for (uint64_t r = begin; r < end; r++) {
    table_cpu_overflow_free(&s->regions[r]);
    s->regions[r] = (table_cpu_region){0};
  }
}

void table_cpu_store_clear(table_cpu_store *s, int threads) {
  dzo_parallel_for(threads, region_count(s), 1, clear_range, s);
}

/* ---- Rebuilding ------------------------------------------------------------------------------ */

typedef struct rebuilding {
  const table_cpu_store *from; /* NULL: nothing */
  table_cpu_store *to;
  uint32_t bits; /* units of work: ranges of the hash that are regions of one, or more of both */
  bool stops;    /* when the context is cancelled */
  int failed;    /* accessed atomically */
} rebuilding;

static bool move_overflow(const table_cpu_region *region, table_cpu_store *to) {
  for (uint64_t i = 0; i < region->nodes; i++) {
    const table_cpu_node *node = table_cpu_overflow_at(region, i);
    if (node->alive != 0 && !table_cpu_put(to, node->key, node->value))
      return false;
  }
  return true;
}

static bool move_range(const table_cpu_store *from, uint64_t begin, uint64_t end,
                       table_cpu_store *to) {
  if (!table_cpu_width_of(from)->move(from, begin * from->buckets, end * from->buckets, to))
    return false;
  for (uint64_t r = begin; r < end; r++)
    if (!move_overflow(&from->regions[r], to))
      return false;
  return true;
}

static void rebuild_units(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  rebuilding *job = argument;
  const table_cpu_store *from = job->from;
  uint32_t wider = job->to->bits - job->bits;
  for (uint64_t unit = begin; unit < end; unit++) {
    if (job->stops && dzo_is_cancelled(job->to->context)) {
      __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
      return;
    }
    empty_regions(job->to, unit << wider, (unit + 1) << wider);
    if (from == NULL)
      continue;
    uint32_t older = from->bits - job->bits;
    if (!move_range(from, unit << older, (unit + 1) << older, job->to))
      __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
  }
}

static dzo_status rebuild(const table_cpu *t, const table_cpu_store *from, uint64_t capacity,
                          int threads, bool stops, table_cpu_store **out) {
  DZO_TRY(make_store(t, capacity, out));
  rebuilding job = {from, *out, (*out)->bits, stops, 0};
  if (from != NULL && from->bits < job.bits)
    job.bits = from->bits;
  dzo_parallel_for(threads, UINT64_C(1) << job.bits, 1, rebuild_units, &job);
  if (job.failed == 0)
    return DZO_OK;
  table_cpu_store_free(*out);
  *out = NULL;
  if (stops && dzo_is_cancelled(t->context))
    return dzo_fail(t->context, DZO_E_CANCELLED, "cancelled while the table was made anew");
  return DZO_E_MEMORY;
}

dzo_status table_cpu_rebuild(const table_cpu *t, const table_cpu_store *from, uint64_t capacity,
                             int threads, table_cpu_store **out) {
  return rebuild(t, from, capacity, threads, false, out);
}

dzo_status table_cpu_resize(table_cpu *t, uint64_t capacity) {
  table_cpu_store *store;
  DZO_TRY(rebuild(t, t->store, capacity, t->context->threads, true, &store));
  table_cpu_store_free(t->store);
  t->store = store;
  return DZO_OK;
}

/* ---- For handles ----------------------------------------------------------------------------- */

bool table_cpu_put(table_cpu_store *s, uint64_t key, uint64_t value) {
  return table_cpu_width_of(s)->put(s, key, value);
}

static void recount_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  table_cpu_store *s = argument;
  for (uint64_t r = begin; r < end; r++) {
    uint32_t tombs = 0;
    for (uint64_t b = r * s->buckets; b < (r + 1) * s->buckets; b++)
      tombs += table_cpu_width_of(s)->tombs(table_cpu_bucket(s, b));
    s->regions[r].tombs = tombs;
    s->regions[r].failures = 0;
  }
}

void table_cpu_recount(table_cpu *t) {
  dzo_parallel_for(t->context->threads, region_count(t->store), 1, recount_range, t->store);
}
