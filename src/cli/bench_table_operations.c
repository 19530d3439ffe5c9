/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: the single operations on tables of several sizes and loads. */
#include <string.h>

#include "base/context.h"
#include "cli/bench_table.h"

/* All keys are different. Queries come in another order than the keys were inserted in. */
typedef enum table_step { INSERT, HIT, MISS, ERASE, REFILL, STEPS } table_step;

static const char *const step_names[STEPS] = {"insert", "find hit", "find miss", "erase half",
                                              "refill"};
static const dzo_table_operation step_operations[STEPS] = {
    DZO_TABLE_INSERT, DZO_TABLE_FIND, DZO_TABLE_FIND, DZO_TABLE_ERASE, DZO_TABLE_INSERT};

typedef struct operations_run {
  table_bench *bench;
  table_shape shape;
  table_array keys, values, queries, query_values, misses, results, answers;
  table_row rows[STEPS];
  size_t word;
} operations_run;

enum { MAX_REPEATS = 1000 };
#define STRIDE 2654435761u /* a prime, so that i * STRIDE % n takes all values */

/* ---- Arrays ---------------------------------------------------------------------------------- */

static dzo_status make_words(operations_run *run, table_array *array, table_fill fill) {
  fill.bits = run->shape.bits;
  fill.modulus = run->shape.capacity;
  DZO_TRY(table_array_make(run->bench, run->shape.capacity, run->word, array));
  return table_array_fill(array, &fill, run->shape.capacity);
}

static dzo_status make_arrays(operations_run *run) {
  uint64_t count = run->shape.capacity;
  DZO_TRY(make_words(run, &run->keys, (table_fill){.stride = 1}));
  DZO_TRY(make_words(run, &run->values, (table_fill){.stride = 1, .values = true}));
  DZO_TRY(make_words(run, &run->queries, (table_fill){.stride = STRIDE}));
  DZO_TRY(make_words(run, &run->query_values, (table_fill){.stride = STRIDE, .values = true}));
  DZO_TRY(make_words(run, &run->misses, (table_fill){.first = count, .stride = 1}));
  DZO_TRY(table_array_make(run->bench, count, run->word, &run->results));
  return table_array_make(run->bench, count, 1, &run->answers);
}

