/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo msf: the spanning forest of a graph file. */
#include "cli/msf.h"

#include <string.h>

#include "base/memory.h"
#include "graph/csr.h"

static cli_exit check_usage(const msf_job *job) {
  const msf_settings *s = job->settings;
  bool forest = s->output != NULL && strcmp(s->output, "-") == 0;
  bool components = s->components != NULL && strcmp(s->components, "-") == 0;
  const char *problem = NULL;
  if (forest + components + s->common.json > 1)
    problem = "only one of -o -, --components - and --json can have standard output";
  else if (cli_same_file(s->output, s->components))
    problem = "-o and --components name the same file";
  else if (cli_same_file(s->output, job->path) || cli_same_file(s->components, job->path))
    problem = "the output would replace GRAPH";
  else if (s->stream && s->sort)
    problem = "--sort needs the whole graph in memory, so it does not go with --stream";
  else if (s->stream && s->common.verify && cli_reads_once(job->path))
    problem = "--verify reads the graph again, which standard input and pipes do not allow";
  if (problem == NULL)
    return CLI_DONE;
  cli_error("msf: %s", problem);
  return CLI_USAGE;
}

static cli_exit solve_in_memory(msf_job *job) {
  cli_exit result = msf_load(job);
  if (result != CLI_DONE)
    return result;
  dzo_msf_options options;
  dzo_msf_options_init(&options);
  options.maximum = job->settings->maximum;
  double begun = cli_now();
  dzo_status status = dzo_msf_run(job->call->context, job->graph, &options, &job->msf);
  if (status != DZO_OK)
    return msf_fail(job, status, CLI_FAILED);
  job->times.solve = cli_now() - begun;
  cli_tell_notice(job->call);
  return CLI_DONE;
}

/* ---- --verify ----------------------------------------------------------------------------------
 */

/* The checker wants an edge list: kept, made of a stored graph, or (after a stream) read again. */
static cli_exit edges_for_check(msf_job *job) {
  cli_call *call = job->call;
  if (job->list != NULL)
    return CLI_DONE;
  if (job->graph != NULL) {
    dzo_status status = dzo_graph_to_edge_list(call->context, job->graph, &job->list);
    return status == DZO_OK ? CLI_DONE : cli_fail(call, status, CLI_FAILED);
  }
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = cli_format(job->settings->format);
  dzo_status status = dzo_edge_list_read(call->context, job->path, &options, &job->list);
  return status == DZO_OK ? CLI_DONE : cli_fail(call, status, CLI_BAD_INPUT);
}

static cli_exit verify(msf_job *job) {
  double begun = cli_now();
  cli_exit result = edges_for_check(job);
  if (result != CLI_DONE)
    return result;
  dzo_edges edges;
  dzo_edge_list_view(job->list, &edges);
  dzo_msf_claim claim;
  dzo_msf_claim_init(&claim);
  claim.maximum = job->settings->maximum;
  claim.count = dzo_msf_count(job->msf);
  claim.numbers = dzo_msf_edges(job->msf);
  int valid = 0;
  dzo_status status = dzo_msf_verify(job->call->context, &edges, &claim, &valid);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_FAILED);
  cli_tell_notice(job->call);
  if (valid == 0) {
    cli_progress_clear(&job->call->progress);
    cli_error("%s: the forest is wrong, please report this: %s", job->path,
              dzo_context_message(job->call->context));
    return CLI_FAILED;
  }
  job->verified = true;
  job->times.verify = cli_now() - begun;
  return CLI_DONE;
}

/* ---- Output ------------------------------------------------------------------------------------
 */

/* The forest's edges as arrays, for the formats that name endpoints. */
typedef struct forest_arrays {
  uint32_t *u, *v;
  dzo_weight *weights;
} forest_arrays;

static dzo_status fill_arrays(const msf_job *job, forest_arrays *arrays) {
  dzo_context *context = job->call->context;
  uint64_t count = dzo_msf_count(job->msf);
  arrays->u = dzo_alloc(context, count, sizeof *arrays->u);
  arrays->v = dzo_alloc(context, count, sizeof *arrays->v);
  arrays->weights = dzo_alloc(context, count, sizeof *arrays->weights);
  if (arrays->u == NULL || arrays->v == NULL || arrays->weights == NULL)
    return DZO_E_MEMORY;
  return dzo_msf_endpoints_into(context, job->msf, job->graph, arrays->u, arrays->v,
                                arrays->weights);
}

static dzo_forest describe_forest(const msf_job *job, const forest_arrays *arrays) {
  return (dzo_forest){.vertices = dzo_msf_vertices(job->msf),
                      .count = dzo_msf_count(job->msf),
                      .numbers = dzo_msf_edges(job->msf),
                      .u = arrays->u,
                      .v = arrays->v,
                      .weight_type = job->weight_type,
                      .weights = arrays->weights,
                      .components = dzo_msf_components(job->msf),
                      .component_of = dzo_msf_component_of(job->msf),
                      .labels = job->labels,
                      .first_label = job->first_label};
}

