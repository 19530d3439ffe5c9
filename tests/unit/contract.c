/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* msf_contract() against a plain loop: on random forests, and on long chains, where threads halve
 * each other's paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "msf/solver.h"

enum { MOST = 150001, THREADS = 8, SEED = 7 };

static dzo_context *context;
static uint32_t *forest, *hook, *dense, *root_of, *number_of;

static uint32_t *room(void) {
  uint32_t *array = malloc(MOST * sizeof *array);
  assert_non_null(array);
  return array;
}

static int set_up(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = THREADS;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  forest = room();
  hook = room();
  dense = room();
  root_of = room();
  number_of = room();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
  free(forest);
  free(hook);
  free(dense);
  free(root_of);
  free(number_of);
  return 0;
}

/* Roots of forest[] without changing it: each path is walked until a vertex whose root is known,
 * and once more to write the root down. Roots are numbered in ascending order. */
static uint32_t solve_plainly(uint32_t count) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < count; i++) {
    root_of[i] = DZO_MSF_NONE;
    if (forest[i] == i)
      number_of[i] = roots++;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t end = i;
    while (forest[end] != end && root_of[end] == DZO_MSF_NONE)
      end = forest[end];
    uint32_t root = forest[end] == end ? end : root_of[end];
    for (uint32_t at = i; at != end; at = forest[at])
      root_of[at] = root;
    root_of[end] = root;
  }
  return roots;
}

static void expect_contracted(uint32_t count, int times) {
  uint32_t expected = solve_plainly(count);
  for (int time = 0; time < times; time++) {
    int threads = time % THREADS + 1;
    msf_solver s = {.context = context, .threads = threads};
    memcpy(hook, forest, count * sizeof *hook);
    memset(dense, 0xff, count * sizeof *dense);
    uint32_t roots = DZO_MSF_NONE;
    assert_int_equal(msf_contract(&s, hook, count, dense, &roots), DZO_OK);
    assert_int_equal(roots, expected);
    for (uint32_t i = 0; i < count; i++)
      if (hook[i] != root_of[i] || dense[i] != number_of[root_of[i]])
        fail_msg("%u of %u, %d threads: root %u, component %u; expected %u, %u", (unsigned)i,
                 (unsigned)count, threads, (unsigned)hook[i], (unsigned)dense[i],
                 (unsigned)root_of[i], (unsigned)number_of[root_of[i]]);
  }
}

static const uint32_t counts[] = {1, 2, 3, 63, 1000, 16384, 16385, 40000, MOST};

/* A vertex hooks to any vertex before it in a random permutation; about one in `rarity` is a root.
 */
static void random_forests(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint32_t count = counts[c], *place = dense, *at = number_of;
    for (uint64_t rarity = 2; rarity < UINT32_MAX; rarity *= 1000) {
      uint64_t draw = 0, seed = SEED + rarity + c;
      for (uint32_t i = 0; i < count; i++)
        at[i] = i;
      for (uint32_t i = count; i-- > 1;) {
        uint32_t j = (uint32_t)(dzo_random_word(seed, draw++) % (i + 1)), moved = at[i];
        at[i] = at[j];
        at[j] = moved;
      }
      for (uint32_t i = 0; i < count; i++)
        place[at[i]] = i;
      for (uint32_t v = 0; v < count; v++) {
        bool root = place[v] == 0 || dzo_random_word(seed, draw++) % rarity == 0;
        forest[v] = root ? v : at[dzo_random_word(seed, draw++) % place[v]];
      }
      expect_contracted(count, THREADS);
    }
  }
}

static void chains_that_descend(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    for (uint32_t i = 0; i < counts[c]; i++)
      forest[i] = i == 0 ? 0 : i - 1;
    expect_contracted(counts[c], 2 * THREADS);
  }
}

static void chains_that_ascend(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    for (uint32_t i = 0; i < counts[c]; i++)
      forest[i] = i + 1 < counts[c] ? i + 1 : i;
    expect_contracted(counts[c], 2 * THREADS);
  }
}

/* Up in the even vertices and down in the odd ones: every range of vertices needs all the others.
 */
static void chains_that_turn(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint32_t count = counts[c], last_even = (count - 1) & ~UINT32_C(1);
    for (uint32_t i = 0; i < count; i += 2)
      forest[i] = i + 2 < count ? i + 2 : i;
    for (uint32_t i = 1; i < count; i += 2)
      forest[i] = i == 1 ? last_even : i - 2;
    expect_contracted(count, 2 * THREADS);
  }
}

static void nothing_has_no_roots(void **state) {
  (void)state;
  msf_solver s = {.context = context, .threads = 1};
  uint32_t roots;
  assert_int_equal(msf_contract(&s, hook, 0, dense, &roots), DZO_OK);
  assert_int_equal(roots, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_forests),       cmocka_unit_test(chains_that_descend),
      cmocka_unit_test(chains_that_ascend),   cmocka_unit_test(chains_that_turn),
      cmocka_unit_test(nothing_has_no_roots),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
