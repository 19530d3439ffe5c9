/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The steps of the generators that the CPU and the GPU share. Every rounding counts: nothing may be
 * contracted or reassociated. */
#ifndef DZO_GRAPH_GENERATE_ITEM_H
#define DZO_GRAPH_GENERATE_ITEM_H

#include "base/random.h"
#include "dzo/graph.h"

/* Weight i becomes `unit` / 2^48, unit < 2^48: as f64 exactly; as f32 and u32 the top 24 bits, as a
 * fraction and as an integer. */
DZO_ITEM void dzo_generate_store(dzo_weight_type type, void *weights, uint64_t i, uint64_t unit) {
  uint32_t top = (uint32_t)(unit >> 24);
  if (type == DZO_WEIGHT_F64)
    ((double *)weights)[i] = dzo_lcg48_real(unit);
  else if (type == DZO_WEIGHT_F32)
    ((float *)weights)[i] = (float)top * 0x1p-24f;
  else if (type == DZO_WEIGHT_U32)
    ((uint32_t *)weights)[i] = top;
}

/* ---- R-MAT ---- */

/* An edge that is being drawn. */
typedef struct dzo_rmat_edge {
  uint64_t state;
  double a, b, c, d; /* probabilities of the four quadrants */
  uint64_t place;    /* u in the upper half, v in the lower */
} dzo_rmat_edge;

/* Draws that an edge takes. */
DZO_ITEM uint64_t dzo_rmat_draws(unsigned scale) { return 1 + 5 * (uint64_t)(scale - 1); }

/* Below a: upper left; below a + b: v's half is the right one; below a + b + c: u's half is the
 * lower one; else both. */
DZO_ITEM uint64_t dzo_rmat_quadrant(double p, double a, double b, double c) {
  uint64_t right = (uint64_t)(p >= a) - (uint64_t)(p >= a + b) + (uint64_t)(p >= a + b + c);
  return (uint64_t)(p >= a + b) << 32 | right;
}

DZO_ITEM double dzo_rmat_vary(double probability, uint64_t *state) {
  *state = dzo_lcg48_next(*state);
  return probability * (0.95 + 0.1 * dzo_lcg48_real(*state));
}

DZO_ITEM void dzo_rmat_first(dzo_rmat_edge *x) {
  x->state = dzo_lcg48_next(x->state);
  x->a = 0.45;
  x->b = 0.25;
  x->c = 0.15;
  x->d = 0.15;
  x->place = dzo_rmat_quadrant(dzo_lcg48_real(x->state), 0.45, 0.25, 0.15);
}

DZO_ITEM void dzo_rmat_next(dzo_rmat_edge *x) {
  uint64_t state = x->state;
  double a = dzo_rmat_vary(x->a, &state);
  double b = dzo_rmat_vary(x->b, &state);
  double c = dzo_rmat_vary(x->c, &state);
  double d = dzo_rmat_vary(x->d, &state);
  double sum = a + b + c + d;
  x->a = a / sum;
  x->b = b / sum;
  x->c = c / sum;
  x->d = d / sum;
  x->state = dzo_lcg48_next(state);
  x->place = x->place << 1 | dzo_rmat_quadrant(dzo_lcg48_real(x->state), x->a, x->b, x->c);
}

/* The contest's shuffle swaps each place in turn with any place: the draw `state` means this one.
 */
DZO_ITEM uint64_t dzo_rmat_partner(uint64_t state, uint64_t vertices) {
  return (uint64_t)((double)vertices * dzo_lcg48_real(state));
}

/* ---- SSCA2 ---- */

/* Fisher and Yates: place i is swapped with one not before it. */
DZO_ITEM uint64_t dzo_ssca2_partner(uint64_t state, uint64_t i, uint64_t vertices) {
  uint64_t j = (uint64_t)((double)i + dzo_lcg48_real(state) * (double)(vertices - i));
  /* The sum may be rounded up to `vertices`. */
  return j == vertices ? j - 1 : j;
}

/* For t = 1 .. scale - 1 vertex i tries one at distance 2^t and up to half of that more. One in the
 * same clique costs one draw, any other four, and is linked with this probability, which halves
 * each time. */
DZO_ITEM bool dzo_ssca2_try_link(uint64_t *state, uint64_t i, unsigned t, double probability,
                                 uint64_t vertices, const uint32_t *clique_of, uint64_t *j) {
  uint64_t distance = UINT64_C(1) << t;
  *state = dzo_lcg48_next(*state);
  double ahead = (double)(i + distance) + dzo_lcg48_real(*state) * (double)(distance / 2);
  *j = (uint64_t)ahead & (vertices - 1);
  if (clique_of[*j] == clique_of[i])
    return false;
  *state = dzo_lcg48_next(dzo_lcg48_next(*state));
  double p = dzo_lcg48_real(*state);
  *state = dzo_lcg48_next(*state);
  return p < probability;
}

enum { DZO_SSCA2_LINK_DRAWS = 4 };

/* ---- Grid ---- */

/* Edge e of the whole grid is kept? */
DZO_ITEM bool dzo_grid_keeps(uint64_t seed, uint64_t edge, double keep) {
  return (double)(dzo_random_word(seed, 2 * edge) >> 11) * 0x1p-53 < keep;
}

/* ---- Uniform ---- */

/* Both endpoints of edge i, u in the upper half. */
DZO_ITEM uint64_t dzo_uniform_ends(uint64_t seed, uint64_t i, unsigned scale) {
  uint64_t word = dzo_random_word(seed, 2 * i);
  return word >> (64 - scale) << 32 | word << scale >> (64 - scale);
}

#endif
