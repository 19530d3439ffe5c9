/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Who is to solve a graph in host memory: a matter of rates. */
#include "msf/hybrid.h"

#include "device/device.h"
#include "graph/resident.h"
#include "msf/gpu_ends.h"

enum { SHARED_VERTICES = 1 << 16 }; /* from so many on, every thread has work */

/* As measured on 16 cores of an Intel Xeon with an H200, for R-MAT, SSCA2, uniform and grid graphs
 * of scales 14 to 24; within 1.5 of most. */
msf_rates msf_expected_rates(int threads, bool opened) {
  double t = threads;
  return (msf_rates){.cpu_arcs = 0.34e9 * t,
                     .cpu_vertices = 4.3e6 * t,
                     .cpu_waits = 0.3e-3 * t,
                     .packed_arcs = 0.47e9 * t,
                     .packed_rows = 90e6 * t,
                     .picked_arcs = 0.25e9 * t,
                     .bus_bytes = 50e9,
                     .gpu_arcs = 20e9,
                     .gpu_merged = 0.5e9,
                     .gpu_vertices = 0.6e9,
                     .start = opened ? 0.9e-3 : 0.35};
}

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

msf_estimate msf_estimate_times(const msf_rates *r, uint64_t vertices, uint64_t arcs,
                                unsigned key_bytes, bool pinned) {
  double n = (double)vertices, m = (double)arcs;
  double whole = m * (4.0 + key_bytes) / r->bus_bytes,
         packing = m / r->packed_arcs + n / r->packed_rows;
  double rest = r->start + n / r->gpu_vertices, gpu = m / r->gpu_arcs + n / r->gpu_merged;
  double share = n < SHARED_VERTICES ? n / SHARED_VERTICES : 1;
  msf_estimate e = {.cpu = m / r->cpu_arcs + n / r->cpu_vertices + share * r->cpu_waits};
  e.cuda = rest + larger(gpu, pinned ? whole : larger(whole / 2, packing));
  /* Two merges are waited for; a few edges a vertex are sent, as lists. */
  double sending = 2.5 * n * (12.0 + key_bytes) / r->bus_bytes, picking = m / r->picked_arcs;
  e.twice = rest + 0.5 * n / r->gpu_vertices + larger(sending, picking);
  e.mixed = pinned ? rest + larger(gpu, msf_ends_time(packing, whole)) : e.cuda;
  e.hybrid = smaller(e.mixed, e.twice);
  return e;
}

dzo_device msf_fastest(const msf_estimate *e) {
  bool both = e->hybrid < 0.98 * e->cuda;
  double gpu = both ? e->hybrid : e->cuda;
  if (gpu >= 0.98 * e->cpu)
    return DZO_DEVICE_CPU;
  return both ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
}

bool msf_is_pinned(dzo_unit *unit, const dzo_graph *g) {
  const void *keys = g->keys32 != NULL ? (const void *)g->keys32 : g->keys64;
  return unit != NULL && g->row_order == DZO_ROWS_BY_NEIGHBOUR &&
         dzo_unit_pinned(unit, g->offsets) && dzo_unit_pinned(unit, g->neighbours) &&
         (keys == NULL || dzo_unit_pinned(unit, keys));
}

msf_estimate msf_estimate_graph(const dzo_context *context, const dzo_graph *graph) {
  msf_rates rates = msf_expected_rates(context->threads, context->gpu != NULL);
  unsigned key_bytes = graph->keys64 != NULL ? 8 : graph->keys32 != NULL ? 4 : 0;
  bool pinned = context->gpu != NULL && msf_is_pinned(context->gpu, graph);
  return msf_estimate_times(&rates, graph->vertices, graph->arcs, key_bytes, pinned);
}

dzo_device msf_choose_device(dzo_context *context, const dzo_graph *graph) {
  if (graph == NULL)
    return DZO_DEVICE_CPU; /* reading the file is the bound */
  if (dzo_graph_resident(context, graph) != NULL)
    return DZO_DEVICE_CUDA;
  msf_estimate e = msf_estimate_graph(context, graph);
  return msf_fastest(&e);
}
