/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack_checks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

const char *const knapsack_shape_names[SHAPES] = {
    "uncorrelated",         "weak",           "strong",
    "inverse strong",       "almost strong",  "subset sum",
    "even-odd subset sum",  "even-odd",       "similar weights",
    "spanner uncorrelated", "spanner weak",   "spanner strong",
    "multiple strong",      "profit ceiling", "circle",
    "Finkelstein",          "all equal",      "few kinds",
    "powers of two",        "one giant",      "ones",
    "greedy trap"};

/* ---- Instances ------------------------------------------------------------------------------- */

typedef struct draw {
  uint64_t seed, k;
} draw;

static int64_t between(draw *d, int64_t low, int64_t high) {
  uint64_t span = (uint64_t)high - (uint64_t)low + 1;
  return low + (int64_t)(dzo_random_word(d->seed, d->k++) % span);
}

static int64_t at_least_one(int64_t x) { return x < 1 ? 1 : x; }

static void draw_correlated(draw *d, unsigned shape, int64_t r, int64_t *v, int64_t *w) {
  int64_t tenth = at_least_one(r / 10);
  *w = between(d, 1, r);
  *v = *w;
  switch (shape) {
  case UNCORRELATED:
    *v = between(d, 1, r);
    break;
  case WEAK:
    *v = at_least_one(between(d, *w - tenth, *w + tenth));
    break;
  case STRONG:
    *v = *w + tenth;
    break;
  case INVERSE_STRONG:
    *w = *v + tenth;
    break;
  case ALMOST_STRONG:
    *v = between(d, *w + tenth - r / 500, *w + tenth + r / 500);
    break;
  case EVEN_ODD_SUBSET_SUM:
    *v = *w = *w / 2 * 2 + 2;
    break;
  case EVEN_ODD:
    *w = *w / 2 * 2 + 2;
    *v = *w + tenth;
    break;
  case SIMILAR_WEIGHTS:
    *v = between(d, 1, at_least_one(r / 100));
    *w = between(d, r, r + at_least_one(r / 1000));
    break;
  default:
    break;
  }
}

static void draw_derived(draw *d, unsigned shape, int64_t r, int64_t *v, int64_t *w) {
  draw_correlated(d, SUBSET_SUM, r, v, w);
  switch (shape) {
  case MULTIPLE_STRONG:
    *v = *w + (*w % 6 == 0 ? 3 * (r / 10) : 2 * (r / 10));
    break;
  case PROFIT_CEILING:
    *v = 3 * ((*w + 2) / 3);
    break;
  case CIRCLE: {
    double radius = 2 * (double)r, x = (double)*w - radius;
    *v = at_least_one((int64_t)(2.0 / 3 * sqrt(radius * radius - x * x)));
    break;
  }
  case FINKELSTEIN:
    *v = *w = 2;
    break;
  case ONES:
    *v = between(d, 1, 2);
    *w = 1;
    break;
  default:
    break;
  }
}

/* Multiples of two drawn items. */
static void draw_spanner(draw *d, unsigned kind, int64_t r, uint32_t count, random_knapsack *k) {
  int64_t v[2], w[2];
  for (int i = 0; i < 2; i++) {
    draw_correlated(d, kind, r, &v[i], &w[i]);
    v[i] = v[i] / 11 + 1;
    w[i] = w[i] / 11 + 1;
  }
  for (uint32_t i = 0; i < count; i++) {
    int64_t which = between(d, 0, 1), times = between(d, 1, 10);
    k->values[i] = v[which] * times;
    k->weights[i] = w[which] * times;
  }
}

static void draw_nasty(draw *d, unsigned shape, int64_t r, uint32_t count, random_knapsack *k) {
  int64_t kinds = shape == FEW_KINDS ? 3 : 1, v[3], w[3];
  for (int i = 0; i < 3; i++)
    draw_correlated(d, UNCORRELATED, r, &v[i], &w[i]);
  for (uint32_t i = 0; i < count; i++) {
    int64_t which = between(d, 0, kinds - 1);
    k->values[i] = v[which];
    k->weights[i] = w[which];
    if (shape == POWERS_OF_TWO)
      k->values[i] = k->weights[i] = INT64_C(1) << i;
    else if (shape == ONE_GIANT)
      draw_correlated(d, STRONG, r, &k->values[i], &k->weights[i]);
    else if (shape == GREEDY_TRAP)
      k->values[i] = k->weights[i] = between(d, at_least_one(r / 2), r);
  }
  if (shape == ONE_GIANT) {
    k->weights[count / 2] = r + r / 10;
    k->values[count / 2] = at_least_one(r - r / 10);
  } else if (shape == GREEDY_TRAP) {
    k->weights[0] = 1;
    k->values[0] = 2;
  }
}

