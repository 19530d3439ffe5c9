/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Reading arcs of a graph in device memory, plainly: any kind of key, any kind of neighbours. For
 * the engine of 2015 and for the checker; the solver has its own. */
#ifndef DZO_MSF_ARCS_CUH
#define DZO_MSF_ARCS_CUH

#include "device/cuda.h"
#include "msf/gpu.h"

#define ARC_NONE UINT64_MAX

enum { ARC_ESCAPE = 1023 /* the code of an exception, see graph/compress.h */ };

/* What a kernel needs of a msf_gpu_graph, by value. */
typedef struct arc_reader {
  const uint32_t *neighbours; /* NULL: compressed */
  dzo_compressed packed;
  const void *keys;
  dzo_weight_type type;
  uint64_t flip;
} arc_reader;

static inline dzo_weight_type arc_weight_type(msf_key_type type) {
  switch (type) {
  case MSF_KEY_U32:
    return DZO_WEIGHT_U32;
  case MSF_KEY_U64:
    return DZO_WEIGHT_U64;
  case MSF_KEY_F32:
    return DZO_WEIGHT_F32;
  case MSF_KEY_I64:
    return DZO_WEIGHT_I64;
  case MSF_KEY_F64:
    return DZO_WEIGHT_F64;
  case MSF_KEY_NONE:
    break;
  }
  return DZO_WEIGHT_NONE;
}

/* Significant bits of a key. */
static inline int arc_key_bits(msf_key_type type) {
  return type == MSF_KEY_NONE || type == MSF_KEY_U32 || type == MSF_KEY_F32 ? 32 : 64;
}

static inline arc_reader arc_reader_of(const msf_gpu_graph *graph) {
  arc_reader r = {};
  r.neighbours = graph->neighbours;
  if (graph->neighbours == NULL && graph->compressed != NULL)
    r.packed = *graph->compressed;
  r.keys = graph->keys;
  r.type = arc_weight_type(graph->key_type);
  if (graph->maximum)
    r.flip = UINT64_MAX >> (64 - arc_key_bits(graph->key_type));
  return r;
}

__device__ __forceinline__ uint64_t arc_key(const arc_reader &r, uint64_t arc) {
  return dzo_weight_pattern(r.type, r.keys, arc) ^ r.flip;
}

/* ---- Compressed neighbours ------------------------------------------------------------------- */

__device__ __forceinline__ unsigned arc_code(const arc_reader &r, uint64_t arc) {
  uint64_t block = arc / DZO_BLOCK_ARCS;
  unsigned j = (unsigned)(arc % DZO_BLOCK_ARCS);
  unsigned high = r.packed.high[block * DZO_BLOCK_PLANE + j % DZO_BLOCK_PLANE];
  return r.packed.low[arc] | (high >> 2 * (j / DZO_BLOCK_PLANE) & 3u) << 8;
}

/* Exceptions among the first `end` arcs of a block, four arcs a step: a byte of `both` is 1 where
 * the byte of `low` and the two bits of `high` are all ones. */
__device__ __forceinline__ unsigned arc_escapes(const arc_reader &r, uint64_t block, unsigned end) {
  const uint32_t *lows = (const uint32_t *)(const void *)r.packed.low + block * 16;
  const uint32_t *highs = (const uint32_t *)(const void *)r.packed.high + block * 4;
  unsigned count = 0;
  for (unsigned word = 0; 4 * word < end; word++) {
    uint32_t low = __ldg(lows + word), high = __ldg(highs + word % 4) >> 2 * (word / 4);
    low &= low >> 4;
    low &= low >> 2;
    low &= low >> 1;
    uint32_t both = low & high & high >> 1 & 0x01010101u;
    unsigned left = end - 4 * word;
    count += (unsigned)__popc(left < 4 ? both & ((1u << 8 * left) - 1) : both);
  }
  return count;
}

__device__ __forceinline__ uint32_t arc_exception(const arc_reader &r, uint64_t block,
                                                  unsigned before) {
  return r.packed.exceptions[r.packed.group_exception[block / DZO_GROUP_BLOCKS] +
                             r.packed.block_exception[block] + before];
}

/* One arc's, by one thread. */
__device__ __forceinline__ uint32_t arc_neighbour(const arc_reader &r, uint64_t arc) {
  if (r.neighbours != NULL)
    return __ldg(r.neighbours + arc);
  uint64_t block = arc / DZO_BLOCK_ARCS;
  unsigned code = arc_code(r, arc);
  if (code != ARC_ESCAPE)
    return __ldg(r.packed.bases + block) + code;
  return arc_exception(r, block, arc_escapes(r, block, (unsigned)(arc % DZO_BLOCK_ARCS)));
}

/* A warp goes through compressed neighbours 32 at a time, half a block; `before` carries how many
 * exceptions the block's first half has. Begin at `at`, a multiple of 32. */
__device__ __forceinline__ unsigned arc_warp_begin(const arc_reader &r, uint64_t at) {
  bool second = at % DZO_BLOCK_ARCS != 0;
  uint64_t first = second ? at - 32 : at;
  return (unsigned)__popc(
      __ballot_sync(DZO_WARP_ALL, second && arc_code(r, first + dzo_lane()) == ARC_ESCAPE));
}

/* The neighbour of arc at + lane, which may be any arc of the last block, there or not. */
__device__ __forceinline__ uint32_t arc_warp_next(const arc_reader &r, uint64_t at,
                                                  unsigned *before) {
  uint64_t block = at / DZO_BLOCK_ARCS;
  if (at % DZO_BLOCK_ARCS == 0)
    *before = 0;
  unsigned code = arc_code(r, at + dzo_lane());
  unsigned escapes = __ballot_sync(DZO_WARP_ALL, code == ARC_ESCAPE);
  unsigned mine = *before + (unsigned)__popc(escapes & dzo_lanes_below());
  *before = (unsigned)__popc(escapes);
  return code == ARC_ESCAPE ? arc_exception(r, block, mine) : __ldg(r.packed.bases + block) + code;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The row of an arc, from some row on that begins at or before it: galloping, then halving. */
__device__ __forceinline__ uint32_t arc_row(const uint64_t *offsets, uint32_t vertices,
                                            uint32_t from, uint64_t arc) {
  uint32_t low = from, step = 1;
  while (low + step < vertices && __ldg(offsets + low + step) <= arc) {
    low += step;
    step *= 2;
  }
  uint32_t high = low + step < vertices ? low + step : vertices;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (__ldg(offsets + middle) <= arc)
      low = middle;
    else
      high = middle;
  }
  return low;
}

#endif
