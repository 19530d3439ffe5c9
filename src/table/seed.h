/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The published table for the GPU, after "A Simple GPU Hash Table" (nosferalatu, 2020), kept to be
 * measured against: linear probing in one power of two of slots, a thread a key, 32-bit keys and
 * values of which all-ones is reserved in both, and erased slots that are never free again.
 * Otherwise than there, a probe ends after a whole turn. */
#ifndef DZO_TABLE_SEED_H
#define DZO_TABLE_SEED_H

#include "device/device.h"
#include "dzo/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct table_seed {
  dzo_unit *unit;
  uint64_t *pairs; /* [slots] key | value << 32, device memory */
  uint64_t slots;  /* a power of two up to 2^31 */
} table_seed;

/* An empty table of at least that many slots. */
dzo_status table_seed_create(dzo_unit *unit, uint64_t slots, table_seed *out);
void table_seed_destroy(table_seed *seed);
dzo_status table_seed_clear(table_seed *seed);

/* FIND, which needs results and answers, INSERT (any of equal keys wins, the value is replaced) or
 * ERASE; arrays are device memory. Queued on queue 0; counts nothing. */
dzo_status table_seed_run(table_seed *seed, const dzo_table_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
