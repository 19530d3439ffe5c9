/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo knapsack: reading, solving and checking. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/knapsack.h"

/* ---- Reading --------------------------------------------------------------------------------- */

const char *cli_knapsack_file(const knapsack_job *job, uint64_t k) {
  int file = 0;
  while (job->file_ends[file] <= k)
    file++;
  return job->call->words[file];
}

cli_exit cli_knapsack_read(knapsack_job *job) {
  cli_call *call = job->call;
  dzo_knapsack_read_options options = cli_knapsack_read_options(job->settings);
  double begun = cli_now();
  job->file_ends = dzo_calloc(call->context, (uint64_t)call->operand_count, sizeof *job->file_ends);
  if (job->file_ends == NULL)
    return cli_fail(call, DZO_E_MEMORY, CLI_FAILED);
  for (int i = 0; i < call->operand_count; i++) {
    dzo_status status = dzo_knapsack_read(call->context, call->words[i], &options, &job->set);
    if (status != DZO_OK)
      return cli_fail(call, status, status == DZO_E_ARGUMENT ? CLI_USAGE : CLI_BAD_INPUT);
    job->file_ends[i] = job->set.count;
  }
  job->read = cli_now() - begun;
  return CLI_DONE;
}

/* ---- Solving --------------------------------------------------------------------------------- */

static dzo_status make_room(knapsack_job *job) {
  dzo_context *context = job->call->context;
  uint64_t count = job->set.count;
  job->outcomes = dzo_calloc(context, count, sizeof *job->outcomes);
  job->value_sums = dzo_calloc(context, count, sizeof *job->value_sums);
  job->weight_sums = dzo_calloc(context, count, sizeof *job->weight_sums);
  job->bounds = dzo_calloc(context, count, sizeof *job->bounds);
  job->taken = dzo_calloc(context, job->set.items, sizeof *job->taken);
  bool good = job->outcomes != NULL && job->value_sums != NULL && job->weight_sums != NULL &&
              job->bounds != NULL && job->taken != NULL;
  return good ? DZO_OK : DZO_E_MEMORY;
}

/* The line on a terminal: what is known so far. */
static int show_progress(void *user, const dzo_knapsack_progress *known) {
  knapsack_job *job = user;
  if (!cli_progress_due(&job->call->progress))
    return 0;
  char value[DZO_DECIMAL_TEXT], bound[DZO_DECIMAL_TEXT], took[32], text[320];
  cli_knapsack_value_text(&job->set.origins[0], known->value, value);
  cli_knapsack_value_text(&job->set.origins[0], known->bound, bound);
  cli_seconds_text(known->seconds, took);
  (void)snprintf(text, sizeof text, "%s  value %s  bound %s  gap %.2g %%  %s",
                 dzo_knapsack_algorithm_name(known->algorithm), value, bound,
                 100 * cli_knapsack_gap(known->value, known->bound), took);
  cli_progress_show(&job->call->progress, text);
  return 0;
}

static dzo_knapsack_options solver_options(const knapsack_job *job) {
  dzo_knapsack_options options;
  dzo_knapsack_options_init(&options);
  options.algorithm = cli_knapsack_algorithm(job->settings->algorithm);
  options.fixed = (int)job->settings->fixed;
  options.time_limit = job->settings->time_limit;
  return options;
}

/* The answer of a single call, into the arrays of a batch. */
static void take_answer(knapsack_job *job, const dzo_knapsack *answer) {
  const uint64_t *items = dzo_knapsack_items(answer);
  const int64_t *copies = dzo_knapsack_copies(answer);
  job->outcomes[0] = (uint8_t)dzo_knapsack_outcome_of(answer);
  job->value_sums[0] = dzo_knapsack_value(answer);
  job->weight_sums[0] = dzo_knapsack_weight(answer);
  job->bounds[0] = dzo_knapsack_bound(answer);
  for (uint64_t i = 0; i < dzo_knapsack_count(answer); i++)
    job->taken[items[i]] = copies[i];
  job->algorithm = dzo_knapsack_algorithm_of(answer);
  job->device = dzo_knapsack_device(answer);
  job->nodes = dzo_knapsack_nodes(answer);
  job->cells = dzo_knapsack_cells(answer);
  (void)snprintf(job->plan, sizeof job->plan, "%s", dzo_knapsack_plan(answer));
}

static dzo_status solve_one(knapsack_job *job, bool *answered) {
  dzo_knapsack_instance instance;
  dzo_knapsack_options options = solver_options(job);
  dzo_knapsack *answer = NULL;
  options.progress = show_progress;
  options.progress_user = job;
  cli_knapsack_instance(&job->set, 0, &instance);
  dzo_status status = dzo_knapsack_run(job->call->context, &instance, &options, &answer);
  *answered = answer != NULL;
  if (answer != NULL)
    take_answer(job, answer);
  dzo_knapsack_destroy(answer);
  return status;
}

