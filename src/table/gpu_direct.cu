/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The first pass of INSERT, ASSIGN, ADD, MIN and MAX, and ERASE. */
#include "table/gpu_direct.h"

#include "dzo/table.h"
#include "table/gpu_direct_claim.cuh"

enum { THREADS = TABLE_DIRECT_THREADS };

/* ---- The first pass ---------------------------------------------------------------------------
 */

/* Does a query that met its key have to be looked at again? In 64 bits the slot that it met may
 * have no value yet, and would get the older one afterwards. */
template <typename W, int OPERATION>
static __device__ __forceinline__ bool is_noted(const table_direct &d) {
  if (OPERATION == DZO_TABLE_INSERT)
    return d.ordered;
  if (OPERATION == DZO_TABLE_ASSIGN)
    return sizeof(W) == 8 || d.ordered;
  return sizeof(W) == 8 || (d.ordered && d.answers != NULL);
}

template <typename W, int S, int OPERATION>
static __global__ void __launch_bounds__(THREADS) direct_store(table_layout t, table_direct d) {
  __shared__ u32 s_count[2], s_base[2], s_sum[2];
  if (threadIdx.x < 2)
    s_count[threadIdx.x] = s_base[threadIdx.x] = s_sum[threadIdx.x] = 0;
  __syncthreads();
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  int outcome = TABLE_MET;
  bool live = i < d.count, noted = false;
  if (live) {
    W key = table_direct_key<W>(t, d, i), value = table_direct_value<W>(d, i), *at = NULL;
    outcome = table_direct_claim<W, S>(t, key, value, &at);
    noted = outcome == TABLE_MET && is_noted<W, OPERATION>(d);
    if (OPERATION != DZO_TABLE_INSERT && outcome == TABLE_MET &&
        (OPERATION == DZO_TABLE_ASSIGN ? !noted : sizeof(W) == 4))
      table_direct_combine<W>(OPERATION, at, value);
    if (d.answers != NULL)
      d.answers[i] = outcome == TABLE_CLAIMED ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND;
  }
  bool left = live && outcome == TABLE_LEFT, claimed = live && outcome == TABLE_CLAIMED;
  u32 claims = __ballot_sync(DZO_WARP_ALL, claimed);
  if (d.ordered && dzo_lane() == 0 && live)
    d.claims[i / 32] = claims;
  if (__syncthreads_or(noted || left)) {
    u32 place = table_direct_list(noted, &s_count[0], &s_base[0], &d.counters->met);
    if (noted)
      d.noted[place] = i;
    place = table_direct_list(left, &s_count[1], &s_base[1], &d.counters->left);
    if (left)
      d.noted[d.count - 1 - place] = i;
  }
  table_direct_count(&s_sum[0], &d.counters->inserted, claimed);
  table_direct_count(&s_sum[1], &d.counters->found, live && outcome == TABLE_MET);
}

template <typename W, int S>
static dzo_status store(dzo_unit *unit, const table_layout *t, const table_direct *d) {
  u32 blocks = (d->count + THREADS - 1) / THREADS;
  switch (d->operation) {
  case DZO_TABLE_ASSIGN:
    return DZO_LAUNCH(unit, 0, (direct_store<W, S, DZO_TABLE_ASSIGN>), blocks, THREADS, *t, *d);
  case DZO_TABLE_ADD:
    return DZO_LAUNCH(unit, 0, (direct_store<W, S, DZO_TABLE_ADD>), blocks, THREADS, *t, *d);
  case DZO_TABLE_MIN:
    return DZO_LAUNCH(unit, 0, (direct_store<W, S, DZO_TABLE_MIN>), blocks, THREADS, *t, *d);
  case DZO_TABLE_MAX:
    return DZO_LAUNCH(unit, 0, (direct_store<W, S, DZO_TABLE_MAX>), blocks, THREADS, *t, *d);
  default:
    return DZO_LAUNCH(unit, 0, (direct_store<W, S, DZO_TABLE_INSERT>), blocks, THREADS, *t, *d);
  }
}

dzo_status table_direct_store(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d) {
  if (t->bucket_slots == 4)
    return wide ? store<u64, 4>(unit, t, d) : store<u32, 4>(unit, t, d);
  return wide ? store<u64, 8>(unit, t, d) : store<u32, 8>(unit, t, d);
}

/* ---- ERASE ------------------------------------------------------------------------------------
 */

/* The place of a pair: its slot, or behind all slots and the lone pair's, that in the overflow. The
 * upper bit: its bucket has an EMPTY slot. */
