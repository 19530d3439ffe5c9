/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Small problems on the GPU, a warp each. */
#ifndef DZO_KNAPSACK_SMALL_GPU_H
#define DZO_KNAPSACK_SMALL_GPU_H

#include "knapsack/small.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a problem may have at most to be taken by the GPU; and its values less than 2^31 in sum. */
enum { SMALL_GPU_ITEMS = 1024 };

typedef struct small_gpu_item {
  uint32_t value, weight;
} small_gpu_item;

/* What is left of a problem, whose table a block is to fill. */
typedef struct small_gpu_rest {
  uint32_t number, items;
  int32_t capacity, value; /* of the items fixed inside */
} small_gpu_rest;

/* Lists of them, by the size of the table, how many are in each, and all cells done. */
enum { SMALL_GPU_LISTS = 4, SMALL_GPU_CELLS = SMALL_GPU_LISTS, SMALL_GPU_COUNTERS };

/* Problems in GPU memory. Where the capacity is -1 there is none; where `best` comes out as -1 its
 * table was too large for the GPU. */
typedef struct small_gpu_batch {
  uint32_t count, most_items; /* of a problem */
  const uint32_t *offset;     /* [count + 1] */
  small_gpu_item *item;       /* [offset[count]] which the items left over replace */
  const int32_t *capacity;    /* [count] */
  int64_t *best;              /* [count] out */
  uint8_t *taken;             /* [offset[count]] out */
  small_gpu_rest *rest;       /* [SMALL_GPU_LISTS * count] room */
  uint64_t *counters;         /* [SMALL_GPU_COUNTERS] zeros */
  uint32_t *bits;             /* small_gpu_bit_words() words of room */
} small_gpu_batch;

uint64_t small_gpu_bit_words(const dzo_unit *unit);
dzo_status small_gpu_launch(dzo_unit *unit, int queue, const small_gpu_batch *batch);

/* Those of the problems that the GPU can take: sets taken and best, which come in as -1. */
dzo_status small_gpu_run(knapsack_job *job, const knapsack_smalls *smalls, uint64_t *cells);

#ifdef __cplusplus
}
#endif
#endif
