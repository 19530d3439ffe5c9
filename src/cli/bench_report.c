/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What dzo bench tells: a table for people, a line of JSON, a plot. */
#include "cli/bench.h"
#include "cli/json.h"

double bench_floor(const bench_machine *machine, const bench_row *row) {
  return (double)row->pass_bytes / machine->read_bandwidth;
}

double bench_ratio(const bench_row *row) { return row->yardstick_median / row->median; }

double bench_mteps(const bench_row *row) { return (double)row->edges / row->median / 1e6; }

double bench_memory_ratio(const bench_row *row) {
  return (double)row->peak_bytes / (double)row->graph_bytes;
}

void bench_name(const bench_case *which, char text[64]) {
  (void)snprintf(text, 64, "%s.%u%s", which->kind, which->scale, which->sorted ? " sorted" : "");
}

/* ---- Table ---- */

void bench_print_header(FILE *out, const bench_machine *machine) {
  (void)fprintf(out, "%s, %d thread%s, reads %.1f GB/s; yardstick: %s\n\n", machine->processor,
                machine->threads, machine->threads == 1 ? "" : "s", machine->read_bandwidth / 1e9,
                machine->yardstick);
  (void)fprintf(out, "%-15s %10s %11s %9s %9s %10s %6s %8s %7s %8s %7s\n", "graph", "vertices",
                "edges", "ms", "(min)", "yardstick", "ratio", "floor ms", "x floor", "MTEPS",
                "memory");
}

void bench_print_row(FILE *out, const bench_machine *machine, const bench_row *row) {
  char name[64];
  bench_name(&row->of, name);
  (void)fprintf(out, "%-15s %10llu %11llu ", name, (unsigned long long)row->vertices,
                (unsigned long long)row->edges);
  if (!row->verified) {
    (void)fprintf(out, "not verified: %s\n", row->reason);
    return;
  }
  double floor = bench_floor(machine, row);
  char least[32];
  (void)snprintf(least, sizeof least, "(%.1f)", row->least * 1e3);
  (void)fprintf(out, "%9.1f %9s ", row->median * 1e3, least);
  if (row->yardstick_median > 0)
    (void)fprintf(out, "%10.1f %6.2f ", row->yardstick_median * 1e3, bench_ratio(row));
  else
    (void)fprintf(out, "%10s %6s ", "-", "-");
  (void)fprintf(out, "%8.1f %7.1f %8.1f %6.2fx\n", floor * 1e3, row->median / floor,
                bench_mteps(row), bench_memory_ratio(row));
}

