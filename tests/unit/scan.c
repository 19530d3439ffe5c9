/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Every vector loop of the solver against its plain twin. The source is included, since which loops
 * the library takes depends on the machine, and all that it can run are to be tried. Buffers end
 * where their contents do, so that AddressSanitizer sees a read too far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "msf/scan.c"
#include "random_graphs.h"

enum { ROUNDS = 20000, MOST = 200, LABELS = 300 };

/* What this machine can run, beside the plain loops. */
static int scans_here(msf_scan scans[2]) {
  int count = 0;
  scans[count++] = msf_scan_best();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    scans[count] = msf_scan_plain();
    scans[count].row32 = row32_avx2;
    scans[count++].at_most32 = at_most32_avx2;
  }
#endif
  return count;
}

static void *exactly(uint64_t count, size_t size) {
  void *p = malloc((size_t)count * size);
  assert_non_null(p);
  return p;
}

/* Few values, often the extremes: ties and borders are what goes wrong. */
static uint64_t random_key(random_source *r, uint64_t style, uint64_t mask) {
  const uint64_t extremes[] = {0, 1, mask, mask - 1, mask / 2, mask / 2 + 1};
  if (style == 0)
    return random_bits(r) & mask;
  return style == 1 ? random_below(r, 5) : extremes[random_below(r, 6)];
}

static void check_keys32(const msf_scan *scan, random_source *r) {
  msf_scan plain = msf_scan_plain();
  uint64_t count = 1 + random_below(r, MOST), style = random_below(r, 3);
  unsigned few = (unsigned)(count < 64 ? count : 64);
  uint32_t *keys = exactly(count, sizeof *keys), flip = random_below(r, 2) ? UINT32_MAX : 0;
  for (uint64_t i = 0; i < count; i++)
    keys[i] = (uint32_t)random_key(r, style, UINT32_MAX);
  uint32_t last = random_below(r, 4) ? keys[random_below(r, count)] ^ flip
                                     : (uint32_t)random_key(r, 2, UINT32_MAX);
  msf_first32 a = plain.row32(keys, count, flip), b = scan->row32(keys, count, flip);
  assert_int_equal(a.first, b.first);
  assert_int_equal(a.min, b.min);
  assert_int_equal(plain.at_most32(keys, few, flip, last), scan->at_most32(keys, few, flip, last));
  free(keys);
}

static void check_keys64(const msf_scan *scan, random_source *r) {
  msf_scan plain = msf_scan_plain();
  uint64_t count = 1 + random_below(r, MOST), style = random_below(r, 3);
  unsigned few = (unsigned)(count < 64 ? count : 64);
  uint64_t *keys = exactly(count, sizeof *keys), flip = random_below(r, 2) ? UINT64_MAX : 0;
  for (uint64_t i = 0; i < count; i++)
    keys[i] = random_key(r, style, UINT64_MAX);
  uint64_t last =
      random_below(r, 4) ? keys[random_below(r, count)] ^ flip : random_key(r, 2, UINT64_MAX);
  msf_first64 a = plain.row64(keys, count, flip), b = scan->row64(keys, count, flip);
  assert_int_equal(a.first, b.first);
  assert_int_equal(a.min, b.min);
  assert_int_equal(plain.at_most64(keys, few, flip, last), scan->at_most64(keys, few, flip, last));
  free(keys);
}

