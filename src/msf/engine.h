/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The ways to find a forest, one table of functions for each device. msf.c chooses among them and
 * hands the work of a GPU that fails to the CPU. */
#ifndef DZO_MSF_ENGINE_H
#define DZO_MSF_ENGINE_H

#include "msf/result.h"

/* Both fill edges, components, weight, plan and device of `out`, in which vertices, graph_edges and
 * weight_type are set for solve() and all is zero for stream(). What they allocate for it stays in
 * it when they fail. */
typedef struct msf_engine {
  const char *name;
  dzo_status (*solve)(dzo_context *context, const dzo_graph *graph, bool maximum, dzo_msf *out);
  /* Once it has taken edges from the source it must finish, whatever becomes of the GPU. */
  dzo_status (*stream)(dzo_context *context, const dzo_edge_source *source, bool maximum,
                       dzo_msf *out);
} msf_engine;

extern const msf_engine msf_engine_cpu;
extern const msf_engine msf_engine_cuda;
extern const msf_engine msf_engine_hybrid;

/* Who is to solve it where the caller left the choice (DZO_DEVICE_AUTO): CPU, CUDA or HYBRID.
 * `graph` NULL: a stream. Cheap; starts no GPU where the answer cannot be worth the start. */
dzo_device msf_choose_device(dzo_context *context, const dzo_graph *graph);

#endif
