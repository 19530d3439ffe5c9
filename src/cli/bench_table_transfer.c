/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: the seed's experiment from end to end. Pairs in host memory are inserted into
 * twice as many slots of a new table on the GPU, half of them erased, and the rest brought back. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_table.h"
#include "table/seed.h"

enum { BITS = 32, WORD = 4, MAX_REPEATS = 1000 };

/* Host memory, pinned for ours; the seed copies from pageable memory. */
typedef struct transfer_run {
  table_bench *bench;
  uint64_t count;
  uint32_t *keys, *values, *out_keys, *out_values;
  uint64_t *out_pairs; /* [4 * count] room for the seed's whole table, of a power of two */
  uint64_t left;       /* pairs that came back */
  table_row row;
} transfer_run;

/* ---- Ours ------------------------------------------------------------------------------------ */

static dzo_status run_batches(transfer_run *run, dzo_table *table, unsigned flags) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_INSERT;
  batch.flags = flags;
  batch.count = run->count;
  batch.keys = run->keys;
  batch.values = run->values;
  DZO_TRY(dzo_table_run(table, &batch));
  batch.operation = DZO_TABLE_ERASE;
  batch.count = run->count / 2;
  DZO_TRY(dzo_table_run(table, &batch));
  run->left = dzo_table_size(table);
  return dzo_table_export_into(table, run->out_keys, run->out_values);
}

static dzo_status end_to_end(transfer_run *run, table_series series) {
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = options.value_bits = BITS;
  options.capacity = run->count;
  options.fixed = 1;
  options.max_load = .5;
  dzo_table *table;
  DZO_TRY(dzo_table_create(run->bench->context, &options, &table));
  dzo_status status = run_batches(run, table, series == TABLE_ANY_ORDER ? DZO_TABLE_ANY : 0);
  dzo_table_destroy(table);
  return status;
}

/* ---- The seed's: each array to memory of its own, straight from where it lies ---------------- */

typedef struct seed_arrays {
  uint32_t *keys, *values;
} seed_arrays;

static dzo_status seed_batch(transfer_run *run, table_seed *seed, seed_arrays *arrays,
                             dzo_table_operation operation, uint64_t count) {
  dzo_unit *unit = run->bench->unit;
  dzo_table_batch batch;
  DZO_TRY(dzo_unit_allocate(unit, count, WORD, (void **)&arrays->keys));
  DZO_TRY(dzo_unit_allocate(unit, count, WORD, (void **)&arrays->values));
  DZO_TRY(dzo_unit_copy(unit, 0, arrays->keys, run->keys, count * WORD));
  if (operation == DZO_TABLE_INSERT)
    DZO_TRY(dzo_unit_copy(unit, 0, arrays->values, run->values, count * WORD));
  dzo_table_batch_init(&batch);
  batch.operation = operation;
  batch.count = count;
  batch.keys = arrays->keys;
  batch.values = arrays->values;
  DZO_TRY(table_seed_run(seed, &batch));
  DZO_TRY(dzo_unit_wait(unit, 0));
  dzo_unit_release(unit, arrays->keys);
  dzo_unit_release(unit, arrays->values);
  *arrays = (seed_arrays){0};
  return DZO_OK;
}

/* The pairs are picked out of the whole table on the host. */
static void pick(transfer_run *run, const table_seed *seed) {
  run->left = 0;
  for (uint64_t i = 0; i < seed->slots && run->left < run->count; i++) {
    uint64_t pair = run->out_pairs[i];
    if ((uint32_t)pair == UINT32_MAX || pair >> 32 == UINT32_MAX)
      continue;
    run->out_keys[run->left] = (uint32_t)pair;
    run->out_values[run->left++] = (uint32_t)(pair >> 32);
  }
}

static dzo_status seed_end_to_end(transfer_run *run) {
  dzo_unit *unit = run->bench->unit;
  table_seed seed;
  seed_arrays arrays = {0};
  dzo_status status = table_seed_create(unit, 2 * run->count, &seed);
  if (status == DZO_OK)
    status = seed_batch(run, &seed, &arrays, DZO_TABLE_INSERT, run->count);
  if (status == DZO_OK)
    status = seed_batch(run, &seed, &arrays, DZO_TABLE_ERASE, run->count / 2);
  if (status == DZO_OK)
    status = dzo_unit_copy(unit, 0, run->out_pairs, seed.pairs, seed.slots * sizeof *seed.pairs);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  if (status == DZO_OK)
    pick(run, &seed);
  dzo_unit_release(unit, arrays.keys);
  dzo_unit_release(unit, arrays.values);
  table_seed_destroy(&seed);
  return status;
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* What comes back must be the second half of the keys, each with its value. */
static void check(transfer_run *run, table_series series) {
  uint64_t sum = 0, expected = 0;
  bool right = run->left == run->count - run->count / 2;
  for (uint64_t i = run->count / 2; i < run->count; i++)
    expected += run->keys[i];
  for (uint64_t i = 0; i < run->left; i++) {
    sum += run->out_keys[i];
    right = right && run->out_values[i] == (uint32_t)table_value(BITS, run->out_keys[i]);
  }
  if (!right || sum != expected)
    table_row_doubt(&run->row, series, "other pairs came back");
}

static dzo_status measure(transfer_run *run) {
  double times[MAX_REPEATS];
  uint64_t repeats = table_bench_repeats(run->bench);
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++) {
    for (uint64_t i = 0; i <= repeats; i++) {
      double begun = cli_now();
      DZO_TRY(series == TABLE_SEED ? seed_end_to_end(run) : end_to_end(run, series));
      if (i > 0)
        times[i - 1] = cli_now() - begun;
    }
    check(run, series);
    bench_summarize(times, repeats, &run->row.median[series], &run->row.least[series]);
  }
  return DZO_OK;
}

static dzo_status make_arrays(transfer_run *run) {
  dzo_unit *unit = run->bench->unit;
  uint32_t **pinned[] = {&run->keys, &run->values, &run->out_keys, &run->out_values};
  for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
    DZO_TRY(dzo_unit_allocate_staging(unit, run->count, WORD, (void **)pinned[i]));
  run->out_pairs = dzo_calloc(run->bench->context, 4 * run->count, sizeof *run->out_pairs);
  if (run->out_pairs == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < run->count; i++) {
    run->keys[i] = (uint32_t)table_key(BITS, i);
    run->values[i] = (uint32_t)table_value(BITS, run->keys[i]);
  }
  return DZO_OK;
}

/* Only a GPU's table has a way to go. */
dzo_status table_bench_transfer(table_bench *bench) {
  transfer_run run = {.bench = bench, .count = table_bench_keys(bench, BITS)};
  dzo_unit *unit = bench->unit;
  if (unit == NULL)
    return DZO_OK;
  run.row = (table_row){.part = "transfer",
                        .operation = "end to end",
                        .data = "unique",
                        .bits = BITS,
                        .keys = run.count,
                        .load = .5,
                        .queries = run.count + run.count / 2,
                        .verified = true};
  dzo_status status = make_arrays(&run);
  if (status == DZO_OK)
    status = measure(&run);
  dzo_unit_release_staging(unit, run.keys);
  dzo_unit_release_staging(unit, run.values);
  dzo_unit_release_staging(unit, run.out_keys);
  dzo_unit_release_staging(unit, run.out_values);
  dzo_free(run.out_pairs);
  if (status == DZO_OK)
    table_bench_add(bench, &run.row);
  return status;
}
