/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Going through the undecided items by two lists. A grows from the likeliest items outward as
 * Pisinger's core does; B takes others; the best pair is a walk along both (E. Horowitz and
 * S. Sahni, "Computing partitions with applications to the knapsack problem", JACM 21, 1974). Lists
 * of N states each so look at N * N sets. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/core.h"

/* What is left to do for the items order[low] .. order[high - 1]. */
typedef struct core_pair {
  core_frame *f;
  core_list a, b;
  core_flip *flips; /* [count] of the order */
  uint32_t low, high;
  /* Of the items order[i] .. order[count - 1]: no item that is out is worth more of its weight than
   * floors[i], none that is in less than ceilings[i]. */
  core_wide *floors, *ceilings; /* [count + 1] */
  core_wide wrong_plain_a, wrong_plain_b, wrong_plain;
  core_shape shape;
} core_pair;

static core_wide divide_down(core_wide a, core_wide b) {
  core_wide q = a / b;
  return q - (a % b < 0);
}

static core_wide slope(const core_frame *f, uint32_t item, bool up) {
  const core_level *v = f->level;
  core_wide worth = f->scale * v->value[item];
  if (f->side != NULL)
    worth -= f->by_side * f->side[item];
  if (!f->wide) {
    int64_t n = (int64_t)worth, w = v->weight[item], q = n / w, rest = n % w;
    return up ? q + (rest > 0) : q - (rest < 0);
  }
  return up ? -divide_down(-worth, v->weight[item]) : divide_down(worth, v->weight[item]);
}

/* How much a better choice of this item alone would gain by the plain bound. */
static core_wide wrong_by_plain(const core_frame *f, uint32_t item) {
  const core_level *v = f->level;
  core_wide worth = f->scale * v->value[item] - f->plain * v->weight[item];
  bool wrong = f->base[item] ? worth < 0 : worth > 0;
  return !wrong ? 0 : worth < 0 ? -worth : worth;
}

static void make_slopes(core_pair *p) {
  core_frame *f = p->f;
  const core_level *v = f->level;
  core_wide most = (f->wide ? (core_wide)1 << 121 : (core_wide)1 << 59) / v->weight_sum;
  p->floors[f->count] = 0;
  p->ceilings[f->count] = most > f->by_weight ? most : f->by_weight;
  for (uint32_t i = f->count; i-- > 0;) {
    uint32_t item = f->order[i];
    p->floors[i] = p->floors[i + 1];
    p->ceilings[i] = p->ceilings[i + 1];
    core_wide s = slope(f, item, !f->base[item]);
    if (!f->base[item] && s > p->floors[i])
      p->floors[i] = s;
    if (f->base[item] && s < p->ceilings[i])
      p->ceilings[i] = s < 0 ? 0 : s;
  }
}

static void set_line(const core_pair *p, core_line *line, core_wide by_weight, bool plain,
                     core_wide wrong) {
  const core_frame *f = p->f;
  line->weight = by_weight;
  line->side = plain ? 0 : f->by_side;
  line->rest = f->scale * f->base_value - core_target(f) +
               by_weight * (f->level->capacity - f->base_weight) +
               line->side * (f->limit - f->base_side) + wrong;
}

/* The lines for a list that is about to take its next item; A in shape CORE_PROVING will have all
 * items before `low`. */
static void set_lines(const core_pair *p, bool is_a, core_lines *lines) {
  const core_frame *f = p->f;
  *lines = (core_lines){.wide = f->wide, .scale = f->scale};
  bool steep = is_a && p->shape == CORE_PROVING && p->floors[p->low] <= p->ceilings[p->low];
  if (steep) {
    set_line(p, &lines->line[lines->count++], p->floors[p->low], false, 0);
    set_line(p, &lines->line[lines->count++], p->ceilings[p->low], false, 0);
  } else {
    set_line(p, &lines->line[lines->count++], f->by_weight, false, 0);
  }
  if (f->side != NULL)
    set_line(p, &lines->line[lines->count++], f->plain, true,
             p->wrong_plain - (is_a ? p->wrong_plain_a : p->wrong_plain_b));
}

