/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_KNAPSACK_CORE_STAGES_H
#define DZO_KNAPSACK_CORE_STAGES_H

#include "knapsack/core.h"

/* Solve: best and best_set, where found, are right at the end, whatever it returns; *done where no
 * set is worth more. */
dzo_status core_level_solve(core_level *v, bool *done);

#endif
