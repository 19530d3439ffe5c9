/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/seed.h"

#include "device/cuda.h"

enum { THREADS = 256 };

#define FREE UINT32_MAX /* a key that is none, and the value of an erased one */

/* The 32-bit finalizer of MurmurHash3 (A. Appleby). */
static __device__ __forceinline__ uint32_t mix(uint32_t key) {
  key = (key ^ key >> 16) * 0x85ebca6bu;
  key = (key ^ key >> 13) * 0xc2b2ae35u;
  return key ^ key >> 16;
}

/* Keys and values are 32-bit words, as there. */
static __device__ __forceinline__ uint32_t *key_of(uint32_t *words, uint64_t slot) {
  return &words[2 * slot];
}
static __device__ __forceinline__ uint32_t *value_of(uint32_t *words, uint64_t slot) {
  return &words[2 * slot + 1];
}

static __device__ __forceinline__ uint64_t place() {
  return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __global__ void insert(uint32_t *words, uint64_t slots, const uint32_t *keys,
                              const uint32_t *values, uint64_t count) {
  uint64_t i = place();
  if (i >= count)
    return;
  uint64_t slot = mix(keys[i]) & (slots - 1);
  for (uint64_t step = 0; step < slots; step++, slot = (slot + 1) & (slots - 1)) {
    uint32_t found = atomicCAS(key_of(words, slot), FREE, keys[i]);
    if (found != FREE && found != keys[i])
      continue;
    dzo_store_shared(value_of(words, slot), values[i]);
    return;
  }
}

static __global__ void find(uint32_t *words, uint64_t slots, const uint32_t *keys,
                            uint32_t *results, uint8_t *answers, uint64_t count) {
  uint64_t i = place();
  if (i >= count)
    return;
  uint32_t value = FREE;
  uint64_t slot = mix(keys[i]) & (slots - 1);
  for (uint64_t step = 0; step < slots; step++, slot = (slot + 1) & (slots - 1)) {
    uint32_t key = *key_of(words, slot);
    if (key == keys[i])
      value = *value_of(words, slot);
    if (key == keys[i] || key == FREE)
      break;
  }
  results[i] = value == FREE ? 0 : value;
  answers[i] = value == FREE ? DZO_TABLE_ABSENT : DZO_TABLE_FOUND;
}

static __global__ void erase(uint32_t *words, uint64_t slots, const uint32_t *keys,
                             uint64_t count) {
  uint64_t i = place();
  if (i >= count)
    return;
  uint64_t slot = mix(keys[i]) & (slots - 1);
  for (uint64_t step = 0; step < slots; step++, slot = (slot + 1) & (slots - 1)) {
    uint32_t key = *key_of(words, slot);
    if (key == keys[i])
      dzo_store_shared(value_of(words, slot), FREE);
    if (key == keys[i] || key == FREE)
      return;
  }
}

extern "C" dzo_status table_seed_create(dzo_unit *unit, uint64_t slots, table_seed *out) {
  *out = {};
  out->unit = unit;
  out->slots = 1;
  while (out->slots < slots)
    out->slots *= 2;
  DZO_TRY(dzo_unit_allocate(unit, out->slots, sizeof *out->pairs, (void **)&out->pairs));
  return table_seed_clear(out);
}

extern "C" void table_seed_destroy(table_seed *seed) {
  if (seed->unit != NULL)
    dzo_unit_release(seed->unit, seed->pairs);
  *seed = {};
}

extern "C" dzo_status table_seed_clear(table_seed *seed) {
  return dzo_unit_fill(seed->unit, 0, seed->pairs, 0xff, seed->slots * sizeof *seed->pairs);
}

extern "C" dzo_status table_seed_run(table_seed *seed, const dzo_table_batch *batch) {
  dzo_unit *unit = seed->unit;
  uint32_t *words = (uint32_t *)seed->pairs;
  const uint32_t *keys = (const uint32_t *)batch->keys;
  uint64_t count = batch->count, blocks = (count + THREADS - 1) / THREADS;
  if (count == 0)
    return DZO_OK;
  if (batch->operation == DZO_TABLE_INSERT)
    return DZO_LAUNCH(unit, 0, insert, blocks, THREADS, words, seed->slots, keys,
                      (const uint32_t *)batch->values, count);
  if (batch->operation == DZO_TABLE_FIND)
    return DZO_LAUNCH(unit, 0, find, blocks, THREADS, words, seed->slots, keys,
                      (uint32_t *)batch->results, batch->answers, count);
  if (batch->operation == DZO_TABLE_ERASE)
    return DZO_LAUNCH(unit, 0, erase, blocks, THREADS, words, seed->slots, keys, count);
  return dzo_fail(unit->context, DZO_E_UNSUPPORTED, "the seed's table has no such operation");
}
