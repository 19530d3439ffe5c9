/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Making a store fit for handles, and for batches again. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "table/handle_word.h"

static uint64_t regions_of(const handle_level *l) { return (uint64_t)1 << l->s.bits; }

static uint64_t *bucket_of(const handle_level *l, uint64_t region, uint64_t bucket) {
  return table_cpu_bucket(&l->s, region * l->s.buckets + bucket);
}

void handle_level_free(handle_level *l) {
  if (l == NULL)
    return;
  dzo_free(l->made);
  dzo_free(l->marks);
  dzo_free(l);
}

/* ---- Preparing ------------------------------------------------------------------------------- */

/* A TOMB that batches left in a 32-bit table looks like the slot of an erased key. So it gets a key
 * of another region, which never looks there. */
static void disown_tombs(const handle_level *l, uint64_t region, uint64_t stranger) {
  for (uint64_t b = 0; b < l->s.buckets; b++) {
    uint64_t *bucket = bucket_of(l, region, b);
    for (unsigned i = 0; i < TABLE_CPU_NARROW_SLOTS; i++)
      if ((uint32_t)bucket[i] == UINT32_MAX && bucket[i] != TABLE_CPU_EMPTY)
        bucket[i] = narrow_absent(stranger);
  }
}

/* Keys of two regions, one of which is a stranger to each. */
static void find_strangers(const handle_level *l, uint64_t strangers[2]) {
  strangers[0] = strangers[1] = 0;
  uint64_t region = table_cpu_region_of(&l->s, table_hash(0, l->s.seed));
  while (l->s.bits > 0 && table_cpu_region_of(&l->s, table_hash(strangers[1], l->s.seed)) == region)
    strangers[1]++;
}

/* False: `absent` is a value. */
static bool set_absent(const handle_level *l, uint64_t region) {
  bool is_free = true;
  for (uint64_t b = 0; b < l->s.buckets; b++) {
    uint64_t *bucket = bucket_of(l, region, b);
    for (unsigned i = 0; i < TABLE_CPU_WIDE_SLOTS; i++) {
      if (bucket[2 * i] == TABLE_CPU_EMPTY)
        bucket[2 * i + 1] = l->absent;
      else if (bucket[2 * i] < TABLE_CPU_WIDE_RESERVED)
        is_free = is_free && bucket[2 * i + 1] != l->absent;
    }
  }
  return is_free;
}

static bool set_absent_nodes(const handle_level *l, table_cpu_region *region) {
  bool is_free = true;
  for (uint64_t i = 0; i < region->nodes; i++) {
    table_cpu_node *node = table_cpu_overflow_at(region, i);
    if (node->alive == 0)
      node->value = l->absent;
    else
      is_free = is_free && node->value != l->absent;
  }
  return is_free;
}

typedef struct preparation {
  const handle_level *level;
  uint64_t strangers[2];
  int taken; /* accessed atomically: `absent` is a value */
} preparation;

static void prepare_regions(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  preparation *p = argument;
  const handle_level *l = p->level;
  uint64_t home = table_cpu_region_of(&l->s, table_hash(p->strangers[0], l->s.seed));
  for (uint64_t region = begin; region < end; region++) {
    l->s.regions[region].lock = 0;
    bool is_free = set_absent_nodes(l, &l->s.regions[region]);
    if (l->s.wide)
      is_free = set_absent(l, region) && is_free;
    else
      disown_tombs(l, region, p->strangers[home == region]);
    if (!is_free)
      __atomic_store_n(&p->taken, 1, __ATOMIC_RELAXED);
  }
}

static bool is_side_taken(const handle_level *l, const table_share *share) {
  for (int i = 0; i < TABLE_CPU_SIDES; i++)
    if (share->engine->side[i].alive && share->engine->side[i].value == l->absent)
      return true;
  return false;
}

static bool prepare(table_share *share, handle_level *l) {
  preparation p = {.level = l};
  if (!l->s.wide)
    find_strangers(l, p.strangers);
  dzo_parallel_for(l->s.context->threads, regions_of(l), 1, prepare_regions, &p);
  return p.taken == 0 && !is_side_taken(l, share);
}

static handle_level *allocate(table_share *share, table_cpu_store *store) {
  handle_level *l = dzo_calloc(share->engine->context, 1, sizeof *l);
  if (l == NULL)
    return NULL;
  l->s = *store;
  l->store = store;
  l->mark_words = store->buckets / 64 + 1;
  l->made = dzo_calloc(store->context, regions_of(l), sizeof *l->made);
  l->marks = dzo_alloc(store->context, regions_of(l) * l->mark_words, sizeof *l->marks);
  if (l->made != NULL && l->marks != NULL)
    return l;
  handle_level_free(l);
  return NULL;
}

/* Pairs in a region's overflow before all is made anew: far more than chance brings there, and
 * twice what no making anew could help. */
static uint64_t most_nodes(const handle_level *l) {
  uint64_t most = l->s.buckets / 4 + 16;
  for (uint64_t region = 0; region < regions_of(l); region++)
    if (2 * l->s.regions[region].nodes > most)
      most = 2 * l->s.regions[region].nodes;
  return most;
}

/* Of more than 32 bits. */
#define NARROW_ABSENT UINT64_MAX

handle_level *handle_level_make(table_share *share, table_cpu_store *store, uint64_t avoid) {
  handle_level *l = allocate(share, store);
  if (l == NULL)
    return NULL;
  l->number = ++share->levels;
  l->limit = table_cpu_limit(share->engine, store);
  l->nodes = most_nodes(l);
  /* Some word that is no value here. The first is almost surely free, since nobody chose it. */
  uint64_t draw = (uint64_t)(uintptr_t)l ^ store->seed;
  do
    l->absent = l->s.wide ? dzo_random_word(draw++, l->number) | 1 : NARROW_ABSENT;
  while ((l->s.wide && l->absent == avoid) || !prepare(share, l));
  for (int i = 0; i < TABLE_CPU_SIDES; i++)
    l->side[i] = share->engine->side[i].alive ? share->engine->side[i].value : l->absent;
  return l;
}

