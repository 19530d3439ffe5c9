/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a part has of the tiles, and of the hot keys. */
#ifndef DZO_TABLE_GPU_AGGREGATE_RUNS_CUH
#define DZO_TABLE_GPU_AGGREGATE_RUNS_CUH

#include "table/gpu_aggregate.cuh"

/* Slots of hot keys that may be of a part. */
struct aggregate_hot_range {
  uint32_t begin, end;
};

template <typename Word>
static __device__ __forceinline__ aggregate_hot_range
aggregate_hot_of(const aggregate_state<Word> &s, uint32_t part) {
  uint32_t first = (uint32_t)(((uint64_t)part << s.hot_bits) / s.parts);
  uint32_t last = (uint32_t)(((uint64_t)(part + 1) << s.hot_bits) / s.parts);
  last = min(last, (1u << s.hot_bits) - 1);
  return {first * AGGREGATE_HOT_SLOTS, (last + 1) * AGGREGATE_HOT_SLOTS};
}

/* Is there a key in the slot, and one of this part? */
template <typename Word>
static __device__ __forceinline__ bool aggregate_hot_is_of(const aggregate_state<Word> &s,
                                                           uint32_t slot, uint32_t part) {
  Word key = s.hot_keys[slot];
  return aggregate_top(key, s.hot_bits) == slot / AGGREGATE_HOT_SLOTS &&
         aggregate_part(key, s.parts) == part;
}

/* The part's run in a tile. */
struct aggregate_run {
  uint32_t begin, length;
};

template <typename Word>
static __device__ __forceinline__ aggregate_run aggregate_run_of(const aggregate_state<Word> &s,
                                                                 uint32_t tile, uint32_t part) {
  aggregate_run run = {0, 0};
  if (tile < s.tiles) {
    const uint16_t *index = s.index + (uint64_t)tile * (s.parts + 1) + part;
    run.begin = __ldg(index);
    run.length = __ldg(index + 1) - run.begin;
  }
  run.begin += tile * s.tile;
  return run;
}

/* Runs of a warp's lanes as one sequence of records: those that are not empty, one behind another.
 */
struct aggregate_sequence {
  uint32_t *begin; /* [32] in shared memory: + place in the sequence = place in memory */
  uint32_t end;    /* of the lane's own run, in the sequence; 0: empty */
  uint32_t total;
};

static __device__ __forceinline__ aggregate_sequence aggregate_join(uint32_t *begins,
                                                                    aggregate_run run) {
  aggregate_sequence q = {begins, run.length, 0};
  for (unsigned step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(DZO_WARP_ALL, q.end, step);
    q.end += dzo_lane() >= step ? other : 0;
  }
  q.total = __shfl_sync(DZO_WARP_ALL, q.end, 31);
  unsigned lanes = __ballot_sync(DZO_WARP_ALL, run.length > 0);
  if (run.length > 0)
    begins[__popc(lanes & dzo_lanes_below())] = run.begin - (q.end - run.length);
  else
    q.end = 0;
  __syncwarp();
  return q;
}

/* Where the lane's record of those from `first` on lies; *before: runs that end before `first`. */
static __device__ __forceinline__ uint32_t aggregate_locate(const aggregate_sequence &q,
                                                            uint32_t first, uint32_t *before) {
  uint32_t ahead = q.end - first; /* wraps where the run ends before */
  unsigned ends = __reduce_or_sync(DZO_WARP_ALL, q.end != 0 && ahead < 32 ? 1u << ahead : 0u);
  uint32_t run = *before + (uint32_t)__popc(ends & (dzo_lanes_below() << 1 | 1u));
  *before += (uint32_t)__popc(ends);
  uint32_t i = first + dzo_lane();
  return i < q.total ? q.begin[run] + i : 0;
}

#endif
