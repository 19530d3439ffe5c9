/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo msf: from a file to a graph in memory, or to a stream of edges. */
#include "base/context.h"
#include "cli/msf.h"
#include "graph/csr.h"
#include "io/reader.h"

/* Bytes of memory for an edge, rather too many than too few: 16 to 24 in the list, 24 to 32 in its
 * two rows, and the solver's. A stored graph is not listed first. */
enum { EDGE_MEMORY = 64, STORED_EDGE_MEMORY = 40 };
/* Bytes of a file for an edge, rather too few than too many. Text can be packed to a sixth. */
enum { ROW_TEXT_EDGE = 8, BINARY_EDGE = 16, PACKED_FACTOR = 6, LEAST_LINE = 4 };

typedef struct peek {
  dzo_format format; /* AUTO: nobody knows */
  bool packed;
  double edge_bytes; /* of the file, for an edge */
} peek;

/* The mean length of the lines at the head, of which each is an edge or longer than one. */
static double mean_line(const dzo_input *input) {
  size_t size, lines = 0;
  const unsigned char *head = dzo_input_head(input, &size);
  for (size_t i = 0; i < size; i++)
    lines += head[i] == '\n';
  double mean = lines > 0 ? (double)size / (double)lines : LEAST_LINE;
  return mean > LEAST_LINE ? mean : LEAST_LINE;
}

static double edge_bytes(const dzo_input *input, const dzo_reader *reader) {
  if (reader == NULL || !reader->text)
    return reader == NULL ? LEAST_LINE : BINARY_EDGE;
  return reader->format == DZO_FORMAT_METIS ? ROW_TEXT_EDGE : mean_line(input);
}

/* Look at the head of a file; what is wrong with it will be told by the reader. */
static peek peek_at(const msf_job *job) {
  peek seen = {.format = cli_format(job->settings->format), .edge_bytes = LEAST_LINE};
  dzo_input *input;
  if (cli_reads_once(job->path) ||
      dzo_input_open(job->call->context, job->path, DZO_INPUT_STREAM, &input) != DZO_OK)
    return seen;
  const dzo_reader *reader = dzo_reader_of(seen.format);
  if (reader == NULL && dzo_reader_detect(job->call->context, input, &reader) != DZO_OK)
    reader = NULL;
  if (reader != NULL)
    seen.format = reader->format;
  seen.packed = !dzo_input_is_random(input);
  seen.edge_bytes = edge_bytes(input, reader);
  dzo_input_close(input);
  return seen;
}

bool msf_should_stream(msf_job *job) {
  double memory = (double)job->call->context->memory;
  double size = (double)cli_file_size(job->path);
  /* What is small in any case needs no look. */
  if (size * PACKED_FACTOR / LEAST_LINE * EDGE_MEMORY <= memory)
    return false;
  peek seen = peek_at(job);
  double edges = size * (seen.packed ? PACKED_FACTOR : 1) / seen.edge_bytes;
  double needed = edges * (seen.format == DZO_FORMAT_DZO ? STORED_EDGE_MEMORY : EDGE_MEMORY);
  if (needed <= memory)
    return false;
  char wanted[32], there[32];
  cli_bytes_text((uint64_t)needed, wanted);
  cli_bytes_text((uint64_t)memory, there);
  cli_note(job->call, "%s: may take %s in memory and %s is planned for, so it is streamed",
           job->path, wanted, there);
  return true;
}

cli_exit msf_fail(msf_job *job, dzo_status status, cli_exit otherwise) {
  cli_exit result = cli_fail(job->call, status, otherwise);
  if (status == DZO_E_MEMORY && !job->streamed)
    cli_note(job->call, "--stream takes memory for the forest alone");
  return result;
}

/* A graph that was stored as prepared keeps its preparation. */
static cli_exit load_stored(msf_job *job, const dzo_read_options *options) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = dzo_graph_read(call->context, job->path, options, &job->graph);
  if (status != DZO_OK)
    return msf_fail(job, status, CLI_BAD_INPUT);
  job->times.read = cli_now() - begun;
  job->format = DZO_FORMAT_DZO;
  return CLI_DONE;
}

static cli_exit load_edges(msf_job *job, const dzo_read_options *options) {
  cli_call *call = job->call;
  double begun = cli_now();
  dzo_status status = dzo_edge_list_read(call->context, job->path, options, &job->list);
  if (status != DZO_OK)
    return msf_fail(job, status, CLI_BAD_INPUT);
  double read = cli_now();
  job->times.read = read - begun;
  job->format = dzo_edge_list_format(job->list);
  dzo_edges edges;
  dzo_edge_list_view(job->list, &edges);
  status = dzo_graph_from_edges(call->context, &edges, &job->graph);
  if (status != DZO_OK)
    return msf_fail(job, status, CLI_BAD_INPUT);
  job->times.build = cli_now() - read;
  if (!call->common->verify) {
    dzo_edge_list_destroy(job->list);
    job->list = NULL;
  }
  return CLI_DONE;
}

static cli_exit sort_rows(msf_job *job) {
  double begun = cli_now();
  dzo_status status = dzo_graph_sort_rows(job->call->context, job->graph, DZO_ROWS_BY_WEIGHT);
  if (status != DZO_OK)
    return msf_fail(job, status, CLI_FAILED);
  job->times.sort = cli_now() - begun;
  return CLI_DONE;
}

cli_exit msf_load(msf_job *job) {
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = cli_format(job->settings->format);
  cli_exit result = peek_at(job).format == DZO_FORMAT_DZO ? load_stored(job, &options)
                                                          : load_edges(job, &options);
  if (result != CLI_DONE)
    return result;
  job->weight_type = dzo_graph_weight_type(job->graph);
  job->vertices = dzo_graph_vertices(job->graph);
  job->labels = job->graph->labels;
  job->first_label = job->graph->first_label;
  return job->settings->sort ? sort_rows(job) : CLI_DONE;
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Hands chunks through, and keeps what the report and the output need. */
static dzo_status next_chunk(void *user, dzo_context *context, dzo_edges *chunk) {
  msf_job *job = user;
  double begun = cli_now();
  dzo_status status = job->source.next(job->source.user, context, chunk);
  job->times.read += cli_now() - begun;
  if (status != DZO_OK)
    return status;
  job->weight_type = chunk->weight_type;
  job->vertices = chunk->vertices;
  job->first_label = chunk->first_label;
  if (chunk->labels != NULL)
    job->labels = chunk->labels;
  return DZO_OK;
}

cli_exit msf_solve_stream(msf_job *job) {
  cli_call *call = job->call;
  job->format = peek_at(job).format;
  dzo_read_options options;
  dzo_read_options_init(&options);
  options.format = cli_format(job->settings->format);
  double begun = cli_now();
  dzo_status status = dzo_edge_source_open(call->context, job->path, &options, &job->source);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_BAD_INPUT);
  job->times.read = cli_now() - begun;
  job->source_open = true;
  dzo_msf_options solve;
  dzo_msf_options_init(&solve);
  solve.maximum = job->settings->maximum;
  dzo_edge_source source = {.user = job, .next = next_chunk};
  status = dzo_msf_stream(call->context, &source, &solve, &job->msf);
  if (status != DZO_OK)
    return cli_fail(call, status, CLI_BAD_INPUT);
  job->times.solve = cli_now() - begun - job->times.read;
  cli_tell_notice(call);
  return CLI_DONE;
}
