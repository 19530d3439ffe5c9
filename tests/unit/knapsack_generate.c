/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Generated knapsack instances: those that a program in Python, written from the published
 * definitions, makes; and what each class promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dzo/context.h"
#include "dzo/knapsack.h"

__extension__ typedef unsigned __int128 wide;

enum { ITEMS = 40, MANY = 500 };

/* 40 items of seed 2387: the first one, the capacity for 50/101, and the FNV-1a digest of all
 * values and weights as they follow, a word at a time. */
static const struct {
  const char *name;
  int64_t range, value, weight, capacity;
  uint64_t digest;
} rows[] = {
    {"uncorrelated", INT64_C(10), INT64_C(7), INT64_C(9), INT64_C(111),
     UINT64_C(0x8e79eff3c4b8e86a)},
    {"weakly-correlated", INT64_C(10), INT64_C(9), INT64_C(9), INT64_C(111),
     UINT64_C(0x2e6addf49d18a1b9)},
    {"strongly-correlated", INT64_C(10), INT64_C(10), INT64_C(9), INT64_C(111),
     UINT64_C(0x62ab5f60c26522c1)},
    {"inverse-strongly-correlated", INT64_C(10), INT64_C(9), INT64_C(10), INT64_C(131),
     UINT64_C(0xfc8c24b94422a701)},
    {"almost-strongly-correlated", INT64_C(10), INT64_C(10), INT64_C(9), INT64_C(111),
     UINT64_C(0x62ab5f60c26522c1)},
    {"subset-sum", INT64_C(10), INT64_C(9), INT64_C(9), INT64_C(111), UINT64_C(0x67eba0050ce2e787)},
    {"even-odd-subset-sum", INT64_C(10), INT64_C(10), INT64_C(10), INT64_C(121),
     UINT64_C(0x807a00acd9d75ead)},
    {"even-odd", INT64_C(10), INT64_C(11), INT64_C(10), INT64_C(121), UINT64_C(0x36c0f69af74b58e5)},
    {"similar-weights", INT64_C(10), INT64_C(818), INT64_C(100063), INT64_C(1981146),
     UINT64_C(0x8728d766275fb09e)},
    {"spanner-uncorrelated", INT64_C(10), INT64_C(7), INT64_C(7), INT64_C(104),
     UINT64_C(0x8bbc76a3f2bd5a85)},
    {"spanner-weakly-correlated", INT64_C(10), INT64_C(14), INT64_C(7), INT64_C(104),
     UINT64_C(0x56cb75887fdface3)},
    {"spanner-strongly-correlated", INT64_C(10), INT64_C(14), INT64_C(7), INT64_C(104),
     UINT64_C(0x56cb75887fdface3)},
    {"multiple-strongly-correlated", INT64_C(10), INT64_C(11), INT64_C(9), INT64_C(111),
     UINT64_C(0xa6ce192eb85058e3)},
    {"profit-ceiling", INT64_C(10), INT64_C(9), INT64_C(9), INT64_C(111),
     UINT64_C(0x42ba623626a5c2f)},
    {"circle", INT64_C(10), INT64_C(11), INT64_C(9), INT64_C(111), UINT64_C(0x488cb624aa061b4f)},
    {"finkelstein", INT64_C(10), INT64_C(2), INT64_C(2), INT64_C(39), UINT64_C(0xe3e12e7aa14ad725)},
    {"uncorrelated", INT64_C(1000), INT64_C(626), INT64_C(818), INT64_C(10159),
     UINT64_C(0xb2109549cc90598a)},
    {"weakly-correlated", INT64_C(1000), INT64_C(843), INT64_C(818), INT64_C(10159),
     UINT64_C(0x3f5c1f69f42dc543)},
    {"strongly-correlated", INT64_C(1000), INT64_C(918), INT64_C(818), INT64_C(10159),
     UINT64_C(0xebe31c85f88e7ff)},
    {"inverse-strongly-correlated", INT64_C(1000), INT64_C(818), INT64_C(918), INT64_C(12140),
     UINT64_C(0x41158bb76ad95faf)},
    {"almost-strongly-correlated", INT64_C(1000), INT64_C(919), INT64_C(818), INT64_C(10159),
     UINT64_C(0xbc63ee0f5f8db54b)},
    {"subset-sum", INT64_C(1000), INT64_C(818), INT64_C(818), INT64_C(10159),
     UINT64_C(0xac42ed297efd36f)},
    {"even-odd-subset-sum", INT64_C(1000), INT64_C(818), INT64_C(818), INT64_C(10167),
     UINT64_C(0x5509561a6a92f695)},
    {"even-odd", INT64_C(1000), INT64_C(918), INT64_C(818), INT64_C(10167),
     UINT64_C(0x942f511d5c7403d)},
    {"similar-weights", INT64_C(1000), INT64_C(818), INT64_C(100063), INT64_C(1981146),
     UINT64_C(0x8728d766275fb09e)},
    {"spanner-uncorrelated", INT64_C(1000), INT64_C(525), INT64_C(623), INT64_C(7637),
     UINT64_C(0x4439c4e1d836421b)},
    {"spanner-weakly-correlated", INT64_C(1000), INT64_C(665), INT64_C(623), INT64_C(7637),
     UINT64_C(0x575f0c79c7fd7315)},
    {"spanner-strongly-correlated", INT64_C(1000), INT64_C(686), INT64_C(623), INT64_C(7637),
     UINT64_C(0x9b219f0297dd2be1)},
    {"multiple-strongly-correlated", INT64_C(1000), INT64_C(1018), INT64_C(818), INT64_C(10159),
     UINT64_C(0x9c1b19a2928e9b0f)},
    {"profit-ceiling", INT64_C(1000), INT64_C(819), INT64_C(818), INT64_C(10159),
     UINT64_C(0x15a714211ef6ab76)},
    {"circle", INT64_C(1000), INT64_C(1075), INT64_C(818), INT64_C(10159),
     UINT64_C(0xcd7836efb7d2c0d1)},
    {"finkelstein", INT64_C(1000), INT64_C(2), INT64_C(2), INT64_C(39),
     UINT64_C(0xe3e12e7aa14ad725)},
    {"uncorrelated", INT64_C(100000000000000000), INT64_C(62581476467122630),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0x41145a6382e8bf97)},
    {"weakly-correlated", INT64_C(100000000000000000), INT64_C(84315128720623387),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0x8a5b4ac09728b5b4)},
    {"strongly-correlated", INT64_C(100000000000000000), INT64_C(91798833427198861),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0xe4cfab5b870febd5)},
    {"inverse-strongly-correlated", INT64_C(100000000000000000), INT64_C(81798833427198861),
     INT64_C(91798833427198861), INT64_C(1212925713935306795), UINT64_C(0x5036d43de0d1ebd5)},
    {"almost-strongly-correlated", INT64_C(100000000000000000), INT64_C(91849159333067352),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0xbd0fdbb7d5b6fa23)},
    {"subset-sum", INT64_C(100000000000000000), INT64_C(81798833427198861),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0xa5162ec9bdedebd5)},
    {"even-odd-subset-sum", INT64_C(100000000000000000), INT64_C(81798833427198862),
     INT64_C(81798833427198862), INT64_C(1014905911955108787), UINT64_C(0x77e1fe7709904c25)},
    {"even-odd", INT64_C(100000000000000000), INT64_C(91798833427198862),
     INT64_C(81798833427198862), INT64_C(1014905911955108787), UINT64_C(0xe7f2d4075cf04c25)},
    {"similar-weights", INT64_C(100000000000000000), INT64_C(818), INT64_C(100063),
     INT64_C(1981146), UINT64_C(0x8728d766275fb09e)},
    {"spanner-uncorrelated", INT64_C(100000000000000000), INT64_C(51977360279519605),
     INT64_C(61996505976159538), INT64_C(756553917469619115), UINT64_C(0x9bb015e6d22d4dfb)},
    {"spanner-weakly-correlated", INT64_C(100000000000000000), INT64_C(66028341668427096),
     INT64_C(61996505976159538), INT64_C(756553917469619115), UINT64_C(0x29dfc485da1d6da3)},
    {"spanner-strongly-correlated", INT64_C(100000000000000000), INT64_C(68360142339795901),
     INT64_C(61996505976159538), INT64_C(756553917469619115), UINT64_C(0xe034c6339d24828d)},
    {"multiple-strongly-correlated", INT64_C(100000000000000000), INT64_C(101798833427198861),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0x447ef844debeebd5)},
    {"profit-ceiling", INT64_C(100000000000000000), INT64_C(81798833427198861),
     INT64_C(81798833427198861), INT64_C(1014905911955108775), UINT64_C(0xb8b57c5c9534dc41)},
    {"circle", INT64_C(100000000000000000), INT64_C(107555637738136707), INT64_C(81798833427198861),
     INT64_C(1014905911955108775), UINT64_C(0xc9eee6da2cebd057)},
    {"finkelstein", INT64_C(100000000000000000), INT64_C(2), INT64_C(2), INT64_C(39),
     UINT64_C(0xe3e12e7aa14ad725)},
};

