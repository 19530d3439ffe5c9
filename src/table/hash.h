/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The hash of a key: one for all devices, so that a table can be cut by ranges of it. */
#ifndef DZO_TABLE_HASH_H
#define DZO_TABLE_HASH_H

#include "base/item.h"

/* 64 well-mixed bits of a key of either width. A bijection of key ^ seed, by xor-shifts and
 * multiplications, whose constants (David Stafford, Mix13) pass the usual
 * avalanche tests. */
DZO_ITEM uint64_t table_hash(uint64_t key, uint64_t seed) {
  uint64_t x = key ^ seed;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Which of `parts` equal ranges of the hash, by its upper bits: ascending with the hash. */
DZO_ITEM uint32_t table_part(uint64_t hash, uint32_t parts) {
  return (uint32_t)(((hash >> 32) * parts) >> 32);
}

#endif
