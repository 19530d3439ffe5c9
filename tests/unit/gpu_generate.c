/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What is generated in GPU memory is, bit for bit, what the CPU generates and builds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "graph/csr.h"
#include "graph/edge_list.h"
#include "graph/gpu_graph.h"

/* Where a GPU is made of threads, smaller graphs suffice. */
#ifdef DZO_TEST_SMALL
enum { LAST_SCALE = 10, LARGE_SCALE = 12, THREADS = 2 };
#else
enum { LAST_SCALE = 13, LARGE_SCALE = 20, THREADS = 0 };
#endif

static dzo_context *open_gpu(uint64_t gpu_memory) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.threads = THREADS;
  options.gpu_memory = gpu_memory;
  dzo_context *context;
  dzo_status status = dzo_context_create(&options, &context);
  if (status != DZO_OK)
    return NULL;
  assert_non_null(dzo_context_gpu(context));
  return context;
}

static dzo_context *gpu; /* or NULL: there is none */

static int open_context(void **unused) {
  (void)unused;
  gpu = open_gpu(0);
  return 0;
}

static int close_context(void **unused) {
  (void)unused;
  dzo_context_destroy(gpu);
  return 0;
}

static void need_gpu(void) {
  if (gpu != NULL)
    return;
  print_message("skipped: there is no GPU\n");
  skip();
}

static void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s", dzo_context_message(context));
}

static void expect_bytes(const void *a, const void *b, uint64_t bytes) {
  assert_true((a == NULL) == (b == NULL) || bytes == 0);
  if (bytes > 0)
    assert_memory_equal(a, b, bytes);
}

/* ---- Edges and rows, compared ---- */

static void expect_edges(const dzo_edge_list *list, const dzo_edge_list *expected) {
  uint64_t count = expected->count;
  assert_true(list->vertices == expected->vertices && list->count == count);
  expect_bytes(list->u, expected->u, count * sizeof *list->u);
  expect_bytes(list->v, expected->v, count * sizeof *list->v);
  expect_bytes(list->weights, expected->weights, count * dzo_weight_bytes(list->weight_type));
}

static void expect_rows(const dzo_graph *g, const dzo_graph *expected) {
  assert_true(g->vertices == expected->vertices && g->edges == expected->edges);
  assert_true(g->arcs == expected->arcs && g->loops == expected->loops);
  assert_true(g->number_bound == expected->number_bound && g->row_order == expected->row_order);
  expect_bytes(g->offsets, expected->offsets, (g->vertices + 1) * sizeof *g->offsets);
  expect_bytes(g->neighbours, expected->neighbours, g->arcs * sizeof *g->neighbours);
  expect_bytes(g->numbers32, expected->numbers32, g->arcs * sizeof *g->numbers32);
  expect_bytes(g->loop_vertices, expected->loop_vertices, g->loops * sizeof *g->loop_vertices);
  expect_bytes(g->loop_numbers, expected->loop_numbers, g->loops * sizeof *g->loop_numbers);
  for (uint64_t i = 0; i < g->arcs; i++)
    assert_true(dzo_key_pattern(&g->map, dzo_arc_key(g, i)) ==
                dzo_key_pattern(&expected->map, dzo_arc_key(expected, i)));
  for (uint64_t i = 0; i < g->loops; i++)
    assert_true(dzo_key_pattern(&g->map, g->loop_keys[i]) ==
                dzo_key_pattern(&expected->map, expected->loop_keys[i]));
}

/* The rows of `edges`, built there by these choices, against those the CPU built. */
static void check_rows(dzo_context *context, const dzo_gpu_edges *edges, bool presort,
                       const dzo_graph *expected) {
  dzo_gpu_csr csr;
  dzo_graph *graph;
  const dzo_gpu_csr_choices choices = {.numbers = true, .presort = presort};
  must(context, dzo_gpu_csr_from_edges(edges, &choices, &csr));
  must(context, dzo_gpu_csr_download(context, &csr, edges, &graph));
  expect_rows(graph, expected);
  dzo_graph_destroy(graph);
  dzo_gpu_csr_destroy(&csr);
}

