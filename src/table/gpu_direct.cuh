/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One key's buckets in GPU memory, while other threads change them. */
#ifndef DZO_TABLE_GPU_DIRECT_CUH
#define DZO_TABLE_GPU_DIRECT_CUH

#include "table/gpu_direct.h"
#include "table/gpu_word.cuh"

enum { TABLE_DIRECT_THREADS = 256 };

/* Query i. */
template <typename W>
static __device__ __forceinline__ table_pair<W> table_direct_item(const table_direct &d, u32 i) {
  typename table_word<W>::slot item = __ldcs((const typename table_word<W>::slot *)d.items + i);
  return {table_slot_value(item), table_slot_key(item)};
}
template <typename W>
static __device__ __forceinline__ W table_direct_key(const table_layout &t, const table_direct &d,
                                                     u32 i) {
  if (d.items != NULL)
    return table_direct_item<W>(d, i).key;
  W key = __ldcs((const W *)d.keys + i);
  return d.mixed ? key : table_mixed(key, t.mix);
}
template <typename W>
static __device__ __forceinline__ W table_direct_value(const table_direct &d, u32 i) {
  if (d.items != NULL)
    return table_direct_item<W>(d, i).value;
  return d.values != NULL ? __ldcs((const W *)d.values + i) : (W)d.value;
}

/* A bucket as it is now or, through the first-level cache, was; in the second way both halves of a
 * sector are one request. */
template <bool NOW, int S>
static __device__ __forceinline__ void table_load_as(const u64 *at, table_bucket<u32, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i += 2) {
    const ulonglong2 *pair = (const ulonglong2 *)(at + i);
    ulonglong2 two = NOW ? dzo_load_shared(pair) : dzo_load_stale(pair);
    out->slot[i] = two.x;
    out->slot[i + 1] = two.y;
  }
}
template <bool NOW, int S>
static __device__ __forceinline__ void table_load_as(const ulonglong2 *at,
                                                     table_bucket<u64, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i++)
    out->slot[i] = NOW ? dzo_load_shared(at + i) : dzo_load_stale(at + i);
}
template <int S, typename Slot, typename Bucket>
static __device__ __forceinline__ void table_load_stale(const Slot *at, Bucket *out) {
  table_load_as<false, S>(at, out);
}
template <int S, typename Slot, typename Bucket>
static __device__ __forceinline__ void table_load_now(const Slot *at, Bucket *out) {
  table_load_as<true, S>(at, out);
}

/* Where a key's buckets are: the first slot of its region, and both buckets within that. */
template <typename W> struct table_direct_place_of {
  typename table_word<W>::slot *region;
  u32 first, second;
};
template <typename W, int S>
static __device__ __forceinline__ table_direct_place_of<W>
table_direct_places(const table_layout &t, W key) {
  table_place place = table_place_of(key, t.regions);
  table_direct_place_of<W> p;
  p.region = (typename table_word<W>::slot *)t.slots + (u64)place.region * t.buckets * S;
  p.first = table_first_bucket(place, t.buckets);
  p.second = table_second_bucket(key, t.buckets);
  return p;
}
template <typename W> static __device__ __forceinline__ W *table_value_of(void *slot) {
  return &((table_pair<W> *)slot)->value;
}
template <typename W>
static __device__ __forceinline__ table_pair<W> *table_side(const table_layout &t) {
  return (table_pair<W> *)t.slots + t.regions * t.buckets * t.bucket_slots;
}

/* A place of the overflow that is not erased, or over_count. */
template <typename W> static __device__ u64 table_direct_over(const table_layout &t, W key) {
  const W *keys = (const W *)t.over_keys;
  u64 at = table_lower_bound(keys, 0, t.over_count, key);
  return at < t.over_count && keys[at] == key && t.over_gone[at] == 0 ? at : t.over_count;
}

/* The value of a key that is there, or NULL. Keys stay where they are meanwhile. */
template <typename W, int S> static __device__ W *table_direct_find(const table_layout &t, W key) {
  if (key == table_word<W>::FREE)
    return dzo_load_shared(&table_side<W>(t)->key) != table_word<W>::FREE ? &table_side<W>(t)->value
                                                                          : (W *)NULL;
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  u32 number = p.first;
  for (int choice = 0; choice < 2; choice++, number = p.second) {
    table_bucket<W, S> bucket;
    table_load_stale<S>(p.region + number * S, &bucket);
    table_seen seen = table_look<W, S>(bucket, key);
    if (seen.equal != 0)
      return table_value_of<W>(p.region + number * S + (__ffs((int)seen.equal) - 1));
  }
  u64 over = t.over_count > 0 ? table_direct_over(t, key) : 0;
  return over < t.over_count ? (W *)t.over_values + over : (W *)NULL;
}

/* Erases a key of 32 bits, where there is no overflow; of the queries of a key, the one that swaps
 * its slot has found it. Slots only become free meanwhile, and EMPTY ones stay so: what was seen of
 * a bucket, even some time ago, is enough to say that its pair may become EMPTY, and that a key is
 * not there. */
static __device__ bool table_direct_take_side(const table_layout &t) {
  u64 gone = table_slot_of((u32)table_word<u32>::EMPTY, (u32)table_word<u32>::FREE);
  u64 old = atomicExch((u64 *)table_side<u32>(t), gone);
  return table_slot_key(old) != table_word<u32>::FREE;
}
template <int S>
static __device__ __forceinline__ bool table_direct_take(const table_layout &t, u32 key) {
  if (key == table_word<u32>::FREE)
    return table_direct_take_side(t);
  table_direct_place_of<u32> p = table_direct_places<u32, S>(t, key);
  u32 number = p.first;
  for (int choice = 0; choice < 2; choice++, number = p.second) {
    u64 *at = p.region + number * S;
    table_bucket<u32, S> bucket;
    table_load_stale<S>(at, &bucket);
    table_seen seen = table_look<u32, S>(bucket, key);
    if (seen.equal != 0) {
      u32 now = seen.empty != 0 ? (u32)table_word<u32>::EMPTY : (u32)table_word<u32>::ERASED;
      u64 old = table_slot_of(table_value_at<u32, S>(bucket, seen.equal), key);
      return atomicCAS(at + (__ffs((int)seen.equal) - 1), old,
                       table_slot_of(now, (u32)table_word<u32>::FREE)) == old;
    }
    if (seen.empty != 0)
      return false;
  }
  return false;
}

template <typename W>
static __device__ __forceinline__ void table_direct_combine(int operation, W *value, W x) {
  if (operation == DZO_TABLE_ADD)
    atomicAdd(value, x);
  else if (operation == DZO_TABLE_MIN)
    atomicMin(value, x);
  else if (operation == DZO_TABLE_MAX)
    atomicMax(value, x);
  else
    dzo_store_shared(value, x);
}

/* A count of each thread, added up for the block: one atomic of it a block, if any. All threads;
 * one barrier. */
static __device__ __forceinline__ void table_direct_count(u32 *s_sum, uint64_t *counter, u32 n) {
  u32 sum = __reduce_add_sync(DZO_WARP_ALL, n);
  if (dzo_lane() == 0 && sum > 0)
    atomicAdd(s_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0 && *s_sum > 0)
    atomicAdd((u64 *)counter, (u64)*s_sum);
}

#endif
