/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The stages of the core method, each for what the one before left. */
#include "knapsack/core_stages.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum {
  FIRST_STATES = 128,
  NEAR_STATES = 512, /* by lists of so many */
  EASY_ITEMS = 1024, /* a core to be proved before anything else is tried */
  EASY_STATES = 4096,
  EASY_WORK = 6000,
};

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

static dzo_status solve_hard(core_level *v, bool *done) {
  core_groups *groups;
  DZO_TRY(core_groups_make(v, &groups));
  if (groups != NULL) {
    dzo_status status = solve_joined(v, groups, done);
    core_groups_free(groups);
    return status;
  }
  core_frame plain = core_frame_of(v);
  dzo_status status = core_frame_hold(&plain);
  if (status == DZO_OK)
    status = find_break(&plain);
  if (status == DZO_OK) {
    core_frame_bound(&plain);
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
    status = solve_hard(&p.level, done);
  if (p.level.best_set != NULL)
    core_put_back(f, &p);
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
    DZO_TRY(core_prove_or_reduce(f, EASY_STATES, EASY_WORK + 8 * f->count, done));
  *done = *done || core_is_proved(f);
  if (*done || run->stopped)
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
