/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Splitting chunks between workers: fast, slow and failing ones, without clocks and with threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/item.h"
#include "base/parallel.h"
#include "random_graphs.h"
#include "split/belt.h"
#include "split/route.h"
#include "split/split.h"

static dzo_context *context;

static int open_context(void **state) {
  (void)state;
  return dzo_context_create(NULL, &context) == DZO_OK ? 0 : -1;
}

static int close_context(void **state) {
  (void)state;
  int leaks = dzo_context_memory_used(context) != 0;
  dzo_context_destroy(context);
  return leaks;
}

/* ---- Workers on a simulated clock ------------------------------------------------------------ */

typedef struct fake_worker {
  double seconds; /* a chunk */
  double until;   /* busy until then */
  uint64_t first, count;
  double begun;
  double fails; /* when */
  bool failed;
} fake_worker;

/* Let the workers take and do chunks until none can; when the last was done. Each chunk is done
 * once. */
static double simulate(uint64_t chunks, fake_worker *workers, int number, uint64_t most,
                       uint64_t *counts) {
  dzo_split *split;
  assert_int_equal(dzo_split_create(context, chunks, number, &split), DZO_OK);
  unsigned char *times_done = calloc(chunks + 1, 1);
  assert_non_null(times_done);
  double now = 0, end = 0;
  for (;;) {
    int next = -1;
    for (int w = 0; w < number; w++)
      if (!workers[w].failed && (next < 0 || workers[w].until < workers[next].until))
        next = w;
    if (next < 0)
      break;
    fake_worker *w = &workers[next];
    now = w->until;
    if (now >= w->fails) {
      dzo_split_fail(split, next);
      w->failed = true;
      continue;
    }
    if (w->count > 0) {
      for (uint64_t c = w->first; c < w->first + w->count; c++)
        assert_int_equal(times_done[c]++, 0);
      dzo_split_done(split, next, w->first, now - w->begun);
      end = now;
    }
    w->count = dzo_split_take(split, next, most, &w->first);
    w->begun = now;
    w->until = w->count > 0 ? now + (double)w->count * w->seconds : now + 1;
    if (w->until > w->fails)
      w->until = w->fails;
    if (w->count == 0 && (dzo_split_finished(split) || now > 1e6))
      break;
  }
  assert_true(dzo_split_finished(split));
  for (uint64_t c = 0; c < chunks; c++)
    assert_int_equal(times_done[c], 1);
  for (int w = 0; w < number && counts != NULL; w++)
    counts[w] = dzo_split_count(split, w);
  free(times_done);
  dzo_split_destroy(split);
  return end;
}

static const double never = 1e300;

static void each_does_as_much_as_it_can(void **state) {
  (void)state;
  fake_worker workers[3] = {{.seconds = 1, .fails = never},
                            {.seconds = 3, .fails = never},
                            {.seconds = 9, .fails = never}};
  uint64_t counts[3];
  double end = simulate(13000, workers, 3, 1000, counts);
  /* Together they do 1 + 1/3 + 1/9 chunks a second: 9000 seconds if nobody waited. */
  assert_true(end >= 9000 && end < 9000 * 1.02);
  assert_in_range(counts[0], 8800, 9200);
  assert_in_range(counts[1], 2900, 3100);
  assert_in_range(counts[2], 950, 1050);
}

static void a_crawling_worker_is_not_waited_for(void **state) {
  (void)state;
  fake_worker workers[2] = {{.seconds = 1, .fails = never}, {.seconds = 200, .fails = never}};
  double end = simulate(1000, workers, 2, 64, NULL);
  assert_true(end < 1200);
}

static void what_a_failed_worker_held_is_done_by_others(void **state) {
  (void)state;
  for (int when = 0; when < 60; when++) {
    fake_worker workers[2] = {{.seconds = 1, .fails = when * 3.5}, {.seconds = 2, .fails = never}};
    (void)simulate(100, workers, 2, 1 + (uint64_t)when % 20, NULL);
  }
  fake_worker alone[1] = {{.seconds = 1, .fails = never}};
  assert_true(simulate(7, alone, 1, 100, NULL) == 7);
  assert_true(simulate(0, alone, 1, 100, NULL) == 0);
}

static void random_workers_do_each_chunk_once(void **state) {
  (void)state;
  random_source random = {5};
  for (int round = 0; round < 200; round++) {
    fake_worker workers[DZO_SPLIT_WORKERS];
    int number = 1 + (int)random_below(&random, DZO_SPLIT_WORKERS);
    for (int w = 0; w < number; w++)
      workers[w] = (fake_worker){
          .seconds = 0.1 + random_unit(&random),
          .fails = w > 0 && random_below(&random, 2) ? random_unit(&random) * 50 : never};
    (void)simulate(random_below(&random, 300), workers, number, 1 + random_below(&random, 30),
                   NULL);
  }
}

