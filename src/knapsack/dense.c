/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table over the capacities (R. Bellman, "Dynamic Programming", 1957), of which only the cells
 * are filled that may be of use. A better set than a known one leaves little of the capacity over,
 * so the better the known one, the fewer cells: where the table for the greedy set is large, it is
 * first filled for sets that are nearly as good as the bound, then for less and less. Each time
 * either the best of all sets is found, or the bound falls. */
#include "knapsack/dense.h"
#include "knapsack/dense_stage.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"

#define CHEAP ((uint64_t)1 << 26) /* cells, not worth trying for fewer */
#define MANY ((uint64_t)1 << 29)  /* so many take as long as a sharp plan of the whole table */
enum {
  FIRST_GAP = 64,         /* to the bound, at first, */
  GAP_GROWTH = 4,         /* and so much more each time, */
  WORTH_TRYING = 8,       /* as long as it takes so many times fewer cells than to be sure */
  PLANNED = 1 << 14,      /* items of which an estimate makes plans, */
  SHARPLY_PLANNED = 2000, /* and sharp ones, */
  ROUGH_SPANS = 256,      /* of a level, where a plan is rough, */
  SHARP_SPANS = 4096,     /* and where it is sharp, */
  PLAN_SPANS = 1 << 22,   /* or so many of all levels, */
  FEW_CELLS = 1 << 24     /* which takes longer than to fill so many cells */
};

#define ALL_CELLS (UINT64_MAX - 1)
#define LONG_CELLS ((uint64_t)1 << 37) /* take longer than to plan sharply, whoever fills them */
#define EARLY 1e-3                     /* seconds: a plan may take longer than the problem */
#define LONG 1.0
#define CPU_RATE 6e8 /* cells a second and thread, */
#define CPU_MOST 5e9 /* and of all */
#define GPU_RATE 5e11
#define CPU_LEVEL 2e-6 /* seconds a level */
#define GPU_LEVEL 15e-6
#define GPU_BEGIN 4e-3
#define GPU_READ 10e-6    /* a decision, while they are followed back */
#define CPU_PART 131072.0 /* cells of a row that are worth a thread */

/* Cells a second of rows of so many cells: short ones occupy few threads, and many threads wait for
 * the memory. */
static double cpu_rate(const knapsack_job *job, double cells) {
  double most = job->threads > 1 ? job->threads : 1, parts = cells / CPU_PART;
  double rate = CPU_RATE * (parts < 1 ? 1 : parts < most ? parts : most);
  return rate < CPU_MOST ? rate : CPU_MOST;
}

double dense_seconds(const dense_plan *plan, const knapsack_job *job, bool gpu) {
  double cells = (double)plan->cells, levels = (double)plan->items;
  if (!gpu)
    return levels * CPU_LEVEL + cells / cpu_rate(job, cells / (levels + 1));
  double seconds = GPU_BEGIN + levels * GPU_READ;
  dense_stage stage;
  for (uint32_t level = 0; plan->complete && level < plan->items; level += stage.items)
    seconds += dense_stage_make(plan, job->gpu, level, &stage);
  return seconds;
}

dzo_status dense_rest_plan(knapsack_job *job, const dense_rest *rest, uint32_t spans,
                           uint64_t enough, dense_room *room, dense_plan *plan) {
  /* Half of what lies between DENSE_LEAST and 0; the other half is for what an item falls short of
   * the rate, so that DENSE_NONE and what is added to it fit 32 bits; less what rounding takes. */
  double longest = (double)(-DENSE_LEAST / 2 - (1 << 13)) / (rest->rate > 1 ? rest->rate : 1);
  *plan = (dense_plan){
      .context = job->context,
      .room = room,
      .job = job,
      .items = rest->items,
      .weight = rest->weight,
      .value = rest->value,
      .rate = rest->narrow ? rest->rate : 0,
      .most = spans,
      .longest = rest->narrow ? (int64_t)longest : (int64_t)1 << 40,
  };
  knapsack_wide sum = 0;
  for (uint32_t i = 0; i < rest->items; i++)
    sum += rest->weight[i];
  int64_t low = rest->capacity - rest->room_left;
  int64_t high = sum < rest->capacity ? (int64_t)sum : rest->capacity;
  return dense_plan_make(plan, low < high ? low : high, high, enough);
}

