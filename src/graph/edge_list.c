/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/edge_list.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/weight_map.h"

enum { GRAIN = 1 << 16 };

void dzo_edge_list_destroy(dzo_edge_list *list) {
  if (list == NULL)
    return;
  dzo_free(list->u);
  dzo_free(list->v);
  dzo_free(list->weights);
  dzo_free(list->numbers);
  dzo_free(list->labels);
  dzo_free(list);
}

dzo_status dzo_edge_list_create(dzo_context *context, uint64_t vertices, uint64_t count,
                                dzo_weight_type type, dzo_edge_list **out) {
  *out = NULL;
  dzo_edge_list *list = dzo_calloc(context, 1, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  list->context = context;
  list->vertices = vertices;
  list->count = count;
  list->weight_type = type;
  list->u = dzo_alloc(context, count, sizeof *list->u);
  list->v = dzo_alloc(context, count, sizeof *list->v);
  if (type != DZO_WEIGHT_NONE)
    list->weights = dzo_alloc(context, count, dzo_weight_bytes(type));
  if (list->u == NULL || list->v == NULL || (type != DZO_WEIGHT_NONE && list->weights == NULL)) {
    dzo_edge_list_destroy(list);
    return DZO_E_MEMORY;
  }
  *out = list;
  return DZO_OK;
}

void dzo_edge_list_view(const dzo_edge_list *list, dzo_edges *out) {
  *out = (dzo_edges){
      .vertices = list->vertices,
      .count = list->count,
      .u = list->u,
      .v = list->v,
      .weight_type = list->weight_type,
      .weights = list->weights,
      .numbers = list->numbers,
      .labels = list->labels,
      .first_label = list->first_label,
  };
}

dzo_format dzo_edge_list_format(const dzo_edge_list *list) { return list->format; }

dzo_status dzo_edges_check_shape(dzo_context *context, const dzo_edges *edges) {
  if (edges == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no edges were given (NULL)");
  if (edges->vertices > UINT32_MAX)
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu vertices are more than 2^32 - 1",
                    (unsigned long long)edges->vertices);
  if ((unsigned)edges->weight_type > DZO_WEIGHT_F64)
    return dzo_fail(context, DZO_E_ARGUMENT, "there is no weight type %d", (int)edges->weight_type);
  if (edges->count > 0 && (edges->u == NULL || edges->v == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "%llu edges without endpoint arrays",
                    (unsigned long long)edges->count);
  bool weighted = edges->weight_type != DZO_WEIGHT_NONE;
  if (edges->count > 0 && weighted != (edges->weights != NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "weights of type %s %s",
                    dzo_weight_type_name(edges->weight_type),
                    weighted ? "need an array" : "take no array");
  uint64_t end;
  if (edges->numbers == NULL && __builtin_add_overflow(edges->first_number, edges->count, &end))
    return dzo_fail(context, DZO_E_ARGUMENT, "edge numbers from %llu on exceed 64 bits",
                    (unsigned long long)edges->first_number);
  return DZO_OK;
}

typedef struct check_job {
  const dzo_context *context;
  const dzo_edges *edges;
  uint64_t bad; /* position of the first culprit; accessed atomically */
} check_job;

static bool is_nan(const dzo_edges *e, uint64_t i) {
  if (e->weight_type == DZO_WEIGHT_F32)
    return __builtin_isnan(((const float *)e->weights)[i]);
  if (e->weight_type == DZO_WEIGHT_F64)
    return __builtin_isnan(((const double *)e->weights)[i]);
  return false;
}

static bool number_descends(const dzo_edges *e, uint64_t i) {
  return e->numbers != NULL &&
         (e->numbers[i] == UINT64_MAX || (i > 0 && e->numbers[i - 1] >= e->numbers[i]));
}

static void check_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  check_job *job = argument;
  const dzo_edges *e = job->edges;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t i = begin; i < end; i++)
    if (DZO_UNLIKELY(e->u[i] >= e->vertices || e->v[i] >= e->vertices || number_descends(e, i) ||
                     is_nan(e, i))) {
      dzo_min_u64(&job->bad, i);
      return;
    }
}

dzo_status dzo_edges_fail(dzo_context *context, const dzo_edges *e, uint64_t i) {
  if (number_descends(e, i))
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "edge numbers do not ascend below 2^64 - 1 at position %llu",
                    (unsigned long long)i);
  unsigned long long number = (unsigned long long)dzo_edge_number(e, i);
  if (is_nan(e, i))
    return dzo_fail(context, DZO_E_ARGUMENT, "edge %llu has weight NaN", number);
  uint32_t endpoint = e->u[i] >= e->vertices ? e->u[i] : e->v[i];
  return dzo_fail(context, DZO_E_ARGUMENT, "edge %llu: endpoint %lu is not below %llu vertices",
                  number, (unsigned long)endpoint, (unsigned long long)e->vertices);
}

dzo_status dzo_edges_check(dzo_context *context, const dzo_edges *edges) {
  DZO_TRY(dzo_edges_check_shape(context, edges));
  check_job job = {context, edges, UINT64_MAX};
  dzo_parallel_for(context->threads, edges->count, GRAIN, check_range, &job);
  if (job.bad != UINT64_MAX)
    return dzo_edges_fail(context, edges, job.bad);
  return dzo_is_cancelled(context) ? dzo_fail(context, DZO_E_CANCELLED, "cancelled") : DZO_OK;
}

/* memcpy's arguments must not be NULL, even for 0 bytes. */
static void copy_array(void *to, const void *from, uint64_t count, size_t size) {
  if (count > 0 && from != NULL)
    memcpy(to, from, (size_t)count * size);
}

static dzo_status copy_names(dzo_context *context, const dzo_edges *edges, dzo_edge_list *list) {
  if (edges->numbers != NULL || edges->first_number != 0) {
    list->numbers = dzo_alloc(context, edges->count, sizeof *list->numbers);
    if (list->numbers == NULL)
      return DZO_E_MEMORY;
    for (uint64_t i = 0; i < edges->count; i++)
      list->numbers[i] = dzo_edge_number(edges, i);
  }
  if (edges->labels != NULL) {
    list->labels = dzo_alloc(context, edges->vertices, sizeof *list->labels);
    if (list->labels == NULL)
      return DZO_E_MEMORY;
    copy_array(list->labels, edges->labels, edges->vertices, sizeof *list->labels);
  }
  list->first_label = edges->first_label;
  return DZO_OK;
}

dzo_status dzo_edge_list_copy(dzo_context *context, const dzo_edges *edges, dzo_edge_list **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no place for the edge list (NULL)");
  *out = NULL;
  DZO_TRY(dzo_edges_check(context, edges));
  dzo_edge_list *list;
  DZO_TRY(dzo_edge_list_create(context, edges->vertices, edges->count, edges->weight_type, &list));
  copy_array(list->u, edges->u, edges->count, sizeof *list->u);
  copy_array(list->v, edges->v, edges->count, sizeof *list->v);
  copy_array(list->weights, edges->weights, edges->count, dzo_weight_bytes(edges->weight_type));
  dzo_status status = copy_names(context, edges, list);
  if (status != DZO_OK) {
    dzo_edge_list_destroy(list);
    return status;
  }
  *out = list;
  return DZO_OK;
}
