/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "random_graphs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014). */
uint64_t random_bits(random_source *random) {
  uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

uint64_t random_below(random_source *random, uint64_t bound) { return random_bits(random) % bound; }

double random_unit(random_source *random) { return (double)(random_bits(random) >> 11) * 0x1p-53; }

static void *take(uint64_t count, size_t size) {
  void *p = calloc(count + 1, size);
  if (p == NULL)
    abort();
  return p;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

typedef struct builder {
  random_source random;
  random_graph *g;
  uint64_t room;
} builder;

static void add(builder *b, uint64_t u, uint64_t v) {
  dzo_edges *e = &b->g->edges;
  if (e->count == b->room) {
    b->room = 2 * b->room + 16;
    b->g->u = realloc(b->g->u, b->room * sizeof *b->g->u);
    b->g->v = realloc(b->g->v, b->room * sizeof *b->g->v);
    if (b->g->u == NULL || b->g->v == NULL)
      abort();
  }
  bool swap = random_below(&b->random, 2) == 1;
  b->g->u[e->count] = (uint32_t)(swap ? v : u);
  b->g->v[e->count++] = (uint32_t)(swap ? u : v);
}

/* `count` edges with both ends in first .. first + n - 1. */
static void add_scattered(builder *b, uint64_t first, uint64_t n, uint64_t count) {
  for (uint64_t i = 0; i < count && n > 0; i++)
    add(b, first + random_below(&b->random, n), first + random_below(&b->random, n));
}

static void add_clique(builder *b, uint64_t first, uint64_t n) {
  for (uint64_t u = 0; u < n; u++)
    for (uint64_t v = 0; v < u; v++)
      add(b, first + u, first + v);
}

static void add_grid(builder *b, uint64_t n) {
  uint64_t side = 1;
  while ((side + 1) * (side + 1) <= n)
    side++;
  for (uint64_t v = 0; v < side * side && n > 0; v++) {
    if (v % side + 1 < side && random_below(&b->random, 10) < 8)
      add(b, v, v + 1);
    if (v + side < side * side && random_below(&b->random, 10) < 8)
      add(b, v, v + side);
  }
}

static void add_islands(builder *b, uint64_t n) {
  for (uint64_t first = 0; first < n;) {
    uint64_t size = 1 + random_below(&b->random, 6);
    size = size < n - first ? size : n - first;
    if (random_below(&b->random, 2) == 0)
      add_clique(b, first, size);
    else
      add_scattered(b, first, size, random_below(&b->random, 2 * size + 1));
    first += size;
  }
}

static void add_tree(builder *b, uint64_t n) {
  uint64_t back = 1 + random_below(&b->random, n + 1); /* 1: a path */
  for (uint64_t v = 1; v < n; v++)
    add(b, v, v - 1 - random_below(&b->random, back < v ? back : v));
}

static void add_shape(builder *b, uint64_t n) {
  switch (random_below(&b->random, 9)) {
  case 0: /* few edges or none */
    add_scattered(b, 0, n, random_below(&b->random, n + 1));
    return;
  case 1:
    add_scattered(b, 0, n, 2 * n + random_below(&b->random, 3 * n + 1));
    return;
  case 2: /* many parallel edges */
    add_scattered(b, 0, 1 + n / 8, n + random_below(&b->random, 8 * n + 1));
    return;
  case 3:
    for (uint64_t v = 1; v < n; v++)
      add(b, n / 2, v == n / 2 ? 0 : v);
    return;
  case 4:
    add_tree(b, n);
    return;
  case 5:
    add_clique(b, 0, n < 40 ? n : 40);
    return;
  case 6:
    add_grid(b, n);
    return;
  case 7:
    add_islands(b, n);
    return;
  case 8: /* two halves and one bridge */
    add_scattered(b, 0, n / 2, 3 * n);
    add_scattered(b, n / 2, n - n / 2, 3 * n);
    if (n > 1)
      add(b, 0, n - 1);
    return;
  }
}

/* Some loops and some copies of edges. */
static void add_noise(builder *b, uint64_t n) {
  uint64_t loops = random_below(&b->random, 3) == 0 ? random_below(&b->random, n + 1) : 0;
  for (uint64_t i = 0; i < loops; i++) {
    uint64_t v = random_below(&b->random, n);
    add(b, v, v);
  }
  uint64_t copies = random_below(&b->random, 3) == 0 ? random_below(&b->random, n + 1) : 0;
  for (uint64_t i = 0; i < copies && b->g->edges.count > 0; i++) {
    uint64_t at = random_below(&b->random, b->g->edges.count);
    add(b, b->g->u[at], b->g->v[at]);
  }
}

/* ---- Weights --------------------------------------------------------------------------------- */

static double random_real(random_source *r, uint64_t style, double largest, int flags) {
  const double extremes[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             largest,
                             -largest,
                             0x1p-149,
                             -0x1p-149,
                             (double)INFINITY,
                             -(double)INFINITY};
  switch (style) {
  case 0:
    return random_unit(r);
  case 1: /* ties */
    return (double)random_below(r, 4) / 2 - 0.5;
  case 2:
    return 2.5;
  case 3:
    return (random_unit(r) - 0.5) * 1000;
  case 4: /* many magnitudes */
    return ldexp(random_unit(r) - 0.5, (int)random_below(r, 60) - 30);
  default:
    return extremes[random_below(r, flags & RANDOM_FINITE ? 8 : 10)];
  }
}

static uint64_t random_natural(random_source *r, uint64_t style, uint64_t largest) {
  const uint64_t extremes[] = {0, 1, largest, largest - 1, largest / 2, largest / 2 + 1};
  switch (style) {
  case 0:
    return random_bits(r) & largest;
  case 1:
    return random_below(r, 4);
  case 2:
    return 7;
  case 3:
    return random_below(r, 1000);
  case 4:
    return (random_bits(r) & largest) >> random_below(r, 32);
  default:
    return extremes[random_below(r, sizeof extremes / sizeof *extremes)];
  }
}

static int64_t random_integer(random_source *r, uint64_t style) {
  const int64_t extremes[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
  switch (style) {
  case 0:
    return (int64_t)random_bits(r);
  case 1:
    return (int64_t)random_below(r, 4) - 2;
  case 2:
    return -7;
  case 3:
    return (int64_t)random_below(r, 2001) - 1000;
  case 4:
    return (int64_t)random_bits(r) / (INT64_C(1) << random_below(r, 60));
  default:
    return extremes[random_below(r, sizeof extremes / sizeof *extremes)];
  }
}

static void add_weights(builder *b, int flags) {
  random_graph *g = b->g;
  random_source *r = &b->random;
  dzo_weight_type type = g->edges.weight_type;
  uint64_t style = random_below(r, 6);
  if (type == DZO_WEIGHT_NONE)
    return;
  g->weights = take(g->edges.count, 8);
  for (uint64_t i = 0; i < g->edges.count; i++) {
    if (type == DZO_WEIGHT_U32)
      ((uint32_t *)g->weights)[i] = (uint32_t)random_natural(r, style, UINT32_MAX);
    else if (type == DZO_WEIGHT_U64)
      ((uint64_t *)g->weights)[i] = random_natural(r, style, UINT64_MAX);
    else if (type == DZO_WEIGHT_I64)
      ((int64_t *)g->weights)[i] = random_integer(r, style);
    else if (type == DZO_WEIGHT_F32)
      ((float *)g->weights)[i] = (float)random_real(r, style, 0x1.fffffep127, flags);
    else
      ((double *)g->weights)[i] = random_real(r, style, 0x1.fffffffffffffp1023, flags);
  }
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void add_names(builder *b) {
  random_graph *g = b->g;
  random_source *r = &b->random;
  g->edges.first_label = random_below(r, 2);
  switch (random_below(r, 4)) {
  case 0: { /* numbers with gaps, now and then beyond 32 bits */
    uint64_t step = random_below(r, 2) ? UINT64_C(1) << 33 : 5, number = random_below(r, 100);
    g->numbers = take(g->edges.count, sizeof *g->numbers);
    for (uint64_t i = 0; i < g->edges.count; i++) {
      g->numbers[i] = number;
      number += 1 + random_below(r, step);
    }
    break;
  }
  case 1:
    g->edges.first_number = random_below(r, 2) ? UINT64_C(1) << 40 : 12;
    break;
  }
  if (random_below(r, 3) == 0) {
    uint64_t label = random_below(r, 50);
    g->labels = take(g->edges.vertices, sizeof *g->labels);
    for (uint64_t v = 0; v < g->edges.vertices; v++) {
      g->labels[v] = label;
      label += 1 + random_below(r, 9);
    }
    g->edges.first_label = 0;
  }
}

random_graph *random_graph_make(uint64_t seed, uint64_t most, dzo_weight_type type, int flags) {
  random_graph *g = take(1, sizeof *g);
  builder b = {{seed * UINT64_C(0x2545f4914f6cdd1d)}, g, 0};
  uint64_t n = random_below(&b.random, most + 1);
  g->edges.vertices = n;
  g->edges.weight_type = type;
  if (n > 0) {
    add_shape(&b, n);
    add_noise(&b, n);
  }
  add_weights(&b, flags);
  if (!(flags & RANDOM_PLAIN_NUMBERS))
    add_names(&b);
  g->edges.u = g->u;
  g->edges.v = g->v;
  g->edges.weights = g->weights;
  g->edges.numbers = g->numbers;
  g->edges.labels = g->labels;
  return g;
}

void random_graph_free(random_graph *g) {
  if (g == NULL)
    return;
  free(g->u);
  free(g->v);
  free(g->weights);
  free(g->numbers);
  free(g->labels);
  free(g);
}
