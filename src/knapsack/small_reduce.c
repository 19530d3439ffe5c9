/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Fixing items of a small problem. For any rate r >= 0, no set is worth more than
 * r * capacity + sum of max(0, value - r * weight), and one that decides against the sign of
 * value - r * weight for an item is worth |value - r * weight| less than that (Lagrange's bound;
 * R. S. Dembo and P. L. Hammer, "A reduction algorithm for knapsack problems", Methods of
 * Operations Research 36, 1980). Where that is strictly less than a known set's value, no optimal
 * set decides so. The rate is that of the item at which Dantzig's set breaks. */
#include <float.h>
#include <string.h>

#include "base/clones.h"
#include "base/item.h"
#include "knapsack/small_room.h"

enum { ROUNDS = 4, PAIRS = 1 << 15 };

/* Floats above 0 are ordered as their bits are. */
DZO_ITEM uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

DZO_ITEM float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

DZO_ITEM int32_t weight_from(const small_room *room, uint32_t items, float least) {
  int32_t sum = 0;
  for (uint32_t i = 0; i < items; i++)
    sum += room->worth[i] >= least ? room->light[i] : 0;
  return sum;
}

/* The greatest worth such that the items of at least that worth are too heavy together. All items
 * are. Rounded quotients do: any rate gives a bound. */
DZO_ITEM float find_break(const knapsack_problem *p, small_room *room) {
  float least = FLT_MAX, most = 0;
  for (uint32_t i = 0; i < p->items; i++) {
    float worth = (float)p->value[i] / (float)p->weight[i];
    room->worth[i] = worth;
    room->light[i] = (int32_t)p->weight[i];
    least = worth < least ? worth : least;
    most = worth > most ? worth : most;
  }
  uint32_t low = bits_of(least), high = bits_of(most);
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    if (weight_from(room, p->items, of_bits(middle)) > p->capacity)
      low = middle;
    else
      high = middle - 1;
  }
  return of_bits(low);
}

typedef struct incumbent {
  int64_t value, weight;
  uint32_t breaking; /* the first item that does not fit */
} incumbent;

/* Items better than the break's worth, then those of that worth until one does not fit. */
DZO_ITEM incumbent break_set(const knapsack_problem *p, small_room *room) {
  float at = find_break(p, room);
  const float *worth = room->worth;
  uint8_t *inside = room->inside;
  incumbent set = {0, 0, UINT32_MAX};
  for (uint32_t i = 0; i < p->items; i++) {
    inside[i] = worth[i] > at;
    set.value += inside[i] ? p->value[i] : 0;
    set.weight += inside[i] ? p->weight[i] : 0;
  }
  for (uint32_t i = 0; i < p->items && set.breaking == UINT32_MAX; i++) {
    if (worth[i] != at)
      continue;
    if (set.weight + p->weight[i] > p->capacity) {
      set.breaking = i;
      continue;
    }
    inside[i] = 1;
    set.value += p->value[i];
    set.weight += p->weight[i];
  }
  return set;
}

/* Lists of the items inside and of those outside, behind them; how many are inside. */
DZO_ITEM uint32_t list_sides(const knapsack_problem *p, small_room *room) {
  uint32_t insiders = 0, at = 0;
  for (uint32_t i = 0; i < p->items; i++)
    insiders += room->inside[i];
  uint32_t next[2] = {insiders, 0};
  for (uint32_t i = 0; i < p->items; i++) {
    at = next[room->inside[i]]++;
    room->item[at] = i;
    room->value[at] = p->value[i];
    room->weight[at] = p->weight[i];
  }
  return insiders;
}

/* The greatest value of an item that weighs at most `free`. */
DZO_ITEM int64_t best_fitting(const int64_t *value, const int64_t *weight, uint32_t count,
                              int64_t space) {
  int64_t best = 0;
  for (uint32_t j = 0; j < count; j++) {
    int64_t x = weight[j] <= space ? value[j] : 0;
    best = x > best ? x : best;
  }
  return best;
}

/* Put one item in, perhaps for one taken out, as gains the most. False: none gains. */
DZO_ITEM bool exchange(const knapsack_problem *p, small_room *room, incumbent *set) {
  uint32_t insiders = list_sides(p, room), outsiders = p->items - insiders;
  const int64_t *value = room->value + insiders, *weight = room->weight + insiders;
  int64_t space = p->capacity - set->weight;
  int64_t best = best_fitting(value, weight, outsiders, space);
  uint32_t out = UINT32_MAX, tries = PAIRS / (outsiders + 1);
  for (uint32_t i = 0; i < insiders && i < tries; i++) {
    int64_t gain = best_fitting(value, weight, outsiders, space + room->weight[i]) - room->value[i];
    if (gain > best) {
      best = gain;
      out = i;
    }
  }
  if (best <= 0)
    return false;
  int64_t wanted = best;
  if (out != UINT32_MAX) {
    space += room->weight[out];
    wanted += room->value[out];
    room->inside[room->item[out]] = 0;
  }
  for (uint32_t j = 0; j < outsiders; j++)
    if (weight[j] <= space && value[j] == wanted) {
      room->inside[room->item[insiders + j]] = 1;
      set->weight = p->capacity - space + weight[j];
      break;
    }
  set->value += best;
  return true;
}

DZO_CLONES static void reduce(const knapsack_problem *problem, small_room *room, uint8_t *taken,
                              small_rest *rest) {
  incumbent set = break_set(problem, room);
  for (int round = 0; round < ROUNDS && exchange(problem, room, &set); round++) {
  }
  int64_t value = problem->value[set.breaking], weight = problem->weight[set.breaking];
  knapsack_wide bound = (knapsack_wide)value * problem->capacity;
  for (uint32_t i = 0; i < problem->items; i++) {
    knapsack_wide gain =
        (knapsack_wide)problem->value[i] * weight - (knapsack_wide)value * problem->weight[i];
    bound += gain > 0 ? gain : 0;
  }
  knapsack_wide slack = bound - (knapsack_wide)set.value * weight;
  *rest = (small_rest){0, problem->capacity, 0};
  for (uint32_t i = 0; i < problem->items; i++) {
    knapsack_wide gain =
        (knapsack_wide)problem->value[i] * weight - (knapsack_wide)value * problem->weight[i];
    taken[i] = gain > slack;
    if (taken[i]) {
      rest->capacity -= problem->weight[i];
      rest->value += problem->value[i];
    } else if (gain >= -slack) {
      room->item[rest->items++] = i;
    }
  }
}

void small_reduce(const knapsack_problem *problem, small_room *room, uint8_t *taken,
                  small_rest *rest) {
  reduce(problem, room, taken, rest);
}
