/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches against single calls, byte for byte, on every device. */
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

#if defined(DZO_TEST_TINY) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { INSTANCES = 128, MOST = 40 };
#else
enum { INSTANCES = 400, MOST = 40 };
#endif

typedef struct many {
  uint64_t offsets[INSTANCES + 1], count;
  int64_t values[INSTANCES * MOST], weights[INSTANCES * MOST], copies[INSTANCES * MOST];
  int64_t capacities[INSTANCES];
  /* Answers. */
  uint8_t outcomes[INSTANCES];
  dzo_int128 value_sums[INSTANCES], weight_sums[INSTANCES], bounds[INSTANCES];
  int64_t taken[INSTANCES * MOST];
} many;

/* PLAIN needs no normal form; the others everything. */
enum { PLAIN, DROPS, SIGNS, COPIES, MIXED, KINDS };

static int64_t below(uint64_t seed, uint64_t k, uint64_t range) {
  return (int64_t)(dzo_random_word(seed, k) % range);
}

static void draw_instance(many *m, uint64_t i, int kind, uint64_t seed) {
  uint64_t at = m->offsets[i], n = 2 + (uint64_t)below(seed, i, MOST - 2);
  int64_t range = i % 50 == 7 ? 100000 : 60, sum = 0;
  if (kind == MIXED && i % 31 == 0)
    n = i % 3;
  for (uint64_t k = at; k < at + n; k++) {
    m->values[k] = 1 + below(seed + 1, k, (uint64_t)range);
    m->weights[k] = 1 + below(seed + 2, k, (uint64_t)range);
    m->copies[k] = kind == COPIES ? below(seed + 3, k, 4) : 1;
    sum += m->weights[k] * m->copies[k];
    bool odd = kind == MIXED ? i % 3 == 0 : kind != PLAIN;
    if (odd && kind != COPIES && k % 5 == 0)
      m->values[k] = 0;
    if (odd && kind != COPIES && k % 7 == 0)
      m->weights[k] = k % 2 == 0 ? 0 : 4000000;
    if (kind == SIGNS && k % 4 == 0)
      m->values[k] = -m->values[k];
    if (kind == SIGNS && k % 6 == 0)
      m->weights[k] = -m->weights[k];
  }
  m->offsets[i + 1] = at + n;
  m->capacities[i] = i % 11 == 0 ? sum + 100 : sum / 2;
  if (kind == PLAIN && m->capacities[i] < range)
    m->capacities[i] = range;
  if (kind == SIGNS && i % 13 == 0)
    m->capacities[i] = -m->capacities[i];
}

static many *draw(int kind, uint64_t count, uint64_t seed) {
  many *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->count = count;
  for (uint64_t i = 0; i < count; i++)
    draw_instance(m, i, kind, seed);
  return m;
}

static dzo_knapsack_batch batch_of(many *m, int kind) {
  dzo_knapsack_batch b;
  dzo_knapsack_batch_init(&b);
  b.count = m->count;
  b.offsets = m->offsets;
  b.values = m->values;
  b.weights = m->weights;
  b.copies = kind == COPIES ? m->copies : NULL;
  b.capacities = m->capacities;
  b.outcomes = m->outcomes;
  b.value_sums = m->value_sums;
  b.weight_sums = m->weight_sums;
  b.bounds = m->bounds;
  b.taken = m->taken;
  memset(m->taken, 77, sizeof m->taken);
  return b;
}

static bool same(dzo_int128 a, dzo_int128 b) { return a.high == b.high && a.low == b.low; }

static void check_single(dzo_context *context, const dzo_knapsack_batch *b, uint64_t i) {
  uint64_t at = b->offsets[i], n = b->offsets[i + 1] - at;
  dzo_knapsack_instance one;
  dzo_knapsack_instance_init(&one);
  one.count = n;
  one.values = b->values + at;
  one.weights = b->weights + at;
  one.copies = b->copies != NULL ? b->copies + at : NULL;
  one.capacity = b->capacities[i];
  dzo_knapsack *k;
  assert_int_equal(dzo_knapsack_run(context, &one, NULL, &k), DZO_OK);
  assert_int_equal(b->outcomes[i], dzo_knapsack_outcome_of(k));
  assert_true(same(b->value_sums[i], dzo_knapsack_value(k)));
  assert_true(same(b->weight_sums[i], dzo_knapsack_weight(k)));
  assert_true(same(b->bounds[i], dzo_knapsack_bound(k)));
  int64_t taken[MOST] = {0};
  for (uint64_t j = 0; j < dzo_knapsack_count(k); j++)
    taken[dzo_knapsack_items(k)[j]] = dzo_knapsack_copies(k)[j];
  for (uint64_t j = 0; j < n; j++)
    if (taken[j] != b->taken[at + j])
      fail_msg("instance %d, item %d: %d copies alone, %d in the batch", (int)i, (int)j,
               (int)taken[j], (int)b->taken[at + j]);
  dzo_knapsack_destroy(k);
}

