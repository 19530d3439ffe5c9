/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: counting records of few or many different keys, even and skewed. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/bench_table.h"
#include "table/keys.h"

enum { BITS = 32, WORD = 4, MAX_REPEATS = 1000, GRAIN = 1 << 16 };

typedef struct aggregate_case {
  const char *data;
  dzo_keys_distribution distribution;
  uint64_t distinct;
  double exponent;
  double goal; /* records a second on an H200, for 2^26 of them */
} aggregate_case;

static const aggregate_case cases[] = {
    {"1 K even", DZO_KEYS_UNIFORM, UINT64_C(1) << 10, 0, 80e9},
    {"1 M even", DZO_KEYS_UNIFORM, UINT64_C(1) << 20, 0, 80e9},
    {"16 M even", DZO_KEYS_UNIFORM, UINT64_C(1) << 24, 0, 40e9},
    {"16 M zipf .99", DZO_KEYS_ZIPF, UINT64_C(1) << 24, .99, 40e9},
    {"16 M zipf 1.2", DZO_KEYS_ZIPF, UINT64_C(1) << 24, 1.2, 40e9},
};

typedef struct aggregate_run {
  table_bench *bench;
  const aggregate_case *of;
  uint64_t records, distinct, occurring;
  uint32_t *counts; /* [distinct] of each rank, by the host */
  table_array keys, ones, ranks, results;
} aggregate_run;

/* ---- Records --------------------------------------------------------------------------------- */

typedef struct draw_job {
  const dzo_keys *source;
  uint32_t *keys;
  uint32_t *ones;
  uint32_t *counts;
} draw_job;

static void draw_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  draw_job *job = argument;
  dzo_keys_fill_u32(job->source, begin, end, job->keys + begin);
  for (uint64_t i = begin; i < end; i++) {
    (void)__atomic_fetch_add(&job->counts[job->keys[i]], 1, __ATOMIC_RELAXED);
    job->keys[i] = (uint32_t)table_key(BITS, job->keys[i]);
    job->ones[i] = 1;
  }
}

static dzo_status draw(aggregate_run *run) {
  const dzo_keys_options options = {.distribution = run->of->distribution,
                                    .most = run->distinct - 1,
                                    .distinct = run->distinct,
                                    .exponent = run->of->exponent,
                                    .seed = run->bench->settings->common.seed};
  dzo_keys *source;
  DZO_TRY(dzo_keys_create(run->bench->context, &options, &source));
  draw_job job = {source, run->keys.host, run->ones.host, run->counts};
  dzo_parallel_for(run->bench->threads, run->records, GRAIN, draw_range, &job);
  dzo_keys_destroy(source);
  for (uint64_t rank = 0; rank < run->distinct; rank++)
    run->occurring += run->counts[rank] > 0;
  DZO_TRY(table_array_send(&run->keys));
  return table_array_send(&run->ones);
}

static dzo_status make_records(aggregate_run *run) {
  const table_fill ranks = {.bits = BITS, .stride = 1, .modulus = run->distinct};
  run->counts = dzo_calloc(run->bench->context, run->distinct, sizeof *run->counts);
  if (run->counts == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(table_array_make(run->bench, run->records, WORD, &run->keys));
  DZO_TRY(table_array_make(run->bench, run->records, WORD, &run->ones));
  DZO_TRY(table_array_make(run->bench, run->distinct, WORD, &run->ranks));
  DZO_TRY(table_array_make(run->bench, run->distinct, WORD, &run->results));
  DZO_TRY(table_array_fill(&run->ranks, &ranks, run->distinct));
  return draw(run);
}

static void free_records(aggregate_run *run) {
  table_array_free(&run->keys);
  table_array_free(&run->ones);
  table_array_free(&run->ranks);
  table_array_free(&run->results);
  dzo_free(run->counts);
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Every key's count must be the host's. */
static dzo_status check(aggregate_run *run, table_contestant *who, table_row *row) {
  dzo_table_batch batch;
  double seconds;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_FIND;
  batch.count = run->distinct;
  batch.keys = table_array_at(&run->ranks, 0, WORD);
  batch.results = table_array_at(&run->results, 0, WORD);
  DZO_TRY(table_contestant_time(who, &batch, &seconds));
  DZO_TRY(table_array_fetch(&run->results));
  const uint32_t *results = run->results.host;
  for (uint64_t rank = 0; rank < run->distinct; rank++)
    if (results[rank] != run->counts[rank])
      table_row_doubt(row, who->series, "a key was counted wrongly");
  return DZO_OK;
}

static dzo_status measure(aggregate_run *run, table_contestant *who, table_row *row) {
  double times[MAX_REPEATS], first;
  uint64_t repeats = table_bench_repeats(run->bench);
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_ADD;
  batch.count = run->records;
  batch.keys = table_array_at(&run->keys, 0, WORD);
  batch.values = table_array_at(&run->ones, 0, WORD);
  for (uint64_t i = 0; i <= repeats; i++) {
    DZO_TRY(table_contestant_clear(who));
    DZO_TRY(table_contestant_time(who, &batch, i == 0 ? &first : &times[i - 1]));
    if (batch.inserted != run->occurring || batch.found != run->records - run->occurring)
      table_row_doubt(row, who->series, "its counts are wrong");
  }
  bench_summarize(times, repeats, &row->median[who->series], &row->least[who->series]);
  return check(run, who, row);
}

static dzo_status measure_case(aggregate_run *run, table_row *row) {
  DZO_TRY(make_records(run));
  const table_shape shape = {.bits = BITS, .capacity = run->distinct, .load = .9, .growing = true};
  for (table_series series = TABLE_ORDERED; series <= TABLE_ANY_ORDER; series++) {
    table_contestant who;
    dzo_status status = table_contestant_create(run->bench, series, &shape, &who);
    if (status == DZO_OK)
      status = measure(run, &who, row);
    table_contestant_destroy(&who);
    DZO_TRY(status);
  }
  row->keys = run->occurring;
  return DZO_OK;
}

dzo_status table_bench_aggregate(table_bench *bench) {
  uint64_t records = table_bench_keys(bench, BITS);
  bool aimed = bench->unit != NULL && records == 1u << 26;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    aggregate_run run = {.bench = bench, .of = &cases[i], .records = records};
    run.distinct = cases[i].distinct < records ? cases[i].distinct : records;
    table_row row = {.part = "aggregate",
                     .operation = "add",
                     .data = cases[i].data,
                     .bits = BITS,
                     .queries = records,
                     .goal = aimed ? cases[i].goal : 0,
                     .verified = true};
    dzo_status status = measure_case(&run, &row);
    free_records(&run);
    DZO_TRY(status);
    table_bench_add(bench, &row);
  }
  return DZO_OK;
}
