/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The oracle against a plainer one, and what all methods build upon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "knapsack_checks.h"

static void oracles_agree(void **state) {
  (void)state;
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (uint32_t n = 2; n < 13; n++) {
      random_knapsack *k =
          random_knapsack_make(shape, n, n % 2 ? 100 : INT64_C(1) << 56, n, 1 + n * 7 % 100, 101);
      const knapsack_problem *p = &k->problem;
      oracle_wide all, halves, table;
      assert_true(knapsack_oracle_all(n, p->value, p->weight, NULL, p->capacity, &all));
      assert_true(knapsack_oracle_halves(n, p->value, p->weight, NULL, p->capacity, &halves));
      assert_true(all == halves);
      if (p->capacity < 100000) {
        assert_true(knapsack_oracle_table(n, p->value, p->weight, p->capacity, &table));
        assert_true(all == table);
      }
      random_knapsack_free(k);
    }
}

/* Numbers of all lengths and both signs, and several copies. */
static void oracles_agree_on_any_numbers(void **state) {
  (void)state;
  for (uint64_t round = 0, k = 0; round < 500; round++) {
    int64_t values[6], weights[6], copies[6];
    for (int i = 0; i < 6; i++) {
      values[i] = (int64_t)dzo_random_word(1, k) >> dzo_random_word(2, k) % 64;
      weights[i] = (int64_t)dzo_random_word(3, k) >> dzo_random_word(4, k) % 64;
      copies[i] = (int64_t)(dzo_random_word(5, k++) % 3);
    }
    int64_t capacity = (int64_t)dzo_random_word(6, round) >> dzo_random_word(7, round) % 64;
    oracle_wide all = 0, halves = 0;
    bool any = knapsack_oracle_all(6, values, weights, copies, capacity, &all);
    assert_int_equal(any, knapsack_oracle_halves(6, values, weights, copies, capacity, &halves));
    assert_true(all == halves);
  }
}

/* ---- The order by worth ---------------------------------------------------------------------- */

static void check_order(const random_knapsack *k, uint32_t *order) {
  const knapsack_problem *p = &k->problem;
  uint8_t *seen = calloc(p->items, 1);
  for (uint32_t i = 0; i < p->items; i++) {
    assert_int_equal(seen[order[i]]++, 0);
    if (i == 0)
      continue;
    uint32_t a = order[i - 1], b = order[i];
    knapsack_wide x = (knapsack_wide)p->value[a] * p->weight[b],
                  y = (knapsack_wide)p->value[b] * p->weight[a];
    if (x < y || (x == y && a > b))
      fail_msg("%s: item %u stands before %u", k->name, a, b);
  }
  free(seen);
}

static void items_are_sorted_by_worth(void **state) {
  (void)state;
  static const uint32_t counts[] = {2, 15, 17, 100, 4095, 4096, 10000};
  static const int64_t ranges[] = {10, 1000, 1000000, INT64_C(100000000000000000)};
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (int i = 0; i < 7; i++) {
      random_knapsack *k =
          random_knapsack_make(shape, counts[i], ranges[(shape + (unsigned)i) % 4], 5, 50, 101);
      uint32_t *order = malloc(counts[i] * sizeof *order);
      assert_int_equal(knapsack_sort(context, &k->problem, order), DZO_OK);
      check_order(k, order);
      free(order);
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
}

static void greedy_sets_and_bounds_enclose_the_optimum(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (uint32_t n = 2; n < 20; n++) {
      random_knapsack *k =
          random_knapsack_make(shape, n, n % 2 ? 50 : INT64_C(1) << 59, n, 50, 101);
      const knapsack_problem *p = &k->problem;
      uint32_t order[20];
      uint8_t taken[20];
      knapsack_answer answer = {.taken = taken};
      assert_int_equal(knapsack_sort(context, p, order), DZO_OK);
      knapsack_greedy(p, order, &answer);
      knapsack_wide optimum = knapsack_oracle(p->items, p->value, p->weight, p->capacity);
      knapsack_wide weight = 0;
      for (uint32_t i = 0; i < n; i++)
        weight += taken[i] ? p->weight[i] : 0;
      assert_true(weight <= p->capacity);
      assert_true(answer.value <= optimum && optimum <= knapsack_dantzig(p, order));
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(oracles_agree),
      cmocka_unit_test(oracles_agree_on_any_numbers),
      cmocka_unit_test(items_are_sorted_by_worth),
      cmocka_unit_test(greedy_sets_and_bounds_enclose_the_optimum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
