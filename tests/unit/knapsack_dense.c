/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The table over capacities: all shapes against the oracle, items in groups of nearly the same
 * weight, too little memory for all decisions, wide values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "dzo/dzo.h"
#include "failing_memory.h"
#include "knapsack/dense.h"
#include "knapsack/dense_reduce.h"
#include "knapsack/dense_stage.h"
#include "knapsack_checks.h"

#if defined(DZO_TEST_TINY)
enum { ROUNDS = 1, RANGE = 100, GROUPED = 2, FAILURES = 2 };
#elif defined(DZO_TEST_SMALL)
enum { ROUNDS = 3, RANGE = 1000, GROUPED = 6, FAILURES = 16 };
#else
enum { ROUNDS = 12, RANGE = 10000, GROUPED = 24, FAILURES = 8 };
#endif

static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
enum { DEVICES = sizeof devices / sizeof *devices, SPREAD = 12 };

static void test_shapes(void **state) {
  (void)state;
  for (size_t k = 0; k < DEVICES; k++) {
    uint64_t solved = knapsack_check_method(&knapsack_dense, devices[k], 18, RANGE, ROUNDS);
    if (devices[k] == DZO_DEVICE_CPU)
      assert_true(solved > SHAPES * ROUNDS / 2);
  }
}

/* Values a little off the weights, which stand in groups of about capacity / 2^k, and some small
 * items. */
static void grouped(uint64_t seed, uint32_t items, int64_t capacity, int64_t scale,
                    random_knapsack *out) {
  *out = (random_knapsack){.problem = {.items = items, .capacity = capacity}};
  out->values = malloc(items * sizeof *out->values);
  out->weights = malloc(items * sizeof *out->weights);
  (void)snprintf(out->name, sizeof out->name, "grouped %llu", (unsigned long long)seed);
  knapsack_problem *p = &out->problem;
  for (uint32_t i = 0; i < items; i++) {
    uint64_t word = dzo_random_word(seed, i);
    int64_t noise = 1 + (int64_t)(word % 20), off = (int64_t)(word >> 8 & 31) - 15;
    int64_t weight = noise + (i % 6 == 5 ? 0 : (capacity >> (1 + i % 6)) + capacity / 1000);
    int64_t value = weight * scale + off;
    out->weights[i] = weight;
    out->values[i] = value < 1 ? 1 : value;
    p->weight_sum += weight;
    p->value_sum += out->values[i];
    p->weight_max = weight > p->weight_max ? weight : p->weight_max;
    p->value_max = out->values[i] > p->value_max ? out->values[i] : p->value_max;
  }
  p->value = out->values;
  p->weight = out->weights;
}

static void check_grouped(uint64_t seed, uint32_t items, int64_t capacity, int64_t scale,
                          uint64_t memory) {
  random_knapsack k;
  grouped(seed, items, capacity, scale, &k);
  const knapsack_problem *p = &k.problem;
  oracle_wide best;
  assert_true(knapsack_oracle_table(p->items, p->value, p->weight, p->capacity, &best));
  for (size_t d = 0; d < DEVICES; d++) {
    dzo_context *context = knapsack_context(devices[d]);
    if (context == NULL)
      continue;
    knapsack_job job = knapsack_unlimited(context);
    job.memory = memory;
    assert_true(knapsack_check_solve(&knapsack_dense, &job, &k, best));
    dzo_context_destroy(context);
  }
  free(k.values);
  free(k.weights);
}

/* Items of weights from `least` on, `gap` apart at most, behind SPREAD of up to 8 times as much,
 * whose sums are nearly all weights; values a little off the weights. */
