/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/dense_plan.h"

#include "base/memory.h"

/* Ranges closer than NEAR are made one. */
enum { NEAR = 64, FINER = 16, FEW = 6 };

static bool make_room(dzo_context *context, dense_ranges *list, uint64_t more) {
  if (list->count + more <= list->room)
    return true;
  uint64_t room = 2 * (list->count + more);
  dense_range *range = dzo_realloc(context, list->range, room, sizeof *range);
  if (range == NULL)
    return false;
  list->range = range;
  list->room = room;
  return true;
}

void dense_room_free(dense_room *room) {
  dzo_free(room->forth.range);
  dzo_free(room->back.range);
  dzo_free(room->ahead.range);
  *room = (dense_room){0};
}

/* Close the narrowest gaps, until at most `most` ranges are left of the level that begins at
 * `first`. *gap: what was needed for the level before, then for this one. */
static void thin_out(dense_ranges *list, uint64_t first, uint64_t most, int64_t *gap) {
  if (list->count - first <= most)
    return;
  *gap = *gap > 2 * NEAR ? *gap / 2 : NEAR;
  while (list->count - first > most) {
    uint64_t end = list->count;
    *gap *= 2;
    dense_range *last = list->range + first;
    for (uint64_t i = first + 1; i < end; i++) {
      dense_range r = list->range[i];
      if (r.low - last->high > *gap)
        *++last = r;
      else
        last->high = r.high;
    }
    list->count = (uint64_t)(last - list->range) + 1;
  }
}

static uint64_t width_of(const dense_ranges *list, uint64_t first) {
  uint64_t width = 0;
  for (uint64_t i = first; i < list->count; i++)
    width += (uint64_t)(list->range[i].high - list->range[i].low) + 1;
  return width;
}

/* Gaps that are little beside the level are closed: one span goes through the GPU fastest. */
static void close_few(dense_ranges *list, uint64_t first) {
  if (list->count <= first + 1)
    return;
  dense_range *low = &list->range[first], *high = &list->range[list->count - 1];
  uint64_t all = (uint64_t)(high->high - low->low) + 1;
  if (all - width_of(list, first) > all / FEW)
    return;
  low->high = high->high;
  list->count = first + 1;
}

/* What a level is cut to: low .. high, and the ranges next .. end - 1. */
typedef struct limits {
  int64_t low, high;
  const dense_range *next, *end;
} limits;

/* What of a range, which lies behind those before it, is within the limits. */
static dense_range *put(dense_range *to, limits *l, dense_range r) {
  while (l->next < l->end && l->next->high < r.low)
    l->next++;
  for (; l->next < l->end && l->next->low <= r.high; l->next++) {
    dense_range cut = *l->next;
    *to++ = (dense_range){cut.low > r.low ? cut.low : r.low, cut.high < r.high ? cut.high : r.high};
    if (cut.high > r.high)
      break;
  }
  return to;
}

/* The level begin .. end - 1 of the list and the same level moved by `shift`, within the limits, at
 * the end of the list. */
static bool unite(dzo_context *context, dense_ranges *list, uint64_t begin, uint64_t end,
                  int64_t shift, limits l) {
  if (!make_room(context, list, 2 * (end - begin) + (uint64_t)(l.end - l.next) + 1))
    return false;
  const dense_range *there = list->range + end, *a = list->range + begin, *b = a;
  dense_range *to = list->range + list->count;
  /* Of the lower ones there is nothing left. */
  while (a < there && a->high < l.low)
    a++;
  while (b < there && b->high + shift < l.low)
    b++;
  dense_range open = {0, INT64_MIN};
  for (;;) {
    int64_t a_low = a < there ? a->low : INT64_MAX, b_low = b < there ? b->low + shift : INT64_MAX;
    bool moved = b_low < a_low;
    int64_t from = moved ? b_low : a_low;
    if (from > l.high)
      break;
    int64_t until = moved ? b->high + shift : a->high;
    a += !moved;
    b += moved;
    from = from < l.low ? l.low : from;
    until = until < l.high ? until : l.high;
    if (open.high != INT64_MIN && from - open.high <= NEAR) {
      open.high = until > open.high ? until : open.high;
      continue;
    }
    if (open.high != INT64_MIN)
      to = put(to, &l, open);
    open = (dense_range){from, until};
  }
  if (open.high != INT64_MIN)
    to = put(to, &l, open);
  list->count = (uint64_t)(to - list->range);
  return true;
}

/* Has the job been stopped? Then the plan stays incomplete. */
static bool is_stopped(dense_plan *plan) {
  if (plan->job != NULL && knapsack_must_stop(plan->job))
    plan->complete = false;
  return !plan->complete;
}

static bool begin_list(dzo_context *context, dense_ranges *list, dense_range range) {
  list->count = 0;
  if (!make_room(context, list, 1))
    return false;
  list->range[list->count++] = range;
  return true;
}

/* Which weights can the first items have? A rough answer, which keeps the others short. */
static bool look_forth(dense_plan *plan, int64_t high, dense_ranges *list, uint64_t *first) {
  const dense_range all = {0, high};
  if (!begin_list(plan->context, list, (dense_range){0, 0}))
    return false;
  first[0] = 0;
  first[1] = 1;
  int64_t gap = 0;
  for (uint32_t j = 0; j < plan->items && !is_stopped(plan); j++) {
    limits l = {0, high, &all, &all + 1};
    if (!unite(plan->context, list, first[j], first[j + 1], plan->weight[j], l))
      return false;
    thin_out(list, first[j + 1], plan->most, &gap);
    first[j + 2] = list->count;
  }
  return true;
}

