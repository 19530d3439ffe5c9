/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_graphs.h"

#ifdef DZO_TEST_TINY
uint64_t gpu_rounds(void) { return 8; }
#else
uint64_t gpu_rounds(void) { return getenv("DZO_TEST_SMALL") != NULL ? 12 : GPU_ROUNDS; }
#endif

gpu_host gpu_host_open(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  options.device = DZO_DEVICE_CUDA;
  gpu_host host = {0};
  if (dzo_context_create(&options, &host.context) != DZO_OK)
    return (gpu_host){0};
  host.unit = dzo_context_gpu(host.context);
  assert_non_null(host.unit);
  return host;
}

void gpu_host_close(gpu_host *host) {
  dzo_context_destroy(host->context);
  *host = (gpu_host){0};
}

void need_gpu(gpu_host host) {
  if (host.unit != NULL)
    return;
  print_message("skipped: there is no GPU\n");
  skip();
}

void must_on(gpu_host host, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s (%s)", dzo_status_name(status), dzo_context_message(host.context),
             host.unit->reason);
}

void *to_gpu(gpu_host host, const void *items, uint64_t count, size_t size) {
  void *device;
  must_on(host, dzo_unit_allocate(host.unit, count, size, &device));
  if (items != NULL && count > 0)
    must_on(host, dzo_unit_copy(host.unit, 0, device, items, count * size));
  must_on(host, dzo_unit_wait(host.unit, 0));
  return device;
}

void from_gpu(gpu_host host, void *items, const void *device, uint64_t count, size_t size) {
  if (count > 0)
    must_on(host, dzo_unit_copy(host.unit, 0, items, device, count * size));
  must_on(host, dzo_unit_wait(host.unit, 0));
}

static const msf_key_type raw_key_type[] = {
    [DZO_WEIGHT_NONE] = MSF_KEY_NONE, [DZO_WEIGHT_U32] = MSF_KEY_U32,
    [DZO_WEIGHT_I64] = MSF_KEY_I64,   [DZO_WEIGHT_U64] = MSF_KEY_U64,
    [DZO_WEIGHT_F32] = MSF_KEY_F32,   [DZO_WEIGHT_F64] = MSF_KEY_F64};

static void *raw_weights(gpu_host host, const dzo_graph *graph, const dzo_edges *edges) {
  size_t size = dzo_weight_bytes(edges->weight_type);
  if (size == 0)
    return NULL;
  char *weights = malloc((graph->arcs + 1) * size);
  assert_non_null(weights);
  for (uint64_t a = 0; a < graph->arcs; a++)
    memcpy(weights + a * size, (const char *)edges->weights + dzo_arc_number(graph, a) * size,
           size);
  void *device = to_gpu(host, weights, graph->arcs, size);
  free(weights);
  return device;
}

device_graph device_graph_make(gpu_host host, const dzo_graph *graph, const dzo_edges *edges,
                               bool maximum) {
  device_graph d = {.raw = NULL};
  must_on(host, dzo_gpu_csr_upload(host.unit, graph, false, &d.csr));
  must_on(host, dzo_unit_wait(host.unit, 0));
  d.graph = (msf_gpu_graph){.vertices = (uint32_t)graph->vertices,
                            .arcs = graph->arcs,
                            .offsets = d.csr.offsets,
                            .neighbours = d.csr.neighbours,
                            .compressed = d.csr.compressed,
                            .presorted = graph->row_order == DZO_ROWS_BY_WEIGHT,
                            .maximum = maximum};
  if (edges != NULL) {
    d.raw = raw_weights(host, graph, edges);
    d.graph.keys = d.raw;
    d.graph.key_type = raw_key_type[edges->weight_type];
  } else if (d.csr.keys32 != NULL) {
    d.graph.keys = d.csr.keys32;
    d.graph.key_type = MSF_KEY_U32;
  } else if (d.csr.keys64 != NULL) {
    d.graph.keys = d.csr.keys64;
    d.graph.key_type = MSF_KEY_U64;
  }
  return d;
}

void device_graph_free(gpu_host host, device_graph *graph) {
  dzo_unit_release(host.unit, graph->raw);
  dzo_gpu_csr_destroy(&graph->csr);
}

static int compare_numbers(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void expect_trees(const uint32_t *labels, uint32_t components, const oracle_forest *f,
                         const char *what) {
  uint32_t *tree_of = malloc((components + 1) * sizeof *tree_of);
  assert_non_null(tree_of);
  memset(tree_of, 0xff, components * sizeof *tree_of);
  for (uint64_t v = 0; v < f->vertices; v++) {
    if (labels[v] >= components)
      fail_msg("%s: vertex %d has label %u of %u", what, (int)v, labels[v], components);
    uint32_t *tree = &tree_of[labels[v]];
    if (*tree != UINT32_MAX && *tree != f->component_of[v])
      fail_msg("%s: vertex %d has the label of another tree", what, (int)v);
    *tree = f->component_of[v];
  }
  free(tree_of);
}

void expect_arcs(const dzo_graph *graph, const uint64_t *arcs, uint64_t count,
                 const uint32_t *labels, uint32_t components, const oracle_forest *f,
                 const char *what) {
  if (count != f->count || components != f->components)
    fail_msg("%s: %d arcs instead of %d, %d trees instead of %d", what, (int)count, (int)f->count,
             (int)components, (int)f->components);
  uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
  assert_non_null(numbers);
  for (uint64_t i = 0; i < count; i++) {
    if (arcs[i] >= graph->arcs)
      fail_msg("%s: no arc", what);
    numbers[i] = dzo_arc_number(graph, arcs[i]);
  }
  qsort(numbers, count, sizeof *numbers, compare_numbers);
  for (uint64_t i = 0; i < count; i++)
    if (numbers[i] != f->numbers[i])
      fail_msg("%s: edge %d instead of %d", what, (int)numbers[i], (int)f->numbers[i]);
  free(numbers);
  if (labels != NULL)
    expect_trees(labels, components, f, what);
}
