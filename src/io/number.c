/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE
#include "io/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

__extension__ typedef unsigned __int128 u128;

enum { TOKEN_BYTES = 1024, EXACT_POWER = 27, DOUBLE_POWER = 22 };

const uint64_t dzo_power_of_ten[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

static const double DOUBLE_TEN[DOUBLE_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* All below 2^63. */
static const uint64_t POWER_OF_FIVE[EXACT_POWER + 1] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
    UINT64_C(476837158203125),
    UINT64_C(2384185791015625),
    UINT64_C(11920928955078125),
    UINT64_C(59604644775390625),
    UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625),
    UINT64_C(7450580596923828125),
};

/* bits * 2^exponent for 63 or 64 bits of which the lowest is sticky: it stands for all that was cut
 * off below. The result is a normal double here, so it is rounded once, in the conversion. */
static double round_bits(uint64_t bits, int exponent) {
  uint64_t scale = (uint64_t)(1023 + exponent) << 52;
  double power;
  memcpy(&power, &scale, sizeof power);
  return (double)bits * power;
}

bool dzo_round_decimal(uint64_t mantissa, int exponent, double *out) {
  if (mantissa <= UINT64_C(1) << 53 && exponent >= -DOUBLE_POWER && exponent <= DOUBLE_POWER) {
    double x = (double)mantissa;
    *out = exponent < 0 ? x / DOUBLE_TEN[-exponent] : x * DOUBLE_TEN[exponent];
    return true;
  }
  if (mantissa == 0) {
    *out = 0;
    return true;
  }
  if (exponent < -EXACT_POWER || exponent > EXACT_POWER)
    return false;
  int shift = __builtin_clzll(mantissa);
  uint64_t top = mantissa << shift;
  if (exponent >= 0) { /* top * 5^e is exact in 128 bits */
    u128 product = (u128)top * POWER_OF_FIVE[exponent];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (high == 0) {
      *out = round_bits(low, exponent - shift);
      return true;
    }
    int up = __builtin_clzll(high);
    product <<= up;
    *out = round_bits((uint64_t)(product >> 64) | ((uint64_t)product != 0),
                      64 - up + exponent - shift);
    return true;
  }
  uint64_t five = POWER_OF_FIVE[-exponent];
  int up = __builtin_clzll(five);
  uint64_t divisor = five << up; /* top / divisor is in (1/2, 2) */
  u128 dividend = (u128)top << 63;
  uint64_t quotient = (uint64_t)(dividend / divisor);
  bool rest = (uint64_t)dividend - quotient * divisor != 0;
  *out = round_bits(quotient | rest, up - 63 - shift + exponent);
  return true;
}

static double library_double(const char *token, size_t length) {
  char text[TOKEN_BYTES];
  memcpy(text, token, length);
  text[length] = '\0';
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0)
    return (double)NAN;
  double x = strtod_l(text, NULL, plain);
  freelocale(plain);
  return x;
}

static bool is_word(const char *token, size_t length, const char *word) {
  if (length != strlen(word))
    return false;
  for (size_t i = 0; i < length; i++)
    if ((token[i] | 0x20) != word[i])
      return false;
  return true;
}

static size_t run_of_digits(const char *p, const char *end) {
  const char *start = p;
  while (p < end && (unsigned char)(*p - '0') < 10)
    p++;
  return (size_t)(p - start);
}

/* Does [p, end), past its sign, read as a decimal? *integer: neither '.' nor exponent. */
static bool is_decimal(const char *p, const char *end, bool *integer) {
  size_t whole = run_of_digits(p, end), fraction = 0;
  p += whole;
  *integer = true;
  if (p < end && *p == '.') {
    *integer = false;
    fraction = run_of_digits(++p, end);
    p += fraction;
  }
  if (whole + fraction == 0)
    return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    *integer = false;
    p++;
    p += p < end && (*p == '-' || *p == '+');
    size_t digits = run_of_digits(p, end);
    if (digits == 0)
      return false;
    p += digits;
  }
  return p == end;
}

/* [p, end) are the digits of `token`. */
static dzo_number integer_number(const char *token, const char *p, const char *end) {
  bool negative = *token == '-';
  uint64_t value = 0;
  bool over = false;
  for (; p < end; p++)
    over = over || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
           __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
  dzo_number number = {.kind = DZO_NUMBER_HUGE};
  uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
  if (!over && value <= limit) {
    number.kind = DZO_NUMBER_INTEGER;
    number.i64 = negative ? (int64_t)(0 - value) : (int64_t)value;
    number.f64 = (double)number.i64;
  } else if (!over && !negative) {
    number.kind = DZO_NUMBER_UNSIGNED;
    number.u64 = value;
    number.f64 = (double)value;
  } else {
    number.f64 = library_double(token, (size_t)(end - token));
  }
  return number;
}

dzo_number dzo_parse_number(const char *token, size_t length) {
  dzo_number number = {.kind = DZO_NUMBER_BAD};
  const char *end = token + length, *p = token;
  bool negative = length > 0 && *token == '-', integer;
  p += negative || (length > 0 && *token == '+');
  size_t rest = (size_t)(end - p);
  if (is_word(p, rest, "nan")) {
    number.kind = DZO_NUMBER_NAN;
    return number;
  }
  if (is_word(p, rest, "inf") || is_word(p, rest, "infinity")) {
    number.kind = DZO_NUMBER_REAL;
    number.f64 = negative ? -(double)INFINITY : (double)INFINITY;
    return number;
  }
  if (length >= TOKEN_BYTES || !is_decimal(p, end, &integer))
    return number;
  if (integer)
    return integer_number(token, p, end);
  double x = library_double(token, length);
  number.f64 = x;
  number.kind = isnan(x) ? DZO_NUMBER_BAD : isinf(x) ? DZO_NUMBER_RANGE : DZO_NUMBER_REAL;
  return number;
}
