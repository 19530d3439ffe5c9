/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What is left of a problem for the table, once a set is known that has to be beaten. */
#ifndef DZO_KNAPSACK_DENSE_REDUCE_H
#define DZO_KNAPSACK_DENSE_REDUCE_H

#include "knapsack/method.h"

typedef struct dense_rest {
  uint32_t items;
  uint32_t *item; /* [items] in the table's order: by falling weight */
  int64_t *value, *weight;
  int64_t capacity;
  int64_t value_fixed; /* of the items fixed inside: fixed[i] = 1; 2 is outside, 0 in the table */
  uint8_t *fixed;      /* [items of the problem] */
  int64_t room_left;   /* a better set leaves at most so much of the capacity; -1: there is none */
  double rate;         /* value for weight at the break */
  bool narrow;         /* 32 bits hold what is of use */
} dense_rest;

/* Arrays for a problem of so many items. */
dzo_status dense_rest_open(dense_rest *rest, dzo_context *context, uint32_t items);
void dense_rest_close(dense_rest *rest);
/* Look only for sets worth more than `known`. `order` is that of knapsack_sort(). Where the job is
 * stopped, the items of the rest stand in any order. */
void dense_reduce(knapsack_job *job, const knapsack_problem *problem, const uint32_t *order,
                  int64_t known, dense_rest *rest);

#endif
