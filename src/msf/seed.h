/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The published method for the GPU, after A. Kolganov's entry to GraphHPC-2015, kept to be measured
 * against and as a second opinion: it shares no code with the solver in msf/gpu.h.
 *
 * Each round has four steps: every segment (a row, or a part of a long one) finds its minimal arc
 * that leaves its component, by warp collectives; cycles of length two are removed; components are
 * merged by pointer jumping; components are numbered anew. The host looks on after every round. */
#ifndef DZO_MSF_SEED_H
#define DZO_MSF_SEED_H

#include "msf/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As msf_gpu_solve(), same forest, but offsets, neighbours and keys may also be pinned memory of
 * the host, which then crosses the bus in every round. Rows that ascend in the weight are searched
 * from where the last round left off, unless `maximum`. */
dzo_status msf_seed_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest);

/* The same for a graph whose neighbours (plain or compressed) and keys lie in pinned memory of the
 * host and stay there; the offsets are brought to the GPU. */
dzo_status msf_seed_solve_host(dzo_unit *unit, const dzo_graph *graph, bool maximum,
                               msf_gpu_forest *forest);

#ifdef __cplusplus
}
#endif
#endif
