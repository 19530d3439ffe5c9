/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The stages of the core method, each for what the one before left. */
#include "knapsack/core_stages.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum {
  FEW_ITEMS = 512,
  MANY_ITEMS = 8192,
  FIRST_STATES = 128,
  NEAR_STATES = 512, /* by lists of so many */
  EASY_ITEMS = 1024, /* a core to be proved before anything else is tried */
  EASY_STATES = 4096,
  EASY_WORK = 6000,
  SIDE_WORK = 200000,
  WIDE_STATES = 4096,
  SIDE_STATES = 16384, /* for a good set with a second constraint */
};

/* Of an item's worth in 64 bits, and of sums in 128. */
static const core_wide narrow_most = (core_wide)1 << 57, wide_most = (core_wide)1 << 118;

static core_frame frame_of(core_level *v) { return (core_frame){.level = v}; }

static void free_frame(core_frame *f) {
  dzo_free(f->base);
  dzo_free(f->order);
  f->base = NULL;
  f->order = NULL;
}

static dzo_status hold_frame(core_frame *f) {
  core_run *run = f->level->run;
  f->base = dzo_calloc(run->context, f->level->items, 1);
  f->order = dzo_alloc(run->context, f->level->items, sizeof *f->order);
  return f->base == NULL || f->order == NULL ? run->status = DZO_E_MEMORY : DZO_OK;
}

/* The scale by which the break item is worth exactly 0, as fine as 64 bits
 * allow, or 128. */
static void choose_scale(core_frame *f, uint32_t item) {
  const core_level *v = f->level;
  core_wide value = v->value[item], weight = v->weight[item];
  core_wide a = weight * v->value_max, b = value * v->weight_max, most = a > b ? a : b;
  core_wide limit = narrow_most >> 4;
  f->wide = most >= limit;
  if (f->wide) {
    a = weight * v->value_sum;
    b = value * v->weight_sum;
    most = a > b ? a : b;
    limit = wide_most;
  }
  unsigned shift = 0;
  while (most << 1 < limit && shift < 40) {
    most <<= 1;
    shift++;
  }
  f->scale = weight << shift;
  f->by_weight = f->plain = value << shift;
}

/* The break: multipliers and base. */
static dzo_status find_break(core_frame *f) {
  core_level *v = f->level;
  dzo_context *context = v->run->context;
  double *keys = dzo_alloc(context, 2 * (uint64_t)v->items, sizeof *keys);
  int64_t *weights = dzo_alloc(context, v->items, sizeof *weights);
  if (keys == NULL || weights == NULL) {
    dzo_free(keys);
    dzo_free(weights);
    return v->run->status = DZO_E_MEMORY;
  }
  double *worth = keys + v->items;
  for (uint32_t i = 0; i < v->items; i++)
    keys[i] = worth[i] = (double)v->value[i] / (double)v->weight[i];
  memcpy(weights, v->weight, v->items * sizeof *weights);
  double at = core_break_key(keys, weights, v->items, v->capacity);
  int64_t left = v->capacity;
  uint32_t item = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    left -= worth[i] > at ? v->weight[i] : 0;
    item = worth[i] == at ? i : item;
  }
  for (uint32_t i = 0; i < v->items; i++) {
    f->base[i] = worth[i] == at && v->weight[i] <= left;
    left -= f->base[i] ? v->weight[i] : 0;
  }
  choose_scale(f, item);
  dzo_free(keys);
  dzo_free(weights);
  return DZO_OK;
}

static void take_base(core_frame *f, uint32_t in, uint32_t out) {
  core_level *v = f->level;
  int64_t value = f->base_value;
  value += in < v->items ? v->value[in] : 0;
  value -= out < v->items ? v->value[out] : 0;
  if (value <= v->best)
    return;
  v->best = value;
  v->found = true;
  memcpy(v->best_set, f->base, v->items);
  if (in < v->items)
    v->best_set[in] = 1;
  if (out < v->items)
    v->best_set[out] = 0;
}

/* The base, with one item more, or one of about the break's worth exchanged. */
static void be_greedy(core_frame *f) {
  core_level *v = f->level;
  int64_t left = v->capacity - f->base_weight;
  if (left < 0)
    return;
  uint32_t best = v->items;
  int64_t value = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    bool better = !f->base[i] && v->weight[i] <= left && v->value[i] > value;
    value = better ? v->value[i] : value;
    best = better ? i : best;
  }
  take_base(f, best, v->items);
}

