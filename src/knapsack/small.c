/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One small problem on the CPU. The table takes the items in their order; best(j, x) is the most
 * that the first j are worth within capacity x, and item j is taken at x if and only if
 * best(j, x - weight) + value > best(j, x). Followed back from the last item, that is the one
 * answer of small.h: if best(n, c) = best(n - 1, c), some optimal set leaves the last item out, and
 * so does the trace, which then is that of the first n - 1 items at c; else every optimal set has
 * it, and the trace goes on at c - weight. By induction the rest is the one answer of the rest. An
 * item that every optimal set has, or none, can be fixed first: what is left of the optimal sets
 * are those of what is left of the problem. */
#include "knapsack/small.h"

#include <string.h>

#include "base/clones.h"
#include "base/item.h"
#include "knapsack/small_room.h"

enum { LINE = 64 };

static uint64_t whole_lines(uint64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

uint64_t small_room_bytes(uint64_t items, uint64_t capacity) {
  uint64_t each = 2 * sizeof(int64_t) + sizeof(float) + sizeof(int32_t) + sizeof(uint32_t) +
                  sizeof(uint8_t) + sizeof(small_level);
  uint64_t cells = (items + 1) * (capacity + 1);
  return items * each + sizeof(small_level) + 8 * (uint64_t)LINE + 8 * cells;
}

void small_room_place(small_room *room, void *memory, uint64_t items) {
  char *at = memory;
  room->value = (void *)at;
  at += whole_lines(items * sizeof *room->value);
  room->weight = (void *)at;
  at += whole_lines(items * sizeof *room->weight);
  room->worth = (void *)at;
  at += whole_lines(items * sizeof *room->worth);
  room->light = (void *)at;
  at += whole_lines(items * sizeof *room->light);
  room->item = (void *)at;
  at += whole_lines(items * sizeof *room->item);
  room->inside = (void *)at;
  at += whole_lines(items * sizeof *room->inside);
  room->level = (void *)at;
  at += whole_lines((items + 1) * sizeof *room->level);
  room->table = at;
}

/* Half as many items have as many cells again. */
uint64_t knapsack_small_room(void) {
  uint64_t items = small_room_bytes(DZO_KNAPSACK_SMALL / 2, 1),
           cells = small_room_bytes(1, DZO_KNAPSACK_SMALL - 1);
  return items > cells ? items : cells;
}

/* Levels in 32 bits and in 64: the cells of a level where the item may stay out or be taken,
 * out[i] = max(stay[i], take[i] + value); and where staying out is worth the same everywhere. */
#define SMALL_ROWS(bits)                                                                           \
  DZO_CLONES static void choose##bits(const int##bits##_t *restrict stay,                          \
                                      const int##bits##_t *restrict take, int##bits##_t value,     \
                                      uint64_t count, int##bits##_t *restrict out) {               \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      int##bits##_t with = take[i] + value;                                                        \
      out[i] = with > stay[i] ? with : stay[i];                                                    \
    }                                                                                              \
  }                                                                                                \
  DZO_CLONES static void beyond##bits(int##bits##_t stay, const int##bits##_t *restrict take,      \
                                      int##bits##_t value, uint64_t count,                         \
                                      int##bits##_t *restrict out) {                               \
    for (uint64_t i = 0; i < count; i++) {                                                         \
      int##bits##_t with = take[i] + value;                                                        \
      out[i] = with > stay ? with : stay;                                                          \
    }                                                                                              \
  }                                                                                                \
  static void step##bits(small_level from, small_level to, int32_t weight, int64_t value,          \
                         void *table) {                                                            \
    const int##bits##_t *in = (int##bits##_t *)table + from.at;                                    \
    int##bits##_t *out = (int##bits##_t *)table + to.at;                                           \
    int32_t x = to.lowest, end = to.highest + 1;                                                   \
    for (; x < weight && x < end; x++)                                                             \
      *out++ = in[(x < from.highest ? x : from.highest) - from.lowest];                            \
    int32_t both = from.highest + 1 < end ? from.highest + 1 : end;                                \
    if (x < both) {                                                                                \
      choose##bits(in + (x - from.lowest), in + (x - weight - from.lowest), (int##bits##_t)value,  \
                   (uint64_t)(both - x), out);                                                     \
      out += both - x;                                                                             \
      x = both;                                                                                    \
    }                                                                                              \
    if (x < end)                                                                                   \
      beyond##bits(in[from.highest - from.lowest], in + (x - weight - from.lowest),                \
                   (int##bits##_t)value, (uint64_t)(end - x), out);                                \
  }                                                                                                \
  static int64_t trace##bits(const knapsack_problem *p, const small_room *room,                    \
                             const small_rest *rest, int32_t x, uint8_t *taken) {                  \
    const int##bits##_t *table = room->table;                                                      \
    int64_t best = 0;                                                                              \
    for (uint32_t j = rest->items; j-- > 0;) {                                                     \
      small_level above = room->level[j + 1], below = room->level[j];                              \
      int32_t without = x < below.highest ? x : below.highest;                                     \
      bool take = table[above.at + (uint32_t)(x - above.lowest)] !=                                \
                  table[below.at + (uint32_t)(without - below.lowest)];                            \
      if (take) {                                                                                  \
        uint32_t item = room->item[j];                                                             \
        taken[item] = 1;                                                                           \
        best += p->value[item];                                                                    \
        x -= (int32_t)p->weight[item];                                                             \
      }                                                                                            \
      x = x < below.highest ? x : below.highest;                                                   \
    }                                                                                              \
    return best;                                                                                   \
  }
