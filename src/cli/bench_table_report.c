/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: its rows as text, as JSON and as a plot. */
#include <string.h>

#include "base/context.h"
#include "cli/bench_table.h"

static double rate(const table_row *row, table_series series) {
  return row->median[series] > 0 ? (double)row->queries / row->median[series] : 0;
}

static void print_rate(FILE *out, double a_second) {
  if (a_second > 0)
    (void)fprintf(out, " %8.0f", a_second / 1e6);
  else
    (void)fprintf(out, " %8s", "-");
}

void table_print_header(FILE *out, const table_bench *bench) {
  if (bench->unit == NULL)
    (void)fprintf(out, "%s, %d threads, read %.1f GB/s\n", bench->processor, bench->threads,
                  bench->read_rate / 1e9);
  else
    (void)fprintf(out,
                  "%s, reads %.0f GB/s in order, %.1f and %.1f G words/s anywhere (in its "
                  "cache, beyond)\n",
                  bench->gpu.machine.gpu, bench->read_rate / 1e9,
                  bench->gpu.machine.near_rate / 1e9, bench->gpu.machine.far_rate / 1e9);
  (void)fprintf(out,
                "millions of queries a second\n\n%-11s %-14s %-13s %4s %10s %6s %8s %8s %8s "
                "%6s %8s\n",
                "part", "operation", "keys", "bits", "count", "load", "ordered", "any", "seed",
                "ratio", "goal");
}

void table_print_row(FILE *out, const table_row *row) {
  (void)fprintf(out, "%-11s %-14s %-13s %4d %10llu", row->part, row->operation, row->data,
                row->bits, (unsigned long long)row->keys);
  (void)(row->load > 0 || strcmp(row->part, "sweep") == 0 ? fprintf(out, " %6.3f", row->load)
                                                          : fprintf(out, " %6s", "-"));
  if (!row->verified) {
    (void)fprintf(out, " not verified: %s\n", row->reason);
    return;
  }
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++)
    print_rate(out, rate(row, series));
  if (rate(row, TABLE_SEED) > 0 && rate(row, TABLE_ORDERED) > 0)
    (void)fprintf(out, " %6.2f", rate(row, TABLE_ORDERED) / rate(row, TABLE_SEED));
  else
    (void)fprintf(out, " %6s", "-");
  print_rate(out, row->goal);
  (void)fputc('\n', out);
}

void table_print_notes(FILE *out, const table_bench *bench) {
  (void)fprintf(out,
                "\nordered: queries act by position; any: in any order (DZO_TABLE_ANY). seed: %s "
                "ratio: ordered / seed.\nload: of the full table; of sweep and growth, when the "
                "step begins. Medians; every row was verified.\n",
                bench->unit == NULL ? "linear probing with a compare-and-swap a slot, as the "
                                      "published GPU table has it, in C on the same threads."
                                    : "the published GPU table, whose erased slots are never "
                                      "free again.");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_row(cli_json *json, const table_row *row) {
  cli_json_open_object(json, NULL);
  cli_json_text(json, "part", row->part);
  cli_json_text(json, "operation", row->operation);
  cli_json_text(json, "data", row->data);
  cli_json_integer(json, "bits", row->bits);
  cli_json_count(json, "keys", row->keys);
  cli_json_real(json, "load", row->load);
  cli_json_count(json, "queries", row->queries);
  cli_json_flag(json, "verified", row->verified);
  if (!row->verified) {
    cli_json_text(json, "reason", row->reason);
    cli_json_close_object(json);
    return;
  }
  cli_json_open_object(json, "seconds");
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++)
    if (row->median[series] > 0)
      cli_json_seconds(json, table_series_names[series], row->median[series]);
  cli_json_close_object(json);
  cli_json_open_object(json, "seconds_min");
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++)
    if (row->median[series] > 0)
      cli_json_seconds(json, table_series_names[series], row->least[series]);
  cli_json_close_object(json);
  cli_json_open_object(json, "rate");
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++)
    if (row->median[series] > 0)
      cli_json_real(json, table_series_names[series], rate(row, series));
  if (row->goal > 0)
    cli_json_real(json, "goal", row->goal);
  cli_json_close_object(json);
  cli_json_close_object(json);
}

