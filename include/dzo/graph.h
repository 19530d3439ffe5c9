/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Undirected weighted multigraphs: reading, building, preparing and writing them.
 *
 * Terms. A graph has `vertices` numbered from 0 and `edges`. An edge is undirected and has a
 * number: the 0-based position of its entry in the input (for adjacency inputs, the position of
 * the entry in the row of its smaller endpoint). Loops and parallel edges are legal and keep their
 * numbers. In compressed sparse rows (CSR) every edge that is no loop is two arcs, one a direction.
 */
#ifndef DZO_GRAPH_H
#define DZO_GRAPH_H

#include "dzo/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How weights are stored in arrays: 0, 4, 8, 8, 4 and 8 bytes each. NONE: every weight is 1. */
typedef enum dzo_weight_type {
  DZO_WEIGHT_NONE = 0,
  DZO_WEIGHT_U32 = 1,
  DZO_WEIGHT_I64 = 2,
  DZO_WEIGHT_U64 = 3,
  DZO_WEIGHT_F32 = 4,
  DZO_WEIGHT_F64 = 5
} dzo_weight_type;

/* "none", "u32", "i64", "u64", "f32" or "f64". */
DZO_API const char *dzo_weight_type_name(dzo_weight_type type);

/* One weight: the member that fits the graph's type (u32 in `u64`, f32 in `f64`, NONE: u64 = 1). */
typedef union dzo_weight {
  uint64_t u64;
  int64_t i64;
  double f64;
} dzo_weight;

/* A view of an edge list; the arrays are the owner's. Loops (u == v) and parallel edges are legal.
 */
typedef struct dzo_edges {
  uint64_t vertices; /* at most 2^32 - 1; every endpoint is below */
  uint64_t count;    /* edges here */
  const uint32_t *u; /* [count] */
  const uint32_t *v; /* [count] */
  dzo_weight_type weight_type;
  const void *weights;     /* [count] of weight_type; NULL iff DZO_WEIGHT_NONE */
  const uint64_t *numbers; /* [count] edge numbers, ascending, below 2^64 - 1; NULL: edge i is
                            * first_number + i */
  uint64_t first_number;
  const uint64_t *labels; /* [vertices] the input's names of the vertices; NULL: v + first_label */
  uint64_t first_label;   /* 0 or 1 */
} dzo_edges;

/* An edge list that owns its arrays, in the order of the input. */
typedef struct dzo_edge_list dzo_edge_list;

/* A graph in compressed sparse rows, immutable but for the preparations below. */
typedef struct dzo_graph dzo_graph;

typedef enum dzo_format {
  DZO_FORMAT_AUTO = 0,
  DZO_FORMAT_MTX,      /* Matrix Market */
  DZO_FORMAT_DIMACS,   /* DIMACS 9 shortest path text, .gr */
  DZO_FORMAT_SNAP,     /* u v [w] a line, '#' comments: SNAP, .el, .wel */
  DZO_FORMAT_CSV,      /* comma or semicolon separated, optional header line */
  DZO_FORMAT_KONECT,   /* u v [w [t]] a line, '%' comments */
  DZO_FORMAT_METIS,    /* METIS / DIMACS 10 .graph */
  DZO_FORMAT_GRAPHHPC, /* GraphHPC-2015 contest binary */
  DZO_FORMAT_EGR,      /* ECL binary */
  DZO_FORMAT_GAP,      /* GAP .sg / .wsg binary */
  DZO_FORMAT_GALOIS,   /* Galois .gr binary, version 1 or 2 */
  DZO_FORMAT_DZO       /* our own binary: a graph as prepared, ready to map */
} dzo_format;

/* "mtx", "dimacs", ... and back; dzo_format_from_name gives DZO_E_ARGUMENT for an unknown name. */
DZO_API const char *dzo_format_name(dzo_format format);
DZO_API dzo_status dzo_format_from_name(const char *name, dzo_format *out);

/* ---- Edge lists ------------------------------------------------------------------------------ */

typedef struct dzo_read_options {
  size_t size;       /* sizeof(dzo_read_options) */
  dzo_format format; /* AUTO (default): found by content, never by suffix */
} dzo_read_options;
DZO_API void dzo_read_options_init(dzo_read_options *options);

/* Read a graph file ("-": standard input; gzip and zstd are unpacked). Where the format lets vertex
 * names be arbitrary (SNAP, CSV, KONECT) they are renumbered in ascending order and `labels` maps
 * back. DZO_E_IO, DZO_E_FORMAT (message: file:line: reason), DZO_E_UNSUPPORTED, DZO_E_MEMORY. */
DZO_API dzo_status dzo_edge_list_read(dzo_context *context, const char *path,
                                      const dzo_read_options *options, dzo_edge_list **out);
/* Copy a caller's edges. DZO_E_ARGUMENT names an endpoint out of range or a NaN weight. */
DZO_API dzo_status dzo_edge_list_copy(dzo_context *context, const dzo_edges *edges,
                                      dzo_edge_list **out);
