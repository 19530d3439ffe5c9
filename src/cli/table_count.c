/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo table count and distinct: keys stream into a table, which keeps the different ones. */
#include <string.h>

#include "base/memory.h"
#include "cli/table.h"

static dzo_status read_all(table_job *job, dzo_columns *columns, table_tally *tally,
                           bool *bad_input) {
  dzo_piece piece;
  for (;;) {
    *bad_input = true;
    DZO_TRY(cli_table_next(job, columns, &piece));
    *bad_input = false;
    if (piece.count == 0)
      return DZO_OK;
    DZO_TRY(cli_tally_add(tally, &piece));
    job->records[0] += piece.count;
  }
}

static cli_exit tally_up(table_job *job, table_pairs *pairs) {
  dzo_columns *columns;
  table_tally *tally = NULL;
  bool bad_input = false;
  cli_exit result = cli_table_open(job, 0, &columns);
  if (result != CLI_DONE)
    return result;
  dzo_status status = cli_tally_create(job, columns, &tally);
  if (status == DZO_OK)
    status = read_all(job, columns, tally, &bad_input);
  dzo_columns_close(columns);
  double begun = cli_now();
  /* Sums that do not fit are found on the way. */
  bool wanted = job->writes || job->call->common->verify || job->aggregate == TABLE_AGGREGATE_SUM;
  if (status == DZO_OK && wanted)
    status = cli_tally_take(tally, pairs);
  job->times.table += cli_now() - begun;
  cli_tally_destroy(tally);
  return status == DZO_OK
             ? CLI_DONE
             : cli_table_fail(job, status, bad_input ? CLI_BAD_INPUT : CLI_FAILED, false);
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct pairs_source {
  const table_pairs *pairs;
  dzo_integer key_type;
} pairs_source;

static void fetch(const void *argument, uint64_t begin, uint64_t end,
                  uint64_t (*words)[DZO_RECORDS_FIELDS], uint8_t *absent) {
  const pairs_source *s = argument;
  (void)absent;
  for (uint64_t i = begin; i < end; i++) {
    words[i - begin][0] = table_extend(s->key_type, table_pairs_key(s->pairs, i));
    words[i - begin][1] = table_pairs_value(s->pairs, i);
  }
}

static bool has_signed_values(const table_job *job) {
  return job->aggregate != TABLE_AGGREGATE_COUNT && dzo_integer_is_signed(job->value_types[0]);
}

static dzo_status write_pairs(table_job *job, const table_pairs *pairs) {
  static const char *const names[] = {"count", "sum", "min", "max"};
  pairs_source source = {pairs, job->key_types[0]};
  dzo_records records = {.format = job->format,
                         .field_count = job->operation == TABLE_COUNT ? 2 : 1,
                         .fields = {{"key", job->key_types[0]},
                                    {names[job->aggregate],
                                     has_signed_values(job) ? DZO_INTEGER_I64 : DZO_INTEGER_U64}},
                         .fetch = fetch};
  double begun = cli_now();
  DZO_TRY(cli_table_begin_output(job, &records, pairs->count));
  dzo_status status = dzo_records_write(&records, &source, pairs->count);
  status = cli_table_end_output(job, &records, status);
  job->times.write += cli_now() - begun;
  return status;
}

static dzo_status order_pairs(table_job *job, table_pairs *pairs) {
  const table_settings *s = job->settings;
  bool by_count = strcmp(s->sort, "count") == 0 || (s->top > 0 && !cli_given(job->call, "sort"));
  if (strcmp(s->sort, "none") == 0)
    return DZO_OK;
  table_order order = {.by_value = by_count,
                       .signed_keys = dzo_integer_is_signed(job->key_types[0]),
                       .signed_values = has_signed_values(job),
                       .wide_keys = dzo_integer_is_wide(job->key_types[0]),
                       .top = s->top};
  double begun = cli_now();
  dzo_status status = cli_table_order_pairs(job->call->context, &order, pairs);
  job->times.sort += cli_now() - begun;
  return status;
}

static cli_exit use(table_job *job, table_pairs *pairs) {
  cli_exit result = CLI_DONE;
  if (job->call->common->verify)
    result = cli_table_verify_pairs(job, pairs);
  if (result != CLI_DONE || !job->writes)
    return result;
  dzo_status status = order_pairs(job, pairs);
  if (status == DZO_OK)
    status = write_pairs(job, pairs);
  return status == DZO_OK ? CLI_DONE : cli_fail(job->call, status, CLI_FAILED);
}

cli_exit cli_table_count(table_job *job) {
  table_pairs pairs = {0};
  cli_exit result = tally_up(job, &pairs);
  if (result == CLI_DONE)
    result = use(job, &pairs);
  dzo_free(pairs.items);
  return result;
}
