/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo table join and lookup: FILE2 is kept in a table, FILE streams past it. */
#include "cli/table_join.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"

enum { GRAIN = 1 << 14 };
#define SIGN (UINT64_C(1) << 63)

/* A piece of FILE and what was found for it. */
typedef struct probe {
  table_job *job;
  dzo_context *context;
  table_build build;
  dzo_records records;
  dzo_piece piece;
  bool wide;
  bool opposed; /* one file's keys are signed, the other's are not */
  uint64_t capacity;
  void *results;  /* [capacity] as wide as the table's values */
  uint8_t *found; /* [capacity] */
  uint64_t *ends; /* [capacity] of join: pairs up to and with each row */
  uint64_t pairs; /* of the piece */
  bool verify;
  uint64_t digest; /* accessed atomically */
} probe;

static uint64_t result_at(const probe *p, uint64_t i) {
  return p->build.wide_values ? ((const uint64_t *)p->results)[i]
                              : ((const uint32_t *)p->results)[i];
}

static uint64_t key_at(const probe *p, uint64_t i) {
  const void *keys = p->piece.keys;
  return p->wide ? ((const uint64_t *)keys)[i]
                 : table_extend(p->job->key_types[0], ((const uint32_t *)keys)[i]);
}

static bool is_join(const probe *p) { return p->job->operation == TABLE_JOIN; }

/* ---- Looking up ------------------------------------------------------------------------------ */

static dzo_status make_room(probe *p, uint64_t count) {
  if (count <= p->capacity)
    return DZO_OK;
  dzo_free(p->results);
  dzo_free(p->found);
  dzo_free(p->ends);
  p->results = dzo_alloc(p->context, count, p->build.wide_values ? 8 : 4);
  p->found = dzo_alloc(p->context, count, 1);
  p->ends = is_join(p) ? dzo_alloc(p->context, count, sizeof *p->ends) : NULL;
  p->capacity = 0;
  if (p->results == NULL || p->found == NULL || (is_join(p) && p->ends == NULL))
    return DZO_E_MEMORY;
  p->capacity = count;
  return DZO_OK;
}

/* A negative key equals none that is unsigned. */
static void drop_opposed(void *argument, uint64_t begin, uint64_t end, int thread) {
  probe *p = argument;
  const uint64_t *keys = p->piece.keys;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    if ((keys[i] & SIGN) != 0)
      p->found[i] = DZO_TABLE_ABSENT;
}

/* How many pairs row i of the piece gives. */
static uint64_t matches_of(const probe *p, uint64_t i) {
  if (p->found[i] != DZO_TABLE_FOUND)
    return 0;
  if (p->build.offsets == NULL)
    return 1;
  uint64_t first = result_at(p, i);
  return p->build.offsets[first + 1] - p->build.offsets[first];
}

static void count_matches(void *argument, uint64_t begin, uint64_t end, int thread) {
  probe *p = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    p->ends[i] = matches_of(p, i);
}

static dzo_status look_up(probe *p) {
  int threads = p->context->threads;
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_FIND;
  batch.count = p->piece.count;
  batch.keys = p->piece.keys;
  DZO_TRY(make_room(p, batch.count));
  batch.results = p->results;
  batch.answers = p->found;
  DZO_TRY(cli_table_run_batch(p->job, p->build.table, &batch));
  double begun = cli_now();
  if (p->opposed)
    dzo_parallel_for(threads, batch.count, GRAIN, drop_opposed, p);
  for (uint64_t i = 0; i < batch.count; i++)
    p->job->matched += p->found[i] == DZO_TABLE_FOUND;
  p->pairs = batch.count;
  if (is_join(p)) {
    dzo_parallel_for(threads, batch.count, GRAIN, count_matches, p);
    p->pairs = 0;
    for (uint64_t i = 0; i < batch.count; i++)
      p->ends[i] = p->pairs += p->ends[i];
    p->job->pairs += p->pairs;
  }
  p->job->times.table += cli_now() - begun;
  return DZO_OK;
}

/* ---- Records --------------------------------------------------------------------------------- */

static void add_digest(const probe *p, uint64_t digest) {
  (void)dzo_fetch_add_u64(&((probe *)(uintptr_t)p)->digest, digest);
}

static void fetch_lookup(const void *argument, uint64_t begin, uint64_t end,
                         uint64_t (*words)[DZO_RECORDS_FIELDS], uint8_t *absent) {
  const probe *p = argument;
  unsigned last = p->piece.values != NULL ? 2 : 1;
  uint64_t digest = 0;
  for (uint64_t i = begin; i < end; i++) {
    bool found = p->found[i] == DZO_TABLE_FOUND;
    uint64_t *to = words[i - begin];
    to[0] = key_at(p, i);
    if (p->piece.values != NULL)
      to[1] = p->piece.values[i];
    to[last] = found ? result_at(p, i) : 0;
    absent[i - begin] = !found;
    digest += table_digest(p->piece.first + i, to[last], found);
  }
  if (p->verify)
    add_digest(p, digest);
}