static void close_together(uint64_t seed, uint32_t items, int64_t least, int64_t gap,
                           random_knapsack *out) {
  *out = (random_knapsack){.problem = {.items = items}};
  out->values = malloc(items * sizeof *out->values);
  out->weights = malloc(items * sizeof *out->weights);
  (void)snprintf(out->name, sizeof out->name, "close together %llu", (unsigned long long)seed);
  knapsack_problem *p = &out->problem;
  for (uint32_t i = 0; i < items; i++) {
    uint64_t word = dzo_random_word(seed, i);
    out->weights[i] = i < SPREAD
                          ? least * (3 * SPREAD - 2 * (int64_t)i) / 4 - (int64_t)(word % 97)
                          : least + gap * (int64_t)(items - i) - (int64_t)(word % (uint64_t)gap);
    int64_t weight = out->weights[i];
    out->values[i] = weight + (int64_t)(word >> 20 & 63);
    p->weight_sum += weight;
    p->value_sum += out->values[i];
    p->weight_max = weight > p->weight_max ? weight : p->weight_max;
    p->value_max = out->values[i] > p->value_max ? out->values[i] : p->value_max;
  }
  p->capacity = (int64_t)p->weight_sum / 2;
  p->value = out->values;
  p->weight = out->weights;
}

/* Fill the whole table of k on the GPU, item by item or several at a time. The best value, and a
 * set of it; how many stages had how many items. */
static int64_t fill_whole(dzo_context *context, const random_knapsack *k, unsigned counts[9],
                          uint8_t *chosen) {
  const knapsack_problem *p = &k->problem;
  knapsack_job job = knapsack_unlimited(context);
  dense_rest rest = {.items = p->items,
                     .value = k->values,
                     .weight = k->weights,
                     .capacity = p->capacity,
                     .room_left = p->capacity,
                     .rate = 1,
                     .narrow = true};
  dense_plan plan;
  assert_int_equal(dense_rest_plan(&job, &rest, 256, UINT64_MAX - 1, NULL, &plan), DZO_OK);
  dense_stage stage;
  for (uint32_t level = 0; level < plan.items; level += stage.items) {
    assert_true(dense_stage_make(&plan, job.gpu, level, &stage) > 0);
    counts[stage.items]++;
  }
  int64_t value = 0;
  bool found;
  knapsack_answer answer = {0};
  assert_int_equal(dense_fill(&job, &rest, &plan, &value, chosen, &found, &answer), DZO_OK);
  assert_true(found && answer.cells == plan.cells);
  dense_plan_free(&plan);
  return value;
}

/* Eight, four and two items a pass; strides that are less than a chunk and more than a tile. */
static void test_passes(void **state) {
  (void)state;
  static const struct {
    uint32_t items;
    int64_t least, gap;
    unsigned most; /* items of a pass */
  } cases[] = {{32, 1200, 8, 8}, {26, 900, 90, 4}, {26, 1300, 700, 2}, {32, 150, 3, 8}};
  dzo_context *context = knapsack_context(DZO_DEVICE_CUDA);
  for (unsigned i = 0; context != NULL && i < sizeof cases / sizeof *cases; i++) {
    random_knapsack k;
    close_together(i, cases[i].items, cases[i].least, cases[i].gap, &k);
    const knapsack_problem *p = &k.problem;
    oracle_wide best;
    assert_true(knapsack_oracle_table(p->items, p->value, p->weight, p->capacity, &best));
    uint8_t chosen[32];
    unsigned counts[9] = {0};
    assert_true(fill_whole(context, &k, counts, chosen) == best);
    assert_true(counts[cases[i].most] > 0);
    free(k.values);
    free(k.weights);
  }
  if (context != NULL)
    dzo_context_destroy(context);
}

static void test_groups(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < GROUPED; seed++)
    check_grouped(seed, 20 + (uint32_t)seed * 3, 3000 + 1717 * (int64_t)seed, 1, 1 << 30);
}

/* Bits for a few levels only. */
static void test_little_memory(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 4; seed++)
    check_grouped(seed, 60, 40000, 1, 700000);
}

/* Cells of 64 bits: values that lie far from a line through their weights. */
static void test_wide(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 4; seed++)
    check_grouped(seed, 40, 2000, INT64_C(1) << 40, 1 << 30);
}

