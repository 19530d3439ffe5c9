/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_rebuild.h"

#include "table/gpu_region_room.cuh"

enum { THREADS = 256, AHEAD = 4 }; /* slots that a thread loads at a time */

/* So often a region tries in vain to make room for its stash: then its keys were chosen against the
 * hash, and the time to bring them to the overflow must not depend on that. */
enum { VAIN_TRIES = 16 };

/* ---- Into a table of another size -------------------------------------------------------------
 */

typedef struct rebuild_run {
  table_layout from;
  void *spill;
  u64 room;
  table_counters *counters;
} rebuild_run;

/* Keys are unique here, so claims need not meet. False: the stash is full. */
template <typename W, int S>
static __device__ bool put_pair(const table_region<W> &r, table_region_state *state,
                                table_pair<W> pair) {
  table_place place = table_place_of(pair.key, r.regions);
  u32 bucket = table_first_bucket(place, r.buckets), at = TABLE_NOWHERE;
  for (int choice = 0; choice < 2 && at == TABLE_NOWHERE; choice++) {
    at = table_claim_in<W, S>(r, bucket, pair.key, table_free_in<W, S>(r, bucket));
    bucket = table_second_bucket(pair.key, r.buckets);
  }
  if (at == TABLE_NOWHERE) {
    if (dzo_load_block(&state->stashed) >= TABLE_STASH_FULL - TABLE_BLOCK)
      return false;
    at = table_claim_stash<W>(r, state, pair.key);
  }
  dzo_store_block(&r.slots[at].value, pair.value);
  return true;
}

template <typename W>
static __device__ void spill_pair(const rebuild_run &run, table_pair<W> pair) {
  u64 to = atomicAdd((u64 *)&run.counters->spilled, 1ull);
  if (to < run.room)
    ((table_pair<W> *)run.spill)[to] = pair;
}

/* Up to AHEAD pairs of each thread; *vain: tries to make room that failed. All threads. */
template <typename W, int S>
static __device__ void put_pairs(const rebuild_run &run, const table_region<W> &r,
                                 table_region_state *state, table_pair<W> *pairs, u32 *vain) {
  for (;;) {
    bool waiting = false;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      if (pairs[k].key == table_word<W>::FREE)
        continue;
      if (put_pair<W, S>(r, state, pairs[k]))
        pairs[k].key = table_word<W>::FREE;
      else
        waiting = true;
    }
    if (!__syncthreads_or(waiting))
      return;
    if (*vain < VAIN_TRIES) {
      table_empty_stash<W, S>(r, state);
      u32 left = state->stashed;
      __syncthreads();
      if (left < TABLE_STASH_FULL - TABLE_BLOCK)
        continue;
      ++*vain;
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
      if (pairs[k].key != table_word<W>::FREE)
        spill_pair(run, pairs[k]);
    return;
  }
}

template <typename W>
static __device__ table_region<W> empty_region(const table_layout &t, char *memory,
                                               table_region_state *state) {
  table_region<W> r = table_region_divide<W>(t, memory);
  for (u32 i = threadIdx.x; i < r.side + 1 + TABLE_STASH; i += TABLE_BLOCK)
    table_make_free(&r.slots[i]);
  if (threadIdx.x < TABLE_STASH / 32)
    state->gone[threadIdx.x] = 0;
  if (threadIdx.x == 0)
    state->pairs = state->stashed = 0;
  __syncthreads();
  return r;
}

/* Takes those of the pairs source[begin .. end) that belong here. */
template <typename W, int S>
static __device__ void take_slots(const rebuild_run &run, const table_region<W> &r,
                                  table_region_state *state, u64 begin, u64 end, u32 *vain) {
  const typename table_word<W>::slot *source = (const typename table_word<W>::slot *)run.from.slots;
  for (u64 base = begin; base < end; base += AHEAD * TABLE_BLOCK) {
    table_pair<W> pairs[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      u64 i = base + (u64)k * TABLE_BLOCK + threadIdx.x;
      pairs[k].key = table_word<W>::FREE;
      if (i >= end)
        continue;
      typename table_word<W>::slot s = source[i];
      pairs[k].value = table_slot_value(s);
      if (table_place_of(table_slot_key(s), r.regions).region == blockIdx.x)
        pairs[k].key = table_slot_key(s);
    }
    put_pairs<W, S>(run, r, state, pairs, vain);
  }
}

