/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "cli/bench_knapsack.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_gpu.h"

#define BY(who) (UINT32_C(1) << KNAPSACK_BY_##who)

/* As the choices of --part have them. */
static const knapsack_part parts[] = {
    {.name = "thesis",
     .title = "The thesis' table: its four methods, its own kernels, and today's",
     .columns = BY(BRUTE_FORCE) | BY(BRUTE_FORCE_GPU) | BY(SEED_BRUTE_FORCE) | BY(HOROWITZ_SAHNI) |
                BY(HYBRID) | BY(HYBRID_GPU) | BY(SEED_HYBRID) | BY(CORE) | BY(AUTO),
     .bare = true,
     .ratios = {{"brute", KNAPSACK_BY_BRUTE_FORCE, KNAPSACK_BY_BRUTE_FORCE_GPU},
                {"hybrid", KNAPSACK_BY_HOROWITZ_SAHNI, KNAPSACK_BY_HYBRID_GPU},
                {"seed", KNAPSACK_BY_SEED_HYBRID, KNAPSACK_BY_HYBRID_GPU}},
     .run = knapsack_bench_thesis},
    {.name = "growth",
     .title = "Finkelstein's instances of more and more items, for each method until it takes "
              "too long",
     .columns = BY(BRUTE_FORCE) | BY(BRUTE_FORCE_GPU) | BY(HOROWITZ_SAHNI) | BY(HYBRID) |
                BY(HYBRID_GPU) | BY(CORE) | BY(TWO_LIST) | BY(DENSE),
     .bare = true,
     .run = knapsack_bench_growth},
    {.name = "classes",
     .title = "All classes, on one thread",
     .columns = BY(CORE) | BY(AUTO) | BY(TEXTBOOK),
     .one_thread = true,
     .ratios = {{"ratio", KNAPSACK_BY_TEXTBOOK, KNAPSACK_BY_AUTO}},
     .run = knapsack_bench_classes},
    {.name = "sums",
     .title = "Value (nearly) in proportion to weight, and large coefficients",
     .columns = BY(CORE) | BY(TWO_LIST) | BY(TWO_LIST_GPU) | BY(TEXTBOOK),
     .ratios = {{"GPU", KNAPSACK_BY_TWO_LIST, KNAPSACK_BY_TWO_LIST_GPU}},
     .run = knapsack_bench_sums},
    {.name = "files",
     .title = "The files that were given",
     .columns = BY(CORE) | BY(TWO_LIST) | BY(DENSE) | BY(AUTO) | BY(TWO_LIST_GPU) | BY(DENSE_GPU) |
                BY(AUTO_GPU) | BY(TEXTBOOK),
     .auto_first = true,
     .run = knapsack_bench_files},
    {.name = "batch",
     .title = "Many small instances in one call",
     .columns = BY(AUTO) | BY(AUTO_GPU) | BY(CORE),
     .ratios = {{"GPU", KNAPSACK_BY_AUTO, KNAPSACK_BY_AUTO_GPU}},
     .run = knapsack_bench_batch},
};

/* ---- Rows ------------------------------------------------------------------------------------ */

double knapsack_bench_limit(const knapsack_bench *bench) {
  if (bench->patience > 0)
    return bench->patience;
  return bench->settings->quick && !cli_given(bench->call, "time-limit")
             ? 1
             : bench->settings->time_limit;
}

void knapsack_row_doubt(knapsack_row *row, const char *who, const char *what) {
  if (row->verified)
    (void)snprintf(row->reason, sizeof row->reason, "%s: %s", who, what);
  row->verified = false;
}

void knapsack_bench_agree(knapsack_row *row, const char *who, dzo_int128 value) {
  if (row->known && (row->value.high != value.high || row->value.low != value.low))
    knapsack_row_doubt(row, who, "another value than the methods before");
  row->known = true;
  row->value = value;
  row->agree++;
}

dzo_status knapsack_bench_add(knapsack_bench *bench, const knapsack_row *row) {
  if (bench->count == bench->room) {
    size_t room = bench->room == 0 ? 64 : 2 * bench->room;
    knapsack_row *more = dzo_realloc(bench->call->context, bench->rows, room, sizeof *more);
    if (more == NULL)
      return DZO_E_MEMORY;
    bench->rows = more;
    bench->room = room;
  }
  bench->rows[bench->count++] = *row;
  bench->wrong = bench->wrong || !row->verified;
  if (bench->call->common->json)
    return DZO_OK;
  cli_progress_clear(&bench->call->progress);
  knapsack_print_row(stdout, bench, row);
  (void)fflush(stdout); /* rows may take long; what failed is told when the part is over */
  return DZO_OK;
}

