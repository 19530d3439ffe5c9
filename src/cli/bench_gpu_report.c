/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What dzo bench tells about graphs in GPU memory. */
#include "cli/bench_gpu.h"

enum { MAX_ROWS = 64 };

static const char *form_name(gpu_form form) {
  static const char *const names[] = {"", " sorted", " renumbered", " compressed"};
  return names[form];
}

void gpu_row_name(const gpu_case *which, char text[64]) {
  (void)snprintf(text, 64, "%s.%u%s%s", which->kind, which->scale,
                 which->weights == DZO_WEIGHT_F64 ? " f64" : "", form_name(which->form));
}

/* ---- Table ----------------------------------------------------------------------------------- */

void gpu_print_header(FILE *out, const gpu_machine *m) {
  (void)fprintf(
      out,
      "%s, reads %.0f GB/s in order, %.1f and %.1f G words/s anywhere (in its cache, beyond)\n\n",
      m->gpu, m->read_rate / 1e9, m->near_rate / 1e9, m->far_rate / 1e9);
  (void)fprintf(out, "%-19s %10s %11s %9s %10s %7s %8s %7s %8s %6s %6s %8s %9s %6s\n", "graph",
                "vertices", "edges", "ms", "(min)", "goal", "floor ms", "x floor", "MTEPS", "B/v",
                "B/arc", "call ms", "seed ms", "ratio");
}

static void print_optional(FILE *out, int width, double value, double scale) {
  if (value > 0)
    (void)fprintf(out, " %*.*f", width, 2, value * scale);
  else
    (void)fprintf(out, " %*s", width, "-");
}

void gpu_print_row(FILE *out, const gpu_row *row) {
  char name[64], least[32];
  gpu_row_name(&row->of, name);
  (void)fprintf(out, "%-19s %10llu %11llu ", name, (unsigned long long)row->vertices,
                (unsigned long long)row->edges);
  if (!row->verified) {
    (void)fprintf(out, "not verified: %s\n", row->reason);
    return;
  }
  (void)snprintf(least, sizeof least, "(%.3f)", row->least * 1e3);
  (void)fprintf(out, "%9.3f %10s", row->median * 1e3, least);
  print_optional(out, 7, row->of.goal, 1);
  (void)fprintf(out, " %8.3f %7.1f %8.0f %6.1f %6.2f", row->floor * 1e3, row->median / row->floor,
                (double)row->edges / row->median / 1e6,
                (double)row->workspace_bytes / (double)row->vertices,
                (double)row->neighbour_bytes / (double)row->arcs);
  print_optional(out, 8, row->call_median, 1e3);
  print_optional(out, 9, row->seed_median, 1e3);
  print_optional(out, 6, row->seed_median / row->median, 1);
  (void)fputc('\n', out);
}

