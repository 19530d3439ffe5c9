/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo table: columns of keys counted, made distinct, joined and looked up. */
#include "cli/table.h"

#include <string.h>

static const char *const operations[] = {"count", "distinct", "join", "lookup", NULL};
static const char *const aggregates[] = {"count", "sum", "min", "max", NULL};
static const char *const formats[] = {"auto", "raw", "npy", "csv", NULL};
static const char *const types[] = {"u32", "i32", "u64", "i64", NULL};
static const char *const sorts[] = {"key", "count", "none", NULL};
static const char *const output_formats[] = {"auto", "csv", "npy", "raw", NULL};

static unsigned index_of(const char *const *words, const char *word) {
  unsigned i = 0;
  while (strcmp(words[i], word) != 0)
    i++;
  return i;
}

/* ---- Usage ----------------------------------------------------------------------------------- */

/* Options that mean nothing for this operation are mistakes. */
static cli_exit check_options(const table_job *job) {
  enum { COUNT = 1, DISTINCT = 2, JOIN = 4, LOOKUP = 8 };
  static const struct {
    const char *option;
    unsigned operations;
  } rows[] = {{"aggregate", COUNT},
              {"sort", COUNT | DISTINCT},
              {"top", COUNT},
              {"values", COUNT | JOIN | LOOKUP},
              {"values-type", COUNT | JOIN | LOOKUP},
              {"format2", JOIN | LOOKUP},
              {"type2", JOIN | LOOKUP},
              {"column2", JOIN | LOOKUP},
              {"values2", JOIN | LOOKUP}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!cli_given(job->call, rows[i].option) || (rows[i].operations >> job->operation & 1) != 0)
      continue;
    cli_error("table: --%s is not for %s; see dzo table --help", rows[i].option,
              operations[job->operation]);
    return CLI_USAGE;
  }
  return CLI_DONE;
}

/* Values may come from a file, or from a column that is called as the output is. */
static bool is_input(const char *output, const char *values) {
  return values != NULL && cli_file_size(values) > 0 && cli_same_file(output, values);
}

static const char *problem_of_output(const table_job *job) {
  const table_settings *s = job->settings;
  const cli_common *common = job->call->common;
  bool standard = s->output != NULL && strcmp(s->output, "-") == 0;
  if (standard && common->json)
    return "only one of -o - and --json can have standard output";
  for (int i = 0; i < 2; i++)
    if (job->paths[i] != NULL && cli_same_file(s->output, job->paths[i]))
      return "the output would replace an input";
  if (is_input(s->output, s->values) || is_input(s->output, s->values2))
    return "the output would replace an input";
  return NULL;
}

static const char *problem_of_input(const table_job *job) {
  const table_settings *s = job->settings;
  bool two = job->operation >= TABLE_JOIN;
  if (two && job->paths[1] == NULL)
    return "FILE2 is missing";
  if (!two && job->paths[1] != NULL)
    return "there is one FILE too many";
  if (two && strcmp(job->paths[0], "-") == 0 && strcmp(job->paths[1], "-") == 0)
    return "only one of FILE and FILE2 can be standard input";
  if (job->call->common->verify &&
      (cli_reads_once(job->paths[0]) || (two && cli_reads_once(job->paths[1]))))
    return "--verify reads the input again, which standard input and pipes do not allow";
  if (job->operation == TABLE_COUNT && job->aggregate != TABLE_AGGREGATE_COUNT && s->values == NULL)
    return "--aggregate needs --values";
  if (job->operation == TABLE_COUNT && job->aggregate == TABLE_AGGREGATE_COUNT && s->values != NULL)
    return "--values needs --aggregate sum, min or max";
  if (s->top > 0 && strcmp(s->sort, "none") == 0)
    return "--top needs an order";
  if (job->operation == TABLE_DISTINCT && strcmp(s->sort, "count") == 0)
    return "--sort count is for count";
  return NULL;
}

