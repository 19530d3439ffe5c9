/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The two GPU methods of the thesis that this engine set out from, kept to be measured against,
 * written anew after its description: brute force by a thread for each subset, which adds up its
 * items bit by bit, and of whose block the best is found in shared memory; and the hybrid that
 * enumerates the first ten items over 1,024 threads, each of which searches below by Horowitz and
 * Sahni with an incumbent of its own, going through the whole set at each node. Otherwise than
 * there, numbers are integers, and n is no constant. */
#ifndef DZO_KNAPSACK_SEED_H
#define DZO_KNAPSACK_SEED_H

#include "knapsack/method.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SEED_ITEMS = 35, SEED_FIXED = 10 };

typedef struct knapsack_seed_answer {
  int64_t value;
  uint64_t taken; /* a bit for each item */
} knapsack_seed_answer;

/* At most SEED_ITEMS items, all sums below 2^31, else DZO_E_UNSUPPORTED; one launch of any length.
 * DZO_E_MEMORY, DZO_E_DEVICE. */
dzo_status knapsack_seed_brute_force(dzo_unit *unit, const knapsack_problem *problem,
                                     knapsack_seed_answer *answer);
dzo_status knapsack_seed_hybrid(dzo_unit *unit, const knapsack_problem *problem,
                                knapsack_seed_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
