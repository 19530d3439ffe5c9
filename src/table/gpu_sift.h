/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Large mixed batches in GPU memory, mostly of finds: those that may act at once are answered where
 * they stand, and what is left becomes batches of its own.
 *
 * In any order, all finds come first, then all erases, then all stores. In order of position, the
 * keys that the batch changes are noted in a filter (B. H. Bloom, 1970, with both bits of a key in
 * one word); a find whose key is not in it may act at any time, and the others stay between the
 * changes. */
#ifndef DZO_TABLE_GPU_SIFT_H
#define DZO_TABLE_GPU_SIFT_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays are device memory. */
typedef struct table_sift {
  uint32_t count; /* of the batch; at most 2^31 */
  bool ordered;
  const void *keys;   /* [count] words */
  const void *values; /* [count] words; NULL: all 0 */
  const uint8_t *codes;
  void *results;    /* [count] words; NULL: not wanted */
  uint8_t *answers; /* [count]; NULL: not wanted */
  /* In the workspace, by table_sift_place(). */
  uint64_t *cursor; /* in any order: how many erases are left (the lower half), and stores */
  uint32_t *filter; /* by position: [filter_words] */
  uint32_t filter_words;
  uint32_t *rest;   /* a bit for each query that is left */
  uint32_t blocks;  /* queries are taken by blocks of threads */
  uint32_t *places; /* [blocks + 1] where each block's go in the rest; the last: how many */
  void *scratch;
  uint64_t scratch_bytes;
  /* The rest, by table_sift_place_rest(): by position as it was in the batch; in any order erases
   * from the front, and stores from `stores_at` on. */
  uint32_t stores_at;
  uint32_t *from; /* position in the batch */
  void *rest_keys, *rest_values, *rest_results;
  uint8_t *rest_codes, *rest_answers;
} table_sift;

/* Bytes, and the arrays in them. With `memory` NULL they only tell. */
uint64_t table_sift_place(dzo_unit *unit, table_sift *s, void *memory);
uint64_t table_sift_place_rest(table_sift *s, bool wide, uint64_t count, void *memory);

/* Both answer finds and add to counters->found; the answers of the rest become what they are likely
 * to be. In any order, the rest must have its place, and is gathered. By position, rest[] and
 * places[] are filled, and it is gathered by the third. */
dzo_status table_sift_any(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                          table_counters *counters);
dzo_status table_sift_ordered(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                              table_counters *counters);
dzo_status table_sift_gather(dzo_unit *unit, bool wide, const table_sift *s);
/* Answers of queries first .. first + count - 1 of the rest, where they are others than those, and
 * results of finds to where they belong. */
dzo_status table_sift_deliver(dzo_unit *unit, bool wide, const table_sift *s, uint64_t first,
                              uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
