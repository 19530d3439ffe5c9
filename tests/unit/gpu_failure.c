/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A GPU that fails at its first, second, third, ... operation, until a call gets through without:
 * the right forest each time, and one notice where it failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/device.h"
#include "forest_checks.h"
#include "msf/gpu_stream.h"

#if defined(__SANITIZE_THREAD__)
enum { STEP = 7 }; /* not every operation, for each takes long */
#else
enum { STEP = 1 };
#endif
enum { MOST_VERTICES = 200, ENOUGH = 100000 };

/* The first random graph that is worth the trial. */
static random_graph *some_graph(dzo_weight_type type) {
  for (uint64_t seed = 1;; seed++) {
    random_graph *g = random_graph_make(seed, MOST_VERTICES, type, 0);
    if (g->edges.vertices >= 100 && g->edges.count >= 300)
      return g;
    random_graph_free(g);
  }
}

static dzo_context *open_context(dzo_device device, uint64_t gpu_memory) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.gpu_memory = gpu_memory;
  options.threads = 2;
  dzo_context *context = NULL;
  (void)dzo_context_create(&options, &context);
  return context;
}

/* Before a test has anything, since skipping leaves it behind. */
static void need_gpu(void) {
  dzo_context *context = open_context(DZO_DEVICE_CUDA, 0);
  if (context == NULL) {
    print_message("skipped: there is no GPU\n");
    skip();
  }
  dzo_context_destroy(context);
}

/* From now on, the k-th operation fails, and all after it. */
static dzo_unit *fail_at(dzo_context *context, uint64_t k) {
  dzo_unit *unit = dzo_context_gpu(context);
  assert_non_null(unit);
  unit->fail_at = unit->operations + k;
  return unit;
}

static void expect_one_notice(const dzo_context *context, const dzo_unit *unit) {
  const char *notice = dzo_context_notice(context);
  if ((notice[0] != '\0') != unit->lost)
    fail_msg("lost: %d, notice: '%s'", unit->lost, notice);
  assert_null(strchr(notice, '\n'));
  if (unit->lost)
    assert_non_null(strstr(notice, "a failure made for a test"));
  assert_string_equal(dzo_context_message(context), "");
}

typedef struct trial {
  dzo_device device;
  uint64_t gpu_memory;
  bool upload;
  preparation how;
} trial;

/* True if nothing failed. */
static bool solve_failing(const trial *t, const random_graph *g, const oracle_forest *f,
                          uint64_t k) {
  dzo_context *context = open_context(t->device, t->gpu_memory);
  dzo_graph *graph = prepare(context, &g->edges, t->how);
  if (t->upload)
    must(context, dzo_graph_upload(context, graph));
  dzo_unit *unit = fail_at(context, k);
  dzo_msf *msf = solve(context, graph, 0);
  expect_one_notice(context, unit);
  bool lost = unit->lost;
  char what[64];
  (void)snprintf(what, sizeof what, "operation %d fails", (int)k);
  expect_forest(context, msf, graph, &g->edges, f, what);
  dzo_msf_destroy(msf);
  if (lost) { /* the context goes on without */
    msf = solve(context, graph, 0);
    assert_int_equal(dzo_msf_device(msf), DZO_DEVICE_CPU);
    assert_true(dzo_context_notice(context)[0] != '\0');
    expect_forest(context, msf, graph, &g->edges, f, "afterwards");
    dzo_msf_destroy(msf);
  }
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  return !lost;
}

