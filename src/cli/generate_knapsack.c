/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo generate knapsack: an instance of one of the classes of the literature. */
#include <string.h>

#include "base/memory.h"
#include "cli/generate.h"
#include "cli/json.h"
#include "io/knapsack.h"
#include "knapsack/classes.h"

typedef struct knapsack_job {
  cli_call *call;
  const generate_settings *settings;
  dzo_knapsack_class kind;
  dzo_knapsack_format format;
  int64_t *values, *weights;
  dzo_knapsack_instance instance;
  char name[96];
  double generate, verify, write, total; /* seconds */
} knapsack_job;

const char *const generate_classes[] = {KNAPSACK_CLASS_NAMES, NULL};

static const char *const formats[] = {"auto", "pisinger", "jooken", "plain", "csv", NULL};

static unsigned index_of(const char *const *words, const char *word) {
  unsigned i = 0;
  while (words[i] != NULL && strcmp(words[i], word) != 0)
    i++;
  return i;
}

static cli_exit check_usage(knapsack_job *job) {
  const generate_settings *s = job->settings;
  const cli_common *common = job->call->common;
  unsigned format = index_of(formats, s->format);
  if (formats[format] == NULL) {
    cli_error("generate knapsack: --format: %s is none of auto, pisinger, jooken, plain, csv",
              s->format);
    return CLI_USAGE;
  }
  job->format = (dzo_knapsack_format)format;
  if (strcmp(s->output, "-") != 0 || (!common->json && !common->verify))
    return CLI_DONE;
  cli_error("generate knapsack: --%s needs the instance in a file; give -o FILE",
            common->json ? "json" : "verify");
  return CLI_USAGE;
}

static dzo_status make(knapsack_job *job) {
  dzo_context *context = job->call->context;
  const generate_settings *s = job->settings;
  uint64_t range = s->range != 0 ? s->range : 1000;
  job->values = dzo_alloc(context, s->items, sizeof *job->values);
  job->weights = dzo_alloc(context, s->items, sizeof *job->weights);
  if (job->values == NULL || job->weights == NULL)
    return DZO_E_MEMORY;
  dzo_knapsack_instance_init(&job->instance);
  job->instance.count = s->items;
  job->instance.values = job->values;
  job->instance.weights = job->weights;
  (void)snprintf(job->name, sizeof job->name, "%s_%llu_%llu_%llu", s->kind,
                 (unsigned long long)s->items, (unsigned long long)range,
                 (unsigned long long)s->common.seed);
  return dzo_knapsack_generate(
      context, job->kind, s->items, range <= INT64_MAX ? (int64_t)range : INT64_MAX, s->common.seed,
      s->part, s->parts, job->values, job->weights, &job->instance.capacity);
}

/* Does the file hold what was written? */
static cli_exit check(knapsack_job *job) {
  cli_call *call = job->call;
  dzo_knapsack_read_options options = {.format = job->format};
  dzo_knapsack_set set = {0};
  char capacity[32];
  size_t bytes = job->instance.count * sizeof *job->values;
  (void)snprintf(capacity, sizeof capacity, "%lld", (long long)job->instance.capacity);
  if (job->format == DZO_KNAPSACK_FILE_CSV)
    options.capacity = capacity;
  dzo_status status = dzo_knapsack_read(call->context, job->settings->output, &options, &set);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  bool same = set.count == 1 && set.items == job->instance.count &&
              set.capacities[0] == job->instance.capacity &&
              (bytes == 0 || (memcmp(set.values, job->values, bytes) == 0 &&
                              memcmp(set.weights, job->weights, bytes) == 0));
  dzo_knapsack_set_release(&set);
  if (same)
    return CLI_DONE;
  cli_progress_clear(&call->progress);
  cli_error("%s: the file does not hold what was written", job->settings->output);
  return CLI_FAILED;
}

static void report_json(const knapsack_job *job) {
  const generate_settings *s = job->settings;
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_open_object(&json, "knapsack");
  cli_json_text(&json, "file", s->output);
  cli_json_text(&json, "format", dzo_knapsack_format_name(job->format));
  cli_json_count(&json, "bytes", cli_file_size(s->output));
  cli_json_text(&json, "name", job->name);
  cli_json_count(&json, "items", s->items);
  cli_json_integer(&json, "capacity", job->instance.capacity);
  cli_json_close_object(&json);
  cli_json_text(&json, "generator", "knapsack");
  cli_json_text(&json, "class", s->kind);
  cli_json_count(&json, "seed", s->common.seed);
  generate_end_json(&json, job->call, "cpu",
                    &(generate_times){job->generate, job->write, job->verify, job->total});
}

static void report_text(const knapsack_job *job, FILE *out) {
  const generate_settings *s = job->settings;
  (void)fprintf(out, "instance      %s of %s (%s)\nitems         %llu\ncapacity      %lld\n",
                job->name, s->output, dzo_knapsack_format_name(job->format),
                (unsigned long long)s->items, (long long)job->instance.capacity);
  if (s->common.verify)
    (void)fputs("verified      the file reads back as the same instance\n", out);
}

static cli_exit perform(knapsack_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = make(job);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_USAGE);
  double made = cli_now();
  job->generate = made - begun;
  if (job->format == DZO_KNAPSACK_FILE_AUTO)
    job->format = DZO_KNAPSACK_FILE_PLAIN;
  status = dzo_knapsack_write(call->context, job->settings->output, job->format, job->name,
                              &job->instance);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  double written = cli_now();
  job->write = written - made;
  cli_exit result = call->common->verify ? check(job) : CLI_DONE;
  if (result != CLI_DONE)
    return result;
  job->verify = call->common->verify ? cli_now() - written : 0;
  job->total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  FILE *out = cli_report_stream(job->settings->output);
  if (call->common->json)
    report_json(job);
  else if (out == stdout || !call->common->quiet)
    report_text(job, out);
  return CLI_DONE;
}

cli_exit generate_knapsack(cli_call *call) {
  const generate_settings *s = call->settings;
  knapsack_job job = {
      .call = call, .settings = s, .kind = (dzo_knapsack_class)index_of(generate_classes, s->kind)};
  cli_exit result = check_usage(&job);
  if (result == CLI_DONE)
    result = perform(&job);
  dzo_free(job.values);
  dzo_free(job.weights);
  return result;
}
