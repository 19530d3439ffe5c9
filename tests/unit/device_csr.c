/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Forests of a caller's rows in GPU memory: rows made by hand, with loops and with parallel arcs in
 * different orders on both sides; and rows that are not what they must be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device_graphs.h"
#include "graph/weight_map.h"
#include "random_graphs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GRAPHS = 100 };
#else
enum { GRAPHS = 400 };
#endif

static gpu_host gpu;

static int open_gpu(void **state) {
  (void)state;
  gpu = gpu_host_open();
  return 0;
}

static int close_gpu(void **state) {
  (void)state;
  gpu_host_close(&gpu);
  return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

typedef struct arc {
  uint64_t key; /* the weight's pattern */
  uint64_t salt;
  uint32_t to;
  uint64_t edge; /* place in the list */
} arc;

typedef struct host_rows {
  uint64_t vertices, arcs;
  uint64_t *offsets;
  uint32_t *neighbours;
  dzo_weight_type type;
  void *weights;
} host_rows;

static int by_neighbour(const void *a, const void *b) {
  const arc *x = a, *y = b;
  if (x->to != y->to)
    return x->to < y->to ? -1 : 1;
  return x->salt < y->salt ? -1 : x->salt > y->salt;
}

static int by_weight(const void *a, const void *b) {
  const arc *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return by_neighbour(a, b);
}

static void put(host_rows *r, arc *arcs, uint64_t *next, const dzo_edges *e, uint64_t i,
                random_source *random) {
  uint32_t u = e->u[i], v = e->v[i];
  uint64_t key = dzo_weight_pattern(e->weight_type, e->weights, i);
  arcs[next[u]++] = (arc){key, random_bits(random), v, i};
  if (u != v)
    arcs[next[v]++] = (arc){key, random_bits(random), u, i};
  (void)r;
}

static host_rows rows_make(const dzo_edges *e, dzo_row_order order, uint64_t seed) {
  host_rows r = {.vertices = e->vertices, .type = e->weight_type};
  size_t width = dzo_weight_bytes(r.type);
  r.offsets = calloc(r.vertices + 2, sizeof *r.offsets);
  uint64_t *next = calloc(r.vertices + 1, sizeof *next);
  arc *arcs = malloc((2 * e->count + 1) * sizeof *arcs);
  assert_true(r.offsets && next && arcs);
  for (uint64_t i = 0; i < e->count; i++) {
    r.offsets[e->u[i] + 1]++;
    r.offsets[e->v[i] + 1] += e->u[i] != e->v[i];
  }
  for (uint64_t v = 0; v < r.vertices; v++) {
    r.offsets[v + 1] += r.offsets[v];
    next[v] = r.offsets[v];
  }
  r.arcs = r.offsets[r.vertices];
  random_source random = {seed};
  for (uint64_t i = 0; i < e->count; i++)
    put(&r, arcs, next, e, i, &random);
  r.neighbours = malloc((r.arcs + 1) * sizeof *r.neighbours);
  r.weights = malloc((r.arcs + 1) * (width + 1));
  assert_true(r.neighbours && r.weights);
  for (uint64_t v = 0; v < r.vertices; v++)
    qsort(arcs + r.offsets[v], r.offsets[v + 1] - r.offsets[v], sizeof *arcs,
          order == DZO_ROWS_BY_WEIGHT ? by_weight : by_neighbour);
  for (uint64_t a = 0; a < r.arcs; a++) {
    r.neighbours[a] = arcs[a].to;
    if (width > 0)
      memcpy((char *)r.weights + a * width, (const char *)e->weights + arcs[a].edge * width, width);
  }
  free(arcs);
  free(next);
  return r;
}

static void rows_free(host_rows *r) {
  free(r->offsets);
  free(r->neighbours);
  free(r->weights);
}

/* The edges that these rows are: each by its arc in the row of its smaller endpoint. */
static oracle_forest *rows_oracle(const host_rows *r, int maximum) {
  size_t width = dzo_weight_bytes(r->type);
  uint32_t *u = malloc((r->arcs + 1) * sizeof *u), *v = malloc((r->arcs + 1) * sizeof *v);
  uint64_t *numbers = malloc((r->arcs + 1) * sizeof *numbers);
  char *weights = malloc((r->arcs + 1) * (width + 1));
  assert_true(u && v && numbers && weights);
  uint64_t count = 0;
  for (uint32_t x = 0; x < r->vertices; x++) {
    for (uint64_t a = r->offsets[x]; a < r->offsets[x + 1]; a++) {
      if (r->neighbours[a] < x)
        continue;
      u[count] = x;
      v[count] = r->neighbours[a];
      numbers[count] = a;
      if (width > 0)
        memcpy(weights + count * width, (const char *)r->weights + a * width, width);
      count++;
    }
  }
  dzo_edges e = {.vertices = r->vertices, .count = count, .u = u, .v = v, .numbers = numbers};
  e.weight_type = r->type;
  e.weights = width > 0 ? weights : NULL;
  oracle_forest *f = oracle_solve(&e, maximum, 0);
  free(u);
  free(v);
  free(numbers);
  free(weights);
  return f;
}

/* ---- On the GPU ------------------------------------------------------------------------------ */

static dzo_device_csr rows_upload(const host_rows *r, dzo_row_order order) {
  dzo_device_csr csr;
  dzo_device_csr_init(&csr);
  csr.vertices = r->vertices;
  csr.arcs = r->arcs;
  csr.offsets = to_gpu(gpu, r->offsets, r->vertices + 1, sizeof *r->offsets);
  csr.neighbours = to_gpu(gpu, r->neighbours, r->arcs, sizeof *r->neighbours);
  csr.weight_type = r->type;
  if (r->type != DZO_WEIGHT_NONE)
    csr.weights = to_gpu(gpu, r->weights, r->arcs, dzo_weight_bytes(r->type));
  csr.row_order = order;
  return csr;
}

static void csr_free(dzo_device_csr *csr) {
  dzo_unit_release(gpu.unit, (void *)(uintptr_t)csr->offsets);
  dzo_unit_release(gpu.unit, (void *)(uintptr_t)csr->neighbours);
  dzo_unit_release(gpu.unit, (void *)(uintptr_t)csr->weights);
}

/* The arc in the row of the smaller endpoint that `at` stands for: the first of this kind. */
static uint64_t first_of_kind(const host_rows *r, uint64_t at) {
  uint32_t x = 0;
  while (r->offsets[x + 1] <= at)
    x++;
  uint32_t y = r->neighbours[at], low = x < y ? x : y, high = x < y ? y : x;
  uint64_t key = dzo_weight_pattern(r->type, r->weights, at);
  for (uint64_t a = r->offsets[low]; a < r->offsets[low + 1]; a++)
    if (r->neighbours[a] == high && dzo_weight_pattern(r->type, r->weights, a) == key)
      return a;
  fail_msg("arc %d stands in one row only", (int)at);
  return 0;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void expect_rows_forest(const host_rows *r, const dzo_device_csr *csr,
                               const dzo_msf_options *options, const char *what) {
  oracle_forest *f = rows_oracle(r, options->maximum);
  uint64_t *arcs = to_gpu(gpu, NULL, r->vertices + 1, sizeof *arcs), count = 77, bytes;
  uint64_t *found = malloc((r->vertices + 1) * sizeof *found);
  assert_non_null(found);
  must_on(gpu, dzo_msf_device_workspace(gpu.context, csr, options, &bytes));
  must_on(gpu, dzo_msf_run_device(gpu.context, csr, options, arcs, &count));
  if (count != f->count)
    fail_msg("%s: %d edges instead of %d", what, (int)count, (int)f->count);
  from_gpu(gpu, found, arcs, count, sizeof *found);
  if (options->any_order) {
    for (uint64_t i = 0; i < count; i++)
      found[i] = first_of_kind(r, found[i]);
    qsort(found, count, sizeof *found, compare_u64);
  }
  for (uint64_t i = 0; i < count; i++)
    if (found[i] != f->numbers[i])
      fail_msg("%s: edge %d is arc %d instead of %d", what, (int)i, (int)found[i],
               (int)f->numbers[i]);
  dzo_unit_release(gpu.unit, arcs);
  free(found);
  oracle_free(f);
}

static void forests_of_device_rows_equal_the_oracle(void **state) {
  (void)state;
  need_gpu(gpu);
  static const dzo_weight_type types[] = {DZO_WEIGHT_NONE, DZO_WEIGHT_U32, DZO_WEIGHT_I64,
                                          DZO_WEIGHT_U64,  DZO_WEIGHT_F32, DZO_WEIGHT_F64};
  for (uint64_t seed = 0; seed < GRAPHS; seed++) {
    random_graph *g = random_graph_make(seed, seed % 5 ? 200 : 6, types[seed % 6], 0);
    dzo_row_order order = seed / 6 % 2 ? DZO_ROWS_BY_WEIGHT : DZO_ROWS_BY_NEIGHBOUR;
    host_rows r = rows_make(&g->edges, order, seed);
    dzo_device_csr csr = rows_upload(&r, order);
    csr.trusted = seed % 3 == 0;
    dzo_msf_options options;
    dzo_msf_options_init(&options);
    options.maximum = (int)(seed / 12 % 2);
    options.any_order = seed % 4 == 0;
    char what[64];
    (void)snprintf(what, sizeof what, "graph %d", (int)seed);
    expect_rows_forest(&r, &csr, &options, what);
    csr_free(&csr);
    rows_free(&r);
    random_graph_free(g);
  }
}

/* ---- What is wrong is named ------------------------------------------------------------------ */

/* A triangle and an edge, rows by neighbour: 0: 1 2, 1: 0 2, 2: 0 1, 3: 4, 4: 3. */
static const uint64_t good_offsets[] = {0, 2, 4, 6, 7, 8};
static const uint32_t good_neighbours[] = {1, 2, 0, 2, 0, 1, 4, 3};
static const double good_weights[] = {5, 1, 5, 3, 1, 3, -2, -2};

static dzo_status run_with(uint64_t *offsets, uint32_t *neighbours, double *weights,
                           dzo_row_order order) {
  host_rows r = {.vertices = 5, .arcs = 8, .offsets = offsets, .neighbours = neighbours};
  r.type = DZO_WEIGHT_F64;
  r.weights = weights;
  dzo_device_csr csr = rows_upload(&r, order);
  uint64_t *arcs = to_gpu(gpu, NULL, 5, sizeof *arcs), count = 77;
  dzo_status status = dzo_msf_run_device(gpu.context, &csr, NULL, arcs, &count);
  assert_int_equal(count, status == DZO_OK ? 3 : 0);
  dzo_unit_release(gpu.unit, arcs);
  csr_free(&csr);
  return status;
}

static void expect_complaint(dzo_status status, const char *text) {
  if (status != DZO_E_ARGUMENT || strstr(dzo_context_message(gpu.context), text) == NULL)
    fail_msg("wanted '%s', not %s: %s", text, dzo_status_name(status),
             dzo_context_message(gpu.context));
}

static void wrong_rows_are_named(void **state) {
  (void)state;
  need_gpu(gpu);
  uint64_t offsets[6];
  uint32_t neighbours[8];
  double weights[8];
#define FRESH()                                                                                    \
  (memcpy(offsets, good_offsets, sizeof offsets),                                                  \
   memcpy(neighbours, good_neighbours, sizeof neighbours),                                         \
   memcpy(weights, good_weights, sizeof weights))
  FRESH();
  must_on(gpu, run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR));
  offsets[2] = 7;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "row 2");
  FRESH(), offsets[0] = 1;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "row 0");
  FRESH(), offsets[5] = 7;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "row 4");
  FRESH(), offsets[3] = UINT64_MAX;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "row 2");
  FRESH(), neighbours[6] = 5;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR),
                   "row 3 of 5: a neighbour is out of range");
  FRESH(), weights[4] = (double)NAN;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR),
                   "row 2 of 5: a weight is not a number");
  FRESH(), neighbours[2] = 2, neighbours[3] = 0;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "row 1 of 5");
  FRESH(), expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_WEIGHT),
                            "row 0 of 5: the arcs are not in the order");
  FRESH(), weights[7] = -3;
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "not symmetric");
  FRESH(), neighbours[7] = 4; /* a loop in place of the way back */
  expect_complaint(run_with(offsets, neighbours, weights, DZO_ROWS_BY_NEIGHBOUR), "not symmetric");
