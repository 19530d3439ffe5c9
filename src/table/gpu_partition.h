/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Bringing a batch to the parts of a table where its keys belong, and answers back. */
#ifndef DZO_TABLE_GPU_PARTITION_H
#define DZO_TABLE_GPU_PARTITION_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TABLE_PASSES = 4, TABLE_MOST_ITEMS = 1 << 30 };

/* What brings answers back: where in a pass's tile, sorted, each item stood, and for each tile and
 * digit where its run begins in the tile, and what to add to a place there to find it. */
typedef struct table_way {
  uint16_t *places; /* NULL: there is no way back */
  uint16_t *start;
  uint32_t *base;
} table_way;

/* What is brought where. Items are mixed keys, with values if `pairs`. Items of one part end up in
 * the order in which they were. */
typedef struct table_partition {
  bool wide;      /* words of 64 bits */
  bool pairs;     /* values too */
  bool coded;     /* an operation too */
  bool any;       /* without values: items of one part may change places */
  bool back;      /* answers will be brought back */
  bool results;   /* with values */
  uint64_t mix;   /* of the table */
  uint64_t parts; /* 1 to 2^32 - 1 equal ranges of the mixed keys */
  uint64_t count; /* at most TABLE_MOST_ITEMS */
  /* In the workspace, by table_partition_place(). */
  int passes, shift[TABLE_PASSES], bits[TABLE_PASSES];
  uint64_t tiles, blocks, each;
  void *items[2];
  uint8_t *codes[2];
  void *values[2];     /* words; values[0]: what is found, in the order of the parts */
  uint8_t *answers[2]; /* the same for answers */
  table_way ways[TABLE_PASSES];
  uint32_t *offsets; /* [digits][blocks] of the last pass: where a block's items of a digit begin */
  void *scratch;
  uint64_t scratch_bytes;
  int at; /* which of items and codes holds the result */
} table_partition;

/* Bytes of workspace, and the arrays in it. With `workspace` NULL it only tells. */
uint64_t table_partition_place(dzo_unit *unit, table_partition *p, void *workspace);

/* keys [count]: words, or mixed keys if `mixed`; values: words, NULL: all `value`. */
dzo_status table_partition_run(dzo_unit *unit, table_partition *p, const void *keys, bool mixed,
                               const void *values, uint64_t value, const uint8_t *codes);

/* Bring values[0] (if wanted) and answers[0] back to the order of the batch. Either target may be
 * NULL. With codes, results of operations other than FIND stay as they are. */
dzo_status table_partition_back(dzo_unit *unit, table_partition *p, void *results, uint8_t *answers,
                                const uint8_t *codes);

#ifdef __cplusplus
}
#endif
#endif
