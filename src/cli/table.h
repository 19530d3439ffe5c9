/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the files of the command `table` share. */
#ifndef DZO_CLI_TABLE_H
#define DZO_CLI_TABLE_H

#include "cli/cli.h"
#include "cli/records.h"
#include "io/columns.h"
#include "table/table.h"

typedef struct table_settings {
  cli_common common;
  const char *format, *format2;
  const char *type, *type2; /* NULL: not given */
  const char *values_type;
  const char *column, *column2;
  const char *values, *values2;
  const char *aggregate;
  const char *sort;
  uint64_t top; /* 0: all */
  const char *output;
  const char *output_format;
} table_settings;

typedef enum table_operation {
  TABLE_COUNT,
  TABLE_DISTINCT,
  TABLE_JOIN,
  TABLE_LOOKUP
} table_operation;

typedef enum table_aggregate {
  TABLE_AGGREGATE_COUNT,
  TABLE_AGGREGATE_SUM,
  TABLE_AGGREGATE_MIN,
  TABLE_AGGREGATE_MAX
} table_aggregate;

typedef struct table_times {
  double read;  /* waiting for the input */
  double table; /* building, counting, looking up */
  double sort, write, verify, total;
} table_times;

typedef struct table_job {
  cli_call *call;
  const table_settings *settings;
  table_operation operation;
  table_aggregate aggregate;
  const char *paths[2]; /* FILE and FILE2, or NULL */
  bool writes;          /* records go to settings->output, or for NULL to standard output */
  dzo_records_format format;
  /* What was found. */
  dzo_columns_format formats[2];
  dzo_integer key_types[2], value_types[2]; /* as the files have them */
  uint64_t records[2];
  uint64_t distinct; /* keys in the table */
  uint64_t matched;  /* records of FILE whose key is in FILE2 */
  uint64_t pairs;    /* records written by join */
  dzo_device device;
  double load;
  uint64_t bytes; /* of the table */
  bool verified;
  bool again; /* it failed in a way that the CPU need not: read all of it again there */
  table_times times;
} table_job;

/* A key of 32 bits, extended by its sign. */
DZO_ITEM uint64_t table_extend(dzo_integer type, uint64_t key) {
  return type == DZO_INTEGER_I32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)key : key;
}

/* ---- Opening and running (table.c, table_load.c) --------------------------------------------- */

/* Open FILE (0) or FILE2 (1); messages about bad input are told. */
cli_exit cli_table_open(table_job *job, int which, dzo_columns **out);
/* The next piece; adds the time waited. */
dzo_status cli_table_next(table_job *job, dzo_columns *columns, dzo_piece *piece);
/* An empty table for keys of so many bits, made for about `expected` pairs where that decides on
 * the device. */
dzo_status cli_table_create_for(table_job *job, int key_bits, int value_bits, uint64_t expected,
                                dzo_table **out);
/* Run a batch, adding its time, and see that the table keeps within --memory. */
dzo_status cli_table_run_batch(table_job *job, dzo_table *table, dzo_table_batch *batch);
/* Tell of a failure, unless the GPU that the program chose by itself is the cause and all can be
 * done again on the CPU: then job->again is set instead. `written`: of the output, which cannot be
 * taken back. */
cli_exit cli_table_fail(table_job *job, dzo_status status, cli_exit otherwise, bool written);
/* Note how full the table has become, and where it is. */
void cli_table_take_measures(table_job *job, const dzo_table *table);
/* Open the output, of which `fields` are set, for so many records; UINT64_MAX: nobody knows. */
dzo_status cli_table_begin_output(table_job *job, dzo_records *records, uint64_t count);
/* Complete it, or undo all. */
dzo_status cli_table_end_output(table_job *job, dzo_records *records, dzo_status status);
void cli_table_report(const table_job *job);

/* ---- Counting (table_tally.c) ---------------------------------------------------------------- */

/* Keys with a value each: `count` records of one word (key << 32 | value) or two (key, value). */
typedef struct table_pairs {
  bool packed;
  uint64_t count;
  uint64_t *items; /* dzo_alloc()ed */
} table_pairs;

DZO_ITEM uint64_t table_pairs_key(const table_pairs *p, uint64_t i) {
  return p->packed ? p->items[i] >> 32 : p->items[2 * i];
}
DZO_ITEM uint64_t table_pairs_value(const table_pairs *p, uint64_t i) {
  return p->packed ? (uint32_t)p->items[i] : p->items[2 * i + 1];
}

typedef struct table_tally table_tally;
dzo_status cli_tally_create(table_job *job, dzo_columns *columns, table_tally **out);
void cli_tally_destroy(table_tally *tally); /* NULL is fine */
dzo_status cli_tally_add(table_tally *tally, const dzo_piece *piece);
/* Take the result out of the table, which is freed. Keys of 32 bits are not extended. */
dzo_status cli_tally_take(table_tally *tally, table_pairs *out);

/* ---- Ordering (table_order.c) ---------------------------------------------------------------- */

/* By key, or by value, largest first, and key; the top ones alone if `top` is not 0. */
typedef struct table_order {
  bool by_value;
  bool signed_keys, signed_values;
  bool wide_keys;
  uint64_t top;
} table_order;
dzo_status cli_table_order_pairs(dzo_context *context, const table_order *order,
                                 table_pairs *pairs);

/* ---- The four operations --------------------------------------------------------------------- */

cli_exit cli_table_count(table_job *job);
cli_exit cli_table_join(table_job *job);

/* ---- --verify (table_verify.c) --------------------------------------------------------------- */

/* Sort the records of FILE instead, and compare. */
cli_exit cli_table_verify_pairs(table_job *job, const table_pairs *pairs);
/* What a join found, as a sum over its records that does not depend on their order. */
DZO_ITEM uint64_t table_digest(uint64_t row, uint64_t row2, bool found) {
  uint64_t x = row * UINT64_C(0x9e3779b97f4a7c15) + (found ? row2 + 1 : 0);
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 29;
}
cli_exit cli_table_verify_join(table_job *job, uint64_t digest);

#endif