template <typename W, int S>
static __device__ void take_over(const rebuild_run &run, const table_region<W> &r,
                                 table_region_state *state, u64 begin, u64 end, u32 *vain) {
  for (u64 base = begin; base < end; base += TABLE_BLOCK) {
    table_pair<W> pairs[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
      pairs[k].key = table_word<W>::FREE;
    u64 i = base + threadIdx.x;
    if (i < end && run.from.over_gone[i] == 0) {
      pairs[0].key = ((const W *)run.from.over_keys)[i];
      pairs[0].value = ((const W *)run.from.over_values)[i];
    }
    put_pairs<W, S>(run, r, state, pairs, vain);
  }
}

/* The end: what has no place in the region. All threads. */
template <typename W, int S>
static __device__ void spill_stash(const rebuild_run &run, const table_region<W> &r,
                                   table_region_state *state) {
  if (state->stashed > 0)
    table_empty_stash<W, S>(r, state);
  if (state->stashed > 0)
    for (u32 i = threadIdx.x; i < TABLE_STASH; i += TABLE_BLOCK)
      if (r.slots[table_stash_of(r) + i].key != table_word<W>::FREE)
        spill_pair(run, r.slots[table_stash_of(r) + i]);
  __syncthreads();
}

/* A block a region of the new table. */
template <typename W, int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<W>::LIGHT)
    table_rebuild(table_layout to, rebuild_run run) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  if (threadIdx.x < 2) {
    table_layout over = run.from;
    over.regions = to.regions;
    state.over[threadIdx.x] = table_over_bound<W>(over, (u64)blockIdx.x + threadIdx.x);
  }
  table_region<W> r = empty_region<W>(to, memory, &state);
  u64 region = (u64)run.from.buckets * S, number = blockIdx.x;
  u64 first = number * run.from.regions / to.regions;
  u64 last = ((number + 1) * run.from.regions - 1) / to.regions;
  u32 vain = 0;
  take_slots<W, S>(run, r, &state, first * region, (last + 1) * region, &vain);
  take_over<W, S>(run, r, &state, state.over[0], state.over[1], &vain);
  if (threadIdx.x == 0 && number + 1 == to.regions)
    r.slots[r.side] = ((const table_pair<W> *)run.from.slots)[run.from.regions * region];
  spill_stash<W, S>(run, r, &state);
  table_region_save(to, r, blockIdx.x);
}

/* ---- The same where there is plenty of room ---------------------------------------------------
 *
 * Of each bucket only how many pairs it was given is kept: what is beyond its slots goes on to the
 * second bucket. Few find no place in either. */

template <typename W>
static __device__ __forceinline__ u32 *counts_behind(const table_region<W> &r) {
  return table_behind(r);
}
template <typename W, int S>
static __device__ __forceinline__ void spread_pair(const rebuild_run &run, const table_region<W> &r,
                                                   table_region_state *state, W key, W value) {
  table_place place = table_place_of(key, r.regions);
  if (key == table_word<W>::FREE || place.region != blockIdx.x)
    return;
  u32 *counts = counts_behind(r), bucket = table_first_bucket(place, r.buckets);
  u32 at = atomicAdd(&counts[bucket], 1u);
  if (at >= S) {
    bucket = table_second_bucket(key, r.buckets);
    at = atomicAdd(&counts[bucket], 1u);
  }
  table_pair<W> pair = {value, key};
  u32 stash = at < S ? 0 : atomicAdd(&state->stashed, 1u);
  if (at < S)
    r.slots[bucket * S + at] = pair;
  else if (stash < TABLE_STASH_FULL - TABLE_BLOCK)
    r.slots[table_stash_of(r) + stash] = pair;
  else
    spill_pair(run, pair);
}

static __device__ __forceinline__ void spread_word(u32 *key, u32 *value, ulonglong2 two, int i) {
  *key = table_slot_key(i == 0 ? two.x : two.y);
  *value = table_slot_value(i == 0 ? two.x : two.y);
}
static __device__ __forceinline__ void spread_word(u64 *key, u64 *value, ulonglong2 one, int) {
  *key = one.y;
  *value = one.x;
}

