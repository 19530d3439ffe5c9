/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/two_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

/* For each item that joins, all others are summed up; and a thousand items have better methods. */
enum { MOST_ITEMS = 4096, LEAST_MEMORY = 1 << 16 };
/* A set that was found in the last moment is still written down, for a share of the time that was
 * had, in seconds at most. */
static const double GRACE = .1, MOST_GRACE = .3;

const two_list_tuning two_list_usual = {.gpu_from = {UINT64_C(1) << 12, UINT64_C(1) << 16},
                                        .chunk = UINT64_C(1) << 15,
                                        .hits = .5,
                                        .gpu_choices = 16};

/* ---- A problem that is part of one ----------------------------------------------------------- */

typedef struct part {
  knapsack_problem problem;
  int64_t *value, *weight;
  uint32_t *number; /* of its items in the whole */
  uint8_t *taken;
} part;

static void part_free(part *p) {
  dzo_free(p->value);
  dzo_free(p->weight);
  dzo_free(p->number);
  dzo_free(p->taken);
}

static dzo_status part_alloc(dzo_context *context, uint32_t items, part *p) {
  p->value = dzo_alloc(context, items, sizeof *p->value);
  p->weight = dzo_alloc(context, items, sizeof *p->weight);
  p->number = dzo_alloc(context, items, sizeof *p->number);
  p->taken = dzo_calloc(context, items, 1);
  return p->value == NULL || p->weight == NULL || p->number == NULL || p->taken == NULL
             ? DZO_E_MEMORY
             : DZO_OK;
}

/* The items of one side that fit `capacity`. */
static dzo_status part_make(const two_list_run *run, uint8_t side, int64_t capacity, part *p) {
  const knapsack_problem *whole = run->problem;
  *p = (part){.problem = {.capacity = capacity}};
  DZO_TRY(part_alloc(run->job->context, whole->items, p));
  knapsack_problem *q = &p->problem;
  for (uint32_t i = 0; i < whole->items; i++) {
    if (run->claim.place[i] != side || whole->weight[i] > capacity)
      continue;
    int64_t value = whole->value[i], weight = whole->weight[i];
    p->value[q->items] = value;
    p->weight[q->items] = weight;
    p->number[q->items++] = i;
    q->value_sum += value;
    q->weight_sum += weight;
    q->value_max = value > q->value_max ? value : q->value_max;
    q->weight_max = weight > q->weight_max ? weight : q->weight_max;
  }
  q->value = p->value;
  q->weight = p->weight;
  return DZO_OK;
}

/* ---- One run --------------------------------------------------------------------------------- */

static dzo_status run_problem(two_list_run *run, knapsack_answer *answer);

static double until(const knapsack_job *job) {
  double now = dzo_clock();
  return now + fmin(GRACE * (now - job->begun), MOST_GRACE);
}

/* The items of a list's subset of this weight. */
static dzo_status solve_part(two_list_run *run, uint8_t side, uint8_t *taken) {
  part p;
  int64_t capacity = run->claim.weight[side - TWO_LIST_FIRST];
  dzo_status status = part_make(run, side, capacity, &p);
  if (status == DZO_OK && p.problem.weight_sum <= capacity) {
    for (uint32_t i = 0; i < p.problem.items; i++)
      p.taken[i] = 1;
  } else if (status == DZO_OK) {
    knapsack_answer answer = {.taken = p.taken};
    two_list_run inner = {.job = run->job,
                          .tuning = run->tuning,
                          .problem = &p.problem,
                          .memory = run->memory,
                          .until = run->stopped ? until(run->job) : run->until};
    status = run_problem(&inner, &answer);
    run->states += inner.states;
    run->stopped = run->stopped || inner.stopped;
  }
  for (uint32_t i = 0; status == DZO_OK && i < p.problem.items; i++)
    taken[p.number[i]] = p.taken[i];
  part_free(&p);
  return status;
}

