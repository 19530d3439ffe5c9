/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "view_kernels.h"

#include "device/cuda.h"
#include "dzo/table_device.cuh"
#include "table/gpu_layout.h"

typedef unsigned long long u64;

/* Keys 0 .. keys - 1 are spread over all words by a multiplication, which can be undone. */
#define SPREAD 0x9e3779b97f4a7c15ull
template <typename Word> static __device__ Word key_of(uint64_t id) { return (Word)(id * SPREAD); }

template <typename Word> static __device__ uint64_t id_of(Word key) {
  Word inverse = (Word)SPREAD;
  for (int i = 0; i < 5; i++)
    inverse *= (Word)2 - (Word)SPREAD * inverse;
  return (Word)(key * inverse);
}

static __device__ void add_to(uint64_t *sum, uint64_t x) { atomicAdd((u64 *)sum, (u64)x); }

template <typename Word> struct choice {
  dzo_table_operation operation;
  uint64_t id;
  Word value;
};

/* The i-th operation of all. */
template <typename Word> static __device__ choice<Word> choose(const view_load &load, uint64_t i) {
  uint64_t word = table_hash(load.offset + i, 77);
  uint32_t dice = (uint32_t)word & 255;
  choice<Word> c;
  c.operation = dice < load.erase               ? DZO_TABLE_ERASE
                : dice - load.erase < load.find ? DZO_TABLE_FIND
                : dice % 3 == 0                 ? DZO_TABLE_INSERT
                : dice % 3 == 1                 ? DZO_TABLE_ASSIGN
                                                : DZO_TABLE_ADD;
  c.id = __umul64hi(word, load.keys);
  c.value = (Word)table_hash(word, 78);
  return c;
}

template <typename Word>
static __device__ dzo_table_answer operate(const dzo_table_view &view,
                                           dzo_table_operation operation, Word key, Word value,
                                           Word *seen) {
  switch (operation) {
  case DZO_TABLE_FIND:
    return dzo_table_view_find(view, key, seen);
  case DZO_TABLE_INSERT:
    return dzo_table_view_insert(view, key, value, seen);
  case DZO_TABLE_ASSIGN:
    return dzo_table_view_assign(view, key, value, seen);
  case DZO_TABLE_ADD:
    return dzo_table_view_add(view, key, value, seen);
  default:
    return dzo_table_view_erase(view, key, seen);
  }
}

/* ---- Loads ------------------------------------------------------------------------------------
 */

/* What the answer says that became of the pair: how the number of pairs and the sum change. */
template <typename Word>
static __device__ void account(const choice<Word> &c, dzo_table_answer answer, Word seen,
                               view_range *range, view_outcome *outcome) {
  bool stores = c.operation != DZO_TABLE_FIND && c.operation != DZO_TABLE_ERASE;
  if (answer == DZO_TABLE_REFUSED && stores) {
    add_to(&outcome->refused, 1);
  } else if (answer == DZO_TABLE_INSERTED && stores && seen == c.value) {
    add_to(&range->pairs, 1);
    add_to(&range->sum, c.value);
  } else if (answer == DZO_TABLE_FOUND && c.operation == DZO_TABLE_ERASE) {
    add_to(&range->pairs, ~0ull);
    add_to(&range->sum, 0 - (uint64_t)seen);
  } else if (answer == DZO_TABLE_FOUND && c.operation == DZO_TABLE_ASSIGN) {
    add_to(&range->sum, (uint64_t)c.value - (uint64_t)seen);
  } else if (answer == DZO_TABLE_FOUND && c.operation == DZO_TABLE_ADD) {
    add_to(&range->sum, (uint64_t)(Word)(seen + c.value) - (uint64_t)seen);
  } else if (!(answer == DZO_TABLE_FOUND || (answer == DZO_TABLE_ABSENT && !stores))) {
    add_to(&outcome->wrong, 1);
  }
}

template <typename Word>
static __global__ void run_load(dzo_table_view view, view_load load, view_range *ranges,
                                view_outcome *outcome) {
  uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
  for (uint32_t n = 0; n < load.each; n++) {
    choice<Word> c = choose<Word>(load, n * threads + thread);
    Word seen = 0;
    dzo_table_answer answer = operate(view, c.operation, key_of<Word>(c.id), c.value, &seen);
    account(c, answer, seen, &ranges[c.id % load.ranges], outcome);
  }
}

