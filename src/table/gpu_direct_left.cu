/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Queries whose keys found both their buckets full. How many there are only the device knows while
 * this is queued: the host need not be asked between, which takes as long as a small batch. */
#include "table/gpu_direct_set.cuh"
#include "table/gpu_direct_walk.cuh"

enum { THREADS = TABLE_DIRECT_THREADS, WALKERS = 64 };
enum { BLOCKS = 8, WALKER_BLOCKS = 24 }; /* of a multiprocessor, at most */

/* Steps that a pair may go; fewer where so many have to that their keys must have been chosen. */
enum { STEPS = 400, FEW_STEPS = 24, CROWD = 8, LEAST_CROWD = 4096 };

/* None, if the host has to settle first what met its key. */
static __device__ __forceinline__ u32 count_left(const table_direct &d, bool met_too) {
  return met_too || d.counters->met == 0 ? (u32)d.counters->left : 0;
}

static __device__ __forceinline__ void place_set(table_direct *d, bool wide, u32 left) {
  (void)table_set_place(wide, table_set_has_sums(d->operation), table_set_room(left), &d->set,
                        (char *)d->set.keys);
}

template <typename T> static __device__ void fill(T *words, u64 count, T x) {
  for (u64 i = blockIdx.x * (u64)THREADS + threadIdx.x; i < count; i += gridDim.x * (u64)THREADS)
    words[i] = x;
}

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    left_clear(table_layout t, table_direct d, bool met_too) {
  dzo_after_previous();
  u32 left = count_left(d, met_too);
  if (left == 0)
    return;
  place_set(&d, sizeof(W) == 8, left);
  u64 entries = d.set.room + 1ull;
  fill((u64 *)d.set.keys, entries, ~0ull);
  if (sizeof(W) == 8)
    fill(d.set.first, entries, (u32)TABLE_SET_NONE);
  if (d.operation == DZO_TABLE_ASSIGN)
    fill(d.set.last, entries, (u32)TABLE_SET_NONE);
  if (d.set.sums != NULL)
    fill((W *)d.set.sums, entries, (W)(d.operation == DZO_TABLE_MIN ? ~(W)0 : 0));
  if (sizeof(W) == 8)
    fill(d.locks, table_lock_words(&t), 0u);
}

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    left_note(table_layout t, table_direct d, bool met_too) {
  dzo_after_previous();
  u32 left = count_left(d, met_too);
  place_set(&d, sizeof(W) == 8, left);
  for (u32 n = blockIdx.x * THREADS + threadIdx.x; n < left; n += gridDim.x * THREADS) {
    u32 i = d.noted[d.count - 1 - n];
    u32 entry = table_set_make<W>(d, table_direct_key<W>(t, d, i), i);
    if (d.set.sums != NULL)
      table_direct_combine<W>(d.operation, (W *)d.set.sums + entry, table_direct_value<W>(d, i));
  }
}

/* The value of a key that is new: of its only query, or of all of them. */
template <typename W> static __device__ W value_of(const table_direct &d, u32 entry, u32 i) {
  if (d.set.sums != NULL)
    return dzo_load_shared((W *)d.set.sums + entry);
  return table_direct_value<W>(d, d.operation == DZO_TABLE_ASSIGN ? ~d.set.last[entry] : i);
}

/* What has no place goes to the overflow. It may be another pair than the one that came; of a mixed
 * batch, others of its queries will want to know where it is. */
template <typename W>
static __device__ void spill(const table_direct &d, typename table_word<W>::slot pair) {
  u64 to = atomicAdd((u64 *)&d.counters->spilled, 1ull);
  ((typename table_word<W>::slot *)d.spill)[to] = pair;
  if (d.operation != DZO_TABLE_MIXED)
    return;
  u32 entry = table_set_find<W>(d.set, table_slot_key(pair));
  if (entry != TABLE_SET_NONE)
    d.set.claimer[entry] = (u32)to;
}

/* The first query of each key brings it in; is this one it? */
template <typename W, int S>
static __device__ bool bring_in(const table_layout &t, const table_direct &d, u32 i, int steps) {
  W key = table_direct_key<W>(t, d, i);
  u32 entry = table_set_find<W>(d.set, key);
  bool first = table_set_first(d.set, entry, key) == i;
  if (d.answers != NULL)
    d.answers[i] = first ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND;
  if (!first)
    return false;
  typename table_word<W>::slot pair = table_slot_of(value_of<W>(d, entry, i), key);
  if (!table_direct_walk<W, S>(t, d, &pair, steps))
    spill<W>(d, pair);
  return true;
}

