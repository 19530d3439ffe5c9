/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* After the light edges: how the rest is looked at, the component of each vertex, and the vertices
 * in the order in which they are gone through. */
#ifndef DZO_MSF_GPU_LABEL_CUH
#define DZO_MSF_GPU_LABEL_CUH

#include "msf/gpu_round.cuh"

enum {
  MSF_ENDS = 256,       /* ends of arcs sampled for a giant component */
  MSF_GIANT_LEAST = 64, /* of these, to call it one */
  MSF_MOST_SLICES = 32  /* in which vertices are listed */
};

/* Least words and ties of the first round on a list. */
__device__ __forceinline__ void msf_clear(const msf_work &w, u32 *parent, u32 components) {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (u32 c = thread; c < components; c += threads) {
    w.best[0][c] = MSF_NEVER;
    parent[c] = 0;
  }
}

/* The number after the last round of a vertex's component. */
__device__ __forceinline__ u32 msf_final(const msf_work &w, u32 label) {
  return label == MSF_NONE ? MSF_NONE
                           : dzo_load_shared(&w.parent[MSF_LIGHTEST][label & MSF_ID]) & MSF_ID;
}

/* The same while parents of the first list become final numbers of the second, if there is one. */
__device__ __forceinline__ u32 msf_final_soon(const msf_finals *finals, bool second, u32 label) {
  if (label == MSF_NONE)
    return MSF_NONE;
  if (!second)
    return msf_final_of(finals[MSF_LIGHTEST], label & MSF_ID);
  u32 x = dzo_load_shared(&finals[MSF_LIGHTEST].parent[label & MSF_ID]);
  return x & MSF_FINAL ? msf_final_of(finals[MSF_LIGHT], x & MSF_ID) : x & MSF_ID;
}

/* Does one component have many ends of arcs? By one block, when the rounds are done. */
__device__ __forceinline__ void msf_choose_scan(const msf_work &w, const msf_finals *finals,
                                                bool second) {
  __shared__ u32 s_end[MSF_ENDS], s_most;
  msf_control *control = w.control;
  u32 t = threadIdx.x, mine = MSF_NONE, same = 0;
  if (t == 0)
    s_most = 0;
  if (t < MSF_ENDS) {
    u64 arc = __umul64hi((u64)msf_hash(77 * t + 5) << 32, w.arcs);
    s_end[t] = mine = msf_final_soon(finals, second, w.label[msf_neighbour(w, arc)]);
  }
  __syncthreads();
  if (t < MSF_ENDS) {
    for (u32 k = 0; k < MSF_ENDS; k++)
      same += s_end[k] == mine;
    atomicMax(&s_most, same << 8 | t);
  }
  __syncthreads();
  if (t != 0)
    return;
  bool giant =
      w.forced_mode != 0 ? w.forced_mode == MSF_SCAN_GIANT : s_most >> 8 >= MSF_GIANT_LEAST;
  bool fits = w.n * 4ull <= w.cache - w.cache / 4;
  control->share = s_most >> 8;
  control->giant = giant ? s_end[s_most & 255] : MSF_NONE;
  u32 mode = fits ? MSF_SCAN_PLAIN : MSF_SCAN_GROUPED;
  if (w.forced_mode != 0)
    mode = w.forced_mode;
  control->mode = giant ? (u32)MSF_SCAN_GIANT : mode;
  control->high = {MSF_NEVER, MSF_NONE, 1};
  control->list[MSF_REST].components[0] = finals[second ? MSF_LIGHT : MSF_LIGHTEST].left;
  control->list[MSF_REST].hot = control->giant;
}

/* Labels of 256 vertices; those outside the giant are listed, or members counted. */
__device__ __forceinline__ void msf_label_share(const msf_work &w, u32 base, u32 mode, u32 giant) {
  u32 lane = dzo_lane(), x[MSF_EACH], outside[MSF_EACH], many = 0;
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 u = base + j * 32 + lane;
    x[j] = u < w.n ? w.label[u] : MSF_NONE;
  }
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 u = base + j * 32 + lane;
    x[j] = msf_final(w, x[j]);
    if (u < w.n)
      w.label[u] = x[j];
    if (mode == MSF_SCAN_GROUPED && x[j] != MSF_NONE)
      w.place[u] = atomicAdd(&w.member_count[x[j]], 1u);
  }
  if (mode != MSF_SCAN_GIANT)
    return;
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    u32 inside = __ballot_sync(DZO_WARP_ALL, x[j] == giant);
    if (lane == 0 && base + j * 32 < w.n)
      w.giant_bits[(base + j * 32) / 32] = inside;
    outside[j] = __ballot_sync(DZO_WARP_ALL, x[j] != giant && x[j] != MSF_NONE);
    many += (u32)__popc(outside[j]);
  }
  u32 at = 0;
  if (lane == 0 && many != 0)
    at = atomicAdd(&w.control->listed, many);
  at = __shfl_sync(DZO_WARP_ALL, at, 0);
