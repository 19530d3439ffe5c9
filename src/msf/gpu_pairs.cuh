/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The end of the rounds on a list. When few components are left, one more pass tells the first edge
 * between each two of them; all others come after it and are no part of the forest. From these each
 * block finds what merges, for itself: no block waits for another any more. */
#ifndef DZO_MSF_GPU_PAIRS_CUH
#define DZO_MSF_GPU_PAIRS_CUH

#include <math.h>

#include "msf/gpu_rounds.cuh"

enum { MSF_PAIRS_EACH = (MSF_PAIRS + MSF_ROUND_THREADS - 1) / MSF_ROUND_THREADS };

/* The place of a pair, a < b, and the pair of a place. */
__device__ __forceinline__ u32 msf_pair_place(u32 a, u32 b) { return b * (b - 1) / 2 + a; }
__device__ __forceinline__ uint2 msf_pair_ends(u32 place) {
  u32 b = (u32)((1.0f + sqrtf(1.0f + 8.0f * (float)place)) * 0.5f); /* exact: squares are small */
  return make_uint2(place - b * (b - 1) / 2, b);
}

/* The pass over the list, of which nothing is moved. */
template <typename K>
__device__ __forceinline__ void msf_collect_pairs(const msf_work &w, const msf_round &r, u32 round,
                                                  u64 *s_best, const u32 *s_map) {
  for (u32 p = threadIdx.x; p < MSF_PAIRS; p += blockDim.x)
    s_best[p] = MSF_NEVER;
  __syncthreads();
  for (u32 group = msf_spread_warp(); group < r.groups; group += msf_warps()) {
    u32 before, total = msf_group_size(r, group, &before);
    for (u32 first = 0; first < total; first += 32 * MSF_STEP) {
      u32 rank[MSF_STEP];
      uint4 e[MSF_STEP];
      K key[MSF_STEP];
      msf_load_entries<K>(w, r, s_map, group, before, first, total, rank, e, key);
#pragma unroll
      for (u32 j = 0; j < MSF_STEP; j++) {
        u32 x = e[j].x & MSF_ID, y = e[j].y & MSF_ID;
        if (x == y)
          continue;
        u64 *best = &s_best[msf_pair_place(min(x, y), max(x, y))];
        msf_offer<K, false>(w, r, round, best, 0, msf_word<K>(r, key[j], rank[j]),
                            dzo_load_block(best));
      }
    }
  }
  __syncthreads();
  for (u32 p = threadIdx.x; p < MSF_PAIRS; p += blockDim.x)
    if (s_best[p] != MSF_NEVER)
      msf_offer<K, false>(w, r, round, &r.pairs[p], 0, s_best[p], dzo_load_shared(&r.pairs[p]));
}

/* Trees of components, in shared memory. */
typedef struct msf_trees {
  u64 choice[MSF_PAIRED];                 /* the first edge that leaves a tree */
  u32 tree[MSF_PAIRED], next[MSF_PAIRED]; /* a component's; that which a tree becomes part of */
  u32 merged, count;
} msf_trees;

/* The first edge that leaves each tree; x, y: the trees of this thread's pairs, equal where there
 * is no edge to choose. */
__device__ __forceinline__ void msf_choose_edges(msf_trees *s, const u64 *word, const uint2 *ends,
                                                 u32 *x, u32 *y) {
#pragma unroll
  for (u32 j = 0; j < MSF_PAIRS_EACH; j++) {
    x[j] = y[j] = 0;
    if (word[j] == MSF_NEVER)
      continue;
    x[j] = s->tree[ends[j].x];
    y[j] = s->tree[ends[j].y];
    if (x[j] == y[j])
      continue;
    atomicMin(&s->choice[x[j]], word[j]);
    atomicMin(&s->choice[y[j]], word[j]);
  }
}

