/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* All classes of instances, all methods, all devices, against the oracle. With a number as its
 * argument it runs so many rounds of each class, up to 34 items, and says how many answers there
 * were: 2000 takes a minute on the CPU. A second number is the only class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "knapsack_checks.h"

#if defined(DZO_TEST_TINY)
static unsigned rounds = 1;
static uint32_t most_items = 12;
#elif defined(DZO_TEST_SMALL) || defined(__SANITIZE_THREAD__)
static unsigned rounds = 2;
static uint32_t most_items = 20;
#else
static unsigned rounds = 10;
static uint32_t most_items = 28;
#endif
static unsigned first_shape = 0, end_shape = SHAPES;

enum { ALGORITHMS = DZO_KNAPSACK_TWO_LIST + 1 };

typedef struct tally {
  unsigned long long solved[ALGORITHMS], refused[ALGORITHMS];
} tally;

/* What takes a method too long is not asked of it. */
static bool is_asked(dzo_knapsack_algorithm algorithm, const knapsack_problem *p) {
  bool is_long = rounds >= 100;
  switch (algorithm) {
  case DZO_KNAPSACK_BRUTE_FORCE:
    return p->items <= (is_long ? 20 : 14);
  case DZO_KNAPSACK_HOROWITZ_SAHNI:
  case DZO_KNAPSACK_HYBRID:
    return p->items <= (is_long ? 24 : 16);
  case DZO_KNAPSACK_DENSE:
    return (knapsack_wide)p->capacity * p->items < (is_long ? 100000000 : 1000000);
  default:
    return true;
  }
}

static knapsack_wide wide_of(dzo_int128 x) { return x.high * ((knapsack_wide)1 << 64) + x.low; }

static void check_answer(dzo_context *context, const random_knapsack *r,
                         const dzo_knapsack_instance *instance, const dzo_knapsack *k,
                         knapsack_wide optimum, const char *who) {
  int64_t taken[64] = {0};
  for (uint64_t j = 0; j < dzo_knapsack_count(k); j++)
    taken[dzo_knapsack_items(k)[j]] = dzo_knapsack_copies(k)[j];
  int valid;
  dzo_int128 value, weight;
  assert_int_equal(dzo_knapsack_verify(context, instance, taken, &valid, &value, &weight), DZO_OK);
  if (!valid || wide_of(value) != optimum || wide_of(dzo_knapsack_value(k)) != optimum ||
      wide_of(weight) != wide_of(dzo_knapsack_weight(k)) ||
      wide_of(dzo_knapsack_bound(k)) != optimum ||
      dzo_knapsack_outcome_of(k) != DZO_KNAPSACK_OPTIMAL)
    fail_msg("%s by %s: %lld, bound %lld, not %lld (%s)", r->name, who,
             (long long)wide_of(dzo_knapsack_value(k)), (long long)wide_of(dzo_knapsack_bound(k)),
             (long long)optimum, dzo_knapsack_plan(k));
}

static void solve_by(dzo_context *context, const random_knapsack *r, knapsack_wide optimum,
                     dzo_knapsack_algorithm algorithm, tally *t) {
  const knapsack_problem *p = &r->problem;
  dzo_knapsack_instance instance;
  dzo_knapsack_instance_init(&instance);
  instance.count = p->items;
  instance.values = p->value;
  instance.weights = p->weight;
  instance.capacity = p->capacity;
  dzo_knapsack_options options;
  dzo_knapsack_options_init(&options);
  options.algorithm = algorithm;
  dzo_knapsack *k;
  dzo_status status = dzo_knapsack_run(context, &instance, &options, &k);
  const char *who = dzo_knapsack_algorithm_name(algorithm);
  if (status == DZO_E_UNSUPPORTED && algorithm != DZO_KNAPSACK_AUTO) {
    t->refused[algorithm]++;
    return;
  }
  if (status != DZO_OK)
    fail_msg("%s by %s: %s: %s", r->name, who, dzo_status_name(status),
             dzo_context_message(context));
  check_answer(context, r, &instance, k, optimum, who);
  dzo_knapsack_destroy(k);
  t->solved[algorithm]++;
}

static void solve_round(dzo_context *context, unsigned shape, unsigned round, tally *t) {
  static const uint64_t parts[] = {50, 10, 90, 1, 100, 33, 67};
  uint64_t seed = shape * UINT64_C(1000003) + round;
  uint32_t count = 2 + (uint32_t)(dzo_random_word(seed, 0) % (most_items - 1));
  int64_t range = 10;
  for (uint64_t digits = dzo_random_word(seed, 1) % 17; digits > 0; digits--)
    range *= 10;
  random_knapsack *r =
      random_knapsack_make(shape, count, range, seed, parts[dzo_random_word(seed, 2) % 7], 101);
  const knapsack_problem *p = &r->problem;
  knapsack_wide optimum = knapsack_oracle(p->items, p->value, p->weight, p->capacity);
  for (int a = DZO_KNAPSACK_AUTO; a < ALGORITHMS; a++)
    if (is_asked((dzo_knapsack_algorithm)a, p))
      solve_by(context, r, optimum, (dzo_knapsack_algorithm)a, t);
  random_knapsack_free(r);
}

static void all_methods_agree(dzo_device device) {
  dzo_context *context = knapsack_context(device);
  if (context == NULL)
    return;
  tally t = {{0}, {0}};
  for (unsigned shape = first_shape; shape < end_shape; shape++)
    for (unsigned round = 0; round < rounds; round++)
      solve_round(context, shape, round, &t);
  assert_int_equal(t.solved[DZO_KNAPSACK_AUTO], (end_shape - first_shape) * rounds);
  for (int a = 0; a < ALGORITHMS && rounds >= 100; a++)
    print_message("%s: %llu right, %llu refused\n",
                  dzo_knapsack_algorithm_name((dzo_knapsack_algorithm)a), t.solved[a],
                  t.refused[a]);
  /* A GPU keeps its workspace. */
  assert_true(device != DZO_DEVICE_CPU || dzo_context_memory_used(context) == 0);
  dzo_context_destroy(context);
}

static void on_the_cpu(void **state) {
  (void)state;
  all_methods_agree(DZO_DEVICE_CPU);
}
static void on_the_gpu(void **state) {
  (void)state;
  all_methods_agree(DZO_DEVICE_CUDA);
}
static void on_both(void **state) {
  (void)state;
  all_methods_agree(DZO_DEVICE_HYBRID);
}

int main(int count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_the_gpu),
      cmocka_unit_test(on_both),
  };
  if (count > 1) {
    rounds = (unsigned)strtoul(arguments[1], NULL, 10);
    most_items = 34;
  }
  if (count > 2) {
    first_shape = (unsigned)strtoul(arguments[2], NULL, 10) % SHAPES;
    end_shape = first_shape + 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
