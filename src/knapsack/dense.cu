/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/cuda.h"
#include "knapsack/dense_tile.h"

typedef unsigned long long u64;
typedef uint32_t u32;

enum { THREADS = 256, LANES = 32, PART = DENSE_TILE / (THREADS / LANES), AHEAD = 8 };

template <typename T> struct dense_none;
template <> struct dense_none<int32_t> {
  static __device__ __forceinline__ int32_t value() { return DENSE_NONE; }
  static __device__ __forceinline__ int32_t best(int32_t a, int32_t b) {
    return __vimax3_s32(a, b, DENSE_NONE);
  }
};
template <> struct dense_none<int64_t> {
  static __device__ __forceinline__ int64_t value() { return DENSE_NONE_WIDE; }
  static __device__ __forceinline__ int64_t best(int64_t a, int64_t b) {
    a = a > b ? a : b;
    return a > DENSE_NONE_WIDE ? a : DENSE_NONE_WIDE;
  }
};

/* A warp writes PART cells, AHEAD rounds of loads in flight, and a word of decisions a round, which
 * its lanes keep and store together. Words that belong to two segments are put together by atomics.
 */
template <typename T>
static __global__ void __launch_bounds__(THREADS) dense_step_kernel(dense_tiles t) {
  dense_segment s = t.segment[t.of_tile[blockIdx.x]];
  const T *in = (const T *)t.in;
  T *out = (T *)t.out;
  u32 lane = threadIdx.x % LANES, word = 0;
  bool stays = s.stay != DENSE_NOWHERE, takes = s.take != DENSE_NOWHERE;
  T stay_add = (T)s.stay_add, take_add = (T)s.take_add, none = dense_none<T>::value();
  u64 begin = s.out / DENSE_BITS * DENSE_BITS + (blockIdx.x - s.tile) * (u64)DENSE_TILE +
              threadIdx.x / LANES * PART;
  u64 end = s.out + s.count;
  for (int k = 0; k < PART / LANES; k += AHEAD) {
    T without[AHEAD], with[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; a++) {
      u64 cell = begin + (u64)(k + a) * LANES + lane, i = cell - s.out;
      bool active = cell >= s.out && cell < end;
      without[a] = active && stays ? in[s.stay + i] + stay_add : none;
      with[a] = active && takes ? in[s.take + i] + take_add : none;
    }
#pragma unroll
    for (int a = 0; a < AHEAD; a++) {
      u64 cell = begin + (u64)(k + a) * LANES + lane;
      bool active = cell >= s.out && cell < end;
      u32 taken = __ballot_sync(DZO_WARP_ALL, active && takes && (!stays || with[a] > without[a]));
      word = lane == (u32)(k + a) ? taken : word;
      if (active)
        out[cell] = dense_none<T>::best(without[a], with[a]);
    }
  }
  u64 first = begin + lane * (u64)DENSE_BITS;
  if (t.bits == NULL || word == 0)
    return;
  if (first >= s.out && first + DENSE_BITS <= end)
    t.bits[first / DENSE_BITS] = word;
  else
    atomicOr(&t.bits[first / DENSE_BITS], word);
}

dzo_status dense_tiles_run(dzo_unit *unit, int queue, bool wide, const dense_tiles *tiles) {
  if (wide)
    return DZO_LAUNCH(unit, queue, dense_step_kernel<int64_t>, tiles->count, THREADS, *tiles);
  return DZO_LAUNCH(unit, queue, dense_step_kernel<int32_t>, tiles->count, THREADS, *tiles);
}
