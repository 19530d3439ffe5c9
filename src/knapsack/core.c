/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The core method: few items are in doubt, those of about the break item's
 * worth (D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem",
 * Operations Research 45, 1997). In stages, each for what the one before left:
 *   1. the break item, a greedy set, the bound of Dantzig; what that does not
 * decide is the core;
 *   2. the likeliest items of the core, for a good set; then all of it, if
 * states stay few;
 *   3. equal and proportional items joined, and again from 1;
 *   4. a second constraint, which gives two problems of smaller bounds, and
 * with each 2 again; another one, if that is not enough;
 *   5. these once more with as many states as memory allows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "knapsack/core.h"
#include "knapsack/core_stages.h"

bool core_goes_on(core_run *run, uint64_t states) {
  run->states += states;
  run->unpolled += states;
  if (run->unpolled < run->limits->poll_states || run->stopped)
    return !run->stopped;
  run->unpolled = 0;
  if (++run->polls % run->limits->poll_reports != 0)
    run->stopped = knapsack_must_stop(run->job);
  else
    run->stopped =
        knapsack_report(run->job, DZO_KNAPSACK_CORE, run->level->best + run->apart, run->bound);
  return !run->stopped;
}

bool core_passes(core_run *run, uint32_t items) {
  enum { MANY = 1 << 14 };
  run->stopped = run->stopped || (items >= MANY && knapsack_must_stop(run->job));
  return !run->stopped;
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  (void)job;
  if (knapsack_is_narrow(problem))
    return NULL;
  (void)snprintf(why, why_size, "core takes sums of values and of weights below 2^62");
  return why;
}

dzo_status core_solve(knapsack_job *job, const knapsack_problem *problem, knapsack_answer *answer,
                      const core_limits *limits) {
  core_run run = {.job = job, .limits = limits, .context = job->context};
  core_level level = {.run = &run,
                      .items = problem->items,
                      .value = problem->value,
                      .weight = problem->weight,
                      .capacity = problem->capacity,
                      .best_set = answer->taken,
                      .found = true,
                      .value_sum = (int64_t)problem->value_sum,
                      .weight_sum = (int64_t)problem->weight_sum,
                      .value_max = problem->value_max,
                      .weight_max = problem->weight_max};
  bool done = false;
  run.level = &level;
  run.bound = level.value_sum;
  (void)core_level_solve(&level, &done);
  core_give_back(&run);
  answer->value = level.best;
  answer->bound = done || run.bound < level.best ? level.best : run.bound;
  answer->nodes += run.states;
  return run.stopped ? DZO_OK : run.status;
}

static const core_limits usual_limits = {.first_states = 128,
                                         .near_states = 512,
                                         .side_states = 16384,
                                         .easy_items = 1024,
                                         .easy_states = 4096,
                                         .easy_work = 6000,
                                         .side_work = 200000,
                                         .tried_items = 256,
                                         .many_items = 8192,
                                         .heavy_gap = 0.7,
                                         .poll_states = 100000,
                                         .poll_reports = 16};

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  return core_solve(job, problem, answer, &usual_limits);
}

/* Nothing cheap tells how many states there will be, and mostly they are few. Once that has turned
 * out to be wrong: as many as there are sets of half the items, or as differ in a range of some
 * greatest weights, for each of the items that are usually in doubt. */
static knapsack_estimate estimate(const knapsack_problem *p, const knapsack_job *job) {
  double n = p->items, range = (double)p->weight_max, few = 2e-6 + 4e-8 * n;
  double states = fmin(exp2(fmin(n, 100) / 2), 8 * range), doubtful = fmin(n, 150);
  bool is_early = dzo_clock() - job->begun < KNAPSACK_EARLY;
  return (knapsack_estimate){.seconds = is_early ? 10 * few : 10 * few + 4e-9 * states * doubtful,
                             .worst = INFINITY,
                             .memory = (uint64_t)fmin(128 * states + 64 * n, 1e18)};
}

const knapsack_method knapsack_core = {
    .algorithm = DZO_KNAPSACK_CORE, .refusal = refusal, .estimate = estimate, .solve = solve};
