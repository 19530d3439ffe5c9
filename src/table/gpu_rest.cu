/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Queries by key, sorted; the thread at the first query of a key does all of them, in order. */
#include "table/gpu_rest.h"

#include "device/primitives.h"
#include "dzo/table.h"
#include "table/gpu_word.cuh"

enum { THREADS = 256 };

static u64 blocks_for(u64 threads) { return (threads + THREADS - 1) / THREADS; }

/* ---- Gathering --------------------------------------------------------------------------------
 */

typedef struct rest_sorted {
  uint64_t *keys, *keys_sorted;
  u32 *items, *items_sorted; /* places among the run's items */
  uint64_t *gathered;
} rest_sorted;

template <typename W, bool PAIRS>
static __device__ W key_of_item(const table_batch_run &run, u32 i) {
  return PAIRS ? ((const table_pair<W> *)run.items)[i].key : ((const W *)run.items)[i];
}

/* A block a region; in which order the regions come does not matter. */
template <typename W, bool PAIRS>
static __global__ void __launch_bounds__(THREADS) rest_gather(table_batch_run run, rest_sorted s) {
  __shared__ u64 s_base;
  if (blockIdx.x >= (u32)run.counters->touched)
    return;
  u32 region = run.list[blockIdx.x], first = run.stop[region], end = run.begin[region + 1];
  if (first == end)
    return;
  if (threadIdx.x == 0)
    s_base = atomicAdd((u64 *)s.gathered, (u64)(end - first));
  __syncthreads();
  for (u32 i = first + threadIdx.x; i < end; i += THREADS) {
    s.keys[s_base + i - first] = key_of_item<W, PAIRS>(run, i);
    s.items[s_base + i - first] = i;
  }
}

template <typename W>
static __global__ void __launch_bounds__(THREADS) rest_refuse(table_batch_run run) {
  if (blockIdx.x >= (u32)run.counters->touched)
    return;
  u32 region = run.list[blockIdx.x];
  for (u32 i = run.stop[region] + threadIdx.x; i < run.begin[region + 1]; i += THREADS) {
    if (run.answers != NULL)
      run.answers[i] = DZO_TABLE_REFUSED;
    if (run.values != NULL)
      ((W *)run.values)[i] = 0;
  }
}

/* ---- One key ----------------------------------------------------------------------------------
 */

/* A key, where its pair stands if it is or was there, and what it is now. */
template <typename W> struct rest_state {
  table_pair<W> *slot;
  W *over;       /* its value in the overflow */
  uint8_t *gone; /* and whether that was erased */
  bool present, granted, denied;
  W value;
};

template <typename W> static __device__ table_pair<W> *find_slot(const table_layout &t, W key) {
  table_pair<W> *slots = (table_pair<W> *)t.slots;
  u32 each = t.bucket_slots;
  if (key == table_word<W>::FREE) {
    table_pair<W> *side = slots + t.regions * t.buckets * each;
    return side; /* present or not, it is its place */
  }
  table_place place = table_place_of(key, t.regions);
  table_pair<W> *region = slots + (u64)place.region * t.buckets * each;
  u32 bucket = table_first_bucket(place, t.buckets);
  for (int choice = 0; choice < 2; choice++) {
    for (u32 i = 0; i < each; i++)
      if (dzo_load_shared(&region[bucket * each + i].key) == key) /* others erase theirs */
        return &region[bucket * each + i];
    bucket = table_second_bucket(key, t.buckets);
  }
  return NULL;
}

template <typename W> static __device__ rest_state<W> look_up(const table_layout &t, W key) {
  rest_state<W> s = {find_slot(t, key), NULL, NULL, false, false, false, 0};
  if (s.slot != NULL) {
    /* Only this thread changes them while the key is there; once it is not, others take the slot.
     */
    s.present = dzo_load_shared(&s.slot->key) != table_word<W>::FREE;
    s.value = dzo_load_shared(&s.slot->value);
    return s;
  }
  u64 at = table_lower_bound((const W *)t.over_keys, 0, t.over_count, key);
  if (at < t.over_count && ((const W *)t.over_keys)[at] == key) {
    s.over = (W *)t.over_values + at;
    s.gone = t.over_gone + at;
    s.present = *s.gone == 0;
    s.value = *s.over;
  }
  return s;
}

