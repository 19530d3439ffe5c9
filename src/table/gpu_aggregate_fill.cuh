/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 4 of aggregation, where what was gathered is all that a table is to hold: a block makes a
 * region of the table of the parts that are its. Of 32-bit words only, whose slots are claimed by
 * one compare-and-swap of key and value. No key comes twice: so none is looked for, and a pair
 * takes a free slot of its first bucket, of the second if the first is full, of the stash if both
 * are. */
#ifndef DZO_TABLE_GPU_AGGREGATE_FILL_CUH
#define DZO_TABLE_GPU_AGGREGATE_FILL_CUH

#include "table/gpu_aggregate.cuh"
#include "table/gpu_region_room.cuh"

enum { FILL_STASHED = TABLE_STASH / 2 };

static const uint64_t FILL_FREE = UINT64_MAX; /* EMPTY, and no key */

/* What a thread of a block has put into the block's region. */
struct aggregate_filling {
  table_region<u32> region;
  table_region_state *state;
  u32 pairs;
  bool fits;
};

static __device__ __forceinline__ bool fill_claim(const aggregate_filling *f, u32 at, u64 pair) {
  return atomicCAS((u64 *)&f->region.slots[at], (u64)FILL_FREE, pair) == FILL_FREE;
}

static __device__ __forceinline__ bool fill_stash(const aggregate_filling *f, u64 pair) {
  u32 i = table_stash_start(table_slot_key(pair));
  for (u32 n = 0; n < TABLE_STASH; n++, i = (i + 1) % TABLE_STASH)
    if (fill_claim(f, table_stash_of(f->region) + i, pair)) {
      atomicAdd(&f->state->stashed, 1u);
      return true;
    }
  return false;
}

/* Two slots are looked at at a time; the first are chosen by the key, so that not all begin alike.
 * False: the stash is full. */
template <int S>
static __device__ __forceinline__ bool fill_slots(const aggregate_filling *f, u64 pair) {
  enum : u32 { TWOS = S / 2 };
  u32 key = table_slot_key(pair), turn = key * 0x9e3779b1u >> 24;
  u32 bucket = __umulhi(key * f->region.regions, f->region.buckets);
#pragma unroll 1
  for (u32 step = 0; step < 2 * TWOS;) {
    u32 at = (bucket * TWOS + ((turn + step) & (TWOS - 1))) * 2;
    ulonglong2 seen = dzo_load_block((const ulonglong2 *)(f->region.slots + at));
    bool lower = seen.x == FILL_FREE;
    if (lower || seen.y == FILL_FREE) {
      if (fill_claim(f, at + (lower ? 0 : 1), pair))
        return true;
    } else if (++step == TWOS) {
      bucket = table_second_bucket(key, f->region.buckets);
    }
  }
  return fill_stash(f, pair);
}

template <int S>
static __device__ __forceinline__ void fill_put(aggregate_filling *f, u32 key, u32 value) {
  f->pairs++;
  /* The key all ones has a slot to itself, where it is 0. */
  if (key == table_word<u32>::FREE)
    (void)fill_claim(f, f->region.side, table_slot_of(value, 0u));
  else if (!fill_slots<S>(f, table_slot_of(value, key)))
    f->fits = false;
}

/* An empty region. Ends with a barrier. */
static __device__ table_region<u32> fill_begin(const table_layout &t, char *memory,
                                               table_region_state *state) {
  table_region<u32> r = table_region_divide<u32>(t, memory);
  for (u32 i = threadIdx.x; i < r.side + 1 + TABLE_STASH; i += TABLE_BLOCK)
    table_make_free(&r.slots[i]);
  for (u32 i = threadIdx.x; i < TABLE_STASH / 32; i += TABLE_BLOCK)
    state->gone[i] = 0;
  if (threadIdx.x == 0) {
    state->over[0] = state->over[1] = 0;
    state->pairs = state->stashed = 0;
  }
  __syncthreads();
  return r;
}

/* Ends with a barrier. Returns whether all threads could place all of theirs, and the stash has
 * room again. */
template <int S> static __device__ bool fill_settle(const aggregate_filling &f) {
  bool fits = __syncthreads_or(!f.fits) == 0;
  if (fits && f.state->stashed > FILL_STASHED) {
    table_empty_stash<u32, S>(f.region, f.state);
    fits = f.state->stashed <= FILL_STASHED;
  }
  __syncthreads();
  return fits;
}

/* All threads. The region is full, or is done. */
template <int S>
static __device__ void fill_end(const aggregate_filling &f, const table_layout &t,
                                const table_batch_run &run, bool fits) {
  if (!fits) {
    if (threadIdx.x == 0)
      atomicAdd((u64 *)&run.counters->refused, 1ull);
    return;
  }
  table_spill<u32, S>(f.region, f.state, run);
  table_count_up(&run.counters->inserted, f.pairs);
  __syncthreads();
  table_region_save(t, f.region, blockIdx.x);
}

/* A warp's share of a region that has `times` parts, of which there are some in each of `turns`. */
static __device__ __forceinline__ aggregate_range fill_share(const aggregate_state<u32> &s,
                                                             u32 times, u32 turn) {
  enum : u32 { WARPS = TABLE_BLOCK / 32 };
  u32 warps = times < WARPS ? WARPS / times : 1; /* of a part */
  u32 number = turn * WARPS + threadIdx.x / 32, part = number / warps;
  if (part >= times)
    return {0, 0};
  aggregate_range range = s.ranges[blockIdx.x * times + part];
  u32 each = (range.count + warps - 1) / warps, begin = min(number % warps * each, range.count);
  return {range.begin + begin, min(each, range.count - begin)};
}

/* A block for each region. All of them, or the table has to be emptied. */
template <int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<u32>::LIGHT)
    aggregate_fill(aggregate_state<u32> s, table_layout t, table_batch_run run, u32 times) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  aggregate_filling f = {fill_begin(t, memory, &state), &state, 0, true};
  bool fits = s.counts->failed == 0 && s.counts->halved == 0;
  for (u32 turn = 0; turn * (TABLE_BLOCK / 32) < times && fits; turn++) {
    aggregate_range range = fill_share(s, times, turn);
    for (u32 i = dzo_lane(); i < range.count; i += 32)
      fill_put<S>(&f, s.out_keys[range.begin + i], s.out_values[range.begin + i]);
    __syncwarp();
    fits = fill_settle<S>(f);
  }
  fill_end<S>(f, t, run, fits);
}

#endif