void gpu_print_notes(FILE *out) {
  (void)fputs(
      "\nms: the median from rows in GPU memory to the list of the forest's arcs there, on the "
      "GPU's clock.\nfloor: one pass over offsets, neighbours and weights at the rate above. "
      "MTEPS: "
      "millions of undirected edges a second.\nB/v: workspace, bytes a vertex. B/arc: memory of "
      "the "
      "neighbours. call: dzo_msf_run() of a graph that has its copy\non the GPU, the result on the "
      "host. seed: the method of the GraphHPC-2015 entry that dzo comes from, on the same\nrows; "
      "ratio: seed / ms. Every row was verified.\n",
      out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_seconds(cli_json *json, const gpu_row *row) {
  cli_json_open_object(json, "seconds");
  cli_json_seconds(json, "generate", row->generate);
  cli_json_seconds(json, "solve", row->median);
  cli_json_seconds(json, "solve_min", row->least);
  cli_json_seconds(json, "floor", row->floor);
  cli_json_seconds(json, "verify", row->verify);
  if (row->of.goal > 0)
    cli_json_seconds(json, "goal", row->of.goal / 1e3);
  if (row->call_median > 0) {
    cli_json_seconds(json, "call", row->call_median);
    cli_json_seconds(json, "call_min", row->call_least);
  }
  if (row->seed_median > 0) {
    cli_json_seconds(json, "seed", row->seed_median);
    cli_json_seconds(json, "seed_min", row->seed_least);
  }
  cli_json_close_object(json);
}

void gpu_json_row(cli_json *json, const gpu_row *row) {
  gpu_form form = row->of.form;
  cli_json_open_object(json, NULL);
  cli_json_text(json, "graph", row->of.kind);
  cli_json_count(json, "scale", row->of.scale);
  cli_json_text(json, "weights", dzo_weight_type_name(row->of.weights));
  cli_json_text(json, "rows", form == GPU_BY_WEIGHT ? "by weight" : "by neighbour");
  cli_json_flag(json, "renumbered", form == GPU_RENUMBERED || form == GPU_COMPRESSED);
  cli_json_flag(json, "compressed", form == GPU_COMPRESSED);
  cli_json_count(json, "vertices", row->vertices);
  cli_json_count(json, "edges", row->edges);
  cli_json_count(json, "arcs", row->arcs);
  cli_json_count(json, "graph_bytes", row->graph_bytes);
  cli_json_count(json, "neighbour_bytes", row->neighbour_bytes);
  cli_json_flag(json, "verified", row->verified);
  if (!row->verified) {
    cli_json_text(json, "reason", row->reason);
    cli_json_close_object(json);
    return;
  }
  cli_json_text(json, "verifier", row->on_host ? "cpu and gpu" : "gpu");
  cli_json_count(json, "forest_edges", row->forest_edges);
  cli_json_count(json, "components", row->components);
  cli_json_text(json, "plan", row->plan);
  cli_json_text(json, "steps", row->steps);
  if (row->call_plan[0] != '\0')
    cli_json_text(json, "call_plan", row->call_plan);
  json_seconds(json, row);
  cli_json_real(json, "x_floor", row->median / row->floor);
  if (row->seed_median > 0)
    cli_json_real(json, "seed_ratio", row->seed_median / row->median);
  cli_json_real(json, "mteps", (double)row->edges / row->median / 1e6);
  cli_json_count(json, "workspace_bytes", row->workspace_bytes);
  cli_json_close_object(json);
}

/* ---- Plot ------------------------------------------------------------------------------------ */

static cli_exit write_data(const char *folder, const gpu_row *rows, size_t count) {
  char path[BENCH_PATH];
  FILE *file = bench_plot_open(folder, "msf-gpu.dat", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("# graph, and MTEPS of dzo, of the method of 2015, and of the floor\n", file);
  for (size_t i = 0; i < count; i++) {
    const gpu_row *row = &rows[i];
    double edges = (double)row->edges / 1e6;
    char name[64];
    gpu_row_name(&row->of, name);
    if (row->verified)
      (void)fprintf(file, "\"%s\" %.1f %.1f %.1f\n", name, edges / row->median,
                    row->seed_median > 0 ? edges / row->seed_median : 0, edges / row->floor);
  }
  return bench_plot_close(file, path);
}

static cli_exit write_script(const char *folder, const gpu_machine *machine,
                             char path[BENCH_PATH]) {
  FILE *file = bench_plot_open(folder, "msf-gpu.gp", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("set terminal pngcairo size 1200,600\nset output ", file);
  bench_plot_quote(file, folder, "msf-gpu.png");
  (void)fprintf(file,
                "\nset title \"Minimum spanning forest in GPU memory, %s\" noenhanced\n"
                "set ylabel \"million undirected edges a second\"\nset logscale y\n"
                "set yrange [1:*]\nset style data histogram\nset style fill solid 0.8\n"
                "set grid ytics\nset xtics rotate by -40 noenhanced\nset key top left\nplot ",
                machine->gpu);
  bench_plot_quote(file, folder, "msf-gpu.dat");
  (void)fputs(" using 2:xtic(1) title \"dzo\", '' using 3 title \"method of 2015\", "
              "'' using 4 title \"one pass over the graph\"\n",
              file);
  return bench_plot_close(file, path);
}

static cli_exit plot(const gpu_bench *bench, const gpu_row *rows, size_t count) {
  const char *folder = bench->settings->plot;
  char script[BENCH_PATH];
  if (folder == NULL)
    return CLI_DONE;
  cli_exit result = bench_plot_folder(folder);
  if (result == CLI_DONE)
    result = write_data(folder, rows, count);
  if (result == CLI_DONE)
    result = write_script(folder, &bench->machine, script);
  if (result == CLI_DONE)
    bench_plot_draw(bench->call, script, "msf-gpu.png");
  return result;
}

/* ---- All rows -------------------------------------------------------------------------------- */

typedef struct rows_job {
  gpu_bench *bench;
  gpu_prepared prepared;
  gpu_row rows[MAX_ROWS];
  size_t count;
} rows_job;

/* A graph that is too large for this GPU is passed over. */
static cli_exit add_row(void *user, const gpu_case *which) {
  rows_job *job = user;
  gpu_bench *bench = job->bench;
  if (job->count == MAX_ROWS)
    return CLI_DONE;
  gpu_row *row = &job->rows[job->count];
  dzo_status status = gpu_measure(bench, which, &job->prepared, row);
  char name[64];
  gpu_row_name(which, name);
  if (status == DZO_E_MEMORY) {
    cli_note(bench->call, "%s does not fit: %s", name, dzo_context_message(bench->context));
    return CLI_DONE;
  }
  if (status != DZO_OK) {
    cli_error("bench: %s: %s", name, dzo_context_message(bench->context));
    return CLI_FAILED;
  }
  job->count++;
  bench->wrong = bench->wrong || !row->verified;
  if (bench->call->common->json)
    return CLI_DONE;
  gpu_print_row(stdout, row);
  return cli_flush(bench->call);
}

static void print_json(const rows_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, true);
  cli_json_open_object(&json, NULL);
  gpu_bench_json_machine(&json, job->bench);
  cli_json_text(&json, "device", "cuda");
  cli_json_text(&json, "from", "gpu");
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < job->count; i++)
    gpu_json_row(&json, &job->rows[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

cli_exit gpu_bench_rows(gpu_bench *bench) {
  rows_job job = {.bench = bench};
  bool json = bench->call->common->json;
  if (!json)
    gpu_print_header(stdout, &bench->machine);
  cli_exit result = gpu_each_case(bench->settings, add_row, &job);
  dzo_graph_destroy(job.prepared.graph);
  if (result != CLI_DONE)
    return result;
  if (json)
    print_json(&job);
  else if (!bench->wrong)
    gpu_print_notes(stdout);
  result = plot(bench, job.rows, job.count);
  return result != CLI_DONE ? result : gpu_bench_verdict(bench);
}