#undef FRESH
}

static void wrong_arguments_are_named(void **state) {
  (void)state;
  need_gpu(gpu);
  dzo_device_csr csr;
  dzo_device_csr_init(&csr);
  uint64_t *arcs = to_gpu(gpu, NULL, 5, sizeof *arcs), count = 77, bytes = 77;
  must_on(gpu, dzo_msf_run_device(gpu.context, &csr, NULL, NULL, &count)); /* no vertices */
  assert_int_equal(count, 0);
  must_on(gpu, dzo_msf_device_workspace(gpu.context, &csr, NULL, &bytes));
  assert_int_equal(bytes, 0);
  expect_complaint(dzo_msf_run_device(gpu.context, NULL, NULL, arcs, &count), "no device CSR");
  expect_complaint(dzo_msf_run_device(gpu.context, &csr, NULL, arcs, NULL), "count");
  csr.vertices = 5;
  csr.arcs = 8;
  csr.offsets = good_offsets;
  expect_complaint(dzo_msf_run_device(gpu.context, &csr, NULL, arcs, &count),
                   "offsets is no memory of GPU 0");
  expect_complaint(dzo_msf_run_device(gpu.context, &csr, NULL, &count, &count),
                   "arcs is no memory of GPU 0");
  csr.vertices = UINT64_C(1) << 30;
  assert_int_equal(dzo_msf_run_device(gpu.context, &csr, NULL, arcs, &count), DZO_E_UNSUPPORTED);
  csr.vertices = 5;
  csr.size = 3;
  expect_complaint(dzo_msf_run_device(gpu.context, &csr, NULL, arcs, &count), "another size");
  dzo_unit_release(gpu.unit, arcs);
}

