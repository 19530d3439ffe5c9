/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The workspace of one small problem on the CPU, and its two steps: what every optimal set agrees
 * on is fixed, then a table decides on the rest. */
#ifndef DZO_KNAPSACK_SMALL_ROOM_H
#define DZO_KNAPSACK_SMALL_ROOM_H

#include "knapsack/small.h"

/* The level of a table: the best values at the capacities lowest .. highest, which stand in the
 * table from `at` on. */
typedef struct small_level {
  int32_t lowest, highest;
  uint32_t at;
} small_level;

typedef struct small_room {
  int64_t *value;  /* [items] the lists that are searched: items in the set, then those outside */
  int64_t *weight; /* [items] */
  float *worth;    /* [items] value / weight */
  int32_t *light;  /* [items] weights */
  uint32_t *item;  /* [items] of the lists; later the items that the table decides on */
  uint8_t *inside; /* [items] is it in the incumbent? */
  small_level *level; /* [items + 1] */
  void *table;        /* 8 bytes a cell */
} small_room;

/* Bytes for problems of at most so many items and cells. */
uint64_t small_room_bytes(uint64_t items, uint64_t capacity);
void small_room_place(small_room *room, void *memory, uint64_t items);

/* What is left after a reduction. */
typedef struct small_rest {
  uint32_t items; /* room->item[0 .. items - 1], ascending */
  int64_t capacity;
  int64_t value; /* of the items fixed inside */
} small_rest;

/* Set taken[] of the fixed items; those left over are 0. */
void small_reduce(const knapsack_problem *problem, small_room *room, uint8_t *taken,
                  small_rest *rest);
/* Decide on the others; the value of those taken. */
int64_t small_table(const knapsack_problem *problem, small_room *room, const small_rest *rest,
                    uint8_t *taken, uint64_t *cells);

#endif
