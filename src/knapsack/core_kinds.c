/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Two kinds of solutions: with no more of a side than some limit, and with at least one more. Each
 * has a smaller bound than all together. The side is the number of items, or what
 * core_choose_side() finds; where bounds stay far from the best set, the number of items of at
 * least some weight. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/core_stages.h"

enum {
  FEW_ITEMS = 512,
  WIDE_STATES = 4096,
};

typedef struct sides {
  core_level *level;
  core_frame kind[2];
  int32_t *side[2];
  bool done[2];
  const core_frame *plain;
  double plain_side;
  bool counts;           /* the side is the number of items */
  core_trials near, all; /* once they are asked for */
} sides;

/* Bound and base, in 64 bits where an item's worth fits: multipliers that prove a kind to be empty
 * may be large. */
static void bound_kind(core_frame *f, const core_frame *plain) {
  const core_level *v = f->level;
  int64_t most = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    int64_t side = f->side[i] < 0 ? -f->side[i] : f->side[i];
    most = side > most ? side : most;
  }
  f->wide = plain->wide || f->by_side * most >= core_narrow_most ||
            f->by_weight * v->weight_max >= core_narrow_most;
  core_frame_bound(f);
}

/* Is it what the trials made of it, or do items that were not tried matter? */
static bool is_as_tried(const core_frame *f, const core_frame *plain, double bound) {
  double scale = (double)f->scale, gain = (double)plain->bound / scale - bound;
  return core_is_proved(f) || (double)f->bound / scale <= bound + 0.02 * gain + 1e-9 * bound;
}

static dzo_status try_multipliers(sides *s, core_frame *f, double plain_side) {
  if (s->near.plain == NULL)
    DZO_TRY(core_trials_make(
        s->plain, s->level->items < s->level->run->limits->tried_items ? 1 : 1.0 / 8, &s->near));
  double bound = core_multipliers(f, &s->near, plain_side);
  bound_kind(f, s->plain);
  if (s->near.count == s->level->items || is_as_tried(f, s->plain, bound))
    return DZO_OK;
  if (s->all.plain == NULL)
    DZO_TRY(core_trials_make(s->plain, 1, &s->all));
  (void)core_multipliers(f, &s->all, plain_side);
  bound_kind(f, s->plain);
  return DZO_OK;
}

/* Where values are weights + common * side, the multipliers 1 and common make
 * all items worth 0, and no others do better. */
static dzo_status set_multipliers(sides *s, core_frame *f, double plain_side, int64_t common) {
  if (common > 0) {
    f->by_weight = f->scale;
    f->by_side = common * f->scale;
    bound_kind(f, s->plain);
  } else {
    DZO_TRY(try_multipliers(s, f, plain_side));
  }
  bool less = f->bound / f->scale < s->plain->bound / f->scale;
  if (less || (f->bound < s->plain->bound && s->level->items >= s->level->run->limits->many_items))
    return DZO_OK;
  f->by_weight =
      s->plain->by_weight; /* only rounded so, or a base that is far from the plain one */
  f->by_side = 0;
  bound_kind(f, s->plain);
  return DZO_OK;
}

static dzo_status set_kind(sides *s, int k, double plain_side, int64_t common) {
  core_frame *f = &s->kind[k];
  memcpy(f->base, s->plain->base, s->level->items);
  DZO_TRY(set_multipliers(s, f, plain_side, common));
  core_frame_reduce(f, true);
  s->done[k] = core_is_proved(f);
  return DZO_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static core_frame kind_of(const sides *s, int k, int64_t limit) {
  core_frame f = core_frame_of(s->level);
  f.scale = s->plain->scale;
  f.plain = s->plain->plain;
  f.side = s->side[k];
  f.limit = limit;
  return f;
}

static dzo_status open_kind(sides *s, int k, double plain_side, int64_t common, int64_t limit) {
  s->kind[k] = kind_of(s, k, limit);
  DZO_TRY(core_frame_hold(&s->kind[k]));
  return set_kind(s, k, plain_side, common);
}

/* How much side the plain bound's solution has. */
static double side_of_plain(const core_frame *plain, const int32_t *side) {
  const core_level *v = plain->level;
  int64_t sum = 0, left = v->capacity - plain->base_weight;
  double part = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    sum += plain->base[i] ? side[i] : 0;
    if (!plain->base[i] && core_worth(plain, i) == 0)
      part = (double)side[i] * (double)left / (double)v->weight[i];
  }
  return (double)sum + part;
}

