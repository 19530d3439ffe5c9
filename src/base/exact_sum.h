/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Exact sums. Integers in 128 bits; doubles in a superaccumulator (R. M. Neal, "Fast exact
 * summation using small and large superaccumulators", arXiv:1505.05571), so that the order of
 * additions does not matter and the result is rounded once. */
#ifndef DZO_BASE_EXACT_SUM_H
#define DZO_BASE_EXACT_SUM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DZO_EXACT_CHUNKS = 67 };

typedef struct dzo_exact_sum {
  int64_t chunks[DZO_EXACT_CHUNKS]; /* overlapping 64-bit limbs, 32 bits apart */
  uint32_t additions_left;          /* until carries must be propagated */
  uint64_t positive_infinities, negative_infinities, nans;
} dzo_exact_sum;

void dzo_exact_sum_init(dzo_exact_sum *sum);
void dzo_exact_sum_add(dzo_exact_sum *sum, double x);
void dzo_exact_sum_merge(dzo_exact_sum *sum, const dzo_exact_sum *other);
/* Rounded to nearest, ties to even; inf, -inf or NaN as IEEE 754 addition would give. */
double dzo_exact_sum_round(const dzo_exact_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
