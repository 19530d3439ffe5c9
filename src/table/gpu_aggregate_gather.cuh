/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 3 of aggregation: a block for each part of the hash gathers its records from all tiles. */
#ifndef DZO_TABLE_GPU_AGGREGATE_GATHER_CUH
#define DZO_TABLE_GPU_AGGREGATE_GATHER_CUH

#include "table/gpu_aggregate_runs.cuh"
#include "table/gpu_word.cuh"

enum {
  AGGREGATE_GATHERERS = 1024, /* threads, one block at a time; or less, and FEW blocks */
  AGGREGATE_FEW_GATHERERS = 512,
  AGGREGATE_FEW = (int)TABLE_THREADS_MOST / 512 >= 3 ? 3 : 2,
  AGGREGATE_SLICE_BITS = 6, /* of a part whose keys do not fit at once */
  AGGREGATE_SLICES = 1 << AGGREGATE_SLICE_BITS,
  AGGREGATE_PROBES = 64 /* after which a table is taken to be full */
};

/* A table in a block's shared memory. Slots with the key all ones are free; that of the key all
 * ones itself is behind the others, and has the key 0 when it is used. */
template <typename Word> struct aggregate_table {
  Word *keys, *sums;
  uint32_t *first;
  uint32_t slots;
  uint32_t begin, end; /* slices of the part that it is for, by the key's next bits */
};

template <typename Word>
static inline size_t aggregate_table_bytes(const aggregate_state<Word> &s, bool first) {
  return ((size_t)s.table_slots + 1) * (2 * sizeof(Word) + (first ? 4 : 0));
}

template <typename Word, bool FIRST, unsigned THREADS>
static __device__ __forceinline__ void aggregate_table_clear(const aggregate_state<Word> &s,
                                                             const aggregate_table<Word> &t) {
  Word nothing = aggregate_identity<Word>(s.kind);
  for (uint32_t i = threadIdx.x; i <= t.slots; i += THREADS) {
    t.keys[i] = (Word) ~(Word)0;
    t.sums[i] = nothing;
    if (FIRST)
      t.first[i] = UINT32_MAX;
  }
}

template <typename Word>
static __device__ __forceinline__ bool aggregate_is_used(const aggregate_table<Word> &t,
                                                         uint32_t slot) {
  return t.keys[slot] != (Word) ~(Word)0;
}

/* Where a key is in a bucket of 16 bytes, or the first free slot; the bucket's size if neither. */
static __device__ __forceinline__ unsigned aggregate_look(const uint32_t *bucket, uint32_t key,
                                                          bool *there) {
  const uint32_t none = UINT32_MAX;
  uint4 k = dzo_load_block((const uint4 *)bucket);
  *there = k.x == key || k.y == key || k.z == key || k.w == key;
  uint32_t wanted = *there ? key : none;
  return k.x == wanted ? 0 : k.y == wanted ? 1 : k.z == wanted ? 2 : k.w == wanted ? 3 : 4;
}
static __device__ __forceinline__ unsigned aggregate_look(const unsigned long long *bucket,
                                                          unsigned long long key, bool *there) {
  const unsigned long long none = UINT64_MAX;
  ulonglong2 k = dzo_load_block((const ulonglong2 *)bucket);
  *there = k.x == key || k.y == key;
  unsigned long long wanted = *there ? key : none;
  return k.x == wanted ? 0 : k.y == wanted ? 1 : 2;
}

/* The key's slot, taken for it if it was not there, which *taken counts; `slots` + 1 where there is
 * none. Slots are taken in order and never given up, so two threads cannot take two for one key. */
template <typename Word>
static __device__ __forceinline__ uint32_t aggregate_slot(const aggregate_table<Word> &t, Word key,
                                                          uint32_t *taken) {
  enum : uint32_t { EACH = 16 / sizeof(Word) };
  const Word none = (Word) ~(Word)0;
  if (key == none) {
    *taken += atomicCAS(&t.keys[t.slots], none, (Word)0) == none;
    return t.slots;
  }
  uint32_t at = __umulhi((uint32_t)key * 0x9e3779b1u, t.slots / EACH) * EACH;
  for (unsigned probe = 0; probe < AGGREGATE_PROBES; probe++) {
    bool there;
    unsigned i = aggregate_look(&t.keys[at], key, &there);
    if (there)
      return at + i;
    if (i == EACH) {
      at = at + EACH == t.slots ? 0 : at + EACH;
      continue;
    }
    Word seen = atomicCAS(&t.keys[at + i], none, key);
    *taken += seen == none;
    if (seen == none || seen == key)
      return at + i;
  }
  return t.slots + 1;
}