static dzo_status make_sides(sides *s, const core_frame *plain) {
  core_level *v = plain->level;
  *s = (sides){.level = v, .plain = plain};
  for (int k = 0; k < 2; k++) {
    s->side[k] = dzo_alloc(v->run->context, v->items, sizeof *s->side[k]);
    if (s->side[k] == NULL)
      return v->run->status = DZO_E_MEMORY;
  }
  return DZO_OK;
}

static void free_sides(sides *s) {
  for (int k = 0; k < 2; k++) {
    core_frame_free(&s->kind[k]);
    dzo_free(s->side[k]);
  }
  core_trials_free(&s->near);
  core_trials_free(&s->all);
}

/* The side is set: the limit between both kinds is where the plain bound's solution is. */
static int64_t divide_sides(sides *s) {
  for (uint32_t i = 0; i < s->level->items; i++)
    s->side[1][i] = -s->side[0][i];
  s->plain_side = side_of_plain(s->plain, s->side[0]);
  return (int64_t)floor(s->plain_side);
}

static dzo_status open_kinds(sides *s, int64_t common) {
  int64_t limit = divide_sides(s);
  DZO_TRY(open_kind(s, 0, s->plain_side, common, limit));
  if (!core_passes(s->level->run, s->level->items))
    return DZO_OK;
  return open_kind(s, 1, -s->plain_side, -common, -(limit + 1));
}

/* ---- The number of heavy items --------------------------------------------------------------- */

static void count_heavy(sides *s, int64_t threshold) {
  for (uint32_t i = 0; i < s->level->items; i++)
    s->side[0][i] = s->level->weight[i] >= threshold;
}

static double trial_bound(sides *s, int k, double plain_side, int64_t limit) {
  core_frame f = kind_of(s, k, limit);
  return core_multipliers(&f, &s->all, plain_side);
}

/* The lighter the items that count, the fewer of them are to be had for the rest of the capacity,
 * and the more for one item too many: where are both kinds' bounds about equal? The break item has
 * to be among them. Where the greater one becomes less than *bound, that is it then. */
static dzo_status find_threshold(sides *s, int64_t break_weight, int64_t *threshold,
                                 double *bound) {
  enum { STEPS = 11, HOPELESS = 4 };
  core_run *run = s->level->run;
  double enough = (double)s->level->best + 1, known = *bound;
  int64_t low = 0, high = break_weight + 1;
  DZO_TRY(core_trials_make(s->plain, 1, &s->all));
  for (int i = 0; i < STEPS && high - low > 1 && *bound >= enough && core_passes(run, UINT32_MAX);
       i++) {
    if (i == HOPELESS && *bound >= known)
      break;
    int64_t middle = low + (high - low) / 2;
    count_heavy(s, middle);
    int64_t limit = divide_sides(s);
    double fewer = trial_bound(s, 0, s->plain_side, limit);
    double more = trial_bound(s, 1, -s->plain_side, -(limit + 1));
    double both = fewer > more ? fewer : more;
    if (both < *bound) {
      *bound = both;
      *threshold = middle;
    }
    if (fewer > more)
      low = middle;
    else
      high = middle;
  }
  return DZO_OK;
}

static double open_bound(const sides *s) {
  double most = -INFINITY;
  for (int k = 0; k < 2; k++)
    if (!s->done[k])
      most = fmax(most, (double)s->kind[k].bound / (double)s->kind[k].scale);
  return most;
}

