/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_BASE_CLOCK_H
#define DZO_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds from some fixed moment; never goes back. */
double dzo_clock(void);

#ifdef __cplusplus
}
#endif
#endif
