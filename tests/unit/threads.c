/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What several threads do at once, driven from plain pthreads as well as from teams, so that
 * ThreadSanitizer sees all of it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "oracle.h"
#include "random_graphs.h"

enum { THREADS = 4 };

typedef void *(*thread_fn)(void *argument);

/* Run `fn` on THREADS threads; thread i gets arguments + i * size. */
static void on_threads(thread_fn fn, void *arguments, size_t size) {
  pthread_t ids[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, fn, (char *)arguments + i * size), 0);
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(ids[i], NULL), 0);
}

static dzo_context *context_of(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

/* ---- Per-item code --------------------------------------------------------------------------- */

typedef struct shared_items {
  uint64_t sum, least, bits;
  uint32_t owner32;
  uint64_t owner64;
} shared_items;

typedef struct item_job {
  shared_items *shared;
  uint64_t thread;
  uint64_t wins;
} item_job;

enum { ITEMS = 20000 };

static void *use_items(void *argument) {
  item_job *job = argument;
  shared_items *s = job->shared;
  for (uint64_t i = 0; i < ITEMS; i++) {
    dzo_fetch_add_u64(&s->sum, i);
    dzo_min_u64(&s->least, (i * THREADS + job->thread) ^ 0x5555);
    dzo_fetch_or_u64(&s->bits, UINT64_C(1) << (i % 16 * 4 + job->thread));
    uint64_t seen64 = dzo_load_u64(&s->owner64);
    job->wins += dzo_cas_u64(&s->owner64, &seen64, seen64 + 1);
    uint32_t seen32 = dzo_load_u32(&s->owner32);
    while (!dzo_cas_u32(&s->owner32, &seen32, seen32 + 1)) {
    }
  }
  return NULL;
}

static void items_lose_no_update(void **state) {
  (void)state;
  shared_items shared = {.least = UINT64_MAX};
  item_job jobs[THREADS];
  for (uint64_t i = 0; i < THREADS; i++)
    jobs[i] = (item_job){&shared, i, 0};
  on_threads(use_items, jobs, sizeof *jobs);
  uint64_t wins = 0;
  for (int i = 0; i < THREADS; i++)
    wins += jobs[i].wins;
  assert_int_equal(shared.sum, (uint64_t)THREADS * ITEMS * (ITEMS - 1) / 2);
  assert_int_equal(shared.least, 0);
  assert_int_equal(shared.bits, UINT64_MAX);
  assert_int_equal(shared.owner64, wins);
  assert_int_equal(shared.owner32, THREADS * ITEMS);
}

/* ---- Teams ----------------------------------------------------------------------------------- */

typedef struct attendance {
  uint32_t seen[64];
  int threads;
} attendance;

static void attend(void *argument, int thread, int threads) {
  attendance *a = argument;
  a->seen[thread]++; /* a place of its own: no race */
  if (thread == 0)
    a->threads = threads;
}

static void every_member_runs_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 64; threads = 2 * threads + 1) {
    attendance a = {{0}, 0};
    dzo_team_run(threads, attend, &a);
    assert_int_equal(a.threads, threads);
    for (int i = 0; i < 64; i++)
      assert_int_equal(a.seen[i], i < threads);
  }
}

enum { CELLS = 10007, GRAIN = 64 };

static void fill_cells(void *argument, uint64_t begin, uint64_t end, int thread) {
  uint32_t *cells = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    cells[i] += (uint32_t)i; /* plain writes: ranges must not overlap */
}

static void check_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  uint64_t *wrong = argument;
  if (begin % GRAIN != 0 || end > CELLS || end <= begin || thread < 0 || thread >= 8 ||
      (end - begin != GRAIN && end != CELLS))
    dzo_fetch_add_u64(wrong, 1);
}

static void ranges_cover_without_overlap(void **state) {
  (void)state;
  uint32_t *cells = calloc(CELLS, sizeof *cells);
  assert_non_null(cells);
  for (int round = 1; round <= 8; round++) {
    dzo_parallel_for(round, CELLS, GRAIN, fill_cells, cells);
    for (uint32_t i = 0; i < CELLS; i++)
      assert_int_equal(cells[i], (uint32_t)round * i);
  }
  uint64_t wrong = 0;
  dzo_parallel_for(8, CELLS, GRAIN, check_range, &wrong);
  assert_int_equal(wrong, 0);
  free(cells);
}

static void nest(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread, (void)begin, (void)end;
  uint64_t wrong = 0;
  dzo_parallel_for(3, CELLS, GRAIN, check_range, &wrong);
  dzo_fetch_add_u64(argument, wrong + 1);
}

