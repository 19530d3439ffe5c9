/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Hash tables of integer keys and values.
 *
 * Keys and values are unsigned integers of 32 or 64 bits, all of them legal: nothing is reserved.
 * Work comes in batches: arrays of keys, values and answers, in host memory or in the memory of the
 * table's GPU.
 *
 * One answer. A batch means what its queries would mean one after another, in order of position: of
 * equal keys inserted, the first stays; of equal keys assigned, the last. Contents and answers are
 * the same on every device and for any number of threads. DZO_TABLE_ANY lifts that: the queries
 * then act in some order of the library's choice, which is cheaper.
 *
 * Full. A table grows as it needs to, unless it is fixed. A fixed table takes at least `capacity`
 * pairs; beyond that it may refuse new keys, says which, and goes on. In a batch of one operation,
 * a key that is refused is so in each of its queries, and so it may be to the end of a mixed batch,
 * though others are erased; which keys are refused is not determined. No operation depends on luck
 * to end.
 */
#ifndef DZO_TABLE_H
#define DZO_TABLE_H

#include "dzo/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_table dzo_table;

typedef struct dzo_table_options {
  size_t size;       /* sizeof(dzo_table_options) */
  int key_bits;      /* 32 or 64 (default) */
  int value_bits;    /* 32 or 64 (default). Where keys and values differ, both take 64 */
  uint64_t capacity; /* pairs to have room for; default 0 */
  int fixed;         /* 1: never grow, refuse what does not fit; 0 (default): grow */
  double max_load;   /* pairs per slot before it grows, or that a fixed table is made for: 0.25 to
                      * 0.95; default 0.9. Up to 0.9 look-ups are fastest */
  uint64_t seed;     /* of the hash; default 0. A secret one keeps keys that others choose from
                      * being chosen to collide. Not part of what is answered */
} dzo_table_options;
DZO_API void dzo_table_options_init(dzo_table_options *options);

/* An empty table where the context's device says: the CPU, the GPU, or, for HYBRID, a part on each
 * by ranges of the hash. AUTO: on the GPU if there is one with room for it and the capacity is
 * worth it. Where the GPU has failed, on the CPU, as dzo_context_notice() and dzo_table_device()
 * say. The context must outlive the table and serves one call at a time, those on its tables
 * included. DZO_E_ARGUMENT, DZO_E_MEMORY (of the host, or of the GPU: the message says which). */
DZO_API dzo_status dzo_table_create(dzo_context *context, const dzo_table_options *options,
                                    dzo_table **out);
DZO_API void dzo_table_destroy(dzo_table *table); /* NULL is fine */

/* ---- Batches --------------------------------------------------------------------------------- */

/* What a query does, and its answer. Arithmetic is unsigned and modulo 2^value_bits. */
typedef enum dzo_table_operation {
  DZO_TABLE_FIND = 0,   /* value -> results: FOUND; 0 -> results: ABSENT */
  DZO_TABLE_INSERT = 1, /* absent: stored, INSERTED; else left as it is, FOUND */
  DZO_TABLE_ASSIGN = 2, /* absent: stored, INSERTED; else replaced, FOUND */
  DZO_TABLE_ADD = 3,    /* absent: stored, INSERTED; else added to, FOUND */
  DZO_TABLE_MIN = 4,    /* absent: stored, INSERTED; else the lesser of the two, FOUND */
  DZO_TABLE_MAX = 5,    /* absent: stored, INSERTED; else the greater of the two, FOUND */
  DZO_TABLE_ERASE = 6,  /* erased: FOUND; else ABSENT. The slot is free for any key again */
  DZO_TABLE_MIXED = 7   /* of a batch: each query has its own operation */
} dzo_table_operation;

typedef enum dzo_table_answer {
  DZO_TABLE_ABSENT = 0,
  DZO_TABLE_FOUND = 1,
  DZO_TABLE_INSERTED = 2,
  DZO_TABLE_REFUSED = 3 /* a new key for which a fixed table has no room */
} dzo_table_answer;

enum dzo_table_flags {
  DZO_TABLE_ANY = 1 /* the queries of the batch act in any order */
};

/* A batch. All arrays lie in host memory, or all in memory of the table's GPU (device or managed
 * memory), and do not overlap. On the GPU, the call uses a stream of its own: what the caller's
 * streams write must be complete, and when it returns, so are the answers. A table with keys and
 * values of different widths, or on both processors, brings such arrays to the host. */