static void free_arrays(operations_run *run) {
  table_array *all[] = {&run->keys,   &run->values,  &run->queries, &run->query_values,
                        &run->misses, &run->results, &run->answers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    table_array_free(all[i]);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static uint64_t queries_of(const operations_run *run, table_step step) {
  return step == ERASE || step == REFILL ? run->shape.capacity / 2 : run->shape.capacity;
}

static dzo_table_batch batch_of(const operations_run *run, table_step step) {
  const table_array *keys[STEPS] = {&run->keys, &run->queries, &run->misses, &run->queries,
                                    &run->queries};
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = step_operations[step];
  batch.count = queries_of(run, step);
  batch.keys = table_array_at(keys[step], 0, run->word);
  if (step == INSERT)
    batch.values = table_array_at(&run->values, 0, run->word);
  if (step == REFILL)
    batch.values = table_array_at(&run->query_values, 0, run->word);
  if (batch.operation == DZO_TABLE_FIND) {
    batch.results = table_array_at(&run->results, 0, run->word);
    batch.answers = table_array_at(&run->answers, 0, 1);
  }
  return batch;
}

static bool counts_are_right(const operations_run *run, table_step step,
                             const dzo_table_batch *batch) {
  uint64_t count = queries_of(run, step);
  bool stores = step == INSERT || step == REFILL;
  return batch->refused == 0 && batch->inserted == (stores ? count : 0) &&
         batch->found == (step == HIT || step == ERASE ? count : 0);
}

static dzo_status check_found(operations_run *run, const table_contestant *who, table_step step) {
  const table_array *answers = table_contestant_answers(who) ? &run->answers : NULL;
  DZO_TRY(table_array_fetch(&run->results));
  DZO_TRY(table_array_fetch(&run->answers));
  if (!table_found_all(run->shape.bits, &run->queries, &run->results, answers, run->shape.capacity))
    table_row_doubt(&run->rows[step], who->series, "a key was not found, or with a wrong value");
  return DZO_OK;
}

static dzo_status run_step(operations_run *run, table_contestant *who, table_step step, bool check,
                           double *seconds) {
  dzo_table_batch batch = batch_of(run, step);
  DZO_TRY(table_contestant_time(who, &batch, seconds));
  if (who->table != NULL && !counts_are_right(run, step, &batch))
    table_row_doubt(&run->rows[step], who->series, "its counts are wrong");
  return check && step == HIT ? check_found(run, who, step) : DZO_OK;
}

/* After all steps every key must be there again, once. */
static dzo_status check_end(operations_run *run, table_contestant *who) {
  dzo_table_batch batch = batch_of(run, HIT);
  double seconds;
  DZO_TRY(table_contestant_time(who, &batch, &seconds));
  DZO_TRY(check_found(run, who, REFILL));
  if (who->table != NULL && dzo_table_size(who->table) != run->shape.capacity)
    table_row_doubt(&run->rows[REFILL], who->series, "a key is twice in the table");
  return DZO_OK;
}

static dzo_status measure_series(operations_run *run, table_contestant *who) {
  double times[STEPS][MAX_REPEATS];
  uint64_t repeats = table_bench_repeats(run->bench);
  for (uint64_t i = 0; i <= repeats; i++) {
    double seconds = 0;
    DZO_TRY(table_contestant_clear(who));
    for (table_step step = INSERT; step < STEPS; step++) {
      /* The seed frees no slot, so that refilling is another thing there. */
      DZO_TRY(run_step(run, who, step, i == 0, &seconds));
      if (i > 0)
        times[step][i - 1] = seconds;
    }
    DZO_TRY(dzo_progress(run->bench->context, "measure", i, repeats));
  }
  for (table_step step = INSERT; step < STEPS; step++)
    bench_summarize(times[step], repeats, &run->rows[step].median[who->series],
                    &run->rows[step].least[who->series]);
  return check_end(run, who);
}

/* ---- Cases ----------------------------------------------------------------------------------- */

#define MILLION 1e6

/* What was aimed at on one H200 for 2^26 keys of 32 bits at loads .5, .8, .9 and .95. */
static double goal_of(const operations_run *run, table_step step) {
  static const double loads[] = {.5, .8, .9, .95};
  static const double goals[STEPS][4] = {{22000, 17000, 15000, 13000},
                                         {42000, 42000, 41000, 33000},
                                         {42000, 40000, 38000, 27000},
                                         {28000, 28000, 28000, 26000},
                                         {20000, 14000, 11000, 10000}};
  if (run->bench->unit == NULL || run->shape.bits != 32 || run->shape.capacity != 1u << 26)
    return 0;
  for (size_t i = 0; i < 4; i++)
    if (run->shape.load == loads[i])
      return goals[step][i] * MILLION;
  return 0;
}

static void begin_rows(operations_run *run) {
  for (table_step step = INSERT; step < STEPS; step++)
    run->rows[step] = (table_row){.part = "operations",
                                  .operation = step_names[step],
                                  .data = "unique",
                                  .bits = run->shape.bits,
                                  .keys = run->shape.capacity,
                                  .load = run->shape.load,
                                  .queries = queries_of(run, step),
                                  .goal = goal_of(run, step),
                                  .verified = true};
}

static dzo_status measure_case(operations_run *run) {
  DZO_TRY(make_arrays(run));
  begin_rows(run);
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++) {
    table_contestant who;
    if (!table_contestant_exists(run->bench, series, run->shape.bits))
      continue;
    dzo_status status = table_contestant_create(run->bench, series, &run->shape, &who);
    if (status == DZO_OK)
      status = measure_series(run, &who);
    table_contestant_destroy(&who);
    DZO_TRY(status);
  }
  for (table_step step = INSERT; step < STEPS; step++)
    table_bench_add(run->bench, &run->rows[step]);
  return DZO_OK;
}

static dzo_status add_case(table_bench *bench, int bits, uint64_t keys, double load) {
  operations_run run = {.bench = bench,
                        .shape = {.bits = bits, .capacity = keys, .load = load},
                        .word = (size_t)bits / 8};
  dzo_status status = measure_case(&run);
  free_arrays(&run);
  return status;
}

dzo_status table_bench_operations(table_bench *bench) {
  static const double loads[] = {.5, .8, .9, .95};
  uint64_t keys = table_bench_keys(bench, 32);
  for (size_t i = 0; i < 4; i++)
    DZO_TRY(add_case(bench, 32, keys, loads[i]));
  if (bench->settings->quick)
    return add_case(bench, 64, table_bench_keys(bench, 64), .8);
  if (bench->unit != NULL && bench->settings->count == 0) {
    DZO_TRY(add_case(bench, 32, UINT64_C(1) << 20, .8));
    DZO_TRY(add_case(bench, 32, UINT64_C(1) << 24, .8));
  }
  DZO_TRY(add_case(bench, 64, table_bench_keys(bench, 64), .8));
  return add_case(bench, 64, table_bench_keys(bench, 64), .95);
}