/* Write the claimed set down where it is better than what stands there. */
static dzo_status settle(two_list_run *run, knapsack_answer *answer) {
  const knapsack_problem *p = run->problem;
  uint8_t *taken = dzo_calloc(run->job->context, p->items, 1);
  if (taken == NULL)
    return DZO_E_MEMORY;
  for (uint32_t i = 0; i < p->items; i++)
    taken[i] = run->claim.place[i] == TWO_LIST_IN;
  dzo_status status = solve_part(run, TWO_LIST_FIRST, taken);
  if (status == DZO_OK)
    status = solve_part(run, TWO_LIST_SECOND, taken);
  knapsack_wide value = 0;
  for (uint32_t i = 0; i < p->items; i++)
    value += taken[i] ? p->value[i] : 0;
  if (status == DZO_OK && value > answer->value) {
    for (uint32_t i = 0; i < p->items; i++)
      answer->taken[i] = taken[i];
    answer->value = value;
  }
  dzo_free(taken);
  return status;
}

static dzo_status run_alloc(two_list_run *run) {
  dzo_context *context = run->job->context;
  uint64_t items = run->problem->items;
  run->order = dzo_alloc(context, items, sizeof *run->order);
  run->queue = dzo_alloc(context, items, sizeof *run->queue);
  run->place = dzo_calloc(context, items, 1);
  run->claim.place = dzo_calloc(context, items, 1);
  run->other = dzo_alloc(context, items, sizeof *run->other);
  run->other_weight = dzo_calloc(context, items + 1, sizeof *run->other_weight);
  run->other_value = dzo_calloc(context, items + 1, sizeof *run->other_value);
  return run->order == NULL || run->queue == NULL || run->place == NULL ||
                 run->claim.place == NULL || run->other == NULL || run->other_weight == NULL ||
                 run->other_value == NULL
             ? DZO_E_MEMORY
             : DZO_OK;
}

static void free_lists(two_list_run *run) {
  dzo_free(run->list[0].states);
  dzo_free(run->list[1].states);
  dzo_free(run->spare.states);
  run->list[0] = run->list[1] = run->spare = (two_list_list){0};
}

static void run_free(two_list_run *run) {
  free_lists(run);
  dzo_free(run->order);
  dzo_free(run->queue);
  dzo_free(run->place);
  dzo_free(run->claim.place);
  dzo_free(run->other);
  dzo_free(run->other_weight);
  dzo_free(run->other_value);
}

/* ---- How the items stand --------------------------------------------------------------------- */

static bool is_proportional(const knapsack_problem *p) {
  for (uint32_t i = 1; i < p->items; i++)
    if ((knapsack_wide)p->value[i] * p->weight[0] != (knapsack_wide)p->value[0] * p->weight[i])
      return false;
  return true;
}

/* How far, in all, values are from being proportional to the weights, as a share of them. */
static double spread_of(const knapsack_problem *p) {
  double worth = (double)p->value_sum / (double)p->weight_sum, far = 0;
  for (uint32_t i = 0; i < p->items; i++)
    far += fabs((double)p->value[i] - worth * (double)p->weight[i]);
  return far / (double)p->value_sum;
}

/* So near that bounds prune next to nothing. */
static bool is_nearly_proportional(const knapsack_problem *p) { return spread_of(p) <= 1e-3; }

static int64_t common_divisor(const int64_t *numbers, uint32_t count) {
  int64_t divisor = 0;
  for (uint32_t i = 0; i < count && divisor != 1; i++)
    for (int64_t other = numbers[i]; other != 0;) {
      int64_t left = divisor % other;
      divisor = other;
      other = left;
    }
  return divisor;
}

typedef struct weighed {
  int64_t weight;
  uint32_t item;
} weighed;

static int by_weight(const void *a, const void *b) {
  const weighed *x = a, *y = b;
  return x->weight != y->weight ? (x->weight > y->weight) - (x->weight < y->weight)
                                : (x->item > y->item) - (x->item < y->item);
}

