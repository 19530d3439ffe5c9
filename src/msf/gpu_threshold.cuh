/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The first kernel: which edges are light, by a sample, and the rows in which supertiles begin. */
#ifndef DZO_MSF_GPU_THRESHOLD_CUH
#define DZO_MSF_GPU_THRESHOLD_CUH

#include "msf/gpu_work.cuh"

enum { MSF_SAMPLES_EACH = MSF_SAMPLES / MSF_SAMPLE_THREADS };

/* The value of index `index` among the samples that take part, by bytes from the top (one block).
 */
template <typename K>
__device__ __forceinline__ K msf_select(const K *x, const bool *takes_part, u32 index, u32 *s_count,
                                        u32 *s_found) {
  K found = 0;
  for (int shift = 8 * (int)sizeof(K) - 8; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256)
      s_count[threadIdx.x] = 0;
    __syncthreads();
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++)
      if (takes_part[j] && (x[j] ^ found) >> shift <= 255)
        atomicAdd(&s_count[x[j] >> shift & 255], 1u);
    __syncthreads();
    if (threadIdx.x < 32) {
      u32 sum = 0;
      for (u32 k = 0; k < 8; k++)
        sum += s_count[8 * threadIdx.x + k];
      u32 through = msf_warp_sum(sum), before = through - sum;
      if (index >= before && index < through) {
        u32 byte = 8 * threadIdx.x;
        while (index - before >= s_count[byte])
          before += s_count[byte++];
        s_found[0] = byte;
        s_found[1] = before;
      }
    }
    __syncthreads();
    found |= (K)s_found[0] << shift;
    index -= s_found[1];
    __syncthreads();
  }
  return found;
}

/* How many are below, and how many equal. */
template <typename K>
__device__ __forceinline__ void msf_count_samples(const K *x, K key, u32 *s_count, u32 *below,
                                                  u32 *equal) {
  if (threadIdx.x < 2)
    s_count[threadIdx.x] = 0;
  __syncthreads();
  u32 less = 0, same = 0;
  for (u32 j = 0; j < MSF_SAMPLES_EACH; j++) {
    less += x[j] < key;
    same += x[j] == key;
  }
  atomicAdd(&s_count[0], less);
  atomicAdd(&s_count[1], same);
  __syncthreads();
  *below = s_count[0];
  *equal = s_count[1];
  __syncthreads();
}

/* The bound below which there are about `wanted` edges. It is a pair (key, smaller endpoint), so
 * that it splits equal keys too; where few are equal, all of these are taken. */
template <typename K>
__device__ __forceinline__ msf_bound msf_bound_at(const msf_work &w, const K *x, const u64 *arc,
                                                  double wanted) {
  __shared__ u32 s_count[256], s_found[2];
  bool part[MSF_SAMPLES_EACH];
  for (u32 j = 0; j < MSF_SAMPLES_EACH; j++)
    part[j] = true;
  u32 index = (u32)(wanted / (0.5 * (double)w.arcs) * (MSF_SAMPLES - 1)), below, equal;
  K key = msf_select(x, part, index, s_count, s_found);
  msf_count_samples(x, key, s_count, &below, &equal);
  u32 vertex = MSF_NONE, smaller[MSF_SAMPLES_EACH];
  if (equal > 4 + index / 8) {
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++) {
      part[j] = x[j] == key;
      smaller[j] = part[j] ? min(msf_row_of(w, arc[j]), msf_neighbour(w, arc[j])) : 0;
    }
    vertex = msf_select(smaller, part, index - below, s_count, s_found);
  }
  return {key, vertex, 0};
}

/* By one block. */
template <typename K> __device__ __forceinline__ void msf_sample(const msf_work &w) {
  K x[MSF_SAMPLES_EACH];
  u64 arc[MSF_SAMPLES_EACH];
  for (u32 j = 0; j < MSF_SAMPLES_EACH; j++) {
    u32 i = threadIdx.x * MSF_SAMPLES_EACH + j;
    u64 low = w.arcs * i / MSF_SAMPLES, high = w.arcs * (i + 1) / MSF_SAMPLES;
    arc[j] = low + (high > low ? msf_hash(i + 12345) % (u32)(high - low) : 0);
    x[j] = msf_key_at<K>(w, arc[j]);
  }
  msf_bound light = {MSF_NEVER, MSF_NONE, 1};
  if (w.light > 0)
    light = msf_bound_at(w, x, arc, w.light * w.n);
  msf_bound lightest = light;
  if (w.lightest > 0)
    lightest = msf_bound_at(w, x, arc, w.lightest * w.n);
  if (threadIdx.x != 0)
    return;
  w.control->light = light;
  w.control->lightest = lightest;
}

template <typename K>
__global__ void __launch_bounds__(MSF_SAMPLE_THREADS) msf_k_prepare(msf_work w) {
  if (blockIdx.x == 0) {
    msf_sample<K>(w);
    return;
  }
  u64 at = (blockIdx.x - 1) * (u64)blockDim.x + threadIdx.x,
      step = (gridDim.x - 1) * (u64)blockDim.x;
  for (u64 u = at; u < w.n; u += step) {
    w.next[u] = MSF_NONE;
    if (w.arcs >> 32 != 0 && (msf_offset(w, (u32)u + 1) - msf_offset(w, (u32)u)) >> 32 != 0)
      dzo_store_shared(&w.control->refused, 1u);
  }
  for (u64 s = at; s <= w.supertiles; s += step)
    w.super_row[s] = s < w.supertiles ? msf_row_of(w, s << w.super_log) : w.n;
}

#endif
