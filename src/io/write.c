/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/write.h"

#include <string.h>

#include "base/context.h"
#include "base/parallel.h"
#include "io/numeral.h"

static const dzo_writer *const writers[] = {
    &dzo_writer_mtx,    &dzo_writer_dimacs, &dzo_writer_snap,     &dzo_writer_csv,
    &dzo_writer_konect, &dzo_writer_metis,  &dzo_writer_graphhpc, &dzo_writer_egr,
    &dzo_writer_gap,    &dzo_writer_galois, &dzo_writer_dzo,
};

static dzo_status find_writer(dzo_context *context, dzo_format format, const dzo_writer **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
    if (writers[i]->format == format) {
      *out = writers[i];
      return DZO_OK;
    }
  return dzo_fail(context, DZO_E_ARGUMENT, "no writer for format %d (%s)", (int)format,
                  dzo_format_name(format));
}

dzo_status dzo_write_edges_with(dzo_context *context, const dzo_edges *edges,
                                const dzo_writer *writer, const char *path) {
  if (writer->check_edges != NULL)
    DZO_TRY(writer->check_edges(context, edges));
  dzo_output *output;
  DZO_TRY(dzo_output_open(context, path, &output));
  return dzo_output_close(output, writer->edges(context, edges, output));
}

static dzo_status write_graph_with(dzo_context *context, const dzo_graph *graph,
                                   const dzo_writer *writer, const char *path) {
  if (writer->check_graph != NULL)
    DZO_TRY(writer->check_graph(context, graph));
  dzo_output *output;
  DZO_TRY(dzo_output_open(context, path, &output));
  return dzo_output_close(output, writer->graph(context, graph, output));
}

dzo_status dzo_edges_write(dzo_context *context, const dzo_edges *edges, dzo_format format,
                           const char *path) {
  dzo_begin(context);
  if (path == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no path was given (NULL)");
  const dzo_writer *writer;
  DZO_TRY(find_writer(context, format, &writer));
  DZO_TRY(dzo_edges_check(context, edges));
  if (writer->edges != NULL)
    return dzo_write_edges_with(context, edges, writer, path);
  dzo_graph *graph;
  DZO_TRY(dzo_graph_from_edges(context, edges, &graph));
  dzo_status status = write_graph_with(context, graph, writer, path);
  dzo_graph_destroy(graph);
  return status;
}

dzo_status dzo_graph_write(dzo_context *context, const dzo_graph *graph, dzo_format format,
                           const char *path) {
  dzo_begin(context);
  if (path == NULL || graph == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no %s was given (NULL)",
                    path == NULL ? "path" : "graph");
  const dzo_writer *writer;
  DZO_TRY(find_writer(context, format, &writer));
  if (writer->graph != NULL && graph->row_order == DZO_ROWS_IN_NO_ORDER)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "sorting the rows was cancelled: sort them before the graph is written");
  if (writer->graph != NULL)
    return write_graph_with(context, graph, writer, path);
  dzo_edge_list *list;
  DZO_TRY(dzo_graph_to_edge_list(context, graph, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  dzo_status status = dzo_write_edges_with(context, &edges, writer, path);
  dzo_edge_list_destroy(list);
  return status;
}

/* ---- What formats cannot hold ---------------------------------------------------------------- */

dzo_weight dzo_edges_weight(const dzo_edges *edges, uint64_t i) {
  return dzo_weight_of_pattern(edges->weight_type,
                               dzo_weight_pattern(edges->weight_type, edges->weights, i));
}

bool dzo_weight_as_i64(dzo_weight_type type, dzo_weight weight, int64_t *value) {
  switch (type) {
  case DZO_WEIGHT_NONE:
  case DZO_WEIGHT_U32:
  case DZO_WEIGHT_U64:
    *value = (int64_t)weight.u64;
    return weight.u64 <= INT64_MAX;
  case DZO_WEIGHT_I64:
    *value = weight.i64;
    return true;
  case DZO_WEIGHT_F32:
  case DZO_WEIGHT_F64:
    if (!(weight.f64 >= -0x1p63 && weight.f64 < 0x1p63))
      return false;
    *value = (int64_t)weight.f64;
    return (double)*value >= weight.f64 && (double)*value <= weight.f64;
  }
  return false;
}

double dzo_weight_as_f64(dzo_weight_type type, dzo_weight weight) {
  switch (type) {
  case DZO_WEIGHT_NONE:
  case DZO_WEIGHT_U32:
  case DZO_WEIGHT_U64:
    return (double)weight.u64;
  case DZO_WEIGHT_I64:
    return (double)weight.i64;
  case DZO_WEIGHT_F32:
  case DZO_WEIGHT_F64:
    return weight.f64;
  }
  return 0;
}

dzo_status dzo_fail_weight(dzo_context *context, dzo_format format, const char *reason,
                           uint64_t number, dzo_weight_type type, dzo_weight weight) {
  char text[DZO_NUMERAL_MAX + 1], *end;
  if (type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64)
    end = dzo_put_f64(text, weight.f64);
  else if (type == DZO_WEIGHT_I64)
    end = dzo_put_i64(text, weight.i64);
  else
    end = dzo_put_u64(text, weight.u64);
  *end = '\0';
  return dzo_fail(context, DZO_E_UNSUPPORTED, "the %s format holds %s: edge %llu has weight %s",
                  dzo_format_name(format), reason, (unsigned long long)number, text);
}

typedef struct find_job {
  bool (*bad)(const void *argument, uint64_t i);
  const void *argument;
  uint64_t first; /* accessed atomically */
} find_job;

static void find_in_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  find_job *job = argument;
  if (begin >= dzo_load_u64(&job->first))
    return;
  for (uint64_t i = begin; i < end; i++)
    if (job->bad(job->argument, i)) {
      dzo_min_u64(&job->first, i);
      return;
    }
}

uint64_t dzo_find_first(dzo_context *context, uint64_t count,
                        bool (*bad)(const void *argument, uint64_t i), const void *argument) {
  find_job job = {bad, argument, count};
  dzo_parallel_for(context->threads, count, 1 << 16, find_in_range, &job);
  return job.first;
}
