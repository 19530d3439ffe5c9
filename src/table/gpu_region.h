/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Work on regions by their owners: one block has a region in shared memory and does all that the
 * batch wants of it, in order, so that nobody else is in its way. */
#ifndef DZO_TABLE_GPU_REGION_H
#define DZO_TABLE_GPU_REGION_H

#include "device/device.h"
#include "table/gpu_layout.h"
#include "table/gpu_partition.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TABLE_BLOCK = 512, /* threads, and so items of a batch that a block works on at a time */
  TABLE_STASH = 2 * TABLE_BLOCK, /* pairs of a region that wait for a slot, at most */
  TABLE_STASH_FULL = TABLE_STASH / 4 * 3
};

/* What a run came to; in device memory, at first all 0. */
typedef struct table_counters {
  uint64_t found, inserted, refused;
  uint64_t erased;  /* pairs that went, of those in `found` */
  uint64_t spilled; /* pairs that a region had no room for in the end: in `spill` */
  uint64_t put_off; /* items not worked on, from stop[] on in each region */
  uint64_t touched; /* regions in the list */
  uint64_t met;     /* without regions: queries noted since they met their key, */
  uint64_t left;    /* and those that found no slot for it */
} table_counters;

/* A batch at its regions. All arrays are device memory. */
typedef struct table_batch_run {
  const void *items;      /* by region, as table_partition_run() leaves them */
  const uint8_t *codes;   /* of a mixed batch */
  const uint32_t *starts; /* not NULL: starts[i * stride] is the first item of region i */
  uint32_t stride;
  uint32_t *begin; /* [regions + 1] first item of each region */
  uint32_t *stop;  /* [regions] first item not worked on, of those touched */
  uint32_t *list;  /* [the lesser of regions and count] the regions touched */
  uint32_t count;
  void *values;     /* NULL: not wanted; as items are ordered */
  uint8_t *answers; /* NULL: not wanted */
  void *spill;      /* slots */
  table_counters *counters;
  uint32_t limit; /* pairs in a region that has no more items worked on */
  bool ordered;
  bool dense; /* a block for each region, and not only for those touched */
} table_batch_run;

/* Slots that a region may have for its block to fit into `shared` bytes. */
uint32_t table_region_slots(uint64_t shared, bool wide, uint32_t bucket_slots);

/* Fills begin[] and list[]. */
dzo_status table_region_bounds(dzo_unit *unit, const table_layout *t, bool wide, bool pairs,
                               const table_batch_run *run);
/* INSERT, ASSIGN, ADD, MIN or MAX; items are pairs. */
dzo_status table_region_store(dzo_unit *unit, const table_layout *t, bool wide, int operation,
                              const table_batch_run *run);
/* Items are keys. */
dzo_status table_region_erase(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run);
/* Items are pairs, with codes. */
dzo_status table_region_mixed(dzo_unit *unit, const table_layout *t, bool wide,
                              const table_batch_run *run);

#ifdef __cplusplus
}
#endif
#endif
