/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Instances of at most DZO_KNAPSACK_SMALL cells, alone or by the million. They have one answer on
 * every device: of all optimal sets the one that leaves out the last item if any does, then the one
 * before it, and so on. A reduction may fix an item only where every optimal set agrees (its bound
 * the other way is strictly less than a known value). */
#ifndef DZO_KNAPSACK_SMALL_H
#define DZO_KNAPSACK_SMALL_H

#include "knapsack/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Problems in normal form, one behind another: items of problem i are offsets[i] ..
 * offsets[i + 1] - 1. All are narrow, and (items) * (capacity + 1) <= DZO_KNAPSACK_SMALL. */
typedef struct knapsack_smalls {
  uint64_t count;
  const uint64_t *offsets; /* [count + 1] */
  const int64_t *value;
  const int64_t *weight;
  const int64_t *capacity; /* [count] */
  uint8_t *taken;          /* [offsets[count]] out */
  int64_t *best;           /* [count] out: the optimal value; -1 where the job was stopped before */
} knapsack_smalls;

/* On the CPU, one problem; `room` is workspace of knapsack_small_room() bytes, any alignment of
 * 64. Cells done are added to *cells. */
uint64_t knapsack_small_room(void);
void knapsack_small_solve(const knapsack_problem *problem, void *room, uint8_t *taken,
                          int64_t *best, uint64_t *cells);
/* All of them, by the CPU's threads, by the GPU, or by both, as the job says. */
dzo_status knapsack_small_run(knapsack_job *job, const knapsack_smalls *smalls, uint64_t *cells,
                              dzo_device *device);

#ifdef __cplusplus
}
#endif
#endif
