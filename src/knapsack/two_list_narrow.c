/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of subsets whose sums fit 64 bits. */
#define NUMBER int64_t
#include "knapsack/two_list_keyed.h"

static void part(const two_list_list *list, int64_t *weight, int64_t *value) {
  const state *states = list->states;
  for (uint64_t i = 0; i < list->count; i++) {
    weight[i] = states[i].weight;
    value[i] = states[i].value;
  }
}

const two_list_kind two_list_narrow = {false, sizeof(state), add, scan, part};