static dzo_status prove(core_frame *f, uint64_t states, uint64_t work, bool *done) {
  DZO_TRY(core_frame_sort(f));
  DZO_TRY(core_prove(f, states, work, done));
  if (!*done)
    core_frame_reduce(f, false);
  return DZO_OK;
}

/* ---- The second constraint
 * ------------------------------------------------------------------- */

typedef struct sides {
  core_level *level;
  core_frame kind[2];
  int32_t *side[2];
  bool done[2];
  const core_frame *plain;
  double plain_side;
  bool counts; /* the side is the number of items */
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
  f->wide = plain->wide || f->by_side * most >= narrow_most ||
            f->by_weight * v->weight_max >= narrow_most;
  core_frame_bound(f);
}

/* Where values are weights + common * side, the multipliers 1 and common make
 * all items worth 0, and no others do better. */
static void set_multipliers(core_frame *f, const core_frame *plain, double plain_side,
                            int64_t common, double *key, int64_t *weight) {
  if (common > 0) {
    f->by_weight = f->scale;
    f->by_side = common * f->scale;
  } else {
    core_multipliers(f, plain, plain_side, key, weight);
  }
  bound_kind(f, plain);
  if (f->bound >= plain->bound) { /* only rounded so */
    f->by_weight = plain->by_weight;
    f->by_side = 0;
    bound_kind(f, plain);
  }
}

static dzo_status set_kind(core_frame *f, const core_frame *plain, double plain_side,
                           int64_t common, bool *done) {
  core_level *v = f->level;
  dzo_context *context = v->run->context;
  double *key = dzo_alloc(context, v->items, sizeof *key);
  int64_t *weight = dzo_alloc(context, v->items, sizeof *weight);
  dzo_status status = key == NULL || weight == NULL ? v->run->status = DZO_E_MEMORY : DZO_OK;
  if (status == DZO_OK) {
    set_multipliers(f, plain, plain_side, common, key, weight);
    core_frame_reduce(f, true);
  }
  dzo_free(key);
  dzo_free(weight);
  *done = status == DZO_OK && core_is_proved(f);
  return status;
}

static dzo_status open_kind(sides *s, int k, const core_frame *plain, double plain_side,
                            int64_t common, int64_t limit) {
  core_level *v = s->level;
  core_frame *f = &s->kind[k];
  *f = frame_of(v);
  DZO_TRY(hold_frame(f));
  memcpy(f->base, plain->base, v->items);
  f->scale = plain->scale;
  f->plain = plain->plain;
  f->side = s->side[k];
  f->limit = limit;
  return set_kind(f, plain, plain_side, common, &s->done[k]);
}

/* How much side the plain bound's solution has. */
static double side_of_plain(const core_frame *plain, const int32_t *side) {
  const core_level *v = plain->level;
  int64_t sum = 0, left = v->capacity - plain->base_weight;
  double part = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    sum += plain->base[i] ? side[i] : 0;
    if (!plain->base[i] && core_rough_worth(plain, i) == 0)
      part = (double)side[i] * (double)left / (double)v->weight[i];
  }
  return (double)sum + part;
}

static dzo_status open_sides(sides *s, const core_frame *plain) {
  core_level *v = s->level;
  for (int k = 0; k < 2; k++) {
    s->side[k] = dzo_alloc(v->run->context, v->items, sizeof *s->side[k]);
    if (s->side[k] == NULL)
      return v->run->status = DZO_E_MEMORY;
  }
  int64_t common = core_choose_side(v, s->side[0]);
  for (uint32_t i = 0; i < v->items; i++)
    s->side[1][i] = -s->side[0][i];
  double plain_side = side_of_plain(plain, s->side[0]);
  int64_t limit = (int64_t)floor(plain_side);
  s->plain = plain;
  s->plain_side = plain_side;
  s->counts = common == 0;
  DZO_TRY(open_kind(s, 0, plain, plain_side, common, limit));
  return open_kind(s, 1, plain, -plain_side, -common, -(limit + 1));
}

static void close_sides(sides *s) {
  for (int k = 0; k < 2; k++) {
    free_frame(&s->kind[k]);
    dzo_free(s->side[k]);
  }
}

