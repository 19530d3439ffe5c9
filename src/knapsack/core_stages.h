/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_KNAPSACK_CORE_STAGES_H
#define DZO_KNAPSACK_CORE_STAGES_H

#include "knapsack/core.h"

/* Solve: best, best_set and *bound are right at the end, whatever it returns;
 * best == *bound where it is proved. */
dzo_status core_level_solve(core_level *v, int64_t *bound);

#endif