typedef struct search {
  knapsack_job *job;
  const knapsack_problem *problem;
  knapsack_answer *answer;
  uint32_t *order;
  uint8_t *chosen;
  dense_rest rest;
  dense_room room;
  int64_t above; /* the optimum is not: Dantzig's bound */
  bool is_full;  /* the last plan of an estimate */
  bool sharp;    /* rough plans were of no use so far */
} search;

static dzo_status search_open(search *s) {
  dzo_context *context = s->job->context;
  uint32_t items = s->problem->items;
  s->order = dzo_alloc(context, items, sizeof *s->order);
  s->chosen = dzo_alloc(context, items, 1);
  if (s->order == NULL || s->chosen == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(dense_rest_open(&s->rest, context, items));
  DZO_TRY(knapsack_sort(context, s->problem, s->order));
  knapsack_greedy(s->problem, s->order, s->answer);
  knapsack_wide bound = knapsack_dantzig(s->problem, s->order);
  s->above = (int64_t)bound;
  s->answer->bound = bound < s->answer->bound ? bound : s->answer->bound;
  return DZO_OK;
}

static void search_close(search *s) {
  dzo_free(s->order);
  dzo_free(s->chosen);
  dense_rest_close(&s->rest);
  dense_room_free(&s->room);
}

static bool is_over(const search *s) {
  return s->answer->bound <= s->answer->value || knapsack_must_stop(s->job);
}

/* Is any set of the plan within the goal? Not where it has more cells than was enough. */
static bool is_reached(const dense_plan *plan) { return dense_plan_width(plan, plan->items) > 0; }

static void take(search *s, int64_t value) {
  const dense_rest *r = &s->rest;
  for (uint32_t i = 0; i < s->problem->items; i++)
    s->answer->taken[i] = r->fixed[i] == 1;
  for (uint32_t j = 0; j < r->items; j++)
    s->answer->taken[r->item[j]] = s->chosen[j];
  s->answer->value = value;
}

/* Find the best set if it is worth more than `known`, or prove that none is. The plan is that of
 * the rest; it is freed. */
static dzo_status try_for(search *s, int64_t known, dense_plan *plan) {
  knapsack_answer *answer = s->answer;
  int64_t value = known - s->rest.value_fixed;
  bool found = s->rest.items == 0 && s->rest.room_left >= 0 && value < 0;
  dzo_status status = DZO_OK;
  if (!plan->complete && !knapsack_must_stop(s->job))
    status = dzo_fail(s->job->context, DZO_E_MEMORY, "a table of capacities is too large");
  else if (found || !plan->complete)
    value = 0;
  else if (s->rest.items > 0 && is_reached(plan))
    status = dense_fill(s->job, &s->rest, plan, &value, s->chosen, &found, answer);
  dense_plan_free(plan);
  if (status != DZO_OK)
    return status;
  if (found)
    take(s, value + s->rest.value_fixed);
  if (found)
    answer->bound = answer->value;
  else if (!knapsack_must_stop(s->job))
    answer->bound = known;
  return DZO_OK;
}

/* Where most capacities matter, they do however closely one looks. */
static bool is_full(const search *s, const dense_plan *plan) {
  return plan->complete && plan->cells / 2 > (uint64_t)s->rest.capacity / 16 * s->rest.items;
}

/* What is left for sets worth more than `known`; no items where nothing can be. */
static void reduce(search *s, int64_t known) {
  dense_reduce(s->job, s->problem, s->order, known, &s->rest);
  if (s->rest.room_left < 0)
    s->rest.items = 0;
}

/* The rest for sets worth more than `known`, and its plan: complete, or it has more cells than
 * `enough`. A sharp plan is made where a rough one has many cells. */
static dzo_status prepare(search *s, int64_t known, bool sharp, uint64_t enough, dense_plan *plan) {
  reduce(s, known);
  uint32_t spans = PLAN_SPANS / (s->rest.items + 1);
  spans = spans < SHARP_SPANS ? spans : SHARP_SPANS;
  sharp = sharp && spans > ROUGH_SPANS;
  if (!sharp || !s->sharp) {
    DZO_TRY(dense_rest_plan(s->job, &s->rest, ROUGH_SPANS, enough, &s->room, plan));
    if (!sharp || plan->cells < FEW_CELLS || is_full(s, plan))
      return DZO_OK;
    dense_plan_free(plan);
    s->sharp = true;
  }
  return dense_rest_plan(s->job, &s->rest, spans, enough, &s->room, plan);
}

/* Seconds and memory for a plan. */
static void charge(const search *s, const dense_plan *plan, knapsack_estimate *e, double *seconds) {
  const knapsack_job *job = s->job;
  uint64_t rows = dense_row_bytes(plan, !s->rest.narrow), bits = plan->cells / 8;
  double cpu = rows + plan->widest / 8 < job->memory ? dense_seconds(plan, job, false) : INFINITY,
         gpu = INFINITY;
  if (job->gpu != NULL && rows + plan->widest / 8 < dzo_unit_available(job->gpu) / 16 * 15)
    gpu = dense_seconds(plan, job, true);
  bool on_gpu = !job->cpu || gpu < cpu;
  *seconds = !plan->complete ? INFINITY : on_gpu ? gpu : cpu;
  e->gpu_bytes = on_gpu ? rows + bits : 0;
  e->memory = (on_gpu ? 0 : rows + bits) + plan->first[plan->items + 1] * sizeof(dense_span) +
              plan->items * sizeof(dense_stage);
}

/* Tables for what is nearly as good as the bound, as long as they have at most `most` cells. */
static dzo_status try_near(search *s, int64_t *gap, uint64_t most) {
  for (; *gap < s->above - (int64_t)s->answer->value; *gap *= GAP_GROWTH) {
    if (s->above - *gap >= s->answer->bound)
      continue;
    dense_plan plan;
    DZO_TRY(prepare(s, s->above - *gap, true, most, &plan));
    if (!plan.complete) {
      dense_plan_free(&plan);
      return DZO_OK;
    }
    DZO_TRY(try_for(s, s->above - *gap, &plan));
    if (is_over(s) ||
        knapsack_report(s->job, DZO_KNAPSACK_DENSE, s->answer->value, s->answer->bound))
      return DZO_OK;
  }
  return DZO_OK;
}

static bool is_small(const knapsack_problem *p) { return (uint64_t)p->capacity < CHEAP / p->items; }

/* The table for the greedy set; before it what is much smaller, or, where there is no room for that
 * one, whatever there is room for. To plan it sharply takes long, so what a rough plan allows comes
 * first. */
static dzo_status try_all(search *s, int64_t *gap) {
  int64_t value = (int64_t)s->answer->value;
  dense_plan plan;
  DZO_TRY(prepare(s, value, false, ALL_CELLS, &plan));
  uint64_t rough = plan.cells / WORTH_TRYING;
  if (plan.cells <= CHEAP)
    return try_for(s, value, &plan);
  dense_plan_free(&plan);
  DZO_TRY(try_near(s, gap, rough < MANY ? rough : MANY));
  if (is_over(s))
    return DZO_OK;
  DZO_TRY(prepare(s, value, true, ALL_CELLS, &plan));
  knapsack_estimate e;
  double seconds;
  charge(s, &plan, &e, &seconds);
  dzo_status status = try_near(s, gap, seconds < INFINITY ? plan.cells / WORTH_TRYING : ALL_CELLS);
  if (status != DZO_OK || is_over(s)) {
    dense_plan_free(&plan);
    return status;
  }
  reduce(s, value);
  return try_for(s, value, &plan);
}

static dzo_status run(search *s) {
  DZO_TRY(search_open(s));
  int64_t gap = FIRST_GAP;
  /* Where an estimate has found nothing near the bound, what is cheap was in vain as well. */
  bool is_new = s->answer->bound == s->above;
  if (!is_over(s) && !is_small(s->problem))
    DZO_TRY(try_near(s, &gap, is_new ? CHEAP : MANY));
  if (is_over(s))
    return DZO_OK;
  return try_all(s, &gap);
}

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  search s = {.job = job, .problem = problem, .answer = answer};
  dzo_status status = run(&s);
  search_close(&s);
  return status;
}

