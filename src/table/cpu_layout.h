/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How a table lies in the memory of the CPU, and what one key needs to know of it.
 *
 * The hash picks a region by its upper bits and two buckets in it. A bucket is a cache line: 8
 * pairs of 32-bit words or 4 of 64-bit words. A pair stands in its first bucket, or where that had
 * no EMPTY slot in its second, or where neither had in the region's overflow. So a look-up may end
 * at a bucket with an EMPTY slot. Erasing leaves a TOMB in a bucket without EMPTY slot; both are
 * free for new pairs.
 *
 * Whoever changes a region must be the only one to do so, except through handles (handle.c), which
 * change slots by compare-and-swap: EMPTY -> pair, value -> value, pair -> TOMB. */
#ifndef DZO_TABLE_CPU_LAYOUT_H
#define DZO_TABLE_CPU_LAYOUT_H

#include "base/context.h"
#include "base/item.h"
#include "table/hash.h"

enum {
  TABLE_CPU_WORDS = 8, /* 64-bit words of a bucket */
  TABLE_CPU_NARROW_SLOTS = 8,
  TABLE_CPU_WIDE_SLOTS = 4
};

/* Where threads may meet. A test that permutes their turns has it call a function. */
#if defined(TABLE_STEP)
void TABLE_STEP(int waits);
#else
#define TABLE_STEP(waits) ((void)0)
#endif

/* ---- Slots ----------------------------------------------------------------------------------- */

/* 32 bits: one word, key + (value << 32). Free if the key's half is all ones: EMPTY if all the word
 * is, else TOMB. The key of all ones stands aside in the table (table_cpu.side). */
#define TABLE_CPU_EMPTY UINT64_MAX
#define TABLE_CPU_NARROW_TOMB ((uint64_t)UINT32_MAX)
#define TABLE_CPU_NARROW_RESERVED ((uint64_t)UINT32_MAX) /* keys from this one on stand aside */

/* 64 bits: two words, key and value. Free if the key is one of these, whatever the value. */
#define TABLE_CPU_WIDE_TOMB (UINT64_MAX - 1)
#define TABLE_CPU_WIDE_RESERVED (UINT64_MAX - 1)

enum { TABLE_CPU_SIDES = 2 };

/* ---- Overflow -------------------------------------------------------------------------------- */

/* A binary trie (crit-bit tree) for each region: no keys make it deeper than 64, nodes never move
 * and live as long as the store, and one store of a link publishes a new one, so that others may
 * search it meanwhile. A node is a pair and the branch that came with it; a link is a node's
 * address, + 1 where it means the pair. */
typedef struct table_cpu_node {
  uint64_t key, value;
  uint32_t alive; /* 0: erased */
  uint32_t bit;   /* which bit of the key its branch looks at */
  uintptr_t below[2];
} table_cpu_node;

/* ---- Regions and stores ---------------------------------------------------------------------- */

typedef struct table_cpu_region {
  uintptr_t overflow; /* the trie's link; 0: empty */
  uint64_t version;   /* grows with each move of a pair, after its copy and before its end */
  uint64_t pairs;     /* alive in the overflow */
  uint64_t nodes;     /* in the overflow */
  struct table_cpu_chunk *chunks;
  uint64_t closed;   /* the batch that was refused a key here, and is refused all new ones */
  uint32_t tombs;    /* about as many TOMBs */
  uint32_t erased;   /* slots made TOMBs since it was tidied */
  uint32_t failures; /* searches for room, in vain, since something was erased here */
  uint32_t lock;     /* handle.c's */
} table_cpu_region;

/* What growing makes anew. */
typedef struct table_cpu_store {
  dzo_context *context;
  bool wide;
  uint64_t seed;
  uint32_t bits;    /* there are 2^bits regions */
  uint64_t buckets; /* in a region, 2 at least */
  uint64_t slots;   /* in all */
  uint64_t *words;  /* [2^bits * buckets * 8] */
  table_cpu_region *regions;
} table_cpu_store;

typedef struct table_cpu_place {
  uint64_t region;
  uint64_t first, second; /* buckets, counted over all regions */
} table_cpu_place;

