/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Are rows symmetric? Told by sums in one pass, in any order. */
#ifndef DZO_IO_ADJACENCY_HASH_H
#define DZO_IO_ADJACENCY_HASH_H

#include "base/item.h"

/* Entries are hashed one by one and the hashes added, those that lead up and those that lead down
 * with opposite signs: the sums of a symmetric file are 0, and those of another almost surely not.
 */
typedef struct dzo_hash_sum {
  uint64_t a, b;
} dzo_hash_sum;

DZO_ITEM uint64_t dzo_hash_mix(uint64_t x) { /* splitmix64 (Steele, Lea, Flood 2014) */
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

DZO_ITEM dzo_hash_sum dzo_hash_entry(uint32_t low, uint32_t high, uint64_t weight) {
  uint64_t ends = (uint64_t)low << 32 | high;
  uint64_t first = dzo_hash_mix(ends + UINT64_C(0x9e3779b97f4a7c15));
  uint64_t second = dzo_hash_mix(weight + UINT64_C(0xd1b54a32d192ed03));
  return (dzo_hash_sum){dzo_hash_mix(first + weight),
                        dzo_hash_mix(second ^ ends * UINT64_C(0xda942042e4dd58b5))};
}

DZO_ITEM void dzo_hash_add(dzo_hash_sum *sum, dzo_hash_sum x, bool negative) {
  sum->a += negative ? 0 - x.a : x.a;
  sum->b += negative ? 0 - x.b : x.b;
}

DZO_ITEM bool dzo_hash_is_zero(dzo_hash_sum sum) { return sum.a == 0 && sum.b == 0; }

#endif
