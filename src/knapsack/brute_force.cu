/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/brute_force.h"

#include "device/cuda.h"

typedef unsigned long long u64;

/* SETS: high sets that a thread has at a time, so that a low pair is loaded once for all. */
enum { THREADS = 256, SIDE = BRUTE_GPU_SIDE, SETS = 1 << SIDE, TILE_BYTES = 32768, UNROLLED = 4 };

/* 16 bytes of the tile, and a low set against all rooms of a thread. */
template <typename Pair> struct brute_tile;

/* Where a set does not fit, the difference lends its sign to the value: three instructions for a
 * subset, of which the additions do not compete with the others. */
template <> struct brute_tile<brute_gpu_short> {
  typedef int32_t sum;
  typedef int4 vector;
  enum { PAIRS = 2 };
  static __device__ __forceinline__ int32_t worth(int32_t room, int32_t weight, int32_t value) {
    return ((room - weight) & INT32_MIN) | value;
  }
  static __device__ __forceinline__ void offer(int4 x, const int32_t *room, int32_t *best) {
#pragma unroll
    for (int i = 0; i < SETS; i++)
      best[i] = __vimax3_s32(best[i], worth(room[i], x.x, x.y), worth(room[i], x.z, x.w));
  }
};
template <> struct brute_tile<brute_gpu_long> {
  typedef long long sum;
  typedef longlong2 vector;
  enum { PAIRS = 1 };
  static __device__ __forceinline__ void offer(longlong2 x, const long long *room,
                                               long long *best) {
#pragma unroll
    for (int i = 0; i < SETS; i++)
      if (x.x <= room[i] && x.y > best[i])
        best[i] = x.y;
  }
};

static __device__ __forceinline__ void keep_better(brute_best *a, brute_best b) {
  if (b.value > a->value)
    *a = b;
}

/* The best of the block's threads, in the first. */
static __device__ brute_best best_of_block(brute_best mine) {
  __shared__ brute_best warps[THREADS / 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    brute_best other;
    other.value = __shfl_xor_sync(DZO_WARP_ALL, (long long)mine.value, distance);
    other.high = __shfl_xor_sync(DZO_WARP_ALL, (u64)mine.high, distance);
    keep_better(&mine, other);
  }
  if (dzo_lane() == 0)
    warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned i = 1; i < THREADS / 32; i++)
      keep_better(&mine, warps[i]);
  return mine;
}

/* Nothing between -1 and all low items makes a difference. */
template <typename Sum>
static __device__ __forceinline__ Sum clamp_room(long long room, long long most) {
  return (Sum)(room < 0 ? -1 : room < most ? room : most);
}

/* What the sets of the first SIDE high items, beside those of `group`, leave room for. */
template <typename Sum>
static __device__ __forceinline__ void make_rooms(const brute_gpu_long *items, unsigned high,
                                                  u64 group, long long capacity, long long most,
                                                  Sum *room, long long *value) {
  long long left = capacity, sum = 0;
  for (unsigned i = SIDE; i < high; i++)
    if (group >> (i - SIDE) & 1) {
      left -= items[i].weight;
      sum += items[i].value;
    }
#pragma unroll
  for (int set = 0; set < SETS; set++) {
    long long rest = left;
    value[set] = sum;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
      if (set >> i & 1) {
        rest -= items[i].weight;
        value[set] += items[i].value;
      }
    room[set] = clamp_room<Sum>(rest, most);
  }
}

template <typename Pair>
static __global__ void __launch_bounds__(THREADS)
    brute_compare(const Pair *__restrict__ low_sums, const brute_gpu_long *__restrict__ items,
                  unsigned low, unsigned high, int64_t capacity, u64 begin, u64 end,
                  brute_best *out) {
  typedef typename brute_tile<Pair>::sum sum;
  typedef typename brute_tile<Pair>::vector vector;
  __shared__ vector tile[TILE_BYTES / sizeof(vector)];
  __shared__ brute_gpu_long own[BRUTE_ITEMS];
  const unsigned vectors = (1u << low) / brute_tile<Pair>::PAIRS;
  for (unsigned i = threadIdx.x; i < vectors; i += THREADS)
    tile[i] = ((const vector *)low_sums)[i];
  for (unsigned i = threadIdx.x; i < high; i += THREADS)
    own[i] = items[i];
  __syncthreads();
  const long long most = ((const Pair *)tile)[(1u << low) - 1].weight;
  brute_best mine = {-1, 0};
  for (u64 group = begin + (u64)blockIdx.x * THREADS + threadIdx.x; group < end;
       group += (u64)gridDim.x * THREADS) {
    sum room[SETS], best[SETS];
    long long value[SETS];
    make_rooms(own, high, group, capacity, most, room, value);
#pragma unroll
    for (int i = 0; i < SETS; i++)
      best[i] = -1;
    for (unsigned i = 0; i < vectors; i += UNROLLED) {
#pragma unroll
      for (int j = 0; j < UNROLLED; j++)
        brute_tile<Pair>::offer(tile[i + j], room, best);
    }
#pragma unroll
    for (int i = 0; i < SETS; i++)
      if (best[i] >= 0)
        keep_better(&mine, brute_best{(int64_t)best[i] + value[i], group << SIDE | (unsigned)i});
  }
  mine = best_of_block(mine);
  if (threadIdx.x == 0)
    out[blockIdx.x] = mine;
}

extern "C" unsigned brute_gpu_blocks(dzo_unit *unit, bool is_short) {
  if (is_short)
    return DZO_RESIDENT_BLOCKS(unit, brute_compare<brute_gpu_short>, THREADS);
  return DZO_RESIDENT_BLOCKS(unit, brute_compare<brute_gpu_long>, THREADS);
}

extern "C" dzo_status brute_gpu_run(dzo_unit *unit, const brute_gpu *job, uint64_t begin,
                                    uint64_t end) {
  if (job->is_short)
    return DZO_LAUNCH(unit, 0, brute_compare<brute_gpu_short>, job->blocks, THREADS,
                      (const brute_gpu_short *)job->low_sums, job->items, job->low, job->high,
                      job->capacity, begin, end, job->best);
  return DZO_LAUNCH(unit, 0, brute_compare<brute_gpu_long>, job->blocks, THREADS,
                    (const brute_gpu_long *)job->low_sums, job->items, job->low, job->high,
                    job->capacity, begin, end, job->best);
}
