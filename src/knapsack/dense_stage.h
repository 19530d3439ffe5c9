/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which items of a plan go through the table together: one at a time on the CPU; on the GPU, where
 * levels are one span each and weights lie close together, several in a pass. */
#ifndef DZO_KNAPSACK_DENSE_STAGE_H
#define DZO_KNAPSACK_DENSE_STAGE_H

#include "knapsack/dense_pass.h"
#include "knapsack/dense_plan.h"

typedef struct dense_stage {
  uint32_t level;  /* that it reads; it writes level + items */
  uint32_t items;  /* 1: by segments; more: by the pass */
  uint64_t words;  /* of 64 decisions */
  uint64_t before; /* and of all stages before it */
  dense_pass pass;
} dense_stage;

/* The quickest stage that begins with a level; `before` comes in. unit NULL: for the CPU. Returns
 * the seconds that it takes on the GPU. */
double dense_stage_make(const dense_plan *plan, const dzo_unit *unit, uint32_t level,
                        dense_stage *stage);

#endif
