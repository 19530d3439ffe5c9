/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU solver for one width of keys. Included by cpu_keys32.c and cpu_keys64.c, which define
 *   KEY      the unsigned type of a key
 *   KEY_BITS 32 or 64
 *   SOLVE    the name of the solver
 * The method (docs/spanning-forest.md): one sequential pass finds every vertex's first arc, which
 * is round one of Boruvka, and sets aside the lightest edges; Boruvka on those alone, contracted;
 * then only the vertices outside the giant component look for lighter ways out. */
#ifndef KEY
#error "KEY, KEY_BITS and SOLVE are to be defined by the file that includes this one"
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
  AHEAD = 24,
  SHORT = 8,
  BEGINNING = 16,
  BLOCK = 64,
  BUFFER = 512,
  SPLIT_MIN = 1 << 14,
  LIST_GRAIN = 1 << 14,
  COMPONENT_GRAIN = 1 << 14,
  ROW_GRAIN = 1 << 15
};

/* A list is split where it has clearly more edges than this for each component. */
static const double SPLIT_EDGES = 1.25, SPLIT_PART = 0.5;

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

/* ---- Gathering ------------------------------------------------------------------------------- */

typedef struct gather_job {
  msf_solver *s;
  list *out;
  msf_prefix bound;
} gather_job;

/* A thread's entries on their way into a list. */
typedef struct gatherer {
  const gather_job *job;
  entry entries[BUFFER];
  uint64_t arcs[BUFFER];
  uint32_t rows[BUFFER];
  unsigned count;
} gatherer;

static void gatherer_flush(gatherer *g) {
  list *out = g->job->out;
  if (g->count == 0)
    return;
  uint64_t at = list_reserve(out, g->count);
  if (at != UINT64_MAX) {
    memcpy(out->entries + at, g->entries, g->count * sizeof *g->entries);
    if (out->arcs != NULL) {
      memcpy(out->arcs + at, g->arcs, g->count * sizeof *g->arcs);
      memcpy(out->rows + at, g->rows, g->count * sizeof *g->rows);
      for (unsigned i = 0; i < g->count; i++)
        out->entries[at + i].ref = (uint32_t)(at + i);
    }
  }
  g->count = 0;
}

/* Make room for the arcs of a block of a row. */
static void gatherer_make_room(gatherer *g) {
  if (g->count + BLOCK + DZO_MSF_LIGHT_SPARE > BUFFER)
    gatherer_flush(g);
}

/* Add an entry if `wanted`, without a branch, into room that has been made. */
DZO_ITEM void gatherer_add(gatherer *g, uint32_t row, entry e, uint64_t arc, bool wanted) {
  e.ref = (uint32_t)arc;
  g->entries[g->count] = e;
  if (g->job->out->arcs != NULL) {
    g->arcs[g->count] = arc;
    g->rows[g->count] = row;
  }
  g->count += wanted;
}

/* The last key that is light in row u, for arcs to larger neighbours; false if none is. */
static bool row_bound(const msf_prefix *bound, uint32_t u, KEY *last) {
  *last = (KEY)bound->key;
  if (bound->all || u <= bound->vertex)
    return true;
  return (*last)-- != 0;
}

static const KEY *row_keys(const msf_solver *s, uint64_t arc) {
#if KEY_BITS == 32
  return s->graph->keys32 + arc;
#else
  return s->graph->keys64 + arc;
#endif
}

/* Set aside those of the arcs at + 0 .. at + 63 of row u that `light` names and that lead to larger
 * neighbours. */
static void gather_block(gatherer *g, uint32_t u, uint64_t at, uint64_t light) {
  const msf_solver *s = g->job->s;
  for (; light != 0; light &= light - 1) {
    uint64_t arc = at + (uint64_t)__builtin_ctzll(light);
    uint32_t v = dzo_arc_neighbour(s->graph, arc);
    gatherer_add(g, u, (entry){u, v, key_at(s, arc), 0}, arc, v > u);
  }
}

#if KEY_BITS == 32
/* The first arc of a row, and its light arcs set aside, in one pass of the widest instructions; of
 * a row that ascends, only as far as there are light ones. */
