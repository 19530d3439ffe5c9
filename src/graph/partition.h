/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The first half of building CSR: deal the arcs of an edge list out to buckets of consecutive rows,
 * keeping the order of the edges. */
#ifndef DZO_GRAPH_PARTITION_H
#define DZO_GRAPH_PARTITION_H

#include "graph/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Progress of the phase "build". */
enum { DZO_BUILD_COUNTED = 100, DZO_BUILD_DEALT = 550, DZO_BUILD_DONE = 1000 };

typedef struct dzo_partition {
  unsigned shift;           /* row r is in bucket r >> shift; at most 16 */
  uint64_t buckets;         /* 2^32 vertices: at most 2^16 */
  uint64_t *bucket_offsets; /* [buckets + 1] in arcs */
  uint16_t *rows;           /* [arcs] row of the arc, less the first of its bucket */
} dzo_partition;

/* Check endpoints and numbers, count arcs and loops, allocate the arrays of the graph (all but
 * offsets) and fill them bucket by bucket: neighbours, keys, numbers, loops. graph->map is set.
 * Memory beyond the graph: 2 bytes an arc, and the counters. */
dzo_status dzo_partition_run(dzo_context *context, const dzo_edges *edges, dzo_graph *graph,
                             dzo_partition *out);
void dzo_partition_free(dzo_partition *partition);

#ifdef __cplusplus
}
#endif
#endif
