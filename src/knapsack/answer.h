/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_KNAPSACK_ANSWER_H
#define DZO_KNAPSACK_ANSWER_H

#include "knapsack/plan.h"

struct dzo_knapsack {
  dzo_knapsack_outcome outcome;
  dzo_int128 value, weight, bound;
  uint64_t count;
  uint64_t *items; /* [count] */
  int64_t *copies; /* [count] */
  dzo_device device;
  uint64_t nodes, cells;
  knapsack_record record;
};

/* Sums of what is taken of an instance, from its own numbers. False where they would not fit. */
bool knapsack_sum(const dzo_knapsack_instance *instance, const int64_t *taken, knapsack_wide *value,
                  knapsack_wide *weight);

/* Turn the answer for the problem into one for the instance. Sums are made anew from the items and
 * compared with what the method says: DZO_E_INTERNAL where they differ. */
dzo_status knapsack_answer_make(dzo_context *context, const dzo_knapsack_instance *instance,
                                const knapsack_normal *normal, const knapsack_answer *answer,
                                dzo_knapsack *out);

#endif
