/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sorting and prefix sums of the GPU that is linked, against the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "device/device.h"
#include "device/primitives.h"

static const uint64_t counts[] = {0, 1, 2, 31, 32, 33, 1000, 4097, 100003};
enum { COUNTS = sizeof counts / sizeof counts[0], SEED = 17 };

typedef struct gpu {
  dzo_context *context;
  dzo_unit *unit;
} gpu;

static gpu gpu_or_skip(void) {
  gpu g = {0};
  assert_int_equal(dzo_context_create(NULL, &g.context), DZO_OK);
  g.unit = dzo_context_gpu(g.context);
  if (g.unit == NULL) {
    dzo_context_destroy(g.context);
    skip();
  }
  return g;
}

static void *device(gpu *g, uint64_t count, size_t size) {
  void *pointer = NULL;
  assert_int_equal(dzo_unit_allocate(g->unit, count, size, &pointer), DZO_OK);
  return pointer;
}

static void *uploaded(gpu *g, const void *host, uint64_t bytes) {
  void *pointer = device(g, bytes, 1);
  assert_int_equal(dzo_unit_copy(g->unit, 0, pointer, host, bytes), DZO_OK);
  return pointer;
}

static void download(gpu *g, void *host, const void *pointer, uint64_t bytes) {
  assert_int_equal(dzo_unit_copy(g->unit, 0, host, pointer, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(g->unit, 0), DZO_OK);
}

typedef struct record {
  uint64_t key;
  uint64_t value;
} record;

static int bits_begin, bits_end; /* for the comparison */

static uint64_t bits_of(uint64_t key) {
  int width = bits_end - bits_begin;
  return width == 0 ? 0 : key >> bits_begin & (UINT64_MAX >> (64 - width));
}

/* By the bits, then by the place in the input: that is what stable means. */
static int by_bits(const void *a, const void *b) {
  const record *x = a, *y = b;
  uint64_t p = bits_of(x->key), q = bits_of(y->key);
  if (p != q)
    return p < q ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

/* Random keys, few of them distinct, numbered; and sorted. */
static record *records(uint64_t count, uint64_t *keys, uint64_t *values64, uint32_t *values32) {
  record *r = calloc(count + 1, sizeof *r);
  assert_non_null(r);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t word = dzo_random_word(SEED, i);
    r[i] = (record){i % 3 == 0 ? word : word & UINT64_C(0xff000000ff0000ff), i};
    keys[i] = r[i].key;
    values64[i] = i;
    values32[i] = (uint32_t)i;
  }
  qsort(r, count, sizeof *r, by_bits);
  return r;
}

static void sort_one(gpu *g, uint64_t n) {
  uint64_t *keys = calloc(n + 1, sizeof *keys), *wide = calloc(n + 1, sizeof *wide);
  uint32_t *narrow = calloc(n + 1, sizeof *narrow);
  assert_true(keys != NULL && wide != NULL && narrow != NULL);
  record *expected = records(n, keys, wide, narrow);
  void *keys_in = uploaded(g, keys, n * 8), *keys_out = device(g, n, 8);
  void *wide_in = uploaded(g, wide, n * 8), *wide_out = device(g, n, 8);
  void *narrow_in = uploaded(g, narrow, n * 4), *narrow_out = device(g, n, 4);
  uint64_t bytes = dzo_gpu_sort_bytes(g->unit, n), key_bytes = dzo_gpu_sort_keys_bytes(g->unit, n);
  void *scratch = device(g, bytes, 1), *key_scratch = device(g, key_bytes, 1);

  assert_int_equal(dzo_gpu_sort_u64_u32(g->unit, 0, scratch, bytes, keys_in, keys_out, narrow_in,
                                        narrow_out, n, bits_begin, bits_end),
                   DZO_OK);
  download(g, keys, keys_out, n * 8);
  download(g, narrow, narrow_out, n * 4);
  for (uint64_t i = 0; i < n; i++) {
    assert_int_equal(keys[i], expected[i].key);
    assert_int_equal(narrow[i], expected[i].value);
  }
  assert_int_equal(dzo_gpu_sort_u64_u64(g->unit, 0, scratch, bytes, keys_in, keys_out, wide_in,
                                        wide_out, n, bits_begin, bits_end),
                   DZO_OK);
  download(g, keys, keys_out, n * 8);
  download(g, wide, wide_out, n * 8);
  for (uint64_t i = 0; i < n; i++) {
    assert_int_equal(keys[i], expected[i].key);
    assert_int_equal(wide[i], expected[i].value);
  }
  uint64_t *sorted = NULL;
  assert_int_equal(dzo_gpu_sort_u64(g->unit, 0, key_scratch, key_bytes, keys_in, keys_out, n,
                                    bits_begin, bits_end, &sorted),
                   DZO_OK);
  assert_true((void *)sorted == keys_in || (void *)sorted == keys_out);
  download(g, keys, sorted, n * 8);
  for (uint64_t i = 0; i < n; i++)
    assert_int_equal(keys[i], expected[i].key);
  free(expected);
  free(keys);
  free(wide);
  free(narrow);
}

static void sorts_are_stable(void **state) {
  (void)state;
  static const int ranges[][2] = {{0, 64}, {0, 32}, {24, 40}, {60, 64}, {7, 8}};
  for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
    bits_begin = ranges[r][0];
    bits_end = ranges[r][1];
    gpu g = gpu_or_skip();
    for (int c = 0; c < COUNTS; c++)
      sort_one(&g, counts[c]);
    dzo_context_destroy(g.context); /* frees what is there */
  }
}

