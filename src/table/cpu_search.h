/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Look-ups in batches for one width of words. They change nothing, so that any thread may look
 * anywhere, straight from the caller's arrays. */
#include "table/cpu_work.h"

/* ---- Look-ups -------------------------------------------------------------------------------- */

/* A key's value, beyond its first bucket. */
static bool look_further(const table_cpu *t, uint64_t key, uint64_t hash, uint64_t *value) {
  if (key >= RESERVED) {
    const table_cpu_side *side = &t->side[key - RESERVED];
    *value = side->alive ? side->value : 0;
    return side->alive;
  }
  const table_cpu_store *s = t->store;
  table_cpu_place place = table_cpu_find_place(s, hash);
  const uint64_t *b = table_cpu_bucket(s, place.second);
  unsigned slots = slots_of(b, key);
  if (slots != 0) {
    *value = value_at(b, lowest(slots));
    return true;
  }
  const table_cpu_region *region = &s->regions[place.region];
  if (empty_slots(b) != 0 || region->pairs == 0)
    return false;
  const table_cpu_node *node = table_cpu_overflow_find(region, key);
  if (node == NULL || node->alive == 0)
    return false;
  *value = node->value;
  return true;
}

DZO_ITEM bool tell(const table_cpu_search *q, uint64_t i, bool found, uint64_t value) {
  if (q->answers != NULL)
    q->answers[i] = found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  if (q->results != NULL)
    ((WORD *)q->results)[i] = (WORD)value;
  return found;
}

DZO_ITEM void aim_keys(const table_cpu_store *s, const WORD *keys, unsigned count,
                       uint64_t *hashes) {
  for (unsigned j = 0; j < count; j++) {
    hashes[j] = table_hash(keys[j], s->seed);
    DZO_PREFETCH(first_bucket(s, hashes[j]));
  }
}

/* Keys that their first buckets did not decide. */
typedef struct undecided {
  unsigned count;
  uint64_t at[GROUP], hashes[GROUP];
} undecided;

DZO_ITEM uint64_t look_first(const table_cpu_search *q, uint64_t begin, unsigned count,
                             const uint64_t *hashes, undecided *left) {
  const WORD *keys = q->keys;
  const table_cpu_store *s = q->table->store;
  uint64_t found = 0;
  unsigned lefts = 0;
  for (unsigned j = 0; j < count; j++) {
    uint64_t key = keys[begin + j];
    const uint64_t *b = first_bucket(s, hashes[j]);
    unsigned slots = slots_of(b, key);
    if (DZO_UNLIKELY(key >= RESERVED) || (slots == 0 && empty_slots(b) == 0)) {
      DZO_PREFETCH(table_cpu_bucket(s, table_cpu_find_place(s, hashes[j]).second));
      left->at[lefts] = begin + j;
      left->hashes[lefts++] = hashes[j];
    } else {
      found += tell(q, begin + j, slots != 0, slots != 0 ? value_at(b, lowest(slots)) : 0);
    }
  }
  left->count = lefts;
  return found;
}

DZO_ITEM uint64_t look_again(const table_cpu_search *q, const undecided *left) {
  uint64_t found = 0;
  for (unsigned k = 0; k < left->count; k++) {
    uint64_t value = 0;
    bool has =
        look_further(q->table, ((const WORD *)q->keys)[left->at[k]], left->hashes[k], &value);
    found += tell(q, left->at[k], has, value);
  }
  return found;
}

/* While a group's first buckets are looked at, those of the next are on their way, and so are the
 * second ones of the group before. */
static uint64_t search(const table_cpu_search *q, uint64_t begin, uint64_t end) {
  uint64_t hashes[2][GROUP], found = 0;
  undecided left[2] = {0};
  const WORD *keys = q->keys;
  unsigned here = end - begin < GROUP ? (unsigned)(end - begin) : GROUP, turn = 0;
  aim_keys(q->table->store, keys + begin, here, hashes[0]);
  for (; begin < end; turn ^= 1) {
    uint64_t next = begin + here;
    unsigned ahead = end - next < GROUP ? (unsigned)(end - next) : GROUP;
    aim_keys(q->table->store, keys + next, ahead, hashes[turn ^ 1]);
    found += look_first(q, begin, here, hashes[turn], &left[turn]);
    found += look_again(q, &left[turn ^ 1]);
    begin = next;
    here = ahead;
  }
  return found + look_again(q, &left[turn ^ 1]);
}
