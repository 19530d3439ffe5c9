/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_counters.h"

#include "device/cuda.h"

enum { THREADS = 32, WORDS = (int)(sizeof(table_counters) / sizeof(uint64_t)) };

/* Staging memory is the device's, too, at the same address. */
static __global__ void __launch_bounds__(THREADS)
    table_show_counters(const uint64_t *counters, uint64_t *seen, uint64_t *next) {
  dzo_after_previous();
  if (threadIdx.x >= WORDS)
    return;
  seen[threadIdx.x] = counters[threadIdx.x];
  next[threadIdx.x] = 0;
}

dzo_status table_gpu_show_counters(dzo_unit *unit, const table_counters *counters,
                                   table_counters *seen, table_counters *next) {
  static_assert((int)WORDS <= (int)THREADS, "a thread a counter");
  return DZO_LAUNCH_CHAINED(unit, 0, table_show_counters, 1, THREADS, &counters->found,
                            &seen->found, &next->found);
}
