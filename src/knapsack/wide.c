/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One list of states, each heavier and better than the one before (G. L. Nemhauser, Z. Ullmann,
 * "Discrete dynamic programming and capital allocation", Management Science 15, 1969), in 128 bits.
 */
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
  answer->value = l->states[at].value;
  answer->nodes = l->count;
  for (; at != 0; at = l->states[at].parent)
    answer->taken[l->states[at].item] = 1;
}

static dzo_status cut_short(lists *l) {
  dzo_context *context = l->job->context;
  if (!knapsack_must_stop(l->job))
    return dzo_fail(context, DZO_E_LIMIT, "the memory does not suffice to find the optimum");
  if (l->job->stopped == KNAPSACK_CANCELLED)
    return dzo_fail(context, DZO_E_CANCELLED, "cancelled");
  return dzo_fail(context, DZO_E_LIMIT, "the time limit was reached");
}

dzo_status knapsack_wide_solve(knapsack_job *job, const knapsack_normal *normal,
                               knapsack_answer *answer) {
  lists l = {.job = job, .normal = normal};
  dzo_status status = grow(&l) ? DZO_OK : DZO_E_MEMORY;
  if (status == DZO_OK) {
    l.states[0] = (state){0};
    l.now[0] = 0;
    l.count = l.now_count = 1;
    uint32_t item = 0;
    while (item < normal->problem.items && !knapsack_must_stop(job) && add_item(&l, item))
      item++;
    take(&l, answer);
    if (item == normal->problem.items)
      answer->bound = answer->value;
    else
      status = cut_short(&l);
  }
  dzo_free(l.states);
  dzo_free(l.now);
  dzo_free(l.next);
  return status;
}
