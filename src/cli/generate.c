/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo generate: synthetic graphs, and keys. */
#include <string.h>

#include "cli/generate.h"
#include "cli/json.h"
#include "graph/gpu_graph.h"

typedef struct generate_job {
  cli_call *call;
  const generate_settings *settings;
  const char *kind;
  dzo_generator generator;
  dzo_generate_options options;
  dzo_format format;
  dzo_edge_list *list;
  dzo_device worked;
  double generate, verify, write, total; /* seconds */
} generate_job;

static const char *const kinds[] = {"rmat", "ssca2", "uniform", "grid", "keys", "knapsack", NULL};
/* Those of graphs, those of keys, and those of knapsacks. */
static const char *const formats[] = {"auto",  "mtx",      "dimacs",   "snap",   "csv",    "konect",
                                      "metis", "graphhpc", "egr",      "gap",    "galois", "dzo",
                                      "npy",   "raw",      "pisinger", "jooken", "plain",  NULL};
static const char *const weight_types[] = {"f64", "f32", "u32", "none", NULL};

static dzo_generator generator_of(const char *kind) {
  static const dzo_generator generators[] = {DZO_GENERATE_RMAT, DZO_GENERATE_SSCA2,
                                             DZO_GENERATE_UNIFORM, DZO_GENERATE_GRID};
  size_t i = 0;
  while (strcmp(kind, kinds[i]) != 0)
    i++;
  return generators[i];
}

static dzo_weight_type weight_type_of(const char *name) {
  static const dzo_weight_type types[] = {DZO_WEIGHT_F64, DZO_WEIGHT_F32, DZO_WEIGHT_U32,
                                          DZO_WEIGHT_NONE};
  size_t i = 0;
  while (strcmp(name, weight_types[i]) != 0)
    i++;
  return types[i];
}

enum { KNAPSACK = 30, KEYS = 31 }; /* bits beyond those of the generators */

/* Options that mean nothing for this kind are mistakes. */
static cli_exit check_options(const cli_call *call, const char *kind, unsigned bit) {
  static const unsigned keys = 1U << KEYS, knapsack = 1U << KNAPSACK;
  static const unsigned graphs = ~(1U << KEYS | 1U << KNAPSACK);
  static const struct {
    const char *option;
    unsigned kinds; /* bit of each kind that takes it */
  } rows[] = {{"scale", graphs},
              {"weights", graphs},
              {"degree", 1U << DZO_GENERATE_RMAT | 1U << DZO_GENERATE_UNIFORM},
              {"max-clique", 1U << DZO_GENERATE_SSCA2},
              {"inter-clique", 1U << DZO_GENERATE_SSCA2},
              {"keep", 1U << DZO_GENERATE_GRID},
              {"count", keys},
              {"distribution", keys},
              {"type", keys},
              {"range", keys | knapsack},
              {"distinct", keys},
              {"exponent", keys},
              {"class", knapsack},
              {"items", knapsack},
              {"part", knapsack},
              {"parts", knapsack}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (!cli_given(call, rows[i].option) || (rows[i].kinds >> bit & 1) != 0)
      continue;
    cli_error("generate: --%s is not for %s; see dzo generate --help", rows[i].option, kind);
    return CLI_USAGE;
  }
  return CLI_DONE;
}

static cli_exit check_usage(const generate_job *job) {
  cli_exit result = check_options(job->call, job->kind, (unsigned)job->generator);
  if (result != CLI_DONE)
    return result;
  static const char *const others[][2] = {{"npy", "keys"},
                                          {"raw", "keys"},
                                          {"pisinger", "knapsack"},
                                          {"jooken", "knapsack"},
                                          {"plain", "knapsack"}};
  const char *format = job->settings->format;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strcmp(format, others[i][0]) != 0)
      continue;
    cli_error("generate: --format: %s is for %s alone", format, others[i][1]);
    return CLI_USAGE;
  }
  if (strcmp(job->settings->output, "-") != 0)
    return CLI_DONE;
  if (!job->call->common->json && !job->call->common->verify)
    return CLI_DONE;
  cli_error("generate: --%s needs the graph in a file; give -o FILE",
            job->call->common->json ? "json" : "verify");
  return CLI_USAGE;
}

