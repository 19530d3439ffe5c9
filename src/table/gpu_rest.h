/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What regions have no room for: the overflow, and the queries that regions put off, which are few
 * unless the table is fixed and full, or its keys were chosen against the hash. No time here
 * depends on what the hash makes of the keys. */
#ifndef DZO_TABLE_GPU_REST_H
#define DZO_TABLE_GPU_REST_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Add `count` pairs (slots in device memory, no key of which the table has) to the overflow, and
 * drop what was erased of it. DZO_E_MEMORY: nothing has changed. Uses the counters. */
dzo_status table_gpu_add_over(dzo_unit *unit, table_layout *t, bool wide, const void *slots,
                              uint64_t count, table_counters *counters);
/* Device memory that this takes. */
uint64_t table_gpu_add_over_bytes(dzo_unit *unit, const table_layout *t, bool wide, uint64_t count);
void table_gpu_free_over(dzo_unit *unit, table_layout *t);
uint64_t table_gpu_over_bytes(const table_layout *t, bool wide);

/* The queries that a run put off. */
typedef struct table_rest {
  int operation; /* of all of them, where there are no codes */
  uint64_t count;
  uint64_t room;         /* new keys that may be taken */
  void *fresh;           /* [count] slots: the new pairs, for the overflow */
  uint64_t *fresh_count; /* in device memory, at first 0 */
  uint64_t *granted;     /* the same */
} table_rest;

/* Does them, but for adding the new pairs. Takes and frees memory: DZO_E_MEMORY, nothing has been
 * done. Answers and counters go where those of the run do. */
dzo_status table_gpu_rest(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                          const table_batch_run *run, const table_rest *rest);
/* Or refuses them all; their results are 0. */
dzo_status table_gpu_refuse(dzo_unit *unit, const table_layout *t, bool wide,
                            const table_batch_run *run);

#ifdef __cplusplus
}
#endif
#endif