static void teams_may_nest(void **state) {
  (void)state;
  uint64_t done = 0;
  dzo_parallel_for(3, 10, 1, nest, &done);
  assert_int_equal(done, 10);
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static void allocate_in_team(void *argument, int thread, int threads) {
  (void)threads;
  dzo_context *context = argument;
  for (int i = 0; i < 200; i++) {
    unsigned char *block = dzo_calloc(context, (uint64_t)(thread + 1) * 64, 1);
    block = dzo_realloc(context, block, (uint64_t)(thread + 1) * 128, 1);
    block[0] = (unsigned char)thread;
    dzo_free(block);
    if (i % 50 == 0)
      (void)dzo_fail(context, DZO_E_MEMORY, "thread %d of %s", thread, "a team");
  }
}

static void memory_is_counted_across_a_team(void **state) {
  (void)state;
  dzo_context *context = context_of(THREADS);
  dzo_team_run(THREADS, allocate_in_team, context);
  assert_int_equal(dzo_context_memory_used(context), 0);
  assert_true(dzo_context_memory_peak(context) >= 2 * 64 + 128);
  int thread = -1;
  char last[16];
  assert_int_equal(sscanf(dzo_context_message(context), "thread %d of a %15s", &thread, last), 2);
  assert_in_range(thread, 0, THREADS - 1);
  assert_string_equal(last, "team");
  dzo_context_destroy(context);
}

typedef struct solver_job {
  uint64_t seed;
  const random_graph *graph;   /* shared, read only */
  const oracle_forest *forest; /* likewise */
  int wrong;
} solver_job;

/* A context of its own, a graph of its own, a team of its own. */
static void *solve_apart(void *argument) {
  solver_job *job = argument;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 1 + (int)job->seed % 3;
  dzo_context *context;
  dzo_graph *graph = NULL;
  dzo_msf *msf = NULL;
  int valid = 0;
  job->wrong = 1;
  if (dzo_context_create(&options, &context) != DZO_OK)
    return NULL;
  if (dzo_graph_from_edges(context, &job->graph->edges, &graph) == DZO_OK &&
      dzo_msf_run(context, graph, NULL, &msf) == DZO_OK) {
    dzo_msf_claim claim;
    dzo_msf_claim_init(&claim);
    claim.count = dzo_msf_count(msf);
    claim.numbers = dzo_msf_edges(msf);
    job->wrong =
        dzo_msf_verify(context, &job->graph->edges, &claim, &valid) != DZO_OK || !valid ||
        claim.count != job->forest->count ||
        memcmp(claim.numbers, job->forest->numbers, claim.count * sizeof *claim.numbers) != 0;
  }
  dzo_msf_destroy(msf);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  return NULL;
}

static void contexts_are_independent(void **state) {
  (void)state;
  for (uint64_t round = 0; round < 6; round++) {
    random_graph *graph = random_graph_make(900 + round, 3000, DZO_WEIGHT_F64, 0);
    oracle_forest *forest = oracle_solve(&graph->edges, 0, 0);
    solver_job jobs[THREADS];
    for (uint64_t i = 0; i < THREADS; i++)
      jobs[i] = (solver_job){round + i, graph, forest, 1};
    on_threads(solve_apart, jobs, sizeof *jobs);
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(jobs[i].wrong, 0);
    oracle_free(forest);
    random_graph_free(graph);
  }
}

typedef struct shared_job {
  const dzo_graph *graph;
  const oracle_forest *forest;
  int wrong;
} shared_job;

/* One graph, read by several contexts at once. */
static void *solve_shared(void *argument) {
  shared_job *job = argument;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 2;
  dzo_context *context;
  dzo_msf *msf = NULL;
  if (dzo_context_create(&options, &context) != DZO_OK)
    return NULL;
  job->wrong =
      dzo_msf_run(context, job->graph, NULL, &msf) != DZO_OK ||
      dzo_msf_count(msf) != job->forest->count ||
      memcmp(dzo_msf_edges(msf), job->forest->numbers, job->forest->count * sizeof(uint64_t)) != 0;
  dzo_msf_destroy(msf);
  dzo_context_destroy(context);
  return NULL;
}

static void a_graph_may_be_shared(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  random_graph *graph = random_graph_make(905, 5000, DZO_WEIGHT_I64, 0);
  oracle_forest *forest = oracle_solve(&graph->edges, 0, 0);
  dzo_graph *csr;
  assert_int_equal(dzo_graph_from_edges(context, &graph->edges, &csr), DZO_OK);
  shared_job jobs[THREADS];
  for (int i = 0; i < THREADS; i++)
    jobs[i] = (shared_job){csr, forest, 1};
  on_threads(solve_shared, jobs, sizeof *jobs);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(jobs[i].wrong, 0);
  dzo_graph_destroy(csr);
  oracle_free(forest);
  random_graph_free(graph);
  dzo_context_destroy(context);
}

typedef struct long_job {
  dzo_context *context;
  const dzo_graph *graph;
  uint64_t started; /* accessed atomically */
  dzo_status status;
} long_job;

/* Solve over and over until cancelled. */
static void *solve_until_cancelled(void *argument) {
  long_job *job = argument;
  do {
    dzo_msf *msf;
    job->status = dzo_msf_run(job->context, job->graph, NULL, &msf);
    dzo_msf_destroy(msf);
    dzo_fetch_add_u64(&job->started, 1);
  } while (job->status == DZO_OK);
  return NULL;
}

static void another_thread_can_cancel(void **state) {
  (void)state;
  dzo_context *context = context_of(2);
  random_graph *graph = random_graph_make(907, 3000, DZO_WEIGHT_U32, 0);
  dzo_graph *csr;
  assert_int_equal(dzo_graph_from_edges(context, &graph->edges, &csr), DZO_OK);
  uint64_t held = dzo_context_memory_used(context);
  long_job job = {context, csr, 0, DZO_OK};
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, solve_until_cancelled, &job), 0);
  while (dzo_load_u64(&job.started) < 3) {
  }
  dzo_context_cancel(context);
  assert_int_equal(pthread_join(id, NULL), 0);
  assert_int_equal(job.status, DZO_E_CANCELLED);
  assert_int_equal(dzo_context_memory_used(context), held);
  dzo_context_resume(context);
  dzo_graph_destroy(csr);
  random_graph_free(graph);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_lose_no_update),
      cmocka_unit_test(every_member_runs_once),
      cmocka_unit_test(ranges_cover_without_overlap),
      cmocka_unit_test(teams_may_nest),
      cmocka_unit_test(memory_is_counted_across_a_team),
      cmocka_unit_test(contexts_are_independent),
      cmocka_unit_test(a_graph_may_be_shared),
      cmocka_unit_test(another_thread_can_cancel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