/* At worst: the table for the greedy set. Likely the same, but where even the weights tell that
 * there is nothing near the bound, twice the first table for which they do not. */
static dzo_status look(search *s, bool sharp, knapsack_estimate *e) {
  uint64_t most = !sharp && s->problem->items <= SHARPLY_PLANNED ? LONG_CELLS : ALL_CELLS;
  int64_t value = (int64_t)s->answer->value;
  dense_plan plan;
  *e = (knapsack_estimate){INFINITY, INFINITY, 0, 0, 0};
  for (int64_t gap = FIRST_GAP; gap < s->above - value; gap *= GAP_GROWTH) {
    int64_t known = s->above - gap;
    reduce(s, known);
    if (s->rest.items <= s->problem->items / 2 || known >= s->answer->bound)
      continue;
    DZO_TRY(prepare(s, known, sharp, most, &plan));
    bool is_last = !plan.complete || is_reached(&plan), is_long = !plan.complete;
    if (is_last && gap > FIRST_GAP)
      charge(s, &plan, e, &e->seconds);
    if (!is_last)
      s->answer->bound = known;
    s->is_full = is_full(s, &plan);
    dense_plan_free(&plan);
    if (is_long && most < ALL_CELLS)
      return DZO_OK;
    if (is_last)
      break;
  }
  e->seconds *= 2;
  if (e->seconds < INFINITY && !is_small(s->problem))
    return DZO_OK;
  DZO_TRY(prepare(s, value, sharp, ALL_CELLS, &plan));
  charge(s, &plan, e, &e->worst);
  s->is_full = is_full(s, &plan);
  dense_plan_free(&plan);
  e->seconds = e->worst < e->seconds ? e->worst : e->seconds;
  return DZO_OK;
}