static void draw_items(draw *d, unsigned shape, int64_t r, uint32_t count, random_knapsack *k) {
  if (shape >= SPANNER_UNCORRELATED && shape <= SPANNER_STRONG) {
    draw_spanner(d, shape - SPANNER_UNCORRELATED + UNCORRELATED, r, count, k);
    return;
  }
  if (shape > FINKELSTEIN && shape != ONES) {
    draw_nasty(d, shape, r, count, k);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    if (shape <= SIMILAR_WEIGHTS)
      draw_correlated(d, shape, r, &k->values[i], &k->weights[i]);
    else
      draw_derived(d, shape, r, &k->values[i], &k->weights[i]);
}

/* The sums and the greatest, and a capacity as the normal form wants it. */
static void complete(knapsack_problem *p, unsigned shape, uint64_t part, uint64_t parts) {
  for (uint32_t i = 0; i < p->items; i++) {
    p->value_sum += p->value[i];
    p->weight_sum += p->weight[i];
    p->value_max = p->value[i] > p->value_max ? p->value[i] : p->value_max;
    p->weight_max = p->weight[i] > p->weight_max ? p->weight[i] : p->weight_max;
  }
  knapsack_wide c = p->weight_sum / (knapsack_wide)parts * (knapsack_wide)part;
  if (shape == EVEN_ODD || shape == EVEN_ODD_SUBSET_SUM || shape == FINKELSTEIN)
    c |= 1;
  if (c > INT64_MAX)
    c = INT64_MAX;
  if (c < p->weight_max)
    c = p->weight_max;
  p->capacity = (int64_t)(c >= p->weight_sum ? p->weight_sum - 1 : c);
}

random_knapsack *random_knapsack_make(unsigned shape, uint32_t count, int64_t range, uint64_t seed,
                                      uint64_t part, uint64_t parts) {
  if (shape == POWERS_OF_TWO && count > 60)
    count = 60;
  random_knapsack *k = calloc(1, sizeof *k);
  assert_non_null(k);
  k->values = malloc(count * sizeof *k->values);
  k->weights = malloc(count * sizeof *k->weights);
  assert_true(k->values != NULL && k->weights != NULL);
  draw d = {seed * SHAPES + shape, 0};
  draw_items(&d, shape, range, count, k);
  k->problem = (knapsack_problem){.items = count, .value = k->values, .weight = k->weights};
  complete(&k->problem, shape, part, parts);
  snprintf(k->name, sizeof k->name, "%s, n %u, R %lld, seed %llu, %llu/%llu",
           knapsack_shape_names[shape], count, (long long)range, (unsigned long long)seed,
           (unsigned long long)part, (unsigned long long)parts);
  return k;
}

void random_knapsack_free(random_knapsack *knapsack) {
  free(knapsack->values);
  free(knapsack->weights);
  free(knapsack);
}

/* ---- Methods --------------------------------------------------------------------------------- */

dzo_context *knapsack_context(dzo_device device) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.threads = 2;
  dzo_context *context;
  dzo_status status = dzo_context_create(&options, &context);
  if (status == DZO_E_DEVICE)
    return NULL;
  assert_int_equal(status, DZO_OK);
  return context;
}

knapsack_job knapsack_unlimited(dzo_context *context) {
  bool gpu = context->device == DZO_DEVICE_CUDA || context->device == DZO_DEVICE_HYBRID;
  return (knapsack_job){.context = context,
                        .gpu = gpu ? dzo_context_gpu(context) : NULL,
                        .cpu = context->device != DZO_DEVICE_CUDA,
                        .threads = context->threads,
                        .deadline = INFINITY,
                        .memory = UINT64_C(1) << 31,
                        .value_scale = 1};
}

static knapsack_answer empty_answer(const knapsack_problem *p) {
  knapsack_answer answer = {.bound = p->value_sum, .device = DZO_DEVICE_CPU};
  answer.taken = calloc(p->items, 1);
  assert_non_null(answer.taken);
  return answer;
}

/* What must hold however a method ended. */
static void check_answer(const random_knapsack *k, const knapsack_answer *answer,
                         knapsack_wide optimum) {
  const knapsack_problem *p = &k->problem;
  knapsack_wide value = 0, weight = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    if (answer->taken[i] > 1)
      fail_msg("%s: taken[%u] is %u", k->name, i, answer->taken[i]);
    value += answer->taken[i] ? p->value[i] : 0;
    weight += answer->taken[i] ? p->weight[i] : 0;
  }
  if (value != answer->value)
    fail_msg("%s: says %lld, its items are worth %lld", k->name, (long long)answer->value,
             (long long)value);
  if (weight > p->capacity)
    fail_msg("%s: the items weigh %lld, more than %lld", k->name, (long long)weight,
             (long long)p->capacity);
  if (answer->bound < (optimum >= 0 ? optimum : value))
    fail_msg("%s: the bound %lld is below what can be had, %lld", k->name, (long long)answer->bound,
             (long long)(optimum >= 0 ? optimum : value));
}