/* Weights as they are, without numbers. */
static void check_raw(dzo_context *context, const dzo_gpu_edges *edges, const dzo_edge_list *list,
                      const dzo_graph *expected) {
  dzo_gpu_csr csr;
  const dzo_gpu_csr_choices choices = {.raw = true};
  must(context, dzo_gpu_csr_from_edges(edges, &choices, &csr));
  assert_true(csr.numbers32 == NULL && csr.arcs == expected->arcs);
  size_t size = dzo_weight_bytes(list->weight_type);
  const void *keys = size == 8 ? (const void *)csr.keys64 : (const void *)csr.keys32;
  char *copy = dzo_alloc(context, csr.arcs, size);
  assert_non_null(copy);
  if (csr.arcs > 0)
    must(context, dzo_unit_copy(csr.unit, 0, copy, keys, csr.arcs * size));
  must(context, dzo_unit_wait(csr.unit, 0));
  for (uint64_t i = 0; i < csr.arcs; i++)
    assert_memory_equal(copy + i * size,
                        (const char *)list->weights + dzo_arc_number(expected, i) * size, size);
  dzo_free(copy);
  dzo_gpu_csr_destroy(&csr);
}

static void check(dzo_context *context, dzo_generator generator,
                  const dzo_generate_options *options) {
  dzo_unit *unit = dzo_context_gpu(context);
  uint64_t used = unit->used;
  dzo_edge_list *expected, *list;
  dzo_graph *graph;
  dzo_edges view;
  dzo_gpu_edges edges;
  must(context, dzo_edge_list_generate(context, generator, options, &expected));
  must(context, dzo_gpu_edges_generate(unit, generator, options, &edges));
  must(context, dzo_gpu_edges_download(context, &edges, &list));
  expect_edges(list, expected);
  dzo_edge_list_view(list, &view);
  must(context, dzo_graph_from_edges(context, &view, &graph));
  check_rows(context, &edges, false, graph);
  if (options->weight_type != DZO_WEIGHT_NONE)
    check_raw(context, &edges, list, graph);
  must(context, dzo_graph_sort_rows(context, graph, DZO_ROWS_BY_WEIGHT));
  check_rows(context, &edges, true, graph);
  dzo_graph_destroy(graph);
  dzo_gpu_edges_destroy(&edges);
  dzo_edge_list_destroy(list);
  dzo_edge_list_destroy(expected);
  assert_true(unit->used == used);
}

/* ---- Tests ---- */

static const dzo_weight_type types[] = {DZO_WEIGHT_U32, DZO_WEIGHT_F64, DZO_WEIGHT_F32,
                                        DZO_WEIGHT_NONE};

static void check_scales(dzo_generator generator, const double *degrees, unsigned count) {
  const uint64_t seeds[] = {2387, 1, UINT32_MAX};
  need_gpu();
  for (unsigned scale = 1; scale <= LAST_SCALE; scale++)
    for (unsigned d = 0; d < count; d++) {
      dzo_generate_options options;
      dzo_generate_options_init(&options);
      options.scale = scale;
      options.degree = options.keep = degrees[d];
      options.inter_clique = degrees[d] / 2;
      options.max_clique = 2 + 7 * scale;
      options.weight_type = types[(scale + d) % 4];
      options.seed = seeds[(scale + d) % 3];
      check(gpu, generator, &options);
    }
}

static void rmat_is_the_same(void **unused) {
  (void)unused;
  const double degrees[] = {32, 3, 0.25, 0};
  check_scales(DZO_GENERATE_RMAT, degrees, 4);
}

static void ssca2_is_the_same(void **unused) {
  (void)unused;
  const double degrees[] = {0.2, 1, 0};
  check_scales(DZO_GENERATE_SSCA2, degrees, 3);
}

static void uniform_is_the_same(void **unused) {
  (void)unused;
  const double degrees[] = {32, 3, 0.25, 0};
  check_scales(DZO_GENERATE_UNIFORM, degrees, 4);
}

static void grid_is_the_same(void **unused) {
  (void)unused;
  const double keeps[] = {0.7, 1, 0};
  check_scales(DZO_GENERATE_GRID, keeps, 3);
}

/* A shuffle of more than one block's warps, and hubs. */
static void defaults_are_the_same(void **unused) {
  (void)unused;
  need_gpu();
  for (int generator = DZO_GENERATE_RMAT; generator <= DZO_GENERATE_GRID; generator++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = LARGE_SCALE;
    options.weight_type = DZO_WEIGHT_U32;
    check(gpu, (dzo_generator)generator, &options);
  }
}

/* So little memory that the rows are built in slices. */
static void slices_are_the_same(void **unused) {
  (void)unused;
  need_gpu();
  dzo_context *context = open_gpu(5 << 20);
  for (int t = 0; t < 2; t++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = 12;
    options.weight_type = types[t];
    check(context, DZO_GENERATE_RMAT, &options);
  }
  dzo_context_destroy(context);
}

