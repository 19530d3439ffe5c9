/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "cli/table_join.h"

enum { GRAIN = 1 << 15 };

/* The table and what is needed until all rows are there. */
typedef struct builder {
  table_job *job;
  dzo_context *context;
  table_build *build;
  void *numbers; /* [numbers_capacity] row numbers of a piece, as wide as the table's values */
  uint64_t numbers_capacity;
  uint32_t *firsts; /* [firsts_capacity] of each row the first with its key; NULL: itself */
  uint64_t firsts_capacity;
} builder;

static bool keeps_rows(const builder *b) { return b->job->operation == TABLE_JOIN; }

/* ---- A piece --------------------------------------------------------------------------------- */

typedef struct numbering {
  void *to;
  uint64_t first;
  bool wide;
} numbering;

static void put_numbers(void *argument, uint64_t begin, uint64_t end, int thread) {
  const numbering *n = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    if (n->wide)
      ((uint64_t *)n->to)[i] = n->first + i;
    else
      ((uint32_t *)n->to)[i] = (uint32_t)(n->first + i);
}

static dzo_status number_rows(builder *b, const dzo_piece *piece) {
  if (piece->count > b->numbers_capacity) {
    dzo_free(b->numbers);
    b->numbers = dzo_alloc(b->context, piece->count, b->build->wide_values ? 8 : 4);
    b->numbers_capacity = b->numbers != NULL ? piece->count : 0;
    if (b->numbers == NULL)
      return DZO_E_MEMORY;
  }
  numbering job = {b->numbers, piece->first, b->build->wide_values};
  dzo_parallel_for(b->context->threads, piece->count, GRAIN, put_numbers, &job);
  return DZO_OK;
}

static uint64_t larger(uint64_t needed) { return needed + needed / 2 + 1024; }

static dzo_status keep_values(builder *b, const dzo_piece *piece) {
  table_build *build = b->build;
  uint64_t needed = piece->first + piece->count;
  if (needed > build->values_capacity) {
    uint64_t capacity = piece->first == 0 ? needed : larger(needed);
    uint64_t *values = dzo_realloc(b->context, build->values, capacity, sizeof *values);
    if (values == NULL)
      return DZO_E_MEMORY;
    build->values = values;
    build->values_capacity = capacity;
  }
  memcpy(build->values + piece->first, piece->values, piece->count * sizeof *piece->values);
  return DZO_OK;
}

/* Note the first rows of this piece's keys, which the table knows. */
static dzo_status keep_firsts(builder *b, const dzo_piece *piece) {
  uint64_t needed = piece->first + piece->count, old = b->firsts == NULL ? 0 : piece->first;
  if (needed > b->firsts_capacity) {
    uint64_t capacity = larger(needed);
    uint32_t *firsts = dzo_realloc(b->context, b->firsts, capacity, sizeof *firsts);
    if (firsts == NULL)
      return DZO_E_MEMORY;
    b->firsts = firsts;
    b->firsts_capacity = capacity;
  }
  for (uint64_t row = old; row < piece->first; row++)
    b->firsts[row] = (uint32_t)row;
  DZO_TRY(dzo_table_find(b->build->table, piece->count, piece->keys, b->numbers, NULL, NULL));
  for (uint64_t i = 0; i < piece->count; i++)
    b->firsts[piece->first + i] = b->build->wide_values
                                      ? (uint32_t)((const uint64_t *)b->numbers)[i]
                                      : ((const uint32_t *)b->numbers)[i];
  return DZO_OK;
}

static dzo_status insert(builder *b, const dzo_piece *piece, const void *values,
                         uint64_t *inserted) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_INSERT;
  batch.count = piece->count;
  batch.keys = piece->keys;
  batch.values = values;
  DZO_TRY(cli_table_run_batch(b->job, b->build->table, &batch));
  *inserted = batch.inserted;
  return DZO_OK;
}

