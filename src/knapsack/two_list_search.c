/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Both lists grow in turns, the shorter one first, until all items are in one or there is reason to
 * stop: no memory, a GPU that goes on faster, or (where value is weight) so many pairs that some of
 * them must weigh what is wanted. Items that are then in no list are chosen one way and the other,
 * with a walk over both lists for each choice. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "knapsack/two_list.h"

/* ---- What adding an item has in common ------------------------------------------------------- */

uint64_t two_list_cut(uint64_t all, uint64_t *chunk) {
  while (all / *chunk >= TWO_LIST_CHUNKS)
    *chunk *= 2;
  return (all + *chunk - 1) / *chunk;
}

void two_list_grown(two_list_run *run, int which, size_t bytes, const uint64_t *kept,
                    uint64_t chunk, uint64_t chunks) {
  two_list_list *list = &run->list[which];
  uint64_t count = chunks > 0 ? kept[0] : 0;
  char *states = run->spare.states;
  for (uint64_t c = 1; c < chunks; c++) {
    if (count != c * chunk)
      memmove(states + count * bytes, states + c * chunk * bytes, kept[c] * bytes);
    count += kept[c];
  }
  two_list_list grown = {states, count, run->spare.room, list->items + 1};
  run->spare = (two_list_list){list->states, 0, list->room, 0};
  *list = grown;
}

enum { LEAST_ROOM = 64, FEW_CHOICES = 64, FIRST_CHOICES = 4, FIRST_SUBSETS = 1 << 10 };
#define BETWEEN_REPORTS .02 /* seconds */

bool two_list_must_stop(two_list_run *run) {
  return run->until != 0 ? dzo_clock() >= run->until : knapsack_must_stop(run->job);
}

/* In units of what is maximized, to those of values. */
static knapsack_wide value_of(const two_list_run *run, knapsack_wide sum) {
  const knapsack_problem *p = run->problem;
  return run->kind->sums ? sum * p->value[0] / p->weight[0] : sum;
}

bool two_list_report(two_list_run *run) {
  double now = dzo_clock();
  if (!run->top || now < run->reported + BETWEEN_REPORTS)
    return two_list_must_stop(run);
  run->reported = now;
  return knapsack_report(run->job, DZO_KNAPSACK_TWO_LIST, value_of(run, run->best),
                         value_of(run, run->goal));
}

/* ---- What is known --------------------------------------------------------------------------- */

void two_list_claim_one(two_list_run *run, int which, int64_t weight, uint32_t others,
                        knapsack_wide value) {
  two_list_claim *claim = &run->claim;
  uint8_t side = which == 0 ? TWO_LIST_FIRST : TWO_LIST_SECOND;
  for (uint32_t i = 0; i < run->problem->items; i++)
    claim->place[i] = run->place[i] == side ? side : TWO_LIST_OUT;
  for (uint32_t k = 0; k < others; k++)
    claim->place[run->other[k]] = TWO_LIST_IN;
  claim->weight[which] = weight;
  claim->weight[1 - which] = 0;
  claim->open = true;
  run->best = value;
}

void two_list_claim_pair(two_list_run *run, const uint8_t *place, const int64_t weight[2],
                         knapsack_wide value) {
  memcpy(run->claim.place, place, run->problem->items);
  run->claim.weight[0] = weight[0];
  run->claim.weight[1] = weight[1];
  run->claim.open = true;
  run->best = value;
}

/* ---- Growing --------------------------------------------------------------------------------- */

/* The items that are not in the list, by falling worth. */
static void sum_others(two_list_run *run, int which) {
  const knapsack_problem *p = run->problem;
  uint8_t side = which == 0 ? TWO_LIST_FIRST : TWO_LIST_SECOND;
  knapsack_wide weight = 0, value = 0;
  uint32_t others = 0;
  for (uint32_t k = 0; k < p->items; k++) {
    uint32_t item = run->order[k];
    if (run->place[item] == side)
      continue;
    run->other[others] = item;
    weight += p->weight[item];
    value += p->value[item];
    run->other_weight[++others] = weight;
    run->other_value[others] = value;
  }
  run->others = others;
}

static uint64_t list_bytes(const two_list_run *run) {
  return (run->list[0].room + run->list[1].room + run->spare.room) * run->kind->state;
}

/* Room in run->spare for a list that may double. DZO_E_LIMIT where that is more than the job's
 * memory. */
