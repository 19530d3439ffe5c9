/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The yardstick of the hash table benchmarks on the CPU: the seed's GPU table (SimpleGPUHashTable)
 * written plainly in C. Linear probing in an array of keys and values, a compare-and-swap on the
 * key, the finalizer of MurmurHash3 (A. Appleby). The key of all ones means an empty slot and the
 * value of all ones an erased pair, whose slot is not used again. Part of the program, not of the
 * library. */
#ifndef DZO_BENCH_LINEAR_TABLE_H
#define DZO_BENCH_LINEAR_TABLE_H

#include "dzo/context.h"

typedef struct linear_table linear_table;

/* An empty table for keys and values of `bits`, 32 or 64; fewer than 2^32 slots. */
dzo_status linear_table_create(dzo_context *context, uint64_t slots, int bits, linear_table **out);
void linear_table_destroy(linear_table *table); /* NULL is fine */
void linear_table_clear(linear_table *table);

/* Batches over the context's threads; keys and values uint32_t or uint64_t. Of equal keys in a
 * batch any one's value stays. Returns the pairs added; keys that found no slot are left out. */
uint64_t linear_table_insert(linear_table *table, uint64_t count, const void *keys,
                             const void *values);
/* Values to results, all ones where there is none. Returns the keys found. */
uint64_t linear_table_find(const linear_table *table, uint64_t count, const void *keys,
                           void *results);
/* Returns the pairs erased. */
uint64_t linear_table_erase(linear_table *table, uint64_t count, const void *keys);

#endif
