/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The choice of a method, and of the next one where it was wrong. */
#ifndef DZO_KNAPSACK_PLAN_H
#define DZO_KNAPSACK_PLAN_H

#include "knapsack/normalize.h"

enum { KNAPSACK_PLAN_TEXT = 384 };

/* Who did it, and how it came to that. */
typedef struct knapsack_record {
  dzo_knapsack_algorithm algorithm;
  char plan[KNAPSACK_PLAN_TEXT];
} knapsack_record;

/* Solve what is left to decide, by `algorithm` or whatever suits. `job` is the call's, with all the
 * devices and memory that it has. The answer comes in with room for what is taken, else unset.
 * DZO_OK: optimal. DZO_E_LIMIT, DZO_E_CANCELLED: the answer holds, the message says what happened.
 * DZO_E_UNSUPPORTED, DZO_E_MEMORY, DZO_E_INTERNAL: no answer. */
dzo_status knapsack_plan_run(knapsack_job *job, const knapsack_normal *normal,
                             dzo_knapsack_algorithm algorithm, knapsack_answer *answer,
                             knapsack_record *record);

/* Does small.h solve it, where nobody asks for a method? */
bool knapsack_is_small(const knapsack_problem *problem);

/* wide.c: problems whose numbers are beyond 64 bits, which only instances with negative weights
 * become. Lists of states in 128 bits; as good as the memory allows. */
dzo_status knapsack_wide_solve(knapsack_job *job, const knapsack_normal *normal,
                               knapsack_answer *answer);

#endif