/* A pair that stands nowhere, to its buckets: none is for the overflow while one of them has a free
 * slot, since there look-ups end. Others take slots for their keys meanwhile, and free theirs. */
template <typename W> static __device__ bool put_in_buckets(const table_layout &t, W key, W value) {
  u32 each = t.bucket_slots;
  table_place place = table_place_of(key, t.regions);
  table_pair<W> *region = (table_pair<W> *)t.slots + (u64)place.region * t.buckets * each;
  u32 bucket = table_first_bucket(place, t.buckets);
  for (int choice = 0; choice < 2; choice++) {
    for (u32 i = 0; i < each; i++) {
      table_pair<W> *slot = &region[bucket * each + i];
      if (dzo_load_shared(&slot->key) != table_word<W>::FREE ||
          atomicCAS(&slot->key, (W)table_word<W>::FREE, key) != table_word<W>::FREE)
        continue;
      __threadfence();
      dzo_store_shared(&slot->value, value);
      return true;
    }
    bucket = table_second_bucket(key, t.buckets);
  }
  return false;
}

template <typename W>
static __device__ void leave(const table_layout &t, const rest_state<W> &s, W key,
                             const table_rest &rest) {
  if (s.slot != NULL) {
    bool lone = key == table_word<W>::FREE;
    dzo_store_shared(&s.slot->value, s.present ? s.value : (W)table_word<W>::ERASED);
    __threadfence(); /* who takes a free slot writes its value after this */
    dzo_store_shared(&s.slot->key, !s.present ? (W)table_word<W>::FREE : lone ? (W)0 : key);
  } else if (s.over != NULL) {
    *s.over = s.value;
    *s.gone = s.present ? 0 : 1;
  } else if (s.present && !put_in_buckets<W>(t, key, s.value)) {
    u64 to = atomicAdd((u64 *)rest.fresh_count, 1ull);
    ((table_pair<W> *)rest.fresh)[to] = {s.value, key};
  }
  if (s.granted && !s.present)
    atomicAdd((u64 *)rest.granted, ~0ull); /* one less */
}

/* May a new key be taken? The answer is the same for all queries of a key. */
template <typename W> static __device__ bool may_make(rest_state<W> *s, const table_rest &rest) {
  if (s->granted || s->denied)
    return s->granted;
  if (atomicAdd((u64 *)rest.granted, 1ull) < rest.room) {
    s->granted = true;
    return true;
  }
  atomicAdd((u64 *)rest.granted, ~0ull);
  s->denied = true;
  return false;
}

template <typename W> static __device__ W combined(int operation, W old, W x) {
  switch (operation) {
  case DZO_TABLE_ASSIGN:
    return x;
  case DZO_TABLE_ADD:
    return old + x;
  case DZO_TABLE_MIN:
    return x < old ? x : old;
  case DZO_TABLE_MAX:
    return x > old ? x : old;
  default:
    return old;
  }
}

template <typename W>
static __device__ dzo_table_answer act(rest_state<W> *s, int operation, W x,
                                       const table_rest &rest) {
  if (operation == DZO_TABLE_FIND)
    return s->present ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  if (operation == DZO_TABLE_ERASE) {
    bool was = s->present;
    s->present = false;
    return was ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  }
  if (s->present) {
    s->value = combined(operation, s->value, x);
    return DZO_TABLE_FOUND;
  }
  if (!may_make(s, rest))
    return DZO_TABLE_REFUSED;
  s->present = true;
  s->value = x;
  return DZO_TABLE_INSERTED;
}

typedef struct rest_tally {
  u64 found, inserted, refused, erased;
} rest_tally;

static __device__ void tally(rest_tally *n, dzo_table_answer answer, int operation) {
  n->found += answer == DZO_TABLE_FOUND;
  n->inserted += answer == DZO_TABLE_INSERTED;
  n->refused += answer == DZO_TABLE_REFUSED;
  n->erased += answer == DZO_TABLE_FOUND && operation == DZO_TABLE_ERASE;
}

