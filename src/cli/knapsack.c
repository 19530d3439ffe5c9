/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo knapsack: the best choice of items, for one instance or many. */
#include "cli/knapsack.h"

#include <string.h>

#include "base/memory.h"

static const char *problem_of(const cli_call *call) {
  const knapsack_settings *s = call->settings;
  bool to_stdout = s->output != NULL && strcmp(s->output, "-") == 0;
  int from_stdin = 0;
  for (int i = 0; i < call->operand_count; i++) {
    from_stdin += strcmp(call->words[i], "-") == 0;
    if (cli_same_file(s->output, call->words[i]))
      return "the output would replace an input";
  }
  if (from_stdin > 1)
    return "only one FILE can be standard input";
  if (to_stdout && call->common->json)
    return "only one of -o - and --json can have standard output";
  if (cli_given(call, "fixed") && strcmp(s->algorithm, "hybrid") != 0)
    return "--fixed is for --algorithm hybrid";
  return NULL;
}

/* What was found is told even where it is not proved the best; that is the exit status then. */
static cli_exit perform(knapsack_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  cli_exit result = cli_knapsack_read(job);
  if (result != CLI_DONE)
    return result;
  cli_exit solved = cli_knapsack_solve(job);
  if (solved != CLI_DONE && job->reason[0] == '\0')
    return solved;
  if (call->common->verify)
    result = cli_knapsack_check(job);
  if (result == CLI_DONE && job->settings->output != NULL)
    result = cli_knapsack_write(job);
  if (result != CLI_DONE)
    return result;
  job->total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  cli_knapsack_report(job);
  if (solved != CLI_DONE)
    cli_note(call, "%s", job->reason);
  return solved;
}

static cli_exit run(cli_call *call) {
  knapsack_job job = {.call = call, .settings = call->settings};
  const char *problem = problem_of(call);
  if (problem != NULL) {
    cli_error("knapsack: %s", problem);
    return CLI_USAGE;
  }
  cli_exit result = perform(&job);
  dzo_free(job.file_ends);
  dzo_free(job.outcomes);
  dzo_free(job.value_sums);
  dzo_free(job.weight_sums);
  dzo_free(job.bounds);
  dzo_free(job.taken);
  dzo_knapsack_set_release(&job.set);
  return result;
}

#define SETTING(member) .offset = offsetof(knapsack_settings, member)

static const cli_option options[] = {
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = cli_knapsack_formats,
     .initial = "auto",
     SETTING(format),
     .help = "Format of FILE. auto finds it by content."},
    {.name = "capacity",
     .kind = CLI_TEXT,
     .argument = "W",
     SETTING(capacity),
     .help = "The capacity, which may be a decimal; for files that hold none, or in the place of "
             "theirs."},
    {.name = "algorithm",
     .kind = CLI_CHOICE,
     .choices = cli_knapsack_algorithms,
     .initial = "auto",
     SETTING(algorithm),
     .help =
         "How to solve it. auto chooses by the number of items, the size of the numbers, memory "
         "and device, and changes its mind where it was wrong."},
    {.name = "fixed",
     .kind = CLI_COUNT,
     .argument = "K",
     .minimum = 1,
     .maximum = 40,
     SETTING(fixed),
     .help = "hybrid: how many items are enumerated; without it, as many as suit the device."},
    {.name = "time-limit",
     .kind = CLI_REAL,
     .argument = "S",
     .least = 0,
     .most = 1e9,
     SETTING(time_limit),
     .help = "Stop after S seconds, with the best choice found and a bound on all others (exit "
             "status 5); 0: no limit."},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_FILE,
     .argument = "FILE",
     SETTING(output),
     .help = "Write the items taken to FILE, one a line, numbered from 0; with - to standard "
             "output, and the report to standard error."},
    {.name = "value-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(value_column),
     .help = "csv: the column of values by its name, or by its number from 1; without it, one "
             "called value, profit, price or the like."},
    {.name = "weight-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(weight_column),
     .help = "csv: the weights; without it, one called weight, size, cost or the like."},
    {.name = "count-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(count_column),
     .help = "csv: how many there are of each item; without it, one called count, copies or "
             "quantity, if there is one."},
    {.name = "name-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(name_column),
     .help = "csv: names of items; without it, one called name, item or id, if there is one."},
    {.name = NULL}};

static const char *const examples[] = {
    "dzo knapsack items.csv --capacity 20.5",
    "dzo knapsack knapPI_1_50_1000.csv --verify --json",
    "dzo knapsack test.in --time-limit 60 -o chosen.txt",
    "dzo knapsack instances/*.txt.gz",
    "dzo generate knapsack --class circle --items 1000 | dzo knapsack - --algorithm core",
    NULL};

const cli_command cli_knapsack_command = {
    .name = "knapsack",
    .summary = "Choose the items of the greatest value whose weights fit a capacity, exactly",
    .operands = {{.name = "FILE...",
                  .repeated = true,
                  .help = "Instances, or - for standard input; gzip and zstd are unpacked. Several "
                          "instances, in one file or several, are solved as a batch."}},
    .options = options,
    .settings_size = sizeof(knapsack_settings),
    .examples = examples,
    .run = run};
