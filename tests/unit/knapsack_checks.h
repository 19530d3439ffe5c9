/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Random knapsack instances, and methods held against the oracle. */
#ifndef DZO_TESTS_KNAPSACK_CHECKS_H
#define DZO_TESTS_KNAPSACK_CHECKS_H

#include "knapsack/method.h"
#include "knapsack_oracle.h"

/* Pisinger's classes and Finkelstein's first, then shapes that are nasty otherwise. */
enum {
  UNCORRELATED,
  WEAK,
  STRONG,
  INVERSE_STRONG,
  ALMOST_STRONG,
  SUBSET_SUM,
  EVEN_ODD_SUBSET_SUM,
  EVEN_ODD,
  SIMILAR_WEIGHTS,
  SPANNER_UNCORRELATED,
  SPANNER_WEAK,
  SPANNER_STRONG,
  MULTIPLE_STRONG,
  PROFIT_CEILING,
  CIRCLE,
  FINKELSTEIN,
  ALL_EQUAL,     /* n times the same item */
  FEW_KINDS,     /* many times each of three items */
  POWERS_OF_TWO, /* value == weight == 2^i: all subsets differ */
  ONE_GIANT,     /* an item as heavy as the capacity, worth a little less than the others */
  ONES,          /* weights of 1 and values of 1 and 2 */
  GREEDY_TRAP,   /* a small item of the best worth keeps the great one out */
  SHAPES
};
extern const char *const knapsack_shape_names[SHAPES];

/* A problem in normal form: capacity at least the greatest weight, less than all weights. */
typedef struct random_knapsack {
  knapsack_problem problem;
  int64_t *values, *weights;
  char name[96]; /* shape, size, range, seed: for messages */
} random_knapsack;

/* `count` at least 2; range 1 .. 2^60. POWERS_OF_TWO has 60 items at most. `part` of `parts` is the
 * capacity as a share of the weights. */
random_knapsack *random_knapsack_make(unsigned shape, uint32_t count, int64_t range, uint64_t seed,
                                      uint64_t part, uint64_t parts);
void random_knapsack_free(random_knapsack *knapsack);

/* A context, NULL where there is no such device; and a job that has all of it and no limits. */
dzo_context *knapsack_context(dzo_device device);
knapsack_job knapsack_unlimited(dzo_context *context);

/* Solve by `method` and fail the test unless set, value and bound are right. optimum < 0: it is not
 * known. Returns false where the method refuses. */
bool knapsack_check_solve(const knapsack_method *method, knapsack_job *job,
                          const random_knapsack *knapsack, knapsack_wide optimum);

/* All shapes, `rounds` times each, with 2 .. most_items items and ranges up to most_range, against
 * the oracle; nothing where there is no such device. Returns how many were not refused. */
uint64_t knapsack_check_method(const knapsack_method *method, dzo_device device,
                               uint32_t most_items, int64_t most_range, unsigned rounds);

/* The limits: a job that is out of time from the start, and one that is cancelled at its n-th look,
 * both of which have to come back with a set that fits and a bound that holds. */
void knapsack_check_stops(const knapsack_method *method, dzo_device device,
                          const random_knapsack *knapsack);

#endif
