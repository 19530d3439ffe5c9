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
enum { TABLE_WALK = 128 }; /* pairs moved to make room for one, at most */

template <typename W> struct table_region {
  table_pair<W> *slots;
  u32 *locks; /* a bit for each bucket; 0 but while pairs are moved */
  u32 number, buckets;
  u32 side, stash; /* slots of the lone pair, and the first of the stash */
  u64 regions, over_begin, over_end;
};

/* Of a block, beside the slots. */
typedef struct table_region_state {
  u64 over[2];
  u32 pairs;   /* in buckets */
  u32 stashed; /* in the stash */
  u32 gone[TABLE_STASH / 32]; /* slots of the stash whose pair was erased */
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

template <typename W>
static __device__ table_region<W> table_region_load(const table_layout &t, u32 number, char *memory,
                                                    table_region_state *state) {
  table_region<W> r;
  u32 total = t.buckets * t.bucket_slots, words = total * (u32)sizeof(table_pair<W>) / 16;
  r.slots = (table_pair<W> *)memory;
  r.number = number;
  r.buckets = t.buckets;
  r.side = total;
  r.stash = total + 1;
  r.locks = (u32 *)(r.slots + total + 1 + TABLE_STASH);
  r.regions = t.regions;
  u32 tid = threadIdx.x;
  if (tid == 0)
    state->pairs = state->stashed = 0;
  if (tid < 2)
    state->over[tid] = table_over_bound<W>(t, (u64)number + tid);
  __syncthreads();
  const uint4 *from = (const uint4 *)t.slots + (u64)number * words;
  uint4 *to = (uint4 *)memory;
  u32 live = 0;
#pragma unroll 4
  for (u32 i = tid; i < words; i += TABLE_BLOCK) {
    uint4 x = __ldcs(from + i);
    to[i] = x;
    live += table_live(x, (W)0);
  }
  for (u32 i = tid; i < TABLE_STASH; i += TABLE_BLOCK)
    table_make_free(&r.slots[r.stash + i]);
  for (u32 i = tid; i < TABLE_STASH / 32; i += TABLE_BLOCK)
    state->gone[i] = 0;
  for (u32 i = tid; i < (r.buckets + 31) / 32; i += TABLE_BLOCK)
    r.locks[i] = 0;
  if (tid == 0) {
    table_make_free(&r.slots[r.side]);
    if (number + 1 == t.regions)
      r.slots[r.side] = ((const table_pair<W> *)t.slots)[t.regions * total];
  }
  live = __reduce_add_sync(DZO_WARP_ALL, live);
  if (dzo_lane() == 0)
    atomicAdd(&state->pairs, live);
  __syncthreads();
  r.over_begin = state->over[0];
  r.over_end = state->over[1];
  return r;
}

template <typename W>
static __device__ void table_region_save(const table_layout &t, const table_region<W> &r) {
  u32 words = r.side * (u32)sizeof(table_pair<W>) / 16;
  uint4 *to = (uint4 *)t.slots + (u64)r.number * words;
  const uint4 *from = (const uint4 *)r.slots;
#pragma unroll 4
  for (u32 i = threadIdx.x; i < words; i += TABLE_BLOCK)
    __stcs(to + i, from[i]);
  if (threadIdx.x == 0 && r.number + 1 == t.regions)
    ((table_pair<W> *)t.slots)[t.regions * r.side] = r.slots[r.side];
}

/* ---- Looking ----------------------------------------------------------------------------------
 */

/* What a look-up learnt that an insertion needs. */
typedef struct table_room {
  u32 first, second; /* the buckets */
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
      W there = dzo_load_block(&r.slots[r.stash + i].key);
      if (there == table_word<W>::FREE)
        break;
      if (there == key)
        return table_is_gone(state, i) ? (u32)TABLE_NOWHERE : r.stash + i;
    }
  if (r.over_begin < r.over_end) {
    u64 at = table_lower_bound((const W *)t.over_keys, r.over_begin, r.over_end, key);
    if (at < r.over_end && ((const W *)t.over_keys)[at] == key && t.over_gone[at] == 0)
      return TABLE_OVER | (u32)(at - r.over_begin);
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
  room->second = table_second_bucket(key, r.buckets);
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
  table_load<S>((const slot *)(r.slots + room->second * S), &bucket);
  seen = table_look<W, S>(bucket, key);
  if (seen.equal != 0)
    return room->second * S + (u32)__ffs((int)seen.equal) - 1;
  room->free_second = seen.free;
  return table_find_aside<W>(t, r, state, key);
}

/* ---- Making room ------------------------------------------------------------------------------
 */

/* Claims a free slot of a bucket, of those in the mask, in an order that depends on the key alone:
 * so two threads with the same key meet. */
template <typename W, int S>
static __device__ __forceinline__ u32 table_claim_in(const table_region<W> &r, u32 bucket, W key,
                                                     u32 free) {
  u32 turn = (u32)(key * 0x9e3779b1u >> 24) & (S - 1);
  free = (free >> turn | free << (S - turn)) & ((1u << S) - 1);
  while (free != 0) {
    u32 at = bucket * S + (((u32)__ffs((int)free) - 1 + turn) & (S - 1));
    W old = atomicCAS(&r.slots[at].key, (W)table_word<W>::FREE, key);
    if (old == table_word<W>::FREE)
      return at;
    if (old == key)
      return at | TABLE_TAKEN;
    free &= free - 1;
  }
  return TABLE_NOWHERE;
}

template <typename W>
static __device__ u32 table_claim_stash(const table_region<W> &r, table_region_state *state,
                                        W key) {
  for (u32 i = table_stash_start(key);; i = (i + 1) % TABLE_STASH) {
    W old = atomicCAS(&r.slots[r.stash + i].key, (W)table_word<W>::FREE, key);
    if (old == table_word<W>::FREE) {
      atomicAdd(&state->stashed, 1u);
      return r.stash + i;
    }
    if (old != key)
      continue;
    u32 bit = 1u << (i & 31);
    bool revived = (atomicAnd(&state->gone[i / 32], ~bit) & bit) != 0;
    return revived ? r.stash + i : (r.stash + i) | (u32)TABLE_TAKEN;
  }
}

/* A slot for a key that is nowhere; its value is still to be written. The stash must have room. */
template <typename W, int S>
static __device__ __forceinline__ u32 table_claim(const table_region<W> &r,
                                                  table_region_state *state, W key,
                                                  const table_room &room) {
  if (key == table_word<W>::FREE) {
    W old = atomicCAS(&r.slots[r.side].key, (W)table_word<W>::FREE, (W)0);
    return old == table_word<W>::FREE ? r.side : r.side | (u32)TABLE_TAKEN;
  }
  u32 at = table_claim_in<W, S>(r, room.first, key, room.free_first);
  if (at != TABLE_NOWHERE)
    return at;
  u32 free = room.free_second;
  if (room.open)
    free = (1u << S) - 1; /* it was not looked at */
  at = table_claim_in<W, S>(r, room.second, key, free);
  return at != TABLE_NOWHERE ? at : table_claim_stash<W>(r, state, key);
}

/* One step of a walk: put the pair into a bucket, and take another out if it is full. True: it was
 * not. */
template <typename W, int S>
static __device__ bool table_push(const table_region<W> &r, u32 *bucket, table_pair<W> *pair,
                                  u32 random) {
  u32 bit = 1u << (*bucket & 31), *lock = &r.locks[*bucket / 32], at = *bucket * S;
  if ((atomicOr(lock, bit) & bit) != 0)
    return false; /* somebody is there: later */
  __threadfence_block();
  u32 free = TABLE_NOWHERE;
#pragma unroll
  for (u32 i = 0; i < S; i++)
    if (dzo_load_block(&r.slots[at + i].key) == table_word<W>::FREE)
      free = at + i;
  u32 to = free != TABLE_NOWHERE ? free : at + random % S;
  table_pair<W> old = {dzo_load_block(&r.slots[to].value), dzo_load_block(&r.slots[to].key)};
  dzo_store_block(&r.slots[to].value, pair->value);
  dzo_store_block(&r.slots[to].key, pair->key);
  __threadfence_block();
  atomicAnd(lock, ~bit);
  if (free != TABLE_NOWHERE)
    return true;
  *pair = old;
  u32 first = table_first_bucket(table_place_of(old.key, r.regions), r.buckets);
  *bucket = first == *bucket ? table_second_bucket(old.key, r.buckets) : first;
  return false;
}

template <typename W, int S>
static __device__ bool table_walk(const table_region<W> &r, table_pair<W> *pair) {
  u32 random = (u32)(pair->key * 0x9e3779b1u) ^ threadIdx.x;
  u32 bucket = random >> 31 ? table_second_bucket(pair->key, r.buckets)
                            : table_first_bucket(table_place_of(pair->key, r.regions), r.buckets);
  for (int i = 0; i < TABLE_WALK; i++) {
    random = random * 1664525u + 1013904223u;
    if (table_push<W, S>(r, &bucket, pair, random >> 20))
      return true;
  }
  return false;
}

/* Place the pairs of the stash, moving others; those that do not fit stay in it. All threads. */
template <typename W, int S>
static __device__ void table_empty_stash(const table_region<W> &r, table_region_state *state) {
  enum { EACH = TABLE_STASH / TABLE_BLOCK };
  table_pair<W> pairs[EACH];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    u32 i = (u32)k * TABLE_BLOCK + threadIdx.x;
    pairs[k] = r.slots[r.stash + i];
    if (table_is_gone(state, i))
      pairs[k].key = table_word<W>::FREE;
    table_make_free(&r.slots[r.stash + i]);
  }
  __syncthreads();
  if (threadIdx.x < TABLE_STASH / 32)
    state->gone[threadIdx.x] = 0;
  if (threadIdx.x == 0)
    state->stashed = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if (pairs[k].key == table_word<W>::FREE)
      continue;
    if (!table_walk<W, S>(r, &pairs[k])) {
      u32 at = table_claim_stash<W>(r, state, pairs[k].key);
      dzo_store_block(&r.slots[at].value, pairs[k].value);
    }
  }
  __syncthreads();
}

