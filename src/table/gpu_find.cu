/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_find.h"

#include "dzo/table.h"
#include "table/gpu_direct.cuh"
#include "table/gpu_find.cuh"

enum { THREADS = 256, ERASES = 4 };

typedef struct find_run {
  u64 count;
  const void *keys;
  bool mixed;
  void *values;
  uint8_t *answers;
  table_counters *counters;
} find_run;

template <typename W, int S>
static __global__ void __launch_bounds__(THREADS) table_find(table_layout t, find_run f) {
  __shared__ u32 s_found;
  if (threadIdx.x == 0)
    s_found = 0;
  __syncthreads();
  u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
  bool found = false;
  if (i < f.count) {
    W key = __ldcs((const W *)f.keys + i), value = 0;
    if (!f.mixed)
      key = table_mixed(key, t.mix);
    found = table_get<W, S, false>(t, key, &value);
    if (f.values != NULL)
      ((W *)f.values)[i] = found ? value : 0;
    if (f.answers != NULL)
      f.answers[i] = found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  }
  u32 votes = __ballot_sync(DZO_WARP_ALL, found);
  if (dzo_lane() == 0 && votes != 0)
    atomicAdd(&s_found, (u32)__popc(votes));
  __syncthreads();
  if (threadIdx.x == 0 && s_found > 0)
    atomicAdd((u64 *)&f.counters->found, (u64)s_found);
}

/* ---- Erasing ----------------------------------------------------------------------------------
 */

/* A thread takes several: four are 11 % faster than one. */
template <int S>
static __global__ void __launch_bounds__(THREADS) table_erase_each(table_layout t, find_run f) {
  __shared__ u32 s_sum[2];
  if (threadIdx.x < 2)
    s_sum[threadIdx.x] = 0;
  __syncthreads();
  u64 first = (u64)blockIdx.x * THREADS * ERASES + threadIdx.x;
  u32 keys[ERASES] = {}, erased = 0;
#pragma unroll
  for (u32 k = 0; k < ERASES; k++)
    if (first + k * THREADS < f.count)
      keys[k] = __ldcs((const u32 *)f.keys + first + k * THREADS);
#pragma unroll
  for (u32 k = 0; k < ERASES; k++) {
    if (first + k * THREADS >= f.count)
      continue;
    bool found = table_direct_take<S>(t, f.mixed ? keys[k] : table_mixed(keys[k], t.mix));
    if (f.answers != NULL)
      f.answers[first + k * THREADS] = found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
    erased += found;
  }
  __syncwarp();
  table_direct_count(&s_sum[0], &f.counters->found, erased);
  table_direct_count(&s_sum[1], &f.counters->erased, erased);
}

dzo_status table_gpu_erase(dzo_unit *unit, const table_layout *t, uint64_t count, const void *keys,
                           bool mixed, uint8_t *answers, table_counters *counters) {
  find_run f = {count, keys, mixed, NULL, answers, counters};
  u64 blocks = (count + THREADS * ERASES - 1) / (THREADS * ERASES);
  if (t->bucket_slots == 4)
    return DZO_LAUNCH(unit, 0, table_erase_each<4>, blocks, THREADS, *t, f);
  return DZO_LAUNCH(unit, 0, table_erase_each<8>, blocks, THREADS, *t, f);
}

/* ---- From the host ----------------------------------------------------------------------------
 */

dzo_status table_gpu_find(dzo_unit *unit, const table_layout *t, bool wide, uint64_t count,
                          const void *keys, bool mixed, void *values, uint8_t *answers,
                          table_counters *counters) {
  find_run f = {count, keys, mixed, values, answers, counters};
  u64 blocks = (count + THREADS - 1) / THREADS;
  if (t->bucket_slots == 4)
    return wide ? DZO_LAUNCH(unit, 0, (table_find<u64, 4>), blocks, THREADS, *t, f)
                : DZO_LAUNCH(unit, 0, (table_find<u32, 4>), blocks, THREADS, *t, f);
  return wide ? DZO_LAUNCH(unit, 0, (table_find<u64, 8>), blocks, THREADS, *t, f)
              : DZO_LAUNCH(unit, 0, (table_find<u32, 8>), blocks, THREADS, *t, f);
}