static void batches_equal_single_calls(dzo_device device) {
  dzo_context *context = knapsack_context(device);
  if (context == NULL)
    return;
  for (int kind = 0; kind < KINDS; kind++) {
    many *m = draw(kind, kind == PLAIN ? INSTANCES : INSTANCES / 2, 100 * (uint64_t)kind);
    dzo_knapsack_batch b = batch_of(m, kind);
    dzo_status status = dzo_knapsack_run_batch(context, &b, NULL);
    if (status != DZO_OK)
      fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
    assert_string_equal(dzo_context_message(context), "");
    assert_int_equal(b.feasible, 0);
    assert_int_equal(b.optimal + b.infeasible, b.count);
    assert_true(kind != SIGNS || b.infeasible > 0);
    assert_true(device != DZO_DEVICE_CPU || b.device == DZO_DEVICE_CPU);
    assert_true(device != DZO_DEVICE_CUDA || kind != PLAIN || b.device != DZO_DEVICE_CPU);
    for (uint64_t i = 0; i < b.count; i++)
      check_single(context, &b, i);
    free(m);
  }
  /* A GPU keeps its workspace. */
  assert_true(device != DZO_DEVICE_CPU || dzo_context_memory_used(context) == 0);
  dzo_context_destroy(context);
}

static void on_the_cpu(void **state) {
  (void)state;
  batches_equal_single_calls(DZO_DEVICE_CPU);
}
static void on_the_gpu(void **state) {
  (void)state;
  batches_equal_single_calls(DZO_DEVICE_CUDA);
}
static void on_both(void **state) {
  (void)state;
  batches_equal_single_calls(DZO_DEVICE_HYBRID);
}

/* ---- Anything else --------------------------------------------------------------------------- */

static void no_answer_has_to_be_wanted(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  many *m = draw(MIXED, 100, 5);
  dzo_knapsack_batch b = batch_of(m, MIXED);
  b.outcomes = NULL;
  b.value_sums = b.weight_sums = b.bounds = NULL;
  b.taken = NULL;
  assert_int_equal(dzo_knapsack_run_batch(context, &b, NULL), DZO_OK);
  assert_int_equal(b.optimal, 100);
  assert_int_equal(b.device, DZO_DEVICE_CPU);
  dzo_knapsack_batch_init(&b);
  assert_int_equal(dzo_knapsack_run_batch(context, &b, NULL), DZO_OK);
  free(m);
  dzo_context_destroy(context);
}

static void each_algorithm_takes_batches(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  many *m = draw(DROPS, 100, 6), *by_auto = draw(DROPS, 100, 6);
  dzo_knapsack_batch reference = batch_of(by_auto, DROPS);
  assert_int_equal(dzo_knapsack_run_batch(context, &reference, NULL), DZO_OK);
  for (int a = DZO_KNAPSACK_HOROWITZ_SAHNI; a <= DZO_KNAPSACK_TWO_LIST; a++) {
    if (knapsack_method_of((dzo_knapsack_algorithm)a) == NULL)
      continue;
    dzo_knapsack_batch b = batch_of(m, DROPS);
    dzo_knapsack_options o;
    dzo_knapsack_options_init(&o);
    o.algorithm = (dzo_knapsack_algorithm)a;
    dzo_status status = dzo_knapsack_run_batch(context, &b, &o);
    if (status != DZO_OK)
      fail_msg("%s: %s", dzo_knapsack_algorithm_name(o.algorithm), dzo_context_message(context));
    for (int i = 0; i < 100; i++)
      assert_true(same(m->value_sums[i], by_auto->value_sums[i]));
  }
  free(m);
  free(by_auto);
  dzo_context_destroy(context);
}

/* Those that were not begun are there too: an empty set, or another that fits, and a bound. */
static void check_cut_short(const dzo_knapsack_batch *b, const dzo_knapsack_batch *reference) {
  assert_true(b->feasible > 0);
  assert_int_equal(b->optimal + b->feasible + b->infeasible, b->count);
  assert_int_equal(b->infeasible, reference->infeasible);
  for (uint64_t i = 0; i < b->count; i++) {
    assert_true(b->outcomes[i] <= DZO_KNAPSACK_INFEASIBLE);
    if (b->outcomes[i] == DZO_KNAPSACK_INFEASIBLE)
      continue;
    assert_true(b->bounds[i].high == 0 ? b->bounds[i].low >= reference->value_sums[i].low ||
                                             reference->value_sums[i].high < 0
                                       : reference->value_sums[i].high < 0);
    assert_true((int64_t)b->weight_sums[i].low <= b->capacities[i]);
    for (uint64_t k = b->offsets[i]; k < b->offsets[i + 1]; k++)
      assert_true(b->taken[k] >= 0 && b->taken[k] < 4);
  }
}

