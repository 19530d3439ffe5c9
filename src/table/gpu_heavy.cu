/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_heavy.h"

#include "device/cuda.h"
#include "dzo/table.h"

enum { THREADS = 256 };

static __global__ void heavy_answers(const uint32_t *first, const uint8_t *unique_answers,
                                     uint64_t unique, uint8_t *answers) {
  for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < unique;
       i += (uint64_t)gridDim.x * THREADS)
    if (unique_answers[i] == DZO_TABLE_INSERTED)
      answers[first[i]] = DZO_TABLE_INSERTED;
}

static __global__ void heavy_refuse(uint8_t *answers, uint64_t count, table_counters *counters) {
  uint32_t refused = 0;
  for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < count;
       i += (uint64_t)gridDim.x * THREADS)
    if (answers[i] == DZO_TABLE_ABSENT) {
      answers[i] = DZO_TABLE_REFUSED;
      refused++;
    }
  __syncwarp();
  refused = __reduce_add_sync(DZO_WARP_ALL, refused);
  if (dzo_lane() == 0 && refused > 0)
    atomicAdd((unsigned long long *)&counters->refused, (unsigned long long)refused);
}

extern "C" dzo_status table_heavy_answers(dzo_unit *unit, const uint32_t *first,
                                          const uint8_t *unique_answers, uint64_t unique,
                                          uint8_t *answers) {
  return DZO_LAUNCH(unit, 0, heavy_answers, unit->processors * 8, THREADS, first, unique_answers,
                    unique, answers);
}

extern "C" dzo_status table_heavy_refuse(dzo_unit *unit, uint8_t *answers, uint64_t count,
                                         table_counters *counters) {
  return DZO_LAUNCH(unit, 0, heavy_refuse, unit->processors * 8, THREADS, answers, count, counters);
}