#pragma unroll
  for (u32 j = 0; j < MSF_EACH; j++) {
    if (outside[j] >> lane & 1)
      w.listed[at + (u32)__popc(outside[j] & dzo_lanes_below())] = base + j * 32 + lane;
    at += (u32)__popc(outside[j]);
  }
}

/* Counted members: where each component's begin, in no order of components. */
__device__ __forceinline__ void msf_place_components(const msf_work &w, u32 components) {
  u32 lane = dzo_lane();
  for (u32 base = msf_spread_warp() * 32; base < components; base += msf_warps() * 32) {
    u32 c = base + lane, count = c < components ? dzo_load_shared(&w.member_count[c]) : 0;
    u32 through = msf_warp_sum(count), first = 0;
    if (lane == 31 && through != 0)
      first = atomicAdd(&w.control->listed, through);
    first = __shfl_sync(DZO_WARP_ALL, first, 31);
    if (c < components)
      dzo_store_shared(&w.member_base[c], first + through - count);
  }
}

/* Vertices in the order of components, a slice of that order after the other: what is written all
 * over stays in the cache until it is full of it. */
__device__ __forceinline__ void msf_list_slice(const msf_work &w, u32 begin, u32 slice) {
  u32 step = gridDim.x * blockDim.x;
  for (u32 base = blockIdx.x * blockDim.x + threadIdx.x; base < w.n; base += MSF_ROOT_STEP * step) {
    u32 at[MSF_ROOT_STEP], x[MSF_ROOT_STEP];
#pragma unroll
    for (u32 j = 0; j < MSF_ROOT_STEP; j++) {
      u32 u = base + j * step;
      at[j] = u < w.n ? w.place[u] : MSF_NONE;
      x[j] = u < w.n && begin == 0 ? w.label[u] : MSF_NONE;
    }
    if (begin == 0) { /* places among members become places among all */
#pragma unroll
      for (u32 j = 0; j < MSF_ROOT_STEP; j++)
        at[j] = x[j] != MSF_NONE ? at[j] + dzo_load_shared(&w.member_base[x[j]]) : MSF_NONE;
    }
#pragma unroll
    for (u32 j = 0; j < MSF_ROOT_STEP; j++) {
      u32 u = base + j * step;
      if (begin == 0 && u < w.n)
        w.place[u] = at[j];
      if (at[j] - begin < slice && at[j] != MSF_NONE)
        w.listed[at[j]] = u;
    }
  }
}

__device__ __forceinline__ void msf_list_members(const msf_work &w) {
  u32 least = max(w.n / MSF_MOST_SLICES, (u32)MSF_THREADS);
  u32 slice = (u32)max(w.cache / (2 * sizeof(u32)), (u64)least);
  for (u32 begin = 0; begin < w.n; begin += min(slice, w.n))
    msf_list_slice(w, begin, slice);
}

/* All blocks together. */
static __global__ void __launch_bounds__(MSF_THREADS) msf_k_label(msf_work w) {
  dzo_after_previous();
  u32 mode = w.control->mode, giant = w.control->giant;
  u32 components = w.control->list[MSF_REST].components[0];
  for (u64 base = (u64)msf_spread_warp() * MSF_SHARE; base < w.n;
       base += (u64)msf_warps() * MSF_SHARE)
    msf_label_share(w, (u32)base, mode, giant);
  if (mode != MSF_SCAN_GROUPED)
    return;
  dzo_grid_sync();
  msf_place_components(w, components);
  dzo_grid_sync();
  msf_list_members(w);
}

/* After more rounds: new labels, and where the caller wants them, labels of all vertices. */
static __global__ void __launch_bounds__(MSF_THREADS)
    msf_k_relabel(msf_work w, bool again, u32 *labels) {
  dzo_after_previous();
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  const msf_list_state *rest = &w.control->list[MSF_REST];
  u32 components = again ? rest->left : rest->components[0];
  for (u32 u = thread; u < w.n; u += threads) {
    u32 x = w.label[u];
    if (again)
      x = msf_final(w, x);
    w.label[u] = x;
    if (labels != NULL)
      labels[u] = x != MSF_NONE ? x : components + atomicAdd(&w.control->isolated, 1u);
  }
  msf_report(w);
}

#endif
