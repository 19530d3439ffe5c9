/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Step 3 of aggregation: a block for each part of the hash gathers its records from all tiles. */
#ifndef DZO_TABLE_GPU_AGGREGATE_GATHER_CUH
#define DZO_TABLE_GPU_AGGREGATE_GATHER_CUH

#include "table/gpu_aggregate.cuh"

enum {
  AGGREGATE_GATHERERS = 1024, /* threads */
  AGGREGATE_AT_ONCE = 4,      /* records of a thread that are on their way */
  AGGREGATE_SLICE_BITS = 6,   /* of a part whose keys do not fit at once */
  AGGREGATE_SLICES = 1 << AGGREGATE_SLICE_BITS,
  AGGREGATE_PROBES = 32 /* after which a table is taken to be full */
};

/* A table in a block's shared memory: slot `slots` is that of the key that says "none". */
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

template <typename Word, bool FIRST>
static __device__ __forceinline__ void aggregate_table_clear(const aggregate_state<Word> &s,
                                                             const aggregate_table<Word> &t) {
  Word nothing = aggregate_identity<Word>(s.kind);
  for (uint32_t i = threadIdx.x; i <= t.slots; i += AGGREGATE_GATHERERS) {
    t.keys[i] = (Word) ~(Word)0;
    t.sums[i] = nothing;
    if (FIRST)
      t.first[i] = UINT32_MAX;
  }
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

/* The key's slot, taken for it if it was not there; `slots` + 1 where there is none. Slots are
 * taken in order and never given up, so two threads cannot take two for one key. */
template <typename Word>
static __device__ __forceinline__ uint32_t aggregate_slot(const aggregate_table<Word> &t,
                                                          Word key) {
  enum : uint32_t { EACH = 16 / sizeof(Word) };
  const Word none = (Word) ~(Word)0;
  if (key == none)
    return t.slots;
  uint32_t at = __umulhi((uint32_t)key * 0x9e3779b1u, t.slots / EACH) * EACH;
  for (unsigned probe = 0; probe < AGGREGATE_PROBES; probe++) {
    bool there;
    unsigned i = aggregate_look(&t.keys[at], key, &there);
    if (i == EACH) {
      at = at + EACH == t.slots ? 0 : at + EACH;
      continue;
    }
    if (there)
      return at + i;
    Word seen = atomicCAS(&t.keys[at + i], none, key);
    if (seen == none || seen == key)
      return at + i;
  }
  return t.slots + 1;
}

/* Returns whether there was room. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool aggregate_put(const aggregate_state<Word> &s,
                                                     const aggregate_table<Word> &t, bool *none,
                                                     Word key, Word value, uint32_t first) {
  uint32_t slice = aggregate_top((Word)(key << s.part_bits), AGGREGATE_SLICE_BITS);
  if (slice < t.begin || slice >= t.end)
    return true;
  uint32_t slot = aggregate_slot(t, key);
  if (slot > t.slots)
    return false;
  if (slot == t.slots)
    dzo_store_block(none, true);
  aggregate_into_block(s.kind, &t.sums[slot], value);
  if (FIRST)
    atomicMin(&t.first[slot], first);
  return true;
}

/* The hot keys of the part, one thread each. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool aggregate_put_hot(const aggregate_state<Word> &s,
                                                         const aggregate_table<Word> &t, bool *none,
                                                         uint32_t part) {
  bool fits = true;
  uint32_t begin, end; /* slots of hot keys that may be of the part */
  if (s.part_bits <= s.hot_bits) {
    begin = part << (s.hot_bits - s.part_bits);
    end = (part + 1) << (s.hot_bits - s.part_bits);
  } else {
    begin = part >> (s.part_bits - s.hot_bits);
    end = begin + 1;
  }
  for (uint32_t i = begin * AGGREGATE_HOT_SLOTS + threadIdx.x; i < end * AGGREGATE_HOT_SLOTS;
       i += AGGREGATE_GATHERERS) {
    Word key = s.hot_keys[i];
    bool used = aggregate_top(key, s.hot_bits) == i / AGGREGATE_HOT_SLOTS;
    if (used && aggregate_top(key, s.part_bits) == part)
      fits =
          aggregate_put<Word, FIRST>(s, t, none, key, s.hot_sums[i], FIRST ? s.hot_first[i] : 0) &&
          fits;
  }
  return fits;
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
    const uint16_t *index = s.index + (uint64_t)tile * ((1u << s.part_bits) + 1) + part;
    run.begin = __ldg(index);
    run.length = __ldg(index + 1) - run.begin;
  }
  run.begin += tile * s.tile;
  return run;
}

