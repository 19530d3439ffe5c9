/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Slots for new pairs of a region: claimed where there are free ones, else by moving other pairs
 * along; what finds none waits in the stash, and goes to the overflow in the end. */
#ifndef DZO_TABLE_GPU_REGION_ROOM_CUH
#define DZO_TABLE_GPU_REGION_ROOM_CUH

#include "table/gpu_region.cuh"

/* Steps to make room for a pair, at most; fewer in a region that is so full that with two choices
 * some pair has no place, however long one walks; in the last ones no pair is displaced. */
enum { TABLE_WALK = 400, TABLE_SHORT_WALK = 64, TABLE_LAST = 8 };

/* ---- Claiming ---------------------------------------------------------------------------------
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
    W old = atomicCAS(&r.slots[table_stash_of(r) + i].key, (W)table_word<W>::FREE, key);
    if (old == table_word<W>::FREE) {
      atomicAdd(&state->stashed, 1u);
      return table_stash_of(r) + i;
    }
    if (old != key)
      continue;
    u32 bit = 1u << (i & 31);
    bool revived = (atomicAnd(&state->gone[i / 32], ~bit) & bit) != 0;
    return revived ? table_stash_of(r) + i : (table_stash_of(r) + i) | (u32)TABLE_TAKEN;
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
  /* It was not looked at if the first was open then. */
  u32 second = room.open ? table_second_bucket(key, r.buckets) : room.second;
  u32 free = room.open ? (1u << S) - 1 : room.free_second;
  at = table_claim_in<W, S>(r, second, key, free);
  return at != TABLE_NOWHERE ? at : table_claim_stash<W>(r, state, key);
}

/* The free slots of a bucket, as they are now. */
__device__ __forceinline__ u32 table_free_bits(const ulonglong2 *two, u32) {
  ulonglong2 x = dzo_load_block(two);
  return (u32)((u32)(x.x >> 32) == table_word<u32>::FREE) |
         (u32)((u32)(x.y >> 32) == table_word<u32>::FREE) << 1;
}
__device__ __forceinline__ u32 table_free_bits(const ulonglong2 *one, u64) {
  return (u32)(dzo_load_block(one).y == table_word<u64>::FREE);
}
template <typename W, int S>
static __device__ __forceinline__ u32 table_free_in(const table_region<W> &r, u32 bucket) {
  enum { EACH = 16 / (int)sizeof(table_pair<W>) };
  const ulonglong2 *words = (const ulonglong2 *)(r.slots + bucket * S);
  u32 free = 0;
#pragma unroll
  for (int i = 0; i < S / EACH; i++)
    free |= table_free_bits(words + i, (W)0) << (i * EACH);
  return free;
}

__device__ __forceinline__ bool table_get_bit(const u32 *map, u32 i) {
  return dzo_load_block(&map[i / 32]) >> (i & 31) & 1;
}
/* Nobody waits for a lock. */
__device__ __forceinline__ bool table_try_lock(u32 *map, u32 i) {
  u32 bit = 1u << (i & 31);
  if ((atomicOr(&map[i / 32], bit) & bit) != 0)
    return false;
  __threadfence_block();
  return true;
}
__device__ __forceinline__ void table_unlock(u32 *map, u32 i) {
  __threadfence_block();
  atomicAnd(&map[i / 32], ~(1u << (i & 31)));
}

template <typename W, int S>
static __device__ __forceinline__ void table_write_pair(const table_region<W> &r, u32 at,
                                                        table_pair<W> pair) {
  dzo_store_block(&r.slots[at].value, pair.value);
  dzo_store_block(&r.slots[at].key, pair.key);
  table_mark_dirty<W, S>(r, at);
}

/* The bucket of a key that is not this one. */
template <typename W>
static __device__ __forceinline__ u32 table_other_bucket(const table_region<W> &r, W key,
                                                         u32 bucket) {
  u32 first = table_first_bucket(table_place_of(key, r.regions), r.buckets);
  return first == bucket ? table_second_bucket(key, r.buckets) : first;
}

