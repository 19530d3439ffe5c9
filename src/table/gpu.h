/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engine that keeps a table in GPU memory: what its parts share. */
#ifndef DZO_TABLE_GPU_H
#define DZO_TABLE_GPU_H

#include "device/device.h"
#include "table/engine.h"
#include "table/gpu_direct.h"
#include "table/gpu_partition.h"
#include "table/gpu_region.h"
#include "table/gpu_view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes that tests make small; 0: the usual. */
typedef struct table_gpu_sizes {
  uint32_t region_slots; /* of a region, at most */
  uint64_t piece;        /* queries of a batch in GPU memory done at a time */
  uint64_t host_piece;   /* in host memory */
  uint64_t parted;       /* stores fewer than these are brought to parts, if not those: */
  uint64_t direct;       /* queries fewer than these are not brought to parts or regions */
  uint64_t heavy;        /* queries fewer than these are not looked at for shared keys */
  uint64_t sift;         /* mixed batches of fewer are not sifted */
} table_gpu_sizes;

typedef struct table_gpu {
  dzo_context *context;
  dzo_unit *unit;
  bool wide, fixed;
  bool starved; /* could not grow, and is fixed until the batch ends */
  double max_load;
  uint64_t asked; /* capacity of a fixed table */
  table_gpu_sizes sizes;
  table_layout t;
  uint64_t pairs;
  uint64_t stores;          /* of the batch, queries that may make a new key, at most; and, of a */
  uint64_t erases;          /* mixed one in GPU memory, ERASEs, */
  bool all_store;           /* or has it nothing but stores? */
  double fresh;             /* of the last piece's queries, how many made a new key */
  table_counters *counters; /* in device memory */
  table_counters *next;     /* others there, whose turn is next; 0 if `clean` */
  table_counters *seen;     /* what the counters were; pinned */
  bool clean;
  void *spill;   /* [TABLE_SPILL_ROOM] slots for what a rebuild has no room for: usually nothing */
  char *buffers; /* device memory for arrays that lie in host memory, or parts of a batch */
  uint64_t buffer_bytes;
  table_gpu_view view; /* while kernels of the caller's use the table */
} table_gpu;

enum { TABLE_SPILL_ROOM = 4096 };

dzo_status table_gpu_create(const table_plan *plan, const table_gpu_sizes *sizes, void **out);

static inline uint64_t table_gpu_slots(const table_gpu *g) {
  return g->t.regions * g->t.buckets * g->t.bucket_slots;
}
static inline uint64_t table_gpu_slot_bytes(const table_gpu *g) { return g->wide ? 16 : 8; }
static inline uint64_t table_gpu_word(const table_gpu *g) { return g->wide ? 8 : 4; }
uint64_t table_gpu_capacity(const table_gpu *g);

/* ---- gpu_grow.c ------------------------------------------------------------------------------ */

/* An empty table of room for so many pairs. */
dzo_status table_gpu_make(table_gpu *g, uint64_t capacity);
void table_gpu_unmake(table_gpu *g);
/* The same pairs in a table for `capacity` of them, or more. DZO_E_MEMORY: it stays as it was. */
dzo_status table_gpu_resize(table_gpu *g, uint64_t capacity);
/* Counters that are 0; and what they are then, to g->seen, behind all of queue 0. */
dzo_status table_gpu_zero_counters(table_gpu *g);
dzo_status table_gpu_read_counters(table_gpu *g);

/* ---- gpu_piece.c ----------------------------------------------------------------------------- */

/* Of a piece whose queries were made one a key: what it was. */
typedef struct table_heavy {
  bool used;
  bool filled; /* the table was empty, and was made of the sums at once: all is done */
  uint64_t count;
  const void *keys;
  uint8_t *answers;
  uint32_t *first;         /* of the unique queries, the positions, */
  uint8_t *unique_answers; /* and answers */
  uint64_t reserved;       /* bytes of workspace before the unique queries */
  void *kept;              /* where they are instead, if that was too little */
} table_heavy;

/* A part of a batch; arrays in device memory. */
typedef struct table_piece {
  int operation;
  bool ordered;
  uint64_t count, left; /* left: queries of the batch from its first on */
  uint64_t cautious;    /* so many are done if they may all make new keys; 0: all */
  uint64_t taken;       /* of table_piece_start(): queries of the batch that it does */
  const void *keys, *values;
  const uint8_t *codes;
  void *results;
  uint8_t *answers;
  table_partition partition; /* of table_piece_start() */
  table_batch_run run;
  bool loose;          /* an ERASE that frees slots from anywhere */
  bool straight;       /* a change that is not brought to regions, */
  bool parted;         /* if at all, to parts that the cache holds, */
  table_direct direct; /* but done by this */
  bool mixed;          /* the keys are mixed already */
  table_heavy heavy;
} table_piece;

