/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A parallel, stable radix sort of records of one or two words by some bits of one of them. */
#ifndef DZO_BASE_RADIX_H
#define DZO_BASE_RADIX_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sort the `count` records of `words` (1 or 2) words each at *records by the bits first .. last - 1
 * of word number `word`, ascending. *records, from dzo_alloc(), may become another block. Reports
 * progress as `phase`. */
dzo_status dzo_radix_sort(dzo_context *context, uint64_t **records, uint64_t count, unsigned words,
                          unsigned word, unsigned first, unsigned last, const char *phase);

#ifdef __cplusplus
}
#endif
#endif