extern "C" dzo_status view_run_load(dzo_unit *unit, bool wide, const dzo_table_view *view,
                                    view_load load, unsigned blocks, unsigned threads,
                                    view_range *ranges, view_outcome *outcome) {
  return wide ? DZO_LAUNCH(unit, 0, run_load<uint64_t>, blocks, threads, *view, load, ranges,
                           outcome)
              : DZO_LAUNCH(unit, 0, run_load<uint32_t>, blocks, threads, *view, load, ranges,
                           outcome);
}

template <typename Word>
static __global__ void subtract(const Word *slots, uint64_t count, uint64_t mix, view_load load,
                                view_range *ranges, uint32_t *times, view_outcome *outcome) {
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
       i += (uint64_t)gridDim.x * blockDim.x) {
    Word value = slots[2 * i], mixed = slots[2 * i + 1];
    if (mixed == (Word) ~(Word)0)
      continue;
    Word key = sizeof(Word) == 8 ? (Word)table_unmixed64(mixed, mix)
                                 : (Word)table_unmixed32((uint32_t)mixed, mix);
    uint64_t id = id_of<Word>(key);
    if (id >= load.keys) {
      add_to(&outcome->wrong, 1);
      continue;
    }
    atomicAdd(&times[id], 1u);
    add_to(&ranges[id % load.ranges].pairs, ~0ull);
    add_to(&ranges[id % load.ranges].sum, 0 - (uint64_t)value);
  }
}

extern "C" dzo_status view_subtract(dzo_unit *unit, bool wide, const void *slots, uint64_t count,
                                    uint64_t mix, view_load load, view_range *ranges,
                                    uint32_t *times, view_outcome *outcome) {
  unsigned blocks = (unsigned)unit->processors * 8;
  return wide ? DZO_LAUNCH(unit, 0, subtract<uint64_t>, blocks, 256, (const uint64_t *)slots, count,
                           mix, load, ranges, times, outcome)
              : DZO_LAUNCH(unit, 0, subtract<uint32_t>, blocks, 256, (const uint32_t *)slots, count,
                           mix, load, ranges, times, outcome);
}

/* ---- Histories --------------------------------------------------------------------------------
 */

static __device__ uint64_t tick(uint64_t *clock) {
  __threadfence();
  uint64_t now = atomicAdd((u64 *)clock, 1ull);
  __threadfence();
  return now;
}

template <typename Word>
static __global__ void run_history(dzo_table_view view, view_load load, event *events,
                                   uint64_t *clock) {
  uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  uint64_t threads = (uint64_t)gridDim.x * blockDim.x;
  for (uint32_t n = 0; n < load.each; n++) {
    uint64_t i = n * threads + thread;
    choice<Word> c = choose<Word>(load, i);
    Word seen = 0;
    event e;
    e.key = c.id;
    e.operation = c.operation;
    e.value = c.value;
    e.begin = tick(clock);
    e.answer = operate(view, c.operation, key_of<Word>(c.id), c.value, &seen);
    e.end = tick(clock);
    e.seen = seen;
    events[i] = e;
  }
}

extern "C" dzo_status view_run_history(dzo_unit *unit, bool wide, const dzo_table_view *view,
                                       view_load load, unsigned blocks, unsigned threads,
                                       event *events, uint64_t *clock) {
  return wide ? DZO_LAUNCH(unit, 0, run_history<uint64_t>, blocks, threads, *view, load, events,
                           clock)
              : DZO_LAUNCH(unit, 0, run_history<uint32_t>, blocks, threads, *view, load, events,
                           clock);
}

/* ---- Lists ------------------------------------------------------------------------------------
 */

template <typename Word>
static __global__ void run_batch(dzo_table_view view, dzo_table_operation operation, uint64_t count,
                                 const Word *keys, const Word *values, Word *seen,
                                 uint8_t *answers) {
  uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
  if (i < count)
    answers[i] = (uint8_t)operate(view, operation, keys[i], values[i], &seen[i]);
}

extern "C" dzo_status view_run_batch(dzo_unit *unit, bool wide, const dzo_table_view *view,
                                     dzo_table_operation operation, uint64_t count,
                                     const void *keys, const void *values, void *seen,
                                     uint8_t *answers) {
  unsigned blocks = (unsigned)((count + 127) / 128);
  return wide ? DZO_LAUNCH(unit, 0, run_batch<uint64_t>, blocks, 128, *view, operation, count,
                           (const uint64_t *)keys, (const uint64_t *)values, (uint64_t *)seen,
                           answers)
              : DZO_LAUNCH(unit, 0, run_batch<uint32_t>, blocks, 128, *view, operation, count,
                           (const uint32_t *)keys, (const uint32_t *)values, (uint32_t *)seen,
                           answers);
}
