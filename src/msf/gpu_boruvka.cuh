/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* All rounds of Boruvka on one list, in one kernel whose blocks run together: numbers of components
 * are dense again in each round, so that their arrays shrink into the cache, and the host is not
 * asked. In each round a component that much of the list touches abstains from choosing. */
#ifndef DZO_MSF_GPU_BORUVKA_CUH
#define DZO_MSF_GPU_BORUVKA_CUH

#include "msf/gpu_hot.cuh"
#include "msf/gpu_label.cuh"
#include "msf/gpu_pairs.cuh"

/* How many pages of light edges go first: about three edges a component. */
__device__ __forceinline__ u32 msf_first_pages(const msf_work &w) {
  const msf_control *c = w.control;
  u32 all = c->part_pages[0] + c->part_pages[1] + c->part_pages[2];
  if (c->list[MSF_LIGHTEST].components[0] * 3.0 <= 1.6 * w.part[0] * w.n)
    return c->part_pages[0];
  return all < MSF_FEW_PAGES ? all : c->part_pages[0] + c->part_pages[1];
}

/* Begin with pages of a list of `components`; all threads. */
template <typename K>
__device__ __forceinline__ msf_round msf_begin(const msf_work &w, int which, u32 first_page,
                                               u32 pages, u32 components) {
  msf_round r = {};
  r.list = &w.control->list[which];
  r.ordered = which != MSF_REST;
  r.first_page = first_page;
  r.pages = pages;
  r.map = r.ordered ? w.label : NULL;
  r.component = which == MSF_LIGHT ? w.parent[MSF_LIGHTEST] : NULL;
  r.of_vertices = r.ordered;
  r.components = components;
  r.parent = w.parent[which];
  r.exact = w.exact[which];
  r.pairs = r.ordered ? w.pairs + which * MSF_PAIRS : NULL;
  r.exact_key = true;
  r.rank_bits = 32;
  if (sizeof(K) == 8)
    msf_word_shape(&r, msf_giver(w, !r.ordered));
  msf_first_groups(w, &r);
  return r;
}

/* ---- Ties that the words do not tell apart --------------------------------------------------- */

/* The endpoints of an arc, smaller first. */
__device__ __forceinline__ u64 msf_pair_of(const msf_work &w, u64 arc) {
  u32 u = msf_row_of(w, arc), v = msf_neighbour(w, arc);
  return (u64)min(u, v) << 32 | max(u, v);
}

enum { MSF_TIE_FORGET, MSF_TIE_KEY, MSF_TIE_PAIR, MSF_TIE_RANK };

/* Is this the upper part of several of the component's least words? */
template <typename K>
__device__ __forceinline__ bool msf_tied_at(const msf_work &w, const msf_round &r, u32 c,
                                            u64 upper) {
  return c != r.abstains && dzo_load_shared(&r.parent[c]) != 0 &&
         msf_upper<K>(r, dzo_load_shared(&msf_best(w, r)[c])) == upper;
}

/* An entry at one of its components, if it is among the least there as far as is known. */
template <typename K>
__device__ __forceinline__ void msf_tie_offer(const msf_work &w, const msf_round &r, int stage,
                                              u32 c, u64 word, K key, u64 pair) {
  if (!msf_tied_at<K>(w, r, c, msf_upper<K>(r, word)))
    return;
  if (stage == MSF_TIE_FORGET) { /* whose rank the least word has */
    atomicOr(&msf_best(w, r)[c], (1ull << r.rank_bits) - 1);
    return;
  }
  if (stage == MSF_TIE_KEY) {
    atomicMin(&r.exact[c], (u64)key);
    return;
  }
  if (!msf_has_key(r, sizeof(K) == 8) && (u64)key != dzo_load_shared(&r.exact[c]))
    return;
  if (stage == MSF_TIE_PAIR)
    atomicMin(&w.pair[c], pair);
  else if (r.ordered || pair == dzo_load_shared(&w.pair[c]))
    atomicMin(&msf_best(w, r)[c], word);
}

