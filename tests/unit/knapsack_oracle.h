/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The slow, plain, exact ways to the best value of a knapsack, which share nothing with the
 * engine. Values and weights may be negative; sums are of 128 bits. */
#ifndef DZO_TESTS_KNAPSACK_ORACLE_H
#define DZO_TESTS_KNAPSACK_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 oracle_wide;

/* All of them: false where no set fits. copies NULL: one of each. */

/* Every set, one by one. For 20 items or fewer, copies counted. */
bool knapsack_oracle_all(uint32_t count, const int64_t *values, const int64_t *weights,
                         const int64_t *copies, oracle_wide capacity, oracle_wide *best);
/* Two halves, all sums of each. For 36 items or fewer, copies counted. */
bool knapsack_oracle_halves(uint32_t count, const int64_t *values, const int64_t *weights,
                            const int64_t *copies, oracle_wide capacity, oracle_wide *best);
/* A table over all capacities, for weights of at least 0. Takes count * capacity steps. */
bool knapsack_oracle_table(uint32_t count, const int64_t *values, const int64_t *weights,
                           int64_t capacity, oracle_wide *best);
/* The one of them that can: -1 where none can. All weights and values of at least 0. */
oracle_wide knapsack_oracle(uint32_t count, const int64_t *values, const int64_t *weights,
                            int64_t capacity);

#endif
