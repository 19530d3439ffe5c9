/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tidying a region, for one width of words: pairs go back to where look-ups come first, and a TOMB
 * becomes EMPTY in each bucket that no pair elsewhere depends on. */
#include "table/cpu_put.h"

enum { MARK_WORDS = TABLE_CPU_WIDE_REGION / 64 };

/* The first bucket of the key in `slot` of b. */
DZO_ITEM uint64_t home_of(const table_cpu_store *s, const uint64_t *b, unsigned slot) {
  return table_cpu_find_place(s, table_hash(key_at(b, slot), s->seed)).first;
}

static void bring_home(table_cpu_store *s, uint64_t begin) {
  for (uint64_t bucket = begin; bucket < begin + s->buckets; bucket++) {
    uint64_t *b = table_cpu_bucket(s, bucket);
    for (unsigned taken = ALL_SLOTS & ~free_slots(b); taken != 0; taken &= taken - 1) {
      unsigned slot = lowest(taken);
      uint64_t *home = table_cpu_bucket(s, home_of(s, b, slot));
      unsigned free = free_slots(home);
      if (home == b || free == 0)
        continue;
      set_pair(home, lowest(free), key_at(b, slot), value_at(b, slot));
      set_free(b, slot, true);
    }
  }
}

static void bring_back(table_cpu_store *s, table_cpu_region *region) {
  uint64_t pairs = region->pairs;
  for (uint64_t i = 0; pairs > 0 && i < region->nodes; i++) {
    table_cpu_node *node = table_cpu_overflow_at(region, i);
    table_cpu_place place = table_cpu_find_place(s, table_hash(node->key, s->seed));
    uint64_t *b = table_cpu_bucket(s, place.first);
    b = free_slots(b) != 0 ? b : table_cpu_bucket(s, place.second);
    unsigned free = free_slots(b);
    if (node->alive == 0 || free == 0)
      continue;
    set_pair(b, lowest(free), node->key, node->value);
    node->alive = 0;
    region->pairs--;
  }
  if (region->pairs < pairs)
    table_cpu_overflow_purge(s, region);
}

DZO_ITEM void mark(uint64_t *marks, uint64_t bucket) {
  marks[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

/* Mark the buckets, by number in the region, that have to be without EMPTY slot. */
static void mark_needed(const table_cpu_store *s, const table_cpu_region *region, uint64_t begin,
                        uint64_t *marks) {
  for (uint64_t bucket = begin; bucket < begin + s->buckets; bucket++) {
    const uint64_t *b = table_cpu_bucket(s, bucket);
    for (unsigned taken = ALL_SLOTS & ~free_slots(b); taken != 0; taken &= taken - 1) {
      uint64_t home = home_of(s, b, lowest(taken));
      if (home != bucket)
        mark(marks, home - begin);
    }
  }
  for (uint64_t i = 0; region->pairs > 0 && i < region->nodes; i++) {
    const table_cpu_node *node = table_cpu_overflow_at(region, i);
    table_cpu_place place = table_cpu_find_place(s, table_hash(node->key, s->seed));
    mark(marks, place.first - begin);
    mark(marks, place.second - begin);
  }
}

static void tidy(table_cpu_store *s, uint64_t number) {
  uint64_t marks[MARK_WORDS] = {0}, begin = number * s->buckets;
  table_cpu_region *region = &s->regions[number];
  region->erased = 0;
  if (s->buckets > 64 * MARK_WORDS)
    return;
  bring_home(s, begin);
  bring_back(s, region);
  mark_needed(s, region, begin, marks);
  region->tombs = 0;
  for (uint64_t i = 0; i < s->buckets; i++) {
    uint64_t *b = table_cpu_bucket(s, begin + i);
    unsigned tombs = free_slots(b) & ~empty_slots(b);
    if ((marks[i / 64] >> i % 64 & 1) != 0)
      region->tombs += (uint32_t)__builtin_popcount(tombs);
    else
      for (; tombs != 0; tombs &= tombs - 1)
        set_free(b, lowest(tombs), false);
  }
}