static void fill_options(generate_job *job) {
  const generate_settings *s = job->settings;
  dzo_generate_options_init(&job->options);
  job->options.scale = (unsigned)s->scale;
  job->options.degree = s->degree;
  job->options.weight_type = weight_type_of(s->weights);
  job->options.seed = s->common.seed;
  job->options.max_clique = (unsigned)s->max_clique;
  job->options.inter_clique = s->inter_clique;
  job->options.keep = s->keep;
}

void generate_end_json(cli_json *json, const cli_call *call, const char *device,
                       const generate_times *times) {
  cli_json_text(json, "device", device);
  cli_json_integer(json, "threads", dzo_context_threads(call->context));
  cli_json_open_object(json, "seconds");
  if (times->generate >= 0)
    cli_json_seconds(json, "generate", times->generate);
  cli_json_seconds(json, "write", times->write);
  cli_json_seconds(json, "verify", times->verify);
  cli_json_seconds(json, "total", times->total);
  cli_json_close_object(json);
  if (call->common->verify)
    cli_json_flag(json, "verified", true);
  else
    cli_json_null(json, "verified");
  cli_json_close_object(json);
}

static void report_json(const generate_job *job, const dzo_edges *edges) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_open_object(&json, "graph");
  cli_json_text(&json, "file", job->settings->output);
  cli_json_text(&json, "format", dzo_format_name(job->format));
  cli_json_count(&json, "bytes", cli_file_size(job->settings->output));
  cli_json_count(&json, "vertices", edges->vertices);
  cli_json_count(&json, "edges", edges->count);
  cli_json_text(&json, "weights", dzo_weight_type_name(edges->weight_type));
  cli_json_close_object(&json);
  cli_json_text(&json, "generator", job->kind);
  cli_json_count(&json, "scale", job->settings->scale);
  cli_json_count(&json, "seed", job->options.seed);
  generate_end_json(&json, job->call, cli_device_name(job->worked),
                    &(generate_times){job->generate, job->write, job->verify, job->total});
}

static void report_text(const generate_job *job, const dzo_edges *edges, FILE *out) {
  char generate[32], write[32], total[32];
  cli_seconds_text(job->generate, generate);
  cli_seconds_text(job->write, write);
  cli_seconds_text(job->total, total);
  (void)fprintf(out, "graph         %s (%s)\nvertices      %llu\nedges         %llu\n",
                job->settings->output, dzo_format_name(job->format),
                (unsigned long long)edges->vertices, (unsigned long long)edges->count);
  (void)fprintf(out, "weights       %s\n", dzo_weight_type_name(edges->weight_type));
  (void)fprintf(out, "time          generate %s, write %s, total %s\n", generate, write, total);
  if (job->call->common->verify)
    (void)fputs("verified      the file reads back as the same graph\n", out);
}

static cli_exit write_graph(generate_job *job, const dzo_edges *edges) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = dzo_edges_write(call->context, edges, job->format, job->settings->output);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  double written = cli_now();
  job->write = written - begun;
  if (!call->common->verify)
    return CLI_DONE;
  cli_exit result = cli_check_written(call, edges, job->format, job->settings->output, false);
  job->verify = cli_now() - written;
  return result;
}

static dzo_status generate_here(generate_job *job) {
  job->worked = DZO_DEVICE_CPU;
  return dzo_edge_list_generate(job->call->context, job->generator, &job->options, &job->list);
}

/* On the GPU, the same bytes. */
static dzo_status generate_there(generate_job *job, dzo_unit *unit) {
  dzo_context *context = job->call->context;
  dzo_gpu_edges edges;
  dzo_status status = dzo_gpu_edges_generate(unit, job->generator, &job->options, &edges);
  if (status == DZO_OK)
    status = dzo_gpu_edges_download(context, &edges, &job->list);
  dzo_gpu_edges_destroy(&edges);
  job->worked = DZO_DEVICE_CUDA;
  return status;
}

