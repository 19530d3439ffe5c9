/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Depth-first branch and bound: what one node does, for the CPU and for GPUs (tree_node.h says
 * how), and the search on one thread of the CPU. */
#ifndef DZO_KNAPSACK_HOROWITZ_SAHNI_H
#define DZO_KNAPSACK_HOROWITZ_SAHNI_H

#include "base/item.h"
#include "knapsack/method.h"

/* ---- Nodes, with sums of 32, 64 and 128 bits ------------------------------------------------- */

/* a * b >= c * d, of numbers that are not negative. */
DZO_ITEM bool tree_at_least_short(int32_t a, int32_t b, int32_t c, int32_t d) {
  return (uint64_t)(uint32_t)a * (uint32_t)b >= (uint64_t)(uint32_t)c * (uint32_t)d;
}
DZO_ITEM bool tree_at_least_long(int64_t a, int64_t b, int64_t c, int64_t d) {
#if defined(__CUDA_ARCH__)
  uint64_t left = __umul64hi((unsigned long long)a, (unsigned long long)b),
           right = __umul64hi((unsigned long long)c, (unsigned long long)d);
  return left != right ? left > right : (uint64_t)a * (uint64_t)b >= (uint64_t)c * (uint64_t)d;
#else
  return (knapsack_wide)a * b >= (knapsack_wide)c * d;
#endif
}

/* For sums below 2^30. */
#define TREE_SUM int32_t
#define TREE_ROW tree_row_short
#define TREE_NODE tree_node_short
#define TREE(name) tree_##name##_short
#include "knapsack/tree_node.h"
#undef TREE_SUM
#undef TREE_ROW
#undef TREE_NODE
#undef TREE
#define TREE_SHORT ((knapsack_wide)1 << 30)

/* For narrow problems. */
#define TREE_SUM int64_t
#define TREE_ROW tree_row_long
#define TREE_NODE tree_node_long
#define TREE(name) tree_##name##_long
#include "knapsack/tree_node.h"
#undef TREE_SUM
#undef TREE_ROW
#undef TREE_NODE
#undef TREE

/* For all others; on the CPU only. */
#if !defined(__CUDACC__)
/* b and d fit 63 bits, and a is less than d, so c is at most b. */
DZO_ITEM bool tree_at_least_wide(knapsack_wide a, knapsack_wide b, knapsack_wide c,
                                 knapsack_wide d) {
  return a * b >= c * d;
}
#define TREE_SUM knapsack_wide
#define TREE_ROW tree_row_wide
#define TREE_NODE tree_node_wide
#define TREE(name) tree_##name##_wide
#include "knapsack/tree_node.h"
#undef TREE_SUM
#undef TREE_ROW
#undef TREE_NODE
#undef TREE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Trees ----------------------------------------------------------------------------------- */

typedef struct tree {
  const knapsack_problem *problem;
  uint32_t items;
  bool is_wide;
  uint32_t *order;     /* [items] by falling worth */
  void *rows;          /* [items + 2] tree_row_long, or _wide */
  knapsack_wide bound; /* Dantzig's, of all */
} tree;

/* Memory that a tree of so many items and one search of it take, at most. */
uint64_t tree_bytes(uint64_t items);
dzo_status tree_make(dzo_context *context, const knapsack_problem *problem, tree *out);
void tree_free(tree *t);

/* ---- The search on one thread ---------------------------------------------------------------- */

/* Work that is open: below the node that skips the items of `mask`, the children that skip one of
 * the items at - 1 and below, and then the same for each node above it, as long as its last skipped
 * item is `base` or behind. For at most 64 items. at == TREE_ROOT: the node itself, too. */
typedef struct tree_work {
  uint64_t mask;
  uint8_t base, at;
  uint8_t padding[6];
} tree_work;
enum { TREE_ROOT = 255, TREE_MASK_ITEMS = 64 };

/* A search that can be continued; one thread at a time. */
typedef struct tree_search {
  const tree *tree;
  void *levels;          /* [items] of the way down */
  uint32_t depth;        /* levels in use */
  uint32_t base;         /* no item before is touched */
  uint64_t mask;         /* of items before base: those skipped */
  uint32_t from, at;     /* children to come: at - 1, .. from */
  bool is_open;          /* there may be more to find */
  knapsack_wide best;    /* what a set has to exceed */
  uint64_t nodes;        /* bounds so far */
  knapsack_wide value;   /* of the best set it found itself; -1: none */
  uint32_t stop, skips;  /* that set: the items before stop, but not */
  uint32_t *skipped;     /* [items] these, and not those of */
  uint64_t skipped_mask; /* this */
  void *node;            /* where it stands */
} tree_search;

dzo_status tree_search_make(dzo_context *context, const tree *t, tree_search *out);
void tree_search_free(tree_search *search);
/* Begin anew at some work, or (NULL) at the root. */
void tree_search_begin(tree_search *search, const tree_work *work);
/* Go on for about so many nodes. */
void tree_search_run(tree_search *search, uint64_t nodes);
/* What is open, as at most `most` pieces, of which the last may hold several levels. Trees of at
 * most TREE_MASK_ITEMS items. */
uint32_t tree_search_pieces(const tree_search *search, uint32_t most, tree_work *out);
/* Put the set that the search found into the answer if it is better. */
void tree_search_keep(const tree_search *search, knapsack_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