/* All slots of the old regions, 16 bytes at a time, many on their way. */
template <typename W, int S>
static __device__ void spread_slots(const rebuild_run &run, const table_region<W> &r,
                                    table_region_state *state, u64 begin, u64 end) {
  enum { EACH = 16 / (int)sizeof(table_pair<W>), MANY = 2 * AHEAD };
  const ulonglong2 *source = (const ulonglong2 *)run.from.slots;
  for (u64 base = begin; base < end; base += MANY * TABLE_BLOCK) {
    ulonglong2 words[MANY];
#pragma unroll
    for (int k = 0; k < MANY; k++) {
      u64 i = base + (u64)k * TABLE_BLOCK + threadIdx.x;
      words[k] = i < end ? source[i] : make_ulonglong2(~0ull, ~0ull);
    }
#pragma unroll
    for (int k = 0; k < MANY; k++)
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        W key, value;
        spread_word(&key, &value, words[k], i);
        spread_pair<W, S>(run, r, state, key, value);
      }
  }
}

/* For a pair that found both its buckets given away, one of theirs goes to its other bucket. A
 * warp; false: there is none that can. */
template <typename W, int S>
static __device__ bool make_way(const table_region<W> &r, table_pair<W> pair) {
  u32 *counts = counts_behind(r), lane = dzo_lane(), at = 0, other = 0;
  bool able = lane < 2 * S;
  if (able) {
    u32 first = table_first_bucket(table_place_of(pair.key, r.regions), r.buckets);
    u32 bucket = lane < S ? first : table_second_bucket(pair.key, r.buckets);
    at = bucket * S + lane % S;
    other = table_other_bucket<W>(r, dzo_load_block(&r.slots[at].key), bucket);
    able = other != bucket && dzo_load_block(&counts[other]) < S;
  }
  u32 votes = __ballot_sync(DZO_WARP_ALL, able);
  if (votes != 0 && lane == (u32)__ffs((int)votes) - 1) {
    u32 to = other * S + dzo_load_block(&counts[other]);
    dzo_store_block(&counts[other], to % S + 1);
    dzo_store_block(&r.slots[to].key, dzo_load_block(&r.slots[at].key));
    dzo_store_block(&r.slots[to].value, dzo_load_block(&r.slots[at].value));
    dzo_store_block(&r.slots[at].key, pair.key);
    dzo_store_block(&r.slots[at].value, pair.value);
  }
  __syncwarp();
  return votes != 0;
}

/* So for all of the stash; what is left in it. All threads. */
template <typename W, int S>
static __device__ u32 place_stashed(const table_region<W> &r, table_region_state *state) {
  __syncthreads();
  if (threadIdx.x < 32) {
    u32 stashed = min(state->stashed, (u32)(TABLE_STASH_FULL - TABLE_BLOCK)), kept = 0;
    __syncwarp(); /* all have read it */
    for (u32 n = 0; n < stashed; n++) {
      table_pair<W> pair = r.slots[table_stash_of(r) + n];
      if (!make_way<W, S>(r, pair) && dzo_lane() == 0)
        r.slots[table_stash_of(r) + kept++] = pair;
      __syncwarp();
    }
    if (threadIdx.x == 0)
      state->stashed = kept;
  }
  __syncthreads();
  return state->stashed;
}

/* A slot that was given nothing is EMPTY. */
static __device__ __forceinline__ uint4 spread_given(uint4 x, u32 place, u32 given, u32) {
  uint4 none = make_uint4(~0u, ~0u, ~0u, ~0u);
  return place + 1 < given ? x : place < given ? make_uint4(x.x, x.y, ~0u, ~0u) : none;
}
static __device__ __forceinline__ uint4 spread_given(uint4 x, u32 place, u32 given, u64) {
  return place < given ? x : make_uint4(~0u, ~0u, ~0u, ~0u);
}

