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

enum { SIDE_MOST = 64, STEPS = 20 };

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

static trial evaluate(const core_frame *f, double by_side, double *key, int64_t *weights) {
  const core_level *v = f->level;
  for (uint32_t i = 0; i < v->items; i++) {
    double worth = (double)v->value[i] - by_side * f->side[i];
    key[i] = worth > 0 ? worth / (double)v->weight[i] : 0;
    weights[i] = worth > 0 ? v->weight[i] : 0;
  }
  double by_weight = core_break_key(key, weights, v->items, v->capacity);
  trial t = {.by_side = by_side, .by_weight = by_weight > 0 ? by_weight : 0};
  double gain = 0, side = 0, weight = 0, tied_weight = 0, tied_side = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    double w = (double)v->weight[i], s = f->side[i], cost = t.by_weight * w;
    double excess = (double)v->value[i] - by_side * s - cost, margin = 1e-13 * cost;
    double in = (double)(excess > margin); /* a factor, as a branch would be taken at random */
    gain += in * excess;
    side += in * s;
    weight += in * w;
    if (fabs(excess) <= margin) {
      tied_weight += w;
      tied_side += s;
    }
  }
  double capacity = (double)v->capacity;
  if (t.by_weight > 0 && tied_weight > 0)
    side += tied_side * fmin(1, fmax(0, (capacity - weight) / tied_weight));
  t.bound = gain + t.by_weight * capacity + by_side * (double)f->limit;
  t.slope = (double)f->limit - side;
  return t;
}

/* The lowest point of a convex function, or one below `enough`. From 0 a
 * tangent leads to where it would be `enough`, and so on: never too far. Then
 * the lowest point of two tangents, again and again (J. E. Kelley, "The
 * cutting-plane method for solving convex programs", 1960). */
static trial descend(const core_frame *f, trial low, double enough, double *key, int64_t *weights) {
  trial high = low, best = low;
  for (int i = 0; i < STEPS && high.slope < 0 && high.bound >= enough; i++) {
    low = high;
    double at = low.by_side + 1.001 * (low.bound - enough + 1e-9 * low.bound) / -low.slope;
    high = evaluate(f, at, key, weights);
    if (high.bound < best.bound)
      best = high;
  }
  int side = 0; /* how many steps came from the same side, so that the other one is far */
  for (int i = 0; i < STEPS && low.slope < 0 && high.slope > 0; i++) {
    double at = (high.bound - low.bound + low.slope * low.by_side - high.slope * high.by_side) /
                (low.slope - high.slope);
    double least = low.bound + low.slope * (at - low.by_side);
    if (!(at > low.by_side && at < high.by_side) || best.bound < enough ||
        best.bound - least < 0.01 + 0.01 * (best.bound - enough))
      break;
    if (side >= 2 || side <= -2) {
      at = (low.by_side + high.by_side) / 2;
      side = 0;
    }
    trial t = evaluate(f, at, key, weights);
    if (t.bound < best.bound)
      best = t;
    if (t.slope < 0) {
      low = t;
      side = side > 0 ? -1 : side - 1;
    } else {
      high = t;
      side = side < 0 ? 1 : side + 1;
    }
  }
  return best;
}

void core_multipliers(core_frame *f, const core_frame *plain, double plain_side, double *key,
                      int64_t *weights) {
  double scale = (double)f->scale;
  trial at_zero = {.by_weight = (double)plain->by_weight / scale,
                   .bound = (double)plain->bound / scale,
                   .slope = (double)f->limit - plain_side};
  trial best = descend(f, at_zero, (double)f->level->best + 1, key, weights);
  /* Any multipliers are right; these keep sums in 128 bits. */
  const core_level *v = f->level;
  double sides = 1;
  for (uint32_t i = 0; i < v->items; i++)
    sides += fabs((double)f->side[i]);
  double most = ldexp(1, 118), most_weight = most / (double)v->weight_sum;
  f->by_weight = (core_wide)nearbyint(fmin(best.by_weight * scale, most_weight));
  f->by_side = (core_wide)nearbyint(fmin(best.by_side * scale, most / sides));
}
