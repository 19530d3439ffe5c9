/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Single operations from many threads on a table of the CPU. docs/table.md tells why this is right;
 * in short:
 *
 * A writer changes slots by compare-and-swap and shares its region with other writers. Among them,
 * a slot's owner changes only once, from nobody (EMPTY) to a key, and each key looks for its slot
 * in one order, so that a key has one slot at most; whether the key is there, and its value, is one
 * word. An erased key keeps its slot.
 *
 * What that does not allow is done under the region's lock, when the writers have left it: giving
 * slots of erased keys to others, moving pairs. Readers go on, and look again if pairs moved.
 *
 * A table that grows does so beside the old one, with all regions locked. Readers go on in the old
 * one, which is freed when nobody is in it. */
#ifndef DZO_TABLE_HANDLE_H
#define DZO_TABLE_HANDLE_H

#include <pthread.h>

#include "table/cpu.h"
#include "table/table.h"

enum { HANDLE_LINE = 64 };

/* A store and what handles know of it. */
typedef struct handle_level {
  table_cpu_store s; /* a copy, one step nearer; its arrays are the store's */
  table_cpu_store *store;
  uint64_t number; /* 1, 2, ... */
  /* Instead of a value: not there. No value of the level is this word, and those of EMPTY slots
   * are. Of 32-bit tables: of keys that have no slot, and of more than 32 bits. */
  uint64_t absent;
  uint64_t limit;  /* pairs before it should grow */
  uint64_t nodes;  /* in an overflow before all is made anew; accessed atomically */
  uint32_t *made;  /* [regions]: pairs put under the lock since it was cleared */
  uint64_t *marks; /* [regions][mark_words]: buckets that overflowed */
  uint64_t mark_words;
  struct handle_level *retired; /* the next one to be freed */
  /* The keys that stand aside: value or `absent`. */
  _Alignas(HANDLE_LINE) uint64_t side[TABLE_CPU_SIDES];
} handle_level;

/* What the handles of a table have in common. Lives as long as the table. */
typedef struct table_share {
  dzo_table *table;
  table_cpu *engine;
  pthread_mutex_t lock;      /* first and last handles; growing */
  handle_level *level;       /* accessed atomically; NULL while there are no handles */
  dzo_table_handle *handles; /* accessed atomically: all that ever were */
  handle_level *retired;     /* under the lock, but for a glance */
  uint64_t levels;           /* under the lock: made so far */
  int64_t base;              /* pairs when the first handle came */
} table_share;

struct dzo_table_handle {
  /* What the handle is doing, for others to see: 0, or a level's address, + 1 for writers. */
  _Alignas(HANDLE_LINE) uintptr_t at;
  uint64_t hash;   /* of a writer's key: tells its region */
  int64_t net;     /* pairs inserted less erased; written by its thread, read by others */
  uint64_t credit; /* pairs to insert before it counts all */
  table_share *share;
  dzo_table_handle *next;
  bool used; /* under the lock */
  char padding[HANDLE_LINE];
};

/* ---- Gate (handle_gate.c) -------------------------------------------------------------------- */

/* Enter the table as a reader: the level cannot be freed before handle_leave(). */
handle_level *handle_read(dzo_table_handle *h);
/* Enter a key's region as a writer: nobody holds its lock before handle_leave(). Waits. */
handle_level *handle_write(dzo_table_handle *h, uint64_t hash);
void handle_leave(dzo_table_handle *h);

/* Inside as a reader: take a region's lock and wait for its writers to leave. False: the level is
 * not the table's any more. */
bool handle_lock(dzo_table_handle *h, handle_level *l, uint64_t region);
void handle_unlock(handle_level *l, uint64_t region);
/* All regions of the table's level, with the share's lock held. */
void handle_lock_all(table_share *share, handle_level *l);
void handle_unlock_all(handle_level *l);

/* Wait for the share's lock as for regions. */
void handle_lock_share(table_share *share);

/* Free retired levels that nobody is in. With the share's lock held. */
void handle_reclaim(table_share *share);

/* Pairs in all: exact while nobody writes. */
uint64_t handle_count(const table_share *share);

/* ---- Levels (handle_level.c) ----------------------------------------------------------------- */

/* A level of `store`, whose slots it prepares; `absent` is not to be `avoid`. NULL: no memory. */
handle_level *handle_level_make(table_share *share, table_cpu_store *store, uint64_t avoid);
/* Without the store. */
void handle_level_free(handle_level *l);
/* Make the store what batches expect, with all regions locked or no handles: erased keys give up
 * their slots, and nodes of the overflow and keys that stand aside say whether they are there.
 * Readers may go on. */
void handle_level_settle(table_share *share, handle_level *l);
/* Turn slots of erased keys into EMPTY ones, where no pair went past their bucket. Under the lock.
 */
void handle_clear_region(handle_level *l, uint64_t region);
/* Let erased keys give up their slots in a bucket. Under the lock; 64-bit tables. */
void handle_bury(const handle_level *l, uint64_t *bucket);

/* ---- Room (handle_room.c) -------------------------------------------------------------------- */

typedef enum handle_outcome {
  HANDLE_DONE,    /* the pair is in */
  HANDLE_REFUSED, /* and cannot be */
  HANDLE_AGAIN,   /* try again */
  HANDLE_NO_ROOM, /* of an attempt: the key has no slot, and there is none to claim */
  HANDLE_NO_WORD  /* of an attempt: the value is the level's `absent` */
} handle_outcome;

/* Put the pair of a key that had no slot, making room. */
handle_outcome handle_make_room(dzo_table_handle *h, uint64_t hash, uint64_t key, uint64_t value);
/* Replace level `number` by one with another `absent`, and with more room if it is about full. */
handle_outcome handle_rebuild(dzo_table_handle *h, uint64_t number);
/* A pair came in without making room: now and then, see whether the table should grow. */
void handle_count_insert(dzo_table_handle *h);

/* ---- For the table (handle.c) ---------------------------------------------------------------- */

typedef struct table_share_figures {
  uint64_t pairs, capacity, bytes;
} table_share_figures;
/* The table's figures as of about now; false if there are no handles. Any thread. */
bool table_share_ask(const dzo_table *table, table_share_figures *out);
void table_share_free(table_share *share); /* NULL is fine; there are no handles */

#endif