/* The region, if all its pairs are in buckets. */
template <typename W, int S>
static __device__ void save_spread(const table_layout &to, const table_region<W> &r,
                                   const rebuild_run &run, u32 number) {
  enum { EACH = 16 / (int)sizeof(table_pair<W>) };
  u32 words = r.side / EACH;
  uint4 *out = (uint4 *)to.slots + (u64)number * words;
  const uint4 *from = (const uint4 *)r.slots;
  const u32 *counts = counts_behind(r);
#pragma unroll 4
  for (u32 i = threadIdx.x; i < words; i += TABLE_BLOCK)
    __stcs(out + i, spread_given(from[i], i * EACH % S, counts[i * EACH / S], (W)0));
  if (threadIdx.x == 0 && number + 1 == to.regions)
    ((table_pair<W> *)to.slots)[to.regions * r.side] =
        ((const table_pair<W> *)run.from.slots)[run.from.regions * run.from.buckets * S];
}

/* What found no place looks for one among pairs that move more than once. All threads. */
template <typename W, int S>
static __device__ void finish_spreading(const table_region<W> &r, table_region_state *state) {
  const u32 *counts = counts_behind(r);
  u32 stashed = state->stashed;
  for (u32 i = threadIdx.x; i < r.side; i += TABLE_BLOCK)
    if (i % S >= counts[i / S])
      table_make_free(&r.slots[i]);
  for (u32 i = stashed + threadIdx.x; i < TABLE_STASH; i += TABLE_BLOCK)
    table_make_free(&r.slots[table_stash_of(r) + i]);
  if (threadIdx.x < TABLE_STASH / 32)
    state->gone[threadIdx.x] = 0;
  __syncthreads();
  if (stashed > 0)
    table_empty_stash<W, S>(r, state);
}

template <typename W, int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<W>::LIGHT)
    table_spread(table_layout to, rebuild_run run) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  u64 number = blockIdx.x, words = (u64)run.from.buckets * S * sizeof(table_pair<W>) / 16;
  table_region<W> r = table_region_divide<W>(to, memory);
  for (u32 i = threadIdx.x; i < r.buckets; i += TABLE_BLOCK)
    counts_behind(r)[i] = 0;
  if (threadIdx.x == 0)
    state.pairs = state.stashed = 0;
  if (threadIdx.x < 2) {
    table_layout over = run.from;
    over.regions = to.regions;
    state.over[threadIdx.x] = table_over_bound<W>(over, number + threadIdx.x);
  }
  __syncthreads();
  u64 first = number * run.from.regions / to.regions;
  u64 last = ((number + 1) * run.from.regions - 1) / to.regions;
  spread_slots<W, S>(run, r, &state, first * words, (last + 1) * words);
  if (place_stashed<W, S>(r, &state) == 0 && state.over[0] == state.over[1]) {
    save_spread<W, S>(to, r, run, blockIdx.x);
    return;
  }
  finish_spreading<W, S>(r, &state);
  u32 vain = 0;
  take_over<W, S>(run, r, &state, state.over[0], state.over[1], &vain);
  if (threadIdx.x == 0)
    table_make_free(&r.slots[r.side]);
  if (threadIdx.x == 0 && number + 1 == to.regions)
    r.slots[r.side] =
        ((const table_pair<W> *)run.from.slots)[run.from.regions * run.from.buckets * S];
  spill_stash<W, S>(run, r, &state);
  table_region_save(to, r, blockIdx.x);
}

/* ---- From the host ----------------------------------------------------------------------------
 */

template <typename W, int S>
static dzo_status rebuild(dzo_unit *unit, const table_layout *to, const rebuild_run *run,
                          bool plenty) {
  u64 bytes = table_block_bytes<W>(to->buckets * S, to->buckets);
  u64 counts = 4ull * to->buckets;
  if (plenty && bytes + counts + sizeof(table_region_state) <= unit->shared)
    return DZO_LAUNCH_SHARED(unit, 0, (table_spread<W, S>), to->regions, TABLE_BLOCK,
                             bytes + counts, *to, *run);
  return DZO_LAUNCH_SHARED(unit, 0, (table_rebuild<W, S>), to->regions, TABLE_BLOCK, bytes, *to,
                           *run);
}

dzo_status table_gpu_rebuild(dzo_unit *unit, const table_layout *from, const table_layout *to,
                             bool wide, bool plenty, void *spill, uint64_t room,
                             table_counters *counters) {
  rebuild_run run = {*from, spill, room, counters};
  if (to->bucket_slots == 4)
    return wide ? rebuild<u64, 4>(unit, to, &run, plenty) : rebuild<u32, 4>(unit, to, &run, plenty);
  return wide ? rebuild<u64, 8>(unit, to, &run, plenty) : rebuild<u32, 8>(unit, to, &run, plenty);
}

