/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entry for one instance: checks, the normal form, the plan, the answer. */
#include "dzo/knapsack.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "knapsack/entry.h"

void dzo_knapsack_instance_init(dzo_knapsack_instance *instance) {
  *instance = (dzo_knapsack_instance){.size = sizeof *instance};
}

void dzo_knapsack_options_init(dzo_knapsack_options *options) {
  *options = (dzo_knapsack_options){.size = sizeof *options};
}

/* ---- Checks ---------------------------------------------------------------------------------- */

dzo_status knapsack_read_options(dzo_context *context, const dzo_knapsack_options *given,
                                 dzo_knapsack_options *out) {
  dzo_knapsack_options_init(out);
  if (!dzo_options_read(out, sizeof *out, given))
    return dzo_fail(context, DZO_E_ARGUMENT, "options of another size");
  if (dzo_knapsack_algorithm_name(out->algorithm) == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "there is no algorithm number %d",
                    (int)out->algorithm);
  if (out->fixed < 0 || out->fixed > 40)
    return dzo_fail(context, DZO_E_ARGUMENT, "hybrid enumerates 1 to 40 items, not %d", out->fixed);
  if (!(out->time_limit >= 0))
    return dzo_fail(context, DZO_E_ARGUMENT, "a time limit of %g seconds", out->time_limit);
  return DZO_OK;
}

static dzo_status read_instance(dzo_context *context, const dzo_knapsack_instance *given,
                                dzo_knapsack_instance *out) {
  dzo_knapsack_instance_init(out);
  if (given == NULL || !dzo_options_read(out, sizeof *out, given))
    return dzo_fail(context, DZO_E_ARGUMENT, "no instance, or one of another size");
  if (out->count > DZO_KNAPSACK_ITEMS)
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu items are more than %llu",
                    (unsigned long long)out->count, (unsigned long long)DZO_KNAPSACK_ITEMS);
  if (out->count > 0 && (out->values == NULL || out->weights == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "items without values or weights");
  return DZO_OK;
}

/* ---- One instance ---------------------------------------------------------------------------- */

/* All that the caller allows; where he says nothing, half of what the machine has, so that lists
 * that grow without end do not drive others, or this process, out of memory. */
static uint64_t memory_of(const dzo_context *context) {
  uint64_t machine = dzo_physical_memory();
  return machine > 0 && context->memory == machine ? machine / 2 : UINT64_MAX;
}

knapsack_job knapsack_job_of(dzo_context *context, const dzo_knapsack_options *options) {
  double now = dzo_clock();
  knapsack_job job = {
      .context = context,
      .cpu = context->device != DZO_DEVICE_CUDA,
      .threads = context->threads,
      .fixed = (unsigned)options->fixed,
      .deadline = options->time_limit > 0 ? now + options->time_limit : INFINITY,
      .begun = now,
      .memory = memory_of(context),
      .options = options,
      .value_scale = 1,
  };
  /* One that nobody has opened yet is only opened where it is of use. */
  if (context->device != DZO_DEVICE_CPU &&
      (context->device != DZO_DEVICE_AUTO || context->gpu_tried))
    job.gpu = dzo_context_gpu(context);
  if (job.gpu == NULL)
    job.cpu = true;
  return job;
}

static void say_infeasible(dzo_knapsack *k) {
  k->outcome = DZO_KNAPSACK_INFEASIBLE;
  k->device = DZO_DEVICE_CPU;
  snprintf(k->record.plan, sizeof k->record.plan, "even the lightest set is too heavy");
}

static dzo_status solve_normal(knapsack_job *job, const dzo_knapsack_instance *instance,
                               const knapsack_normal *normal, dzo_knapsack *k) {
  if (normal->infeasible) {
    say_infeasible(k);
    return DZO_OK;
  }
  job->value_base = normal->value_base;
  job->value_scale = normal->value_scale;
  knapsack_answer answer = {.taken = dzo_alloc(job->context, normal->problem.items, 1)};
  if (answer.taken == NULL)
    return DZO_E_MEMORY;
  dzo_status status = knapsack_plan_run(job, normal, job->options->algorithm, &answer, &k->record);
  if (status == DZO_OK || status == DZO_E_LIMIT || status == DZO_E_CANCELLED) {
    dzo_status made = knapsack_answer_make(job->context, instance, normal, &answer, k);
    status = made == DZO_OK ? status : made;
  }
  dzo_free(answer.taken);
  return status;
}