void table_print_json(FILE *out, const table_bench *bench) {
  cli_json json;
  cli_json_init(&json, out, true);
  cli_json_open_object(&json, NULL);
  cli_json_text(&json, "benchmark", "table");
  cli_json_text(&json, "version", dzo_version());
  if (bench->unit != NULL)
    cli_json_text(&json, "gpu", bench->gpu.machine.gpu);
  cli_json_text(&json, "processor", bench->processor);
  cli_json_integer(&json, "threads", bench->threads);
  cli_json_text(&json, "device", bench->unit != NULL ? "cuda" : "cpu");
  cli_json_real(&json, "read_rate", bench->read_rate);
  if (bench->unit != NULL) {
    cli_json_real(&json, "gpu_random_rate_near", bench->gpu.machine.near_rate);
    cli_json_real(&json, "gpu_random_rate_far", bench->gpu.machine.far_rate);
  }
  cli_json_count(&json, "repeats", table_bench_repeats(bench));
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < bench->count; i++)
    json_row(&json, &bench->rows[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

/* ---- Plot ------------------------------------------------------------------------------------ */

static cli_exit write_data(const table_bench *bench, const char *folder) {
  char path[BENCH_PATH];
  FILE *file = bench_plot_open(folder, "table.dat", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("# load, and million inserts a second: ordered, any, seed; NaN: not run\n", file);
  for (size_t i = 0; i < bench->count; i++) {
    const table_row *row = &bench->rows[i];
    if (strcmp(row->part, "sweep") != 0 || !row->verified)
      continue;
    (void)fprintf(file, "%.5f", row->load);
    for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++) {
      if (rate(row, series) > 0)
        (void)fprintf(file, " %.3f", rate(row, series) / 1e6);
      else
        (void)fputs(" NaN", file);
    }
    (void)fputc('\n', file);
  }
  return bench_plot_close(file, path);
}

static void write_picture(FILE *file, const char *folder, const char *terminal,
                          const char *picture) {
  static const char *const titles[TABLE_SERIES] = {"dzo, by position", "dzo, any order",
                                                   "the published table"};
  (void)fprintf(file, "set terminal %s\nset output ", terminal);
  bench_plot_quote(file, folder, picture);
  (void)fputs("\nplot ", file);
  for (table_series series = TABLE_ORDERED; series < TABLE_SERIES; series++) {
    (void)fputs(series > 0 ? ", " : "", file);
    bench_plot_quote(file, folder, "table.dat");
    (void)fprintf(file, " using 1:%d with linespoints title \"%s\"", (int)series + 2,
                  titles[series]);
  }
  (void)fputc('\n', file);
}

static cli_exit write_script(const table_bench *bench, const char *folder, char path[BENCH_PATH]) {
  FILE *file = bench_plot_open(folder, "table.gp", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fprintf(file,
                "# %s, %d threads\nset title \"Filling a table, step by step\"\n"
                "set xlabel \"load when the step begins\"\nset ylabel \"million inserts a "
                "second\"\nset logscale y\nset grid\nset key bottom left\n"
                "set datafile missing \"NaN\"\n",
                bench->unit != NULL ? bench->gpu.machine.gpu : bench->processor, bench->threads);
  write_picture(file, folder, "pngcairo size 800,520", "table.png");
  write_picture(file, folder, "svg size 800,520", "table.svg");
  return bench_plot_close(file, path);
}

cli_exit table_plot(table_bench *bench, const char *folder) {
  char script[BENCH_PATH];
  cli_exit result = bench_plot_folder(folder);
  if (result == CLI_DONE)
    result = write_data(bench, folder);
  if (result == CLI_DONE)
    result = write_script(bench, folder, script);
  if (result == CLI_DONE)
    bench_plot_draw(bench->call, script, "table.png and .svg");
  return result;
}
