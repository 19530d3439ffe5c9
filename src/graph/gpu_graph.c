/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/gpu_graph.h"

#include "base/memory.h"
#include "device/transfer.h"
#include "graph/edge_list.h"

/* ---- Uploading ------------------------------------------------------------------------------- */

/* A copy of a host array of `count` entries in device memory; NULL stays NULL. */
static dzo_status copy_array(dzo_unit *unit, const void *from, uint64_t count, size_t size,
                             void **out) {
  if (from == NULL)
    return DZO_OK;
  DZO_TRY(dzo_unit_allocate(unit, count > 0 ? count : 1, size, out));
  return dzo_unit_send(unit, *out, from, count * size);
}

#define COPY_ARRAY(unit, from, count, out)                                                         \
  copy_array(unit, from, count, sizeof *(from), (void **)&(out))

static dzo_status upload_compressed(dzo_unit *unit, const dzo_compressed *from, dzo_gpu_csr *out) {
  dzo_compressed *c = out->compressed = dzo_calloc(unit->context, 1, sizeof *c);
  if (c == NULL)
    return DZO_E_MEMORY;
  c->arcs = from->arcs;
  c->blocks = from->blocks;
  c->exception_count = from->exception_count;
  DZO_TRY(COPY_ARRAY(unit, from->bases, from->blocks, c->bases));
  DZO_TRY(COPY_ARRAY(unit, from->low, from->blocks * DZO_BLOCK_ARCS, c->low));
  DZO_TRY(COPY_ARRAY(unit, from->high, from->blocks * DZO_BLOCK_PLANE, c->high));
  DZO_TRY(COPY_ARRAY(unit, from->block_exception, from->blocks + 1, c->block_exception));
  DZO_TRY(COPY_ARRAY(unit, from->group_exception, from->blocks / DZO_GROUP_BLOCKS + 1,
                     c->group_exception));
  return COPY_ARRAY(unit, from->exceptions, from->exception_count, c->exceptions);
}

static dzo_status upload(dzo_unit *unit, const dzo_graph *graph, bool numbers, dzo_gpu_csr *out) {
  DZO_TRY(COPY_ARRAY(unit, graph->offsets, graph->vertices + 1, out->offsets));
  if (graph->compressed != NULL)
    DZO_TRY(upload_compressed(unit, graph->compressed, out));
  DZO_TRY(COPY_ARRAY(unit, graph->neighbours, graph->arcs, out->neighbours));
  DZO_TRY(COPY_ARRAY(unit, graph->keys32, graph->arcs, out->keys32));
  DZO_TRY(COPY_ARRAY(unit, graph->keys64, graph->arcs, out->keys64));
  if (numbers) {
    DZO_TRY(COPY_ARRAY(unit, graph->numbers32, graph->arcs, out->numbers32));
    DZO_TRY(COPY_ARRAY(unit, graph->numbers64, graph->arcs, out->numbers64));
  }
  return DZO_OK;
}

dzo_status dzo_gpu_csr_upload(dzo_unit *unit, const dzo_graph *graph, bool numbers,
                              dzo_gpu_csr *out) {
  *out = (dzo_gpu_csr){
      .unit = unit,
      .vertices = graph->vertices,
      .edges = graph->edges,
      .arcs = graph->arcs,
      .number_bound = graph->number_bound,
      .map = graph->map,
      .row_order = graph->row_order,
  };
  dzo_status status = upload(unit, graph, numbers, out);
  if (status != DZO_OK)
    dzo_gpu_csr_destroy(out);
  return status;
}

static void destroy_compressed(dzo_unit *unit, dzo_compressed *c) {
  if (c == NULL)
    return;
  dzo_unit_release(unit, c->bases);
  dzo_unit_release(unit, c->low);
  dzo_unit_release(unit, c->high);
  dzo_unit_release(unit, c->block_exception);
  dzo_unit_release(unit, c->group_exception);
  dzo_unit_release(unit, c->exceptions);
  dzo_free(c);
}

