/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Look-ups straight in GPU memory, one thread a key. */
#ifndef DZO_TABLE_GPU_FIND_H
#define DZO_TABLE_GPU_FIND_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* keys [count]: words, or mixed keys if `mixed`. values (words) and answers [count]; either may be
 * NULL. Adds to counters->found. */
dzo_status table_gpu_find(dzo_unit *unit, const table_layout *t, bool wide, uint64_t count,
                          const void *keys, bool mixed, void *values, uint8_t *answers,
                          table_counters *counters);

/* The same for erasing, of tables with 32-bit words and without overflow: of equal keys, some one
 * is answered FOUND. Adds to counters->found and ->erased. */
dzo_status table_gpu_erase(dzo_unit *unit, const table_layout *t, uint64_t count, const void *keys,
                           bool mixed, uint8_t *answers, table_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