static dzo_context *context;

static int make_context(void **state) {
  dzo_context_options options;
  (void)state;
  dzo_context_options_init(&options);
  options.threads = 1;
  options.device = DZO_DEVICE_CPU;
  return dzo_context_create(&options, &context) == DZO_OK ? 0 : -1;
}

static int free_context(void **state) {
  (void)state;
  dzo_context_destroy(context);
  return 0;
}

static dzo_knapsack_class class_of(const char *name) {
  int kind = 0;
  while (kind < DZO_KNAPSACK_CLASSES &&
         strcmp(dzo_knapsack_class_name((dzo_knapsack_class)kind), name) != 0)
    kind++;
  assert_true(kind < DZO_KNAPSACK_CLASSES);
  return (dzo_knapsack_class)kind;
}

static void test_known(void **state) {
  (void)state;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    int64_t values[ITEMS], weights[ITEMS], capacity;
    uint64_t digest = UINT64_C(14695981039346656037);
    assert_int_equal(dzo_knapsack_generate(context, class_of(rows[r].name), ITEMS, rows[r].range,
                                           2387, 50, 101, values, weights, &capacity),
                     DZO_OK);
    for (int i = 0; i < ITEMS; i++) {
      digest = (digest ^ (uint64_t)values[i]) * UINT64_C(1099511628211);
      digest = (digest ^ (uint64_t)weights[i]) * UINT64_C(1099511628211);
    }
    assert_int_equal(values[0], rows[r].value);
    assert_int_equal(weights[0], rows[r].weight);
    assert_int_equal(capacity, rows[r].capacity);
    assert_true(digest == rows[r].digest);
  }
}

