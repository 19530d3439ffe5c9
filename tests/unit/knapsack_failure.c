/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A GPU that fails at its first, second, ... operation: the CPU finishes, and the notice says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "knapsack_checks.h"

#if defined(__SANITIZE_THREAD__) || defined(DZO_TEST_TINY)
enum { MOST_FAILURES = 8, ITEMS = 16 };
#else
enum { MOST_FAILURES = 60, ITEMS = 18 };
#endif

static dzo_status run_one(dzo_context *context, const random_knapsack *k,
                          dzo_knapsack_algorithm algorithm, knapsack_wide optimum) {
  dzo_knapsack_instance i;
  dzo_knapsack_instance_init(&i);
  i.count = k->problem.items;
  i.values = k->values;
  i.weights = k->weights;
  i.capacity = k->problem.capacity;
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.algorithm = algorithm;
  dzo_knapsack *out;
  dzo_status status = dzo_knapsack_run(context, &i, &o, &out);
  if (status == DZO_OK) {
    assert_int_equal(dzo_knapsack_outcome_of(out), DZO_KNAPSACK_OPTIMAL);
    assert_true((knapsack_wide)dzo_knapsack_value(out).low == optimum);
  } else {
    assert_int_equal(status, DZO_E_UNSUPPORTED);
  }
  dzo_knapsack_destroy(out);
  return status;
}

static dzo_status run_batch(dzo_context *context, const random_knapsack *k, knapsack_wide optimum) {
  enum { INSTANCES = 40 };
  uint64_t offsets[INSTANCES + 1] = {0}, n = k->problem.items;
  int64_t capacities[INSTANCES], *values = malloc(INSTANCES * n * sizeof *values),
                                 *weights = malloc(INSTANCES * n * sizeof *weights);
  dzo_int128 sums[INSTANCES];
  assert_true(values != NULL && weights != NULL);
  for (uint64_t i = 0; i < INSTANCES; i++) {
    memcpy(values + i * n, k->values, n * sizeof *values);
    memcpy(weights + i * n, k->weights, n * sizeof *weights);
    capacities[i] = k->problem.capacity;
    offsets[i + 1] = (i + 1) * n;
  }
  dzo_knapsack_batch b;
  dzo_knapsack_batch_init(&b);
  b.count = INSTANCES;
  b.offsets = offsets;
  b.values = values;
  b.weights = weights;
  b.capacities = capacities;
  b.value_sums = sums;
  dzo_status status = dzo_knapsack_run_batch(context, &b, NULL);
  assert_int_equal(status, DZO_OK);
  for (int i = 0; i < INSTANCES; i++)
    assert_true((knapsack_wide)sums[i].low == optimum);
  free(values);
  free(weights);
  return status;
}

/* `algorithm` -1: a batch. Returns whether the GPU still works afterwards. */
static bool survives(dzo_device device, const random_knapsack *k, int algorithm,
                     knapsack_wide optimum, uint64_t fail_at) {
  dzo_context *context = knapsack_context(device);
  dzo_unit *gpu = dzo_context_gpu(context);
  gpu->fail_at = gpu->operations + fail_at;
  dzo_status status = algorithm < 0
                          ? run_batch(context, k, optimum)
                          : run_one(context, k, (dzo_knapsack_algorithm)algorithm, optimum);
  bool works = !gpu->lost;
  if (!works && status == DZO_OK && dzo_context_notice(context)[0] == '\0')
    fail_msg("%s: the GPU failed and nobody says so", k->name);
  dzo_context_destroy(context);
  return works;
}

static void the_cpu_takes_over(dzo_device device) {
  dzo_context *context = knapsack_context(device);
  if (context == NULL)
    return;
  dzo_context_destroy(context);
  random_knapsack *k = random_knapsack_make(SUBSET_SUM, ITEMS, 1000, 1, 50, 101);
  const knapsack_problem *p = &k->problem;
  knapsack_wide optimum = knapsack_oracle(p->items, p->value, p->weight, p->capacity);
  for (int a = -1; a <= DZO_KNAPSACK_TWO_LIST; a++)
    for (uint64_t fail_at = 1; fail_at < MOST_FAILURES; fail_at++)
      if (survives(device, k, a, optimum, fail_at))
        break;
  random_knapsack_free(k);
}

static void of_the_gpu_alone(void **state) {
  (void)state;
  the_cpu_takes_over(DZO_DEVICE_CUDA);
}
static void of_both(void **state) {
  (void)state;
  the_cpu_takes_over(DZO_DEVICE_HYBRID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_the_gpu_alone),
      cmocka_unit_test(of_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