void dzo_gpu_csr_destroy(dzo_gpu_csr *csr) {
  if (csr->unit == NULL)
    return;
  dzo_unit_release(csr->unit, csr->offsets);
  dzo_unit_release(csr->unit, csr->neighbours);
  destroy_compressed(csr->unit, csr->compressed);
  dzo_unit_release(csr->unit, csr->keys32);
  dzo_unit_release(csr->unit, csr->keys64);
  dzo_unit_release(csr->unit, csr->numbers32);
  dzo_unit_release(csr->unit, csr->numbers64);
  dzo_unit_release(csr->unit, csr->loop_numbers);
  *csr = (dzo_gpu_csr){0};
}

uint64_t dzo_gpu_csr_bytes(const dzo_gpu_csr *csr) {
  uint64_t an_arc = (csr->neighbours != NULL ? 4u : 0u) + (csr->keys32 != NULL ? 4u : 0u) +
                    (csr->keys64 != NULL ? 8u : 0u) + (csr->numbers32 != NULL ? 4u : 0u) +
                    (csr->numbers64 != NULL ? 8u : 0u);
  return (csr->vertices + 1) * sizeof *csr->offsets + csr->arcs * an_arc +
         (csr->compressed != NULL ? dzo_compressed_bytes(csr->compressed) : 0);
}

/* ---- Downloading ----------------------------------------------------------------------------- */

/* A host copy of a device array; NULL stays NULL. */
static dzo_status fetch_array(dzo_context *context, dzo_unit *unit, const void *from,
                              uint64_t count, size_t size, void **out) {
  if (from == NULL)
    return DZO_OK;
  *out = dzo_alloc(context, count, size);
  if (*out == NULL)
    return DZO_E_MEMORY;
  return dzo_unit_fetch(unit, *out, from, count * size);
}

#define FETCH_ARRAY(context, unit, from, count, out)                                               \
  fetch_array(context, unit, from, count, sizeof *(from), (void **)&(out))

static dzo_status fetch_edges(dzo_context *context, const dzo_gpu_edges *edges,
                              dzo_edge_list *list) {
  dzo_unit *unit = edges->unit;
  DZO_TRY(dzo_unit_fetch(unit, list->u, edges->u, edges->count * sizeof *list->u));
  DZO_TRY(dzo_unit_fetch(unit, list->v, edges->v, edges->count * sizeof *list->v));
  if (edges->weights != NULL)
    DZO_TRY(dzo_unit_fetch(unit, list->weights, edges->weights,
                           edges->count * dzo_weight_bytes(edges->weight_type)));
  return dzo_progress(context, "generate", edges->count, edges->count);
}

dzo_status dzo_gpu_edges_download(dzo_context *context, const dzo_gpu_edges *edges,
                                  dzo_edge_list **out) {
  *out = NULL;
  dzo_edge_list *list;
  DZO_TRY(dzo_edge_list_create(context, edges->vertices, edges->count, edges->weight_type, &list));
  dzo_status status = fetch_edges(context, edges, list);
  if (status == DZO_OK)
    *out = list;
  else
    dzo_edge_list_destroy(list);
  return status;
}

/* Loops are few: each is fetched by itself. */
static dzo_status fetch_loop(const dzo_gpu_edges *edges, uint64_t number, dzo_graph *g,
                             uint64_t i) {
  dzo_unit *unit = edges->unit;
  size_t size = dzo_weight_bytes(edges->weight_type);
  uint64_t weight = 0;
  g->loop_numbers[i] = number;
  DZO_TRY(dzo_unit_copy(unit, 0, &g->loop_vertices[i], edges->u + number, sizeof *edges->u));
  if (size > 0)
    DZO_TRY(dzo_unit_copy(unit, 0, &weight, (const char *)edges->weights + number * size, size));
  DZO_TRY(dzo_unit_wait(unit, 0));
  g->loop_keys[i] = dzo_weight_pattern(edges->weight_type, &weight, 0) - g->map.base;
  return DZO_OK;
}