/* The row of the piece that pair number `pair` is of. */
static uint64_t row_of_pair(const probe *p, uint64_t pair) {
  uint64_t low = 0, high = p->piece.count - 1;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (p->ends[middle] > pair)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static void fetch_join(const void *argument, uint64_t begin, uint64_t end,
                       uint64_t (*words)[DZO_RECORDS_FIELDS], uint8_t *absent) {
  const probe *p = argument;
  const table_build *b = &p->build;
  uint64_t i = row_of_pair(p, begin), digest = 0;
  (void)absent;
  for (uint64_t pair = begin; pair < end; pair++) {
    while (p->ends[i] <= pair)
      i++;
    uint64_t nth = pair - (i > 0 ? p->ends[i - 1] : 0), first = result_at(p, i);
    uint64_t row2 = b->offsets != NULL ? b->order[b->offsets[first] + nth] : first;
    uint64_t *to = words[pair - begin];
    to[0] = key_at(p, i);
    to[1] = p->piece.values != NULL ? p->piece.values[i] : p->piece.first + i;
    to[2] = b->values != NULL ? b->values[row2] : row2;
    digest += table_digest(p->piece.first + i, row2, true);
  }
  if (p->verify)
    add_digest(p, digest);
}

static void describe(probe *p) {
  const table_job *job = p->job;
  const table_settings *s = job->settings;
  dzo_records *r = &p->records;
  r->format = job->format;
  r->optional = !is_join(p);
  r->fetch = is_join(p) ? fetch_join : fetch_lookup;
  r->fields[r->field_count++] = (dzo_records_field){"key", job->key_types[0]};
  if (s->values != NULL)
    r->fields[r->field_count++] = (dzo_records_field){"value", job->value_types[0]};
  else if (is_join(p))
    r->fields[r->field_count++] = (dzo_records_field){"row", DZO_INTEGER_U64};
  r->fields[r->field_count++] = s->values2 != NULL
                                    ? (dzo_records_field){"value2", job->value_types[1]}
                                    : (dzo_records_field){"row2", DZO_INTEGER_U64};
}

/* ---- Entry ----------------------------------------------------------------------------------- */

/* Without an output, the digest takes what would be written. */
static dzo_status use_piece(probe *p) {
  double begun = cli_now();
  dzo_status status = DZO_OK;
  if (p->job->writes) {
    status = dzo_records_write(&p->records, p, p->pairs);
  } else if (p->verify) {
    uint64_t words[DZO_RECORDS_TILE][DZO_RECORDS_FIELDS];
    uint8_t absent[DZO_RECORDS_TILE];
    for (uint64_t i = 0; i < p->pairs && status == DZO_OK; i += DZO_RECORDS_TILE) {
      p->records.fetch(p, i, p->pairs - i < DZO_RECORDS_TILE ? p->pairs : i + DZO_RECORDS_TILE,
                       words, absent);
      if (i % (1 << 20) == 0)
        status = dzo_progress(p->context, "pair", i, p->pairs);
    }
  }
  p->job->times.write += cli_now() - begun;
  return status;
}

static dzo_status stream(probe *p, dzo_columns *columns, bool *bad_input) {
  for (;;) {
    *bad_input = true;
    DZO_TRY(cli_table_next(p->job, columns, &p->piece));
    *bad_input = false;
    if (p->piece.count == 0)
      return DZO_OK;
    p->job->records[0] += p->piece.count;
    DZO_TRY(look_up(p));
    DZO_TRY(use_piece(p));
  }
}

static dzo_status write_all(probe *p, dzo_columns *columns, bool *bad_input) {
  uint64_t count = dzo_columns_count(columns);
  bool known = !is_join(p) && dzo_columns_format_of(columns) != DZO_COLUMNS_CSV;
  *bad_input = false;
  describe(p);
  if (!p->job->writes)
    return stream(p, columns, bad_input);
  DZO_TRY(cli_table_begin_output(p->job, &p->records, known ? count : UINT64_MAX));
  return cli_table_end_output(p->job, &p->records, stream(p, columns, bad_input));
}

static cli_exit run(probe *p, dzo_columns *columns[2]) {
  bool bad_input;
  dzo_status status = cli_table_build(p->job, columns[1], &bad_input, &p->build);
  if (status == DZO_OK)
    status = write_all(p, columns[0], &bad_input);
  /* A file is only kept when it is complete. */
  const char *output = p->job->settings->output;
  bool streams = p->job->writes && (output == NULL || strcmp(output, "-") == 0);
  return status == DZO_OK ? CLI_DONE
                          : cli_table_fail(p->job, status, bad_input ? CLI_BAD_INPUT : CLI_FAILED,
                                           streams && p->job->records[0] > 0);
}

/* Keys are compared as numbers, whatever their types. */
static void agree(probe *p, dzo_columns *columns[2]) {
  dzo_integer a = p->job->key_types[0], b = p->job->key_types[1];
  if (a != b) {
    dzo_columns_widen(columns[0]);
    dzo_columns_widen(columns[1]);
  }
  p->opposed = dzo_integer_is_signed(a) != dzo_integer_is_signed(b);
  p->wide = dzo_columns_is_wide(columns[0]);
}

cli_exit cli_table_join(table_job *job) {
  probe p = {.job = job, .context = job->call->context, .verify = job->call->common->verify};
  dzo_columns *columns[2] = {NULL, NULL};
  cli_exit result = cli_table_open(job, 1, &columns[1]);
  if (result == CLI_DONE)
    result = cli_table_open(job, 0, &columns[0]);
  if (result == CLI_DONE) {
    agree(&p, columns);
    result = run(&p, columns);
  }
  uint64_t digest = p.digest;
  for (int i = 0; i < 2; i++)
    dzo_columns_close(columns[i]);
  cli_table_build_release(&p.build);
  dzo_free(p.results);
  dzo_free(p.found);
  dzo_free(p.ends);
  return result == CLI_DONE && p.verify ? cli_table_verify_join(job, digest) : result;
}