/* Trees become part of those that they chose; the pairs that were chosen, a bit each. */
__device__ __forceinline__ u32 msf_join_trees(msf_trees *s, const u64 *word, const u32 *x,
                                              const u32 *y) {
  u32 taken = 0;
#pragma unroll
  for (u32 j = 0; j < MSF_PAIRS_EACH; j++) {
    if (x[j] == y[j])
      continue;
    bool of_x = s->choice[x[j]] == word[j], of_y = s->choice[y[j]] == word[j];
    if (!of_x && !of_y)
      continue;
    taken |= 1u << j;
    if (of_x && (!of_y || x[j] > y[j])) /* of two that chose each other the smaller stays */
      s->next[x[j]] = y[j];
    else
      s->next[y[j]] = x[j];
  }
  if (taken != 0)
    dzo_store_block(&s->merged, 1u);
  return taken;
}

/* One round on them. *taken: the pairs of this thread whose edges are taken, a bit each. False
 * where there was none of any thread. */
__device__ __forceinline__ bool msf_merge_trees(msf_trees *s, const u64 *word, const uint2 *ends,
                                                u32 *taken) {
  u32 x[MSF_PAIRS_EACH], y[MSF_PAIRS_EACH], t = threadIdx.x;
  if (t < MSF_PAIRED) {
    s->choice[t] = MSF_NEVER;
    s->next[t] = t;
  }
  if (t == 0)
    s->merged = 0;
  __syncthreads();
  msf_choose_edges(s, word, ends, x, y);
  __syncthreads();
  *taken |= msf_join_trees(s, word, x, y);
  __syncthreads();
  bool merged = s->merged != 0;
  u32 root = t < MSF_PAIRED ? s->tree[t] : 0;
  while (s->next[root] != root)
    root = s->next[root];
  __syncthreads();
  if (t < MSF_PAIRED)
    s->tree[t] = root;
  __syncthreads();
  return merged;
}

/* Roots get numbers in their order, by a warp; s->next of a root is its number. */
__device__ __forceinline__ void msf_number_trees(msf_trees *s, u32 components) {
  u32 count = 0;
  for (u32 base = 0; base < MSF_PAIRED; base += 32) {
    u32 c = base + dzo_lane();
    bool is_root = c < components && s->tree[c] == c;
    u32 roots = __ballot_sync(DZO_WARP_ALL, is_root);
    if (is_root)
      s->next[c] = count + (u32)__popc(roots & dzo_lanes_below());
    count += (u32)__popc(roots);
  }
  if (dzo_lane() == 0)
    s->count = count;
}

/* Once all blocks have told: what merges, which is the last round. s_map: what became of this
 * round's components. */
template <typename K>
__device__ __forceinline__ void msf_settle(const msf_work &w, msf_round &r, u32 *s_map) {
  __shared__ msf_trees s_trees;
  u32 taken = 0, t = threadIdx.x, components = r.components;
  u64 word[MSF_PAIRS_EACH], ranks = sizeof(K) == 4 ? MSF_NONE : (1ull << r.rank_bits) - 1;
  uint2 ends[MSF_PAIRS_EACH];
#pragma unroll
  for (u32 j = 0; j < MSF_PAIRS_EACH; j++) {
    u32 place = t + j * MSF_ROUND_THREADS;
    word[j] = place < MSF_PAIRS ? dzo_load_shared(&r.pairs[place]) : MSF_NEVER;
    ends[j] = msf_pair_ends(place);
  }
  if (t < MSF_PAIRED)
    s_trees.tree[t] = t;
  while (msf_merge_trees(&s_trees, word, ends, &taken))
    continue;
  if (t < 32)
    msf_number_trees(&s_trees, components);
  __syncthreads();
  if (t < components)
    s_map[t] = MSF_ROOT | s_trees.next[s_trees.tree[t]];
#pragma unroll
  for (u32 j = 0; j < MSF_PAIRS_EACH; j++)
    if (blockIdx.x == 0 && (taken >> j & 1) != 0) {
      u32 slot = msf_slot(w, r, (u32)(word[j] & ranks));
      w.out[atomicAdd(&w.control->forest, 1u)] = msf_entry_arc(dzo_load_shared(&w.entries[slot]));
    }
  __syncthreads();
  if (t == 0) {
    r.map = r.parent;
    r.mapped = components;
    r.components = s_trees.count;
  }
  __syncthreads();
}

#endif
