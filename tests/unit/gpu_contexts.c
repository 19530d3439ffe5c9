/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Contexts that share a GPU: on threads of their own, cancelled in the middle, and gone before the
 * graphs that they had copies of. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "forest_checks.h"

enum { THREADS = 3, GRAPHS = 6, MOST_VERTICES = 200, ENOUGH = 10000 };

static dzo_context *open_context(dzo_device device, uint64_t gpu_memory, dzo_progress_fn progress,
                                 void *user) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.gpu_memory = gpu_memory;
  options.threads = 2;
  options.progress = progress;
  options.progress_user = user;
  dzo_context *context;
  return dzo_context_create(&options, &context) == DZO_OK ? context : NULL;
}

static dzo_context *need_context(dzo_device device) {
  dzo_context *context = open_context(device, 0, NULL, NULL);
  if (context == NULL) {
    print_message("skipped: there is no GPU\n");
    skip();
  }
  return context;
}

static bool has_edges(const dzo_msf *msf, const oracle_forest *f) {
  return dzo_msf_count(msf) == f->count &&
         (f->count == 0 ||
          memcmp(dzo_msf_edges(msf), f->numbers, f->count * sizeof *f->numbers) == 0);
}

/* ---- On threads ------------------------------------------------------------------------------ */

typedef struct crowd {
  random_graph *graphs[GRAPHS];
  oracle_forest *forests[GRAPHS];
} crowd;

typedef struct member {
  const crowd *crowd;
  dzo_device device;
  bool upload;
  int wrong;
} member;

static bool solves(dzo_context *context, const dzo_edges *edges, const oracle_forest *f,
                   bool upload) {
  dzo_graph *graph = NULL;
  dzo_msf *msf = NULL;
  bool right = dzo_graph_from_edges(context, edges, &graph) == DZO_OK &&
               (!upload || dzo_graph_upload(context, graph) == DZO_OK) &&
               dzo_msf_run(context, graph, NULL, &msf) == DZO_OK && has_edges(msf, f) &&
               dzo_context_notice(context)[0] == '\0';
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  return right;
}

static void *run_member(void *argument) {
  member *m = argument;
  for (int i = 0; i < GRAPHS; i += 2) {
    dzo_context *context = open_context(m->device, 0, NULL, NULL);
    m->wrong += context == NULL;
    for (int k = i; k < i + 2 && context != NULL; k++)
      m->wrong += !solves(context, &m->crowd->graphs[k]->edges, m->crowd->forests[k], m->upload);
    dzo_context_destroy(context);
  }
  return NULL;
}

static void contexts_on_threads_are_independent(void **state) {
  (void)state;
  dzo_context_destroy(need_context(DZO_DEVICE_CUDA));
  crowd c;
  for (int i = 0; i < GRAPHS; i++) {
    c.graphs[i] = random_graph_make((uint64_t)i + 1, MOST_VERTICES, every_type[i % TYPES], 0);
    c.forests[i] = oracle_solve(&c.graphs[i]->edges, 0, 0);
  }
  member members[THREADS] = {{&c, DZO_DEVICE_CUDA, true, 0},
                             {&c, DZO_DEVICE_CUDA, false, 0},
                             {&c, DZO_DEVICE_HYBRID, false, 0}};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(members[i].wrong, 0);
  }
  for (int i = 0; i < GRAPHS; i++) {
    oracle_free(c.forests[i]);
    random_graph_free(c.graphs[i]);
  }
}

/* ---- Cancelled ------------------------------------------------------------------------------- */

/* Says no at its `at`-th call. */
typedef struct stopper {
  uint64_t calls, at;
} stopper;

static int stop_at(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  stopper *s = user;
  return ++s->calls == s->at;
}

typedef struct stopped_case {
  dzo_device device;
  uint64_t gpu_memory;
  bool upload;
  dzo_weight_type type;
} stopped_case;

