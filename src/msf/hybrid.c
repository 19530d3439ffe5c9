/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who is to solve a graph in host memory: a matter of rates. */
#include "msf/hybrid.h"

#include "device/device.h"
#include "graph/resident.h"

/* As measured on 16 cores of an Intel Xeon with an H200 (R-MAT, scales 20 to 24). */
msf_rates msf_expected_rates(int threads, bool opened) {
  double t = threads;
  return (msf_rates){.cpu = 0.125e9 * t,
                     .packing = 0.45e9 * t,
                     .picking = 0.6e9 * t,
                     .bus = 50e9,
                     .vertices = 0.4e9,
                     .start = opened ? 1e-3 : 0.3};
}

msf_estimate msf_estimate_times(const msf_rates *r, uint64_t vertices, uint64_t arcs,
                                unsigned key_bytes) {
  double n = (double)vertices, m = (double)arcs;
  double moving = m / 2 * (4.0 + key_bytes) / r->bus, packing = m / r->packing;
  double after = r->start + n / r->vertices;
  msf_estimate e = {.cpu = m / r->cpu};
  e.cuda = after + (moving > packing ? moving : packing);
  /* A sparse graph has few edges that need not be sent. */
  e.hybrid = m < 10 * n ? e.cuda : after + 0.5 * n / r->vertices + m / r->picking;
  return e;
}

dzo_device msf_fastest(const msf_estimate *e) {
  double gpu = e->hybrid < 0.98 * e->cuda ? e->hybrid : e->cuda;
  if (e->cpu <= 1.02 * gpu)
    return DZO_DEVICE_CPU;
  return e->hybrid < 0.98 * e->cuda ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
}

dzo_device msf_choose_device(dzo_context *context, const dzo_graph *graph) {
  if (graph == NULL)
    return DZO_DEVICE_CPU; /* reading the file is the bound */
  if (dzo_graph_resident(context, graph) != NULL)
    return DZO_DEVICE_CUDA;
  msf_rates rates = msf_expected_rates(context->threads, context->gpu != NULL);
  unsigned key_bytes = graph->keys64 != NULL ? 8 : graph->keys32 != NULL ? 4 : 0;
  msf_estimate e = msf_estimate_times(&rates, graph->vertices, graph->arcs, key_bytes);
  return msf_fastest(&e);
}