/* Before a tile: is there room for all its keys to be new? If not, the region must stop. All
 * threads; `state` as a barrier left it. */
template <typename W, int S>
static __device__ bool table_has_room(const table_region<W> &r, table_region_state *state,
                                      u32 limit) {
  if (state->pairs >= limit)
    return false;
  if (state->stashed + TABLE_BLOCK <= TABLE_STASH_FULL)
    return true;
  table_empty_stash<W, S>(r, state);
  return state->stashed + TABLE_BLOCK <= TABLE_STASH_FULL;
}

/* The stash at the end: what found no slot goes to the overflow. All threads. */
template <typename W, int S>
static __device__ void table_spill(const table_region<W> &r, table_region_state *state,
                                   const table_batch_run &run) {
  __syncthreads();
  if (state->stashed == 0)
    return;
  table_empty_stash<W, S>(r, state);
  if (state->stashed == 0)
    return;
  for (u32 i = threadIdx.x; i < TABLE_STASH; i += TABLE_BLOCK) {
    table_pair<W> pair = r.slots[r.stash + i];
    if (pair.key == table_word<W>::FREE)
      continue;
    u64 to = atomicAdd((u64 *)&run.counters->spilled, 1ull);
    ((table_pair<W> *)run.spill)[to] = pair;
  }
}