bool knapsack_check_solve(const knapsack_method *method, knapsack_job *job,
                          const random_knapsack *knapsack, knapsack_wide optimum) {
  const knapsack_problem *p = &knapsack->problem;
  char why[256];
  if (method->refusal(p, job, why, sizeof why) != NULL)
    return false;
  knapsack_estimate estimate = method->estimate(p, job);
  if (!(estimate.seconds >= 0) || !(estimate.worst >= 0))
    fail_msg("%s: a negative estimate", knapsack->name);
  knapsack_answer answer = empty_answer(p);
  dzo_status status = method->solve(job, p, &answer);
  if (status != DZO_OK)
    fail_msg("%s: %s: %s", knapsack->name, dzo_status_name(status),
             dzo_context_message(job->context));
  check_answer(knapsack, &answer, optimum);
  if (answer.value != answer.bound)
    fail_msg("%s: %lld is not proved, the bound is %lld", knapsack->name, (long long)answer.value,
             (long long)answer.bound);
  if (optimum >= 0 && answer.value != optimum)
    fail_msg("%s: found %lld, the optimum is %lld", knapsack->name, (long long)answer.value,
             (long long)optimum);
  free(answer.taken);
  return true;
}

static int64_t power_of_ten_up_to(uint64_t word, int64_t most) {
  int64_t range = 10;
  for (unsigned exponent = 1 + (unsigned)(word % 17); exponent > 1 && range <= most / 10;
       exponent--)
    range *= 10;
  return range;
}

uint64_t knapsack_check_method(const knapsack_method *method, dzo_device device,
                               uint32_t most_items, int64_t most_range, unsigned rounds) {
  static const uint64_t parts[] = {50, 10, 90, 1, 100, 33};
  dzo_context *context = knapsack_context(device);
  if (context == NULL)
    return 0;
  uint64_t solved = 0;
  for (unsigned shape = 0; shape < SHAPES; shape++)
    for (unsigned round = 0; round < rounds; round++) {
      draw d = {most_items * UINT64_C(1000003) + shape, round * UINT64_C(3)};
      uint32_t count = (uint32_t)between(&d, 2, most_items);
      int64_t range = power_of_ten_up_to(dzo_random_word(d.seed, d.k++), most_range);
      random_knapsack *k =
          random_knapsack_make(shape, count, range, dzo_random_word(d.seed, d.k) % 100000,
                               parts[round % (sizeof parts / sizeof *parts)], 101);
      const knapsack_problem *p = &k->problem;
      knapsack_job job = knapsack_unlimited(context);
      knapsack_wide optimum = knapsack_oracle(p->items, p->value, p->weight, p->capacity);
      solved += knapsack_check_solve(method, &job, k, optimum);
      random_knapsack_free(k);
    }
  dzo_context_destroy(context);
  return solved;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

typedef struct patience {
  unsigned looks, most;
} patience;

static int lose_patience(void *user, const dzo_knapsack_progress *progress) {
  (void)progress;
  patience *p = user;
  return ++p->looks > p->most;
}

static void check_stopped(const knapsack_method *method, knapsack_job *job,
                          const random_knapsack *knapsack) {
  const knapsack_problem *p = &knapsack->problem;
  char why[256];
  if (method->refusal(p, job, why, sizeof why) != NULL)
    return;
  knapsack_answer answer = empty_answer(p);
  dzo_status status = method->solve(job, p, &answer);
  if (status != DZO_OK && status != DZO_E_MEMORY)
    fail_msg("%s: %s", knapsack->name, dzo_status_name(status));
  check_answer(knapsack, &answer, -1);
  free(answer.taken);
}

void knapsack_check_stops(const knapsack_method *method, dzo_device device,
                          const random_knapsack *knapsack) {
  dzo_context *context = knapsack_context(device);
  if (context == NULL)
    return;
  knapsack_job late = knapsack_unlimited(context);
  late.deadline = 0;
  check_stopped(method, &late, knapsack);
  for (unsigned most = 0; most < 3; most++) {
    patience p = {0, most};
    dzo_knapsack_options options = {
        .size = sizeof options, .progress = lose_patience, .progress_user = &p};
    knapsack_job job = knapsack_unlimited(context);
    job.options = &options;
    check_stopped(method, &job, knapsack);
  }
  knapsack_job poor = knapsack_unlimited(context);
  poor.memory = 1000;
  check_stopped(method, &poor, knapsack);
  dzo_context_destroy(context);
}
