/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 2 of aggregation: tiles of records, from which hot keys are taken out and summed up, and the
 * rest of which is put in order of its parts. */
#ifndef DZO_TABLE_GPU_AGGREGATE_TILE_CUH
#define DZO_TABLE_GPU_AGGREGATE_TILE_CUH

#include "table/gpu_aggregate.cuh"

enum { AGGREGATE_NOWHERE = -1, AGGREGATE_TAKEN = 0xffff };

/* A block's shared memory. */
template <typename Word> struct aggregate_tile {
  aggregate_pair<Word> *records; /* [tile] */
  Word *hot_keys, *hot_sums;     /* [hot slots] */
  uint32_t *hot_first;
  uint32_t *begin; /* [parts] */
  uint16_t *at;    /* [tile] where the first position is wanted */
};

template <typename Word>
static inline size_t aggregate_tile_bytes(const aggregate_state<Word> &s, bool first) {
  return (size_t)s.tile * (2 * sizeof(Word) + (first ? 2 : 0)) +
         ((size_t)AGGREGATE_HOT_SLOTS << s.hot_bits) * (2 * sizeof(Word) + (first ? 4 : 0)) +
         (size_t)s.parts * 4;
}

template <typename Word>
static __device__ __forceinline__ aggregate_tile<Word>
aggregate_tile_at(unsigned char *memory, const aggregate_state<Word> &s) {
  aggregate_tile<Word> t;
  t.records = (aggregate_pair<Word> *)memory;
  t.hot_keys = (Word *)(t.records + s.tile);
  t.hot_sums = t.hot_keys + aggregate_hot_slots(s);
  t.begin = (uint32_t *)(t.hot_sums + aggregate_hot_slots(s));
  t.hot_first = t.begin + s.parts;
  t.at = (uint16_t *)(t.hot_first + aggregate_hot_slots(s));
  return t;
}

/* The slot of a hot key, or AGGREGATE_NOWHERE. A bucket is 16 or 32 bytes, read at once. */
static __device__ __forceinline__ int aggregate_hot(const uint32_t *keys, uint32_t key,
                                                    unsigned bucket) {
  uint4 four = *(const uint4 *)(keys + bucket * AGGREGATE_HOT_SLOTS);
  int at = (int)(bucket * AGGREGATE_HOT_SLOTS);
  return four.x == key   ? at
         : four.y == key ? at + 1
         : four.z == key ? at + 2
         : four.w == key ? at + 3
                         : AGGREGATE_NOWHERE;
}

static __device__ __forceinline__ int aggregate_hot(const unsigned long long *keys,
                                                    unsigned long long key, unsigned bucket) {
  const ulonglong2 *two = (const ulonglong2 *)(keys + bucket * AGGREGATE_HOT_SLOTS);
  ulonglong2 a = two[0], b = two[1];
  int at = (int)(bucket * AGGREGATE_HOT_SLOTS);
  return a.x == key   ? at
         : a.y == key ? at + 1
         : b.x == key ? at + 2
         : b.y == key ? at + 3
                      : AGGREGATE_NOWHERE;
}

/* counts -> how many came before, of all parts; the sum to all. Two barriers. */
template <unsigned THREADS>
static __device__ __forceinline__ uint32_t aggregate_scan(uint32_t *counts, unsigned parts) {
  __shared__ uint32_t sums[32];
  unsigned each = (parts + THREADS - 1) / THREADS, first = threadIdx.x * each;
  uint32_t sum = 0;
  for (unsigned i = first; i < first + each && i < parts; i++)
    sum += counts[i];
  uint32_t before = sum;
  for (unsigned step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(DZO_WARP_ALL, before, step);
    before += dzo_lane() >= step ? other : 0;
  }
  if (dzo_lane() == 31)
    sums[threadIdx.x / 32] = before;
  __syncthreads();
  uint32_t warp = dzo_lane() < THREADS / 32 ? sums[dzo_lane()] : 0;
  for (unsigned step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(DZO_WARP_ALL, warp, step);
    warp += dzo_lane() >= step ? other : 0;
  }
  uint32_t total = __shfl_sync(DZO_WARP_ALL, warp, 31);
  uint32_t warps_before = __shfl_sync(DZO_WARP_ALL, warp, (int)((threadIdx.x / 32 + 31) % 32));
  before += (threadIdx.x < 32 ? 0 : warps_before) - sum;
  for (unsigned i = first; i < first + each && i < parts; i++) {
    uint32_t count = counts[i];
    counts[i] = before;
    before += count;
  }
  __syncthreads();
  return total;
}

