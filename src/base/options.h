/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Structs of options, which begin with their size, may come from a caller that was compiled with an
 * older or a newer header. So such a struct only ever grows, at its end and not into padding, where
 * zero asks for what was done before; and then its dzo_..._init() gets another symbol, since the
 * old one may fill no more than the old size. */
#ifndef DZO_BASE_OPTIONS_H
#define DZO_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read `given` over the defaults in `full`, a struct of full_size bytes; NULL leaves the defaults.
 * false, with `full` as it was, if `given` has no size or asks for what is not known here: a longer
 * one may only hold zeros behind full_size. */
bool dzo_options_read(void *full, size_t full_size, const void *given);

#ifdef __cplusplus
}
#endif
#endif
