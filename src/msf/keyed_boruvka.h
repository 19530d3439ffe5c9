/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Boruvka's rounds on a list of edges between components. For one width of keys: see cpu_keyed.h.
 */
#ifndef DZO_MSF_KEYED_BORUVKA_H
#define DZO_MSF_KEYED_BORUVKA_H

#include "msf/keyed_list.h"

/* A list is split where it has clearly more edges than this for each component. */
static const double SPLIT_EDGES = 1.25, SPLIT_PART = 0.5;
enum { SPLIT_MIN = 1 << 14 };

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

#endif
