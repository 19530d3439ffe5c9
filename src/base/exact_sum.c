/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/exact_sum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Limb i counts multiples of 2^(32 i - 1074). An addition changes a limb by less than 2^52 and
 * propagation leaves less than 2^33, so this many additions cannot overflow one. */
enum { ADDITIONS = 1024, LIMB_BITS = 32, MANTISSA_BITS = 52, LOWEST_EXPONENT = -1074 };

#define LIMB_MASK INT64_C(0xffffffff)
#define MANTISSA_MASK ((UINT64_C(1) << MANTISSA_BITS) - 1)

void dzo_exact_sum_init(dzo_exact_sum *sum) {
  memset(sum, 0, sizeof *sum);
  sum->additions_left = ADDITIONS;
}

/* Bring every limb but the last, which keeps the sign, into 0 .. 2^32 - 1. */
static void propagate(dzo_exact_sum *sum) {
  int64_t carry = 0;
  for (int i = 0; i < DZO_EXACT_CHUNKS - 1; i++) {
    int64_t limb = sum->chunks[i] + carry;
    int64_t low = limb & LIMB_MASK;
    carry = (limb - low) / (LIMB_MASK + 1);
    sum->chunks[i] = low;
  }
  sum->chunks[DZO_EXACT_CHUNKS - 1] += carry;
  sum->additions_left = ADDITIONS;
}

static void add_special(dzo_exact_sum *sum, bool nan, bool negative) {
  if (nan)
    sum->nans++;
  else if (negative)
    sum->negative_infinities++;
  else
    sum->positive_infinities++;
}

void dzo_exact_sum_add(dzo_exact_sum *sum, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint64_t mantissa = bits & MANTISSA_MASK;
  uint32_t exponent = (uint32_t)(bits >> MANTISSA_BITS) & 2047;
  bool negative = bits >> 63 != 0;
  if (exponent == 2047) {
    add_special(sum, mantissa != 0, negative);
    return;
  }
  if (exponent != 0)
    mantissa |= MANTISSA_MASK + 1;
  else
    exponent = 1;
  uint32_t shift = exponent - 1;
  int64_t *limb = &sum->chunks[shift / LIMB_BITS];
  shift %= LIMB_BITS;
  int64_t low = (int64_t)((mantissa << shift) & (uint64_t)LIMB_MASK);
  int64_t high = (int64_t)(mantissa >> (LIMB_BITS - shift));
  int64_t sign = negative ? -1 : 1;
  limb[0] += sign * low;
  limb[1] += sign * high;
  if (--sum->additions_left == 0)
    propagate(sum);
}

void dzo_exact_sum_merge(dzo_exact_sum *sum, const dzo_exact_sum *other) {
  propagate(sum);
  for (int i = 0; i < DZO_EXACT_CHUNKS; i++)
    sum->chunks[i] += other->chunks[i];
  propagate(sum);
  sum->positive_infinities += other->positive_infinities;
  sum->negative_infinities += other->negative_infinities;
  sum->nans += other->nans;
}

/* Bits `low` .. `low` + 52 of a magnitude whose limbs hold 32 bits each. */
static uint64_t bits_at(const dzo_exact_sum *sum, int low) {
  uint64_t bits = 0;
  for (int i = 0; i <= MANTISSA_BITS; i++) {
    int at = low + i;
    bits |= (uint64_t)(sum->chunks[at / LIMB_BITS] >> (at % LIMB_BITS) & 1) << i;
  }
  return bits;
}

static bool any_bit_below(const dzo_exact_sum *sum, int end) {
  for (int i = 0; i < end / LIMB_BITS; i++) {
    if (sum->chunks[i] != 0)
      return true;
  }
  int64_t mask = (INT64_C(1) << (end % LIMB_BITS)) - 1;
  return (sum->chunks[end / LIMB_BITS] & mask) != 0;
}

/* The highest bit set, -1 for zero. The last limb may exceed 32 bits; such sums are far beyond the
 * largest double. */
static int highest_bit(const dzo_exact_sum *sum) {
  for (int i = DZO_EXACT_CHUNKS - 1; i >= 0; i--) {
    if (sum->chunks[i] != 0)
      return LIMB_BITS * i + 63 - __builtin_clzll((unsigned long long)sum->chunks[i]);
  }
  return -1;
}

static double round_magnitude(const dzo_exact_sum *sum) {
  int top = highest_bit(sum);
  if (top + LOWEST_EXPONENT > 1023)
    return (double)INFINITY;
  if (top <= MANTISSA_BITS)
    return ldexp((double)bits_at(sum, 0), LOWEST_EXPONENT);
  int low = top - MANTISSA_BITS;
  uint64_t mantissa = bits_at(sum, low);
  bool half = (sum->chunks[(low - 1) / LIMB_BITS] >> ((low - 1) % LIMB_BITS) & 1) != 0;
  if (half && ((mantissa & 1) != 0 || any_bit_below(sum, low - 1)))
    mantissa++;
  return ldexp((double)mantissa, low + LOWEST_EXPONENT);
}

double dzo_exact_sum_round(const dzo_exact_sum *sum) {
  if (sum->nans != 0 || (sum->positive_infinities != 0 && sum->negative_infinities != 0))
    return (double)NAN;
  if (sum->positive_infinities != 0)
    return (double)INFINITY;
  if (sum->negative_infinities != 0)
    return (double)-INFINITY;
  dzo_exact_sum magnitude = *sum;
  propagate(&magnitude);
  if (magnitude.chunks[DZO_EXACT_CHUNKS - 1] >= 0)
    return round_magnitude(&magnitude);
  for (int i = 0; i < DZO_EXACT_CHUNKS; i++)
    magnitude.chunks[i] = -magnitude.chunks[i];
  propagate(&magnitude);
  return -round_magnitude(&magnitude);
}
