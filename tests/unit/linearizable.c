/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "linearizable.h"

#include <stdlib.h>
#include <string.h>

/* What a key is: the model that the table is held to. */
typedef struct register_state {
  bool present;
  uint64_t value; /* 0 if absent, so that states compare as bytes */
} register_state;

/* Would the model, in this state, have answered so? Then *state becomes what it leaves. */
static bool model_step(register_state *state, const event *e, uint64_t mask) {
  register_state was = *state;
  if (was.present) {
    if (e->answer != DZO_TABLE_FOUND || e->seen != was.value)
      return false;
    switch (e->operation) {
    case DZO_TABLE_ASSIGN:
      state->value = e->value;
      return true;
    case DZO_TABLE_ADD:
      state->value = (was.value + e->value) & mask;
      return true;
    case DZO_TABLE_ERASE:
      *state = (register_state){false, 0};
      return true;
    default:
      return true;
    }
  }
  if (e->operation == DZO_TABLE_FIND || e->operation == DZO_TABLE_ERASE)
    return e->answer == DZO_TABLE_ABSENT;
  if (e->answer == DZO_TABLE_REFUSED)
    return true;
  if (e->answer != DZO_TABLE_INSERTED || e->seen != e->value)
    return false;
  *state = (register_state){true, e->value};
  return true;
}

/* Calls and returns in order of time, as a list from which operations are taken and put back. */
typedef struct mark {
  const event *e;
  size_t operation; /* number of the event */
  size_t partner;   /* of a call, its return; of a return, NONE */
  size_t previous, next;
  uint64_t time;
} mark;

enum { NONE = -1 };

typedef struct search {
  mark *marks; /* [0] is the head */
  size_t words;
  uint64_t *done; /* the operations taken, as bits */
  /* The places seen: bits and state, found by a hash of them. */
  uint64_t *places;
  size_t place_words, place_count, place_room;
  size_t *slots;
  size_t slot_count; /* a power of two */
} search;

static uint64_t hash_words(const uint64_t *words, size_t count) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < count; i++) {
    h = (h ^ words[i]) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h ^ (h >> 32);
}

static void *must(void *pointer) {
  if (pointer == NULL)
    abort();
  return pointer;
}

static void grow_slots(search *s) {
  free(s->slots);
  s->slot_count *= 2;
  s->slots = must(calloc(s->slot_count, sizeof *s->slots));
  for (size_t p = 0; p < s->place_count; p++) {
    size_t i = hash_words(s->places + p * s->place_words, s->place_words) & (s->slot_count - 1);
    while (s->slots[i] != 0)
      i = (i + 1) & (s->slot_count - 1);
    s->slots[i] = p + 1;
  }
}

/* Note that the search has been here; false if it had been before. */
static bool is_new_place(search *s, const register_state *state) {
  if (s->place_count == s->place_room) {
    s->place_room *= 2;
    s->places = must(realloc(s->places, s->place_room * s->place_words * sizeof *s->places));
  }
  uint64_t *place = s->places + s->place_count * s->place_words;
  memcpy(place, s->done, s->words * sizeof *place);
  place[s->words] = state->present;
  place[s->words + 1] = state->value;
  size_t i = hash_words(place, s->place_words) & (s->slot_count - 1);
  for (; s->slots[i] != 0; i = (i + 1) & (s->slot_count - 1))
    if (memcmp(s->places + (s->slots[i] - 1) * s->place_words, place,
               s->place_words * sizeof *place) == 0)
      return false;
  s->slots[i] = ++s->place_count;
  if (s->place_count * 2 > s->slot_count)
    grow_slots(s);
  return true;
}

static void unlink_mark(search *s, size_t m) {
  mark *x = &s->marks[m];
  s->marks[x->previous].next = x->next;
  if (x->next != 0)
    s->marks[x->next].previous = x->previous;
}

static void relink_mark(search *s, size_t m) {
  mark *x = &s->marks[m];
  s->marks[x->previous].next = m;
  if (x->next != 0)
    s->marks[x->next].previous = m;
}

