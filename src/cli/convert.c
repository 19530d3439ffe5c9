/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo convert: from one graph format to another, prepared on the way. */
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

typedef struct convert_settings {
  cli_common common;
  const char *format;
  const char *output_format;
  bool sort_by_weight, renumber, compress;
} convert_settings;

typedef struct convert_job {
  cli_call *call;
  const convert_settings *settings;
  const char *in, *out;
  dzo_format in_format, out_format;
  dzo_edge_list *list;
  dzo_graph *graph; /* only with a preparation, or into our own format */
  dzo_edges edges;
  uint64_t plain, stored;                     /* bytes of the neighbours */
  double read, prepare, write, verify, total; /* seconds */
} convert_job;

static bool needs_graph(const convert_job *job) {
  const convert_settings *s = job->settings;
  return s->sort_by_weight || s->renumber || s->compress || job->out_format == DZO_FORMAT_DZO;
}

static cli_exit check_usage(const convert_job *job) {
  const cli_common *common = job->call->common;
  if (strcmp(job->out, "-") != 0 || (!common->json && !common->verify))
    return CLI_DONE;
  cli_error("convert: --%s needs the graph in a file, not on standard output",
            common->json ? "json" : "verify");
  return CLI_USAGE;
}

static cli_exit read_edges(convert_job *job) {
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = cli_format(job->settings->format);
  job->call->progress.file_bytes = cli_file_size(job->in);
  double begun = cli_now();
  dzo_status status = dzo_edge_list_read(job->call->context, job->in, &options, &job->list);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_BAD_INPUT);
  job->in_format = dzo_edge_list_format(job->list);
  dzo_edge_list_view(job->list, &job->edges);
  job->read = cli_now() - begun;
  return CLI_DONE;
}

static cli_exit prepare(convert_job *job) {
  const convert_settings *s = job->settings;
  dzo_context *context = job->call->context;
  double begun = cli_now();
  dzo_status status = dzo_graph_from_edges(context, &job->edges, &job->graph);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_BAD_INPUT);
  if (status == DZO_OK && s->renumber)
    status = dzo_graph_renumber(context, job->graph);
  if (status == DZO_OK && s->sort_by_weight)
    status = dzo_graph_sort_rows(context, job->graph, DZO_ROWS_BY_WEIGHT);
  if (status == DZO_OK && s->compress)
    status = dzo_graph_compress(context, job->graph);
  if (status != DZO_OK)
    return cli_fail(job->call, status, CLI_FAILED);
  dzo_graph_neighbour_bytes(job->graph, &job->stored, &job->plain);
  job->prepare = cli_now() - begun;
  return CLI_DONE;
}

static cli_exit write_graph(convert_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = job->graph != NULL
                          ? dzo_graph_write(call->context, job->graph, job->out_format, job->out)
                          : dzo_edges_write(call->context, &job->edges, job->out_format, job->out);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_FAILED);
  double written = cli_now();
  job->write = written - begun;
  if (!call->common->verify)
    return CLI_DONE;
  cli_exit result =
      cli_check_written(call, &job->edges, job->out_format, job->out, job->settings->renumber);
  job->verify = cli_now() - written;
  return result;
}

static double ratio(uint64_t before, uint64_t after) {
  return after > 0 ? (double)before / (double)after : 1;
}

static void report_json(const convert_job *job) {
  cli_json json;
  cli_json_init(&json, stdout, false);
  cli_json_open_object(&json, NULL);
  cli_json_open_object(&json, "input");
  cli_json_text(&json, "file", job->in);
  cli_json_text(&json, "format", dzo_format_name(job->in_format));
  cli_json_count(&json, "bytes", cli_file_size(job->in));
  cli_json_close_object(&json);
  cli_json_open_object(&json, "output");
  cli_json_text(&json, "file", job->out);
  cli_json_text(&json, "format", dzo_format_name(job->out_format));
  cli_json_count(&json, "bytes", cli_file_size(job->out));
  cli_json_close_object(&json);
  cli_json_open_object(&json, "graph");
  cli_json_count(&json, "vertices", job->edges.vertices);
  cli_json_count(&json, "edges", job->edges.count);
  cli_json_text(&json, "weights", dzo_weight_type_name(job->edges.weight_type));
  cli_json_close_object(&json);
  if (job->graph != NULL) {
    cli_json_open_object(&json, "neighbours");
    cli_json_count(&json, "plain_bytes", job->plain);
    cli_json_count(&json, "stored_bytes", job->stored);
    cli_json_real(&json, "ratio", ratio(job->plain, job->stored));
    cli_json_close_object(&json);
  }
  cli_json_open_object(&json, "seconds");
  cli_json_seconds(&json, "read", job->read);
  cli_json_seconds(&json, "prepare", job->prepare);
  cli_json_seconds(&json, "write", job->write);
  cli_json_seconds(&json, "verify", job->verify);
  cli_json_seconds(&json, "total", job->total);
  cli_json_close_object(&json);
  if (job->call->common->verify)
    cli_json_flag(&json, "verified", true);
  else
    cli_json_null(&json, "verified");
  cli_json_close_object(&json);
}