/* The same at both. */
template <typename K>
__device__ __forceinline__ void msf_tie_entry(const msf_work &w, const msf_round &r, int stage,
                                              u32 rank) {
  u32 slot = msf_slot(w, r, rank);
  uint4 e = dzo_load_shared(&w.entries[slot]);
  K key = msf_entry_key<K>(w, e, slot);
  u64 word = msf_word<K>(r, key, rank), upper = msf_upper<K>(r, word);
  u32 a = e.x & MSF_ID, b = e.y & MSF_ID;
  if (!msf_tied_at<K>(w, r, a, upper) && !msf_tied_at<K>(w, r, b, upper))
    return;
  u64 pair = r.ordered || stage <= MSF_TIE_KEY ? 0 : msf_pair_of(w, msf_entry_arc(e));
  msf_tie_offer<K>(w, r, stage, a, word, key, pair);
  msf_tie_offer<K>(w, r, stage, b, word, key, pair);
}

/* Those of the list that are known to take part in ties; where these are too many, all. */
template <typename K>
__device__ __forceinline__ void msf_tie_pass(const msf_work &w, const msf_round &r, int stage,
                                             u32 ties) {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  if (ties <= MSF_TIES) {
    for (u32 i = thread; i < ties; i += threads)
      msf_tie_entry<K>(w, r, stage, dzo_load_shared(&w.ties[i]));
    return;
  }
  for (u32 group = msf_spread_warp(); group < r.groups; group += msf_warps()) {
    u32 count = dzo_load_shared(&r.count_out[group]);
    for (u32 x = dzo_lane(); x < count; x += 32)
      msf_tie_entry<K>(w, r, stage, group * r.width * MSF_PAGE + x);
  }
}

/* Words with equal upper parts met: settle by the whole key, then the endpoints, then the rank. */
template <typename K>
__device__ __forceinline__ void msf_resolve(const msf_work &w, const msf_round &r, u32 ties) {
  u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  u64 ranks = (1ull << r.rank_bits) - 1;
  for (u32 c = thread; c < r.components; c += threads) {
    r.exact[c] = w.pair[c] = MSF_NEVER;
    if (ties > MSF_TIES && dzo_load_shared(&r.parent[c]) != 0)
      atomicOr(&msf_best(w, r)[c], ranks);
  }
  if (ties <= MSF_TIES)
    msf_tie_pass<K>(w, r, MSF_TIE_FORGET, ties);
  dzo_grid_sync();
  if (!msf_has_key(r, sizeof(K) == 8)) {
    msf_tie_pass<K>(w, r, MSF_TIE_KEY, ties);
    dzo_grid_sync();
  }
  if (!r.ordered) {
    msf_tie_pass<K>(w, r, MSF_TIE_PAIR, ties);
    dzo_grid_sync();
  }
  msf_tie_pass<K>(w, r, MSF_TIE_RANK, ties);
  dzo_grid_sync();
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* 128 components from `base` on, by a warp: as msf_hook_share() for vertices; components without an
 * edge get their final number. */
__device__ __forceinline__ void msf_hook_components(const msf_work &w, const msf_round &r,
                                                    u32 round, int rank_bits, u32 base) {
  u32 lane = dzo_lane(), below = dzo_lanes_below(), roots = 0, children = 0, ends = 0;
  u32 other[MSF_STEP] = {}, root[MSF_STEP], child[MSF_STEP], end[MSF_STEP];
  u64 word[MSF_STEP], arc[MSF_STEP] = {}, theirs[MSF_STEP] = {};
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    u32 c = base + j * 32 + lane;
    word[j] = c < r.components ? dzo_load_shared(&msf_best(w, r)[c]) : MSF_NEVER;
  }
  if (r.pages != 0) {
    uint4 e[MSF_STEP];
    u32 slot[MSF_STEP];
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++)
      slot[j] =
          msf_slot(w, r, word[j] == MSF_NEVER ? 0 : (u32)(word[j] & ((1ull << rank_bits) - 1)));
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++)
      e[j] = dzo_load_shared(&w.entries[slot[j]]);
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++) {
      u32 c = base + j * 32 + lane;
      arc[j] = msf_entry_arc(e[j]);
      other[j] = (e[j].x & MSF_ID) == c ? e[j].y & MSF_ID : e[j].x & MSF_ID;
    }
