/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The parts of the core method (core.c tells the whole).
 *
 * All of them speak of a base: a choice for each item that is nearly the best,
 * such as the items before the break. A state is a set of items flipped from
 * it, with what that adds to the weight and the value. Bounds are linear
 * functions of a state, in integers: values are multiplied by a scale, and
 * multipliers are integers of that scale. */
#ifndef DZO_KNAPSACK_CORE_H
#define DZO_KNAPSACK_CORE_H

#include "knapsack/method.h"

typedef knapsack_wide core_wide;

/* ---- What a call shares
 * ---------------------------------------------------------------------- */

struct core_level;
struct core_state;

/* Memory for states that no list has at the moment. */
typedef struct core_spare {
  struct core_state *states;
  uint64_t count;
} core_spare;

enum { CORE_SPARES = 4 };

/* Where a stage ends and the next one begins, and how often the job is asked whether to go on. Any
 * numbers give right answers; small ones lead small problems through all stages. */
typedef struct core_limits {
  uint64_t first_states; /* of lists that look for a better set, at first */
  uint64_t near_states;  /* and later */
  uint64_t side_states;  /* and with a second constraint that was not easy */
  uint32_t easy_items;   /* of a core to be proved before anything else is tried */
  uint64_t easy_states;  /* of lists in such a proof */
  uint64_t easy_work;    /* states made for it, of items alone */
  uint64_t side_work;    /* with a second constraint */
  uint32_t tried_items;  /* of so many or more, multipliers are tried with some */
  uint32_t many_items;   /* from about so many, finer multipliers and wider looks pay */
  double heavy_gap;      /* heavy items are counted if that leaves less of the gap to the best */
  uint64_t poll_states;  /* the job is asked after so many states */
  uint64_t poll_reports; /* and told, each so manieth time; at least 1 */
} core_limits;

typedef struct core_run {
  knapsack_job *job;
  const core_limits *limits;
  dzo_context *context;
  uint64_t memory;   /* bytes held by lists, and spare */
  uint64_t states;   /* states made */
  uint64_t unpolled; /* of those, since the job was last asked */
  uint64_t polls;
  dzo_status status; /* DZO_OK until memory runs out */
  bool stopped;
  core_spare spares[CORE_SPARES];
  /* What is known, for those who watch: the best of the level at work and what is decided outside
   * of it; no set is worth more than the bound. */
  const struct core_level *level;
  int64_t apart, bound;
} core_run;

/* The method's solve(), with other limits than the usual ones. */
dzo_status core_solve(knapsack_job *job, const knapsack_problem *problem, knapsack_answer *answer,
                      const core_limits *limits);

/* May it go on, `states` later? Calling thread only. */
bool core_goes_on(core_run *run, uint64_t states);
/* The same between passes over so many items, which only reads the clock if they are many. */
bool core_passes(core_run *run, uint32_t items);

/* ---- A problem and its best set
 * -------------------------------------------------------------- */

typedef struct core_level {
  core_run *run;
  uint32_t items;
  const int64_t *value, *weight;
  const int32_t *pieces; /* how many equal items each one is made of; NULL: one */
  int64_t capacity;
  int64_t best;      /* value of the best set known, maybe not in terms of this
                        level's items */
  uint8_t *best_set; /* [items] that set, once `found` */
  bool found;
  int64_t value_sum, weight_sum;
  int64_t value_max, weight_max;
} core_level;

/* An upper bound: Lagrange multipliers for the weights, and for a second
 * constraint sum side[j] x[j] <= limit, by which all solutions are cut into two
 * kinds. Items are then worth scale * value - by_weight * weight - by_side *
 * side, and the base takes those worth more than 0.
 */
typedef struct core_frame {
  core_level *level;
  bool wide; /* an item's worth needs 128 bits */
  core_wide scale;
  core_wide by_weight, by_side;
  const int32_t *side; /* [items] or NULL: there is no second constraint */
  int64_t limit;
  core_wide plain; /* by_weight of the bound without a second constraint */
  uint8_t *base;   /* [items] */
  int64_t base_value, base_weight, base_side;
  core_wide bound; /* scaled: no set of this frame is worth more */
  uint32_t *order; /* [count] items that are not decided, the likeliest to flip
                      first */
  uint32_t count;
} core_frame;

