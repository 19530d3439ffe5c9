/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/decimal.h"

#include <string.h>

#include "io/number.h"

__extension__ typedef unsigned __int128 u128;

enum { EXPONENT_MOST = 1000, DIGITS_128 = 40 };

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* Digits read so far; zeros are held back, since those at the end need no room. */
typedef struct digits {
  uint64_t magnitude;
  uint64_t zeros; /* held back */
  uint64_t count; /* behind the point */
  bool any, fits;
} digits;

static void take_digit(digits *d, unsigned digit) {
  d->any = true;
  if (digit == 0) {
    d->zeros += d->magnitude != 0;
    return;
  }
  for (; d->zeros > 0 && d->fits; d->zeros--)
    d->fits = !__builtin_mul_overflow(d->magnitude, UINT64_C(10), &d->magnitude);
  d->fits = d->fits && !__builtin_mul_overflow(d->magnitude, UINT64_C(10), &d->magnitude) &&
            !__builtin_add_overflow(d->magnitude, (uint64_t)digit, &d->magnitude);
}

/* [+-] digits; false if there are none. Clipped far beyond what is of use. */
static bool parse_exponent(const char *p, const char *end, int *out) {
  bool negative = p < end && *p == '-';
  int value = 0;
  if (p < end && (*p == '-' || *p == '+'))
    p++;
  if (p == end)
    return false;
  for (; p < end && is_digit(*p); p++)
    value = value < EXPONENT_MOST ? 10 * value + (*p - '0') : value;
  *out = negative ? -value : value;
  return p == end;
}

static dzo_decimal_kind finish(const digits *d, int exponent, dzo_decimal *out) {
  if (d->magnitude == 0 && d->fits) {
    *out = (dzo_decimal){false, 0, 0};
    return DZO_DECIMAL_GOOD;
  }
  if (!d->fits || d->count > EXPONENT_MOST || d->zeros > EXPONENT_MOST)
    return DZO_DECIMAL_HUGE;
  out->magnitude = d->magnitude;
  out->places = (int)d->count - (int)d->zeros - exponent;
  return out->places > DZO_DECIMAL_PLACES || out->places < -DZO_DECIMAL_PLACES ? DZO_DECIMAL_HUGE
                                                                               : DZO_DECIMAL_GOOD;
}

dzo_decimal_kind dzo_parse_decimal(const char *token, size_t length, dzo_decimal *out) {
  const char *p = token, *end = token + length;
  digits d = {.fits = true};
  int exponent = 0;
  *out = (dzo_decimal){.negative = p < end && *p == '-'};
  if (p < end && (*p == '-' || *p == '+'))
    p++;
  for (; p < end && is_digit(*p); p++)
    take_digit(&d, (unsigned)(*p - '0'));
  if (p < end && *p == '.')
    for (p++; p < end && is_digit(*p); p++, d.count++)
      take_digit(&d, (unsigned)(*p - '0'));
  if (d.any && p < end && (*p == 'e' || *p == 'E')) {
    if (!parse_exponent(p + 1, end, &exponent))
      return DZO_DECIMAL_BAD;
    p = end;
  }
  return d.any && p == end ? finish(&d, exponent, out) : DZO_DECIMAL_BAD;
}

bool dzo_decimal_scale(dzo_decimal decimal, int places, int64_t *out) {
  int power = places - decimal.places;
  uint64_t x = decimal.magnitude;
  *out = 0;
  if (x == 0)
    return true;
  if (power < 0 || power > 19 || __builtin_mul_overflow(x, dzo_power_of_ten[power], &x))
    return false;
  if (x > (uint64_t)INT64_MAX + (decimal.negative ? 1 : 0))
    return false;
  *out = (int64_t)(decimal.negative ? 0 - x : x);
  return true;
}

char *dzo_put_decimal(char *to, dzo_int128 x, int places) {
  char text[DIGITS_128 + DZO_DECIMAL_PLACES]; /* backwards */
  int count = 0, dropped = 0;
  u128 rest = (u128)(uint64_t)x.high << 64 | x.low;
  if (x.high < 0) {
    rest = 0 - rest;
    *to++ = '-';
  }
  for (; rest != 0 || count <= places; rest /= 10)
    text[count++] = (char)('0' + (int)(rest % 10));
  while (dropped < places && text[dropped] == '0')
    dropped++;
  while (count > places)
    *to++ = text[--count];
  if (dropped < places)
    *to++ = '.';
  while (count > dropped)
    *to++ = text[--count];
  return to;
}