/* Are all items worth their weight? Then no other bound is better. */
static bool is_flat(const core_frame *f) {
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
  *done = *done || core_is_proved(f);
  if (*done || f->level->run->stopped)
    return DZO_OK;
  if (one->proves)
    return prove(f, one->states, one->work, done);
  /* Few items of different losses are soon looked through by proving. */
  if (one->states > NEAR_STATES && f->count <= FEW_ITEMS && !is_flat(f))
    return DZO_OK;
  DZO_TRY(core_improve(f, one->states, done));
  if (*done || one->states > NEAR_STATES || f->count <= CORE_NEAR_ITEMS)
    return DZO_OK;
  return f->count <= MANY_ITEMS ? core_improve_widely(f, 128, NEAR_STATES, done)
                                : core_improve_widely(f, CORE_WIDE_ITEMS, WIDE_STATES, done);
}

static dzo_status lower_limit(sides *s) {
  core_frame *f = &s->kind[0];
  f->limit--;
  memcpy(f->base, s->plain->base, s->level->items);
  return set_kind(f, s->plain, s->plain_side, 0, &s->done[0]);
}

static dzo_status split_fullest(sides *s);

/* Both kinds, with more and more states. */
static dzo_status prove_sides(sides *s) {
  static const step steps[] = {{false, NEAR_STATES, UINT64_MAX},
                               {true, EASY_STATES, SIDE_WORK},
                               {false, SIDE_STATES, UINT64_MAX},
                               {true, UINT64_MAX, UINT64_MAX}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (steps[i].states == UINT64_MAX)
      DZO_TRY(split_fullest(s));
    for (int k = 0; k < 2; k++) {
      int kind = s->kind[0].count <= s->kind[1].count ? k : 1 - k;
      DZO_TRY(take_step(&s->kind[kind], &steps[i], &s->done[kind]));
    }
  }
  return DZO_OK;
}

static dzo_status solve_sides(core_level *v, const core_frame *plain, bool *done) {
  sides s = {.level = v};
  dzo_status status = open_sides(&s, plain);
  if (status == DZO_OK)
    status = prove_sides(&s);
  *done = status == DZO_OK && s.done[0] && s.done[1];
  close_sides(&s);
  return status;
}

/* ---- The core alone
 * -------------------------------------------------------------------------- */

typedef struct part {
  core_level level;
  int64_t *numbers;
  int64_t fixed_value;
} part;

/* The undecided items of a frame as a problem of its own. */
static dzo_status cut_out(const core_frame *f, part *p) {
  const core_level *v = f->level;
  core_run *run = v->run;
  uint64_t n = f->count;
  p->numbers = dzo_alloc(run->context, 2 * n, sizeof *p->numbers);
  p->level = (core_level){.run = run, .items = f->count};
  p->level.best_set = dzo_calloc(run->context, n, 1);
  if (p->numbers == NULL || p->level.best_set == NULL)
    return run->status = DZO_E_MEMORY;
  int64_t weight = f->base_weight;
  p->fixed_value = f->base_value;
  for (uint64_t i = 0; i < n; i++) {
    uint32_t item = f->order[i];
    p->numbers[i] = v->value[item];
    p->numbers[n + i] = v->weight[item];
    p->level.value_sum += v->value[item];
    p->level.weight_sum += v->weight[item];
    if (v->value[item] > p->level.value_max)
      p->level.value_max = v->value[item];
    if (v->weight[item] > p->level.weight_max)
      p->level.weight_max = v->weight[item];
    weight -= f->base[item] ? v->weight[item] : 0;
    p->fixed_value -= f->base[item] ? v->value[item] : 0;
  }
  p->level.value = p->numbers;
  p->level.weight = p->numbers + n;
  p->level.capacity = v->capacity - weight;
  p->level.best = v->best - p->fixed_value;
  run->apart += p->fixed_value;
  run->level = &p->level;
  return DZO_OK;
}

