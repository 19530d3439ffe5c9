/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A list merged with itself shifted. Which of both comes next and what is dominated is often as it
 * was a step ago, so branches do better here than choices without. */
#include "knapsack/core.h"

enum { CHUNK = 1 << 16 };

typedef struct narrow_line {
  int64_t weight, side, rest;
} narrow_line;

/* What is added to a state that is flipped. */
typedef struct shift {
  int64_t weight, value;
  uint64_t bit, tail;
} shift;

typedef struct walker {
  const core_state *x, *y; /* the next ones, as they are and flipped */
  core_state *to;
  int64_t last; /* the greatest value so far */
} walker;

static inline __attribute__((always_inline)) bool is_above(int64_t w, int64_t v, uint64_t tail,
                                                           int64_t scale, const narrow_line *line,
                                                           unsigned lines, bool sided) {
  int64_t above = 0, value = scale * v;
  for (unsigned i = 0; i < lines; i++) {
    int64_t distance = value - line[i].weight * w + line[i].rest;
    if (sided)
      distance -= line[i].side * core_side(tail);
    above |= distance;
  }
  return above >= 0;
}

static inline __attribute__((always_inline)) bool
is_flipped_first(const core_state *x, const core_state *y, const shift *by, bool sided) {
  int64_t w = y->weight + by->weight, v = y->value + by->value;
  bool first = v > x->value;
  if (sided)
    first |= (v == x->value) & (core_side(y->tail + by->tail) < core_side(x->tail));
  return (w < x->weight) | ((w == x->weight) & first);
}

static inline __attribute__((always_inline)) bool
is_first_of_equals(const core_state *x, const core_state *y, const shift *by, bool sided) {
  int64_t v = y->value + by->value;
  if (sided && v == x->value)
    return core_side(y->tail + by->tail) < core_side(x->tail);
  return v > x->value;
}

/* Of equal weight and value, the one of the lesser side comes first, and the other one goes. States
 * as they are need no test where the lines are those they passed before. */
static inline __attribute__((always_inline)) void chunk(walker *k, uint64_t steps, const shift *by,
                                                        int64_t scale, const narrow_line *lines,
                                                        unsigned count, bool sided, bool tested) {
  const core_state *x = k->x, *y = k->y;
  core_state *to = k->to;
  int64_t last = k->last;
  int64_t xw = x->weight, yw = y->weight + by->weight;
  for (uint64_t i = 0; i < steps; i++) {
    if (yw < xw || (yw == xw && is_first_of_equals(x, y, by, sided))) {
      int64_t v = y->value + by->value, w = yw;
      const core_state *s = y++;
      yw = y->weight + by->weight;
      if (v <= last)
        continue;
      last = v;
      uint64_t tail = s->tail + by->tail;
      *to = (core_state){w, v, s->flips | by->bit, tail};
      to += is_above(w, v, tail, scale, lines, count, sided);
      continue;
    }
    const core_state *s = x++;
    xw = x->weight;
    if (s->value <= last)
      continue;
    last = s->value;
    *to = *s;
    to += tested || is_above(s->weight, s->value, s->tail, scale, lines, count, sided);
  }
  *k = (walker){x, y, to, last};
}

static inline __attribute__((always_inline)) void
chunk_any(walker *k, uint64_t steps, const shift *by, int64_t scale, const narrow_line *lines,
          unsigned count, bool sided, bool tested) {
  if (count == 1)
    chunk(k, steps, by, scale, lines, 1, sided, tested);
  else if (count == 2)
    chunk(k, steps, by, scale, lines, 2, sided, tested);
  else
    chunk(k, steps, by, scale, lines, 3, sided, tested);
}

static void chunk_plain(walker *k, uint64_t steps, const shift *by, int64_t scale,
                        const narrow_line *lines, unsigned count, bool tested) {
  if (tested)
    chunk_any(k, steps, by, scale, lines, count, false, true);
  else
    chunk_any(k, steps, by, scale, lines, count, false, false);
}

static void chunk_sided(walker *k, uint64_t steps, const shift *by, int64_t scale,
                        const narrow_line *lines, unsigned count, bool tested) {
  if (tested)
    chunk_any(k, steps, by, scale, lines, count, true, true);
  else
    chunk_any(k, steps, by, scale, lines, count, true, false);
}

/* The same in 128 bits. */
static void chunk_wide(walker *k, uint64_t steps, const shift *by, const core_lines *lines) {
  for (uint64_t i = 0; i < steps; i++) {
    bool flipped = is_flipped_first(k->x, k->y, by, true);
    const core_state *from = flipped ? k->y++ : k->x++;
    core_state s = *from;
    if (flipped) {
      s.weight += by->weight;
      s.value += by->value;
      s.flips |= by->bit;
      s.tail += by->tail;
    }
    if (s.value <= k->last)
      continue;
    k->last = s.value;
    bool kept = true;
    for (unsigned l = 0; l < lines->count && kept; l++) {
      const core_line *line = &lines->line[l];
      kept = lines->scale * s.value - line->weight * s.weight - line->side * core_side(s.tail) +
                 line->rest >=
             0;
    }
    *k->to = s;
    k->to += kept;
  }
}

static bool has_side(const core_lines *lines) {
  bool sided = false;
  for (unsigned i = 0; i < lines->count; i++)
    sided |= lines->line[i].side != 0;
  return sided;
}

static void make_narrow(const core_lines *lines, narrow_line *narrow) {
  const core_wide most = (core_wide)1 << 61;
  for (unsigned i = 0; i < lines->count; i++) {
    core_wide rest = lines->line[i].rest;
    rest = rest > most ? most : rest < -most ? -most : rest;
    narrow[i] =
        (narrow_line){(int64_t)lines->line[i].weight, (int64_t)lines->line[i].side, (int64_t)rest};
  }
}

uint64_t core_merge(core_run *run, const core_state *from, uint64_t count, core_state *to,
                    const core_flip *flip, uint64_t bit, const core_lines *lines, bool tested) {
  shift by = {flip->weight, flip->value, bit, core_tail(flip->side, 0)};
  narrow_line narrow[CORE_LINES];
  bool sided = has_side(lines);
  if (!lines->wide)
    make_narrow(lines, narrow);
  walker k = {from, from, to, INT64_MIN};
  int64_t scale = (int64_t)lines->scale;
  for (uint64_t left = 2 * count, steps; left > 0; left -= steps) {
    steps = left < CHUNK ? left : CHUNK;
    if (!core_goes_on(run, steps))
      return 0;
    if (lines->wide)
      chunk_wide(&k, steps, &by, lines);
    else if (sided)
      chunk_sided(&k, steps, &by, scale, narrow, lines->count, tested);
    else
      chunk_plain(&k, steps, &by, scale, narrow, lines->count, tested);
  }
  return (uint64_t)(k.to - to);
}
