/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who is to solve a graph in host memory: a matter of rates. */
#include "msf/hybrid.h"

#include "device/device.h"
#include "graph/resident.h"

enum { SHARED_VERTICES = 1 << 16 }; /* from so many on, every thread has work */

/* As measured on 16 cores of an Intel Xeon with an H200, for R-MAT, SSCA2, uniform and grid graphs
 * of scales 16 to 24; within 1.5 of each. */
msf_rates msf_expected_rates(int threads, bool opened) {
  double t = threads;
  return (msf_rates){.cpu_arcs = 0.34e9 * t,
                     .cpu_vertices = 4.3e6 * t,
                     .cpu_waits = 0.3e-3 * t,
                     .packed_arcs = 0.40e9 * t,
                     .picked_arcs = 0.25e9 * t,
                     .bus_bytes = 50e9,
                     .gpu_vertices = 0.4e9,
                     .start = opened ? 2e-3 : 0.35};
}

msf_estimate msf_estimate_times(const msf_rates *r, uint64_t vertices, uint64_t arcs,
                                unsigned key_bytes) {
  double n = (double)vertices, m = (double)arcs;
  double moving = m / 2 * (4.0 + key_bytes) / r->bus_bytes, packing = m / r->packed_arcs;
  double rest = r->start + n / r->gpu_vertices;
  double share = n < SHARED_VERTICES ? n / SHARED_VERTICES : 1;
  msf_estimate e = {.cpu = m / r->cpu_arcs + n / r->cpu_vertices + share * r->cpu_waits};
  e.cuda = rest + (moving > packing ? moving : packing);
  /* Two merges are waited for; a few edges a vertex are sent, as lists. */
  double sending = 2.5 * n * (12.0 + key_bytes) / r->bus_bytes, picking = m / r->picked_arcs;
  e.hybrid = rest + 0.5 * n / r->gpu_vertices + (sending > picking ? sending : picking);
  return e;
}

dzo_device msf_fastest(const msf_estimate *e) {
  bool both = e->hybrid < 0.98 * e->cuda;
  double gpu = both ? e->hybrid : e->cuda;
  if (gpu >= 0.98 * e->cpu)
    return DZO_DEVICE_CPU;
  return both ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
}

msf_estimate msf_estimate_graph(const dzo_context *context, const dzo_graph *graph) {
  msf_rates rates = msf_expected_rates(context->threads, context->gpu != NULL);
  unsigned key_bytes = graph->keys64 != NULL ? 8 : graph->keys32 != NULL ? 4 : 0;
  return msf_estimate_times(&rates, graph->vertices, graph->arcs, key_bytes);
}

dzo_device msf_choose_device(dzo_context *context, const dzo_graph *graph) {
  if (graph == NULL)
    return DZO_DEVICE_CPU; /* reading the file is the bound */
  if (dzo_graph_resident(context, graph) != NULL)
    return DZO_DEVICE_CUDA;
  msf_estimate e = msf_estimate_graph(context, graph);
  return msf_fastest(&e);
}
