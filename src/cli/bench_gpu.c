/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench msf on a GPU: what its kinds of rows share. */
#include "cli/bench_gpu.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "device/rates.h"
#include "device/transfer.h"

enum { FROM = 26, TO = 27, MAX_REPEATS = 1000, GRAIN = 1 << 14 };

/* ---- Opening --------------------------------------------------------------------------------- */

/* Progress goes to nobody, but Ctrl-C reaches the command's context. */
static int stop_with_command(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase;
  (void)done;
  (void)total;
  return dzo_is_cancelled(user) ? 1 : 0;
}

dzo_status gpu_bench_context(const gpu_bench *bench, dzo_device device, uint64_t gpu_memory,
                             uint64_t keep, dzo_context **out) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.device_index = bench->settings->common.device.index;
  options.threads = dzo_context_threads(bench->call->context);
  options.memory = bench->settings->common.memory;
  options.gpu_memory = gpu_memory;
  options.keep = keep;
  options.progress = stop_with_command;
  options.progress_user = bench->call->context;
  return dzo_context_create(&options, out);
}

static void describe(gpu_bench *bench) {
  enum { MOST = 16 };
  dzo_device_info devices[MOST];
  int count;
  const char *reason;
  dzo_devices(devices, MOST, &count, &reason);
  for (int i = 0; i < count && i < MOST; i++) {
    char *name = devices[i].kind == DZO_DEVICE_CPU        ? bench->machine.processor
                 : devices[i].index == bench->unit->index ? bench->machine.gpu
                                                          : NULL;
    if (name != NULL)
      (void)snprintf(name, sizeof bench->machine.gpu, "%s", devices[i].name);
  }
}

bool gpu_bench_is_small(const bench_settings *settings) {
  return settings->quick || (settings->scale != 0 && settings->scale < 20) ||
         (settings->count != 0 && settings->count < 1 << 20);
}

static dzo_status measure_rates(gpu_bench *bench) {
  gpu_machine *m = &bench->machine;
  bool small = gpu_bench_is_small(bench->settings);
  DZO_TRY(dzo_gpu_read_rate(bench->unit, UINT64_C(1) << (small ? 22 : 32), &m->read_rate));
  DZO_TRY(dzo_gpu_random_rate(bench->unit, UINT64_C(1) << (small ? 18 : 24), &m->near_rate));
  return dzo_gpu_random_rate(bench->unit, UINT64_C(1) << (small ? 22 : 30), &m->far_rate);
}

cli_exit gpu_bench_open(cli_call *call, gpu_bench *bench) {
  *bench = (gpu_bench){.call = call, .settings = call->settings};
  dzo_status status = gpu_bench_context(bench, DZO_DEVICE_CUDA, 0, 0, &bench->context);
  if (status == DZO_OK)
    status = gpu_bench_context(bench, DZO_DEVICE_CPU, 0, 0, &bench->host);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  bench->unit = dzo_context_gpu(bench->context);
  bench->machine.threads = dzo_context_threads(bench->context);
  describe(bench);
  status = measure_rates(bench);
  if (status == DZO_OK)
    return CLI_DONE;
  cli_error("bench: %s", dzo_context_message(bench->context));
  return CLI_FAILED;
}

void gpu_bench_close(gpu_bench *bench) {
  dzo_context_destroy(bench->host);
  dzo_context_destroy(bench->context);
  bench->host = bench->context = NULL;
}

cli_exit gpu_bench_verdict(const gpu_bench *bench) {
  if (!bench->wrong)
    return CLI_DONE;
  cli_error("bench: an answer was wrong; please report this");
  return CLI_FAILED;
}