/* Into `out`, of each item what makes the set lightest; *weight of it, and how much more than it
 * all that is worth something is worth. */
static dzo_status find_lightest(dzo_context *context, const dzo_knapsack_instance *instance,
                                knapsack_normal *out, knapsack_wide *weight, knapsack_wide *more) {
  bool fits = true;
  knapsack_wide value = 0;
  *weight = *more = 0;
  for (uint64_t i = 0; i < instance->count && fits; i++) {
    int64_t copies = instance->copies != NULL ? instance->copies[i] : 1;
    if (copies < 0)
      return dzo_fail(context, DZO_E_ARGUMENT, "item %llu: there cannot be %lld copies of it",
                      (unsigned long long)i, (long long)copies);
    knapsack_wide v = (knapsack_wide)copies * instance->values[i],
                  w = (knapsack_wide)copies * instance->weights[i];
    if (v > 0)
      fits = !__builtin_add_overflow(value, v, &value);
    out->begun[i] = w < 0 ? copies : 0;
    if (w < 0)
      fits = fits && !__builtin_add_overflow(*weight, w, weight) &&
             !__builtin_add_overflow(out->value_base, v, &out->value_base);
  }
  fits = fits && !__builtin_sub_overflow(value, out->value_base, more);
  return fits ? DZO_OK : dzo_fail(context, DZO_E_UNSUPPORTED, "sums need more than 128 bits");
}

/* Where there was not even time for the normal form, which takes longer than this. */
static dzo_status be_lightest(knapsack_job *job, const dzo_knapsack_instance *instance,
                              dzo_status stopped, dzo_knapsack *k) {
  dzo_context *context = job->context;
  knapsack_normal lightest = {.value_scale = 1};
  knapsack_wide weight, more;
  (void)snprintf(k->record.plan, sizeof k->record.plan, "stopped before any method began");
  lightest.begun = dzo_calloc(context, instance->count, sizeof *lightest.begun);
  dzo_status status = lightest.begun == NULL ? DZO_E_MEMORY : DZO_OK;
  if (status == DZO_OK)
    status = find_lightest(context, instance, &lightest, &weight, &more);
  if (status == DZO_OK && weight > instance->capacity) {
    say_infeasible(k);
  } else if (status == DZO_OK) {
    knapsack_answer answer = {.bound = more, .device = DZO_DEVICE_CPU};
    status = knapsack_answer_make(context, instance, &lightest, &answer, k);
  }
  knapsack_normal_free(&lightest);
  if (status == DZO_OK && k->outcome == DZO_KNAPSACK_FEASIBLE)
    return stopped;
  if (status == DZO_OK)
    context->message[0] = '\0';
  return status;
}

dzo_status knapsack_solve_one(knapsack_job *job, const dzo_knapsack_instance *instance,
                              dzo_knapsack **out) {
  *out = NULL;
  knapsack_normal normal;
  dzo_status status = knapsack_normalize(job, instance, &normal);
  if (status != DZO_OK && status != DZO_E_LIMIT && status != DZO_E_CANCELLED)
    return status;
  dzo_knapsack *k = dzo_calloc(job->context, 1, sizeof *k);
  if (k == NULL)
    status = DZO_E_MEMORY;
  else if (status == DZO_OK)
    status = solve_normal(job, instance, &normal, k);
  else
    status = be_lightest(job, instance, status, k);
  knapsack_normal_free(&normal);
  if (status == DZO_OK || status == DZO_E_LIMIT || status == DZO_E_CANCELLED)
    *out = k;
  else
    dzo_knapsack_destroy(k);
  return status;
}

dzo_status dzo_knapsack_run(dzo_context *context, const dzo_knapsack_instance *instance,
                            const dzo_knapsack_options *options, dzo_knapsack **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_knapsack_run: nowhere to put the answer");
  *out = NULL;
  dzo_knapsack_options o;
  dzo_knapsack_instance i;
  DZO_TRY(read_instance(context, instance, &i));
  DZO_TRY(knapsack_read_options(context, options, &o));
  knapsack_job job = knapsack_job_of(context, &o);
  return knapsack_solve_one(&job, &i, out);
}
