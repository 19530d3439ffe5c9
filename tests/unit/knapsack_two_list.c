/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Two lists, of all kinds and on all devices, against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "knapsack/two_list.h"
#include "knapsack_checks.h"

#ifdef DZO_TEST_TINY /* compute-sanitizer slows a GPU down a hundredfold */
static const dzo_device devices[] = {DZO_DEVICE_CUDA};
static const int64_t ranges[] = {INT64_C(1) << 40};
#else
static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
/* That need 64 and 128 bits. */
static const int64_t ranges[] = {1000, INT64_C(1) << 40, INT64_C(1) << 57, INT64_C(1) << 60};
#endif
enum { DEVICES = sizeof devices / sizeof *devices };

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  return knapsack_two_list.refusal(problem, job, why, why_size);
}

static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  return knapsack_two_list.estimate(problem, job);
}

/* Many chunks, and the GPU from the first subsets on. */
static dzo_status solve_in_pieces(knapsack_job *job, const knapsack_problem *problem,
                                  knapsack_answer *answer) {
  two_list_tuning tuning = {.gpu_from = {4, 4}, .chunk = 3, .hits = 1e30, .gpu_choices = 3};
  return two_list_solve(job, problem, &tuning, answer);
}

/* Room for few subsets, so that most items are left to choices. */
static dzo_status solve_in_little(knapsack_job *job, const knapsack_problem *problem,
                                  knapsack_answer *answer) {
  two_list_tuning tuning = {.gpu_from = {8, 8},
                            .chunk = 1 << 15,
                            .memory = 6000,
                            .gpu_memory = 70000,
                            .hits = .1,
                            .gpu_choices = 64};
  return two_list_solve(job, problem, &tuning, answer);
}

static const knapsack_method in_pieces = {DZO_KNAPSACK_TWO_LIST, refusal, estimate,
                                          solve_in_pieces};
static const knapsack_method in_little = {DZO_KNAPSACK_TWO_LIST, refusal, estimate,
                                          solve_in_little};

static void check(const knapsack_method *method, uint32_t items, unsigned rounds) {
  for (int d = 0; d < DEVICES; d++)
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
      (void)knapsack_check_method(method, devices[d], items, ranges[r], rounds);
}

static void any_range_is_exact(void **state) {
  (void)state;
  check(&knapsack_two_list, 28, 2);
}

static void few_items_are_exact(void **state) {
  (void)state;
  check(&knapsack_two_list, 4, 4);
}

static void chunks_are_exact(void **state) {
  (void)state;
  check(&in_pieces, 20, 2);
}

static void choices_are_exact(void **state) {
  (void)state;
  check(&in_little, 18, 2);
}

/* It is the GPU that answers, where there is one. */
static void long_lists_go_to_the_gpu(void **state) {
  (void)state;
  static const unsigned shapes[] = {SUBSET_SUM, PROFIT_CEILING};
  dzo_context *context = knapsack_context(DZO_DEVICE_CUDA);
  for (size_t i = 0; context != NULL && i < sizeof shapes / sizeof *shapes; i++) {
    random_knapsack *k = random_knapsack_make(shapes[i], 26, INT64_C(1) << 50, 1, 50, 101);
    knapsack_job job = knapsack_unlimited(context);
    uint8_t taken[26] = {0};
    knapsack_answer answer = {.taken = taken, .bound = k->problem.value_sum};
    assert_int_equal(solve_in_pieces(&job, &k->problem, &answer), DZO_OK);
    assert_int_equal(answer.device, DZO_DEVICE_CUDA);
    assert_true(answer.value == answer.bound);
    random_knapsack_free(k);
  }
  dzo_context_destroy(context);
}

/* A GPU that fails at its k-th operation leaves a set that fits and a bound that holds. */
static void a_lost_gpu_leaves_an_answer(void **state) {
  (void)state;
  enum { ITEMS = 18, MOST = 24 };
  random_knapsack *k = random_knapsack_make(PROFIT_CEILING, ITEMS, INT64_C(1) << 50, 1, 50, 101);
  const knapsack_problem *p = &k->problem;
  knapsack_wide optimum = knapsack_oracle(p->items, p->value, p->weight, p->capacity);
  for (uint64_t at = 1; at <= MOST; at++) {
    dzo_context *context = knapsack_context(DZO_DEVICE_CUDA);
    if (context == NULL)
      break;
    knapsack_job job = knapsack_unlimited(context);
    uint8_t taken[ITEMS] = {0};
    knapsack_answer answer = {.taken = taken, .bound = p->value_sum};
    job.gpu->fail_at = job.gpu->operations + at;
    dzo_status status = solve_in_pieces(&job, p, &answer);
    assert_true(status == DZO_E_DEVICE || (status == DZO_OK && answer.value == optimum));
    assert_true(answer.value <= optimum && optimum <= answer.bound);
    knapsack_wide value = 0, weight = 0;
    for (int i = 0; i < ITEMS; i++) {
      value += taken[i] ? p->value[i] : 0;
      weight += taken[i] ? p->weight[i] : 0;
    }
    assert_true(value == answer.value && weight <= p->capacity);
    dzo_context_destroy(context);
  }
  random_knapsack_free(k);
}

/* Too many items for lists of all subsets, but not for lists that are pruned. */
static void long_ones_are_proved(void **state) {
  (void)state;
  static const unsigned shapes[] = {UNCORRELATED,    WEAK,        SUBSET_SUM,
                                    SIMILAR_WEIGHTS, FINKELSTEIN, ALL_EQUAL};
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    random_knapsack *k = random_knapsack_make(shapes[i], 150, 1000, i, 50, 101);
    assert_true(knapsack_check_solve(&knapsack_two_list, &job, k, -1));
    random_knapsack_free(k);
  }
  dzo_context_destroy(context);
}

static void stops(void **state) {
  (void)state;
  static const unsigned shapes[] = {SUBSET_SUM, PROFIT_CEILING, STRONG};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    random_knapsack *k = random_knapsack_make(shapes[i], 36, INT64_C(1) << 56, 1, 1, 2);
    for (int d = 0; d < DEVICES; d++)
      knapsack_check_stops(&knapsack_two_list, devices[d], k);
    random_knapsack_free(k);
  }
}

static void refuses_many_items(void **state) {
  (void)state;
  random_knapsack *k = random_knapsack_make(UNCORRELATED, 5000, 1000, 1, 1, 2);
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  char why[200];
  assert_non_null(knapsack_two_list.refusal(&k->problem, &job, why, sizeof why));
  dzo_context_destroy(context);
  random_knapsack_free(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_range_is_exact),       cmocka_unit_test(few_items_are_exact),
      cmocka_unit_test(chunks_are_exact),         cmocka_unit_test(choices_are_exact),
      cmocka_unit_test(long_lists_go_to_the_gpu), cmocka_unit_test(a_lost_gpu_leaves_an_answer),
      cmocka_unit_test(long_ones_are_proved),     cmocka_unit_test(stops),
      cmocka_unit_test(refuses_many_items),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
