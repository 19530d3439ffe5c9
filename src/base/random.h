/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Two sources of random numbers, both reproducible everywhere.
 *
 * The linear congruential generator of POSIX drand48: x' = a x + c modulo 2^48. It can be jumped:
 * `count` steps are again of the form A x + C (F. B. Brown, "Random number generation with
 * arbitrary strides", 1994), so many threads can share one sequence.
 *
 * Counter-based words: word k of stream `seed` is output k of SplitMix64 (G. L. Steele, D. Lea,
 * C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) started at `seed`. */
#ifndef DZO_BASE_RANDOM_H
#define DZO_BASE_RANDOM_H

#include <string.h>

#include "base/item.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DZO_LCG48_MASK ((UINT64_C(1) << 48) - 1)

/* The state x becomes (multiplier * x + increment) modulo 2^48. */
typedef struct dzo_lcg48_jump {
  uint64_t multiplier, increment;
} dzo_lcg48_jump;

/* The jump over `count` draws. */
dzo_lcg48_jump dzo_lcg48_jump_of(uint64_t count);

/* The state that srand48(seed) sets. */
DZO_ITEM uint64_t dzo_lcg48_seed(uint32_t seed) { return (uint64_t)seed << 16 | 0x330e; }

DZO_ITEM uint64_t dzo_lcg48_apply(dzo_lcg48_jump jump, uint64_t state) {
  return (jump.multiplier * state + jump.increment) & DZO_LCG48_MASK;
}

/* The next state, which is also the next draw in units of 2^-48. */
DZO_ITEM uint64_t dzo_lcg48_next(uint64_t state) {
  return (state * UINT64_C(0x5deece66d) + 0xb) & DZO_LCG48_MASK;
}

/* What drand48() returns when it has stepped to `state`: state / 2^48, exactly. Written so that
 * every vector unit can do it. */
DZO_ITEM double dzo_lcg48_real(uint64_t state) {
  uint64_t bits = state << 4 | UINT64_C(0x3ff0000000000000);
  double one_to_two;
  memcpy(&one_to_two, &bits, sizeof one_to_two);
  return one_to_two - 1.0;
}

DZO_ITEM uint64_t dzo_random_word(uint64_t seed, uint64_t k) {
  uint64_t z = seed + (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

#ifdef __cplusplus
}
#endif
#endif