/* ---- core_break.c: orders
 * -------------------------------------------------------------------- */

typedef struct core_ranked {
  double key;
  uint32_t item;
} core_ranked;

/* By rising key, equal ones as they stand; `room` is as large as r. Not in order where the run, if
 * there is one, is stopped. */
void core_sort(core_run *run, core_ranked *r, uint32_t count, core_ranked *room);
/* The greatest key k such that the items of keys >= k weigh more than the
 * target, or -INFINITY. The arrays are destroyed; sums of weights fit 63 bits.
 */
double core_break_key(double *key, int64_t *weight, uint32_t count, int64_t target);

/* ---- core_bound.c
 * ----------------------------------------------------------------------------
 */

core_wide core_worth(const core_frame *f, uint32_t item);
/* About how much is lost where an item is not as in the base: of the items order[0 .. count - 1],
 * or, for NULL, of items 0 .. count - 1. */
void core_losses(const core_frame *f, const uint32_t *order, uint32_t count, double *loss);
/* The scaled value that a better set reaches at least. */
core_wide core_target(const core_frame *f);
static inline bool core_is_proved(const core_frame *f) { return f->bound < core_target(f); }
/* Set base, its sums and the bound from the multipliers; items worth 0 stay as
 * they are in base. */
void core_frame_bound(core_frame *f);
/* Choose order among all items (from NULL), or among those of the order: drop
 * what cannot flip. */
void core_frame_reduce(core_frame *f, bool all);
dzo_status core_frame_sort(core_frame *f);

/* ---- core_list.c: lists of states
 * ------------------------------------------------------------ */

typedef struct core_state {
  int64_t weight, value;
  uint64_t flips; /* of the last up to 64 items of the list: bit i, item 64 *
                     epoch + i */
  uint64_t tail;  /* the side, and the number of the state of the epoch before
                     that it comes from */
} core_state;

static inline int32_t core_side(uint64_t tail) { return (int32_t)(tail >> 32); }
static inline uint64_t core_tail(int32_t side, uint32_t before) {
  return (uint64_t)(uint32_t)side << 32 | before;
}

typedef struct core_past {
  uint64_t flips;
  uint32_t before;
} core_past;

/* A state is kept if for each line scale * value - weight * .weight - side *
 * .side + rest >= 0. */
typedef struct core_line {
  core_wide weight, side, rest;
} core_line;

enum { CORE_LINES = 3 };

typedef struct core_lines {
  bool wide;
  unsigned count;
  core_wide scale;
  core_line line[CORE_LINES];
} core_lines;

typedef struct core_flip {
  uint32_t item;
  int32_t side;
  int64_t weight, value;
} core_flip;

/* core_merge.c: merge the states, behind which a last one stands that never
 * comes, with themselves flipped, into `to`, which is at least as long as both,
 * keeping what is not dominated and above the lines, above which those in `from` are already where
 * they are `tested`. How many; nothing sensible once the run is stopped. */
uint64_t core_merge(core_run *run, const core_state *from, uint64_t count, core_state *to,
                    const core_flip *flip, uint64_t bit, const core_lines *lines, bool tested);

/* States by rising weight and rising value: none is as good as another and no
 * heavier. */
typedef struct core_list {
  core_run *run;
  core_state *states, *room;
  uint64_t count;                  /* states in use */
  uint64_t states_room, room_room; /* and allocated, in each array */
  uint32_t *items;                 /* those that may be flipped, in order */
  uint32_t item_count, item_room;
  core_past **epochs; /* [item_count / 64] */
  uint64_t *epoch_bytes;
  uint32_t epoch_count, epoch_room;
  int64_t sides;    /* no state's side is further from 0 */
  core_lines lines; /* that all states passed; count 0: none */
  bool singles;     /* each state flips one item, which its tail names */
} core_list;

