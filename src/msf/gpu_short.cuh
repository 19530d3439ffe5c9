/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The extraction where all edges are taken at once, of which there are few a vertex: a lane goes
 * through a row of its own. */
#ifndef DZO_MSF_GPU_SHORT_CUH
#define DZO_MSF_GPU_SHORT_CUH

#include "msf/gpu_extract.cuh"
#include "msf/gpu_round.cuh"

enum {
  MSF_FEW_ARCS = 4,    /* of a row, kept in registers */
  MSF_LONGER_THAN = 48 /* rows of more arcs are gone through by the warp */
};

/* 32 rows, one a lane. */
typedef struct msf_short_rows {
  u32 row;
  u64 here, there; /* its arcs in the supertile */
  bool is_long;
  u32 longs; /* lanes whose rows are long */
} msf_short_rows;

/* What is known of a row: the first least arc, and how many arcs lead to larger vertices. */
template <typename K> struct msf_short_found {
  K key;
  u64 arc; /* NEVER if there is none but loops */
  u32 neighbour, upper;
};

/* The next few arcs of each lane's row, all loads on their way at once. */
template <typename K> struct msf_few {
  K key[MSF_FEW_ARCS];
  u32 neighbour[MSF_FEW_ARCS]; /* the row itself where there is no arc */
};

template <typename K>
__device__ __forceinline__ void msf_load_few(const msf_work &w, u32 row, u64 arc, u64 end,
                                             msf_few<K> *few) {
#pragma unroll
  for (u32 j = 0; j < MSF_FEW_ARCS; j++) {
    few->neighbour[j] = arc + j < end ? msf_neighbour_of<true>(w, arc + j) : row;
    few->key[j] = arc + j < end ? msf_key_at<K>(w, arc + j) : 0;
  }
}

template <typename K>
__device__ __forceinline__ void msf_see_few(u32 row, u64 arc, const msf_few<K> &few,
                                            msf_short_found<K> *found) {
#pragma unroll
  for (u32 j = 0; j < MSF_FEW_ARCS; j++) {
    u32 v = few.neighbour[j];
    found->upper += v > row;
    if (v != row && (found->arc == MSF_NEVER || few.key[j] < found->key)) {
      found->key = few.key[j];
      found->arc = arc + j;
      found->neighbour = v;
    }
  }
}

/* A long row by the warp; the lane whose it is keeps what is found. */
template <typename K>
__device__ __forceinline__ void msf_see_long(const msf_work &w, const msf_short_rows &rows, int of,
                                             msf_short_found<K> *found) {
  u32 row = __shfl_sync(DZO_WARP_ALL, rows.row, of), upper = 0;
  u64 here = __shfl_sync(DZO_WARP_ALL, rows.here, of);
  u64 there = __shfl_sync(DZO_WARP_ALL, rows.there, of);
  msf_least<K> least = {0, MSF_NEVER, 0};
  for (u64 arc = here + dzo_lane(); arc < there; arc += 32) {
    u32 v = msf_neighbour_of<true>(w, arc);
    K key = msf_key_at<K>(w, arc);
    upper += v > row;
    if (v != row)
      msf_offer_arc(&least, key, arc, v);
  }
  msf_least_of_warp(&least);
  upper = __shfl_sync(DZO_WARP_ALL, msf_warp_sum(upper), 31);
  if ((int)dzo_lane() == of)
    *found = {least.key, least.arc, least.neighbour, upper};
}

/* Each lane's entry, if it has one, at its place in the run. */
template <typename K>
__device__ __forceinline__ void msf_put_in_run(const msf_work &w, msf_pool *pool,
                                               const msf_run &run, bool edge, u32 place, u32 u,
                                               u32 v, K key, u64 arc) {
  msf_put(w, pool, edge ? msf_run_slot(w, run, place) : MSF_NONE, u, v, key, arc);
}

template <typename K>
__device__ __forceinline__ void msf_list_long(const msf_work &w, const msf_short_rows &rows, int of,
                                              u64 settled, u32 place, const msf_run &run,
                                              msf_pool *pool) {
  u32 row = __shfl_sync(DZO_WARP_ALL, rows.row, of);
  u64 here = __shfl_sync(DZO_WARP_ALL, rows.here, of);
  u64 there = __shfl_sync(DZO_WARP_ALL, rows.there, of);
  settled = __shfl_sync(DZO_WARP_ALL, settled, of);
  place = __shfl_sync(DZO_WARP_ALL, place, of);
  for (u64 base = here; base < there; base += 32) {
    u64 arc = base + dzo_lane();
    u32 v = arc < there ? msf_neighbour_of<true>(w, arc) : row;
    bool edge = v > row && arc != settled;
    K key = edge ? msf_key_at<K>(w, arc) : 0;
    u32 mask = __ballot_sync(DZO_WARP_ALL, edge);
    msf_put_in_run(w, pool, run, edge, place + (u32)__popc(mask & dzo_lanes_below()), row, v, key,
                   arc);
    place += (u32)__popc(mask);
  }
}

