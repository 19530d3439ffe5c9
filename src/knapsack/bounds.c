/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The order of the items by worth, and what follows from it at once: a greedy set and Dantzig's
 * bound (G. B. Dantzig, "Discrete-variable extremum problems", Operations Research 5, 1957). */
#include <string.h>

#include "base/item.h"
#include "base/memory.h"
#include "base/radix.h"
#include "base/random.h"
#include "knapsack/method.h"

enum { INSERTION = 16, RADIX = 4096 };

/* An item, keyed so that no item of a lesser key is worth less of its weight. Items of equal keys
 * are told apart exactly. */
typedef struct ranked {
  uint64_t key, item;
} ranked;

DZO_ITEM bool stands_before(const knapsack_problem *p, ranked a, ranked b) {
  if (a.key != b.key)
    return a.key < b.key;
  knapsack_wide left = (knapsack_wide)p->value[a.item] * p->weight[b.item],
                right = (knapsack_wide)p->value[b.item] * p->weight[a.item];
  return left != right ? left > right : a.item < b.item;
}

/* Quotients of integers below 2^53 are rounded once, so they never rank two items the wrong way
 * round, only alike. For larger ones no key is made. */
static void make_keys(const knapsack_problem *p, ranked *r) {
  bool exact = p->value_max < INT64_C(1) << 53 && p->weight_max < INT64_C(1) << 53;
  for (uint32_t i = 0; i < p->items; i++) {
    r[i] = (ranked){0, i};
    if (exact) {
      double worth = (double)p->value[i] / (double)p->weight[i];
      memcpy(&r[i].key, &worth, sizeof worth);
      r[i].key = ~r[i].key;
    }
  }
}

static void insert(const knapsack_problem *p, ranked *r, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    ranked one = r[i];
    uint64_t at = i;
    for (; at > 0 && stands_before(p, one, r[at - 1]); at--)
      r[at] = r[at - 1];
    r[at] = one;
  }
}

static void merge(const knapsack_problem *p, const ranked *from, uint64_t middle, uint64_t end,
                  ranked *to) {
  uint64_t a = 0, b = middle;
  for (uint64_t k = 0; k < end; k++) {
    bool second = a == middle || (b < end && stands_before(p, from[b], from[a]));
    to[k] = from[second ? b : a];
    b += second;
    a += !second;
  }
}

static bool is_sorted(const knapsack_problem *p, const ranked *r, uint64_t count) {
  for (uint64_t i = 1; i < count; i++)
    if (stands_before(p, r[i], r[i - 1]))
      return false;
  return true;
}

/* Merge sort; `room` is as large as r. */
static void sort(const knapsack_problem *p, ranked *r, uint64_t count, ranked *room) {
  if (is_sorted(p, r, count))
    return;
  for (uint64_t i = 0; i < count; i += INSERTION)
    insert(p, r + i, count - i < INSERTION ? count - i : INSERTION);
  ranked *from = r, *to = room;
  for (uint64_t width = INSERTION; width < count; width *= 2) {
    for (uint64_t i = 0; i < count; i += 2 * width) {
      uint64_t end = count - i < 2 * width ? count - i : 2 * width;
      merge(p, from + i, width < end ? width : end, end, to + i);
    }
    ranked *other = from;
    from = to;
    to = other;
  }
  if (from != r)
    memcpy(r, from, count * sizeof *r);
}

/* Behind the radix sort: items of one key still stand by number. */
static void sort_equals(const knapsack_problem *p, ranked *r, ranked *room) {
  for (uint32_t begin = 0, end; begin < p->items; begin = end) {
    for (end = begin + 1; end < p->items && r[end].key == r[begin].key;)
      end++;
    sort(p, r + begin, end - begin, room);
  }
}