/* Memory that does not suffice is said, and given back. */
static void too_large_is_refused(void **unused) {
  (void)unused;
  need_gpu();
  for (uint64_t limit = 1 << 10; limit < 2 << 20; limit *= 2) {
    dzo_context *context = open_gpu(limit);
    dzo_unit *unit = dzo_context_gpu(context);
    uint64_t used = unit->used;
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = 12;
    const dzo_gpu_csr_choices choices = {.numbers = true};
    dzo_gpu_csr csr;
    assert_int_equal(dzo_gpu_csr_generate(unit, DZO_GENERATE_SSCA2, &options, &choices, &csr),
                     DZO_E_MEMORY);
    assert_true(unit->used == used);
    dzo_context_destroy(context);
  }
}

/* ---- Uploading ---- */

/* A device array against a host one. */
static void expect_array(dzo_unit *unit, const void *device, const void *host, uint64_t bytes) {
  assert_true((device == NULL) == (host == NULL));
  if (host == NULL || bytes == 0)
    return;
  char *copy = dzo_alloc(unit->context, bytes, 1);
  assert_non_null(copy);
  must(unit->context, dzo_unit_copy(unit, 0, copy, device, bytes));
  must(unit->context, dzo_unit_wait(unit, 0));
  assert_memory_equal(copy, host, bytes);
  dzo_free(copy);
}

static void check_upload(const dzo_graph *g, bool numbers) {
  dzo_unit *unit = dzo_context_gpu(gpu);
  uint64_t used = unit->used;
  dzo_gpu_csr csr;
  must(gpu, dzo_gpu_csr_upload(unit, g, numbers, &csr));
  assert_true(csr.vertices == g->vertices && csr.edges == g->edges && csr.arcs == g->arcs);
  assert_int_equal(csr.row_order, g->row_order);
  expect_array(unit, csr.offsets, g->offsets, (g->vertices + 1) * sizeof *g->offsets);
  expect_array(unit, csr.neighbours, g->neighbours, g->arcs * sizeof *g->neighbours);
  expect_array(unit, csr.keys32, g->keys32, g->arcs * sizeof *g->keys32);
  expect_array(unit, csr.keys64, g->keys64, g->arcs * sizeof *g->keys64);
  if (numbers)
    expect_array(unit, csr.numbers32, g->numbers32, g->arcs * sizeof *g->numbers32);
  else
    assert_null(csr.numbers32);
  assert_true((csr.compressed == NULL) == (g->compressed == NULL));
  if (g->compressed != NULL) {
    const dzo_compressed *a = csr.compressed, *b = g->compressed;
    assert_true(a->blocks == b->blocks && a->exception_count == b->exception_count);
    expect_array(unit, a->bases, b->bases, b->blocks * sizeof *b->bases);
    expect_array(unit, a->low, b->low, b->blocks * DZO_BLOCK_ARCS);
    expect_array(unit, a->high, b->high, b->blocks * DZO_BLOCK_PLANE);
    expect_array(unit, a->block_exception, b->block_exception,
                 (b->blocks + 1) * sizeof *b->block_exception);
    expect_array(unit, a->exceptions, b->exceptions, b->exception_count * sizeof *b->exceptions);
  }
  dzo_gpu_csr_destroy(&csr);
  assert_true(unit->used == used);
}

static void graphs_are_uploaded(void **unused) {
  (void)unused;
  need_gpu();
  for (unsigned t = 0; t < 4; t++) {
    dzo_generate_options options;
    dzo_generate_options_init(&options);
    options.scale = 3 + 2 * t;
    options.degree = 5;
    options.weight_type = types[t];
    dzo_edge_list *list;
    dzo_edges edges;
    dzo_graph *graph;
    must(gpu, dzo_edge_list_generate(gpu, DZO_GENERATE_RMAT, &options, &list));
    dzo_edge_list_view(list, &edges);
    must(gpu, dzo_graph_from_edges(gpu, &edges, &graph));
    check_upload(graph, true);
    must(gpu, dzo_graph_sort_rows(gpu, graph, DZO_ROWS_BY_WEIGHT));
    check_upload(graph, false);
    must(gpu, dzo_graph_compress(gpu, graph));
    check_upload(graph, true);
    dzo_graph_destroy(graph);
    dzo_edge_list_destroy(list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rmat_is_the_same),      cmocka_unit_test(ssca2_is_the_same),
      cmocka_unit_test(uniform_is_the_same),   cmocka_unit_test(grid_is_the_same),
      cmocka_unit_test(defaults_are_the_same), cmocka_unit_test(slices_are_the_same),
      cmocka_unit_test(too_large_is_refused),  cmocka_unit_test(graphs_are_uploaded),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