#pragma unroll
    for (u32 j = 0; j < MSF_STEP; j++)
      theirs[j] = dzo_load_shared(&msf_best(w, r)[word[j] == MSF_NEVER ? 0 : other[j]]);
  }
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    u32 c = base + j * 32 + lane;
    bool here = c < r.components, has = word[j] != MSF_NEVER;
    bool is_root = (has && c < other[j] && theirs[j] == word[j]) || (here && c == r.abstains);
    root[j] = __ballot_sync(DZO_WARP_ALL, is_root);
    child[j] = __ballot_sync(DZO_WARP_ALL, has && !is_root);
    end[j] = __ballot_sync(DZO_WARP_ALL, here && !has && !is_root);
    roots += (u32)__popc(root[j]);
    children += (u32)__popc(child[j]);
    ends += (u32)__popc(end[j]);
  }
  msf_ranges at = msf_reserve3(&r.list->components[round + 1], roots, &w.control->forest, children,
                               &r.list->finished, ends);
#pragma unroll
  for (u32 j = 0; j < MSF_STEP; j++) {
    u32 c = base + j * 32 + lane, mine = 1u << lane;
    if (root[j] & mine) {
      u32 id = at.first[0] + (u32)__popc(root[j] & below);
      dzo_store_shared(&r.parent[c], MSF_ROOT | id);
      dzo_store_shared(&msf_best_next(w, r)[id], MSF_NEVER);
      dzo_store_shared(&r.parent[r.components + id], 0u);
    } else if (child[j] & mine) {
      dzo_store_shared(&r.parent[c], other[j]);
      w.out[at.first[1] + (u32)__popc(child[j] & below)] = arc[j];
    } else if (end[j] & mine) {
      u32 id = at.first[2] + (u32)__popc(end[j] & below);
      dzo_store_shared(&r.parent[c], MSF_ROOT | MSF_FINAL | id);
    }
    at.first[0] += (u32)__popc(root[j]);
    at.first[1] += (u32)__popc(child[j]);
    at.first[2] += (u32)__popc(end[j]);
  }
}

/* Parents become roots, looked for side by side by each thread. */
__device__ __forceinline__ void msf_flatten(u32 *parent, u32 count) {
  u32 step = gridDim.x * blockDim.x;
  for (u32 base = blockIdx.x * blockDim.x + threadIdx.x; base < count; base += MSF_ROOT_STEP * step)
    msf_find_roots(parent, count, base, step);
}

/* ---- All rounds ------------------------------------------------------------------------------ */

__device__ __forceinline__ void msf_next_round(const msf_work &w, msf_round *r, u32 round,
                                               u32 edges) {
  r->map = r->parent;
  r->mapped = r->components;
  r->component = NULL;
  r->of_vertices = false;
  r->parent += r->components;
  r->components = dzo_load_shared(&r->list->components[round + 1]);
  r->turn ^= 1;
  msf_next_groups(w, r, edges);
}

/* Where the component that abstains next is looked for. */
__device__ __forceinline__ void msf_look_for_hot(const msf_work &w, const msf_round &r, u32 round) {
  msf_hot_source from = {r.first_page, r.pages, r.groups, r.width, r.count_out, NULL, NULL};
  if (blockIdx.x == gridDim.x - 1)
    msf_find_hot(w, r.list, from, round + 1);
}

/* Every component's best edge is known: it is taken, and the next round's components are known.
 * `flat`: parents are asked for beyond that. */
