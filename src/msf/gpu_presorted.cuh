/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The extraction where rows ascend in the weight: only the light prefix of each row is read, and
 * every vertex picks the first arc of its row. */
#ifndef DZO_MSF_GPU_PRESORTED_CUH
#define DZO_MSF_GPU_PRESORTED_CUH

#include "msf/gpu_list.cuh"

enum {
  MSF_AHEAD = 4,     /* arcs of a lane in flight */
  MSF_FIRST_KEYS = 8 /* that a lane reads at once */
};

typedef struct msf_prefixes {
  u32 before[32]; /* light arcs of the rows before, of 32 rows */
  u64 begin[32];  /* where the row's begin, less `before` */
} msf_prefixes;

/* The key of an arc, which is what is stored unless MAPPED. */
template <typename K, bool MAPPED>
__device__ __forceinline__ K msf_key_in(const msf_work &w, u64 arc) {
  return MAPPED ? msf_key_at<K>(w, arc) : __ldg((const K *)w.keys + arc);
}

/* Light arcs among the first of begin .. end - 1, which is not empty; by one lane. */
template <typename K, bool MAPPED>
__device__ __forceinline__ u32 msf_first_light(const msf_work &w, u64 begin, u64 end, K most) {
  u32 light = 0;
  K key[MSF_FIRST_KEYS];
#pragma unroll
  for (u32 j = 0; j < MSF_FIRST_KEYS; j++)
    key[j] = msf_key_in<K, MAPPED>(w, min(begin + j, end - 1));
#pragma unroll
  for (u32 j = 0; j < MSF_FIRST_KEYS; j++)
    light += (begin + j < end) & (key[j] <= most);
  return light;
}

/* Light arcs at the beginning of begin .. end - 1, by a warp: 32 places at a time, ever closer once
 * the first 32 are light. */
template <typename K, bool MAPPED>
__device__ __forceinline__ u32 msf_light_prefix(const msf_work &w, u64 begin, u64 end, K most) {
  u64 low = begin, high = end, stride = 1; /* all before `low` are light */
  while (low < high) {
    u64 at = low + dzo_lane() * stride;
    bool light = at < high && msf_key_in<K, MAPPED>(w, at) <= most;
    u32 count = (u32)__popc(__ballot_sync(DZO_WARP_ALL, light));
    if (count == 32 && stride == 1) {
      low += 32;
      stride = (high - low + 31) / 32;
      stride = max(stride, (u64)1);
      continue;
    }
    high = min(high, low + count * stride);
    low += count == 0 ? 0 : (count - 1) * stride + 1;
    if (stride == 1)
      break;
    stride = (high - low + 31) / 32;
    stride = max(stride, (u64)1);
  }
  return (u32)(low - begin);
}

/* The first arc of row u that is no loop. */
template <bool PLAIN>
__device__ __forceinline__ void msf_pick_first(const msf_work &w, u32 u, u64 begin, u64 end) {
  for (u64 arc = begin; arc < end; arc++) {
    u32 v = msf_neighbour_of<PLAIN>(w, arc);
    if (v == u)
      continue;
    w.next[u] = v;
    w.pick[u] = (u32)arc;
    return;
  }
}

/* The light arcs of 32 rows from `base` on, one behind the other. */
template <typename K, bool MAPPED, bool PLAIN>
__device__ __forceinline__ void msf_list_prefixes(const msf_work &w, const msf_prefixes *p,
                                                  u32 base, u32 total, u32 home, msf_pool *pool,
                                                  msf_light_writer *writer) {
  u32 lane = dzo_lane();
  for (u32 first = 0; first < total; first += 32 * MSF_AHEAD) {
    u32 u[MSF_AHEAD], v[MSF_AHEAD];
    u64 arc[MSF_AHEAD];
    K key[MSF_AHEAD];
#pragma unroll
    for (u32 j = 0; j < MSF_AHEAD; j++) {
      u32 x = min(first + j * 32 + lane, total - 1), k = 0;
#pragma unroll
      for (u32 step = 16; step != 0; step /= 2)
        k += p->before[k + step] <= x ? step : 0;
      u[j] = base + k;
      arc[j] = p->begin[k] + x;
    }
#pragma unroll
    for (u32 j = 0; j < MSF_AHEAD; j++) {
      v[j] = msf_neighbour_of<PLAIN>(w, arc[j]);
      key[j] = msf_key_in<K, MAPPED>(w, arc[j]);
    }
#pragma unroll
    for (u32 j = 0; j < MSF_AHEAD; j++) {
      if (first + j * 32 >= total)
        break;
      bool edge = first + j * 32 + lane < total && u[j] < v[j];
      msf_list_light(w, pool, writer, home, edge, u[j], v[j], key[j], arc[j]);
    }
  }
}

