/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo generate keys: numbers to fill tables with. */
#include <string.h>

#include "cli/generate.h"
#include "cli/json.h"
#include "cli/records.h"
#include "io/columns.h"
#include "table/keys.h"

const char *const generate_distributions[] = {"unique", "uniform", "zipf", NULL};
const char *const generate_key_types[] = {"u32", "u64", NULL};

typedef struct keys_job {
  cli_call *call;
  const generate_settings *settings;
  dzo_keys_options options;
  dzo_records_format format;
  dzo_integer type;
  dzo_keys *keys;
  double write, verify, total; /* seconds */
} keys_job;

/* ---- Usage ----------------------------------------------------------------------------------- */

static void fill_options(keys_job *job) {
  const generate_settings *s = job->settings;
  dzo_keys_options *o = &job->options;
  dzo_integer named;
  job->type = strcmp(s->type, "u64") == 0 ? DZO_INTEGER_U64 : DZO_INTEGER_U32;
  if (!cli_given(job->call, "type") && cli_records_type_of_suffix(s->output, &named))
    job->type = dzo_integer_is_wide(named) ? DZO_INTEGER_U64 : DZO_INTEGER_U32;
  o->most = job->type == DZO_INTEGER_U64 ? UINT64_MAX : UINT32_MAX;
  if (s->range != 0)
    o->most = s->range - 1;
  o->distinct = s->distinct;
  o->exponent = s->exponent;
  o->seed = s->common.seed;
  o->distribution = strcmp(s->distribution, "unique") == 0    ? DZO_KEYS_UNIQUE
                    : strcmp(s->distribution, "uniform") == 0 ? DZO_KEYS_UNIFORM
                                                              : DZO_KEYS_ZIPF;
  if (o->distribution == DZO_KEYS_ZIPF && o->distinct == 0) {
    o->distinct = s->count > 0 ? s->count : 1;
    if (o->distinct > DZO_KEYS_MOST_RANKS)
      o->distinct = DZO_KEYS_MOST_RANKS;
    if (o->distinct - 1 > o->most)
      o->distinct = o->most + 1;
  }
}

/* Who reads a file that ends in .i32 or the like takes it for such numbers. */
static bool is_misnamed(const keys_job *job) {
  dzo_integer named;
  return !cli_given(job->call, "format") &&
         cli_records_type_of_suffix(job->settings->output, &named) && named != job->type;
}

static const char *problem_of(const keys_job *job) {
  const generate_settings *s = job->settings;
  const dzo_keys_options *o = &job->options;
  bool standard = strcmp(s->output, "-") == 0;
  if (is_misnamed(job))
    return job->type == DZO_INTEGER_U64
               ? "these keys are u64, and FILE is named as if they were not; give .u64"
               : "these keys are u32, and FILE is named as if they were not; give .u32";
  if (job->type == DZO_INTEGER_U32 && o->most > UINT32_MAX)
    return "--range is more than u32 keys have; give --type u64";
  if (o->distribution == DZO_KEYS_UNIQUE && s->distinct != 0)
    return "--distinct is not for unique keys, of which there are --count";
  if (o->distribution == DZO_KEYS_UNIQUE && s->count > 0 && s->count - 1 > o->most)
    return "there are not as many different keys; give a larger --range, or --type u64";
  if (o->distribution != DZO_KEYS_ZIPF && cli_given(job->call, "exponent"))
    return "--exponent is for --distribution zipf alone";
  if (o->distinct != 0 && o->distinct - 1 > o->most)
    return "--distinct is more than there are keys; give a larger --range, or --type u64";
  if (o->distribution == DZO_KEYS_ZIPF && o->distinct > DZO_KEYS_MOST_RANKS)
    return "--distinct is at most 2^40 for --distribution zipf";
  if (standard && job->call->common->json)
    return "--json needs the keys in a file; give -o FILE";
  return standard && job->call->common->verify ? "--verify needs the keys in a file; give -o FILE"
                                               : NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void fetch(const void *argument, uint64_t begin, uint64_t end,
                  uint64_t (*words)[DZO_RECORDS_FIELDS], uint8_t *absent) {
  uint64_t tile[DZO_RECORDS_TILE];
  (void)absent;
  dzo_keys_fill_u64(argument, begin, end, tile);
  for (uint64_t i = 0; i < end - begin; i++)
    words[i][0] = tile[i];
}

static dzo_status write_records(const keys_job *job, dzo_output *output) {
  dzo_records records = {.output = output,
                         .format = job->format,
                         .field_count = 1,
                         .fields = {{"key", job->type}},
                         .fetch = fetch};
  DZO_TRY(dzo_records_begin(job->call->context, &records, job->settings->count));
  DZO_TRY(dzo_records_write(&records, job->keys, job->settings->count));
  return dzo_records_end(&records);
}

static dzo_status write_keys(const keys_job *job) {
  dzo_output *output;
  DZO_TRY(dzo_output_open(job->call->context, job->settings->output, &output));
  return dzo_output_close(output, write_records(job, output));
}

/* ---- --verify -------------------------------------------------------------------------------- */

static bool same(const keys_job *job, const dzo_piece *piece) {
  uint64_t tile[DZO_RECORDS_TILE];
  for (uint64_t done = 0; done < piece->count;) {
    uint64_t left = piece->count - done, now = left < DZO_RECORDS_TILE ? left : DZO_RECORDS_TILE;
    uint64_t first = piece->first + done;
    dzo_keys_fill_u64(job->keys, first, first + now, tile);
    for (uint64_t i = 0; i < now; i++)
      if (dzo_integer_word(job->type, piece->keys, done + i) != tile[i])
        return false;
    done += now;
  }
  return true;
}

static dzo_status compare(const keys_job *job, dzo_columns *columns, bool *equal) {
  dzo_piece piece;
  *equal = true;
  do {
    DZO_TRY(dzo_columns_next(columns, &piece));
    *equal = piece.first + piece.count <= job->settings->count && same(job, &piece);
  } while (piece.count > 0 && *equal);
  *equal = *equal && piece.first == job->settings->count;
  return DZO_OK;
}

static cli_exit verify(keys_job *job) {
  static const dzo_columns_format formats[] = {DZO_COLUMNS_CSV, DZO_COLUMNS_NPY, DZO_COLUMNS_RAW};
  dzo_columns_options options = {
      .format = formats[job->format], .key_typed = true, .key_type = job->type};
  dzo_columns *columns;
  bool equal = false;
  double begun = cli_now();
  dzo_status status =
      dzo_columns_open(job->call->context, job->settings->output, &options, &columns);
  if (status == DZO_OK) {
    status = compare(job, columns, &equal);
    dzo_columns_close(columns);
  }
  job->verify = cli_now() - begun;
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_FAILED);
  if (equal)
    return CLI_DONE;
  cli_progress_clear(&job->call->progress);
  cli_error("%s: the file does not hold what was written", job->settings->output);
  return CLI_FAILED;
}