static ROW gather_row_light(gatherer *g, uint32_t u, uint64_t begin, uint64_t end, KEY last) {
  const msf_solver *s = g->job->s;
  ROW best = {0, UINT32_MAX};
  const unsigned step = s->presorted ? BEGINNING : BLOCK;
  for (uint64_t at = begin; at < end; at += step) {
    unsigned count = end - at < step ? (unsigned)(end - at) : step;
    if (s->presorted && key_at(s, at) > last && at > begin)
      break;
    gatherer_make_room(g);
    msf_row_part part = {s->graph->keys32 + at, s->graph->neighbours + at, count, u, (uint32_t)at};
    ROW row = s->scan.light32(&part, (uint32_t)s->flip, last, &g->entries[g->count], &g->count);
    if (at == begin || row.min < best.min)
      best = (ROW){at - begin + row.first, row.min};
  }
  return best;
}
#endif

/* The light arcs of a row that ascends: its beginning. */
static void gather_beginning(gatherer *g, uint32_t u, uint64_t begin, uint64_t end, KEY last) {
  const msf_solver *s = g->job->s;
  for (uint64_t at = begin; at < end; at += BLOCK) {
    uint64_t stop = end - at < BLOCK ? end : at + BLOCK, arc = at;
    gatherer_make_room(g);
    for (; arc < stop && key_at(s, arc) <= last; arc++) {
      uint32_t v = dzo_arc_neighbour(s->graph, arc);
      gatherer_add(g, u, (entry){u, v, key_at(s, arc), 0}, arc, v > u);
    }
    if (arc < stop)
      return;
  }
}

/* Position of the first arc of row u in the order; light arcs are set aside if `gather`. */
static uint64_t scan_row(gatherer *g, uint32_t u, uint64_t begin, uint64_t end, bool gather,
                         KEY last, KEY *min) {
  const msf_solver *s = g->job->s;
#if KEY_BITS == 32
  if (gather && s->graph->keys32 != NULL && s->graph->neighbours != NULL &&
      g->job->out->arcs == NULL) {
    ROW row = gather_row_light(g, u, begin, end, last);
    *min = row.min;
    return row.first;
  }
#endif
  if (s->presorted || s->graph->map.type == DZO_WEIGHT_NONE) {
    if (gather)
      gather_beginning(g, u, begin, end, last);
    *min = key_at(s, begin);
    return 0;
  }
  ROW row = s->scan.SCAN(row)(row_keys(s, begin), end - begin, (KEY)s->flip);
  *min = row.min;
  for (uint64_t at = begin; gather && row.min <= last && at < end; at += BLOCK) {
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    gatherer_make_room(g);
    gather_block(g, u, at, s->scan.SCAN(at_most)(row_keys(s, at), count, (KEY)s->flip, last));
  }
  return row.first;
}

/* Ask for the beginning of a row that the hardware does not foresee. */
static void prefetch_row(const msf_solver *s, uint64_t arc) {
  if (s->graph->map.type != DZO_WEIGHT_NONE)
    DZO_PREFETCH(row_keys(s, arc));
  if (s->graph->neighbours != NULL)
    DZO_PREFETCH(&s->graph->neighbours[arc]);
}

/* Round one of Boruvka: each vertex picks its first arc; in the same pass over the keys, the light
 * edges are set aside. */
static void pick_first(void *argument, uint64_t begin_unit, uint64_t end_unit, int thread) {
  (void)thread;
  const gather_job *job = argument;
  msf_solver *s = job->s;
  const uint64_t *offsets = s->graph->offsets;
  uint32_t end = msf_row_at(s, end_unit);
  gatherer g;
  g.job = job;
  g.count = 0;
  for (uint32_t u = msf_row_at(s, begin_unit); u < end; u++) {
    uint64_t row = offsets[u], degree = offsets[u + 1] - row;
    if (degree == 0) {
      s->hook[u] = u;
      s->pick[u] = 0;
      continue;
    }
    if (s->presorted && end - u > AHEAD) /* only beginnings are read */
      prefetch_row(s, offsets[u + AHEAD]);
    KEY last, min;
    bool gather = row_bound(&job->bound, u, &last) && job->out != NULL;
    uint64_t first = scan_row(&g, u, row, row + degree, gather, last, &min);
    s->label[u] = (uint32_t)min;
    s->pick[u] = (uint32_t)first;
    s->hook[u] = dzo_arc_neighbour(s->graph, row + first);
  }
  if (job->out != NULL)
    gatherer_flush(&g);
}

