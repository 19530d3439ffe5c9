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

static knapsack_wide wide_of(dzo_int128 x) { return x.high * ((knapsack_wide)1 << 64) + x.low; }

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

/* ---- Ends of the ranges ---------------------------------------------------------------------- */

static void expect(dzo_context *context, uint64_t count, const int64_t *values,
                   const int64_t *weights, const int64_t *copies, int64_t capacity,
                   knapsack_wide optimum) {
  dzo_knapsack_instance i = instance_of(count, values, weights, copies, capacity);
  expect_optimum(context, &i, true, optimum);
}

static void nothing_is_too_plain(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  const int64_t one[] = {5, 7, 1}, weight[] = {3, 2, 9}, zero[] = {0, 0, 0};
  expect(context, 0, NULL, NULL, NULL, 0, 0);
  expect(context, 0, NULL, NULL, NULL, INT64_MAX, 0);
  expect(context, 3, one, weight, NULL, 0, 0);
  expect(context, 3, one, weight, NULL, 14, 13);
  expect(context, 3, one, weight, NULL, 1, 0);
  expect(context, 3, one, zero, NULL, 0, 13);
  expect(context, 3, zero, weight, NULL, 5, 0);
  expect(context, 3, one, weight, zero, 14, 0);
  dzo_knapsack_instance below = instance_of(0, NULL, NULL, NULL, -1);
  expect_optimum(context, &below, false, 0);
  below = instance_of(3, one, weight, NULL, -1);
  expect_optimum(context, &below, false, 0);
  dzo_context_destroy(context);
}

/* Negative weights make room beyond 64 bits. */
static void room_may_exceed_64_bits(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  const int64_t values[] = {-1, INT64_MIN, 5, INT64_MAX, 9, -4},
                weights[] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX - 1, -7};
  for (int64_t capacity = -20; capacity < 20; capacity += 3) {
    dzo_knapsack_instance i = instance_of(6, values, weights, NULL, capacity);
    knapsack_wide optimum;
    bool any = knapsack_oracle_all(6, values, weights, NULL, capacity, &optimum);
    expect_optimum(context, &i, any, optimum);
  }
  dzo_context_destroy(context);
}

/* Where such a list of states outgrows its limits, a greedy set is known all the same, which the
 * bound exceeds by less than one item. */
static void wide_room_has_limits(void **state) {
  (void)state;
  enum { ITEMS = MOST };
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  int64_t values[ITEMS], weights[ITEMS];
  for (int64_t k = 0; k < ITEMS; k++) {
    weights[k] = -(INT64_C(1) << 61) - k * k * k * INT64_C(77977377797);
    values[k] = weights[k] - INT64_C(100000000000000000);
  }
  dzo_knapsack_instance i = instance_of(ITEMS, values, weights, NULL, -INT64_MAX);
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  for (int limit = 0; limit < 2; limit++) {
    o.time_limit = limit == 0 ? 1e-9 : 0;
    if (limit == 1)
      context->memory = dzo_context_memory_used(context) + (1 << 20);
    dzo_knapsack *k = NULL;
    assert_int_equal(dzo_knapsack_run(context, &i, &o, &k), DZO_E_LIMIT);
    assert_non_null(strstr(dzo_context_message(context), limit == 0 ? "time" : "memory"));
    check_items(context, &i, k);
    knapsack_wide gap = wide_of(dzo_knapsack_bound(k)) - wide_of(dzo_knapsack_value(k));
    assert_true(gap > 0 && gap < -(knapsack_wide)values[ITEMS - 1]);
    dzo_knapsack_destroy(k);
  }
  dzo_context_destroy(context);
}

/* As many copies as anybody wants, of which only so many fit. */
static void copies_are_bounded_by_the_capacity(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  const int64_t many[] = {INT64_MAX, INT64_MAX, INT64_MAX};
  const int64_t coins[] = {1, 10, 25}, change[] = {1, 10, 25};
  expect(context, 3, coins, change, many, 99, 99);
  expect(context, 3, coins, change, many, 1000000, 1000000);
  const int64_t values[] = {7, 3, INT64_MAX}, weights[] = {5, 2, 0}, some[] = {INT64_MAX, 1, 3};
  expect(context, 2, values, weights, some, 12, 17);
  expect(context, 3, values, weights, some, 12, 17 + 3 * (knapsack_wide)INT64_MAX);
  /* A bundle of two would be worth more than 64 bits. */
  const int64_t rich[] = {INT64_C(1) << 62, 1}, light[] = {1, 1}, ten[] = {10, 10};
  expect(context, 2, rich, light, ten, 7, (knapsack_wide)7 << 62);
  expect(context, 2, rich, light, ten, 17, ((knapsack_wide)10 << 62) + 7);
  dzo_context_destroy(context);
}

