/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Looking for a key in GPU memory while nobody changes the table. */
#ifndef DZO_TABLE_GPU_FIND_CUH
#define DZO_TABLE_GPU_FIND_CUH

#include "table/gpu_word.cuh"

template <typename W>
static __device__ bool table_get_over(const table_layout &t, W key, W *value) {
  const W *keys = (const W *)t.over_keys;
  u64 at = table_lower_bound(keys, 0, t.over_count, key);
  if (at == t.over_count || keys[at] != key || t.over_gone[at] != 0)
    return false;
  *value = ((const W *)t.over_values)[at];
  return true;
}

template <typename W> static __device__ bool table_get_side(const table_layout &t, W *value) {
  table_pair<W> pair = ((const table_pair<W> *)t.slots)[t.regions * t.buckets * t.bucket_slots];
  *value = pair.value;
  return pair.key != table_word<W>::FREE;
}

/* A bucket that nobody will want again soon: it leaves the caches to others. */
template <int S>
static __device__ __forceinline__ void table_load_once(const u64 *at, table_bucket<u32, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i += 2) {
    ulonglong2 two = __ldcs((const ulonglong2 *)(at + i));
    out->slot[i] = two.x;
    out->slot[i + 1] = two.y;
  }
}
template <int S>
static __device__ __forceinline__ void table_load_once(const ulonglong2 *at,
                                                       table_bucket<u64, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i++)
    out->slot[i] = __ldcs(at + i);
}

template <int S, bool ONCE, typename Slot, typename Bucket>
static __device__ __forceinline__ void table_load_for_get(const Slot *at, Bucket *out) {
  if (ONCE)
    table_load_once<S>(at, out);
  else
    table_load<S>(at, out);
}

/* The value of a mixed key, if that is there. Both loads of a bucket are through the first-level
 * cache, so that they cost one request. ONCE: something else should stay in the second-level one.
 */
template <typename W, int S, bool ONCE>
static __device__ __forceinline__ bool table_get(const table_layout &t, W key, W *value) {
  typedef typename table_word<W>::slot slot;
  if (key == table_word<W>::FREE)
    return table_get_side(t, value);
  table_place place = table_place_of(key, t.regions);
  const slot *region = (const slot *)t.slots + (u64)place.region * t.buckets * S;
  table_bucket<W, S> bucket;
  table_load_for_get<S, ONCE>(region + table_first_bucket(place, t.buckets) * S, &bucket);
  table_seen seen = table_look<W, S>(bucket, key);
  *value = table_value_at<W, S>(bucket, seen.equal);
  if (seen.equal != 0 || seen.empty != 0)
    return seen.equal != 0;
  table_load_for_get<S, ONCE>(region + table_second_bucket(key, t.buckets) * S, &bucket);
  seen = table_look<W, S>(bucket, key);
  *value = table_value_at<W, S>(bucket, seen.equal);
  if (seen.equal != 0 || t.over_count == 0)
    return seen.equal != 0;
  return table_get_over(t, key, value);
}

#endif