static dzo_status make_room(two_list_run *run, uint64_t count) {
  if (run->spare.room >= 2 * count)
    return DZO_OK;
  uint64_t room = 2 * count < LEAST_ROOM ? LEAST_ROOM : 2 * count;
  uint64_t other = list_bytes(run) - run->spare.room * run->kind->state;
  if (other > run->memory || room > (run->memory - other) / run->kind->state)
    return DZO_E_LIMIT;
  dzo_free(run->spare.states);
  run->spare = (two_list_list){0};
  run->spare.states = dzo_alloc(run->job->context, room, run->kind->state);
  if (run->spare.states == NULL)
    return DZO_E_MEMORY;
  run->spare.room = room;
  return DZO_OK;
}

/* The shorter list; but none gets so many items that its part would not be smaller than the
 * whole, since it is solved again for the items of the answer. */
static int next_list(const two_list_run *run) {
  const two_list_list *list = run->list;
  int which = list[1].count < list[0].count;
  uint64_t most = 2 * (uint64_t)run->problem->items / 3;
  return list[which].items + 1 > (most < 1 ? 1 : most) ? 1 - which : which;
}

static dzo_status begin_lists(two_list_run *run) {
  for (int i = 0; i < 2; i++) {
    two_list_list *list = &run->list[i];
    list->states = dzo_calloc(run->job->context, LEAST_ROOM, run->kind->state);
    if (list->states == NULL)
      return DZO_E_MEMORY;
    list->room = LEAST_ROOM;
    list->count = 1;
  }
  return DZO_OK;
}

/* A normal distribution of all pairs' weights is close, however the items are. */
double two_list_density(const two_list_run *run, double first, double second) {
  double variance = 0;
  for (uint32_t i = 0; i < run->joined; i++) {
    double weight = (double)run->problem->weight[run->queue[i]];
    variance += weight * weight / 4;
  }
  return first * second * (double)run->step / (2.5 * sqrt(variance) + 1);
}

static bool is_dense(const two_list_run *run, double hits) {
  return run->kind->sums && run->joined > 0 &&
         two_list_density(run, (double)run->list[0].count, (double)run->list[1].count) >= hits;
}

static dzo_status walk(two_list_run *run, uint64_t most, bool *all);

/* Where value is weight nothing is found while the lists grow: look once when they are short, so
 * that there is a good set if the time is up. */
static dzo_status look_early(two_list_run *run) {
  bool all;
  if (!run->kind->sums || run->looked || run->list[0].count < FIRST_SUBSETS)
    return DZO_OK;
  run->looked = true;
  return walk(run, FIRST_CHOICES, &all);
}

/* Let items join until one of the reasons to stop. */
static dzo_status grow(two_list_run *run, double hits, bool *full) {
  *full = false;
  while (run->joined < run->problem->items && run->best < run->goal && !is_dense(run, hits)) {
    int which = next_list(run);
    two_list_list *list = &run->list[which];
    if (two_list_gpu_suits(run, list->count))
      return DZO_OK;
    dzo_status status = make_room(run, list->count);
    if (status == DZO_E_LIMIT) {
      *full = true;
      return DZO_OK;
    }
    DZO_TRY(status);
    uint32_t item = run->queue[run->joined++];
    run->place[item] = which == 0 ? TWO_LIST_FIRST : TWO_LIST_SECOND;
    if (!run->kind->sums)
      sum_others(run, which);
    run->kind->add(run, which, item);
    run->stopped = two_list_report(run);
    if (run->stopped)
      return DZO_OK;
    if (list->count == 0) /* nothing is better than what is known */
      run->goal = run->best;
    else
      DZO_TRY(look_early(run));
  }
  return DZO_OK;
}

/* ---- Choices --------------------------------------------------------------------------------- */

dzo_status two_list_choices_begin(two_list_run *run, two_list_choices *c) {
  uint32_t items = run->problem->items;
  *c = (two_list_choices){.run = run, .count = items - run->joined};
  c->item = dzo_alloc(run->job->context, c->count, sizeof *c->item);
  c->tried = dzo_calloc(run->job->context, c->count + (uint64_t)1, 1);
  if (c->item == NULL || c->tried == NULL)
    return DZO_E_MEMORY;
  for (uint32_t i = 0; i < c->count; i++)
    c->item[i] = run->queue[items - 1 - i];
  c->left = run->problem->capacity;
  knapsack_wide weight = 0;
  for (uint32_t i = 0; i < run->joined; i++)
    weight += run->problem->weight[run->queue[i]];
  weight /= 2;
  c->middle = weight < c->left ? (int64_t)weight : c->left;
  return DZO_OK;
}

void two_list_choices_end(two_list_choices *c) {
  dzo_free(c->item);
  dzo_free(c->tried);
}