/* The arrays of `list`, valid while it lives. */
DZO_API void dzo_edge_list_view(const dzo_edge_list *list, dzo_edges *out);
/* The format it was read from, DZO_FORMAT_AUTO if from none. */
DZO_API dzo_format dzo_edge_list_format(const dzo_edge_list *list);
DZO_API void dzo_edge_list_destroy(dzo_edge_list *list);

/* Write edges as `format`, through a temporary file that is renamed when complete ("-": standard
 * output). What the format cannot hold (fractions in METIS, say) is DZO_E_UNSUPPORTED, naming it.
 * Names of vertices are kept by SNAP, CSV, KONECT and DZO; the first three list edges only, so that
 * a vertex without edges is not written. */
DZO_API dzo_status dzo_edges_write(dzo_context *context, const dzo_edges *edges, dzo_format format,
                                   const char *path);

/* ---- Generators ------------------------------------------------------------------------------ */

typedef enum dzo_generator {
  DZO_GENERATE_RMAT,    /* GraphHPC-2015 R-MAT, bit for bit */
  DZO_GENERATE_SSCA2,   /* GraphHPC-2015 SSCA2, bit for bit */
  DZO_GENERATE_UNIFORM, /* both endpoints uniform */
  DZO_GENERATE_GRID     /* square 4-neighbour grid that keeps each edge with probability `keep` */
} dzo_generator;

typedef struct dzo_generate_options {
  size_t size;    /* sizeof(dzo_generate_options) */
  unsigned scale; /* log2 of the vertices, 1..31; default 16 (grid: even ones are square) */
  double degree;  /* mean degree, arcs per vertex; default 32; not for SSCA2 and GRID */
  dzo_weight_type weight_type; /* F64 (default), F32, or U32 = the top 24 bits; NONE */
  uint64_t seed;               /* default 2387, the contest's */
  unsigned max_clique;         /* SSCA2: default 49 */
  double inter_clique;         /* SSCA2: probability, default 0.1 */
  double keep;                 /* GRID: default 0.7 */
} dzo_generate_options;
DZO_API void dzo_generate_options_init(dzo_generate_options *options);

/* Generate an edge list. The same options give the same bytes for any number of threads. */
DZO_API dzo_status dzo_edge_list_generate(dzo_context *context, dzo_generator generator,
                                          const dzo_generate_options *options, dzo_edge_list **out);

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* How the arcs of each row are ordered. Both put equal weights in the order (neighbour, number). */
typedef enum dzo_row_order {
  DZO_ROWS_BY_NEIGHBOUR = 0, /* (neighbour, number) */
  DZO_ROWS_BY_WEIGHT = 1     /* (weight, neighbour, number) */
} dzo_row_order;

/* Build CSR from edges, rows by neighbour. The edges may be freed afterwards. Memory beyond the
 * graph: 2 bytes an arc and some 5 MB a thread, or 26 bytes for each arc of a neighbourhood of
 * vertices that has many. A NaN weight or an endpoint out of range is DZO_E_ARGUMENT and the
 * message names the edge; DZO_E_LIMIT where such a neighbourhood has 2^32 or more arcs;
 * DZO_E_MEMORY, DZO_E_CANCELLED. */
DZO_API dzo_status dzo_graph_from_edges(dzo_context *context, const dzo_edges *edges,
                                        dzo_graph **out);

/* A caller's CSR: offsets [vertices + 1] ascending from 0, neighbours and weights
 * [offsets[vertices]]. symmetric != 0: each edge stands in the rows of both its endpoints (a loop
 * once), and its number is its entry's position in the row of the smaller endpoint; DZO_E_ARGUMENT
 * if it is not so. symmetric == 0: each entry is one edge. */
typedef struct dzo_csr {
  uint64_t vertices;
  const uint64_t *offsets;
  const uint32_t *neighbours;
  dzo_weight_type weight_type;
  const void *weights;
  int symmetric;
} dzo_csr;
DZO_API dzo_status dzo_graph_from_csr(dzo_context *context, const dzo_csr *csr, dzo_graph **out);

/* Read a file and build its graph: dzo_edge_list_read + dzo_graph_from_edges, or the stored graph
 * itself for DZO_FORMAT_DZO. */
DZO_API dzo_status dzo_graph_read(dzo_context *context, const char *path,
                                  const dzo_read_options *options, dzo_graph **out);
/* Write a graph as it is prepared: adjacency formats keep the rows' order; DZO keeps everything.
 * Errors as of dzo_edges_write(); adjacency formats and DZO need rows in an order. */
DZO_API dzo_status dzo_graph_write(dzo_context *context, const dzo_graph *graph, dzo_format format,
                                   const char *path);
DZO_API void dzo_graph_destroy(dzo_graph *graph);

DZO_API uint64_t dzo_graph_vertices(const dzo_graph *graph);
DZO_API uint64_t dzo_graph_edges(const dzo_graph *graph); /* loops and parallel edges counted */
DZO_API uint64_t dzo_graph_arcs(const dzo_graph *graph);  /* two an edge, none a loop */
DZO_API uint64_t dzo_graph_bytes(const dzo_graph *graph); /* memory held */
DZO_API dzo_weight_type dzo_graph_weight_type(const dzo_graph *graph);
/* Neither order where dzo_graph_sort_rows() was cancelled. */
DZO_API dzo_row_order dzo_graph_row_order(const dzo_graph *graph);
DZO_API int dzo_graph_is_compressed(const dzo_graph *graph);
/* The input's name of vertex v. */
DZO_API uint64_t dzo_graph_label(const dzo_graph *graph, uint32_t v);

