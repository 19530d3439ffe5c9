/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Brute force, Horowitz-Sahni and the hybrid of both, against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "knapsack/seed.h"
#include "knapsack_checks.h"

static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
enum { DEVICES = sizeof devices / sizeof *devices };

/* compute-sanitizer takes long for each launch. */
#ifdef DZO_TEST_TINY
enum { LONG_TREE = 24, ENUMERATIONS = 1 };
#else
enum { LONG_TREE = 60, ENUMERATIONS = 4 };
#endif

/* Ranges that need 32, 64 and 128 bits. */
static void check_ranges(const knapsack_method *method, uint32_t items, unsigned rounds) {
  static const int64_t ranges[] = {1000, INT64_C(1) << 34, INT64_C(1) << 57, INT64_C(1) << 60};
  for (int d = 0; d < DEVICES; d++)
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
      (void)knapsack_check_method(method, devices[d], items, ranges[r], rounds);
}

static void check_stops(const knapsack_method *method, uint32_t items) {
  random_knapsack *k = random_knapsack_make(FINKELSTEIN, items, 10, 1, 1, 2);
  for (int d = 0; d < DEVICES; d++)
    knapsack_check_stops(method, devices[d], k);
  random_knapsack_free(k);
}

static void brute_force_is_exact(void **state) {
  (void)state;
  check_ranges(&knapsack_brute_force, 15, 1);
}

static void brute_force_stops(void **state) {
  (void)state;
  check_stops(&knapsack_brute_force, 26);
}

static void brute_force_refuses(void **state) {
  (void)state;
  random_knapsack *k = random_knapsack_make(UNCORRELATED, 49, 1000, 1, 1, 2);
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  char why[200];
  assert_non_null(knapsack_brute_force.refusal(&k->problem, &job, why, sizeof why));
  dzo_context_destroy(context);
  random_knapsack_free(k);
}

static void horowitz_sahni_is_exact(void **state) {
  (void)state;
  check_ranges(&knapsack_horowitz_sahni, 22, 2);
}

static void horowitz_sahni_stops(void **state) {
  (void)state;
  check_stops(&knapsack_horowitz_sahni, LONG_TREE);
}

static void hybrid_is_exact(void **state) {
  (void)state;
  check_ranges(&knapsack_hybrid, 22, 2);
}

/* With a number of enumerated items nothing is tried beforehand, so the threads and the GPU have
 * all of it. */
static void hybrid_enumerates(void **state) {
  (void)state;
  static const unsigned fixed[] = {4, 1, 9, 40};
  for (int d = 0; d < DEVICES; d++) {
    dzo_context *context = knapsack_context(devices[d]);
    for (unsigned i = 0; context != NULL && i < SHAPES * ENUMERATIONS; i++) {
      random_knapsack *k =
          random_knapsack_make(i % SHAPES, 13 + i % 5, i % 2 ? 100 : 1 << 30, i, 1, 2);
      const knapsack_problem *p = &k->problem;
      knapsack_job job = knapsack_unlimited(context);
      job.fixed = fixed[i / SHAPES];
      assert_true(knapsack_check_solve(
          &knapsack_hybrid, &job, k, knapsack_oracle(p->items, p->value, p->weight, p->capacity)));
      random_knapsack_free(k);
    }
    dzo_context_destroy(context);
  }
}

static void hybrid_stops(void **state) {
  (void)state;
  check_stops(&knapsack_hybrid, LONG_TREE);
}

/* ---- The thesis' methods --------------------------------------------------------------------- */

static void check_seed(dzo_unit *unit, const random_knapsack *k,
                       dzo_status (*run)(dzo_unit *, const knapsack_problem *,
                                         knapsack_seed_answer *)) {
  const knapsack_problem *p = &k->problem;
  knapsack_seed_answer answer;
  assert_int_equal(run(unit, p, &answer), DZO_OK);
  int64_t value = 0, weight = 0;
  for (uint32_t i = 0; i < p->items; i++)
    if (answer.taken >> i & 1) {
      value += p->value[i];
      weight += p->weight[i];
    }
  assert_true(answer.value == value && weight <= p->capacity);
  assert_true(value == knapsack_oracle(p->items, p->value, p->weight, p->capacity));
}

static void the_thesis_is_right(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CUDA);
  for (unsigned i = 0; context != NULL && i < SHAPES; i++) {
    dzo_unit *unit = dzo_context_gpu(context);
    random_knapsack *k = random_knapsack_make(i, 2 + i % 12, 1000, i, 1, 2);
    check_seed(unit, k, knapsack_seed_brute_force);
    check_seed(unit, k, knapsack_seed_hybrid);
    random_knapsack_free(k);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(brute_force_is_exact), cmocka_unit_test(brute_force_stops),
      cmocka_unit_test(brute_force_refuses),  cmocka_unit_test(horowitz_sahni_is_exact),
      cmocka_unit_test(horowitz_sahni_stops), cmocka_unit_test(hybrid_is_exact),
      cmocka_unit_test(hybrid_enumerates),    cmocka_unit_test(hybrid_stops),
      cmocka_unit_test(the_thesis_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
