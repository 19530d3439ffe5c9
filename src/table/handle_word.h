/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How handles find the word of a key. Atomic accesses with the order that each needs. */
#ifndef DZO_TABLE_HANDLE_WORD_H
#define DZO_TABLE_HANDLE_WORD_H

#include "table/handle.h"

DZO_ITEM uint64_t word_load(const uint64_t *p) {
  TABLE_STEP(0);
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
DZO_ITEM void word_store(uint64_t *p, uint64_t x) {
  TABLE_STEP(0);
  __atomic_store_n(p, x, __ATOMIC_RELEASE);
}
DZO_ITEM bool word_swap(uint64_t *p, uint64_t *expected, uint64_t x) {
  TABLE_STEP(0);
  return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Of 32-bit tables: the slot of a key that is not there. EMPTY is none, as its key stands aside. */
DZO_ITEM uint64_t narrow_absent(uint64_t key) { return key << 32 | UINT32_MAX; }

/* The word that says all about a key: `absent`, or value << shift | low. */
typedef struct handle_word {
  uint64_t *at;    /* NULL: the key has none */
  uint64_t *claim; /* the EMPTY slot that it may then claim; NULL: there is none */
  bool in_slot;    /* it may move from there */
  unsigned shift;
  uint64_t low, absent;
} handle_word;

DZO_ITEM handle_word plain_word(uint64_t *at, uint64_t absent) {
  return (handle_word){.at = at, .absent = absent};
}

/* The key's slot in a bucket, or its first EMPTY one from `start` on, around. */
DZO_ITEM void look_into(uint64_t *bucket, uint64_t key, unsigned start, bool wide,
                        handle_word *word) {
  unsigned slots = wide ? TABLE_CPU_WIDE_SLOTS : TABLE_CPU_NARROW_SLOTS;
  uint64_t absent = narrow_absent(key);
  unsigned own = 0, empty = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < slots; i++) {
    uint64_t x = word_load(bucket + (wide ? 2 * i : i));
    bool is_own = wide ? x == key : (uint32_t)x == (uint32_t)key || x == absent;
    own |= (unsigned)is_own << i;
    empty |= (unsigned)(x == TABLE_CPU_EMPTY) << i;
  }
  if (own != 0) {
    unsigned i = (unsigned)__builtin_ctz(own);
    word->at = bucket + (wide ? 2 * i + 1 : i);
  } else if (empty != 0) {
    unsigned turned = empty | empty << slots;
    unsigned i = ((unsigned)__builtin_ctz(turned >> start) + start) & (slots - 1);
    word->claim = bucket + (wide ? 2 * i : i);
  }
}

/* Keys that stand aside have hashes and regions like all others. */
DZO_ITEM handle_word find_word(handle_level *l, uint64_t hash, uint64_t key, bool wide) {
  uint64_t reserved = wide ? TABLE_CPU_WIDE_RESERVED : TABLE_CPU_NARROW_RESERVED;
  if (DZO_UNLIKELY(key >= reserved))
    return plain_word(&l->side[key - reserved], l->absent);
  unsigned start = (unsigned)hash & (wide ? TABLE_CPU_WIDE_SLOTS - 1 : TABLE_CPU_NARROW_SLOTS - 1);
  table_cpu_place place = table_cpu_find_place(&l->s, hash);
  handle_word word = {.in_slot = true,
                      .shift = wide ? 0 : 32,
                      .low = wide ? 0 : key,
                      .absent = wide ? l->absent : narrow_absent(key)};
  look_into(table_cpu_bucket(&l->s, place.first), key, start, wide, &word);
  if (word.at != NULL || word.claim != NULL)
    return word;
  look_into(table_cpu_bucket(&l->s, place.second), key, start, wide, &word);
  if (word.at != NULL || word.claim != NULL)
    return word;
  table_cpu_node *node = table_cpu_overflow_find(&l->s.regions[place.region], key);
  return node != NULL ? plain_word(&node->value, l->absent) : word;
}

#endif
