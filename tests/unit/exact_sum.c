/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The oracle is a plain two's complement integer in units of 2^-1076, and the definition of
 * rounding itself: the result lies no farther from the exact sum than half way to either
 * neighbour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "base/exact_sum.h"

enum { WORDS = 36, UNIT = 1076 };

typedef struct big {
  uint64_t word[WORDS];
} big;

static big big_of(double x) {
  big b = {{0}};
  int exponent;
  double fraction = frexp(fabs(x), &exponent);
  uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
  for (int i = 0; i < 53; i++) {
    int at = exponent - 53 + i + UNIT;
    if (mantissa >> i & 1)
      b.word[at / 64] |= UINT64_C(1) << (at % 64);
  }
  return b;
}

static big big_add(big a, big b) {
  uint64_t carry = 0;
  for (int i = 0; i < WORDS; i++) {
    uint64_t sum = a.word[i] + carry;
    carry = sum < carry;
    sum += b.word[i];
    carry += sum < b.word[i];
    a.word[i] = sum;
  }
  return a;
}

static big big_negate(big a) {
  big one = {{1}};
  for (int i = 0; i < WORDS; i++)
    a.word[i] = ~a.word[i];
  return big_add(a, one);
}

static big big_signed(double x) { return signbit(x) ? big_negate(big_of(x)) : big_of(x); }

/* Half of what lies between finite x and its neighbour towards `to`, times two: x + neighbour; the
 * neighbour of the largest double counts as 2^1024. */
static big twice_middle(double x, double to) {
  double neighbour = nextafter(x, to);
  if (isinf(neighbour)) {
    big power = big_of(ldexp(1, 1023));
    power = big_add(power, power);
    return big_add(big_signed(x), neighbour > 0 ? power : big_negate(power));
  }
  return big_add(big_signed(x), big_signed(neighbour));
}

static int big_compare(big a, big b) {
  big difference = big_add(a, big_negate(b));
  if (difference.word[WORDS - 1] >> 63)
    return -1;
  for (int i = 0; i < WORDS; i++) {
    if (difference.word[i] != 0)
      return 1;
  }
  return 0;
}

static void assert_rounds(big exact, double rounded) {
  assert_true(rounded == rounded);
  big twice = big_add(exact, exact);
  if (isinf(rounded)) {
    double largest = copysign(DBL_MAX, rounded);
    int side = big_compare(twice, twice_middle(largest, rounded));
    assert_true(rounded > 0 ? side >= 0 : side <= 0);
    return;
  }
  uint64_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  int above = big_compare(twice, twice_middle(rounded, INFINITY));
  int below = big_compare(twice, twice_middle(rounded, -INFINITY));
  int even = (bits & 1) == 0;
  assert_true(above < 0 || (above == 0 && even));
  assert_true(below > 0 || (below == 0 && even));
}