/* From which of them can the goal be reached? Levels stand in falling order: first[items] = 0. */
static bool look_back(dense_plan *plan, int64_t low, int64_t high, const dense_ranges *forth,
                      const uint64_t *forth_first, dense_ranges *list, uint64_t *first) {
  if (!begin_list(plan->context, list, (dense_range){low, high}))
    return false;
  first[plan->items] = 0;
  uint64_t begin = 0;
  int64_t gap = 0;
  for (uint32_t j = plan->items; j-- > 0 && !is_stopped(plan);) {
    uint64_t end = list->count;
    limits l = {0, high, forth->range + forth_first[j], forth->range + forth_first[j + 1]};
    if (!unite(plan->context, list, begin, end, -plan->weight[j], l))
      return false;
    thin_out(list, end, FINER * plan->most, &gap);
    first[j] = begin = end;
  }
  return true;
}

/* A level's ranges as spans, behind those of the levels before it: what is too long is cut, and
 * each has its cells. Returns the level's width; *count becomes the number of spans. */
static uint64_t place(const dense_plan *plan, const dense_range *range, const dense_range *end,
                      dense_span *span, uint64_t *count) {
  uint64_t width = 0;
  for (; range < end; range++)
    for (int64_t low = range->low; low <= range->high; low += plan->longest) {
      int64_t high = range->high - low < plan->longest ? range->high : low + plan->longest - 1;
      span[(*count)++] = (dense_span){low, high, width, (int64_t)(plan->rate * (double)low)};
      width += (uint64_t)(high - low) + 1;
    }
  return width;
}

/* Room for that. */
static bool span_room(dense_plan *plan, const dense_range *range, const dense_range *end,
                      uint64_t count, uint64_t *room) {
  uint64_t pieces = count;
  for (; range < end; range++)
    pieces += (uint64_t)((range->high - range->low) / plan->longest) + 1;
  if (pieces <= *room)
    return true;
  dense_span *span = dzo_realloc(plan->context, plan->span, 2 * pieces, sizeof *span);
  if (span == NULL)
    return false;
  plan->span = span;
  *room = 2 * pieces;
  return true;
}

static void note_level(dense_plan *plan, uint32_t level, uint64_t width, uint64_t spans) {
  plan->cells += level > 0 ? width : 0;
  plan->widest = width > plan->widest ? width : plan->widest;
  plan->widest_spans = spans > plan->widest_spans ? spans : plan->widest_spans;
  plan->words[level + 1] = plan->words[level] + (level > 0 ? (width + 63) / 64 : 0);
}

/* Level by level from the empty set on, what can be reached and is of use. */
static bool look_ahead(dense_plan *plan, const dense_ranges *back, const uint64_t *back_first,
                       uint64_t enough, dense_ranges *list) {
  uint64_t room = 0, count = 0, begin = 0;
  if (!begin_list(plan->context, list, (dense_range){0, 0}) ||
      !span_room(plan, list->range, list->range + 1, 0, &room))
    return false;
  plan->first[0] = plan->words[0] = 0;
  note_level(plan, 0, place(plan, list->range, list->range + 1, plan->span, &count), 1);
  plan->first[1] = count;
  int64_t gap = 0;
  for (uint32_t j = 0; j < plan->items; j++) {
    uint64_t end = list->count, width = 0;
    if (!is_stopped(plan)) {
      limits l = {0, INT64_MAX - 1, back->range + back_first[j + 1], back->range + back_first[j]};
      if (!unite(plan->context, list, begin, end, plan->weight[j], l))
        return false;
      thin_out(list, end, FINER * plan->most, &gap);
      close_few(list, end);
      plan->complete = width_of(list, end) <= DENSE_WIDEST;
      if (!plan->complete)
        list->count = end;
      const dense_range *from = list->range + end, *to = list->range + list->count;
      if (!span_room(plan, from, to, count, &room))
        return false;
      width = place(plan, from, to, plan->span, &count);
      begin = end;
    }
    plan->first[j + 2] = count;
    note_level(plan, j + 1, width, count - plan->first[j + 1]);
    plan->complete = plan->complete && plan->cells <= enough;
  }
  if (!plan->complete)
    plan->cells = UINT64_MAX;
  return true;
}

/* The three looks; all but the last are for the plan alone. */
static bool look(dense_plan *plan, int64_t low, int64_t high, uint64_t enough, dense_room *room) {
  uint64_t *first = dzo_alloc(plan->context, 2 * ((uint64_t)plan->items + 2), sizeof *first);
  uint64_t *back_first = first == NULL ? NULL : first + plan->items + 2;
  bool made = first != NULL && look_forth(plan, high, &room->forth, first) &&
              look_back(plan, low, high, &room->forth, first, &room->back, back_first) &&
              look_ahead(plan, &room->back, back_first, enough, &room->ahead);
  dzo_free(first);
  return made;
}

dzo_status dense_plan_make(dense_plan *plan, int64_t low, int64_t high, uint64_t enough) {
  plan->cells = plan->widest = plan->widest_spans = 0;
  plan->complete = true;
  plan->span = NULL;
  plan->first = dzo_alloc(plan->context, (uint64_t)plan->items + 2, sizeof *plan->first);
  plan->words = dzo_alloc(plan->context, (uint64_t)plan->items + 2, sizeof *plan->words);
  dense_room own = {0};
  bool made = plan->first != NULL && plan->words != NULL &&
              look(plan, low, high, enough, plan->room != NULL ? plan->room : &own);
  dense_room_free(&own);
  if (made)
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
