/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the kernels of aggregation share. Three steps:
 *   1. A sample finds the hot keys, those of which a block would see many.
 *   2. Records go through in tiles. Those of hot keys are summed up in shared memory at once; the
 *      rest of a tile is put in order of its parts, ranges of the hash, and written out as one
 * piece with an index of where each part begins. So no histogram comes first, and all is written as
 * it lies.
 *   3. A block for each part gathers the part's runs from all tiles into a table in shared memory.
 * What is summed up when depends on how threads run; sums, least and greatest do not. */
#ifndef DZO_TABLE_GPU_AGGREGATE_CUH
#define DZO_TABLE_GPU_AGGREGATE_CUH

#include "device/cuda.h"
#include "table/gpu_aggregate.h"
#include "table/gpu_region.h"

enum {
  AGGREGATE_MOST_TILE = 8192, /* records; positions inside fit 16 bits */
  AGGREGATE_SAMPLE = 65536,
  AGGREGATE_SAMPLE_SLOTS = 2 * AGGREGATE_SAMPLE,
  AGGREGATE_COUNTS = 64,       /* of the histogram of how often keys were seen */
  AGGREGATE_MOST_HOT_BITS = 9, /* buckets of hot keys */
  AGGREGATE_HOT_SLOTS = 4      /* in a bucket */
};

typedef enum aggregate_source {
  AGGREGATE_GIVEN,   /* a record's value is that of the caller's array */
  AGGREGATE_SAME,    /* one value for all */
  AGGREGATE_POSITION /* its position: the first is the least, the last is the greatest */
} aggregate_source;

typedef struct aggregate_counts {
  uint32_t claimed;                /* of the sample's table */
  uint32_t hot;                    /* keys of the sample that were taken to be hot */
  uint32_t hot_taken;              /* records of the sample that have them */
  uint32_t most;                   /* records of the sample that one key has */
  uint32_t rest;                   /* records of other keys */
  uint32_t unique;                 /* keys put out */
  uint32_t failed;                 /* parts that would not fit */
  uint32_t halved;                 /* how often parts were found not to fit */
  uint32_t seen[AGGREGATE_COUNTS]; /* keys of the sample seen that often, or more */
  table_counters filled;           /* of a table; `refused` are regions that did not take all */
} aggregate_counts;

template <typename Word> struct aggregate_pair { Word key, value; };

template <typename Word> struct aggregate_state {
  const Word *keys, *values;
  uint64_t mix;
  uint32_t count;
  uint32_t tile, tiles; /* records of a tile, a power of two; tiles */
  uint32_t parts;       /* ranges of the mixed keys */
  unsigned hot_bits;
  uint32_t table_slots;      /* of the table in which a part is put together */
  table_aggregate_kind kind; /* ADD, MIN or MAX */
  aggregate_source source;
  Word same;
  aggregate_counts *counts;
  unsigned long long *sampled;   /* [AGGREGATE_SAMPLE_SLOTS] 32 bits of a mixed key, times seen */
  uint32_t *sampled_at;          /* a position of that key */
  unsigned long long *hot_ranks; /* [aggregate_hot_slots()] times seen, slot of the sample */
  Word *hot_keys, *hot_sums;     /* [aggregate_hot_slots()] mixed keys, sums */
  uint32_t *hot_first;
  aggregate_pair<Word> *records; /* [count], tile by tile */
  uint16_t *record_at;           /* their positions in the tile, where the first is wanted */
  uint16_t *index;               /* [tiles][parts + 1] where each part begins in the tile */
  Word *out_keys, *out_values;
  uint32_t *out_first;
  struct aggregate_range *ranges; /* [parts] where each part's keys were put out */
};

template <typename Word>
static __device__ __forceinline__ Word aggregate_identity(table_aggregate_kind kind) {
  return kind == TABLE_AGGREGATE_MIN ? (Word) ~(Word)0 : (Word)0;
}

/* A part's keys, where they were put out as one. */
struct aggregate_range {
  uint32_t begin, count;
};