DZO_ITEM uint64_t table_cpu_region_of(const table_cpu_store *s, uint64_t hash) {
  return hash >> 1 >> (63 - s->bits);
}

/* Both buckets ascend with a part of the hash, so that twice as many buckets split each in two; and
 * they are the same in a region and in both of its halves. */
DZO_ITEM uint64_t table_cpu_first_in(uint64_t buckets, uint64_t hash) {
  return ((hash & UINT32_MAX) * buckets) >> 32;
}
DZO_ITEM uint64_t table_cpu_second_in(uint64_t buckets, uint64_t hash, uint64_t first) {
  uint64_t other = (hash * 0x9e3779b97f4a7c15u) >> 32;
  uint64_t second = first + 1 + ((other * (buckets - 1)) >> 32);
  return second < buckets ? second : second - buckets;
}

DZO_ITEM table_cpu_place table_cpu_find_place(const table_cpu_store *s, uint64_t hash) {
  uint64_t region = table_cpu_region_of(s, hash), base = region * s->buckets;
  uint64_t first = table_cpu_first_in(s->buckets, hash);
  uint64_t second = table_cpu_second_in(s->buckets, hash, first);
  return (table_cpu_place){region, base + first, base + second};
}

DZO_ITEM uint64_t *table_cpu_bucket(const table_cpu_store *s, uint64_t bucket) {
  return s->words + bucket * TABLE_CPU_WORDS;
}

/* ---- The table ------------------------------------------------------------------------------- */

typedef struct table_cpu_side {
  bool alive;
  uint64_t value;
} table_cpu_side;

/* Tests have smaller ones. */
typedef struct table_cpu_sizes {
  uint64_t region_buckets; /* of a region, at most */
  uint64_t piece;          /* queries worked at a time, at most, 2^28 */
  uint64_t direct;         /* up to so many, one thread does them as they come */
  uint64_t pass;           /* as `piece`, for tables of as many slots; 0: the same */
} table_cpu_sizes;

/* The engine's state. */
typedef struct table_cpu {
  dzo_context *context;
  bool wide, fixed;
  double max_load;
  uint64_t seed;
  table_cpu_sizes sizes;
  table_cpu_store *store;
  uint64_t pairs;  /* in all */
  uint64_t serial; /* of the batch that runs, or ran last; from 1 */
  table_cpu_side side[TABLE_CPU_SIDES];
} table_cpu;

/* Pairs in a store before it should grow, or that a fixed table takes at least. */
uint64_t table_cpu_limit(const table_cpu *t, const table_cpu_store *s);

/* ---- For one owner of a region, or of all ---------------------------------------------------- */

/* Put a pair whose key is not there, moving others out of the way. Others may read the region
 * meanwhile: a pair that moves stands in its new slot before region.version grows, and is gone from
 * the old one after that; slots are written as whole words, of wide pairs the value before the key,
 * and the old key is made TOMB before a slot's value changes. Takes what it writes by release
 * stores. False: no memory for the overflow, and the pair is not there. */
bool table_cpu_put(table_cpu_store *s, uint64_t key, uint64_t value);

/* The node of a key in the overflow, dead or alive, or NULL. Any thread, beside one owner. */
table_cpu_node *table_cpu_overflow_find(const table_cpu_region *region, uint64_t key);
/* A new node for a key that has none there, alive; NULL: no memory. */
table_cpu_node *table_cpu_overflow_add(table_cpu_store *s, table_cpu_region *region, uint64_t key,
                                       uint64_t value);

/* A new store with room for `capacity` pairs, and in it what `from` (NULL: nothing) holds, cleared
 * of TOMBs. `from` stays as it is and may be read meanwhile, not written. A team of `threads`
 * works, sequentially region by region. DZO_E_MEMORY. */
dzo_status table_cpu_rebuild(const table_cpu *t, const table_cpu_store *from, uint64_t capacity,
                             int threads, table_cpu_store **out);
void table_cpu_store_free(table_cpu_store *s); /* NULL is fine */

/* Count the TOMBs of each region again, after handles. */
void table_cpu_recount(table_cpu *t);

#endif
