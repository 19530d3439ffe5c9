/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Graphs in device memory: uploaded, or generated there, the same bytes as on the CPU. */
#ifndef DZO_GRAPH_GPU_GRAPH_H
#define DZO_GRAPH_GPU_GRAPH_H

#include "device/device.h"
#include "graph/compress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Symmetric CSR in device memory. As in dzo_graph, an edge is an arc in two rows, and loops are
 * kept apart. */
typedef struct dzo_gpu_csr {
  dzo_unit *unit;
  uint64_t vertices;
  uint64_t edges; /* loops included */
  uint64_t arcs;
  uint64_t *offsets;          /* [vertices + 1] */
  uint32_t *neighbours;       /* [arcs]; NULL when compressed */
  dzo_compressed *compressed; /* on the host, but its arrays in device memory; or NULL */
  uint32_t *keys32; /* [arcs] by map, as in dzo_graph; or weights as they are where `raw` */
  uint64_t *keys64;
  uint32_t *numbers32; /* [arcs] edge numbers by number_bound as in dzo_graph, or both NULL */
  uint64_t *numbers64;
  uint64_t number_bound;
  dzo_weight_map map; /* a dictionary stays the host graph's */
  bool raw;           /* keys are f32 or f64 as they are, not order-preserving patterns */
  dzo_row_order row_order;
  /* Where numbers are kept, of a generated graph only: [loops] edge numbers, ascending. */
  uint64_t loops;
  uint32_t *loop_numbers;
} dzo_gpu_csr;

/* Copy a graph to the device, with the edge numbers or without. DZO_E_MEMORY, DZO_E_DEVICE. */
dzo_status dzo_gpu_csr_upload(dzo_unit *unit, const dzo_graph *graph, bool numbers,
                              dzo_gpu_csr *out);
void dzo_gpu_csr_destroy(dzo_gpu_csr *csr); /* zeroed is fine, and what it becomes */
uint64_t dzo_gpu_csr_bytes(const dzo_gpu_csr *csr);

/* Edges in device memory, in the order of their numbers 0 .. count - 1. */
typedef struct dzo_gpu_edges {
  dzo_unit *unit;
  uint64_t vertices;
  uint64_t count; /* below 2^32 */
  uint32_t *u;
  uint32_t *v;
  dzo_weight_type weight_type;
  void *weights;
} dzo_gpu_edges;

/* The edges that dzo_edge_list_generate() makes, bit for bit. DZO_E_UNSUPPORTED for 2^32 edges or
 * more. Memory beyond the edges: R-MAT 16 bytes a vertex, SSCA2 24. */
dzo_status dzo_gpu_edges_generate(dzo_unit *unit, dzo_generator generator,
                                  const dzo_generate_options *options, dzo_gpu_edges *out);
dzo_status dzo_gpu_edges_download(dzo_context *context, const dzo_gpu_edges *edges,
                                  dzo_edge_list **out);
void dzo_gpu_edges_destroy(dzo_gpu_edges *edges);

typedef struct dzo_gpu_csr_choices {
  bool numbers; /* keep edge numbers and loops */
  bool presort; /* rows by weight */
  bool raw;     /* f32 and f64 as they are */
} dzo_gpu_csr_choices;

/* The rows that dzo_graph_from_edges() (and dzo_graph_sort_rows()) make, bit for bit. Memory beyond
 * edges and rows: 36 bytes (presorted: 52) for each arc of a slice of rows, at most 2^28 arcs, or
 * what there is. */
dzo_status dzo_gpu_csr_from_edges(const dzo_gpu_edges *edges, const dzo_gpu_csr_choices *choices,
                                  dzo_gpu_csr *out);
dzo_status dzo_gpu_csr_generate(dzo_unit *unit, dzo_generator generator,
                                const dzo_generate_options *options,
                                const dzo_gpu_csr_choices *choices, dzo_gpu_csr *out);
/* A host graph of a device one that was built with numbers from `edges`. */
dzo_status dzo_gpu_csr_download(dzo_context *context, const dzo_gpu_csr *csr,
                                const dzo_gpu_edges *edges, dzo_graph **out);

#ifdef __cplusplus
}
#endif
#endif
