/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo verify: check an answer from anywhere. */
#include <string.h>

#include "cli/json.h"
#include "cli/verify.h"
#include "io/forest.h"

typedef struct verify_job {
  cli_call *call;
  const verify_settings *settings;
  const char *graph, *forest;
  dzo_edge_list *list;
  dzo_edges edges;
  dzo_forest_file claimed;
  int valid;
  double read, check; /* seconds */
} verify_job;

static cli_exit read_files(verify_job *job) {
  cli_call *call = job->call;
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = cli_format(job->settings->knapsack.format);
  call->progress.file_bytes = cli_file_size(job->graph);
  double begun = cli_now();
  dzo_status status = dzo_edge_list_read(call->context, job->graph, &options, &job->list);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_BAD_INPUT);
  dzo_edge_list_view(job->list, &job->edges);
  const char *again = cli_reads_once(job->graph) ? NULL : job->graph;
  status = dzo_forest_read(call->context, job->forest, &job->edges, again, &job->claimed);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_BAD_INPUT);
  job->read = cli_now() - begun;
  return CLI_DONE;
}

static cli_exit check(verify_job *job) {
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.maximum = job->settings->maximum;
  claim.count = job->claimed.count;
  claim.numbers = job->claimed.numbers;
  claim.u = job->claimed.u;
  claim.v = job->claimed.v;
  double begun = cli_now();
  dzo_status status = dzo_msf_verify(job->call->context, &job->edges, &claim, &job->valid);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_BAD_INPUT);
  job->check = cli_now() - begun;
  cli_tell_notice(job->call);
  return CLI_DONE;
}

static void report_json(const verify_job *job, const char *reason) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_flag(&json, "valid", job->valid != 0);
  cli_json_text(&json, "reason", job->valid != 0 ? NULL : reason);
  cli_json_open_object(&json, "graph");
  cli_json_text(&json, "file", job->graph);
  cli_json_text(&json, "format", dzo_format_name(dzo_edge_list_format(job->list)));
  cli_json_count(&json, "vertices", job->edges.vertices);
  cli_json_count(&json, "edges", job->edges.count);
  cli_json_close_object(&json);
  cli_json_open_object(&json, "forest");
  cli_json_text(&json, "file", job->forest);
  cli_json_count(&json, "edges", job->claimed.count);
  cli_json_flag(&json, "maximum", job->settings->maximum);
  cli_json_close_object(&json);
  cli_json_open_object(&json, "seconds");
  cli_json_seconds(&json, "read", job->read);
  cli_json_seconds(&json, "verify", job->check);
  cli_json_seconds(&json, "total", job->read + job->check);
  cli_json_close_object(&json);
  cli_json_close_object(&json);
}

static cli_exit report(verify_job *job) {
  const char *reason = dzo_context_message(job->call->context);
  cli_progress_clear(&job->call->progress);
  if (job->call->common->json)
    report_json(job, reason);
  else if (job->valid != 0)
    (void)printf("valid: a %s spanning forest of %s, %llu edges\n",
                 job->settings->maximum ? "maximum" : "minimum", job->graph,
                 (unsigned long long)job->claimed.count);
  else
    (void)printf("wrong: %s\n", reason);
  return job->valid != 0 ? CLI_DONE : CLI_FAILED;
}

static cli_exit verify_forest(cli_call *call) {
  verify_job job = {.call = call,
                    .settings = call->settings,
                    .graph = call->operands[1],
                    .forest = call->operands[2]};
  cli_exit result = read_files(&job);
  if (result == CLI_DONE)
    result = check(&job);
  if (result == CLI_DONE)
    result = report(&job);
  dzo_forest_file_release(&job.claimed);
  dzo_edge_list_destroy(job.list);
  return result;
}

static bool contains(const char *const *words, const char *word) {
  while (*words != NULL && strcmp(*words, word) != 0)
    words++;
  return *words != NULL;
}