/* Returns whether there was room. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool
aggregate_put(const aggregate_state<Word> &s, const aggregate_table<Word> &t, uint32_t *taken,
              Word key, Word value, uint32_t first) {
  uint32_t slice = aggregate_rest(key, s.parts) >> (32 - AGGREGATE_SLICE_BITS);
  if (slice < t.begin || slice >= t.end)
    return true;
  uint32_t slot = aggregate_slot(t, key, taken);
  if (slot > t.slots)
    return false;
  aggregate_into_block(s.kind, &t.sums[slot], value);
  if (FIRST)
    atomicMin(&t.first[slot], first);
  return true;
}

/* The hot keys of the part, one thread each. */
template <typename Word, bool FIRST, unsigned THREADS>
static __device__ __forceinline__ bool aggregate_put_hot(const aggregate_state<Word> &s,
                                                         const aggregate_table<Word> &t,
                                                         uint32_t *taken, uint32_t part) {
  bool fits = true;
  aggregate_hot_range range = aggregate_hot_of(s, part);
  for (uint32_t i = range.begin + threadIdx.x; i < range.end; i += THREADS)
    if (aggregate_hot_is_of(s, i, part))
      fits = aggregate_put<Word, FIRST>(s, t, taken, s.hot_keys[i], s.hot_sums[i],
                                        FIRST ? s.hot_first[i] : 0) &&
             fits;
  return fits;
}

/* 32 runs, one of each lane, by their warp. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool
aggregate_put_runs(const aggregate_state<Word> &s, const aggregate_table<Word> &t, uint32_t *taken,
                   uint32_t *begins, aggregate_run mine) {
  enum { AT_ONCE = 32 / sizeof(Word) }; /* records of a thread on their way */
  aggregate_sequence q = aggregate_join(begins, mine);
  uint32_t before = 0;
  bool fits = true;
  for (uint32_t first = 0; first < q.total; first += 32 * AT_ONCE) {
    aggregate_pair<Word> record[AT_ONCE];
    uint32_t position[AT_ONCE];
#pragma unroll
    for (unsigned j = 0; j < AT_ONCE; j++) {
      if (first + j * 32 >= q.total)
        break;
      uint32_t from = aggregate_locate(q, first + j * 32, &before);
      if (first + j * 32 + dzo_lane() >= q.total)
        continue;
      record[j] = s.records[from];
      if (FIRST)
        position[j] = (from & ~(s.tile - 1)) + s.record_at[from];
    }
#pragma unroll
    for (unsigned j = 0; j < AT_ONCE; j++)
      if (first + j * 32 + dzo_lane() < q.total)
        fits = aggregate_put<Word, FIRST>(s, t, taken, record[j].key, record[j].value,
                                          FIRST ? position[j] : 0) &&
               fits;
    if (__any_sync(DZO_WARP_ALL, !fits))
      break;
  }
  __syncwarp();
  return fits;
}

/* All runs of the part. The next ones are asked for before these are worked on. */
template <typename Word, bool FIRST, unsigned THREADS>
static __device__ __forceinline__ bool
aggregate_put_part(const aggregate_state<Word> &s, const aggregate_table<Word> &t, uint32_t *taken,
                   uint32_t *full, uint32_t part, uint32_t tiles) {
  __shared__ uint32_t begins[THREADS];
  bool fits = true;
  uint32_t first = threadIdx.x & ~31u, *mine = begins + first;
  aggregate_run next = aggregate_run_of(s, first + dzo_lane(), part);
  for (; first < tiles; first += THREADS) {
    aggregate_run run = next;
    next = aggregate_run_of(s, first + THREADS + dzo_lane(), part);
    fits = aggregate_put_runs<Word, FIRST>(s, t, taken, mine, run) && fits;
    if (!fits)
      atomicExch(full, 1u);
    if (__any_sync(DZO_WARP_ALL, dzo_lane() == 0 && atomicOr(full, 0u) != 0))
      break;
  }
  return fits;
}

