/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Going through the undecided items by two lists. A grows from the likeliest
 * items outward as Pisinger's core does; B takes others; the best pair is a
 * walk along both (E. Horowitz and S. Sahni, "Computing partitions with
 * applications to the knapsack problem", JACM 21, 1974). Lists of N states each
 * so look at N * N sets. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "knapsack/core.h"

/* What is left to do: A takes order[a_next] up to a_end; B order[b_next] up, or
 * order[b_end - 1] down where it `descends`, in which case what A has not is
 * what B has not. */
typedef struct core_pair {
  core_frame *f;
  core_list a, b;
  core_flip *flips; /* [count] of the order */
  uint32_t a_next, a_end, b_next, b_end;
  bool descends;
  bool thins;   /* too many states are fewer made */
  bool thinned; /* and were: what is not found may still be there */
  /* Of the items order[i] .. order[count - 1]: no item that is out is worth
   * more of its weight than floors[i], none that is in less than ceilings[i].
   */
  core_wide *floors, *ceilings; /* [count + 1] */
  core_wide wrong_plain_a, wrong_plain_b, wrong_plain;
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
  /* As steep as 128 bits allow, up to a point. */
  core_wide most = ((core_wide)1 << 122) / f->level->weight_sum, steep = 16 * f->by_weight + 16;
  steep = steep < most ? steep : most;
  p->floors[f->count] = 0;
  p->ceilings[f->count] = steep > f->by_weight ? steep : f->by_weight;
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

/* The lines for a list that is about to have all items before order[a_next]; or
 * just took one. */
static void set_lines(const core_pair *p, bool is_a, core_lines *lines) {
  const core_frame *f = p->f;
  *lines = (core_lines){.wide = f->wide, .scale = f->scale};
  bool steep = is_a && p->descends && p->floors[p->a_next] <= p->ceilings[p->a_next];
  if (steep) {
    set_line(p, &lines->line[lines->count++], p->floors[p->a_next], false, 0);
    set_line(p, &lines->line[lines->count++], p->ceilings[p->a_next], false, 0);
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
  while (p->descends && p->b_end > p->a_next) {
    uint32_t item = f->order[p->b_end - 1];
    core_wide worth = core_worth(f, item);
    if ((worth < 0 ? -worth : worth) <= slack)
      break;
    p->b_end--;
    if (f->side != NULL)
      p->wrong_plain -= wrong_by_plain(f, item);
  }
  if (p->descends)
    p->a_end = p->b_end;
}

static bool try_pairs(core_frame *f, const core_list *a, const core_list *b) {
  core_level *v = f->level;
  int64_t value = v->best - f->base_value;
  uint64_t at_a, at_b;
  if (!core_list_pair(a, b, v->capacity - f->base_weight, &value, &at_a, &at_b))
    return false;
  v->best = f->base_value + value;
  v->found = true;
  memcpy(v->best_set, f->base, v->items);
  core_list_apply(a, at_a, v->best_set);
  core_list_apply(b, at_b, v->best_set);
  return true;
}

static dzo_status grow(core_pair *p, bool is_a) {
  const core_frame *f = p->f;
  core_list *list = is_a ? &p->a : &p->b;
  uint32_t at = is_a ? p->a_next++ : p->descends ? --p->b_end : p->b_next++;
  if (p->descends) {
    p->a_end = p->b_end;
    p->b_next = p->a_next;
  }
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
  core_frame *f = p->f;
  core_run *run = f->level->run;
  uint64_t work = 0, begin = run->states;
  bool all = false;
  while (!core_is_proved(f)) {
    bool more_a = p->a_next < p->a_end, more_b = p->b_next < p->b_end;
    all = (!more_a && !more_b) || p->a.count == 0 || p->b.count == 0;
    if (work >= p->a.count + p->b.count || all) {
      work = 0;
      if (try_pairs(f, &p->a, &p->b)) {
        drop(p);
        continue;
      }
    }
    bool is_a = more_a && (!more_b || p->a.count <= p->b.count);
    core_list *list = is_a ? &p->a : &p->b;
    if (all || (list->count > limit && !p->thins) || run->states - begin > most_work)
      break;
    while (list->count > limit) {
      core_list_thin(list);
      p->thinned = true;
    }
    uint64_t states = 2 * list->count;
    DZO_TRY(grow(p, is_a));
    if (run->stopped)
      return DZO_OK;
    work += states;
  }
  if (work > 0 && try_pairs(f, &p->a, &p->b))
    drop(p);
  *done = (all && !p->thinned) || core_is_proved(f);
  return DZO_OK;
}

static dzo_status open_pair(core_pair *p) {
  core_frame *f = p->f;
  core_run *run = f->level->run;
  p->flips = dzo_alloc(run->context, f->count, sizeof *p->flips);
  p->floors = dzo_alloc(run->context, 2 * ((uint64_t)f->count + 1), sizeof *p->floors);
  if (p->flips == NULL || p->floors == NULL)
    return run->status = DZO_E_MEMORY;
  DZO_TRY(core_list_init(&p->a, run));
  DZO_TRY(core_list_init(&p->b, run));
  p->ceilings = p->floors + f->count + 1;
  make_flips(p);
  if (p->descends)
    make_slopes(p);
  return DZO_OK;
}

static void close_pair(core_pair *p) {
  core_list_free(&p->a);
  core_list_free(&p->b);
  dzo_free(p->flips);
  dzo_free(p->floors);
}

dzo_status core_prove(core_frame *f, uint64_t limit, uint64_t work, bool *done) {
  core_pair p = {.f = f, .descends = true, .a_end = f->count, .b_end = f->count};
  *done = false;
  dzo_status status = open_pair(&p);
  if (status == DZO_OK)
    status = walk(&p, limit, work, done);
  close_pair(&p);
  return status;
}

static dzo_status try_singles(core_pair *p, core_frame *f) {
  core_run *run = f->level->run;
  uint8_t *marked = dzo_calloc(run->context, f->level->items, 1);
  core_ranked *room = dzo_alloc(run->context, 2 * ((uint64_t)f->count + 2), sizeof *room);
  core_list singles = {.run = run};
  dzo_status status = marked == NULL || room == NULL ? DZO_E_MEMORY : DZO_OK;
  if (status == DZO_OK) {
    for (uint32_t i = 0; i < p->f->count; i++)
      marked[p->f->order[i]] = 1;
    status = core_list_singles(&singles, f, marked, room);
  }
  if (status == DZO_OK) {
    (void)try_pairs(f, &p->a, &singles);
    (void)try_pairs(f, &p->b, &singles);
  }
  core_list_free(&singles);
  dzo_free(marked);
  dzo_free(room);
  return status == DZO_OK ? DZO_OK : (run->status = status);
}

dzo_status core_try_few(core_frame *f, const core_frame *near, uint32_t half, uint64_t limit,
                        bool thins, bool *done) {
  enum { MANY = 512 };
  core_frame few = *near;
  core_pair p = {.f = &few, .a_end = half, .b_next = half, .b_end = few.count, .thins = thins};
  dzo_status status = open_pair(&p);
  *done = false;
  if (status == DZO_OK)
    status = walk(&p, limit, UINT64_MAX, done);
  if (status == DZO_OK && !core_is_proved(f) && f->count > MANY)
    status = try_singles(&p, f);
  *done = *done && near->count == f->count;
  close_pair(&p);
  return status;
}
