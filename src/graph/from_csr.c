/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A caller's CSR becomes a graph by way of its edges; a symmetric one is compared with the result,
 * row by row. */
#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/csr.h"
#include "graph/edge_list.h"

enum { GRAIN = 1 << 12 };

static dzo_status check_offsets(dzo_context *context, const dzo_csr *csr) {
  if (csr == NULL || csr->offsets == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no CSR was given (NULL)");
  if (csr->vertices > UINT32_MAX)
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu vertices are more than 2^32 - 1",
                    (unsigned long long)csr->vertices);
  if (csr->offsets[0] != 0)
    return dzo_fail(context, DZO_E_ARGUMENT, "the first offset is %llu, not 0",
                    (unsigned long long)csr->offsets[0]);
  for (uint64_t r = 0; r < csr->vertices; r++)
    if (csr->offsets[r] > csr->offsets[r + 1])
      return dzo_fail(context, DZO_E_ARGUMENT, "offset %llu is less than the one before",
                      (unsigned long long)r + 1);
  if (csr->offsets[csr->vertices] > 0 && csr->neighbours == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu entries without neighbours (NULL)",
                    (unsigned long long)csr->offsets[csr->vertices]);
  return DZO_OK;
}

/* ---- The edges ------------------------------------------------------------------------------- */

typedef struct list_job {
  const dzo_context *context;
  const dzo_csr *csr;
  uint64_t *starts; /* [vertices + 1] first edge of each row */
  uint32_t *u, *v;
  void *weights;
  uint64_t *numbers;
} list_job;

static void list_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const list_job *job = argument;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t r = begin; r < end; r++)
    for (uint64_t i = job->csr->offsets[r]; i < job->csr->offsets[r + 1]; i++)
      job->u[i] = (uint32_t)r;
}

static dzo_status build_general(dzo_context *context, const dzo_csr *csr, dzo_graph **out) {
  uint64_t entries = csr->offsets[csr->vertices];
  list_job job = {.context = context, .csr = csr};
  job.u = dzo_alloc(context, entries, sizeof *job.u);
  if (job.u == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, csr->vertices, GRAIN, list_rows, &job);
  dzo_edges edges = {.vertices = csr->vertices,
                     .count = entries,
                     .u = job.u,
                     .v = csr->neighbours,
                     .weight_type = csr->weight_type,
                     .weights = csr->weights};
  dzo_status status = dzo_graph_from_edges(context, &edges, out);
  dzo_free(job.u);
  return status;
}

/* Entries of the upper triangle, loops included. */
static void count_upper(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const list_job *job = argument;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t r = begin; r < end; r++) {
    uint64_t count = 0;
    for (uint64_t i = job->csr->offsets[r]; i < job->csr->offsets[r + 1]; i++)
      count += job->csr->neighbours[i] >= r;
    job->starts[r] = count;
  }
}

static void list_upper(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const list_job *job = argument;
  const dzo_csr *csr = job->csr;
  size_t width = dzo_weight_bytes(csr->weight_type);
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t r = begin; r < end; r++) {
    uint64_t to = job->starts[r];
    for (uint64_t i = csr->offsets[r]; i < csr->offsets[r + 1]; i++) {
      if (csr->neighbours[i] < r)
        continue;
      job->u[to] = (uint32_t)r;
      job->v[to] = csr->neighbours[i];
      job->numbers[to] = i;
      if (width > 0)
        memcpy((char *)job->weights + to * width, (const char *)csr->weights + i * width, width);
      to++;
    }
  }
}

static void list_free(list_job *job) {
  dzo_free(job->starts);
  dzo_free(job->u);
  dzo_free(job->v);
  dzo_free(job->weights);
  dzo_free(job->numbers);
}