template <typename K, bool MAPPED, bool PLAIN>
__device__ __forceinline__ void msf_extract_rows(const msf_work &w, msf_prefixes *p, u32 super,
                                                 msf_pool *pool, msf_light_writer *writer) {
  u32 lane = dzo_lane();
  u64 begin = (u64)super << w.super_log, end = min(begin + (1ull << w.super_log), w.arcs);
  u32 last = min(__ldg(&w.super_row[super + 1]), w.n - 1);
  K most = (K)writer->bounds[MSF_PARTS - 1].key;
  for (u32 base = __ldg(&w.super_row[super]); base <= last; base += 32) {
    u32 row = base + lane, many = 0;
    u64 from = msf_offset(w, min(row, w.n)), to = msf_offset(w, min(row, w.n - 1) + 1);
    bool any = row < w.n && from < to && from < end && to > begin;
    u64 here = max(from, begin), there = min(to, end);
    bool picks = any && from >= begin;
    u32 v = picks ? msf_neighbour_of<PLAIN>(w, from) : MSF_NONE;
    if (any)
      many = msf_first_light<K, MAPPED>(w, here, there, most);
    if (picks && v == row)
      msf_pick_first<PLAIN>(w, row, from + 1, to);
    else if (picks) {
      w.next[row] = v;
      w.pick[row] = (u32)from;
    }
    u32 longer = __ballot_sync(DZO_WARP_ALL, any && many == MSF_FIRST_KEYS);
    while (longer != 0) {
      int k = __ffs((int)longer) - 1;
      longer &= longer - 1;
      u64 first = __shfl_sync(DZO_WARP_ALL, here, k) + MSF_FIRST_KEYS;
      u32 more = msf_light_prefix<K, MAPPED>(w, first, __shfl_sync(DZO_WARP_ALL, there, k), most);
      many += (int)lane == k ? more : 0;
    }
    if (picks && v != row && many != 0) { /* what a vertex picks is known to be merged */
      here++;
      many--;
    }
    u32 through = msf_warp_sum(many), total = __shfl_sync(DZO_WARP_ALL, through, 31);
    p->before[lane] = through - many;
    p->begin[lane] = here - (through - many);
    __syncwarp();
    msf_list_prefixes<K, MAPPED, PLAIN>(w, p, base, total, super, pool, writer);
    __syncwarp();
    if (!__any_sync(DZO_WARP_ALL, any)) { /* many empty rows: the next that is not */
      u64 arc = __shfl_sync(DZO_WARP_ALL, from, 31);
      base = arc < w.arcs ? msf_row_of(w, arc) - 32 : last;
    }
  }
}

template <typename K, bool MAPPED, bool PLAIN>
__global__ void __launch_bounds__(MSF_THREADS, 4) msf_k_extract_presorted(msf_work w) {
  dzo_after_previous();
  __shared__ msf_prefixes s_prefixes[MSF_WARPS];
  u32 lane = dzo_lane();
  __shared__ msf_bound s_bounds[MSF_PARTS];
  msf_light_writer writer = msf_light_writer_new(w, s_bounds);
  __shared__ msf_key_marks s_marks[msf_marks_room<K, MSF_WARPS>::COUNT];
  msf_pool pool = msf_pool_new<K>(s_marks);
  for (;;) {
    u32 super = 0;
    if (lane == 0)
      super = atomicAdd(&w.control->ticket, 1u);
    super = __shfl_sync(DZO_WARP_ALL, super, 0);
    if (super >= w.supertiles)
      break;
    msf_extract_rows<K, MAPPED, PLAIN>(w, &s_prefixes[threadIdx.x >> 5], super, &pool, &writer);
    msf_close_super(w, &writer, super);
  }
  msf_close_pool<K>(w, &pool, false);
}

#endif