static void a_cancelled_batch_is_filled_in(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (int kind = 0; kind < KINDS; kind++) {
    many *m = draw(kind, 100, 7), *whole = draw(kind, 100, 7);
    dzo_knapsack_batch b = batch_of(m, kind), reference = batch_of(whole, kind);
    assert_int_equal(dzo_knapsack_run_batch(context, &reference, NULL), DZO_OK);
    dzo_context_cancel(context);
    assert_int_equal(dzo_knapsack_run_batch(context, &b, NULL), DZO_E_CANCELLED);
    dzo_context_resume(context);
    check_cut_short(&b, &reference);
    free(m);
    free(whole);
  }
  dzo_context_destroy(context);
}

static int dawdle(void *user, const dzo_knapsack_progress *progress) {
  (void)progress;
  double until = *(double *)user;
  while (dzo_clock() < until) {
  }
  return 0;
}

/* One instance takes so long that there is no time for a close look at the others. */
static void a_batch_long_out_of_time_is_filled_in(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  context->threads = 1;
  for (int kind = 0; kind < KINDS; kind++) {
    if (kind == DROPS || kind == COPIES)
      continue;
    many *m = draw(kind, 100, 7), *whole = draw(kind, 100, 7);
    dzo_knapsack_batch b = batch_of(m, kind), reference = batch_of(whole, kind);
    assert_int_equal(dzo_knapsack_run_batch(context, &reference, NULL), DZO_OK);
    memset(m->taken, 0x55, sizeof m->taken);
    dzo_knapsack_options o;
    dzo_knapsack_options_init(&o);
    double until = dzo_clock() + 0.33;
    o.algorithm = DZO_KNAPSACK_HOROWITZ_SAHNI;
    o.time_limit = 0.02;
    o.progress = dawdle;
    o.progress_user = &until;
    assert_int_equal(dzo_knapsack_run_batch(context, &b, &o), DZO_E_LIMIT);
    check_cut_short(&b, &reference);
    free(m);
    free(whole);
  }
  dzo_context_destroy(context);
}

enum { CANCELLED_AT = 10 };

/* Cancels a batch, and holds it up soon afterwards. */
static int hesitate(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase;
  double until = dzo_clock() + 0.33;
  *(uint64_t *)user += total > 0;
  while (total > 0 && done == CANCELLED_AT + 2 && dzo_clock() < until) {
  }
  return total > 0 && done == CANCELLED_AT;
}

static void a_batch_long_cancelled_is_filled_in(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  many *m = draw(PLAIN, 100, 7), *whole = draw(PLAIN, 100, 7);
  dzo_knapsack_batch b = batch_of(m, PLAIN), reference = batch_of(whole, PLAIN);
  assert_int_equal(dzo_knapsack_run_batch(context, &reference, NULL), DZO_OK);
  uint64_t calls = 0;
  context->threads = 1;
  context->progress = hesitate;
  context->progress_user = &calls;
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.algorithm = DZO_KNAPSACK_CORE;
  assert_int_equal(dzo_knapsack_run_batch(context, &b, &o), DZO_E_CANCELLED);
  assert_true(calls >= b.count);
  check_cut_short(&b, &reference);
  for (uint64_t k = b.offsets[CANCELLED_AT + 3]; k < b.offsets[b.count]; k++)
    assert_int_equal(b.taken[k], 0);
  free(m);
  free(whole);
  dzo_context_destroy(context);
}

static void expect_refusal(dzo_context *context, dzo_knapsack_batch *b, const char *text) {
  assert_int_equal(dzo_knapsack_run_batch(context, b, NULL), DZO_E_ARGUMENT);
  if (strstr(dzo_context_message(context), text) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", dzo_context_message(context), text);
}

static void wrong_batches_are_refused(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  many *m = draw(COPIES, 20, 8);
  dzo_knapsack_batch b = batch_of(m, COPIES);
  b.size = 8;
  expect_refusal(context, &b, "size");
  expect_refusal(context, NULL, "batch");
  b = batch_of(m, COPIES);
  b.capacities = NULL;
  expect_refusal(context, &b, "capacities");
  b = batch_of(m, COPIES);
  b.values = NULL;
  expect_refusal(context, &b, "values");
  m->copies[m->offsets[3] + 1] = -1;
  b = batch_of(m, COPIES);
  expect_refusal(context, &b, "instance 3, item 1");
  m->offsets[2] = m->offsets[1] - 1;
  expect_refusal(context, &b, "instance 1");
  free(m);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_the_gpu),
      cmocka_unit_test(on_both),
      cmocka_unit_test(no_answer_has_to_be_wanted),
      cmocka_unit_test(each_algorithm_takes_batches),
      cmocka_unit_test(a_cancelled_batch_is_filled_in),
      cmocka_unit_test(a_batch_long_out_of_time_is_filled_in),
      cmocka_unit_test(a_batch_long_cancelled_is_filled_in),
      cmocka_unit_test(wrong_batches_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