static void a_lost_gpu_leaves_the_right_forest(void **state) {
  (void)state;
  need_gpu();
  static const trial trials[] = {{DZO_DEVICE_CUDA, 0, false, BY_NEIGHBOUR},
                                 {DZO_DEVICE_CUDA, 1 << 20, false, BY_WEIGHT},
                                 {DZO_DEVICE_CUDA, 0, true, BY_NEIGHBOUR},
                                 {DZO_DEVICE_CUDA, 0, true, COMPRESSED},
                                 {DZO_DEVICE_HYBRID, 1 << 20, false, COMPRESSED}};
  random_graph *g = some_graph(DZO_WEIGHT_F64);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
    uint64_t k = 1;
    while (!solve_failing(&trials[i], g, f, k))
      assert_in_range(k += STEP, 1, ENOUGH);
    print_message("trial %d: %d operations\n", (int)i, (int)k - 1);
  }
  oracle_free(f);
  random_graph_free(g);
}

/* Both processors at work, past the choice of the better one: the failure comes back, and nothing
 * stays behind. */
static bool together_failing(const random_graph *g, const oracle_forest *f, uint64_t k) {
  dzo_context *context = open_context(DZO_DEVICE_HYBRID, 1 << 20);
  dzo_graph *graph = prepare(context, &g->edges, BY_NEIGHBOUR);
  dzo_msf *msf = dzo_calloc(context, 1, sizeof *msf);
  assert_non_null(msf);
  *msf = (dzo_msf){.vertices = graph->vertices,
                   .graph_edges = graph->edges,
                   .weight_type = g->edges.weight_type};
  dzo_unit *unit = fail_at(context, k);
  const msf_stream_ways both = {.two_passes = MSF_ALWAYS, .whole_rows = MSF_BY_RATES};
  dzo_status status = msf_solve_in_ways(unit, graph, false, both, msf);
  assert_true((status == DZO_OK) == !unit->lost);
  assert_true(status == DZO_OK || status == DZO_E_DEVICE);
  if (status == DZO_OK)
    expect_forest(context, msf, graph, &g->edges, f, "together");
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  return status == DZO_OK;
}

static void a_lost_gpu_ends_the_work_of_both(void **state) {
  (void)state;
  need_gpu();
  random_graph *g = some_graph(DZO_WEIGHT_F64);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  uint64_t k = 1;
  while (!together_failing(g, f, k))
    assert_in_range(k += STEP, 1, ENOUGH);
  print_message("%d operations\n", (int)k - 1);
  oracle_free(f);
  random_graph_free(g);
}

static bool stream_failing(dzo_device device, const random_graph *g, const oracle_forest *f,
                           uint64_t k) {
  dzo_context *context = open_context(device, 0);
  dzo_unit *unit = fail_at(context, k);
  chunk_source chunks = {.edges = &g->edges, .most = 300, .random = {k}};
  dzo_msf *msf;
  must(context, stream(context, &chunks, 0, &msf));
  expect_one_notice(context, unit);
  assert_int_equal(chunks.at, g->edges.count);
  bool lost = unit->lost;
  char what[64];
  (void)snprintf(what, sizeof what, "streamed, operation %d fails", (int)k);
  expect_forest(context, msf, NULL, &g->edges, f, what);
  dzo_msf_destroy(msf);
  dzo_context_destroy(context);
  return !lost;
}

static void a_lost_gpu_loses_no_streamed_edge(void **state) {
  (void)state;
  need_gpu();
  random_graph *g = some_graph(DZO_WEIGHT_I64);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  for (int device = DZO_DEVICE_CUDA; device <= DZO_DEVICE_HYBRID; device++) {
    uint64_t k = 1;
    while (!stream_failing((dzo_device)device, g, f, k))
      assert_in_range(k += STEP, 1, ENOUGH);
    print_message("device %d: %d operations\n", device, (int)k - 1);
  }
  oracle_free(f);
  random_graph_free(g);
}

