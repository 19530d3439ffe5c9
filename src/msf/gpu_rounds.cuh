/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What one round of Boruvka on a list knows, and how it goes through the list. Survivors are
 * compacted in place: a warp owns a group of pages and moves what is left of it to its beginning,
 * so ranks keep their order. As the list shrinks, groups are put together. */
#ifndef DZO_MSF_GPU_ROUNDS_CUH
#define DZO_MSF_GPU_ROUNDS_CUH

#include "msf/gpu_hot.cuh"

enum {
  MSF_ROUND_THREADS = 512,
  MSF_FEW_PAGES = 1 << 17, /* of light edges that are merged at once, if components are many */
  MSF_SMALL = 2048,        /* components whose minima fit into shared memory */
  MSF_STEP = 4,            /* entries a lane has in flight */
  MSF_LEAST_WIDTH = 4,     /* pages of a group */
  MSF_MOST_PARTS = 32,
  MSF_TIES = 1 << 12 /* entries listed for taking part in ties */
};

/* The same in all threads: a block keeps it in shared memory, where its first thread changes it. */
typedef struct msf_round {
  msf_list_state *list;
  u32 components;
  /* What makes components of the entries' ends: labels of vertices, or parents of the components of
   * the round before; NULL: they are. Then, unless NULL, what component the number stands for. */
  const u32 *map;
  const u32 *component;
  bool of_vertices;
  u32 mapped;  /* components of the round before */
  u32 *parent; /* of this round's */
  u32 turn;    /* which of w.best is this round's; the other is the next one's */
  u32 abstains;
  /* Of the first round whose components were few enough, the `tail` ones are known to each block as
   * those of this round. */
  u32 tail_round, tail;
  u32 round; /* at the end: the last one, in which no edge was left */
  /* Groups: `parts` of those of the last round make one of this. */
  u32 first_page, pages, width, parts, groups, last_groups;
  const u32 *count_in; /* NULL: the groups are full */
  u32 *count_out;
  /* Words: the upper part of the key, then the rank. */
  int rank_bits, shift;
  u64 base;
  bool exact_key; /* the upper part tells keys apart */
  bool ordered;   /* ranks break ties by the total order */
  u64 *exact;     /* where whole keys are compared */
  u64 *pairs;     /* first edges between two components, when these are few */
} msf_round;

/* Least words of this round and of the next. (From the kernel's parameters, so that the compiler
 * knows what memory they are in.) */
__device__ __forceinline__ u64 *msf_best(const msf_work &w, const msf_round &r) {
  return r.turn == 0 ? w.best[0] : w.best[1];
}
__device__ __forceinline__ u64 *msf_best_next(const msf_work &w, const msf_round &r) {
  return r.turn == 0 ? w.best[1] : w.best[0];
}

__device__ __forceinline__ bool msf_has_key(const msf_round &r, bool wide) {
  return !wide || r.exact_key;
}

template <typename K> __device__ __forceinline__ u64 msf_word(const msf_round &r, K key, u32 rank) {
  if (sizeof(K) == 4)
    return (u64)key << 32 | rank;
  return ((u64)key - r.base) >> r.shift << r.rank_bits | rank;
}
template <typename K> __device__ __forceinline__ u64 msf_upper(const msf_round &r, u64 word) {
  return sizeof(K) == 4 ? word >> 32 : word >> r.rank_bits;
}

__device__ __forceinline__ u32 msf_slot(const msf_work &w, const msf_round &r, u32 rank) {
  return __ldg(&w.page_at[r.first_page + rank / MSF_PAGE]) * MSF_PAGE + rank % MSF_PAGE;
}

template <typename K>
__device__ __forceinline__ K msf_entry_key(const msf_work &w, uint4 e, u32 slot) {
  if (sizeof(K) == 4)
    return (K)e.z;
  return (K)((u64)dzo_load_shared(&w.entry_high[slot]) << 32 | e.z);
}

/* Groups of the first round. */
__device__ __forceinline__ void msf_first_groups(const msf_work &w, msf_round *r) {
  u32 warps = msf_warps();
  r->width = MSF_LEAST_WIDTH;
  while (r->width < 32 && r->pages / r->width > 4 * warps)
    r->width *= 2;
  r->parts = 1;
  r->groups = r->last_groups = (r->pages + r->width - 1) / r->width;
  r->count_in = NULL;
  r->count_out = w.group_count[0];
}