static dzo_status write_files(const msf_job *job, forest_arrays *arrays, msf_names *names) {
  const msf_settings *s = job->settings;
  dzo_context *context = job->call->context;
  dzo_forest_format format = DZO_FOREST_EDGES;
  dzo_status status = dzo_forest_format_from_name(s->output_format, &format);
  if (status == DZO_OK && s->output != NULL && format != DZO_FOREST_NPY)
    status = fill_arrays(job, arrays);
  dzo_forest forest = describe_forest(job, arrays);
  if (status == DZO_OK && job->streamed)
    status = msf_order_by_name(context, &forest, arrays->u, arrays->v, names);
  if (status == DZO_OK && s->output != NULL)
    status = dzo_forest_write(context, &forest, format, s->output);
  if (status == DZO_OK && s->components != NULL)
    status = dzo_components_write(context, &forest, s->components);
  return status;
}

static cli_exit write_output(msf_job *job) {
  if (job->settings->output == NULL && job->settings->components == NULL)
    return CLI_DONE;
  double begun = cli_now();
  forest_arrays arrays = {NULL, NULL, NULL};
  msf_names names = {NULL, NULL, NULL, NULL};
  dzo_status status = write_files(job, &arrays, &names);
  msf_names_release(&names);
  dzo_free(arrays.u);
  dzo_free(arrays.v);
  dzo_free(arrays.weights);
  job->times.write = cli_now() - begun;
  return status == DZO_OK ? CLI_DONE : cli_fail(job->call, status, CLI_FAILED);
}

/* ---- The command -------------------------------------------------------------------------------
 */

static cli_exit perform(msf_job *job) {
  double begun = cli_now();
  cli_exit result = check_usage(job);
  if (result != CLI_DONE)
    return result;
  job->call->progress.file_bytes = cli_file_size(job->path);
  job->streamed = job->settings->stream || msf_should_stream(job);
  result = job->streamed ? msf_solve_stream(job) : solve_in_memory(job);
  if (result == CLI_DONE && job->settings->common.verify)
    result = verify(job);
  if (result == CLI_DONE)
    result = write_output(job);
  if (result != CLI_DONE)
    return result;
  job->times.total = cli_now() - begun;
  cli_progress_clear(&job->call->progress);
  msf_report(job);
  return CLI_DONE;
}

static cli_exit run(cli_call *call) {
  msf_job job = {.call = call, .settings = call->settings, .path = call->operands[0]};
  cli_exit result = perform(&job);
  dzo_msf_destroy(job.msf);
  dzo_graph_destroy(job.graph);
  dzo_edge_list_destroy(job.list);
  if (job.source_open && job.source.close != NULL)
    job.source.close(job.source.user);
  return result;
}

#define SETTING(member) .offset = offsetof(msf_settings, member)

static const char *const forest_formats[] = {"edges", "graphhpc", "mtx", "npy", NULL};

static const cli_option options[] = {
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = cli_formats,
     .initial = "auto",
     SETTING(format),
     .help = "Format of GRAPH. auto finds it by content, never by suffix."},
    {.name = "maximum",
     .kind = CLI_FLAG,
     SETTING(maximum),
     .help = "The maximum spanning forest instead of the minimum."},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_FILE,
     .argument = "FILE",
     SETTING(output),
     .help = "Write the forest to FILE, or with - to standard output; the report then goes to "
             "standard error."},
    {.name = "output-format",
     .kind = CLI_CHOICE,
     .choices = forest_formats,
     .initial = "edges",
     SETTING(output_format),
     .help = "How the forest is written. edges: lines `edge u v weight`, edges numbered from 0 as "
             "they stand in GRAPH, vertices by their names there; graphhpc: the contest's .mst; "
             "mtx: a symmetric Matrix Market matrix; npy: the edge numbers as a NumPy array of "
             "uint64."},
    {.name = "components",
     .kind = CLI_FILE,
     .argument = "FILE",
     SETTING(components),
     .help = "Write the tree of each vertex to FILE: lines `vertex tree`, or an array of uint32 "
             "where FILE ends in .npy."},
    {.name = "stream",
     .kind = CLI_FLAG,
     SETTING(stream),
     .help = "Read the edges once, in pieces, and keep only the running forest; happens by itself "
             "when the graph would not fit --memory. The forest is the same."},
    {.name = "sort",
     .kind = CLI_FLAG,
     SETTING(sort),
     .help = "Sort each vertex's edges by weight before solving, as a repeated solver would."},
    {.name = NULL}};

static const char *const examples[] = {"dzo msf roads.gr.gz", "dzo msf roads.gr.gz --json --verify",
                                       "dzo msf web.txt -o forest.txt --components trees.txt",
                                       "zcat huge.mtx.gz | dzo msf - --stream --memory 4G", NULL};

const cli_command cli_msf_command = {
    .name = "msf",
    .summary = "Find the minimum spanning forest of a graph",
    .operands = {{.name = "GRAPH",
                  .help = "The graph file, or - for standard input; gzip and zstd are unpacked."}},
    .options = options,
    .settings_size = sizeof(msf_settings),
    .examples = examples,
    .run = run};