static int64_t break_weight(const core_frame *plain) {
  const core_level *v = plain->level;
  int64_t weight = 1;
  for (uint32_t i = 0; i < v->items; i++)
    if (!plain->base[i] && core_worth(plain, i) == 0 && v->weight[i] > weight)
      weight = v->weight[i];
  return weight;
}

/* In `heavy`, other kinds than those of s, if their bounds are much smaller. */
static dzo_status open_heavy(sides *heavy, const sides *s, bool *better) {
  double best = (double)s->level->best, gap = s->level->run->limits->heavy_gap;
  double enough = best + gap * (open_bound(s) - best);
  double bound = enough;
  int64_t threshold = 0;
  DZO_TRY(make_sides(heavy, s->plain));
  DZO_TRY(find_threshold(heavy, break_weight(s->plain), &threshold, &bound));
  *better = bound < enough && !s->level->run->stopped;
  if (!*better)
    return DZO_OK;
  count_heavy(heavy, threshold);
  return open_kinds(heavy, 0);
}

/* ---- Proving --------------------------------------------------------------------------------- */

/* Are all items worth their weight? Then no other bound is better. */
bool core_is_flat(const core_frame *f) {
  for (uint32_t i = 0; i < f->count; i++)
    if (core_worth(f, f->order[i]) != 0)
      return false;
  return true;
}

typedef struct step {
  bool proves; /* or only looks for a better set */
  uint64_t states, work;
} step;

static dzo_status take_step(core_frame *f, const step *one, bool *done) {
  const uint64_t near_states = f->level->run->limits->near_states;
  *done = *done || core_is_proved(f);
  if (*done || !core_passes(f->level->run, f->level->items))
    return DZO_OK;
  if (one->proves)
    return core_prove_or_reduce(f, one->states, one->work, done);
  /* Few items of different losses are soon looked through by proving. */
  if (one->states > near_states && f->count <= FEW_ITEMS && !core_is_flat(f))
    return DZO_OK;
  DZO_TRY(core_improve(f, one->states, done));
  if (*done || one->states > near_states || f->count <= CORE_NEAR_ITEMS ||
      !core_passes(f->level->run, f->level->items))
    return DZO_OK;
  return f->count <= f->level->run->limits->many_items
             ? core_improve_widely(f, 128, near_states, done)
             : core_improve_widely(f, CORE_WIDE_ITEMS, WIDE_STATES, done);
}

/* ---- The fullest ----------------------------------------------------------------------------- */

/* Where no more than `limit` items fit, those sets that have so many are a problem of their own:
 * the lightest ones nearly fill the capacity, so an item may only come or go if the exchange for
 * the next one at the limit fits. The free ones go to g, the others are as they must be in its
 * base. */
static bool free_fullest(const core_level *v, int64_t limit, const core_ranked *by_weight,
                         core_frame *g) {
  int64_t room = v->capacity;
  for (int64_t i = 0; i < limit; i++)
    room -= v->weight[by_weight[i].item];
  int64_t last = v->weight[by_weight[limit - 1].item], next = v->weight[by_weight[limit].item];
  g->count = 0;
  g->base_value = g->base_weight = 0;
  for (uint32_t i = 0; i < v->items && room >= 0; i++) {
    uint32_t item = by_weight[i].item;
    bool in = i < limit;
    int64_t exchange = in ? next - v->weight[item] : v->weight[item] - last;
    g->base[item] = in;
    g->base_value += in ? v->value[item] : 0;
    g->base_weight += in ? v->weight[item] : 0;
    g->order[g->count] = item;
    g->count += exchange <= room;
  }
  return room >= 0;
}

static dzo_status solve_fullest(core_level *v, int64_t limit, core_frame *g, bool *done) {
  core_run *run = v->run;
  core_ranked *r = dzo_alloc(run->context, 2 * (uint64_t)v->items, sizeof *r);
  if (r == NULL)
    return run->status = DZO_E_MEMORY;
  for (uint32_t i = 0; i < v->items; i++)
    r[i] = (core_ranked){(double)v->weight[i], i};
  core_sort(run, r, v->items, r + v->items);
  if (run->stopped) {
    dzo_free(r);
    return DZO_OK;
  }
  bool any = free_fullest(v, limit, r, g);
  dzo_free(r);
  *done = !any || g->count == 0;
  if (*done || g->count > v->items / 10 * 9)
    return DZO_OK;
  core_part p = {0};
  dzo_status status = core_cut_out(g, &p);
  if (status == DZO_OK)
    status = core_level_solve(&p.level, done);
  if (p.level.best_set != NULL)
    core_put_back(g, &p);
  core_part_free(&p);
  return status;
}

