/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* All subsets, each one's weight compared with the capacity. The items are cut in two: the sums of
 * all sets of the low ones are formed once; a set of the high ones leaves some room, and every low
 * set is held against it. So a subset costs a comparison and a maximum, and its two sums no more
 * than one addition for many of them: that it weighs no more than the capacity, and that its low
 * part weighs no more than what its high part leaves, is the same. */
#ifndef DZO_KNAPSACK_BRUTE_FORCE_H
#define DZO_KNAPSACK_BRUTE_FORCE_H

#include "knapsack/method.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  BRUTE_ITEMS = 48,
  BRUTE_GPU_LOW_SHORT = 12, /* low items where their sums fit 31 bits, and where 62 */
  BRUTE_GPU_LOW_LONG = 11,
  BRUTE_GPU_LOW_LEAST = 3,
  BRUTE_GPU_SIDE = 3 /* of the high items, those whose sets one thread holds all of */
};

/* The best set that somebody met: its value, -1 for none, and which of the high items are in it. */
typedef struct brute_best {
  int64_t value;
  uint64_t high;
} brute_best;

typedef struct brute_gpu_long {
  int64_t weight, value;
} brute_gpu_long;
typedef struct brute_gpu_short {
  int32_t weight, value;
} brute_gpu_short;

/* What lies on the device. All sums of low items fit the pairs' type, all sums fit 62 bits. */
typedef struct brute_gpu {
  bool is_short;
  unsigned low, high; /* items; low at least BRUTE_GPU_LOW_LEAST, high at least BRUTE_GPU_SIDE */
  int64_t capacity;
  const void *low_sums;        /* [1 << low] pairs */
  const brute_gpu_long *items; /* [high] */
  brute_best *best;            /* [blocks] */
  unsigned blocks;
} brute_gpu;

unsigned brute_gpu_blocks(dzo_unit *unit, bool is_short);
/* The sets whose high part is begin .. end - 1, each of them times 1 << BRUTE_GPU_SIDE. Queued on
 * queue 0; every best[] is written. */
dzo_status brute_gpu_run(dzo_unit *unit, const brute_gpu *job, uint64_t begin, uint64_t end);

#ifdef __cplusplus
}
#endif
#endif
