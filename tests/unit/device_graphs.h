/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Graphs in the memory of a GPU for tests that call the GPU's solvers and checker directly. */
#ifndef DZO_TESTS_DEVICE_GRAPHS_H
#define DZO_TESTS_DEVICE_GRAPHS_H

#include "graph/gpu_graph.h"
#include "msf/gpu.h"

#include "oracle.h"

/* How much to test; sanitizers make the shim's GPU slow. */
#if defined(__SANITIZE_THREAD__)
enum { GPU_ROUNDS = 20, GPU_SCALE = 7, GPU_STEP = 3 };
#elif defined(__SANITIZE_ADDRESS__)
enum { GPU_ROUNDS = 60, GPU_SCALE = 8, GPU_STEP = 3 };
#else
enum { GPU_ROUNDS = 120, GPU_SCALE = 10, GPU_STEP = 1 };
#endif
/* GPU_ROUNDS, or few where the environment has DZO_TEST_SMALL, as for compute-sanitizer. */
uint64_t gpu_rounds(void);

/* A context with a GPU, and it; both NULL where there is none. */
typedef struct gpu_host {
  dzo_context *context;
  dzo_unit *unit;
} gpu_host;
gpu_host gpu_host_open(void);
void gpu_host_close(gpu_host *host);
/* Skips the test where there is none. */
void need_gpu(gpu_host host);

/* The call succeeded. */
void must_on(gpu_host host, dzo_status status);

void *to_gpu(gpu_host host, const void *items, uint64_t count, size_t size);
void from_gpu(gpu_host host, void *items, const void *device, uint64_t count, size_t size);

typedef struct device_graph {
  dzo_gpu_csr csr;
  msf_gpu_graph graph;
  void *raw; /* weights as they are, or NULL */
} device_graph;
/* A copy of `graph`. With `edges`, whose numbers are 0 .. count - 1, its keys are the weights as
 * they are, else those of the graph. */
device_graph device_graph_make(gpu_host host, const dzo_graph *graph, const dzo_edges *edges,
                               bool maximum);
void device_graph_free(gpu_host host, device_graph *graph);

/* These arcs (host memory) are the oracle's forest, and the labels (or NULL) its trees. */
void expect_arcs(const dzo_graph *graph, const uint64_t *arcs, uint64_t count,
                 const uint32_t *labels, uint32_t components, const oracle_forest *f,
                 const char *what);

#endif