/* Is the arc of row u to v, of this key, in the prefix? */
static bool in_prefix(const msf_prefix *bound, uint32_t u, uint32_t v, KEY key) {
  if (bound->all || key < (KEY)bound->key)
    return true;
  return key == (KEY)bound->key && (u < v ? u : v) <= bound->vertex;
}

static const uint32_t *block_neighbours(const dzo_graph *graph, uint64_t at, unsigned count,
                                        uint32_t *buffer) {
  if (graph->neighbours != NULL)
    return graph->neighbours + at;
  dzo_compressed_decode(graph->compressed, at, at + count, buffer);
  return buffer;
}

/* msf_scan.crossing() for rows too short for it. */
DZO_ITEM uint64_t crossing(const uint32_t *neighbours, unsigned count, const uint32_t *label,
                           uint32_t u) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < count; i++)
    mask |= (uint64_t)((neighbours[i] > u) & (label[neighbours[i]] != label[u])) << i;
  return mask;
}

/* Gather the arcs of row u that leave its component and are in the prefix, once an edge. Few do, so
 * their keys are read only then. */
static void gather_row(gatherer *g, uint32_t u) {
  const msf_solver *s = g->job->s;
  const msf_prefix *bound = &g->job->bound;
  const uint32_t *label = s->label;
  uint64_t begin = s->graph->offsets[u], end = s->graph->offsets[u + 1];
  uint32_t buffer[BLOCK];
  for (uint64_t at = begin; at < end; at += BLOCK) {
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    const uint32_t *neighbours = block_neighbours(s->graph, at, count, buffer);
    uint64_t mask = count < SHORT ? crossing(neighbours, count, label, u)
                                  : s->scan.crossing(neighbours, count, label, u);
    gatherer_make_room(g);
    for (; mask != 0; mask &= mask - 1) {
      unsigned i = (unsigned)__builtin_ctzll(mask);
      uint32_t v = neighbours[i];
      KEY key = key_at(s, at + i);
      gatherer_add(g, u, (entry){label[u], label[v], key, 0}, at + i, in_prefix(bound, u, v, key));
    }
  }
}

/* The same where there is a giant component, of which u is no part. The giant's own rows are not
 * looked at, since the other ends see those edges; and of the arcs into it only the first matters:
 * two components are never joined twice. */
static void gather_row_to_giant(gatherer *g, uint32_t u) {
  const msf_solver *s = g->job->s;
  const msf_prefix *bound = &g->job->bound;
  const uint32_t *label = s->label;
  uint64_t best = UINT64_MAX;
  KEY best_key = 0;
  gatherer_make_room(g);
  for (uint64_t arc = s->graph->offsets[u]; arc < s->graph->offsets[u + 1]; arc++) {
    KEY key = key_at(s, arc);
    if (s->presorted && key > (KEY)bound->key)
      break;
    uint32_t v = dzo_arc_neighbour(s->graph, arc), other = label[v];
    if (other == label[u] || !in_prefix(bound, u, v, key))
      continue;
    if (other == s->giant) {
      if (best == UINT64_MAX || key < best_key) {
        best = arc;
        best_key = key;
      }
    } else if (u < v) {
      gatherer_make_room(g);
      gatherer_add(g, u, (entry){label[u], other, key, 0}, arc, true);
    }
  }
  gatherer_make_room(g);
  gatherer_add(g, u, (entry){label[u], s->giant, best_key, 0}, best, best != UINT64_MAX);
}

/* The rows of vertices outside the giant lie far apart: ask for each step of all of them first. */
static void gather_waiting(gatherer *g, const uint32_t *vertices, unsigned count) {
  const msf_solver *s = g->job->s;
  const dzo_graph *graph = s->graph;
  for (unsigned i = 0; i < count; i++)
    prefetch_row(s, graph->offsets[vertices[i]]);
  for (unsigned i = 0; i < count; i++)
    if (graph->offsets[vertices[i]] < graph->offsets[vertices[i] + 1])
      DZO_PREFETCH(&s->label[dzo_arc_neighbour(graph, graph->offsets[vertices[i]])]);
  for (unsigned i = 0; i < count; i++)
    gather_row_to_giant(g, vertices[i]);
}