/* Write out what the table holds: `mine` of it the calling thread has put there. */
template <typename Word, bool FIRST, unsigned THREADS>
static __device__ __forceinline__ void aggregate_put_out(const aggregate_state<Word> &s,
                                                         const aggregate_table<Word> &t,
                                                         uint32_t mine, uint32_t part) {
  enum { EACH = 4 }; /* slots of a thread at once */
  __shared__ uint32_t room;
  if (threadIdx.x == 0)
    room = 0;
  __syncthreads();
  mine = __reduce_add_sync(DZO_WARP_ALL, mine);
  if (dzo_lane() == 0 && mine > 0)
    atomicAdd(&room, mine);
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t count = room;
    room = count > 0 ? atomicAdd(&s.counts->unique, count) : 0;
    s.ranges[part] = {room, count};
  }
  __syncthreads();
  for (uint32_t first = (threadIdx.x & ~31u) * EACH; first <= t.slots; first += THREADS * EACH) {
    unsigned used[EACH];
    uint32_t sum = 0, to = 0;
#pragma unroll
    for (unsigned j = 0; j < EACH; j++) {
      uint32_t i = first + j * 32 + dzo_lane();
      used[j] = __ballot_sync(DZO_WARP_ALL, i <= t.slots && aggregate_is_used(t, i));
      sum += (uint32_t)__popc(used[j]);
    }
    if (dzo_lane() == 0)
      to = atomicAdd(&room, sum);
    to = __shfl_sync(DZO_WARP_ALL, to, 0);
#pragma unroll
    for (unsigned j = 0; j < EACH; j++) {
      uint32_t i = first + j * 32 + dzo_lane();
      uint32_t at = to + (uint32_t)__popc(used[j] & dzo_lanes_below());
      to += (uint32_t)__popc(used[j]);
      if ((used[j] >> dzo_lane() & 1) == 0)
        continue;
      s.out_keys[at] = i < t.slots ? t.keys[i] : (Word) ~(Word)0;
      s.out_values[at] = t.sums[i];
      if (FIRST)
        s.out_first[at] = t.first[i];
    }
  }
}

/* A part's slice after slice, each made smaller until the table holds it. Work is bounded: a part
 * of very many keys is given up. */
template <typename Word, bool FIRST, unsigned THREADS>
static __global__ void __launch_bounds__(THREADS,
                                         THREADS == AGGREGATE_GATHERERS ? 1 : (int)AGGREGATE_FEW)
    aggregate_gather(aggregate_state<Word> s) {
  DZO_BLOCK_MEMORY(unsigned char, memory);
  __shared__ uint32_t full;
  __shared__ uint32_t halved;
  uint32_t part = blockIdx.x, passes = 0, tiles = s.counts->rest > 0 ? s.tiles : 0;
  bool hot = aggregate_use_hot(s);
  aggregate_table<Word> t;
  t.slots = s.table_slots;
  t.keys = (Word *)memory;
  t.sums = t.keys + t.slots + 1;
  t.first = (uint32_t *)(t.sums + t.slots + 1);
  t.begin = 0;
  if (threadIdx.x == 0)
    halved = dzo_load_shared(&s.counts->halved);
  while (t.begin < AGGREGATE_SLICES) {
    aggregate_table_clear<Word, FIRST, THREADS>(s, t);
    if (threadIdx.x == 0)
      full = 0;
    __syncthreads();
    t.end = t.begin + (AGGREGATE_SLICES >> halved);
    uint32_t taken = 0;
    bool fits = !hot || aggregate_put_hot<Word, FIRST, THREADS>(s, t, &taken, part);
    fits = aggregate_put_part<Word, FIRST, THREADS>(s, t, &taken, &full, part, tiles) && fits;
    if (!__syncthreads_or(!fits)) {
      aggregate_put_out<Word, FIRST, THREADS>(s, t, taken, part);
      __syncthreads();
      t.begin = t.end;
      continue;
    }
    bool given_up = halved == AGGREGATE_SLICE_BITS || ++passes > AGGREGATE_SLICES;
    __syncthreads();
    if (threadIdx.x == 0 && given_up)
      atomicAdd(&s.counts->failed, 1u);
    if (given_up)
      return;
    if (threadIdx.x == 0)
      atomicMax(&s.counts->halved, ++halved);
  }
}

#endif