/* An upload is no solve: it fails, the graph stays as it was, and is solved by the CPU. */
static void a_failing_upload_leaves_the_graph(void **state) {
  (void)state;
  need_gpu();
  random_graph *g = some_graph(DZO_WEIGHT_U32);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  dzo_status status = DZO_E_DEVICE_FAILED;
  for (uint64_t k = 1; status != DZO_OK; k += STEP) {
    assert_in_range(k, 1, ENOUGH);
    dzo_context *context = open_context(DZO_DEVICE_CUDA, 0);
    dzo_graph *graph = prepare(context, &g->edges, COMPRESSED_BY_WEIGHT);
    (void)fail_at(context, k);
    status = dzo_graph_upload(context, graph);
    if (status != DZO_OK) {
      assert_int_equal(status, DZO_E_DEVICE_FAILED);
      assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
      assert_true(dzo_context_message(context)[0] != '\0');
      dzo_msf *msf = solve(context, graph, 0);
      expect_forest(context, msf, graph, &g->edges, f, "after a failing upload");
      dzo_msf_destroy(msf);
    }
    dzo_graph_destroy(graph);
    dzo_context_destroy(context);
  }
  oracle_free(f);
  random_graph_free(g);
}

/* ---- Memory of the host ---------------------------------------------------------------------- */

/* An allocator that fails once. Accessed atomically. */
typedef struct failing {
  uint64_t calls, fail_at;
  int64_t live;
} failing;

static void *fail_or_allocate(void *user, size_t bytes) {
  failing *f = user;
  if (__atomic_fetch_add(&f->calls, 1, __ATOMIC_RELAXED) ==
      __atomic_load_n(&f->fail_at, __ATOMIC_RELAXED))
    return NULL;
  void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (block != NULL)
    __atomic_add_fetch(&f->live, 1, __ATOMIC_RELAXED);
  return block;
}

static void release(void *user, void *pointer) {
  failing *f = user;
  __atomic_sub_fetch(&f->live, 1, __ATOMIC_RELAXED);
  free(pointer);
}

/* Uploads (if it may), solves, and looks: the forest, or DZO_E_MEMORY and nothing. True if no
 * allocation failed. */
static bool solve_without_memory(const trial *t, const random_graph *g, const oracle_forest *f,
                                 uint64_t k) {
  failing allocator = {0, UINT64_MAX, 0};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = t->device;
  options.threads = 2;
  options.allocator = (dzo_allocator){&allocator, fail_or_allocate, release};
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  dzo_graph *graph = prepare(context, &g->edges, t->how);
  allocator.calls = 0;
  allocator.fail_at = k;
  dzo_status status = t->upload ? dzo_graph_upload(context, graph) : DZO_OK;
  assert_true(status == DZO_OK || status == DZO_E_MEMORY);
  dzo_msf *msf = (dzo_msf *)&options;
  status = dzo_msf_run(context, graph, NULL, &msf);
  bool failed = allocator.calls > k;
  allocator.fail_at = UINT64_MAX;
  assert_true((status == DZO_OK) == (msf != NULL));
  assert_true(status == DZO_OK || (failed && status == DZO_E_MEMORY));
  if (msf != NULL)
    expect_forest(context, msf, graph, &g->edges, f, "an allocation fails");
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  assert_int_equal(allocator.live, 0);
  return !failed;
}

static void host_memory_that_runs_out_is_survived(void **state) {
  (void)state;
  need_gpu();
  static const trial trials[] = {{DZO_DEVICE_CUDA, 0, false, BY_NEIGHBOUR},
                                 {DZO_DEVICE_CUDA, 0, true, COMPRESSED},
                                 {DZO_DEVICE_HYBRID, 0, false, BY_WEIGHT}};
  random_graph *g = some_graph(DZO_WEIGHT_F64);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
    uint64_t k = 0;
    while (!solve_without_memory(&trials[i], g, f, k))
      assert_in_range(k += STEP, 1, ENOUGH);
    assert_in_range(k, 3, ENOUGH);
  }
  oracle_free(f);
  random_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lost_gpu_leaves_the_right_forest),
      cmocka_unit_test(a_lost_gpu_ends_the_work_of_both),
      cmocka_unit_test(a_lost_gpu_loses_no_streamed_edge),
      cmocka_unit_test(a_failing_upload_leaves_the_graph),
      cmocka_unit_test(host_memory_that_runs_out_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
