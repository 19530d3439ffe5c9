/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Changes straight in the slots, one thread a query, for batches that are small beside the table:
 * no region is loaded for the sake of few queries.
 *
 * A key that is nowhere is claimed by a compare-and-swap of the first free slot in an order that
 * depends on the key alone, so that queries of one key meet. What else there is to do is noted and
 * done afterwards, where there is any: queries that met their key, so that duplicates resolve by
 * position (in a set of the noted keys, with the first and the last position of each), and keys
 * that found both their buckets full, for which pairs are moved under locks of buckets. */
#ifndef DZO_TABLE_GPU_DIRECT_H
#define DZO_TABLE_GPU_DIRECT_H

#include "table/gpu_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The keys that were noted, an open table: of each the first position, the last (its complement),
 * the query that claimed a slot (of those left of a mixed batch, the place in the spill), and what
 * an aggregate of it is. All ones: none. */
typedef struct table_direct_set {
  void *keys;        /* [room + 1] mixed keys, of 32 bits above the first position; the last is that
                        of all ones */
  uint32_t *first;   /* [room + 1], of 64 bits */
  uint32_t *last;    /* [room + 1] */
  uint32_t *claimer; /* [room + 1] */
  void *sums;        /* [room + 1] words */
  uint32_t room;
  uint32_t salt; /* of this batch, so that keys cannot be chosen to crowd */
} table_direct_set;

/* All arrays are device memory. */
typedef struct table_direct {
  int operation;
  uint32_t count;
  const void *items;  /* not NULL: [count] pairs of mixed key and value, and not what follows */
  const void *keys;   /* [count] words, or mixed keys if `mixed` */
  const void *values; /* [count] words; NULL: all `value` */
  uint64_t value;
  bool mixed, ordered;
  bool at_once;         /* keys that found no slot were brought in without asking the host */
  const uint8_t *codes; /* [count] of a mixed batch */
  bool all_store;       /* it has no finds or erases */
  void *results;        /* [count] words, of its finds; NULL: not wanted */
  uint8_t *answers;     /* NULL: not wanted */
  table_counters *counters;
  /* In the workspace, by table_direct_place(). */
  uint32_t *noted;  /* [count] queries that met their key, from the front, */
                    /* and those that found no slot, from the back */
  uint32_t *claims; /* a bit for each query that claimed a slot */
  uint64_t *where;  /* ERASE: [count] the places that were found; nothing else is used then */
  uint32_t *filter; /* bits for the keys that were claimed */
  uint32_t filter_words;
  table_direct_set set;
  uint32_t *locks; /* a bit for each bucket */
  void *spill;     /* [count] slots */
} table_direct;

/* Bytes of workspace, and the arrays in it but for those of the set, whose size is not known yet.
 * With `workspace` NULL it only tells. */
uint64_t table_direct_place(const table_layout *t, bool wide, table_direct *d, void *workspace);

/* INSERT, ASSIGN, ADD, MIN or MAX, as far as it goes without the others: counts found, inserted,
 * met and left. */
dzo_status table_direct_store(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d);
/* MIXED, of 32-bit words, in any order, of a table without overflow: the same, and counts erased.
 */
dzo_status table_direct_mixed(dzo_unit *unit, const table_layout *t, const table_direct *d);
/* Of the queries that met their key, those that matter. With the counters as they are now. */
dzo_status table_direct_settle(dzo_unit *unit, const table_layout *t, bool wide, table_direct *d,
                               const table_counters *seen);
/* Keys that found no slot, of `most` queries at most: counts inserted, found, and spilled: pairs in
 * `spill` that have to go to the overflow. Unless `met_too`, nothing is done where some query has
 * met its key: those have to be settled first. */
dzo_status table_direct_bring_in(dzo_unit *unit, const table_layout *t, bool wide,
                                 const table_direct *d, uint64_t most, bool met_too);

/* Or the answers of those `left` become REFUSED. */
dzo_status table_direct_refuse(dzo_unit *unit, const table_direct *d, uint64_t left);

/* ERASE: of the queries of a key, the first finds it. Counts found and erased. */
dzo_status table_direct_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_direct *d);

#ifdef __cplusplus
}
#endif
#endif
