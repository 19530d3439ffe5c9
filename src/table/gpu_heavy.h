/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches in which many queries share their keys: these are made one query a key first, which
 * leaves the same table and, in the end, the same answers. */
#ifndef DZO_TABLE_GPU_HEAVY_H
#define DZO_TABLE_GPU_HEAVY_H

#include "device/device.h"
#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* answers[first[i]] = INSERTED for those of the `unique` answers that say so. */
dzo_status table_heavy_answers(dzo_unit *unit, const uint32_t *first, const uint8_t *unique_answers,
                               uint64_t unique, uint8_t *answers);
/* ABSENT becomes REFUSED, and is counted in counters->refused. */
dzo_status table_heavy_refuse(dzo_unit *unit, uint8_t *answers, uint64_t count,
                              table_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