typedef struct dzo_table_batch {
  size_t size; /* sizeof(dzo_table_batch) */
  dzo_table_operation operation;
  unsigned flags;
  uint64_t count;
  const void *keys;   /* [count] uint32_t or uint64_t, as key_bits says */
  const void *values; /* [count] uint32_t or uint64_t; NULL: all 1 if the operation of the batch
                       * is ADD, else all 0 */
  const uint8_t *operations; /* [count] dzo_table_operation, for MIXED only */
  void *results;             /* [count] values found, 0 where none, for FIND, and for MIXED, where
                              * queries other than FIND leave theirs as it was; NULL: not wanted */
  uint8_t *answers;          /* [count] dzo_table_answer; NULL: not wanted */
  /* Set by the call: how many queries had each answer. */
  uint64_t found;
  uint64_t inserted;
  uint64_t refused;
} dzo_table_batch;
DZO_API void dzo_table_batch_init(dzo_table_batch *batch);

/* Run a batch. DZO_E_LIMIT: some were refused, all others are done. DZO_E_MEMORY: no room to grow,
 * on the device that the message names; the queries counted and answered are done, those that are
 * REFUSED are not. DZO_E_ARGUMENT; DZO_E_DEVICE_FAILED: the GPU failed, and the contents of the
 * table with it: every later call says so. DZO_E_CANCELLED: as for refused. */
DZO_API dzo_status dzo_table_run(dzo_table *table, dzo_table_batch *batch);

/* The same for the common cases, with no answers but *counted (NULL: not wanted): new keys for the
 * operations that store, keys that were there for the others. */
DZO_API dzo_status dzo_table_insert(dzo_table *table, uint64_t count, const void *keys,
                                    const void *values, uint64_t *counted);
DZO_API dzo_status dzo_table_assign(dzo_table *table, uint64_t count, const void *keys,
                                    const void *values, uint64_t *counted);
DZO_API dzo_status dzo_table_add(dzo_table *table, uint64_t count, const void *keys,
                                 const void *values, uint64_t *counted);
/* `results` and `found` [count] as in a batch; either may be NULL. */
DZO_API dzo_status dzo_table_find(dzo_table *table, uint64_t count, const void *keys, void *results,
                                  uint8_t *found, uint64_t *counted);
DZO_API dzo_status dzo_table_contains(dzo_table *table, uint64_t count, const void *keys,
                                      uint8_t *found, uint64_t *counted);
DZO_API dzo_status dzo_table_erase(dzo_table *table, uint64_t count, const void *keys,
                                   uint64_t *counted);

/* ---- The table as a whole -------------------------------------------------------------------- */

DZO_API uint64_t dzo_table_size(const dzo_table *table);     /* pairs in it */
DZO_API uint64_t dzo_table_capacity(const dzo_table *table); /* pairs before it grows or refuses */
DZO_API uint64_t dzo_table_bytes(const dzo_table *table);    /* memory it holds */
DZO_API int dzo_table_key_bits(const dzo_table *table);
DZO_API int dzo_table_value_bits(const dzo_table *table);
DZO_API dzo_device dzo_table_device(const dzo_table *table); /* CPU, CUDA or HYBRID */

/* Forget all pairs, keep the memory. */
DZO_API dzo_status dzo_table_clear(dzo_table *table);
/* Room for `capacity` pairs in all, at once; also of a fixed table. Never less than there is. */
DZO_API dzo_status dzo_table_reserve(dzo_table *table, uint64_t capacity);
/* Give back the memory that its pairs do not need. The capacity is then about the size. */
DZO_API dzo_status dzo_table_shrink(dzo_table *table);

/* All pairs, in no order that is promised: keys and values [dzo_table_size], in host memory or in
 * that of the table's GPU; either may be NULL. */
DZO_API dzo_status dzo_table_export_into(dzo_table *table, void *keys, void *values);
/* Call `visit` for each pair, from the calling thread; it returns 0 to go on, else the walk ends
 * with DZO_E_CANCELLED. It must not use the table. */
typedef int (*dzo_table_visit_fn)(void *user, uint64_t key, uint64_t value);
DZO_API dzo_status dzo_table_for_each(dzo_table *table, dzo_table_visit_fn visit, void *user);
/* A table of the same pairs and options, in `context`: on another device too. */
DZO_API dzo_status dzo_table_copy(dzo_table *table, dzo_context *context, dzo_table **out);

/* Write the table, as little-endian bytes with a checksum, through `write`, which returns 0 or a
 * dzo_status; and read one, of which `read` gives up to `bytes` bytes, *got of them, 0 at the end.
 * DZO_E_FORMAT: not such bytes, cut off or damaged. Any device loads what another has saved; the
 * bytes hold the pairs in no order that is promised, and the seed. What stands behind them is not
 * read. */