template <typename W, bool PAIRS>
static __global__ void __launch_bounds__(THREADS)
    rest_act(table_layout t, table_batch_run run, table_rest rest, rest_sorted sorted) {
  u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
  if (i >= rest.count || (i > 0 && sorted.keys_sorted[i] == sorted.keys_sorted[i - 1]))
    return;
  W key = (W)sorted.keys_sorted[i];
  rest_state<W> s = look_up(t, key);
  rest_tally n = {};
  for (; i < rest.count && (W)sorted.keys_sorted[i] == key; i++) {
    u32 item = sorted.items_sorted[i];
    int operation = run.codes != NULL ? run.codes[item] : rest.operation;
    W x = PAIRS ? ((const table_pair<W> *)run.items)[item].value : 0;
    dzo_table_answer answer = act(&s, operation, x, rest);
    tally(&n, answer, operation);
    if (run.answers != NULL)
      run.answers[item] = (uint8_t)answer;
    if (run.values != NULL)
      ((W *)run.values)[item] = answer == DZO_TABLE_FOUND ? s.value : 0;
  }
  leave(t, s, key, rest);
  atomicAdd((u64 *)&run.counters->found, n.found);
  atomicAdd((u64 *)&run.counters->inserted, n.inserted);
  atomicAdd((u64 *)&run.counters->refused, n.refused);
  atomicAdd((u64 *)&run.counters->erased, n.erased);
}

/* ---- From the host ----------------------------------------------------------------------------
 */

template <typename W, bool PAIRS>
static dzo_status do_rest(dzo_unit *unit, const table_layout *t, const table_batch_run *run,
                          const table_rest *rest, const rest_sorted *s, void *scratch,
                          uint64_t bytes) {
  u64 regions = t->regions < run->count ? t->regions : run->count;
  DZO_TRY(DZO_LAUNCH(unit, 0, (rest_gather<W, PAIRS>), regions, THREADS, *run, *s));
  DZO_TRY(dzo_gpu_sort_u64_u32(unit, 0, scratch, bytes, s->keys, s->keys_sorted, s->items,
                               s->items_sorted, rest->count, 0, 8 * (int)sizeof(W)));
  return DZO_LAUNCH(unit, 0, (rest_act<W, PAIRS>), blocks_for(rest->count), THREADS, *t, *run,
                    *rest, *s);
}

static void *take(char **at, u64 bytes) {
  void *taken = *at;
  *at += (bytes + 255) / 256 * 256;
  return taken;
}

dzo_status table_gpu_rest(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                          const table_batch_run *run, const table_rest *rest) {
  u64 n = rest->count, scratch_bytes = dzo_gpu_sort_bytes(unit, n);
  void *memory;
  DZO_TRY(dzo_unit_allocate(unit, 24 * n + scratch_bytes + 8 * 256, 1, &memory));
  char *at = (char *)memory;
  rest_sorted s;
  s.keys = (uint64_t *)take(&at, 8 * n);
  s.keys_sorted = (uint64_t *)take(&at, 8 * n);
  s.items = (u32 *)take(&at, 4 * n);
  s.items_sorted = (u32 *)take(&at, 4 * n);
  s.gathered = (uint64_t *)take(&at, 8);
  void *scratch = take(&at, scratch_bytes);
  dzo_status status = dzo_unit_fill(unit, 0, s.gathered, 0, sizeof *s.gathered);
  if (status == DZO_OK && wide)
    status = pairs ? do_rest<u64, true>(unit, t, run, rest, &s, scratch, scratch_bytes)
                   : do_rest<u64, false>(unit, t, run, rest, &s, scratch, scratch_bytes);
  else if (status == DZO_OK)
    status = pairs ? do_rest<u32, true>(unit, t, run, rest, &s, scratch, scratch_bytes)
                   : do_rest<u32, false>(unit, t, run, rest, &s, scratch, scratch_bytes);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, memory);
  return status;
}

dzo_status table_gpu_refuse(dzo_unit *unit, const table_layout *t, bool wide,
                            const table_batch_run *run) {
  u64 regions = t->regions < run->count ? t->regions : run->count;
  return wide ? DZO_LAUNCH(unit, 0, rest_refuse<u64>, regions, THREADS, *run)
              : DZO_LAUNCH(unit, 0, rest_refuse<u32>, regions, THREADS, *run);
}

/* ---- The overflow -----------------------------------------------------------------------------
 */

typedef struct over_merge {
  const void *slots; /* to be added */
  u64 count, all;    /* of them, and with those of the overflow, erased ones included */
  uint64_t *keys, *values, *keys_sorted, *values_sorted;
  table_counters *counters; /* found: those that stay */
} over_merge;