static void put_back(const core_frame *f, part *p) {
  core_level *v = f->level;
  v->run->level = v;
  v->run->apart -= p->fixed_value;
  if (p->level.found) {
    v->best = p->level.best + p->fixed_value;
    v->found = true;
    memcpy(v->best_set, f->base, v->items);
    for (uint32_t i = 0; i < f->count; i++)
      v->best_set[f->order[i]] = p->level.best_set[i];
  }
}

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
  core_sort(r, v->items, r + v->items);
  bool any = free_fullest(v, limit, r, g);
  dzo_free(r);
  *done = !any || g->count == 0;
  if (*done || g->count > v->items / 10 * 9)
    return DZO_OK;
  part p = {0};
  dzo_status status = cut_out(g, &p);
  if (status == DZO_OK)
    status = core_level_solve(&p.level, done);
  if (p.level.best_set != NULL)
    put_back(g, &p);
  dzo_free(p.numbers);
  dzo_free(p.level.best_set);
  return status;
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
  dzo_status status = hold_frame(&g);
  bool done = false;
  if (status == DZO_OK)
    status = solve_fullest(v, f->limit, &g, &done);
  free_frame(&g);
  return status == DZO_OK && done ? lower_limit(s) : status;
}

static dzo_status solve_joined(core_level *v, const core_groups *g, bool *done) {
  core_level joined = *v;
  joined.found = false;
  core_groups_level(g, &joined);
  joined.best_set = dzo_calloc(v->run->context, joined.items, 1);
  if (joined.best_set == NULL)
    return v->run->status = DZO_E_MEMORY;
  v->run->level = &joined;
  dzo_status status = core_level_solve(&joined, done);
  v->run->level = v;
  if (joined.found) {
    core_groups_unfold(g, joined.best_set, v->best_set);
    v->best = joined.best;
    v->found = true;
  }
  dzo_free(joined.best_set);
  return status;
}

static dzo_status solve_hard(core_level *v, bool *done) {
  core_groups *groups;
  DZO_TRY(core_groups_make(v, &groups));
  if (groups != NULL) {
    dzo_status status = solve_joined(v, groups, done);
    core_groups_free(groups);
    return status;
  }
  core_frame plain = frame_of(v);
  dzo_status status = hold_frame(&plain);
  if (status == DZO_OK)
    status = find_break(&plain);
  if (status == DZO_OK) {
    core_frame_bound(&plain);
    core_frame_reduce(&plain, true);
    status = is_flat(&plain) ? prove(&plain, UINT64_MAX, UINT64_MAX, done)
                             : solve_sides(v, &plain, done);
  }
  free_frame(&plain);
  return status;
}

static dzo_status solve_core(core_frame *f, bool *done) {
  *done = false;
  part p = {0};
  dzo_status status = cut_out(f, &p);
  /* All of it fits, or nothing else does: cannot be, as the break item is
   * undecided. */
  if (status == DZO_OK)
    status = solve_hard(&p.level, done);
  if (p.level.best_set != NULL)
    put_back(f, &p);
  dzo_free(p.numbers);
  dzo_free(p.level.best_set);
  return status;
}

/* No set is worth more than the best known or this frame's bound: what it leaves out cannot be
 * better. */
static void note_bound(const core_frame *f) {
  core_run *run = f->level->run;
  core_wide bound = f->bound / f->scale;
  bound = (bound > f->level->best ? bound : f->level->best) + run->apart;
  if (bound < run->bound)
    run->bound = (int64_t)bound;
}

static dzo_status solve_frame(core_frame *f, bool *done) {
  core_run *run = f->level->run;
  DZO_TRY(find_break(f));
  core_frame_bound(f);
  note_bound(f);
  be_greedy(f);
  core_frame_reduce(f, true);
  *done = core_is_proved(f);
  if (*done)
    return DZO_OK;
  if (f->count > CORE_NEAR_ITEMS)
    DZO_TRY(core_improve(f, f->count > EASY_ITEMS ? NEAR_STATES : FIRST_STATES, done));
  if (*done || run->stopped)
    return DZO_OK;
  if (f->count <= EASY_ITEMS)
    DZO_TRY(prove(f, EASY_STATES, EASY_WORK + 8 * f->count, done));
  *done = *done || core_is_proved(f);
  if (*done || run->stopped)
    return DZO_OK;
  return solve_core(f, done);
}

dzo_status core_level_solve(core_level *v, bool *done) {
  core_frame f = frame_of(v);
  *done = false;
  dzo_status status = hold_frame(&f);
  if (status == DZO_OK)
    status = solve_frame(&f, done);
  free_frame(&f);
  return status;
}