/* Groups of the next, when `edges` are left. */
__device__ __forceinline__ void msf_next_groups(const msf_work &w, msf_round *r, u32 edges) {
  /* At most one for each warp, or several where all have enough to do. */
  u32 warps = msf_warps(), wanted = max(warps / 2, min(edges / (32 * MSF_STEP), 4 * warps));
  r->last_groups = r->groups;
  r->parts = 1;
  while (r->parts < MSF_MOST_PARTS && r->groups / (2 * r->parts) >= wanted)
    r->parts *= 2;
  r->width *= r->parts;
  r->groups = (r->groups + r->parts - 1) / r->parts;
  r->count_in = r->count_out;
  r->count_out = r->count_out == w.group_count[0] ? w.group_count[1] : w.group_count[0];
}

/* Words for wide keys: as many upper bits of (key - least) as the rank leaves. */
__device__ __forceinline__ void msf_word_shape(msf_round *r, const msf_list_state *list) {
  u64 least = ~list->inverse_least, most = list->most;
  int bits = least < most ? 64 - __clzll((long long)(most - least)) : 1;
  r->rank_bits = 1;
  while (r->pages * (u64)MSF_PAGE >= 1ull << r->rank_bits)
    r->rank_bits++;
  r->base = least;
  r->shift = max(0, bits - (64 - r->rank_bits));
  r->exact_key = (list->ones & list->zeros & ((1ull << r->shift) - 1)) == 0;
}

/* The x-th entry of a group's parts: its rank. `before`: entries of parts before that of the
 * lane. */
__device__ __forceinline__ u32 msf_rank_in(const msf_round &r, u32 group, u32 before, u32 x) {
  if (r.parts == 1)
    return group * r.width * MSF_PAGE + x;
  u32 k = 0;
#pragma unroll
  for (u32 step = 16; step != 0; step /= 2)
    if (__shfl_sync(DZO_WARP_ALL, before, (int)(k + step)) <= x)
      k += step;
  u32 skipped = __shfl_sync(DZO_WARP_ALL, before, (int)k);
  return (group * r.parts + k) * (r.width / r.parts) * MSF_PAGE + (x - skipped);
}

/* How many entries each part of a group has: *before as above; returns their sum. */
__device__ __forceinline__ u32 msf_group_size(const msf_round &r, u32 group, u32 *before) {
  u32 lane = dzo_lane(), part = group * r.parts + lane, count = 0;
  *before = 0;
  if (r.count_in == NULL)
    return min(r.width, r.pages - group * r.width) * MSF_PAGE;
  if (r.parts == 1)
    return dzo_load_shared(&r.count_in[group]);
  if (lane < r.parts && part < r.last_groups)
    count = dzo_load_shared(&r.count_in[part]);
  u32 through = msf_warp_sum(count);
  *before = through - count;
  return __shfl_sync(DZO_WARP_ALL, through, 31);
}

/* Two words with the same upper part met at a component. Parents are not known yet in this part of
 * the round; a 1 among the zeros marks it. Who takes part in ties is listed, if these are few. */
__device__ __forceinline__ void msf_note_tie(const msf_work &w, const msf_round &r, u32 round,
                                             u32 c, u64 word, u64 other) {
  u32 *count = &r.list->tied[round];
  u64 ranks = (1ull << r.rank_bits) - 1;
  dzo_store_shared(&r.parent[c], 1u);
  if (dzo_load_shared(count) > MSF_TIES)
    return;
  u32 at = atomicAdd(count, 2u);
  if (at + 2 > MSF_TIES)
    return;
  dzo_store_shared(&w.ties[at], (u32)(word & ranks));
  dzo_store_shared(&w.ties[at + 1], (u32)(other & ranks));
}

/* Lower the least word of component c, of which `seen` was seen. Where LAZY, it is noted when a
 * word with the same upper part was there; otherwise nobody waits for the answer. */
template <typename K, bool LAZY>
__device__ __forceinline__ void msf_offer(const msf_work &w, const msf_round &r, u32 round,
                                          u64 *best, u32 c, u64 word, u64 seen) {
  if (!LAZY) {
    if (word < seen)
      atomicMin(best, word);
    return;
  }
  if (word < seen)
    seen = atomicMin(best, word);
  if (seen != word && seen != MSF_NEVER && msf_upper<K>(r, seen) == msf_upper<K>(r, word))
    msf_note_tie(w, r, round, c, word, seen);
}

/* The same, asking first what the block knows: most offers go to few components, whose minima all
 * multiprocessors would ask the second-level cache for. A guard is a component and the top half of
 * a word that was offered to it. */
