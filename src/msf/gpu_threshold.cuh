/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The first kernel: which edges are light, by a sample, and the rows in which supertiles begin. */
#ifndef DZO_MSF_GPU_THRESHOLD_CUH
#define DZO_MSF_GPU_THRESHOLD_CUH

#include "msf/gpu_work.cuh"

enum { MSF_SAMPLES_EACH = MSF_SAMPLES / MSF_SAMPLE_THREADS };

/* What one block needs to select several values of a sample. */
typedef struct msf_selection {
  u32 count[MSF_PARTS][256], found[MSF_PARTS], before[MSF_PARTS];
} msf_selection;

/* The byte that the wanted index falls into, by a warp; index becomes that among its samples. */
__device__ __forceinline__ void msf_find_byte(msf_selection *s, u32 which, u32 counts, u32 index) {
  const u32 *count = s->count[counts];
  u32 lane = dzo_lane(), sum = 0;
  for (u32 k = 0; k < 8; k++)
    sum += count[8 * lane + k];
  u32 through = msf_warp_sum(sum), before = through - sum;
  if (index < before || index >= through)
    return;
  u32 byte = 8 * lane;
  while (index - before >= count[byte])
    before += count[byte++];
  s->found[which] = byte;
  s->before[which] = before;
}

/* The values of some indices among the samples that take part in each, by bytes from the top (one
 * block). */
template <typename V>
__device__ __forceinline__ void msf_select(msf_selection *s, const V *x, bool all, const u32 *parts,
                                           u32 *index, V *found) {
  for (u32 k = 0; k < MSF_PARTS; k++)
    found[k] = 0;
  for (int shift = 8 * (int)sizeof(V) - 8; shift >= 0; shift -= 8) {
    for (u32 i = threadIdx.x; i < MSF_PARTS * 256; i += blockDim.x)
      s->count[i / 256][i % 256] = 0;
    __syncthreads();
    bool same = all && shift == 8 * (int)sizeof(V) - 8; /* the first byte's counts serve all */
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++)
      for (u32 k = 0; k < (same ? 1 : (u32)MSF_PARTS); k++)
        if (parts[j] >> k & 1 && (x[j] ^ found[k]) >> shift <= 255)
          atomicAdd(&s->count[k][x[j] >> shift & 255], 1u);
    __syncthreads();
    if (threadIdx.x < 32 * MSF_PARTS)
      msf_find_byte(s, threadIdx.x / 32, same ? 0 : threadIdx.x / 32, index[threadIdx.x / 32]);
    __syncthreads();
    for (u32 k = 0; k < MSF_PARTS; k++) {
      found[k] |= (V)s->found[k] << shift;
      index[k] -= s->before[k];
    }
    __syncthreads();
  }
}

/* How many samples equal each key. */
template <typename K>
__device__ __forceinline__ void msf_count_equal(msf_selection *s, const K *x, const K *key,
                                                u32 *equal) {
  if (threadIdx.x < MSF_PARTS)
    s->before[threadIdx.x] = 0;
  __syncthreads();
  for (u32 k = 0; k < MSF_PARTS; k++) {
    u32 same = 0;
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++)
      same += x[j] == key[k];
    if (same != 0)
      atomicAdd(&s->before[k], same);
  }
  __syncthreads();
  for (u32 k = 0; k < MSF_PARTS; k++)
    equal[k] = s->before[k];
  __syncthreads();
}

/* The bounds below which there are about as many edges as wanted, by one block. A bound is a pair
 * (key, smaller endpoint), so that it splits equal keys too; where few are equal, all of these are
 * taken. */
