/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: what changes a table's load: mixed batches, growth, and filling it step by step.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_table.h"

enum { BITS = 32, WORD = 4, MAX_REPEATS = 1000, SWEEP_STEPS = 31, SWEEP_PARTS = 32 };

/* ---- Mixed: 80 % find, 10 % insert, 10 % erase ----------------------------------------------- */

typedef struct mixed_run {
  table_bench *bench;
  uint64_t count; /* keys in the table, and queries */
  uint64_t found, inserted;
  table_array keys, values, query_keys, query_values, operations, results, answers;
} mixed_run;

/* Finds and erases are of keys that are there, each erase of another one than any find; inserts are
 * of new ones. So all counts are known, whatever the order. */
static void choose_queries(mixed_run *run) {
  uint64_t stay = run->count - run->count / 10, erased = stay, born = run->count;
  uint32_t *keys = run->query_keys.host, *values = run->query_values.host;
  uint8_t *operations = run->operations.host;
  for (uint64_t i = 0; i < run->count; i++) {
    uint32_t chance = (uint32_t)(table_key(BITS, i ^ 0x5bd1e995u) % 10);
    uint64_t which = i % stay;
    operations[i] = DZO_TABLE_FIND;
    if (chance == 0) {
      operations[i] = DZO_TABLE_INSERT;
      which = born++;
    } else if (chance == 1 && erased < run->count) {
      operations[i] = DZO_TABLE_ERASE;
      which = erased++;
    }
    keys[i] = (uint32_t)table_key(BITS, which);
    values[i] = (uint32_t)table_value(BITS, keys[i]);
  }
  run->inserted = born - run->count;
  run->found = run->count - run->inserted;
}

static dzo_status make_mixed(mixed_run *run) {
  const table_fill keys = {.bits = BITS, .stride = 1, .modulus = run->count};
  const table_fill values = {.bits = BITS, .stride = 1, .modulus = run->count, .values = true};
  table_array *words[] = {&run->keys, &run->values, &run->query_keys, &run->query_values,
                          &run->results};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    DZO_TRY(table_array_make(run->bench, run->count, WORD, words[i]));
  DZO_TRY(table_array_make(run->bench, run->count, 1, &run->operations));
  DZO_TRY(table_array_make(run->bench, run->count, 1, &run->answers));
  DZO_TRY(table_array_fill(&run->keys, &keys, run->count));
  DZO_TRY(table_array_fill(&run->values, &values, run->count));
  choose_queries(run);
  DZO_TRY(table_array_send(&run->query_keys));
  DZO_TRY(table_array_send(&run->query_values));
  return table_array_send(&run->operations);
}

