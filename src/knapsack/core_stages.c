/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The stages of the core method, each for what the one before left. */
#include "knapsack/core_stages.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/memory.h"

/* Of sums in 128 bits. */
static const core_wide wide_most = (core_wide)1 << 118;

core_frame core_frame_of(core_level *v) { return (core_frame){.level = v}; }

void core_frame_free(core_frame *f) {
  dzo_free(f->base);
  dzo_free(f->order);
  f->base = NULL;
  f->order = NULL;
}

dzo_status core_frame_hold(core_frame *f) {
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
  core_wide limit = core_narrow_most >> 4;
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

DZO_CLONES static void find_ratios(const int64_t *value, const int64_t *weight, uint32_t count,
                                   double *ratio, double *copy) {
  for (uint32_t i = 0; i < count; i++)
    copy[i] = ratio[i] = (double)value[i] / (double)weight[i];
}

DZO_CLONES static int64_t weight_above(const double *ratio, const int64_t *weight, uint32_t count,
                                       double at) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < count; i++)
    sum += ratio[i] > at ? weight[i] : 0;
  return sum;
}

/* Multipliers by the break item, and the base among those of its ratio; the others' is by their
 * worth. */
static void set_break(core_frame *f, const double *ratio, double at) {
  const core_level *v = f->level;
  int64_t left = v->capacity - weight_above(ratio, v->weight, v->items, at);
  uint32_t item = 0;
  memset(f->base, 0, v->items);
  for (uint32_t i = 0; i < v->items; i++) {
    if (ratio[i] != at)
      continue;
    item = i;
    f->base[i] = v->weight[i] <= left;
    left -= f->base[i] ? v->weight[i] : 0;
  }
  choose_scale(f, item);
}

static dzo_status find_break(core_frame *f) {
  core_level *v = f->level;
  dzo_context *context = v->run->context;
  double *ratio = dzo_alloc(context, 2 * (uint64_t)v->items, sizeof *ratio);
  int64_t *weight = dzo_alloc(context, v->items, sizeof *weight);
  if (ratio == NULL || weight == NULL) {
    dzo_free(ratio);
    dzo_free(weight);
    return v->run->status = DZO_E_MEMORY;
  }
  double *keys = ratio + v->items, at = 0;
  find_ratios(v->value, v->weight, v->items, ratio, keys);
  if (core_passes(v->run, v->items)) {
    memcpy(weight, v->weight, v->items * sizeof *weight);
    at = core_break_key(keys, weight, v->items, v->capacity);
  }
  if (core_passes(v->run, v->items))
    set_break(f, ratio, at);
  dzo_free(ratio);
  dzo_free(weight);
  return DZO_OK;
}

DZO_CLONES static int64_t best_single(const uint8_t *base, const int64_t *value,
                                      const int64_t *weight, uint32_t count, int64_t left) {
  int64_t best = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool fits = !base[i] & (weight[i] <= left);
    int64_t one = fits ? value[i] : 0;
    best = one > best ? one : best;
  }
  return best;
}

/* The base, with one item more. */
static void be_greedy(core_frame *f) {
  core_level *v = f->level;
  int64_t left = v->capacity - f->base_weight;
  if (left < 0)
    return;
  int64_t more = best_single(f->base, v->value, v->weight, v->items, left);
  if (f->base_value + more <= v->best)
    return;
  v->best = f->base_value + more;
  v->found = true;
  memcpy(v->best_set, f->base, v->items);
  for (uint32_t i = 0; i < v->items && more > 0; i++)
    if (!f->base[i] && v->weight[i] <= left && v->value[i] == more) {
      v->best_set[i] = 1;
      break;
    }
}

dzo_status core_prove_or_reduce(core_frame *f, uint64_t states, uint64_t work, bool *done) {
  DZO_TRY(core_frame_sort(f));
  DZO_TRY(core_prove(f, states, work, done));
  if (!*done)
    core_frame_reduce(f, false);
  return DZO_OK;
}

/* ---- The core alone
 * -------------------------------------------------------------------------- */

