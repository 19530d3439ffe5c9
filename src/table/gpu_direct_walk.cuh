/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Room for a pair whose buckets are both full, made by moving others, while other threads do the
 * same. Nobody looks for a key meanwhile. */
#ifndef DZO_TABLE_GPU_DIRECT_WALK_CUH
#define DZO_TABLE_GPU_DIRECT_WALK_CUH

#include "table/gpu_direct.cuh"

enum { AHEAD = 2 };

/* The region of a walk. Buckets have locks; nobody who holds one waits for another. */
template <typename W> struct walk_region {
  typename table_word<W>::slot *slots;
  u32 *locks;
  u64 number; /* of its first bucket */
};

template <typename W> static __device__ bool try_lock(const walk_region<W> &r, u32 bucket) {
  u64 b = r.number + bucket;
  u32 bit = 1u << (b & 31);
  if ((atomicOr(&r.locks[b / 32], bit) & bit) != 0)
    return false;
  __threadfence();
  return true;
}
template <typename W> static __device__ void unlock(const walk_region<W> &r, u32 bucket) {
  u64 b = r.number + bucket;
  __threadfence();
  atomicAnd(&r.locks[b / 32], ~(1u << (b & 31)));
}

/* A bucket through the first-level cache, of which each half costs but one request then. Slots are
 * only taken meanwhile: one that seems free may not be, but none is that does not. */
template <typename W, int S>
static __device__ __forceinline__ table_seen look_at(const walk_region<W> &r, u32 bucket) {
  table_bucket<W, S> b;
  table_load_stale<S>(r.slots + bucket * S, &b);
  return table_look<W, S>(b, (W)table_word<W>::FREE);
}

template <typename W> static __device__ u32 other_bucket(const table_layout &t, W key, u32 bucket) {
  u32 first = table_first_bucket(table_place_of(key, t.regions), t.buckets);
  return first == bucket ? table_second_bucket(key, t.buckets) : first;
}

/* Into a locked bucket, if it has a free slot. */
template <int S>
static __device__ bool fill_locked(const walk_region<u64> &r, u32 bucket, ulonglong2 pair) {
  table_bucket<u64, S> b;
  table_load_now<S>(r.slots + bucket * S, &b);
  u32 free = table_look<u64, S>(b, (u64)table_word<u64>::FREE).free;
  if (free != 0)
    dzo_store_shared(r.slots + bucket * S + (__ffs((int)free) - 1), pair);
  return free != 0;
}

/* A place in a full bucket, within it, whose pair may go on to its other bucket; without locks, so
 * it is only likely. AHEAD of them are looked at at a time. */
template <typename W, int S>
static __device__ bool seek_exit(const table_layout &t, const walk_region<W> &r, u32 bucket,
                                 u32 random, u32 *at, u32 *other) {
  for (u32 i = 0; i < S; i += AHEAD) {
    u32 places[AHEAD], others[AHEAD], free[AHEAD];
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
      places[k] = (i + k + random) % S;
      W key = table_slot_key(dzo_load_stale(r.slots + bucket * S + places[k]));
      others[k] = key == table_word<W>::FREE ? bucket : other_bucket<W>(t, key, bucket);
    }
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++)
      free[k] = others[k] != bucket ? look_at<W, S>(r, others[k]).free : 0;
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
      *at = places[k];
      *other = others[k];
      if (free[k] != 0)
        return true;
    }
  }
  return false;
}

/* The pair of slot `at` of a locked bucket to its other bucket. */
template <int S>
static __device__ bool move_on(const table_layout &t, const walk_region<u64> &r, u32 bucket, u32 at,
                               u32 other) {
  if (!try_lock(r, other))
    return false;
  ulonglong2 old = dzo_load_shared(r.slots + bucket * S + at);
  bool moved = old.y != table_word<u64>::FREE && other_bucket<u64>(t, old.y, bucket) == other &&
               fill_locked<S>(r, other, old);
  unlock(r, other);
  return moved;
}

/* Into a bucket, if it has a free slot. Slots are only taken meanwhile, so that one that has none
 * will not have any. */
