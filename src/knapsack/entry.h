/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the two entries, for one instance and for many, share. */
#ifndef DZO_KNAPSACK_ENTRY_H
#define DZO_KNAPSACK_ENTRY_H

#include "knapsack/answer.h"

/* Options with the defaults filled in, or DZO_E_ARGUMENT. */
dzo_status knapsack_read_options(dzo_context *context, const dzo_knapsack_options *given,
                                 dzo_knapsack_options *out);

/* The devices, the memory and the time of a call; `job` borrows the options. */
knapsack_job knapsack_job_of(dzo_context *context, const dzo_knapsack_options *options);

/* Solve one instance that was checked. *out is set with DZO_OK, DZO_E_LIMIT and DZO_E_CANCELLED. */
dzo_status knapsack_solve_one(knapsack_job *job, const dzo_knapsack_instance *instance,
                              dzo_knapsack **out);

#endif
