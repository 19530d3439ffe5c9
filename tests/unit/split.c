/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sharing chunks: ways that keep two resources busy, and a belt that many threads fill. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parallel.h"
#include "split/belt.h"
#include "split/route.h"

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
      cmocka_unit_test(ways_keep_both_resources_busy),
      cmocka_unit_test(a_way_that_only_costs_more_is_not_taken),
      cmocka_unit_test_setup_teardown(a_belt_keeps_the_order, open_context, close_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
