/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_codes.h"

#include "dzo/table.h"
#include "table/gpu_word.cuh"

enum { THREADS = 256, BLOCKS = 8, EACH = 16 /* codes of one load */ };

typedef struct code_counts {
  u32 stores, erases;
} code_counts;

static __device__ __forceinline__ void see_code(u32 code, u64 i, u64 *first, code_counts *n) {
  n->stores += code != DZO_TABLE_FIND && code != DZO_TABLE_ERASE;
  n->erases += code == DZO_TABLE_ERASE;
  if (code >= DZO_TABLE_MIXED)
    atomicMin(first, i);
}

/* The codes before the first one that stands at a multiple of 16 bytes are seen one by one, and so
 * are those behind the last. */
static __global__ void __launch_bounds__(THREADS)
    table_check_codes(const uint8_t *codes, u64 count, u64 *first, u64 *stores, u64 *erases) {
  u64 head = (EACH - (u64)(uintptr_t)codes % EACH) % EACH;
  head = head < count ? head : count;
  u64 loads = (count - head) / EACH, tail = head + loads * EACH;
  u64 thread = (u64)blockIdx.x * THREADS + threadIdx.x;
  code_counts n = {0, 0};
  for (u64 k = thread; k < loads; k += (u64)gridDim.x * THREADS) {
    uint4 x = __ldcs((const uint4 *)(codes + head) + k);
    const u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (u32 b = 0; b < EACH; b++)
      see_code(words[b / 4] >> (b % 4 * 8) & 0xff, head + k * EACH + b, first, &n);
  }
  if (thread < head)
    see_code(codes[thread], thread, first, &n);
  if (tail + thread < count)
    see_code(codes[tail + thread], tail + thread, first, &n);
  __syncwarp();
  n.stores = __reduce_add_sync(DZO_WARP_ALL, n.stores);
  n.erases = __reduce_add_sync(DZO_WARP_ALL, n.erases);
  if (dzo_lane() == 0 && n.stores > 0)
    atomicAdd(stores, (u64)n.stores);
  if (dzo_lane() == 0 && n.erases > 0)
    atomicAdd(erases, (u64)n.erases);
}

dzo_status table_gpu_check_codes(dzo_unit *unit, const uint8_t *codes, uint64_t count,
                                 uint64_t *first, uint64_t *stores, uint64_t *erases) {
  u64 blocks = (count / EACH + THREADS) / THREADS, most = BLOCKS * (u64)unit->processors;
  return DZO_LAUNCH(unit, 0, table_check_codes, blocks < most ? blocks : most, THREADS, codes,
                    count, (u64 *)first, (u64 *)stores, (u64 *)erases);
}
