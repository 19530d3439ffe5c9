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
 * with each 2 again;
 *   5. these once more with as many states as memory allows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/core.h"
#include "knapsack/core_stages.h"

bool core_goes_on(core_run *run, uint64_t states) {
  enum { POLL = 100000 };
  run->states += states;
  run->unpolled += states;
  if (run->unpolled >= POLL) {
    run->unpolled = 0;
    run->stopped = run->stopped || knapsack_must_stop(run->job);
  }
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

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  core_run run = {.job = job, .context = job->context};
  core_level level = {.run = &run,
                      .items = problem->items,
                      .value = problem->value,
                      .weight = problem->weight,
                      .capacity = problem->capacity,
                      .best_set = answer->taken,
                      .found = true,
                      .value_sum = (int64_t)problem->value_sum,
                      .weight_sum = (int64_t)problem->weight_sum};
  int64_t bound = level.value_sum;
  (void)core_level_solve(&level, &bound);
  answer->value = level.best;
  answer->bound = bound;
  answer->nodes += run.states;
  return run.stopped ? DZO_OK : run.status;
}

/* A guess from the field's measurements: sorting for easy data, lists that fill
 * the range of the coefficients for data whose values hang on their weights. */
static knapsack_estimate estimate(const knapsack_problem *p, const knapsack_job *job) {
  (void)job;
  double n = p->items,
         range = (double)(p->weight_max > p->value_max ? p->weight_max : p->value_max);
  double states = fmin(exp2(fmin(n, 60) / 2), 16 * range);
  double likely = 2e-6 + 3e-8 * n + 2e-9 * fmin(states, 3e5);
  return (knapsack_estimate){
      .seconds = likely, .worst = INFINITY, .memory = (uint64_t)fmin(128 * states + 64 * n, 1e18)};
}

const knapsack_method knapsack_core = {
    .algorithm = DZO_KNAPSACK_CORE, .refusal = refusal, .estimate = estimate, .solve = solve};
