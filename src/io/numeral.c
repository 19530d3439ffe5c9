/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/numeral.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum { MOST_DIGITS = 17, FEWEST_DIGITS = 15 };

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

char *dzo_put_u64(char *to, uint64_t x) {
  char digits[20], *begin = digits + sizeof digits;
  while (x >= 100) {
    begin -= 2;
    memcpy(begin, pairs + 2 * (x % 100), 2);
    x /= 100;
  }
  if (x >= 10) {
    begin -= 2;
    memcpy(begin, pairs + 2 * x, 2);
  } else {
    *--begin = (char)('0' + x);
  }
  size_t length = (size_t)(digits + sizeof digits - begin);
  memcpy(to, begin, length);
  return to + length;
}

char *dzo_put_i64(char *to, int64_t x) {
  if (x >= 0)
    return dzo_put_u64(to, (uint64_t)x);
  *to = '-';
  return dzo_put_u64(to + 1, 0 - (uint64_t)x);
}

/* 0.d1d2d3... * 10^point, d1 not 0. */
typedef struct decimal {
  uint64_t digits;
  int count; /* of digits */
  int point;
} decimal;

static const uint64_t powers[] = {1,
                                  10,
                                  100,
                                  1000,
                                  10000,
                                  100000,
                                  1000000,
                                  10000000,
                                  100000000,
                                  1000000000,
                                  10000000000,
                                  100000000000,
                                  1000000000000,
                                  10000000000000,
                                  100000000000000,
                                  1000000000000000,
                                  10000000000000000,
                                  100000000000000000};

static u128 power_of_ten(int k) {
  return k <= MOST_DIGITS ? powers[k] : (u128)powers[MOST_DIGITS] * powers[k - MOST_DIGITS];
}

/* Round mantissa * 10^k / 2^shift to an integer, ties to even; is it then within half a unit of
 * 1 / 2^shift, so that it reads back as the mantissa? Everything is exact in 128 bits. */
static bool round_scaled(uint64_t mantissa, int shift, int k, uint64_t *rounded) {
  u128 ten = power_of_ten(k), exact = mantissa * ten;
  u128 quotient = exact >> shift, rest = exact - (quotient << shift);
  u128 half = shift > 0 ? (u128)1 << (shift - 1) : 0;
  if (shift > 0 && (rest > half || (rest == half && (quotient & 1))))
    quotient++;
  *rounded = (uint64_t)quotient;
  u128 back = quotient << shift;
  bool below = back < exact;
  u128 error = below ? exact - back : back - exact;
  /* Below a power of two doubles lie twice as dense. */
  u128 allowed = below && mantissa == UINT64_C(1) << 52 ? ten : 2 * ten;
  return mantissa & 1 ? 4 * error < allowed : 4 * error <= allowed;
}

/* x = mantissa / 2^shift in [1e-5, 1e15), where mantissa * 10^k stays below 2^126. */
static decimal shorten_exactly(uint64_t mantissa, int shift, double x) {
  int point = -4; /* x < 10^point */
  static const double bounds[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4, 1e5,
                                  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds && x >= bounds[i]; i++)
    point++;
  decimal d = {0, FEWEST_DIGITS, point};
  while (!round_scaled(mantissa, shift, d.count - point, &d.digits) && d.count < MOST_DIGITS)
    d.count++;
  if (d.digits == powers[d.count]) { /* rounded up to the next power of ten */
    d.digits /= 10;
    d.point++;
  }
  return d;
}

/* Any x > 0 by the C library, whose decimal point may be any text. */
static decimal shorten_by_library(double x) {
  char text[64];
  decimal d = {0, 0, 0};
  int count = FEWEST_DIGITS;
  do {
    (void)snprintf(text, sizeof text, "%.*e", count - 1, x);
  } while (strtod(text, NULL) != x && ++count <= MOST_DIGITS);
  const char *at = text;
  for (; *at != 'e' && *at != '\0'; at++)
    if (*at >= '0' && *at <= '9') {
      d.digits = d.digits * 10 + (uint64_t)(*at - '0');
      d.count++;
    }
  d.point = 1 + (*at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0);
  return d;
}

static char *put_zeros(char *to, int count) {
  for (int i = 0; i < count; i++)
    *to++ = '0';
  return to;
}

static char *put_decimal(char *to, decimal d) {
  while (d.count > 1 && d.digits % 10 == 0) {
    d.digits /= 10;
    d.count--;
  }
  char digits[20];
  (void)dzo_put_u64(digits, d.digits);
  size_t count = (size_t)d.count;
  if (d.point > -5 && d.point <= 0) {
    to = put_zeros(to, 1);
    *to++ = '.';
    to = put_zeros(to, -d.point);
    memcpy(to, digits, count);
    return to + count;
  }
  if (d.point > 0 && d.point <= MOST_DIGITS) {
    size_t whole = (size_t)d.point;
    if (count <= whole) {
      memcpy(to, digits, count);
      return put_zeros(to + count, (int)(whole - count));
    }
    memcpy(to, digits, whole);
    to[whole] = '.';
    memcpy(to + whole + 1, digits + whole, count - whole);
    return to + count + 1;
  }
  *to++ = digits[0];
  if (count > 1) {
    *to++ = '.';
    memcpy(to, digits + 1, count - 1);
    to += count - 1;
  }
  *to++ = 'e';
  *to++ = d.point > 0 ? '+' : '-';
  return dzo_put_u64(to, (uint64_t)(d.point > 0 ? d.point - 1 : 1 - d.point));
}

static char *put_word(char *to, const char *word) {
  size_t length = strlen(word);
  memcpy(to, word, length);
  return to + length;
}

char *dzo_put_f64(char *to, double x) {
  if (isnan(x))
    return put_word(to, "nan");
  if (signbit(x)) {
    *to++ = '-';
    x = -x;
  }
  if (isinf(x))
    return put_word(to, "inf");
  if (x == 0)
    return put_zeros(to, 1);
  if (x < 1e-5 || x >= 1e15)
    return put_decimal(to, shorten_by_library(x));
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  int shift = 1075 - (int)(bits >> 52);
  return put_decimal(to, shorten_exactly(mantissa, shift, x));
}

char *dzo_put_weight(char *to, dzo_weight_type type, const void *weights, uint64_t i) {
  switch (type) {
  case DZO_WEIGHT_NONE:
    break;
  case DZO_WEIGHT_U32:
    return dzo_put_u64(to, ((const uint32_t *)weights)[i]);
  case DZO_WEIGHT_I64:
    return dzo_put_i64(to, ((const int64_t *)weights)[i]);
  case DZO_WEIGHT_U64:
    return dzo_put_u64(to, ((const uint64_t *)weights)[i]);
  case DZO_WEIGHT_F32:
    return dzo_put_f64(to, (double)((const float *)weights)[i]);
  case DZO_WEIGHT_F64:
    return dzo_put_f64(to, ((const double *)weights)[i]);
  }
  return dzo_put_u64(to, 1);
}
