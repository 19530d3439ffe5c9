/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/resident.h"

#include "base/memory.h"

struct dzo_resident *dzo_graph_resident(const dzo_context *context, const dzo_graph *graph) {
  struct dzo_resident *copy = graph->resident;
  return copy != NULL && copy->csr.unit->context == context && !copy->csr.unit->lost ? copy : NULL;
}

void dzo_graph_evict(dzo_graph *graph) {
  if (graph == NULL || graph->resident == NULL)
    return;
  struct dzo_resident *copy = graph->resident;
  dzo_unit *unit = copy->csr.unit;
  dzo_unit_release(unit, copy->labels);
  dzo_unit_release(unit, copy->arcs);
  dzo_gpu_csr_destroy(&copy->csr);
  dzo_free(copy);
  graph->resident = NULL;
}

uint64_t dzo_graph_gpu_bytes(const dzo_graph *graph) {
  const struct dzo_resident *copy = graph->resident;
  if (copy == NULL)
    return 0;
  return dzo_gpu_csr_bytes(&copy->csr) + copy->csr.vertices * (sizeof *copy->arcs + 4u);
}

static dzo_status fill(dzo_unit *unit, const dzo_graph *graph, struct dzo_resident *copy) {
  uint64_t n = graph->vertices + 1;
  DZO_TRY(dzo_gpu_csr_upload(unit, graph, true, &copy->csr));
  DZO_TRY(dzo_unit_allocate(unit, n, sizeof *copy->arcs, (void **)&copy->arcs));
  return dzo_unit_allocate(unit, n, sizeof *copy->labels, (void **)&copy->labels);
}

static dzo_status check(dzo_context *context, const dzo_graph *graph) {
  if (graph->row_order != DZO_ROWS_BY_NEIGHBOUR && graph->row_order != DZO_ROWS_BY_WEIGHT)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "the rows are in no order: sort them first");
  if (graph->vertices >= UINT64_C(1) << 30 || graph->arcs >= UINT64_C(1) << 36)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "%llu vertices, %llu arcs: on a GPU below 2^30 and 2^36",
                    (unsigned long long)graph->vertices, (unsigned long long)graph->arcs);
  return DZO_OK;
}

dzo_status dzo_graph_upload(dzo_context *context, dzo_graph *graph) {
  dzo_begin(context);
  if (graph == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_graph_upload: no graph");
  DZO_TRY(check(context, graph));
  dzo_unit *unit;
  DZO_TRY(dzo_context_need_gpu(context, &unit));
  if (dzo_graph_resident(context, graph) != NULL)
    return DZO_OK;
  dzo_graph_evict(graph);
  struct dzo_resident *copy = dzo_calloc(context, 1, sizeof *copy);
  if (copy == NULL)
    return DZO_E_MEMORY;
  copy->csr.unit = unit;
  graph->resident = copy;
  dzo_unit_workspace_release(unit); /* what streamed before may have taken all there is */
  dzo_status status = fill(unit, graph, copy);
  if (status != DZO_OK) {
    copy->csr.unit = unit;
    dzo_graph_evict(graph);
  }
  return status == DZO_E_DEVICE ? DZO_E_DEVICE_FAILED : status;
}