static void sums_are_exclusive(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  for (int c = 0; c < COUNTS; c++) {
    uint64_t n = counts[c], bytes = dzo_gpu_sum_bytes(g.unit, n);
    uint64_t *wide = calloc(n + 1, sizeof *wide), *wide_out = calloc(n + 1, sizeof *wide_out);
    uint32_t *narrow = calloc(n + 1, sizeof *narrow), *narrow_out = calloc(n + 1, 4);
    assert_true(wide != NULL && wide_out != NULL && narrow != NULL && narrow_out != NULL);
    for (uint64_t i = 0; i < n; i++) {
      wide[i] = dzo_random_word(SEED, i);
      narrow[i] = (uint32_t)wide[i];
    }
    void *scratch = device(&g, bytes, 1);
    void *a = uploaded(&g, wide, n * 8), *b = uploaded(&g, narrow, n * 4), *out = device(&g, n, 4);
    assert_int_equal(dzo_gpu_exclusive_sum_u64(g.unit, 0, scratch, bytes, a, a, n), DZO_OK);
    assert_int_equal(dzo_gpu_exclusive_sum_u32(g.unit, 0, scratch, bytes, b, out, n), DZO_OK);
    download(&g, wide_out, a, n * 8);
    download(&g, narrow_out, out, n * 4);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
      assert_int_equal(wide_out[i], sum);
      sum += wide[i];
    }
    uint32_t small = 0;
    for (uint64_t i = 0; i < n; i++) {
      assert_int_equal(narrow_out[i], small);
      small += narrow[i];
    }
    free(wide);
    free(wide_out);
    free(narrow);
    free(narrow_out);
  }
  dzo_context_destroy(g.context);
}

static void a_lost_gpu_sorts_nothing(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  enum { N = 100 };
  uint64_t bytes = dzo_gpu_sort_bytes(g.unit, N);
  void *scratch = device(&g, bytes, 1), *a = device(&g, N, 8), *b = device(&g, N, 8);
  uint64_t *sorted;
  (void)dzo_unit_lose(g.unit, "test");
  assert_int_equal(dzo_gpu_sort_u64_u64(g.unit, 0, scratch, bytes, a, b, a, b, N, 0, 64),
                   DZO_E_DEVICE);
  assert_int_equal(dzo_gpu_sort_u64(g.unit, 0, scratch, bytes, a, b, N, 0, 64, &sorted),
                   DZO_E_DEVICE);
  assert_int_equal(dzo_gpu_exclusive_sum_u64(g.unit, 0, scratch, bytes, a, b, N), DZO_E_DEVICE);
  dzo_context_destroy(g.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorts_are_stable),
      cmocka_unit_test(sums_are_exclusive),
      cmocka_unit_test(a_lost_gpu_sorts_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