static void wrong_numbers_of_workers_are_refused(void **state) {
  (void)state;
  dzo_split *split;
  assert_int_equal(dzo_split_create(context, 1, 0, &split), DZO_E_ARGUMENT);
  assert_int_equal(dzo_split_create(context, 1, DZO_SPLIT_WORKERS + 1, &split), DZO_E_ARGUMENT);
  assert_null(split);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/* Time that the busier of two resources needs for `chunks` chunks, by these ways. */
static double routed(const dzo_route_cost *costs, int ways, int chunks, int *taken) {
  dzo_route route = {{0}};
  double busy[DZO_ROUTE_RESOURCES] = {0};
  for (int c = 0; c < chunks; c++) {
    int way = dzo_route_choose(&route, ways, costs);
    taken[way]++;
    for (int r = 0; r < DZO_ROUTE_RESOURCES; r++)
      busy[r] += costs[way].seconds[r];
  }
  return busy[0] > busy[1] ? busy[0] : busy[1];
}

static void ways_keep_both_resources_busy(void **state) {
  (void)state;
  const dzo_route_cost costs[] = {{{1, 0.5}}, {{0, 1}}}; /* pack; fetch whole */
  int taken[2] = {0};
  /* x packed: x = 0.5 x + (1 - x), so two thirds, in two thirds of the time of packing alone. */
  double time = routed(costs, 2, 3000, taken);
  assert_in_range(taken[0], 1950, 2050);
  assert_true(time < 2000 * 1.03);
}

static void a_way_that_only_costs_more_is_not_taken(void **state) {
  (void)state;
  const dzo_route_cost costs[] = {{{1, 1}}, {{1, 2}}, {{2, 1}}};
  int taken[3] = {0};
  assert_true(routed(costs, 3, 100, taken) == 100);
  assert_int_equal(taken[0], 100);
}

/* ---- The belt, with threads ------------------------------------------------------------------ */

enum { SLOTS = 5, CHUNKS = 3000 };

typedef struct belt_job {
  dzo_belt *belt;
  uint64_t slot[SLOTS]; /* what was made in each */
  uint64_t used, stop_at;
} belt_job;

static void make(belt_job *job, uint64_t chunk) {
  job->slot[chunk % SLOTS] = chunk * chunk + 1;
  dzo_belt_made(job->belt, chunk);
}

static void make_or_use(void *argument, int thread, int threads) {
  (void)threads;
  belt_job *job = argument;
  uint64_t chunk;
  if (thread > 0) {
    while (dzo_belt_claim(job->belt, &chunk))
      make(job, chunk);
    return;
  }
  for (uint64_t c = 0; c < job->stop_at; c++) {
    for (dzo_belt_state s; (s = dzo_belt_look(job->belt, c)) != DZO_BELT_MADE;) {
      if (s == DZO_BELT_MAKING)
        dzo_belt_wait(job->belt, c);
      else if (dzo_belt_try_claim(job->belt, &chunk)) /* else another was faster */
        make(job, chunk);
    }
    assert_int_equal(job->slot[c % SLOTS], c * c + 1);
    job->used++;
    dzo_belt_release(job->belt, c + 1);
  }
  dzo_belt_stop(job->belt);
}

static void a_belt_keeps_the_order(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    for (int stopped = 0; stopped < 2; stopped++) {
      belt_job job = {.stop_at = stopped ? CHUNKS / 2 : CHUNKS};
      assert_int_equal(dzo_belt_create(context, CHUNKS, SLOTS, &job.belt), DZO_OK);
      dzo_team_run(threads, make_or_use, &job);
      assert_int_equal(job.used, job.stop_at);
      dzo_belt_destroy(job.belt);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(each_does_as_much_as_it_can, open_context, close_context),
      cmocka_unit_test_setup_teardown(a_crawling_worker_is_not_waited_for, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(what_a_failed_worker_held_is_done_by_others, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(random_workers_do_each_chunk_once, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(wrong_numbers_of_workers_are_refused, open_context,
                                      close_context),
      cmocka_unit_test(ways_keep_both_resources_busy),
      cmocka_unit_test(a_way_that_only_costs_more_is_not_taken),
      cmocka_unit_test_setup_teardown(a_belt_keeps_the_order, open_context, close_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
