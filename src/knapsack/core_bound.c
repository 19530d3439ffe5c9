/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lagrange's bound of a frame, and what it decides: an item whose worth the
 * other way round takes the bound below what is known stays as it is (R. S.
 * Dembo and P. L. Hammer, "A reduction algorithm for knapsack problems",
 * Methods of Operations Research 36, 1980). */
#include <math.h>

#include "base/memory.h"
#include "knapsack/core.h"

static inline int64_t side_of(const core_frame *f, uint32_t item) {
  return f->side == NULL ? 0 : f->side[item];
}

/* In 64 bits where the frame is narrow. */
static inline int64_t narrow_worth(const core_frame *f, uint32_t item) {
  const core_level *v = f->level;
  return (int64_t)f->scale * v->value[item] - (int64_t)f->by_weight * v->weight[item] -
         (int64_t)f->by_side * side_of(f, item);
}

core_wide core_worth(const core_frame *f, uint32_t item) {
  const core_level *v = f->level;
  if (!f->wide)
    return narrow_worth(f, item);
  return f->scale * v->value[item] - f->by_weight * v->weight[item] - f->by_side * side_of(f, item);
}

double core_rough_worth(const core_frame *f, uint32_t item) {
  return f->wide ? (double)core_worth(f, item) : (double)narrow_worth(f, item);
}

core_wide core_target(const core_frame *f) { return (f->level->best + 1) * f->scale; }

static core_wide settle_narrow(core_frame *f) {
  const core_level *v = f->level;
  const int64_t scale = (int64_t)f->scale, by_weight = (int64_t)f->by_weight;
  core_wide gain = 0;
  int64_t value = 0, weight = 0;
  if (f->side == NULL) {
    for (uint32_t i = 0; i < v->items; i++) {
      int64_t worth = scale * v->value[i] - by_weight * v->weight[i];
      uint8_t base = (uint8_t)(worth > 0) | ((worth == 0) & f->base[i]);
      f->base[i] = base;
      gain += base ? worth : 0;
      value += base ? v->value[i] : 0;
      weight += base ? v->weight[i] : 0;
    }
    f->base_side = 0;
  } else {
    int64_t side = 0;
    for (uint32_t i = 0; i < v->items; i++) {
      int64_t worth = narrow_worth(f, i);
      uint8_t base = (uint8_t)(worth > 0) | ((worth == 0) & f->base[i]);
      f->base[i] = base;
      gain += base ? worth : 0;
      value += base ? v->value[i] : 0;
      weight += base ? v->weight[i] : 0;
      side += base ? f->side[i] : 0;
    }
    f->base_side = side;
  }
  f->base_value = value;
  f->base_weight = weight;
  return gain;
}

static core_wide settle_wide(core_frame *f) {
  const core_level *v = f->level;
  core_wide gain = 0;
  f->base_value = f->base_weight = f->base_side = 0;
  for (uint32_t i = 0; i < v->items; i++) {
    core_wide worth = core_worth(f, i);
    if (worth != 0)
      f->base[i] = worth > 0;
    if (!f->base[i])
      continue;
    gain += worth;
    f->base_value += v->value[i];
    f->base_weight += v->weight[i];
    f->base_side += side_of(f, i);
  }
  return gain;
}

void core_frame_bound(core_frame *f) {
  core_wide gain = f->wide ? settle_wide(f) : settle_narrow(f);
  f->bound = gain + f->by_weight * f->level->capacity + f->by_side * f->limit;
}

void core_frame_reduce(core_frame *f, bool all) {
  core_wide slack = f->bound - core_target(f);
  uint32_t from = all ? f->level->items : f->count;
  f->count = 0;
  if (slack < 0)
    return;
  if (f->wide) {
    for (uint32_t i = 0; i < from; i++) {
      uint32_t item = all ? i : f->order[i];
      core_wide worth = core_worth(f, item);
      f->order[f->count] = item;
      f->count += (worth < 0 ? -worth : worth) <= slack;
    }
    return;
  }
  int64_t most = slack > INT64_MAX ? INT64_MAX : (int64_t)slack;
  for (uint32_t i = 0; i < from; i++) {
    uint32_t item = all ? i : f->order[i];
    int64_t worth = narrow_worth(f, item);
    f->order[f->count] = item;
    f->count += (worth < 0 ? -worth : worth) <= most;
  }
}

dzo_status core_frame_sort(core_frame *f) {
  core_run *run = f->level->run;
  core_ranked *r = dzo_alloc(run->context, 2 * (uint64_t)f->count, sizeof *r);
  if (r == NULL)
    return run->status = DZO_E_MEMORY;
  double scale = (double)f->scale, plain = (double)f->plain;
  const core_level *v = f->level;
  for (uint32_t i = 0; i < f->count; i++) {
    uint32_t item = f->order[i];
    double loss = fabs(core_rough_worth(f, item));
    if (f->side != NULL) /* equal losses: near the plain break first */
      loss += 1e-3 * fabs(scale * (double)v->value[item] - plain * (double)v->weight[item]);
    r[i] = (core_ranked){loss, item};
  }
  core_sort(r, f->count, r + f->count);
  for (uint32_t i = 0; i < f->count; i++)
    f->order[i] = r[i].item;
  dzo_free(r);
  return DZO_OK;
}