template <typename K, bool LAZY>
__device__ __forceinline__ void msf_offer_guarded(const msf_work &w, const msf_round &r, u32 round,
                                                  u64 *s_guard, u32 c, u64 word) {
  u64 *guard = &s_guard[c % MSF_SMALL], known = dzo_load_block(guard);
  if (known >> 32 == c && (u32)known < word >> 32)
    return;
  u64 seen = dzo_load_shared(msf_best(w, r) + c);
  atomicExch(guard, (u64)c << 32 | min(seen, word) >> 32);
  msf_offer<K, LAZY>(w, r, round, msf_best(w, r) + c, c, word, seen);
}

/* Shared minima of a block go to all. */
template <typename K, bool LAZY>
__device__ __forceinline__ void msf_offer_small(const msf_work &w, const msf_round &r, u32 round,
                                                const u64 *s_best) {
  __syncthreads();
  for (u32 c = threadIdx.x; c < r.components; c += blockDim.x) {
    u64 *best = msf_best(w, r) + c, word = s_best[c];
    if (word != MSF_NEVER)
      msf_offer<K, LAZY>(w, r, round, best, c, word, dzo_load_shared(best));
  }
}

/* Does each block flatten the parents for itself? */
__device__ __forceinline__ bool msf_maps_shared(const msf_round &r) {
  return r.map != NULL && !r.of_vertices && r.mapped <= MSF_SMALL;
}

/* All threads of a block: the roots of all components of the round before. */
__device__ __forceinline__ void msf_load_map(const msf_round &r, u32 *s_map) {
  enum { EACH = MSF_SMALL / MSF_ROUND_THREADS };
  u32 root[EACH];
  for (u32 c = threadIdx.x; c < r.mapped; c += MSF_ROUND_THREADS)
    s_map[c] = dzo_load_shared(&r.map[c]);
  __syncthreads();
#pragma unroll
  for (u32 j = 0; j < EACH; j++) {
    u32 c = threadIdx.x + j * MSF_ROUND_THREADS;
    root[j] = c < r.mapped ? s_map[c] : MSF_ROOT;
    while (!(root[j] & MSF_ROOT))
      root[j] = s_map[root[j]];
  }
  __syncthreads();
#pragma unroll
  for (u32 j = 0; j < EACH; j++) {
    u32 c = threadIdx.x + j * MSF_ROUND_THREADS;
    if (c < r.mapped)
      s_map[c] = root[j];
  }
  __syncthreads();
}

/* What became of the components of the first round of which there were few, one more round on. */
__device__ __forceinline__ void msf_extend_tail(msf_round &r, u32 round, const u32 *s_map,
                                                u32 *s_tail) {
  bool first = r.tail == 0;
  u32 count = first ? r.mapped : r.tail;
  for (u32 c = threadIdx.x; c < count; c += blockDim.x) {
    u32 x = first ? c : s_tail[c];
    if (!(x & MSF_FINAL))
      s_tail[c] = s_map[x & MSF_ID];
  }
  __syncthreads();
  if (first && threadIdx.x == 0) {
    r.tail_round = round - 1;
    r.tail = count;
  }
}

/* The ends of entries in this round's numbers; the upper bits of the arcs stay. What is asked of
 * memory is asked for all before any of it is waited for, here and below. */
__device__ __forceinline__ void msf_rename(const msf_round &r, const u32 *s_map, uint4 *e) {
  u32 x[MSF_STEP], y[MSF_STEP];
  if (r.map == NULL)
    return;
  if (msf_maps_shared(r)) {
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++) {
      x[j] = s_map[e[j].x & MSF_ID];
      y[j] = s_map[e[j].y & MSF_ID];
    }
  } else {
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++) {
      x[j] = dzo_load_shared(&r.map[e[j].x & MSF_ID]);
      y[j] = dzo_load_shared(&r.map[e[j].y & MSF_ID]);
    }
  }
  if (r.component != NULL) { /* labels of vertices without arcs, which stand where entries do not */
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++) {
      x[j] = dzo_load_shared(&r.component[x[j] == MSF_NONE ? 0 : x[j] & MSF_ID]);
      y[j] = dzo_load_shared(&r.component[y[j] == MSF_NONE ? 0 : y[j] & MSF_ID]);
    }
  }
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    e[j].x = (e[j].x & ~MSF_ID) | (x[j] & MSF_ID);
    e[j].y = (e[j].y & ~MSF_ID) | (y[j] & MSF_ID);
  }
}

/* The ranks of up to 128 entries of a group from `first` on, and the entries, in this round's
 * numbers; what is behind the last is a loop. */
