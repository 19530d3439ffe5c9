/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo table: what was found, for people and for programs. */
#include <string.h>

#include "cli/json.h"
#include "cli/table.h"

static const char *const operation_names[] = {"count", "distinct", "join", "lookup"};
static const char *const format_names[] = {"auto", "raw", "npy", "csv"};

static bool has_two(const table_job *job) { return job->operation >= TABLE_JOIN; }

static void json_file(cli_json *json, const table_job *job, int which) {
  cli_json_open_object(json, which == 0 ? "input" : "input2");
  cli_json_text(json, "file", job->paths[which]);
  cli_json_text(json, "format", format_names[job->formats[which]]);
  cli_json_text(json, "type", dzo_integer_name(job->key_types[which]));
  cli_json_close_object(json);
}

static void json_times(cli_json *json, const table_times *t) {
  cli_json_open_object(json, "seconds");
  cli_json_seconds(json, "read", t->read);
  cli_json_seconds(json, "table", t->table);
  cli_json_seconds(json, "sort", t->sort);
  cli_json_seconds(json, "write", t->write);
  cli_json_seconds(json, "verify", t->verify);
  cli_json_seconds(json, "total", t->total);
  cli_json_close_object(json);
}

static void report_json(const table_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_text(&json, "operation", operation_names[job->operation]);
  json_file(&json, job, 0);
  if (has_two(job))
    json_file(&json, job, 1);
  cli_json_count(&json, "records", job->records[0]);
  if (has_two(job))
    cli_json_count(&json, "records2", job->records[1]);
  cli_json_count(&json, "distinct", job->distinct);
  if (has_two(job))
    cli_json_count(&json, "matched", job->matched);
  else
    cli_json_null(&json, "matched");
  if (job->operation == TABLE_JOIN)
    cli_json_count(&json, "pairs", job->pairs);
  cli_json_text(&json, "device", cli_device_name(job->device));
  cli_json_integer(&json, "threads", dzo_context_threads(job->call->context));
  cli_json_real(&json, "load", job->load);
  cli_json_count(&json, "bytes", job->bytes);
  json_times(&json, &job->times);
  if (job->call->common->verify)
    cli_json_flag(&json, "verified", job->verified);
  else
    cli_json_null(&json, "verified");
  cli_json_close_object(&json);
}

static void print_times(FILE *out, const table_times *t) {
  char total[32];
  cli_seconds_text(t->total, total);
  (void)fputs("time          ", out);
  cli_print_phase(out, "read", t->read);
  cli_print_phase(out, "table", t->table);
  cli_print_phase(out, "sort", t->sort);
  cli_print_phase(out, "write", t->write);
  cli_print_phase(out, "verify", t->verify);
  (void)fprintf(out, "total %s\n", total);
}

static void print_file(FILE *out, const table_job *job, int which) {
  (void)fprintf(out, "%-14s%s (%s, %s)\n", which == 0 ? "input" : "input2", job->paths[which],
                format_names[job->formats[which]], dzo_integer_name(job->key_types[which]));
  (void)fprintf(out, "%-14s%llu\n", which == 0 ? "records" : "records2",
                (unsigned long long)job->records[which]);
}

static void report_text(const table_job *job, FILE *out) {
  char bytes[32];
  cli_bytes_text(job->bytes, bytes);
  print_file(out, job, 0);
  if (has_two(job))
    print_file(out, job, 1);
  (void)fprintf(out, "distinct      %llu\n", (unsigned long long)job->distinct);
  if (has_two(job))
    (void)fprintf(out, "matched       %llu\n", (unsigned long long)job->matched);
  if (job->operation == TABLE_JOIN)
    (void)fprintf(out, "pairs         %llu\n", (unsigned long long)job->pairs);
  int threads = dzo_context_threads(job->call->context);
  (void)fprintf(out, "device        %s, %d thread%s\n", cli_device_name(job->device), threads,
                threads == 1 ? "" : "s");
  (void)fprintf(out, "table         %s, load %.2f\n", bytes, job->load);
  print_times(out, &job->times);
  if (job->verified)
    (void)fputs("verified      sorting gives the same\n", out);
}

void cli_table_report(const table_job *job) {
  if (job->call->common->json) {
    report_json(job);
    return;
  }
  const char *output = job->settings->output;
  bool taken = job->writes && (output == NULL || strcmp(output, "-") == 0);
  if (!taken)
    report_text(job, stdout);
  else if (!job->call->common->quiet)
    report_text(job, stderr);
}
