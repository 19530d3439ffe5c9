/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Mixed batches at regions. The items of a tile are done in rounds. In each, an item is done if
 * none before it that changes its key is still to be done: so all finds of a round come before the
 * one change of their key, and changes of a round are of different keys. */
#include "dzo/table.h"
#include "table/gpu_region_room.cuh"

/* An open table of the keys that the tile changes, and for each the first item that is to. */
enum { KEYS = 2 * TABLE_BLOCK, NO_ITEM = TABLE_BLOCK };
template <typename W> struct mixed_keys {
  W *key;
  u32 *first;
};

typedef struct mixed_counts {
  u32 found, inserted, erased;
} mixed_counts;

template <typename W> struct mixed_item {
  bool waits; /* is to be done */
  u32 code;
  W key, value;
  u32 entry; /* in the open table; KEYS: none */
};

/* The lone pair's key stands for "no key" in the table of the tile's keys, too; as an entry of its
 * own, the last. */
template <typename W> static __device__ u32 entry_of(const mixed_keys<W> &keys, W key, bool make) {
  if (key == table_word<W>::FREE)
    return KEYS - 1;
  u32 i = (u32)(key * 0x9e3779b1u >> 13) % (KEYS - 1);
  for (;; i = i + 1 == KEYS - 1 ? 0 : i + 1) {
    W old =
        make ? atomicCAS(&keys.key[i], (W)table_word<W>::FREE, key) : dzo_load_block(&keys.key[i]);
    if (old == key || (make && old == table_word<W>::FREE))
      return i;
    if (old == table_word<W>::FREE)
      return KEYS;
  }
}

/* Takes a pair away. Whoever claims the slot after that finds it wholly free. */
template <typename W>
static __device__ void take_away(const table_layout &t, const table_region<W> &r,
                                 table_region_state *state, u32 at) {
  if ((at & TABLE_OVER) != 0) {
    dzo_store_block(&t.over_gone[state->over[0] + (at & ~(u32)TABLE_OVER)], (uint8_t)1);
    return;
  }
  if (at >= table_stash_of(r)) {
    u32 i = at - table_stash_of(r);
    atomicOr(&state->gone[i / 32], 1u << (i & 31));
    return;
  }
  dzo_store_block(&r.slots[at].value, (W)table_word<W>::ERASED);
  __threadfence_block();
  dzo_store_block(&r.slots[at].key, (W)table_word<W>::FREE);
}

template <typename W> static __device__ void change_value(W *value, u32 code, W x) {
  W old = dzo_load_block(value), now = old;
  if (code == DZO_TABLE_ASSIGN)
    now = x;
  else if (code == DZO_TABLE_ADD)
    now = old + x;
  else if (code == DZO_TABLE_MIN)
    now = x < old ? x : old;
  else if (code == DZO_TABLE_MAX)
    now = x > old ? x : old;
  if (now != old)
    dzo_store_block(value, now);
}

/* A change of a key that stands at `at`, or nowhere. */
template <typename W, int S>
static __device__ dzo_table_answer change(const table_layout &t, const table_region<W> &r,
                                          table_region_state *state, const mixed_item<W> &x, u32 at,
                                          const table_room &room) {
  if (x.code == DZO_TABLE_ERASE) {
    if (at == TABLE_NOWHERE)
      return DZO_TABLE_ABSENT;
    take_away(t, r, state, at);
    return DZO_TABLE_FOUND;
  }
  if (at != TABLE_NOWHERE) {
    change_value(table_value_in(t, r, state, at), x.code, x.value);
    return DZO_TABLE_FOUND;
  }
  at = table_claim<W, S>(r, state, x.key, room);
  __threadfence_block();
  dzo_store_block(&r.slots[at].value, x.value);
  return DZO_TABLE_INSERTED;
}

/* All threads. Items whose turn it is are done; true: others wait. */
template <typename W, int S>
static __device__ bool do_round(const table_layout &t, const table_region<W> &r,
                                table_region_state *state, const mixed_keys<W> &keys,
                                mixed_item<W> *x, W *result, dzo_table_answer *answer) {
  u32 first = NO_ITEM;
  if (x->waits && x->entry < KEYS)
    first = dzo_load_block(&keys.first[x->entry]);
  bool turn = x->waits && threadIdx.x <= first, changes = turn && x->code != DZO_TABLE_FIND;
  u32 at = TABLE_NOWHERE;
  table_room room = {};
  if (turn)
    at = table_find_in<W, S>(t, r, state, x->key, &room);
  if (turn && !changes) {
    *answer = at != TABLE_NOWHERE ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
    *result = at != TABLE_NOWHERE ? dzo_load_block(table_value_in(t, r, state, at)) : 0;
  }
  __syncthreads();
  if (changes) {
    *answer = change<W, S>(t, r, state, *x, at, room);
    dzo_store_block(&keys.first[x->entry], (u32)NO_ITEM);
  }
  x->waits = x->waits && !turn;
  if (!__syncthreads_or(x->waits))
    return false;
  if (x->waits && x->code != DZO_TABLE_FIND)
    atomicMin(&keys.first[x->entry], threadIdx.x);
  __syncthreads();
  return true;
}

template <typename W, int S>
static __device__ void do_tile(const table_layout &t, const table_region<W> &r,
                               table_region_state *state, const mixed_keys<W> &keys,
                               mixed_item<W> *x, W *result, dzo_table_answer *answer) {
  bool changes = x->waits && x->code != DZO_TABLE_FIND, live = x->waits;
  x->entry = KEYS;
  if (changes) {
    x->entry = entry_of(keys, x->key, true);
    atomicMin(&keys.first[x->entry], threadIdx.x);
  }
  __syncthreads();
  if (live && !changes)
    x->entry = entry_of(keys, x->key, false);
  while (do_round<W, S>(t, r, state, keys, x, result, answer)) {
  }
  if (changes && x->entry < KEYS - 1)
    dzo_store_block(&keys.key[x->entry], (W)table_word<W>::FREE);
}