static void free_mixed(mixed_run *run) {
  table_array *all[] = {&run->keys,       &run->values,  &run->query_keys, &run->query_values,
                        &run->operations, &run->results, &run->answers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    table_array_free(all[i]);
}

static bool mixed_answers_are_right(const mixed_run *run) {
  const uint8_t *operations = run->operations.host, *answers = run->answers.host;
  const uint32_t *results = run->results.host, *values = run->query_values.host;
  for (uint64_t i = 0; i < run->count; i++) {
    bool insert = operations[i] == DZO_TABLE_INSERT, find = operations[i] == DZO_TABLE_FIND;
    if (answers[i] != (insert ? DZO_TABLE_INSERTED : DZO_TABLE_FOUND) ||
        (find && results[i] != values[i]))
      return false;
  }
  return true;
}

static dzo_status insert_all(table_contestant *who, const table_array *keys,
                             const table_array *values, uint64_t first, uint64_t count,
                             dzo_table_batch *batch, double *seconds) {
  dzo_table_batch_init(batch);
  batch->operation = DZO_TABLE_INSERT;
  batch->count = count;
  batch->keys = table_array_at(keys, first, WORD);
  batch->values = table_array_at(values, first, WORD);
  return table_contestant_time(who, batch, seconds);
}

static dzo_status mix_once(mixed_run *run, table_contestant *who, double *seconds,
                           dzo_table_batch *batch) {
  double filling;
  DZO_TRY(table_contestant_clear(who));
  DZO_TRY(insert_all(who, &run->keys, &run->values, 0, run->count, batch, &filling));
  dzo_table_batch_init(batch);
  batch->operation = DZO_TABLE_MIXED;
  batch->count = run->count;
  batch->keys = table_array_at(&run->query_keys, 0, WORD);
  batch->values = table_array_at(&run->query_values, 0, WORD);
  batch->operations = table_array_at(&run->operations, 0, 1);
  batch->results = table_array_at(&run->results, 0, WORD);
  batch->answers = table_array_at(&run->answers, 0, 1);
  return table_contestant_time(who, batch, seconds);
}

static dzo_status measure_mixed(mixed_run *run, table_contestant *who, table_row *row) {
  double times[MAX_REPEATS], seconds;
  uint64_t repeats = table_bench_repeats(run->bench);
  dzo_table_batch batch;
  for (uint64_t i = 0; i <= repeats; i++) {
    DZO_TRY(mix_once(run, who, i == 0 ? &seconds : &times[i - 1], &batch));
    if (batch.found != run->found || batch.inserted != run->inserted || batch.refused != 0)
      table_row_doubt(row, who->series, "its counts are wrong");
  }
  bench_summarize(times, repeats, &row->median[who->series], &row->least[who->series]);
  DZO_TRY(table_array_fetch(&run->results));
  DZO_TRY(table_array_fetch(&run->answers));
  if (!mixed_answers_are_right(run))
    table_row_doubt(row, who->series, "an answer is wrong");
  return DZO_OK;
}

/* The table has room for a twentieth more, since inserts may come before erases. */
static dzo_status add_mixed(mixed_run *run, double load, double goal) {
  table_row row = {.part = "mixed",
                   .operation = "80/10/10",
                   .data = "unique",
                   .bits = BITS,
                   .keys = run->count,
                   .load = load,
                   .queries = run->count,
                   .goal = goal,
                   .verified = true};
  double most = load < .9 ? .9 : .95;
  const table_shape shape = {
      .bits = BITS, .capacity = (uint64_t)((double)run->count * most / load), .load = most};
  for (table_series series = TABLE_ORDERED; series <= TABLE_ANY_ORDER; series++) {
    table_contestant who;
    dzo_status status = table_contestant_create(run->bench, series, &shape, &who);
    if (status == DZO_OK)
      status = measure_mixed(run, &who, &row);
    table_contestant_destroy(&who);
    DZO_TRY(status);
  }
  table_bench_add(run->bench, &row);
  return DZO_OK;
}

dzo_status table_bench_mixed(table_bench *bench) {
  mixed_run run = {.bench = bench, .count = table_bench_keys(bench, BITS)};
  bool aimed = bench->unit != NULL && run.count == 1u << 26;
  dzo_status status = make_mixed(&run);
  if (status == DZO_OK)
    status = add_mixed(&run, .8, aimed ? 20e9 : 0);
  if (status == DZO_OK)
    status = add_mixed(&run, .9, aimed ? 16e9 : 0);
  free_mixed(&run);
  return status;
}

/* ---- Growth ---------------------------------------------------------------------------------- */

typedef struct growth_run {
  table_bench *bench;
  uint64_t count;
  table_array keys, values, misses, results, answers;
  table_row grow, hit, miss;
} growth_run;

static dzo_status make_growth(growth_run *run) {
  const table_fill keys = {.bits = BITS, .stride = 1, .modulus = run->count};
  const table_fill values = {.bits = BITS, .stride = 1, .modulus = run->count, .values = true};
  const table_fill misses = {.bits = BITS, .first = run->count, .stride = 1, .modulus = run->count};
  table_array *words[] = {&run->keys, &run->values, &run->misses, &run->results};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    DZO_TRY(table_array_make(run->bench, run->count, WORD, words[i]));
  DZO_TRY(table_array_make(run->bench, run->count, 1, &run->answers));
  DZO_TRY(table_array_fill(&run->keys, &keys, run->count));
  DZO_TRY(table_array_fill(&run->values, &values, run->count));
  return table_array_fill(&run->misses, &misses, run->count);
}

static void free_growth(growth_run *run) {
  table_array *all[] = {&run->keys, &run->values, &run->misses, &run->results, &run->answers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    table_array_free(all[i]);
}

typedef struct reserve_job {
  dzo_table *table;
  uint64_t capacity;
} reserve_job;

static dzo_status reserve(void *argument) {
  reserve_job *job = argument;
  return dzo_table_reserve(job->table, job->capacity);
}

static dzo_status find_all(growth_run *run, table_contestant *who, const table_array *keys,
                           uint64_t expected, table_row *row, double *seconds) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_FIND;
  batch.count = run->count;
  batch.keys = table_array_at(keys, 0, WORD);
  batch.results = table_array_at(&run->results, 0, WORD);
  batch.answers = table_array_at(&run->answers, 0, 1);
  DZO_TRY(table_contestant_time(who, &batch, seconds));
  if (batch.found != expected)
    table_row_doubt(row, who->series, "a key was lost or made up");
  return DZO_OK;
}

/* One table, filled, doubled and searched. */
static dzo_status grow_once(growth_run *run, double *grown, double *hit, double *miss) {
  const table_shape shape = {.bits = BITS, .capacity = run->count, .load = .95, .growing = true};
  table_contestant who;
  dzo_table_batch batch;
  double filling;
  dzo_status status = table_contestant_create(run->bench, TABLE_ORDERED, &shape, &who);
  if (status == DZO_OK)
    status = insert_all(&who, &run->keys, &run->values, 0, run->count, &batch, &filling);
  reserve_job job = {who.table, 0};
  if (status == DZO_OK) {
    job.capacity = 2 * dzo_table_capacity(who.table);
    status = table_bench_time(run->bench, reserve, &job, grown);
  }
  if (status == DZO_OK)
    status = find_all(run, &who, &run->misses, 0, &run->miss, miss);
  if (status == DZO_OK)
    status = find_all(run, &who, &run->keys, run->count, &run->hit, hit);
  table_contestant_destroy(&who);
  return status;
}

static dzo_status measure_growth(growth_run *run) {
  double grown[MAX_REPEATS], hit[MAX_REPEATS], miss[MAX_REPEATS];
  uint64_t repeats = table_bench_repeats(run->bench);
  for (uint64_t i = 0; i < repeats; i++)
    DZO_TRY(grow_once(run, &grown[i], &hit[i], &miss[i]));
  DZO_TRY(table_array_fetch(&run->results));
  DZO_TRY(table_array_fetch(&run->answers));
  if (!table_found_all(BITS, &run->keys, &run->results, &run->answers, run->count))
    table_row_doubt(&run->hit, TABLE_ORDERED, "a key was not found, or with a wrong value");
  run->grow.verified = run->hit.verified && run->miss.verified;
  (void)snprintf(run->grow.reason, sizeof run->grow.reason, "%s",
                 run->hit.verified ? run->miss.reason : run->hit.reason);
  bench_summarize(grown, repeats, &run->grow.median[TABLE_ORDERED],
                  &run->grow.least[TABLE_ORDERED]);
  bench_summarize(hit, repeats, &run->hit.median[TABLE_ORDERED], &run->hit.least[TABLE_ORDERED]);
  bench_summarize(miss, repeats, &run->miss.median[TABLE_ORDERED], &run->miss.least[TABLE_ORDERED]);
  return DZO_OK;
}

static table_row growth_row(const growth_run *run, const char *operation, double load,
                            double goal) {
  bool aimed = run->bench->unit != NULL && run->count == 1u << 26;
  return (table_row){.part = "growth",
                     .operation = operation,
                     .data = "unique",
                     .bits = BITS,
                     .keys = run->count,
                     .load = load,
                     .queries = run->count,
                     .goal = aimed ? goal : 0,
                     .verified = true};
}

dzo_status table_bench_growth(table_bench *bench) {
  growth_run run = {.bench = bench, .count = table_bench_keys(bench, BITS)};
  run.grow = growth_row(&run, "double", .95, (1u << 26) / 1.5e-3);
  run.hit = growth_row(&run, "then find hit", .475, 0);
  run.miss = growth_row(&run, "then find miss", .475, 0);
  dzo_status status = make_growth(&run);
  if (status == DZO_OK)
    status = measure_growth(&run);
  free_growth(&run);
  if (status != DZO_OK)
    return status;
  table_bench_add(bench, &run.grow);
  table_bench_add(bench, &run.hit);
  table_bench_add(bench, &run.miss);
  return DZO_OK;
}

/* ---- The seed's sweep: a table filled in 31 steps -------------------------------------------- */

typedef struct sweep_run {
  table_bench *bench;
  uint64_t slots, step;
  table_array keys, values, results, answers;
  table_row rows[SWEEP_STEPS];
} sweep_run;

/* Ours ends at load .95, within the last step. */
static uint64_t step_end(const sweep_run *run, table_series series, uint64_t i) {
  uint64_t end = (i + 1) * run->step, most = (uint64_t)((double)run->slots * .95);
  return series != TABLE_SEED && end > most ? most : end;
}

static dzo_status sweep_once(sweep_run *run, table_contestant *who, double seconds[SWEEP_STEPS]) {
  DZO_TRY(table_contestant_clear(who));
  for (uint64_t i = 0; i < SWEEP_STEPS; i++) {
    uint64_t first = i * run->step, count = step_end(run, who->series, i) - first;
    dzo_table_batch batch;
    DZO_TRY(insert_all(who, &run->keys, &run->values, first, count, &batch, &seconds[i]));
    if (who->table != NULL && batch.inserted != count)
      table_row_doubt(&run->rows[i], who->series, "its counts are wrong");
    /* A step cut short counts as its rate. */
    seconds[i] *= (double)run->step / (double)count;
  }
  return DZO_OK;
}

/* All that was inserted must be found. */
static dzo_status check_sweep(sweep_run *run, table_contestant *who) {
  double seconds;
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_FIND;
  batch.count = step_end(run, who->series, SWEEP_STEPS - 1);
  batch.keys = table_array_at(&run->keys, 0, WORD);
  batch.results = table_array_at(&run->results, 0, WORD);
  batch.answers = table_array_at(&run->answers, 0, 1);
  DZO_TRY(table_contestant_time(who, &batch, &seconds));
  DZO_TRY(table_array_fetch(&run->results));
  DZO_TRY(table_array_fetch(&run->answers));
  if (table_found_all(BITS, &run->keys, &run->results,
                      table_contestant_answers(who) ? &run->answers : NULL, batch.count))
    return DZO_OK;
  for (int i = 0; i < SWEEP_STEPS; i++)
    table_row_doubt(&run->rows[i], who->series, "a key was not found, or with a wrong value");
  return DZO_OK;
}

static dzo_status measure_sweep(sweep_run *run, table_series series) {
  enum { SWEEPS = 5 };
  double times[SWEEP_STEPS][SWEEPS], seconds[SWEEP_STEPS];
  const table_shape shape = {
      .bits = BITS, .capacity = (uint64_t)((double)run->slots * .95), .load = .95};
  table_contestant who;
  dzo_status status = table_contestant_create(run->bench, series, &shape, &who);
  for (int sweep = -1; sweep < SWEEPS && status == DZO_OK; sweep++) {
    status = sweep_once(run, &who, seconds);
    for (int i = 0; i < SWEEP_STEPS && sweep >= 0 && status == DZO_OK; i++)
      times[i][sweep] = seconds[i];
  }
  for (int i = 0; i < SWEEP_STEPS && status == DZO_OK; i++)
    bench_summarize(times[i], SWEEPS, &run->rows[i].median[series], &run->rows[i].least[series]);
  if (status == DZO_OK)
    status = check_sweep(run, &who);
  table_contestant_destroy(&who);
  return status;
}

static dzo_status sweep(sweep_run *run) {
  uint64_t count = SWEEP_STEPS * run->step;
  const table_fill keys = {.bits = BITS, .stride = 1, .modulus = count};
  const table_fill values = {.bits = BITS, .stride = 1, .modulus = count, .values = true};
  DZO_TRY(table_array_make(run->bench, count, WORD, &run->keys));
  DZO_TRY(table_array_make(run->bench, count, WORD, &run->values));
  DZO_TRY(table_array_make(run->bench, count, WORD, &run->results));
  DZO_TRY(table_array_make(run->bench, count, 1, &run->answers));
  DZO_TRY(table_array_fill(&run->keys, &keys, count));
  DZO_TRY(table_array_fill(&run->values, &values, count));
  for (int i = 0; i < SWEEP_STEPS; i++)
    run->rows[i] = (table_row){.part = "sweep",
                               .operation = "insert",
                               .data = "unique",
                               .bits = BITS,
                               .keys = count,
                               .load = (double)i / SWEEP_PARTS,
                               .queries = run->step,
                               .verified = true};
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++)
    DZO_TRY(measure_sweep(run, series));
  return DZO_OK;
}

/* Twice as many slots as a table has keys elsewhere, as the seed's experiment has. */
dzo_status table_bench_sweep(table_bench *bench) {
  sweep_run run = {.bench = bench, .slots = SWEEP_PARTS};
  while (run.slots < 2 * table_bench_keys(bench, BITS))
    run.slots *= 2;
  run.step = run.slots / SWEEP_PARTS;
  dzo_status status = sweep(&run);
  table_array_free(&run.keys);
  table_array_free(&run.values);
  table_array_free(&run.results);
  table_array_free(&run.answers);
  for (int i = 0; i < SWEEP_STEPS && status == DZO_OK; i++)
    table_bench_add(bench, &run.rows[i]);
  return status;
}
