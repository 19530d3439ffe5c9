/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Minimum and maximum spanning forests.
 *
 * One answer. Edges are compared by one total order:
 *   weight, then the smaller endpoint, then the larger endpoint, then the edge number
 * (for a maximum forest the weight alone is reversed). Endpoints compare as the vertices of the
 * graph are numbered; where an input names its vertices, that is the order of the names. So the
 * forest is unique: the same bytes for any number of threads, in memory or streamed. An
 * implementation needs no edge number per arc to follow the order: where rows are ordered by
 * neighbour, the arcs u -> v with u < v stand in memory in exactly this order among equal weights.
 */
#ifndef DZO_MSF_H
#define DZO_MSF_H

#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_msf_options {
  size_t size; /* sizeof(dzo_msf_options) */
  int maximum; /* 0 (default): minimum; 1: maximum spanning forest */
} dzo_msf_options;
DZO_API void dzo_msf_options_init(dzo_msf_options *options);

/* An exact sum of weights. Integer types (and NONE): high * 2^64 + low in two's complement.
 * Floating types: `real`, the exact sum rounded once (to even); infinities add as IEEE 754 does. */
typedef struct dzo_weight_sum {
  dzo_weight_type type;
  int64_t high;
  uint64_t low;
  double real;
} dzo_weight_sum;

/* A spanning forest. */
typedef struct dzo_msf dzo_msf;

/* The spanning forest of a graph. Memory beyond the graph, results included: as measured, 45 to 60
 * bytes a vertex where keys are 32 bits, and to 90 where they are 64, of which 12 stay. That is
 * 0.13 to 0.45 of the graph where the mean degree is 16 or more, half to all of it for degrees
 * around 8 and for grids, and up to one and a half times the graph below. Method:
 * docs/spanning-forest.md. DZO_E_ARGUMENT, DZO_E_MEMORY, DZO_E_CANCELLED; DZO_E_UNSUPPORTED for a
 * vertex of 2^32 or more arcs. */
DZO_API dzo_status dzo_msf_run(dzo_context *context, const dzo_graph *graph,
                               const dzo_msf_options *options, dzo_msf **out);

/* The same forest of edges that are seen once, chunk by chunk, keeping O(vertices) of them. NaN
 * weights, endpoints out of range, and chunks that do not go together are DZO_E_ARGUMENT; what
 * source->next() returns is returned. The caller closes the source. */
DZO_API dzo_status dzo_msf_stream(dzo_context *context, const dzo_edge_source *source,
                                  const dzo_msf_options *options, dzo_msf **out);
DZO_API void dzo_msf_destroy(dzo_msf *msf);

DZO_API uint64_t dzo_msf_vertices(const dzo_msf *msf);
/* Edges and loops of the graph that was solved. */
DZO_API uint64_t dzo_msf_graph_edges(const dzo_msf *msf);
/* Edges of the forest. */
DZO_API uint64_t dzo_msf_count(const dzo_msf *msf);
/* [dzo_msf_count] edge numbers, ascending. */
DZO_API const uint64_t *dzo_msf_edges(const dzo_msf *msf);
/* Trees, isolated vertices included. */
DZO_API uint64_t dzo_msf_components(const dzo_msf *msf);
/* [vertices] the tree of each vertex, 0 .. components - 1, numbered by smallest vertex. */
DZO_API const uint32_t *dzo_msf_component_of(const dzo_msf *msf);
/* The exact weight of the forest. */
DZO_API dzo_weight_sum dzo_msf_weight(const dzo_msf *msf);
/* Endpoints (u < v as vertices of the graph) and weight of the i-th forest edge; arrays of
 * dzo_msf_count entries, filled in the order of dzo_msf_edges. `graph` is the one that was solved,
 * NULL for a stream (u, v are then its vertices). Any of the outputs may be NULL. DZO_E_ARGUMENT if
 * the graph is another; DZO_E_MEMORY, DZO_E_CANCELLED. */
DZO_API dzo_status dzo_msf_endpoints_into(dzo_context *context, const dzo_msf *msf,
                                          const dzo_graph *graph, uint32_t *u, uint32_t *v,
                                          dzo_weight *weight);

/* The exact weight of each tree, in the order of the components: an array of dzo_msf_components
 * entries. `graph` as above. */
DZO_API dzo_status dzo_msf_tree_weights_into(dzo_context *context, const dzo_msf *msf,
                                             const dzo_graph *graph, dzo_weight_sum *out);

/* The plan that was used and what it cost, for benchmarks: a short text, never NULL. */
DZO_API const char *dzo_msf_plan(const dzo_msf *msf);

/* ---- Verification ---------------------------------------------------------------------------- */

/* A claimed forest: edge numbers, or endpoint pairs, of edges in a graph. */
typedef struct dzo_msf_claim {
  size_t size; /* sizeof(dzo_msf_claim) */
  int maximum;
  uint64_t count;
  const uint64_t *numbers; /* [count], or NULL: then u and v */
  const uint32_t *u;       /* [count] a pair stands for its lightest parallel edge */
  const uint32_t *v;
} dzo_msf_claim;
DZO_API void dzo_msf_claim_init(dzo_msf_claim *claim);

/* Check a claim by an algorithm that shares nothing with the solver: every edge exists and is named
 * once, no cycle, as many edges as spanning takes, and no edge of the graph lighter than the
 * heaviest on its tree path (cycle property; Komlos 1985, King 1997). O((n + m) log n) at worst,
 * near-linear in practice. *valid is set to 1 or 0; if 0, dzo_context_message() says why. Edges or
 * a claim that are malformed in themselves are DZO_E_ARGUMENT; DZO_E_MEMORY, DZO_E_CANCELLED. */
DZO_API dzo_status dzo_msf_verify(dzo_context *context, const dzo_edges *edges,
                                  const dzo_msf_claim *claim, int *valid);

#ifdef __cplusplus
}
#endif
#endif
