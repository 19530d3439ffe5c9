/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A second constraint for the bound. No more than k of the items, or at least k
 * + 1 of them: each solution is of one kind, and each kind has a smaller bound
 * than all together (S. Martello, D. Pisinger, P. Toth, "Dynamic programming
 * and strong bounds for the 0-1 knapsack problem", Management Science 45, 1999,
 * who take the cardinality up into the weights). Here it is any integer
 * function of the items, with a Lagrange multiplier of its own. */
#include <math.h>

#include "base/clones.h"
#include "base/memory.h"
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
    side[i] = joint               ? (int32_t)((v->value[i] - v->weight[i]) / (int64_t)common)
              : v->pieces != NULL ? v->pieces[i]
                                  : 1;
  return joint ? (int64_t)common : 0;
}

/* ---- Trials ---------------------------------------------------------------------------------- */

void core_trials_free(core_trials *t) {
  dzo_free(t->item);
  dzo_free(t->value);
  dzo_free(t->weight);
  *t = (core_trials){0};
}

/* About so great are the losses of `share` of the items, by a sample. */
static double loss_of_share(const double *loss, uint32_t items, double share) {
  enum { SAMPLE = 128 };
  core_ranked sample[SAMPLE], room[SAMPLE];
  uint32_t step = items / SAMPLE;
  for (uint32_t i = 0; i < SAMPLE; i++)
    sample[i] = (core_ranked){loss[i * step], i};
  core_sort(NULL, sample, SAMPLE, room);
  return sample[(uint32_t)(share * SAMPLE)].key;
}

/* Others stay as they are for multipliers near the plain ones. */
static void choose_items(const core_frame *plain, const double *loss, double share,
                         core_trials *t) {
  const core_level *v = plain->level;
  double most = share < 1 ? loss_of_share(loss, v->items, share) : INFINITY;
  int64_t value = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    bool tried = loss[i] <= most, fixed = !tried && plain->base[i];
    t->item[count] = i;
    count += tried;
    value += fixed ? v->value[i] : 0;
    t->fixed_weight += fixed ? v->weight[i] : 0;
  }
  t->count = count;
  t->fixed_value = (double)value;
}

dzo_status core_trials_make(const core_frame *plain, double share, core_trials *t) {
  const core_level *v = plain->level;
  dzo_context *context = v->run->context;
  *t = (core_trials){.plain = plain};
  t->item = dzo_alloc(context, v->items, sizeof *t->item);
  double *loss = dzo_alloc(context, v->items, sizeof *loss);
  if (t->item != NULL && loss != NULL) {
    core_losses(plain, NULL, v->items, loss);
    choose_items(plain, loss, share, t);
  }
  dzo_free(loss);
  t->value = dzo_alloc(context, 3 * (uint64_t)t->count + 1, sizeof *t->value);
  t->weight = dzo_alloc(context, 2 * (uint64_t)t->count + 1, sizeof *t->weight);
  if (loss == NULL || t->item == NULL || t->value == NULL || t->weight == NULL) {
    core_trials_free(t);
    return v->run->status = DZO_E_MEMORY;
  }
  t->side = t->value + t->count;
  t->key = t->side + t->count;
  t->room = t->weight + t->count;
  for (uint32_t k = 0; k < t->count; k++) {
    t->value[k] = (double)v->value[t->item[k]];
    t->weight[k] = v->weight[t->item[k]];
  }
  return DZO_OK;
}

/* Of all items in the plain base, but for those that are tried. */
static void set_side(core_trials *t, const int32_t *side) {
  const core_frame *plain = t->plain;
  int64_t fixed = 0;
  for (uint32_t i = 0; i < plain->level->items; i++)
    fixed += plain->base[i] ? side[i] : 0;
  for (uint32_t k = 0; k < t->count; k++) {
    int32_t one = side[t->item[k]];
    t->side[k] = one;
    fixed -= plain->base[t->item[k]] ? one : 0;
  }
  t->fixed_side = (double)fixed;
}

/* What the best choice is for one multiplier of the side, in floating point:
 * that only decides which multipliers are taken. */
typedef struct trial {
  double by_side, by_weight;
  double bound, slope; /* at by_side: of the bound as a function of it */
} trial;

DZO_CLONES static void rate(const double *value, const double *side, const int64_t *weight,
                            uint32_t count, double by_side, double *key, int64_t *kept) {
  for (uint32_t k = 0; k < count; k++) {
    double worth = value[k] - by_side * side[k];
    key[k] = worth > 0 ? worth / (double)weight[k] : 0;
    kept[k] = worth > 0 ? weight[k] : 0;
  }
}