/* Where value is weight: light items join, so that what is chosen of the heavy ones leaves a room
 * near the middle of the lists' sums. */
static dzo_status queue_by_weight(two_list_run *run) {
  const knapsack_problem *p = run->problem;
  weighed *items = dzo_alloc(run->job->context, p->items, sizeof *items);
  if (items == NULL)
    return DZO_E_MEMORY;
  for (uint32_t i = 0; i < p->items; i++)
    items[i] = (weighed){p->weight[i], i};
  qsort(items, p->items, sizeof *items, by_weight);
  for (uint32_t i = 0; i < p->items; i++)
    run->queue[i] = items[i].item;
  dzo_free(items);
  return DZO_OK;
}

/* Otherwise outward from the break item, since the bounds decide most of the items far from it. */
static void queue_by_worth(two_list_run *run) {
  const knapsack_problem *p = run->problem;
  int64_t left = p->capacity;
  uint32_t at = 0;
  while (at + 1 < p->items && p->weight[run->order[at]] <= left)
    left -= p->weight[run->order[at++]];
  uint32_t before = at, behind = at, count = 0;
  while (count < p->items) {
    if (behind < p->items)
      run->queue[count++] = run->order[behind++];
    if (before > 0)
      run->queue[count++] = run->order[--before];
  }
}

static dzo_status choose_kind(two_list_run *run) {
  const knapsack_problem *p = run->problem;
  if (is_proportional(p)) {
    run->kind = &two_list_sums;
    run->step = common_divisor(p->weight, p->items);
    return queue_by_weight(run);
  }
  run->kind = knapsack_is_narrow(p) ? &two_list_narrow : &two_list_wide;
  run->step = common_divisor(p->value, p->items);
  run->unpruned = is_nearly_proportional(p);
  queue_by_worth(run);
  return DZO_OK;
}

/* A set to begin with, and the bound. */
static void first_answer(two_list_run *run, knapsack_answer *answer) {
  const knapsack_problem *p = run->problem;
  knapsack_greedy(p, run->order, answer);
  answer->bound = knapsack_dantzig(p, run->order);
  if (!run->kind->sums) {
    answer->bound -= answer->bound % run->step;
    run->best = answer->value;
    run->goal = answer->bound;
    return;
  }
  run->goal = p->capacity - p->capacity % run->step;
  run->best = answer->value * p->weight[0] / p->value[0];
  answer->bound = run->goal * p->value[0] / p->weight[0];
}

/* Solve run->problem, which is in normal form. */
static dzo_status run_problem(two_list_run *run, knapsack_answer *answer) {
  dzo_status status = run_alloc(run);
  if (status == DZO_OK)
    status = knapsack_sort(run->job->context, run->problem, run->order);
  if (status == DZO_OK)
    status = choose_kind(run);
  if (status == DZO_OK) {
    first_answer(run, answer);
    run->reported = run->job->begun;
    if (run->best < run->goal)
      status = two_list_search(run);
  }
  free_lists(run);
  dzo_status settled = run->claim.open ? settle(run, answer) : DZO_OK;
  if (status == DZO_OK && settled == DZO_OK && !run->stopped)
    answer->bound = answer->value;
  run_free(run);
  return status != DZO_OK ? status : settled;
}

/* Lists grow as long as there is memory: where nobody set a limit, half of what the machine has. */
static uint64_t memory_of(const knapsack_job *job) {
  uint64_t half = dzo_physical_memory() / 2;
  return half != 0 && half < job->memory ? half : job->memory;
}

/* ---- The method ------------------------------------------------------------------------------ */

