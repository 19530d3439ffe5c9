/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What kernels counted, shown to the host without a copy: the shortest way there, since small
 * batches wait for it longer than for their work. */
#ifndef DZO_TABLE_GPU_COUNTERS_H
#define DZO_TABLE_GPU_COUNTERS_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On queue 0, `counters` to `seen`, which is staging memory; and `next` becomes 0. */
dzo_status table_gpu_show_counters(dzo_unit *unit, const table_counters *counters,
                                   table_counters *seen, table_counters *next);

#ifdef __cplusplus
}
#endif
#endif