/* A slot of a locked bucket for the pair. */
template <typename W, int S>
static __device__ bool table_fill_locked(const table_region<W> &r, u32 bucket, table_pair<W> pair) {
  u32 free = table_free_in<W, S>(r, bucket);
  if (free != 0)
    table_write_pair<W, S>(r, bucket * S + (u32)__ffs((int)free) - 1, pair);
  if ((free & (free - 1)) == 0)
    atomicOr(&table_full(r)[bucket / 32], 1u << (bucket & 31));
  return free != 0;
}

/* Put the pair into a bucket, whose pair `at` goes to its other bucket if that has room. */
template <typename W, int S>
static __device__ bool table_move_on(const table_region<W> &r, u32 bucket, u32 at, u32 other,
                                     table_pair<W> pair) {
  if (!table_try_lock(table_locks(r), other))
    return false;
  table_pair<W> old = {dzo_load_block(&r.slots[at].value), dzo_load_block(&r.slots[at].key)};
  bool moved = old.key != table_word<W>::FREE && table_other_bucket(r, old.key, bucket) == other &&
               table_fill_locked<W, S>(r, other, old);
  if (moved)
    table_write_pair<W, S>(r, at, pair);
  table_unlock(table_locks(r), other);
  return moved;
}

/* A place in a bucket whose pair may go on; without locks, so it is only likely. */
template <typename W, int S>
static __device__ bool table_seek_exit(const table_region<W> &r, u32 bucket, u32 random, u32 *at,
                                       u32 *other) {
  for (u32 i = 0; i < S; i++) {
    *at = bucket * S + (i + random) % S;
    W key = dzo_load_block(&r.slots[*at].key);
    if (key == table_word<W>::FREE)
      continue;
    *other = table_other_bucket(r, key, bucket);
    if (*other != bucket && !table_get_bit(table_full(r), *other))
      return true;
  }
  return false;
}

/* One step of a walk, in a bucket. True: the pair is placed. With `force`, if it cannot be, it
 * takes the place of another, which then is *pair, and *bucket that one's other. */
template <typename W, int S>
static __device__ bool table_step(const table_region<W> &r, u32 *bucket, table_pair<W> *pair,
                                  u32 random, bool force) {
  u32 at = 0, other = 0, here = *bucket;
  bool exit =
      table_get_bit(table_full(r), here) && table_seek_exit<W, S>(r, here, random, &at, &other);
  if (!table_try_lock(table_locks(r), here))
    return false; /* somebody is there: later */
  bool placed = table_fill_locked<W, S>(r, here, *pair);
  if (!placed && exit)
    placed = table_move_on<W, S>(r, here, at, other, *pair);
  if (!placed && force && !exit) {
    at = here * S + random % S;
    table_pair<W> old = {dzo_load_block(&r.slots[at].value), dzo_load_block(&r.slots[at].key)};
    table_write_pair<W, S>(r, at, *pair);
    *pair = old;
    *bucket = table_other_bucket(r, old.key, here);
  }
  table_unlock(table_locks(r), here);
  return placed;
}

/* Look in both of the pair's buckets; then go on with pairs that have to move. In the last steps
 * none is displaced: who is left over has found both its buckets full. */
template <typename W, int S>
static __device__ bool table_walk(const table_region<W> &r, table_pair<W> *pair, int steps) {
  u32 random = (u32)(pair->key * 0x9e3779b1u) ^ threadIdx.x;
  u32 bucket = table_first_bucket(table_place_of(pair->key, r.regions), r.buckets);
  for (int i = 0; i < steps; i++) {
    random = random * 1664525u + 1013904223u;
    if (table_step<W, S>(r, &bucket, pair, random >> 20, i > 0 && i < steps - TABLE_LAST))
      return true;
    if (i == 0)
      bucket = table_second_bucket(pair->key, r.buckets);
  }
  return false;
}

/* Which buckets have no free slot. All threads. */
template <typename W, int S> static __device__ void table_note_full(const table_region<W> &r) {
  for (u32 base = threadIdx.x & ~31u; base < r.buckets; base += TABLE_BLOCK) {
    u32 b = base + dzo_lane();
    u32 votes = __ballot_sync(DZO_WARP_ALL, b >= r.buckets || table_free_in<W, S>(r, b) == 0);
    if (dzo_lane() == 0)
      table_full(r)[base / 32] = votes;
  }
}

