/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Round one of Boruvka, for all vertices: those that have no light arc pick the first of their
 * row, then vertices hook onto what they picked and roots become components. */
#ifndef DZO_MSF_GPU_ROUND_CUH
#define DZO_MSF_GPU_ROUND_CUH

#include "msf/gpu_hot.cuh"

enum {
  MSF_SHARE = 256,     /* vertices a warp goes through at once */
  MSF_SHORT_ROW = 64,  /* longer ones are read by a whole warp */
  MSF_ROW_STEP = 8,    /* arcs of a lane in flight */
  MSF_FEW_SHARE = 128, /* where that would leave warps without work */
  MSF_EACH = MSF_SHARE / 32
};

/* The first least arc of a row so far; arc is NEVER where there is none. */
template <typename K> struct msf_least {
  K key;
  u64 arc;
  u32 neighbour;
};

template <typename K>
__device__ __forceinline__ void msf_offer_arc(msf_least<K> *least, K key, u64 arc, u32 neighbour) {
  if (least->arc != MSF_NEVER && (key > least->key || (key == least->key && arc > least->arc)))
    return;
  *least = {key, arc, neighbour};
}

/* Of all lanes. */
template <typename K> __device__ __forceinline__ void msf_least_of_warp(msf_least<K> *least) {
  for (int d = 16; d != 0; d /= 2) {
    K key = __shfl_xor_sync(DZO_WARP_ALL, least->key, d);
    u64 arc = __shfl_xor_sync(DZO_WARP_ALL, least->arc, d);
    u32 neighbour = __shfl_xor_sync(DZO_WARP_ALL, least->neighbour, d);
    if (arc != MSF_NEVER)
      msf_offer_arc(least, key, arc, neighbour);
  }
}

/* What supertiles found in row u, by every step-th from `first` on; true where one did. */
template <typename K>
__device__ __forceinline__ bool msf_from_records(const msf_work &w, u32 u, u64 begin, u64 end,
                                                 u32 first, u32 step, msf_least<K> *least) {
  u64 last = (end - 1) >> w.super_log;
  bool found = false;
  if (begin >> w.super_log == last)
    return false;
  for (u64 s = (begin >> w.super_log) + first; s <= last; s += step)
    for (u32 i = 0; i < 2; i++) {
      const msf_record *r = &w.records[2 * s + i];
      if (r->row != u)
        continue;
      msf_offer_arc(least, (K)r->key, msf_whole_arc(begin, r->arc), r->neighbour);
      found = true;
    }
  return found;
}

/* Every step-th arc from `first` on; without loops, which takes longer, or with them. */
template <typename K, bool PLAIN>
__device__ __forceinline__ void msf_from_row(const msf_work &w, u32 u, u64 begin, u64 end,
                                             u32 first, u32 step, bool with_loops,
                                             msf_least<K> *least) {
  for (u64 arc = begin + first; arc < end; arc += MSF_ROW_STEP * step) {
    K key[MSF_ROW_STEP];
#pragma unroll
    for (u32 j = 0; j < MSF_ROW_STEP; j++)
      key[j] = arc + j * step < end ? msf_key_at<K>(w, arc + j * step) : 0;
#pragma unroll
    for (u32 j = 0; j < MSF_ROW_STEP; j++) {
      u64 at = arc + j * step;
      if (at >= end || (least->arc != MSF_NEVER && key[j] >= least->key))
        continue;
      if (with_loops || msf_neighbour_of<PLAIN>(w, at) != u)
        *least = {key[j], at, 0};
    }
  }
}

template <typename K>
__device__ __forceinline__ void msf_pick_least(const msf_work &w, u32 u,
                                               const msf_least<K> *least) {
  if (least->arc == MSF_NEVER)
    return;
  w.next[u] = least->neighbour;
  w.pick[u] = (u32)least->arc;
}

/* The first least arc of a row, by one lane. Loops are rare: the row is read again then. */
template <typename K, bool PLAIN>
__device__ __forceinline__ void msf_pick_short(const msf_work &w, u32 u, u64 begin, u64 end) {
  msf_least<K> least = {0, MSF_NEVER, 0};
  if (!msf_from_records(w, u, begin, end, 0, 1, &least)) {
    msf_from_row<K, PLAIN>(w, u, begin, end, 0, 1, true, &least);
    least.neighbour = msf_neighbour_of<PLAIN>(w, least.arc);
    if (least.neighbour == u) {
      least.arc = MSF_NEVER;
      msf_from_row<K, PLAIN>(w, u, begin, end, 0, 1, false, &least);
      if (least.arc != MSF_NEVER)
        least.neighbour = msf_neighbour_of<PLAIN>(w, least.arc);
    }
  }
  msf_pick_least(w, u, &least);
}