/* Erased ones get the greatest key, which none has. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) over_gather(table_layout t, over_merge m) {
  u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
  bool stays = i < m.all;
  if (i < t.over_count) {
    stays = t.over_gone[i] == 0;
    m.keys[i] = stays ? (u64)((const W *)t.over_keys)[i] : ~0ull;
    m.values[i] = ((const W *)t.over_values)[i];
  } else if (i < m.all) {
    table_pair<W> pair = ((const table_pair<W> *)m.slots)[i - t.over_count];
    m.keys[i] = pair.key;
    m.values[i] = pair.value;
  }
  u32 votes = __ballot_sync(DZO_WARP_ALL, stays);
  if (dzo_lane() == 0 && votes != 0)
    atomicAdd((u64 *)&m.counters->found, (u64)__popc(votes));
}

template <typename W>
static __global__ void __launch_bounds__(THREADS)
    over_write(over_merge m, W *keys, W *values, uint8_t *gone, u64 count) {
  u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count)
    return;
  keys[i] = (W)m.keys_sorted[i];
  values[i] = (W)m.values_sorted[i];
  gone[i] = 0;
}

/* ---- A short one ------------------------------------------------------------------------------
 *
 * One block does it in its own memory, and in place; to take, sort and give back memory for it
 * would take longer than a batch of millions. */

enum { FEW = 1024, FEW_THREADS = 512 };

/* Ascending by key. All threads; begins and ends with a barrier. */
static __device__ void sort_few(u64 *keys, u64 *values) {
  for (u32 run = 2; run <= FEW; run *= 2)
    for (u32 by = run / 2; by > 0; by /= 2) {
      __syncthreads();
      for (u32 n = threadIdx.x; n < FEW / 2; n += FEW_THREADS) {
        u32 i = 2 * n - (n & (by - 1)), j = i + by;
        u64 a = keys[i], b = keys[j], value = values[i];
        if ((a > b) == ((i & run) != 0))
          continue;
        keys[i] = b;
        keys[j] = a;
        values[i] = values[j];
        values[j] = value;
      }
    }
  __syncthreads();
}

/* Erased ones get the greatest key, which none has. */
template <typename W>
static __global__ void __launch_bounds__(FEW_THREADS)
    over_merge_few(table_layout t, const table_pair<W> *slots, u32 count, W *keys, W *values,
                   uint8_t *gone, uint64_t *stay) {
  __shared__ u64 s_keys[FEW], s_values[FEW];
  u32 old = (u32)t.over_count;
  for (u32 i = threadIdx.x; i < FEW; i += FEW_THREADS) {
    bool was = i < old && t.over_gone[i] == 0, comes = i >= old && i - old < count;
    s_keys[i] = was ? ((const W *)t.over_keys)[i] : comes ? slots[i - old].key : ~0ull;
    s_values[i] = was ? ((const W *)t.over_values)[i] : comes ? slots[i - old].value : 0;
  }
  sort_few(s_keys, s_values);
  if (threadIdx.x == 0 && s_keys[0] == ~0ull)
    *stay = 0;
  for (u32 i = threadIdx.x; i < FEW; i += FEW_THREADS) {
    if (s_keys[i] == ~0ull)
      continue;
    keys[i] = (W)s_keys[i];
    values[i] = (W)s_values[i];
    gone[i] = 0;
    if (i + 1 == FEW || s_keys[i + 1] == ~0ull)
      *stay = i + 1;
  }
}

template <typename W>
static dzo_status merge_few(dzo_unit *unit, table_layout *t, const void *slots, u64 count,
                            table_counters *counters) {
  char *memory = (char *)const_cast<void *>(t->over_keys);
  u64 bytes = FEW * sizeof(W), stay = 0;
  bool taken = t->over_room < FEW;
  if (taken)
    DZO_TRY(dzo_unit_allocate(unit, 2 * bytes + FEW, 1, (void **)&memory));
  W *keys = (W *)memory, *values = (W *)(memory + bytes);
  uint8_t *gone = (uint8_t *)memory + 2 * bytes;
  dzo_status status =
      DZO_LAUNCH(unit, 0, over_merge_few<W>, 1, FEW_THREADS, *t, (const table_pair<W> *)slots,
                 (u32)count, keys, values, gone, &counters->found);
  if (status == DZO_OK)
    status = dzo_unit_copy(unit, 0, &stay, &counters->found, sizeof stay);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  if (taken)
    table_gpu_free_over(unit, t);
  t->over_keys = keys;
  t->over_values = values;
  t->over_gone = gone;
  t->over_count = stay;
  t->over_room = FEW;
  return status;
}

