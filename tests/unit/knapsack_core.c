/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The core method against the oracle, which shares no code with it, and against the table over all
 * capacities below, for more items than the oracle takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "failing_memory.h"
#include "knapsack/core.h"
#include "knapsack_checks.h"

static void test_agrees_with_the_oracle(void **state) {
  (void)state;
  static const int64_t ranges[] = {10, 1000, 1000000, INT64_C(100000000000000000)};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    assert_true(knapsack_check_method(&knapsack_core, DZO_DEVICE_CPU, 24, ranges[i], 6) > 0);
}

/* Bellman's table, one row. */
static int64_t table(const knapsack_problem *p) {
  int64_t *best = calloc((size_t)p->capacity + 1, sizeof *best);
  assert_non_null(best);
  for (uint32_t i = 0; i < p->items; i++)
    for (int64_t c = p->capacity; c >= p->weight[i]; c--) {
      int64_t with = best[c - p->weight[i]] + p->value[i];
      if (with > best[c])
        best[c] = with;
    }
  int64_t value = best[p->capacity];
  free(best);
  return value;
}

static void test_agrees_with_a_table(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (uint64_t seed = 1; seed <= 6; seed++) {
      if (shape == POWERS_OF_TWO)
        continue;
      uint32_t count = seed % 2 == 0 ? 60 : 150;
      random_knapsack *k =
          random_knapsack_make(shape, count, seed % 3 == 0 ? 20 : 300, seed, seed, 7);
      assert_true(knapsack_check_solve(&knapsack_core, &job, k, table(&k->problem)));
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
}

/* Of more items than an epoch of flips has, several times; proved by its own bound alone. */
static void test_many_items(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  for (unsigned shape = 0; shape < SHAPES; shape++) {
    if (shape == POWERS_OF_TWO)
      continue;
    random_knapsack *k = random_knapsack_make(shape, 1000, 1000, 7, 50, 101);
    assert_true(knapsack_check_solve(&knapsack_core, &job, k, -1));
    random_knapsack_free(k);
  }
  dzo_context_destroy(context);
}

/* The number of heavy items tells circles apart, of which lists have tens of millions of states
 * without it. */
static void test_counts_heavy_items(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  random_knapsack *k = random_knapsack_make(CIRCLE, 3000, 10000, 3, 50, 101);
  const knapsack_problem *p = &k->problem;
  uint8_t *taken = calloc(p->items, 1);
  knapsack_answer answer = {.taken = taken, .bound = p->value_sum};
  assert_int_equal(knapsack_core.solve(&job, p, &answer), DZO_OK);
  /* As a table of all capacities says. */
  assert_true(answer.value == 14902471 && answer.bound == 14902471);
  assert_true(answer.nodes < 1000000);
  free(taken);
  random_knapsack_free(k);
  dzo_context_destroy(context);
}

/* Where their number is tried in vain, and all goes on as before. */
static void test_counts_heavy_items_in_vain(void **state) {
  (void)state;
  enum { ITEMS = 1202 };
  static int64_t values[ITEMS], weights[ITEMS];
  static uint8_t taken[ITEMS];
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  knapsack_problem p = {.value = values, .weight = weights};
  assert_int_equal(dzo_knapsack_generate(context, DZO_KNAPSACK_INVERSE_STRONGLY_CORRELATED, ITEMS,
                                         10000000, 6642288876443, 7, 10, values, weights,
                                         &p.capacity),
                   DZO_OK);
  for (; p.items < ITEMS; p.items++) {
    p.value_sum += values[p.items];
    p.weight_sum += weights[p.items];
    p.value_max = values[p.items] > p.value_max ? values[p.items] : p.value_max;
    p.weight_max = weights[p.items] > p.weight_max ? weights[p.items] : p.weight_max;
  }
  knapsack_answer answer = {.taken = taken, .bound = p.value_sum};
  assert_int_equal(knapsack_core.solve(&job, &p, &answer), DZO_OK);
  assert_true(answer.value == answer.bound && answer.value == 4585874275);
  dzo_context_destroy(context);
}

/* ---- All stages, with small problems --------------------------------------------------------- */

/* Nothing is easy, and some multipliers are tried first where there are items enough. Heavy items
 * are counted wherever that can be, or never. */
static dzo_status solve_by_all_stages(knapsack_job *job, const knapsack_problem *problem,
                                      knapsack_answer *answer) {
  const core_limits least = {.first_states = 2,
                             .near_states = 2,
                             .side_states = 4,
                             .easy_states = 2,
                             .side_work = 1,
                             .tried_items = 128,
                             .many_items = 40,
                             .heavy_gap = 1e9,
                             .poll_states = 1,
                             .poll_reports = 1};
  return core_solve(job, problem, answer, &least);
}

static dzo_status solve_without_heavy(knapsack_job *job, const knapsack_problem *problem,
                                      knapsack_answer *answer) {
  const core_limits least = {
      .near_states = 2, .easy_states = 2, .tried_items = 128, .poll_states = 1, .poll_reports = 1};
  return core_solve(job, problem, answer, &least);
}

/* The `round`-th of a shape: up to 20 items of any values, or more with a table to tell. */
static random_knapsack *small_knapsack(unsigned shape, uint64_t round, knapsack_wide *optimum) {
  static const uint64_t parts[] = {50, 30, 70, 10, 90};
  static const int64_t ranges[] = {100, 10000, 1000000000, INT64_C(100000000000000)};
  static const uint32_t counts[] = {30, 45, 60, 150};
  uint64_t seed = shape * UINT64_C(100) + round, half = round / 2;
  bool few = round % 2 == 0 || shape == POWERS_OF_TWO;
  uint32_t count = few ? 8 + (uint32_t)(seed % 13) : counts[half % 4];
  int64_t range = few ? ranges[half % 4] : count > 100 ? 30 : 40 + 20 * (int64_t)(round % 9);
  random_knapsack *k = random_knapsack_make(shape, count, range, seed, parts[round % 5], 101);
  const knapsack_problem *p = &k->problem;
  *optimum = few ? knapsack_oracle(p->items, p->value, p->weight, p->capacity) : table(p);
  return k;
}

static void test_all_stages(void **state) {
  (void)state;
  enum { ROUNDS = 32 };
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_method heavy = knapsack_core, never = knapsack_core;
  heavy.solve = solve_by_all_stages;
  never.solve = solve_without_heavy;
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (uint64_t round = 0; round < ROUNDS; round++) {
      knapsack_job job = knapsack_unlimited(context);
      knapsack_wide optimum;
      random_knapsack *k = small_knapsack(shape, round, &optimum);
      assert_true(knapsack_check_solve(&heavy, &job, k, optimum));
      assert_true(knapsack_check_solve(&never, &job, k, optimum));
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
}

typedef struct countdown {
  unsigned left;
  bool stopped;
} countdown;

static int count_down(void *user, const dzo_knapsack_progress *progress) {
  (void)progress;
  countdown *c = user;
  c->stopped = c->left == 0;
  c->left -= !c->stopped;
  return c->stopped;
}

/* Is it stopped at this look? Either way the bound holds. */
static bool check_stop(dzo_context *context, const random_knapsack *k, knapsack_wide optimum,
                       unsigned look) {
  countdown c = {.left = look};
  dzo_knapsack_options options = {
      .size = sizeof options, .progress = count_down, .progress_user = &c};
  knapsack_job job = knapsack_unlimited(context);
  job.options = &options;
  uint8_t taken[150] = {0};
  knapsack_answer answer = {.taken = taken, .bound = k->problem.value_sum};
  assert_int_equal(solve_by_all_stages(&job, &k->problem, &answer), DZO_OK);
  if (answer.value > optimum || answer.bound < optimum ||
      (!c.stopped && answer.value != answer.bound))
    fail_msg("%s, stopped at look %u: %lld of at most %lld, but the optimum is %lld", k->name, look,
             (long long)answer.value, (long long)answer.bound, (long long)optimum);
  return c.stopped;
}

/* Whichever look is the last one. */
static void test_stops_in_all_stages(void **state) {
  (void)state;
  enum { ROUNDS = 8 };
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (uint64_t round = 0; round < ROUNDS; round++) {
      knapsack_wide optimum;
      random_knapsack *k = small_knapsack(shape, round, &optimum);
      unsigned look = 0;
      while (check_stop(context, k, optimum, look))
        look++;
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
}

/* Equal items are joined, and count as many as they are: then the set found first is proved. */
static void test_counts_pieces(void **state) {
  (void)state;
  enum { ITEMS = 40000 };
  static int64_t values[ITEMS], weights[ITEMS];
  static uint8_t taken[ITEMS];
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  knapsack_problem p = {.items = ITEMS, .value = values, .weight = weights};
  for (uint32_t i = 0; i < ITEMS; i++) {
    values[i] = 1 + (int64_t)(dzo_random_word(1, i) % 60);
    weights[i] = 100000 + (int64_t)(dzo_random_word(2, i) % 21);
    p.value_sum += values[i];
    p.weight_sum += weights[i];
  }
  p.value_max = 60;
  p.weight_max = 100020;
  p.capacity = (int64_t)p.weight_sum / 101 * 50;
  knapsack_answer answer = {.taken = taken, .bound = p.value_sum};
  assert_int_equal(knapsack_core.solve(&job, &p, &answer), DZO_OK);
  assert_true(answer.value == answer.bound);
  assert_true(answer.nodes < 100000);
  dzo_context_destroy(context);
}

/* Sums just below 2^62: the break item is worth, and weighs, most of all, and nothing else is in
 * doubt. */
static void test_numbers_as_large_as_it_takes(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  const int64_t number[] = {INT64_C(605509037337884015), INT64_C(3640163843691563432)};
  for (int64_t more = 0; more < 4; more++) {
    uint8_t taken[2] = {0, 0};
    knapsack_problem p = {.items = 2,
                          .value = number,
                          .weight = number,
                          .capacity = number[0] + number[1] - 1 - (more << 50),
                          .value_sum = number[0] + number[1],
                          .weight_sum = number[0] + number[1],
                          .value_max = number[1],
                          .weight_max = number[1]};
    knapsack_answer answer = {.taken = taken, .bound = p.value_sum};
    assert_int_equal(knapsack_core.solve(&job, &p, &answer), DZO_OK);
    assert_true(answer.value == number[1] && answer.bound == number[1]);
    assert_true(taken[0] == 0 && taken[1] == 1);
  }
  dzo_context_destroy(context);
}

static void test_stops(void **state) {
  (void)state;
  random_knapsack *k = random_knapsack_make(SUBSET_SUM, 60, INT64_C(100000000000000), 3, 50, 101);
  knapsack_check_stops(&knapsack_core, DZO_DEVICE_CPU, k);
  random_knapsack_free(k);
}

static void test_little_memory(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  random_knapsack *k = random_knapsack_make(SUBSET_SUM, 60, INT64_C(100000000000000), 3, 50, 101);
  knapsack_job job = knapsack_unlimited(context);
  job.memory = 1 << 22;
  uint8_t *taken = calloc(k->problem.items, 1);
  knapsack_answer answer = {.taken = taken, .bound = k->problem.value_sum};
  assert_int_equal(knapsack_core.solve(&job, &k->problem, &answer), DZO_E_MEMORY);
  knapsack_wide value = 0, weight = 0;
  for (uint32_t i = 0; i < k->problem.items; i++) {
    value += taken[i] ? k->problem.value[i] : 0;
    weight += taken[i] ? k->problem.weight[i] : 0;
  }
  assert_true(value == answer.value && value < answer.bound && weight <= k->problem.capacity);
  free(taken);
  random_knapsack_free(k);
  dzo_context_destroy(context);
}

/* Whichever allocation fails, the answer is right, and nothing is lost. */
static void test_failing_memory(void **state) {
  (void)state;
  static const unsigned shapes[] = {CIRCLE, FEW_KINDS, STRONG, ALMOST_STRONG};
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 1);
  assert_non_null(context);
  knapsack_job job = knapsack_unlimited(context);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    random_knapsack *k = random_knapsack_make(shapes[i], 300, 1000, 5, 50, 101);
    int64_t alive = memory.alive, failing = 0;
    dzo_status status;
    do {
      uint8_t taken[300] = {0};
      knapsack_answer answer = {.taken = taken, .bound = k->problem.value_sum};
      memory.left = failing++;
      status = knapsack_core.solve(&job, &k->problem, &answer);
      knapsack_wide value = 0, weight = 0;
      for (uint32_t item = 0; item < k->problem.items; item++) {
        value += taken[item] ? k->problem.value[item] : 0;
        weight += taken[item] ? k->problem.weight[item] : 0;
      }
      assert_true(value == answer.value && value <= answer.bound);
      assert_true(weight <= k->problem.capacity);
      assert_true(status != DZO_OK || value == answer.bound);
      assert_true(memory.alive == alive);
    } while (status == DZO_E_MEMORY);
    assert_int_equal(status, DZO_OK);
    random_knapsack_free(k);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_agrees_with_the_oracle),
      cmocka_unit_test(test_agrees_with_a_table),
      cmocka_unit_test(test_many_items),
      cmocka_unit_test(test_counts_heavy_items),
      cmocka_unit_test(test_counts_heavy_items_in_vain),
      cmocka_unit_test(test_all_stages),
      cmocka_unit_test(test_stops_in_all_stages),
      cmocka_unit_test(test_counts_pieces),
      cmocka_unit_test(test_numbers_as_large_as_it_takes),
      cmocka_unit_test(test_stops),
      cmocka_unit_test(test_little_memory),
      cmocka_unit_test(test_failing_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
