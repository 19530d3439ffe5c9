/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "bench/textbook_core.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"

typedef struct item {
  int64_t value, weight;
} item;

typedef struct state {
  int64_t weight, value;
} state;

typedef struct core {
  dzo_context *context;
  item *items; /* by falling value / weight */
  int64_t count, capacity, best;
  state *list, *room; /* by rising weight and value */
  uint64_t states, allocated, made;
  int64_t first, last; /* the core: items[first] .. items[last] are in the list */
} core;

static int by_worth(const void *a, const void *b) {
  const item *x = a, *y = b;
  int64_t left = x->value * y->weight, right = y->value * x->weight;
  return (left < right) - (left > right);
}

/* May a state lead to more than is known? What is left is filled with the next item's worth, what
 * is too much taken back at that of the last one in. */
static bool is_hopeful(const core *c, state s) {
  int64_t left = c->capacity - s.weight, more = c->best + 1 - s.value;
  if (left >= 0) {
    if (c->last + 1 == c->count)
      return more <= 0;
    item next = c->items[c->last + 1];
    return more <= 0 || left * next.value >= more * next.weight;
  }
  if (c->first == 0)
    return false;
  item before = c->items[c->first - 1];
  return left * before.value >= more * before.weight;
}

static dzo_status make_room(core *c) {
  if (2 * c->states <= c->allocated)
    return DZO_OK;
  uint64_t more = 4 * c->states;
  state *list = dzo_realloc(c->context, c->list, more, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  c->list = list;
  state *room = dzo_realloc(c->context, c->room, more, sizeof *room);
  if (room == NULL)
    return DZO_E_MEMORY;
  c->room = room;
  c->allocated = more;
  return DZO_OK;
}

/* Merge the list with itself shifted; drop what is dominated or hopeless. */
static dzo_status shift(core *c, state by) {
  dzo_status status = make_room(c);
  if (status != DZO_OK)
    return status;
  uint64_t a = 0, b = 0, kept = 0, n = c->states;
  int64_t most = INT64_MIN;
  while (a < n || b < n) {
    state s = b < n ? c->list[b] : (state){0, 0};
    s.weight += by.weight;
    s.value += by.value;
    bool shifted =
        a == n || (b < n && (s.weight < c->list[a].weight ||
                             (s.weight == c->list[a].weight && s.value > c->list[a].value)));
    if (!shifted)
      s = c->list[a];
    a += !shifted;
    b += shifted;
    if (s.value <= most)
      continue;
    most = s.value;
    if (s.weight <= c->capacity && s.value > c->best)
      c->best = s.value;
    if (is_hopeful(c, s))
      c->room[kept++] = s;
  }
  c->made += 2 * n;
  c->states = kept;
  state *other = c->list;
  c->list = c->room;
  c->room = other;
  return DZO_OK;
}

static state start(core *c) {
  state s = {0, 0};
  int64_t i = 0;
  for (; s.weight + c->items[i].weight <= c->capacity; i++) {
    s.weight += c->items[i].weight;
    s.value += c->items[i].value;
  }
  c->first = i;
  c->last = i - 1;
  c->best = s.value;
  return s;
}

static dzo_status run(core *c, double deadline, bool *proved) {
  dzo_status status = make_room(c);
  while (status == DZO_OK && c->states > 0 && dzo_clock() < deadline) {
    if (c->last + 1 < c->count) {
      item add = c->items[++c->last];
      status = shift(c, (state){add.weight, add.value});
    }
    if (status == DZO_OK && c->first > 0) {
      item remove = c->items[--c->first];
      status = shift(c, (state){-remove.weight, -remove.value});
    }
    if (c->first == 0 && c->last + 1 == c->count)
      c->states = 0;
  }
  *proved = status == DZO_OK && c->states == 0;
  return status;
}

dzo_status textbook_core(dzo_context *context, uint32_t items, const int64_t *value,
                         const int64_t *weight, int64_t capacity, double seconds, int64_t *best,
                         bool *proved, uint64_t *states) {
  double deadline = dzo_clock() + seconds;
  core c = {.context = context, .count = items, .capacity = capacity, .allocated = 1024};
  c.items = dzo_alloc(context, items, sizeof *c.items);
  c.list = dzo_alloc(context, c.allocated, sizeof *c.list);
  c.room = dzo_alloc(context, c.allocated, sizeof *c.room);
  dzo_status status = DZO_E_MEMORY;
  *proved = false;
  if (c.items != NULL && c.list != NULL && c.room != NULL) {
    for (uint32_t i = 0; i < items; i++)
      c.items[i] = (item){value[i], weight[i]};
    qsort(c.items, items, sizeof *c.items, by_worth);
    c.list[0] = start(&c);
    c.states = 1;
    status = run(&c, deadline, proved);
  }
  *best = c.best;
  *states = c.made;
  dzo_free(c.items);
  dzo_free(c.list);
  dzo_free(c.room);
  return status;
}
