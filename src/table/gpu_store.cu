/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* INSERT, ASSIGN, ADD, MIN and MAX at regions. */
#include "dzo/table.h"
#include "table/gpu_region_room.cuh"

/* A thread's item. */
template <typename W> struct store_item {
  bool live;
  W key, value;
  u32 at;     /* where its key is now */
  bool fresh; /* this item is the one that made it */
};

/* Of the items of a tile that make the same key, the first by position does. The claimed slots'
 * values are EMPTY or ERASED, above any rank. All threads; some item has found its key taken. */
template <typename W>
static __device__ void settle_first(const table_region<W> &r, store_item<W> *x, bool claims) {
  if (claims)
    atomicMin(&r.slots[x->at].value, (W)threadIdx.x);
  __syncthreads();
  x->fresh = claims && dzo_load_block(&r.slots[x->at].value) == threadIdx.x;
  __syncthreads();
}

/* ASSIGN: of the items of a tile, the last by position stays. All threads. */
template <typename W>
static __device__ void settle_last(const table_layout &t, const table_region<W> &r,
                                   const table_region_state *state, const store_item<W> &x) {
  W *value = x.live ? table_value_in(t, r, state, x.at) : NULL;
  if (x.live)
    dzo_store_block(value, (W)0);
  __syncthreads();
  if (x.live)
    atomicMax(value, (W)threadIdx.x + 1);
  __syncthreads();
  bool last = x.live && dzo_load_block(value) == threadIdx.x + 1;
  __syncthreads();
  if (last)
    dzo_store_block(value, x.value);
}

template <typename W, int OPERATION> static __device__ void combine(W *value, W x) {
  if (OPERATION == DZO_TABLE_ADD)
    atomicAdd(value, x);
  else if (OPERATION == DZO_TABLE_MIN)
    atomicMin(value, x);
  else if (OPERATION == DZO_TABLE_MAX)
    atomicMax(value, x);
  else
    dzo_store_block(value, x);
}

/* A slot for each key that is nowhere yet. Ends with a barrier. All threads. */
template <typename W, int S>
static __device__ void claim_slots(const table_region<W> &r, table_region_state *state,
                                   const table_room &room, bool ordered, store_item<W> *x) {
  bool claims = x->live && x->at == TABLE_NOWHERE, taken = false;
  if (claims) {
    x->at = table_claim<W, S>(r, state, x->key, room);
    taken = (x->at & TABLE_TAKEN) != 0;
    x->at &= ~(u32)TABLE_TAKEN;
    x->fresh = !taken;
  }
  if (__syncthreads_or(taken) && ordered)
    settle_first(r, x, claims);
  if (x->fresh) {
    dzo_store_block(&r.slots[x->at].value, x->value);
    table_mark_dirty<W, S>(r, x->at);
  }
}

template <typename W, int S, int OPERATION>
static __device__ void store_tile(const table_layout &t, const table_region<W> &r,
                                  table_region_state *state, bool ordered, store_item<W> *x) {
  table_room room = {};
  x->at = TABLE_NOWHERE;
  x->fresh = false;
  if (x->live)
    x->at = table_find_in<W, S>(t, r, state, x->key, &room);
  __syncthreads();
  claim_slots<W, S>(r, state, room, ordered, x);
  if (OPERATION != DZO_TABLE_INSERT) {
    if (x->live)
      table_mark_dirty<W, S>(r, x->at);
    __syncthreads();
    if (OPERATION == DZO_TABLE_ASSIGN && ordered)
      settle_last(t, r, state, *x);
    else if (x->live && !x->fresh)
      combine<W, OPERATION>(table_value_in(t, r, state, x->at), x->value);
  }
}

template <typename W, int S, int OPERATION>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<W>::LIGHT)
    table_store(table_layout t, table_batch_run run) {
  typedef typename table_word<W>::slot slot;
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  table_task task;
  if (!table_task_of_block(run, blockIdx.x, &task))
    return;
  const slot *items = (const slot *)run.items;
  u32 inserted = 0, found = 0, base = task.begin;
  slot next = {};
  if (base + threadIdx.x < task.end)
    next = items[base + threadIdx.x];
  table_region<W> r = table_region_load<W>(t, task.region, memory, &state);
  r.sparse = (task.end - task.begin) * 2 <= r.buckets;
  for (; base < task.end; base += TABLE_BLOCK) {
    u32 i = base + threadIdx.x;
    store_item<W> x = {i < task.end, table_slot_key(next), table_slot_value(next), 0, false};
    if (i + TABLE_BLOCK < task.end)
      next = items[i + TABLE_BLOCK];
    if (!table_has_room<W, S>(r, &state, run.limit))
      break;
    store_tile<W, S, OPERATION>(t, r, &state, run.ordered, &x);
    if (x.live && run.answers != NULL)
      run.answers[i] = x.fresh ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND;
    inserted += x.fresh;
    found += x.live && !x.fresh;
    u32 fresh = __ballot_sync(DZO_WARP_ALL, x.fresh);
    if (dzo_lane() == 0 && fresh != 0)
      atomicAdd(&state.pairs, (u32)__popc(fresh));
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    run.stop[task.region] = base < task.end ? base : task.end;
    if (base < task.end)
      atomicAdd((u64 *)&run.counters->put_off, (u64)(task.end - base));
  }
  table_spill<W, S>(r, &state, run);
  table_count_up(&run.counters->inserted, inserted);
  table_count_up(&run.counters->found, found);
  if (__syncthreads_or(OPERATION == DZO_TABLE_INSERT ? inserted > 0 : base > task.begin)) {
    if (r.sparse)
      table_region_save_dirty<W, S>(t, r, task.region);
    else
      table_region_save(t, r, task.region);
  }
}

/* ---- From the host ----------------------------------------------------------------------------
 */

template <typename W, int S, int OPERATION>
static dzo_status store(dzo_unit *unit, const table_layout *t, const table_batch_run *run) {
  u64 blocks = run->dense || t->regions < run->count ? t->regions : run->count;
  return DZO_LAUNCH_SHARED(unit, 0, (table_store<W, S, OPERATION>), blocks, TABLE_BLOCK,
                           table_block_bytes<W>(t->buckets * S, t->buckets), *t, *run);
}

template <typename W, int S>
static dzo_status store_by(dzo_unit *unit, const table_layout *t, int operation,
                           const table_batch_run *run) {
  switch (operation) {
  case DZO_TABLE_ASSIGN:
    return store<W, S, DZO_TABLE_ASSIGN>(unit, t, run);
  case DZO_TABLE_ADD:
    return store<W, S, DZO_TABLE_ADD>(unit, t, run);
  case DZO_TABLE_MIN:
    return store<W, S, DZO_TABLE_MIN>(unit, t, run);
  case DZO_TABLE_MAX:
    return store<W, S, DZO_TABLE_MAX>(unit, t, run);
  default:
    return store<W, S, DZO_TABLE_INSERT>(unit, t, run);
  }
}

dzo_status table_region_store(dzo_unit *unit, const table_layout *t, bool wide, int operation,
                              const table_batch_run *run) {
  if (t->bucket_slots == 4)
    return wide ? store_by<u64, 4>(unit, t, operation, run)
                : store_by<u32, 4>(unit, t, operation, run);
  return wide ? store_by<u64, 8>(unit, t, operation, run)
              : store_by<u32, 8>(unit, t, operation, run);
}
