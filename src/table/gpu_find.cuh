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

/* The value of a mixed key, if that is there. Both loads of a bucket are through the first-level
 * cache, so that they cost one request. */
template <typename W, int S>
static __device__ __forceinline__ bool table_get(const table_layout &t, W key, W *value) {
  typedef typename table_word<W>::slot slot;
  if (key == table_word<W>::FREE)
    return table_get_side(t, value);
  table_place place = table_place_of(key, t.regions);
  const slot *region = (const slot *)t.slots + (u64)place.region * t.buckets * S;
  table_bucket<W, S> bucket;
  table_load<S>(region + table_first_bucket(place, t.buckets) * S, &bucket);
  table_seen seen = table_look<W, S>(bucket, key);
  *value = table_value_at<W, S>(bucket, seen.equal);
  if (seen.equal != 0 || seen.empty != 0)
    return seen.equal != 0;
  table_load<S>(region + table_second_bucket(key, t.buckets) * S, &bucket);
  seen = table_look<W, S>(bucket, key);
  *value = table_value_at<W, S>(bucket, seen.equal);
  if (seen.equal != 0 || t.over_count == 0)
    return seen.equal != 0;
  return table_get_over(t, key, value);
}

#endif
