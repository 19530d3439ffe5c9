/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Several items of about the same weight in one pass over a row, on the GPU. Between levels that
 * are one span each, the row is read once and written once for all of them.
 *
 * Weights, counted from the lowest cell of the level before the pass, are row * stride + column,
 * where the stride is the least weight of the pass. An item that is taken comes from the row
 * before, `shift` columns to the left. A block walks down a few columns and keeps the row before,
 * of every level but the last, in shared memory; also some more columns on its left (`halo`), since
 * each item makes as many invalid as its shift is. Where it does not begin with the first row, it
 * begins `items` rows above what it writes. */
#ifndef DZO_KNAPSACK_DENSE_PASS_H
#define DZO_KNAPSACK_DENSE_PASS_H

#include "base/item.h"
#include "knapsack/dense_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A thread has DENSE_PASS_BITS / items columns, 32 apart, and a word for all its decisions of a
 * row: bit item * columns + column. Those of a warp, which lie side by side, are a chunk. */
enum { DENSE_PASS_ITEMS = 8, DENSE_PASS_BITS = 32, DENSE_PASS_LANES = 32, DENSE_PASS_WARPS = 8 };

typedef struct dense_pass {
  int64_t low;    /* the weight that the others are counted from */
  uint32_t items; /* DENSE_PASS_ITEMS, or a half or a quarter of them */
  uint32_t stride, rows;
  uint32_t tile, tiles; /* columns that a block writes */
  uint32_t halo;
  uint32_t rows_each;            /* of a block */
  uint32_t pad;                  /* cells before each kept row: the greatest shift */
  uint32_t in_count;             /* cells of the level before: weights 0 .. in_count - 1 */
  uint32_t out_first, out_count; /* and of the level behind: from out_first on */
  uint32_t chunk_first, chunks;  /* the chunks of a tile that have decisions to be kept */
  uint32_t shift[DENSE_PASS_ITEMS];
  int32_t value[DENSE_PASS_ITEMS];
  int32_t add; /* to all values at the end */
} dense_pass;

/* in, out: rows in GPU memory. bits [rows][tiles][chunks][32]: decisions; NULL: none are kept. */
dzo_status dense_pass_run(dzo_unit *unit, int queue, const dense_pass *pass, const int32_t *in,
                          int32_t *out, uint32_t *bits);

/* Back through a pass: *weight, of a cell of the level behind, becomes that of the level before,
 * and chosen[items] what was taken on the way. Both are in GPU memory. */
dzo_status dense_pass_follow(dzo_unit *unit, int queue, const dense_pass *pass,
                             const uint32_t *bits, int64_t *weight, uint8_t *chosen);

/* Which bit tells whether item `item` of the pass is taken to get to a weight (counted from `low`)?
 */
DZO_ITEM uint64_t dense_pass_bit(const dense_pass *p, uint32_t item, uint32_t weight) {
  uint32_t row = weight / p->stride, column = weight % p->stride, tile = column / p->tile;
  uint32_t each = DENSE_PASS_BITS / p->items, position = column - tile * p->tile + p->halo;
  uint32_t chunk = position / (each * DENSE_PASS_LANES) - p->chunk_first;
  uint64_t word = (((uint64_t)row * p->tiles + tile) * p->chunks + chunk) * DENSE_PASS_LANES +
                  position % DENSE_PASS_LANES;
  return word * DENSE_PASS_BITS + item * each + position / DENSE_PASS_LANES % each;
}

#ifdef __cplusplus
}
#endif
#endif
