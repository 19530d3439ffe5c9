/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How a table lies in GPU memory.
 *
 * Slots of two words, of 4 or 8 bytes: the value, then the mixed key, a bijection of the key, which
 * is undone on the way out. Slots stand in buckets of 4 or 8, buckets in regions; all regions are
 * alike. The mixed key, read as a fraction, chooses the region and, by what is left of it, the
 * first bucket; further mixing chooses the second, in the same region. So mixed keys in ascending
 * order go through the regions in order, whatever their number, and a table of another size is made
 * by one pass over both.
 *
 * A free slot has the mixed key TABLE_FREE, all ones, and as its value EMPTY, all ones, or ERASED,
 * one less. A pair is in its first bucket; or in its second, if the first has no EMPTY slot; or in
 * the overflow, if neither has. So a look-up ends at the first EMPTY slot. The pair whose mixed key
 * is all ones is alone in the slot behind the last bucket, with 0 as its mixed key.
 *
 * Overflow: pairs that their region had no room for, sorted by mixed key. */
#ifndef DZO_TABLE_GPU_LAYOUT_H
#define DZO_TABLE_GPU_LAYOUT_H

#include "base/item.h"
#include "table/hash.h"

/* Passed to kernels by value. */
typedef struct table_layout {
  void *slots;           /* [regions * buckets * bucket_slots + 1] slots of words {value, key} */
  uint64_t regions;      /* 1 to 2^32 - 1 */
  uint32_t buckets;      /* of a region */
  uint32_t bucket_slots; /* 4 or 8 */
  uint64_t mix;          /* what the mixing depends on: table_layout_mix() of the table's seed */
  const void *over_keys; /* [over_count] mixed keys, ascending */
  void *over_values;     /* [over_count] words */
  uint8_t *over_gone;    /* [over_count] 1: erased since */
  uint64_t over_count;
  uint64_t over_room; /* pairs that its memory has room for */
} table_layout;

#define TABLE_FREE32 UINT32_C(0xffffffff)
#define TABLE_FREE64 UINT64_C(0xffffffffffffffff)

/* Another hash than table_hash() of the same seed, by whose ranges tables are cut into parts. */
DZO_ITEM uint64_t table_layout_mix(uint64_t seed) {
  return table_hash(seed, UINT64_C(0x6a09e667f3bcc909));
}

/* The bijections and their inverses. The 32-bit one has the constants of Wellons' lowbias32. */
DZO_ITEM uint32_t table_mixed32(uint32_t key, uint64_t mix) {
  uint32_t x = key ^ (uint32_t)mix;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x ^= (uint32_t)(mix >> 32);
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}
DZO_ITEM uint32_t table_unmixed32(uint32_t mixed, uint64_t mix) {
  uint32_t x = mixed;
  x = (x ^ (x >> 16)) * 0x43021123u;
  x = x ^ (x >> 15) ^ (x >> 30);
  x = (x ^ (uint32_t)(mix >> 32)) * 0x1d69e2a5u;
  return (x ^ (x >> 16)) ^ (uint32_t)mix;
}
DZO_ITEM uint64_t table_mixed64(uint64_t key, uint64_t mix) { return table_hash(key, mix); }
DZO_ITEM uint64_t table_unmixed64(uint64_t mixed, uint64_t mix) {
  uint64_t x = mixed;
  x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642b2d24d8ec3);
  x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
  return (x ^ (x >> 30) ^ (x >> 60)) ^ mix;
}

/* Where a mixed key belongs: its region, and what is left of the fraction. */
typedef struct table_place {
  uint32_t region;
  uint32_t rest;
} table_place;
DZO_ITEM table_place table_place32(uint32_t mixed, uint64_t regions) {
  uint64_t x = (uint64_t)mixed * (uint32_t)regions;
  table_place p = {(uint32_t)(x >> 32), (uint32_t)x};
  return p;
}
DZO_ITEM table_place table_place64(uint64_t mixed, uint64_t regions) {
  uint64_t low = (uint64_t)(uint32_t)mixed * (uint32_t)regions;
  uint64_t x = (uint64_t)(uint32_t)(mixed >> 32) * (uint32_t)regions + (low >> 32);
  table_place p = {(uint32_t)(x >> 32), (uint32_t)x};
  return p;
}
/* Its two buckets, counted within the region; they may be one and the same. */
DZO_ITEM uint32_t table_first_bucket(table_place place, uint32_t buckets) {
  return (uint32_t)((uint64_t)place.rest * buckets >> 32);
}
DZO_ITEM uint32_t table_second_bucket32(uint32_t mixed, uint32_t buckets) {
  uint32_t x = mixed * 0x9e3779b1u;
  x = (x ^ (x >> 15)) * 0x85ebca6bu;
  return (uint32_t)((uint64_t)x * buckets >> 32);
}
DZO_ITEM uint32_t table_second_bucket64(uint64_t mixed, uint32_t buckets) {
  return (uint32_t)((mixed & 0xffffffffu) * buckets >> 32);
}

#endif
