/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Instances that are solved one by one. Where there are several, each thread takes one after
 * another, with a context of its own; what turns out to be long is left for all threads, and the
 * GPU, together. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "knapsack/batch.h"

/* Seconds that one thread may take for an instance that the GPU might do faster. */
static const double PATIENCE = 0.05;
/* And those after the end in which all that are left are still given a good set. */
static const double GRACE = 0.3;

typedef struct singles {
  batch_run *run;
  knapsack_job job; /* the call's, as it was before */
  uint8_t *left;    /* [single_count] not solved by a single thread */
  uint64_t next;    /* accessed atomically, as is all below */
  int failed;       /* a dzo_status that ends the batch */
} singles;

/* ---- Answers --------------------------------------------------------------------------------- */

static void count_outcome(batch_run *run, dzo_knapsack_outcome outcome) {
  __atomic_fetch_add(&run->outcomes[outcome], 1, __ATOMIC_RELAXED);
}

static void put(batch_run *run, uint64_t i, const dzo_knapsack *k) {
  dzo_knapsack_batch *b = run->batch;
  batch_put(run, i, k->outcome, k->value, k->weight, k->bound);
  count_outcome(run, k->outcome);
  uint64_t count = b->offsets[i + 1] - b->offsets[i];
  if (b->taken == NULL || count == 0)
    return;
  int64_t *taken = b->taken + b->offsets[i];
  memset(taken, 0, count * sizeof *taken);
  for (uint64_t j = 0; j < k->count; j++)
    taken[k->items[j]] = k->copies[j];
}

static dzo_status with_number(dzo_context *context, uint64_t i, dzo_status status,
                              const char *message) {
  char text[400];
  size_t length = strlen(message);
  length = length < sizeof text ? length : sizeof text - 1;
  memcpy(text, message, length);
  text[length] = '\0';
  return dzo_fail(context, status, "instance %llu: %s", (unsigned long long)i, text);
}

/* Is the time limit long past, or was the batch cancelled long ago? */
static bool is_late(batch_run *run) {
  double now = dzo_clock(), seen;
  if (now >= run->job.deadline + GRACE)
    return true;
  if (!dzo_is_cancelled(run->job.context) &&
      __atomic_load_n(&run->job.stopped, __ATOMIC_RELAXED) != KNAPSACK_CANCELLED)
    return false;
  __atomic_load(&run->cancelled, &seen, __ATOMIC_RELAXED);
  if (seen > 0)
    return now >= seen + GRACE;
  __atomic_store(&run->cancelled, &now, __ATOMIC_RELAXED);
  return false;
}

/* Then an instance gets the empty set without being looked at closely. Not where that may not fit.
 */
static bool put_late(batch_run *run, uint64_t i) {
  if (!is_late(run))
    return false;
  dzo_knapsack_instance k = batch_instance(run->batch, i);
  knapsack_wide bound = 0;
  if (k.copies != NULL || k.capacity < 0)
    return false;
  for (uint64_t j = 0; j < k.count; j++) {
    if (k.weights[j] < 0)
      return false;
    bound += k.values[j] > 0 ? k.values[j] : 0;
  }
  dzo_int128 nothing = {0, 0};
  dzo_knapsack_outcome outcome = bound > 0 ? DZO_KNAPSACK_FEASIBLE : DZO_KNAPSACK_OPTIMAL;
  batch_put(run, i, outcome, nothing, nothing, knapsack_public(bound));
  count_outcome(run, outcome);
  if (run->batch->taken != NULL && k.count > 0)
    memset(run->batch->taken + run->batch->offsets[i], 0, k.count * sizeof *run->batch->taken);
  return true;
}

/* Solve instance i with this job. *left, where not NULL: it is to be tried again, with all that the
 * call has. */
