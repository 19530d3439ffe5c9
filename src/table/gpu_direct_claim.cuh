/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A slot for a key that is nowhere, while others claim slots for theirs. */
#ifndef DZO_TABLE_GPU_DIRECT_CLAIM_CUH
#define DZO_TABLE_GPU_DIRECT_CLAIM_CUH

#include "table/gpu_direct.cuh"

/* ---- Claiming ---------------------------------------------------------------------------------
 */

/* What became of a query: it met its key, whose value is *at; it claimed a slot; or it found none.
 */
enum { TABLE_MET, TABLE_CLAIMED, TABLE_LEFT };

static __device__ __forceinline__ int claim_slot(u64 *slot, bool empty, u32 key, u32 value) {
  u32 was = empty ? (u32)table_word<u32>::EMPTY : (u32)table_word<u32>::ERASED;
  u64 free = table_slot_of(was, (u32)table_word<u32>::FREE);
  u64 old = atomicCAS(slot, free, table_slot_of(value, key));
  return old == free ? TABLE_CLAIMED : table_slot_key(old) == key ? TABLE_MET : TABLE_LEFT;
}
/* Nobody reads the value of a claimed slot before this kernel has ended. */
static __device__ __forceinline__ int claim_slot(ulonglong2 *slot, bool, u64 key, u64 value) {
  u64 *words = (u64 *)slot, old = atomicCAS(words + 1, (u64)table_word<u64>::FREE, key);
  if (old == table_word<u64>::FREE)
    dzo_store_shared(words, value);
  return old == table_word<u64>::FREE ? TABLE_CLAIMED : old == key ? TABLE_MET : TABLE_LEFT;
}

/* Tries the free slots of a bucket, in an order that depends on the key alone. */
template <typename W, int S>
static __device__ __forceinline__ int claim_in(typename table_word<W>::slot *bucket,
                                               const table_seen &seen, W key, W value, W **at) {
  u32 turn = (u32)(key * 0x9e3779b1u >> 24) & (S - 1);
  u32 free = (seen.free >> turn | seen.free << (S - turn)) & ((1u << S) - 1);
  for (; free != 0; free &= free - 1) {
    u32 i = ((u32)__ffs((int)free) - 1 + turn) & (S - 1);
    int outcome = claim_slot(bucket + i, (seen.empty >> i & 1) != 0, key, value);
    *at = table_value_of<W>(bucket + i);
    if (outcome != TABLE_LEFT)
      return outcome;
  }
  return TABLE_LEFT;
}

/* The lone pair has its slot to itself, with 0 as its key. */
static __device__ __forceinline__ int claim_side(table_pair<u32> *side, u32 value) {
  u64 *slot = (u64 *)side;
  for (u64 old = dzo_load_shared(slot);;) {
    if (table_slot_key(old) != table_word<u32>::FREE)
      return TABLE_MET;
    u64 now = atomicCAS(slot, old, table_slot_of(value, 0u));
    if (now == old)
      return TABLE_CLAIMED;
    old = now;
  }
}
static __device__ __forceinline__ int claim_side(table_pair<u64> *side, u64 value) {
  if (atomicCAS((u64 *)&side->key, (u64)table_word<u64>::FREE, 0ull) != table_word<u64>::FREE)
    return TABLE_MET;
  dzo_store_shared((u64 *)&side->value, value);
  return TABLE_CLAIMED;
}

template <typename W>
static __device__ __forceinline__ int meet(typename table_word<W>::slot *bucket, u32 equal,
                                           W **at) {
  *at = table_value_of<W>(bucket + (__ffs((int)equal) - 1));
  return TABLE_MET;
}

/* Slots are only taken while this runs, and a key stays in its slot. So whoever has seen that a key
 * is in neither bucket and then tries their free slots in the key's order either takes the first
 * that is free or meets another query of the key there, even if what it saw was older. */
template <typename W, int S>
static __device__ __forceinline__ int table_direct_claim(const table_layout &t, W key, W value,
                                                         W **at) {
  if (key == table_word<W>::FREE) {
    *at = &table_side<W>(t)->value;
    return claim_side(table_side<W>(t), value);
  }
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  typename table_word<W>::slot *one = p.region + p.first * S, *two = p.region + p.second * S;
  table_bucket<W, S> bucket;
  table_seen first, second = {0, 0, 0};
  table_load_stale<S>(one, &bucket);
  first = table_look<W, S>(bucket, key);
  if (first.equal != 0)
    return meet<W>(one, first.equal, at);
  if (first.empty == 0) {
    table_load_stale<S>(two, &bucket);
    second = table_look<W, S>(bucket, key);
    if (second.equal != 0)
      return meet<W>(two, second.equal, at);
    u64 over = t.over_count > 0 ? table_direct_over(t, key) : 0;
    *at = (W *)t.over_values + over;
    if (over < t.over_count)
      return TABLE_MET;
  }
  int outcome = claim_in<W, S>(one, first, key, value, at);
  if (outcome != TABLE_LEFT)
    return outcome;
  if (first.empty != 0) {
    /* Others took its slots since. Only their keys can have gone on to the second. */
    table_load_now<S>(two, &bucket);
    second = table_look<W, S>(bucket, key);
    if (second.equal != 0)
      return meet<W>(two, second.equal, at);
  }
  return claim_in<W, S>(two, second, key, value, at);
}

/* A place in the list for each thread that wants one: one atomic a block. All threads. */
static __device__ __forceinline__ u32 table_direct_list(bool wants, u32 *s_count, u32 *s_base,
                                                        uint64_t *counter) {
  u32 votes = __ballot_sync(DZO_WARP_ALL, wants), place = 0;
  if (dzo_lane() == 0 && votes != 0)
    place = atomicAdd(s_count, (u32)__popc(votes));
  place = __shfl_sync(DZO_WARP_ALL, place, 0) + (u32)__popc(votes & dzo_lanes_below());
  __syncthreads();
  if (threadIdx.x == 0 && *s_count > 0)
    *s_base = (u32)atomicAdd((u64 *)counter, (u64)*s_count);
  __syncthreads();
  return *s_base + place;
}

#endif
