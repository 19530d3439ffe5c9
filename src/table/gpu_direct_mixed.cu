/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Mixed batches in any order, of 32-bit words: the finds, then the erases, then the stores. */
#include "dzo/table.h"
#include "table/gpu_direct_claim.cuh"
#include "table/gpu_find.cuh"

enum { THREADS = TABLE_DIRECT_THREADS };

static __device__ __forceinline__ bool is_store(u32 code) {
  return code != DZO_TABLE_FIND && code != DZO_TABLE_ERASE;
}

static __device__ __forceinline__ void answer(const table_direct &d, u32 i, u32 what) {
  if (d.answers != NULL)
    d.answers[i] = (uint8_t)what;
}

template <int S>
static __global__ void __launch_bounds__(THREADS) direct_finds(table_layout t, table_direct d) {
  __shared__ u32 s_sum;
  if (threadIdx.x == 0)
    s_sum = 0;
  __syncthreads();
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  bool found = false;
  if (i < d.count && d.codes[i] == DZO_TABLE_FIND) {
    u32 value = 0;
    found = table_get<u32, S, false>(t, table_direct_key<u32>(t, d, i), &value);
    if (d.results != NULL)
      ((u32 *)d.results)[i] = found ? value : 0;
    answer(d, i, found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT);
  }
  table_direct_count(&s_sum, &d.counters->found, found);
}

template <int S>
static __global__ void __launch_bounds__(THREADS) direct_erases(table_layout t, table_direct d) {
  __shared__ u32 s_sum[2];
  if (threadIdx.x < 2)
    s_sum[threadIdx.x] = 0;
  __syncthreads();
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  bool found = false;
  if (i < d.count && d.codes[i] == DZO_TABLE_ERASE) {
    found = table_direct_take<S>(t, table_direct_key<u32>(t, d, i));
    answer(d, i, found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT);
  }
  table_direct_count(&s_sum[0], &d.counters->found, found);
  table_direct_count(&s_sum[1], &d.counters->erased, found);
}

template <int S>
static __global__ void __launch_bounds__(THREADS) direct_stores(table_layout t, table_direct d) {
  __shared__ u32 s_count, s_base, s_sum[2];
  if (threadIdx.x == 0)
    s_sum[0] = s_sum[1] = s_count = s_base = 0;
  __syncthreads();
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  int outcome = TABLE_MET;
  bool live = i < d.count && is_store(d.codes[i]);
  if (live) {
    u32 value = table_direct_value<u32>(d, i), *at = NULL;
    outcome = table_direct_claim<u32, S>(t, table_direct_key<u32>(t, d, i), value, &at);
    if (outcome == TABLE_MET && d.codes[i] != DZO_TABLE_INSERT)
      table_direct_combine<u32>(d.codes[i], at, value);
    answer(d, i, outcome == TABLE_CLAIMED ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND);
  }
  bool left = live && outcome == TABLE_LEFT;
  if (__syncthreads_or(left)) {
    u32 place = table_direct_list(left, &s_count, &s_base, &d.counters->left);
    if (left)
      d.noted[d.count - 1 - place] = i;
  }
  table_direct_count(&s_sum[0], &d.counters->inserted, live && outcome == TABLE_CLAIMED);
  table_direct_count(&s_sum[1], &d.counters->found, live && outcome == TABLE_MET);
}

template <int S>
static dzo_status mixed(dzo_unit *unit, const table_layout *t, const table_direct *d) {
  u32 blocks = (d->count + THREADS - 1) / THREADS;
  if (!d->all_store) {
    DZO_TRY(DZO_LAUNCH(unit, 0, direct_finds<S>, blocks, THREADS, *t, *d));
    DZO_TRY(DZO_LAUNCH(unit, 0, direct_erases<S>, blocks, THREADS, *t, *d));
  }
  return DZO_LAUNCH(unit, 0, direct_stores<S>, blocks, THREADS, *t, *d);
}

dzo_status table_direct_mixed(dzo_unit *unit, const table_layout *t, const table_direct *d) {
  return t->bucket_slots == 4 ? mixed<4>(unit, t, d) : mixed<8>(unit, t, d);
}