static dzo_status solve_batch(knapsack_job *job, bool *answered) {
  const dzo_knapsack_set *set = &job->set;
  dzo_knapsack_options options = solver_options(job);
  dzo_knapsack_batch batch;
  dzo_knapsack_batch_init(&batch);
  batch.count = set->count;
  batch.offsets = set->offsets;
  batch.values = set->values;
  batch.weights = set->weights;
  batch.copies = set->copies;
  batch.capacities = set->capacities;
  batch.outcomes = job->outcomes;
  batch.value_sums = job->value_sums;
  batch.weight_sums = job->weight_sums;
  batch.bounds = job->bounds;
  batch.taken = job->taken;
  dzo_status status = dzo_knapsack_run_batch(job->call->context, &batch, &options);
  job->device = batch.device;
  *answered = status == DZO_OK || status == DZO_E_LIMIT || status == DZO_E_CANCELLED;
  return status;
}

/* A limit or a cancel leaves an answer that is worth telling. */
cli_exit cli_knapsack_solve(knapsack_job *job) {
  cli_call *call = job->call;
  bool answered = false;
  double begun = cli_now();
  dzo_status status = make_room(job);
  if (status == DZO_OK)
    status = job->set.count == 1 ? solve_one(job, &answered) : solve_batch(job, &answered);
  job->solve = cli_now() - begun;
  cli_tell_notice(call);
  bool stopped = (status == DZO_E_LIMIT || status == DZO_E_CANCELLED) && answered;
  /* What only one algorithm refuses is the fault of who asked for it. */
  bool asked = strcmp(job->settings->algorithm, "auto") != 0;
  if (!stopped)
    return status == DZO_OK ? CLI_DONE : cli_fail(call, status, asked ? CLI_USAGE : CLI_BAD_INPUT);
  (void)snprintf(job->reason, sizeof job->reason, "%s",
                 status == DZO_E_CANCELLED ? "stopped" : dzo_context_message(call->context));
  /* What follows is quick, and is to be done in spite of the cancel. */
  dzo_context_resume(call->context);
  return status == DZO_E_LIMIT ? CLI_LIMIT : CLI_FAILED;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static bool same(dzo_int128 a, dzo_int128 b) { return a.high == b.high && a.low == b.low; }

static bool less(dzo_int128 a, dzo_int128 b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* Is an optimum that the file tells what was found, or at least possible? */
static bool agrees(const knapsack_job *job, uint64_t k, dzo_int128 told) {
  if (job->outcomes[k] == DZO_KNAPSACK_OPTIMAL)
    return same(job->value_sums[k], told);
  return job->outcomes[k] == DZO_KNAPSACK_FEASIBLE && !less(job->bounds[k], told) &&
         !less(told, job->value_sums[k]);
}

static cli_exit check_optimum(const knapsack_job *job, uint64_t k) {
  const dzo_knapsack_origin *origin = &job->set.origins[k];
  char found[DZO_DECIMAL_TEXT], told[DZO_DECIMAL_TEXT];
  if (!origin->has_optimum || agrees(job, k, cli_knapsack_wide(origin->optimum)))
    return CLI_DONE;
  cli_knapsack_value_text(origin, job->value_sums[k], found);
  cli_knapsack_value_text(origin, cli_knapsack_wide(origin->optimum), told);
  cli_progress_clear(&job->call->progress);
  cli_error("%s: the file tells an optimum of %s, and %s was found (%s)", cli_knapsack_file(job, k),
            told, found, cli_knapsack_outcome(job->outcomes[k]));
  return CLI_FAILED;
}

static cli_exit check_one(const knapsack_job *job, uint64_t k) {
  cli_call *call = job->call;
  dzo_knapsack_instance instance;
  dzo_int128 value, weight;
  int valid = 0;
  if (job->outcomes[k] != DZO_KNAPSACK_INFEASIBLE) {
    cli_knapsack_instance(&job->set, k, &instance);
    dzo_status status = dzo_knapsack_verify(
        call->context, &instance, job->taken + job->set.offsets[k], &valid, &value, &weight);
    if (status != DZO_OK)
      return cli_fail(call, status, CLI_FAILED);
    bool right = valid != 0 && same(value, job->value_sums[k]) && same(weight, job->weight_sums[k]);
    if (!right) {
      cli_progress_clear(&call->progress);
      cli_error("%s: the answer is wrong, please report this: %s", cli_knapsack_file(job, k),
                valid == 0 ? dzo_context_message(call->context)
                           : "the items do not add up to the sums");
      return CLI_FAILED;
    }
  }
  return check_optimum(job, k);
}

cli_exit cli_knapsack_check(knapsack_job *job) {
  double begun = cli_now();
  for (uint64_t k = 0; k < job->set.count; k++) {
    cli_exit result = check_one(job, k);
    if (result != CLI_DONE)
      return result;
  }
  job->verified = true;
  job->verify = cli_now() - begun;
  return CLI_DONE;
}
