/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sequences of keys: no key twice, the shares that are asked for, the same bytes for ever. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "table/keys.h"

static dzo_context *context;

static dzo_keys *keys_of(dzo_keys_options options) {
  dzo_keys *keys;
  assert_int_equal(dzo_keys_create(context, &options, &keys), DZO_OK);
  return keys;
}

static void no_unique_key_comes_twice(void **state) {
  (void)state;
  static const uint64_t mosts[] = {0, 1, 2, 6, 7, 8, 99, 1000, 4095, 4096, 65535, 100000};
  for (size_t m = 0; m < sizeof mosts / sizeof mosts[0]; m++)
    for (uint64_t seed = 0; seed < 3; seed++) {
      uint64_t count = mosts[m] + 1;
      uint32_t *list = malloc(count * sizeof *list);
      uint8_t *seen = calloc(count, 1);
      dzo_keys *keys = keys_of((dzo_keys_options){DZO_KEYS_UNIQUE, mosts[m], 0, 0, seed});
      dzo_keys_fill_u32(keys, 0, count, list);
      for (uint64_t i = 0; i < count; i++) {
        assert_true(list[i] < count);
        assert_int_equal(seen[list[i]], 0);
        seen[list[i]] = 1;
      }
      dzo_keys_destroy(keys);
      free(list);
      free(seen);
    }
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void unique_keys_of_all_64_bits(void **state) {
  (void)state;
  enum { COUNT = 1 << 18 };
  uint64_t *list = malloc(COUNT * sizeof *list);
  dzo_keys *keys = keys_of((dzo_keys_options){DZO_KEYS_UNIQUE, UINT64_MAX, 0, 0, 7});
  dzo_keys_fill_u64(keys, 0, COUNT, list);
  uint64_t high = 0;
  for (uint64_t i = 0; i < COUNT; i++)
    high += list[i] >> 63;
  assert_true(high > COUNT / 2 - 2000 && high < COUNT / 2 + 2000);
  qsort(list, COUNT, sizeof *list, by_size);
  for (uint64_t i = 1; i < COUNT; i++)
    assert_true(list[i - 1] < list[i]);
  dzo_keys_destroy(keys);
  free(list);
}

/* Parts of a sequence are parts of it, and both widths agree. */
static void any_part_can_be_made_by_itself(void **state) {
  (void)state;
  enum { COUNT = 5000, FROM = 1234, TO = 1300 };
  static const dzo_keys_options options[] = {{DZO_KEYS_UNIQUE, 1u << 20, 0, 0, 1},
                                             {DZO_KEYS_UNIFORM, 99, 0, 0, 1},
                                             {DZO_KEYS_UNIFORM, UINT32_MAX, 77, 0, 1},
                                             {DZO_KEYS_ZIPF, UINT32_MAX, 1u << 20, 1.1, 1}};
  for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
    uint64_t all[COUNT];
    uint32_t part[TO - FROM];
    dzo_keys *keys = keys_of(options[o]);
    dzo_keys_fill_u64(keys, 0, COUNT, all);
    dzo_keys_fill_u32(keys, FROM, TO, part);
    for (int i = FROM; i < TO; i++)
      assert_int_equal(all[i], part[i - FROM]);
    for (int i = 0; i < COUNT; i++)
      assert_true(all[i] <= options[o].most);
    dzo_keys_destroy(keys);
  }
}

/* Chi-squared over the first ranks and the rest, whose keys are told apart by counting. */
static void check_zipf(uint64_t distinct, double exponent) {
  enum { DRAWS = 400000, HEAD = 200 };
  uint64_t *list = malloc(DRAWS * sizeof *list);
  dzo_keys *keys = keys_of((dzo_keys_options){DZO_KEYS_ZIPF, UINT64_MAX, distinct, exponent, 5});
  dzo_keys_fill_u64(keys, 0, DRAWS, list);
  /* Rank r stands for the r-th key of the unique sequence with the same seed. */
  dzo_keys *names = keys_of((dzo_keys_options){DZO_KEYS_UNIQUE, UINT64_MAX, 0, 0, 5});
  uint64_t head = distinct < HEAD ? distinct : HEAD, name[HEAD], seen[HEAD + 1] = {0};
  dzo_keys_fill_u64(names, 0, head, name);
  for (uint64_t i = 0; i < DRAWS; i++) {
    uint64_t r = 0;
    while (r < head && name[r] != list[i])
      r++;
    seen[r]++;
  }
  double sum = 0, above = 0, chi = 0;
  for (uint64_t r = distinct; r > 0; r--)
    sum += pow((double)r, -exponent);
  for (uint64_t r = 0; r <= head; r++) {
    double share = r < head ? pow((double)r + 1, -exponent) / sum : 1 - above;
    above += share;
    if (share * DRAWS < 1e-3)
      continue;
    double wanted = share * DRAWS, more = (double)seen[r] - wanted;
    chi += wanted > 5 ? more * more / wanted : 0;
  }
  assert_true(chi < (double)head + 5 * sqrt(2 * (double)head) + 10);
  dzo_keys_destroy(keys);
  dzo_keys_destroy(names);
  free(list);
}