static dzo_status solve(batch_run *run, uint64_t i, knapsack_job *job, uint8_t *left) {
  if (put_late(run, i)) {
    if (left != NULL)
      *left = 0;
    return DZO_OK;
  }
  dzo_knapsack_instance instance = batch_instance(run->batch, i);
  dzo_knapsack *k;
  dzo_status status = knapsack_solve_one(job, &instance, &k);
  bool again = left != NULL && (status == DZO_E_LIMIT || status == DZO_E_MEMORY) &&
               !knapsack_must_stop(&run->job);
  if (k == NULL && !again)
    return with_number(run->job.context, i, status, job->context->message);
  if (status == DZO_E_CANCELLED)
    __atomic_store_n(&run->job.stopped, KNAPSACK_CANCELLED, __ATOMIC_RELAXED);
  if (!again)
    put(run, i, k);
  if (k != NULL)
    batch_note_device(run, dzo_knapsack_device(k));
  if (left != NULL)
    *left = again;
  dzo_knapsack_destroy(k);
  return DZO_OK;
}

/* ---- Several at a time ----------------------------------------------------------------------- */

static knapsack_job job_beside(const singles *s, dzo_context *context,
                               dzo_knapsack_options *options) {
  *options = *s->run->options;
  options->progress = NULL;
  knapsack_job job = s->job;
  job.stopped = __atomic_load_n(&s->run->job.stopped, __ATOMIC_RELAXED);
  job.watched = job.context;
  job.context = context;
  job.options = options;
  job.gpu = NULL;
  job.cpu = true;
  job.threads = 1;
  job.quiet = true;
  return job;
}

static dzo_context *context_beside(const batch_run *run) {
  dzo_context *context = run->job.context;
  uint64_t used = dzo_context_memory_used(context), all = context->memory;
  uint64_t left = all > used ? all - used : 0;
  left = left < run->job.memory ? left : run->job.memory;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.threads = 1;
  options.memory = left / (uint64_t)run->job.threads + 1;
  options.allocator = dzo_memory_inside(context);
  dzo_context *out;
  return dzo_context_create(&options, &out) == DZO_OK ? out : NULL;
}

static void work(void *argument, int thread, int threads) {
  (void)thread;
  (void)threads;
  singles *s = argument;
  batch_run *run = s->run;
  dzo_context *context = context_beside(run);
  if (context == NULL)
    return; /* all is left to the calling thread */
  bool patient = run->job.gpu == NULL &&
                 (run->job.context->device != DZO_DEVICE_AUTO || run->job.context->gpu_tried);
  for (;;) {
    uint64_t at = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
    if (at >= run->single_count || __atomic_load_n(&s->failed, __ATOMIC_RELAXED) != 0)
      break;
    dzo_knapsack_options options;
    knapsack_job job = job_beside(s, context, &options);
    if (!patient && dzo_clock() + PATIENCE < job.deadline)
      job.deadline = dzo_clock() + PATIENCE;
    dzo_status status = solve(run, run->singles[at], &job, &s->left[at]);
    if (status != DZO_OK)
      __atomic_store_n(&s->failed, (int)status, __ATOMIC_RELAXED);
  }
  dzo_context_destroy(context);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* May threads work on different instances, with no GPU? */
static bool side_by_side(const batch_run *run) {
  dzo_knapsack_algorithm a = run->options->algorithm;
  bool cpu = run->job.gpu == NULL || a == DZO_KNAPSACK_AUTO || a == DZO_KNAPSACK_CORE ||
             a == DZO_KNAPSACK_HOROWITZ_SAHNI;
  return cpu && run->job.threads > 1 && run->single_count >= 2 * (uint64_t)run->job.threads;
}

static dzo_status solve_left(singles *s) {
  batch_run *run = s->run;
  for (uint64_t at = 0; at < run->single_count; at++) {
    if (!s->left[at])
      continue;
    knapsack_job job = run->job;
    DZO_TRY(solve(run, run->singles[at], &job, NULL));
    run->job.gpu = job.gpu;
    run->job.cpu = job.cpu;
    batch_report(run, run->batch->count - run->single_count + at + 1);
  }
  return DZO_OK;
}

dzo_status batch_solve_singles(batch_run *run) {
  if (run->single_count == 0)
    return DZO_OK;
  dzo_context *context = run->job.context;
  singles s = {.run = run, .job = run->job, .left = dzo_alloc(context, run->single_count, 1)};
  if (s.left == NULL)
    return DZO_E_MEMORY;
  memset(s.left, 1, run->single_count);
  if (side_by_side(run))
    dzo_team_run(run->job.threads, work, &s);
  dzo_status status = s.failed != 0 ? (dzo_status)s.failed : solve_left(&s);
  dzo_free(s.left);
  return status;
}