static void gather_to_giant(gatherer *g, uint32_t begin, uint32_t end) {
  const msf_solver *s = g->job->s;
  uint32_t waiting[BLOCK];
  unsigned count = 0;
  for (uint32_t u = begin; u < end; u++) {
    if (s->label[u] == s->giant)
      continue;
    DZO_PREFETCH(&s->graph->offsets[u]);
    waiting[count++] = u;
    if (count == BLOCK) {
      gather_waiting(g, waiting, count);
      count = 0;
    }
  }
  gather_waiting(g, waiting, count);
}

static void gather_rest(void *argument, uint64_t begin_unit, uint64_t end_unit, int thread) {
  (void)thread;
  const gather_job *job = argument;
  const msf_solver *s = job->s;
  uint32_t begin = msf_row_at(s, begin_unit), end = msf_row_at(s, end_unit);
  gatherer g;
  g.job = job;
  g.count = 0;
  if (s->giant != DZO_MSF_NONE)
    gather_to_giant(&g, begin, end);
  for (uint32_t u = begin; s->giant == DZO_MSF_NONE && u < end; u++)
    gather_row(&g, u);
  gatherer_flush(&g);
}

/* ---- Boruvka on a list ----------------------------------------------------------------------- */

/* Since when a map goes: it leads from the components there were to those there are. */
typedef struct epoch {
  uint32_t *map; /* [components] */
  uint32_t components;
  const struct epoch *outer;
} epoch;

typedef struct rounds {
  msf_solver *s;
  const list *refs; /* what the refs of all entries mean */
  const entry *entries;
  uint64_t count;
  list *next;
  uint64_t *best;      /* [components] the first edge of each: see offer() */
  uint32_t *hook;      /* [components] */
  uint32_t *dense;     /* [components] */
  const uint32_t *map; /* what keep_crossing() renames by */
  const epoch *epoch;
  uint32_t components;
  uint32_t giant; /* abstains: it is too busy a target, and its edges are found from outside */
} rounds;

/* best[c] is key and index where both fit 64 bits, else the index alone. */
DZO_ITEM uint64_t offer_pack(KEY key, uint64_t index) {
#if KEY_BITS == 32
  return (uint64_t)key << 32 | index;
#else
  (void)key;
  return index;
#endif
}

/* Is the offer `a` before the offer `b`? */
DZO_ITEM bool offer_before(const rounds *r, uint64_t a, uint64_t b) {
  if (b == UINT64_MAX)
    return true;
#if KEY_BITS == 32
  if (a >> 32 != b >> 32)
    return a < b;
#else
  KEY key_a = r->entries[a].key, key_b = r->entries[b].key;
  if (key_a != key_b)
    return key_a < key_b;
#endif
  uint32_t ref_a = r->entries[(uint32_t)a].ref, ref_b = r->entries[(uint32_t)b].ref;
  return ref_a != ref_b && ref_before(r->s, r->refs, ref_a, ref_b);
}

DZO_ITEM void offer(const rounds *r, uint64_t *best, uint64_t packed) {
  uint64_t seen = dzo_load_u64(best);
  while (offer_before(r, packed, seen) && !dzo_cas_u64(best, &seen, packed)) {
  }
}

static void make_offers(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const rounds *r = argument;
  for (uint64_t i = begin; i < end; i++) {
    const entry *e = &r->entries[i];
    if (i + AHEAD < end) {
      DZO_PREFETCH(&r->best[e[AHEAD].u]);
      DZO_PREFETCH(&r->best[e[AHEAD].v]);
    }
    uint64_t packed = offer_pack(e->key, i);
    if (e->u != r->giant)
      offer(r, &r->best[e->u], packed);
    if (e->v != r->giant)
      offer(r, &r->best[e->v], packed);
  }
}

static void clear_best(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const rounds *r = argument;
  memset(r->best + begin, 0xff, (end - begin) * sizeof *r->best);
}

