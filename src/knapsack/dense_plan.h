/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which cells of the table over capacities are worth having. Items are taken in a fixed order;
 * level j has a cell for a weight that some set of the first j items may have and from which the
 * goal, a range of final weights, may be reached with the others. Both are kept as spans of
 * weights, rounded outward where there would be too many. For items of random weights a level is
 * one span; where weights stand in groups, as in the instances of Jooken, Leyman and De Causmaecker
 * (European Journal of Operational Research 301, 2022), the spans are few and short. */
#ifndef DZO_KNAPSACK_DENSE_PLAN_H
#define DZO_KNAPSACK_DENSE_PLAN_H

#include "knapsack/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weights low .. high, in the cells from `at` on of a level's row, which hold values less `base`.
 */
typedef struct dense_span {
  int64_t low, high;
  uint64_t at;
  int64_t base;
} dense_span;

/* Lists of ranges of weights, which one plan after another may use. Begins as zeros. */
typedef struct dense_range {
  int64_t low, high;
} dense_range;
typedef struct dense_ranges {
  dense_range *range;
  uint64_t count, room;
} dense_ranges;
typedef struct dense_room {
  dense_ranges forth, back, ahead;
} dense_room;
void dense_room_free(dense_room *room);

typedef struct dense_plan {
  dzo_context *context;
  dense_room *room;  /* NULL: the plan has its own while it is made */
  knapsack_job *job; /* which may have to stop; NULL: none */
  uint32_t items;
  const int64_t *weight; /* [items] in the table's order */
  const int64_t *value;  /* [items] */
  double rate;           /* the base of a span is about rate * low */
  uint32_t most;         /* spans of a level, about */
  int64_t longest;       /* cells of a span */
  dense_span *span;      /* those of level j: first[j] .. first[j + 1] - 1 */
  uint64_t *first;       /* [items + 2] */
  uint64_t *words;       /* [items + 2] words of 64 decisions before those of level j */
  uint64_t cells;        /* of all levels */
  uint64_t widest;       /* of a level */
  uint64_t widest_spans; /* of a level */
  bool complete;         /* there were not too many cells */
} dense_plan;

/* No level may have more cells than this, whatever the memory. */
#define DENSE_WIDEST ((uint64_t)1 << 40)

/* The plan for a goal of the weights low .. high. Its last level is empty where the goal cannot be
 * reached. Stops as soon as it has more than `enough` cells, a level is too wide, or the job is
 * stopped: it is not complete then, its cells are UINT64_MAX, and its last levels empty. The fields
 * up to `longest` come in. */
dzo_status dense_plan_make(dense_plan *plan, int64_t low, int64_t high, uint64_t enough);
void dense_plan_free(dense_plan *plan);

/* Cells of level j. */
uint64_t dense_plan_width(const dense_plan *plan, uint32_t level);
/* The span of a weight that is in the level. */
const dense_span *dense_plan_find(const dense_plan *plan, uint32_t level, int64_t weight);

/* Cells out .. out + count - 1 of level j + 1 come from those of level j where item j stays out,
 * from `stay` on, and from those where it is taken, from `take` on; DENSE_NOWHERE: from none.
 * Values change by so much on the way. */
#define DENSE_NOWHERE UINT64_MAX
typedef struct dense_segment {
  uint64_t out, stay, take, count;
  int64_t stay_add, take_add;
  uint64_t tile; /* the GPU's: its first one */
} dense_segment;

/* Level j + 1's segments in order; segment[] has room for dense_plan_segments(). */
uint64_t dense_plan_segments(const dense_plan *plan);
uint64_t dense_plan_cut(const dense_plan *plan, uint32_t level, dense_segment *segment);

#ifdef __cplusplus
}
#endif
#endif
