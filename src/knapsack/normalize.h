/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From any instance to the normal form, and back. */
#ifndef DZO_KNAPSACK_NORMALIZE_H
#define DZO_KNAPSACK_NORMALIZE_H

#include "knapsack/method.h"

/* What is decided beforehand, and the problem that is left. With u copies of item i taken from the
 * start (`begun`), taking item k of the problem means `multiple[k]` more of item from[k]; fewer
 * where that is negative. */
typedef struct knapsack_normal {
  knapsack_problem problem; /* of 0 items where nothing is left to decide */
  bool infeasible;          /* even the lightest set is too heavy */
  bool is_wide; /* some number is beyond int64_t: problem.value and .weight are to be read as
                 * uint64_t, and the capacity is this one */
  knapsack_wide wide_capacity;
  uint64_t *value, *weight;              /* [items]; NULL: the problem borrows the instance's */
  uint32_t *from;                        /* [items]; NULL: item k is item k */
  int64_t *multiple;                     /* [items]; NULL: one each */
  int64_t *begun;                        /* [count]; NULL: none */
  knapsack_wide value_base, value_scale; /* value of a set: base + scale * that in the problem */
} knapsack_normal;

/* DZO_E_ARGUMENT, naming the item; DZO_E_UNSUPPORTED where sums would not fit 128 bits, or copies
 * make too many items; DZO_E_MEMORY; DZO_E_LIMIT or DZO_E_CANCELLED where the job has to stop. */
dzo_status knapsack_normalize(knapsack_job *job, const dzo_knapsack_instance *instance,
                              knapsack_normal *out);
void knapsack_normal_free(knapsack_normal *normal);

/* The same where nothing at all has to be done but for greatest common divisors, which are left in
 * place: true if all values are positive and all weights between 1 and the capacity, there is one
 * copy of each, and not all items fit. The problem borrows the arrays. For batches. */
bool knapsack_is_normal(uint64_t count, const int64_t *values, const int64_t *weights,
                        const int64_t *copies, int64_t capacity, knapsack_problem *problem);

/* Copies taken of each item, out [count], from what is taken in the problem. */
void knapsack_expand(const knapsack_normal *normal, uint64_t count, const uint8_t *taken,
                     int64_t *out);

#endif
