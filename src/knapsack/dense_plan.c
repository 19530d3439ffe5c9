/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/dense_plan.h"

#include <string.h>

#include "base/memory.h"

/* Spans closer than NEAR are made one. */
enum { NEAR = 64, FINER = 16, FEW = 6 };

/* A list of levels, one behind another. */
typedef struct span_list {
  dzo_context *context;
  dense_span *span;
  uint64_t count, room;
} span_list;

static bool make_room(span_list *list, uint64_t more) {
  if (list->count + more <= list->room)
    return true;
  uint64_t room = 2 * (list->count + more);
  dense_span *span = dzo_realloc(list->context, list->span, room, sizeof *span);
  if (span == NULL)
    return false;
  list->span = span;
  list->room = room;
  return true;
}

/* Add low .. high to the level that begins at `first`, behind all its spans or touching the last.
 */
static void add(span_list *list, uint64_t first, int64_t low, int64_t high, int64_t gap) {
  if (list->count > first && low - list->span[list->count - 1].high <= gap) {
    dense_span *last = &list->span[list->count - 1];
    last->high = high > last->high ? high : last->high;
    return;
  }
  list->span[list->count++] = (dense_span){low, high, 0, 0};
}

/* Close the narrowest gaps, until at most `most` spans are left of the level. *gap: what was needed
 * for the level before, then for this one. */
static void thin_out(span_list *list, uint64_t first, uint64_t most, int64_t *gap) {
  if (list->count - first <= most)
    return;
  *gap = *gap > 2 * NEAR ? *gap / 2 : NEAR;
  while (list->count - first > most) {
    uint64_t end = list->count;
    *gap *= 2;
    list->count = first + 1;
    for (uint64_t i = first + 1; i < end; i++)
      add(list, first, list->span[i].low, list->span[i].high, *gap);
  }
}

static uint64_t width_of(const span_list *list, uint64_t first) {
  uint64_t width = 0;
  for (uint64_t i = first; i < list->count; i++)
    width += (uint64_t)(list->span[i].high - list->span[i].low) + 1;
  return width;
}

/* Gaps that are little beside the level are closed: one span goes through the GPU fastest. */
static void close_few(span_list *list, uint64_t first) {
  if (list->count <= first + 1)
    return;
  dense_span *low = &list->span[first], *high = &list->span[list->count - 1];
  uint64_t all = (uint64_t)(high->high - low->low) + 1;
  if (all - width_of(list, first) > all / FEW)
    return;
  low->high = high->high;
  list->count = first + 1;
}

/* A level and the same level moved by `shift`, both cut to low .. high, at the end of the list. */
static bool unite(span_list *list, uint64_t begin, uint64_t end, int64_t shift, int64_t low,
                  int64_t high) {
  if (!make_room(list, 2 * (end - begin)))
    return false;
  const dense_span *there = list->span + end, *a = list->span + begin, *b = a;
  /* Of the lower ones there is nothing left. */
  while (a < there && a->high < low)
    a++;
  while (b < there && b->high + shift < low)
    b++;
  uint64_t first = list->count;
  for (;;) {
    int64_t a_low = a < there ? a->low : INT64_MAX, b_low = b < there ? b->low + shift : INT64_MAX;
    bool moved = b_low < a_low;
    int64_t from = moved ? b_low : a_low;
    if (from > high)
      return true;
    int64_t to = moved ? b->high + shift : a->high;
    a += !moved;
    b += moved;
    add(list, first, from < low ? low : from, to < high ? to : high, NEAR);
  }
}

/* What of the last level of `list` is in the spans begin .. end - 1 of `other`. */
static bool intersect(span_list *list, uint64_t first, const span_list *other, uint64_t begin,
                      uint64_t end) {
  uint64_t last = list->count;
  if (!make_room(list, (last - first) + (end - begin)))
    return false;
  for (uint64_t i = first, k = begin; i < last && k < end;) {
    dense_span a = list->span[i], b = other->span[k];
    int64_t low = a.low > b.low ? a.low : b.low, high = a.high < b.high ? a.high : b.high;
    if (low <= high)
      add(list, last, low, high, 0);
    if (a.high < b.high)
      i++;
    else
      k++;
  }
  memmove(list->span + first, list->span + last, (list->count - last) * sizeof *list->span);
  list->count -= last - first;
  return true;
}

