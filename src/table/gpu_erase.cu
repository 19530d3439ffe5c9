/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* ERASE at regions. */
#include "dzo/table.h"
#include "table/gpu_region_room.cuh"

/* Of the items of a tile with the same key, the first by position erases. All threads. */
template <typename W>
static __device__ bool settle_first(const table_layout &t, const table_region<W> &r,
                                    const table_region_state *state, u32 at) {
  W *value = at != TABLE_NOWHERE ? table_value_in(t, r, state, at) : NULL;
  if (value != NULL)
    dzo_store_block(value, (W)TABLE_BLOCK);
  __syncthreads();
  if (value != NULL)
    atomicMin(value, (W)threadIdx.x);
  __syncthreads();
  bool first = value != NULL && dzo_load_block(value) == threadIdx.x;
  __syncthreads();
  return first;
}

/* Some one of them does. */
template <typename W> static __device__ bool settle_any(const table_region<W> &r, u32 at) {
  if (at == TABLE_NOWHERE || (at & TABLE_OVER) != 0)
    return false;
  return atomicExch(&r.slots[at].key, (W)table_word<W>::FREE) != table_word<W>::FREE;
}

template <typename W>
static __device__ void take_away(const table_layout &t, const table_region<W> &r,
                                 const table_region_state *state, u32 at) {
  if ((at & TABLE_OVER) != 0) {
    dzo_store_block(&t.over_gone[state->over[0] + (at & ~(u32)TABLE_OVER)], (uint8_t)1);
    return;
  }
  dzo_store_block(&r.slots[at].value, (W)table_word<W>::ERASED);
  dzo_store_block(&r.slots[at].key, (W)table_word<W>::FREE);
}

template <typename W, int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<W>::LIGHT)
    table_erase(table_layout t, table_batch_run run) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  table_task task;
  if (!table_task_of_block(run, blockIdx.x, &task))
    return;
  const W *items = (const W *)run.items;
  W next = task.begin + threadIdx.x < task.end ? items[task.begin + threadIdx.x] : 0;
  table_region<W> r = table_region_load<W>(t, task.region, memory, &state);
  bool exact = (run.ordered && run.answers != NULL) || state.over[0] < state.over[1];
  u32 erased = 0;
  for (u32 base = task.begin; base < task.end; base += TABLE_BLOCK) {
    u32 i = base + threadIdx.x, at = TABLE_NOWHERE;
    W key = next;
    if (i + TABLE_BLOCK < task.end)
      next = items[i + TABLE_BLOCK];
    if (i < task.end) {
      table_room room;
      at = table_find_in<W, S>(t, r, &state, key, &room);
    }
    __syncthreads();
    bool mine = exact ? settle_first(t, r, &state, at) : settle_any(r, at);
    if (mine)
      take_away(t, r, &state, at);
    if (i < task.end && run.answers != NULL)
      run.answers[i] = mine ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
    erased += mine;
    __syncthreads();
  }
  if (threadIdx.x == 0)
    run.stop[task.region] = task.end;
  table_count_up(&run.counters->found, erased);
  table_count_up(&run.counters->erased, erased);
  if (__syncthreads_or(erased > 0)) {
    if (state.over[0] == state.over[1])
      table_clear_erased<W, S>(r);
    table_region_save(t, r, task.region);
  }
}

template <typename W, int S>
static dzo_status erase(dzo_unit *unit, const table_layout *t, const table_batch_run *run) {
  u64 blocks = run->dense || t->regions < run->count ? t->regions : run->count;
  return DZO_LAUNCH_SHARED(unit, 0, (table_erase<W, S>), blocks, TABLE_BLOCK,
                           table_block_bytes<W>(t->buckets * S, t->buckets), *t, *run);
}

dzo_status table_region_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run) {
  if (t->bucket_slots == 4)
    return wide ? erase<u64, 4>(unit, t, run) : erase<u32, 4>(unit, t, run);
  return wide ? erase<u64, 8>(unit, t, run) : erase<u32, 8>(unit, t, run);
}
