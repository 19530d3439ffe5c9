/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Numbers as decimal text, fast and for every locale. Each function returns the end of what it put;
 * no terminator. */
#ifndef DZO_IO_NUMERAL_H
#define DZO_IO_NUMERAL_H

#include "dzo/graph.h"

enum { DZO_NUMERAL_MAX = 26 }; /* the widest: -d.dddddddddddddddde-ddd, or -0.0000 and 17 digits */

char *dzo_put_u64(char *to, uint64_t x);
char *dzo_put_i64(char *to, int64_t x);
/* The shortest of 15, 16 and 17 significant digits that reads back as the same double, without
 * zeros at its end: 3, -0.1, 1e+20, inf, -inf. */
char *dzo_put_f64(char *to, double x);
/* weights[i]; NONE gives 1. f32 weights are put as the double they are. */
char *dzo_put_weight(char *to, dzo_weight_type type, const void *weights, uint64_t i);

#endif
