/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/row_sort.h"

enum {
  REPORT = 16,
  GROUP_UNITS = 1 << 15, /* arcs + rows of a group */
  LARGE = 1 << 18        /* groups of more arcs take turns, so that one scratch serves them all */
};

/* The first row r with offsets[r] + r >= units. */
static uint64_t first_row(const dzo_graph *g, uint64_t units) {
  uint64_t low = 0, high = g->vertices;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (g->offsets[middle] + middle >= units)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

uint64_t dzo_row_group_count(const dzo_graph *g) {
  return (g->arcs + g->vertices) / GROUP_UNITS + 1;
}

dzo_row_group dzo_row_group_at(const dzo_graph *g, uint64_t group) {
  return (dzo_row_group){first_row(g, group * GROUP_UNITS),
                         first_row(g, (group + 1) * GROUP_UNITS)};
}

static uint64_t group_arcs(const dzo_graph *g, dzo_row_group group) {
  return g->offsets[group.last] - g->offsets[group.first];
}

void dzo_row_group_number(const dzo_graph *g, dzo_row_group group, dzo_row_sorter *sorter) {
  uint64_t begin = g->offsets[group.first];
  for (uint64_t r = group.first; r < group.last; r++)
    for (uint64_t arc = g->offsets[r]; arc < g->offsets[r + 1]; arc++)
      sorter->rows[arc - begin] = (uint16_t)(r - group.first);
}

typedef struct sort_job {
  dzo_context *context;
  dzo_graph *graph;
  dzo_row_order order;
  dzo_row_sorter *sorters; /* [threads] */
  uint64_t groups;
  uint64_t large_groups; /* left out; accessed atomically */
} sort_job;

/* Least significant criterion first. Where the rows are ordered by neighbour already, their order
 * settles the ties. */
static void sort_stages(dzo_row_sorter *s, const dzo_graph *g, uint64_t begin,
                        dzo_row_order order) {
  if (order == DZO_ROWS_BY_NEIGHBOUR || g->row_order != DZO_ROWS_BY_NEIGHBOUR) {
    if (g->numbers32 != NULL)
      dzo_rows_by_u32(s, g->numbers32 + begin);
    else
      dzo_rows_by_u64(s, g->numbers64 + begin);
    dzo_rows_by_u32(s, g->neighbours + begin);
  }
  if (order == DZO_ROWS_BY_WEIGHT && g->keys32 != NULL)
    dzo_rows_by_u32(s, g->keys32 + begin);
  if (order == DZO_ROWS_BY_WEIGHT && g->keys64 != NULL)
    dzo_rows_by_u64(s, g->keys64 + begin);
}

/* Room is reserved, so that this cannot fail. */
static void sort_group(const sort_job *job, dzo_row_group group, dzo_row_sorter *s) {
  dzo_graph *g = job->graph;
  uint64_t begin = g->offsets[group.first];
  (void)dzo_rows_begin(s, group_arcs(g, group));
  dzo_row_group_number(g, group, s);
  sort_stages(s, g, begin, job->order);
  dzo_rows_place(s, s->rows, group.last - group.first);
  dzo_rows_apply_u32(s, g->neighbours + begin);
  dzo_rows_apply_u32(s, g->keys32 != NULL ? g->keys32 + begin : NULL);
  dzo_rows_apply_u64(s, g->keys64 != NULL ? g->keys64 + begin : NULL);
  dzo_rows_apply_u32(s, g->numbers32 != NULL ? g->numbers32 + begin : NULL);
  dzo_rows_apply_u64(s, g->numbers64 != NULL ? g->numbers64 + begin : NULL);
}

static void sort_groups(void *argument, uint64_t begin, uint64_t end, int thread) {
  sort_job *job = argument;
  for (uint64_t i = begin; i < end && !dzo_is_cancelled(job->context); i++) {
    if (thread == 0 && i % REPORT == 0)
      (void)dzo_progress(job->context, "sort", i, job->groups);
    dzo_row_group group = dzo_row_group_at(job->graph, i);
    uint64_t arcs = group_arcs(job->graph, group);
    if (arcs > LARGE)
      dzo_fetch_add_u64(&job->large_groups, 1);
    else if (arcs > 0)
      sort_group(job, group, &job->sorters[thread]);
  }
}

static void sort_large_groups(sort_job *job, uint64_t groups) {
  for (uint64_t i = 0; i < groups && !dzo_is_cancelled(job->context); i++) {
    dzo_row_group group = dzo_row_group_at(job->graph, i);
    if (group_arcs(job->graph, group) > LARGE)
      sort_group(job, group, &job->sorters[0]);
  }
}

static uint64_t largest_group(const dzo_graph *g, uint64_t groups) {
  uint64_t largest = 0;
  for (uint64_t i = 0; i < groups; i++) {
    uint64_t arcs = group_arcs(g, dzo_row_group_at(g, i));
    largest = arcs > largest ? arcs : largest;
  }
  return largest;
}

static dzo_status sort_all(sort_job *job) {
  dzo_context *context = job->context;
  uint64_t groups = job->groups, largest = largest_group(job->graph, groups);
  for (int t = 0; t < context->threads; t++) {
    job->sorters[t].context = context;
    DZO_TRY(dzo_rows_reserve(&job->sorters[t], t > 0 && largest > LARGE ? LARGE : largest));
  }
  dzo_parallel_for(context->threads, groups, 1, sort_groups, job);
  if (job->large_groups > 0)
    sort_large_groups(job, groups);
  return dzo_progress(context, "sort", groups, groups);
}

dzo_status dzo_graph_order_rows(dzo_context *context, dzo_graph *graph, dzo_row_order order) {
  sort_job job = {
      .context = context, .graph = graph, .order = order, .groups = dzo_row_group_count(graph)};
  job.sorters = dzo_calloc(context, (uint64_t)context->threads, sizeof *job.sorters);
  if (job.sorters == NULL)
    return DZO_E_MEMORY;
  dzo_status status = sort_all(&job);
  for (int t = 0; t < context->threads; t++)
    dzo_row_sorter_free(&job.sorters[t]);
  dzo_free(job.sorters);
  return status;
}

dzo_status dzo_graph_sort_rows(dzo_context *context, dzo_graph *graph, dzo_row_order order) {
  dzo_begin(context);
  if (graph == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no graph was given (NULL)");
  if (order != DZO_ROWS_BY_NEIGHBOUR && order != DZO_ROWS_BY_WEIGHT)
    return dzo_fail(context, DZO_E_ARGUMENT, "there is no row order %d", (int)order);
  if (graph->compressed != NULL)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "the rows of a compressed graph cannot be sorted");
  if (graph->row_order == order)
    return DZO_OK;
  dzo_graph_evict(graph);
  dzo_status status = dzo_graph_order_rows(context, graph, order);
  if (status == DZO_OK)
    graph->row_order = order;
  else if (status == DZO_E_CANCELLED)
    graph->row_order = DZO_ROWS_IN_NO_ORDER;
  return status;
}