static dzo_status make_upper(dzo_context *context, const dzo_csr *csr, list_job *job,
                             dzo_edges *edges) {
  size_t width = dzo_weight_bytes(csr->weight_type);
  if (width > 0 && csr->weights == NULL && csr->offsets[csr->vertices] > 0)
    return dzo_fail(context, DZO_E_ARGUMENT, "weights of type %s need an array",
                    dzo_weight_type_name(csr->weight_type));
  job->starts = dzo_alloc(context, csr->vertices, sizeof *job->starts);
  if (job->starts == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, csr->vertices, GRAIN, count_upper, job);
  DZO_TRY(dzo_progress(context, "build", 0, 0));
  uint64_t sum = 0;
  for (uint64_t r = 0; r < csr->vertices; r++) {
    uint64_t count = job->starts[r];
    job->starts[r] = sum;
    sum += count;
  }
  job->u = dzo_alloc(context, sum, sizeof *job->u);
  job->v = dzo_alloc(context, sum, sizeof *job->v);
  job->numbers = dzo_alloc(context, sum, sizeof *job->numbers);
  if (width > 0)
    job->weights = dzo_alloc(context, sum, width);
  if (job->u == NULL || job->v == NULL || job->numbers == NULL ||
      (width > 0 && job->weights == NULL))
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, csr->vertices, GRAIN, list_upper, job);
  *edges = (dzo_edges){.vertices = csr->vertices,
                       .count = sum,
                       .u = job->u,
                       .v = job->v,
                       .weight_type = csr->weight_type,
                       .weights = job->weights,
                       .numbers = job->numbers};
  return dzo_progress(context, "build", 0, 0);
}

/* ---- Symmetry -------------------------------------------------------------------------------- */

/* An entry of the lower triangle as it should be or as it is. */
typedef struct lower_entry {
  uint32_t neighbour;
  uint64_t pattern;
  uint64_t position; /* of the entry, or of its twin in the upper triangle */
} lower_entry;

typedef struct twin_job {
  dzo_context *context;
  const dzo_csr *csr;
  const dzo_graph *graph;
  struct twin_scratch {
    lower_entry *entries; /* two rows */
    uint64_t capacity;
  } * scratch;    /* [threads] */
  uint64_t alone; /* least entry without a twin; accessed atomically */
  int failed;     /* accessed atomically */
} twin_job;

static int order_entries(const lower_entry *a, const lower_entry *b) {
  if (a->neighbour != b->neighbour)
    return a->neighbour < b->neighbour ? -1 : 1;
  return (a->pattern > b->pattern) - (a->pattern < b->pattern);
}

static int compare_entries(const void *a, const void *b) {
  const lower_entry *x = a, *y = b;
  int order = order_entries(x, y);
  return order != 0 ? order : (x->position > y->position) - (x->position < y->position);
}

static uint64_t entries_found(const twin_job *job, uint64_t row, lower_entry *out) {
  const dzo_csr *csr = job->csr;
  uint64_t count = 0;
  for (uint64_t i = csr->offsets[row]; i < csr->offsets[row + 1]; i++)
    if (csr->neighbours[i] < row)
      out[count++] = (lower_entry){csr->neighbours[i],
                                   dzo_weight_pattern(csr->weight_type, csr->weights, i), i};
  return count;
}

static uint64_t entries_due(const twin_job *job, uint64_t row, lower_entry *out) {
  const dzo_graph *g = job->graph;
  uint64_t count = 0;
  for (uint64_t i = g->offsets[row]; i < g->offsets[row + 1] && g->neighbours[i] < row; i++)
    out[count++] = (lower_entry){g->neighbours[i], dzo_key_pattern(&g->map, dzo_arc_key(g, i)),
                                 dzo_arc_number(g, i)};
  return count;
}

static bool same_sequence(const lower_entry *a, uint64_t a_count, const lower_entry *b,
                          uint64_t b_count) {
  if (a_count != b_count)
    return false;
  for (uint64_t i = 0; i < a_count; i++)
    if (order_entries(&a[i], &b[i]) != 0)
      return false;
  return true;
}

