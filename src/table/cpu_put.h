/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* New pairs for one width of words: room is made by moving pairs to their other bucket (cuckoo
 * hashing; R. Pagh, F. F. Rodler 2004), along a shortest chain of moves. */
#include "table/cpu_slots.h"

enum { QUEUE = 128 };

/* A bucket that a chain of moves may reach: by moving slot `slot` of the bucket of step `from`. */
typedef struct step {
  uint64_t bucket;
  unsigned from, slot;
} step;

typedef struct path {
  unsigned count;
  step steps[QUEUE];
} path;

/* The other bucket of a pair that stands in `bucket`. */
DZO_ITEM uint64_t other_bucket(const table_cpu_store *s, uint64_t bucket, uint64_t key) {
  table_cpu_place place = table_cpu_find_place(s, table_hash(key, s->seed));
  return place.first + place.second - bucket;
}

/* Breadth first from both buckets of `place`. True: steps[*last] can move its slot *slot to the
 * free slot *target of *bucket. Whatever the keys, it looks at 8 QUEUE buckets at most. */
static bool find_path(const table_cpu_store *s, table_cpu_place place, path *p, unsigned *last,
                      unsigned *slot, uint64_t *bucket) {
  p->steps[0] = (step){place.first, 0, 0};
  p->steps[1] = (step){place.second, 0, 0};
  p->count = 2;
  for (unsigned at = 0; at < p->count; at++) {
    const uint64_t *b = table_cpu_bucket(s, p->steps[at].bucket);
    for (unsigned i = 0; i < SLOTS; i++) {
      uint64_t next = other_bucket(s, p->steps[at].bucket, key_at(b, i));
      if (free_slots(table_cpu_bucket(s, next)) != 0) {
        *last = at;
        *slot = i;
        *bucket = next;
        return true;
      }
      if (p->count < QUEUE)
        p->steps[p->count++] = (step){next, at, i};
    }
  }
  return false;
}

/* Fill the lowest of these free slots. */
DZO_ITEM void fill_slot(table_cpu_region *region, uint64_t *b, unsigned free, uint64_t key,
                        uint64_t value) {
  unsigned slot = lowest(free);
  bool is_tomb = !is_empty(b, slot);
  region->tombs -= is_tomb && region->tombs > 0;
  publish_pair(b, slot, key, value);
}

/* Move pairs along the path, the last first, and put the new one where the first stood. */
static void walk_path(table_cpu_store *s, table_cpu_region *region, const path *p, unsigned at,
                      unsigned slot, uint64_t bucket, uint64_t key, uint64_t value) {
  uint64_t *to = table_cpu_bucket(s, bucket);
  unsigned target = lowest(free_slots(to));
  region->tombs -= !is_empty(to, target) && region->tombs > 0;
  for (;;) {
    uint64_t *from = table_cpu_bucket(s, p->steps[at].bucket);
    publish_pair(to, target, key_at(from, slot), value_at(from, slot));
    TABLE_STEP(0);
    __atomic_store_n(&region->version, region->version + 1, __ATOMIC_RELEASE);
    to = from;
    target = slot;
    if (at < 2)
      break;
    slot = p->steps[at].slot;
    at = p->steps[at].from;
  }
  publish_pair(to, target, key, value);
}

/* Put a pair whose key is not there into one of two full buckets. */
static bool put_by_moves(table_cpu_store *s, table_cpu_place place, uint64_t key, uint64_t value) {
  table_cpu_region *region = &s->regions[place.region];
  path p;
  unsigned last, slot;
  uint64_t bucket;
  if (region->failures >= TABLE_CPU_FAILURES)
    return false;
  if (!find_path(s, place, &p, &last, &slot, &bucket)) {
    region->failures++;
    return false;
  }
  walk_path(s, region, &p, last, slot, bucket, key, value);
  return true;
}

/* Put a pair whose key is not there into a bucket. */
DZO_ITEM bool put_in_buckets(table_cpu_store *s, table_cpu_place place, uint64_t key,
                             uint64_t value) {
  table_cpu_region *region = &s->regions[place.region];
  uint64_t *b = table_cpu_bucket(s, place.first);
  unsigned free = free_slots(b);
  if (free == 0) {
    b = table_cpu_bucket(s, place.second);
    free = free_slots(b);
  }
  if (free == 0)
    return put_by_moves(s, place, key, value);
  fill_slot(region, b, free, key, value);
  return true;
}