/* Preparations, in place. Edge numbers and labels stay those of the input. DZO_E_UNSUPPORTED for a
 * compressed graph, except compress itself, which then does nothing. DZO_E_MEMORY; DZO_E_LIMIT for
 * a vertex of 2^32 or more arcs, whose row cannot be sorted; both leave the graph as it was. */

/* Reorder the arcs of each row. If it is cancelled some rows are in the new order and some are
 * not: such a graph can be solved, but sort it again to gain by an order. */
DZO_API dzo_status dzo_graph_sort_rows(dzo_context *context, dzo_graph *graph, dzo_row_order order);
/* Give linked vertices near numbers. Needs the graph's memory a second time. The forest's weight
 * stays; among equal weights another, equally good edge may be taken, since ties are broken by the
 * new numbers. */
DZO_API dzo_status dzo_graph_renumber(dzo_context *context, dzo_graph *graph);
/* Store neighbours as a base per block and ten bits an arc (one byte and two bits), far neighbours
 * apart (Kolganov, GraphHPC-2015, generalised). */
DZO_API dzo_status dzo_graph_compress(dzo_context *context, dzo_graph *graph);
/* Bytes that the neighbours take now, and 4 bytes an arc. */
DZO_API void dzo_graph_neighbour_bytes(const dzo_graph *graph, uint64_t *stored, uint64_t *plain);

/* ---- Graphs in GPU memory -------------------------------------------------------------------- */

/* Keep a copy of the graph in the memory of this context's GPU, so that solving it again and again
 * with this context starts there: offsets (8 bytes a vertex), and for each arc neighbour, key and
 * edge number (12 bytes where keys and numbers have 32 bits, compressed neighbours less). The
 * graph's own arrays stay. A preparation, dzo_graph_evict() and dzo_graph_destroy() drop the copy;
 * a second upload with the same context does nothing. Where that is not the graph's own context,
 * the copy must be gone before the context is destroyed. DZO_E_DEVICE where the context has no GPU,
 * DZO_E_DEVICE_FAILED where it failed; DZO_E_MEMORY where the GPU's memory, or gpu_memory, is too
 * small: such a graph can still be solved, it is then streamed; DZO_E_UNSUPPORTED for 2^30 or more
 * vertices, 2^36 or more arcs, or rows in no order. */
DZO_API dzo_status dzo_graph_upload(dzo_context *context, dzo_graph *graph);
/* Drop the copy, if there is one. */
DZO_API void dzo_graph_evict(dzo_graph *graph);
/* Bytes of GPU memory the copy takes; 0: there is none. */
DZO_API uint64_t dzo_graph_gpu_bytes(const dzo_graph *graph);

/* A caller's graph that lies in GPU memory: symmetric CSR of plain device pointers (cudaMalloc and
 * the like; managed memory too), all on the GPU of the context. Borrowed for the call. Each edge
 * u - v, u != v, is an arc in row u and one in row v, of the same weight; parallel edges are
 * several arcs, in any order among themselves; loops may be there, and are skipped. */
typedef struct dzo_device_csr {
  size_t size;                 /* sizeof(dzo_device_csr), set by dzo_device_csr_init() */
  uint64_t vertices;           /* below 2^30 */
  uint64_t arcs;               /* below 2^36; offsets[vertices] */
  const uint64_t *offsets;     /* device, [vertices + 1], ascending from 0 */
  const uint32_t *neighbours;  /* device, [arcs] */
  dzo_weight_type weight_type; /* any; NONE (default) */
  const void *weights;         /* device, [arcs] of weight_type; NULL iff DZO_WEIGHT_NONE */
  dzo_row_order row_order;     /* how each row ascends: by neighbour (default), or by weight and
                                * equal weights by neighbour */
  int trusted; /* 0 (default): the arrays are checked, in one pass on the GPU; 1: the
                * caller vouches for all that is said here */
} dzo_device_csr;
DZO_API void dzo_device_csr_init(dzo_device_csr *csr);

/* ---- Streams: edges larger than memory ------------------------------------------------------- */

/* Where edges come from, chunk by chunk. */
typedef struct dzo_edge_source {
  void *user;
  /* The next chunk, borrowed until the next call; count 0 at the end. `vertices` and `labels` may
   * grow from chunk to chunk; `labels` must stay readable until a chunk brings others, or to the
   * end. All chunks have one weight type. */
  dzo_status (*next)(void *user, dzo_context *context, dzo_edges *chunk);
  void (*close)(void *user); /* may be NULL */
} dzo_edge_source;

/* Stream a graph file in chunks that fit the context's memory. Close with source->close(user). */
DZO_API dzo_status dzo_edge_source_open(dzo_context *context, const char *path,
                                        const dzo_read_options *options, dzo_edge_source *out);

#ifdef __cplusplus
}
#endif
#endif