dzo_status knapsack_sort(dzo_context *context, const knapsack_problem *problem, uint32_t *order) {
  uint64_t *records = dzo_alloc(context, problem->items, sizeof(ranked));
  if (records == NULL)
    return DZO_E_MEMORY;
  make_keys(problem, (ranked *)records);
  dzo_status status = DZO_OK;
  bool is_long = problem->items >= RADIX;
  if (is_long)
    status = dzo_radix_sort(context, &records, problem->items, 2, 0, 0, 64, "sort");
  ranked *room = status == DZO_OK ? dzo_alloc(context, problem->items, sizeof *room) : NULL;
  if (status == DZO_OK && room == NULL)
    status = DZO_E_MEMORY;
  if (status == DZO_OK) {
    ranked *r = (ranked *)records;
    if (is_long)
      sort_equals(problem, r, room);
    else
      sort(problem, r, problem->items, room);
    for (uint32_t i = 0; i < problem->items; i++)
      order[i] = (uint32_t)r[i].item;
  }
  dzo_free(room);
  dzo_free(records);
  return status;
}

void knapsack_greedy(const knapsack_problem *problem, const uint32_t *order,
                     knapsack_answer *answer) {
  int64_t left = problem->capacity;
  answer->value = 0;
  for (uint32_t i = 0; i < problem->items; i++) {
    uint32_t item = order[i];
    answer->taken[item] = problem->weight[item] <= left;
    if (answer->taken[item]) {
      left -= problem->weight[item];
      answer->value += problem->value[item];
    }
  }
}

knapsack_wide knapsack_dantzig(const knapsack_problem *problem, const uint32_t *order) {
  int64_t left = problem->capacity;
  knapsack_wide value = 0;
  for (uint32_t i = 0; i < problem->items; i++) {
    uint32_t item = order[i];
    if (problem->weight[item] > left)
      return value + (knapsack_wide)left * problem->value[item] / problem->weight[item];
    left -= problem->weight[item];
    value += problem->value[item];
  }
  return value;
}

/* ---- Without sorting ------------------------------------------------------------------------- */

/* Order items lo .. hi - 1 around one of them, which then stands at the place that is returned;
 * *weight is that of all before it. */
static uint32_t part(const knapsack_problem *p, uint32_t *order, uint32_t lo, uint32_t hi,
                     knapsack_wide *weight) {
  uint32_t middle = lo + (uint32_t)(dzo_random_word(hi, lo) % (hi - lo)), pivot = order[middle];
  order[middle] = order[hi - 1];
  order[hi - 1] = pivot;
  uint32_t at = lo;
  *weight = 0;
  for (uint32_t i = lo; i + 1 < hi; i++) {
    uint32_t item = order[i];
    if (!stands_before(p, (ranked){0, item}, (ranked){0, pivot}))
      continue;
    order[i] = order[at];
    order[at++] = item;
    *weight += p->weight[item];
  }
  order[hi - 1] = order[at];
  order[at] = pivot;
  return at;
}

/* Where the break item stands: it and all before it are too heavy. Each step looks for it on one
 * side of some item, so that all of them take O(items) on average (E. Balas, E. Zemel,
 * "An algorithm for large zero-one knapsack problems", Operations Research 28, 1980). */
static uint32_t find_break(const knapsack_problem *p, uint32_t *order, int64_t *left) {
  uint32_t lo = 0, hi = p->items;
  *left = p->capacity;
  while (hi - lo > 1) {
    knapsack_wide weight;
    uint32_t middle = part(p, order, lo, hi, &weight);
    if (weight > *left) {
      hi = middle;
      continue;
    }
    if (weight + p->weight[order[middle]] > *left) {
      *left -= (int64_t)weight;
      return middle;
    }
    *left -= (int64_t)weight + p->weight[order[middle]];
    lo = middle + 1;
  }
  return lo;
}

void knapsack_quick(const knapsack_problem *problem, uint32_t *order, knapsack_answer *answer) {
  for (uint32_t i = 0; i < problem->items; i++)
    order[i] = i;
  int64_t left;
  uint32_t at = find_break(problem, order, &left), item = order[at];
  answer->value = 0;
  for (uint32_t i = 0; i < at; i++) {
    answer->taken[order[i]] = 1;
    answer->value += problem->value[order[i]];
  }
  answer->bound =
      answer->value + (knapsack_wide)left * problem->value[item] / problem->weight[item];
  for (uint32_t i = at; i < problem->items; i++) {
    item = order[i];
    answer->taken[item] = problem->weight[item] <= left;
    if (answer->taken[item]) {
      left -= problem->weight[item];
      answer->value += problem->value[item];
    }
  }
}
