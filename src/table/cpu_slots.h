/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The slots of a bucket, for one width of words. Included by cpu_narrow.c and cpu_wide.c, which
 * define
 *   WIDE  0 for words of 32 bits, 1 for 64
 *   WORD  the unsigned type of a key and of a value
 * Sets of slots are masks, slot 0 in the lowest bit. */
#ifndef WORD
#error "WIDE and WORD are to be defined by the file that includes this one"
#endif

#include <string.h>

#include "table/cpu.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { SLOTS = WIDE ? TABLE_CPU_WIDE_SLOTS : TABLE_CPU_NARROW_SLOTS, ALL_SLOTS = (1 << SLOTS) - 1 };
#define RESERVED (WIDE ? TABLE_CPU_WIDE_RESERVED : TABLE_CPU_NARROW_RESERVED)

#if WIDE

DZO_ITEM uint64_t key_at(const uint64_t *b, unsigned slot) { return b[2 * slot]; }
DZO_ITEM uint64_t value_at(const uint64_t *b, unsigned slot) { return b[2 * slot + 1]; }

DZO_ITEM unsigned slots_of(const uint64_t *b, uint64_t key) {
  return (unsigned)(b[0] == key) | (unsigned)(b[2] == key) << 1 | (unsigned)(b[4] == key) << 2 |
         (unsigned)(b[6] == key) << 3;
}
DZO_ITEM unsigned empty_slots(const uint64_t *b) { return slots_of(b, TABLE_CPU_EMPTY); }
DZO_ITEM bool is_empty(const uint64_t *b, unsigned slot) { return b[2 * slot] == TABLE_CPU_EMPTY; }
DZO_ITEM unsigned free_slots(const uint64_t *b) {
  return (unsigned)(b[0] >= RESERVED) | (unsigned)(b[2] >= RESERVED) << 1 |
         (unsigned)(b[4] >= RESERVED) << 2 | (unsigned)(b[6] >= RESERVED) << 3;
}

DZO_ITEM void set_value(uint64_t *b, unsigned slot, uint64_t value) { b[2 * slot + 1] = value; }
DZO_ITEM void set_pair(uint64_t *b, unsigned slot, uint64_t key, uint64_t value) {
  b[2 * slot] = key;
  b[2 * slot + 1] = value;
}
DZO_ITEM void set_free(uint64_t *b, unsigned slot, bool tomb) {
  b[2 * slot] = tomb ? TABLE_CPU_WIDE_TOMB : TABLE_CPU_EMPTY;
}

/* The same for others to see: table_cpu_put() says in which order. */
DZO_ITEM void publish_pair(uint64_t *b, unsigned slot, uint64_t key, uint64_t value) {
  TABLE_STEP(0);
  if (b[2 * slot] < RESERVED)
    __atomic_store_n(&b[2 * slot], TABLE_CPU_WIDE_TOMB, __ATOMIC_RELEASE);
  TABLE_STEP(0);
  __atomic_store_n(&b[2 * slot + 1], value, __ATOMIC_RELEASE);
  TABLE_STEP(0);
  __atomic_store_n(&b[2 * slot], key, __ATOMIC_RELEASE);
}

#else

DZO_ITEM uint64_t key_at(const uint64_t *b, unsigned slot) { return b[slot] & UINT32_MAX; }
DZO_ITEM uint64_t value_at(const uint64_t *b, unsigned slot) { return b[slot] >> 32; }

#if defined(__SSE2__)
/* The keys, or the values, of four slots. */
#define FOUR(b, at, halves)                                                                        \
  _mm_castps_si128(_mm_shuffle_ps(                                                                 \
      _mm_castsi128_ps(_mm_load_si128((const __m128i *)(const void *)&(b)[at])),                   \
      _mm_castsi128_ps(_mm_load_si128((const __m128i *)(const void *)&(b)[at + 2])), halves))
#define KEYS(b, at) FOUR(b, at, 0x88)
#define VALUES(b, at) FOUR(b, at, 0xdd)

DZO_ITEM unsigned mask_of(__m128i low, __m128i high) {
  __m128i halves = _mm_packs_epi32(low, high);
  return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(halves, _mm_setzero_si128()));
}
DZO_ITEM unsigned slots_of(const uint64_t *b, uint64_t key) {
  __m128i wanted = _mm_set1_epi32((int)(uint32_t)key);
  return mask_of(_mm_cmpeq_epi32(KEYS(b, 0), wanted), _mm_cmpeq_epi32(KEYS(b, 4), wanted));
}
DZO_ITEM unsigned empty_slots(const uint64_t *b) {
  __m128i ones = _mm_set1_epi32(-1);
  return mask_of(_mm_cmpeq_epi32(_mm_and_si128(KEYS(b, 0), VALUES(b, 0)), ones),
                 _mm_cmpeq_epi32(_mm_and_si128(KEYS(b, 4), VALUES(b, 4)), ones));
}
#else
DZO_ITEM unsigned slots_of(const uint64_t *b, uint64_t key) {
  unsigned mask = 0;
  for (unsigned slot = 0; slot < SLOTS; slot++)
    mask |= (unsigned)((uint32_t)b[slot] == (uint32_t)key) << slot;
  return mask;
}
DZO_ITEM unsigned empty_slots(const uint64_t *b) {
  unsigned mask = 0;
  for (unsigned slot = 0; slot < SLOTS; slot++)
    mask |= (unsigned)(b[slot] == TABLE_CPU_EMPTY) << slot;
  return mask;
}
#endif
DZO_ITEM unsigned free_slots(const uint64_t *b) { return slots_of(b, RESERVED); }
DZO_ITEM bool is_empty(const uint64_t *b, unsigned slot) { return b[slot] == TABLE_CPU_EMPTY; }

DZO_ITEM void set_pair(uint64_t *b, unsigned slot, uint64_t key, uint64_t value) {
  b[slot] = key | value << 32;
}
DZO_ITEM void set_value(uint64_t *b, unsigned slot, uint64_t value) {
  set_pair(b, slot, key_at(b, slot), value);
}
DZO_ITEM void set_free(uint64_t *b, unsigned slot, bool tomb) {
  b[slot] = tomb ? TABLE_CPU_NARROW_TOMB : TABLE_CPU_EMPTY;
}

DZO_ITEM void publish_pair(uint64_t *b, unsigned slot, uint64_t key, uint64_t value) {
  TABLE_STEP(0);
  __atomic_store_n(&b[slot], key | value << 32, __ATOMIC_RELEASE);
}

#endif

DZO_ITEM unsigned lowest(unsigned mask) { return (unsigned)__builtin_ctz(mask); }