/* The CPU makes what the GPU cannot. */
static dzo_status generate(generate_job *job) {
  cli_call *call = job->call;
  dzo_device device = call->common->device.kind;
  bool asked = device == DZO_DEVICE_CUDA || device == DZO_DEVICE_HYBRID;
  dzo_unit *unit = asked ? dzo_context_gpu(call->context) : NULL;
  if (unit == NULL)
    return generate_here(job);
  dzo_status status = generate_there(job, unit);
  bool gave_up = status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY || status == DZO_E_DEVICE ||
                 status == DZO_E_DEVICE_FAILED;
  if (!gave_up)
    return status;
  cli_note(call, "%s; generated on the CPU", dzo_context_message(call->context));
  return generate_here(job);
}

static cli_exit perform(generate_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = generate(job);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_USAGE);
  job->generate = cli_now() - begun;
  dzo_edges edges;
  dzo_edge_list_view(job->list, &edges);
  cli_exit result = write_graph(job, &edges);
  if (result != CLI_DONE)
    return result;
  job->total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  FILE *out = cli_report_stream(job->settings->output);
  if (call->common->json)
    report_json(job, &edges);
  else if (out == stdout || !call->common->quiet)
    report_text(job, &edges, out);
  return CLI_DONE;
}

static cli_exit generate_graph(cli_call *call) {
  generate_job job = {.call = call,
                      .settings = call->settings,
                      .kind = call->operands[0],
                      .generator = generator_of(call->operands[0])};
  fill_options(&job);
  cli_exit result = check_usage(&job);
  if (result == CLI_DONE)
    result =
        cli_output_format(call, "format", job.settings->format, job.settings->output, &job.format);
  if (result == CLI_DONE)
    result = perform(&job);
  dzo_edge_list_destroy(job.list);
  return result;
}

static cli_exit run(cli_call *call) {
  const char *kind = call->operands[0];
  bool keys = strcmp(kind, "keys") == 0;
  if (!keys && strcmp(kind, "knapsack") != 0)
    return generate_graph(call);
  cli_exit result = check_options(call, kind, keys ? KEYS : KNAPSACK);
  if (result != CLI_DONE)
    return result;
  return keys ? generate_keys(call) : generate_knapsack(call);
}

#define SETTING(member) .offset = offsetof(generate_settings, member)