/* Brings the pairs of the stash, but for those gone, to its first slots, so that few warps have to
 * do with them; how many those are. All threads; begins and ends with barriers. */
template <typename W>
static __device__ u32 table_gather_stash(const table_region<W> &r, table_region_state *state) {
  enum { EACH = TABLE_STASH / TABLE_BLOCK };
  table_pair<W> pairs[EACH];
  u32 places[EACH];
  if (threadIdx.x == 0)
    state->gathered = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    u32 i = (u32)k * TABLE_BLOCK + threadIdx.x;
    pairs[k] = r.slots[table_stash_of(r) + i];
    if (table_is_gone(state, i))
      pairs[k].key = table_word<W>::FREE;
    u32 votes = __ballot_sync(DZO_WARP_ALL, pairs[k].key != table_word<W>::FREE), place = 0;
    if (dzo_lane() == 0 && votes != 0)
      place = atomicAdd(&state->gathered, (u32)__popc(votes));
    places[k] = __shfl_sync(DZO_WARP_ALL, place, 0) + (u32)__popc(votes & dzo_lanes_below());
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (pairs[k].key != table_word<W>::FREE)
      r.slots[table_stash_of(r) + places[k]] = pairs[k];
  __syncthreads();
  return state->gathered;
}

/* The loads up to which there usually is a place for all pairs are .977 for buckets of 4 and .998
 * for those of 8 (M. Dietzfelbinger, C. Weidling, 2007, and what followed). */
template <int S> static __device__ __forceinline__ int table_walk_steps(u32 slots, u32 pairs) {
  return pairs > slots - slots / (S == 4 ? 48 : 512) ? TABLE_SHORT_WALK : TABLE_WALK;
}

/* Place the pairs of the stash, moving others; those that do not fit stay in it. All threads. */
template <typename W, int S>
static __device__ void table_empty_stash(const table_region<W> &r, table_region_state *state) {
  enum { EACH = TABLE_STASH / TABLE_BLOCK };
  table_pair<W> pairs[EACH];
  u32 count = table_gather_stash<W>(r, state);
  int steps = table_walk_steps<S>(r.side, state->pairs);
#pragma unroll
  for (int k = 0; k < EACH; k++)
    pairs[k] = r.slots[table_stash_of(r) + (u32)k * TABLE_BLOCK + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++)
    table_make_free(&r.slots[table_stash_of(r) + (u32)k * TABLE_BLOCK + threadIdx.x]);
  if (threadIdx.x < TABLE_STASH / 32)
    state->gone[threadIdx.x] = 0;
  if (threadIdx.x == 0)
    state->stashed = 0;
  table_note_full<W, S>(r);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if ((u32)k * TABLE_BLOCK + threadIdx.x >= count)
      continue;
    if (!table_walk<W, S>(r, &pairs[k], steps)) {
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

/* The stash at the end: what found no slot goes to the overflow, unless it is worth another try.
 * All threads. */
template <typename W, int S>
static __device__ void table_spill(const table_region<W> &r, table_region_state *state,
                                   const table_batch_run &run) {
  __syncthreads();
  u32 left = state->stashed, before = 2 * left + 2;
  for (int tries = 0; left > 0 && 2 * left < before && tries < 3; tries++) {
    table_empty_stash<W, S>(r, state);
    before = left;
    left = state->stashed;
  }
  if (left == 0)
    return;
  for (u32 i = threadIdx.x; i < TABLE_STASH; i += TABLE_BLOCK) {
    table_pair<W> pair = r.slots[table_stash_of(r) + i];
    if (pair.key == table_word<W>::FREE)
      continue;
    u64 to = atomicAdd((u64 *)&run.counters->spilled, 1ull);
    ((table_pair<W> *)run.spill)[to] = pair;
  }
}

/* Slots whose bucket no pair had to leave become EMPTY. Pairs in the overflow have left both of
 * their buckets, so there must be none. All threads. */
template <typename W, int S> static __device__ void table_clear_erased(const table_region<W> &r) {
  u32 *left = table_locks(r); /* a bit for each bucket, and all are 0 now and in the end */
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

#endif