static trial evaluate(const core_frame *f, core_trials *t, double by_side) {
  int64_t capacity = f->level->capacity - t->fixed_weight;
  rate(t->value, t->side, t->weight, t->count, by_side, t->key, t->room);
  double by_weight = core_break_key(t->key, t->room, t->count, capacity);
  trial one = {.by_side = by_side, .by_weight = by_weight > 0 ? by_weight : 0};
  double gain = 0, side = t->fixed_side, weight = 0, tied_weight = 0, tied_side = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    double w = (double)t->weight[k], s = t->side[k], cost = one.by_weight * w;
    double excess = t->value[k] - by_side * s - cost, margin = 1e-13 * cost;
    double in = (double)(excess > margin); /* a factor, as a branch would be taken at random */
    gain += in * excess;
    side += in * s;
    weight += in * w;
    if (fabs(excess) <= margin) {
      tied_weight += w;
      tied_side += s;
    }
  }
  if (one.by_weight > 0 && tied_weight > 0)
    side += tied_side * fmin(1, fmax(0, ((double)capacity - weight) / tied_weight));
  one.bound = gain + t->fixed_value + one.by_weight * (double)capacity +
              by_side * ((double)f->limit - t->fixed_side);
  one.slope = (double)f->limit - side;
  return one;
}

/* Where a convex function is least, between two points, by their tangents; `stalls` is how often in
 * turn the same one of them was moved, so that the other is far: then where slopes are 0, if they
 * grow evenly, or half way. */
static double place_of_least(const trial *low, const trial *high, int stalls) {
  if (stalls >= 4)
    return (low->by_side + high->by_side) / 2;
  if (stalls >= 2)
    return (high->slope * low->by_side - low->slope * high->by_side) / (high->slope - low->slope);
  return (high->bound - low->bound + low->slope * low->by_side - high->slope * high->by_side) /
         (low->slope - high->slope);
}

/* Is it low enough? Where there are many items, what is in the best choice has to be right as well:
 * that is where good sets are found. */
static bool is_least(const trial *best, const trial *low, double at, double enough, bool many) {
  double least = low->bound + low->slope * (at - low->by_side);
  if (many && fabs(best->slope) > 1)
    return false;
  return best->bound - least < 0.01 + 0.01 * (best->bound - enough);
}

/* The lowest point of a convex function, or one below `enough`. From 0 a
 * tangent leads to where it would be `enough`, and so on. Then the lowest point
 * of two tangents, again and again (J. E. Kelley, "The cutting-plane method for
 * solving convex programs", 1960). */
static trial descend(const core_frame *f, core_trials *t, trial low, double enough) {
  core_run *run = f->level->run;
  trial high = low, best = low;
  bool many = f->level->items >= run->limits->many_items;
  for (int i = 0; i < STEPS && high.slope < 0 && high.bound >= enough && core_passes(run, t->count);
       i++) {
    low = high;
    double at = low.by_side + 1.001 * (low.bound - enough + 1e-9 * low.bound) / -low.slope;
    high = evaluate(f, t, at);
    if (high.bound < best.bound)
      best = high;
  }
  int side = 0, stalls = 0;
  for (int i = 0; i < STEPS && low.slope < 0 && high.slope > 0; i++) {
    double at = place_of_least(&low, &high, 0);
    if (!(at > low.by_side && at < high.by_side) || best.bound < enough ||
        is_least(&best, &low, at, enough, many) || !core_passes(run, t->count))
      break;
    trial next = evaluate(f, t, place_of_least(&low, &high, stalls));
    stalls = stalls >= 4 || (next.slope < 0) != (side < 0) ? 1 : stalls + 1;
    side = next.slope < 0 ? -1 : 1;
    *(side < 0 ? &low : &high) = next;
    if (next.bound < best.bound)
      best = next;
  }
  return best;
}

double core_multipliers(core_frame *f, core_trials *t, double plain_side) {
  const core_frame *plain = t->plain;
  const core_level *v = f->level;
  double scale = (double)f->scale;
  set_side(t, f->side);
  trial at_zero = {.by_weight = (double)plain->by_weight / scale,
                   .bound = (double)plain->bound / scale,
                   .slope = (double)f->limit - plain_side};
  trial best = descend(f, t, at_zero, (double)v->best + 1);
  /* Any multipliers are right; these keep sums in 128 bits. */
  double sides = 1;
  for (uint32_t i = 0; i < v->items; i++)
    sides += fabs((double)f->side[i]);
  double most = ldexp(1, 118), most_weight = most / (double)v->weight_sum;
  f->by_weight = (core_wide)nearbyint(fmin(best.by_weight * scale, most_weight));
  f->by_side = (core_wide)nearbyint(fmin(best.by_side * scale, most / sides));
  return best.bound;
}