/* The undecided items of a frame as a problem of its own. */
dzo_status core_cut_out(const core_frame *f, core_part *p) {
  const core_level *v = f->level;
  core_run *run = v->run;
  uint64_t n = f->count;
  p->numbers = dzo_alloc(run->context, 2 * n, sizeof *p->numbers);
  p->level = (core_level){.run = run, .items = f->count};
  p->level.best_set = dzo_calloc(run->context, n, 1);
  if (v->pieces != NULL)
    p->level.pieces = p->pieces = dzo_alloc(run->context, n, sizeof *p->pieces);
  bool missing = p->numbers == NULL || (v->pieces != NULL && p->pieces == NULL);
  if (missing || p->level.best_set == NULL)
    return run->status = DZO_E_MEMORY;
  for (uint64_t i = 0; i < n && v->pieces != NULL; i++)
    p->pieces[i] = v->pieces[f->order[i]];
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

void core_part_free(core_part *p) {
  dzo_free(p->numbers);
  dzo_free(p->pieces);
  dzo_free(p->level.best_set);
}

void core_put_back(const core_frame *f, core_part *p) {
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

/* The outer frame's bound without what it decided, which is in all sets alike. */
static void inherit(core_frame *plain, const core_frame *outer, const core_part *p) {
  plain->wide = outer->wide;
  plain->scale = outer->scale;
  plain->by_weight = outer->by_weight;
  plain->plain = outer->plain;
  plain->bound = outer->bound - outer->scale * p->fixed_value;
  plain->base_value = outer->base_value - p->fixed_value;
  plain->base_weight = outer->base_weight - (outer->level->capacity - p->level.capacity);
  for (uint32_t i = 0; i < outer->count; i++)
    plain->base[i] = outer->base[outer->order[i]];
}

static dzo_status solve_hard(core_part *p, const core_frame *outer, bool *done) {
  core_level *v = &p->level;
  core_groups *groups;
  if (!core_passes(v->run, v->items))
    return DZO_OK;
  DZO_TRY(core_groups_make(v, &groups));
  if (groups != NULL) {
    dzo_status status = solve_joined(v, groups, done);
    core_groups_free(groups);
    return status;
  }
  core_frame plain = core_frame_of(v);
  dzo_status status = core_frame_hold(&plain);
  if (status == DZO_OK && core_passes(v->run, v->items)) {
    inherit(&plain, outer, p);
    core_frame_reduce(&plain, true);
    status = core_is_flat(&plain) ? core_prove_or_reduce(&plain, UINT64_MAX, UINT64_MAX, done)
                                  : core_solve_kinds(v, &plain, done);
  }
  core_frame_free(&plain);
  return status;
}

static dzo_status solve_core(core_frame *f, bool *done) {
  *done = false;
  core_part p = {0};
  dzo_status status = core_cut_out(f, &p);
  /* All of it fits, or nothing else does: cannot be, as the break item is
   * undecided. */
  if (status == DZO_OK)
    status = solve_hard(&p, f, done);
  if (p.level.best_set != NULL)
    core_put_back(f, &p);
  core_part_free(&p);
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
  const core_limits *l = run->limits;
  DZO_TRY(find_break(f));
  if (run->stopped)
    return DZO_OK;
  core_frame_bound(f);
  note_bound(f);
  be_greedy(f);
  if (!core_passes(run, f->level->items))
    return DZO_OK;
  core_frame_reduce(f, true);
  *done = core_is_proved(f);
  if (*done)
    return DZO_OK;
  if (f->count > CORE_NEAR_ITEMS)
    DZO_TRY(core_improve(f, f->count > l->easy_items ? l->near_states : l->first_states, done));
  if (*done || run->stopped)
    return DZO_OK;
  if (f->count <= l->easy_items)
    DZO_TRY(core_prove_or_reduce(f, l->easy_states, l->easy_work + 8 * f->count, done));
  *done = *done || core_is_proved(f);
  if (*done || !core_passes(run, f->count))
    return DZO_OK;
  return solve_core(f, done);
}

dzo_status core_level_solve(core_level *v, bool *done) {
  core_frame f = core_frame_of(v);
  *done = false;
  dzo_status status = core_frame_hold(&f);
  if (status == DZO_OK)
    status = solve_frame(&f, done);
  core_frame_free(&f);
  return status;
}