/* The least position of an entry that has no twin, or UINT64_MAX. */
static uint64_t find_alone(lower_entry *found, uint64_t found_count, lower_entry *due,
                           uint64_t due_count) {
  if (same_sequence(found, found_count, due, due_count))
    return UINT64_MAX;
  qsort(found, (size_t)found_count, sizeof *found, compare_entries);
  qsort(due, (size_t)due_count, sizeof *due, compare_entries);
  uint64_t alone = UINT64_MAX;
  for (uint64_t i = 0, j = 0; i < found_count || j < due_count;) {
    int order = i == found_count ? 1 : j == due_count ? -1 : order_entries(&found[i], &due[j]);
    if (order < 0 && found[i].position < alone)
      alone = found[i].position;
    if (order > 0 && due[j].position < alone)
      alone = due[j].position;
    i += order <= 0;
    j += order >= 0;
  }
  return alone;
}

static bool twin_reserve(twin_job *job, struct twin_scratch *scratch, uint64_t count) {
  if (count <= scratch->capacity)
    return true;
  dzo_free(scratch->entries);
  scratch->capacity = 0;
  scratch->entries = dzo_alloc(job->context, 2 * count, sizeof *scratch->entries);
  if (scratch->entries == NULL)
    return false;
  scratch->capacity = 2 * count;
  return true;
}

static void check_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  twin_job *job = argument;
  struct twin_scratch *scratch = &job->scratch[thread];
  for (uint64_t r = begin; r < end; r++) {
    uint64_t stored = job->csr->offsets[r + 1] - job->csr->offsets[r];
    uint64_t built = job->graph->offsets[r + 1] - job->graph->offsets[r];
    if (stored + built == 0)
      continue;
    if (dzo_is_cancelled(job->context))
      return;
    if (!twin_reserve(job, scratch, stored + built)) {
      __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
      return;
    }
    lower_entry *found = scratch->entries;
    uint64_t found_count = entries_found(job, r, found);
    lower_entry *due = found + found_count;
    uint64_t due_count = entries_due(job, r, due);
    uint64_t alone = find_alone(found, found_count, due, due_count);
    if (alone != UINT64_MAX)
      dzo_min_u64(&job->alone, alone);
  }
}

static dzo_status name_alone(dzo_context *context, const dzo_csr *csr, uint64_t entry) {
  uint64_t low = 0, high = csr->vertices;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (csr->offsets[middle] <= entry)
      low = middle;
    else
      high = middle;
  }
  unsigned long neighbour = csr->neighbours[entry];
  return dzo_fail(context, DZO_E_ARGUMENT,
                  "not symmetric: entry %llu (row %llu, neighbour %lu) has no twin in row %lu",
                  (unsigned long long)entry, (unsigned long long)low, neighbour, neighbour);
}

static dzo_status check_symmetry(dzo_context *context, const dzo_csr *csr, const dzo_graph *graph) {
  twin_job job = {.context = context, .csr = csr, .graph = graph, .alone = UINT64_MAX};
  job.scratch = dzo_calloc(context, (uint64_t)context->threads, sizeof *job.scratch);
  if (job.scratch == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, csr->vertices, GRAIN, check_rows, &job);
  for (int t = 0; t < context->threads; t++)
    dzo_free(job.scratch[t].entries);
  dzo_free(job.scratch);
  if (job.failed)
    return DZO_E_MEMORY;
  DZO_TRY(dzo_progress(context, "build", 0, 0));
  return job.alone == UINT64_MAX ? DZO_OK : name_alone(context, csr, job.alone);
}

static dzo_status build_symmetric(dzo_context *context, const dzo_csr *csr, dzo_graph **out) {
  list_job job = {.context = context, .csr = csr};
  dzo_edges edges;
  dzo_status status = make_upper(context, csr, &job, &edges);
  if (status == DZO_OK)
    status = dzo_graph_from_edges(context, &edges, out);
  list_free(&job);
  DZO_TRY(status);
  status = check_symmetry(context, csr, *out);
  if (status != DZO_OK) {
    dzo_graph_destroy(*out);
    *out = NULL;
  }
  return status;
}

dzo_status dzo_graph_from_csr(dzo_context *context, const dzo_csr *csr, dzo_graph **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no place for the graph (NULL)");
  *out = NULL;
  DZO_TRY(check_offsets(context, csr));
  return csr->symmetric ? build_symmetric(context, csr, out) : build_general(context, csr, out);
}
