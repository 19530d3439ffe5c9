/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench knapsack: its rows as text, as JSON and as a plot. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "cli/bench_knapsack.h"
#include "io/decimal.h"

/* The columns that a part shows on this machine. */
static uint32_t columns_of(const knapsack_bench *bench, const knapsack_part *part) {
  return part->columns & knapsack_bench_columns(bench);
}

static double ratio_of(const knapsack_row *row, const knapsack_ratio *ratio) {
  const knapsack_entry *slow = &row->by[ratio->slow], *fast = &row->by[ratio->fast];
  return slow->end == KNAPSACK_RAN && fast->end == KNAPSACK_RAN && fast->median > 0
             ? slow->median / fast->median
             : 0;
}

static bool is_shown(uint32_t columns, const knapsack_ratio *ratio) {
  return ratio->name != NULL && (columns >> ratio->slow & 1) && (columns >> ratio->fast & 1);
}

void knapsack_print_header(FILE *out, const knapsack_bench *bench) {
  (void)fprintf(out, "%s, %d threads%s%s\n", bench->processor, bench->threads,
                bench->gpu != NULL ? "; " : "", bench->gpu != NULL ? bench->gpu_name : "");
}

void knapsack_print_part(FILE *out, const knapsack_bench *bench) {
  const knapsack_part *part = bench->part;
  uint32_t columns = columns_of(bench, part);
  bool batch = strcmp(part->name, "batch") == 0;
  (void)fprintf(out, "\n%s; %s\n%-28s %6s %8s", part->title,
                batch ? "instances a second" : "milliseconds", "instance", "items", "range");
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (columns >> who & 1)
      (void)fprintf(out, " %10s", knapsack_contestants[who].name);
  for (int i = 0; i < 3; i++)
    if (is_shown(columns, &part->ratios[i]))
      (void)fprintf(out, " %9s", part->ratios[i].name);
  (void)fputc('\n', out);
}

static void print_entry(FILE *out, const knapsack_entry *entry, uint64_t instances) {
  double limit = entry->limit, ms = entry->median * 1e3;
  if (entry->end == KNAPSACK_GAVE_UP)
    (void)fprintf(out, " %*s%.3g s", limit < 10 ? 7 : limit < 100 ? 6 : 5, ">", limit);
  else if (entry->end != KNAPSACK_RAN)
    (void)fprintf(out, " %10s", "-");
  else if (instances > 1)
    (void)fprintf(out, " %10.0f", entry->median > 0 ? (double)instances / entry->median : 0);
  else
    (void)fprintf(out, " %10.*f", ms < 1 ? 4 : ms < 100 ? 2 : 0, ms);
}

void knapsack_print_row(FILE *out, const knapsack_bench *bench, const knapsack_row *row) {
  const knapsack_part *part = bench->part;
  uint32_t columns = columns_of(bench, part);
  (void)fprintf(out, "%-28s %6llu", row->name, (unsigned long long)row->items);
  (void)(row->range > 0 ? fprintf(out, " %8.3g", (double)row->range) : fprintf(out, " %8s", "-"));
  if (!row->verified) {
    (void)fprintf(out, " not verified: %s\n", row->reason);
    return;
  }
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (columns >> who & 1)
      print_entry(out, &row->by[who], row->instances);
  for (int i = 0; i < 3; i++) {
    double ratio = is_shown(columns, &part->ratios[i]) ? ratio_of(row, &part->ratios[i]) : 0;
    if (ratio > 0)
      (void)fprintf(out, " %8.*fx", ratio < 100 ? 2 : 0, ratio);
    else if (is_shown(columns, &part->ratios[i]))
      (void)fprintf(out, " %9s", "-");
  }
  (void)fputc('\n', out);
}

/* How many times faster, over all rows of a part in which both ran. */
static void print_mean(FILE *out, const knapsack_bench *bench, const char *part,
                       const knapsack_ratio *ratio, const char *text) {
  double logs = 0;
  int count = 0;
  for (size_t i = 0; i < bench->count; i++) {
    double r = strcmp(bench->rows[i].part, part) == 0 ? ratio_of(&bench->rows[i], ratio) : 0;
    if (r > 0) {
      logs += log(r);
      count++;
    }
  }
  if (count > 0)
    (void)fprintf(out, "%s: %.2f in the geometric mean of %d rows.\n", text, exp(logs / count),
                  count);
}

