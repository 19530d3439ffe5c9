/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench: measurements that check what they measure. */
#include "cli/bench.h"

#include <string.h>

#include "bench/read_bandwidth.h"
#include "cli/bench_gpu.h"
#include "cli/bench_knapsack.h"
#include "cli/bench_table.h"

enum { MAX_ROWS = 16 };

typedef struct bench_job {
  cli_call *call;
  const bench_settings *settings;
  bench_machine machine;
  bench_row rows[MAX_ROWS];
  size_t count;
  bool wrong; /* some row was not verified */
} bench_job;

static const char *const benchmarks[] = {"msf", "table", "knapsack", NULL};
static const char *const yardsticks[] = {"textbook", "prefetch", "none", NULL};
static const char *const places[] = {"gpu", "host", NULL};
static const char *const graphs[] = {"all", "rmat", "ssca2", "uniform", "grid", NULL};
static const char *const parts[] = {"all",       "operations", "mixed",  "growth",  "sweep",
                                    "aggregate", "transfer",   "thesis", "classes", "sums",
                                    "files",     "batch",      NULL};

static void describe_processor(char text[128]) {
  dzo_device_info device;
  int count;
  const char *reason;
  dzo_devices(&device, 1, &count, &reason);
  (void)snprintf(text, 128, "%s", count > 0 ? device.name : "unknown processor");
}

static cli_exit add_row(void *user, const bench_case *which) {
  bench_job *job = user;
  cli_call *call = job->call;
  bench_row *row = &job->rows[job->count];
  dzo_status status = bench_measure(call, which, row);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  job->count++;
  job->wrong = job->wrong || !row->verified;
  cli_progress_clear(&call->progress);
  if (!call->common->json) {
    bench_print_row(stdout, &job->machine, row);
    return cli_flush(call);
  }
  return CLI_DONE;
}

static cli_exit tell(bench_job *job) {
  cli_progress_clear(&job->call->progress);
  if (job->call->common->json)
    bench_print_json(stdout, &job->machine, job->rows, job->count);
  else if (!job->wrong)
    bench_print_notes(stdout);
  if (job->settings->plot != NULL) {
    cli_exit result =
        bench_plot(job->call, job->settings->plot, &job->machine, job->rows, job->count);
    if (result != CLI_DONE)
      return result;
  }
  if (!job->wrong)
    return CLI_DONE;
  cli_error("bench: an answer was wrong; please report this");
  return CLI_FAILED;
}

static cli_exit run_cpu(cli_call *call) {
  bench_job job = {.call = call, .settings = call->settings};
  describe_processor(job.machine.processor);
  job.machine.threads = dzo_context_threads(call->context);
  job.machine.yardstick = job.settings->yardstick;
  dzo_status status = read_bandwidth(call->context, &job.machine.read_bandwidth);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  if (!call->common->json)
    bench_print_header(stdout, &job.machine);
  cli_exit result = bench_each_case(job.settings, add_row, &job);
  return result != CLI_DONE ? result : tell(&job);
}

/* ---- The choice of a benchmark ----
 */

static cli_exit run_gpu(cli_call *call) {
  const bench_settings *settings = call->settings;
  gpu_bench bench;
  cli_exit result = gpu_bench_open(call, &bench);
  if (result == CLI_DONE) {
    bool host =
        settings->common.device.kind == DZO_DEVICE_HYBRID || strcmp(settings->from, "host") == 0;
    result = settings->table ? gpu_bench_table(&bench)
             : host          ? gpu_bench_host(&bench)
                             : gpu_bench_rows(&bench);
  }
  gpu_bench_close(&bench);
  return result;
}

static bool is_benchmark(const cli_call *call, const char *name) {
  return strcmp(call->operands[0], name) == 0;
}

/* Options and parts that not every benchmark has. */
typedef struct bench_only {
  const char *benchmark;
  const char *names[9];
} bench_only;
static const bench_only options_of[] = {
    {"msf", {"graph", "scale", "yardstick", "from", "table"}},
    {"table", {"count", "part"}},
    {"knapsack", {"part", "time-limit"}},
};
static const bench_only parts_of[] = {
    {"table", {"all", "operations", "mixed", "growth", "sweep", "aggregate", "transfer"}},
    {"knapsack", {"all", "thesis", "growth", "classes", "sums", "files", "batch"}},
};

