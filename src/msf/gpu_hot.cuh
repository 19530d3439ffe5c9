/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The component that abstains in the next round. */
#ifndef DZO_MSF_GPU_HOT_CUH
#define DZO_MSF_GPU_HOT_CUH

#include "msf/gpu_list.cuh"

enum {
  MSF_HOT_SAMPLES = 128, /* ends of edges */
  MSF_HOT_LEAST = 4,     /* of these, to abstain */
  MSF_ROOT_STEP = 4      /* parents a thread follows side by side */
};

/* The roots of two, found side by side. */
__device__ __forceinline__ void msf_roots_of(const u32 *parent, u32 *a, u32 *b) {
  u32 x = dzo_load_shared(&parent[*a]), y = dzo_load_shared(&parent[*b]);
  while (!(x & y & MSF_ROOT)) {
    u32 up = x & MSF_ROOT ? x : dzo_load_shared(&parent[x]);
    y = y & MSF_ROOT ? y : dzo_load_shared(&parent[y]);
    x = up;
  }
  *a = x;
  *b = y;
}

/* The parents of base, base + step, ... become their roots, found side by side. */
__device__ __forceinline__ void msf_find_roots(u32 *parent, u32 count, u32 base, u32 step) {
  u32 x[MSF_ROOT_STEP], changed = 0;
  bool more = true;
#pragma unroll
  for (u32 j = 0; j < MSF_ROOT_STEP; j++) {
    u64 c = base + (u64)j * step;
    x[j] = c < count ? dzo_load_shared(&parent[c]) : MSF_NONE;
  }
  while (more) {
    more = false;
#pragma unroll
    for (u32 j = 0; j < MSF_ROOT_STEP; j++)
      if (!(x[j] & MSF_ROOT)) {
        x[j] = dzo_load_shared(&parent[x[j]]);
        changed |= 1u << j;
        more = true;
      }
  }
#pragma unroll
  for (u32 j = 0; j < MSF_ROOT_STEP; j++)
    if (changed >> j & 1)
      dzo_store_shared(&parent[base + j * step], x[j]);
}

/* What became of the components of a list's first round. */
typedef struct msf_finals {
  const u32 *parent; /* of the first round, behind them those of the next ones */
  const u32 *sizes;  /* components of each round; in shared memory */
  /* Those of round `round` are in the last round the ones that s_tail tells, or, where
   * `same`, it is the last round. */
  const u32 *s_tail;
  u32 round;
  bool same;
  /* Numbers from `first` on are of the components of the last round, in their order; in all there
   * are `left`. */
  u32 first, left;
} msf_finals;

/* The final number of a component of the first round. Few loads ask for the few numbers of late
 * rounds in memory: these would be asked for by all at once. */
__device__ __forceinline__ u32 msf_final_of(const msf_finals &f, u32 c) {
  const u32 *parent = f.parent;
  for (u32 round = 0; round != f.round; round++) {
    u32 x = dzo_load_shared(&parent[c]);
    c = x & MSF_ID;
    if (x & MSF_FINAL)
      return c;
    parent += f.sizes[round];
  }
  if (f.same)
    return f.first + c;
  u32 x = f.s_tail[c];
  return x & MSF_FINAL ? x & MSF_ID : f.first + (x & MSF_ID);
}

/* Where edges stand whose ends are sampled, and how an end becomes a component. */
typedef struct msf_hot_source {
  u32 first_page, pages, groups, width;
  const u32 *count;         /* of each group; NULL: they are full */
  const u32 *label;         /* of vertices; NULL: the ends are components */
  const msf_finals *finals; /* of a label's number; NULL: it is a component */
} msf_hot_source;

/* Pages that are as they were filled, at whose ends vertices are. */
__device__ __forceinline__ msf_hot_source msf_whole_part(u32 first, u32 pages, const u32 *label,
                                                         const msf_finals *finals) {
  msf_hot_source from = {first, pages, pages, 1, NULL, label, finals};
  return from;
}

/* The component that a label stands for. */
__device__ __forceinline__ u32 msf_hot_label(const msf_hot_source &from, u32 x) {
  if (from.finals != NULL && x != MSF_NONE)
    x = msf_final_of(*from.finals, x & MSF_ID);
  return x & MSF_ID;
}

/* One end of one edge, or NONE. */
__device__ __forceinline__ u32 msf_hot_sample(const msf_work &w, const msf_hot_source &from,
                                              u32 seed) {
  if (from.groups == 0)
    return MSF_NONE;
  u32 group = __umulhi(msf_hash(2 * threadIdx.x + 977 * seed + 1), from.groups);
  u32 size = from.count != NULL ? dzo_load_shared(&from.count[group])
                                : min(from.width, from.pages - group * from.width) * MSF_PAGE;
  if (size == 0)
    return MSF_NONE;
  u32 rank =
      group * from.width * MSF_PAGE + __umulhi(msf_hash(2 * threadIdx.x + 977 * seed + 2), size);
  u32 page = dzo_load_shared(&w.page_at[from.first_page + rank / MSF_PAGE]);
  uint4 e = dzo_load_shared(&w.entries[page * MSF_PAGE + rank % MSF_PAGE]);
  u32 a = e.x & MSF_ID, b = e.y & MSF_ID;
  if (from.label != NULL) {
    msf_roots_of(from.label, &a, &b);
    a = msf_hot_label(from, a);
    b = msf_hot_label(from, b);
  }
  return a == b ? MSF_NONE : threadIdx.x & 1 ? a : b;
}

/* The component that most sampled ends are in; by one block, while others are at something else. */
__device__ __forceinline__ void msf_find_hot(const msf_work &w, msf_list_state *list,
                                             const msf_hot_source &from, u32 seed) {
  __shared__ u32 s_sample[MSF_HOT_SAMPLES], s_hot;
  u32 t = threadIdx.x, mine = MSF_NONE, same = 0;
  if (t == 0)
    s_hot = 0;
  if (t < MSF_HOT_SAMPLES)
    s_sample[t] = mine = msf_hot_sample(w, from, seed);
  __syncthreads();
  if (t < MSF_HOT_SAMPLES && mine != MSF_NONE) {
    for (u32 k = 0; k < MSF_HOT_SAMPLES; k++)
      same += s_sample[k] == mine;
    atomicMax(&s_hot, same << 8 | t);
  }
  __syncthreads();
  if (t == 0)
    dzo_store_shared(&list->hot, s_hot >> 8 >= MSF_HOT_LEAST ? s_sample[s_hot & 255] : MSF_NONE);
  __syncthreads();
}

#endif
