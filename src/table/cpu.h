/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the parts of the CPU's table know of each other. */
#ifndef DZO_TABLE_CPU_H
#define DZO_TABLE_CPU_H

#include "dzo/table.h"
#include "table/cpu_layout.h"

enum {
  TABLE_CPU_FAILURES = 16,           /* searches in vain before a region is taken for full */
  TABLE_CPU_NARROW_REGION = 1 << 12, /* buckets of a region, at most: 256 KB */
  TABLE_CPU_WIDE_REGION = 1 << 13,
  TABLE_CPU_PARTS = 1 << 11,   /* that a batch is cut into, at most */
  TABLE_CPU_PIECE = 1 << 22,   /* queries worked at a time, at most, in small tables */
  TABLE_CPU_PASS = 1 << 24,    /* in large ones, each of whose pieces goes once over the table */
  TABLE_CPU_DIRECT = 1 << 15,  /* up to so many queries, one thread does them as they come */
  TABLE_CPU_LOOKUPS = 1 << 24, /* look-ups at a time */
  TABLE_CPU_TAG_BITS = 28      /* of a tag: the position in the piece; above, the operation */
};

/* Queries for one thread alone, in the order in which they act, and what came of them. All their
 * regions are the thread's own. */
typedef struct table_cpu_task {
  table_cpu *table;
  table_cpu_store *store;
  dzo_table_operation operation;
  uint64_t count;       /* becomes how many are done */
  uint64_t quota;       /* of new pairs, after which it ends, a few later */
  const void *items;    /* pairs as in slots: uint64_t[count] or uint64_t[count][2] */
  const uint32_t *tags; /* [count]; NULL: positions ascend from 0, and the operation is one */
  uint8_t *answers;     /* by position; or NULL */
  void *results;        /* by position; or NULL */
  bool bounded;         /* new pairs in the overflow count against `room` */
  uint64_t *room;       /* of the whole piece; accessed atomically */
  uint64_t found, inserted, refused, erased;
  uint64_t untidy; /* 1 + a region with many TOMBs, or 0 */
  bool starved;    /* some were refused for want of memory */
} table_cpu_task;

/* Queries for keys, in any order. */
typedef struct table_cpu_search {
  const table_cpu *table;
  const void *keys;
  void *results;    /* or NULL */
  uint8_t *answers; /* or NULL */
} table_cpu_search;

/* Cutting a piece of a batch into parts by the hash, in order within each. */
typedef struct table_cpu_cut {
  const table_cpu_store *store;
  const void *keys, *values; /* of the piece; values may be NULL */
  const uint8_t *operations; /* or NULL */
  uint64_t value;            /* where values is NULL */
  uint32_t bits;             /* 2^bits parts */
  uint64_t chunk;            /* queries that one thread cuts at a time */
  uint32_t *starts;          /* [chunks][parts] */
  void *items;
  uint32_t *tags; /* or NULL */
} table_cpu_cut;

/* What a thread has cut and not yet written: a cache line for each part. */
typedef struct table_cpu_lines {
  uint64_t items[TABLE_CPU_PARTS][TABLE_CPU_WORDS];
  uint32_t tags[TABLE_CPU_PARTS][16];
  uint32_t firsts[TABLE_CPU_PARTS]; /* where the thread's share of each part begins */
} table_cpu_lines;

/* What depends on the width of words. */
typedef struct table_cpu_width {
  unsigned slots;    /* of a bucket */
  uint64_t reserved; /* keys from this one on stand aside */
  bool (*put)(table_cpu_store *s, uint64_t key, uint64_t value);
  /* Run a task. */
  void (*work)(table_cpu_task *task);
  /* Search begin .. end - 1; returns how many are there. */
  uint64_t (*search)(const table_cpu_search *search, uint64_t begin, uint64_t end);
  /* Write queries as items, and their tags. */
  void (*pack)(const table_cpu_cut *cut, uint64_t begin, uint64_t end);
  void (*count)(const table_cpu_cut *cut, uint64_t begin, uint64_t end, uint32_t *counts);
  void (*scatter)(const table_cpu_cut *cut, uint64_t begin, uint64_t end, uint32_t *starts,
                  table_cpu_lines *lines);
  /* Put the pairs of a bucket range of one store into another. False: no memory. */
  bool (*move)(const table_cpu_store *from, uint64_t begin, uint64_t end, table_cpu_store *to);
  /* The pairs of a bucket, in order; returns how many. */
  unsigned (*list)(const uint64_t *bucket, uint64_t *keys, uint64_t *values);
  unsigned (*tombs)(const uint64_t *bucket);
} table_cpu_width;
extern const table_cpu_width table_cpu_narrow, table_cpu_wide;

static inline const table_cpu_width *table_cpu_width_of(const table_cpu_store *s) {
  return s->wide ? &table_cpu_wide : &table_cpu_narrow;
}

/* ---- Overflow (cpu_overflow.c) --------------------------------------------------------------- */

/* Make `node`, dead until now, alive; and the other way round, which may free memory, so that no
 * node may be held over it. */
void table_cpu_overflow_revive(table_cpu_region *region, table_cpu_node *node, uint64_t value);
void table_cpu_overflow_erase(table_cpu_store *s, table_cpu_region *region, table_cpu_node *node);
/* Keep the living nodes only, elsewhere, if there is memory for that. */
void table_cpu_overflow_purge(table_cpu_store *s, table_cpu_region *region);
/* The nodes of a region by number, 0 .. region->nodes - 1. */
table_cpu_node *table_cpu_overflow_at(const table_cpu_region *region, uint64_t number);
void table_cpu_overflow_free(table_cpu_region *region);
uint64_t table_cpu_overflow_bytes(const table_cpu_region *region);

/* ---- Stores (cpu_store.c) -------------------------------------------------------------------- */

/* Make the table's store anew, for `capacity` pairs. DZO_E_MEMORY and DZO_E_CANCELLED leave the one
 * that is. */
dzo_status table_cpu_resize(table_cpu *t, uint64_t capacity);
/* Forget all pairs. */
void table_cpu_store_clear(table_cpu_store *s, int threads);
uint64_t table_cpu_store_bytes(const table_cpu_store *s);

/* ---- Batches (cpu_batch.c) ------------------------------------------------------------------- */

dzo_status table_cpu_run(void *state, dzo_table_batch *batch);
/* The same by the calling thread alone, which need not be the context's, and to the end. */
void table_cpu_run_alone(table_cpu *t, dzo_table_batch *batch);
/* For a table too small to be cut, but a batch large enough for many: each thread makes a table of
 * its share of the batch, and these go into `t` one after another. For operations that store; not
 * mixed, not fixed, without answers. False: no memory, and nothing is done. */
bool table_cpu_run_shares(table_cpu *t, dzo_table_batch *batch);

/* An engine's table with sizes of one's own, for tests. Destroyed as any other. */
typedef struct table_plan table_plan;
dzo_status table_cpu_create(const table_plan *plan, const table_cpu_sizes *sizes, table_cpu **out);

#endif
