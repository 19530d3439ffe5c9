/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo verify knapsack: add up a solution from anywhere, and hold it against its instances. */
#include <string.h>

#include "base/context.h"
#include "cli/verify.h"

typedef struct knapsack_check {
  cli_call *call;
  const char *instances, *claim;
  dzo_knapsack_set set;
  dzo_knapsack_solution solution;
  uint64_t checked;
  dzo_int128 value, weight; /* of the instance checked last */
  uint64_t last;
  char reason[320];   /* what is wrong, or "" */
  double read, check; /* seconds */
} knapsack_check;

static cli_exit read_files(knapsack_check *job) {
  cli_call *call = job->call;
  const verify_settings *s = call->settings;
  dzo_knapsack_read_options options = cli_knapsack_read_options(&s->knapsack);
  double begun = cli_now();
  dzo_status status = dzo_knapsack_read(call->context, job->instances, &options, &job->set);
  if (status == DZO_OK)
    status = dzo_knapsack_solution_read(call->context, job->claim, &job->set, &job->solution);
  job->read = cli_now() - begun;
  if (status == DZO_OK)
    return CLI_DONE;
  return cli_fail(call, status, status == DZO_E_ARGUMENT ? CLI_USAGE : CLI_BAD_INPUT);
}

static bool same(dzo_int128 a, dzo_int128 b) { return a.high == b.high && a.low == b.low; }

/* The sums against those that the solution tells. */
static void check_claims(knapsack_check *job, uint64_t k) {
  const dzo_knapsack_origin *origin = &job->set.origins[k];
  char told[DZO_DECIMAL_TEXT], found[DZO_DECIMAL_TEXT];
  unsigned claims = job->solution.claims[k];
  if ((claims & 1) != 0 && !same(job->solution.value_sums[k], job->value)) {
    cli_knapsack_value_text(origin, job->solution.value_sums[k], told);
    cli_knapsack_value_text(origin, job->value, found);
    (void)snprintf(job->reason, sizeof job->reason, "the value is %s, not %s", found, told);
  } else if ((claims & 2) != 0 && !same(job->solution.weight_sums[k], job->weight)) {
    cli_knapsack_weight_text(origin, job->solution.weight_sums[k], told);
    cli_knapsack_weight_text(origin, job->weight, found);
    (void)snprintf(job->reason, sizeof job->reason, "the weight is %s, not %s", found, told);
  } else if (origin->has_optimum && !same(job->value, cli_knapsack_wide(origin->optimum))) {
    cli_knapsack_value_text(origin, cli_knapsack_wide(origin->optimum), told);
    cli_knapsack_value_text(origin, job->value, found);
    (void)snprintf(job->reason, sizeof job->reason,
                   "the value is %s, and the optimum %s, as the instance tells", found, told);
  }
}

static cli_exit check_one(knapsack_check *job, uint64_t k) {
  dzo_context *context = job->call->context;
  dzo_knapsack_instance instance;
  int valid = 0;
  cli_knapsack_instance(&job->set, k, &instance);
  dzo_status status =
      dzo_knapsack_verify(context, &instance, job->solution.taken + job->set.offsets[k], &valid,
                          &job->value, &job->weight);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_FAILED);
  job->last = k;
  job->checked++;
  if (valid == 0)
    (void)snprintf(job->reason, sizeof job->reason, "%s", dzo_context_message(context));
  else
    check_claims(job, k);
  return CLI_DONE;
}

static cli_exit check(knapsack_check *job) {
  double begun = cli_now();
  for (uint64_t k = 0; k < job->set.count && job->reason[0] == '\0'; k++) {
    cli_exit result = job->solution.told[k] != 0 ? check_one(job, k) : CLI_DONE;
    if (result != CLI_DONE)
      return result;
  }
  if (job->checked == 0)
    (void)snprintf(job->reason, sizeof job->reason, "the file holds no solution");
  job->check = cli_now() - begun;
  return CLI_DONE;
}

static void sums_text(const knapsack_check *job, char value[DZO_DECIMAL_TEXT],
                      char weight[DZO_DECIMAL_TEXT], char capacity[DZO_DECIMAL_TEXT]) {
  const dzo_knapsack_origin *origin = &job->set.origins[job->last];
  cli_knapsack_value_text(origin, job->value, value);
  cli_knapsack_weight_text(origin, job->weight, weight);
  cli_knapsack_weight_text(origin, cli_knapsack_wide(job->set.capacities[job->last]), capacity);
}

static void report_json(const knapsack_check *job) {
  char value[DZO_DECIMAL_TEXT], weight[DZO_DECIMAL_TEXT], capacity[DZO_DECIMAL_TEXT];
  bool valid = job->reason[0] == '\0';
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_flag(&json, "valid", valid);
  cli_json_text(&json, "reason", valid ? NULL : job->reason);
  cli_json_text(&json, "file", job->instances);
  cli_json_text(&json, "solution", job->claim);
  cli_json_count(&json, "instances", job->set.count);
  cli_json_count(&json, "checked", job->checked);
  if (job->checked > 0) { /* the last one, which is the one that is wrong */
    sums_text(job, value, weight, capacity);
    cli_json_count(&json, "instance", job->last);
    cli_json_number(&json, "value", value);
    cli_json_number(&json, "weight", weight);
    cli_json_number(&json, "capacity", capacity);
  }
  cli_json_open_object(&json, "seconds");
  cli_json_seconds(&json, "read", job->read);
  cli_json_seconds(&json, "verify", job->check);
  cli_json_seconds(&json, "total", job->read + job->check);
  cli_json_close_object(&json);
  cli_json_close_object(&json);
}

static void report_text(const knapsack_check *job) {
  char value[DZO_DECIMAL_TEXT], weight[DZO_DECIMAL_TEXT], capacity[DZO_DECIMAL_TEXT];
  char which[48] = "";
  if (job->set.count > 1)
    (void)snprintf(which, sizeof which, "instance %llu: ", (unsigned long long)job->last);
  if (job->reason[0] != '\0') {
    (void)printf("wrong: %s%s\n", job->checked > 0 ? which : "", job->reason);
    return;
  }
  sums_text(job, value, weight, capacity);
  if (job->set.count > 1)
    (void)printf("valid: choices for %llu of %llu instances of %s\n",
                 (unsigned long long)job->checked, (unsigned long long)job->set.count,
                 job->instances);
  else
    (void)printf("valid: a choice of %s worth %s, of weight %s of %s%s\n", job->instances, value,
                 weight, capacity,
                 job->set.origins[0].has_optimum ? ", the optimum that the instance tells" : "");
}

cli_exit verify_knapsack(cli_call *call) {
  knapsack_check job = {.call = call, .instances = call->operands[1], .claim = call->operands[2]};
  cli_exit result = read_files(&job);
  if (result == CLI_DONE)
    result = check(&job);
  if (result == CLI_DONE) {
    cli_progress_clear(&call->progress);
    if (call->common->json)
      report_json(&job);
    else
      report_text(&job);
    result = job.reason[0] == '\0' ? CLI_DONE : CLI_FAILED;
  }
  dzo_knapsack_solution_release(&job.solution);
  dzo_knapsack_set_release(&job.set);
  return result;
}