/* ---- Out --------------------------------------------------------------------------------------
 */

typedef struct export_run {
  u64 first, end; /* places */
  void *keys, *values;
  table_counters *counters;
} export_run;

/* All threads of a block, some of which have a pair. */
template <typename W>
static __device__ void export_pairs(const table_layout &t, const export_run &e, bool have, W key,
                                    W value) {
  __shared__ u32 s_count;
  __shared__ u64 s_base;
  if (threadIdx.x == 0)
    s_count = 0;
  __syncthreads();
  u32 votes = __ballot_sync(DZO_WARP_ALL, have), place = 0;
  if (dzo_lane() == 0 && votes != 0)
    place = atomicAdd(&s_count, (u32)__popc(votes));
  place = __shfl_sync(DZO_WARP_ALL, place, 0) + (u32)__popc(votes & dzo_lanes_below());
  __syncthreads();
  if (threadIdx.x == 0)
    s_base = atomicAdd((u64 *)&e.counters->found, (u64)s_count);
  __syncthreads();
  if (!have)
    return;
  if (e.keys != NULL)
    ((W *)e.keys)[s_base + place] = table_unmixed(key, t.mix);
  if (e.values != NULL)
    ((W *)e.values)[s_base + place] = value;
}

/* Slots first, then the lone pair, then the overflow. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) table_export(table_layout t, export_run e) {
  u64 i = e.first + (u64)blockIdx.x * THREADS + threadIdx.x;
  u64 slots = t.regions * t.buckets * t.bucket_slots;
  W key = table_word<W>::FREE, value = 0;
  bool have = false;
  if (i >= e.end) {
    have = false;
  } else if (i <= slots) {
    table_pair<W> pair = ((const table_pair<W> *)t.slots)[i];
    have = pair.key != table_word<W>::FREE;
    key = i < slots ? pair.key : (W)table_word<W>::FREE;
    value = pair.value;
  } else if (i - slots - 1 < t.over_count) {
    u64 at = i - slots - 1;
    have = t.over_gone[at] == 0;
    key = ((const W *)t.over_keys)[at];
    value = ((const W *)t.over_values)[at];
  }
  export_pairs<W>(t, e, have, key, value);
}

dzo_status table_gpu_export(dzo_unit *unit, const table_layout *t, bool wide, uint64_t first,
                            uint64_t count, void *keys, void *values, table_counters *counters) {
  export_run e = {first, first + count, keys, values, counters};
  u64 blocks = (count + THREADS - 1) / THREADS;
  return wide ? DZO_LAUNCH(unit, 0, table_export<u64>, blocks, THREADS, *t, e)
              : DZO_LAUNCH(unit, 0, table_export<u32>, blocks, THREADS, *t, e);
}

/* ---- Counted ----------------------------------------------------------------------------------
 */

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    table_take_census(table_layout t, table_census *census) {
  u64 slots = t.regions * t.buckets * t.bucket_slots;
  u32 first = 0, second = 0, erased = 0;
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < slots; i += (u64)gridDim.x * THREADS) {
    table_pair<W> pair = ((const table_pair<W> *)t.slots)[i];
    if (pair.key == table_word<W>::FREE) {
      erased += pair.value != table_word<W>::EMPTY;
      continue;
    }
    u32 bucket = (u32)(i / t.bucket_slots % t.buckets);
    bool home = table_first_bucket(table_place_of(pair.key, t.regions), t.buckets) == bucket;
    first += home;
    second += !home;
  }
  __syncwarp();
  table_count_up(&census->first, first);
  table_count_up(&census->second, second);
  table_count_up(&census->erased, erased);
}

dzo_status table_gpu_census(dzo_unit *unit, const table_layout *t, bool wide,
                            table_census *census) {
  u64 blocks = (t->regions * t->buckets * t->bucket_slots + THREADS - 1) / THREADS;
  u64 most = 16u * (u64)unit->processors;
  blocks = blocks < most ? blocks : most;
  return wide ? DZO_LAUNCH(unit, 0, table_take_census<u64>, blocks, THREADS, *t, census)
              : DZO_LAUNCH(unit, 0, table_take_census<u32>, blocks, THREADS, *t, census);
}
