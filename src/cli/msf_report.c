/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo msf: what was found, for people and for programs. */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/resource.h>

#include "cli/json.h"
#include "cli/msf.h"
#include "device/device.h"

/* The most memory this process ever had resident, in bytes. */
static uint64_t resident_peak(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0)
    return 0;
  return (uint64_t)usage.ru_maxrss * 1024;
}

/* The most GPU memory ever taken, in bytes. */
static uint64_t gpu_peak(const msf_job *job) {
  const dzo_unit *unit = job->call->context->gpu;
  return unit != NULL ? unit->peak : 0;
}

static const char *format_name(const msf_job *job) {
  return job->format == DZO_FORMAT_AUTO ? NULL : dzo_format_name(job->format);
}

static void report_json(const msf_job *job) {
  const msf_times *t = &job->times;
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_open_object(&json, "graph");
  cli_json_text(&json, "file", job->path);
  cli_json_text(&json, "format", format_name(job));
  cli_json_count(&json, "vertices", dzo_msf_vertices(job->msf));
  cli_json_count(&json, "edges", dzo_msf_graph_edges(job->msf));
  cli_json_text(&json, "weights", dzo_weight_type_name(job->weight_type));
  cli_json_close_object(&json);
  cli_json_open_object(&json, "forest");
  cli_json_count(&json, "edges", dzo_msf_count(job->msf));
  cli_json_count(&json, "components", dzo_msf_components(job->msf));
  cli_json_sum(&json, "weight", dzo_msf_weight(job->msf));
  cli_json_flag(&json, "maximum", job->settings->maximum);
  cli_json_close_object(&json);
  cli_json_text(&json, "device", cli_device_name(dzo_msf_device(job->msf)));
  cli_json_integer(&json, "threads", dzo_context_threads(job->call->context));
  cli_json_flag(&json, "streamed", job->streamed);
  cli_json_text(&json, "plan", dzo_msf_plan(job->msf));
  cli_json_open_object(&json, "memory");
  cli_json_count(&json, "allocated", dzo_context_memory_peak(job->call->context));
  cli_json_count(&json, "resident", resident_peak());
  cli_json_count(&json, "gpu", gpu_peak(job));
  cli_json_close_object(&json);
  cli_json_open_object(&json, "seconds");
  cli_json_seconds(&json, "read", t->read);
  cli_json_seconds(&json, "build", t->build);
  cli_json_seconds(&json, "sort", t->sort);
  cli_json_seconds(&json, "solve", t->solve);
  cli_json_seconds(&json, "verify", t->verify);
  cli_json_seconds(&json, "write", t->write);
  cli_json_seconds(&json, "total", t->total);
  cli_json_close_object(&json);
  if (job->settings->common.verify)
    cli_json_flag(&json, "verified", job->verified);
  else
    cli_json_null(&json, "verified");
  cli_json_close_object(&json);
}

static void print_times(FILE *out, const msf_times *t) {
  char total[32];
  cli_seconds_text(t->total, total);
  (void)fputs("time          ", out);
  cli_print_phase(out, "read", t->read);
  cli_print_phase(out, "build", t->build);
  cli_print_phase(out, "sort", t->sort);
  cli_print_phase(out, "solve", t->solve);
  cli_print_phase(out, "verify", t->verify);
  cli_print_phase(out, "write", t->write);
  (void)fprintf(out, "total %s\n", total);
}

static void report_text(const msf_job *job, FILE *out) {
  const dzo_msf *msf = job->msf;
  char weight[CLI_SUM_TEXT], memory[32];
  cli_sum_text(dzo_msf_weight(msf), weight);
  cli_bytes_text(resident_peak(), memory);
  (void)fprintf(out, "graph         %s", job->path);
  if (format_name(job) != NULL)
    (void)fprintf(out, " (%s)", format_name(job));
  (void)fprintf(out, "\nvertices      %llu\n", (unsigned long long)dzo_msf_vertices(msf));
  (void)fprintf(out, "edges         %llu\n", (unsigned long long)dzo_msf_graph_edges(msf));
  (void)fprintf(out, "forest edges  %llu%s\n", (unsigned long long)dzo_msf_count(msf),
                job->settings->maximum ? " (maximum)" : "");
  (void)fprintf(out, "components    %llu\n", (unsigned long long)dzo_msf_components(msf));
  (void)fprintf(out, "weight        %s\n", weight);
  int threads = dzo_context_threads(job->call->context);
  (void)fprintf(out, "device        %s, %d thread%s%s\n", cli_device_name(dzo_msf_device(msf)),
                threads, threads == 1 ? "" : "s", job->streamed ? ", streamed" : "");
  print_times(out, &job->times);
  (void)fprintf(out, "memory        %s", memory);
  if (gpu_peak(job) > 0) {
    cli_bytes_text(gpu_peak(job), memory);
    (void)fprintf(out, ", %s of the GPU", memory);
  }
  (void)fputc('\n', out);
  if (job->verified)
    (void)fputs("verified      spanning, acyclic, minimal by the cycle property\n", out);
}

void msf_report(const msf_job *job) {
  const msf_settings *s = job->settings;
  if (s->common.json) {
    report_json(job);
    return;
  }
  bool taken = (s->output != NULL && strcmp(s->output, "-") == 0) ||
               (s->components != NULL && strcmp(s->components, "-") == 0);
  if (!taken)
    report_text(job, stdout);
  else if (!s->common.quiet)
    report_text(job, stderr);
}