/* Hook each component along its best edge and take the edge, once when both ends chose it. What
 * each needs is somewhere else, so it is asked for a block ahead, as in take_picks(). */
static void accept_block(const rounds *r, uint64_t at, unsigned count, int thread) {
  msf_solver *s = r->s;
  const entry *chosen[BLOCK];
  uint64_t numbers[BLOCK];
  for (unsigned i = 0; i < count; i++) {
    uint64_t best = r->best[at + i];
    chosen[i] = best == UINT64_MAX ? NULL : &r->entries[(uint32_t)best];
    DZO_PREFETCH(chosen[i]);
  }
  for (unsigned i = 0; i < count; i++) {
    if (chosen[i] == NULL)
      continue;
    DZO_PREFETCH(&r->best[chosen[i]->u ^ chosen[i]->v ^ (uint32_t)(at + i)]);
    prefetch_number(s->graph, arc_of(r->refs, chosen[i]->ref));
  }
  for (unsigned i = 0; i < count; i++) {
    if (chosen[i] == NULL)
      continue;
    numbers[i] = dzo_arc_number(s->graph, arc_of(r->refs, chosen[i]->ref));
    if (s->taken.bitmap != NULL)
      DZO_PREFETCH_WRITE(&s->taken.bitmap[numbers[i] / 64]);
  }
  for (unsigned i = 0; i < count; i++) {
    uint32_t c = (uint32_t)(at + i);
    r->hook[c] = c;
    if (chosen[i] == NULL)
      continue;
    uint32_t other = chosen[i]->u ^ chosen[i]->v ^ c;
    if (c < other && r->best[other] == r->best[c])
      continue;
    r->hook[c] = other;
    msf_take(s, thread, numbers[i], (uint64_t)chosen[i]->key ^ s->flip);
  }
}

static void accept_offers(void *argument, uint64_t begin, uint64_t end, int thread) {
  for (uint64_t at = begin; at < end; at += BLOCK)
    accept_block(argument, at, end - at < BLOCK ? (unsigned)(end - at) : BLOCK, thread);
}

/* Keep the entries that still join two components, renamed. */
static void keep_crossing(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const rounds *r = argument;
  entry buffer[BUFFER];
  unsigned count = 0;
  for (uint64_t i = begin; i < end; i++) {
    entry e = r->entries[i];
    e.u = r->map[e.u];
    e.v = r->map[e.v];
    buffer[count] = e;
    count += e.u != e.v;
    if (count < BUFFER && i + 1 < end)
      continue;
    uint64_t at = list_reserve(r->next, count);
    if (at == UINT64_MAX)
      return;
    memcpy(r->next->entries + at, buffer, count * sizeof *buffer);
    count = 0;
  }
}

static dzo_status rounds_alloc(rounds *r, uint32_t **map) {
  dzo_context *context = r->s->context;
  r->best = dzo_alloc(context, r->components, sizeof *r->best);
  r->hook = dzo_alloc(context, r->components, sizeof *r->hook);
  r->dense = dzo_alloc(context, r->components, sizeof *r->dense);
  *map = dzo_alloc(context, r->components, sizeof **map);
  return r->best && r->hook && r->dense && *map ? DZO_OK : DZO_E_MEMORY;
}

/* About how many entries keep_crossing() would keep, with room to spare: a guess from a sample. */
static uint64_t guess_crossing(const rounds *r) {
  enum { SAMPLES = 1024, SPARE = 4096 };
  if (r->count <= SAMPLES)
    return r->count;
  uint64_t crossing = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    const entry *e = &r->entries[r->count / SAMPLES * i];
    crossing += r->map[e->u] != r->map[e->v];
  }
  uint64_t guess = r->count / SAMPLES * (crossing + crossing / 8) + SPARE;
  return guess < r->count ? guess : r->count;
}

/* Put the crossing entries into `to`, a list of its own. */
static dzo_status cross(rounds *r, list *to) {
  uint64_t capacity = guess_crossing(r);
  for (;;) {
    DZO_TRY(list_alloc(r->s->context, to, capacity, true));
    r->next = to;
    dzo_parallel_for(r->s->threads, r->count, LIST_GRAIN, keep_crossing, r);
    if (to->count <= to->capacity)
      return DZO_OK;
    list_free(to);
    capacity = r->count;
  }
}

