/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From a forest's arcs in device memory to what a result on the host is made of. */
#ifndef DZO_MSF_GPU_RESULT_H
#define DZO_MSF_GPU_RESULT_H

#include "graph/gpu_graph.h"
#include "msf/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A graph in device memory as the solvers take it; it borrows the arrays. */
msf_gpu_graph msf_gpu_graph_of(const dzo_gpu_csr *csr, bool maximum);

/* Number trees, which `labels` number anyhow below `vertices`, by their smallest vertices. `first`
 * and `flags` are [vertices]; scratch of dzo_gpu_sum_bytes(vertices). All device memory. */
dzo_status msf_gpu_number_trees(dzo_unit *unit, uint32_t *labels, uint64_t vertices,
                                uint32_t *first, uint32_t *flags, void *scratch,
                                uint64_t scratch_bytes);

/* All arrays are device memory. */
typedef struct msf_gpu_result {
  const dzo_gpu_csr *graph; /* with its edge numbers */
  uint64_t *arcs;           /* [count] of the forest, each edge once; overwritten */
  uint64_t count;
  uint32_t *labels; /* [vertices] trees; on return they are numbered by smallest vertex */
  uint32_t components;
  void *workspace;
  uint64_t workspace_bytes; /* of msf_gpu_result_bytes() at least */
  /* On return, in the workspace: */
  void *numbers;  /* [count] edge numbers, ascending */
  bool narrow;    /* of 32 bits, else 64 */
  void *keys;     /* [count] keys in another order, 32 or 64 bits as the graph has them */
  uint64_t *sums; /* [2] of the low and the high 32 bits of all keys */
} msf_gpu_result;

uint64_t msf_gpu_result_bytes(const dzo_gpu_csr *graph, uint64_t count);
/* By queue 0, which is not waited for. */
dzo_status msf_gpu_result_make(dzo_unit *unit, msf_gpu_result *result);

#ifdef __cplusplus
}
#endif
#endif
