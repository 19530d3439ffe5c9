/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Minimum and maximum spanning forests.
 *
 * One answer. Edges are compared by one total order:
 *   weight, then the smaller endpoint, then the larger endpoint, then the edge number
 * (for a maximum forest the weight alone is reversed). Endpoints compare as the vertices of the
 * graph are numbered; where an input names its vertices, that is the order of the names. So the
 * forest is unique: the same bytes for any number of threads, on any device, in memory or streamed.
 * An implementation needs no edge number per arc to follow the order: where rows are ordered by
 * neighbour, the arcs u -> v with u < v stand in memory in exactly this order among equal weights.
 */
#ifndef DZO_MSF_H
#define DZO_MSF_H

#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dzo_msf_options {
  size_t size;   /* sizeof(dzo_msf_options) */
  int maximum;   /* 0 (default): minimum; 1: maximum spanning forest */
  int any_order; /* of dzo_msf_run_device(): 1: its arcs come in no order, each edge by either of
                  * its two arcs, which saves a sort; 0 (default): see there */
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

/* The spanning forest of a graph, by the device of the context (dzo/context.h). On the GPU a graph
 * of which dzo_graph_upload() left a copy there is solved from the copy; any other is sent through
 * in pieces, since sending it is what takes the time. The rest is about the CPU. Memory beyond the
 * graph, results included: as measured, 45 to 60 bytes a vertex where keys are 32 bits, and to 90
 * where they are 64, of which 12 stay. That is 0.13 to 0.45 of the graph where the mean degree is
 * 16 or more, half to all of it for degrees around 8 and for grids, and up to one and a half times
 * the graph below. Method: docs/spanning-forest.md. DZO_E_ARGUMENT, DZO_E_MEMORY, DZO_E_CANCELLED;
 * DZO_E_UNSUPPORTED for a vertex of 2^32 or more arcs. A GPU that fails, or lacks the memory, is no
 * error: the CPU takes over, and dzo_context_notice() says so. */
DZO_API dzo_status dzo_msf_run(dzo_context *context, const dzo_graph *graph,
                               const dzo_msf_options *options, dzo_msf **out);

/* The same forest of edges that are seen once, chunk by chunk, keeping O(vertices) of them. NaN
 * weights, endpoints out of range, and chunks that do not go together are DZO_E_ARGUMENT; what
 * source->next() returns is returned. The caller closes the source. */
DZO_API dzo_status dzo_msf_stream(dzo_context *context, const dzo_edge_source *source,
                                  const dzo_msf_options *options, dzo_msf **out);
DZO_API void dzo_msf_destroy(dzo_msf *msf);

/* ---- On device pointers ---------------------------------------------------------------------- */

/* The forest of a graph in GPU memory, left in GPU memory: nothing but the count travels to the
 * host. arcs [vertices] is device memory of the caller; the forest is arcs[0 .. *count - 1], each a
 * position in csr->neighbours. They ascend, and each edge is told by its arc in the row of its
 * smaller endpoint; the edge number in the order above is that position. So the bytes are always
 * the same; options->any_order trades that for time.
 *
 * The call uses a stream of its own: what the caller's streams write to the arrays must be complete
 * (cudaStreamSynchronize, or cudaDeviceSynchronize), and when it returns, so are the arcs. It
 * needs a context whose device is AUTO, CUDA or HYBRID, and runs on its GPU in any case.
 *
 * Checked unless csr->trusted: offsets ascend from 0 to arcs; neighbours are in range; rows ascend
 * as row_order says; no weight is NaN; and each edge is in both rows, by a 64-bit checksum. What is
 * not so is DZO_E_ARGUMENT and the message names the row, or the array that is no memory of this
 * GPU. DZO_E_DEVICE: there is no GPU; DZO_E_DEVICE_FAILED: it failed; DZO_E_MEMORY: the workspace
 * does not fit; DZO_E_UNSUPPORTED: too many vertices or arcs; DZO_E_CANCELLED. */
DZO_API dzo_status dzo_msf_run_device(dzo_context *context, const dzo_device_csr *csr,
                                      const dzo_msf_options *options, uint64_t *arcs,
                                      uint64_t *count);

/* Bytes of GPU memory that dzo_msf_run_device() takes beside the caller's arrays: at most 24 a
 * vertex, 16 (64-bit weights: 20) for each of the lightest edges, of which there are 1.5 a vertex
 * (rows by weight: 1.75; up to 2.5 edges a vertex: all), and 8.7 MB; more where a graph misleads
 * the sample that tells which these are. The context keeps them for its next call. */
DZO_API dzo_status dzo_msf_device_workspace(dzo_context *context, const dzo_device_csr *csr,
                                            const dzo_msf_options *options, uint64_t *bytes);

/* ---- What was found -------------------------------------------------------------------------- */

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

/* Who solved it: DZO_DEVICE_CPU, DZO_DEVICE_CUDA or DZO_DEVICE_HYBRID. */
DZO_API dzo_device dzo_msf_device(const dzo_msf *msf);

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
 * near-linear in practice; on the GPU for long lists, where the context has device CUDA or HYBRID.
 * *valid is set to 1 or 0; if 0, dzo_context_message() says why. Edges or
 * a claim that are malformed in themselves are DZO_E_ARGUMENT; DZO_E_MEMORY, DZO_E_CANCELLED. */
DZO_API dzo_status dzo_msf_verify(dzo_context *context, const dzo_edges *edges,
                                  const dzo_msf_claim *claim, int *valid);

#ifdef __cplusplus
}
#endif
#endif
