/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 1 of aggregation: which keys are hot, from a sample. */
#ifndef DZO_TABLE_GPU_AGGREGATE_SAMPLE_CUH
#define DZO_TABLE_GPU_AGGREGATE_SAMPLE_CUH

#include "table/gpu_aggregate.cuh"

static __device__ __forceinline__ uint32_t aggregate_first() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t aggregate_stride() { return gridDim.x * blockDim.x; }

template <typename Word>
static __device__ __forceinline__ void aggregate_clear(const aggregate_state<Word> &s) {
  uint32_t *counts = (uint32_t *)s.counts;
  for (uint32_t i = aggregate_first(); i < sizeof *s.counts / 4; i += aggregate_stride())
    dzo_store_shared(&counts[i], 0u);
  for (uint32_t i = aggregate_first(); i < AGGREGATE_SAMPLE_SLOTS; i += aggregate_stride())
    dzo_store_shared(&s.sampled[i], 0ull);
  for (uint32_t i = aggregate_first(); i < aggregate_hot_slots(s); i += aggregate_stride()) {
    dzo_store_shared(&s.hot_ranks[i], 0ull);
    dzo_store_shared(&s.hot_sums[i], aggregate_identity<Word>(s.kind));
    dzo_store_shared(&s.hot_first[i], UINT32_MAX);
  }
}

/* The i-th position of the sample: one of each of as many equal stretches, so that no period in the
 * records deceives. */
static __device__ __forceinline__ uint32_t aggregate_sampled(uint32_t i, uint32_t count) {
  if (count <= AGGREGATE_SAMPLE)
    return i;
  uint64_t begin = (uint64_t)i * count / AGGREGATE_SAMPLE;
  uint64_t end = (uint64_t)(i + 1) * count / AGGREGATE_SAMPLE;
  return (uint32_t)(begin + table_hash(i, 0) % (end - begin));
}

/* Keys are told apart by the upper 31 bits of the mixed ones, which suffices to count. */
template <typename Word>
static __device__ __forceinline__ void aggregate_note(const aggregate_state<Word> &s, uint32_t at) {
  uint32_t tag = aggregate_top(aggregate_mixed(s.keys[at], s.mix), 32) | 1u;
  uint32_t slot = tag >> 15;
  for (;; slot = (slot + 1) % AGGREGATE_SAMPLE_SLOTS) {
    unsigned long long seen = dzo_load_shared(&s.sampled[slot]);
    if (seen == 0)
      seen = atomicCAS(&s.sampled[slot], 0ull, (unsigned long long)tag << 32 | 1);
    if (seen == 0) {
      dzo_store_shared(&s.sampled_at[slot], at);
      return;
    }
    if (seen >> 32 == tag) {
      atomicAdd(&s.sampled[slot], 1ull);
      return;
    }
  }
}

/* Seen at least this often is hot: as many keys as there is room for, none of which is rare. */
static __device__ __forceinline__ uint32_t aggregate_threshold(const uint32_t *seen,
                                                               uint32_t room) {
  uint32_t keys = 0, often = AGGREGATE_COUNTS;
  while (often > 4) {
    keys += seen[often - 1];
    if (keys > room)
      break;
    often--;
  }
  return often;
}

/* Where a bucket has too many, the most frequent stay: each slot keeps the greatest that comes to
 * it and hands on the other. */
template <typename Word>
static __device__ __forceinline__ void aggregate_choose(const aggregate_state<Word> &s,
                                                        uint32_t slot, uint32_t often) {
  uint32_t seen = (uint32_t)dzo_load_shared(&s.sampled[slot]);
  if (seen < often)
    return;
  Word mixed = aggregate_mixed(s.keys[dzo_load_shared(&s.sampled_at[slot])], s.mix);
  unsigned long long *ranks =
      s.hot_ranks + aggregate_top(mixed, s.hot_bits) * (unsigned)AGGREGATE_HOT_SLOTS;
  unsigned long long rank = (unsigned long long)seen << 32 | slot;
  for (unsigned i = 0; i < AGGREGATE_HOT_SLOTS && rank != 0; i++)
    rank = min(rank, atomicMax(&ranks[i], rank));
}

template <typename Word>
static __device__ __forceinline__ void aggregate_heat(const aggregate_state<Word> &s, uint32_t i) {
  unsigned long long rank = dzo_load_shared(&s.hot_ranks[i]);
  Word key = aggregate_stranger<Word>(i / AGGREGATE_HOT_SLOTS);
  if (rank != 0) {
    key = aggregate_mixed(s.keys[dzo_load_shared(&s.sampled_at[(uint32_t)rank])], s.mix);
    atomicAdd(&s.counts->hot, 1u);
    atomicAdd(&s.counts->hot_taken, (uint32_t)(rank >> 32));
    atomicMax(&s.counts->most, (uint32_t)(rank >> 32));
  }
  s.hot_keys[i] = key;
}

template <typename Word>
static __global__ void __launch_bounds__(1024) aggregate_take_sample(aggregate_state<Word> s) {
  __shared__ uint32_t seen_here[AGGREGATE_COUNTS];
  uint32_t taken = min(s.count, (uint32_t)AGGREGATE_SAMPLE);
  aggregate_clear(s);
  for (uint32_t i = threadIdx.x; i < AGGREGATE_COUNTS; i += blockDim.x)
    seen_here[i] = 0;
  dzo_grid_sync();
  for (uint32_t i = aggregate_first(); i < taken; i += aggregate_stride())
    aggregate_note(s, aggregate_sampled(i, s.count));
  dzo_grid_sync();
  for (uint32_t i = aggregate_first(); i < AGGREGATE_SAMPLE_SLOTS; i += aggregate_stride()) {
    uint32_t seen = (uint32_t)dzo_load_shared(&s.sampled[i]);
    if (seen > 0)
      atomicAdd(&seen_here[min(seen, (uint32_t)AGGREGATE_COUNTS - 1)], 1u);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < AGGREGATE_COUNTS; i += blockDim.x)
    if (seen_here[i] > 0) {
      atomicAdd(&s.counts->seen[i], seen_here[i]);
      atomicAdd(&s.counts->claimed, seen_here[i]);
    }
  dzo_grid_sync();
  for (uint32_t i = threadIdx.x; i < AGGREGATE_COUNTS; i += blockDim.x)
    seen_here[i] = dzo_load_shared(&s.counts->seen[i]);
  __syncthreads();
  uint32_t often = aggregate_threshold(seen_here, aggregate_hot_slots(s) * 3 / 4);
  for (uint32_t i = aggregate_first(); i < AGGREGATE_SAMPLE_SLOTS; i += aggregate_stride())
    aggregate_choose(s, i, often);
  dzo_grid_sync();
  for (uint32_t i = aggregate_first(); i < aggregate_hot_slots(s); i += aggregate_stride())
    aggregate_heat(s, i);
}

#endif