/* The edges u - v, u < v, of 32 rows, but for the arcs `settled`. */
template <typename K>
__device__ __forceinline__ void msf_list_short(const msf_work &w, const msf_short_rows &rows,
                                               msf_few<K> *few, u64 settled, u32 place,
                                               const msf_run &run, msf_pool *pool) {
  for (u64 arc = rows.here; !rows.is_long && arc < rows.there; arc += MSF_FEW_ARCS) {
    if (arc != rows.here)
      msf_load_few(w, rows.row, arc, rows.there, few);
#pragma unroll
    for (u32 j = 0; j < MSF_FEW_ARCS; j++) {
      bool edge = few->neighbour[j] > rows.row && arc + j != settled;
      msf_put_in_run(w, pool, run, edge, place, rows.row, few->neighbour[j], few->key[j], arc + j);
      place += edge;
    }
  }
  __syncwarp();
}

/* 32 rows: what each vertex picks, then the edges to larger vertices. */
template <typename K>
__device__ __forceinline__ void msf_extract_short_rows(const msf_work &w, const msf_super &s,
                                                       const msf_short_rows &rows, msf_pool *pool,
                                                       msf_writer *writer) {
  msf_short_found<K> found = {0, MSF_NEVER, MSF_NONE, 0};
  msf_few<K> few, more;
  msf_load_few(w, rows.row, rows.here, rows.is_long ? rows.here : rows.there, &few);
  msf_see_few(rows.row, rows.here, few, &found);
  for (u64 arc = rows.here + MSF_FEW_ARCS; !rows.is_long && arc < rows.there; arc += MSF_FEW_ARCS) {
    msf_load_few(w, rows.row, arc, rows.there, &more);
    msf_see_few(rows.row, arc, more, &found);
  }
  __syncwarp();
  for (u32 todo = rows.longs; todo != 0; todo &= todo - 1)
    msf_see_long(w, rows, __ffs((int)todo) - 1, &found);
  u64 settled = MSF_NEVER; /* what a vertex picks is known to be merged */
  if (found.arc != MSF_NEVER) {
    msf_pick(w, s, rows.row, found.neighbour, found.key, found.arc);
    if (rows.row != s.first && rows.row != s.last && found.neighbour > rows.row) {
      settled = found.arc;
      found.upper--;
    }
  }
  u32 through = msf_warp_sum(found.upper), total = __shfl_sync(DZO_WARP_ALL, through, 31);
  u32 place = through - found.upper;
  msf_run run = msf_take_run(w, pool, writer, s.id, total);
  msf_list_short(w, rows, &few, settled, place, run, pool);
  for (u32 todo = rows.longs; todo != 0; todo &= todo - 1)
    msf_list_long<K>(w, rows, __ffs((int)todo) - 1, settled, place, run, pool);
}

template <typename K>
__device__ __forceinline__ void msf_extract_short(const msf_work &w, const msf_super &s, u32 base,
                                                  u32 last, msf_pool *pool, msf_writer *writer) {
  u32 lane = dzo_lane();
  u64 from = msf_offset(w, min(base + lane, w.n)), to = msf_offset(w, min(base + lane + 1, w.n));
  for (; base <= last; base += 32) {
    msf_short_rows rows;
    bool any = base + lane < w.n && from < to && from < s.end && to > s.begin;
    rows.row = base + lane;
    rows.here = any ? max(from, s.begin) : 0;
    rows.there = any ? min(to, s.end) : 0;
    rows.is_long = rows.there - rows.here > MSF_LONGER_THAN;
    rows.longs = __ballot_sync(DZO_WARP_ALL, rows.is_long);
    if (!__any_sync(DZO_WARP_ALL, any)) { /* many empty rows: the next that is not */
      u64 arc = __shfl_sync(DZO_WARP_ALL, from, 31);
      base = arc < w.arcs ? msf_row_of(w, arc) - 32 : last;
    }
    from = msf_offset(w, min(base + 32 + lane, w.n)); /* travels meanwhile */
    to = msf_offset(w, min(base + 33 + lane, w.n));
    if (__any_sync(DZO_WARP_ALL, any))
      msf_extract_short_rows<K>(w, s, rows, pool, writer);
  }
}

template <typename K>
__global__ void __launch_bounds__(MSF_THREADS, 4) msf_k_extract_short(msf_work w) {
  dzo_after_previous();
  __shared__ msf_bound s_bounds[MSF_PARTS];
  msf_light_writer writer = msf_light_writer_new(w, s_bounds);
  __shared__ msf_key_marks s_marks[msf_marks_room<K, MSF_WARPS>::COUNT];
  msf_pool pool = msf_pool_new<K>(s_marks);
  msf_super s;
  u32 row, after;
  while (msf_next_super(w, &s, &row, &after)) {
    msf_extract_short<K>(w, s, row, min(after, w.n - 1), &pool, &writer.to[0]);
    msf_close_super(w, &writer, s.id);
  }
  msf_close_pool<K>(w, &pool, false);
}

#endif