static void isolated_vertices_have_no_edges(void **state) {
  (void)state;
  need_gpu(gpu);
  const uint64_t offsets[4] = {0};
  dzo_device_csr csr;
  dzo_device_csr_init(&csr);
  csr.vertices = 3;
  csr.offsets = to_gpu(gpu, offsets, 4, sizeof *offsets);
  uint64_t *arcs = to_gpu(gpu, NULL, 3, sizeof *arcs), count = 77;
  must_on(gpu, dzo_msf_run_device(gpu.context, &csr, NULL, arcs, &count));
  assert_int_equal(count, 0);
  dzo_unit_release(gpu.unit, arcs);
  csr_free(&csr);
}

static void a_context_without_gpu_says_so(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_device_csr csr;
  dzo_device_csr_init(&csr);
  uint64_t count;
  assert_int_equal(dzo_msf_run_device(context, &csr, NULL, NULL, &count), DZO_E_DEVICE);
  assert_int_equal(dzo_msf_device_workspace(context, &csr, NULL, &count), DZO_E_DEVICE);
  assert_true(dzo_context_message(context)[0] != '\0');
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forests_of_device_rows_equal_the_oracle),
      cmocka_unit_test(wrong_rows_are_named),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(isolated_vertices_have_no_edges),
      cmocka_unit_test(a_context_without_gpu_says_so),
  };
  return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