/* A rough look, and a sharper one where that seems long. */
static dzo_status plan_ahead(search *s, knapsack_estimate *e) {
  DZO_TRY(search_open(s));
  DZO_TRY(look(s, false, e));
  s->sharp = e->seconds > LONG && s->problem->items <= SHARPLY_PLANNED && !s->is_full;
  if (s->sharp)
    DZO_TRY(look(s, true, e));
  e->bound = s->answer->bound;
  return DZO_OK;
}

/* As if all capacities mattered. */
static knapsack_estimate guess(const knapsack_problem *problem, const knapsack_job *job) {
  double cells = (double)problem->items * (double)problem->capacity / 2;
  double rows = 8.5 * (double)problem->capacity;
  double cpu =
      rows < (double)job->memory ? cells / cpu_rate(job, (double)problem->capacity / 2) : INFINITY;
  double gpu = job->gpu != NULL && rows < (double)dzo_unit_available(job->gpu)
                   ? GPU_BEGIN + problem->items * GPU_LEVEL + cells / GPU_RATE
                   : INFINITY;
  bool on_gpu = gpu < cpu || !job->cpu;
  knapsack_estimate e = {on_gpu ? gpu : cpu, INFINITY,
                         on_gpu || cpu == INFINITY ? 0 : (uint64_t)rows,
                         on_gpu && gpu < INFINITY ? (uint64_t)rows : 0, 0};
  e.worst = e.seconds < LONG ? e.seconds : INFINITY;
  return e;
}

/* To solve it will take as long for plans as to ask has taken. A plan is made only once that much
 * has been spent on the problem that it is worth its time. */
static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  knapsack_estimate e = guess(problem, job);
  double begun = dzo_clock();
  if (problem->items > PLANNED || begun - job->begun < EARLY)
    return e;
  knapsack_job quiet = *job;
  quiet.quiet = true;
  knapsack_answer answer = {.bound = problem->value_sum};
  answer.taken = dzo_calloc(job->context, problem->items, 1);
  search s = {.job = &quiet, .problem = problem, .answer = &answer};
  if (answer.taken == NULL || plan_ahead(&s, &e) != DZO_OK)
    e = (knapsack_estimate){INFINITY, INFINITY, 0, 0, 0};
  search_close(&s);
  dzo_free(answer.taken);
  e.seconds += dzo_clock() - begun;
  e.worst += dzo_clock() - begun;
  return e;
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  (void)job, (void)why, (void)why_size;
  return knapsack_is_narrow(problem) ? NULL : "a table needs sums of less than 2^62";
}

const knapsack_method knapsack_dense = {DZO_KNAPSACK_DENSE, refusal, estimate, solve};