template <typename W, int S>
static __global__ void __launch_bounds__(WALKERS)
    left_walk(table_layout t, table_direct d, bool met_too) {
  dzo_after_previous();
  u32 left = count_left(d, met_too), made = 0, others = 0;
  bool crowd = left > LEAST_CROWD && left > d.count / CROWD;
  place_set(&d, sizeof(W) == 8, left);
  for (u32 n = blockIdx.x * WALKERS + threadIdx.x; n < left; n += gridDim.x * WALKERS) {
    bool first = bring_in<W, S>(t, d, d.noted[d.count - 1 - n], crowd ? FEW_STEPS : STEPS);
    made += first;
    others += !first;
  }
  __syncwarp();
  made = __reduce_add_sync(DZO_WARP_ALL, made);
  others = __reduce_add_sync(DZO_WARP_ALL, others);
  if (dzo_lane() == 0 && made > 0)
    atomicAdd((u64 *)&d.counters->inserted, (u64)made);
  if (dzo_lane() == 0 && others > 0)
    atomicAdd((u64 *)&d.counters->found, (u64)others);
}

/* Of a mixed batch: the others change what the first has brought to a slot, or to the spill. */
template <int S>
static __global__ void __launch_bounds__(THREADS)
    left_again(table_layout t, table_direct d, bool met_too) {
  dzo_after_previous();
  u32 left = count_left(d, met_too);
  place_set(&d, false, left);
  for (u32 n = blockIdx.x * THREADS + threadIdx.x; n < left; n += gridDim.x * THREADS) {
    u32 i = d.noted[d.count - 1 - n], key = table_direct_key<u32>(t, d, i);
    u32 entry = table_set_find(d.set, key);
    if (d.codes[i] == DZO_TABLE_INSERT || table_set_first(d.set, entry, key) == i)
      continue;
    u32 *at = table_direct_find<u32, S>(t, key);
    if (at == NULL)
      at = &((table_pair<u32> *)d.spill)[d.set.claimer[entry]].value;
    table_direct_combine<u32>(d.codes[i], at, table_direct_value<u32>(d, i));
  }
}

template <typename W, int S>
static dzo_status again(dzo_unit *unit, const table_layout *t, const table_direct *d, u64 blocks,
                        bool met_too) {
  if (sizeof(W) == 8 || d->operation != DZO_TABLE_MIXED)
    return DZO_OK;
  return DZO_LAUNCH_CHAINED(unit, 0, left_again<S>, blocks, THREADS, *t, *d, met_too);
}

static u64 blocks_for(const dzo_unit *unit, u64 count, u64 threads, u64 each) {
  u64 blocks = (count + threads - 1) / threads, most = each * (u64)unit->processors;
  return blocks < most ? blocks : most;
}

template <typename W, int S>
static dzo_status bring_in_left(dzo_unit *unit, const table_layout *t, const table_direct *d,
                                u64 most, bool met_too) {
  u64 blocks = blocks_for(unit, most, THREADS, BLOCKS);
  u64 walkers = blocks_for(unit, most, WALKERS, WALKER_BLOCKS);
  DZO_TRY(DZO_LAUNCH_CHAINED(unit, 0, left_clear<W>, blocks, THREADS, *t, *d, met_too));
  DZO_TRY(DZO_LAUNCH_CHAINED(unit, 0, left_note<W>, blocks, THREADS, *t, *d, met_too));
  DZO_TRY(DZO_LAUNCH_CHAINED(unit, 0, (left_walk<W, S>), walkers, WALKERS, *t, *d, met_too));
  return again<W, S>(unit, t, d, blocks, met_too);
}

dzo_status table_direct_bring_in(dzo_unit *unit, const table_layout *t, bool wide,
                                 const table_direct *d, uint64_t most, bool met_too) {
  if (t->bucket_slots == 4)
    return wide ? bring_in_left<u64, 4>(unit, t, d, most, met_too)
                : bring_in_left<u32, 4>(unit, t, d, most, met_too);
  return wide ? bring_in_left<u64, 8>(unit, t, d, most, met_too)
              : bring_in_left<u32, 8>(unit, t, d, most, met_too);
}