/* A long row, by the warp. */
template <typename K, bool PLAIN>
__device__ __forceinline__ void msf_pick_long(const msf_work &w, u32 u, u64 begin, u64 end) {
  msf_least<K> least = {0, MSF_NEVER, 0};
  bool found = msf_from_records(w, u, begin, end, dzo_lane(), 32, &least);
  if (!__any_sync(DZO_WARP_ALL, found)) {
    msf_from_row<K, PLAIN>(w, u, begin, end, dzo_lane(), 32, false, &least);
    if (least.arc != MSF_NEVER)
      least.neighbour = msf_neighbour_of<PLAIN>(w, least.arc);
  }
  msf_least_of_warp(&least);
  if (dzo_lane() == 0)
    msf_pick_least(w, u, &least);
}

/* The vertices of s_list, 32 at a time: short rows by a lane each. */
template <typename K, bool PLAIN>
__device__ __forceinline__ void msf_pick_listed(const msf_work &w, const u32 *s_list, u32 count) {
  u32 lane = dzo_lane();
  for (u32 first = 0; first < count; first += 32) {
    bool there = first + lane < count;
    u32 u = there ? s_list[first + lane] : 0;
    u64 begin = there ? msf_offset(w, u) : 0, end = there ? msf_offset(w, u + 1) : 0;
    bool is_long = end - begin > MSF_SHORT_ROW;
    if (there && !is_long)
      msf_pick_short<K, PLAIN>(w, u, begin, end);
    u32 todo = __ballot_sync(DZO_WARP_ALL, is_long);
    while (todo != 0) {
      int k = __ffs((int)todo) - 1;
      todo &= todo - 1;
      msf_pick_long<K, PLAIN>(w, __shfl_sync(DZO_WARP_ALL, u, k),
                              __shfl_sync(DZO_WARP_ALL, begin, k),
                              __shfl_sync(DZO_WARP_ALL, end, k));
    }
  }
}

/* Which of this lane's vertices base, base + 32, ... have arcs and no pick yet? A bit each. */
template <u32 EACH> __device__ __forceinline__ u32 msf_lack_picks(const msf_work &w, u64 base) {
  u32 next[EACH], lack = 0;
  u64 begin[EACH], end[EACH];
#pragma unroll
  for (u32 j = 0; j < EACH; j++) {
    u32 u = (u32)min(base + j * 32, (u64)w.n - 1);
    next[j] = w.next[u];
    begin[j] = msf_offset(w, u);
    end[j] = msf_offset(w, u + 1);
  }
#pragma unroll
  for (u32 j = 0; j < EACH; j++)
    lack |= (u32)(base + j * 32 < w.n && next[j] == MSF_NONE && begin[j] < end[j]) << j;
  return lack;
}

/* The row that crosses the border before supertile `super`, if that is its first border. */
__device__ __forceinline__ bool msf_crosses_first(const msf_work &w, u64 super, u32 *row) {
  if (super == 0 || super >= w.supertiles)
    return false;
  *row = __ldg(&w.super_row[super]);
  u64 begin = msf_offset(w, *row);
  return begin < super << w.super_log && begin >> w.super_log == super - 1;
}

/* Where all arcs were light, only vertices whose row crosses a border have no pick. The first
 * blocks rank pages meanwhile. */
