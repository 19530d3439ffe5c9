/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Kernels with known answers, and some that break the rules. */
#include "kernels.h"

#include "device/cuda.h"

enum { WARPS_MOST = 32 };

static __device__ unsigned place() { return blockIdx.x * blockDim.x + threadIdx.x; }

/* Sum of the values of a block, by shuffles and shared memory, in out[block]. */
static __global__ void block_sums(const uint32_t *in, uint64_t count, uint64_t *out) {
  __shared__ uint64_t of_warp[WARPS_MOST];
  uint64_t x = place() < count ? __ldg(in + place()) : 0;
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_down_sync(DZO_WARP_ALL, x, (unsigned)step);
  if (dzo_lane() == 0)
    of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (unsigned w = 1; w < blockDim.x / 32; w++)
    x += of_warp[w];
  out[blockIdx.x] = x;
}

/* Positions of the odd numbers, gathered by ballots and one atomic a warp. */
static __global__ void gather_odd(const uint32_t *in, uint32_t count, uint32_t *out,
                                  uint32_t *found) {
  bool odd = place() < count && (in[place()] & 1) != 0;
  unsigned votes = __ballot_sync(DZO_WARP_ALL, odd), base = 0;
  if (dzo_lane() == 0 && votes != 0)
    base = atomicAdd(found, (unsigned)__popc(votes));
  base = __shfl_sync(DZO_WARP_ALL, base, 0);
  if (odd)
    out[base + (unsigned)__popc(votes & dzo_lanes_below())] = place();
}

/* What each collective gives, folded in one number a thread. */
static __global__ void collectives(uint64_t *out) {
  unsigned lane = dzo_lane();
  uint64_t r = __ballot_sync(DZO_WARP_ALL, lane % 3 == 0);
  r = r * 31 + (uint64_t)__any_sync(DZO_WARP_ALL, lane == 7) * 2 +
      (uint64_t)__any_sync(DZO_WARP_ALL, lane == 32);
  r = r * 31 + (uint64_t)__all_sync(DZO_WARP_ALL, lane < 32) * 2 +
      (uint64_t)__all_sync(DZO_WARP_ALL, lane != 9);
  r = r * 31 + __shfl_sync(DZO_WARP_ALL, lane * 5, (int)(lane + 3));
  r = r * 31 + __shfl_up_sync(DZO_WARP_ALL, lane * 5, 3);
  r = r * 31 + __shfl_down_sync(DZO_WARP_ALL, lane * 5, 3);
  r = r * 31 + __shfl_xor_sync(DZO_WARP_ALL, (uint64_t)lane << 40, 5);
  __syncwarp();
  r = r * 31 + (uint64_t)__syncthreads_count(threadIdx.x % 5 == 0);
  out[place()] = r;
}

/* Atomics on few words by many threads. */
static __global__ void atomics(uint32_t *small, unsigned long long *large) {
  uint32_t i = place();
  atomicAdd(&small[0], i);
  atomicMin(&small[1], i + 5);
  atomicMax(&small[2], i);
  atomicOr(&small[3], 1u << i % 32);
  atomicAnd(&small[4], ~(1u << i % 31));
  atomicAdd(&large[0], (unsigned long long)i << 20);
  atomicMin(&large[1], ((unsigned long long)i << 32) + 9);
  atomicMax(&large[2], (unsigned long long)i << 32);
  unsigned long long seen = dzo_load_shared(&large[3]);
  for (;;) {
    unsigned long long old = atomicCAS(&large[3], seen, seen + 3);
    if (old == seen)
      break;
    seen = old;
  }
}

/* Each round, each block adds what all blocks had in the round before. */
static __global__ void grid_rounds(uint64_t *sums, unsigned rounds) {
  for (unsigned r = 0; r < rounds; r++) {
    uint64_t all = 0;
    for (unsigned b = 0; b < gridDim.x; b++)
      all += sums[r % 2 * gridDim.x + b];
    dzo_grid_sync();
    if (threadIdx.x == 0)
      sums[(r + 1) % 2 * gridDim.x + blockIdx.x] = all + blockIdx.x;
    dzo_grid_sync();
  }
}

/* Wrong: half of the lanes do not come. */
static __global__ void divergent_ballot(uint32_t *out) {
  if (dzo_lane() < 16)
    out[place()] = __ballot_sync(DZO_WARP_ALL, 1);
}

/* Wrong: lanes meet in different collectives. */
static __global__ void different_collectives(uint32_t *out) {
  if (dzo_lane() < 16)
    out[place()] = __ballot_sync(DZO_WARP_ALL, 1);
  else
    out[place()] = __shfl_sync(DZO_WARP_ALL, place(), 3);
}

/* Wrong: a warp ends before the barrier. */
static __global__ void early_end(uint32_t *out) {
  if (threadIdx.x < 32)
    return;
  __syncthreads();
  out[place()] = 1;
}