typedef dzo_status (*dzo_table_write_fn)(void *user, const void *data, size_t bytes);
typedef dzo_status (*dzo_table_read_fn)(void *user, void *data, size_t bytes, size_t *got);
DZO_API dzo_status dzo_table_save(dzo_table *table, dzo_table_write_fn write, void *user);
DZO_API dzo_status dzo_table_load(dzo_context *context, dzo_table_read_fn read, void *user,
                                  dzo_table **out);

/* How full it is and what a look-up costs. A look-up that hits reads a bucket, or two; a miss as
 * many as it takes to be sure. */
enum { DZO_TABLE_PROBES = 8 };
typedef struct dzo_table_stats {
  size_t size; /* sizeof(dzo_table_stats) */
  uint64_t pairs;
  uint64_t slots;
  uint64_t bucket_slots;             /* slots that one probe reads */
  uint64_t bytes;                    /* of memory */
  double load;                       /* pairs / slots */
  uint64_t probes[DZO_TABLE_PROBES]; /* pairs found with 1, 2, ... probes; the last: or more */
  uint64_t erased;                   /* free slots that still make look-ups go on */
  uint64_t overflow;                 /* pairs that stand outside their buckets */
  double mean_depth;                 /* probes beyond the first, over all pairs: the seed's */
  uint64_t max_depth;                /* measure of a linear table, in buckets */
} dzo_table_stats;
DZO_API dzo_status dzo_table_stats_into(dzo_table *table, dzo_table_stats *stats);

/* ---- Single operations from many threads (tables on the CPU) --------------------------------- */

/* A thread's access to a table. While any handle exists, only handles may use the table, and
 * dzo_table_size(), _capacity() and _bytes(); each serves one thread at a time, and is cheap while
 * it is not used. Operations are linearizable. They take no locks, except that a writer may have to
 * wait while another makes room or the table grows; a look-up never waits. A growing table makes
 * room for as many pairs as there is memory, a fixed one for its capacity at least. The full story:
 * docs/table.md. */
typedef struct dzo_table_handle dzo_table_handle;

/* DZO_E_UNSUPPORTED for a table on the GPU (see dzo/table_device.cuh) or on both; DZO_E_MEMORY. Any
 * thread may create and destroy handles, its own and others' that are not in use. */
DZO_API dzo_status dzo_table_handle_create(dzo_table *table, dzo_table_handle **out);
DZO_API void dzo_table_handle_destroy(dzo_table_handle *handle); /* NULL is fine */

/* The answers of the operations above. *seen is the value that the key had, or where it had none,
 * the value it has now; left as it was where the answer is ABSENT or REFUSED. NULL: not wanted.
 * REFUSED: nothing was done; also where a growing table has no memory left, and for a key of more
 * bits than the table's. Of a value the table keeps value_bits. */
DZO_API dzo_table_answer dzo_table_handle_find(dzo_table_handle *handle, uint64_t key,
                                               uint64_t *value);
DZO_API dzo_table_answer dzo_table_handle_insert(dzo_table_handle *handle, uint64_t key,
                                                 uint64_t value, uint64_t *seen);
DZO_API dzo_table_answer dzo_table_handle_assign(dzo_table_handle *handle, uint64_t key,
                                                 uint64_t value, uint64_t *seen);
DZO_API dzo_table_answer dzo_table_handle_add(dzo_table_handle *handle, uint64_t key,
                                              uint64_t value, uint64_t *seen);
DZO_API dzo_table_answer dzo_table_handle_erase(dzo_table_handle *handle, uint64_t key,
                                                uint64_t *seen);

/* ---- From a kernel of one's own (tables on the GPU) ------------------------------------------ */

/* What dzo/table_device.cuh needs to know of a table; passed to kernels by value. */
typedef struct dzo_table_view {
  uint64_t words[24];
} dzo_table_view;

/* Between begin and end only kernels use the table, through the view; the table does not grow, and
 * refuses what it has no room for. end waits for the GPU, counts, and clears away.
 * DZO_E_UNSUPPORTED for a table that is not on the GPU alone, or whose keys and values have not the
 * same width. DZO_E_MEMORY of end: nothing is lost, kernels may still use the table, and it may be
 * called again. */
DZO_API dzo_status dzo_table_view_begin(dzo_table *table, dzo_table_view *view);
DZO_API dzo_status dzo_table_view_end(dzo_table *table);

#ifdef __cplusplus
}
#endif
#endif
