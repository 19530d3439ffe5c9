/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 3 of aggregation where what comes out is all that a table is to hold: a block makes a region
 * of the table from the records of the part that it is. Of 32-bit words only, whose slots are
 * claimed by one compare-and-swap of key and value.
 *
 * Between barriers, slots are only taken, and a key looks for its slot in an order that depends on
 * the key alone, so that all its records meet in one slot: in its first bucket, in the second if
 * the first is full, in the stash if both are. */
#ifndef DZO_TABLE_GPU_AGGREGATE_FILL_CUH
#define DZO_TABLE_GPU_AGGREGATE_FILL_CUH

#include "table/gpu_aggregate_runs.cuh"
#include "table/gpu_region_room.cuh"

enum { FILL_AT_ONCE = 4, FILL_STASHED = TABLE_STASH / 2 };

static const uint64_t FILL_FREE = UINT64_MAX; /* EMPTY, and no key */

/* What a thread of a block has put into the block's region. */
struct aggregate_filling {
  table_region<u32> region;
  table_region_state *state;
  table_aggregate_kind kind;
  u32 fresh; /* pairs that were not there */
  bool fits;
};

static __device__ __forceinline__ u64 fill_claim(const aggregate_filling *f, u32 at, u64 pair) {
  return atomicCAS((u64 *)&f->region.slots[at], (u64)FILL_FREE, pair);
}

/* The slot in the stash; TABLE_NOWHERE: it is full. */
static __device__ __forceinline__ u32 fill_stash(const aggregate_filling *f, u64 pair,
                                                 bool *fresh) {
  u32 key = table_slot_key(pair), i = table_stash_start(key);
  for (u32 n = 0; n < TABLE_STASH; n++, i = (i + 1) % TABLE_STASH) {
    u32 at = table_stash_of(f->region) + i;
    u64 seen = dzo_load_block((const u64 *)&f->region.slots[at]);
    if (seen == FILL_FREE)
      seen = fill_claim(f, at, pair);
    *fresh = seen == FILL_FREE;
    if (*fresh)
      atomicAdd(&f->state->stashed, 1u);
    if (*fresh || table_slot_key(seen) == key)
      return at;
  }
  return TABLE_NOWHERE;
}

/* The key all ones has a slot to itself, where it is 0. */
static __device__ __forceinline__ u32 fill_side(const aggregate_filling *f, u64 pair, bool *fresh) {
  *fresh = fill_claim(f, f->region.side, table_slot_value(pair)) == FILL_FREE;
  return f->region.side;
}

/* The slot of a pair, two slots being looked at at a time. *fresh: it has the value already. */
template <int S>
static __device__ __forceinline__ u32 fill_slot(const aggregate_filling *f, u64 pair, bool *fresh) {
  enum : u32 { TWOS = S / 2 };
  u32 key = table_slot_key(pair), turn = key * 0x9e3779b1u >> 24, step = 0;
  if (key == table_word<u32>::FREE)
    return fill_side(f, pair, fresh);
  u32 rest = key * f->region.regions, bucket = __umulhi(rest, f->region.buckets);
#pragma unroll 1
  for (;;) {
    u32 at = (bucket * TWOS + ((turn / 2 + step) & (TWOS - 1))) * 2;
    ulonglong2 seen = dzo_load_block((const ulonglong2 *)(f->region.slots + at));
    bool upper = table_slot_key(seen.y) == key;
    if (upper || table_slot_key(seen.x) == key)
      return at + upper;
    upper = seen.x != FILL_FREE || (seen.y == FILL_FREE && (turn & 1) != 0);
    if (!upper || seen.y == FILL_FREE) {
      u64 old = fill_claim(f, at + upper, pair);
      *fresh = old == FILL_FREE;
      if (*fresh || table_slot_key(old) == key)
        return at + upper;
      continue; /* somebody else's: look again */
    }
    step++;
    if (step == TWOS)
      bucket = table_second_bucket(key, f->region.buckets);
    if (step == 2 * TWOS)
      return fill_stash(f, pair, fresh);
  }
}

