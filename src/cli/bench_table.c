/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "cli/bench_table.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "bench/read_bandwidth.h"

#define WORKSPACE_KEPT (UINT64_C(1) << 30)

typedef struct table_part {
  const char *name;
  dzo_status (*run)(table_bench *bench);
} table_part;

/* As the choices of --part have them. */
static const table_part parts[] = {
    {"operations", table_bench_operations}, {"mixed", table_bench_mixed},
    {"growth", table_bench_growth},         {"sweep", table_bench_sweep},
    {"aggregate", table_bench_aggregate},   {"transfer", table_bench_transfer},
};

/* ---- What the parts share -------------------------------------------------------------------- */

uint64_t table_bench_keys(const table_bench *bench, int bits) {
  const bench_settings *settings = bench->settings;
  unsigned scale = settings->quick ? 18 : bench->unit == NULL ? 24 : bits == 32 ? 26 : 24;
  return settings->count != 0 ? settings->count : UINT64_C(1) << scale;
}

uint64_t table_bench_repeats(const table_bench *bench) { return bench->settings->repeats; }

void table_row_doubt(table_row *row, table_series series, const char *what) {
  if (row->verified)
    (void)snprintf(row->reason, sizeof row->reason, "%s: %s", table_series_names[series], what);
  row->verified = false;
}

void table_bench_add(table_bench *bench, const table_row *row) {
  if (bench->count == TABLE_ROWS)
    return;
  bench->rows[bench->count++] = *row;
  bench->wrong = bench->wrong || !row->verified;
  cli_progress_clear(&bench->call->progress);
  if (!bench->call->common->json)
    table_print_row(stdout, row);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static cli_exit open_gpu(table_bench *bench) {
  cli_exit result = gpu_bench_open(bench->call, &bench->gpu);
  if (result != CLI_DONE)
    return result;
  bench->context = bench->gpu.context;
  bench->unit = bench->gpu.unit;
  bench->read_rate = bench->gpu.machine.read_rate;
  return CLI_DONE;
}

static cli_exit open_bench(table_bench *bench, bool gpu) {
  dzo_device_info device;
  int count;
  const char *reason;
  dzo_devices(&device, 1, &count, &reason);
  (void)snprintf(bench->processor, sizeof bench->processor, "%s", device.name);
  bench->context = bench->call->context;
  bench->threads = dzo_context_threads(bench->context);
  if (gpu)
    return open_gpu(bench);
  /* Of batch after batch, only the first pays for fresh memory. */
  bench->context->keep = WORKSPACE_KEPT;
  dzo_status status = read_bandwidth(bench->context, &bench->read_rate);
  return status == DZO_OK ? CLI_DONE : cli_fail(bench->call, status, CLI_FAILED);
}

static cli_exit run_parts(table_bench *bench) {
  const char *chosen = bench->settings->part;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(chosen, "all") != 0 && strcmp(chosen, parts[i].name) != 0)
      continue;
    dzo_status status = parts[i].run(bench);
    if (status != DZO_OK) {
      cli_progress_clear(&bench->call->progress);
      cli_error("bench: %s: %s", parts[i].name, dzo_context_message(bench->context));
      return CLI_FAILED;
    }
    cli_exit result = bench->call->common->json ? CLI_DONE : cli_flush(bench->call);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

static cli_exit tell(table_bench *bench) {
  cli_progress_clear(&bench->call->progress);
  if (bench->call->common->json)
    table_print_json(stdout, bench);
  else if (!bench->wrong)
    table_print_notes(stdout, bench);
  cli_exit result = cli_flush(bench->call);
  if (result == CLI_DONE && bench->settings->plot != NULL)
    result = table_plot(bench, bench->settings->plot);
  if (result != CLI_DONE || !bench->wrong)
    return result;
  cli_error("bench: an answer was wrong; please report this");
  return CLI_FAILED;
}

cli_exit bench_table_run(cli_call *call, bool gpu) {
  table_bench *bench = dzo_calloc(call->context, 1, sizeof *bench);
  if (bench == NULL)
    return cli_fail(call, DZO_E_MEMORY, CLI_FAILED);
  bench->call = call;
  bench->settings = call->settings;
  cli_exit result = open_bench(bench, gpu);
  if (result == CLI_DONE && !call->common->json)
    table_print_header(stdout, bench);
  if (result == CLI_DONE)
    result = run_parts(bench);
  if (result == CLI_DONE)
    result = tell(bench);
  gpu_bench_close(&bench->gpu);
  dzo_free(bench);
  return result;
}
