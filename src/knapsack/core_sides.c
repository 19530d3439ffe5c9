/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A second constraint for the bound. No more than k of the items, or at least k
 * + 1 of them: each solution is of one kind, and each kind has a smaller bound
 * than all together (S. Martello, D. Pisinger, P. Toth, "Dynamic programming
 * and strong bounds for the 0-1 knapsack problem", Management Science 45, 1999,
 * who take the cardinality up into the weights). Here it is any integer
 * function of the items, with a Lagrange multiplier of its own. */
#include <math.h>

#include "knapsack/core.h"

enum { SIDE_MOST = 64, STEPS = 24, SAMPLE = 512 };

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t core_choose_side(const core_level *v, int32_t *side) {
  uint64_t common = 0, most = 0;
  for (uint32_t i = 0; i < v->items && common != 1; i++) {
    int64_t d = v->value[i] - v->weight[i];
    uint64_t size = (uint64_t)(d < 0 ? -d : d);
    if (size != common)
      common = gcd(common, size);
    most = size > most ? size : most;
  }
  bool joint = common > 1 && most / common <= SIDE_MOST;
  for (uint32_t i = 0; i < v->items; i++)
    side[i] = joint ? (int32_t)((v->value[i] - v->weight[i]) / (int64_t)common) : 1;
  return joint ? (int64_t)common : 0;
}

/* What the best choice is for one multiplier of the side, in floating point:
 * that only decides which multipliers are tried. */
typedef struct trial {
  double by_side, by_weight;
  double bound, slope; /* at by_side: of the bound as a function of it */
} trial;

/* Items to try multipliers on: all of a frame's, or every step-th. */
typedef struct pool {
  const core_frame *f;
  uint32_t step, count;
  int64_t capacity;
  double limit;
  double *key; /* [count] workspace */
  int64_t *weight;
} pool;

static pool pool_of(const core_frame *f, uint32_t step, double *key, int64_t *weight) {
  const core_level *v = f->level;
  pool p = {.f = f, .step = step, .key = key, .weight = weight};
  p.count = (v->items + step - 1) / step;
  p.capacity = v->capacity;
  p.limit = (double)f->limit;
  if (step == 1)
    return p;
  double all = 0, sample = 0, all_side = 0, sample_side = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    bool in = i % step == 0;
    all += (double)v->weight[i];
    all_side += fabs((double)f->side[i]);
    sample += in ? (double)v->weight[i] : 0;
    sample_side += in ? fabs((double)f->side[i]) : 0;
  }
  p.capacity = (int64_t)((double)v->capacity * sample / all);
  p.limit *= sample_side / all_side;
  return p;
}

static trial evaluate(const pool *p, double by_side) {
  const core_level *v = p->f->level;
  const int32_t *sides = p->f->side;
  for (uint32_t i = 0, item = 0; i < p->count; i++, item += p->step) {
    double worth = (double)v->value[item] - by_side * sides[item];
    p->key[i] = worth > 0 ? worth / (double)v->weight[item] : 0;
    p->weight[i] = worth > 0 ? v->weight[item] : 0;
  }
  double by_weight = core_break_key(p->key, p->weight, p->count, p->capacity);
  trial t = {.by_side = by_side, .by_weight = by_weight > 0 ? by_weight : 0};
  double gain = 0, side = 0, weight = 0, tied_weight = 0, tied_side = 0;
  for (uint32_t i = 0, item = 0; i < p->count; i++, item += p->step) {
    double w = (double)v->weight[item], s = sides[item], cost = t.by_weight * w;
    double excess = (double)v->value[item] - by_side * s - cost, margin = 1e-13 * cost;
    bool in = excess > margin, tied = !in && excess >= -margin;
    gain += in ? excess : 0;
    side += in ? s : 0;
    weight += in ? w : 0;
    tied_weight += tied ? w : 0;
    tied_side += tied ? s : 0;
  }
  double capacity = (double)p->capacity;
  if (t.by_weight > 0 && tied_weight > 0)
    side += tied_side * fmin(1, fmax(0, (capacity - weight) / tied_weight));
  t.bound = gain + t.by_weight * capacity + by_side * p->limit;
  t.slope = p->limit - side;
  return t;
}

/* Two multipliers, of which one is too small and one too large; or one by which
 * the kind is seen to be empty, as `high`. From a guess outward. */
static void bracket(const pool *p, double guess, trial *low, trial *high) {
  double best = p->step == 1 ? (double)p->f->level->best : -INFINITY, step = guess / 64;
  trial t = evaluate(p, guess);
  *low = *high = t;
  for (int i = 0; i < 40 && high->slope < 0 && high->bound > best; i++, step *= 4) {
    *low = *high;
    *high = evaluate(p, high->by_side + step);
  }
  for (int i = 0; i < 40 && low->slope >= 0 && low->by_side > 0; i++, step *= 4) {
    *high = *low;
    *low = evaluate(p, fmax(0, low->by_side - step));
  }
}

/* The lowest point of a convex function of which tangents are known (J. E.
 * Kelley, "The cutting-plane method for solving convex programs", 1960). */
static trial descend(const pool *p, double guess, double precision) {
  trial low, high;
  bracket(p, guess, &low, &high);
  if (high.slope < 0 || low.slope >= 0)
    return high.slope < 0 ? high : low;
  trial best = low.bound < high.bound ? low : high;
  for (int i = 0; i < STEPS && high.slope > 0; i++) {
    double at = (high.bound - low.bound + low.slope * low.by_side - high.slope * high.by_side) /
                (low.slope - high.slope);
    double least = low.bound + low.slope * (at - low.by_side);
    if (!(at > low.by_side && at < high.by_side) || best.bound - least < precision)
      break;
    trial t = evaluate(p, at);
    if (t.bound < best.bound)
      best = t;
    if (t.slope < 0)
      low = t;
    else
      high = t;
  }
  return best;
}

void core_multipliers(core_frame *f, double *key, int64_t *weight) {
  const core_level *v = f->level;
  double guess = fmax(1e-3 * (double)v->value_sum / v->items, 1e-9);
  if (v->items > 4 * SAMPLE) {
    pool few = pool_of(f, v->items / SAMPLE, key, weight);
    trial t = descend(&few, guess, 1e-4 * guess);
    guess = t.by_side > 0 ? t.by_side : guess;
  }
  pool all = pool_of(f, 1, key, weight);
  trial best = descend(&all, guess, 1e-12 * (double)v->value_sum + 0.01);
  double scale = (double)f->scale;
  f->by_weight = (core_wide)nearbyint(best.by_weight * scale);
  f->by_side = (core_wide)nearbyint(best.by_side * scale);
}
