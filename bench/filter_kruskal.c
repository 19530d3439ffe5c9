/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "bench/filter_kruskal.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"

typedef filter_kruskal_edge edge;

enum {
  BASE = 1 << 13, /* edges that are sorted at once: what the second-level cache holds */
  AHEAD = 16,     /* edges to look ahead for the cache */
  MAX_SAMPLE = 1 << 10,
  DIGIT_BITS = 11,
  DIGITS = 1 << DIGIT_BITS
};

typedef struct solver {
  uint32_t *parent;
  edge *scratch; /* [BASE] */
  edge *forest;
  uint64_t count, limit; /* edges in the forest now, and when it is complete for sure */
  uint64_t draws;
  bool prefetch;
} solver;

/* ---- Union-find: by index, with path halving ---- */

static inline uint32_t find(uint32_t *parent, uint32_t x) {
  uint32_t up = parent[x];
  while (up != x) {
    uint32_t above = parent[up];
    parent[x] = above;
    x = above;
    up = parent[x];
  }
  return x;
}

static void kruskal(solver *s, const edge *sorted, uint64_t size) {
  for (uint64_t i = 0; i < size && s->count < s->limit; i++) {
    uint32_t x = find(s->parent, sorted[i].u), y = find(s->parent, sorted[i].v);
    if (x == y)
      continue;
    if (x < y)
      s->parent[y] = x;
    else
      s->parent[x] = y;
    s->forest[s->count++] = sorted[i];
  }
}

/* ---- Sorting: least significant digit first ---- */

static void sort_digit(const edge *from, edge *to, uint64_t size, unsigned shift) {
  uint32_t place[DIGITS] = {0};
  for (uint64_t i = 0; i < size; i++)
    place[from[i].weight >> shift & (DIGITS - 1)]++;
  uint32_t sum = 0;
  for (int d = 0; d < DIGITS; d++) {
    uint32_t digits = place[d];
    place[d] = sum;
    sum += digits;
  }
  for (uint64_t i = 0; i < size; i++)
    to[place[from[i].weight >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_few(edge *edges, uint64_t size) {
  for (uint64_t i = 1; i < size; i++) {
    edge moved = edges[i];
    uint64_t j = i;
    for (; j > 0 && edges[j - 1].weight > moved.weight; j--)
      edges[j] = edges[j - 1];
    edges[j] = moved;
  }
}

/* Digits above the highest in which weights differ need no pass. */
static void sort(solver *s, edge *edges, uint64_t size) {
  if (size <= 64) {
    sort_few(edges, size);
    return;
  }
  uint32_t differing = 0;
  for (uint64_t i = 1; i < size; i++)
    differing |= edges[i].weight ^ edges[0].weight;
  edge *from = edges, *to = s->scratch;
  for (unsigned shift = 0; shift < 32 && differing >> shift != 0; shift += DIGIT_BITS) {
    sort_digit(from, to, size, shift);
    edge *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != edges)
    memcpy(edges, from, size * sizeof *edges);
}

/* ---- Filter-Kruskal ---- */

static int by_weight(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The median of a random sample of about sqrt(size) weights. */
static uint32_t choose_pivot(solver *s, const edge *edges, uint64_t size) {
  uint32_t sample[MAX_SAMPLE];
  uint64_t wanted = 1;
  while (wanted < MAX_SAMPLE && wanted * wanted < size)
    wanted *= 2;
  for (uint64_t i = 0; i < wanted; i++)
    sample[i] = edges[dzo_random_word(1, s->draws++) % size].weight;
  qsort(sample, wanted, sizeof *sample, by_weight);
  return sample[(wanted - 1) / 2];
}

/* Bring the edges up to the pivot to the front; how many those are. */
static uint64_t partition(edge *edges, uint64_t size, uint32_t pivot) {
  uint64_t light = 0;
  for (uint64_t i = 0; i < size; i++) {
    edge e = edges[i];
    edges[i] = edges[light];
    edges[light] = e;
    light += e.weight <= pivot;
  }
  return light;
}

/* Drop the edges inside one tree; how many stay. */
static uint64_t filter(solver *s, edge *edges, uint64_t size) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < size; i++) {
    if (s->prefetch && i + AHEAD < size) {
      DZO_PREFETCH(&s->parent[edges[i + AHEAD].u]);
      DZO_PREFETCH(&s->parent[edges[i + AHEAD].v]);
    }
    edge e = edges[i];
    edges[kept] = e;
    kept += find(s->parent, e.u) != find(s->parent, e.v);
  }
  return kept;
}

static dzo_status solve(dzo_context *context, solver *s, edge *edges, uint64_t size) {
  while (size > BASE && s->count < s->limit) {
    DZO_TRY(dzo_progress(context, "yardstick", 0, 0));
    uint32_t pivot = choose_pivot(s, edges, size);
    uint64_t light = partition(edges, size, pivot);
    if (light == size) { /* the pivot is the heaviest weight, perhaps the only one */
      light = partition(edges, size, pivot - (pivot > 0));
      if (light == 0 || light == size) {
        kruskal(s, edges, size);
        return DZO_OK;
      }
    }
    DZO_TRY(solve(context, s, edges, light));
    edges += light;
    size = filter(s, edges, size - light);
  }
  if (s->count < s->limit) {
    sort(s, edges, size);
    kruskal(s, edges, size);
  }
  return DZO_OK;
}

static uint64_t take_edges(const filter_kruskal_graph *g, edge *edges) {
  uint64_t size = 0;
  for (uint64_t u = 0; u < g->vertices; u++) {
    for (uint64_t arc = g->offsets[u]; arc < g->offsets[u + 1]; arc++) {
      if (g->neighbours[arc] > u)
        edges[size++] = (edge){g->weights[arc], (uint32_t)u, g->neighbours[arc]};
    }
  }
  return size;
}

static dzo_status run(dzo_context *context, const filter_kruskal_graph *g, solver *s, edge *edges) {
  for (uint64_t x = 0; x < g->vertices; x++)
    s->parent[x] = (uint32_t)x;
  return solve(context, s, edges, take_edges(g, edges));
}

dzo_status filter_kruskal(dzo_context *context, const filter_kruskal_graph *graph, bool prefetch,
                          filter_kruskal_edge **forest, uint64_t *count) {
  *forest = NULL;
  *count = 0;
  solver s = {
      .prefetch = prefetch,
      .parent = dzo_alloc(context, graph->vertices, sizeof *s.parent),
      .scratch = dzo_alloc(context, BASE, sizeof *s.scratch),
      .forest = dzo_alloc(context, graph->vertices, sizeof *s.forest),
      .limit = graph->vertices > 0 ? graph->vertices - 1 : 0,
  };
  edge *edges = dzo_alloc(context, graph->offsets[graph->vertices] / 2, sizeof *edges);
  dzo_status status = DZO_E_MEMORY;
  if (s.parent != NULL && s.scratch != NULL && s.forest != NULL && edges != NULL)
    status = run(context, graph, &s, edges);
  dzo_free(edges);
  dzo_free(s.scratch);
  dzo_free(s.parent);
  if (status != DZO_OK) {
    dzo_free(s.forest);
    return status;
  }
  *forest = s.forest;
  *count = s.count;
  return DZO_OK;
}
