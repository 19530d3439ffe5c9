/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lagrange's bound of a frame, and what it decides: an item whose worth the
 * other way round takes the bound below what is known stays as it is (R. S.
 * Dembo and P. L. Hammer, "A reduction algorithm for knapsack problems",
 * Methods of Operations Research 36, 1980). */
#include <math.h>

#include "base/clones.h"
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

/* ---- Many items at once ---------------------------------------------------------------------- */

enum { CHUNK = 256 };

DZO_CLONES static void plain_worths(const int64_t *value, const int64_t *weight, uint32_t count,
                                    int64_t scale, int64_t by_weight, int64_t *worth) {
  for (uint32_t i = 0; i < count; i++)
    worth[i] = scale * value[i] - by_weight * weight[i];
}

DZO_CLONES static void subtract_sides(const int32_t *side, uint32_t count, int64_t by_side,
                                      int64_t *worth) {
  for (uint32_t i = 0; i < count; i++)
    worth[i] -= by_side * side[i];
}

/* Of a narrow frame's items, or order[]s (which may be NULL), from .. from + count - 1. */
static void find_worths(const core_frame *f, const uint32_t *order, uint32_t from, uint32_t count,
                        int64_t *worth) {
  const core_level *v = f->level;
  if (order != NULL) {
    for (uint32_t i = 0; i < count; i++)
      worth[i] = narrow_worth(f, order[from + i]);
    return;
  }
  plain_worths(v->value + from, v->weight + from, count, (int64_t)f->scale, (int64_t)f->by_weight,
               worth);
  if (f->side != NULL)
    subtract_sides(f->side + from, count, (int64_t)f->by_side, worth);
}

void core_losses(const core_frame *f, const uint32_t *order, uint32_t count, double *loss) {
  int64_t worth[CHUNK];
  for (uint32_t from = 0, n; from < count; from += n) {
    n = count - from < CHUNK ? count - from : CHUNK;
    if (!f->wide)
      find_worths(f, order, from, n, worth);
    for (uint32_t i = 0; i < n && f->wide; i++)
      loss[from + i] = fabs((double)core_worth(f, order != NULL ? order[from + i] : from + i));
    for (uint32_t i = 0; i < n && !f->wide; i++)
      loss[from + i] = fabs((double)worth[i]);
  }
}

core_wide core_target(const core_frame *f) { return (f->level->best + 1) * f->scale; }

typedef struct settled {
  uint64_t gain_low, gain_high; /* sums of halves, so that they fit 64 bits */
  int64_t value, weight;
} settled;

DZO_CLONES static void settle_chunk(const int64_t *worth, const int64_t *value,
                                    const int64_t *weight, uint32_t count, uint8_t *base,
                                    settled *out) {
  settled s = *out;
  for (uint32_t i = 0; i < count; i++) {
    uint8_t in = (uint8_t)(worth[i] > 0) | ((worth[i] == 0) & base[i]);
    base[i] = in;
    uint64_t gain = in ? (uint64_t)worth[i] : 0;
    s.gain_low += (uint32_t)gain;
    s.gain_high += gain >> 32;
    s.value += in ? value[i] : 0;
    s.weight += in ? weight[i] : 0;
  }
  *out = s;
}

static core_wide settle_narrow(core_frame *f) {
  const core_level *v = f->level;
  settled s = {0};
  int64_t worth[CHUNK];
  for (uint32_t from = 0, n; from < v->items; from += n) {
    n = v->items - from < CHUNK ? v->items - from : CHUNK;
    find_worths(f, NULL, from, n, worth);
    settle_chunk(worth, v->value + from, v->weight + from, n, f->base + from, &s);
  }
  f->base_value = s.value;
  f->base_weight = s.weight;
  f->base_side = 0;
  for (uint32_t i = 0; i < v->items && f->side != NULL; i++)
    f->base_side += f->base[i] ? f->side[i] : 0;
  return ((core_wide)s.gain_high << 32) + (core_wide)s.gain_low;
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
  int64_t most = slack > INT64_MAX ? INT64_MAX : (int64_t)slack, worth[CHUNK];
  uint32_t *order = f->order, count = 0;
  for (uint32_t at = 0, n; at < from; at += n) {
    n = from - at < CHUNK ? from - at : CHUNK;
    find_worths(f, all ? NULL : order, at, n, worth);
    for (uint32_t i = 0; i < n; i++) {
      order[count] = all ? at + i : order[at + i];
      count += (worth[i] < 0 ? -worth[i] : worth[i]) <= most;
    }
  }
  f->count = count;
}

dzo_status core_frame_sort(core_frame *f) {
  core_run *run = f->level->run;
  core_ranked *r = dzo_alloc(run->context, 2 * (uint64_t)f->count, sizeof *r);
  double *loss = dzo_alloc(run->context, f->count, sizeof *loss);
  if (r == NULL || loss == NULL) {
    dzo_free(r);
    dzo_free(loss);
    return run->status = DZO_E_MEMORY;
  }
  core_losses(f, f->order, f->count, loss);
  double scale = (double)f->scale, plain = (double)f->plain;
  const core_level *v = f->level;
  for (uint32_t i = 0; i < f->count; i++) {
    uint32_t item = f->order[i];
    if (f->side != NULL) /* equal losses: near the plain break first */
      loss[i] += 1e-3 * fabs(scale * (double)v->value[item] - plain * (double)v->weight[item]);
    r[i] = (core_ranked){loss[i], item};
  }
  core_sort(run, r, f->count, r + f->count);
  for (uint32_t i = 0; i < f->count; i++)
    f->order[i] = r[i].item;
  dzo_free(r);
  dzo_free(loss);
  return DZO_OK;
}