typedef struct composition {
  uint32_t *map;
  const uint32_t *dense;
} composition;

static void compose_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const composition *job = argument;
  for (uint64_t c = begin; c < end; c++)
    job->map[c] = job->dense[job->map[c]];
}

static void identity(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  uint32_t *map = argument;
  for (uint64_t c = begin; c < end; c++)
    map[c] = (uint32_t)c;
}

static void compose(const rounds *r) {
  for (const epoch *e = r->epoch; e != NULL; e = e->outer) {
    composition job = {e->map, r->dense};
    dzo_parallel_for(r->s->threads, e->components, COMPONENT_GRAIN, compose_range, &job);
  }
}

/* A component that a good part of a sample of the entries touches, or NONE. */
static uint32_t find_busy(const list *l) {
  enum { SAMPLES = 128 };
  uint32_t candidate = DZO_MSF_NONE;
  unsigned found = 0;
  int lead = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) { /* majority vote (Boyer, Moore 1981) */
    uint32_t u = l->entries[i * l->count / SAMPLES].u;
    candidate = lead == 0 ? u : candidate;
    lead += u == candidate ? 1 : -1;
  }
  for (uint64_t i = 0; i < SAMPLES; i++)
    found += l->entries[i * l->count / SAMPLES].u == candidate;
  return found * 4 >= SAMPLES ? candidate : DZO_MSF_NONE;
}

/* Let the entries follow `map` to their new components, dropping those inside one. */
static dzo_status follow(rounds *r, list *l, const uint32_t *map) {
  list to;
  r->entries = l->entries;
  r->count = l->count;
  r->map = map;
  DZO_TRY(cross(r, &to));
  dzo_free(l->block);
  l->entries = to.entries;
  l->block = to.block;
  l->count = to.count;
  return DZO_OK;
}

/* One round: every component but the busiest chooses its first edge. */
static dzo_status run_round(rounds *r, list *l) {
  msf_solver *s = r->s;
  r->entries = l->entries;
  r->count = l->count;
  r->giant = find_busy(l);
  dzo_parallel_for(s->threads, r->components, COMPONENT_GRAIN, clear_best, r);
  dzo_parallel_for(s->threads, r->count, LIST_GRAIN, make_offers, r);
  dzo_parallel_for(s->threads, r->components, COMPONENT_GRAIN, accept_offers, r);
  uint32_t roots;
  DZO_TRY(msf_contract(s, r->hook, r->components, r->dense, &roots));
  compose(r);
  r->components = roots;
  DZO_TRY(follow(r, l, r->dense));
  return dzo_progress(s->context, "solve", s->n - roots, s->n);
}

/* ---- Splitting a long list ------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
  KEY x = *(const KEY *)a, y = *(const KEY *)b;
  return x < y ? -1 : x > y;
}

/* The key at about `part` of a list; *splits is whether anything is above it. */
static KEY key_at_part(const list *l, double part, bool *splits) {
  enum { SAMPLES = 512 };
  KEY keys[SAMPLES];
  for (uint64_t i = 0; i < SAMPLES; i++)
    keys[i] = l->entries[i * l->count / SAMPLES].key;
  qsort(keys, SAMPLES, sizeof *keys, compare_keys);
  KEY key = keys[(unsigned)(part * SAMPLES)];
  *splits = key < keys[SAMPLES - 1];
  return key;
}

typedef struct splitting {
  const list *from;
  entry *to; /* the light ones from the front, the heavy ones from the back */
  KEY last;
  uint64_t light, heavy; /* accessed atomically */
} splitting;

static void split_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  splitting *job = argument;
  entry light[BUFFER], heavy[BUFFER];
  for (uint64_t at = begin; at < end; at += BUFFER) {
    uint64_t stop = end - at < BUFFER ? end : at + BUFFER;
    unsigned lights = 0, heavies = 0;
    for (uint64_t i = at; i < stop; i++) {
      entry e = job->from->entries[i];
      light[lights] = e;
      heavy[heavies] = e;
      lights += e.key <= job->last;
      heavies += e.key > job->last;
    }
    uint64_t first = dzo_fetch_add_u64(&job->light, lights);
    memcpy(job->to + first, light, lights * sizeof *light);
    first = job->from->count - dzo_fetch_add_u64(&job->heavy, heavies) - heavies;
    memcpy(job->to + first, heavy, heavies * sizeof *heavy);
  }
}