template <int S>
static __device__ bool fill(const walk_region<u64> &r, u32 bucket, ulonglong2 pair) {
  while (look_at<u64, S>(r, bucket).free != 0) {
    if (!try_lock(r, bucket))
      continue;
    bool placed = fill_locked<S>(r, bucket, pair);
    unlock(r, bucket);
    return placed;
  }
  return false;
}
template <int S> static __device__ bool fill(const walk_region<u32> &r, u32 bucket, u64 pair) {
  table_seen seen = look_at<u32, S>(r, bucket);
  for (u32 free = seen.free; free != 0; free &= free - 1) {
    u32 i = (u32)__ffs((int)free) - 1;
    u32 was =
        (seen.empty >> i & 1) != 0 ? (u32)table_word<u32>::EMPTY : (u32)table_word<u32>::ERASED;
    u64 old = table_slot_of(was, (u32)table_word<u32>::FREE);
    if (atomicCAS(r.slots + bucket * S + i, old, pair) == old)
      return true;
  }
  return false;
}

/* One step in a bucket, which may be known to be full. True: the pair is placed. With `force`, if
 * it cannot be, it takes the place of another, which then is *pair, and *bucket that one's other.
 */
template <int S>
static __device__ bool step(const table_layout &t, const walk_region<u64> &r, u32 *bucket,
                            ulonglong2 *pair, u32 random, bool, bool force) {
  u32 here = *bucket, at = 0, other = 0;
  bool exit =
      look_at<u64, S>(r, here).free == 0 && seek_exit<u64, S>(t, r, here, random, &at, &other);
  if (!try_lock(r, here))
    return false; /* somebody is there: later */
  bool placed = fill_locked<S>(r, here, *pair);
  if (!placed && exit && move_on<S>(t, r, here, at, other)) {
    dzo_store_shared(r.slots + here * S + at, *pair);
    placed = true;
  } else if (!placed && force && !exit) {
    ulonglong2 *victim = r.slots + here * S + random % S, old = dzo_load_shared(victim);
    dzo_store_shared(victim, *pair);
    *pair = old;
    *bucket = other_bucket<u64>(t, old.y, here);
  }
  unlock(r, here);
  return placed;
}

/* A pair of 32-bit words is one word, which nobody needs a lock to take or to exchange. */
template <int S>
static __device__ bool step(const table_layout &t, const walk_region<u32> &r, u32 *bucket,
                            u64 *pair, u32 random, bool full, bool force) {
  u32 here = *bucket, at = here * S + random % S, other = 0, place;
  if (!full && fill<S>(r, here, *pair))
    return true;
  if (seek_exit<u32, S>(t, r, here, random, &place, &other))
    at = here * S + place;
  else if (!force)
    return false;
  u64 old = atomicExch(r.slots + at, *pair);
  u32 key = table_slot_key(old);
  if (key == table_word<u32>::FREE)
    return true;
  *pair = old;
  *bucket = other_bucket<u32>(t, key, here);
  return false;
}

/* For a pair whose buckets are both full. False: *pair has no place. */
template <typename W, int S>
static __device__ bool table_direct_walk(const table_layout &t, const table_direct &d,
                                         typename table_word<W>::slot *pair, int steps) {
  W key = table_slot_key(*pair);
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  walk_region<W> r = {p.region, d.locks, (u64)table_place_of(key, t.regions).region * t.buckets};
  u32 random = (u32)key * 0x9e3779b1u, bucket = p.first;
  bool moved = false;
  for (int i = 0; i < steps; i++) {
    random = random * 1664525u + 1013904223u;
    if (step<S>(t, r, &bucket, pair, random >> 20, !moved, i > 0))
      return true;
    moved = moved || table_slot_key(*pair) != key;
    if (i == 0 && !moved)
      bucket = p.second;
  }
  /* None is for the overflow while one of its buckets has a free slot, since there look-ups end. */
  u32 other = other_bucket<W>(t, table_slot_key(*pair), bucket);
  return fill<S>(r, bucket, *pair) || fill<S>(r, other, *pair);
}

#endif
