/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/dense_reduce.h"

#include "base/memory.h"
#include "knapsack/dense_engine.h"

dzo_status dense_rest_open(dense_rest *rest, dzo_context *context, uint32_t items) {
  *rest = (dense_rest){0};
  rest->item = dzo_alloc(context, items, sizeof *rest->item);
  rest->value = dzo_alloc(context, items, sizeof *rest->value);
  rest->weight = dzo_alloc(context, items, sizeof *rest->weight);
  rest->fixed = dzo_alloc(context, items, 1);
  if (rest->item != NULL && rest->value != NULL && rest->weight != NULL && rest->fixed != NULL)
    return DZO_OK;
  dense_rest_close(rest);
  return DZO_E_MEMORY;
}

void dense_rest_close(dense_rest *rest) {
  dzo_free(rest->item);
  dzo_free(rest->value);
  dzo_free(rest->weight);
  dzo_free(rest->fixed);
  *rest = (dense_rest){0};
}

/* The first item of the order that does not fit behind all before it. */
static uint32_t find_break(const knapsack_problem *p, const uint32_t *order) {
  int64_t left = p->capacity;
  for (uint32_t i = 0; i < p->items; i++) {
    if (p->weight[order[i]] > left)
      return order[i];
    left -= p->weight[order[i]];
  }
  return order[p->items - 1];
}

/* Less than 0: no set is worth more than what is known. Fix items as small_reduce.c does, but also
 * where a decision the other way could only be as good as what is known. Adds up what the items
 * gain over the rate, times its weight. */
static knapsack_wide fix(const knapsack_problem *p, uint32_t at, int64_t known, dense_rest *rest) {
  knapsack_wide value = p->value[at], weight = p->weight[at], gains = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    knapsack_wide gain = p->value[i] * weight - value * p->weight[i];
    gains += gain > 0 ? gain : 0;
  }
  knapsack_wide slack = value * p->capacity + gains - ((knapsack_wide)known + 1) * weight;
  rest->capacity = p->capacity;
  rest->value_fixed = 0;
  rest->items = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    knapsack_wide gain = p->value[i] * weight - value * p->weight[i];
    rest->fixed[i] = gain > slack ? 1 : -gain > slack ? 2 : 0;
    if (rest->fixed[i] == 1) {
      rest->capacity -= p->weight[i];
      rest->value_fixed += p->value[i];
    } else if (rest->fixed[i] == 0) {
      rest->item[rest->items++] = i;
    }
  }
  rest->rate = (double)p->value[at] / (double)p->weight[at];
  knapsack_wide most = -(knapsack_wide)(DENSE_LEAST / 2) * weight;
  rest->narrow = gains < most && slack < most && rest->rate < 1 << 10;
  return slack;
}

/* How little must the items left over weigh, cut or not, to be worth more than what is known? */
static int64_t find_room_left(const knapsack_problem *p, const uint32_t *order, int64_t known,
                              const dense_rest *rest) {
  knapsack_wide wanted = (knapsack_wide)known + 1 - rest->value_fixed;
  if (wanted <= 0)
    return rest->capacity;
  int64_t left = rest->capacity;
  for (uint32_t i = 0; i < p->items; i++) {
    uint32_t item = order[i];
    if (rest->fixed[item] != 0)
      continue;
    if (p->value[item] >= wanted) {
      knapsack_wide part = (wanted * p->weight[item] + p->value[item] - 1) / p->value[item];
      return part > left ? -1 : left - (int64_t)part;
    }
    if (p->weight[item] > left)
      return -1;
    left -= p->weight[item];
    wanted -= p->value[item];
  }
  return -1;
}

/* Heap sort by falling weight, ties by rising number: in place, and n log n always. */
static bool is_before(const knapsack_problem *p, uint32_t a, uint32_t b) {
  return p->weight[a] != p->weight[b] ? p->weight[a] > p->weight[b] : a < b;
}

static void sink(const knapsack_problem *p, uint32_t *item, uint32_t at, uint32_t count) {
  for (;;) {
    uint32_t child = 2 * at + 1, moved = item[at];
    if (child >= count)
      return;
    if (child + 1 < count && is_before(p, item[child], item[child + 1]))
      child++;
    if (is_before(p, item[child], moved))
      return;
    item[at] = item[child];
    item[child] = moved;
    at = child;
  }
}

enum { SORTED = 1 << 14 }; /* items between looks at the clock */

/* Where the job is stopped, each item is still there once, in some order. */
static void sort_by_weight(knapsack_job *job, const knapsack_problem *p, uint32_t *item,
                           uint32_t count) {
  for (uint32_t i = count / 2; i-- > 0;)
    sink(p, item, i, count);
  for (uint32_t end = count; end-- > 1;) {
    if (end % SORTED == 0 && knapsack_must_stop(job))
      return;
    uint32_t last = item[end];
    item[end] = item[0];
    item[0] = last;
    sink(p, item, 0, end);
  }
}

void dense_reduce(knapsack_job *job, const knapsack_problem *problem, const uint32_t *order,
                  int64_t known, dense_rest *rest) {
  rest->room_left = -1;
  if (fix(problem, find_break(problem, order), known, rest) < 0 || rest->capacity < 0)
    return;
  rest->room_left = find_room_left(problem, order, known, rest);
  sort_by_weight(job, problem, rest->item, rest->items);
  for (uint32_t i = 0; i < rest->items; i++) {
    rest->value[i] = problem->value[rest->item[i]];
    rest->weight[i] = problem->weight[rest->item[i]];
  }
}