static void make_flips(core_pair *p) {
  const core_frame *f = p->f;
  const core_level *v = f->level;
  for (uint32_t i = 0; i < f->count; i++) {
    uint32_t item = f->order[i];
    int64_t sign = f->base[item] ? -1 : 1;
    int64_t side = f->side == NULL ? 0 : f->side[item];
    p->flips[i] = (core_flip){.item = item,
                              .side = (int32_t)(sign * side),
                              .weight = sign * v->weight[item],
                              .value = sign * v->value[item]};
    p->wrong_plain += f->side == NULL ? 0 : wrong_by_plain(f, item);
  }
}

/* Items that the best value known decides by now. */
static void drop(core_pair *p) {
  const core_frame *f = p->f;
  core_wide slack = f->bound - core_target(f);
  while (p->high > p->low) {
    uint32_t item = f->order[p->high - 1];
    core_wide worth = core_worth(f, item);
    if ((worth < 0 ? -worth : worth) <= slack)
      return;
    p->high--;
    if (f->side != NULL)
      p->wrong_plain -= wrong_by_plain(f, item);
  }
}

static void try_pairs(core_pair *p) {
  core_frame *f = p->f;
  core_level *v = f->level;
  int64_t value = v->best - f->base_value;
  uint64_t at_a, at_b;
  if (!core_list_pair(&p->a, &p->b, v->capacity - f->base_weight, &value, &at_a, &at_b))
    return;
  v->best = f->base_value + value;
  v->found = true;
  memcpy(v->best_set, f->base, v->items);
  core_list_apply(&p->a, at_a, v->best_set);
  core_list_apply(&p->b, at_b, v->best_set);
  drop(p);
}

static dzo_status grow(core_pair *p, bool is_a) {
  const core_frame *f = p->f;
  core_list *list = is_a ? &p->a : &p->b;
  uint32_t at = is_a || p->shape == CORE_NEAR ? p->low++ : --p->high;
  if (f->side != NULL) {
    core_wide wrong = wrong_by_plain(f, f->order[at]);
    if (is_a)
      p->wrong_plain_a += wrong;
    else
      p->wrong_plain_b += wrong;
  }
  core_lines lines;
  set_lines(p, is_a, &lines);
  return core_list_flip(list, &p->flips[at], &lines);
}

static dzo_status walk(core_pair *p, uint64_t limit, uint64_t most_work, bool *done) {
  core_run *run = p->f->level->run;
  uint64_t work = 0, begin = run->states;
  try_pairs(p);
  while (p->low < p->high && !core_is_proved(p->f)) {
    bool is_a = p->a.count <= p->b.count;
    core_list *list = is_a ? &p->a : &p->b;
    if (list->count > limit || list->count == 0 || run->states - begin > most_work)
      break;
    uint64_t states = 2 * list->count;
    if (!core_goes_on(run, states))
      return DZO_OK;
    DZO_TRY(grow(p, is_a));
    work += states;
    if (work >= p->a.count + p->b.count || p->low >= p->high) {
      try_pairs(p);
      work = 0;
    }
  }
  if (work > 0)
    try_pairs(p);
  *done = core_is_proved(p->f) || p->low >= p->high || p->a.count == 0 || p->b.count == 0;
  return DZO_OK;
}

dzo_status core_search(core_frame *f, core_shape shape, uint64_t limit, uint64_t work, bool *done) {
  core_run *run = f->level->run;
  core_pair p = {.f = f, .high = f->count, .shape = shape};
  *done = false;
  p.flips = dzo_alloc(run->context, f->count, sizeof *p.flips);
  p.floors = dzo_alloc(run->context, 2 * ((uint64_t)f->count + 1), sizeof *p.floors);
  dzo_status status = DZO_OK;
  if (p.flips == NULL || p.floors == NULL)
    status = run->status = DZO_E_MEMORY;
  if (status == DZO_OK)
    status = core_list_init(&p.a, run);
  if (status == DZO_OK)
    status = core_list_init(&p.b, run);
  if (status == DZO_OK) {
    p.ceilings = p.floors + f->count + 1;
    make_flips(&p);
    if (shape == CORE_PROVING)
      make_slopes(&p);
    status = walk(&p, limit, work, done);
  }
  core_list_free(&p.a);
  core_list_free(&p.b);
  dzo_free(p.flips);
  dzo_free(p.floors);
  return status;
}