#define NO_PLACE (~0ull)
#define OPEN (1ull << 63)

template <typename W, int S> static __device__ u64 place_of(const table_layout &t, W key) {
  typedef typename table_word<W>::slot slot;
  u64 side = t.regions * t.buckets * S;
  if (key == table_word<W>::FREE)
    return dzo_load_shared(&table_side<W>(t)->key) != table_word<W>::FREE ? side | OPEN : NO_PLACE;
  table_direct_place_of<W> p = table_direct_places<W, S>(t, key);
  u32 number = p.first;
  for (int choice = 0; choice < 2; choice++, number = p.second) {
    table_bucket<W, S> bucket;
    slot *at = p.region + number * S;
    table_load_stale<S>(at, &bucket);
    table_seen seen = table_look<W, S>(bucket, key);
    if (seen.equal != 0)
      return (u64)(at - (slot *)t.slots + __ffs((int)seen.equal) - 1) |
             (seen.empty != 0 ? OPEN : 0);
    if (seen.empty != 0)
      return NO_PLACE;
  }
  u64 over = t.over_count > 0 ? table_direct_over(t, key) : 0;
  return over < t.over_count ? side + 1 + over : NO_PLACE;
}

template <typename W> static __device__ W *value_at(const table_layout &t, u64 place) {
  u64 at = place & ~OPEN, side = t.regions * t.buckets * t.bucket_slots;
  return at <= side ? &((table_pair<W> *)t.slots)[at].value : (W *)t.over_values + (at - side - 1);
}

/* Values of pairs that go become the first position that wants them to: first all ones, then the
 * least. Only the keys of slots are looked at meanwhile, unless they are free. */
template <typename W, int S>
static __global__ void __launch_bounds__(THREADS) direct_seek(table_layout t, table_direct d) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= d.count)
    return;
  u64 place = place_of<W, S>(t, table_direct_key<W>(t, d, i));
  if (place != NO_PLACE)
    dzo_store_shared(value_at<W>(t, place), (W) ~(W)0);
  d.where[i] = place;
}
template <typename W>
static __global__ void __launch_bounds__(THREADS) direct_vie(table_layout t, table_direct d) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i < d.count && d.where[i] != NO_PLACE)
    atomicMin(value_at<W>(t, d.where[i]), (W)i);
}

template <typename W> static __device__ void take_away(const table_layout &t, u64 place) {
  u64 at = place & ~OPEN, side = t.regions * t.buckets * t.bucket_slots;
  if (at > side) {
    t.over_gone[at - side - 1] = 1;
    return;
  }
  table_pair<W> *pair = (table_pair<W> *)t.slots + at;
  dzo_store_shared(&pair->key, (W)table_word<W>::FREE);
  dzo_store_shared(&pair->value,
                   (place & OPEN) != 0 ? (W)table_word<W>::EMPTY : (W)table_word<W>::ERASED);
}

/* Positions are below the values that say EMPTY and ERASED. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) direct_take(table_layout t, table_direct d) {
  __shared__ u32 s_sum[2];
  if (threadIdx.x < 2)
    s_sum[threadIdx.x] = 0;
  __syncthreads();
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  bool first = false;
  if (i < d.count) {
    u64 place = d.where[i];
    first = place != NO_PLACE && dzo_load_shared(value_at<W>(t, place)) == (W)i;
    if (first)
      take_away<W>(t, place);
    if (d.answers != NULL)
      d.answers[i] = first ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  }
  table_direct_count(&s_sum[0], &d.counters->found, first);
  table_direct_count(&s_sum[1], &d.counters->erased, first);
}

template <typename W, int S>
static dzo_status erase(dzo_unit *unit, const table_layout *t, const table_direct *d) {
  u32 blocks = (d->count + THREADS - 1) / THREADS;
  DZO_TRY(DZO_LAUNCH(unit, 0, (direct_seek<W, S>), blocks, THREADS, *t, *d));
  DZO_TRY(DZO_LAUNCH(unit, 0, direct_vie<W>, blocks, THREADS, *t, *d));
  return DZO_LAUNCH(unit, 0, direct_take<W>, blocks, THREADS, *t, *d);
}

dzo_status table_direct_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d) {
  if (t->bucket_slots == 4)
    return wide ? erase<u64, 4>(unit, t, d) : erase<u32, 4>(unit, t, d);
  return wide ? erase<u64, 8>(unit, t, d) : erase<u32, 8>(unit, t, d);
}