template <int S>
static __device__ __forceinline__ void fill_put(aggregate_filling *f, u32 key, u32 value) {
  bool fresh = false;
  u32 at = fill_slot<S>(f, table_slot_of(value, key), &fresh);
  f->fresh += fresh;
  if (at == TABLE_NOWHERE)
    f->fits = false;
  else if (!fresh)
    aggregate_into(f->kind, &f->region.slots[at].value, value);
}

/* 32 runs, one of each lane, by their warp. */
template <int S>
static __device__ __forceinline__ void
fill_runs(const aggregate_state<u32> &s, aggregate_filling *f, u32 *begins, aggregate_run mine) {
  aggregate_sequence q = aggregate_join(begins, mine);
  u32 before = 0;
  for (u32 first = 0; first < q.total; first += 32 * FILL_AT_ONCE) {
    aggregate_pair<u32> record[FILL_AT_ONCE];
#pragma unroll
    for (u32 j = 0; j < FILL_AT_ONCE; j++) {
      if (first + j * 32 >= q.total)
        break;
      u32 from = aggregate_locate(q, first + j * 32, &before);
      if (first + j * 32 + dzo_lane() < q.total)
        record[j] = s.records[from];
    }
#pragma unroll
    for (u32 j = 0; j < FILL_AT_ONCE; j++)
      if (first + j * 32 + dzo_lane() < q.total)
        fill_put<S>(f, record[j].key, record[j].value);
    __syncwarp();
  }
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
  table_count_up(&run.counters->inserted, f.fresh);
  __syncthreads();
  table_region_save(t, f.region, blockIdx.x);
}

/* Step 3 for a table: a block for each region. All of them, or the table has to be emptied. */
template <int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<u32>::LIGHT)
    aggregate_fill(aggregate_state<u32> s, table_layout t, table_batch_run run) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  __shared__ u32 begins[TABLE_BLOCK];
  u32 part = blockIdx.x, warp = threadIdx.x & ~31u, tiles = s.counts->rest > 0 ? s.tiles : 0;
  aggregate_filling f = {fill_begin(t, memory, &state), &state, s.kind, 0, true};
  if (aggregate_use_hot(s)) {
    aggregate_hot_range hot = aggregate_hot_of(s, part);
    for (u32 i = hot.begin + threadIdx.x; i < hot.end; i += TABLE_BLOCK)
      if (aggregate_hot_is_of(s, i, part))
        fill_put<S>(&f, s.hot_keys[i], s.hot_sums[i]);
  }
  aggregate_run next = aggregate_run_of(s, warp + dzo_lane(), part);
  bool fits = true;
  for (u32 first = 0; first < tiles && fits; first += TABLE_BLOCK) {
    aggregate_run mine = next;
    next = aggregate_run_of(s, first + TABLE_BLOCK + warp + dzo_lane(), part);
    __syncwarp();
    fill_runs<S>(s, &f, begins + warp, mine);
    fits = fill_settle<S>(f);
  }
  fill_end<S>(f, t, run, fits);
}

/* The same with what was gathered already, `times` parts a region; a warp a part. */
template <int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<u32>::LIGHT)
    aggregate_fill_gathered(aggregate_state<u32> s, table_layout t, table_batch_run run,
                            u32 times) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  aggregate_filling f = {fill_begin(t, memory, &state), &state, s.kind, 0, true};
  bool fits = s.counts->failed == 0 && s.counts->halved == 0;
  for (u32 first = 0; first < times && fits; first += TABLE_BLOCK / 32) {
    u32 part = first + threadIdx.x / 32;
    aggregate_range range = {0, 0};
    if (part < times)
      range = s.ranges[blockIdx.x * times + part];
    for (u32 i = dzo_lane(); i < range.count; i += 32)
      fill_put<S>(&f, s.out_keys[range.begin + i], s.out_values[range.begin + i]);
    __syncwarp();
    fits = fill_settle<S>(f);
  }
  fill_end<S>(f, t, run, fits);
}

#endif
