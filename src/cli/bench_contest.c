/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The contest's table: R-MAT and SSCA2 at every scale, on the GPU, on the CPU and on both. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "cli/bench_gpu.h"
#include "graph/csr.h"
#include "msf/gpu_check.h"

enum {
  FIRST_SCALE = 16,
  LAST_SCALE = 27,
  QUICK_FIRST = 12,
  QUICK_LAST = 16,
  HOST_SCALE = 25, /* larger graphs stay on the GPU */
  GPU_REPEATS = 5,
  HOST_REPEATS = 3,
  KINDS = 2,
  MAX_POINTS = 64
};

/* The CPU is left out where a solve is expected to take longer. */
#define PATIENCE 3.0
#define GROWTH 2.3 /* of the time from one scale to the next */

/* The series of the table. */
typedef enum table_series { ON_GPU, BY_CUDA, BY_CPU, BY_HYBRID, SERIES } table_series;

static const char *const series_names[SERIES] = {"gpu", "cuda", "cpu", "hybrid"};
static const char *const kinds[KINDS] = {"rmat", "ssca2"};

typedef struct table_point {
  const char *kind;
  unsigned scale;
  uint64_t vertices, edges;
  double seconds[SERIES]; /* medians; 0: not run */
  double least[SERIES];
  dzo_device worked[SERIES];
  bool verified;
  char reason[256];
} table_point;

typedef struct table_job {
  gpu_bench *bench;
  table_point points[MAX_POINTS];
  size_t count;
} table_job;

/* A point in the making. */
typedef struct table_run {
  gpu_bench *bench;
  table_point *point;
  double cpu_expected;
  dzo_gpu_edges edges;
  dzo_gpu_csr csr;
  msf_gpu_forest forest;
  dzo_graph *graph;
  uint64_t *numbers;
} table_run;

/* ---- Measuring ------------------------------------------------------------------------------- */

static dzo_status measure_gpu(table_run *run) {
  gpu_bench *bench = run->bench;
  table_point *p = run->point;
  msf_gpu_graph graph = msf_gpu_graph_of(&run->csr, false);
  msf_gpu_verdict verdict = {0};
  DZO_TRY(dzo_unit_allocate(bench->unit, p->vertices, sizeof *run->forest.arcs,
                            (void **)&run->forest.arcs));
  DZO_TRY(gpu_bench_time(bench, msf_gpu_solve, &graph, &run->forest, GPU_REPEATS,
                         &p->seconds[ON_GPU], &p->least[ON_GPU]));
  DZO_TRY(msf_gpu_check(bench->unit, &graph, run->forest.arcs, run->forest.count, &verdict));
  p->verified = verdict.valid;
  p->worked[ON_GPU] = DZO_DEVICE_CUDA;
  (void)snprintf(p->reason, sizeof p->reason, "%s", verdict.reason);
  return DZO_OK;
}

static dzo_status solve_on(table_run *run, dzo_context *context, table_series series) {
  table_point *p = run->point;
  double times[HOST_REPEATS];
  dzo_msf *msf = NULL;
  bool same = false;
  dzo_status status = DZO_OK;
  for (int i = 0; i <= HOST_REPEATS && status == DZO_OK; i++) {
    dzo_msf_destroy(msf);
    msf = NULL;
    double begun = cli_now();
    status = dzo_msf_run(context, run->graph, NULL, &msf);
    if (i > 0)
      times[i - 1] = cli_now() - begun;
  }
  same = status == DZO_OK && gpu_bench_same(msf, run->numbers, run->forest.count);
  if (status == DZO_OK && same)
    bench_summarize(times, HOST_REPEATS, &p->seconds[series], &p->least[series]);
  if (status == DZO_OK)
    p->worked[series] = dzo_msf_device(msf);
  if (status == DZO_OK && !same) {
    p->verified = false;
    (void)snprintf(p->reason, sizeof p->reason, "%s: other edges than the verified forest has",
                   series_names[series]);
  }
  dzo_msf_destroy(msf);
  return status;
}