/* The empty set of flips. */
dzo_status core_list_init(core_list *list, core_run *run);
void core_list_free(core_list *list);
/* Free what lists left for others. */
void core_give_back(core_run *run);
/* Add states with the item flipped, and keep those above the lines. */
dzo_status core_list_flip(core_list *list, const core_flip *flip, const core_lines *lines);
/* Items of the frame's order but those marked, each flipped alone: all, or some
 * thousands. `room` is for twice (the order and two more). */
dzo_status core_list_singles(core_list *list, const core_frame *f, const uint8_t *marked,
                             core_ranked *room);
/* Drop every second state. */
void core_list_thin(core_list *list);
/* Flip in `set` what the state flips. */
void core_list_apply(const core_list *list, uint64_t state, uint8_t *set);
/* The pair of states, one of each list, of the greatest value above `value`
 * whose weight is at most `weight`; false if there is none. */
bool core_list_pair(const core_list *a, const core_list *b, int64_t weight, int64_t *value,
                    uint64_t *at_a, uint64_t *at_b);

/* ---- core_search.c
 * ---------------------------------------------------------------------------
 */

/* Look through all flips of the frame's order, by two lists of which the
 * smaller grows, one from either end, until both have more than `limit` states,
 * or `work` states were made. *done: the level's best is then the best of this
 * frame. */
dzo_status core_prove(core_frame *f, uint64_t limit, uint64_t work, bool *done);
/* Look for a better set by few items: order[0 .. count - 1] of `near`, the first `half` in one
 * list, the others in another; and by these with any one item of the whole order of f, if that is
 * long. `thins`: lists that grow too long lose states, instead of ending it all. *done as above,
 * for f. */
dzo_status core_try_few(core_frame *f, const core_frame *near, uint32_t half, uint64_t limit,
                        bool thins, bool *done);

/* ---- core_near.c: a better set soon ---------------------------------------------------------- */

enum { CORE_NEAR_ITEMS = 64, CORE_WIDE_ITEMS = 512 };
/* By the likeliest few of the frame's items, and others here and there, in lists of about `states`;
 * then without what cannot flip any more. */
dzo_status core_improve(core_frame *f, uint64_t states, bool *done);
/* By `items` of the likeliest, at most CORE_WIDE_ITEMS, in lists that are thinned out. */
dzo_status core_improve_widely(core_frame *f, uint32_t items, uint64_t states, bool *done);

/* ---- core_sides.c: a second constraint
 * ------------------------------------------------------- */

/* The items with which multipliers are tried, in floating point; the others stay as they are in the
 * plain frame's base. */
typedef struct core_trials {
  const core_frame *plain;
  uint32_t count;
  uint32_t *item;                 /* [count] */
  double *value, *side;           /* [count] */
  int64_t *weight;                /* [count] */
  double *key;                    /* [count] and */
  int64_t *room;                  /* [count]: workspace */
  double fixed_value, fixed_side; /* of the others that are in the base */
  int64_t fixed_weight;
} core_trials;

/* About `share` of the items, those of the plain frame's least losses; of 1,024 items or more, or
 * all of them for a share of 1. */
dzo_status core_trials_make(const core_frame *plain, double share, core_trials *t);
void core_trials_free(core_trials *t);
/* The best multipliers for sum side[j] x[j] <= limit, roughly, from those of the bound without it,
 * by whose solution the sum is `plain_side`. Returned is their bound, as far as the items that are
 * not tried stay as they are. */
double core_multipliers(core_frame *f, core_trials *t, double plain_side);
/* A side of which value - weight is the multiple that is returned; or the number of items, the
 * pieces of joined ones counted: 0. */
int64_t core_choose_side(const core_level *v, int32_t *side);

/* ---- core_group.c: equal and proportional items
 * ---------------------------------------------- */

typedef struct core_groups core_groups;
/* Join items to fewer: *out is NULL if that does not pay. `items` of the level
 * are replaced by core_groups_items(). */
dzo_status core_groups_make(const core_level *v, core_groups **out);
void core_groups_free(core_groups *g);
void core_groups_level(const core_groups *g, core_level *level);
/* From a set of joined items to one of the items. */
void core_groups_unfold(const core_groups *g, const uint8_t *joined, uint8_t *set);

#endif
