/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Compressed neighbours, after Kolganov (GraphHPC-2015): a base per block of arcs and ten bits an
 * arc, one byte and two bits in separate streams, so that both stay aligned; generalised by an
 * exception list, so that any graph may be stored. */
#ifndef DZO_GRAPH_COMPRESS_H
#define DZO_GRAPH_COMPRESS_H

#include "graph/csr.h"

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

#endif
