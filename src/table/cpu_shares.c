/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Many queries for few keys. What a run of queries of one operation does to a table depends only on
 * what they make of an empty one: so each thread makes a small table of its share, and the first
 * stays first and the last is last when these are put into the table in order. */
#include "base/memory.h"
#include "base/parallel.h"
#include "table/cpu.h"
#include "table/engine.h"

typedef struct share {
  table_cpu *table;
  void *keys, *values; /* of its pairs */
} share;

typedef struct share_job {
  table_cpu *table;
  const dzo_table_batch *batch;
  uint64_t each; /* queries of a share */
  share *shares;
  int failed; /* accessed atomically */
} share_job;

static const void *word_at(const table_cpu *t, const void *words, uint64_t at) {
  return words != NULL ? (const char *)words + at * (t->wide ? 8 : 4) : NULL;
}

static bool list_share(const table_cpu *t, share *s) {
  size_t word = t->wide ? 8 : 4;
  s->keys = dzo_alloc(t->context, s->table->pairs, word);
  s->values = dzo_alloc(t->context, s->table->pairs, word);
  return s->keys != NULL && s->values != NULL &&
         table_engine_cpu.export_into(s->table, s->keys, s->values) == DZO_OK;
}

static void make_share(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  share_job *job = argument;
  const table_cpu *t = job->table;
  share *s = &job->shares[begin / job->each];
  table_plan plan = {t->context, t->wide, false, 0, t->max_load, begin};
  dzo_table_batch batch = *job->batch;
  batch.count = end - begin;
  batch.keys = word_at(t, batch.keys, begin);
  batch.values = word_at(t, batch.values, begin);
  if (table_cpu_create(&plan, &t->sizes, &s->table) == DZO_OK) {
    table_cpu_run_alone(s->table, &batch);
    if (batch.refused == 0 && list_share(t, s))
      return;
  }
  __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
}

static void merge_share(const share_job *job, const share *s, dzo_table_batch *sums) {
  dzo_table_batch batch = *job->batch;
  batch.count = s->table->pairs;
  batch.keys = s->keys;
  batch.values = s->values;
  table_cpu_run_alone(job->table, &batch);
  sums->inserted += batch.inserted;
  sums->refused += batch.refused;
}

/* Of queries instead of pairs. Nothing was erased, so what was refused is not there now. */
static void count_answers(const table_cpu *t, dzo_table_batch *batch) {
  table_cpu_search all = {t, batch->keys, NULL, NULL};
  if (batch->refused > 0)
    batch->refused = batch->count - table_cpu_width_of(t->store)->search(&all, 0, batch->count);
  batch->found = batch->count - batch->inserted - batch->refused;
}

bool table_cpu_run_shares(table_cpu *t, dzo_table_batch *batch) {
  uint64_t threads = (uint64_t)t->context->threads;
  share_job job = {t, batch, (batch->count + threads - 1) / threads, NULL, 0};
  job.shares = dzo_calloc(t->context, threads, sizeof *job.shares);
  if (job.shares == NULL)
    return false;
  dzo_parallel_for((int)threads, batch->count, job.each, make_share, &job);
  bool works = job.failed == 0;
  batch->found = batch->inserted = batch->refused = 0;
  for (uint64_t i = 0; i < threads; i++) {
    const share *s = &job.shares[i];
    if (works && s->table != NULL && s->table->pairs > 0)
      merge_share(&job, s, batch);
    table_engine_cpu.destroy(s->table);
    dzo_free(s->keys);
    dzo_free(s->values);
  }
  dzo_free(job.shares);
  if (works)
    count_answers(t, batch);
  return works;
}
