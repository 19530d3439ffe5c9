/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Small instances: the one answer, on every device, against all subsets and a plain table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "dzo/dzo.h"
#include "failing_memory.h"
#include "knapsack/small.h"
#include "knapsack_checks.h"

#if defined(DZO_TEST_TINY)
enum { EXHAUSTIVE = 40, MIXED = 24 };
#elif defined(DZO_TEST_SMALL)
enum { EXHAUSTIVE = 500, MIXED = 150 };
#else
enum { EXHAUSTIVE = 4000, MIXED = 600 };
#endif

/* The definition, word by word: subsets as numbers with the last item as the highest bit, so that
 * the least of the best ones leaves out the last item if any does, and so on. */
static uint32_t least_best_subset(const knapsack_problem *p, int64_t *best) {
  uint32_t least = 0;
  *best = 0;
  for (uint32_t set = 1; set < UINT32_C(1) << p->items; set++) {
    int64_t value = 0, weight = 0;
    for (uint32_t i = 0; i < p->items; i++) {
      value += set >> i & 1 ? p->value[i] : 0;
      weight += set >> i & 1 ? p->weight[i] : 0;
    }
    if (weight <= p->capacity && value > *best) {
      *best = value;
      least = set;
    }
  }
  return least;
}

/* The same by a table over all items and capacities. */
static void plain_table(const knapsack_problem *p, uint8_t *taken, int64_t *best) {
  size_t row = (size_t)p->capacity + 1;
  int64_t *table = calloc((p->items + 1) * row, sizeof *table);
  assert_non_null(table);
  for (uint32_t i = 0; i < p->items; i++)
    for (size_t x = 0; x < row; x++) {
      int64_t *cell = &table[(i + 1) * row + x], stay = table[i * row + x], with = -1;
      if (x >= (size_t)p->weight[i])
        with = table[i * row + x - (size_t)p->weight[i]] + p->value[i];
      *cell = with > stay ? with : stay;
    }
  *best = table[p->items * row + row - 1];
  size_t x = row - 1;
  for (uint32_t i = p->items; i-- > 0;) {
    taken[i] = table[(i + 1) * row + x] != table[i * row + x];
    x -= taken[i] ? (size_t)p->weight[i] : 0;
  }
  free(table);
}

/* Problems one behind another, with the answers that are expected. */
typedef struct pile {
  knapsack_smalls smalls;
  uint64_t *offsets;
  int64_t *value, *weight, *capacity, *best;
  uint8_t *taken;
} pile;

enum { PILE_ITEMS = 1 << 17, PILE_PROBLEMS = 1 << 13 };

static void pile_open(pile *p) {
  p->offsets = calloc(PILE_PROBLEMS + 1, sizeof *p->offsets);
  p->value = calloc(PILE_ITEMS, sizeof *p->value);
  p->weight = calloc(PILE_ITEMS, sizeof *p->weight);
  p->capacity = calloc(PILE_PROBLEMS, sizeof *p->capacity);
  p->best = calloc(PILE_PROBLEMS, sizeof *p->best);
  p->taken = calloc(PILE_ITEMS, 1);
  p->smalls = (knapsack_smalls){0, p->offsets, p->value, p->weight, p->capacity, p->taken, p->best};
}

static void pile_close(pile *p) {
  free(p->offsets);
  free(p->value);
  free(p->weight);
  free(p->capacity);
  free(p->best);
  free(p->taken);
}

/* The problem number i. */
static knapsack_problem pile_at(const pile *p, uint64_t i) {
  uint64_t first = p->offsets[i];
  return (knapsack_problem){.items = (uint32_t)(p->offsets[i + 1] - first),
                            .value = p->value + first,
                            .weight = p->weight + first,
                            .capacity = p->capacity[i]};
}

static void pile_add(pile *p, const knapsack_problem *problem) {
  uint64_t i = p->smalls.count++, first = p->offsets[i];
  assert_true(p->smalls.count <= PILE_PROBLEMS && first + problem->items <= PILE_ITEMS);
  memcpy(p->value + first, problem->value, problem->items * sizeof *p->value);
  memcpy(p->weight + first, problem->weight, problem->items * sizeof *p->weight);
  p->capacity[i] = problem->capacity;
  p->offsets[i + 1] = first + problem->items;
}

/* Random ones whose table is at most this large. */
static void pile_fill(pile *p, unsigned rounds, uint32_t most_items, int64_t most_cells) {
  for (unsigned k = 0; k < rounds; k++) {
    uint64_t word = dzo_random_word(7, k);
    uint32_t items = 2 + (uint32_t)(word % (most_items - 1));
    int64_t range = 1 + (int64_t)((word >> 20) % (uint64_t)(1 + 4 * most_cells / items / items));
    random_knapsack *one =
        random_knapsack_make(k % SHAPES, items, range, k, 1 + (word >> 50) % 4, 5);
    const knapsack_problem *problem = &one->problem;
    if (knapsack_is_narrow(problem) && problem->capacity < most_cells / problem->items)
      pile_add(p, problem);
    random_knapsack_free(one);
  }
}