/* What the items that are not chosen upon may add, cut where need be. */
static knapsack_wide bound_of(const two_list_choices *c) {
  const two_list_run *run = c->run;
  const knapsack_problem *p = run->problem;
  int64_t left = c->left;
  knapsack_wide value = c->in;
  for (uint32_t k = 0; k < p->items; k++) {
    uint32_t item = run->order[k];
    if (run->place[item] == TWO_LIST_IN || run->place[item] == TWO_LIST_OUT)
      continue;
    int64_t worth = run->kind->sums ? p->weight[item] : p->value[item];
    if (p->weight[item] > left)
      return value + (knapsack_wide)left * worth / p->weight[item];
    left -= p->weight[item];
    value += worth;
  }
  return value;
}

/* Undo a branch. */
static void take_back(two_list_choices *c, uint32_t item) {
  const knapsack_problem *p = c->run->problem;
  if (c->run->place[item] == TWO_LIST_IN) {
    c->left += p->weight[item];
    c->in -= c->run->kind->sums ? p->weight[item] : p->value[item];
  }
  c->run->place[item] = TWO_LIST_FIRST; /* undecided: any that bound_of() counts */
}

/* Begin the next branch of the item at this depth; false where it has none left. */
static bool branch(two_list_choices *c, uint32_t item) {
  const knapsack_problem *p = c->run->problem;
  bool sums = c->run->kind->sums;
  while (c->tried[c->depth] < 2) {
    bool in_first = !sums || c->left - p->weight[item] >= c->middle;
    bool in = (c->tried[c->depth]++ == 0) == in_first;
    if (in && p->weight[item] > c->left)
      continue;
    c->run->place[item] = in ? TWO_LIST_IN : TWO_LIST_OUT;
    if (in) {
      c->left -= p->weight[item];
      c->in += sums ? p->weight[item] : p->value[item];
    }
    return true;
  }
  return false;
}

bool two_list_choices_next(two_list_choices *c) {
  two_list_run *run = c->run;
  if (c->count == 0)
    return c->tried[0]++ == 0;
  /* Behind a leaf, go back; at the very first, all are undecided. */
  if (c->depth == c->count)
    take_back(c, c->item[--c->depth]);
  else
    for (uint32_t i = 0; i < c->count; i++)
      run->place[c->item[i]] = TWO_LIST_FIRST;
  for (;;) {
    uint32_t item = c->item[c->depth];
    if (branch(c, item)) {
      if (bound_of(c) < run->best + run->step) {
        take_back(c, item);
        continue;
      }
      if (++c->depth == c->count)
        return true;
      c->tried[c->depth] = 0;
      continue;
    }
    if (c->depth == 0)
      return false;
    take_back(c, c->item[--c->depth]);
  }
}

/* Walk over both lists for each choice; *all is false if there were more than `most`. */
static dzo_status walk(two_list_run *run, uint64_t most, bool *all) {
  two_list_choices choices;
  dzo_status status = two_list_choices_begin(run, &choices);
  *all = false;
  for (uint64_t i = 0; status == DZO_OK && run->best < run->goal && !run->stopped; i++) {
    *all = !two_list_choices_next(&choices);
    if (*all || i == most)
      break;
    run->kind->scan(run, choices.left, choices.in);
    run->stopped = two_list_report(run);
  }
  for (uint32_t i = 0; i < choices.count; i++)
    if (choices.item != NULL)
      run->place[choices.item[i]] = TWO_LIST_OUT;
  two_list_choices_end(&choices);
  return status;
}

dzo_status two_list_search(two_list_run *run) {
  DZO_TRY(begin_lists(run));
  double hits = run->tuning->hits;
  for (;; hits *= 64) {
    bool full, all = false, done = false;
    DZO_TRY(grow(run, hits, &full));
    if (run->stopped || run->best >= run->goal)
      return DZO_OK;
    if (!full && run->joined < run->problem->items && !is_dense(run, hits)) {
      DZO_TRY(two_list_on_gpu(run, hits, &done));
      if (done)
        return DZO_OK;
      run->gpu_off = true;
      DZO_TRY(grow(run, hits, &full));
      if (run->stopped || run->best >= run->goal)
        return DZO_OK;
    }
    bool more = !full && run->joined < run->problem->items;
    DZO_TRY(walk(run, more ? FEW_CHOICES : UINT64_MAX, &all));
    if (all)
      run->goal = run->best;
    if (run->stopped || run->best >= run->goal)
      return DZO_OK;
  }
}
