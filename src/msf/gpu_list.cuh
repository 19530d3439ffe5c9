/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A list of edges in pages of 32 entries. Warps take pages from one counter, so that nobody waits
 * for anybody; which supertile a page belongs to, and as which, gives it a rank afterwards. Ranks
 * ascend as arcs do, and so break ties by the total order. */
#ifndef DZO_MSF_GPU_LIST_CUH
#define DZO_MSF_GPU_LIST_CUH

#include "msf/gpu_work.cuh"

/* An edge: endpoints (vertices at first, components later), the low half of the key, the low half
 * of the arc. The upper bits of the arc hide in those of the endpoints. */
__device__ __forceinline__ uint4 msf_entry(u32 u, u32 v, u32 key, u64 arc) {
  u32 high = (u32)(arc >> 32);
  return make_uint4(u | high << 30, v | high >> 2 << 30, key, (u32)arc);
}
__device__ __forceinline__ u64 msf_entry_arc(uint4 e) {
  return (u64)(e.x >> 30 | e.y >> 30 << 2) << 32 | e.w;
}

/* What a warp writes to; the same in all lanes. */
typedef struct msf_writer {
  u32 page, fill;               /* the page being filled; fill == 32 where there is none */
  u32 spare, spares;            /* pages taken and not yet used */
  u32 count;                    /* pages of the supertile so far */
  u64 least, most, ones, zeros; /* of the keys, this lane's; where wide */
} msf_writer;

__device__ __forceinline__ msf_writer msf_writer_new() {
  msf_writer t = {MSF_NONE, MSF_PAGE, 0, 0, 0, MSF_NEVER, 0, 0, 0};
  return t;
}

/* All lanes; NONE where the list is full. */
__device__ __forceinline__ u32 msf_new_page(const msf_work &w, msf_list_state *list, msf_writer *t,
                                            u32 chunk) {
  if (t->spares == 0) {
    u32 first = 0;
    if (dzo_lane() == 0)
      first = atomicAdd(&list->physical, chunk);
    t->spare = __shfl_sync(DZO_WARP_ALL, first, 0);
    t->spares = chunk;
  }
  u32 page = t->spare++;
  t->spares--;
  if (page < w.capacity)
    return page;
  if (dzo_lane() == 0)
    dzo_store_shared(&list->overflow, 1u);
  return MSF_NONE;
}

/* Where lanes that `emit` write, in the order of lanes; NONE for others and where the list is full.
 * `home` is the supertile, or NONE for a list in no order, whose ranks are the places of pages. */
__device__ __forceinline__ u32 msf_take(const msf_work &w, msf_list_state *list, msf_writer *t,
                                        u32 home, bool emit) {
  u32 takers = __ballot_sync(DZO_WARP_ALL, emit), total = (u32)__popc(takers);
  if (total == 0)
    return MSF_NONE;
  u32 at = t->fill + (u32)__popc(takers & dzo_lanes_below());
  u32 after = t->page;
  if (t->fill + total > MSF_PAGE) {
    after = msf_new_page(w, list, t, home == MSF_NONE ? 1 : w.chunk);
    if (after != MSF_NONE && dzo_lane() == 0) {
      if (home == MSF_NONE)
        w.page_at[after] = after;
      else
        w.home[after] = make_uint2(home, t->count);
    }
    t->count++;
  }
  u32 page = at < MSF_PAGE ? t->page : after;
  t->fill += total;
  if (t->fill > MSF_PAGE) {
    t->fill -= MSF_PAGE;
    t->page = after;
  }
  return emit && page != MSF_NONE ? page * MSF_PAGE + at % MSF_PAGE : MSF_NONE;
}

template <typename K>
__device__ __forceinline__ void msf_put(const msf_work &w, msf_writer *t, u32 slot, u32 u, u32 v,
                                        K key, u64 arc) {
  if (slot == MSF_NONE)
    return;
  w.entries[slot] = msf_entry(u, v, (u32)key, arc);
  if (sizeof(K) == 4)
    return;
  u64 wide = key;
  w.entry_high[slot] = (u32)(wide >> 32);
  t->least = min(t->least, wide);
  t->most = max(t->most, wide);
  t->ones |= wide;
  t->zeros |= ~wide;
}

/* Unused entries of the last page are loops, which nobody minds. */
__device__ __forceinline__ void msf_close_page(const msf_work &w, msf_writer *t) {
  if (t->page != MSF_NONE && dzo_lane() >= t->fill)
    w.entries[t->page * MSF_PAGE + dzo_lane()] = make_uint4(0, 0, 0, 0);
  t->page = MSF_NONE;
  t->fill = MSF_PAGE;
  t->count = 0;
}

/* What a warp knows of its wide keys. */
__device__ __forceinline__ void msf_close_keys(msf_list_state *list, msf_writer *t) {
  for (int d = 16; d != 0; d /= 2) {
    t->least = min(t->least, __shfl_xor_sync(DZO_WARP_ALL, t->least, d));
    t->most = max(t->most, __shfl_xor_sync(DZO_WARP_ALL, t->most, d));
    t->ones |= __shfl_xor_sync(DZO_WARP_ALL, t->ones, d);
    t->zeros |= __shfl_xor_sync(DZO_WARP_ALL, t->zeros, d);
  }
  if (dzo_lane() != 0 || t->least > t->most)
    return;
  atomicMax(&list->inverse_least, ~t->least);
  atomicMax(&list->most, t->most);
  atomicOr(&list->ones, t->ones);
  atomicOr(&list->zeros, t->zeros);
}

/* At the end of a warp's work: pages without a home, and what is known of its wide keys. */
template <typename K>
__device__ __forceinline__ void msf_close_list(const msf_work &w, msf_list_state *list,
                                               msf_writer *t) {
  for (u32 i = dzo_lane(); i < t->spares; i += 32)
    if (t->spare + i < w.capacity)
      w.home[t->spare + i] = make_uint2(MSF_NONE, 0);
  if (sizeof(K) == 8)
    msf_close_keys(list, t);
}

/* Pages of supertiles before each, by one block: the ranks. */
__device__ __forceinline__ void msf_rank_pages(const msf_work &w) {
  __shared__ u32 s_sum[32];
  msf_list_state *list = &w.control->list[0];
  u32 lane = dzo_lane(), warp = threadIdx.x >> 5, warps = blockDim.x >> 5, before = 0;
  for (u32 first = 0; first < w.supertiles; first += 4 * blockDim.x) {
    u32 at = first + 4 * threadIdx.x, c[4], sum = 0;
    for (u32 j = 0; j < 4; j++) {
      c[j] = at + j < w.supertiles ? w.super_pages[at + j] : 0;
      sum += c[j];
    }
    u32 through = msf_warp_sum(sum);
    if (lane == 31)
      s_sum[warp] = through;
    __syncthreads();
    u32 base = before + through - sum;
    for (u32 k = 0; k < warps; k++) {
      base += k < warp ? s_sum[k] : 0;
      before += s_sum[k];
    }
    for (u32 j = 0; j < 4; j++) {
      if (at + j < w.supertiles)
        w.super_base[at + j] = base;
      base += c[j];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    list->pages = list->overflow ? 0 : before;
}

#endif