static void report_text(const convert_job *job, FILE *out) {
  char plain[32], stored[32], in[32], written[32], total[32];
  cli_bytes_text(job->plain, plain);
  cli_bytes_text(job->stored, stored);
  cli_bytes_text(cli_file_size(job->in), in);
  cli_bytes_text(cli_file_size(job->out), written);
  cli_seconds_text(job->total, total);
  (void)fprintf(out, "input         %s (%s, %s)\n", job->in, dzo_format_name(job->in_format), in);
  (void)fprintf(out, "output        %s (%s, %s)\n", job->out, dzo_format_name(job->out_format),
                written);
  (void)fprintf(out, "vertices      %llu\nedges         %llu\n",
                (unsigned long long)job->edges.vertices, (unsigned long long)job->edges.count);
  if (job->settings->compress)
    (void)fprintf(out, "neighbours    %s instead of %s, ratio %.2f\n", stored, plain,
                  ratio(job->plain, job->stored));
  (void)fprintf(out, "time          %s\n", total);
  if (job->call->common->verify)
    (void)fputs("verified      the file reads back as the same graph\n", out);
}

static cli_exit perform(convert_job *job) {
  cli_call *call = job->call;
  double begun = cli_now();
  cli_exit result = read_edges(job);
  if (result == CLI_DONE && needs_graph(job))
    result = prepare(job);
  if (result == CLI_DONE)
    result = write_graph(job);
  if (result != CLI_DONE)
    return result;
  job->total = cli_now() - begun;
  cli_progress_clear(&call->progress);
  FILE *out = cli_report_stream(job->out);
  if (call->common->json)
    report_json(job);
  else if (out == stdout || !call->common->quiet)
    report_text(job, out);
  if (job->settings->compress && job->out_format != DZO_FORMAT_DZO)
    cli_note(call, "only the dzo format keeps compressed neighbours; %s was written without",
             dzo_format_name(job->out_format));
  return CLI_DONE;
}

static cli_exit run(cli_call *call) {
  convert_job job = {
      .call = call, .settings = call->settings, .in = call->operands[0], .out = call->operands[1]};
  cli_exit result = check_usage(&job);
  if (result == CLI_DONE)
    result = cli_output_format(call, "output-format", job.settings->output_format, job.out,
                               &job.out_format);
  if (result == CLI_DONE)
    result = perform(&job);
  dzo_graph_destroy(job.graph);
  dzo_edge_list_destroy(job.list);
  return result;
}

#define SETTING(member) .offset = offsetof(convert_settings, member)

static const cli_option options[] = {
    {.name = "format",
     .kind = CLI_CHOICE,
     .choices = cli_formats,
     .initial = "auto",
     SETTING(format),
     .help = "Format of IN. auto finds it by content, never by suffix."},
    {.name = "output-format",
     .kind = CLI_CHOICE,
     .choices = cli_formats,
     .initial = "auto",
     SETTING(output_format),
     .help = "Format of OUT. auto goes by the suffix of OUT, and is mtx for standard output."},
    {.name = "sort-by-weight",
     .kind = CLI_FLAG,
     SETTING(sort_by_weight),
     .help = "Order each vertex's edges by weight; adjacency formats and dzo keep that."},
    {.name = "renumber",
     .kind = CLI_FLAG,
     SETTING(renumber),
     .help = "Give linked vertices near numbers, for speed and compression."},
    {.name = "compress",
     .kind = CLI_FLAG,
     SETTING(compress),
     .help = "Compress the neighbours, and report by how much; only dzo keeps that."},
    {.name = NULL}};

static const char *const examples[] = {
    "dzo convert web.txt.gz web.mtx",
    "dzo convert roads.gr roads.dzo --renumber --sort-by-weight --compress",
    "dzo convert graph.mtx - --output-format snap", NULL};

const cli_command cli_convert_command = {
    .name = "convert",
    .summary = "Convert a graph to another format, sorted, renumbered or compressed if wanted",
    .operands = {{.name = "IN",
                  .help = "The graph file, or - for standard input; gzip and zstd are unpacked."},
                 {.name = "OUT",
                  .help = "The file to write, or - for standard output. It appears only when it is "
                          "complete."}},
    .options = options,
    .settings_size = sizeof(convert_settings),
    .examples = examples,
    .run = run};