static const cli_option options[] = {
    {.name = "scale",
     .kind = CLI_COUNT,
     .argument = "S",
     .initial = "16",
     .minimum = 1,
     .maximum = 31,
     SETTING(scale),
     .help = "Graphs: 2^S vertices."},
    {.name = "degree",
     .kind = CLI_REAL,
     .argument = "D",
     .initial = "32",
     .least = 0,
     .most = 1e9,
     SETTING(degree),
     .help = "rmat, uniform: mean degree, D/2 edges for each vertex."},
    {.name = "weights",
     .kind = CLI_CHOICE,
     .choices = weight_types,
     .initial = "f64",
     SETTING(weights),
     .help = "Graphs: type of the weights: doubles or floats from 0 to 1, integers below 2^24, or "
             "none."},
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = formats,
     .argument = "FORMAT",
     .initial = "auto",
     SETTING(format),
     .help =
         "Format to write: mtx, dimacs, snap, csv, konect, metis, graphhpc, egr, gap, galois or "
         "dzo. auto goes by the suffix of FILE, and is mtx for a graph on standard "
         "output. keys: csv, npy or raw (little-endian numbers); csv where the suffix says "
         "nothing. knapsack: plain, pisinger, jooken or csv; plain without it."},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_FILE,
     .argument = "FILE",
     .initial = "-",
     SETTING(output),
     .help = "Write to FILE; - is standard output."},
    {.name = "max-clique",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "49",
     .minimum = 2,
     .maximum = 1 << 20,
     SETTING(max_clique),
     .help = "ssca2: cliques have 1 to N vertices."},
    {.name = "inter-clique",
     .kind = CLI_REAL,
     .argument = "P",
     .initial = "0.1",
     .least = 0,
     .most = 1,
     SETTING(inter_clique),
     .help = "ssca2: probability of a link between cliques."},
    {.name = "keep",
     .kind = CLI_REAL,
     .argument = "P",
     .initial = "0.7",
     .least = 0,
     .most = 1,
     SETTING(keep),
     .help = "grid: probability that an edge of the full grid stays."},
    {.name = "count",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "1000000",
     .minimum = 0,
     .maximum = UINT64_C(1) << 40,
     SETTING(count),
     .help = "keys: how many."},
    {.name = "distribution",
     .kind = CLI_CHOICE,
     .choices = generate_distributions,
     .initial = "unique",
     SETTING(distribution),
     .help = "keys: none twice, in shuffled order; each drawn evenly; or Zipf's, the r-th most "
             "frequent key with a weight of r^-S."},
    {.name = "type",
     .kind = CLI_CHOICE,
     .choices = generate_key_types,
     .initial = "u32",
     SETTING(type),
     .help = "keys: unsigned integers of 32 or 64 bits; without it, a FILE that ends in .u64 has "
             "those of 64."},
    {.name = "range",
     .kind = CLI_COUNT,
     .argument = "N",
     .minimum = 1,
     .maximum = UINT64_MAX,
     SETTING(range),
     .help =
         "keys: from 0 to N - 1; without it, all that the type has. knapsack: about the largest "
         "value and weight, 10 to 100000000000000000; without it, 1000."},
    {.name = "distinct",
     .kind = CLI_COUNT,
     .argument = "N",
     .minimum = 1,
     .maximum = UINT64_MAX,
     SETTING(distinct),
     .help = "keys, uniform and zipf: draw from N different keys, scattered over the range; zipf "
             "without it takes as many as --count."},
    {.name = "exponent",
     .kind = CLI_REAL,
     .argument = "S",
     .initial = "0.99",
     .least = 0,
     .most = 16,
     SETTING(exponent),
     .help = "keys, zipf: how skewed."},
    {.name = "class",
     .kind = CLI_CHOICE,
     .choices = generate_classes,
     .argument = "CLASS",
     .initial = "uncorrelated",
     SETTING(kind),
     .help = "knapsack: uncorrelated, weakly-correlated, strongly-correlated, "
             "inverse-strongly-correlated, almost-strongly-correlated, subset-sum, "
             "even-odd-subset-sum, even-odd, similar-weights, spanner-uncorrelated, "
             "spanner-weakly-correlated, spanner-strongly-correlated, "
             "multiple-strongly-correlated, profit-ceiling, circle or finkelstein."},
    {.name = "items",
     .kind = CLI_COUNT,
     .argument = "N",
     .initial = "100",
     .minimum = 0,
     .maximum = DZO_KNAPSACK_ITEMS,
     SETTING(items),
     .help = "knapsack: how many."},
    {.name = "part",
     .kind = CLI_COUNT,
     .argument = "H",
     .initial = "50",
     .minimum = 0,
     .maximum = UINT64_MAX,
     SETTING(part),
     .help = "knapsack: the capacity is H/P of the sum of the weights."},
    {.name = "parts",
     .kind = CLI_COUNT,
     .argument = "P",
     .initial = "101",
     .minimum = 1,
     .maximum = UINT64_MAX,
     SETTING(parts),
     .help = "knapsack: see --part."},
    {.name = NULL}};

static const char *const examples[] = {
    "dzo generate rmat --scale 20 -o rmat.mtx",
    "dzo generate ssca2 --scale 16 --format graphhpc -o ssca2-16",
    "dzo generate grid --scale 22 --weights u32 --format snap | dzo msf -",
    "dzo generate keys --count 1000000 --distribution zipf --type u64 -o keys.npy",
    "dzo generate knapsack --class circle --items 5000 --range 1000000 -o circle.txt",
    NULL};

const cli_command cli_generate_command = {
    .name = "generate",
    .summary = "Generate graphs, keys or knapsacks; rmat and ssca2 are those of GraphHPC-2015, bit "
               "for bit",
    .operands = {{.name = "KIND",
                  .choices = kinds,
                  .help =
                      "rmat: a skewed random graph; ssca2: cliques with links between them; "
                      "uniform: both ends of each edge drawn evenly; grid: a square grid with "
                      "holes, much like roads; keys: integers to fill hash tables with; knapsack: "
                      "items of one of the classes of the literature."}},
    .options = options,
    .settings_size = sizeof(generate_settings),
    .examples = examples,
    .run = run};