void gpu_bench_json_machine(cli_json *json, const gpu_bench *bench) {
  const gpu_machine *m = &bench->machine;
  cli_json_text(json, "benchmark", "msf");
  cli_json_text(json, "version", dzo_version());
  cli_json_text(json, "gpu", m->gpu);
  cli_json_text(json, "processor", m->processor);
  cli_json_integer(json, "threads", m->threads);
  cli_json_real(json, "gpu_read_rate", m->read_rate);
  cli_json_real(json, "gpu_random_rate_near", m->near_rate);
  cli_json_real(json, "gpu_random_rate_far", m->far_rate);
  if (m->bus_rate > 0)
    cli_json_real(json, "bus_rate", m->bus_rate);
  if (m->host_bandwidth > 0)
    cli_json_real(json, "read_bandwidth", m->host_bandwidth);
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static dzo_generator generator_of(const char *kind) {
  return strcmp(kind, "rmat") == 0      ? DZO_GENERATE_RMAT
         : strcmp(kind, "ssca2") == 0   ? DZO_GENERATE_SSCA2
         : strcmp(kind, "uniform") == 0 ? DZO_GENERATE_UNIFORM
                                        : DZO_GENERATE_GRID;
}

dzo_status gpu_bench_generate(const gpu_bench *bench, const char *kind, unsigned scale,
                              dzo_weight_type weights, dzo_gpu_edges *out) {
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = scale;
  options.seed = bench->settings->common.seed;
  options.weight_type = weights;
  return dzo_gpu_edges_generate(bench->unit, generator_of(kind), &options, out);
}

/* ---- Times ----------------------------------------------------------------------------------- */

uint64_t gpu_bench_repeats(const gpu_bench *bench, uint64_t otherwise) {
  return cli_given(bench->call, "repeats") ? bench->settings->repeats : otherwise;
}

static dzo_status time_once(dzo_unit *unit, gpu_solve_fn solve, const msf_gpu_graph *graph,
                            msf_gpu_forest *forest, double *seconds) {
  double milliseconds;
  DZO_TRY(dzo_unit_wait(unit, 0));
  DZO_TRY(dzo_unit_mark(unit, 0, FROM));
  DZO_TRY(solve(unit, graph, forest));
  DZO_TRY(dzo_unit_mark(unit, 0, TO));
  DZO_TRY(dzo_unit_wait_mark(unit, TO));
  DZO_TRY(dzo_unit_elapsed(unit, FROM, TO, &milliseconds));
  *seconds = milliseconds / 1e3;
  return DZO_OK;
}

dzo_status gpu_bench_time(gpu_bench *bench, gpu_solve_fn solve, const msf_gpu_graph *graph,
                          msf_gpu_forest *forest, uint64_t repeats, double *median, double *least) {
  double times[MAX_REPEATS], first;
  /* The first run takes the workspace. */
  DZO_TRY(time_once(bench->unit, solve, graph, forest, &first));
  for (uint64_t i = 0; i < repeats; i++) {
    DZO_TRY(time_once(bench->unit, solve, graph, forest, &times[i]));
    DZO_TRY(dzo_progress(bench->context, "solve", i + 1, repeats));
  }
  bench_summarize(times, repeats, median, least);
  return DZO_OK;
}

/* ---- Answers --------------------------------------------------------------------------------- */

typedef struct number_job {
  uint64_t *numbers; /* arcs at first */
  const uint32_t *of_arcs;
  uint64_t arcs;
  uint64_t wrong; /* accessed atomically */
} number_job;

static void number_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  number_job *job = argument;
  for (uint64_t i = begin; i < end; i++) {
    if (job->numbers[i] < job->arcs)
      job->numbers[i] = job->of_arcs[job->numbers[i]];
    else
      dzo_fetch_add_u64(&job->wrong, 1);
  }
}

dzo_status gpu_bench_number(gpu_bench *bench, uint64_t *arcs, uint64_t count,
                            const uint32_t *of_arcs, uint64_t arc_count, uint64_t bound) {
  dzo_context *context = bench->context;
  number_job job = {arcs, of_arcs, arc_count, 0};
  dzo_parallel_for(context->threads, count, GRAIN, number_range, &job);
  if (job.wrong > 0)
    return dzo_fail(context, DZO_E_INTERNAL, "an arc of the forest is no arc");
  uint64_t words = bound / 64 + 1, at = 0;
  uint64_t *marked = dzo_calloc(context, words, sizeof *marked);
  if (marked == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < count; i++)
    marked[arcs[i] / 64] |= UINT64_C(1) << arcs[i] % 64;
  for (uint64_t w = 0; w < words; w++)
    for (uint64_t bits = marked[w]; bits != 0; bits &= bits - 1)
      arcs[at++] = 64 * w + (uint64_t)__builtin_ctzll(bits);
  dzo_free(marked);
  return at == count ? DZO_OK : dzo_fail(context, DZO_E_INTERNAL, "an edge is twice in the forest");
}

dzo_status gpu_bench_numbers(gpu_bench *bench, const dzo_gpu_csr *csr, const msf_gpu_forest *forest,
                             uint64_t **numbers) {
  dzo_unit *unit = bench->unit;
  uint64_t count = forest->count;
  uint64_t *arcs = dzo_alloc(bench->context, count, sizeof *arcs);
  uint32_t *of_arcs = dzo_alloc(bench->context, csr->arcs, sizeof *of_arcs);
  dzo_status status = arcs == NULL || of_arcs == NULL ? DZO_E_MEMORY : DZO_OK;
  if (status == DZO_OK)
    status = dzo_unit_fetch(unit, arcs, forest->arcs, count * sizeof *arcs);
  if (status == DZO_OK)
    status = dzo_unit_fetch(unit, of_arcs, csr->numbers32, csr->arcs * sizeof *of_arcs);
  if (status == DZO_OK)
    status = gpu_bench_number(bench, arcs, count, of_arcs, csr->arcs, csr->number_bound);
  dzo_free(of_arcs);
  if (status != DZO_OK) {
    dzo_free(arcs);
    arcs = NULL;
  }
  *numbers = arcs;
  return status;
}

bool gpu_bench_same(const dzo_msf *msf, const uint64_t *numbers, uint64_t count) {
  return dzo_msf_count(msf) == count &&
         (count == 0 || memcmp(dzo_msf_edges(msf), numbers, count * sizeof *numbers) == 0);
}