/* ---- Report ---------------------------------------------------------------------------------- */

static void report_json(const keys_job *job) {
  const generate_settings *s = job->settings;
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_open_object(&json, "keys");
  cli_json_text(&json, "file", s->output);
  cli_json_text(&json, "format", cli_records_formats[job->format]);
  cli_json_count(&json, "bytes", cli_file_size(s->output));
  cli_json_count(&json, "count", s->count);
  cli_json_text(&json, "type", dzo_integer_name(job->type));
  cli_json_close_object(&json);
  cli_json_text(&json, "generator", "keys");
  cli_json_text(&json, "distribution", s->distribution);
  if (job->options.distinct != 0)
    cli_json_count(&json, "distinct", job->options.distinct);
  if (job->options.distribution == DZO_KEYS_ZIPF)
    cli_json_real(&json, "exponent", s->exponent);
  cli_json_count(&json, "seed", job->options.seed);
  generate_end_json(&json, job->call, "cpu",
                    &(generate_times){-1, job->write, job->verify, job->total});
}

static void report_text(const keys_job *job, FILE *out) {
  const generate_settings *s = job->settings;
  char write[32];
  cli_seconds_text(job->write, write);
  (void)fprintf(out, "keys          %s (%s)\ncount         %llu\ntype          %s\n", s->output,
                cli_records_formats[job->format], (unsigned long long)s->count,
                dzo_integer_name(job->type));
  (void)fprintf(out, "distribution  %s\ntime          write %s\n", s->distribution, write);
  if (s->common.verify)
    (void)fputs("verified      the file reads back as the same keys\n", out);
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static cli_exit perform(keys_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = dzo_keys_create(call->context, &job->options, &job->keys);
  if (status == DZO_OK)
    status = write_keys(job);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  job->write = cli_now() - begun;
  cli_exit result = call->common->verify ? verify(job) : CLI_DONE;
  if (result != CLI_DONE)
    return result;
  job->total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  FILE *out = cli_report_stream(job->settings->output);
  if (call->common->json)
    report_json(job);
  else if (out == stdout || !call->common->quiet)
    report_text(job, out);
  return CLI_DONE;
}

cli_exit generate_keys(cli_call *call) {
  keys_job job = {.call = call, .settings = call->settings};
  fill_options(&job);
  const char *problem = problem_of(&job);
  if (problem != NULL) {
    cli_error("generate keys: %s", problem);
    return CLI_USAGE;
  }
  cli_exit result =
      cli_records_format(call, "format", job.settings->format, job.settings->output, &job.format);
  if (result == CLI_DONE)
    result = perform(&job);
  dzo_keys_destroy(job.keys);
  return result;
}