static void zipf_keys_have_their_shares(void **state) {
  (void)state;
  static const double exponents[] = {0, 0.5, 0.99, 1, 1.2, 2, 16};
  for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
    check_zipf(1, exponents[e]);
    check_zipf(10, exponents[e]);
    check_zipf(4097, exponents[e]);
    check_zipf(1000000, exponents[e]);
  }
}

/* The share of the lower half of the ranks, far behind those that stand alone. */
static void zipf_keys_are_even_within_an_octave(void **state) {
  (void)state;
  enum { DRAWS = 1 << 20, RANKS = 1 << 16, SLOTS = 1 << 18 };
  uint64_t *list = malloc(DRAWS * sizeof *list), *names = malloc(RANKS * sizeof *names);
  dzo_keys *keys = keys_of((dzo_keys_options){DZO_KEYS_ZIPF, SLOTS - 1, RANKS, 1.0, 9});
  dzo_keys *all = keys_of((dzo_keys_options){DZO_KEYS_UNIQUE, SLOTS - 1, 0, 0, 9});
  uint32_t *rank = calloc(SLOTS, sizeof *rank);
  dzo_keys_fill_u64(keys, 0, DRAWS, list);
  dzo_keys_fill_u64(all, 0, RANKS, names);
  for (uint32_t r = 0; r < RANKS; r++)
    rank[names[r]] = r + 1;
  double sum = 0, wanted = 0;
  uint64_t seen = 0;
  for (int r = 1; r <= RANKS; r++) {
    sum += 1.0 / r;
    wanted += r > 20000 && r <= 30000 ? 1.0 / r : 0;
  }
  for (int i = 0; i < DRAWS; i++) {
    uint32_t r = rank[list[i]];
    assert_true(r > 0);
    seen += r > 20000 && r <= 30000;
  }
  wanted = wanted / sum * DRAWS;
  assert_true(fabs((double)seen - wanted) < 5 * sqrt(wanted));
  dzo_keys_destroy(keys);
  dzo_keys_destroy(all);
  free(list);
  free(names);
  free(rank);
}

static uint64_t digest(dzo_keys_options options) {
  enum { COUNT = 100000 };
  uint64_t *list = malloc(COUNT * sizeof *list), sum = 0;
  dzo_keys *keys = keys_of(options);
  dzo_keys_fill_u64(keys, 0, COUNT, list);
  for (int i = 0; i < COUNT; i++)
    sum = (sum ^ list[i]) * UINT64_C(0x100000001b3);
  dzo_keys_destroy(keys);
  free(list);
  return sum;
}

/* Recorded once; another machine, compiler or version must not give others. */
static void the_keys_are_those_of_ever(void **state) {
  (void)state;
  assert_true(digest((dzo_keys_options){DZO_KEYS_UNIQUE, UINT32_MAX, 0, 0, 2387}) ==
              UINT64_C(0x764e675cfd316ad4));
  assert_true(digest((dzo_keys_options){DZO_KEYS_UNIFORM, 999999, 0, 0, 2387}) ==
              UINT64_C(0x163db4ec153e71a2));
  assert_true(digest((dzo_keys_options){DZO_KEYS_ZIPF, UINT32_MAX, 1u << 24, 0.99, 2387}) ==
              UINT64_C(0xbcbcadffb0a93f05));
  assert_true(digest((dzo_keys_options){DZO_KEYS_ZIPF, UINT64_MAX, DZO_KEYS_MOST_RANKS, 1.3, 1}) ==
              UINT64_C(0x345e27881b5b6bb));
}

static void nonsense_is_refused(void **state) {
  (void)state;
  static const dzo_keys_options options[] = {
      {DZO_KEYS_ZIPF, 99, 0, 1, 0},
      {DZO_KEYS_ZIPF, 99, 101, 1, 0},
      {DZO_KEYS_ZIPF, 99, 100, -1, 0},
      {DZO_KEYS_ZIPF, 99, 100, 17, 0},
      {DZO_KEYS_ZIPF, UINT64_MAX, DZO_KEYS_MOST_RANKS + 1, 1, 0},
      {DZO_KEYS_UNIQUE, 99, 5, 0, 0},
      {DZO_KEYS_UNIFORM, 99, 101, 0, 0}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    dzo_keys *keys;
    assert_int_equal(dzo_keys_create(context, &options[i], &keys), DZO_E_ARGUMENT);
    assert_null(keys);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_unique_key_comes_twice),
      cmocka_unit_test(unique_keys_of_all_64_bits),
      cmocka_unit_test(any_part_can_be_made_by_itself),
      cmocka_unit_test(zipf_keys_have_their_shares),
      cmocka_unit_test(zipf_keys_are_even_within_an_octave),
      cmocka_unit_test(the_keys_are_those_of_ever),
      cmocka_unit_test(nonsense_is_refused),
  };
  if (dzo_context_create(NULL, &context) != DZO_OK)
    return 1;
  int result = cmocka_run_group_tests(tests, NULL, NULL);
  dzo_context_destroy(context);
  return result;
}