static bool names(const bench_only *list, size_t count, const char *benchmark, const char *name) {
  for (size_t i = 0; i < count; i++)
    for (const char *const *one = list[i].names; *one != NULL; one++)
      if (strcmp(list[i].benchmark, benchmark) == 0 && strcmp(*one, name) == 0)
        return true;
  return false;
}

/* What only the other benchmarks have. */
static cli_exit check_benchmark(cli_call *call) {
  enum {
    OPTIONS = sizeof options_of / sizeof *options_of,
    PARTS = sizeof parts_of / sizeof *parts_of
  };
  const bench_settings *settings = call->settings;
  for (size_t i = 0; i < OPTIONS; i++)
    for (const char *const *one = options_of[i].names; *one != NULL; one++) {
      if (!cli_given(call, *one) || names(options_of, OPTIONS, call->operands[0], *one))
        continue;
      cli_error("bench: --%s is for dzo bench %s", *one, options_of[i].benchmark);
      return CLI_USAGE;
    }
  if (cli_given(call, "part") && !names(parts_of, PARTS, call->operands[0], settings->part)) {
    cli_error("bench: dzo bench %s has no part %s", call->operands[0], settings->part);
    return CLI_USAGE;
  }
  if (call->operand_count > 1 && !is_benchmark(call, "knapsack")) {
    cli_error("bench: files are for dzo bench knapsack");
    return CLI_USAGE;
  }
  return CLI_DONE;
}

/* What only a GPU gives, or only the CPU's rows. */
static cli_exit check_usage(cli_call *call, bool gpu) {
  static const char *const of_gpu[] = {"table", "from", NULL};
  static const char *const of_cpu[] = {"yardstick", NULL};
  for (const char *const *option = gpu ? of_cpu : of_gpu; *option != NULL; option++) {
    if (!cli_given(call, *option))
      continue;
    cli_error("bench: --%s is for the %s; see dzo bench --help", *option,
              gpu ? "CPU: give --device cpu" : "GPU: give --device cuda or hybrid");
    return CLI_USAGE;
  }
  return CLI_DONE;
}

static cli_exit run_table(cli_call *call) {
  if (call->common->device.kind == DZO_DEVICE_HYBRID) {
    cli_error("bench: dzo bench table measures one device: --device cpu or cuda");
    return CLI_USAGE;
  }
  return bench_table_run(call, dzo_context_gpu(call->context) != NULL);
}

static cli_exit run(cli_call *call) {
  const bench_settings *settings = call->settings;
  cli_exit usage = check_benchmark(call);
  if (usage != CLI_DONE)
    return usage;
  if (is_benchmark(call, "table"))
    return run_table(call);
  if (is_benchmark(call, "knapsack"))
    return bench_knapsack_run(call);
  bool automatic = settings->common.device.kind == DZO_DEVICE_AUTO;
  bool gpu = !(automatic && cli_given(call, "yardstick")) && dzo_context_gpu(call->context) != NULL;
  if (automatic && !gpu && (settings->table || cli_given(call, "from"))) {
    return cli_no_gpu(call);
  }
  cli_exit result = check_usage(call, gpu);
  if (result != CLI_DONE)
    return result;
  return gpu ? run_gpu(call) : run_cpu(call);
}

#define SETTING(member) .offset = offsetof(bench_settings, member)

