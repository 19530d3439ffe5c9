/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table over the capacities: its parts. */
#ifndef DZO_KNAPSACK_DENSE_H
#define DZO_KNAPSACK_DENSE_H

#include "knapsack/dense_engine.h"
#include "knapsack/dense_reduce.h"

/* The plan for sets of `rest` that are worth more than what it was made for. */
dzo_status dense_rest_plan(knapsack_job *job, const dense_rest *rest, uint32_t spans,
                           uint64_t enough, dense_room *room, dense_plan *plan);
/* Seconds that it takes on the CPU, on the GPU. */
double dense_seconds(const dense_plan *plan, const knapsack_job *job, bool gpu);
/* Bytes of rows; decisions come on top. */
uint64_t dense_row_bytes(const dense_plan *plan, bool wide);

/* Fill the table of a plan for `rest`. Where its best set is worth more than *value, without the
 * items fixed, *value and chosen[rest->items] become that set. *found: was it? Where the job was
 * stopped, not. */
dzo_status dense_fill(knapsack_job *job, const dense_rest *rest, dense_plan *plan, int64_t *value,
                      uint8_t *chosen, bool *found, knapsack_answer *answer);

#endif
