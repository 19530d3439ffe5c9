/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One list of states, each heavier and better than the one before (G. L. Nemhauser, Z. Ullmann,
 * "Discrete dynamic programming and capital allocation", Management Science 15, 1969), in 128 bits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/plan.h"

/* A set of items: `parent` and `item`; the first is the empty one. */
typedef struct state {
  knapsack_wide weight, value;
  uint32_t parent, item;
} state;

/* All states that were ever made, and the numbers of those that count, by rising weight. */
typedef struct lists {
  knapsack_job *job;
  const knapsack_normal *normal;
  state *states;
  uint32_t *now, *next;
  uint64_t count, room; /* of states */
  uint32_t now_count, next_count;
} lists;

static bool grow(lists *l) {
  dzo_context *context = l->job->context;
  uint64_t room = l->room < 1024 ? 1024 : 2 * l->room;
  if (room > UINT32_MAX || room * (sizeof(state) + 2 * sizeof(uint32_t)) > l->job->memory)
    return false;
  state *states = dzo_realloc(context, l->states, room, sizeof *states);
  l->states = states != NULL ? states : l->states;
  uint32_t *now = states != NULL ? dzo_realloc(context, l->now, room, sizeof *now) : NULL;
  l->now = now != NULL ? now : l->now;
  uint32_t *next = now != NULL ? dzo_realloc(context, l->next, room, sizeof *next) : NULL;
  l->next = next != NULL ? next : l->next;
  l->room = next != NULL ? room : l->room;
  return next != NULL;
}

/* Is it better than all that are not heavier? Those before it in the list are lighter. */
static bool counts(const lists *l, knapsack_wide value) {
  return l->next_count == 0 || value > l->states[l->next[l->next_count - 1]].value;
}

static bool add_item(lists *l, uint32_t item) {
  const uint64_t *w = (const uint64_t *)l->normal->problem.weight,
                 *v = (const uint64_t *)l->normal->problem.value;
  knapsack_wide weight = (knapsack_wide)w[item], value = (knapsack_wide)v[item];
  uint32_t old = 0, with = 0;
  l->next_count = 0;
  while (old < l->now_count || with < l->now_count) {
    state a = old < l->now_count ? l->states[l->now[old]] : (state){0};
    state b = l->states[l->now[with < l->now_count ? with : 0]];
    b.weight += weight;
    b.value += value;
    bool b_fits = with < l->now_count && b.weight <= l->normal->wide_capacity;
    if (!b_fits)
      with = l->now_count;
    if (old < l->now_count &&
        (!b_fits || a.weight < b.weight || (a.weight == b.weight && a.value >= b.value))) {
      if (counts(l, a.value))
        l->next[l->next_count++] = l->now[old];
      old++;
    } else if (b_fits) {
      if (counts(l, b.value)) {
        if (l->count == l->room && !grow(l))
          return false;
        l->states[l->count] = (state){b.weight, b.value, l->now[with], item};
        l->next[l->next_count++] = (uint32_t)l->count++;
      }
      with++;
    }
    if (((old + with) & 0xffff) == 0 && knapsack_must_stop(l->job))
      return false;
  }
  uint32_t *other = l->now;
  l->now = l->next;
  l->next = other;
  l->now_count = l->next_count;
  return true;
}

/* The last state is the best; the list is whole after each item. */
static void take(const lists *l, knapsack_answer *answer) {
  uint32_t at = l->now[l->now_count - 1];
  answer->nodes = l->count;
  if (l->states[at].value <= answer->value)
    return;
  answer->value = l->states[at].value;
  memset(answer->taken, 0, l->normal->problem.items);
  for (; at != 0; at = l->states[at].parent)
    answer->taken[l->states[at].item] = 1;
}

/* ---- What is had at once --------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 product;

typedef struct ranked {
  uint64_t value, weight;
  uint32_t item;
} ranked;

static int by_worth(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  product left = (product)x->value * y->weight, right = (product)y->value * x->weight;
  if (left != right)
    return left > right ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

/* The greedy set, and Dantzig's bound: the first item that does not fit is cut. */
static void be_greedy(const knapsack_normal *normal, const ranked *r, knapsack_answer *answer) {
  knapsack_wide left = normal->wide_capacity;
  bool cut = false;
  for (uint32_t i = 0; i < normal->problem.items; i++) {
    if ((knapsack_wide)r[i].weight <= left) {
      left -= (knapsack_wide)r[i].weight;
      answer->value += (knapsack_wide)r[i].value;
      answer->taken[r[i].item] = 1;
    } else if (!cut) { /* what is left is less than its weight, so 128 bits do */
      answer->bound =
          answer->value + (knapsack_wide)((product)left * r[i].value / (product)r[i].weight);
      cut = true;
    }
  }
}

/* For when the lists outgrow the time or the memory; where this does, there is nothing. */
static void begin(const knapsack_job *job, const knapsack_normal *normal, knapsack_answer *answer) {
  uint32_t items = normal->problem.items;
  const uint64_t *w = (const uint64_t *)normal->problem.weight,
                 *v = (const uint64_t *)normal->problem.value;
  if (items > job->memory / sizeof(ranked))
    return;
  ranked *r = dzo_alloc(job->context, items, sizeof *r);
  if (r == NULL)
    return;
  for (uint32_t i = 0; i < items; i++)
    r[i] = (ranked){v[i], w[i], i};
  qsort(r, items, sizeof *r, by_worth);
  be_greedy(normal, r, answer);
  dzo_free(r);
}

static dzo_status cut_short(lists *l) {
  dzo_context *context = l->job->context;
  if (!knapsack_must_stop(l->job))
    return dzo_fail(context, DZO_E_LIMIT, "the memory does not suffice to find the optimum");
  if (l->job->stopped == KNAPSACK_CANCELLED)
    return dzo_fail(context, DZO_E_CANCELLED, "cancelled");
  return dzo_fail(context, DZO_E_LIMIT, "the time limit was reached");
}

static dzo_status run(lists *l, knapsack_answer *answer) {
  uint32_t items = l->normal->problem.items, item = 0;
  if (!grow(l))
    return DZO_E_MEMORY;
  l->states[0] = (state){0};
  l->now[0] = 0;
  l->count = l->now_count = 1;
  while (item < items && !knapsack_must_stop(l->job) && add_item(l, item))
    item++;
  take(l, answer);
  if (item == items)
    answer->bound = answer->value;
  return answer->value == answer->bound ? DZO_OK : cut_short(l);
}

dzo_status knapsack_wide_solve(knapsack_job *job, const knapsack_normal *normal,
                               knapsack_answer *answer) {
  lists l = {.job = job, .normal = normal};
  begin(job, normal, answer);
  dzo_status status = answer->value == answer->bound ? DZO_OK : run(&l, answer);
  dzo_free(l.states);
  dzo_free(l.now);
  dzo_free(l.next);
  return status;
}