static const cli_option options[] = {
    {.name = "quick",
     .kind = CLI_FLAG,
     SETTING(quick),
     .help = "Small graphs and tables: seconds instead of minutes."},
    {.name = "graph",
     .kind = CLI_CHOICE,
     .choices = graphs,
     .initial = "all",
     SETTING(graph),
     .help = "Only graphs of this kind."},
    {.name = "scale",
     .kind = CLI_COUNT,
     .argument = "S",
     .initial = "0",
     .minimum = 0,
     .maximum = 31,
     SETTING(scale),
     .help = "Only graphs of 2^S vertices; 0: the scales of the table."},
    {.name = "repeats",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "5",
     .minimum = 1,
     .maximum = 1000,
     SETTING(repeats),
     .help = "Solve each graph, or run each batch, N times; medians and minima are shown. In GPU "
             "memory 7 times "
             "unless N is given."},
    {.name = "yardstick",
     .kind = CLI_CHOICE,
     .choices = yardsticks,
     .initial = "textbook",
     SETTING(yardstick),
     .help =
         "Sequential filter-Kruskal to run beside: textbook, the same with software prefetching, "
         "or none; rows are verified all the same."},
    {.name = "from",
     .kind = CLI_CHOICE,
     .choices = places,
     .initial = "gpu",
     SETTING(from),
     .help = "Where the graphs of --device cuda lie: in GPU memory, or in host memory, from where "
             "they cross the bus, whole and with little GPU memory (1 GiB, or --gpu-memory). "
             "--device hybrid always solves from host memory, and each device alone beside."},
    {.name = "table",
     .kind = CLI_FLAG,
     SETTING(table),
     .help = "R-MAT and SSCA2 at scales 16 to 27 on the GPU, the CPU and both, in millions of "
             "edges a second."},
    {.name = "count",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "0",
     .minimum = 0,
     .maximum = UINT64_C(1) << 30,
     SETTING(count),
     .help = "Tables of N keys; 0: 2^26 on a GPU, 2^24 on the CPU."},
    {.name = "part",
     .kind = CLI_CHOICE,
     .choices = parts,
     .initial = "all",
     SETTING(part),
     .help = "Only this part. dzo bench table: the single operations; a mixed batch; growth; "
             "filling a table step by step; counting records; or, on a GPU, the whole way from "
             "host memory and back. dzo bench knapsack: the thesis' table; its methods as the "
             "items grow in number; all classes beside a textbook's core method, on one thread; "
             "sums of large coefficients; "
             "files; or batches of small instances."},
    {.name = "time-limit",
     .kind = CLI_REAL,
     .argument = "S",
     .initial = "10",
     .least = 0.001,
     .most = 1e6,
     SETTING(time_limit),
     .help = "Give up a run of dzo bench knapsack after S seconds; unless S is given, after one "
             "with --quick, and with files after 16 times what auto took."},
    {.name = "plot",
     .kind = CLI_FILE,
     .argument = "DIR",
     SETTING(plot),
     .help = "Write data and a gnuplot script to the folder DIR and, where gnuplot is installed, "
             "draw DIR/msf.png, DIR/msf-gpu.png, DIR/msf-table.png and .svg, DIR/table.png and "
             ".svg, or DIR/knapsack.png and .svg."},
    {.name = NULL}};

static const char *const examples[] = {"dzo bench msf --quick",
                                       "dzo bench msf --threads 2 --json",
                                       "dzo bench msf --graph rmat --scale 24 --plot plots",
                                       "dzo bench msf --device cuda --json",
                                       "dzo bench msf --device hybrid --graph rmat --scale 24",
                                       "dzo bench msf --device cuda --table --plot plots",
                                       "dzo bench table --device cpu --quick",
                                       "dzo bench table --device cuda --plot plots --json",
                                       "dzo bench knapsack --part thesis",
                                       "dzo bench knapsack instances/*.txt --time-limit 60",
                                       NULL};

const cli_command cli_bench_command = {
    .name = "bench",
    .summary = "Measure dzo on known graphs, and check every answer it measures",
    .operands = {{.name = "BENCHMARK",
                  .choices = benchmarks,
                  .help =
                      "msf: spanning forests beside a sequential filter-Kruskal and the time "
                      "of one pass over the graph. table: hash tables beside the published "
                      "GPU table, or beside its method on the CPU. knapsack: all methods side by "
                      "side, and those of the thesis that named them."},
                 {.name = "FILE...",
                  .optional = true,
                  .repeated = true,
                  .help = "Instances for dzo bench knapsack, in place of its own; any format that "
                          "dzo knapsack reads."}},
    .options = options,
    .settings_size = sizeof(bench_settings),
    .examples = examples,
    .run = run};