/* Slots whose bucket no pair had to leave become EMPTY. Pairs in the overflow have left both of
 * their buckets, so there must be none. All threads. */
template <typename W, int S> static __device__ void table_clear_erased(const table_region<W> &r) {
  u32 *left = r.locks; /* a bit for each bucket, and all are 0 now and in the end */
  __syncthreads();
  for (u32 i = threadIdx.x; i < r.side; i += TABLE_BLOCK) {
    W key = r.slots[i].key;
    if (key == table_word<W>::FREE)
      continue;
    u32 first = table_first_bucket(table_place_of(key, r.regions), r.buckets);
    if (first != i / S)
      atomicOr(&left[first / 32], 1u << (first & 31));
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < r.side; i += TABLE_BLOCK)
    if (r.slots[i].key == table_word<W>::FREE && (left[i / S / 32] >> (i / S & 31) & 1) == 0)
      r.slots[i].value = table_word<W>::EMPTY;
  __syncthreads();
}

/* Bytes of a block's memory. */
template <typename W> static inline u64 table_block_bytes(u32 slots, u32 buckets) {
  return ((u64)slots + 1 + TABLE_STASH) * sizeof(table_pair<W>) +
         (u64)(buckets + 31) / 32 * sizeof(u32);
}

/* ---- A block's part ---------------------------------------------------------------------------
 */

/* A block's region, and the items of it. */
typedef struct table_task {
  u32 region, begin, end;
} table_task;

__device__ __forceinline__ bool table_task_of_block(const table_batch_run &run, u32 block,
                                                    table_task *task) {
  if (block >= (u32)run.counters->touched)
    return false;
  task->region = run.list[block];
  task->begin = run.begin[task->region];
  task->end = run.begin[task->region + 1];
  return true;
}

/* Adds up what threads counted. All threads; ends with no barrier. */
__device__ __forceinline__ void table_count_up(uint64_t *counter, u32 n) {
  n = __reduce_add_sync(DZO_WARP_ALL, n);
  if (dzo_lane() == 0 && n > 0)
    atomicAdd((u64 *)counter, (u64)n);
}

#endif
