/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* When a method has to end, and who is told how far it is. */
#include "base/clock.h"
#include "knapsack/method.h"

static bool stop(knapsack_job *job, knapsack_stop reason) {
  int expected = KNAPSACK_GOES_ON;
  (void)__atomic_compare_exchange_n(&job->stopped, &expected, (int)reason, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
  return true;
}

bool knapsack_must_stop(knapsack_job *job) {
  if (__atomic_load_n(&job->stopped, __ATOMIC_RELAXED) != KNAPSACK_GOES_ON)
    return true;
  if (dzo_is_cancelled(job->watched != NULL ? job->watched : job->context))
    return stop(job, KNAPSACK_CANCELLED);
  return dzo_clock() >= job->deadline && stop(job, KNAPSACK_OUT_OF_TIME);
}

uint64_t knapsack_memory_left(const knapsack_job *job) {
  uint64_t all = job->context->memory, used = dzo_context_memory_used(job->context);
  uint64_t left = all == 0 ? UINT64_MAX : all > used ? all - used : 0;
  return left < job->memory ? left : job->memory;
}

dzo_int128 knapsack_public(knapsack_wide sum) {
  return (dzo_int128){(int64_t)(sum >> 64), (uint64_t)sum};
}

bool knapsack_report(knapsack_job *job, dzo_knapsack_algorithm algorithm, knapsack_wide value,
                     knapsack_wide bound) {
  if (knapsack_must_stop(job))
    return true;
  if (job->quiet)
    return false;
  const dzo_knapsack_options *o = job->options;
  knapsack_wide scale = job->value_scale, base = job->value_base;
  dzo_knapsack_progress progress = {.size = sizeof progress,
                                    .algorithm = algorithm,
                                    .value = knapsack_public(base + scale * value),
                                    .bound = knapsack_public(base + scale * bound),
                                    .seconds = dzo_clock() - job->begun};
  if (o != NULL && o->progress != NULL && o->progress(o->progress_user, &progress) != 0)
    return stop(job, KNAPSACK_CANCELLED);
  if (dzo_progress(job->context, "solve", 0, 0) != DZO_OK)
    return stop(job, KNAPSACK_CANCELLED);
  return false;
}