/* Options that mean nothing for this kind are mistakes. */
static const char *problem_of(const cli_call *call, bool knapsack) {
  static const char *const columns[] = {"capacity",     "value-column", "weight-column",
                                        "count-column", "name-column",  NULL};
  const verify_settings *s = call->settings;
  for (const char *const *name = columns; !knapsack && *name != NULL; name++)
    if (cli_given(call, *name))
      return "--capacity and the columns are for knapsack";
  if (knapsack && s->maximum)
    return "--maximum is for msf";
  if (!contains(knapsack ? cli_knapsack_formats : cli_formats, s->knapsack.format))
    return knapsack ? "--format: that is a format of graphs" : "--format: that is one of knapsacks";
  if (strcmp(call->operands[1], "-") == 0 && strcmp(call->operands[2], "-") == 0)
    return knapsack ? "only one of INPUT and CLAIM can come from standard input"
                    : "only one of GRAPH and FOREST can come from standard input";
  return NULL;
}

static cli_exit run(cli_call *call) {
  bool knapsack = strcmp(call->operands[0], "knapsack") == 0;
  const char *problem = problem_of(call, knapsack);
  if (problem != NULL) {
    cli_error("verify: %s", problem);
    return CLI_USAGE;
  }
  return knapsack ? verify_knapsack(call) : verify_forest(call);
}

#define SETTING(member) .offset = offsetof(verify_settings, member)

static const char *const kinds[] = {"msf", "knapsack", NULL};
/* Those of graphs, and those of knapsacks. */
static const char *const formats[] = {"auto",     "mtx",      "dimacs", "snap", "csv",    "konect",
                                      "metis",    "graphhpc", "egr",    "gap",  "galois", "dzo",
                                      "pisinger", "jooken",   "plain",  "fsu",  NULL};

static const cli_option options[] = {
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = formats,
     .argument = "FORMAT",
     .initial = "auto",
     SETTING(knapsack.format),
     .help = "Format of INPUT, as for dzo msf or dzo knapsack. auto finds it by content, never by "
             "suffix."},
    {.name = "maximum",
     .kind = CLI_FLAG,
     SETTING(maximum),
     .help = "msf: CLAIM is to be a maximum spanning forest instead of a minimum one."},
    {.name = "capacity",
     .kind = CLI_TEXT,
     .argument = "W",
     SETTING(knapsack.capacity),
     .help = "knapsack: the capacity, for files that hold none, or in the place of theirs."},
    {.name = "value-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(knapsack.value_column),
     .help = "knapsack, csv: this and the next three as for dzo knapsack."},
    {.name = "weight-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(knapsack.weight_column),
     .help = "knapsack, csv: the column of weights."},
    {.name = "count-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(knapsack.count_column),
     .help = "knapsack, csv: the column of copies."},
    {.name = "name-column",
     .kind = CLI_TEXT,
     .argument = "NAME",
     SETTING(knapsack.name_column),
     .help = "knapsack, csv: the column of names."},
    {.name = NULL}};

static const char *const examples[] = {
    "dzo verify msf roads.gr.gz forest.txt", "dzo verify msf rmat-10 rmat-10.mst --json",
    "dzo verify knapsack items.csv chosen.txt --capacity 20.5", NULL};

const cli_command cli_verify_command = {
    .name = "verify",
    .summary = "Check an answer from anywhere, by an algorithm that shares nothing with the solver",
    .operands =
        {{.name = "KIND",
          .choices = kinds,
          .help = "msf: a spanning forest; knapsack: a choice of items."},
         {.name = "INPUT", .help = "The graph file, or the instances."},
         {.name = "CLAIM",
          .help = "The forest: lines `edge u v weight`, `u v [weight]` or `edge`, the "
                  "contest's .mst, a .npy array of edge numbers, or a Matrix Market "
                  "matrix; found by content. Or the choice: lines `item [copies]`, items numbered "
                  "from 0, as dzo knapsack -o writes them, or a 0 or 1 for each item."}},
    .options = options,
    .settings_size = sizeof(verify_settings),
    .examples = examples,
    .run = run};
