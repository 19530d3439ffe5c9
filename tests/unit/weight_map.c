/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "failing_memory.h"
#include "graph/weight_map.h"
#include "random_graphs.h"

enum { TYPES = 6 };

static dzo_context *context;

static int make_context(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 3;
  return dzo_context_create(&options, &context) == DZO_OK ? 0 : -1;
}

static int break_context(void **state) {
  (void)state;
  assert_int_equal(dzo_context_memory_used(context), 0);
  dzo_context_destroy(context);
  return 0;
}

static dzo_weight_map choose(dzo_weight_type type, const void *weights, uint64_t count) {
  dzo_edges e = {.vertices = 1, .count = count, .weight_type = type, .weights = weights};
  dzo_weight_map map;
  if (dzo_weight_map_choose(context, &e, &map) != DZO_OK)
    fail_msg("%s", dzo_context_message(context));
  return map;
}

/* Compare by value: no pattern involved. */
static int compare_values(dzo_weight_type type, const void *weights, uint64_t i, uint64_t j) {
#define COMPARE(t)                                                                                 \
  (((const t *)weights)[i] > ((const t *)weights)[j]) -                                            \
      (((const t *)weights)[i] < ((const t *)weights)[j])
  switch (type) {
  case DZO_WEIGHT_NONE:
    return 0;
  case DZO_WEIGHT_U32:
    return COMPARE(uint32_t);
  case DZO_WEIGHT_I64:
    return COMPARE(int64_t);
  case DZO_WEIGHT_U64:
    return COMPARE(uint64_t);
  case DZO_WEIGHT_F32:
    return COMPARE(float);
  case DZO_WEIGHT_F64:
    return COMPARE(double);
  }
#undef COMPARE
  return 0;
}

static bool same_value(dzo_weight_type type, const void *weights, uint64_t i, dzo_weight w) {
  switch (type) {
  case DZO_WEIGHT_NONE:
    return w.u64 == 1;
  case DZO_WEIGHT_U32:
    return ((const uint32_t *)weights)[i] == w.u64;
  case DZO_WEIGHT_I64:
    return ((const int64_t *)weights)[i] == w.i64;
  case DZO_WEIGHT_U64:
    return ((const uint64_t *)weights)[i] == w.u64;
  case DZO_WEIGHT_F32:
    return (double)((const float *)weights)[i] == w.f64;
  case DZO_WEIGHT_F64:
    return ((const double *)weights)[i] == w.f64;
  }
  return false;
}

/* Keys keep order and give the values back, and are as narrow as the map says. */
static void expect_faithful(const dzo_weight_map *map, const void *weights, uint64_t count) {
  uint64_t *keys = calloc(count + 1, sizeof *keys);
  assert_non_null(keys);
  for (uint64_t i = 0; i < count; i++) {
    keys[i] = dzo_pattern_key(map, dzo_weight_pattern(map->type, weights, i));
    assert_true(map->wide || keys[i] <= UINT32_MAX);
    assert_true(same_value(map->type, weights, i, dzo_key_weight(map, keys[i])));
  }
  random_source random = {count};
  for (uint64_t round = 0; round < 4 * count; round++) {
    uint64_t i = random_below(&random, count), j = random_below(&random, count);
    int by_key = (keys[i] > keys[j]) - (keys[i] < keys[j]);
    assert_int_equal(by_key, compare_values(map->type, weights, i, j));
  }
  free(keys);
}

static void every_random_weight_is_kept(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 600; seed++) {
    dzo_weight_type type = (dzo_weight_type)(seed % TYPES);
    random_graph *r = random_graph_make(seed, 200, type, 0);
    dzo_weight_map map = choose(type, r->weights, r->edges.count);
    assert_int_equal(map.type, type);
    assert_false(map.wide && map.kind != DZO_KEY_OFFSET);
    assert_false(map.wide && map.base != 0);
    expect_faithful(&map, r->weights, r->edges.count);
    dzo_free(map.dictionary);
    random_graph_free(r);
  }
}

static void expect_kind(dzo_weight_type type, const void *weights, uint64_t count,
                        dzo_key_kind kind, bool wide, uint64_t base) {
  dzo_weight_map map = choose(type, weights, count);
  assert_int_equal(map.kind, kind);
  assert_int_equal(map.wide, wide);
  assert_int_equal(map.base, base);
  assert_int_equal(map.dictionary != NULL, kind == DZO_KEY_DICTIONARY);
  expect_faithful(&map, weights, count);
  dzo_free(map.dictionary);
}

