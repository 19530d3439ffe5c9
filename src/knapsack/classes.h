/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The names of dzo_knapsack_class, in its order: for dzo_knapsack_class_name(), and for the
 * program, which needs them as a list of choices. */
#ifndef DZO_KNAPSACK_CLASSES_H
#define DZO_KNAPSACK_CLASSES_H

#define KNAPSACK_CLASS_NAMES                                                                       \
  "uncorrelated", "weakly-correlated", "strongly-correlated", "inverse-strongly-correlated",       \
      "almost-strongly-correlated", "subset-sum", "even-odd-subset-sum", "even-odd",               \
      "similar-weights", "spanner-uncorrelated", "spanner-weakly-correlated",                      \
      "spanner-strongly-correlated", "multiple-strongly-correlated", "profit-ceiling", "circle",   \
      "finkelstein"

#endif