static void check_light(const msf_scan *scan, random_source *r) {
  msf_scan plain = msf_scan_plain();
  unsigned count = 1 + (unsigned)random_below(r, 64);
  uint64_t style = random_below(r, 3), far = random_below(r, 2) ? UINT32_MAX : 100;
  uint32_t *keys = exactly(count, sizeof *keys), *neighbours = exactly(count, sizeof *neighbours);
  for (unsigned i = 0; i < count; i++) {
    keys[i] = (uint32_t)random_key(r, style, UINT32_MAX);
    neighbours[i] = (uint32_t)random_below(r, far);
  }
  msf_row_part part = {keys, neighbours, count, (uint32_t)random_below(r, far),
                       (uint32_t)random_below(r, UINT32_MAX - 64)};
  uint32_t flip = random_below(r, 2) ? UINT32_MAX : 0;
  uint32_t last = keys[random_below(r, count)] ^ flip;
  msf_entry32 *a = exactly(count + DZO_MSF_LIGHT_SPARE, sizeof *a);
  msf_entry32 *b = exactly(count + DZO_MSF_LIGHT_SPARE, sizeof *b);
  unsigned expected = 0, found = 0;
  msf_first32 row = plain.light32(&part, flip, last, a, &expected);
  msf_first32 same = scan->light32(&part, flip, last, b, &found);
  assert_int_equal(found, expected);
  assert_int_equal(same.first, row.first);
  assert_int_equal(same.min, row.min);
  assert_memory_equal(a, b, expected * sizeof *a);
  free(a);
  free(b);
  free(neighbours);
  free(keys);
}

static void check_crossing(const msf_scan *scan, random_source *r) {
  msf_scan plain = msf_scan_plain();
  unsigned count = 1 + (unsigned)random_below(r, 64);
  uint32_t *neighbours = exactly(count, sizeof *neighbours);
  uint32_t *label = exactly(LABELS, sizeof *label);
  uint32_t labels = 1 + (uint32_t)random_below(r, 4), u = (uint32_t)random_below(r, LABELS);
  for (unsigned i = 0; i < LABELS; i++)
    label[i] = UINT32_MAX - (uint32_t)random_below(r, labels);
  for (unsigned i = 0; i < count; i++)
    neighbours[i] = (uint32_t)random_below(r, LABELS);
  assert_int_equal(plain.crossing(neighbours, count, label, u),
                   scan->crossing(neighbours, count, label, u));
  free(label);
  free(neighbours);
}

static void vector_loops_equal_their_plain_twins(void **state) {
  (void)state;
  msf_scan scans[2];
  int count = scans_here(scans);
  for (int i = 0; i < count; i++) {
    random_source random = {(uint64_t)i};
    for (int round = 0; round < ROUNDS; round++) {
      check_keys32(&scans[i], &random);
      check_keys64(&scans[i], &random);
      check_light(&scans[i], &random);
      check_crossing(&scans[i], &random);
    }
  }
}

static void plain_loops_do_as_told(void **state) {
  (void)state;
  msf_scan plain = msf_scan_plain();
  const uint32_t keys[] = {7, 3, 9, 3, 8}, neighbours[] = {4, 0, 2, 3, 1};
  const uint64_t wide[] = {UINT64_MAX, 5, 5};
  const uint32_t label[] = {1, 1, 6, 1, 6};
  assert_int_equal(plain.row32(keys, 5, 0).first, 1);
  assert_int_equal(plain.row32(keys, 5, UINT32_MAX).first, 2);
  assert_int_equal(plain.row32(keys, 5, UINT32_MAX).min, ~UINT32_C(9));
  assert_int_equal(plain.row64(wide, 3, 0).first, 1);
  assert_int_equal(plain.row64(wide, 3, UINT64_MAX).first, 0);
  assert_int_equal(plain.at_most32(keys, 5, 0, 7), 0x0b);
  assert_int_equal(plain.at_most64(wide, 3, 0, 5), 0x06);
  assert_int_equal(plain.crossing(neighbours, 5, label, 1), 0x05);
  msf_row_part part = {keys, neighbours, 5, 1, 70};
  msf_entry32 out[5 + DZO_MSF_LIGHT_SPARE];
  unsigned light = 10;
  msf_first32 row = plain.light32(&part, 0, 8, out, &light);
  assert_int_equal(row.first, 1);
  assert_int_equal(row.min, 3);
  assert_int_equal(light, 12);
  assert_int_equal(out[0].v, 4);
  assert_int_equal(out[0].ref, 70);
  assert_int_equal(out[1].v, 3);
  assert_int_equal(out[1].key, 3);
  assert_int_equal(out[1].ref, 73);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_loops_do_as_told),
      cmocka_unit_test(vector_loops_equal_their_plain_twins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
