/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Room for a pair whose buckets are both full, made by moving others, while other threads do the
 * same. Nobody looks for a key meanwhile. */
#ifndef DZO_TABLE_GPU_DIRECT_WALK_CUH
#define DZO_TABLE_GPU_DIRECT_WALK_CUH

#include "table/gpu_direct.cuh"

enum { AHEAD = 2 };

/* The region of a walk. Buckets have locks; nobody waits for one. */
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

/* Into a bucket, if it has a free slot. */
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

/* A pair on its way. Both its buckets are full and stay so: it takes the place of one that may go
 * on to its other bucket. Where all those are full, too, it takes any place, and that pair goes on.
 */
template <typename W> struct table_walker {
  typename table_word<W>::slot pair;
  walk_region<W> r;
  u32 here, second, random;
  u32 tried, steps; /* pairs of this bucket; buckets */
  bool moved;       /* the pair is not the one that it was at first */
};

template <typename W, int S>
static __device__ table_walker<W> table_direct_set_out(const table_layout &t, const table_direct &d,
                                                       typename table_word<W>::slot pair) {
  W key = table_slot_key(pair);
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  walk_region<W> r = {p.region, d.locks, (u64)table_place_of(key, t.regions).region * t.buckets};
  return {pair, r, p.first, p.second, (u32)key * 0x9e3779b1u >> 20, 0, 0, false};
}

/* The pair takes the place of one that may go on to its other bucket. False: it could not after
 * all, or the pair is that one now. */
template <int S>
static __device__ bool pass_on(const table_layout &t, table_walker<u64> *w, u32 place, u32 other) {
  if (!try_lock(w->r, w->here))
    return false; /* somebody is there: later */
  bool moved = move_on<S>(t, w->r, w->here, place, other);
  if (moved)
    dzo_store_shared(w->r.slots + w->here * S + place, w->pair);
  unlock(w->r, w->here);
  return moved;
}
/* A pair of 32-bit words is one word, which nobody needs a lock to exchange. */
template <int S>
static __device__ bool pass_on(const table_layout &t, table_walker<u32> *w, u32 place, u32) {
  w->pair = atomicExch(w->r.slots + w->here * S + place, w->pair);
  w->here = other_bucket<u32>(t, table_slot_key(w->pair), w->here);
  w->moved = true;
  w->tried = 0;
  w->steps++;
  return fill<S>(w->r, w->here, w->pair);
}

/* It takes any place. */
template <int S>
static __device__ void displace(const table_layout &t, table_walker<u64> *w, u32 place) {
  if (!try_lock(w->r, w->here))
    return;
  ulonglong2 *victim = w->r.slots + w->here * S + place, old = dzo_load_shared(victim);
  dzo_store_shared(victim, w->pair);
  unlock(w->r, w->here);
  w->pair = old;
  w->here = other_bucket<u64>(t, old.y, w->here);
  w->moved = true;
}
template <int S>
static __device__ void displace(const table_layout &t, table_walker<u32> *w, u32 place) {
  w->pair = atomicExch(w->r.slots + w->here * S + place, w->pair);
  w->here = other_bucket<u32>(t, table_slot_key(w->pair), w->here);
  w->moved = true;
}

/* All of the bucket were tried. */
template <int S, typename W>
static __device__ void next_bucket(const table_layout &t, table_walker<W> *w) {
  w->random = w->random * 1664525u + 1013904223u;
  if (!w->moved && w->steps == 0)
    w->here = w->second;
  else
    displace<S>(t, w, w->random >> 20 & (S - 1));
  w->tried = 0;
  w->steps++;
}

/* A few looks, all without locks, so that what they tell is only likely: threads of a warp that
 * have pairs on the way make them together. True: the pair has its place. */
template <typename W, int S>
static __device__ bool table_direct_walk(const table_layout &t, table_walker<W> *w) {
  u32 places[AHEAD], others[AHEAD], free[AHEAD];
#pragma unroll
  for (int k = 0; k < AHEAD; k++) {
    places[k] = (w->tried + (u32)k + w->random) % S;
    W key = table_slot_key(dzo_load_stale(w->r.slots + w->here * S + places[k]));
    others[k] = key == table_word<W>::FREE ? w->here : other_bucket<W>(t, key, w->here);
  }
#pragma unroll
  for (int k = 0; k < AHEAD; k++)
    free[k] = others[k] != w->here ? look_at<W, S>(w->r, others[k]).free : 0;
  w->tried += AHEAD;
  if (free[0] != 0)
    return pass_on<S>(t, w, places[0], others[0]);
  if (free[1] != 0)
    return pass_on<S>(t, w, places[1], others[1]);
  if (w->tried >= S)
    next_bucket<S>(t, w);
  return false;
}

/* The last try: none is for the overflow while one of its buckets has a free slot, since there
 * look-ups end. */
template <typename W, int S>
static __device__ bool table_direct_give_up(const table_layout &t, const table_walker<W> &w) {
  u32 other = other_bucket<W>(t, table_slot_key(w.pair), w.here);
  return fill<S>(w.r, w.here, w.pair) || fill<S>(w.r, other, w.pair);
}

#endif
