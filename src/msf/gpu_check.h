/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Verification of spanning forests on the GPU, for graphs too large for dzo_msf_verify(), with the
 * same notion of right: any minimum forest is accepted. Shares nothing with the solvers' ways.
 *
 * The claimed edges alone are merged by Boruvka's algorithm, whose levels make a shallow tree over
 * the vertices; the heaviest edge on the way between two vertices in the claim is the heaviest on
 * the way in that tree (V. King, "A simpler minimum spanning tree verification algorithm",
 * Algorithmica 18 (1997)). Every arc is compared with it. Most arcs need no climb: they are no
 * lighter than what separates both their ends from one central vertex. */
#ifndef DZO_MSF_GPU_CHECK_H
#define DZO_MSF_GPU_CHECK_H

#include "msf/gpu.h"
#include "msf/verify.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct msf_gpu_verdict {
  bool valid;
  char reason[256];    /* why not, or "" */
  uint64_t components; /* trees, where valid */
  /* Exact sum of the claimed edges' keys, unflipped: of the weights, where these are unsigned
   * integers; of their order-preserving patterns else; of ones where there are no weights. */
  uint64_t sum_low, sum_high;
} msf_gpu_verdict;

/* Are these arcs (device memory), each edge by either of its two, a minimum spanning forest? By
 * queue 0. A verdict against the claim is DZO_OK and valid = false. */
dzo_status msf_gpu_check(dzo_unit *unit, const msf_gpu_graph *graph, const uint64_t *arcs,
                         uint64_t count, msf_gpu_verdict *out);

/* And do these labels (device memory, [vertices]) name the graph's components by 0 .. components -
 * 1? `components` as a valid verdict has it. */
dzo_status msf_gpu_check_labels(dzo_unit *unit, const msf_gpu_graph *graph, const uint32_t *labels,
                                uint64_t components, msf_gpu_verdict *out);

/* For dzo_msf_verify(): is the collected claim (checker->forest) right? The edges go through the
 * GPU in pieces. Where it is not, or the GPU cannot tell, *right is false, and the CPU finds out
 * why. */
dzo_status msf_gpu_check_list(dzo_unit *unit, const msf_checker *checker, bool *right);

#ifdef __cplusplus
}
#endif
#endif