/* ---- What the classes promise ---------------------------------------------------------------- */

typedef struct item {
  int64_t value, weight;
} item;

static bool in(int64_t x, int64_t least, int64_t most) { return least <= x && x <= most; }

/* Is the value the whole part of 2/3 sqrt(4 R^2 - (w - 2 R)^2)? */
static bool is_on_circle(item t, int64_t range) {
  wide squared = (wide)(uint64_t)t.weight * (uint64_t)(4 * range - t.weight);
  wide low = (wide)(uint64_t)t.value * (uint64_t)t.value * 9;
  wide high = (wide)((uint64_t)t.value + 1) * ((uint64_t)t.value + 1) * 9;
  return low <= 4 * squared && 4 * squared < high;
}

static bool belongs(dzo_knapsack_class kind, item t, int64_t r) {
  int64_t tenth = r / 10, more = t.value - t.weight;
  switch (kind) {
  case DZO_KNAPSACK_UNCORRELATED:
    return in(t.value, 1, r) && in(t.weight, 1, r);
  case DZO_KNAPSACK_WEAKLY_CORRELATED:
    return in(t.weight, 1, r) && t.value >= 1 && (in(more, -tenth, tenth) || t.value == 1);
  case DZO_KNAPSACK_STRONGLY_CORRELATED:
    return in(t.weight, 1, r) && more == tenth;
  case DZO_KNAPSACK_INVERSE_STRONGLY_CORRELATED:
    return in(t.value, 1, r) && more == -tenth;
  case DZO_KNAPSACK_ALMOST_STRONGLY_CORRELATED:
    return in(t.weight, 1, r) && in(more, tenth - r / 500, tenth + r / 500);
  case DZO_KNAPSACK_SUBSET_SUM:
    return in(t.weight, 1, r) && more == 0;
  case DZO_KNAPSACK_EVEN_ODD_SUBSET_SUM:
    return in(t.weight, 2, r) && t.weight % 2 == 0 && more == 0;
  case DZO_KNAPSACK_EVEN_ODD:
    return in(t.weight, 2, r) && t.weight % 2 == 0 && more == tenth;
  case DZO_KNAPSACK_SIMILAR_WEIGHTS:
    return in(t.weight, 100000, 100100) && in(t.value, 1, 1000);
  case DZO_KNAPSACK_MULTIPLE_STRONGLY:
    return in(t.weight, 1, r) && more == (t.weight % 6 == 0 ? 3 * r / 10 : 2 * r / 10);
  case DZO_KNAPSACK_PROFIT_CEILING:
    return in(t.weight, 1, r) && in(more, 0, 2) && t.value % 3 == 0;
  case DZO_KNAPSACK_CIRCLE:
    return in(t.weight, 1, r) && is_on_circle(t, r);
  case DZO_KNAPSACK_FINKELSTEIN:
    return t.value == 2 && t.weight == 2;
  default: /* spanners */
    return in(t.weight, 1, 2 * r) && in(t.value, 1, 2 * r);
  }
}

