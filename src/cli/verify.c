/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo verify: check an answer from anywhere. */
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "io/forest.h"

typedef struct verify_settings {
  cli_common common;
  const char *format;
  bool maximum;
} verify_settings;

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
  options.format = cli_format(job->settings->format);
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

static cli_exit run(cli_call *call) {
  verify_job job = {.call = call,
                    .settings = call->settings,
                    .graph = call->operands[1],
                    .forest = call->operands[2]};
  if (strcmp(job.graph, "-") == 0 && strcmp(job.forest, "-") == 0) {
    cli_error("verify: only one of GRAPH and FOREST can come from standard input");
    return CLI_USAGE;
  }
  cli_exit result = read_files(&job);
  if (result == CLI_DONE)
    result = check(&job);
  if (result == CLI_DONE)
    result = report(&job);
  dzo_forest_file_release(&job.claimed);
  dzo_edge_list_destroy(job.list);
  return result;
}

#define SETTING(member) .offset = offsetof(verify_settings, member)

static const char *const kinds[] = {"msf", NULL};
static const char *const later[] = {"knapsack", NULL};

static const cli_option options[] = {
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = cli_formats,
     .initial = "auto",
     SETTING(format),
     .help = "Format of GRAPH. auto finds it by content, never by suffix."},
    {.name = "maximum",
     .kind = CLI_FLAG,
     SETTING(maximum),
     .help = "FOREST is to be a maximum spanning forest instead of a minimum one."},
    {.name = NULL}};

static const char *const examples[] = {"dzo verify msf roads.gr.gz forest.txt",
                                       "dzo verify msf rmat-10 rmat-10.mst --json", NULL};

const cli_command cli_verify_command = {
    .name = "verify",
    .summary = "Check an answer from anywhere, by an algorithm that shares nothing with the solver",
    .operands =
        {{.name = "KIND", .choices = kinds, .later = later, .help = "msf: a spanning forest."},
         {.name = "GRAPH", .help = "The graph file."},
         {.name = "FOREST",
          .help = "The forest: lines `edge u v weight`, `u v [weight]` or `edge`, the "
                  "contest's .mst, a .npy array of edge numbers, or a Matrix Market "
                  "matrix; found by content."}},
    .options = options,
    .settings_size = sizeof(verify_settings),
    .examples = examples,
    .run = run};