template <typename K>
__device__ __forceinline__ void msf_find_bounds(const msf_work &w, const K *x, const u64 *arc,
                                                const double *wanted, msf_bound *bounds) {
  __shared__ msf_selection s_selection;
  u32 parts[MSF_SAMPLES_EACH], index[MSF_PARTS], first[MSF_PARTS], equal[MSF_PARTS];
  u32 smaller[MSF_SAMPLES_EACH], vertex[MSF_PARTS], split = 0;
  K key[MSF_PARTS];
  for (u32 j = 0; j < MSF_SAMPLES_EACH; j++)
    parts[j] = (1u << MSF_PARTS) - 1;
  for (u32 k = 0; k < MSF_PARTS; k++)
    first[k] = index[k] =
        min((u32)(wanted[k] * w.n / (0.5 * (double)w.arcs) * (MSF_SAMPLES - 1)), MSF_SAMPLES - 1u);
  msf_select(&s_selection, x, true, parts, index, key);
  msf_count_equal(&s_selection, x, key, equal);
  for (u32 k = 0; k < MSF_PARTS; k++)
    split |= (u32)(equal[k] > 4 + first[k] / 8) << k;
  if (split != 0) {
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++) {
      parts[j] = 0;
      for (u32 k = 0; k < MSF_PARTS; k++)
        parts[j] |= (u32)(x[j] == key[k]) << k;
      smaller[j] = parts[j] != 0 ? min(msf_row_of(w, arc[j]), msf_neighbour(w, arc[j])) : 0;
    }
    msf_select(&s_selection, smaller, false, parts, index, vertex);
  }
  for (u32 k = 0; k < MSF_PARTS; k++)
    bounds[k] = {key[k], split >> k & 1 ? vertex[k] : MSF_NONE, 0};
}

/* By one block. */
template <typename K> __device__ __forceinline__ void msf_sample(const msf_work &w) {
  K x[MSF_SAMPLES_EACH];
  u64 arc[MSF_SAMPLES_EACH];
  msf_bound bounds[MSF_PARTS], all = {MSF_NEVER, MSF_NONE, 1};
  double wanted[MSF_PARTS] = {w.part[0], w.part[1], w.light};
  bool parts = w.part[0] > 0;
  if (parts || w.light > 0) {
    for (u32 j = 0; j < MSF_SAMPLES_EACH; j++) {
      u32 i = threadIdx.x * MSF_SAMPLES_EACH + j;
      u64 low = w.arcs * i / MSF_SAMPLES, high = w.arcs * (i + 1) / MSF_SAMPLES;
      arc[j] = low + (high > low ? msf_hash(i + 12345) % (u32)(high - low) : 0);
      x[j] = msf_key_at<K>(w, arc[j]);
    }
    msf_find_bounds(w, x, arc, wanted, bounds);
  }
  if (w.light <= 0)
    bounds[MSF_PARTS - 1] = all;
  if (threadIdx.x != 0)
    return;
  for (u32 k = 0; k < MSF_PARTS; k++)
    w.control->part[k] = bounds[parts ? k : MSF_PARTS - 1];
}

/* All of the control block that is not told by the first block; the histogram is cleared where it
 * is used. */
__device__ __forceinline__ void msf_clear_control(const msf_work &w) {
  u32 *words = (u32 *)w.control;
  for (u32 i = offsetof(msf_control, part_pages) / 4 + threadIdx.x;
       i < offsetof(msf_control, histogram) / 4; i += blockDim.x)
    words[i] = 0;
}

/* The first block samples while others do the rest. */
template <typename K>
__global__ void __launch_bounds__(MSF_SAMPLE_THREADS) msf_k_prepare(msf_work w) {
  dzo_after_previous();
  if (blockIdx.x == 0) {
    msf_sample<K>(w);
    return;
  }
  if (blockIdx.x == 1)
    msf_clear_control(w);
  u64 at = (blockIdx.x - 1) * (u64)blockDim.x + threadIdx.x,
      step = (gridDim.x - 1) * (u64)blockDim.x;
  for (u64 u = at; u < w.n; u += step)
    w.next[u] = MSF_NONE;
  for (u64 i = at; i < 2 * MSF_PAIRS; i += step)
    w.pairs[i] = MSF_NEVER;
  for (u64 s = at; s <= w.supertiles; s += step)
    w.super_row[s] = s < w.supertiles ? msf_row_of_soon(w, s << w.super_log) : w.n;
}

#endif