SMALL_ROWS(32)
SMALL_ROWS(64)

/* Only capacities from which the last one can be reached matter, and only up to the weight of all
 * items so far: beyond, the value is the same. */
int64_t small_table(const knapsack_problem *problem, small_room *room, const small_rest *rest,
                    uint8_t *taken, uint64_t *cells) {
  int64_t weight_left = 0, value_sum = 0;
  for (uint32_t j = 0; j < rest->items; j++) {
    weight_left += problem->weight[room->item[j]];
    value_sum += problem->value[room->item[j]];
  }
  int32_t last = (int32_t)(rest->capacity < weight_left ? rest->capacity : weight_left);
  bool narrow = value_sum <= INT32_MAX;
  small_level level = {0, 0, 0};
  if (narrow)
    *(int32_t *)room->table = 0;
  else
    *(int64_t *)room->table = 0;
  room->level[0] = level;
  for (uint32_t j = 0; j < rest->items; j++) {
    uint32_t item = room->item[j];
    int32_t weight = (int32_t)problem->weight[item];
    weight_left -= weight;
    small_level next = {0, 0, level.at + (uint32_t)(level.highest - level.lowest + 1)};
    next.lowest = last > weight_left ? last - (int32_t)weight_left : 0;
    next.highest = last - weight < level.highest ? last : level.highest + weight;
    (narrow ? step32 : step64)(level, next, weight, problem->value[item], room->table);
    room->level[j + 1] = level = next;
  }
  *cells += level.at;
  return (narrow ? trace32 : trace64)(problem, room, rest, last, taken);
}

void knapsack_small_solve(const knapsack_problem *problem, void *room, uint8_t *taken,
                          int64_t *best, uint64_t *cells) {
  int64_t value = 0, weight = 0;
  for (uint32_t i = 0; i < problem->items; i++) {
    value += problem->value[i];
    weight += problem->weight[i];
  }
  if (weight <= problem->capacity) {
    memset(taken, 1, problem->items);
    *best = value;
    return;
  }
  small_room r;
  small_room_place(&r, room, problem->items);
  small_rest rest;
  small_reduce(problem, &r, taken, &rest);
  *best = rest.value + small_table(problem, &r, &rest, taken, cells);
}