/* Has the job been stopped? Then the plan stays incomplete. */
static bool is_stopped(dense_plan *plan) {
  if (plan->job != NULL && knapsack_must_stop(plan->job))
    plan->complete = false;
  return !plan->complete;
}

/* Which weights can the first items have? A rough answer, which keeps the others short. */
static bool look_forth(dense_plan *plan, int64_t high, span_list *list, uint64_t *first) {
  if (!make_room(list, 1))
    return false;
  list->span[list->count++] = (dense_span){0, 0, 0, 0};
  first[0] = 0;
  first[1] = 1;
  int64_t gap = 0;
  for (uint32_t j = 0; j < plan->items && !is_stopped(plan); j++) {
    if (!unite(list, first[j], first[j + 1], plan->weight[j], 0, high))
      return false;
    thin_out(list, first[j + 1], plan->most, &gap);
    first[j + 2] = list->count;
  }
  return true;
}

/* From which of them can the goal be reached? Levels stand in falling order: first[items] = 0. */
static bool look_back(dense_plan *plan, int64_t low, int64_t high, const span_list *forth,
                      const uint64_t *forth_first, span_list *list, uint64_t *first) {
  if (!make_room(list, 1))
    return false;
  list->span[list->count++] = (dense_span){low, high, 0, 0};
  first[plan->items] = 0;
  uint64_t begin = 0;
  int64_t gap = 0;
  for (uint32_t j = plan->items; j-- > 0 && !is_stopped(plan);) {
    uint64_t end = list->count;
    if (!unite(list, begin, end, -plan->weight[j], 0, high) ||
        !intersect(list, end, forth, forth_first[j], forth_first[j + 1]))
      return false;
    thin_out(list, end, FINER * plan->most, &gap);
    first[j] = begin = end;
  }
  return true;
}

/* Cut what is too long, and give each span its cells. False: no memory. */
static bool place(dense_plan *plan, span_list *list, uint64_t first, uint64_t *width) {
  uint64_t pieces = 0, count = list->count - first;
  for (uint64_t i = first; i < list->count; i++)
    pieces += (uint64_t)((list->span[i].high - list->span[i].low) / plan->longest) + 1;
  if (!make_room(list, pieces))
    return false;
  uint64_t to = first + pieces;
  for (uint64_t i = first + count; i-- > first;) {
    dense_span s = list->span[i];
    int64_t cuts = (s.high - s.low) / plan->longest;
    for (int64_t k = cuts; k >= 0; k--) {
      int64_t low = s.low + k * plan->longest;
      list->span[--to] = (dense_span){low, k == cuts ? s.high : low + plan->longest - 1, 0,
                                      (int64_t)(plan->rate * (double)low)};
    }
  }
  list->count = first + pieces;
  *width = 0;
  for (uint64_t i = first; i < list->count; i++) {
    list->span[i].at = *width;
    *width += (uint64_t)(list->span[i].high - list->span[i].low) + 1;
  }
  return true;
}

static void note_level(dense_plan *plan, uint32_t level, uint64_t width, uint64_t spans) {
  plan->cells += level > 0 ? width : 0;
  plan->widest = width > plan->widest ? width : plan->widest;
  plan->widest_spans = spans > plan->widest_spans ? spans : plan->widest_spans;
  plan->words[level + 1] = plan->words[level] + (level > 0 ? (width + 63) / 64 : 0);
}

/* Level by level from the empty set on, what can be reached and is of use. */
static bool look_ahead(dense_plan *plan, const span_list *back, const uint64_t *back_first,
                       uint64_t enough, span_list *list) {
  if (!make_room(list, 1))
    return false;
  list->span[list->count++] = (dense_span){0, 0, 0, 0};
  plan->first[0] = plan->words[0] = 0;
  plan->first[1] = 1;
  note_level(plan, 0, 1, 1);
  int64_t gap = 0;
  for (uint32_t j = 0; j < plan->items; j++) {
    uint64_t begin = plan->first[j], end = plan->first[j + 1];
    uint64_t width = 0;
    if (!is_stopped(plan)) {
      if (!unite(list, begin, end, plan->weight[j], 0, INT64_MAX - 1) ||
          !intersect(list, end, back, back_first[j + 1], back_first[j]))
        return false;
      thin_out(list, end, FINER * plan->most, &gap);
      close_few(list, end);
      plan->complete = width_of(list, end) <= DENSE_WIDEST;
      if (!plan->complete)
        list->count = end;
      if (!place(plan, list, end, &width))
        return false;
    }
    plan->first[j + 2] = list->count;
    note_level(plan, j + 1, width, list->count - end);
    plan->complete = plan->complete && plan->cells <= enough;
  }
  if (!plan->complete)
    plan->cells = UINT64_MAX;
  return true;
}

