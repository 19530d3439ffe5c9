/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Each allocation of each call failing in turn: the answer is then right, or a set that fits with a
 * bound that holds, or none; and nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_calls.h"
#include "knapsack_checks.h"

#if defined(__SANITIZE_THREAD__) || defined(DZO_TEST_SMALL)
enum { MOST_FAILURES = 60 };
#else
enum { MOST_FAILURES = 2000 };
#endif

typedef struct poor {
  failing allocator;
  dzo_context *context;
  random_knapsack *knapsack;
  int64_t *copies; /* NULL: one each */
  dzo_knapsack_algorithm algorithm;
  knapsack_wide optimum;
} poor;

static void open_context(poor *p, dzo_device device) {
  p->allocator = (failing){.fail_at = NEVER};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.threads = 2;
  options.allocator = (dzo_allocator){&p->allocator, fail_or_allocate, release};
  dzo_status status = dzo_context_create(&options, &p->context);
  if (status == DZO_E_DEVICE)
    p->context = NULL;
  else
    assert_int_equal(status, DZO_OK);
}

static dzo_status call_run(poor *p) {
  const knapsack_problem *problem = &p->knapsack->problem;
  dzo_knapsack_instance i;
  dzo_knapsack_instance_init(&i);
  i.count = problem->items;
  i.values = problem->value;
  i.weights = problem->weight;
  i.copies = p->copies;
  i.capacity = problem->capacity;
  dzo_knapsack_options o;
  dzo_knapsack_options_init(&o);
  o.algorithm = p->algorithm;
  dzo_knapsack *k = (dzo_knapsack *)p;
  dzo_status status = dzo_knapsack_run(p->context, &i, &o, &k);
  assert_int_equal(status == DZO_OK || status == DZO_E_LIMIT, k != NULL);
  if (k == NULL)
    return status;
  knapsack_wide value = (knapsack_wide)dzo_knapsack_value(k).low,
                bound = (knapsack_wide)dzo_knapsack_bound(k).low;
  assert_true(value <= p->optimum && p->optimum <= bound);
  assert_true(status != DZO_OK || value == bound);
  assert_true(dzo_knapsack_weight(k).low <= (uint64_t)problem->capacity);
  dzo_knapsack_destroy(k);
  return status;
}

static dzo_status call_batch(poor *p) {
  const knapsack_problem *problem = &p->knapsack->problem;
  enum { INSTANCES = 7 };
  uint64_t n = problem->items, offsets[INSTANCES + 1] = {0};
  int64_t *values = malloc(INSTANCES * n * sizeof *values),
          *weights = malloc(INSTANCES * n * sizeof *weights), capacities[INSTANCES];
  assert_true(values != NULL && weights != NULL);
  for (uint64_t i = 0; i < INSTANCES; i++) {
    memcpy(values + i * n, problem->value, n * sizeof *values);
    memcpy(weights + i * n, problem->weight, n * sizeof *weights);
    capacities[i] = problem->capacity - (int64_t)(i % 2);
    weights[i * n] = i % 2 != 0 ? 0 : weights[i * n];
    offsets[i + 1] = (i + 1) * n;
  }
  dzo_knapsack_batch b;
  dzo_knapsack_batch_init(&b);
  b.count = INSTANCES;
  b.offsets = offsets;
  b.values = values;
  b.weights = weights;
  b.capacities = capacities;
  dzo_status status = dzo_knapsack_run_batch(p->context, &b, NULL);
  if (status == DZO_OK || status == DZO_E_LIMIT)
    assert_int_equal(b.optimal + b.feasible, INSTANCES);
  free(values);
  free(weights);
  return status;
}

static void check(poor *p, dzo_status (*call)(poor *p)) {
  int64_t live = p->allocator.live;
  dzo_status status = DZO_OK;
  bool failed = true;
  for (uint64_t at = 0; failed && at < MOST_FAILURES; at++) {
    p->allocator.calls = 0;
    p->allocator.fail_at = at;
    status = call(p);
    failed = p->allocator.calls > at;
    p->allocator.fail_at = NEVER;
    /* A method that was asked for may also say that it takes too much memory. */
    bool says_so = status == DZO_E_LIMIT || status == DZO_E_MEMORY ||
                   (status == DZO_E_UNSUPPORTED && p->algorithm != DZO_KNAPSACK_AUTO);
    if (status != DZO_OK && !(failed && says_so))
      fail_msg("%s: allocation %d failed: %s: %s", p->knapsack->name, (int)at,
               dzo_status_name(status), dzo_context_message(p->context));
    if (status != DZO_OK && strstr(dzo_context_message(p->context), "memory") == NULL &&
        strstr(dzo_context_message(p->context), "allocate") == NULL)
      fail_msg("%s: allocation %d failed, but the message is \"%s\"", p->knapsack->name, (int)at,
               dzo_context_message(p->context));
    /* A GPU keeps its workspace. */
    if (p->context->device == DZO_DEVICE_CPU && p->allocator.live != live)
      fail_msg("%s: allocation %d failed, and %d blocks leak", p->knapsack->name, (int)at,
               (int)(p->allocator.live - live));
  }
  assert_int_equal(call(p), DZO_OK); /* and once more */
}

/* Does this method take the problem on the context's device? */
static bool is_taken(const poor *p, dzo_knapsack_algorithm algorithm) {
  if (algorithm == DZO_KNAPSACK_AUTO)
    return true;
  if (p->context->device == DZO_DEVICE_CUDA &&
      (algorithm == DZO_KNAPSACK_CORE || algorithm == DZO_KNAPSACK_HOROWITZ_SAHNI))
    return false;
  knapsack_job job = knapsack_unlimited(p->context);
  const knapsack_method *method = knapsack_method_of(algorithm);
  char why[200];
  return method != NULL && method->refusal(&p->knapsack->problem, &job, why, sizeof why) == NULL;
}

/* Small ones, and some that are not. */
static void calls_survive(dzo_device device) {
  static const int64_t ranges[] = {20, 10000, INT64_C(1000000000000)};
  poor p;
  open_context(&p, device);
  if (p.context == NULL)
    return;
  for (int r = 0; r < 3; r++) {
    p.knapsack =
        random_knapsack_make(r == 1 ? UNCORRELATED : ALMOST_STRONG, 18, ranges[r], 4, 50, 101);
    const knapsack_problem *problem = &p.knapsack->problem;
    p.optimum = knapsack_oracle(18, problem->value, problem->weight, problem->capacity);
    for (int a = DZO_KNAPSACK_AUTO; a <= DZO_KNAPSACK_TWO_LIST; a++) {
      p.algorithm = (dzo_knapsack_algorithm)a;
      p.copies = NULL;
      if (is_taken(&p, p.algorithm))
        check(&p, call_run);
    }
    check(&p, call_batch);
    int64_t copies[18];
    for (int i = 0; i < 18; i++)
      copies[i] = 1;
    p.copies = copies;
    p.algorithm = DZO_KNAPSACK_AUTO;
    check(&p, call_run);
    random_knapsack_free(p.knapsack);
  }
  dzo_context_destroy(p.context);
  assert_int_equal(p.allocator.live, 0);
}

static void on_the_cpu(void **state) {
  (void)state;
  calls_survive(DZO_DEVICE_CPU);
}
static void on_the_gpu(void **state) {
  (void)state;
  calls_survive(DZO_DEVICE_CUDA);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_the_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
