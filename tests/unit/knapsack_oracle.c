/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack_oracle.h"

#include <stdlib.h>

enum { MOST = 36 };

typedef struct pair {
  oracle_wide weight, value;
} pair;

/* One entry for each copy. */
static uint32_t spread(uint32_t count, const int64_t *values, const int64_t *weights,
                       const int64_t *copies, pair *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++)
    for (int64_t c = 0; c < (copies != NULL ? copies[i] : 1); c++) {
      if (n == MOST)
        abort(); /* the test is wrong */
      out[n++] = (pair){weights[i], values[i]};
    }
  return n;
}

/* ---- Every set ------------------------------------------------------------------------------- */

static void try_all(const pair *items, uint32_t left, oracle_wide weight, oracle_wide value,
                    oracle_wide capacity, bool *any, oracle_wide *best) {
  if (left > 0) {
    try_all(items + 1, left - 1, weight, value, capacity, any, best);
    try_all(items + 1, left - 1, weight + items->weight, value + items->value, capacity, any, best);
  } else if (weight <= capacity && (!*any || value > *best)) {
    *any = true;
    *best = value;
  }
}

bool knapsack_oracle_all(uint32_t count, const int64_t *values, const int64_t *weights,
                         const int64_t *copies, oracle_wide capacity, oracle_wide *best) {
  pair items[MOST];
  uint32_t n = spread(count, values, weights, copies, items);
  bool any = false;
  try_all(items, n, 0, 0, capacity, &any, best);
  return any;
}

/* ---- Halves ---------------------------------------------------------------------------------- */

/* All sums of the items, by rising weight. */
static pair *all_sums(const pair *items, uint32_t n) {
  pair *sums = malloc(sizeof *sums << n), *next = malloc(sizeof *sums << n);
  if (sums == NULL || next == NULL)
    abort();
  sums[0] = (pair){0, 0};
  for (uint32_t i = 0; i < n; i++) {
    size_t old = (size_t)1 << i, without = 0, with = 0;
    for (size_t k = 0; k < 2 * old; k++) {
      bool add = without == old ||
                 (with < old && sums[with].weight + items[i].weight < sums[without].weight);
      const pair *from = add ? &sums[with++] : &sums[without++];
      next[k] = add ? (pair){from->weight + items[i].weight, from->value + items[i].value} : *from;
    }
    pair *other = sums;
    sums = next;
    next = other;
  }
  free(next);
  return sums;
}

bool knapsack_oracle_halves(uint32_t count, const int64_t *values, const int64_t *weights,
                            const int64_t *copies, oracle_wide capacity, oracle_wide *best) {
  pair items[MOST];
  uint32_t n = spread(count, values, weights, copies, items), half = n / 2;
  pair *left = all_sums(items, half), *right = all_sums(items + half, n - half);
  size_t lefts = (size_t)1 << half, rights = (size_t)1 << (n - half), at = 0;
  bool any = false;
  oracle_wide richest = 0; /* of right[0 .. at) */
  for (size_t k = lefts; k-- > 0;) {
    for (; at < rights && left[k].weight + right[at].weight <= capacity; at++)
      if (at == 0 || right[at].value > richest)
        richest = right[at].value;
    if (at > 0 && (!any || left[k].value + richest > *best)) {
      any = true;
      *best = left[k].value + richest;
    }
  }
  free(left);
  free(right);
  return any;
}

/* ---- Table ----------------------------------------------------------------------------------- */

bool knapsack_oracle_table(uint32_t count, const int64_t *values, const int64_t *weights,
                           int64_t capacity, oracle_wide *best) {
  if (capacity < 0)
    return false;
  int64_t *table = calloc((size_t)capacity + 1, sizeof *table);
  if (table == NULL)
    abort();
  for (uint32_t i = 0; i < count; i++)
    for (int64_t c = capacity; c >= weights[i]; c--) {
      int64_t with = table[c - weights[i]] + values[i];
      if (with > table[c])
        table[c] = with;
    }
  *best = table[capacity];
  free(table);
  return true;
}

oracle_wide knapsack_oracle(uint32_t count, const int64_t *values, const int64_t *weights,
                            int64_t capacity) {
  oracle_wide best = -1;
  if (count <= MOST)
    (void)knapsack_oracle_halves(count, values, weights, NULL, capacity, &best);
  else if ((oracle_wide)count * capacity <= INT64_C(4000000000))
    (void)knapsack_oracle_table(count, values, weights, capacity, &best);
  return best;
}