uint64_t table_gpu_over_bytes(const table_layout *t, bool wide) {
  return t->over_room * (wide ? 17 : 9);
}

/* All of it is one block of memory, which begins with the keys. */
void table_gpu_free_over(dzo_unit *unit, table_layout *t) {
  dzo_unit_release(unit, const_cast<void *>(t->over_keys));
  t->over_keys = NULL;
  t->over_values = NULL;
  t->over_gone = NULL;
  t->over_count = t->over_room = 0;
}

template <typename W>
static dzo_status write_over(dzo_unit *unit, table_layout *t, const over_merge *m, u64 count) {
  u64 bytes = (count * sizeof(W) + 255) / 256 * 256;
  char *memory = NULL;
  if (count > 0) {
    DZO_TRY(dzo_unit_allocate(unit, 2 * bytes + count, 1, (void **)&memory));
    dzo_status status =
        DZO_LAUNCH(unit, 0, over_write<W>, blocks_for(count), THREADS, *m, (W *)memory,
                   (W *)(memory + bytes), (uint8_t *)memory + 2 * bytes, count);
    if (status != DZO_OK) {
      dzo_unit_release(unit, memory);
      return status;
    }
  }
  table_gpu_free_over(unit, t);
  if (count == 0)
    return DZO_OK;
  t->over_keys = memory;
  t->over_values = memory + bytes;
  t->over_gone = (uint8_t *)memory + 2 * bytes;
  t->over_count = t->over_room = count;
  return DZO_OK;
}

template <typename W>
static dzo_status merge(dzo_unit *unit, table_layout *t, const over_merge *m, void *scratch,
                        uint64_t scratch_bytes) {
  DZO_TRY(dzo_unit_fill(unit, 0, m->counters, 0, sizeof *m->counters));
  DZO_TRY(DZO_LAUNCH(unit, 0, over_gather<W>, blocks_for(m->all), THREADS, *t, *m));
  DZO_TRY(dzo_gpu_sort_u64_u64(unit, 0, scratch, scratch_bytes, m->keys, m->keys_sorted, m->values,
                               m->values_sorted, m->all, 0, 64));
  uint64_t stay = 0;
  DZO_TRY(dzo_unit_copy(unit, 0, &stay, &m->counters->found, sizeof stay));
  DZO_TRY(dzo_unit_wait(unit, 0));
  return write_over<W>(unit, t, m, stay);
}

uint64_t table_gpu_add_over_bytes(dzo_unit *unit, const table_layout *t, bool wide,
                                  uint64_t count) {
  u64 all = t->over_count + count, written = all > FEW ? all : (u64)FEW;
  return 32 * all + dzo_gpu_sort_bytes(unit, all) + (wide ? 17 : 9) * written + 16 * 256;
}

dzo_status table_gpu_add_over(dzo_unit *unit, table_layout *t, bool wide, const void *slots,
                              uint64_t count, table_counters *counters) {
  over_merge m;
  m.slots = slots;
  m.count = count;
  m.all = t->over_count + count;
  m.counters = counters;
  if (m.all == 0)
    return DZO_OK;
  if (m.all <= FEW)
    return wide ? merge_few<u64>(unit, t, slots, count, counters)
                : merge_few<u32>(unit, t, slots, count, counters);
  u64 scratch_bytes = dzo_gpu_sort_bytes(unit, m.all);
  void *memory;
  DZO_TRY(dzo_unit_allocate(unit, 32 * m.all + scratch_bytes + 8 * 256, 1, &memory));
  char *at = (char *)memory;
  m.keys = (uint64_t *)take(&at, 8 * m.all);
  m.values = (uint64_t *)take(&at, 8 * m.all);
  m.keys_sorted = (uint64_t *)take(&at, 8 * m.all);
  m.values_sorted = (uint64_t *)take(&at, 8 * m.all);
  void *scratch = take(&at, scratch_bytes);
  dzo_status status = wide ? merge<u64>(unit, t, &m, scratch, scratch_bytes)
                           : merge<u32>(unit, t, &m, scratch, scratch_bytes);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_unit_release(unit, memory);
  return status;
}
