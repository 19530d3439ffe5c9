/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_codes.h"

#include "dzo/table.h"
#include "table/gpu_word.cuh"

enum { THREADS = 256, BLOCKS = 16 };

static __global__ void __launch_bounds__(THREADS)
    table_check_codes(const uint8_t *codes, u64 count, u64 *first, u64 *stores, u64 *erases) {
  u32 mine = 0, gone = 0;
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
    u32 code = codes[i];
    mine += code != DZO_TABLE_FIND && code != DZO_TABLE_ERASE;
    gone += code == DZO_TABLE_ERASE;
    if (code >= DZO_TABLE_MIXED)
      atomicMin(first, i);
  }
  __syncwarp();
  mine = __reduce_add_sync(DZO_WARP_ALL, mine);
  gone = __reduce_add_sync(DZO_WARP_ALL, gone);
  if (dzo_lane() == 0 && mine > 0)
    atomicAdd(stores, (u64)mine);
  if (dzo_lane() == 0 && gone > 0)
    atomicAdd(erases, (u64)gone);
}

dzo_status table_gpu_check_codes(dzo_unit *unit, const uint8_t *codes, uint64_t count,
                                 uint64_t *first, uint64_t *stores, uint64_t *erases) {
  u64 blocks = (count + THREADS - 1) / THREADS, most = BLOCKS * (u64)unit->processors;
  return DZO_LAUNCH(unit, 0, table_check_codes, blocks < most ? blocks : most, THREADS, codes,
                    count, (u64 *)first, (u64 *)stores, (u64 *)erases);
}
