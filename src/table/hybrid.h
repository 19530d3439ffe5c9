/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table that may outgrow the GPU. At first it is the GPU's alone, and batches go there as they
 * are; when the GPU has no memory to grow, the keys of some ranges of a hash become the CPU's. The
 * hash is not that of the parts, to which their keys must look like any. */
#ifndef DZO_TABLE_HYBRID_H
#define DZO_TABLE_HYBRID_H

#include "table/hash.h"
#include "table/table.h"

enum { TABLE_HYBRID_RANGES = 1 << 16, TABLE_HYBRID_PIECE = 1 << 20 };

/* The parts. */
enum { ON_CPU = 0, ON_GPU = 1, TABLE_PARTS = 2 };

/* Room for a piece of a batch, parted: the GPU's queries stand before the CPU's, each in order. */
typedef struct table_parted {
  uint64_t room; /* queries */
  void *keys, *values, *results;
  uint8_t *operations, *answers;
  uint32_t *positions; /* in the piece */
  uint32_t *counts;    /* [blocks]: the GPU's queries in it, then before it */
} table_parted;

typedef struct table_hybrid {
  dzo_context *context;
  dzo_context *aside; /* the GPU part's, which works beside the CPU's */
  const table_engine *engine[TABLE_PARTS];
  void *part[TABLE_PARTS];
  bool wide, fixed;
  double max_load;
  uint64_t capacity; /* that was asked for */
  uint64_t seed;     /* of the hash that parts */
  uint32_t share;    /* the first ranges, which are the GPU's */
  uint64_t piece;    /* queries at once */
  uint64_t alone;    /* fewer are not worth another thread */
  bool reports;      /* the GPU part runs on the caller's thread */
  table_parted parted;
} table_hybrid;

static inline size_t table_hybrid_word(const table_hybrid *h) {
  return h->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

static inline bool table_hybrid_is_gpu(const table_hybrid *h, uint64_t key) {
  return table_part(table_hash(key, h->seed), TABLE_HYBRID_RANGES) < h->share;
}

static inline uint64_t table_hybrid_size_of(const table_hybrid *h, int part) {
  return h->engine[part]->size(h->part[part]);
}

/* As an engine runs a batch. */
dzo_status table_hybrid_run(void *state, dzo_table_batch *batch);
void table_hybrid_free_room(table_parted *parted);

/* Give some of the GPU's ranges, and the pairs in them, to the CPU. DZO_E_MEMORY, and nothing has
 * changed, where the CPU has no room or the GPU has no more ranges. */
dzo_status table_hybrid_shift(table_hybrid *h);

/* A call to a part failed: its message becomes the context's. */
dzo_status table_hybrid_fail(table_hybrid *h, int part, dzo_status status);

#endif