void knapsack_print_notes(FILE *out, const knapsack_bench *bench) {
  static const knapsack_ratio textbook = {"", KNAPSACK_BY_TEXTBOOK, KNAPSACK_BY_AUTO};
  (void)fputs(
      "\nMedians. Every set was added up again, and all methods of a row found the same "
      "value. -: the method does not take such instances, or took too long for fewer items.\n",
      out);
  print_mean(out, bench, "classes", &textbook, "textbook / auto");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_times(cli_json *json, const knapsack_row *row, const char *key, bool least) {
  cli_json_open_object(json, key);
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (row->by[who].end == KNAPSACK_RAN)
      cli_json_real(json, knapsack_contestants[who].name,
                    least ? row->by[who].least : row->by[who].median);
  cli_json_close_object(json);
}

static void json_names(cli_json *json, const knapsack_row *row, const char *key, knapsack_end end) {
  cli_json_open_array(json, key);
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (row->by[who].end == end)
      cli_json_text(json, NULL, knapsack_contestants[who].name);
  cli_json_close_array(json);
}

static void json_row(cli_json *json, const knapsack_row *row) {
  char value[DZO_DECIMAL_TEXT];
  cli_json_open_object(json, NULL);
  cli_json_text(json, "part", row->part);
  cli_json_text(json, "name", row->name);
  cli_json_count(json, "items", row->items);
  cli_json_count(json, "instances", row->instances);
  if (row->range > 0)
    cli_json_integer(json, "range", row->range);
  if (row->instances == 1)
    cli_json_integer(json, "capacity", row->capacity);
  cli_json_flag(json, "verified", row->verified);
  if (!row->verified) {
    cli_json_text(json, "reason", row->reason);
    cli_json_close_object(json);
    return;
  }
  if (row->known) {
    *dzo_put_decimal(value, row->value, 0) = '\0';
    cli_json_number(json, "value", value);
  }
  cli_json_integer(json, "agree", row->agree);
  json_times(json, row, "seconds", false);
  json_times(json, row, "seconds_min", true);
  json_names(json, row, "gave_up", KNAPSACK_GAVE_UP);
  json_names(json, row, "refused", KNAPSACK_REFUSED);
  cli_json_close_object(json);
}

void knapsack_print_json(FILE *out, const knapsack_bench *bench) {
  cli_json json;
  cli_json_init(&json, out, true);
  cli_json_open_object(&json, NULL);
  cli_json_text(&json, "benchmark", "knapsack");
  cli_json_text(&json, "version", dzo_version());
  if (bench->gpu != NULL)
    cli_json_text(&json, "gpu", bench->gpu_name);
  cli_json_text(&json, "processor", bench->processor);
  cli_json_integer(&json, "threads", bench->threads);
  cli_json_real(&json, "time_limit", knapsack_bench_limit(bench));
  cli_json_count(&json, "repeats", bench->settings->repeats);
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < bench->count; i++)
    json_row(&json, &bench->rows[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

/* ---- Plot ------------------------------------------------------------------------------------ */

/* The methods of which some time against the number of items is known. */
static uint32_t drawn(const knapsack_bench *bench) {
  uint32_t columns = 0;
  for (size_t i = 0; i < bench->count; i++)
    for (int who = 0; who < KNAPSACK_WHO; who++)
      if (strcmp(bench->rows[i].part, "growth") == 0 && bench->rows[i].verified &&
          bench->rows[i].by[who].end == KNAPSACK_RAN)
        columns |= UINT32_C(1) << who;
  return columns;
}

static cli_exit write_data(const knapsack_bench *bench, const char *folder, uint32_t columns) {
  char path[BENCH_PATH];
  FILE *file = bench_plot_open(folder, "knapsack.dat", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("# items, milliseconds:", file);
  for (int who = 0; who < KNAPSACK_WHO; who++)
    if (columns >> who & 1)
      (void)fprintf(file, " %s", knapsack_contestants[who].name);
  (void)fputc('\n', file);
  for (size_t i = 0; i < bench->count; i++) {
    const knapsack_row *row = &bench->rows[i];
    if (strcmp(row->part, "growth") != 0 || !row->verified)
      continue;
    (void)fprintf(file, "%llu", (unsigned long long)row->items);
    for (int who = 0; who < KNAPSACK_WHO; who++)
      if ((columns >> who & 1) && row->by[who].end == KNAPSACK_RAN)
        (void)fprintf(file, " %.6f", row->by[who].median * 1e3);
      else if (columns >> who & 1)
        (void)fputs(" NaN", file);
    (void)fputc('\n', file);
  }
  return bench_plot_close(file, path);
}

static void write_picture(FILE *file, const char *folder, uint32_t columns, const char *terminal,
                          const char *picture) {
  (void)fprintf(file, "set terminal %s\nset output ", terminal);
  bench_plot_quote(file, folder, picture);
  (void)fputs("\nplot ", file);
  int column = 2;
  for (int who = 0; who < KNAPSACK_WHO; who++) {
    if (!(columns >> who & 1))
      continue;
    (void)fputs(column > 2 ? ", " : "", file);
    bench_plot_quote(file, folder, "knapsack.dat");
    (void)fprintf(file, " using 1:%d with linespoints title \"%s\"", column++,
                  knapsack_contestants[who].name);
  }
  (void)fputc('\n', file);
}

static cli_exit write_script(const knapsack_bench *bench, const char *folder, uint32_t columns,
                             char path[BENCH_PATH]) {
  FILE *file = bench_plot_open(folder, "knapsack.gp", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fprintf(file,
                "# %s, %d threads%s%s\nset title \"Finkelstein's instances\"\nset xlabel "
                "\"items\"\nset ylabel \"milliseconds\"\nset logscale y\nset grid\nset key top "
                "left\nset datafile missing \"NaN\"\n",
                bench->processor, bench->threads, bench->gpu != NULL ? "; " : "",
                bench->gpu != NULL ? bench->gpu_name : "");
  write_picture(file, folder, columns, "pngcairo size 800,520", "knapsack.png");
  write_picture(file, folder, columns, "svg size 800,520", "knapsack.svg");
  return bench_plot_close(file, path);
}

cli_exit knapsack_plot(knapsack_bench *bench, const char *folder) {
  char script[BENCH_PATH];
  uint32_t columns = drawn(bench);
  if (columns == 0) {
    cli_note(bench->call, "only the part `growth` is drawn, which was not run");
    return CLI_DONE;
  }
  cli_exit result = bench_plot_folder(folder);
  if (result == CLI_DONE)
    result = write_data(bench, folder, columns);
  if (result == CLI_DONE)
    result = write_script(bench, folder, columns, script);
  if (result == CLI_DONE)
    bench_plot_draw(bench->call, script, "knapsack.png and .svg");
  return result;
}
