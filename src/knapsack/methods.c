/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/method.h"

/* One line a method, in the order in which equal estimates are preferred. */
static const knapsack_method *const methods[] = {
    &knapsack_brute_force,
    &knapsack_horowitz_sahni,
    &knapsack_hybrid,
    &knapsack_core,
    &knapsack_two_list,
    &knapsack_dense,
    NULL,
};

const knapsack_method *knapsack_method_of(dzo_knapsack_algorithm algorithm) {
  for (size_t i = 0; methods[i] != NULL; i++)
    if (methods[i]->algorithm == algorithm)
      return methods[i];
  return NULL;
}

static const char *const names[] = {
    [DZO_KNAPSACK_AUTO] = "auto",
    [DZO_KNAPSACK_BRUTE_FORCE] = "brute-force",
    [DZO_KNAPSACK_HOROWITZ_SAHNI] = "horowitz-sahni",
    [DZO_KNAPSACK_HYBRID] = "hybrid",
    [DZO_KNAPSACK_CORE] = "core",
    [DZO_KNAPSACK_DENSE] = "dense",
    [DZO_KNAPSACK_TWO_LIST] = "two-list",
};

const char *dzo_knapsack_algorithm_name(dzo_knapsack_algorithm algorithm) {
  size_t number = (size_t)algorithm;
  return number < sizeof names / sizeof *names ? names[number] : NULL;
}
