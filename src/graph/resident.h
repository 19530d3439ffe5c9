/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A graph's copy in GPU memory. */
#ifndef DZO_GRAPH_RESIDENT_H
#define DZO_GRAPH_RESIDENT_H

#include "graph/gpu_graph.h"

struct dzo_resident {
  dzo_gpu_csr csr; /* with the edge numbers */
  /* Room for what an engine finds, kept so that a solve allocates nothing. */
  uint64_t *arcs;   /* device, [vertices] */
  uint32_t *labels; /* device, [vertices] */
};

/* The copy that a call with this context can use, or NULL. */
struct dzo_resident *dzo_graph_resident(const dzo_context *context, const dzo_graph *graph);

#endif