/* A column until there are enough runs, or they have taken long enough. */
static dzo_status run_column(knapsack_bench *bench, knapsack_who who,
                             const dzo_knapsack_instance *instance, knapsack_row *row) {
  enum { MOST = 1000 };
  const double enough = 1;
  double times[MOST], sum = 0;
  uint64_t count = 0, repeats = bench->settings->repeats;
  knapsack_entry *entry = &row->by[who];
  entry->limit = knapsack_bench_limit(bench);
  while (count < repeats && count < MOST && sum < enough) {
    DZO_TRY(knapsack_bench_solve(bench, who, instance, row, &entry->end, &times[count]));
    if (entry->end != KNAPSACK_RAN)
      return DZO_OK;
    sum += times[count++];
  }
  bench_summarize(times, count, &entry->median, &entry->least);
  return DZO_OK;
}

/* Slower ones are not waited for as long as `auto` may take where it took much less. */
static double patience(const knapsack_bench *bench, const knapsack_entry *automatic) {
  double limit = knapsack_bench_limit(bench), most = ceil(16 * automatic->median);
  return automatic->end == KNAPSACK_RAN && most < limit ? most : limit;
}

static dzo_status run_columns(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                              uint32_t columns, knapsack_row *row) {
  row->part = bench->part->name;
  row->items = instance->count;
  row->instances = 1;
  row->capacity = instance->capacity;
  row->verified = true;
  columns &= knapsack_bench_columns(bench);
  if (bench->part->auto_first && !cli_given(bench->call, "time-limit")) {
    DZO_TRY(run_column(bench, KNAPSACK_BY_AUTO, instance, row));
    columns &= ~BY(AUTO);
    bench->patience = patience(bench, &row->by[KNAPSACK_BY_AUTO]);
  }
  dzo_status status = DZO_OK;
  for (int who = 0; who < KNAPSACK_WHO && status == DZO_OK; who++)
    if (columns >> who & 1)
      status = run_column(bench, (knapsack_who)who, instance, row);
  bench->patience = 0;
  return status == DZO_OK ? knapsack_bench_add(bench, row) : status;
}

dzo_status knapsack_bench_row(knapsack_bench *bench, const dzo_knapsack_instance *instance,
                              knapsack_row *row) {
  return run_columns(bench, instance, bench->part->columns, row);
}

dzo_status knapsack_bench_fill(knapsack_bench *bench, dzo_knapsack_class kind, uint64_t items,
                               int64_t range, uint64_t seed, int64_t *values, int64_t *weights,
                               int64_t *capacity) {
  DZO_TRY(dzo_knapsack_generate(bench->call->context, kind, items, range, seed, 50, 101, values,
                                weights, capacity));
  if (kind == DZO_KNAPSACK_FINKELSTEIN)
    *capacity = (int64_t)(items / 2 * 2 + 1);
  return DZO_OK;
}

dzo_status knapsack_bench_class(knapsack_bench *bench, dzo_knapsack_class kind, uint64_t items,
                                int64_t range, uint64_t seed, uint32_t columns, knapsack_row *row) {
  dzo_context *context = bench->call->context;
  int64_t *numbers = dzo_alloc(context, 2 * items, sizeof *numbers);
  if (numbers == NULL)
    return DZO_E_MEMORY;
  dzo_knapsack_instance instance;
  dzo_knapsack_instance_init(&instance);
  instance.count = items;
  instance.values = numbers;
  instance.weights = numbers + items;
  *row = (knapsack_row){.range = range};
  (void)snprintf(row->name, sizeof row->name, "%s", dzo_knapsack_class_name(kind));
  dzo_status status = knapsack_bench_fill(bench, kind, items, range, seed, numbers, numbers + items,
                                          &instance.capacity);
  if (status == DZO_OK)
    status = run_columns(bench, &instance, columns, row);
  dzo_free(numbers);
  return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static dzo_status stop_if_cancelled(const knapsack_bench *bench, dzo_status status) {
  return dzo_is_cancelled(bench->call->context) ? DZO_E_CANCELLED : status;
}

static cli_exit fail(knapsack_bench *bench, dzo_status status) {
  cli_progress_clear(&bench->call->progress);
  bool files = bench->part != NULL && strcmp(bench->part->name, "files") == 0;
  return cli_fail(bench->call, status, files ? CLI_BAD_INPUT : CLI_FAILED);
}

static int stop_with_command(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase;
  (void)done;
  (void)total;
  return dzo_is_cancelled(user) ? 1 : 0;
}

static dzo_status open_context(knapsack_bench *bench, dzo_device device, int threads,
                               dzo_context **out) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.device_index = bench->settings->common.device.index;
  options.threads = threads;
  options.memory = bench->settings->common.memory;
  options.gpu_memory = bench->settings->common.gpu_memory;
  options.progress = stop_with_command;
  options.progress_user = bench->call->context;
  options.keep = UINT64_C(1) << 30;
  return dzo_context_create(&options, out);
}