static dzo_status add_piece(builder *b, const dzo_piece *piece) {
  uint64_t inserted;
  b->build->rows = piece->first + piece->count;
  if (!keeps_rows(b) && piece->values != NULL)
    return insert(b, piece, piece->values, &inserted);
  if (keeps_rows(b) && b->build->rows > UINT32_MAX - 1)
    return dzo_fail(b->context, DZO_E_LIMIT,
                    "%s: FILE2 has more than 2^32 - 2 rows; put the larger file first",
                    b->job->paths[1]);
  DZO_TRY(number_rows(b, piece));
  DZO_TRY(insert(b, piece, b->numbers, &inserted));
  if (!keeps_rows(b))
    return DZO_OK;
  if (piece->values != NULL)
    DZO_TRY(keep_values(b, piece));
  return inserted < piece->count || b->firsts != NULL ? keep_firsts(b, piece) : DZO_OK;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint64_t end_of_block(uint64_t begin, uint64_t end) {
  enum { BLOCK = 1 << 20 };
  return end - begin < BLOCK ? end : begin + BLOCK;
}

/* From the first of each row to the rows of each first. */
static dzo_status group(builder *b) {
  table_build *build = b->build;
  uint64_t rows = build->rows;
  if (b->firsts == NULL)
    return DZO_OK;
  build->offsets = dzo_calloc(b->context, rows + 2, sizeof *build->offsets);
  build->order = dzo_alloc(b->context, rows, sizeof *build->order);
  if (build->offsets == NULL || build->order == NULL)
    return DZO_E_MEMORY;
  /* Counts two places up, then begins one place up, which filling moves to where they belong. */
  uint32_t *at = build->offsets;
  for (uint64_t row = 0; row < rows;) {
    DZO_TRY(dzo_progress(b->context, "group", row, 2 * rows));
    for (uint64_t stop = end_of_block(row, rows); row < stop; row++)
      at[b->firsts[row] + 2]++;
  }
  for (uint64_t row = 2; row <= rows + 1; row++)
    at[row] += at[row - 1];
  for (uint64_t row = 0; row < rows;) {
    DZO_TRY(dzo_progress(b->context, "group", rows + row, 2 * rows));
    for (uint64_t stop = end_of_block(row, rows); row < stop; row++)
      build->order[at[b->firsts[row] + 1]++] = (uint32_t)row;
  }
  return DZO_OK;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static dzo_status create(builder *b, dzo_columns *columns, bool has_values) {
  table_build *build = b->build;
  uint64_t rows = dzo_columns_count(columns);
  build->wide = dzo_columns_is_wide(columns);
  /* Words of a lookup are values or the numbers of any row. */
  bool narrow = !build->wide && (keeps_rows(b) || (!has_values && rows <= UINT32_MAX));
  build->wide_values = !narrow;
  return cli_table_create_for(b->job, build->wide ? 64 : 32, narrow ? 32 : 64,
                              rows != UINT64_MAX ? rows : 0, &build->table);
}

static dzo_status read_all(builder *b, dzo_columns *columns, bool *bad_input) {
  dzo_piece piece;
  for (;;) {
    *bad_input = true;
    DZO_TRY(cli_table_next(b->job, columns, &piece));
    *bad_input = false;
    if (piece.count == 0)
      return DZO_OK;
    DZO_TRY(add_piece(b, &piece));
  }
}

dzo_status cli_table_build(table_job *job, dzo_columns *columns, bool *bad_input,
                           table_build *build) {
  builder b = {.job = job, .context = job->call->context, .build = build};
  *build = (table_build){0};
  *bad_input = false;
  dzo_status status = create(&b, columns, job->settings->values2 != NULL);
  if (status == DZO_OK)
    status = read_all(&b, columns, bad_input);
  double begun = cli_now();
  if (status == DZO_OK)
    status = group(&b);
  job->times.table += cli_now() - begun;
  job->records[1] = build->rows;
  dzo_free(b.numbers);
  dzo_free(b.firsts);
  return status;
}

void cli_table_build_release(table_build *build) {
  dzo_table_destroy(build->table);
  dzo_free(build->values);
  dzo_free(build->offsets);
  dzo_free(build->order);
  *build = (table_build){0};
}