static dzo_status lower_limit(sides *s) {
  s->kind[0].limit--;
  return set_kind(s, 0, s->plain_side, 0);
}

/* If the first kind alone is left: without its sets of the most items. */
static dzo_status split_fullest(sides *s) {
  core_frame *f = &s->kind[0];
  core_level *v = s->level;
  s->done[0] = s->done[0] || core_is_proved(f);
  if (s->done[0] || !s->done[1] || !s->counts || f->limit < 1 || f->limit >= v->items ||
      v->weight_max >= INT64_C(1) << 53 || v->run->stopped)
    return DZO_OK;
  core_frame g = *f;
  g.base = NULL;
  g.order = NULL;
  dzo_status status = core_frame_hold(&g);
  bool done = false;
  if (status == DZO_OK)
    status = solve_fullest(v, f->limit, &g, &done);
  core_frame_free(&g);
  return status == DZO_OK && done ? lower_limit(s) : status;
}

/* ---- Both kinds ------------------------------------------------------------------------------ */

static dzo_status take_both(sides *s, const step *one) {
  int first = s->kind[0].count <= s->kind[1].count ? 0 : 1;
  for (int k = 0; k < 2; k++) {
    int kind = first ^ k;
    DZO_TRY(take_step(&s->kind[kind], one, &s->done[kind]));
  }
  return DZO_OK;
}

static dzo_status take_easy_steps(sides *s) {
  const core_limits *l = s->level->run->limits;
  DZO_TRY(take_both(s, &(step){false, l->near_states, UINT64_MAX}));
  return take_both(s, &(step){true, l->easy_states, l->side_work});
}

static dzo_status take_hard_steps(sides *s) {
  DZO_TRY(take_both(s, &(step){false, s->level->run->limits->side_states, UINT64_MAX}));
  DZO_TRY(split_fullest(s));
  return take_both(s, &(step){true, UINT64_MAX, UINT64_MAX});
}

/* Instead of the kinds of s, which were not easy. */
static dzo_status try_heavy(sides *s, bool *tried) {
  sides heavy;
  *tried = false;
  for (int k = 0; k < 2; k++)
    if (!s->done[k] && core_is_flat(&s->kind[k]))
      return DZO_OK;
  dzo_status status = open_heavy(&heavy, s, tried);
  bool goes_on = status == DZO_OK && *tried && !s->level->run->stopped;
  if (goes_on)
    status = take_easy_steps(&heavy);
  if (goes_on && status == DZO_OK)
    status = take_hard_steps(&heavy);
  if (*tried)
    memcpy(s->done, heavy.done, sizeof s->done);
  free_sides(&heavy);
  return status;
}

/* With more and more states. */
static dzo_status prove_kinds(sides *s) {
  DZO_TRY(take_easy_steps(s));
  bool tried = false;
  if (!(s->done[0] && s->done[1]) && !s->level->run->stopped)
    DZO_TRY(try_heavy(s, &tried));
  return tried ? DZO_OK : take_hard_steps(s);
}

dzo_status core_solve_kinds(core_level *v, const core_frame *plain, bool *done) {
  sides s;
  dzo_status status = make_sides(&s, plain);
  if (status == DZO_OK) {
    int64_t common = core_choose_side(v, s.side[0]);
    s.counts = common == 0 && v->pieces == NULL;
    status = open_kinds(&s, common);
  }
  if (status == DZO_OK && !v->run->stopped)
    status = prove_kinds(&s);
  *done = status == DZO_OK && s.done[0] && s.done[1];
  free_sides(&s);
  return status;
}
