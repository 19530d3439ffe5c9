/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/horowitz_sahni.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

enum { POLL = 1 << 16 }; /* nodes between two looks at the clock */
#define NODES_A_SECOND 3e8

#define TREE_SUM int64_t
#define TREE_ROW tree_row_long
#define TREE_NODE tree_node_long
#define TREE_LEVEL tree_level_long
#define TREE_MOST INT64_MAX
#define TREE(name) tree_##name##_long
#include "knapsack/tree_search.h"
#undef TREE_SUM
#undef TREE_ROW
#undef TREE_NODE
#undef TREE_LEVEL
#undef TREE_MOST
#undef TREE

#define TREE_SUM knapsack_wide
#define TREE_ROW tree_row_wide
#define TREE_NODE tree_node_wide
#define TREE_LEVEL tree_level_wide
#define TREE_MOST ((knapsack_wide)1 << 120)
#define TREE(name) tree_##name##_wide
#include "knapsack/tree_search.h"
#undef TREE_SUM
#undef TREE_ROW
#undef TREE_NODE
#undef TREE_LEVEL
#undef TREE_MOST
#undef TREE

/* ---- Trees ----------------------------------------------------------------------------------- */

dzo_status tree_make(dzo_context *context, const knapsack_problem *problem, tree *out) {
  *out =
      (tree){.problem = problem, .items = problem->items, .is_wide = !knapsack_is_narrow(problem)};
  out->order = dzo_alloc(context, problem->items, sizeof *out->order);
  out->rows = dzo_alloc(context, problem->items + UINT64_C(2),
                        out->is_wide ? sizeof(tree_row_wide) : sizeof(tree_row_long));
  dzo_status status = DZO_E_MEMORY;
  if (out->order != NULL && out->rows != NULL)
    status = knapsack_sort(context, problem, out->order);
  if (status != DZO_OK) {
    tree_free(out);
    return status;
  }
  out->bound = knapsack_dantzig(problem, out->order);
  if (out->is_wide)
    tree_fill_rows_wide(problem, out->order, out->rows);
  else
    tree_fill_rows_long(problem, out->order, out->rows);
  return DZO_OK;
}

void tree_free(tree *t) {
  dzo_free(t->rows);
  dzo_free(t->order);
  *t = (tree){0};
}

/* ---- Searches -------------------------------------------------------------------------------- */

dzo_status tree_search_make(dzo_context *context, const tree *t, tree_search *out) {
  *out = (tree_search){.tree = t, .value = -1};
  out->levels = dzo_alloc(context, t->items + UINT64_C(1),
                          t->is_wide ? sizeof(tree_level_wide) : sizeof(tree_level_long));
  out->skipped = dzo_alloc(context, t->items + UINT64_C(1), sizeof *out->skipped);
  out->node = dzo_alloc(context, 1, sizeof(tree_node_wide));
  if (out->levels != NULL && out->skipped != NULL && out->node != NULL)
    return DZO_OK;
  tree_search_free(out);
  return DZO_E_MEMORY;
}

void tree_search_free(tree_search *search) {
  dzo_free(search->levels);
  dzo_free(search->skipped);
  dzo_free(search->node);
  *search = (tree_search){0};
}

void tree_search_begin(tree_search *search, const tree_work *work) {
  search->base = work != NULL ? work->base : 0;
  uint64_t before = search->base < 64 ? (UINT64_C(1) << search->base) - 1 : UINT64_MAX;
  search->mask = work != NULL ? work->mask & before : 0;
  if (search->tree->is_wide)
    tree_begin_wide(search, work);
  else
    tree_begin_long(search, work);
}

void tree_search_run(tree_search *search, uint64_t nodes) {
  if (!search->is_open)
    return;
  if (search->tree->is_wide)
    tree_run_wide(search, nodes);
  else
    tree_run_long(search, nodes);
}

/* Where the children of a level begin, and which of them is being tried. */
static void level_of(const tree_search *s, uint32_t level, uint32_t *from, uint32_t *child) {
  if (s->tree->is_wide) {
    const tree_level_wide *l = s->levels;
    *from = l[level].from, *child = l[level].child;
  } else {
    const tree_level_long *l = s->levels;
    *from = l[level].from, *child = l[level].child;
  }
}

uint32_t tree_search_pieces(const tree_search *search, uint32_t most, tree_work *out) {
  if (!search->is_open)
    return 0;
  uint32_t count = 0, base = search->base;
  uint64_t mask = search->mask;
  for (uint32_t level = 0; level < search->depth; level++) {
    uint32_t from, child;
    level_of(search, level, &from, &child);
    if (count + 1 < most) {
      if (child > from)
        out[count++] = (tree_work){.mask = mask, .base = (uint8_t)base, .at = (uint8_t)child};
      base = child + 1;
    }
    mask |= UINT64_C(1) << child;
  }
  out[count++] = (tree_work){.mask = mask, .base = (uint8_t)base, .at = (uint8_t)search->at};
  return count;
}

void tree_search_keep(const tree_search *search, knapsack_answer *answer) {
  if (search->value <= answer->value)
    return;
  const uint32_t *order = search->tree->order;
  for (uint32_t i = 0; i < search->tree->items; i++)
    answer->taken[order[i]] =
        i < search->stop && !(i < TREE_MASK_ITEMS && search->skipped_mask >> i & 1);
  for (uint32_t i = 0; i < search->skips; i++)
    answer->taken[order[search->skipped[i]]] = 0;
  answer->value = search->value;
}

/* ---- The method ------------------------------------------------------------------------------ */

uint64_t tree_bytes(uint64_t items) {
  return 1024 + items * (sizeof(tree_row_wide) + sizeof(tree_level_wide) + 2 * sizeof(uint32_t));
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  if (tree_bytes(problem->items) <= job->memory)
    return NULL;
  (void)snprintf(why, why_size, "a tree of %u items takes %llu bytes of memory", problem->items,
                 (unsigned long long)tree_bytes(problem->items));
  return why;
}

/* Most trees are tiny, some are all subsets; which, nobody knows. The likely time is that of
 * looking for it. */
static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  (void)job;
  double n = problem->items, most = ldexp(1, (int)(n < 1000 ? n : 1000)) / NODES_A_SECOND;
  double likely = 2e-6 + 1e-7 * n + ldexp(1, (int)(n < 1800 ? n / 2 : 900)) / NODES_A_SECOND;
  return (knapsack_estimate){.seconds = likely < most ? likely : most,
                             .worst = most,
                             .memory = tree_bytes(problem->items)};
}

static void search_all(knapsack_job *job, const tree *t, tree_search *search,
                       knapsack_answer *answer) {
  tree_search_begin(search, NULL);
  bool stopped = false;
  while (search->is_open && !stopped) {
    stopped = knapsack_report(job, DZO_KNAPSACK_HOROWITZ_SAHNI, search->best, t->bound);
    if (!stopped)
      tree_search_run(search, POLL);
  }
  tree_search_keep(search, answer);
  answer->nodes += search->nodes;
  answer->bound = search->is_open ? t->bound : answer->value;
}

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  tree t;
  tree_search search;
  DZO_TRY(tree_make(job->context, problem, &t));
  dzo_status status = tree_search_make(job->context, &t, &search);
  if (status == DZO_OK) {
    search_all(job, &t, &search, answer);
    tree_search_free(&search);
  }
  tree_free(&t);
  return status;
}

const knapsack_method knapsack_horowitz_sahni = {DZO_KNAPSACK_HOROWITZ_SAHNI, refusal, estimate,
                                                 solve};
