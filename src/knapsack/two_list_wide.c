/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of subsets of any sums. */
#define NUMBER knapsack_wide
#include "knapsack/two_list_keyed.h"

const two_list_kind two_list_wide = {false, sizeof(state), add, scan, NULL};
