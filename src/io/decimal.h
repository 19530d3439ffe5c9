/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Decimal numbers in text, exactly: an integer times a power of ten. What they are scaled to are
 * 64-bit integers that all stand for so many decimal places. */
#ifndef DZO_IO_DECIMAL_H
#define DZO_IO_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dzo/knapsack.h"

enum {
  DZO_DECIMAL_PLACES = 60, /* no number has more */
  DZO_DECIMAL_TEXT = 112   /* room for dzo_put_decimal() and a terminator */
};

/* (negative ? -1 : 1) * magnitude * 10^-places; the magnitude does not end in 0. */
typedef struct dzo_decimal {
  bool negative;
  uint64_t magnitude;
  int places; /* may be negative: 1200 is 12 and -2 */
} dzo_decimal;

typedef enum dzo_decimal_kind {
  DZO_DECIMAL_GOOD,
  DZO_DECIMAL_BAD, /* no number */
  DZO_DECIMAL_HUGE /* more digits than 64 bits hold, or more than DZO_DECIMAL_PLACES places */
} dzo_decimal_kind;

/* Parse a whole token: [+-] digits, at most one '.', an exponent. */
dzo_decimal_kind dzo_parse_decimal(const char *token, size_t length, dzo_decimal *out);
/* The number times 10^places; false if that is no integer of 64 bits. */
bool dzo_decimal_scale(dzo_decimal decimal, int places, int64_t *out);
/* x * 10^-places without zeros at its end; returns the end of what it put, no terminator. */
char *dzo_put_decimal(char *to, dzo_int128 x, int places);

#endif
