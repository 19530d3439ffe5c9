/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of undominated states (G. L. Nemhauser and Z. Ullmann, "Discrete
 * dynamic programming and capital allocation", Management Science 15, 1969). A
 * state knows which of the last up to 64 items it flips (as in D. Pisinger, "A
 * minimal algorithm for the 0-1 knapsack problem", Operations Research 45,
 * 1997); every 64 items these words are laid aside for all states, and a state
 * then has the number of the one it comes from, so any set can be read back. */
#include <string.h>

#include "base/memory.h"
#include "knapsack/core.h"

enum { EPOCH = 64, FIRST_ROOM = 256, SINGLES = 1024 };
/* Of the state behind the last: no other one, whose weights are parts of a sum
 * below 2^62, comes after it, flipped or not. */
#define FAR (INT64_MAX / 2)

static dzo_status take(core_run *run, uint64_t bytes) {
  if (run->memory + bytes > run->job->memory)
    return run->status = DZO_E_MEMORY;
  run->memory += bytes;
  return DZO_OK;
}

static void drop_spare(core_run *run, core_spare *spare) {
  dzo_free(spare->states);
  run->memory -= spare->count * sizeof *spare->states;
  *spare = (core_spare){NULL, 0};
}

void core_give_back(core_run *run) {
  for (int i = 0; i < CORE_SPARES; i++)
    drop_spare(run, &run->spares[i]);
}

/* The greatest spare array, which may be none. */
static core_spare take_spare(core_run *run) {
  int most = 0;
  for (int i = 1; i < CORE_SPARES; i++)
    if (run->spares[i].count > run->spares[most].count)
      most = i;
  core_spare spare = run->spares[most];
  run->spares[most] = (core_spare){NULL, 0};
  return spare;
}

static void leave_spare(core_run *run, core_state *states, uint64_t count) {
  int least = 0;
  for (int i = 1; i < CORE_SPARES; i++)
    if (run->spares[i].count < run->spares[least].count)
      least = i;
  drop_spare(run, &run->spares[least]);
  run->spares[least] = (core_spare){states, count};
}

/* To `to` states, of which the first `kept` keep what they have; memory that is never written to
 * costs nothing. */
static dzo_status grow_array(core_run *run, core_state **states, uint64_t *from, uint64_t to,
                             uint64_t kept) {
  DZO_TRY(take(run, to * sizeof **states));
  core_state *more = dzo_alloc(run->context, to, sizeof *more);
  if (more == NULL) {
    run->memory -= to * sizeof **states;
    return run->status = DZO_E_MEMORY;
  }
  if (kept > 0)
    memcpy(more, *states, kept * sizeof *more);
  dzo_free(*states);
  run->memory -= *from * sizeof **states;
  *states = more;
  *from = to;
  return DZO_OK;
}

/* Room for count states in both arrays. */
static dzo_status make_room(core_list *list, uint64_t count) {
  core_run *run = list->run;
  uint64_t to = 2 * count;
  if (count > list->room_room)
    DZO_TRY(grow_array(run, &list->room, &list->room_room, to, 0));
  if (count > list->states_room)
    DZO_TRY(grow_array(run, &list->states, &list->states_room, to, list->count));
  return DZO_OK;
}

dzo_status core_list_init(core_list *list, core_run *run) {
  core_spare states = take_spare(run), room = take_spare(run);
  *list = (core_list){.run = run,
                      .states = states.states,
                      .states_room = states.count,
                      .room = room.states,
                      .room_room = room.count};
  DZO_TRY(make_room(list, FIRST_ROOM));
  list->item_room = 2 * EPOCH;
  list->items = dzo_alloc(run->context, list->item_room, sizeof *list->items);
  if (list->items == NULL)
    return run->status = DZO_E_MEMORY;
  list->states[0] = (core_state){0};
  list->count = 1;
  return DZO_OK;
}

void core_list_free(core_list *list) {
  for (uint32_t i = 0; i < list->epoch_count; i++) {
    list->run->memory -= list->epoch_bytes[i];
    dzo_free(list->epochs[i]);
  }
  dzo_free(list->epochs);
  dzo_free(list->epoch_bytes);
  dzo_free(list->items);
  if (list->run != NULL) {
    leave_spare(list->run, list->states, list->states_room);
    leave_spare(list->run, list->room, list->room_room);
  }
  *list = (core_list){0};
}

static dzo_status lay_aside(core_list *list) {
  core_run *run = list->run;
  if (list->epoch_count == list->epoch_room) {
    uint32_t room = 2 * list->epoch_room + 8;
    core_past **epochs = dzo_realloc(run->context, list->epochs, room, sizeof *epochs);
    if (epochs == NULL)
      return run->status = DZO_E_MEMORY;
    list->epochs = epochs;
    uint64_t *bytes = dzo_realloc(run->context, list->epoch_bytes, room, sizeof *bytes);
    if (bytes == NULL)
      return run->status = DZO_E_MEMORY;
    list->epoch_bytes = bytes;
    list->epoch_room = room;
  }
  uint64_t bytes = list->count * sizeof(core_past);
  DZO_TRY(take(run, bytes));
  core_past *past = dzo_alloc(run->context, list->count, sizeof *past);
  if (past == NULL || list->count > UINT32_MAX) {
    dzo_free(past);
    run->memory -= bytes;
    return run->status = DZO_E_MEMORY;
  }
  for (uint64_t i = 0; i < list->count; i++) {
    past[i] = (core_past){list->states[i].flips, (uint32_t)list->states[i].tail};
    list->states[i].flips = 0;
    list->states[i].tail = core_tail(core_side(list->states[i].tail), (uint32_t)i);
  }
  list->epochs[list->epoch_count] = past;
  list->epoch_bytes[list->epoch_count++] = bytes;
  return DZO_OK;
}

static dzo_status note_item(core_list *list, uint32_t item) {
  if (list->item_count != 0 && list->item_count % EPOCH == 0)
    DZO_TRY(lay_aside(list));
  if (list->item_count == list->item_room) {
    uint32_t room = 2 * list->item_room;
    uint32_t *items = dzo_realloc(list->run->context, list->items, room, sizeof *items);
    if (items == NULL)
      return list->run->status = DZO_E_MEMORY;
    list->items = items;
    list->item_room = room;
  }
  list->items[list->item_count++] = item;
  return DZO_OK;
}

static core_wide size_of(core_wide x) { return x < 0 ? -x : x; }

static core_wide greater_size(int64_t a, int64_t b) {
  core_wide x = size_of(a), y = size_of(b);
  return x > y ? x : y;
}

/* Are the tests of all states, flipped or not, done in 64 bits? */
static bool is_narrow(const core_list *list, const core_flip *flip, const core_lines *lines) {
  const core_wide most = (core_wide)1 << 59;
  const core_state *first = list->states, *last = first + list->count - 1;
  core_wide weight = greater_size(first->weight, last->weight) + size_of(flip->weight);
  core_wide value = greater_size(first->value, last->value) + size_of(flip->value);
  bool narrow = lines->scale * value < most;
  for (unsigned i = 0; i < lines->count; i++)
    narrow &= lines->line[i].weight * weight < most &&
              size_of(lines->line[i].side) * (list->sides + 1) < most;
  return narrow;
}

static bool are_same(const core_lines *a, const core_lines *b) {
  bool same = a->count == b->count;
  for (unsigned i = 0; same && i < a->count; i++)
    same = a->line[i].weight == b->line[i].weight && a->line[i].side == b->line[i].side &&
           a->line[i].rest == b->line[i].rest;
  return same;
}

dzo_status core_list_flip(core_list *list, const core_flip *flip, const core_lines *lines) {
  DZO_TRY(note_item(list, flip->item));
  DZO_TRY(make_room(list, 2 * list->count + 2));
  list->states[list->count] = (core_state){.weight = FAR, .value = -FAR};
  uint64_t bit = UINT64_C(1) << (list->item_count - 1) % EPOCH;
  list->sides += flip->side < 0 ? -(int64_t)flip->side : flip->side;
  core_lines tests = *lines;
  tests.wide = tests.wide || !is_narrow(list, flip, lines);
  uint64_t made = core_merge(list->run, list->states, list->count, list->room, flip, bit, &tests,
                             are_same(&list->lines, lines));
  list->lines = *lines;
  if (list->run->stopped)
    return DZO_OK; /* the states are as they were, and nothing flips the item */
  list->count = made;
  core_state *other = list->states;
  uint64_t other_room = list->states_room;
  list->states = list->room;
  list->states_room = list->room_room;
  list->room = other;
  list->room_room = other_room;
  return DZO_OK;
}

void core_list_thin(core_list *list) {
  for (uint64_t i = 0; 2 * i < list->count; i++)
    list->states[i] = list->states[2 * i];
  list->count = (list->count + 1) / 2;
}

static void apply_word(const core_list *list, uint32_t epoch, uint64_t flips, uint8_t *set) {
  for (; flips != 0; flips &= flips - 1)
    set[list->items[epoch * EPOCH + (uint32_t)__builtin_ctzll(flips)]] ^= 1;
}

void core_list_apply(const core_list *list, uint64_t state, uint8_t *set) {
  const core_state *s = &list->states[state];
  if (list->singles) {
    if (s->flips != 0)
      set[(uint32_t)s->tail] ^= 1;
    return;
  }
  apply_word(list, list->epoch_count, s->flips, set);
  uint32_t at = (uint32_t)s->tail;
  for (uint32_t epoch = list->epoch_count; epoch-- > 0;) {
    const core_past *past = &list->epochs[epoch][at];
    apply_word(list, epoch, past->flips, set);
    at = past->before;
  }
}

dzo_status core_list_singles(core_list *list, const core_frame *f, const uint8_t *marked,
                             core_ranked *room) {
  const core_level *v = f->level;
  uint32_t count = 0, step = f->count / SINGLES + 1;
  DZO_TRY(make_room(list, (uint64_t)f->count / step + 3));
  room[count++] = (core_ranked){0, v->items};
  for (uint32_t i = 0; i < f->count; i += step) {
    uint32_t item = f->order[i];
    double weight = (double)v->weight[item];
    room[count] = (core_ranked){f->base[item] ? -weight : weight, item};
    count += !marked[item];
  }
  core_sort(NULL, room, count, room + f->count / step + 2);
  int64_t last = INT64_MIN, heaviest = INT64_MIN;
  list->count = 0;
  list->singles = true;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t item = room[i].item;
    core_state s = {.tail = core_tail(0, item)};
    if (item < v->items) {
      int64_t sign = f->base[item] ? -1 : 1;
      s.weight = sign * v->weight[item];
      s.value = sign * v->value[item];
      s.flips = 1;
    }
    bool kept = s.value > last && s.weight >= heaviest; /* weights of equal keys may differ */
    list->states[list->count] = s;
    list->count += kept;
    last = kept ? s.value : last;
    heaviest = kept ? s.weight : heaviest;
  }
  return DZO_OK;
}

bool core_list_pair(const core_list *a, const core_list *b, int64_t weight, int64_t *value,
                    uint64_t *at_a, uint64_t *at_b) {
  bool found = false;
  uint64_t j = b->count;
  for (uint64_t i = 0; i < a->count; i++) {
    int64_t left = weight - a->states[i].weight;
    while (j > 0 && b->states[j - 1].weight > left)
      j--;
    if (j == 0)
      break;
    int64_t sum = a->states[i].value + b->states[j - 1].value;
    if (sum > *value) {
      *value = sum;
      *at_a = i;
      *at_b = j - 1;
      found = true;
    }
  }
  return found;
}
