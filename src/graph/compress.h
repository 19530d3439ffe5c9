/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Compressed neighbours, after Kolganov (GraphHPC-2015): a base per block of arcs and ten bits an
 * arc, one byte and two bits in separate streams, so that both stay aligned; generalised by an
 * exception list, so that any graph may be stored. */
#ifndef DZO_GRAPH_COMPRESS_H
#define DZO_GRAPH_COMPRESS_H

#include "graph/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DZO_BLOCK_ARCS = 64,    /* arcs that share a base */
  DZO_BLOCK_PLANE = 16,   /* arcs j, j + 16, j + 32, j + 48 share byte j of `high` */
  DZO_GROUP_BLOCKS = 1024 /* blocks that share a 64-bit exception start */
};

/* Arc a of block b = a / 64 is bases[b] + code, code = two bits of `high` and the byte low[a];
 * code 1023 is an exception, the next of its block. The seed's 32 arcs a base leave no room for the
 * start of the exceptions at its ratio of 2.9; 64 arcs do: 1.25 + 6/64 bytes an arc. */
struct dzo_compressed {
  uint64_t arcs;
  uint64_t blocks;
  uint64_t exception_count;
  uint32_t *bases;           /* [blocks] */
  uint8_t *low;              /* [64 * blocks] */
  uint8_t *high;             /* [16 * blocks] */
  uint16_t *block_exception; /* [blocks + 1] first exception, from that of the group */
  uint64_t *group_exception; /* [blocks / 1024 + 1] */
  uint32_t *exceptions;      /* [exception_count] */
};

/* Decode the neighbours of the arcs begin .. end - 1 (all of one row or not) into `out`. */
void dzo_compressed_decode(const dzo_compressed *compressed, uint64_t begin, uint64_t end,
                           uint32_t *out);
/* The neighbour of one arc. */
uint32_t dzo_compressed_at(const dzo_compressed *compressed, uint64_t arc);
uint64_t dzo_compressed_bytes(const dzo_compressed *compressed);
void dzo_compressed_destroy(dzo_compressed *compressed);

DZO_ITEM uint32_t dzo_arc_neighbour(const dzo_graph *g, uint64_t arc) {
  return g->neighbours != NULL ? g->neighbours[arc] : dzo_compressed_at(g->compressed, arc);
}

#ifdef __cplusplus
}
#endif
#endif