static dzo_status measure_host(table_run *run, table_series series) {
  static const dzo_device devices[SERIES] = {DZO_DEVICE_CUDA, DZO_DEVICE_CUDA, DZO_DEVICE_CPU,
                                             DZO_DEVICE_HYBRID};
  dzo_context *context = NULL;
  dzo_status status =
      gpu_bench_context(run->bench, devices[series], 0, dzo_graph_bytes(run->graph), &context);
  if (status == DZO_OK)
    status = solve_on(run, context, series);
  if (status != DZO_OK && context != NULL)
    (void)dzo_fail(run->bench->context, status, "%s", dzo_context_message(context));
  dzo_context_destroy(context);
  return status;
}

static dzo_status measure(table_run *run) {
  gpu_bench *bench = run->bench;
  table_point *p = run->point;
  bool host = p->scale <= HOST_SCALE;
  const dzo_gpu_csr_choices choices = {.numbers = host};
  DZO_TRY(gpu_bench_generate(bench, p->kind, p->scale, DZO_WEIGHT_U32, &run->edges));
  DZO_TRY(dzo_gpu_csr_from_edges(&run->edges, &choices, &run->csr));
  p->vertices = run->csr.vertices;
  p->edges = run->csr.edges;
  if (!host)
    dzo_gpu_edges_destroy(&run->edges);
  DZO_TRY(measure_gpu(run));
  if (!host)
    return DZO_OK;
  DZO_TRY(gpu_bench_numbers(bench, &run->csr, &run->forest, &run->numbers));
  DZO_TRY(dzo_gpu_csr_download(bench->context, &run->csr, &run->edges, &run->graph));
  dzo_gpu_csr_destroy(&run->csr);
  dzo_gpu_edges_destroy(&run->edges);
  dzo_unit_workspace_release(bench->unit);
  DZO_TRY(measure_host(run, BY_CUDA));
  if (run->cpu_expected <= PATIENCE)
    DZO_TRY(measure_host(run, BY_CPU));
  return measure_host(run, BY_HYBRID);
}