static double sum_of(const double *x, int count) {
  dzo_exact_sum sum;
  dzo_exact_sum_init(&sum);
  for (int i = 0; i < count; i++)
    dzo_exact_sum_add(&sum, x[i]);
  return dzo_exact_sum_round(&sum);
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* A finite double whose exponent lies in a window. */
static double random_double(uint64_t *state, unsigned first_exponent, unsigned exponents) {
  uint64_t r = next_random(state);
  uint64_t exponent = first_exponent + (uint64_t)(next_random(state) % exponents);
  uint64_t bits = (r & UINT64_C(0x800fffffffffffff)) | exponent << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void random_sums_round_once(void **unused) {
  (void)unused;
  const unsigned windows[][2] = {{0, 2047}, {0, 3},    {0, 70},   {1000, 60},
                                 {1023, 1}, {2040, 7}, {2046, 1}, {900, 200}};
  uint64_t state = 88172645463325252u;
  for (int round = 0; round < 1600; round++) {
    const unsigned *window = windows[round % 8];
    double x[48];
    int count = 1 + (int)(next_random(&state) % 48);
    for (int i = 0; i < count; i++) {
      x[i] = random_double(&state, window[0], window[1]);
      if (i > 0 && next_random(&state) % 3 == 0)
        x[i] = -x[next_random(&state) % (uint64_t)i];
    }
    big exact = {{0}};
    for (int i = 0; i < count; i++)
      exact = big_add(exact, big_signed(x[i]));
    assert_rounds(exact, sum_of(x, count));
  }
}

/* Sums that end on a tie or next to one. */
static void ties_go_to_even(void **unused) {
  (void)unused;
  double half = ldexp(1, -53);
  double tiny = ldexp(1, -1074);
  const double cases[][4] = {
      {1, half, 0, 1},
      {1, half, tiny, 1 + 2 * half},
      {1, half, -tiny, 1},
      {1 + 2 * half, half, 0, 1 + 4 * half},
      {-1, -half, -tiny, -1 - 2 * half},
      {2 - 2 * half, half, 0, 2},
      {DBL_MAX, ldexp(1, 970), 0, INFINITY},
      {DBL_MAX, ldexp(1, 970), -tiny, DBL_MAX},
      {DBL_MAX, DBL_MAX, -DBL_MAX, DBL_MAX},
      {-DBL_MAX, -DBL_MAX, 0, -INFINITY},
      {DBL_MIN, -tiny, 0, DBL_MIN - tiny},
      {tiny, tiny, -tiny, tiny},
      {1e308, -1e308, tiny, tiny},
      {0.0, -0.0, 0.0, 0.0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_true(sum_of(cases[i], 3) == cases[i][3]);
}

static void infinities_and_nan_add_as_ieee(void **unused) {
  (void)unused;
  const double up[] = {1, INFINITY, -DBL_MAX};
  const double down[] = {-INFINITY, DBL_MAX, DBL_MAX};
  const double both[] = {INFINITY, 1, -INFINITY};
  const double nan[] = {INFINITY, NAN, 1};
  assert_true(sum_of(up, 3) == (double)INFINITY);
  assert_true(sum_of(down, 3) == (double)-INFINITY);
  assert_true(isnan(sum_of(both, 3)) != 0);
  assert_true(isnan(sum_of(nan, 3)) != 0);
  assert_true(sum_of(up, 0) == 0);
}

/* More additions than carries may wait for, of the largest terms a limb can get. */
static void long_sums_do_not_overflow(void **unused) {
  (void)unused;
  dzo_exact_sum sum;
  dzo_exact_sum_init(&sum);
  double term = ldexp((double)((UINT64_C(1) << 53) - 1), 31 - 53);
  for (int i = 0; i < 3000000; i++)
    dzo_exact_sum_add(&sum, i % 3 == 2 ? -term : term);
  assert_true(dzo_exact_sum_round(&sum) == 1000000 * term);
  dzo_exact_sum_init(&sum);
  for (int i = 0; i < 100000; i++)
    dzo_exact_sum_add(&sum, DBL_MAX);
  assert_true(isinf(dzo_exact_sum_round(&sum)) != 0);
  for (int i = 0; i < 99999; i++)
    dzo_exact_sum_add(&sum, -DBL_MAX);
  assert_true(dzo_exact_sum_round(&sum) == DBL_MAX);
}

static void order_and_merging_do_not_matter(void **unused) {
  (void)unused;
  enum { COUNT = 5000, PARTS = 7 };
  static double x[COUNT];
  uint64_t state = 42;
  for (int i = 0; i < COUNT; i++)
    x[i] = random_double(&state, 700, 600);
  double forward = sum_of(x, COUNT);
  dzo_exact_sum backward, parts[PARTS];
  dzo_exact_sum_init(&backward);
  for (int i = 0; i < PARTS; i++)
    dzo_exact_sum_init(&parts[i]);
  for (int i = COUNT - 1; i >= 0; i--) {
    dzo_exact_sum_add(&backward, x[i]);
    dzo_exact_sum_add(&parts[i % PARTS], x[i]);
  }
  for (int i = 1; i < PARTS; i++)
    dzo_exact_sum_merge(&parts[0], &parts[i]);
  assert_true(dzo_exact_sum_round(&backward) == forward);
  assert_true(dzo_exact_sum_round(&parts[0]) == forward);
  double infinite = INFINITY;
  dzo_exact_sum_add(&parts[1], infinite);
  dzo_exact_sum_merge(&parts[0], &parts[1]);
  assert_true(dzo_exact_sum_round(&parts[0]) == infinite);
  dzo_exact_sum_add(&parts[2], (double)NAN);
  dzo_exact_sum_merge(&parts[0], &parts[2]);
  assert_true(isnan(dzo_exact_sum_round(&parts[0])) != 0);
}

/* Sums whose limbs are as full as they get. */
static void full_sums_merge(void **unused) {
  (void)unused;
  double term = ldexp((double)((UINT64_C(1) << 53) - 1), 31 - 53);
  dzo_exact_sum total, part;
  dzo_exact_sum_init(&total);
  for (int k = 0; k < 5; k++) {
    dzo_exact_sum_init(&part);
    for (int i = 0; i < 1023; i++)
      dzo_exact_sum_add(&part, term);
    dzo_exact_sum_merge(&total, &part);
    for (int i = 0; i < 1023; i++)
      dzo_exact_sum_add(&total, term);
  }
  assert_true(dzo_exact_sum_round(&total) == 10230 * term);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_sums_round_once),
      cmocka_unit_test(ties_go_to_even),
      cmocka_unit_test(infinities_and_nan_add_as_ieee),
      cmocka_unit_test(long_sums_do_not_overflow),
      cmocka_unit_test(order_and_merging_do_not_matter),
      cmocka_unit_test(full_sums_merge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