template <typename K, bool PLAIN, u32 SHARE>
__global__ void __launch_bounds__(MSF_THREADS) msf_k_pick_rest(msf_work w, bool borders) {
  dzo_after_previous();
  __shared__ u32 s_list[MSF_WARPS][SHARE];
  if (blockIdx.x < MSF_PARTS) {
    msf_rank_pages(w, blockIdx.x);
    return;
  }
  if (w.presorted)
    return;
  u32 lane = dzo_lane(), *list = s_list[threadIdx.x >> 5], total = borders ? w.supertiles : w.n;
  u32 warp = (blockIdx.x - MSF_PARTS) * MSF_WARPS + (threadIdx.x >> 5);
  u32 warps = (gridDim.x - MSF_PARTS) * MSF_WARPS;
  for (u64 base = (u64)warp * SHARE; base < total; base += (u64)warps * SHARE) {
    u32 count = 0, lack = borders ? 0 : msf_lack_picks<SHARE / 32>(w, base + lane);
#pragma unroll
    for (u32 j = 0; j < SHARE / 32; j++) {
      u64 at = base + j * 32 + lane;
      u32 u = (u32)at;
      bool need = borders ? msf_crosses_first(w, at, &u) : lack >> j & 1;
      u32 mask = __ballot_sync(DZO_WARP_ALL, need);
      if (need)
        list[count + (u32)__popc(mask & dzo_lanes_below())] = u;
      count += (u32)__popc(mask);
    }
    __syncwarp();
    msf_pick_listed<K, PLAIN>(w, list, count);
    __syncwarp();
  }
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* Of two vertices that picked the same edge the smaller is a root; every other vertex that picked
 * one gives its arc to the forest and hangs below its neighbour. */
__device__ __forceinline__ void msf_hook_share(const msf_work &w, u32 base) {
  u32 lane = dzo_lane(), below = dzo_lanes_below(), roots = 0, children = 0;
  u32 x[MSF_EACH], y[MSF_EACH], root[MSF_EACH], child[MSF_EACH];
  bool is_root[MSF_EACH];
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 u = base + j * 32 + lane;
    x[j] = u < w.n ? w.next[u] : MSF_NONE;
  }
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 u = base + j * 32 + lane;
    y[j] = x[j] != MSF_NONE && u < x[j] ? w.next[x[j]] : MSF_NONE;
  }
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    is_root[j] = y[j] == base + j * 32 + lane;
    root[j] = __ballot_sync(DZO_WARP_ALL, is_root[j]);
    child[j] = __ballot_sync(DZO_WARP_ALL, x[j] != MSF_NONE && !is_root[j]);
    roots += (u32)__popc(root[j]);
    children += (u32)__popc(child[j]);
  }
  msf_control *control = w.control;
  msf_ranges at = msf_reserve3(&control->list[MSF_LIGHTEST].components[0], roots, &control->forest,
                               children, &control->forest, 0);
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 u = base + j * 32 + lane;
    if (u >= w.n)
      continue;
    if (x[j] == MSF_NONE)
      w.label[u] = MSF_NONE;
    else if (is_root[j]) {
      u32 id = at.first[0] + (u32)__popc(root[j] & below);
      w.label[u] = MSF_ROOT | id;
      w.best[0][id] = MSF_NEVER;
      w.parent[MSF_LIGHTEST][id] = 0;
    } else {
      w.label[u] = x[j];
      w.out[at.first[1] + (u32)__popc(child[j] & below)] =
          w.arcs >> 32 == 0 ? w.pick[u] : msf_whole_arc(msf_offset(w, u), w.pick[u]);
    }
    at.first[0] += (u32)__popc(root[j]);
    at.first[1] += (u32)__popc(child[j]);
  }
}

/* Arcs of a row are told apart by 32 bits. */
__device__ __forceinline__ void msf_refuse_long_rows(const msf_work &w, u32 thread, u32 threads) {
  for (u32 u = thread; u < w.n; u += threads)
    if ((msf_offset(w, u + 1) - msf_offset(w, u)) >> 32 != 0)
      dzo_store_shared(&w.control->refused, 1u);
}

/* All blocks together: hooks, then labels. Pages get into order on the way. */
static __global__ void __launch_bounds__(MSF_THREADS, 4) msf_k_hook(msf_work w) {
  dzo_after_previous();
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  msf_list_state *list = &w.control->list[MSF_LIGHTEST];
  u32 pages = list->overflow ? 0 : min(list->physical, w.capacity);
  for (u32 p = thread; p < pages; p += threads) {
    uint2 home = w.home[p];
    if (home.x != MSF_NONE)
      w.page_at[msf_rank_of(w, home)] = p;
  }
  if (w.arcs >> 32 != 0)
    msf_refuse_long_rows(w, thread, threads);
  for (u64 base = (u64)msf_spread_warp() * MSF_SHARE; base < w.n;
       base += (u64)msf_warps() * MSF_SHARE)
    msf_hook_share(w, (u32)base);
  dzo_grid_sync();
  if (blockIdx.x == 0)
    msf_find_hot(w, list, msf_whole_part(0, w.control->part_pages[0], w.label, NULL), 0);
  threads = msf_other_threads();
  for (u32 base = msf_other_thread(); base < w.n; base += MSF_ROOT_STEP * threads)
    msf_find_roots(w.label, w.n, base, threads);
}

#endif
