/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which items of a batch belong to which region. */
#include "table/gpu_region.cuh"

enum { THREADS = 128 };

template <typename W, bool PAIRS> struct key_at {
  static __device__ W of(const void *items, u32 i) { return ((const W *)items)[i]; }
};
template <typename W> struct key_at<W, true> {
  static __device__ W of(const void *items, u32 i) { return ((const table_pair<W> *)items)[i].key; }
};

template <typename W, bool PAIRS>
static __device__ u32 first_of(const table_layout &t, const table_batch_run &run, u64 region) {
  u32 begin = 0, end = run.count;
  if (run.starts != NULL)
    return region < t.regions ? run.starts[region * run.stride] : end;
  while (begin < end) {
    u32 middle = begin + (end - begin) / 2;
    if (table_place_of(key_at<W, PAIRS>::of(run.items, middle), t.regions).region < region)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* A thread a region, by search; each warp's last lane serves only as the end of the one before. */
template <typename W, bool PAIRS>
static __global__ void __launch_bounds__(THREADS)
    table_bounds(table_layout t, table_batch_run run) {
  u32 lane = dzo_lane();
  u64 region = (blockIdx.x * (u64)THREADS + threadIdx.x) / 32 * 31 + lane;
  u32 begin = region <= t.regions ? first_of<W, PAIRS>(t, run, region) : run.count;
  u32 end = __shfl_down_sync(DZO_WARP_ALL, begin, 1);
  bool own = lane < 31 && region < t.regions;
  if (own)
    run.begin[region] = begin;
  if (region == t.regions)
    run.begin[region] = run.count;
  bool touched = own && begin < end;
  u32 votes = __ballot_sync(DZO_WARP_ALL, touched), place = 0;
  if (lane == 0 && votes != 0)
    place = (u32)atomicAdd((u64 *)&run.counters->touched, (u64)__popc(votes));
  place = __shfl_sync(DZO_WARP_ALL, place, 0);
  if (touched)
    run.list[place + (u32)__popc(votes & dzo_lanes_below())] = (u32)region;
}

template <typename W, bool PAIRS>
static dzo_status bounds(dzo_unit *unit, const table_layout *t, const table_batch_run *run) {
  u64 warps = (t->regions + 1 + 30) / 31;
  return DZO_LAUNCH(unit, 0, (table_bounds<W, PAIRS>), (warps * 32 + THREADS - 1) / THREADS,
                    THREADS, *t, *run);
}

dzo_status table_region_bounds(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                               const table_batch_run *run) {
  if (wide)
    return pairs ? bounds<u64, true>(unit, t, run) : bounds<u64, false>(unit, t, run);
  return pairs ? bounds<u32, true>(unit, t, run) : bounds<u32, false>(unit, t, run);
}
