/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Without CUDA no GPU can be opened, so that none of these is ever reached with one. */
#include "graph/gpu_graph.h"

dzo_status dzo_gpu_edges_generate(dzo_unit *unit, dzo_generator generator,
                                  const dzo_generate_options *options, dzo_gpu_edges *out) {
  (void)unit;
  (void)generator;
  (void)options;
  *out = (dzo_gpu_edges){0};
  return DZO_E_DEVICE;
}

dzo_status dzo_gpu_csr_from_edges(const dzo_gpu_edges *edges, const dzo_gpu_csr_choices *choices,
                                  dzo_gpu_csr *out) {
  (void)edges;
  (void)choices;
  *out = (dzo_gpu_csr){0};
  return DZO_E_DEVICE;
}