template <typename K>
__device__ __forceinline__ void msf_load_entries(const msf_work &w, const msf_round &r,
                                                 const u32 *s_map, u32 group, u32 before, u32 first,
                                                 u32 total, u32 *rank, uint4 *e, K *key) {
  u32 lane = dzo_lane(), slot[MSF_STEP];
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    u32 x = first + j * 32 + lane;
    rank[j] = msf_rank_in(r, group, before, x);
    slot[j] = msf_slot(w, r, x < total ? rank[j] : group * r.width * MSF_PAGE);
  }
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    e[j] = dzo_load_shared(&w.entries[slot[j]]);
    key[j] = msf_entry_key<K>(w, e[j], slot[j]);
  }
  /* What stands where no entry is may have numbers of long ago. */
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++)
    if (first + j * 32 + lane >= total)
      e[j].x = e[j].y = 0;
  msf_rename(r, s_map, e);
}

/* Up to 128 entries of a group from x on: rename, keep those between two components, move them to
 * `kept` on, offer them to both. Returns how many are kept. */
template <typename K, bool LAZY>
__device__ __forceinline__ u32 msf_collect_step(const msf_work &w, const msf_round &r, u32 round,
                                                u64 *s_best, const u32 *s_map, bool small,
                                                u32 group, u32 before, u32 first, u32 total,
                                                u32 kept) {
  u32 lane = dzo_lane(), keep[MSF_STEP], rank[MSF_STEP], many = 0;
  uint4 e[MSF_STEP];
  K key[MSF_STEP];
  msf_load_entries<K>(w, r, s_map, group, before, first, total, rank, e, key);
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    bool crosses = first + j * 32 + lane < total && ((e[j].x ^ e[j].y) & MSF_ID) != 0;
    keep[j] = __ballot_sync(DZO_WARP_ALL, crosses);
    many += (u32)__popc(keep[j]);
  }
  __syncwarp();
  u32 to = group * r.width * MSF_PAGE + kept;
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    if (keep[j] >> lane & 1) {
      u32 place = to + (u32)__popc(keep[j] & dzo_lanes_below()), at = msf_slot(w, r, place);
      dzo_store_shared(&w.entries[at], e[j]);
      if (sizeof(K) == 8)
        dzo_store_shared(&w.entry_high[at], (u32)((u64)key[j] >> 32));
      u64 word = msf_word<K>(r, key[j], place);
      u32 ends[2] = {e[j].x & MSF_ID, e[j].y & MSF_ID};
#pragma unroll
      for (u32 end = 0; end < 2; end++) {
        u32 c = ends[end];
        if (c != r.abstains && small)
          msf_offer<K, LAZY>(w, r, round, &s_best[c], c, word, dzo_load_block(&s_best[c]));
        else if (c != r.abstains)
          msf_offer_guarded<K, LAZY>(w, r, round, s_best, c, word);
      }
    }
    to += (u32)__popc(keep[j]);
  }
  return many;
}

/* What abstains this round: as found, or, after hooks, the component that it became part of. */
__device__ __forceinline__ u32 msf_abstaining(const msf_round &r, const u32 *s_map) {
  u32 hot = dzo_load_shared(&r.list->hot);
  if (r.map == NULL || r.of_vertices || hot == MSF_NONE)
    return hot;
  return (msf_maps_shared(r) ? s_map[hot] : dzo_load_shared(&r.map[hot])) & MSF_ID;
}

/* The pass over the list. */
template <typename K, bool LAZY>
__device__ __forceinline__ void msf_collect(const msf_work &w, msf_round &r, u32 round, u64 *s_best,
                                            const u32 *s_map) {
  bool small = r.components <= MSF_SMALL;
  for (u32 c = threadIdx.x; c < MSF_SMALL; c += blockDim.x)
    s_best[c] = MSF_NEVER;
  if (threadIdx.x == 0)
    r.abstains = msf_abstaining(r, s_map);
  __syncthreads();
  u32 edges = 0;
  for (u32 group = msf_spread_warp(); group < r.groups; group += msf_warps()) {
    u32 before, kept = 0, total = msf_group_size(r, group, &before);
    for (u32 first = 0; first < total; first += 32 * MSF_STEP)
      kept += msf_collect_step<K, LAZY>(w, r, round, s_best, s_map, small, group, before, first,
                                        total, kept);
    if (dzo_lane() == 0)
      dzo_store_shared(&r.count_out[group], kept);
    edges += kept;
  }
  if (small)
    msf_offer_small<K, LAZY>(w, r, round, s_best);
  if (dzo_lane() == 0 && edges != 0)
    atomicAdd(&r.list->edges[round], edges);
}

#endif
