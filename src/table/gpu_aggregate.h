/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Records of equal keys made one, on a GPU: sums, extremes, the first or the last. What comes out
 * has each key once, so that whoever puts it into a table needs to care for no duplicates. */
#ifndef DZO_TABLE_GPU_AGGREGATE_H
#define DZO_TABLE_GPU_AGGREGATE_H

#include "device/device.h"
#include "table/gpu_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum table_aggregate_kind {
  TABLE_AGGREGATE_ADD, /* modulo the width of a value */
  TABLE_AGGREGATE_MIN,
  TABLE_AGGREGATE_MAX,
  TABLE_AGGREGATE_FIRST, /* the value at the first position of the key */
  TABLE_AGGREGATE_LAST   /* at the last */
} table_aggregate_kind;

enum { TABLE_AGGREGATE_MOST = INT32_MAX /* records in one call */, TABLE_AGGREGATE_PARTS = 4096 };

/* What a sample of the records says. */
typedef struct table_aggregate_sample {
  uint32_t taken;                 /* records looked at; all of them where there are few */
  uint32_t distinct;              /* keys among those */
  uint32_t single, twice, thrice; /* of these, seen so often */
  uint32_t hot;                   /* keys that were taken to be frequent */
  uint32_t hot_taken;             /* records of the sample that have those */
} table_aggregate_sample;

/* All arrays are device memory; words are 8 bytes where `wide`, else 4. */
typedef struct table_aggregate {
  bool wide;
  table_aggregate_kind kind;
  uint64_t mix;        /* of table_mixed32() or table_mixed64() */
  uint64_t count;      /* at most TABLE_AGGREGATE_MOST */
  const void *keys;    /* [count] words */
  const void *values;  /* [count] words; NULL: all 1 for ADD, all 0 otherwise */
  void *workspace;     /* table_aggregate_bytes(), aligned to 256 */
  void *out_keys;      /* [count] words, of which those of the result are written: mixed keys */
  void *out_values;    /* [count] words */
  uint32_t *out_first; /* [count] each key's first position; NULL: not wanted */
  bool looked;         /* table_aggregate_look() was called for the same records and workspace */
  /* An empty table of 32-bit words that is to hold just that, up to `most` pairs; NULL: none. Not
   * for FIRST and LAST, nor with out_first. If it has room, nothing else is put out, but what goes
   * to its overflow: to `spill`, with room for TABLE_STASH slots a region. If not, it stays empty.
   */
  const table_layout *into;
  uint64_t most;
  uint32_t times; /* parts a region, in all TABLE_AGGREGATE_PARTS at most */
  void *spill;
  /* Set by the call. The order of the result is not determined; what it holds is. */
  uint64_t unique;  /* keys */
  bool filled;      /* they are in the table, */
  uint64_t spilled; /* but for these */
  table_aggregate_sample sample;
} table_aggregate;

/* Workspace for as many records; `first`: with first positions; `parts`: of all regions of the
 * table to be filled, or 0. */
uint64_t table_aggregate_bytes(const dzo_unit *unit, bool wide, bool first, uint64_t count,
                               uint64_t parts);

/* Look at a sample only, 64 Ki records at most: is it worth it? Sets `sample`; of the job needs
 * `wide`, `kind`, `mix`, `count`, `keys`, `into` and `workspace`. Waits for the queue. */
dzo_status table_aggregate_look(dzo_unit *unit, int queue, table_aggregate *job);

/* All of it. Waits for the queue. Takes memory of its own, and time, only for keys that were chosen
 * against the hash: then DZO_E_MEMORY may be the answer. */
dzo_status table_aggregate_run(dzo_unit *unit, int queue, table_aggregate *job);

#ifdef __cplusplus
}
#endif
#endif
