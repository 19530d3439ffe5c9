/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A second constraint for the bound. No more than k of the items, or at least k + 1 of them: each
 * solution is of one kind, and each kind has a smaller bound than all together (S. Martello,
 * D. Pisinger, P. Toth, "Dynamic programming and strong bounds for the 0-1 knapsack problem",
 * Management Science 45, 1999, who take the cardinality up into the weights). Here it is any
 * integer function of the items, with a Lagrange multiplier of its own. */
#include <math.h>

#include "knapsack/core.h"

enum { SIDE_MOST = 64, STEPS = 24 };

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

/* What the best choice is for one multiplier of the side, in floating point: that only decides
 * which multipliers are tried. */
typedef struct trial {
  double by_side, by_weight;
  double bound, slope; /* at by_side: of the bound as a function of it */
} trial;

static trial evaluate(const core_frame *f, double by_side, double *key, int64_t *weight) {
  const core_level *v = f->level;
  for (uint32_t i = 0; i < v->items; i++) {
    double worth = (double)v->value[i] - by_side * f->side[i];
    key[i] = worth > 0 ? worth / (double)v->weight[i] : 0;
    weight[i] = worth > 0 ? v->weight[i] : 0;
  }
  double by_weight = core_break_key(key, weight, v->items, v->capacity);
  trial t = {.by_side = by_side, .by_weight = by_weight > 0 ? by_weight : 0};
  double gain = 0, sides = 0, weights = 0, tied_weight = 0, tied_side = 0;
  double margin = 1e-13 * t.by_weight;
  for (uint32_t i = 0; i < v->items; i++) {
    double w = (double)v->weight[i], side = f->side[i];
    double worth = (double)v->value[i] - by_side * side, excess = worth / w - t.by_weight;
    bool in = excess > margin, tied = !in && excess >= -margin;
    gain += in ? worth - t.by_weight * w : 0;
    sides += in ? side : 0;
    weights += in ? w : 0;
    tied_weight += tied ? w : 0;
    tied_side += tied ? side : 0;
  }
  double capacity = (double)v->capacity, limit = (double)f->limit;
  if (t.by_weight > 0 && tied_weight > 0)
    sides += tied_side * fmin(1, fmax(0, (capacity - weights) / tied_weight));
  t.bound = gain + t.by_weight * capacity + by_side * limit;
  t.slope = limit - sides;
  return t;
}

/* A multiplier that is too large, or one by which the kind is seen to be empty. */
static trial bracket(const core_frame *f, const trial *low, double *key, int64_t *weight) {
  const core_level *v = f->level;
  double step = fmax(1e-3 * (double)v->value_sum / v->items, 1e-9);
  trial high = evaluate(f, step, key, weight);
  for (int i = 0; i < 60 && high.slope < 0 && high.bound > (double)v->best; i++) {
    step *= 4;
    high = evaluate(f, step, key, weight);
  }
  (void)low;
  return high;
}

/* The lowest point of a convex function of which two tangents are known (J. E. Kelley, "The
 * cutting-plane method for solving convex programs", 1960). */
static trial descend(const core_frame *f, double *key, int64_t *weight) {
  trial low = evaluate(f, 0, key, weight);
  if (low.slope >= 0)
    return low;
  trial high = bracket(f, &low, key, weight);
  if (high.slope < 0)
    return high;
  trial best = low.bound < high.bound ? low : high;
  for (int i = 0; i < STEPS && high.slope > 0; i++) {
    double at = (high.bound - low.bound + low.slope * low.by_side - high.slope * high.by_side) /
                (low.slope - high.slope);
    double least = low.bound + low.slope * (at - low.by_side);
    if (!(at > low.by_side && at < high.by_side) ||
        best.bound - least < 1e-12 * fabs(best.bound) + 1e-3)
      break;
    trial t = evaluate(f, at, key, weight);
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
  trial best = descend(f, key, weight);
  double scale = (double)f->scale;
  f->by_weight = (core_wide)nearbyint(best.by_weight * scale);
  f->by_side = (core_wide)nearbyint(best.by_side * scale);
}
