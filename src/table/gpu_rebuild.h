/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table as a whole: into another of any size, out of the GPU's form, and counted. */
#ifndef DZO_TABLE_GPU_REBUILD_H
#define DZO_TABLE_GPU_REBUILD_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes all slots of `to`, whose bucket_slots are those of `from`. Pairs for which there is no
 * room are counted in counters->spilled and, if that is at most `room`, all are in `spill`
 * (slots). `plenty`: half of the slots or more will be free. */
dzo_status table_gpu_rebuild(dzo_unit *unit, const table_layout *from, const table_layout *to,
                             bool wide, bool plenty, void *spill, uint64_t room,
                             table_counters *counters);

/* Places where pairs may be: slots, the one behind them, the overflow. */
static inline uint64_t table_gpu_places(const table_layout *t) {
  return t->regions * t->buckets * t->bucket_slots + 1 + t->over_count;
}
/* The pairs of `count` places from `first` on, unmixed, to words keys[] and values[]; either may be
 * NULL. Counts in counters->found. */
dzo_status table_gpu_export(dzo_unit *unit, const table_layout *t, bool wide, uint64_t first,
                            uint64_t count, void *keys, void *values, table_counters *counters);

/* Pairs in their first and in their second bucket, and free slots that are not EMPTY. */
typedef struct table_census {
  uint64_t first, second, erased;
} table_census;
dzo_status table_gpu_census(dzo_unit *unit, const table_layout *t, bool wide,
                            table_census *census /* in device memory, at first 0 */);

#ifdef __cplusplus
}
#endif
#endif
