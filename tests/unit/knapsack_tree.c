/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Brute force, Horowitz-Sahni and the hybrid of both, against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "knapsack_checks.h"

static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
enum { DEVICES = sizeof devices / sizeof *devices };

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(brute_force_is_exact),
      cmocka_unit_test(brute_force_stops),
      cmocka_unit_test(brute_force_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