static void describe(knapsack_bench *bench) {
  enum { MOST = 16 };
  dzo_device_info devices[MOST];
  int count;
  const char *reason;
  dzo_devices(devices, MOST, &count, &reason);
  for (int i = 0; i < count && i < MOST; i++) {
    bool gpu = devices[i].kind == DZO_DEVICE_CUDA &&
               devices[i].index == bench->settings->common.device.index;
    if (devices[i].kind == DZO_DEVICE_CPU || gpu)
      (void)snprintf(gpu ? bench->gpu_name : bench->processor, sizeof bench->processor, "%s",
                     devices[i].name);
  }
}

static dzo_status open_bench(knapsack_bench *bench) {
  dzo_context *context = bench->call->context;
  bench->threads = dzo_context_threads(context);
  describe(bench);
  DZO_TRY(open_context(bench, DZO_DEVICE_CPU, bench->threads, &bench->cpu));
  DZO_TRY(open_context(bench, DZO_DEVICE_CPU, 1, &bench->single));
  if (dzo_context_gpu(context) == NULL)
    return DZO_OK;
  DZO_TRY(open_context(bench, DZO_DEVICE_CUDA, bench->threads, &bench->gpu));
  return dzo_context_gpu(bench->gpu) != NULL ? DZO_OK : DZO_E_DEVICE;
}

/* Files that were given are what is wanted; without any, all else is. */
static bool is_chosen(const knapsack_bench *bench, const knapsack_part *part) {
  bool files = bench->call->operand_count > 1, of_files = strcmp(part->name, "files") == 0;
  if (!cli_given(bench->call, "part") || strcmp(bench->settings->part, "all") == 0)
    return files == of_files;
  return strcmp(bench->settings->part, part->name) == 0;
}

static cli_exit run_parts(knapsack_bench *bench) {
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!is_chosen(bench, &parts[i]))
      continue;
    bench->part = &parts[i];
    if (!bench->call->common->json)
      knapsack_print_part(stdout, bench);
    dzo_status status = stop_if_cancelled(bench, parts[i].run(bench));
    if (status != DZO_OK)
      return fail(bench, status);
    cli_exit result = bench->call->common->json ? CLI_DONE : cli_flush(bench->call);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

static cli_exit tell(knapsack_bench *bench) {
  cli_progress_clear(&bench->call->progress);
  if (bench->call->common->json)
    knapsack_print_json(stdout, bench);
  else if (!bench->wrong)
    knapsack_print_notes(stdout, bench);
  cli_exit result = cli_flush(bench->call);
  if (result == CLI_DONE && bench->settings->plot != NULL)
    result = knapsack_plot(bench, bench->settings->plot);
  if (result != CLI_DONE || !bench->wrong)
    return result;
  cli_error("bench: an answer was wrong; please report this");
  return CLI_FAILED;
}

cli_exit bench_knapsack_run(cli_call *call) {
  knapsack_bench bench = {.call = call, .settings = call->settings};
  dzo_status status = open_bench(&bench);
  cli_exit result = status == DZO_OK ? CLI_DONE : fail(&bench, status);
  if (result == CLI_DONE && !call->common->json)
    knapsack_print_header(stdout, &bench);
  if (result == CLI_DONE)
    result = run_parts(&bench);
  if (result == CLI_DONE)
    result = tell(&bench);
  dzo_free(bench.rows);
  dzo_context_destroy(bench.gpu);
  dzo_context_destroy(bench.single);
  dzo_context_destroy(bench.cpu);
  return result;
}
