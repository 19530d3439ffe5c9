/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the machine reads from memory, in bytes a second, with this many threads: the best of some
 * passes over an array that no cache holds, as STREAM does it (J. D. McCalpin, 1995). */
#ifndef DZO_BENCH_READ_BANDWIDTH_H
#define DZO_BENCH_READ_BANDWIDTH_H

#include "dzo/context.h"

dzo_status read_bandwidth(dzo_context *context, double *bytes_per_second);

#endif
