/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo table: what the operations share of inputs, tables and outputs. */
#include <string.h>

#include "base/context.h"
#include "cli/table.h"

/* ---- Inputs ---------------------------------------------------------------------------------- */

static bool type_of(const char *name, dzo_integer *out) {
  if (name == NULL)
    return false;
  unsigned i = DZO_INTEGER_U32;
  while (strcmp(dzo_integer_name((dzo_integer)i), name) != 0)
    i++;
  *out = (dzo_integer)i;
  return true;
}

static dzo_columns_format format_of(const char *name) {
  static const char *const names[] = {"auto", "raw", "npy", "csv"};
  unsigned i = 0;
  while (strcmp(names[i], name) != 0)
    i++;
  return (dzo_columns_format)i;
}

/* What is looked up or converted takes memory beside the keys. */
static uint64_t piece_of(const table_job *job) {
  enum { LEAST = 1 << 14, MOST = 1 << 22, SHARE = 512 };
  if (job->operation < TABLE_JOIN && job->aggregate == TABLE_AGGREGATE_COUNT)
    return 0;
  uint64_t piece = job->call->context->memory / SHARE;
  return piece < LEAST ? LEAST : piece > MOST ? MOST : piece;
}

cli_exit cli_table_open(table_job *job, int which, dzo_columns **out) {
  const table_settings *s = job->settings;
  dzo_columns_options options = {.format = format_of(which == 0 ? s->format : s->format2),
                                 .column = which == 0 ? s->column : s->column2,
                                 .values = which == 0 ? s->values : s->values2,
                                 .piece = piece_of(job)};
  if (which == 1 && s->column2 == NULL) {
    options.column = s->column;
    options.column_if_any = true;
  }
  options.raw_by_name = cli_records_type_of_suffix(job->paths[which], &options.key_type);
  options.key_typed = type_of(which == 0 ? s->type : s->type2, &options.key_type) ||
                      options.raw_by_name || type_of(s->type, &options.key_type);
  options.value_typed = type_of(s->values_type, &options.value_type);
  job->call->progress.file_bytes = cli_file_size(job->paths[which]);
  dzo_status status = dzo_columns_open(job->call->context, job->paths[which], &options, out);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_BAD_INPUT);
  job->formats[which] = dzo_columns_format_of(*out);
  job->key_types[which] = dzo_columns_key_type(*out);
  job->value_types[which] = dzo_columns_value_type(*out);
  return CLI_DONE;
}

dzo_status cli_table_next(table_job *job, dzo_columns *columns, dzo_piece *piece) {
  double begun = cli_now();
  dzo_status status = dzo_columns_next(columns, piece);
  job->times.read += cli_now() - begun;
  return status;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

dzo_status cli_table_create_for(table_job *job, int key_bits, int value_bits, uint64_t expected,
                                dzo_table **out) {
  dzo_context *context = job->call->context;
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = key_bits;
  options.value_bits = value_bits;
  dzo_status status = table_make(context, &options, expected, out);
  if (status == DZO_OK)
    job->device = dzo_table_device(*out);
  cli_tell_notice(job->call);
  return status;
}

/* A table that has outgrown the memory planned for would only be slower from here on, or the end of
 * other programs. */
static dzo_status check_memory(table_job *job, const dzo_table *table) {
  dzo_context *context = job->call->context;
  uint64_t bytes = dzo_table_bytes(table);
  if (dzo_table_device(table) != DZO_DEVICE_CPU || bytes <= context->memory)
    return DZO_OK;
  bool two = job->operation >= TABLE_JOIN;
  char taken[32], allowed[32];
  cli_bytes_text(bytes, taken);
  cli_bytes_text(context->memory, allowed);
  return dzo_fail(
      context, DZO_E_MEMORY,
      "%s%llu different keys take %s, and %s are planned for; give more by --memory, %s",
      two ? "FILE2: " : "", (unsigned long long)dzo_table_size(table), taken, allowed,
      two ? "put the smaller file second, or cut both by ranges of keys"
          : "or cut the input by ranges of keys");
}

dzo_status cli_table_run_batch(table_job *job, dzo_table *table, dzo_table_batch *batch) {
  double begun = cli_now();
  dzo_status status = dzo_table_run(table, batch);
  job->times.table += cli_now() - begun;
  DZO_TRY(status);
  cli_table_take_measures(job, table);
  return check_memory(job, table);
}

/* Where --device auto took the GPU, a GPU that fails or has no room for so many keys is no reason
 * to give up: the files are still there. */
cli_exit cli_table_fail(table_job *job, dzo_status status, cli_exit otherwise, bool written) {
  cli_call *call = job->call;
  bool gpu = status == DZO_E_DEVICE_FAILED || status == DZO_E_DEVICE ||
             (status == DZO_E_MEMORY && job->device == DZO_DEVICE_CUDA);
  bool once =
      cli_reads_once(job->paths[0]) || (job->paths[1] != NULL && cli_reads_once(job->paths[1]));
  if (!gpu || once || written || call->context->device != DZO_DEVICE_AUTO)
    return cli_fail(call, status, otherwise);
  cli_note(call, "%s; all is done again on the CPU", dzo_context_message(call->context));
  job->again = true;
  return CLI_FAILED;
}

void cli_table_take_measures(table_job *job, const dzo_table *table) {
  uint64_t capacity = dzo_table_capacity(table);
  job->distinct = dzo_table_size(table);
  job->bytes = dzo_table_bytes(table);
  job->device = dzo_table_device(table);
  job->load = capacity > 0 ? (double)job->distinct / (double)capacity * table->options.max_load : 0;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* Who reads a file that ends in .u32 or the like takes it for such numbers and nothing else. */
static dzo_status check_suffix(const table_job *job, const dzo_records *records, const char *path) {
  dzo_integer named, type = records->fields[0].type;
  if (records->format != DZO_RECORDS_RAW || cli_given(job->call, "output-format") ||
      !cli_records_type_of_suffix(path, &named) || (records->field_count == 1 && named == type))
    return DZO_OK;
  if (records->field_count == 1)
    return dzo_fail(job->call->context, DZO_E_ARGUMENT,
                    "%s: the keys are %s; give that as suffix, or --type", path,
                    dzo_integer_name(type));
  return dzo_fail(
      job->call->context, DZO_E_ARGUMENT,
      "%s: the name is one for a single column, and these are records of %u; .raw would "
      "do",
      path, records->field_count);
}

dzo_status cli_table_begin_output(table_job *job, dzo_records *records, uint64_t count) {
  const char *path = job->settings->output != NULL ? job->settings->output : "-";
  DZO_TRY(check_suffix(job, records, path));
  DZO_TRY(dzo_output_open(job->call->context, path, &records->output));
  dzo_status status = dzo_records_begin(job->call->context, records, count);
  if (status == DZO_OK)
    return DZO_OK;
  status = dzo_output_close(records->output, status);
  records->output = NULL;
  return status;
}

dzo_status cli_table_end_output(table_job *job, dzo_records *records, dzo_status status) {
  (void)job;
  if (status == DZO_OK)
    status = dzo_records_end(records);
  return dzo_output_close(records->output, status);
}
