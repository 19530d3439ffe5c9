/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of edges between components, for one width of keys: see cpu_keyed.h. */
#ifndef DZO_MSF_KEYED_LIST_H
#define DZO_MSF_KEYED_LIST_H

#ifndef KEY
#error "KEY and KEY_BITS are to be defined by the file that includes cpu_keyed.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "graph/compress.h"
#include "msf/sample.h"
#include "msf/scan.h"
#include "msf/solver.h"

#if KEY_BITS == 32
#define SCAN(name) name##32
#define ROW msf_first32
#else
#define SCAN(name) name##64
#define ROW msf_first64
#endif

enum {
  AHEAD = 24,   /* items between a prefetch and its use */
  BLOCK = 64,   /* arcs, vertices or components staged together */
  BUFFER = 512, /* entries a thread holds before it reserves room for them */
  LIST_GRAIN = 1 << 14,
  COMPONENT_GRAIN = 1 << 14,
  ROW_GRAIN = 1 << 15 /* units of work: see msf_row_units() */
};

/* An edge between two components, its key flipped for a maximum forest; which arc: see arc_of(). */
#if KEY_BITS == 32
typedef msf_entry32 entry;
#else
typedef struct entry {
  uint32_t u, v;
  KEY key;
  uint32_t ref;
} entry;
#endif

/* Entries being gathered by a team. Where arcs and rows are NULL, `ref` is the arc itself: all
 * entries are arcs from the smaller to the larger endpoint, numbered in 32 bits. */
typedef struct list {
  entry *entries; /* [capacity] */
  entry *block;   /* the allocation they are in; NULL where another list owns it */
  uint64_t *arcs; /* [capacity] arc of each ref, or NULL */
  uint32_t *rows; /* [capacity] row of each ref, or NULL */
  uint64_t count; /* accessed atomically */
  uint64_t capacity;
} list;

static void list_free(list *l) {
  dzo_free(l->block);
  dzo_free(l->arcs);
  dzo_free(l->rows);
  *l = (list){0};
}

static dzo_status list_alloc(dzo_context *context, list *l, uint64_t capacity, bool direct) {
  *l = (list){.capacity = capacity};
  l->block = l->entries = dzo_alloc(context, capacity, sizeof *l->entries);
  bool good = l->block != NULL;
  if (good && !direct) {
    l->arcs = dzo_alloc(context, capacity, sizeof *l->arcs);
    l->rows = dzo_alloc(context, capacity, sizeof *l->rows);
    good = l->arcs != NULL && l->rows != NULL;
  }
  if (good)
    return DZO_OK;
  list_free(l);
  return DZO_E_MEMORY;
}

/* Room for `count` more entries, or UINT64_MAX if the list is full. */
static uint64_t list_reserve(list *l, uint64_t count) {
  uint64_t at = dzo_fetch_add_u64(&l->count, count);
  return at + count <= l->capacity ? at : UINT64_MAX;
}

static uint64_t arc_of(const list *refs, uint32_t ref) {
  return refs->arcs != NULL ? refs->arcs[ref] : ref;
}

/* Of two different edges with equal keys, does a come first? */
static bool ref_before(const msf_solver *s, const list *refs, uint32_t a, uint32_t b) {
  if (refs->arcs == NULL)
    return a < b;
  uint64_t arc_a = refs->arcs[a], arc_b = refs->arcs[b];
  uint32_t ua = refs->rows[a], va = dzo_arc_neighbour(s->graph, arc_a);
  uint32_t ub = refs->rows[b], vb = dzo_arc_neighbour(s->graph, arc_b);
  uint32_t min_a = ua < va ? ua : va, max_a = ua < va ? va : ua;
  uint32_t min_b = ub < vb ? ub : vb, max_b = ub < vb ? vb : ub;
  if (min_a != min_b)
    return min_a < min_b;
  if (max_a != max_b)
    return max_a < max_b;
  return arc_a < arc_b;
}

static KEY key_at(const msf_solver *s, uint64_t arc) {
#if KEY_BITS == 32
  return s->graph->keys32 != NULL ? s->graph->keys32[arc] ^ (KEY)s->flip : (KEY)s->flip;
#else
  return s->graph->keys64[arc] ^ s->flip;
#endif
}

static void prefetch_number(const dzo_graph *graph, uint64_t arc) {
  if (graph->numbers32 != NULL)
    DZO_PREFETCH(&graph->numbers32[arc]);
  else
    DZO_PREFETCH(&graph->numbers64[arc]);
}

#endif
