/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A better set soon: by the items of the least losses, which are the likeliest to be otherwise in
 * the best set, and by some others, whose weights differ more. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/core.h"

enum { FEW = 512 };

/* Losses of the order's items, less than 0; and how great they are at most for `nearest` of them.
 */
typedef struct losses {
  double *loss, *key;
  int64_t *ones;
  double least;
  uint32_t tie_step; /* of those, each so manieth is enough */
} losses;

static void free_losses(losses *l) {
  dzo_free(l->key);
  dzo_free(l->ones);
}

static dzo_status make_losses(const core_frame *f, uint32_t nearest, losses *l) {
  core_run *run = f->level->run;
  *l = (losses){.key = dzo_alloc(run->context, 2 * (uint64_t)f->count, sizeof *l->key),
                .ones = dzo_alloc(run->context, f->count, sizeof *l->ones)};
  if (l->key == NULL || l->ones == NULL) {
    free_losses(l);
    return run->status = DZO_E_MEMORY;
  }
  l->loss = l->key + f->count;
  core_losses(f, f->order, f->count, l->loss);
  for (uint32_t i = 0; i < f->count; i++) {
    l->key[i] = l->loss[i] = -l->loss[i];
    l->ones[i] = 1;
  }
  l->least = core_break_key(l->key, l->ones, f->count, nearest);
  uint32_t tied = 0;
  for (uint32_t i = 0; i < f->count; i++)
    tied += l->loss[i] >= l->least;
  l->tie_step = tied / nearest > 1 ? tied / nearest : 1;
  return DZO_OK;
}

/* Some, of the least losses in the first half, and some here and there in the other; or, where
 * there are not so many, all of the least losses, and *half is 0. */
static dzo_status choose_near(const core_frame *f, core_frame *near, uint32_t *half) {
  enum { HALF = CORE_NEAR_ITEMS / 2 };
  bool spread = f->count > FEW;
  uint32_t nearest = spread ? HALF : CORE_NEAR_ITEMS, a = 0, b = 0, seen = 0;
  uint32_t others[HALF], step = f->count / HALF, next = 0;
  losses l;
  DZO_TRY(make_losses(f, nearest, &l));
  for (uint32_t i = 0; i < f->count; i++)
    if (a < nearest && l.loss[i] >= l.least && seen++ == a * l.tie_step) {
      near->order[a++] = f->order[i];
    } else if (i >= next && spread && b < HALF) {
      others[b++] = f->order[i];
      next += step;
    }
  free_losses(&l);
  *half = spread ? a : 0;
  memcpy(near->order + a, others, b * sizeof *others);
  near->count = a + b;
  return DZO_OK;
}

/* The odd ones in one half, the even ones in the other. */
static void deal_out(core_frame *near, uint32_t *half) {
  uint32_t dealt[CORE_WIDE_ITEMS];
  memcpy(dealt, near->order, near->count * sizeof *dealt);
  *half = (near->count + 1) / 2;
  for (uint32_t i = 0; i < near->count; i++)
    near->order[i % 2 == 0 ? i / 2 : *half + i / 2] = dealt[i];
}

static dzo_status finish(core_frame *f, bool *done) {
  core_frame_reduce(f, false);
  *done = *done || core_is_proved(f);
  return DZO_OK;
}

dzo_status core_improve(core_frame *f, uint64_t states, bool *done) {
  uint32_t order[CORE_NEAR_ITEMS], half = 0;
  core_frame near = *f;
  near.order = order;
  if (f->count <= CORE_NEAR_ITEMS)
    memcpy(order, f->order, f->count * sizeof *order);
  else
    DZO_TRY(choose_near(f, &near, &half));
  core_frame a = near, b = near;
  a.count = half;
  b.order += half;
  b.count -= half;
  if (half > 0)
    DZO_TRY(core_frame_sort(&a));
  DZO_TRY(core_frame_sort(&b));
  if (half == 0)
    deal_out(&near, &half);
  DZO_TRY(core_try_few(f, &near, half, states, false, done));
  return finish(f, done);
}

dzo_status core_improve_widely(core_frame *f, uint32_t items, uint64_t states, bool *done) {
  uint32_t order[CORE_WIDE_ITEMS], half, seen = 0;
  core_frame wide = *f;
  wide.order = order;
  wide.count = 0;
  losses l;
  DZO_TRY(make_losses(f, items, &l));
  for (uint32_t i = 0; i < f->count && wide.count < items; i++)
    if (l.loss[i] >= l.least && seen++ % l.tie_step == 0)
      order[wide.count++] = f->order[i];
  free_losses(&l);
  DZO_TRY(core_frame_sort(&wide));
  deal_out(&wide, &half);
  DZO_TRY(core_try_few(f, &wide, half, states, true, done));
  return finish(f, done);
}