/* A record is summed up if its key is hot: then AGGREGATE_TAKEN; else counted in its part: then its
 * rank there. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ uint32_t aggregate_sift(const aggregate_state<Word> &s,
                                                          const aggregate_tile<Word> &t, Word key,
                                                          Word value, uint32_t position) {
  int slot = aggregate_hot(t.hot_keys, key, aggregate_top(key, s.hot_bits));
  if (slot < 0)
    return atomicAdd(&t.begin[aggregate_part(key, s.parts)], 1u);
  aggregate_into_block(s.kind, &t.hot_sums[slot], value);
  if (FIRST)
    atomicMin(&t.hot_first[slot], position);
  return AGGREGATE_TAKEN;
}

/* A thread's records of a tile: those at THREADS * j + threadIdx.x. */
template <typename Word, unsigned THREADS, unsigned EACH> struct aggregate_own {
  Word key[EACH], value[EACH];
  uint32_t ranks[EACH / 2]; /* two in a word: registers are scarce */

  __device__ __forceinline__ uint32_t rank(unsigned j) const {
    return ranks[j / 2] >> (16 * (j & 1)) & 0xffff;
  }
  __device__ __forceinline__ void set_rank(unsigned j, uint32_t rank) {
    ranks[j / 2] = (j & 1) == 0 ? rank : ranks[j / 2] | rank << 16;
  }
};

/* WHOLE: the tile is. */
template <bool WHOLE, typename Word, unsigned THREADS, unsigned EACH>
static __device__ __forceinline__ void
aggregate_read_tile(const aggregate_state<Word> &s, uint32_t base, uint32_t count,
                    aggregate_own<Word, THREADS, EACH> *own) {
  const Word *keys = s.keys + base + threadIdx.x, *values = s.values + base + threadIdx.x;
#pragma unroll
  for (unsigned j = 0; j < EACH; j++)
    own->key[j] = WHOLE || j * THREADS + threadIdx.x < count ? __ldcs(keys + j * THREADS) : (Word)0;
  if (s.source == AGGREGATE_GIVEN) {
#pragma unroll
    for (unsigned j = 0; j < EACH; j++)
      own->value[j] =
          WHOLE || j * THREADS + threadIdx.x < count ? __ldcs(values + j * THREADS) : (Word)0;
  } else {
    bool same = s.source == AGGREGATE_SAME;
#pragma unroll
    for (unsigned j = 0; j < EACH; j++)
      own->value[j] = same ? s.same : (Word)(base + j * THREADS + threadIdx.x);
  }
}

/* Which part has how many, and where in it each is. */
template <bool WHOLE, bool FIRST, typename Word, unsigned THREADS, unsigned EACH>
static __device__ __forceinline__ void
aggregate_rank_tile(const aggregate_state<Word> &s, const aggregate_tile<Word> &t, uint32_t base,
                    uint32_t count, bool hot, aggregate_own<Word, THREADS, EACH> *own) {
  if (WHOLE && !hot) {
#pragma unroll
    for (unsigned j = 0; j < EACH; j++) {
      own->key[j] = aggregate_mixed(own->key[j], s.mix);
      own->set_rank(j, atomicAdd(&t.begin[aggregate_part(own->key[j], s.parts)], 1u));
    }
    return;
  }
#pragma unroll
  for (unsigned j = 0; j < EACH; j++) {
    uint32_t at = j * THREADS + threadIdx.x, rank = AGGREGATE_TAKEN;
    Word key = aggregate_mixed(own->key[j], s.mix);
    if (WHOLE || at < count)
      rank = hot ? aggregate_sift<Word, FIRST>(s, t, key, own->value[j], base + at)
                 : atomicAdd(&t.begin[aggregate_part(key, s.parts)], 1u);
    own->key[j] = key;
    own->set_rank(j, rank);
  }
}

