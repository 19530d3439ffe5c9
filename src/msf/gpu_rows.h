/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A caller's rows in device memory: are they what they must be, and in which order is a forest of
 * theirs told. */
#ifndef DZO_MSF_GPU_ROWS_H
#define DZO_MSF_GPU_ROWS_H

#include "msf/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Check a graph of plain neighbours in one pass. DZO_E_ARGUMENT names a row. The workspace takes
 * msf_gpu_rows_check_bytes(). */
uint64_t msf_gpu_rows_check_bytes(void);
dzo_status msf_gpu_rows_check(dzo_unit *unit, const msf_gpu_graph *graph, void *workspace);

/* arcs[0 .. count - 1], of a forest, become the first arcs of their edges in the rows of the
 * smaller endpoints, ascending; of parallel edges of one weight the first. */
uint64_t msf_gpu_rows_order_bytes(dzo_unit *unit, uint64_t count);
dzo_status msf_gpu_rows_order(dzo_unit *unit, const msf_gpu_graph *graph, uint64_t *arcs,
                              uint64_t count, void *workspace, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