static int compare_marks(const void *a, const void *b) {
  const mark *x = a, *y = b;
  return (x->time > y->time) - (x->time < y->time);
}

static void make_marks(search *s, const event *events, size_t count) {
  mark *list = s->marks + 1;
  for (size_t i = 0; i < count; i++) {
    list[2 * i] = (mark){.e = &events[i], .operation = i, .partner = 0, .time = events[i].begin};
    list[2 * i + 1] = (mark){.operation = i, .partner = (size_t)NONE, .time = events[i].end};
  }
  qsort(list, 2 * count, sizeof *list, compare_marks);
  size_t *call = must(calloc(count + 1, sizeof *call));
  for (size_t m = 1; m <= 2 * count; m++) {
    mark *x = &s->marks[m];
    if (x->e != NULL)
      call[x->operation] = m;
    else
      s->marks[call[x->operation]].partner = m;
    x->previous = m - 1;
    x->next = m < 2 * count ? m + 1 : 0;
  }
  s->marks[0].next = count > 0 ? 1 : 0;
  free(call);
}

typedef struct step {
  size_t call;
  register_state before;
} step;

static verdict run_search(search *s, size_t count, uint64_t mask, uint64_t steps) {
  step *stack = must(calloc(count + 1, sizeof *stack));
  size_t depth = 0;
  register_state state = {false, 0};
  size_t m = s->marks[0].next;
  verdict v = VERDICT_GOOD;
  while (s->marks[0].next != 0) {
    if (steps-- == 0) {
      v = VERDICT_UNDECIDED;
      break;
    }
    mark *x = &s->marks[m];
    if (x->e != NULL) {
      register_state after = state;
      bool taken = model_step(&after, x->e, mask);
      if (taken) {
        s->done[x->operation / 64] |= (uint64_t)1 << (x->operation % 64);
        taken = is_new_place(s, &after);
        if (!taken)
          s->done[x->operation / 64] &= ~((uint64_t)1 << (x->operation % 64));
      }
      if (taken) {
        stack[depth++] = (step){m, state};
        state = after;
        unlink_mark(s, m);
        unlink_mark(s, x->partner);
        m = s->marks[0].next;
      } else {
        m = x->next;
      }
      continue;
    }
    /* A return: all operations that may come next have been tried. */
    if (depth == 0) {
      v = VERDICT_BAD;
      break;
    }
    step last = stack[--depth];
    mark *back = &s->marks[last.call];
    relink_mark(s, back->partner);
    relink_mark(s, last.call);
    s->done[back->operation / 64] &= ~((uint64_t)1 << (back->operation % 64));
    state = last.before;
    m = back->next;
  }
  free(stack);
  return v;
}

verdict linearizable(const event *events, size_t count, uint64_t mask, uint64_t steps) {
  search s = {.words = (count + 63) / 64, .place_room = 64, .slot_count = 64};
  s.place_words = s.words + 2;
  s.marks = must(calloc(2 * count + 1, sizeof *s.marks));
  s.done = must(calloc(s.words + 1, sizeof *s.done));
  s.places = must(calloc(s.place_room * s.place_words, sizeof *s.places));
  s.slots = must(calloc(s.slot_count, sizeof *s.slots));
  make_marks(&s, events, count);
  verdict v = run_search(&s, count, mask, steps);
  free(s.marks);
  free(s.done);
  free(s.places);
  free(s.slots);
  return v;
}

static int compare_keys(const void *a, const void *b) {
  const event *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

verdict linearizable_by_key(event *events, size_t count, uint64_t mask, uint64_t steps,
                            uint64_t *bad) {
  qsort(events, count, sizeof *events, compare_keys);
  for (size_t begin = 0, end; begin < count; begin = end) {
    end = begin + 1;
    while (end < count && events[end].key == events[begin].key)
      end++;
    verdict v = linearizable(events + begin, end - begin, mask, steps);
    if (v != VERDICT_GOOD) {
      *bad = events[begin].key;
      return v;
    }
  }
  return VERDICT_GOOD;
}