/* 32 runs, one of each lane, by their warp. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool aggregate_put_runs(const aggregate_state<Word> &s,
                                                          const aggregate_table<Word> &t,
                                                          bool *none, aggregate_run mine) {
  enum { AT_ONCE = 32 / sizeof(Word) }; /* records of a thread on their way */
  uint32_t end = mine.length;           /* of the run, among all of them */
  bool fits = true;
  for (unsigned step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(DZO_WARP_ALL, end, step);
    end += dzo_lane() >= step ? other : 0;
  }
  uint32_t total = __shfl_sync(DZO_WARP_ALL, end, 31);
  uint32_t begin = mine.begin - (end - mine.length); /* + place among all = place in memory */
  for (uint32_t first = 0; first < total; first += 32 * AT_ONCE) {
    aggregate_pair<Word> record[AT_ONCE];
    uint32_t position[AT_ONCE];
#pragma unroll
    for (unsigned j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * 32 + dzo_lane();
      unsigned run = 0; /* how many end before */
      for (unsigned step = 16; step > 0; step /= 2)
        run += __shfl_sync(DZO_WARP_ALL, end, (int)(run + step - 1)) <= i ? step : 0;
      uint32_t from = __shfl_sync(DZO_WARP_ALL, begin, (int)run) + i;
      if (i >= total)
        continue;
      record[j] = s.records[from];
      if (FIRST)
        position[j] = (from & ~(s.tile - 1)) + s.record_at[from];
    }
#pragma unroll
    for (unsigned j = 0; j < AT_ONCE; j++)
      if (first + j * 32 + dzo_lane() < total)
        fits = aggregate_put<Word, FIRST>(s, t, none, record[j].key, record[j].value,
                                          FIRST ? position[j] : 0) &&
               fits;
    if (__any_sync(DZO_WARP_ALL, !fits))
      break;
  }
  return fits;
}

/* All runs of the part. The next ones are asked for before these are worked on. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ bool
aggregate_put_part(const aggregate_state<Word> &s, const aggregate_table<Word> &t, bool *none,
                   bool *full, uint32_t part, uint32_t tiles) {
  bool fits = true;
  uint32_t first = threadIdx.x & ~31u;
  aggregate_run next = aggregate_run_of(s, first + dzo_lane(), part);
  for (; first < tiles; first += AGGREGATE_GATHERERS) {
    aggregate_run run = next;
    next = aggregate_run_of(s, first + AGGREGATE_GATHERERS + dzo_lane(), part);
    fits = aggregate_put_runs<Word, FIRST>(s, t, none, run) && fits;
    if (!fits)
      dzo_store_block(full, true);
    if (__any_sync(DZO_WARP_ALL, dzo_load_block(full)))
      break;
  }
  return fits;
}

/* Write out what the table holds. */
template <typename Word, bool FIRST>
static __device__ __forceinline__ void
aggregate_put_out(const aggregate_state<Word> &s, const aggregate_table<Word> &t, bool none) {
  __shared__ uint32_t room;
  const Word empty = (Word) ~(Word)0;
  uint32_t mine = 0;
  if (threadIdx.x == 0)
    room = 0;
  __syncthreads();
  uint32_t slots = (t.slots + 1 + 31) / 32 * 32; /* warps go on as one */
  for (uint32_t i = threadIdx.x; i < slots; i += AGGREGATE_GATHERERS) {
    bool used = i < t.slots ? t.keys[i] != empty : i == t.slots && none;
    mine += (uint32_t)__popc(__ballot_sync(DZO_WARP_ALL, used));
  }
  uint32_t at = 0;
  if (dzo_lane() == 0)
    at = atomicAdd(&room, mine);
  __syncthreads();
  if (threadIdx.x == 0)
    room = room > 0 ? atomicAdd(&s.counts->unique, room) : 0;
  __syncthreads();
  at = __shfl_sync(DZO_WARP_ALL, at, 0) + room;
  for (uint32_t i = threadIdx.x; i < slots; i += AGGREGATE_GATHERERS) {
    bool used = i < t.slots ? t.keys[i] != empty : i == t.slots && none;
    unsigned lanes = __ballot_sync(DZO_WARP_ALL, used);
    uint32_t to = at + (uint32_t)__popc(lanes & dzo_lanes_below());
    at += (uint32_t)__popc(lanes);
    if (!used)
      continue;
    s.out_keys[to] = i < t.slots ? t.keys[i] : empty;
    s.out_values[to] = t.sums[i];
    if (FIRST)
      s.out_first[to] = t.first[i];
  }
}

/* A part's slice after slice, each made smaller until the table holds it. Work is bounded: a part
 * of very many keys is given up. */
template <typename Word, bool FIRST>
static __global__ void __launch_bounds__(AGGREGATE_GATHERERS, 1)
    aggregate_gather(aggregate_state<Word> s) {
  DZO_BLOCK_MEMORY(unsigned char, memory);
  __shared__ bool none, full;
  __shared__ uint32_t halved;
  uint32_t part = blockIdx.x, passes = 0, tiles = s.counts->rest > 0 ? s.tiles : 0;
  aggregate_table<Word> t;
  t.slots = s.table_slots;
  t.keys = (Word *)memory;
  t.sums = t.keys + t.slots + 1;
  t.first = (uint32_t *)(t.sums + t.slots + 1);
  t.begin = 0;
  if (threadIdx.x == 0)
    halved = dzo_load_shared(&s.counts->halved);
  while (t.begin < AGGREGATE_SLICES) {
    aggregate_table_clear<Word, FIRST>(s, t);
    if (threadIdx.x == 0)
      none = full = false;
    __syncthreads();
    t.end = t.begin + (AGGREGATE_SLICES >> halved);
    bool fits = aggregate_put_hot<Word, FIRST>(s, t, &none, part);
    fits = aggregate_put_part<Word, FIRST>(s, t, &none, &full, part, tiles) && fits;
    if (!__syncthreads_or(!fits)) {
      aggregate_put_out<Word, FIRST>(s, t, none);
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
