/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Steps of the table on the GPU, whose blocks write a tile each: cells of one segment. */
#ifndef DZO_KNAPSACK_DENSE_TILE_H
#define DZO_KNAPSACK_DENSE_TILE_H

#include "knapsack/dense_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DENSE_TILE = 8192, DENSE_BITS = 32 };

/* In GPU memory. */
typedef struct dense_tiles {
  const dense_segment *segment;
  const uint32_t *of_tile; /* [count] the segment of each; tiles begin at whole words */
  uint32_t count;
  const void *in;
  void *out;
  uint32_t *bits; /* of the level; NULL: none are kept. They are 0 */
} dense_tiles;

dzo_status dense_tiles_run(dzo_unit *unit, int queue, bool wide, const dense_tiles *tiles);

#ifdef __cplusplus
}
#endif
#endif
