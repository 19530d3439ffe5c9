/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A region in a block's shared memory: its slots, the slot of the pair whose mixed key is all ones,
 * and the stash, an open table of the pairs that found both their buckets full and wait to be
 * placed. All of them are slots with numbers.
 *
 * Items are worked on in tiles of one item a thread, with barriers between looking and changing: so
 * all threads of a tile see the region as the last tile left it. */
#ifndef DZO_TABLE_GPU_REGION_CUH
#define DZO_TABLE_GPU_REGION_CUH

#include "table/gpu_region.h"
#include "table/gpu_word.cuh"

enum : u32 {
  TABLE_NOWHERE = 0xffffffffu,
  TABLE_OVER = 0x80000000u, /* a place in the overflow of the region, from over_begin on */
  TABLE_TAKEN = 0x40000000u /* of table_claim(): another thread of the tile has put the key there */
};

/* Blocks that a multiprocessor works on at a time, as far as registers go. */
template <typename W> struct table_blocks {
  enum { LIGHT = (sizeof(W) == 4 && (int)TABLE_THREADS_MOST >= 1536 ? 1536 : 1024) / TABLE_BLOCK };
};

/* What threads keep of it in registers, which are scarce. */
template <typename W> struct table_region {
  table_pair<W> *slots;
  u32 buckets, side; /* side: the slot of the lone pair, behind the last bucket; then, the stash */
  u32 regions;
  bool sparse; /* few buckets will change: which of them is noted */
};
template <typename W> __device__ __forceinline__ u32 table_stash_of(const table_region<W> &r) {
  return r.side + 1;
}

/* Of a block, beside the slots. */
typedef struct table_region_state {
  u64 over[2];
  u32 pairs;                  /* in buckets */
  u32 stashed;                /* in the stash */
  u32 gone[TABLE_STASH / 32]; /* slots of the stash whose pair was erased */
  u32 gathered;
} table_region_state;

__device__ __forceinline__ bool table_is_gone(const table_region_state *s, u32 i) {
  return dzo_load_block(&s->gone[i / 32]) >> (i & 31) & 1;
}

/* ---- Coming and going -------------------------------------------------------------------------
 */

__device__ __forceinline__ u32 table_live(uint4 x, u32) {
  return (u32)(x.y != table_word<u32>::FREE) + (u32)(x.w != table_word<u32>::FREE);
}
__device__ __forceinline__ u32 table_live(uint4 x, u64) {
  return (u32)((x.z & x.w) != 0xffffffffu);
}

