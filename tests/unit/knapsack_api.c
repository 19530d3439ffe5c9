/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The entry: any instance at all, options, limits, and what an answer says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "knapsack_checks.h"

enum { MOST = 40 };

typedef struct any_knapsack {
  int64_t values[MOST], weights[MOST], copies[MOST];
  dzo_knapsack_instance instance;
} any_knapsack;

static knapsack_wide wide_of(dzo_int128 x) { return ((knapsack_wide)x.high << 64) + x.low; }

static dzo_knapsack_instance instance_of(uint64_t count, const int64_t *values,
                                         const int64_t *weights, const int64_t *copies,
                                         int64_t capacity) {
  dzo_knapsack_instance i;
  dzo_knapsack_instance_init(&i);
  i.count = count;
  i.values = values;
  i.weights = weights;
  i.copies = copies;
  i.capacity = capacity;
  return i;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* The items, their copies and sums, and that the checker agrees. */
static void check_items(dzo_context *context, const dzo_knapsack_instance *instance,
                        const dzo_knapsack *k) {
  int64_t taken[MOST] = {0};
  assert_true(instance->count <= MOST);
  for (uint64_t j = 0; j < dzo_knapsack_count(k); j++) {
    uint64_t item = dzo_knapsack_items(k)[j];
    assert_true(item < instance->count);
    assert_true(j == 0 || item > dzo_knapsack_items(k)[j - 1]);
    taken[item] = dzo_knapsack_copies(k)[j];
    assert_true(taken[item] > 0);
  }
  int valid;
  dzo_int128 value, weight;
  assert_int_equal(dzo_knapsack_verify(context, instance, taken, &valid, &value, &weight), DZO_OK);
  if (!valid)
    fail_msg("%s", dzo_context_message(context));
  assert_true(wide_of(value) == wide_of(dzo_knapsack_value(k)));
  assert_true(wide_of(weight) == wide_of(dzo_knapsack_weight(k)));
  assert_true(wide_of(dzo_knapsack_bound(k)) >= wide_of(value));
}

static void expect_optimum(dzo_context *context, const dzo_knapsack_instance *instance, bool any,
                           knapsack_wide optimum) {
  dzo_knapsack *k = NULL;
  dzo_status status = dzo_knapsack_run(context, instance, NULL, &k);
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
  assert_string_equal(dzo_context_message(context), "");
  if (!any) {
    assert_int_equal(dzo_knapsack_outcome_of(k), DZO_KNAPSACK_INFEASIBLE);
    assert_int_equal(dzo_knapsack_count(k), 0);
  } else {
    assert_int_equal(dzo_knapsack_outcome_of(k), DZO_KNAPSACK_OPTIMAL);
    check_items(context, instance, k);
    if (wide_of(dzo_knapsack_value(k)) != optimum)
      fail_msg("found %lld, the optimum is %lld (%s)", (long long)dzo_knapsack_value(k).low,
               (long long)optimum, dzo_knapsack_plan(k));
  }
  dzo_knapsack_destroy(k);
}

/* ---- Any numbers ----------------------------------------------------------------------------- */

/* Numbers of all lengths, and those at the ends of the range. */
static int64_t any_number(uint64_t seed, uint64_t k) {
  static const int64_t ends[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 2};
  uint64_t word = dzo_random_word(seed, k), choice = dzo_random_word(seed + 1, k);
  if (choice % 5 == 0)
    return ends[word % 8];
  return (int64_t)word >> choice / 5 % 64;
}

static any_knapsack draw_any(uint64_t round, int signs) {
  any_knapsack a;
  uint64_t count = dzo_random_word(11, round) % 9;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t k = round * 16 + i;
    a.values[i] = any_number(20, k);
    a.weights[i] = any_number(30, k);
    if (signs == 0) {
      a.values[i] = a.values[i] < 0 ? -(a.values[i] + 1) : a.values[i];
      a.weights[i] = a.weights[i] < 0 ? -(a.weights[i] + 1) : a.weights[i];
    }
    a.copies[i] = (int64_t)(dzo_random_word(40, k) % 3);
  }
  int64_t capacity = any_number(50, round);
  a.instance = instance_of(count, a.values, a.weights, NULL, capacity);
  return a;
}

static void any_numbers_are_solved(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (uint64_t round = 0; round < 4000; round++) {
    any_knapsack a = draw_any(round, (int)(round & 1));
    a.instance.values = a.values;
    a.instance.weights = a.weights;
    a.instance.copies = (round & 2) != 0 ? a.copies : NULL;
    knapsack_wide optimum = 0;
    bool any = knapsack_oracle_halves((uint32_t)a.instance.count, a.values, a.weights,
                                      a.instance.copies, a.instance.capacity, &optimum);
    expect_optimum(context, &a.instance, any, optimum);
  }
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
}

/* Small numbers of both signs, where ties and zeros abound. */
static void small_numbers_are_solved(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (uint64_t round = 0; round < 4000; round++) {
    any_knapsack a;
    uint64_t count = dzo_random_word(1, round) % 10;
    for (uint64_t i = 0; i < count; i++) {
      a.values[i] = (int64_t)(dzo_random_word(2, round * 16 + i) % 14) - 4;
      a.weights[i] = (int64_t)(dzo_random_word(3, round * 16 + i) % 14) - 4;
      a.copies[i] = (int64_t)(dzo_random_word(4, round * 16 + i) % 4);
    }
    a.instance = instance_of(count, a.values, a.weights, (round & 1) != 0 ? a.copies : NULL,
                             (int64_t)(dzo_random_word(5, round) % 40) - 8);
    knapsack_wide optimum = 0;
    bool any = knapsack_oracle_halves((uint32_t)count, a.values, a.weights, a.instance.copies,
                                      a.instance.capacity, &optimum);
    expect_optimum(context, &a.instance, any, optimum);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_numbers_are_solved),
      cmocka_unit_test(small_numbers_are_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
