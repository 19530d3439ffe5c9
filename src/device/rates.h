/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a GPU does at best, as measured: the floors that benchmarks tell beside their times. */
#ifndef DZO_DEVICE_RATES_H
#define DZO_DEVICE_RATES_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes a second that it reads in order, from `bytes` of its memory. */
dzo_status dzo_gpu_read_rate(dzo_unit *unit, uint64_t bytes, double *rate);
/* Reads a second of 32-bit words anywhere in `bytes` of its memory. */
dzo_status dzo_gpu_random_rate(dzo_unit *unit, uint64_t bytes, double *rate);
/* Bytes a second that arrive from staging memory. */
dzo_status dzo_gpu_bus_rate(dzo_unit *unit, uint64_t bytes, double *rate);

#ifdef __cplusplus
}
#endif
#endif