static void the_narrowest_map_is_chosen(void **state) {
  (void)state;
  const uint32_t small[] = {0, UINT32_MAX, 5};
  const int64_t near[] = {-3, 4294967292, 0}, far[] = {-3, 4294967293, 0};
  const uint64_t high[] = {UINT64_MAX, UINT64_MAX - UINT32_MAX}, wide[] = {0, UINT64_MAX, 7, 7};
  const float floats[] = {-FLT_MAX, INFINITY, -0.0f, 0.0f, FLT_TRUE_MIN};
  const double exact[] = {0.5, -(double)INFINITY, (double)INFINITY, -0.0, FLT_MAX, 0x1p-149};
  const double close[] = {0.1, 0.1 + 0x1p-55, 0.1 - 0x1p-56};
  const double mixed[] = {0.1, 1e300, -7, 0x1p-150, (double)INFINITY};
  expect_kind(DZO_WEIGHT_NONE, NULL, 3, DZO_KEY_OFFSET, false, 1);
  expect_kind(DZO_WEIGHT_U32, small, 3, DZO_KEY_OFFSET, false, 0);
  expect_kind(DZO_WEIGHT_F32, floats, 5, DZO_KEY_OFFSET, false, 0);
  expect_kind(DZO_WEIGHT_I64, near, 3, DZO_KEY_OFFSET, false, dzo_pattern_of_i64(-3));
  expect_kind(DZO_WEIGHT_I64, far, 3, DZO_KEY_DICTIONARY, false, 0);
  expect_kind(DZO_WEIGHT_U64, high, 2, DZO_KEY_OFFSET, false, UINT64_MAX - UINT32_MAX);
  expect_kind(DZO_WEIGHT_U64, wide, 4, DZO_KEY_DICTIONARY, false, 0);
  expect_kind(DZO_WEIGHT_F64, exact, 6, DZO_KEY_F32, false, 0);
  expect_kind(DZO_WEIGHT_F64, close, 3, DZO_KEY_OFFSET, false, dzo_pattern_of_f64(0.1 - 0x1p-56));
  expect_kind(DZO_WEIGHT_F64, mixed, 5, DZO_KEY_DICTIONARY, false, 0);
  for (int type = DZO_WEIGHT_NONE; type <= DZO_WEIGHT_F64; type++)
    expect_kind((dzo_weight_type)type, NULL, 0, DZO_KEY_OFFSET, false,
                type == DZO_WEIGHT_NONE ? 1 : 0);
}

static void zeros_of_both_signs_are_equal(void **state) {
  (void)state;
  const double zeros[] = {0.0, -0.0};
  const float floats[] = {0.0f, -0.0f};
  assert_int_equal(dzo_weight_pattern(DZO_WEIGHT_F64, zeros, 0),
                   dzo_weight_pattern(DZO_WEIGHT_F64, zeros, 1));
  assert_int_equal(dzo_weight_pattern(DZO_WEIGHT_F32, floats, 0),
                   dzo_weight_pattern(DZO_WEIGHT_F32, floats, 1));
}

/* Values spread over the whole range, `distinct` of them. */
static uint64_t *spread(uint64_t count, uint64_t distinct) {
  uint64_t *values = malloc(count * sizeof *values);
  assert_non_null(values);
  for (uint64_t i = 0; i < count; i++)
    values[i] = i * UINT64_C(0x9E3779B97F4A7C15) % distinct * (UINT64_MAX / distinct);
  return values;
}

static void dictionaries_end_at_2_to_the_20(void **state) {
  (void)state;
  uint64_t limit = UINT64_C(1) << 20, count = 3 * limit;
  for (uint64_t distinct = limit; distinct <= limit + 1; distinct++) {
    uint64_t *values = spread(count, distinct);
    for (uint64_t i = 0; i < distinct; i++) /* each one at least once */
      values[i] = i * (UINT64_MAX / distinct);
    dzo_weight_map map = choose(DZO_WEIGHT_U64, values, count);
    assert_int_equal(map.kind, distinct == limit ? DZO_KEY_DICTIONARY : DZO_KEY_OFFSET);
    assert_int_equal(map.wide, distinct > limit);
    if (distinct == limit)
      assert_int_equal(map.dictionary_size, limit);
    expect_faithful(&map, values, 5000);
    dzo_free(map.dictionary);
    free(values);
  }
}

static void nan_is_named(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  double *weights = calloc(COUNT, sizeof *weights);
  assert_non_null(weights);
  weights[131071] = -(double)NAN;
  weights[131072] = (double)NAN;
  weights[199999] = (double)NAN;
  dzo_edges e = {.vertices = 1,
                 .count = COUNT,
                 .weight_type = DZO_WEIGHT_F64,
                 .weights = weights,
                 .first_number = UINT64_C(1) << 40};
  dzo_weight_map map;
  assert_int_equal(dzo_weight_map_choose(context, &e, &map), DZO_E_ARGUMENT);
  assert_string_equal(dzo_context_message(context), "edge 1099511758847 has weight NaN");
  free(weights);
}

static void types_have_names(void **state) {
  (void)state;
  assert_string_equal(dzo_weight_type_name(DZO_WEIGHT_NONE), "none");
  assert_string_equal(dzo_weight_type_name(DZO_WEIGHT_F64), "f64");
  assert_string_equal(dzo_weight_type_name((dzo_weight_type)9), "unknown");
  assert_string_equal(dzo_weight_type_name((dzo_weight_type)-1), "unknown");
}

/* The sets grow: allocations fail while they do, on any thread. */
static void each_allocation_may_fail(void **state) {
  (void)state;
  enum { COUNT = 300000 };
  uint64_t *values = spread(COUNT, 20000);
  dzo_edges e = {.vertices = 1, .count = COUNT, .weight_type = DZO_WEIGHT_U64, .weights = values};
  failing_memory memory;
  dzo_context *failing = failing_context(&memory, 2);
  dzo_status status = DZO_E_MEMORY;
  int failures = 0;
  for (int64_t k = 0; status != DZO_OK; k++, failures++) {
    dzo_weight_map map;
    memory.left = k;
    status = dzo_weight_map_choose(failing, &e, &map);
    assert_true(status == DZO_OK || status == DZO_E_MEMORY);
    if (status == DZO_OK)
      dzo_free(map.dictionary);
    assert_int_equal(memory.alive, 1);
  }
  assert_true(failures > 8);
  dzo_context_destroy(failing);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_random_weight_is_kept),
      cmocka_unit_test(the_narrowest_map_is_chosen),
      cmocka_unit_test(zeros_of_both_signs_are_equal),
      cmocka_unit_test(dictionaries_end_at_2_to_the_20),
      cmocka_unit_test(nan_is_named),
      cmocka_unit_test(types_have_names),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_context, break_context);
}