/* Stop at every report in turn; each time the next call with the same context finds the forest. */
static void stop_everywhere(const stopped_case *c) {
  random_graph *g = random_graph_make(7, MOST_VERTICES, c->type, 0);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  stopper s = {0, 0};
  dzo_context *context = open_context(c->device, c->gpu_memory, stop_at, &s);
  assert_non_null(context);
  dzo_graph *graph = prepare(context, &g->edges, BY_NEIGHBOUR);
  if (c->upload)
    must(context, dzo_graph_upload(context, graph));
  dzo_status status = DZO_E_CANCELLED;
  for (uint64_t k = 1; status != DZO_OK; k++) {
    assert_in_range(k, 1, ENOUGH);
    s = (stopper){0, k};
    dzo_msf *msf = (dzo_msf *)&s;
    status = dzo_msf_run(context, graph, NULL, &msf);
    assert_int_equal(status, s.calls < k ? DZO_OK : DZO_E_CANCELLED);
    assert_true((status == DZO_OK) == (msf != NULL));
    dzo_msf_destroy(msf);
    dzo_context_resume(context);
    s.at = 0;
    msf = solve(context, graph, 0);
    assert_string_equal(dzo_context_notice(context), "");
    expect_forest(context, msf, graph, &g->edges, f, "after a cancelled call");
    dzo_msf_destroy(msf);
  }
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  oracle_free(f);
  random_graph_free(g);
}

static void a_cancelled_call_leaves_nothing_behind(void **state) {
  (void)state;
  static const stopped_case cases[] = {{DZO_DEVICE_CUDA, 0, true, DZO_WEIGHT_U32},
                                       {DZO_DEVICE_CUDA, 0, false, DZO_WEIGHT_F64},
                                       {DZO_DEVICE_CUDA, 1 << 20, false, DZO_WEIGHT_U32},
                                       {DZO_DEVICE_HYBRID, 0, false, DZO_WEIGHT_I64}};
  dzo_context_destroy(need_context(DZO_DEVICE_CUDA));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    stop_everywhere(&cases[i]);
}

/* ---- Copies of others ------------------------------------------------------------------------ */

static void a_copy_goes_with_its_context(void **state) {
  (void)state;
  dzo_context *own = need_context(DZO_DEVICE_CUDA);
  random_graph *g = random_graph_make(11, MOST_VERTICES, DZO_WEIGHT_U32, 0);
  oracle_forest *f = oracle_solve(&g->edges, 0, 0);
  dzo_graph *graph = prepare(own, &g->edges, BY_NEIGHBOUR);
  dzo_context *first = need_context(DZO_DEVICE_CUDA), *second = need_context(DZO_DEVICE_HYBRID);
  must(first, dzo_graph_upload(first, graph));
  uint64_t bytes = dzo_graph_gpu_bytes(graph);
  assert_true(bytes > 0);
  /* One copy a graph: the next context's takes its place. */
  must(second, dzo_graph_upload(second, graph));
  assert_int_equal(dzo_graph_gpu_bytes(graph), bytes);
  dzo_context_destroy(first);
  dzo_context *contexts[] = {second, own};
  for (int i = 0; i < 2; i++) {
    dzo_msf *msf = solve(contexts[i], graph, 0);
    expect_forest(contexts[i], msf, graph, &g->edges, f, "with a copy in another context");
    dzo_msf_destroy(msf);
  }
  dzo_graph_evict(graph);
  assert_int_equal(dzo_graph_gpu_bytes(graph), 0);
  dzo_context_destroy(second);
  dzo_msf *msf = solve(own, graph, 0);
  expect_forest(own, msf, graph, &g->edges, f, "after the copy");
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_context_destroy(own);
  oracle_free(f);
  random_graph_free(g);
}

/* A streamed solve takes all the memory that it may, and the context keeps it. */
static void a_copy_finds_room_after_a_streamed_solve(void **state) {
  (void)state;
  dzo_context_destroy(need_context(DZO_DEVICE_CUDA));
  dzo_context *context = open_context(DZO_DEVICE_CUDA, 1 << 20, NULL, NULL);
  dzo_generate_options options;
  dzo_generate_options_init(&options);
  options.scale = 10;
  dzo_edge_list *list;
  must(context, dzo_edge_list_generate(context, DZO_GENERATE_RMAT, &options, &list));
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  dzo_graph *graph = prepare(context, &edges, BY_NEIGHBOUR);
  for (int round = 0; round < 2; round++) {
    dzo_msf *msf = solve(context, graph, 0);
    assert_int_equal(dzo_msf_device(msf), DZO_DEVICE_CUDA);
    dzo_msf_destroy(msf);
    must(context, dzo_graph_upload(context, graph));
  }
  dzo_graph_destroy(graph);
  dzo_edge_list_destroy(list);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contexts_on_threads_are_independent),
      cmocka_unit_test(a_cancelled_call_leaves_nothing_behind),
      cmocka_unit_test(a_copy_goes_with_its_context),
      cmocka_unit_test(a_copy_finds_room_after_a_streamed_solve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
