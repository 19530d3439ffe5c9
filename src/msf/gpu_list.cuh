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

/* What each lane of a warp knows of the wide keys that it wrote; in shared memory, for registers
 * are scarce where this is used. */
typedef struct msf_key_marks {
  u64 least[32], most[32], ones[32], zeros[32];
} msf_key_marks;

/* Pages that a warp has taken and not used yet; the same in all lanes. */
typedef struct msf_pool {
  u32 spare, spares;
  msf_key_marks *marks; /* where keys are wide */
} msf_pool;

/* Room for the marks of a block's warps; none is needed for narrow keys. */
template <typename K, int WARPS> struct msf_marks_room {
  enum { COUNT = sizeof(K) == 4 ? 1 : WARPS };
};

template <typename K> __device__ __forceinline__ msf_pool msf_pool_new(msf_key_marks *s_marks) {
  msf_pool pool = {0, 0, NULL};
  if (sizeof(K) == 8) {
    u32 lane = dzo_lane();
    pool.marks = &s_marks[threadIdx.x >> 5];
    pool.marks->least[lane] = MSF_NEVER;
    pool.marks->most[lane] = pool.marks->ones[lane] = pool.marks->zeros[lane] = 0;
  }
  return pool;
}

/* Whose counter gives pages: lists of light edges share one. */
__device__ __forceinline__ msf_list_state *msf_giver(const msf_work &w, bool rest) {
  return &w.control->list[rest ? MSF_REST : MSF_LIGHTEST];
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
__device__ __forceinline__ u32 msf_new_page(const msf_work &w, msf_pool *pool, bool rest) {
  if (pool->spares == 0) {
    u32 first = 0, chunk = rest ? 1 : w.chunk;
    if (dzo_lane() == 0)
      first = atomicAdd(&msf_giver(w, rest)->physical, chunk);
    pool->spare = __shfl_sync(DZO_WARP_ALL, first, 0);
    pool->spares = chunk;
  }
  u32 page = pool->spare++;
  pool->spares--;
  if (page < w.capacity)
    return page;
  if (dzo_lane() == 0)
    dzo_store_shared(&msf_giver(w, rest)->overflow, 1u);
  return MSF_NONE;
}

/* Where lanes that `emit` write, in the order of lanes; NONE for others and where the list is full.
 * `home` tells the part and the supertile. */
__device__ __forceinline__ u32 msf_take(const msf_work &w, msf_pool *pool, msf_writer *t, u32 home,
                                        bool emit) {
  u32 takers = __ballot_sync(DZO_WARP_ALL, emit), total = (u32)__popc(takers);
  if (total == 0)
    return MSF_NONE;
  u32 at = t->fill + (u32)__popc(takers & dzo_lanes_below());
  u32 after = t->page;
  if (t->fill + total > MSF_PAGE) {
    after = msf_new_page(w, pool, false);
    if (after != MSF_NONE && dzo_lane() == 0)
      w.home[after] = make_uint2(home, t->count);
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

/* Places 0 .. total - 1 of a run: on the page that was being filled, then on new ones. */
typedef struct msf_run {
  u32 fill, page;          /* where it begins */
  u32 spare, spares, next; /* new pages: `spares` from `spare` on, then from `next` on */
} msf_run;

__device__ __forceinline__ u32 msf_run_page(const msf_work &w, const msf_run &run, u32 index) {
  u32 page = index == 0            ? run.page
             : index <= run.spares ? run.spare + index - 1
                                   : run.next + index - 1 - run.spares;
  return page < w.capacity ? page : MSF_NONE;
}

__device__ __forceinline__ u32 msf_run_slot(const msf_work &w, const msf_run &run, u32 place) {
  u32 at = run.fill + place, page = msf_run_page(w, run, at / MSF_PAGE);
  return page != MSF_NONE ? page * MSF_PAGE + at % MSF_PAGE : MSF_NONE;
}

/* A run of `total` places for all lanes, in a list that is in order. */
__device__ __forceinline__ msf_run msf_take_run(const msf_work &w, msf_pool *pool, msf_writer *t,
                                                u32 home, u32 total) {
  u32 lane = dzo_lane(), end = t->fill + total;
  u32 pages = (end + MSF_PAGE - 1) / MSF_PAGE - 1;
  msf_run run = {t->fill, t->page, pool->spare, min(pool->spares, pages), 0};
  pool->spare += run.spares;
  pool->spares -= run.spares;
  if (pages > run.spares) {
    u32 wanted = pages - run.spares, taken = max(wanted, w.chunk), first = 0;
    if (lane == 0)
      first = atomicAdd(&msf_giver(w, false)->physical, taken);
    run.next = __shfl_sync(DZO_WARP_ALL, first, 0);
    pool->spare = run.next + wanted;
    pool->spares = taken - wanted;
  }
  for (u32 k = lane; k < pages; k += 32) {
    u32 page = msf_run_page(w, run, k + 1);
    if (page != MSF_NONE)
      w.home[page] = make_uint2(home, t->count + k);
    else
      dzo_store_shared(&msf_giver(w, false)->overflow, 1u);
  }
  t->count += pages;
  t->page = msf_run_page(w, run, pages);
  t->fill = end - pages * MSF_PAGE;
  return run;
}

/* A wide key is going to be in the list. */
__device__ __forceinline__ void msf_mark_key(msf_key_marks *m, u64 key) {
  u32 lane = dzo_lane();
  m->least[lane] = min(m->least[lane], key);
  m->most[lane] = max(m->most[lane], key);
  m->ones[lane] |= key;
  m->zeros[lane] |= ~key;
}

template <typename K>
__device__ __forceinline__ void msf_put(const msf_work &w, msf_pool *pool, u32 slot, u32 u, u32 v,
                                        K key, u64 arc) {
  if (slot == MSF_NONE)
    return;
  w.entries[slot] = msf_entry(u, v, (u32)key, arc);
  if (sizeof(K) == 4)
    return;
  w.entry_high[slot] = (u32)((u64)key >> 32);
  msf_mark_key(pool->marks, key);
}

/* Unused entries of the last page are loops, which nobody minds. */
__device__ __forceinline__ void msf_close_page(const msf_work &w, msf_writer *t) {
  if (t->page != MSF_NONE && dzo_lane() >= t->fill)
    w.entries[t->page * MSF_PAGE + dzo_lane()] = make_uint4(0, 0, 0, 0);
  t->page = MSF_NONE;
  t->fill = MSF_PAGE;
  t->count = 0;
}

/* What a warp knows of its wide keys goes to the list. */
__device__ __forceinline__ void msf_close_keys(msf_list_state *list, const msf_key_marks *marks) {
  u32 lane = dzo_lane();
  u64 least = marks->least[lane], most = marks->most[lane];
  u64 ones = marks->ones[lane], zeros = marks->zeros[lane];
  for (int d = 16; d != 0; d /= 2) {
    least = min(least, __shfl_xor_sync(DZO_WARP_ALL, least, d));
    most = max(most, __shfl_xor_sync(DZO_WARP_ALL, most, d));
    ones |= __shfl_xor_sync(DZO_WARP_ALL, ones, d);
    zeros |= __shfl_xor_sync(DZO_WARP_ALL, zeros, d);
  }
  if (lane != 0 || least > most)
    return;
  atomicMax(&list->inverse_least, ~least);
  atomicMax(&list->most, most);
  atomicOr(&list->ones, ones);
  atomicOr(&list->zeros, zeros);
}

/* At the end of a warp's work: pages without a home, and what is known of its wide keys. */
template <typename K>
__device__ __forceinline__ void msf_close_pool(const msf_work &w, msf_pool *pool, bool rest) {
  for (u32 i = dzo_lane(); i < pool->spares; i += 32)
    if (pool->spare + i < w.capacity)
      w.home[pool->spare + i] = make_uint2(MSF_NONE, 0);
  if (sizeof(K) == 8)
    msf_close_keys(msf_giver(w, rest), pool->marks);
}

/* Writers of the parts of a supertile's light edges. The parts' bounds lie in shared memory, for
 * registers are scarce where this is used. */
typedef struct msf_light_writer {
  const msf_bound *bounds;
  msf_writer to[MSF_PARTS];
} msf_light_writer;

/* All threads of a block. */
__device__ __forceinline__ msf_light_writer msf_light_writer_new(const msf_work &w,
                                                                 msf_bound *s_bounds) {
  msf_light_writer t = {s_bounds, {msf_writer_new(), msf_writer_new(), msf_writer_new()}};
  if (threadIdx.x < MSF_PARTS)
    s_bounds[threadIdx.x] = w.control->part[threadIdx.x];
  __syncthreads();
  return t;
}

template <typename K>
__device__ __forceinline__ bool msf_upto(msf_bound bound, K key, u32 smaller) {
  return key < (K)bound.key || (key == (K)bound.key && smaller <= bound.vertex);
}

/* An edge u - v, u < v, of each lane that has one goes to the part that it belongs to. */
template <typename K>
__device__ __forceinline__ void msf_list_light(const msf_work &w, msf_pool *pool,
                                               msf_light_writer *t, u32 super, bool edge, u32 u,
                                               u32 v, K key, u64 arc) {
  u32 slot = MSF_NONE;
#pragma unroll
  for (u32 part = 0; part < MSF_PARTS; part++) {
    bool here = edge && msf_upto(t->bounds[part], key, u);
    slot = min(slot, msf_take(w, pool, &t->to[part], part * w.supertiles + super, here));
    edge = edge && !here;
  }
  msf_put(w, pool, slot, u, v, key, arc);
}

__device__ __forceinline__ void msf_close_super(const msf_work &w, msf_light_writer *t, u32 super) {
#pragma unroll
  for (u32 part = 0; part < MSF_PARTS; part++) {
    if (dzo_lane() == 0)
      w.super_pages[part * w.supertiles + super] = t->to[part].count;
    msf_close_page(w, &t->to[part]);
  }
}

/* Pages of supertiles before each, of one part, by one block: the ranks among its pages. */
__device__ __forceinline__ void msf_rank_pages(const msf_work &w, u32 part) {
  __shared__ u32 s_sum[32];
  bool overflow = w.control->list[MSF_LIGHTEST].overflow;
  u32 lane = dzo_lane(), warp = threadIdx.x >> 5, warps = blockDim.x >> 5, before = 0;
  const u32 *pages = w.super_pages + part * w.supertiles;
  u32 *bases = w.super_base + part * w.supertiles;
  for (u32 first = 0; first < w.supertiles; first += 4 * blockDim.x) {
    u32 at = first + 4 * threadIdx.x, c[4], sum = 0;
    for (u32 j = 0; j < 4; j++) {
      c[j] = at + j < w.supertiles ? pages[at + j] : 0;
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
        bases[at + j] = base;
      base += c[j];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    w.control->part_pages[part] = overflow ? 0 : before;
}

/* The rank of a page; one part follows the other. */
__device__ __forceinline__ u32 msf_rank_of(const msf_work &w, uint2 home) {
  u32 rank = w.super_base[home.x] + home.y;
  if (home.x >= w.supertiles)
    rank += w.control->part_pages[0];
  if (home.x >= 2 * w.supertiles)
    rank += w.control->part_pages[1];
  return rank;
}

#endif