template <typename K>
__device__ __forceinline__ void msf_merge(const msf_work &w, msf_round &r, u32 round, u32 edges,
                                          bool flat) {
  int rank_bits = sizeof(K) == 4 ? 32 : r.rank_bits;
  bool large = r.components > MSF_SMALL;
  if (!large) /* few parents are flattened by each block for itself */
    msf_look_for_hot(w, r, round);
  for (u32 base = msf_spread_warp() * 32 * MSF_STEP; base < r.components;
       base += msf_warps() * 32 * MSF_STEP)
    msf_hook_components(w, r, round, rank_bits, base);
  dzo_grid_sync();
  if (large && (flat || dzo_load_shared(&r.list->components[round + 1]) > 1)) {
    msf_look_for_hot(w, r, round);
    msf_flatten(r.parent, r.components);
    dzo_grid_sync();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    msf_next_round(w, &r, round, edges);
  __syncthreads();
}

/* Rounds on one list until no edge is left between two components. `wanted`: so are their final
 * numbers. */
template <typename K, bool REST>
__device__ __forceinline__ void msf_rounds(const msf_work &w, msf_round &r, u64 *s_best, u32 *s_map,
                                           u32 *s_tail, bool wanted) {
  bool lazy = REST || !msf_has_key(r, sizeof(K) == 8);
  u32 round = 0;
  for (;; round++) {
    bool last = round != 0 && r.components <= 1;
    if (msf_maps_shared(r) && (wanted || !last)) {
      msf_load_map(r, s_map);
      msf_extend_tail(r, round, s_map, s_tail);
    }
    if (last)
      break;
    if (!REST && !lazy && round != 0 && r.components <= MSF_PAIRED) {
      msf_collect_pairs<K>(w, r, round, s_best, s_map);
      dzo_grid_sync();
      msf_settle<K>(w, r, s_map);
      round++;
      if (wanted)
        msf_extend_tail(r, round, s_map, s_tail);
      break;
    }
    if (lazy)
      msf_collect<K, true>(w, r, round, s_best, s_map);
    else
      msf_collect<K, false>(w, r, round, s_best, s_map);
    dzo_grid_sync();
    u32 edges = dzo_load_shared(&r.list->edges[round]);
    if (edges == 0)
      break;
    u32 ties = lazy ? dzo_load_shared(&r.list->tied[round]) : 0;
    if (ties != 0)
      msf_resolve<K>(w, r, ties);
    msf_merge<K>(w, r, round, edges, wanted);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    r.round = round;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    r.list->rounds = round;
    r.list->left = dzo_load_shared(&r.list->finished) + r.components;
  }
  __syncthreads();
}

/* After the last round on a list, all threads of a block. */
__device__ __forceinline__ msf_finals msf_finals_of(const msf_work &w, const msf_round &r,
                                                    int which, u32 *s_sizes, const u32 *s_tail) {
  u32 finished = dzo_load_shared(&r.list->finished);
  if (threadIdx.x <= MSF_ROUNDS)
    s_sizes[threadIdx.x] = dzo_load_shared(&r.list->components[threadIdx.x]);
  __syncthreads();
  msf_finals f = {w.parent[which],
                  s_sizes,
                  s_tail,
                  r.tail == 0 ? r.round : r.tail_round,
                  r.tail == 0,
                  finished,
                  finished + r.components};
  return f;
}

/* Parents of the first round become final numbers. */
__device__ __forceinline__ void msf_compose(const msf_finals &f, u32 *parent) {
  u32 thread = msf_other_thread(), threads = msf_other_threads();
  for (u32 c = thread; c < f.sizes[0]; c += threads)
    dzo_store_shared(&parent[c], MSF_ROOT | MSF_FINAL | msf_final_of(f, c));
}

/* And those after the lightest edges become those after all light edges; no longer MSF_FINAL, so
 * that it is seen which they are. */
__device__ __forceinline__ void msf_compose_both(const msf_finals *f, u32 *parent) {
  u32 thread = msf_other_thread(), threads = msf_other_threads();
  for (u32 c = thread; c < f[MSF_LIGHTEST].sizes[0]; c += threads)
    dzo_store_shared(&parent[c],
                     MSF_ROOT | msf_final_of(f[MSF_LIGHT], dzo_load_shared(&parent[c]) & MSF_ID));
}

/* The other light edges come after the lightest. */
__device__ __forceinline__ void msf_go_on(const msf_work &w, const msf_finals *finals,
                                          u32 first_page, u32 pages) {
  msf_list_state *list = &w.control->list[MSF_LIGHT];
  const msf_finals &lightest = finals[MSF_LIGHTEST];
  if (blockIdx.x == 0)
    msf_find_hot(w, list, msf_whole_part(first_page, pages, w.label, &lightest), 0);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    list->components[0] = lightest.left;
  msf_compose(lightest, w.parent[MSF_LIGHTEST]);
  msf_clear(w, w.parent[MSF_LIGHT], lightest.left);
  dzo_grid_sync();
}

/* After the light edges: final numbers, counters of members for those who group vertices, and what
 * is next. */
__device__ __forceinline__ void msf_after_light(const msf_work &w, const msf_finals *finals,
                                                bool second) {
  u32 left = finals[second ? MSF_LIGHT : MSF_LIGHTEST].left;
  if (blockIdx.x == 0)
    msf_choose_scan(w, finals, second);
  if (second)
    msf_compose_both(finals, w.parent[MSF_LIGHTEST]);
  else
    msf_compose(finals[MSF_LIGHTEST], w.parent[MSF_LIGHTEST]);
  for (u32 c = blockIdx.x * blockDim.x + threadIdx.x; c < left; c += gridDim.x * blockDim.x)
    w.member_count[c] = 0;
}

/* The rounds on the light edges, the lightest first, or on the rest. `compose`: components are
 * asked for. */
template <typename K, bool REST>
__device__ __forceinline__ void msf_all_rounds(const msf_work &w, bool compose) {
  __shared__ u64 s_best[MSF_SMALL];
  __shared__ u32 s_sizes[2][MSF_ROUNDS + 1];
  __shared__ u32 s_map[MSF_SMALL], s_tail[MSF_SMALL];
  __shared__ msf_round s_round;
  const msf_control *control = w.control;
  if (REST && msf_is_done(w))
    return;
  int which = REST ? MSF_REST : MSF_LIGHTEST;
  u32 pages = REST ? min(control->list[MSF_REST].physical, w.capacity) : msf_first_pages(w);
  u32 all = control->part_pages[0] + control->part_pages[1] + control->part_pages[2];
  bool second = !REST && pages < all;
  if (REST && control->list[MSF_REST].overflow)
    pages = 0;
  compose = compose || control->list[MSF_LIGHTEST].overflow;
  msf_finals finals[2];
  u32 page = 0, components = control->list[which].components[0];
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0)
      s_round = msf_begin<K>(w, which, page, pages, components);
    __syncthreads();
    bool go_on = which == MSF_LIGHTEST && second;
    msf_rounds<K, REST>(w, s_round, s_best, s_map, s_tail, compose || go_on);
    if (!compose && !go_on)
      return;
    int at = which == MSF_LIGHT ? 1 : 0;
    finals[at] = msf_finals_of(w, s_round, which, s_sizes[at], s_tail);
    if (!go_on)
      break;
    page = pages;
    pages = all - pages;
    components = finals[0].left;
    msf_go_on(w, finals, page, pages);
    which = MSF_LIGHT;
  }
  if (REST)
    msf_compose(finals[0], w.parent[MSF_REST]);
  else
    msf_after_light(w, finals, second);
}

template <typename K, bool REST>
__global__ void __launch_bounds__(MSF_ROUND_THREADS, 2) msf_k_boruvka(msf_work w, bool compose) {
  dzo_after_previous();
  msf_all_rounds<K, REST>(w, compose);
  msf_report(w);
}

#endif
