/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench knapsack: which instances each part has. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_knapsack.h"
#include "io/knapsack.h"

/* ---- The thesis, and how its methods grow ---------------------------------------------------- */

enum { THESIS_ITEMS = 31, QUICK_ITEMS = 15, THESIS_RANGE = 1000 };

dzo_status knapsack_bench_thesis(knapsack_bench *bench) {
  static const dzo_knapsack_class kinds[] = {
      DZO_KNAPSACK_UNCORRELATED, DZO_KNAPSACK_WEAKLY_CORRELATED, DZO_KNAPSACK_STRONGLY_CORRELATED,
      DZO_KNAPSACK_FINKELSTEIN};
  uint64_t items = bench->settings->quick ? QUICK_ITEMS : THESIS_ITEMS;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    knapsack_row row;
    DZO_TRY(knapsack_bench_class(bench, kinds[i], items, THESIS_RANGE, bench->settings->common.seed,
                                 bench->part->columns, &row));
  }
  return DZO_OK;
}

/* A method that took this long, or did not answer, is not asked about more items. */
static uint32_t still_running(const knapsack_row *row, uint32_t columns, double most) {
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (row->by[who].end != KNAPSACK_RAN || row->by[who].median > most)
      columns &= ~(UINT32_C(1) << who);
  return columns;
}

dzo_status knapsack_bench_growth(knapsack_bench *bench) {
  bool quick = bench->settings->quick;
  uint32_t columns = bench->part->columns;
  for (uint64_t items = 11; items <= (quick ? 17 : 43) && columns != 0; items += 2) {
    knapsack_row row;
    DZO_TRY(knapsack_bench_class(bench, DZO_KNAPSACK_FINKELSTEIN, items, 10,
                                 bench->settings->common.seed, columns, &row));
    columns = still_running(&row, columns, knapsack_bench_limit(bench) / 4);
  }
  return DZO_OK;
}

/* ---- All classes ----------------------------------------------------------------------------- */

dzo_status knapsack_bench_classes(knapsack_bench *bench) {
  static const uint64_t all_items[] = {50, 500, 5000, 10000};
  static const int64_t all_ranges[] = {1000, 10000, 100000, 1000000};
  size_t sizes = bench->settings->quick ? 1 : sizeof all_items / sizeof *all_items;
  size_t ranges = bench->settings->quick ? 1 : sizeof all_ranges / sizeof *all_ranges;
  for (int kind = 0; kind < DZO_KNAPSACK_CLASSES; kind++)
    for (size_t n = 0; n < sizes; n++)
      for (size_t r = 0; r < ranges; r++) {
        knapsack_row row;
        if (kind == DZO_KNAPSACK_FINKELSTEIN && r > 0)
          continue;
        DZO_TRY(knapsack_bench_class(bench, (dzo_knapsack_class)kind, all_items[n], all_ranges[r],
                                     bench->settings->common.seed, bench->part->columns, &row));
      }
  return DZO_OK;
}

/* ---- What nothing prunes --------------------------------------------------------------------- */