void bench_print_notes(FILE *out) {
  (void)fputs(
      "\nms: the median from rows in memory to the forest. yardstick: sequential filter-Kruskal, "
      "ms. ratio: yardstick / ms.\nfloor: one pass over offsets, neighbours and weights at the "
      "bandwidth above. MTEPS: millions of undirected edges\na second; the GraphHPC-2015 contest "
      "counted arcs, twice as many. memory: the most during a solve, in graphs.\nEvery row was "
      "verified, and has the weight that the yardstick, where it ran, found.\n",
      out);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void json_row(cli_json *json, const bench_machine *machine, const bench_row *row) {
  cli_json_open_object(json, NULL);
  cli_json_text(json, "graph", row->of.kind);
  cli_json_count(json, "scale", row->of.scale);
  cli_json_text(json, "rows", row->of.sorted ? "by weight" : "by neighbour");
  cli_json_count(json, "vertices", row->vertices);
  cli_json_count(json, "edges", row->edges);
  cli_json_flag(json, "verified", row->verified);
  if (!row->verified) {
    cli_json_text(json, "reason", row->reason);
    cli_json_close_object(json);
    return;
  }
  cli_json_count(json, "forest_edges", row->forest_edges);
  cli_json_count(json, "components", row->components);
  cli_json_sum(json, "weight", row->weight);
  cli_json_text(json, "plan", row->plan);
  cli_json_open_object(json, "seconds");
  cli_json_seconds(json, "generate", row->generate);
  cli_json_seconds(json, "build", row->build);
  cli_json_seconds(json, "sort", row->sort);
  cli_json_seconds(json, "solve", row->median);
  cli_json_seconds(json, "solve_min", row->least);
  cli_json_seconds(json, "solve_first", row->first);
  if (row->yardstick_median > 0) {
    cli_json_seconds(json, "yardstick", row->yardstick_median);
    cli_json_seconds(json, "yardstick_min", row->yardstick_least);
  }
  cli_json_seconds(json, "floor", bench_floor(machine, row));
  cli_json_seconds(json, "verify", row->verify);
  cli_json_close_object(json);
  if (row->yardstick_median > 0)
    cli_json_real(json, "ratio", bench_ratio(row));
  cli_json_real(json, "mteps", bench_mteps(row));
  cli_json_count(json, "graph_bytes", row->graph_bytes);
  cli_json_count(json, "peak_bytes", row->peak_bytes);
  cli_json_close_object(json);
}

void bench_print_json(FILE *out, const bench_machine *machine, const bench_row *rows,
                      size_t count) {
  cli_json json;
  cli_json_init(&json, out, true);
  cli_json_open_object(&json, NULL);
  cli_json_text(&json, "benchmark", "msf");
  cli_json_text(&json, "version", dzo_version());
  cli_json_text(&json, "processor", machine->processor);
  cli_json_integer(&json, "threads", machine->threads);
  cli_json_real(&json, "read_bandwidth", machine->read_bandwidth);
  cli_json_text(&json, "yardstick", machine->yardstick);
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < count; i++)
    json_row(&json, machine, &rows[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

/* ---- Plot ---- */

static cli_exit write_data(const char *folder, const bench_machine *machine, const bench_row *rows,
                           size_t count) {
  char path[BENCH_PATH];
  FILE *file = bench_plot_open(folder, "msf.dat", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("# graph, and MTEPS of dzo, of the yardstick, and of the floor\n", file);
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].verified)
      continue;
    char name[64];
    bench_name(&rows[i].of, name);
    double edges = (double)rows[i].edges / 1e6;
    double yardstick = rows[i].yardstick_median > 0 ? edges / rows[i].yardstick_median : 0;
    (void)fprintf(file, "\"%s\" %.3f %.3f %.3f\n", name, bench_mteps(&rows[i]), yardstick,
                  edges / bench_floor(machine, &rows[i]));
  }
  return bench_plot_close(file, path);
}

static cli_exit write_script(const char *folder, const bench_machine *machine,
                             char path[BENCH_PATH]) {
  FILE *file = bench_plot_open(folder, "msf.gp", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("set terminal pngcairo size 1100,600\nset output ", file);
  bench_plot_quote(file, folder, "msf.png");
  (void)fprintf(
      file,
      "\nset title \"Minimum spanning forest, %d thread%s\" noenhanced\n"
      "set ylabel \"million undirected edges a second\"\nset logscale y\nset yrange [1:*]\n"
      "set style data histogram\nset style fill solid 0.8\nset grid ytics\n"
      "set xtics rotate by -30 noenhanced\nset key top left\nplot ",
      machine->threads, machine->threads == 1 ? "" : "s");
  bench_plot_quote(file, folder, "msf.dat");
  (void)fputs(" using 2:xtic(1) title \"dzo\", '' using 3 title \"sequential filter-Kruskal\", "
              "'' using 4 title \"one pass over the graph\"\n",
              file);
  return bench_plot_close(file, path);
}

cli_exit bench_plot(cli_call *call, const char *folder, const bench_machine *machine,
                    const bench_row *rows, size_t count) {
  char script[BENCH_PATH];
  cli_exit result = bench_plot_folder(folder);
  if (result == CLI_DONE)
    result = write_data(folder, machine, rows, count);
  if (result == CLI_DONE)
    result = write_script(folder, machine, script);
  if (result == CLI_DONE)
    bench_plot_draw(call, script, "msf.png");
  return result;
}
