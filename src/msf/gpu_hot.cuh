/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The component that abstains in the next round. */
#ifndef DZO_MSF_GPU_HOT_CUH
#define DZO_MSF_GPU_HOT_CUH

#include "msf/gpu_list.cuh"

enum {
  MSF_HOT_SAMPLES = 128, /* ends of edges */
  MSF_HOT_LEAST = 4      /* of these, to abstain */
};

__device__ __forceinline__ u32 msf_root_of(const u32 *parent, u32 c) {
  u32 x = dzo_load_shared(&parent[c]);
  while (!(x & MSF_ROOT))
    x = dzo_load_shared(&parent[x]);
  return x;
}

/* The component that the ends of most sampled edges are in; by the first block, while others
 * flatten. Edges stand in groups as they were just written. */
__device__ __forceinline__ void msf_find_hot(const msf_work &w, msf_list_state *list, u32 groups,
                                             u32 width, const u32 *count, u32 pages,
                                             const u32 *parent, u32 seed) {
  __shared__ u32 s_sample[MSF_HOT_SAMPLES], s_hot;
  u32 t = threadIdx.x, mine = MSF_NONE, same = 0;
  if (t == 0)
    s_hot = 0;
  if (t < MSF_HOT_SAMPLES && groups != 0) {
    u32 group = __umulhi(msf_hash(2 * t + 977 * seed + 1), groups);
    u32 size = count != NULL ? dzo_load_shared(&count[group])
                             : min(width, pages - group * width) * MSF_PAGE;
    if (size != 0) {
      u32 x = __umulhi(msf_hash(2 * t + 977 * seed + 2), size);
      u32 rank = group * width * MSF_PAGE + x, page = dzo_load_shared(&w.page_at[rank / MSF_PAGE]);
      uint4 e = dzo_load_shared(&w.entries[page * MSF_PAGE + rank % MSF_PAGE]);
      u32 a = msf_root_of(parent, e.x & MSF_ID), b = msf_root_of(parent, e.y & MSF_ID);
      mine = a == b ? MSF_NONE : (t & 1 ? a : b) & MSF_ID;
    }
  }
  if (t < MSF_HOT_SAMPLES)
    s_sample[t] = mine;
  __syncthreads();
  if (t < MSF_HOT_SAMPLES && mine != MSF_NONE) {
    for (u32 k = 0; k < MSF_HOT_SAMPLES; k++)
      same += s_sample[k] == mine;
    atomicMax(&s_hot, same << 8 | t);
  }
  __syncthreads();
  if (t == 0)
    list->hot = s_hot >> 8 >= MSF_HOT_LEAST ? s_sample[s_hot & 255] : MSF_NONE;
}

#endif