template <typename W> static __device__ mixed_keys<W> keys_behind(const table_region<W> &r) {
  u32 *end = table_behind(r);
  mixed_keys<W> keys = {(W *)end, (u32 *)((W *)end + KEYS)};
  for (u32 i = threadIdx.x; i < KEYS; i += TABLE_BLOCK) {
    keys.key[i] = table_word<W>::FREE;
    keys.first[i] = NO_ITEM;
  }
  return keys;
}

/* An item on its way, a tile ahead. */
template <typename W> struct mixed_ahead {
  typename table_word<W>::slot pair;
  uint8_t code;
};
template <typename W>
static __device__ __forceinline__ void load_ahead(const table_batch_run &run, u32 i, u32 end,
                                                  mixed_ahead<W> *next) {
  if (i >= end)
    return;
  next->pair = ((const typename table_word<W>::slot *)run.items)[i];
  next->code = run.codes[i];
}

static __device__ void count_answer(mixed_counts *n, dzo_table_answer answer, u32 code) {
  n->found += answer == DZO_TABLE_FOUND;
  n->inserted += answer == DZO_TABLE_INSERTED;
  n->erased += answer == DZO_TABLE_FOUND && code == DZO_TABLE_ERASE;
}

/* Pairs in the region. All threads. */
static __device__ void adjust_pairs(table_region_state *state, bool more, bool less) {
  u32 plus = __ballot_sync(DZO_WARP_ALL, more), minus = __ballot_sync(DZO_WARP_ALL, less);
  if (dzo_lane() == 0 && (plus | minus) != 0)
    atomicAdd(&state->pairs, (u32)__popc(plus) - (u32)__popc(minus));
}

template <typename W, int S>
static __global__ void __launch_bounds__(TABLE_BLOCK, table_blocks<W>::LIGHT)
    table_mixed(table_layout t, table_batch_run run) {
  DZO_BLOCK_MEMORY(char, memory);
  __shared__ table_region_state state;
  table_task task;
  if (!table_task_of_block(run, blockIdx.x, &task))
    return;
  mixed_ahead<W> next = {};
  load_ahead(run, task.begin + threadIdx.x, task.end, &next);
  table_region<W> r = table_region_load<W>(t, task.region, memory, &state);
  r.sparse = false;
  mixed_keys<W> keys = keys_behind(r);
  __syncthreads();
  mixed_counts n = {0, 0, 0};
  u32 base = task.begin;
  for (; base < task.end; base += TABLE_BLOCK) {
    u32 i = base + threadIdx.x;
    mixed_item<W> x = {i < task.end, next.code, table_slot_key(next.pair),
                       table_slot_value(next.pair), KEYS};
    load_ahead(run, i + TABLE_BLOCK, task.end, &next);
    if (!table_has_room<W, S>(r, &state, run.limit))
      break;
    bool live = x.waits;
    W result = 0;
    dzo_table_answer answer = DZO_TABLE_ABSENT;
    do_tile<W, S>(t, r, &state, keys, &x, &result, &answer);
    if (live && run.answers != NULL)
      run.answers[i] = (uint8_t)answer;
    if (live && run.values != NULL)
      ((W *)run.values)[i] = result;
    if (live)
      count_answer(&n, answer, x.code);
    bool erased = live && answer == DZO_TABLE_FOUND && x.code == DZO_TABLE_ERASE;
    adjust_pairs(&state, live && answer == DZO_TABLE_INSERTED, erased);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    run.stop[task.region] = base < task.end ? base : task.end;
    if (base < task.end)
      atomicAdd((u64 *)&run.counters->put_off, (u64)(task.end - base));
  }
  table_spill<W, S>(r, &state, run);
  table_count_up(&run.counters->inserted, n.inserted);
  table_count_up(&run.counters->found, n.found);
  table_count_up(&run.counters->erased, n.erased);
  __syncthreads();
  if (state.over[0] == state.over[1] && dzo_load_block(&state.stashed) == 0)
    table_clear_erased<W, S>(r);
  table_region_save(t, r, task.region);
}

/* ---- From the host ----------------------------------------------------------------------------
 */

template <typename W, int S>
static dzo_status mixed(dzo_unit *unit, const table_layout *t, const table_batch_run *run) {
  u64 blocks = run->dense || t->regions < run->count ? t->regions : run->count;
  return DZO_LAUNCH_SHARED(unit, 0, (table_mixed<W, S>), blocks, TABLE_BLOCK,
                           table_block_bytes<W>(t->buckets * S, t->buckets) +
                               KEYS * (sizeof(W) + sizeof(u32)),
                           *t, *run);
}

dzo_status table_region_mixed(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run) {
  if (t->bucket_slots == 4)
    return wide ? mixed<u64, 4>(unit, t, run) : mixed<u32, 4>(unit, t, run);
  return wide ? mixed<u64, 8>(unit, t, run) : mixed<u32, 8>(unit, t, run);
}

/* A block that does a mixed batch has the most beside its slots. */
uint32_t table_region_slots(uint64_t shared, bool wide, uint32_t bucket_slots) {
  u64 word = wide ? 8 : 4, rest = (1 + TABLE_STASH) * 2 * word + KEYS * (word + 4) + 1024;
  u64 bytes = shared > rest ? shared - rest : 0;
  u64 buckets = bytes / (bucket_slots * 2 * word + 1); /* with its bits in three maps */
  return (uint32_t)(buckets > 0 ? buckets * bucket_slots : bucket_slots);
}
