/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Kernels that use a table as a user's would, and note what they saw. */
#ifndef VIEW_KERNELS_H
#define VIEW_KERNELS_H

#include "device/device.h"
#include "dzo/table.h"
#include "linearizable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of some thousands of ranges of keys, what the answers add up to. */
typedef struct view_range {
  uint64_t pairs; /* stored minus erased, modulo 2^64 */
  uint64_t sum;   /* of their values, modulo 2^64 */
} view_range;

typedef struct view_load {
  uint64_t keys;   /* 1 .. keys, spread over the words */
  uint64_t offset; /* of the sequence of random choices */
  uint32_t each;   /* operations a thread */
  uint32_t ranges;
  uint32_t erase; /* of 256 operations, so many are ERASE, */
  uint32_t find;  /* so many FIND, the others in equal parts INSERT, ASSIGN and ADD */
} view_load;

typedef struct view_outcome {
  uint64_t refused;
  uint64_t wrong; /* answers that no table gives */
} view_outcome;

/* Threads * `each` random operations. ranges [load.ranges] and *outcome are added to. */
dzo_status view_run_load(dzo_unit *unit, bool wide, const dzo_table_view *view, view_load load,
                         unsigned blocks, unsigned threads, view_range *ranges,
                         view_outcome *outcome);

/* The same with histories: events [blocks * threads * each]; *clock is 0 at first. */
dzo_status view_run_history(dzo_unit *unit, bool wide, const dzo_table_view *view, view_load load,
                            unsigned blocks, unsigned threads, event *events, uint64_t *clock);

/* One operation on each key of a list, a thread each. */
dzo_status view_run_batch(dzo_unit *unit, bool wide, const dzo_table_view *view,
                          dzo_table_operation operation, uint64_t count, const void *keys,
                          const void *values, void *seen, uint8_t *answers);

/* Pairs {value, mixed key} as they lie in memory: subtracts them from their ranges, and counts in
 * times[key] how often each is there. */
dzo_status view_subtract(dzo_unit *unit, bool wide, const void *slots, uint64_t count, uint64_t mix,
                         view_load load, view_range *ranges, uint32_t *times,
                         view_outcome *outcome);

#ifdef __cplusplus
}
#endif
#endif
