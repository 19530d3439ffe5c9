/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the generators on the GPU share. Their files are compiled without contraction. */
#ifndef DZO_GRAPH_GENERATE_GPU_CUH
#define DZO_GRAPH_GENERATE_GPU_CUH

#include "device/cuda.h"
#include "graph/generate_item.h"
#include "graph/gpu_graph.h"

enum { GENERATE_THREADS = 256, GENERATE_WARP = 32 };

/* Jumps over 2^k strides of draws, so that each thread finds its own place in the sequence. */
struct lcg48_strides {
  dzo_lcg48_jump jump[48];
};

static inline lcg48_strides lcg48_strides_of(uint64_t draws) {
  lcg48_strides strides;
  for (unsigned k = 0; k < 48; k++)
    strides.jump[k] = dzo_lcg48_jump_of(draws << k);
  return strides;
}

/* `state` moved over `count` strides. */
__device__ __forceinline__ uint64_t lcg48_stride(const lcg48_strides &strides, uint64_t count,
                                                 uint64_t state) {
  for (unsigned k = 0; count != 0; k++, count >>= 1)
    if (count & 1)
      state = dzo_lcg48_apply(strides.jump[k], state);
  return state;
}

/* Blocks for a grid-stride loop. */
static inline unsigned generate_blocks(const dzo_unit *unit, uint64_t items) {
  uint64_t most = (uint64_t)unit->processors * 16;
  uint64_t blocks = (items + GENERATE_THREADS - 1) / GENERATE_THREADS;
  return (unsigned)(blocks > most ? most : blocks > 0 ? blocks : 1);
}

/* Room for the edges; *out is destroyed by the caller also after a failure. */
dzo_status generate_take_edges(dzo_unit *unit, uint64_t vertices, uint64_t count,
                               dzo_weight_type type, dzo_gpu_edges *out);
/* Weight i, or count - 1 - i where `reversed`, is draw i after `state`. */
dzo_status generate_draw_weights(dzo_gpu_edges *edges, uint64_t state, bool reversed);

/* The contest's two shuffles of 0 .. vertices - 1, one draw a vertex; *state moves behind them.
 * Memory meanwhile: 20 bytes a vertex. The caller releases *out. */
dzo_status generate_shuffle(dzo_unit *unit, uint64_t vertices, bool ssca2, uint64_t *state,
                            uint32_t **out);

dzo_status generate_ssca2(dzo_unit *unit, const dzo_generate_options *options, dzo_gpu_edges *out);

#endif
