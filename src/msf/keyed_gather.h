/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Gathering edges from the rows: round one of Boruvka with the light edges on the way, and later
 * what crosses between components. For one width of keys: see cpu_keyed.h. */
#ifndef DZO_MSF_KEYED_GATHER_H
#define DZO_MSF_KEYED_GATHER_H

#include "msf/keyed_list.h"

enum {
  SHORT = 8,     /* arcs of a row that are not worth a call */
  BEGINNING = 16 /* arcs of an ascending row read at a time */
};

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

#endif
