/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Both processors on one forest, in one of two ways. Of a graph in pinned memory the bus fetches
 * some rows as they are, while the CPU's threads pack the upper arcs of others. Or the threads pass
 * over the graph twice and send only what the GPU must see: first the lightest edges; then, when
 * the GPU has made their forest, of which one tree, the giant, holds most vertices, the other edges
 * of vertices outside it. What joins two vertices of the giant and is heavier is ruled out unseen.
 */
#ifndef DZO_MSF_HYBRID_H
#define DZO_MSF_HYBRID_H

#include "graph/csr.h"
#include "msf/engine.h"
#include "msf/gpu_filter.h"

enum { MSF_HYBRID_KEYS = 4096, MSF_HYBRID_ENDS = 512 };

typedef struct msf_hybrid {
  const dzo_graph *graph;
  uint64_t last;    /* the key, flipped for a maximum, up to which edges are light */
  double light;     /* the part of all arcs that are light, or 1 */
  double outside;   /* the part of all arcs whose rows are outside the giant, or 1 */
  uint32_t samples; /* arcs */
  uint32_t *rows;   /* staging, [samples] */
  uint32_t *roots;  /* staging, [samples] */
  uint64_t *bounds; /* staging, [samples] */
  uint32_t *giant;  /* staging, [vertices / 32 + 1] a bit for each vertex in the giant */
} msf_hybrid;

/* Staging memory for a graph. */
uint64_t msf_hybrid_bytes(const dzo_graph *graph);
/* Look at a few arcs: which edges are light, and is it worth the two passes? */
bool msf_hybrid_plan(msf_hybrid *hybrid, const dzo_graph *graph, uint64_t flip);
void msf_hybrid_open(msf_hybrid *hybrid, const msf_filter *filter, void *staging);
/* After the light edges were merged: find the giant. Waits for the GPU. */
dzo_status msf_hybrid_find_giant(msf_hybrid *hybrid, msf_filter *filter);

static inline bool msf_hybrid_is_in_giant(const uint32_t *giant, uint32_t v) {
  return giant[v / 32] >> v % 32 & 1;
}

/* ---- Who is to solve ------------------------------------------------------------------------- */

/* Rates of a machine, a second. */
typedef struct msf_rates {
  double cpu_arcs, cpu_vertices; /* the CPU's solver */
  double cpu_waits;              /* seconds its threads wait for each other, where all have work */
  double packed_arcs;            /* the CPU's threads packing for the GPU; */
  double packed_rows;            /* and each row costs them something, too */
  double picked_arcs;            /* the same, in two passes that send little */
  double bus_bytes;              /* to the GPU */
  double gpu_arcs;               /* filtering on the GPU */
  double gpu_merged;             /* vertices in all merges on the GPU but the last */
  double gpu_vertices;           /* the last merge, and bringing the forest back */
  double start;                  /* seconds before the GPU does anything */
} msf_rates;

/* What may be expected of so many threads; `opened`: the GPU is at work already. */
msf_rates msf_expected_rates(int threads, bool opened);

/* Seconds that each way of solving takes. */
typedef struct msf_estimate {
  double cpu, cuda;
  double hybrid; /* the better of: */
  double mixed;  /* rows fetched by the bus, and packed by threads */
  double twice;  /* two passes */
} msf_estimate;
/* Of a graph whose rows are in pinned memory, or not. */
msf_estimate msf_estimate_times(const msf_rates *rates, uint64_t vertices, uint64_t arcs,
                                unsigned key_bytes, bool pinned);
/* The fastest; the simpler one where the gain would be within 2 %. */
dzo_device msf_fastest(const msf_estimate *estimate);

/* Can the bus fetch the rows as they lie? They must be ordered by neighbour. */
bool msf_is_pinned(dzo_unit *unit, const dzo_graph *graph);
/* Of this graph, whatever the context asks for. */
msf_estimate msf_estimate_graph(const dzo_context *context, const dzo_graph *graph);

#endif