/* The three looks; all but the last are for the plan alone. */
static bool look(dense_plan *plan, int64_t low, int64_t high, uint64_t enough) {
  dzo_context *context = plan->context;
  uint64_t *first = dzo_alloc(context, 2 * ((uint64_t)plan->items + 2), sizeof *first);
  uint64_t *back_first = first == NULL ? NULL : first + plan->items + 2;
  span_list forth = {context, NULL, 0, 0}, back = forth, list = forth;
  bool made = first != NULL && look_forth(plan, high, &forth, first) &&
              look_back(plan, low, high, &forth, first, &back, back_first);
  dzo_free(forth.span);
  made = made && look_ahead(plan, &back, back_first, enough, &list);
  dzo_free(back.span);
  dzo_free(first);
  plan->span = list.span;
  return made;
}

dzo_status dense_plan_make(dense_plan *plan, int64_t low, int64_t high, uint64_t enough) {
  plan->cells = plan->widest = plan->widest_spans = 0;
  plan->complete = true;
  plan->span = NULL;
  plan->first = dzo_alloc(plan->context, (uint64_t)plan->items + 2, sizeof *plan->first);
  plan->words = dzo_alloc(plan->context, (uint64_t)plan->items + 2, sizeof *plan->words);
  if (plan->first != NULL && plan->words != NULL && look(plan, low, high, enough))
    return DZO_OK;
  dense_plan_free(plan);
  return DZO_E_MEMORY;
}

void dense_plan_free(dense_plan *plan) {
  dzo_free(plan->span);
  dzo_free(plan->first);
  dzo_free(plan->words);
  plan->span = NULL;
  plan->first = plan->words = NULL;
}

uint64_t dense_plan_width(const dense_plan *plan, uint32_t level) {
  uint64_t end = plan->first[level + 1];
  if (end == plan->first[level])
    return 0;
  dense_span last = plan->span[end - 1];
  return last.at + (uint64_t)(last.high - last.low) + 1;
}

const dense_span *dense_plan_find(const dense_plan *plan, uint32_t level, int64_t weight) {
  uint64_t low = plan->first[level], high = plan->first[level + 1];
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (plan->span[middle].low <= weight)
      low = middle;
    else
      high = middle;
  }
  return &plan->span[low];
}

uint64_t dense_plan_segments(const dense_plan *plan) { return 5 * plan->widest_spans + 4; }

/* A walk along a level, whose weights are moved by `shift`. */
typedef struct walk {
  const dense_span *span, *end;
  int64_t shift;
} walk;

/* The cell of weight x, or DENSE_NOWHERE; it is so up to *until. */
static uint64_t walk_to(walk *w, int64_t x, int64_t *until, int64_t *base) {
  while (w->span < w->end && w->span->high + w->shift < x)
    w->span++;
  *base = 0;
  if (w->span == w->end)
    return DENSE_NOWHERE;
  int64_t begin = w->span->low + w->shift, end = w->span->high + w->shift;
  if (begin > x) {
    *until = begin - 1 < *until ? begin - 1 : *until;
    return DENSE_NOWHERE;
  }
  *until = end < *until ? end : *until;
  *base = w->span->base;
  return w->span->at + (uint64_t)(x - begin);
}

uint64_t dense_plan_cut(const dense_plan *plan, uint32_t level, dense_segment *segment) {
  const dense_span *from = plan->span + plan->first[level],
                   *to = plan->span + plan->first[level + 1],
                   *end = plan->span + plan->first[level + 2];
  walk stay = {from, to, 0}, take = {from, to, plan->weight[level]};
  uint64_t count = 0;
  for (const dense_span *s = to; s < end; s++)
    for (int64_t x = s->low; x <= s->high;) {
      int64_t until = s->high, stay_base, take_base;
      dense_segment *one = &segment[count++];
      one->out = s->at + (uint64_t)(x - s->low);
      one->stay = walk_to(&stay, x, &until, &stay_base);
      one->take = walk_to(&take, x, &until, &take_base);
      one->stay_add = stay_base - s->base;
      one->take_add = take_base + plan->value[level] - s->base;
      one->count = (uint64_t)(until - x) + 1;
      x = until + 1;
    }
  return count;
}