static dzo_status measure_point(table_job *job, const char *kind, unsigned scale,
                                double cpu_expected) {
  table_point *point = &job->points[job->count];
  *point = (table_point){.kind = kind, .scale = scale};
  table_run run = {.bench = job->bench, .point = point, .cpu_expected = cpu_expected};
  dzo_status status = measure(&run);
  dzo_unit_release(job->bench->unit, run.forest.arcs);
  dzo_gpu_csr_destroy(&run.csr);
  dzo_gpu_edges_destroy(&run.edges);
  dzo_graph_destroy(run.graph);
  dzo_free(run.numbers);
  dzo_unit_workspace_release(job->bench->unit);
  return status;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static double mteps(const table_point *p, table_series series) {
  return p->seconds[series] > 0 ? (double)p->edges / p->seconds[series] / 1e6 : 0;
}

static void print_header(const gpu_machine *m) {
  (void)printf("%s; %s, %d threads\nmillions of undirected edges a second\n\n", m->gpu,
               m->processor, m->threads);
  (void)printf("%-9s %11s %11s %10s %10s %10s %10s\n", "graph", "vertices", "edges", "gpu", "cuda",
               "cpu", "hybrid");
}

static void print_point(const table_point *p) {
  char name[32];
  (void)snprintf(name, sizeof name, "%s.%u", p->kind, p->scale);
  (void)printf("%-9s %11llu %11llu", name, (unsigned long long)p->vertices,
               (unsigned long long)p->edges);
  if (!p->verified) {
    (void)printf(" not verified: %s\n", p->reason);
    return;
  }
  for (int s = 0; s < SERIES; s++) {
    if (p->seconds[s] > 0)
      (void)printf(" %9.0f%c", mteps(p, (table_series)s),
                   s != BY_CPU && p->worked[s] == DZO_DEVICE_CPU ? '*' : ' ');
    else
      (void)printf(" %10s", "-");
  }
  (void)putchar('\n');
}

static void print_notes(void) {
  (void)fputs("\ngpu: the graph lies in GPU memory and so does the answer. cuda, cpu, hybrid: "
              "dzo_msf_run() of a graph in host\nmemory, the result there too. The contest counted "
              "arcs: twice as many. *: the CPU did it. Every row was verified.\n",
              stdout);
}

static void json_point(cli_json *json, const table_point *p) {
  cli_json_open_object(json, NULL);
  cli_json_text(json, "graph", p->kind);
  cli_json_count(json, "scale", p->scale);
  cli_json_count(json, "vertices", p->vertices);
  cli_json_count(json, "edges", p->edges);
  cli_json_flag(json, "verified", p->verified);
  if (!p->verified) {
    cli_json_text(json, "reason", p->reason);
    cli_json_close_object(json);
    return;
  }
  cli_json_open_object(json, "seconds");
  for (int s = 0; s < SERIES; s++)
    if (p->seconds[s] > 0)
      cli_json_seconds(json, series_names[s], p->seconds[s]);
  cli_json_close_object(json);
  cli_json_open_object(json, "mteps");
  for (int s = 0; s < SERIES; s++)
    if (p->seconds[s] > 0)
      cli_json_real(json, series_names[s], mteps(p, (table_series)s));
  cli_json_close_object(json);
  cli_json_open_object(json, "worked");
  for (int s = BY_CUDA; s < SERIES; s++)
    if (p->seconds[s] > 0)
      cli_json_text(json, series_names[s], cli_device_name(p->worked[s]));
  cli_json_close_object(json);
  cli_json_close_object(json);
}

static void print_json(const table_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, true);
  cli_json_open_object(&json, NULL);
  gpu_bench_json_machine(&json, job->bench);
  cli_json_text(&json, "table", "mteps");
  cli_json_open_array(&json, "results");
  for (size_t i = 0; i < job->count; i++)
    json_point(&json, &job->points[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
}

/* ---- Plot ------------------------------------------------------------------------------------ */

/* A block a kind, so that gnuplot can tell them apart by `index`. */
static cli_exit write_data(const table_job *job, const char *folder) {
  char path[BENCH_PATH];
  FILE *file = bench_plot_open(folder, "msf-table.dat", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fputs("# scale, and MTEPS: gpu, cuda, cpu, hybrid; NaN: not run\n", file);
  for (int k = 0; k < KINDS; k++) {
    (void)fprintf(file, "# %s\n", kinds[k]);
    for (size_t i = 0; i < job->count; i++) {
      const table_point *p = &job->points[i];
      if (strcmp(p->kind, kinds[k]) != 0 || !p->verified)
        continue;
      (void)fprintf(file, "%u", p->scale);
      for (int s = 0; s < SERIES; s++) {
        if (p->seconds[s] > 0)
          (void)fprintf(file, " %.3f", mteps(p, (table_series)s));
        else
          (void)fputs(" NaN", file);
      }
      (void)fputc('\n', file);
    }
    (void)fputs("\n\n", file);
  }
  return bench_plot_close(file, path);
}

static void write_panels(FILE *file, const char *folder, const char *terminal,
                         const char *picture) {
  (void)fprintf(file, "set terminal %s\nset output ", terminal);
  bench_plot_quote(file, folder, picture);
  (void)fputs("\nset multiplot layout 1,2\n", file);
  for (int k = 0; k < KINDS; k++) {
    (void)fprintf(file, "set title \"%s\"\nplot ", k == 0 ? "R-MAT" : "SSCA2");
    for (int s = 0; s < SERIES; s++) {
      static const char *const titles[SERIES] = {"GPU, graph in its memory",
                                                 "GPU, graph in host memory", "CPU", "hybrid"};
      (void)fputs(s > 0 ? ", " : "", file);
      bench_plot_quote(file, folder, "msf-table.dat");
      (void)fprintf(file, " index %d using 1:%d with linespoints title \"%s\"", k, s + 2,
                    titles[s]);
    }
    (void)fputc('\n', file);
  }
  (void)fputs("unset multiplot\n", file);
}

static cli_exit write_script(const table_job *job, const char *folder, char path[BENCH_PATH]) {
  FILE *file = bench_plot_open(folder, "msf-table.gp", path);
  if (file == NULL)
    return CLI_FAILED;
  (void)fprintf(file,
                "# %s; %s, %d threads\n"
                "set xlabel \"scale (2^{scale} vertices)\"\n"
                "set ylabel \"million undirected edges a second\"\nset logscale y\n"
                "set grid\nset key bottom right\nset datafile missing \"NaN\"\n",
                job->bench->machine.gpu, job->bench->machine.processor,
                job->bench->machine.threads);
  write_panels(file, folder, "pngcairo size 1200,520", "msf-table.png");
  write_panels(file, folder, "svg size 1200,520", "msf-table.svg");
  return bench_plot_close(file, path);
}

static cli_exit plot(const table_job *job) {
  const char *folder = job->bench->settings->plot;
  char script[BENCH_PATH];
  if (folder == NULL)
    return CLI_DONE;
  cli_exit result = bench_plot_folder(folder);
  if (result == CLI_DONE)
    result = write_data(job, folder);
  if (result == CLI_DONE)
    result = write_script(job, folder, script);
  if (result == CLI_DONE)
    bench_plot_draw(job->bench->call, script, "msf-table.png and .svg");
  return result;
}

/* ---- All points ------------------------------------------------------------------------------ */

/* A graph too large for this GPU ends its kind. */
static cli_exit add_points(table_job *job, const char *kind, unsigned first, unsigned last) {
  gpu_bench *bench = job->bench;
  double expected = 0;
  for (unsigned scale = first; scale <= last && job->count < MAX_POINTS; scale++) {
    dzo_status status = measure_point(job, kind, scale, expected);
    if (status == DZO_E_MEMORY) {
      cli_note(bench->call, "%s.%u does not fit: %s", kind, scale,
               dzo_context_message(bench->context));
      return CLI_DONE;
    }
    if (status != DZO_OK) {
      cli_error("bench: %s.%u: %s", kind, scale, dzo_context_message(bench->context));
      return CLI_FAILED;
    }
    const table_point *p = &job->points[job->count++];
    bench->wrong = bench->wrong || !p->verified;
    expected = p->seconds[BY_CPU] > 0 ? GROWTH * p->seconds[BY_CPU] : PATIENCE + 1;
    if (!bench->call->common->json)
      print_point(p);
    cli_exit result = bench->call->common->json ? CLI_DONE : cli_flush(bench->call);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

static cli_exit add_kinds(table_job *job) {
  const bench_settings *settings = job->bench->settings;
  unsigned first = settings->quick ? QUICK_FIRST : FIRST_SCALE;
  unsigned last = settings->quick ? QUICK_LAST : LAST_SCALE;
  if (settings->scale != 0)
    first = last = (unsigned)settings->scale;
  for (int k = 0; k < KINDS; k++) {
    if (strcmp(settings->graph, "all") != 0 && strcmp(settings->graph, kinds[k]) != 0)
      continue;
    cli_exit result = add_points(job, kinds[k], first, last);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}

cli_exit gpu_bench_table(gpu_bench *bench) {
  table_job job = {.bench = bench};
  bool json = bench->call->common->json;
  if (!json)
    print_header(&bench->machine);
  cli_exit result = add_kinds(&job);
  if (result != CLI_DONE)
    return result;
  if (json)
    print_json(&job);
  else if (!bench->wrong)
    print_notes();
  result = plot(&job);
  return result != CLI_DONE ? result : gpu_bench_verdict(bench);
}
