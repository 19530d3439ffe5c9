/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The yardstick of the knapsack benchmarks: dynamic programming outward from the break item as
 * D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations Research 45, 1997
 * describes it, one thread, without the stages and further bounds of later codes. Part of the
 * program, not of the library. */
#ifndef DZO_BENCH_TEXTBOOK_CORE_H
#define DZO_BENCH_TEXTBOOK_CORE_H

#include <stdbool.h>

#include "dzo/context.h"

/* Items of value and weight at least 1, each of at most the capacity, and heavier than it together;
 * sums of products value * weight below 2^63. *best is the value of the best set found (the set
 * itself is not kept), *proved whether `seconds` were enough to know that it is optimal, *states
 * how many were made. DZO_E_MEMORY. */
dzo_status textbook_core(dzo_context *context, uint32_t items, const int64_t *value,
                         const int64_t *weight, int64_t capacity, double seconds, int64_t *best,
                         bool *proved, uint64_t *states);

#endif