static void expect_refusal(dzo_context *context, const dzo_knapsack_instance *instance,
                           const dzo_knapsack_options *options, dzo_status expected,
                           const char *text) {
  dzo_knapsack *k = (dzo_knapsack *)context;
  assert_int_equal(dzo_knapsack_run(context, instance, options, &k), expected);
  assert_null(k);
  if (strstr(dzo_context_message(context), text) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", dzo_context_message(context), text);
}

static void what_cannot_be_done_is_refused(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  const int64_t most[] = {INT64_MAX, INT64_MAX, INT64_MAX}, zero[] = {0, 0, 0}, less[] = {1, -1, 1},
                ones[] = {1, 1, 1};
  dzo_knapsack_instance i = instance_of(3, most, zero, most, 5);
  expect_refusal(context, &i, NULL, DZO_E_UNSUPPORTED, "item 2");
  i = instance_of(3, ones, ones, less, 5);
  expect_refusal(context, &i, NULL, DZO_E_ARGUMENT, "item 1");
  /* Two such cannot stand in one bundle. */
  const int64_t coprime[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX - 2};
  i = instance_of(3, coprime, ones, most, INT64_C(1) << 40);
  expect_refusal(context, &i, NULL, DZO_E_UNSUPPORTED, "item 0");
  /* Of these 92 can, which is still too few. */
  const int64_t rich[] = {INT64_C(100000000000000000), INT64_C(100000000000000001), 5};
  i = instance_of(3, rich, ones, most, INT64_C(3000000000));
  expect_refusal(context, &i, NULL, DZO_E_UNSUPPORTED, "item 0");
  /* And here, they can, but not in the memory there is. */
  const uint64_t memory = context->memory;
  context->memory = dzo_context_memory_used(context) + (1 << 20);
  i = instance_of(3, rich, ones, most, 10000000);
  expect_refusal(context, &i, NULL, DZO_E_MEMORY, "memory");
  context->memory = memory;
  i = instance_of(3, NULL, ones, NULL, 5);
  expect_refusal(context, &i, NULL, DZO_E_ARGUMENT, "without");
  i = instance_of(DZO_KNAPSACK_ITEMS + 1, ones, ones, NULL, 5);
  expect_refusal(context, &i, NULL, DZO_E_ARGUMENT, "items");
  expect_refusal(context, NULL, NULL, DZO_E_ARGUMENT, "instance");
  i = instance_of(3, ones, ones, NULL, 2);
  assert_int_equal(dzo_knapsack_run(context, &i, NULL, NULL), DZO_E_ARGUMENT);
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.time_limit = -1;
  expect_refusal(context, &i, &o, DZO_E_ARGUMENT, "time limit");
  dzo_knapsack_options_init(&o);
  o.fixed = 41;
  expect_refusal(context, &i, &o, DZO_E_ARGUMENT, "41");
  dzo_knapsack_options_init(&o);
  o.algorithm = (dzo_knapsack_algorithm)99;
  expect_refusal(context, &i, &o, DZO_E_ARGUMENT, "99");
  /* Giving it back is worth 2^63, and so is the room that the other makes. */
  const int64_t least[] = {INT64_MIN, 1}, small[] = {-3, 2}, large[] = {INT64_MIN, INT64_MAX},
                lost[] = {-5, 1};
  o.algorithm = DZO_KNAPSACK_CORE;
  i = instance_of(2, least, small, NULL, 1);
  expect_refusal(context, &i, &o, DZO_E_UNSUPPORTED, "value");
  i = instance_of(2, lost, large, NULL, 1);
  expect_refusal(context, &i, &o, DZO_E_UNSUPPORTED, "capacity");
  o.size = 3;
  expect_refusal(context, &i, &o, DZO_E_ARGUMENT, "size");
  dzo_context_destroy(context);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* A subset sum that nothing here solves at once. */
static random_knapsack *hard_knapsack(void) {
  return random_knapsack_make(SUBSET_SUM, MOST, INT64_C(100000000000000000), 3, 50, 101);
}

static void expect_cut_short(dzo_context *context, const dzo_knapsack_options *options,
                             dzo_status expected, const char *text) {
  random_knapsack *hard = hard_knapsack();
  const knapsack_problem *p = &hard->problem;
  dzo_knapsack_instance i = instance_of(p->items, p->value, p->weight, NULL, p->capacity);
  dzo_knapsack *k = NULL;
  double begun = dzo_clock();
  dzo_status status = dzo_knapsack_run(context, &i, options, &k);
  assert_true(dzo_clock() - begun < 20);
  if (status != expected)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
  assert_non_null(k);
  assert_non_null(strstr(dzo_context_message(context), text));
  assert_int_equal(dzo_knapsack_outcome_of(k), DZO_KNAPSACK_FEASIBLE);
  check_items(context, &i, k);
  assert_true(wide_of(dzo_knapsack_value(k)) > p->capacity / 2);
  assert_true(wide_of(dzo_knapsack_bound(k)) <= p->capacity);
  dzo_knapsack_destroy(k);
  random_knapsack_free(hard);
}

static int never_mind(void *user, const dzo_knapsack_progress *progress) {
  assert_true(wide_of(progress->value) <= wide_of(progress->bound));
  ++*(int *)user;
  return 1;
}

static void limits_leave_a_set_and_a_bound(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  dzo_knapsack_options o;
  for (int a = DZO_KNAPSACK_AUTO; a <= DZO_KNAPSACK_TWO_LIST; a++) {
    random_knapsack *hard = hard_knapsack();
    knapsack_job job = knapsack_unlimited(context);
    const knapsack_method *method = knapsack_method_of((dzo_knapsack_algorithm)a);
    char why[200];
    bool refuses = a != DZO_KNAPSACK_AUTO &&
                   (method == NULL || method->refusal(&hard->problem, &job, why, sizeof why));
    random_knapsack_free(hard);
    if (refuses)
      continue;
    dzo_knapsack_options_init(&o);
    o.algorithm = (dzo_knapsack_algorithm)a;
    o.time_limit = 1e-9;
    expect_cut_short(context, &o, DZO_E_LIMIT, "time");
    o.time_limit = 0;
    dzo_context_cancel(context);
    expect_cut_short(context, &o, DZO_E_CANCELLED, "cancelled");
    dzo_context_resume(context);
  }
  int calls = 0;
  dzo_knapsack_options_init(&o);
  o.algorithm = DZO_KNAPSACK_BRUTE_FORCE;
  o.progress = never_mind;
  o.progress_user = &calls;
  expect_cut_short(context, &o, DZO_E_CANCELLED, "cancelled");
  assert_true(calls > 0);
  dzo_context_destroy(context);
}

/* So many bundles that there is no time to make them: the lightest set, which has to have what
 * makes it fit. */
static void bundles_are_stopped(void **state) {
  (void)state;
  enum { ITEMS = 16000 };
  const int64_t many = INT64_C(1) << 40;
  static int64_t values[ITEMS], weights[ITEMS], copies[ITEMS];
  for (int i = 0; i < ITEMS; i++) {
    values[i] = 3;
    weights[i] = i % 2 + 1;
    copies[i] = many;
  }
  values[5] = -7;
  weights[5] = -5;
  copies[5] = 2;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  dzo_knapsack_instance i = instance_of(ITEMS, values, weights, copies, many * ITEMS);
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.time_limit = 1e-9;
  dzo_knapsack *k;
  assert_int_equal(dzo_knapsack_run(context, &i, &o, &k), DZO_E_LIMIT);
  assert_non_null(strstr(dzo_context_message(context), "time"));
  assert_int_equal(dzo_knapsack_count(k), 1);
  assert_true(dzo_knapsack_items(k)[0] == 5 && dzo_knapsack_copies(k)[0] == 2);
  assert_int_equal(dzo_knapsack_outcome_of(k), DZO_KNAPSACK_FEASIBLE);
  assert_true(wide_of(dzo_knapsack_value(k)) == -14);
  assert_true(wide_of(dzo_knapsack_weight(k)) == -10);
  assert_true(wide_of(dzo_knapsack_bound(k)) == (knapsack_wide)many * 3 * (ITEMS - 1));
  dzo_knapsack_destroy(k);
  i.capacity = -11;
  assert_int_equal(dzo_knapsack_run(context, &i, &o, &k), DZO_OK);
  assert_int_equal(dzo_knapsack_outcome_of(k), DZO_KNAPSACK_INFEASIBLE);
  dzo_knapsack_destroy(k);
  dzo_context_destroy(context);
}

/* Where a limit comes before it is seen that sums do not fit 128 bits: even what all is worth
 * beyond the lightest set does not. */
static void sums_are_watched_where_a_limit_comes_first(void **state) {
  (void)state;
  enum { ITEMS = 1 << 19, HUGE = 14 };
  int64_t *numbers = calloc(ITEMS, 3 * sizeof *numbers);
  assert_non_null(numbers);
  int64_t *values = numbers, *weights = values + ITEMS, *copies = weights + ITEMS;
  for (int i = 0; i < HUGE; i++) {
    values[i] = i % 2 == 0 ? INT64_C(1) << 62 : -(INT64_C(1) << 62);
    weights[i] = i % 2 == 0 ? 1 : -1;
    copies[i] = INT64_C(1) << 62;
  }
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  dzo_knapsack_instance i = instance_of(ITEMS, values, weights, copies, 7);
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.time_limit = 1e-9;
  dzo_knapsack *k;
  assert_int_equal(dzo_knapsack_run(context, &i, &o, &k), DZO_E_UNSUPPORTED);
  assert_null(k);
  dzo_context_destroy(context);
  free(numbers);
}

/* ---- The checker ----------------------------------------------------------------------------- */

static void wrong_sets_are_found(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  const int64_t values[] = {INT64_MAX, -5, 7}, weights[] = {INT64_MAX, INT64_MAX, -3},
                copies[] = {3, 2, 1};
  dzo_knapsack_instance i = instance_of(3, values, weights, copies, INT64_MAX - 3);
  int valid;
  dzo_int128 value, weight;
  const int64_t right[] = {1, 0, 1}, heavy[] = {3, 2, 1}, many[] = {0, 3, 0}, few[] = {0, -1, 0};
  assert_int_equal(dzo_knapsack_verify(context, &i, right, &valid, &value, &weight), DZO_OK);
  assert_int_equal(valid, 1);
  assert_true(wide_of(value) == (knapsack_wide)INT64_MAX + 7 && wide_of(weight) == INT64_MAX - 3);
  assert_int_equal(dzo_knapsack_verify(context, &i, heavy, &valid, &value, &weight), DZO_OK);
  assert_int_equal(valid, 0);
  assert_true(wide_of(weight) == 5 * (knapsack_wide)INT64_MAX - 3);
  assert_non_null(strstr(dzo_context_message(context), "capacity"));
  assert_int_equal(dzo_knapsack_verify(context, &i, many, &valid, NULL, NULL), DZO_OK);
  assert_int_equal(valid, 0);
  assert_non_null(strstr(dzo_context_message(context), "item 1"));
  assert_int_equal(dzo_knapsack_verify(context, &i, few, &valid, NULL, NULL), DZO_OK);
  assert_int_equal(valid, 0);
  assert_int_equal(dzo_knapsack_verify(context, &i, NULL, &valid, NULL, NULL), DZO_E_ARGUMENT);
  assert_int_equal(dzo_knapsack_verify(context, &i, right, NULL, NULL, NULL), DZO_E_ARGUMENT);
  i.copies = NULL;
  i.capacity = INT64_MIN;
  assert_int_equal(dzo_knapsack_verify(context, &i, right, &valid, NULL, NULL), DZO_OK);
  assert_int_equal(valid, 0);
  dzo_context_destroy(context);
}

static void algorithms_have_names(void **state) {
  (void)state;
  assert_string_equal(dzo_knapsack_algorithm_name(DZO_KNAPSACK_AUTO), "auto");
  assert_string_equal(dzo_knapsack_algorithm_name(DZO_KNAPSACK_TWO_LIST), "two-list");
  assert_null(dzo_knapsack_algorithm_name((dzo_knapsack_algorithm)7));
  assert_null(dzo_knapsack_algorithm_name((dzo_knapsack_algorithm)-1));
  dzo_knapsack_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_numbers_are_solved),
      cmocka_unit_test(small_numbers_are_solved),
      cmocka_unit_test(nothing_is_too_plain),
      cmocka_unit_test(room_may_exceed_64_bits),
      cmocka_unit_test(wide_room_has_limits),
      cmocka_unit_test(copies_are_bounded_by_the_capacity),
      cmocka_unit_test(what_cannot_be_done_is_refused),
      cmocka_unit_test(limits_leave_a_set_and_a_bound),
      cmocka_unit_test(bundles_are_stopped),
      cmocka_unit_test(sums_are_watched_where_a_limit_comes_first),
      cmocka_unit_test(wrong_sets_are_found),
      cmocka_unit_test(algorithms_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
