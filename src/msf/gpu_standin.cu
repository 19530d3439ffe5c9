/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Until the solver of gpu.h is there, the seed's method answers in its name. */
#include "msf/seed.h"

uint64_t msf_gpu_workspace_bytes(const msf_gpu_graph *graph) {
  return msf_seed_workspace_bytes(graph);
}

dzo_status msf_gpu_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  return msf_seed_solve(unit, graph, forest);
}
