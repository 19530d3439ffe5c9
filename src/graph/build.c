/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Building CSR: the arcs are dealt out to buckets of rows (partition.c), then each bucket is put in
 * order in cache (row_sort.c). Memory beyond the graph: 2 bytes an arc, and per thread 24 bytes an
 * arc of the largest bucket it handles, which is well below 10 MB unless a few vertices have most
 * of the arcs. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "graph/partition.h"
#include "graph/row_sort.h"

enum { REPORT = 16 };

typedef struct order_job {
  dzo_context *context;
  dzo_graph *graph;
  const dzo_partition *partition;
  dzo_row_sorter *sorters; /* [threads] */
  int status;              /* the first failure; accessed atomically */
} order_job;

static dzo_status order_bucket(dzo_graph *g, const dzo_partition *p, uint64_t bucket,
                               dzo_row_sorter *sorter) {
  uint64_t begin = p->bucket_offsets[bucket], end = p->bucket_offsets[bucket + 1];
  uint64_t first_row = bucket << p->shift, row_count = UINT64_C(1) << p->shift;
  if (row_count > g->vertices - first_row)
    row_count = g->vertices - first_row;
  DZO_TRY(dzo_rows_begin(sorter, end - begin));
  dzo_rows_by_u32(sorter, g->neighbours + begin);
  dzo_rows_place(sorter, p->rows + begin, row_count);
  for (uint64_t r = 0; r < row_count; r++)
    g->offsets[first_row + r + 1] = begin + sorter->row_ends[r];
  dzo_rows_apply_u32(sorter, g->neighbours + begin);
  dzo_rows_apply_u32(sorter, g->keys32 != NULL ? g->keys32 + begin : NULL);
  dzo_rows_apply_u64(sorter, g->keys64 != NULL ? g->keys64 + begin : NULL);
  dzo_rows_apply_u32(sorter, g->numbers32 != NULL ? g->numbers32 + begin : NULL);
  dzo_rows_apply_u64(sorter, g->numbers64 != NULL ? g->numbers64 + begin : NULL);
  return DZO_OK;
}

static void report_ordering(const order_job *job, uint64_t bucket) {
  uint64_t share = (DZO_BUILD_DONE - DZO_BUILD_DEALT) * bucket / job->partition->buckets;
  (void)dzo_progress(job->context, "build", DZO_BUILD_DEALT + share, DZO_BUILD_DONE);
}

static void order_buckets(void *argument, uint64_t begin, uint64_t end, int thread) {
  order_job *job = argument;
  for (uint64_t b = begin; b < end; b++) {
    if (dzo_is_cancelled(job->context) || __atomic_load_n(&job->status, __ATOMIC_RELAXED) != 0)
      return;
    if (thread == 0 && b % REPORT == 0)
      report_ordering(job, b);
    dzo_status status = order_bucket(job->graph, job->partition, b, &job->sorters[thread]);
    if (status != DZO_OK)
      __atomic_store_n(&job->status, (int)status, __ATOMIC_RELAXED);
  }
}

static dzo_status order_all(dzo_context *context, dzo_graph *g, const dzo_partition *partition) {
  int threads = context->threads;
  order_job job = {.context = context, .graph = g, .partition = partition};
  job.sorters = dzo_calloc(context, (uint64_t)threads, sizeof *job.sorters);
  if (job.sorters == NULL)
    return DZO_E_MEMORY;
  for (int t = 0; t < threads; t++)
    job.sorters[t].context = context;
  g->offsets[0] = 0;
  dzo_parallel_for(threads, partition->buckets, 1, order_buckets, &job);
  for (int t = 0; t < threads; t++)
    dzo_row_sorter_free(&job.sorters[t]);
  dzo_free(job.sorters);
  DZO_TRY((dzo_status)job.status);
  return dzo_progress(context, "build", DZO_BUILD_DONE, DZO_BUILD_DONE);
}

static dzo_status copy_labels(dzo_context *context, const dzo_edges *edges, dzo_graph *g) {
  g->first_label = edges->first_label;
  if (edges->labels == NULL)
    return DZO_OK;
  g->labels = dzo_alloc(context, edges->vertices, sizeof *g->labels);
  if (g->labels == NULL)
    return DZO_E_MEMORY;
  if (edges->vertices > 0)
    memcpy(g->labels, edges->labels, edges->vertices * sizeof *g->labels);
  return DZO_OK;
}

static dzo_status fill(dzo_context *context, const dzo_edges *edges, dzo_graph *g) {
  g->context = context;
  g->vertices = edges->vertices;
  g->edges = edges->count;
  g->row_order = DZO_ROWS_BY_NEIGHBOUR;
  DZO_TRY(copy_labels(context, edges, g));
  DZO_TRY(dzo_weight_map_choose(context, edges, &g->map));
  dzo_partition partition;
  DZO_TRY(dzo_partition_run(context, edges, g, &partition));
  g->offsets = dzo_alloc(context, g->vertices + 1, sizeof *g->offsets);
  dzo_status status = g->offsets == NULL ? DZO_E_MEMORY : order_all(context, g, &partition);
  dzo_partition_free(&partition);
  return status;
}

dzo_status dzo_graph_from_edges(dzo_context *context, const dzo_edges *edges, dzo_graph **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no place for the graph (NULL)");
  *out = NULL;
  DZO_TRY(dzo_edges_check_shape(context, edges));
  dzo_graph *g = dzo_calloc(context, 1, sizeof *g);
  if (g == NULL)
    return DZO_E_MEMORY;
  dzo_status status = fill(context, edges, g);
  if (status != DZO_OK) {
    dzo_graph_destroy(g);
    return status;
  }
  *out = g;
  return DZO_OK;
}
