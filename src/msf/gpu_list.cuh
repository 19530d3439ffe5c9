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

/* Pages that a warp has taken and not used yet, the same in all lanes; and what it knows of the
 * wide keys that it wrote, each lane of its own. */
typedef struct msf_pool {
  msf_list_state *list; /* whose counter gives pages */
  u32 chunk, spare, spares;
  u64 least, most, ones, zeros;
} msf_pool;

__device__ __forceinline__ msf_pool msf_pool_of(msf_list_state *list, u32 chunk) {
  msf_pool pool = {list, chunk, 0, 0, MSF_NEVER, 0, 0, 0};
  return pool;
}

/* Where a warp writes; the same in all lanes. */
typedef struct msf_writer {
  u32 page, fill; /* the page being filled; fill == 32 where there is none */
  u32 count;      /* pages of the supertile so far */
} msf_writer;

__device__ __forceinline__ msf_writer msf_writer_new() {
  msf_writer t = {MSF_NONE, MSF_PAGE, 0};
  return t;
}

/* All lanes; NONE where the list is full. */
__device__ __forceinline__ u32 msf_new_page(const msf_work &w, msf_pool *pool) {
  if (pool->spares == 0) {
    u32 first = 0;
    if (dzo_lane() == 0)
      first = atomicAdd(&pool->list->physical, pool->chunk);
    pool->spare = __shfl_sync(DZO_WARP_ALL, first, 0);
    pool->spares = pool->chunk;
  }
  u32 page = pool->spare++;
  pool->spares--;
  if (page < w.capacity)
    return page;
  if (dzo_lane() == 0)
    dzo_store_shared(&pool->list->overflow, 1u);
  return MSF_NONE;
}

/* Where lanes that `emit` write, in the order of lanes; NONE for others and where the list is full.
 * `home` tells the list and the supertile; it is NONE for a list in no order, whose ranks are the
 * places of pages. */
__device__ __forceinline__ u32 msf_take(const msf_work &w, msf_pool *pool, msf_writer *t, u32 home,
                                        bool emit) {
  u32 takers = __ballot_sync(DZO_WARP_ALL, emit), total = (u32)__popc(takers);
  if (total == 0)
    return MSF_NONE;
  u32 at = t->fill + (u32)__popc(takers & dzo_lanes_below());
  u32 after = t->page;
  if (t->fill + total > MSF_PAGE) {
    after = msf_new_page(w, pool);
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
__device__ __forceinline__ void msf_put(const msf_work &w, msf_pool *pool, u32 slot, u32 u, u32 v,
                                        K key, u64 arc) {
  if (slot == MSF_NONE)
    return;
  w.entries[slot] = msf_entry(u, v, (u32)key, arc);
  if (sizeof(K) == 4)
    return;
  u64 wide = key;
  w.entry_high[slot] = (u32)(wide >> 32);
  pool->least = min(pool->least, wide);
  pool->most = max(pool->most, wide);
  pool->ones |= wide;
  pool->zeros |= ~wide;
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
__device__ __forceinline__ void msf_close_keys(msf_pool *pool) {
  for (int d = 16; d != 0; d /= 2) {
    pool->least = min(pool->least, __shfl_xor_sync(DZO_WARP_ALL, pool->least, d));
    pool->most = max(pool->most, __shfl_xor_sync(DZO_WARP_ALL, pool->most, d));
    pool->ones |= __shfl_xor_sync(DZO_WARP_ALL, pool->ones, d);
    pool->zeros |= __shfl_xor_sync(DZO_WARP_ALL, pool->zeros, d);
  }
  if (dzo_lane() != 0 || pool->least > pool->most)
    return;
  atomicMax(&pool->list->inverse_least, ~pool->least);
  atomicMax(&pool->list->most, pool->most);
  atomicOr(&pool->list->ones, pool->ones);
  atomicOr(&pool->list->zeros, pool->zeros);
}

/* At the end of a warp's work: pages without a home, and what is known of its wide keys. */
template <typename K>
__device__ __forceinline__ void msf_close_pool(const msf_work &w, msf_pool *pool) {
  for (u32 i = dzo_lane(); i < pool->spares; i += 32)
    if (pool->spare + i < w.capacity)
      w.home[pool->spare + i] = make_uint2(MSF_NONE, 0);
  if (sizeof(K) == 8)
    msf_close_keys(pool);
}

/* Writers of a supertile's light edges. */
typedef struct msf_light_writer {
  msf_bound lightest, light;
  msf_writer to[2];
} msf_light_writer;

__device__ __forceinline__ msf_light_writer msf_light_writer_new(const msf_work &w) {
  msf_light_writer t = {
      w.control->lightest, w.control->light, {msf_writer_new(), msf_writer_new()}};
  return t;
}

template <typename K>
__device__ __forceinline__ bool msf_upto(msf_bound bound, K key, u32 smaller) {
  return key < (K)bound.key || (key == (K)bound.key && smaller <= bound.vertex);
}

/* An edge u - v, u < v, of each lane that has one goes to the list that it belongs to. */
template <typename K>
__device__ __forceinline__ void msf_list_light(const msf_work &w, msf_pool *pool,
                                               msf_light_writer *t, u32 super, bool edge, u32 u,
                                               u32 v, K key, u64 arc) {
  bool lightest = edge && msf_upto(t->lightest, key, u);
  bool light = edge && !lightest && msf_upto(t->light, key, u);
  u32 slot = msf_take(w, pool, &t->to[0], super, lightest);
  u32 other = msf_take(w, pool, &t->to[1], w.supertiles + super, light);
  msf_put(w, pool, min(slot, other), u, v, key, arc);
}

__device__ __forceinline__ void msf_close_super(const msf_work &w, msf_light_writer *t, u32 super) {
  if (dzo_lane() == 0) {
    w.super_pages[super] = t->to[0].count;
    w.super_pages[w.supertiles + super] = t->to[1].count;
  }
  msf_close_page(w, &t->to[0]);
  msf_close_page(w, &t->to[1]);
}

/* Pages of supertiles before each, by one block: the ranks. Those of the second list follow. */
__device__ __forceinline__ void msf_rank_pages(const msf_work &w) {
  __shared__ u32 s_sum[32];
  msf_list_state *list = w.control->list;
  u32 lane = dzo_lane(), warp = threadIdx.x >> 5, warps = blockDim.x >> 5, before = 0;
  u32 supers = 2 * w.supertiles;
  for (u32 first = 0; first < supers; first += 4 * blockDim.x) {
    u32 at = first + 4 * threadIdx.x, c[4], sum = 0;
    for (u32 j = 0; j < 4; j++) {
      c[j] = at + j < supers ? w.super_pages[at + j] : 0;
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
      if (at + j < supers)
        w.super_base[at + j] = base;
      base += c[j];
    }
    __syncthreads();
  }
  if (threadIdx.x != 0 || list[MSF_LIGHTEST].overflow)
    return;
  list[MSF_LIGHTEST].pages = w.super_base[w.supertiles];
  list[MSF_LIGHT].pages = before - w.super_base[w.supertiles];
}

#endif