/* First place in the overflow whose key belongs to this region or one after it. */
template <typename W> static __device__ u64 table_over_bound(const table_layout &t, u64 region) {
  const W *keys = (const W *)t.over_keys;
  u64 begin = 0, end = t.over_count;
  while (begin < end) {
    u64 middle = begin + (end - begin) / 2;
    if (table_place_of(keys[middle], t.regions).region < region)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* Free; the value is above any that a claim compares it with. */
template <typename W> __device__ __forceinline__ void table_make_free(table_pair<W> *slot) {
  slot->value = table_word<W>::EMPTY;
  slot->key = table_word<W>::FREE;
}

/* A block's memory: the slots, three maps of a bit for each bucket, and then what the kernel likes.
 * Locks are 0 but while pairs are moved; then `full` says which buckets have no free slot. */
__device__ __forceinline__ u32 table_map_words(u32 buckets) { return (buckets + 63) / 64 * 2; }
template <typename W> __device__ __forceinline__ u32 *table_locks(const table_region<W> &r) {
  return (u32 *)(r.slots + r.side + 1 + TABLE_STASH);
}
template <typename W> __device__ __forceinline__ u32 *table_full(const table_region<W> &r) {
  return table_locks(r) + table_map_words(r.buckets);
}
template <typename W> __device__ __forceinline__ u32 *table_dirty(const table_region<W> &r) {
  return table_locks(r) + 2 * table_map_words(r.buckets);
}
template <typename W> __device__ __forceinline__ u32 *table_behind(const table_region<W> &r) {
  return table_locks(r) + 3 * table_map_words(r.buckets);
}
template <typename W>
static __device__ __forceinline__ table_region<W> table_region_divide(const table_layout &t,
                                                                      char *memory) {
  table_region<W> r = {(table_pair<W> *)memory, t.buckets, t.buckets * t.bucket_slots,
                       (u32)t.regions, false};
  u32 *maps = table_locks(r);
  for (u32 i = threadIdx.x; i < 3 * table_map_words(t.buckets); i += TABLE_BLOCK)
    maps[i] = 0;
  return r;
}
template <typename W> static inline u64 table_block_bytes(u32 slots, u32 buckets) {
  return ((u64)slots + 1 + TABLE_STASH) * sizeof(table_pair<W>) +
         (u64)(buckets + 63) / 64 * 3 * sizeof(u64);
}

template <typename W>
static __device__ table_region<W> table_region_load(const table_layout &t, u32 number, char *memory,
                                                    table_region_state *state) {
  table_region<W> r = table_region_divide<W>(t, memory);
  u32 words = r.side * (u32)sizeof(table_pair<W>) / 16;
  u32 tid = threadIdx.x;
  if (tid == 0)
    state->pairs = state->stashed = 0;
  if (tid < 2)
    state->over[tid] = table_over_bound<W>(t, (u64)number + tid);
  __syncthreads();
  const uint4 *from = (const uint4 *)t.slots + (u64)number * words;
  uint4 *to = (uint4 *)memory;
  u32 live = 0;
#pragma unroll 8
  for (u32 i = tid; i < words; i += TABLE_BLOCK) {
    uint4 x = __ldcs(from + i);
    to[i] = x;
    live += table_live(x, (W)0);
  }
  for (u32 i = tid; i < TABLE_STASH; i += TABLE_BLOCK)
    table_make_free(&r.slots[table_stash_of(r) + i]);
  for (u32 i = tid; i < TABLE_STASH / 32; i += TABLE_BLOCK)
    state->gone[i] = 0;
  if (tid == 0) {
    table_make_free(&r.slots[r.side]);
    if (number + 1 == t.regions)
      r.slots[r.side] = ((const table_pair<W> *)t.slots)[t.regions * r.side];
  }
  live = __reduce_add_sync(DZO_WARP_ALL, live);
  if (dzo_lane() == 0)
    atomicAdd(&state->pairs, live);
  __syncthreads();
  return r;
}

template <typename W>
static __device__ void table_region_save(const table_layout &t, const table_region<W> &r,
                                         u32 number) {
  u32 words = r.side * (u32)sizeof(table_pair<W>) / 16;
  uint4 *to = (uint4 *)t.slots + (u64)number * words;
  const uint4 *from = (const uint4 *)r.slots;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < words; i += TABLE_BLOCK)
    __stcs(to + i, from[i]);
  if (threadIdx.x == 0 && number + 1 == t.regions)
    ((table_pair<W> *)t.slots)[t.regions * r.side] = r.slots[r.side];
}

/* Only the buckets that were changed, where those are few. */
template <typename W, int S>
static __device__ void table_region_save_dirty(const table_layout &t, const table_region<W> &r,
                                               u32 number) {
  enum { WORDS = S * (int)sizeof(table_pair<W>) / 16 };
  uint4 *to = (uint4 *)t.slots + (u64)number * r.buckets * WORDS;
  const uint4 *from = (const uint4 *)r.slots;
  for (u32 b = threadIdx.x; b < r.buckets; b += TABLE_BLOCK) {
    if ((table_dirty(r)[b / 32] >> (b & 31) & 1) == 0)
      continue;
#pragma unroll
    for (int i = 0; i < WORDS; i++)
      to[b * WORDS + i] = from[b * WORDS + i];
  }
  if (threadIdx.x == 0 && number + 1 == t.regions)
    ((table_pair<W> *)t.slots)[t.regions * r.side] = r.slots[r.side];
}

template <typename W, int S>
__device__ __forceinline__ void table_mark_dirty(const table_region<W> &r, u32 at) {
  if (r.sparse && at < r.side)
    atomicOr(&table_dirty(r)[at / S / 32], 1u << (at / S & 31));
}

/* ---- Looking ----------------------------------------------------------------------------------
 */

/* What a look-up learnt that an insertion needs. */
typedef struct table_room {
  u32 first, second; /* the buckets; the second is known unless the first is open */
  u32 free_first, free_second;
  bool open; /* the first has an EMPTY slot; nothing is known of the second */
} table_room;

__device__ __forceinline__ u32 table_stash_start(u64 mixed) {
  return (u32)(mixed * 0x9e3779b97f4a7c15ull >> 40) & (TABLE_STASH - 1);
}

template <typename W>
static __device__ u32 table_find_aside(const table_layout &t, const table_region<W> &r,
                                       const table_region_state *state, W key) {
  if (state->stashed > 0)
    for (u32 i = table_stash_start(key), n = 0; n < TABLE_STASH; n++, i = (i + 1) % TABLE_STASH) {
      W there = dzo_load_block(&r.slots[table_stash_of(r) + i].key);
      if (there == table_word<W>::FREE)
        break;
      if (there == key)
        return table_is_gone(state, i) ? (u32)TABLE_NOWHERE : table_stash_of(r) + i;
    }
  if (state->over[0] < state->over[1]) {
    u64 at = table_lower_bound((const W *)t.over_keys, state->over[0], state->over[1], key);
    if (at < state->over[1] && ((const W *)t.over_keys)[at] == key && t.over_gone[at] == 0)
      return TABLE_OVER | (u32)(at - state->over[0]);
  }
  return TABLE_NOWHERE;
}

/* Where a key is, or TABLE_NOWHERE. */
template <typename W, int S>
static __device__ __forceinline__ u32 table_find_in(const table_layout &t, const table_region<W> &r,
                                                    const table_region_state *state, W key,
                                                    table_room *room) {
  typedef typename table_word<W>::slot slot;
  table_place place = table_place_of(key, r.regions);
  room->first = table_first_bucket(place, r.buckets);
  room->free_first = room->free_second = 0;
  room->open = false;
  if (key == table_word<W>::FREE)
    return r.slots[r.side].key != table_word<W>::FREE ? r.side : (u32)TABLE_NOWHERE;
  table_bucket<W, S> bucket;
  table_load<S>((const slot *)(r.slots + room->first * S), &bucket);
  table_seen seen = table_look<W, S>(bucket, key);
  if (seen.equal != 0)
    return room->first * S + (u32)__ffs((int)seen.equal) - 1;
  room->free_first = seen.free;
  room->open = seen.empty != 0;
  if (room->open)
    return TABLE_NOWHERE;
  room->second = table_second_bucket(key, r.buckets);
  table_load<S>((const slot *)(r.slots + room->second * S), &bucket);
  seen = table_look<W, S>(bucket, key);
  if (seen.equal != 0)
    return room->second * S + (u32)__ffs((int)seen.equal) - 1;
  room->free_second = seen.free;
  return table_find_aside<W>(t, r, state, key);
}

/* The value of a pair that is there. */
template <typename W>
static __device__ __forceinline__ W *table_value_in(const table_layout &t, const table_region<W> &r,
                                                    const table_region_state *state, u32 at) {
  if ((at & TABLE_OVER) != 0)
    return (W *)t.over_values + state->over[0] + (at & ~(u32)TABLE_OVER);
  return &r.slots[at].value;
}

/* ---- A block's part ---------------------------------------------------------------------------
 */

/* A block's region, and the items of it. */
typedef struct table_task {
  u32 region, begin, end;
} table_task;

__device__ __forceinline__ bool table_task_of_block(const table_batch_run &run, u32 block,
                                                    table_task *task) {
  if (!run.dense && block >= (u32)run.counters->touched)
    return false;
  task->region = run.dense ? block : run.list[block];
  task->begin = run.begin[task->region];
  task->end = run.begin[task->region + 1];
  return task->begin < task->end;
}

/* Adds up what threads counted. All threads; ends with no barrier. */
__device__ __forceinline__ void table_count_up(uint64_t *counter, u32 n) {
  n = __reduce_add_sync(DZO_WARP_ALL, n);
  if (dzo_lane() == 0 && n > 0)
    atomicAdd((u64 *)counter, (u64)n);
}

#endif