/* Where there are many more edges than components, most of them will prove useless once the lighter
 * ones are merged, as in filter-Kruskal (Osipov, Sanders, Singler 2009). Move them to `heavy`. */
static dzo_status split(const rounds *r, list *l, list *heavy) {
  *heavy = (list){0};
  double part = SPLIT_EDGES * (double)r->components / (double)l->count;
  bool splits = l->count >= SPLIT_MIN && part < SPLIT_PART;
  splitting job = {.from = l};
  if (splits)
    job.last = key_at_part(l, part, &splits);
  if (!splits)
    return DZO_OK;
  job.to = dzo_alloc(r->s->context, l->count, sizeof *job.to);
  if (job.to == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(r->s->threads, l->count, LIST_GRAIN, split_range, &job);
  dzo_free(l->block);
  *heavy = (list){.entries = job.to + job.light, .block = job.to, .count = job.heavy};
  l->entries = job.to;
  l->block = NULL;
  l->count = job.light;
  return DZO_OK;
}

static dzo_status merge_list(rounds *r, list *l);

/* Merge along the light part of a list that was split, then see what is left of the heavy part. */
static dzo_status merge_split(rounds *r, list *light, list *heavy) {
  epoch e = {.outer = r->epoch, .components = r->components};
  e.map = dzo_alloc(r->s->context, e.components, sizeof *e.map);
  if (e.map == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(r->s->threads, e.components, COMPONENT_GRAIN, identity, e.map);
  r->epoch = &e;
  dzo_status status = merge_list(r, light);
  r->epoch = e.outer;
  if (status == DZO_OK)
    status = follow(r, heavy, e.map);
  dzo_free(e.map);
  return status;
}

/* Merge the components along all edges of a list, which is used up. */
static dzo_status merge_list(rounds *r, list *l) {
  while (l->count > 0) {
    list heavy;
    DZO_TRY(split(r, l, &heavy));
    dzo_status status = heavy.count > 0 ? merge_split(r, l, &heavy) : run_round(r, l);
    if (status != DZO_OK) {
      dzo_free(heavy.block);
      l->count = 0;
      return status;
    }
    if (heavy.block != NULL) {
      dzo_free(l->block);
      l->entries = heavy.entries;
      l->block = heavy.block;
      l->count = heavy.count;
    }
  }
  return DZO_OK;
}

/* Merge the components along the edges of `l`, which is used up, and relabel the vertices. */
static dzo_status boruvka(msf_solver *s, list *l) {
  if (l->count == 0)
    return DZO_OK;
  rounds r = {.s = s, .refs = l, .components = s->components};
  epoch first = {.components = s->components};
  r.epoch = &first;
  dzo_status status = rounds_alloc(&r, &first.map);
  if (status == DZO_OK) {
    dzo_parallel_for(s->threads, first.components, COMPONENT_GRAIN, identity, first.map);
    status = merge_list(&r, l);
  }
  if (status == DZO_OK) {
    msf_relabel(s, first.map);
    s->components = r.components;
    s->giant = msf_find_giant(s);
  }
  dzo_free(first.map);
  dzo_free(r.dense);
  dzo_free(r.hook);
  dzo_free(r.best);
  msf_note(s, "boruvka");
  return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The key of u's picked arc; narrow ones are kept where labels will be. */
static uint64_t picked_key(const msf_solver *s, uint32_t u, uint64_t arc) {
  return KEY_BITS == 32 ? s->label[u] : key_at(s, arc);
}

/* Take the picked arcs of all vertices but those that another vertex also picked. Each vertex's
 * data are somewhere else, so they are asked for a block ahead. */
static void take_picks(void *argument, uint64_t begin, uint64_t end, int thread) {
  msf_solver *s = argument;
  const dzo_graph *graph = s->graph;
  for (uint64_t at = begin; at < end; at += BLOCK) {
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    uint64_t arcs[BLOCK], numbers[BLOCK];
    for (unsigned i = 0; i < count; i++) {
      arcs[i] = graph->offsets[at + i] + s->pick[at + i];
      DZO_PREFETCH(&s->hook[dzo_load_u32(&s->hook[at + i])]);
      prefetch_number(graph, arcs[i]);
    }
    for (unsigned i = 0; i < count; i++) {
      bool isolated = graph->offsets[at + i] == graph->offsets[at + i + 1];
      numbers[i] = isolated ? 0 : dzo_arc_number(graph, arcs[i]);
      if (s->taken.bitmap != NULL)
        DZO_PREFETCH_WRITE(&s->taken.bitmap[numbers[i] / 64]);
    }
    for (unsigned i = 0; i < count; i++) {
      uint32_t u = (uint32_t)(at + i), v = dzo_load_u32(&s->hook[u]);
      if (v == u)
        continue;
      if (u < v && dzo_load_u32(&s->hook[v]) == u)
        dzo_store_u32(&s->hook[u], u);
      else
        msf_take(s, thread, numbers[i], picked_key(s, u, arcs[i]) ^ s->flip);
    }
  }
}

/* Round one, and on the way the light edges, contracted. */
static dzo_status first_phase(msf_solver *s, const msf_prefix *bound, uint64_t capacity,
                              list *light) {
  list raw = {0};
  bool direct = s->graph->arcs <= DZO_MSF_DIRECT_ARCS;
  if (!bound->all)
    DZO_TRY(list_alloc(s->context, &raw, capacity, direct));
  gather_job job = {s, bound->all ? NULL : &raw, *bound};
  dzo_parallel_for(s->threads, msf_row_units(s), ROW_GRAIN, pick_first, &job);
  msf_note(s, "scan");
  dzo_status status = dzo_progress(s->context, "solve", 0, s->n);
  if (status == DZO_OK) {
    dzo_parallel_for(s->threads, s->n, COMPONENT_GRAIN, take_picks, s);
    msf_note(s, "take");
    status = msf_contract(s, s->hook, s->n, s->label, &s->components);
  }
  msf_free_picks(s);
  msf_note(s, "contract");
  s->giant = DZO_MSF_NONE;
  *light = (list){0};
  if (status != DZO_OK || bound->all || raw.count > raw.capacity) {
    list_free(&raw);
    return status;
  }
  rounds r = {.s = s, .entries = raw.entries, .count = raw.count, .map = s->label};
  status = cross(&r, light);
  if (status == DZO_OK) {
    light->arcs = raw.arcs;
    light->rows = raw.rows;
    raw.arcs = NULL;
    raw.rows = NULL;
  }
  list_free(&raw);
  msf_note(s, "light");
  return status;
}

/* Gather and merge what is in the prefix and crosses. Should there be more of it than sampling
 * foretold, *full is set and nothing else has happened. */
static dzo_status next_phase(msf_solver *s, const msf_prefix *bound, uint64_t capacity,
                             bool *full) {
  list rest;
  DZO_TRY(list_alloc(s->context, &rest, capacity,
                     s->giant == DZO_MSF_NONE && s->graph->arcs <= DZO_MSF_DIRECT_ARCS));
  gather_job job = {s, &rest, *bound};
  dzo_parallel_for(s->threads, msf_row_units(s), ROW_GRAIN, gather_rest, &job);
  msf_note(s, "gather");
  *full = rest.count > rest.capacity;
  dzo_status status = dzo_progress(s->context, "solve", s->n - s->components, s->n);
  if (status == DZO_OK && !*full)
    status = boruvka(s, &rest);
  list_free(&rest);
  return status;
}

dzo_status SOLVE(msf_solver *s) {
  msf_prefix bound;
  uint64_t capacity;
  DZO_TRY(msf_choose_prefix(s, &bound, &capacity));
  list light;
  msf_note(s, "sample");
  DZO_TRY(first_phase(s, &bound, capacity, &light));
  dzo_status status = boruvka(s, &light);
  list_free(&light);
  if (status != DZO_OK || s->components == 1)
    return status;
  return msf_finish(s, next_phase);
}