/* ---- Settling -------------------------------------------------------------------------------- */

void handle_bury(const handle_level *l, uint64_t *bucket) {
  for (unsigned i = 0; i < TABLE_CPU_WIDE_SLOTS; i++)
    if (bucket[2 * i] < TABLE_CPU_WIDE_RESERVED && word_load(&bucket[2 * i + 1]) == l->absent)
      word_store(&bucket[2 * i], TABLE_CPU_WIDE_TOMB);
}

static void settle_nodes(const handle_level *l, table_cpu_region *region) {
  region->pairs = 0;
  for (uint64_t i = 0; i < region->nodes; i++) {
    table_cpu_node *node = table_cpu_overflow_at(region, i);
    bool is_there = word_load(&node->value) != l->absent;
    __atomic_store_n(&node->alive, is_there, __ATOMIC_RELAXED);
    region->pairs += is_there;
  }
}

static void settle_regions(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const handle_level *l = argument;
  for (uint64_t region = begin; region < end; region++) {
    settle_nodes(l, &l->s.regions[region]);
    for (uint64_t b = 0; l->s.wide && b < l->s.buckets; b++)
      handle_bury(l, bucket_of(l, region, b));
  }
}

void handle_level_settle(table_share *share, handle_level *l) {
  for (int i = 0; i < TABLE_CPU_SIDES; i++) {
    uint64_t word = word_load(&l->side[i]);
    share->engine->side[i] = (table_cpu_side){word != l->absent, word};
  }
  dzo_parallel_for(l->s.context->threads, regions_of(l), 1, settle_regions, l);
}

/* ---- Clearing a region ----------------------------------------------------------------------- */

static void mark(uint64_t *marks, uint64_t bucket) {
  marks[bucket / 64] |= (uint64_t)1 << bucket % 64;
}

/* The key in slot i, if its pair is there; else at least the first reserved one. */
static uint64_t living_key(const handle_level *l, const uint64_t *bucket, unsigned i) {
  if (!l->s.wide)
    return (uint32_t)bucket[i];
  return bucket[2 * i + 1] == l->absent ? TABLE_CPU_EMPTY : bucket[2 * i];
}

/* The key that slot i belongs to, erased or not; else at least the first reserved one. */
static uint64_t owner_of(const handle_level *l, const uint64_t *bucket, unsigned i) {
  if (l->s.wide)
    return bucket[2 * i];
  return (uint32_t)bucket[i] == UINT32_MAX ? bucket[i] >> 32 : (uint32_t)bucket[i];
}

/* A slot in a key's second bucket is past its first, a node in the overflow past both. That of an
 * erased key counts too: the key shall not get another one beside it. */
static void mark_passed(const handle_level *l, uint64_t region, uint64_t *marks) {
  unsigned slots = l->s.wide ? TABLE_CPU_WIDE_SLOTS : TABLE_CPU_NARROW_SLOTS;
  uint64_t reserved = l->s.wide ? TABLE_CPU_WIDE_RESERVED : TABLE_CPU_NARROW_RESERVED;
  for (uint64_t b = 0; b < l->s.buckets; b++) {
    const uint64_t *bucket = bucket_of(l, region, b);
    for (unsigned i = 0; i < slots; i++) {
      uint64_t key = owner_of(l, bucket, i), hash = table_hash(key, l->s.seed);
      uint64_t first = table_cpu_first_in(l->s.buckets, hash);
      if (key < reserved && first != b && table_cpu_region_of(&l->s, hash) == region)
        mark(marks, first);
    }
  }
  const table_cpu_region *r = &l->s.regions[region];
  for (uint64_t i = 0; i < r->nodes; i++) {
    uint64_t hash = table_hash(table_cpu_overflow_at(r, i)->key, l->s.seed);
    uint64_t first = table_cpu_first_in(l->s.buckets, hash);
    mark(marks, first);
    mark(marks, table_cpu_second_in(l->s.buckets, hash, first));
  }
}

static void clear_bucket(const handle_level *l, uint64_t *bucket) {
  unsigned slots = l->s.wide ? TABLE_CPU_WIDE_SLOTS : TABLE_CPU_NARROW_SLOTS;
  uint64_t reserved = l->s.wide ? TABLE_CPU_WIDE_RESERVED : TABLE_CPU_NARROW_RESERVED;
  for (unsigned i = 0; i < slots; i++) {
    uint64_t *slot = bucket + (l->s.wide ? 2 * i : i);
    if (*slot == TABLE_CPU_EMPTY || living_key(l, bucket, i) < reserved)
      continue;
    if (l->s.wide)
      word_store(slot + 1, l->absent);
    word_store(slot, TABLE_CPU_EMPTY);
  }
}

void handle_clear_region(handle_level *l, uint64_t region) {
  uint64_t *marks = l->marks + region * l->mark_words;
  for (uint64_t i = 0; i < l->mark_words; i++)
    marks[i] = 0;
  mark_passed(l, region, marks);
  table_cpu_region *r = &l->s.regions[region];
  word_store(&r->version, r->version + 1);
  for (uint64_t b = 0; b < l->s.buckets; b++)
    if (!(marks[b / 64] >> b % 64 & 1))
      clear_bucket(l, bucket_of(l, region, b));
  r->failures = 0;
  l->made[region] = 0;
}