/* Wrong: one block does not come to the grid's barrier. */
static __global__ void lonely_block(uint32_t *out) {
  if (blockIdx.x == 0)
    return;
  dzo_grid_sync();
  out[place()] = 1;
}

/* Wrong: no barrier between writing and reading; what it gives depends on the order. */
static __global__ void missing_barrier(uint32_t *out) {
  __shared__ uint32_t last;
  if (threadIdx.x == 0)
    last = 0;
  __syncthreads();
  last = last * 3 + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0)
    out[blockIdx.x] = last;
}

/* Wrong: reads shared memory that nobody wrote. */
static __global__ void unwritten_shared(uint32_t *out) {
  __shared__ uint32_t words[64];
  if (threadIdx.x % 2 == 0)
    words[threadIdx.x % 64] = 0;
  __syncthreads();
  out[place()] = words[threadIdx.x % 64];
}

/* As a lock by hand between threads of one block: needs that waiting threads let others run. */
static __global__ void take_turns(uint32_t *turn, uint32_t *out) {
  while (dzo_load_shared(turn) != threadIdx.x) {
  }
  out[threadIdx.x] = threadIdx.x * 2;
  dzo_store_shared(turn, threadIdx.x + 1);
}

/* A block's words backwards, through memory whose size the launch tells. */
static __global__ void turn_around(const uint32_t *in, uint32_t *out) {
  DZO_BLOCK_MEMORY(uint32_t, words);
  words[threadIdx.x] = in[place()];
  __syncthreads();
  out[place()] = words[blockDim.x - 1 - threadIdx.x];
}

/* Work of many threads with a few collectives each. */
static __global__ void busy(uint32_t *out) {
  uint32_t x = place();
  for (int i = 0; i < 3; i++) {
    x += __shfl_xor_sync(DZO_WARP_ALL, x, 1 << i);
    x ^= __ballot_sync(DZO_WARP_ALL, x & 1);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(out, x);
}

dzo_status kernels_sums(dzo_unit *unit, const uint32_t *in, uint64_t count, uint64_t *out,
                        unsigned blocks, unsigned threads) {
  return DZO_LAUNCH(unit, 0, block_sums, blocks, threads, in, count, out);
}
dzo_status kernels_gather(dzo_unit *unit, const uint32_t *in, uint32_t count, uint32_t *out,
                          uint32_t *found) {
  return DZO_LAUNCH(unit, 0, gather_odd, (count + 127) / 128, 128, in, count, out, found);
}
dzo_status kernels_collectives(dzo_unit *unit, uint64_t *out, unsigned blocks, unsigned threads) {
  return DZO_LAUNCH(unit, 0, collectives, blocks, threads, out);
}
dzo_status kernels_atomics(dzo_unit *unit, uint32_t *small, uint64_t *large, unsigned blocks) {
  return DZO_LAUNCH(unit, 0, atomics, blocks, 96, small, (unsigned long long *)large);
}
dzo_status kernels_rounds(dzo_unit *unit, uint64_t *sums, unsigned rounds, unsigned blocks) {
  return DZO_LAUNCH_TOGETHER(unit, 0, grid_rounds, blocks, 64, sums, rounds);
}
unsigned kernels_resident(dzo_unit *unit) { return DZO_RESIDENT_BLOCKS(unit, grid_rounds, 64); }
dzo_status kernels_turns(dzo_unit *unit, uint32_t *turn, uint32_t *out) {
  return DZO_LAUNCH(unit, 0, take_turns, 1, 50, turn, out);
}
dzo_status kernels_turn_around(dzo_unit *unit, const uint32_t *in, uint32_t *out, unsigned blocks,
                               unsigned threads) {
  return DZO_LAUNCH_SHARED(unit, 0, turn_around, blocks, threads, threads * sizeof *out, in, out);
}
dzo_status kernels_busy(dzo_unit *unit, uint32_t *out, unsigned blocks) {
  return DZO_LAUNCH(unit, 0, busy, blocks, 256, out);
}
dzo_status kernels_wrong(dzo_unit *unit, kernels_mistake mistake, uint32_t *out) {
  switch (mistake) {
  case DIVERGENT_BALLOT:
    return DZO_LAUNCH(unit, 0, divergent_ballot, 2, 64, out);
  case DIFFERENT_COLLECTIVES:
    return DZO_LAUNCH(unit, 0, different_collectives, 2, 64, out);
  case EARLY_END:
    return DZO_LAUNCH(unit, 0, early_end, 2, 64, out);
  case LONELY_BLOCK:
    return DZO_LAUNCH_TOGETHER(unit, 0, lonely_block, 2, 64, out);
  case MISSING_BARRIER:
    return DZO_LAUNCH(unit, 0, missing_barrier, 8, 64, out);
  case UNWRITTEN_SHARED:
    return DZO_LAUNCH(unit, 0, unwritten_shared, 2, 64, out);
  }
  return DZO_E_ARGUMENT;
}
