/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sequences of keys to fill tables with: any part of one can be made by itself, and all of it is
 * the same on every machine, since nothing but integers and the exactly rounded + - * / of doubles
 * goes into it. */
#ifndef DZO_TABLE_KEYS_H
#define DZO_TABLE_KEYS_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dzo_keys_distribution {
  DZO_KEYS_UNIQUE,  /* no key twice, in shuffled order */
  DZO_KEYS_UNIFORM, /* each key drawn evenly */
  DZO_KEYS_ZIPF     /* the r-th most frequent of `distinct` keys with a weight of r^-exponent */
} dzo_keys_distribution;

/* The largest exponent, and the most different keys that a Zipf distribution can have. */
#define DZO_KEYS_MOST_EXPONENT 16.0
#define DZO_KEYS_MOST_RANKS (UINT64_C(1) << 40)

typedef struct dzo_keys_options {
  dzo_keys_distribution distribution;
  uint64_t most;     /* keys are 0 .. most */
  uint64_t distinct; /* how many of these may occur, spread evenly; 0: all. ZIPF: at most
                      * MOST_RANKS, and not 0. Not for UNIQUE */
  double exponent;   /* of ZIPF: 0 .. MOST_EXPONENT */
  uint64_t seed;
} dzo_keys_options;

typedef struct dzo_keys dzo_keys;

/* DZO_E_ARGUMENT, DZO_E_MEMORY. */
dzo_status dzo_keys_create(dzo_context *context, const dzo_keys_options *options, dzo_keys **out);
void dzo_keys_destroy(dzo_keys *keys); /* NULL is fine */
/* Keys number begin .. end - 1; of a UNIQUE sequence there are `most` + 1. Any thread. */
void dzo_keys_fill_u32(const dzo_keys *keys, uint64_t begin, uint64_t end, uint32_t *to);
void dzo_keys_fill_u64(const dzo_keys *keys, uint64_t begin, uint64_t end, uint64_t *to);

#ifdef __cplusplus
}
#endif
#endif
