/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Exact parsing of numbers in text, several digits at a time (SWAR: eight characters in one 64-bit
 * word), independent of the locale. Decimals are correctly rounded: Clinger's fast path ("How to
 * read floating point numbers accurately", PLDI 1990) where mantissa and power of ten are exact
 * doubles, an exact 128-bit quotient or product for powers up to 27, the C library otherwise. */
#ifndef DZO_IO_NUMBER_H
#define DZO_IO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/item.h"

extern const uint64_t dzo_power_of_ten[20];

/* Of eight characters, how many decimal digits stand in front (0..8). */
DZO_ITEM unsigned dzo_leading_digits(uint64_t word) {
  uint64_t x = word ^ UINT64_C(0x3030303030303030);
  uint64_t other = (x | (x + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
  return other == 0 ? 8 : (unsigned)__builtin_ctzll(other) / 8;
}

/* The value of the first `count` (1..8) characters, which are digits. */
DZO_ITEM uint64_t dzo_digits_value(uint64_t word, unsigned count) {
  uint64_t x = (word ^ UINT64_C(0x3030303030303030)) << (64 - 8 * count);
  x = x * 10 + (x >> 8);
  return (((x & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064)) +
          (((x >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001))) >>
         32;
}

/* Append the run of digits at p to *value (which wraps if there are more than 19 in all) and return
 * its end. */
DZO_ITEM const char *dzo_parse_digits(const char *p, const char *end, uint64_t *value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  while (end - p >= 8) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    unsigned count = dzo_leading_digits(word);
    if (count == 0)
      return p;
    *value = *value * dzo_power_of_ten[count] + dzo_digits_value(word, count);
    p += count;
    if (count < 8)
      return p;
  }
#endif
  for (; p < end && (unsigned char)(*p - '0') < 10; p++)
    *value = *value * 10 + (uint64_t)(*p - '0');
  return p;
}

/* What a token turned out to be. */
typedef enum dzo_number_kind {
  DZO_NUMBER_BAD,      /* no number */
  DZO_NUMBER_INTEGER,  /* in `i64` */
  DZO_NUMBER_UNSIGNED, /* an integer over INT64_MAX, in `u64` */
  DZO_NUMBER_HUGE,     /* an integer outside both; rounded in `f64` */
  DZO_NUMBER_REAL,     /* a decimal or an infinity, in `f64` */
  DZO_NUMBER_NAN,
  DZO_NUMBER_RANGE /* a decimal beyond the largest double */
} dzo_number_kind;

typedef struct dzo_number {
  dzo_number_kind kind;
  int64_t i64;
  uint64_t u64;
  double f64; /* of every kind but BAD, NAN and RANGE: correctly rounded */
} dzo_number;

/* Parse a whole token: [+-] digits, decimals with '.', exponents, inf, infinity, nan in any case.
 */
dzo_number dzo_parse_number(const char *token, size_t length);

/* mantissa * 10^exponent, correctly rounded; false where this cheap way does not reach, for
 * exponents beyond +-27. */
bool dzo_round_decimal(uint64_t mantissa, int exponent, double *out);

/* Parse a decimal or integer at p, up to 19 digits and any exponent that dzo_round_decimal takes.
 * Returns its end, or NULL if it takes dzo_parse_number() to tell. *integer tells that there was
 * neither '.' nor exponent. */
DZO_ITEM const char *dzo_parse_double(const char *p, const char *end, double *out, bool *integer) {
  bool negative = p < end && *p == '-';
  p += negative || (p < end && *p == '+');
  uint64_t mantissa = 0;
  const char *start = p;
  p = dzo_parse_digits(p, end, &mantissa);
  int64_t digits = p - start, exponent = 0;
  *integer = true;
  if (p < end && *p == '.') {
    start = ++p;
    p = dzo_parse_digits(p, end, &mantissa);
    digits += p - start;
    exponent = start - p;
    *integer = false;
  }
  if (digits == 0 || digits > 19)
    return NULL;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p++;
    bool down = p < end && *p == '-';
    p += down || (p < end && *p == '+');
    uint64_t power = 0;
    start = p;
    p = dzo_parse_digits(p, end, &power);
    if (p == start || p - start > 4)
      return NULL;
    exponent += down ? -(int64_t)power : (int64_t)power;
    *integer = false;
  }
  double x;
  if (exponent < -400 || exponent > 400 || !dzo_round_decimal(mantissa, (int)exponent, &x))
    return NULL;
  *out = negative ? -x : x;
  return p;
}

#endif
