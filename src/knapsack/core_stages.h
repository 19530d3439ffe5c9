/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the stages of the core method are made of. */
#ifndef DZO_KNAPSACK_CORE_STAGES_H
#define DZO_KNAPSACK_CORE_STAGES_H

#include "knapsack/core.h"

/* Solve: best and best_set, where found, are right at the end, whatever it returns; *done where no
 * set is worth more. */
dzo_status core_level_solve(core_level *v, bool *done);

core_frame core_frame_of(core_level *v);
dzo_status core_frame_hold(core_frame *f);
void core_frame_free(core_frame *f);

/* Of an item's worth in 64 bits. */
static const core_wide core_narrow_most = (core_wide)1 << 57;

/* core_prove(), or what is left then of the frame's order. */
dzo_status core_prove_or_reduce(core_frame *f, uint64_t states, uint64_t work, bool *done);

/* The undecided items of a frame as a problem of its own. */
typedef struct core_part {
  core_level level;
  int64_t *numbers;
  int32_t *pieces;
  int64_t fixed_value;
} core_part;

dzo_status core_cut_out(const core_frame *f, core_part *p);
void core_put_back(const core_frame *f, core_part *p);
void core_part_free(core_part *p);

/* core_kinds.c: with a second constraint, from the bound without it. */
dzo_status core_solve_kinds(core_level *v, const core_frame *plain, bool *done);
/* Are all items worth their weight? Then no other bound is better. */
bool core_is_flat(const core_frame *f);

#endif