dzo_status two_list_solve(knapsack_job *job, const knapsack_problem *problem,
                          const two_list_tuning *tuning, knapsack_answer *answer) {
  two_list_run run = {.job = job,
                      .tuning = tuning,
                      .top = true,
                      .problem = problem,
                      .memory = tuning->memory != 0 ? tuning->memory : memory_of(job)};
  dzo_status status = run_problem(&run, answer);
  answer->nodes += run.states;
  if (run.on_gpu)
    answer->device = DZO_DEVICE_CUDA;
  return status;
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  if (problem->items <= MOST_ITEMS && job->memory >= LEAST_MEMORY)
    return NULL;
  if (job->memory < LEAST_MEMORY)
    return "two-list needs 64 KiB of memory";
  (void)snprintf(why, why_size, "two-list takes at most %d items, not %u", MOST_ITEMS,
                 problem->items);
  return why;
}

/* ---- What it takes --------------------------------------------------------------------------- */

/* Subsets a second, on one thread and on a GPU, of one number and of two. */
static const double CPU_RATE[2] = {2e8, 1.1e8}, GPU_RATE[2] = {2.5e11, 7e10};
/* What it takes to begin on a GPU. */
static const double GPU_BEGIN = 4e-4;

/* Subsets of a list in which some pair is likely to weigh what is wanted. */
static double dense_subsets(const knapsack_problem *p, double hits) {
  double squares = 0;
  for (uint32_t i = 0; i < p->items; i++)
    squares += (double)p->weight[i] * (double)p->weight[i] / 4;
  return 1 + sqrt(hits * 2.5 * sqrt(squares) / (double)common_divisor(p->weight, p->items));
}

/* Subsets that are looked at: both lists double until they have `subsets`, may be merged for
 * `later` items more, and are walked over once for each choice of what has no memory. */
static double work_of(double subsets, double room, double later) {
  double fit = fmin(subsets, room), walks = (subsets / fit) * (subsets / fit);
  return 4 * fit + 2 * fit * (walks + later);
}

static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  enum { PRUNED_ITEMS = 34, PRUNED_SUBSETS = 3000, MOST_WALKS = 4096 };
  bool sums = is_proportional(problem), narrow = knapsack_is_narrow(problem);
  double each = sums ? 8 : narrow ? 16 : 32, items = problem->items;
  double begin = 1e-6 + items * items * 3e-9, rate = CPU_RATE[!sums] / (narrow || sums ? 1 : 2);
  double all = fmin(exp2(items / 2), (double)problem->capacity), likely = all;
  double later = fmax(items - 2 * log2(all), 0);
  bool pruned = !sums && !is_nearly_proportional(problem);
  if (sums)
    likely = fmin(all, dense_subsets(problem, two_list_usual.hits));
  else if (pruned)
    likely = fmin(all, PRUNED_SUBSETS * pow(items / PRUNED_ITEMS, 4));
  double room = fmax((double)memory_of(job) / each / 4, 1);
  knapsack_estimate e = {.memory = (uint64_t)(4 * each * fmin(likely, room))};
  /* Where bounds prune, most of it is the CPU's in any case. */
  if (job->gpu != NULL && narrow && !pruned && likely > (double)two_list_usual.gpu_from[0]) {
    room = (double)(dzo_unit_available(job->gpu) + job->gpu->workspace_bytes) / each / 2.5;
    rate = GPU_RATE[!sums];
    begin += GPU_BEGIN;
    e.memory = (uint64_t)(4 * each * (double)two_list_usual.gpu_from[0]);
    e.gpu_bytes = (uint64_t)(2.5 * each * fmin(likely, room));
  }
  e.seconds = begin + work_of(likely, room, likely < all ? 0 : later) / rate;
  e.worst = all > MOST_WALKS * room ? INFINITY : begin + 2 * work_of(all, room, later) / rate;
  return e;
}

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  return two_list_solve(job, problem, &two_list_usual, answer);
}

const knapsack_method knapsack_two_list = {DZO_KNAPSACK_TWO_LIST, refusal, estimate, solve};