static void test_promises(void **state) {
  static const int64_t ranges[] = {10, 11, 1000, 123457, INT64_C(100000000000000)};
  static int64_t values[MANY], weights[MANY];
  (void)state;
  for (int k = 0; k < DZO_KNAPSACK_CLASSES; k++) {
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
      dzo_knapsack_class kind = (dzo_knapsack_class)k;
      int64_t capacity;
      wide sum = 0;
      assert_int_equal(dzo_knapsack_generate(context, kind, MANY, ranges[r], r, 1, 3, values,
                                             weights, &capacity),
                       DZO_OK);
      for (int i = 0; i < MANY; i++) {
        assert_true(belongs(kind, (item){values[i], weights[i]}, ranges[r]));
        sum += (uint64_t)weights[i];
      }
      int64_t third = (int64_t)(sum / 3);
      assert_true(capacity == third || (capacity == (third | 1) && weights[0] % 2 == 0));
    }
  }
}

/* All items of a spanner instance are multiples of one of two. */
static void test_spanners(void **state) {
  static int64_t values[MANY], weights[MANY];
  (void)state;
  for (int k = DZO_KNAPSACK_SPANNER_UNCORRELATED; k <= DZO_KNAPSACK_SPANNER_STRONGLY; k++) {
    int64_t capacity;
    item ratio[MANY];
    int ratios = 0;
    assert_int_equal(dzo_knapsack_generate(context, (dzo_knapsack_class)k, MANY, 100000, 1, 1, 2,
                                           values, weights, &capacity),
                     DZO_OK);
    for (int i = 0, j; i < MANY; i++) {
      for (j = 0; j < ratios && values[i] * ratio[j].weight != weights[i] * ratio[j].value;)
        j++;
      if (j == ratios)
        ratio[ratios++] = (item){values[i], weights[i]};
    }
    assert_int_equal(ratios, 2);
  }
}

static void test_refusals(void **state) {
  int64_t values[ITEMS], weights[ITEMS], capacity;
  (void)state;
#define GENERATE(kind, count, range, part, parts)                                                  \
  dzo_knapsack_generate(context, kind, count, range, 1, part, parts, values, weights, &capacity)
  assert_int_equal(GENERATE(DZO_KNAPSACK_CLASSES, 1, 10, 1, 2), DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_CIRCLE, DZO_KNAPSACK_ITEMS + 1, 10, 1, 2), DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_CIRCLE, 1, 9, 1, 2), DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_CIRCLE, 1, INT64_C(100000000000000001), 1, 2),
                   DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_CIRCLE, 1, 10, 3, 2), DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_CIRCLE, 1, 10, 0, 0), DZO_E_ARGUMENT);
  assert_int_equal(
      dzo_knapsack_generate(context, DZO_KNAPSACK_CIRCLE, 1, 10, 1, 1, 2, NULL, weights, &capacity),
      DZO_E_ARGUMENT);
  assert_int_equal(
      dzo_knapsack_generate(NULL, DZO_KNAPSACK_CIRCLE, 1, 10, 1, 1, 2, values, weights, &capacity),
      DZO_E_ARGUMENT);
  assert_int_equal(GENERATE(DZO_KNAPSACK_EVEN_ODD, 0, 10, 1, 2), DZO_OK);
  assert_int_equal(capacity, 1);
  assert_int_equal(GENERATE(DZO_KNAPSACK_UNCORRELATED, 0, 10, 1, 2), DZO_OK);
  assert_int_equal(capacity, 0);
  static int64_t many[2][MANY]; /* about 2.5e19 in all */
  assert_int_equal(dzo_knapsack_generate(context, DZO_KNAPSACK_CIRCLE, MANY,
                                         INT64_C(100000000000000000), 1, 1, 2, many[0], many[1],
                                         &capacity),
                   DZO_E_UNSUPPORTED);
  assert_int_equal(dzo_knapsack_generate(context, DZO_KNAPSACK_CIRCLE, MANY,
                                         INT64_C(100000000000000000), 1, UINT64_MAX / 4, UINT64_MAX,
                                         many[0], many[1], &capacity),
                   DZO_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_promises),
                                     cmocka_unit_test(test_spanners),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, make_context, free_context);
}
