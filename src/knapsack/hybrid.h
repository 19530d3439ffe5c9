/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The hybrid of enumeration and branch and bound: all sets of the first items are handed out, and
 * each is searched below by the same code for one node, on a GPU by one lane. */
#ifndef DZO_KNAPSACK_HYBRID_H
#define DZO_KNAPSACK_HYBRID_H

#include "knapsack/horowitz_sahni.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HYBRID_PIECES = 4, HYBRID_GRAB = 64 };

/* What the lanes share; in device memory. */
typedef struct hybrid_control {
  uint64_t next;  /* the work to be taken next */
  uint64_t left;  /* pieces of work in `left` */
  uint64_t nodes; /* bounds */
  uint64_t best;  /* value that a set has to exceed */
} hybrid_control;

typedef struct hybrid_best {
  int64_t value; /* of the best set that a block found; 0: none */
  uint64_t taken;
} hybrid_best;

/* One launch. All pointers are device memory. */
typedef struct hybrid_launch {
  bool is_short;
  uint32_t items, fixed;
  uint32_t steps;    /* of a warp at most */
  uint32_t patience; /* of them when there is no more work to take, a quarter for few lanes */
  int64_t capacity;
  const void *rows;      /* [items + 2] tree_row_short or _long */
  const tree_work *work; /* what to do; NULL: the sets of the first `fixed` items, by number */
  uint64_t begin, end;   /* of them */
  hybrid_control *control;
  tree_work *left;   /* [hybrid_gpu_left()] what was not done, out */
  hybrid_best *best; /* [blocks] out */
  unsigned blocks;
} hybrid_launch;

unsigned hybrid_gpu_blocks(dzo_unit *unit, bool is_short);
unsigned hybrid_gpu_threads(void);
/* Pieces that a launch leaves over at most. */
uint64_t hybrid_gpu_left(unsigned blocks);
/* Queued on queue 0. */
dzo_status hybrid_gpu_run(dzo_unit *unit, const hybrid_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
