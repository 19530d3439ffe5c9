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
 * its lanes keep: the word of round k is lane k's. */
template <typename T>
static __device__ __forceinline__ u32 write_whole(const dense_segment &s, const T *in, T *out,
                                                  u64 begin) {
  u32 lane = threadIdx.x % LANES, word = 0;
  const T *stay = in + s.stay + (begin - s.out) + lane,
          *take = in + s.take + (begin - s.out) + lane;
  T stay_add = (T)s.stay_add, take_add = (T)s.take_add;
  out += begin + lane;
  for (int k = 0; k < PART / LANES; k += AHEAD) {
    T without[AHEAD], with[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; a++) {
      without[a] = stay[(k + a) * LANES];
      with[a] = take[(k + a) * LANES];
    }
#pragma unroll
    for (int a = 0; a < AHEAD; a++) {
      T x = without[a] + stay_add, y = with[a] + take_add;
      u32 taken = __ballot_sync(DZO_WARP_ALL, y > x);
      word = lane == (u32)(k + a) ? taken : word;
      out[(k + a) * LANES] = dense_none<T>::best(x, y);
    }
  }
  return word;
}

/* The same where some of the cells are another segment's, or one of the sources is missing. */
template <typename T>
static __device__ __forceinline__ u32 write_part(const dense_segment &s, const T *in, T *out,
                                                 u64 begin, u64 end) {
  u32 lane = threadIdx.x % LANES, word = 0;
  bool stays = s.stay != DENSE_NOWHERE, takes = s.take != DENSE_NOWHERE;
  T none = dense_none<T>::value();
  for (int k = 0; k < PART / LANES; k++) {
    u64 cell = begin + (u64)k * LANES + lane, i = cell - s.out;
    bool active = cell >= s.out && cell < end;
    T x = active && stays ? in[s.stay + i] + (T)s.stay_add : none;
    T y = active && takes ? in[s.take + i] + (T)s.take_add : none;
    u32 taken = __ballot_sync(DZO_WARP_ALL, active && takes && (!stays || y > x));
    word = lane == (u32)k ? taken : word;
    if (active)
      out[cell] = dense_none<T>::best(x, y);
  }
  return word;
}

/* Words of decisions that belong to two segments are put together by atomics. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) dense_step_kernel(dense_tiles t) {
  dense_segment s = t.segment[t.of_tile[blockIdx.x]];
  u64 end = s.out + s.count;
  u64 begin = s.out / DENSE_BITS * DENSE_BITS + (blockIdx.x - s.tile) * (u64)DENSE_TILE +
              threadIdx.x / LANES * PART;
  if (begin >= end)
    return;
  bool whole =
      s.stay != DENSE_NOWHERE && s.take != DENSE_NOWHERE && begin >= s.out && begin + PART <= end;
  u32 word = whole ? write_whole(s, (const T *)t.in, (T *)t.out, begin)
                   : write_part(s, (const T *)t.in, (T *)t.out, begin, end);
  u64 first = begin + threadIdx.x % LANES * (u64)DENSE_BITS;
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
