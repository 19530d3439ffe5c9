/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo knapsack: the solution file, which io/knapsack.h describes. */
#include <ctype.h>
#include <string.h>

#include "base/context.h"
#include "cli/knapsack.h"
#include "io/numeral.h"
#include "io/output.h"

/* A name as it may stand in a comment. */
static void put_name(const char *name, char *to, size_t size) {
  size_t i = 0;
  for (; name[i] != '\0' && i + 1 < size; i++)
    to[i] = iscntrl((unsigned char)name[i]) ? '?' : name[i];
  to[i] = '\0';
}

static dzo_status write_head(const knapsack_job *job, dzo_output *output, uint64_t k) {
  const dzo_knapsack_origin *origin = &job->set.origins[k];
  char value[DZO_DECIMAL_TEXT], weight[DZO_DECIMAL_TEXT], capacity[DZO_DECIMAL_TEXT];
  char bound[DZO_DECIMAL_TEXT], file[256], name[256] = "";
  put_name(cli_knapsack_file(job, k), file, sizeof file);
  if (origin->name != UINT64_MAX)
    put_name(job->set.text + origin->name, name, sizeof name);
  if (job->set.count > 1)
    DZO_TRY(dzo_output_print(output, "instance %llu\n", (unsigned long long)k));
  DZO_TRY(dzo_output_print(output, "# file %s\n", file));
  if (name[0] != '\0')
    DZO_TRY(dzo_output_print(output, "# name %s\n", name));
  DZO_TRY(dzo_output_print(output, "# status %s\n", cli_knapsack_outcome(job->outcomes[k])));
  if (job->outcomes[k] == DZO_KNAPSACK_INFEASIBLE)
    return DZO_OK;
  cli_knapsack_value_text(origin, job->value_sums[k], value);
  cli_knapsack_weight_text(origin, job->weight_sums[k], weight);
  cli_knapsack_weight_text(origin, cli_knapsack_wide(job->set.capacities[k]), capacity);
  cli_knapsack_value_text(origin, job->bounds[k], bound);
  return dzo_output_print(output, "# value %s\n# weight %s\n# capacity %s\n# bound %s\n", value,
                          weight, capacity, bound);
}

static dzo_status write_items(const knapsack_job *job, dzo_output *output, uint64_t k) {
  uint64_t first = job->set.offsets[k], end = job->set.offsets[k + 1];
  char line[2 * DZO_NUMERAL_MAX + 2];
  if (job->outcomes[k] == DZO_KNAPSACK_INFEASIBLE)
    return DZO_OK;
  for (uint64_t i = first; i < end; i++) {
    if (job->taken[i] == 0)
      continue;
    char *to = dzo_put_u64(line, i - first);
    if (job->taken[i] != 1) {
      *to++ = ' ';
      to = dzo_put_i64(to, job->taken[i]);
    }
    *to++ = '\n';
    DZO_TRY(dzo_output_write(output, line, (uint64_t)(to - line)));
  }
  return DZO_OK;
}

static dzo_status write_all(const knapsack_job *job, dzo_output *output) {
  DZO_TRY(dzo_output_print(output, "# dzo knapsack: the items taken, numbered from 0, and copies "
                                   "where more than one\n"));
  for (uint64_t k = 0; k < job->set.count; k++) {
    DZO_TRY(write_head(job, output, k));
    DZO_TRY(write_items(job, output, k));
  }
  return DZO_OK;
}

cli_exit cli_knapsack_write(knapsack_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_output *output;
  dzo_status status = dzo_output_open(call->context, job->settings->output, &output);
  if (status == DZO_OK)
    status = dzo_output_close(output, write_all(job, output));
  job->write = cli_now() - begun;
  return status == DZO_OK ? CLI_DONE : cli_fail(call, status, CLI_FAILED);
}