static void solve_on(const pile *p, dzo_context *context) {
  knapsack_job job = knapsack_unlimited(context);
  uint64_t cells = 0;
  dzo_device device;
  memset(p->taken, 0x55, p->offsets[p->smalls.count]);
  assert_int_equal(knapsack_small_run(&job, &p->smalls, &cells, &device), DZO_OK);
  assert_true(cells > 0);
  if (job.gpu == NULL)
    assert_int_equal(device, DZO_DEVICE_CPU);
  else if (!job.cpu)
    assert_int_not_equal(device, DZO_DEVICE_CPU);
}

static void check_pile(const pile *p, dzo_context *context) {
  solve_on(p, context);
  uint8_t *taken = malloc(PILE_ITEMS);
  for (uint64_t i = 0; i < p->smalls.count; i++) {
    knapsack_problem problem = pile_at(p, i);
    int64_t best;
    plain_table(&problem, taken, &best);
    assert_int_equal(p->best[i], best);
    assert_memory_equal(p->taken + p->offsets[i], taken, problem.items);
  }
  free(taken);
}

static void test_all_subsets(void **state) {
  (void)state;
  pile p;
  pile_open(&p);
  pile_fill(&p, EXHAUSTIVE, 11, 2000);
  assert_true(p.smalls.count > EXHAUSTIVE / 2);
  dzo_context *context = knapsack_context(DZO_DEVICE_CPU);
  solve_on(&p, context);
  for (uint64_t i = 0; i < p.smalls.count; i++) {
    knapsack_problem problem = pile_at(&p, i);
    int64_t best;
    uint32_t set = least_best_subset(&problem, &best);
    assert_int_equal(p.best[i], best);
    for (uint32_t k = 0; k < problem.items; k++)
      assert_int_equal(p.taken[p.offsets[i] + k], set >> k & 1);
  }
  dzo_context_destroy(context);
  pile_close(&p);
}

/* Wide and narrow tables, many items and few, on each device there is. */
static void test_tables(void **state) {
  (void)state;
  static const struct {
    uint32_t items;
    int64_t cells;
  } sizes[] = {{60, 20000}, {300, 100000}, {8, 100000}, {1500, 60000}};
  pile p;
  pile_open(&p);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    pile_fill(&p, MIXED / (k == 0 ? 1u : 8u), sizes[k].items, sizes[k].cells);
  static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
  for (size_t k = 0; k < sizeof devices / sizeof *devices; k++) {
    dzo_context *context = knapsack_context(devices[k]);
    if (context == NULL)
      continue;
    check_pile(&p, context);
    dzo_context_destroy(context);
  }
  pile_close(&p);
}

/* One instance as large as they come, whose values need 64 bits, and one just below 32. */
static void test_great_values(void **state) {
  (void)state;
  static const int64_t greatest[] = {INT32_MAX / 12, INT64_C(1) << 57};
  pile p;
  pile_open(&p);
  for (size_t k = 0; k < 2; k++)
    for (uint64_t round = 0; round < 8; round++) {
      int64_t value[12], weight[12], sum = 0;
      for (uint64_t i = 0; i < 12; i++) {
        value[i] = greatest[k] - (int64_t)(dzo_random_word(round, i) % 1000);
        weight[i] = 1 + (int64_t)(dzo_random_word(round, 100 + i) % 7000);
        sum += weight[i];
      }
      knapsack_problem problem = {
          .items = 12, .value = value, .weight = weight, .capacity = sum / 2};
      pile_add(&p, &problem);
    }
  static const dzo_device devices[] = {DZO_DEVICE_CPU, DZO_DEVICE_CUDA};
  for (size_t k = 0; k < 2; k++) {
    dzo_context *context = knapsack_context(devices[k]);
    if (context == NULL)
      continue;
    check_pile(&p, context);
    dzo_context_destroy(context);
  }
  pile_close(&p);
}

/* Out of time before it begins: what is not solved says so, and is empty. */
static void test_stop(void **state) {
  (void)state;
  pile p;
  pile_open(&p);
  pile_fill(&p, 100, 20, 2000);
  dzo_context *context = knapsack_context(DZO_DEVICE_HYBRID);
  if (context == NULL)
    context = knapsack_context(DZO_DEVICE_CPU);
  knapsack_job job = knapsack_unlimited(context);
  job.deadline = 0;
  uint64_t cells = 0;
  dzo_device device;
  assert_int_equal(knapsack_small_run(&job, &p.smalls, &cells, &device), DZO_OK);
  assert_int_equal(job.stopped, KNAPSACK_OUT_OF_TIME);
  for (uint64_t i = 0; i < p.smalls.count; i++)
    assert_int_equal(p.best[i], -1);
  for (uint64_t i = 0; i < p.offsets[p.smalls.count]; i++)
    assert_int_equal(p.taken[i], 0);
  dzo_context_destroy(context);
  pile_close(&p);
}

static void test_no_memory(void **state) {
  (void)state;
  pile p;
  pile_open(&p);
  pile_fill(&p, 100, 20, 2000);
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  assert_non_null(context);
  knapsack_job job = knapsack_unlimited(context);
  job.gpu = NULL;
  job.cpu = true;
  uint64_t cells = 0;
  dzo_device device;
  memory.left = 0;
  assert_int_equal(knapsack_small_run(&job, &p.smalls, &cells, &device), DZO_E_MEMORY);
  assert_int_equal(knapsack_small_run(&job, &p.smalls, &cells, &device), DZO_OK);
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
  pile_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_subsets),  cmocka_unit_test(test_tables),
      cmocka_unit_test(test_great_values), cmocka_unit_test(test_stop),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