/* What an estimate proves on the way is true, and the search goes on from there. */
static void test_bounds(void **state) {
  (void)state;
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  unsigned lower = 0;
  for (uint64_t seed = 0; seed < 6; seed++) {
    random_knapsack k;
    grouped(seed, 30, 40000, 1 + (int64_t)seed * 300, &k);
    const knapsack_problem *p = &k.problem;
    oracle_wide best;
    assert_true(knapsack_oracle_table(p->items, p->value, p->weight, p->capacity, &best));
    knapsack_job job = knapsack_unlimited(context);
    job.begun = dzo_clock() - 1;
    knapsack_wide bound = knapsack_dense.estimate(p, &job).bound;
    assert_true(bound >= best);
    uint32_t order[64];
    assert_int_equal(knapsack_sort(context, p, order), DZO_OK);
    lower += bound < knapsack_dantzig(p, order);
    uint8_t taken[64] = {0};
    for (int tight = 0; tight < 2; tight++) {
      knapsack_answer answer = {.taken = taken, .bound = tight ? best : bound};
      assert_int_equal(knapsack_dense.solve(&job, p, &answer), DZO_OK);
      assert_true(answer.value == best && answer.bound == best);
    }
    free(k.values);
    free(k.weights);
  }
  assert_true(lower > 0);
  dzo_context_destroy(context);
}

/* A plan against all sets: no weight that a set within the goal goes through may be missing, and
 * the segments cover each level once. */
static void test_plan(void **state) {
  (void)state;
  enum { ITEMS = 10 };
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  for (uint64_t seed = 0; seed < 40; seed++) {
    int64_t weight[ITEMS], value[ITEMS], sum = 0;
    for (uint64_t i = 0; i < ITEMS; i++) {
      weight[i] = 1 + (int64_t)(dzo_random_word(seed, i) % (seed % 2 == 0 ? 5000 : 50));
      value[i] = weight[i];
      sum += weight[i];
    }
    dense_plan plan = {.context = context,
                       .items = ITEMS,
                       .weight = weight,
                       .value = value,
                       .rate = 1,
                       .most = seed % 3 == 0 ? 4 : 1000,
                       .longest = seed % 5 == 0 ? 100 : 1 << 20};
    int64_t low = sum / 2 - 300, high = sum / 2;
    low = low < 0 ? 0 : low;
    assert_int_equal(dense_plan_make(&plan, low, high, UINT64_MAX - 1), DZO_OK);
    for (uint32_t set = 0; set < 1u << ITEMS; set++) {
      int64_t path[ITEMS + 1] = {0};
      for (uint32_t j = 0; j < ITEMS; j++)
        path[j + 1] = path[j] + (set >> j & 1 ? weight[j] : 0);
      if (path[ITEMS] < low || path[ITEMS] > high)
        continue;
      for (uint32_t j = 0; j <= ITEMS; j++) {
        const dense_span *span = dense_plan_find(&plan, j, path[j]);
        assert_true(span->low <= path[j] && path[j] <= span->high);
      }
    }
    dense_segment *segment = malloc(dense_plan_segments(&plan) * sizeof *segment);
    for (uint32_t j = 0; j < ITEMS; j++) {
      uint64_t count = dense_plan_cut(&plan, j, segment), at = 0;
      assert_true(count <= dense_plan_segments(&plan));
      for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(segment[i].out, at);
        at += segment[i].count;
      }
      assert_int_equal(at, dense_plan_width(&plan, j + 1));
    }
    free(segment);
    dense_plan_free(&plan);
  }
  dzo_context_destroy(context);
}

static void test_stops(void **state) {
  (void)state;
  random_knapsack k;
  grouped(3, 60, 60000, 1, &k);
  for (size_t d = 0; d < DEVICES; d++)
    knapsack_check_stops(&knapsack_dense, devices[d], &k);
  free(k.values);
  free(k.weights);
}