static bool put_in_overflow(table_cpu_store *s, table_cpu_region *region, uint64_t key,
                            uint64_t value) {
  table_cpu_node *node = table_cpu_overflow_find(region, key);
  if (node != NULL)
    table_cpu_overflow_revive(region, node, value);
  else
    node = table_cpu_overflow_add(s, region, key, value);
  return node != NULL;
}

static bool put(table_cpu_store *s, uint64_t key, uint64_t value) {
  table_cpu_place place = table_cpu_find_place(s, table_hash(key, s->seed));
  return put_in_buckets(s, place, key, value) ||
         put_in_overflow(s, &s->regions[place.region], key, value);
}

/* ---- From one store to another --------------------------------------------------------------- */

static unsigned list_pairs(const uint64_t *b, uint64_t *keys, uint64_t *values) {
  unsigned count = 0;
  for (unsigned taken = ALL_SLOTS & ~free_slots(b); taken != 0; taken &= taken - 1) {
    keys[count] = key_at(b, lowest(taken));
    values[count++] = value_at(b, lowest(taken));
  }
  return count;
}

static unsigned count_tombs(const uint64_t *b) {
  return (unsigned)__builtin_popcount(free_slots(b) & ~empty_slots(b));
}

static bool move_pairs(const table_cpu_store *from, uint64_t begin, uint64_t end,
                       table_cpu_store *to) {
  for (uint64_t bucket = begin; bucket < end; bucket++) {
    const uint64_t *b = table_cpu_bucket(from, bucket);
    for (unsigned taken = ALL_SLOTS & ~free_slots(b); taken != 0; taken &= taken - 1)
      if (!put(to, key_at(b, lowest(taken)), value_at(b, lowest(taken))))
        return false;
  }
  return true;
}

/* More regions of as many buckets: a bucket's pairs go to the buckets of the same number in the
 * regions that its own is split into, but for those that stand in their second one, which may now
 * have room in the first. What is free in the new buckets is kept at hand, since what was just
 * written cannot be read as quickly. */
enum { MOST_HALVINGS = 3 };

static bool split_bucket(const table_cpu_store *from, uint64_t bucket, table_cpu_store *to) {
  const uint64_t *b = table_cpu_bucket(from, bucket);
  uint64_t number = bucket % from->buckets;
  uint64_t region = bucket / from->buckets << (to->bits - from->bits);
  unsigned free[1 << MOST_HALVINGS], strays[SLOTS], stray_count = 0;
  for (unsigned i = 0; i < 1u << (to->bits - from->bits); i++)
    free[i] = empty_slots(table_cpu_bucket(to, (region + i) * to->buckets + number));
  for (unsigned taken = ALL_SLOTS & ~free_slots(b); taken != 0; taken &= taken - 1) {
    unsigned slot = lowest(taken);
    uint64_t key = key_at(b, slot), hash = table_hash(key, to->seed);
    uint64_t into = table_cpu_region_of(to, hash);
    if (table_cpu_first_in(to->buckets, hash) != number || free[into - region] == 0) {
      strays[stray_count++] = slot;
      continue;
    }
    set_pair(table_cpu_bucket(to, into * to->buckets + number), lowest(free[into - region]), key,
             value_at(b, slot));
    free[into - region] &= free[into - region] - 1;
  }
  for (unsigned i = 0; i < stray_count; i++)
    if (!put(to, key_at(b, strays[i]), value_at(b, strays[i])))
      return false;
  return true;
}

static bool split_or_move(const table_cpu_store *from, uint64_t begin, uint64_t end,
                          table_cpu_store *to) {
  if (to->buckets != from->buckets || to->bits < from->bits ||
      to->bits - from->bits > MOST_HALVINGS)
    return move_pairs(from, begin, end, to);
  for (uint64_t bucket = begin; bucket < end; bucket++)
    if (!split_bucket(from, bucket, to))
      return false;
  return true;
}
