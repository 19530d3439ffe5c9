/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: dzo's tables and the seed's behind one set of functions. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "bench/linear_table.h"
#include "cli/bench_table.h"
#include "table/seed.h"

enum { FROM = 26, TO = 27 };

const char *const table_series_names[TABLE_SERIES] = {"ordered", "any", "seed"};

/* ---- The seed's ------------------------------------------------------------------------------ */

bool table_contestant_exists(const table_bench *bench, table_series series, int bits) {
  return series != TABLE_SEED || bench->unit == NULL || bits == 32;
}

static dzo_status create_seed(table_bench *bench, const table_shape *shape, void **out) {
  uint64_t slots = (uint64_t)((double)shape->capacity / shape->load);
  if (bench->unit == NULL)
    return linear_table_create(bench->context, slots, shape->bits, (linear_table **)out);
  table_seed *seed = dzo_calloc(bench->context, 1, sizeof *seed);
  if (seed == NULL)
    return DZO_E_MEMORY;
  *out = seed;
  return table_seed_create(bench->unit, slots, seed);
}

static void destroy_seed(table_contestant *who) {
  if (who->bench->unit == NULL) {
    linear_table_destroy(who->seed);
    return;
  }
  if (who->seed != NULL)
    table_seed_destroy(who->seed);
  dzo_free(who->seed);
}

static dzo_status run_linear(linear_table *table, dzo_table_batch *batch) {
  if (batch->operation == DZO_TABLE_INSERT)
    batch->inserted = linear_table_insert(table, batch->count, batch->keys, batch->values);
  else if (batch->operation == DZO_TABLE_FIND)
    batch->found = linear_table_find(table, batch->count, batch->keys, batch->results);
  else
    batch->found = linear_table_erase(table, batch->count, batch->keys);
  return DZO_OK;
}

static dzo_status run_seed(table_contestant *who, dzo_table_batch *batch) {
  if (who->bench->unit == NULL)
    return run_linear(who->seed, batch);
  return table_seed_run(who->seed, batch);
}

bool table_contestant_answers(const table_contestant *who) {
  return who->table != NULL || who->bench->unit != NULL;
}

/* ---- All ------------------------------------------------------------------------------------- */

dzo_status table_contestant_create(table_bench *bench, table_series series,
                                   const table_shape *shape, table_contestant *out) {
  *out = (table_contestant){.bench = bench, .series = series};
  if (series == TABLE_SEED)
    return create_seed(bench, shape, &out->seed);
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = options.value_bits = shape->bits;
  options.capacity = shape->capacity;
  options.fixed = !shape->growing;
  options.max_load = shape->load;
  options.seed = bench->settings->common.seed;
  return dzo_table_create(bench->context, &options, &out->table);
}

void table_contestant_destroy(table_contestant *who) {
  if (who->bench == NULL)
    return;
  dzo_table_destroy(who->table);
  if (who->series == TABLE_SEED)
    destroy_seed(who);
  *who = (table_contestant){0};
}

dzo_status table_contestant_clear(table_contestant *who) {
  if (who->table != NULL)
    return dzo_table_clear(who->table);
  if (who->bench->unit != NULL)
    return table_seed_clear(who->seed);
  linear_table_clear(who->seed);
  return DZO_OK;
}

/* ---- Times ----------------------------------------------------------------------------------- */

dzo_status table_bench_time(table_bench *bench, table_work_fn work, void *argument,
                            double *seconds) {
  dzo_unit *unit = bench->unit;
  double milliseconds;
  if (unit == NULL) {
    double begun = cli_now();
    DZO_TRY(work(argument));
    *seconds = cli_now() - begun;
    return DZO_OK;
  }
  DZO_TRY(dzo_unit_wait_all(unit));
  DZO_TRY(dzo_unit_mark(unit, 0, FROM));
  DZO_TRY(work(argument));
  DZO_TRY(dzo_unit_mark(unit, 0, TO));
  DZO_TRY(dzo_unit_wait_mark(unit, TO));
  DZO_TRY(dzo_unit_elapsed(unit, FROM, TO, &milliseconds));
  *seconds = milliseconds / 1e3;
  return DZO_OK;
}

typedef struct run_job {
  table_contestant *who;
  dzo_table_batch *batch;
} run_job;

static dzo_status run_batch(void *argument) {
  run_job *job = argument;
  if (job->who->table == NULL)
    return run_seed(job->who, job->batch);
  job->batch->flags = job->who->series == TABLE_ANY_ORDER ? DZO_TABLE_ANY : 0;
  return dzo_table_run(job->who->table, job->batch);
}

dzo_status table_contestant_time(table_contestant *who, dzo_table_batch *batch, double *seconds) {
  run_job job = {who, batch};
  return table_bench_time(who->bench, run_batch, &job, seconds);
}