static dzo_status fetch_loops(dzo_context *context, const dzo_gpu_csr *csr,
                              const dzo_gpu_edges *edges, dzo_graph *g) {
  g->loop_vertices = dzo_alloc(context, csr->loops, sizeof *g->loop_vertices);
  g->loop_keys = dzo_alloc(context, csr->loops, sizeof *g->loop_keys);
  g->loop_numbers = dzo_alloc(context, csr->loops, sizeof *g->loop_numbers);
  uint32_t *numbers = dzo_alloc(context, csr->loops, sizeof *numbers);
  dzo_status status =
      g->loop_vertices == NULL || g->loop_keys == NULL || g->loop_numbers == NULL || numbers == NULL
          ? DZO_E_MEMORY
          : dzo_unit_copy(csr->unit, 0, numbers, csr->loop_numbers, csr->loops * sizeof *numbers);
  if (status == DZO_OK)
    status = dzo_unit_wait(csr->unit, 0);
  g->loops = status == DZO_OK ? csr->loops : 0;
  for (uint64_t i = 0; i < g->loops && status == DZO_OK; i++)
    status = fetch_loop(edges, numbers[i], g, i);
  dzo_free(numbers);
  return status;
}

static dzo_status fetch_graph(dzo_context *context, const dzo_gpu_csr *csr,
                              const dzo_gpu_edges *edges, dzo_graph *g) {
  dzo_unit *unit = csr->unit;
  g->context = context;
  g->vertices = csr->vertices;
  g->edges = csr->edges;
  g->arcs = csr->arcs;
  g->map = csr->map;
  g->number_bound = csr->number_bound;
  g->row_order = csr->row_order;
  DZO_TRY(FETCH_ARRAY(context, unit, csr->offsets, csr->vertices + 1, g->offsets));
  DZO_TRY(FETCH_ARRAY(context, unit, csr->neighbours, csr->arcs, g->neighbours));
  DZO_TRY(FETCH_ARRAY(context, unit, csr->keys32, csr->arcs, g->keys32));
  DZO_TRY(FETCH_ARRAY(context, unit, csr->keys64, csr->arcs, g->keys64));
  DZO_TRY(FETCH_ARRAY(context, unit, csr->numbers32, csr->arcs, g->numbers32));
  return csr->loops > 0 ? fetch_loops(context, csr, edges, g) : DZO_OK;
}

dzo_status dzo_gpu_csr_download(dzo_context *context, const dzo_gpu_csr *csr,
                                const dzo_gpu_edges *edges, dzo_graph **out) {
  *out = NULL;
  if (csr->numbers32 == NULL || csr->neighbours == NULL || csr->raw)
    return dzo_fail(context, DZO_E_INTERNAL, "only rows with edge numbers can be downloaded");
  dzo_graph *g = dzo_calloc(context, 1, sizeof *g);
  if (g == NULL)
    return DZO_E_MEMORY;
  dzo_status status = fetch_graph(context, csr, edges, g);
  if (status == DZO_OK)
    *out = g;
  else
    dzo_graph_destroy(g);
  return status;
}

void dzo_gpu_edges_destroy(dzo_gpu_edges *edges) {
  if (edges->unit == NULL)
    return;
  dzo_unit_release(edges->unit, edges->u);
  dzo_unit_release(edges->unit, edges->v);
  dzo_unit_release(edges->unit, edges->weights);
  *edges = (dzo_gpu_edges){0};
}

dzo_status dzo_gpu_csr_generate(dzo_unit *unit, dzo_generator generator,
                                const dzo_generate_options *options,
                                const dzo_gpu_csr_choices *choices, dzo_gpu_csr *out) {
  dzo_gpu_edges edges;
  *out = (dzo_gpu_csr){0};
  DZO_TRY(dzo_gpu_edges_generate(unit, generator, options, &edges));
  dzo_status status = dzo_gpu_csr_from_edges(&edges, choices, out);
  dzo_gpu_edges_destroy(&edges);
  return status;
}