static cli_exit check_usage(const table_job *job) {
  cli_exit result = check_options(job);
  if (result != CLI_DONE)
    return result;
  const char *problem = problem_of_input(job);
  if (problem == NULL)
    problem = problem_of_output(job);
  if (problem == NULL)
    return CLI_DONE;
  cli_error("table %s: %s", operations[job->operation], problem);
  return CLI_USAGE;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static cli_exit run_once(table_job *job) {
  return job->operation >= TABLE_JOIN ? cli_table_join(job) : cli_table_count(job);
}

/* Pieces of a stream follow each other, and each wants a workspace. */
static void keep_workspace(dzo_context *context) {
  enum { MOST = 1 << 28, SHARE = 16 };
  context->keep = context->memory / SHARE < MOST ? context->memory / SHARE : MOST;
}

static cli_exit run_anywhere(table_job *job) {
  const table_job fresh = *job;
  keep_workspace(job->call->context);
  cli_exit result = run_once(job);
  if (!job->again)
    return result;
  *job = fresh;
  job->call->context->device = DZO_DEVICE_CPU;
  return run_once(job);
}

static cli_exit run(cli_call *call) {
  const table_settings *s = call->settings;
  table_job job = {.call = call,
                   .settings = s,
                   .operation = (table_operation)index_of(operations, call->operands[0]),
                   .aggregate = (table_aggregate)index_of(aggregates, s->aggregate),
                   .paths = {call->operands[1], call->operands[2]},
                   .device = DZO_DEVICE_CPU};
  /* Records take standard output, but where a report was asked for, or is all that is wanted. */
  job.writes = s->output != NULL || (job.operation != TABLE_DISTINCT && !call->common->json);
  cli_exit result = check_usage(&job);
  if (result == CLI_DONE && job.writes)
    result = cli_records_format(call, "output-format", s->output_format,
                                s->output != NULL ? s->output : "-", &job.format);
  double begun = cli_now();
  if (result == CLI_DONE)
    result = run_anywhere(&job);
  if (result != CLI_DONE)
    return result;
  job.times.total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  cli_table_report(&job);
  return CLI_DONE;
}

#define SETTING(member) .offset = offsetof(table_settings, member)

static const cli_option options[] = {
    {.name = "type",
     .kind = CLI_CHOICE,
     .choices = types,
     SETTING(type),
     .help =
         "What raw keys are, where FILE does not end in .u32 or the like; and what the keys of a "
         "CSV column must fit, i64 without it."},
    {.name = "column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(column),
     .help = "The keys: a column of a CSV file or a field of a .npy array by its name, or by its "
             "number from 1; without it, the first."},
    {.name = "values",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(values),
     .help = "The values: another column or field, or, where FILE has one alone, a file of the "
             "same format with a value for each key."},
    {.name = "values-type",
     .kind = CLI_CHOICE,
     .choices = types,
     SETTING(values_type),
     .help = "What values are, raw and in CSV; without it, raw values are as the keys, and those "
             "in CSV i64."},
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = formats,
     .initial = "auto",
     SETTING(format),
     .help = "Format of FILE. auto finds it by content: .npy by its first bytes, csv if it is "
             "text and FILE does not end in .u32 or the like, else raw, little-endian numbers."},
    {.name = "column2",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(column2),
     .help = "join, lookup: the keys of FILE2; without it, as --column, or the only ones."},
    {.name = "values2",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(values2),
     .help = "join, lookup: the values of FILE2; without it, the numbers of its rows, from 0."},
    {.name = "type2",
     .kind = CLI_CHOICE,
     .choices = types,
     SETTING(type2),
     .help = "join, lookup: as --type, for FILE2; without it, the same, unless FILE2 ends in "
             ".u32 or the like."},
    {.name = "format2",
     .kind = CLI_CHOICE,
     .choices = formats,
     .initial = "auto",
     SETTING(format2),
     .help = "join, lookup: format of FILE2."},
    {.name = "aggregate",
     .kind = CLI_CHOICE,
     .choices = aggregates,
     .initial = "count",
     SETTING(aggregate),
     .help = "count: what to tell of each key: how often it occurs, or the sum, the least or the "
             "greatest of its values. A sum that does not fit 64 bits is an error."},
    {.name = "sort",
     .kind = CLI_CHOICE,
     .choices = sorts,
     .initial = "key",
     SETTING(sort),
     .help = "count, distinct: order of the output: ascending keys; the largest count (or sum, "
             "and so on) first, equal ones by key; or none that is promised, which is quickest."},
    {.name = "top",
     .kind = CLI_COUNT,
     .argument = "K",
     .minimum = 1,
     .maximum = UINT64_MAX,
     SETTING(top),
     .help = "count: only the K keys that come first, with --sort count unless it is given."},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_FILE,
     .argument = "FILE",
     SETTING(output),
     .help = "Write the records to FILE, or with - to standard output, which is where those of "
             "count, join and lookup go without it; the report then goes to standard error."},
    {.name = "output-format",
     .kind = CLI_CHOICE,
     .choices = output_formats,
     .initial = "auto",
     SETTING(output_format),
     .help = "How records are written: csv, with a line of names; npy, a NumPy array; or raw, the "
             "same without its header. auto goes by the suffix of FILE, and is csv where that "
             "says nothing."},
    {.name = NULL}};

static const char *const examples[] = {
    "dzo table count words.csv --column id --top 10",
    "dzo table count keys.raw --type u32 -o counts.npy",
    "dzo table count sales.csv.gz --column shop --values price --aggregate sum",
    "dzo table distinct keys.npy --json",
    "dzo table join orders.csv customers.csv --column customer --values total --values2 region",
    "zcat ids.csv.gz | dzo table lookup - names.csv --column id --values2 group",
    NULL};

const cli_command cli_table_command = {
    .name = "table",
    .summary = "Count, deduplicate, join or look up integer keys by a hash table",
    .operands =
        {{.name = "OPERATION",
          .choices = operations,
          .help = "count: each key, and how often it occurs; distinct: how many different keys "
                  "there are, and with -o which; join: all pairs of rows of FILE and FILE2 with "
                  "the same key; lookup: each key of FILE with the value of its first row in "
                  "FILE2, if any."},
         {.name = "FILE",
          .help = "The keys, or - for standard input; gzip and zstd are unpacked. It may be larger "
                  "than memory."},
         {.name = "FILE2",
          .optional = true,
          .help = "join, lookup: the keys that are kept in memory; better the smaller file."}},
    .options = options,
    .settings_size = sizeof(table_settings),
    .examples = examples,
    .run = run};