dzo_status knapsack_bench_sums(knapsack_bench *bench) {
  static const struct {
    dzo_knapsack_class kind;
    uint64_t items;
    int64_t range;
  } cases[] = {
      {DZO_KNAPSACK_SUBSET_SUM, 30, 1000000000000},
      {DZO_KNAPSACK_PROFIT_CEILING, 30, 1000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 40, 1000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 48, 1000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 52, 100000000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 56, 1000000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 60, 1000000000000000},
      {DZO_KNAPSACK_SUBSET_SUM, 64, 10000000000000000},
      {DZO_KNAPSACK_EVEN_ODD_SUBSET_SUM, 60, 1000000000000000},
      {DZO_KNAPSACK_PROFIT_CEILING, 48, 1000000000000000},
      {DZO_KNAPSACK_PROFIT_CEILING, 56, 1000000000000000},
  };
  size_t count = bench->settings->quick ? 2 : sizeof cases / sizeof *cases;
  for (size_t i = 0; i < count; i++) {
    knapsack_row row;
    DZO_TRY(knapsack_bench_class(bench, cases[i].kind, cases[i].items, cases[i].range,
                                 bench->settings->common.seed, bench->part->columns, &row));
  }
  return DZO_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The last part of the path; of files that are all called test.in, their folder. */
static void name_of(const char *path, uint64_t number, uint64_t count, char *name, size_t size) {
  size_t end = strlen(path), same = strlen("/test.in");
  if (end > same && strcmp(path + end - same, "/test.in") == 0)
    end -= same;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/')
    begin--;
  if (count == 1)
    (void)snprintf(name, size, "%.*s", (int)(end - begin), path + begin);
  else
    (void)snprintf(name, size, "%.*s:%llu", (int)(end - begin), path + begin,
                   (unsigned long long)number);
}

static dzo_status file_row(knapsack_bench *bench, const char *path, const dzo_knapsack_set *set,
                           uint64_t k) {
  uint64_t first = set->offsets[k];
  dzo_knapsack_instance instance;
  dzo_knapsack_instance_init(&instance);
  instance.count = set->offsets[k + 1] - first;
  instance.values = set->values + first;
  instance.weights = set->weights + first;
  instance.copies = set->copies == NULL ? NULL : set->copies + first;
  instance.capacity = set->capacities[k];
  knapsack_row row = {.verified = true};
  name_of(path, k, set->count, row.name, sizeof row.name);
  if (set->origins[k].has_optimum) {
    int64_t told = set->origins[k].optimum;
    knapsack_bench_agree(&row, "the file", (dzo_int128){told < 0 ? -1 : 0, (uint64_t)told});
  }
  return knapsack_bench_row(bench, &instance, &row);
}

dzo_status knapsack_bench_files(knapsack_bench *bench) {
  dzo_status status = DZO_OK;
  for (int i = 1; i < bench->call->operand_count && status == DZO_OK; i++) {
    const char *path = bench->call->words[i];
    dzo_knapsack_set set = {0};
    dzo_knapsack_read_options options = {.format = DZO_KNAPSACK_FILE_AUTO};
    status = dzo_knapsack_read(bench->call->context, path, &options, &set);
    for (uint64_t k = 0; status == DZO_OK && k < set.count; k++)
      status = file_row(bench, path, &set, k);
    dzo_knapsack_set_release(&set);
  }
  return status;
}

/* ---- Batches --------------------------------------------------------------------------------- */

typedef struct batch_data {
  uint64_t count, items; /* instances, and items of each */
  uint64_t *offsets;
  int64_t *values, *weights, *capacities;
  int64_t *taken[2]; /* by the CPU, by the GPU */
  dzo_int128 *sums[2];
} batch_data;

static void batch_free(batch_data *d) {
  dzo_free(d->offsets);
  dzo_free(d->values);
  dzo_free(d->weights);
  dzo_free(d->capacities);
  for (int i = 0; i < 2; i++) {
    dzo_free(d->taken[i]);
    dzo_free(d->sums[i]);
  }
}

static dzo_status batch_make(knapsack_bench *bench, uint64_t items, int64_t range, batch_data *d) {
  dzo_context *context = bench->call->context;
  uint64_t all = d->count * items;
  d->items = items;
  d->offsets = dzo_alloc(context, d->count + 1, sizeof *d->offsets);
  d->values = dzo_alloc(context, all, sizeof *d->values);
  d->weights = dzo_alloc(context, all, sizeof *d->weights);
  d->capacities = dzo_alloc(context, d->count, sizeof *d->capacities);
  bool missing =
      d->offsets == NULL || d->values == NULL || d->weights == NULL || d->capacities == NULL;
  for (int i = 0; i < 2; i++) {
    d->taken[i] = dzo_calloc(context, all, sizeof *d->taken[i]);
    d->sums[i] = dzo_calloc(context, d->count, sizeof *d->sums[i]);
    missing = missing || d->taken[i] == NULL || d->sums[i] == NULL;
  }
  if (missing)
    return DZO_E_MEMORY;
  for (uint64_t k = 0; k <= d->count; k++)
    d->offsets[k] = k * items;
  for (uint64_t k = 0; k < d->count; k++)
    DZO_TRY(knapsack_bench_fill(bench, DZO_KNAPSACK_UNCORRELATED, items, range,
                                bench->settings->common.seed + k, d->values + k * items,
                                d->weights + k * items, &d->capacities[k]));
  return DZO_OK;
}

static dzo_status run_batch(knapsack_bench *bench, batch_data *d, bool gpu, knapsack_row *row) {
  enum { MOST = 1000 };
  double times[MOST];
  uint64_t repeats = bench->settings->repeats;
  dzo_context *context = gpu ? bench->gpu : bench->cpu;
  knapsack_entry *entry = &row->by[gpu ? KNAPSACK_BY_AUTO_GPU : KNAPSACK_BY_AUTO];
  dzo_knapsack_batch batch;
  dzo_knapsack_batch_init(&batch);
  batch.count = d->count;
  batch.offsets = d->offsets;
  batch.values = d->values;
  batch.weights = d->weights;
  batch.capacities = d->capacities;
  batch.taken = d->taken[gpu];
  batch.value_sums = d->sums[gpu];
  for (uint64_t i = 0; i < repeats && i < MOST; i++) {
    double begun = cli_now();
    dzo_status status = dzo_knapsack_run_batch(context, &batch, NULL);
    times[i] = cli_now() - begun;
    if (status != DZO_OK)
      return dzo_fail(bench->call->context, status, "%s", dzo_context_message(context));
  }
  if (batch.optimal != d->count)
    knapsack_row_doubt(row, gpu ? "auto-gpu" : "auto", "some answers are not proved");
  entry->end = KNAPSACK_RAN;
  bench_summarize(times, repeats < MOST ? repeats : MOST, &entry->median, &entry->least);
  return DZO_OK;
}

static void instance_of(const batch_data *d, uint64_t k, dzo_knapsack_instance *instance) {
  dzo_knapsack_instance_init(instance);
  instance->count = d->items;
  instance->values = d->values + k * d->items;
  instance->weights = d->weights + k * d->items;
  instance->capacity = d->capacities[k];
}

/* Every set is checked, and of each device's; single calls of `core` must find the same values.
 * They are also what the batch is compared with. */
static dzo_status check_batch(knapsack_bench *bench, const batch_data *d, knapsack_row *row) {
  dzo_context *context = bench->call->context;
  double seconds = 0;
  for (uint64_t k = 0; k < d->count; k++) {
    dzo_knapsack_instance instance;
    instance_of(d, k, &instance);
    for (int i = 0; i < (bench->gpu != NULL ? 2 : 1); i++) {
      int valid;
      dzo_int128 value;
      DZO_TRY(dzo_knapsack_verify(context, &instance, d->taken[i] + k * d->items, &valid, &value,
                                  NULL));
      if (!valid || value.low != d->sums[i][k].low || value.high != d->sums[i][k].high)
        knapsack_row_doubt(row, "a batch", "a set is too heavy, or not worth what it says");
    }
    knapsack_row single = {.verified = true};
    knapsack_end end;
    double one;
    DZO_TRY(knapsack_bench_solve(bench, KNAPSACK_BY_CORE, &instance, &single, &end, &one));
    seconds += one;
    if (end == KNAPSACK_RAN && (!single.verified || single.value.low != d->sums[0][k].low))
      knapsack_row_doubt(row, "core", "another value than the batch");
  }
  row->by[KNAPSACK_BY_CORE] =
      (knapsack_entry){.end = KNAPSACK_RAN, .median = seconds, .least = seconds};
  if (bench->gpu != NULL &&
      memcmp(d->taken[0], d->taken[1], d->count * d->items * sizeof *d->taken[0]) != 0)
    knapsack_row_doubt(row, "auto-gpu", "another set than the CPU");
  return DZO_OK;
}

static dzo_status batch_row(knapsack_bench *bench, uint64_t items, int64_t range) {
  batch_data d = {.count = bench->settings->quick ? 200 : 20000};
  knapsack_row row = {.part = bench->part->name,
                      .items = items,
                      .range = range,
                      .instances = d.count,
                      .verified = true};
  (void)snprintf(row.name, sizeof row.name, "%s",
                 dzo_knapsack_class_name(DZO_KNAPSACK_UNCORRELATED));
  dzo_status status = batch_make(bench, items, range, &d);
  if (status == DZO_OK)
    status = run_batch(bench, &d, false, &row);
  if (status == DZO_OK && bench->gpu != NULL)
    status = run_batch(bench, &d, true, &row);
  if (status == DZO_OK)
    status = check_batch(bench, &d, &row);
  row.agree = bench->gpu != NULL ? 3 : 2;
  if (status == DZO_OK)
    status = knapsack_bench_add(bench, &row);
  batch_free(&d);
  return status;
}

dzo_status knapsack_bench_batch(knapsack_bench *bench) {
  DZO_TRY(batch_row(bench, 50, 375));
  return batch_row(bench, 100, 390);
}