/* One tile, put in order in shared memory. Returns how many records are left of it. */
template <bool WHOLE, bool FIRST, typename Word, unsigned THREADS, unsigned EACH>
static __device__ __forceinline__ uint32_t aggregate_order_tile(const aggregate_state<Word> &s,
                                                                const aggregate_tile<Word> &t,
                                                                uint32_t base, uint32_t count,
                                                                bool hot) {
  aggregate_own<Word, THREADS, EACH> own;
  aggregate_read_tile<WHOLE>(s, base, count, &own);
  for (unsigned i = threadIdx.x; i < s.parts; i += THREADS)
    t.begin[i] = 0;
  __syncthreads();
  aggregate_rank_tile<WHOLE, FIRST>(s, t, base, count, hot, &own);
  __syncthreads();
  uint32_t rest = aggregate_scan<THREADS>(t.begin, s.parts);
#pragma unroll
  for (unsigned j = 0; j < EACH; j++) {
    if (own.rank(j) == AGGREGATE_TAKEN)
      continue;
    uint32_t to = t.begin[aggregate_part(own.key[j], s.parts)] + own.rank(j);
    t.records[to] = {own.key[j], own.value[j]};
    if (FIRST)
      t.at[to] = (uint16_t)(j * THREADS + threadIdx.x);
  }
  __syncthreads();
  return rest;
}

template <typename Word, bool FIRST, unsigned THREADS>
static __device__ __forceinline__ void aggregate_write_tile(const aggregate_state<Word> &s,
                                                            const aggregate_tile<Word> &t,
                                                            uint32_t tile, uint32_t rest) {
  uint32_t base = tile * s.tile, parts = s.parts;
  uint16_t *index = s.index + (uint64_t)tile * (parts + 1);
  /* 16 bytes at a time: what lies behind the last is not read. */
  const uint4 *from = (const uint4 *)t.records;
  uint4 *to = (uint4 *)(s.records + base);
  uint32_t words = (rest * (uint32_t)sizeof *s.records + 15) / 16;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < words; i += THREADS)
    to[i] = from[i];
  if (FIRST)
    for (uint32_t i = threadIdx.x; i < rest; i += THREADS)
      s.record_at[base + i] = t.at[i];
  for (uint32_t i = threadIdx.x; i < parts; i += THREADS)
    index[i] = (uint16_t)t.begin[i];
  if (threadIdx.x == 0)
    index[parts] = (uint16_t)rest;
  __syncthreads();
}

/* EACH records a thread: a tile is THREADS * EACH. */
template <typename Word, bool FIRST, unsigned THREADS, unsigned EACH>
static __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    aggregate_tiles(aggregate_state<Word> s) {
  DZO_BLOCK_MEMORY(unsigned char, memory);
  aggregate_tile<Word> t = aggregate_tile_at(memory, s);
  bool hot = aggregate_use_hot(s);
  uint32_t rest = 0;
  for (unsigned i = threadIdx.x; i < aggregate_hot_slots(s) && hot; i += THREADS) {
    t.hot_keys[i] = s.hot_keys[i];
    t.hot_sums[i] = aggregate_identity<Word>(s.kind);
    if (FIRST)
      t.hot_first[i] = UINT32_MAX;
  }
  __syncthreads();
  for (uint32_t tile = blockIdx.x; tile < s.tiles; tile += gridDim.x) {
    uint32_t base = tile * s.tile, count = min(s.count - base, s.tile);
    uint32_t here =
        count == THREADS * EACH
            ? aggregate_order_tile<true, FIRST, Word, THREADS, EACH>(s, t, base, count, hot)
            : aggregate_order_tile<false, FIRST, Word, THREADS, EACH>(s, t, base, count, hot);
    aggregate_write_tile<Word, FIRST, THREADS>(s, t, tile, here);
    rest += here;
  }
  if (threadIdx.x == 0 && rest > 0)
    atomicAdd(&s.counts->rest, rest);
  Word nothing = aggregate_identity<Word>(s.kind);
  for (unsigned i = threadIdx.x; i < aggregate_hot_slots(s) && hot; i += THREADS) {
    if (t.hot_sums[i] != nothing)
      aggregate_into(s.kind, &s.hot_sums[i], t.hot_sums[i]);
    if (FIRST && t.hot_first[i] != UINT32_MAX)
      atomicMin(&s.hot_first[i], t.hot_first[i]);
  }
}

#endif
