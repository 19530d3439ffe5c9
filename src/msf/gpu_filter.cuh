/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the kernels of the filter share. */
#ifndef DZO_MSF_GPU_FILTER_CUH
#define DZO_MSF_GPU_FILTER_CUH

#include "device/cuda.h"
#include "msf/gpu_filter.h"

/* Does a node's value hold the key itself? */
static __host__ __device__ __forceinline__ bool msf_is_direct(const msf_filter &f) {
  return f.shape.ordered && !f.shape.wide;
}

static __device__ __forceinline__ msf_node msf_load_node(const msf_node *node) {
  uint2 x = __ldg(reinterpret_cast<const uint2 *>(node));
  return msf_node{x.x, x.y};
}

static __device__ __forceinline__ uint64_t msf_column_key(const msf_filter &f, uint32_t i) {
  uint64_t key = f.columns[MSF_KEY][i];
  return f.shape.wide ? (uint64_t)f.columns[MSF_KEY_HIGH][i] << 32 | key : key;
}

/* What the order sees of a vertex. */
static __device__ __forceinline__ uint64_t msf_name(const msf_filter &f, uint32_t v) {
  return f.shape.named ? f.names[v] : v;
}

/* The sum of x over a block of MSF_TILE threads, to all of them. */
static __device__ __forceinline__ uint32_t msf_block_sum(uint32_t x) {
  __shared__ uint32_t sums[MSF_TILE / 32];
  for (unsigned d = 16; d > 0; d /= 2)
    x += __shfl_xor_sync(DZO_WARP_ALL, x, d);
  if (dzo_lane() == 0)
    sums[threadIdx.x / 32] = x;
  __syncthreads();
  uint32_t sum = 0;
  for (unsigned w = 0; w < MSF_TILE / 32; w++)
    sum += sums[w];
  __syncthreads();
  return sum;
}

/* Blocks of 256 threads for a loop over `count` items. */
static inline unsigned msf_blocks(const msf_filter &f, uint64_t count) {
  uint64_t wanted = (count + 255) / 256, most = (uint64_t)f.unit->processors * 16;
  return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

#endif