/* A job that is stopped does not wait for very many items to be sorted, and loses none. */
static void test_stops_sorting(void **state) {
  (void)state;
  enum { MANY = 3 << 14 };
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  random_knapsack k;
  grouped(4, MANY, 60000, 1, &k);
  const knapsack_problem *p = &k.problem;
  uint32_t *order = malloc(MANY * sizeof *order);
  uint8_t *seen = calloc(MANY, 1);
  dense_rest rest;
  assert_true(order != NULL && seen != NULL);
  assert_int_equal(knapsack_sort(context, p, order), DZO_OK);
  assert_int_equal(dense_rest_open(&rest, context, MANY), DZO_OK);
  for (int stopped = 0; stopped < 2; stopped++) {
    knapsack_job job = knapsack_unlimited(context);
    job.stopped = stopped != 0 ? KNAPSACK_CANCELLED : KNAPSACK_GOES_ON;
    dense_reduce(&job, p, order, 0, &rest);
    assert_int_equal(rest.items, MANY);
    bool sorted = true;
    for (uint32_t i = 0; i < MANY; i++) {
      assert_int_equal(seen[rest.item[i]]++, stopped);
      assert_int_equal(rest.weight[i], p->weight[rest.item[i]]);
      sorted = sorted && (i == 0 || rest.weight[i - 1] >= rest.weight[i]);
    }
    assert_int_equal(sorted, stopped == 0);
  }
  dense_rest_close(&rest);
  free(seen);
  free(order);
  free(k.values);
  free(k.weights);
  dzo_context_destroy(context);
}

/* Whatever goes wrong, the answer fits and nothing is left behind. */
static dzo_status solve_anyhow(knapsack_job *job, const random_knapsack *k) {
  const knapsack_problem *p = &k->problem;
  knapsack_answer answer = {.bound = p->value_sum, .taken = calloc(p->items, 1)};
  assert_non_null(answer.taken);
  dzo_status status = knapsack_dense.solve(job, p, &answer);
  knapsack_wide value = 0, weight = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    value += answer.taken[i] ? p->value[i] : 0;
    weight += answer.taken[i] ? p->weight[i] : 0;
  }
  assert_true(value == answer.value && weight <= p->capacity && value <= answer.bound);
  free(answer.taken);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  random_knapsack k;
  grouped(5, 40, 5000, 1, &k);
  dzo_status status = DZO_E_MEMORY;
  for (int64_t left = 0; status != DZO_OK; left++) {
    failing_memory memory;
    dzo_context *context = failing_context(&memory, 1);
    assert_non_null(context);
    knapsack_job job = knapsack_unlimited(context);
    job.gpu = NULL;
    job.cpu = true;
    memory.left = left;
    status = solve_anyhow(&job, &k);
    assert_true(status == DZO_OK || status == DZO_E_MEMORY);
    dzo_context_destroy(context);
    assert_int_equal(memory.alive, 0);
  }
  free(k.values);
  free(k.weights);
}

/* Each operation of the GPU fails once, and all after it. */
static void test_failing_gpu(void **state) {
  (void)state;
  random_knapsack k;
  grouped(5, 20, 3000, 1, &k);
  dzo_status status = DZO_E_DEVICE;
  for (uint64_t operation = 1; status != DZO_OK; operation += operation < FAILURES ? 1 : 61) {
    dzo_context *context = knapsack_context(DZO_DEVICE_CUDA);
    if (context == NULL)
      break;
    knapsack_job job = knapsack_unlimited(context);
    job.gpu->fail_at = job.gpu->operations + operation;
    status = solve_anyhow(&job, &k);
    assert_true(status == DZO_OK || status == DZO_E_DEVICE);
    dzo_context_destroy(context);
  }
  free(k.values);
  free(k.weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plan),          cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_groups),        cmocka_unit_test(test_passes),
      cmocka_unit_test(test_bounds),        cmocka_unit_test(test_little_memory),
      cmocka_unit_test(test_wide),          cmocka_unit_test(test_stops),
      cmocka_unit_test(test_stops_sorting), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_failing_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