/* So many queries are done at a time; or fewer, if they do not fit the workspace. */
uint64_t table_piece_usual(const table_gpu *g);
uint64_t table_piece_most(const table_gpu *g, const dzo_table_batch *batch);
/* Queue its work on queue 0; wait, and do what is left of it. The counts are added to the batch's.
 */
dzo_status table_piece_start(table_gpu *g, table_piece *piece);
dzo_status table_piece_finish(table_gpu *g, table_piece *piece, dzo_table_batch *batch);

/* `count` pairs of the workspace, to the overflow, where the GPU has no memory for that: the
 * workspace is given back. */
dzo_status table_piece_rescue(table_gpu *g, const void *spill, uint64_t count);

/* ---- gpu_direct.c ---------------------------------------------------------------------------- */

/* Is the piece better done without regions? Sets piece->parted. For stores, behind make_room(). */
bool table_direct_suits(const table_gpu *g, table_piece *piece);
/* It would, and the workspace is large enough. */
bool table_direct_is_ready(const table_gpu *g, int operation, uint64_t count);
/* With the piece's partition described. DZO_E_MEMORY: there is no workspace for it, and nothing has
 * been done. */
dzo_status table_direct_start(table_gpu *g, table_piece *piece);
/* With the counters as they were read. */
dzo_status table_direct_finish(table_gpu *g, table_piece *piece);
/* Will there be memory for so many more pairs in the overflow? The workspace can be had back. */
bool table_direct_may_spill(const table_gpu *g, uint64_t pairs);

/* ---- gpu_heavy.c ----------------------------------------------------------------------------- */

bool table_heavy_is_worth(const table_gpu *g, const table_piece *piece);
/* Where many queries of a piece that is worth looking at share keys: makes it one of a query a key.
 * `bytes`: workspace that the piece itself takes at most. Else it is left as it is. */
dzo_status table_heavy_begin(table_gpu *g, table_piece *piece, uint64_t bytes);
/* The piece takes so much workspace: its queries must not lie there. */
dzo_status table_heavy_keep(table_gpu *g, table_piece *piece, uint64_t bytes);
void table_heavy_drop(table_gpu *g, table_piece *piece);
/* The answers of all queries, from those of the unique ones, and their counts; drops it. */
dzo_status table_heavy_end(table_gpu *g, table_piece *piece, const dzo_table_batch *unique,
                           dzo_table_batch *batch);

/* ---- gpu_batch.c ----------------------------------------------------------------------------- */

dzo_status table_gpu_run(table_gpu *g, dzo_table_batch *batch);

/* Parts of that. The arrays of a batch are in device memory, in pieces: */
dzo_status table_gpu_run_resident(table_gpu *g, dzo_table_batch *batch);
/* `most` queries of it, or what is left; */
dzo_table_batch table_gpu_part_of(const table_gpu *g, const dzo_table_batch *batch, uint64_t first,
                                  uint64_t most);
/* those from `first` on are counted and answered as refused; */
dzo_status table_gpu_refuse_from(table_gpu *g, dzo_table_batch *batch, uint64_t first);
/* all is done; */
dzo_status table_gpu_end_batch(table_gpu *g, const dzo_table_batch *batch);
/* g->buffers has so many bytes, whatever was in it. */
dzo_status table_gpu_take_buffers(table_gpu *g, uint64_t bytes);

/* ---- gpu_sift.c ------------------------------------------------------------------------------ */

/* Is it worth while for the batch, whose arrays are in device memory? */
bool table_sift_suits(const table_gpu *g, const dzo_table_batch *batch);
dzo_status table_sift_run(table_gpu *g, dzo_table_batch *batch);

/* ---- gpu_lend.c ------------------------------------------------------------------------------ */

dzo_status table_gpu_view_begin(table_gpu *g, dzo_table_view *view);
/* DZO_E_MEMORY: kernels may go on, and it may be called again. */
dzo_status table_gpu_view_end(table_gpu *g);

#ifdef __cplusplus
}
#endif
#endif