template <typename Word>
static __device__ __forceinline__ Word aggregate_value(const aggregate_state<Word> &s,
                                                       uint32_t position) {
  if (s.source == AGGREGATE_GIVEN)
    return __ldcs(s.values + position);
  return s.source == AGGREGATE_SAME ? s.same : (Word)position;
}

static __device__ __forceinline__ uint32_t aggregate_mixed(uint32_t key, uint64_t mix) {
  return table_mixed32(key, mix);
}
static __device__ __forceinline__ unsigned long long aggregate_mixed(unsigned long long key,
                                                                     uint64_t mix) {
  return table_mixed64(key, mix);
}

/* The upper bits of a mixed key. */
template <typename Word>
static __device__ __forceinline__ unsigned aggregate_top(Word mixed, unsigned bits) {
  return (unsigned)(mixed >> (8 * sizeof(Word) - bits));
}

/* Its part, as regions of a table are chosen, and what is left of it. */
static __device__ __forceinline__ uint32_t aggregate_part(uint32_t mixed, uint32_t parts) {
  return __umulhi(mixed, parts);
}
static __device__ __forceinline__ uint32_t aggregate_part(unsigned long long mixed,
                                                          uint32_t parts) {
  return __umulhi((uint32_t)(mixed >> 32), parts);
}
template <typename Word>
static __device__ __forceinline__ uint32_t aggregate_rest(Word mixed, uint32_t parts) {
  return aggregate_top(mixed, 32) * parts;
}

/* Summing up hot keys by themselves is worth the looking if it takes a good part of the records, or
 * one that would burden one part. */
template <typename Word>
static __device__ __forceinline__ bool aggregate_use_hot(const aggregate_state<Word> &s) {
  uint32_t taken = min(s.count, (uint32_t)AGGREGATE_SAMPLE);
  return s.counts->hot_taken > taken / 8 || s.counts->most > taken / 1024;
}

template <typename Word>
static __device__ __forceinline__ unsigned aggregate_hot_slots(const aggregate_state<Word> &s) {
  return AGGREGATE_HOT_SLOTS << s.hot_bits;
}

/* A mixed key that is looked for in other buckets only, for the free slots of this one. */
template <typename Word>
static __device__ __forceinline__ Word aggregate_stranger(unsigned bucket) {
  return bucket == 0 ? (Word) ~(Word)0 : (Word)0;
}

/* Add to what all threads of a block, or of the grid, add to. */
static __device__ __forceinline__ void aggregate_into(table_aggregate_kind kind, uint32_t *sum,
                                                      uint32_t value) {
  if (kind == TABLE_AGGREGATE_ADD)
    atomicAdd(sum, value);
  else if (kind == TABLE_AGGREGATE_MIN)
    atomicMin(sum, value);
  else
    atomicMax(sum, value);
}

static __device__ __forceinline__ void
aggregate_into(table_aggregate_kind kind, unsigned long long *sum, unsigned long long value) {
  if (kind == TABLE_AGGREGATE_ADD)
    atomicAdd(sum, value);
  else if (kind == TABLE_AGGREGATE_MIN)
    atomicMin(sum, value);
  else
    atomicMax(sum, value);
}

/* The same in a block's shared memory, which adds 32 bits at once, but 64 only by trying. */
static __device__ __forceinline__ void aggregate_into_block(table_aggregate_kind kind,
                                                            uint32_t *sum, uint32_t value) {
  aggregate_into(kind, sum, value);
}

static __device__ __forceinline__ void
aggregate_into_block(table_aggregate_kind kind, unsigned long long *sum, unsigned long long value) {
  if (kind == TABLE_AGGREGATE_ADD) {
    uint32_t *half = (uint32_t *)sum, low = (uint32_t)value;
    uint32_t carry = atomicAdd(half, low) > ~low, high = (uint32_t)(value >> 32) + carry;
    if (high != 0)
      atomicAdd(half + 1, high);
  } else if (kind == TABLE_AGGREGATE_MIN) {
    if (value < dzo_load_block(sum))
      atomicMin(sum, value);
  } else if (value > dzo_load_block(sum)) {
    atomicMax(sum, value);
  }
}

#endif
