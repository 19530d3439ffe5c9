/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/cuda.h"
#include "knapsack/dense_pass.h"

typedef uint32_t u32;

enum { LANES = DENSE_PASS_LANES, THREADS = DENSE_PASS_WARPS * LANES };

/* A thread's cells of a row: weights at, at + 32, ...; those that the level has. */
template <int C>
static __device__ __forceinline__ void load_row(const dense_pass &p, const int32_t *in, int32_t at,
                                                int32_t *cell) {
  if (at >= 0 && at + (C - 1) * LANES < (int32_t)p.in_count) {
#pragma unroll
    for (int c = 0; c < C; c++)
      cell[c] = in[at + c * LANES];
    return;
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    u32 x = (u32)(at + c * LANES);
    cell[c] = x < p.in_count ? in[x] : DENSE_NONE;
  }
}

/* The same for writing; only columns begin .. end - 1. */
template <int C>
static __device__ __forceinline__ void store_row(const dense_pass &p, int32_t *out, int32_t at,
                                                 const int32_t *cell, int32_t column, int32_t begin,
                                                 int32_t end) {
  const int32_t first = at - (int32_t)p.out_first, beyond = (C - 1) * LANES;
  if (column >= begin && column + beyond < end && first >= 0 &&
      first + beyond < (int32_t)p.out_count) {
#pragma unroll
    for (int c = 0; c < C; c++)
      out[first + c * LANES] = max(cell[c] + p.add, DENSE_NONE);
    return;
  }
#pragma unroll
  for (int c = 0; c < C; c++) {
    u32 x = (u32)(first + c * LANES);
    int32_t here = column + c * LANES;
    if (here >= begin && here < end && x < p.out_count)
      out[x] = max(cell[c] + p.add, DENSE_NONE);
  }
}

/* One row of all levels. before, now: this thread's cells of the first kept row, `size` cells
 * before those of the next level. Returns the decisions. */
template <int K, int C>
static __device__ __forceinline__ u32 step_row(const dense_pass &p, const int32_t *before,
                                               int32_t *now, int32_t size, int32_t *cell) {
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < K; i++) {
    const int32_t *from = before + i * size - (int32_t)p.shift[i];
    int32_t with[C];
#pragma unroll
    for (int c = 0; c < C; c++)
      with[c] = from[c * LANES];
#pragma unroll
    for (int c = 0; c < C; c++) {
      with[c] += p.value[i];
      now[i * size + c * LANES] = cell[c];
      if (with[c] > cell[c])
        word |= 1u << (i * C + c);
      cell[c] = __vimax3_s32(cell[c], with[c], DENSE_NONE);
    }
  }
  return word;
}

template <int K>
static __global__ void __launch_bounds__(THREADS)
    dense_pass_kernel(dense_pass p, const int32_t *in, int32_t *out, u32 *bits) {
  enum { C = DENSE_PASS_BITS / K };
  DZO_BLOCK_MEMORY(int32_t, kept);
  const int32_t lane = (int32_t)(threadIdx.x % LANES), warp = (int32_t)(threadIdx.x / LANES);
  const u32 tile = blockIdx.x % p.tiles;
  const int32_t stride = (int32_t)p.stride, size = (int32_t)p.pad + THREADS * C;
  const int32_t first = (int32_t)(blockIdx.x / p.tiles * p.rows_each);
  const int32_t last = min(first + (int32_t)p.rows_each, (int32_t)p.rows);
  const int32_t begin = (int32_t)(tile * p.tile), end = min(begin + (int32_t)p.tile, stride);
  const int32_t position = warp * LANES * C + lane, column = begin - (int32_t)p.halo + position;
  const bool works = column - lane < end;
  const bool decides = bits != NULL && works && warp >= (int32_t)p.chunk_first;
  int32_t row = first > K ? first - K : 0, cell[C], ahead[C];
  int32_t *above = kept + (row & 1) * K * size, *other = kept + (~row & 1) * K * size;
  for (int32_t i = (int32_t)threadIdx.x; i < K * size; i += THREADS)
    above[i] = DENSE_NONE;
  for (int32_t i = (int32_t)threadIdx.x; i < (int32_t)p.pad; i += THREADS)
    for (int k = 0; k < K; k++)
      other[k * size + i] = DENSE_NONE;
  load_row<C>(p, in, row * stride + column, ahead);
  __syncthreads();
  for (; row < last; row++) {
    const int32_t at = row * stride + column;
    int32_t *mine = kept + (int32_t)p.pad + position;
    if (works) {
#pragma unroll
      for (int c = 0; c < C; c++)
        cell[c] = ahead[c];
      load_row<C>(p, in, at + stride, ahead);
      u32 word =
          step_row<K, C>(p, mine + (row & 1) * K * size, mine + (~row & 1) * K * size, size, cell);
      if (row >= first) {
        store_row<C>(p, out, at, cell, column, begin, end);
        if (decides)
          bits[(((uint64_t)row * p.tiles + tile) * p.chunks + (u32)warp - p.chunk_first) * LANES +
               (u32)lane] = word;
      }
    }
    __syncthreads();
  }
}

template <int K>
static dzo_status launch(dzo_unit *unit, int queue, const dense_pass *p, const int32_t *in,
                         int32_t *out, u32 *bits) {
  const u32 parts = (p->rows + p->rows_each - 1) / p->rows_each;
  return DZO_LAUNCH_SHARED(unit, queue, dense_pass_kernel<K>, p->tiles * parts, THREADS,
                           2 * K * (p->pad + THREADS * (DENSE_PASS_BITS / K)) * sizeof(int32_t), *p,
                           in, out, bits);
}

dzo_status dense_pass_run(dzo_unit *unit, int queue, const dense_pass *pass, const int32_t *in,
                          int32_t *out, uint32_t *bits) {
  if (pass->items == DENSE_PASS_ITEMS)
    return launch<DENSE_PASS_ITEMS>(unit, queue, pass, in, out, bits);
  if (pass->items == DENSE_PASS_ITEMS / 2)
    return launch<DENSE_PASS_ITEMS / 2>(unit, queue, pass, in, out, bits);
  return launch<DENSE_PASS_ITEMS / 4>(unit, queue, pass, in, out, bits);
}

/* By one thread: each decision leads to where the next one is. */
static __global__ void dense_pass_follow_kernel(dense_pass p, const u32 *bits, int64_t *weight,
                                                uint8_t *chosen) {
  int64_t x = *weight - p.low;
  for (u32 i = p.items; i-- > 0;) {
    uint64_t bit = dense_pass_bit(&p, i, (u32)max(x, (int64_t)0));
    chosen[i] = bits[bit / DENSE_PASS_BITS] >> (bit % DENSE_PASS_BITS) & 1;
    x -= chosen[i] ? (int64_t)p.stride + p.shift[i] : 0;
  }
  *weight = x + p.low;
}

dzo_status dense_pass_follow(dzo_unit *unit, int queue, const dense_pass *pass,
                             const uint32_t *bits, int64_t *weight, uint8_t *chosen) {
  return DZO_LAUNCH(unit, queue, dense_pass_follow_kernel, 1, 1, *pass, bits, weight, chosen);
}
