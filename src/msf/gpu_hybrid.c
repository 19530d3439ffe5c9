/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the hybrid's two passes send: the light edges, and the vertices outside the giant. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "msf/hybrid.h"

/* Light edges a vertex; more of them than this part of all make the passes pointless, as does a
 * giant that leaves more than that part of all arcs outside. */
#define LIGHT_EDGES 1.25
#define MOST_LIGHT 0.3
#define MOST_OUTSIDE 0.25

static uint64_t words_of(const dzo_graph *graph) { return graph->vertices / 32 + 1; }

uint64_t msf_hybrid_bytes(const dzo_graph *graph) {
  return MSF_HYBRID_ENDS * (sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
         words_of(graph) * sizeof(uint32_t);
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* The i-th arc that is looked at. */
static uint64_t sample_arc(const dzo_graph *g, uint64_t i) {
  return dzo_random_word(g->arcs, i) % g->arcs;
}

bool msf_hybrid_plan(msf_hybrid *hybrid, const dzo_graph *g, uint64_t flip) {
  *hybrid = (msf_hybrid){.graph = g, .light = 1, .outside = 1};
  if (g->arcs == 0 || g->neighbours == NULL || g->row_order != DZO_ROWS_BY_NEIGHBOUR)
    return false;
  double wanted = LIGHT_EDGES * (double)g->vertices / ((double)g->arcs / 2);
  if (wanted > MOST_LIGHT || (g->keys32 == NULL && g->keys64 == NULL))
    return false;
  uint64_t keys[MSF_HYBRID_KEYS];
  for (uint64_t i = 0; i < MSF_HYBRID_KEYS; i++)
    keys[i] = dzo_arc_key(g, sample_arc(g, i)) ^ flip;
  qsort(keys, MSF_HYBRID_KEYS, sizeof *keys, compare_keys);
  hybrid->last = keys[(uint64_t)(wanted * MSF_HYBRID_KEYS)];
  int light = 0;
  while (light < MSF_HYBRID_KEYS && keys[light] <= hybrid->last)
    light++;
  hybrid->light = (double)light / MSF_HYBRID_KEYS;
  return hybrid->light <= MOST_LIGHT;
}

static uint32_t row_of(const dzo_graph *g, uint64_t arc) {
  uint64_t low = 0, high = g->vertices - 1;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (g->offsets[middle] <= arc)
      low = middle;
    else
      high = middle - 1;
  }
  return (uint32_t)low;
}

void msf_hybrid_open(msf_hybrid *hybrid, const msf_filter *filter, void *staging) {
  uint32_t looks = msf_filter_looks(filter);
  hybrid->samples = looks < MSF_HYBRID_ENDS ? looks : MSF_HYBRID_ENDS;
  hybrid->bounds = staging;
  hybrid->rows = (uint32_t *)(void *)(hybrid->bounds + MSF_HYBRID_ENDS);
  hybrid->roots = hybrid->rows + MSF_HYBRID_ENDS;
  hybrid->giant = hybrid->roots + MSF_HYBRID_ENDS;
  for (uint32_t i = 0; i < hybrid->samples; i++)
    hybrid->rows[i] = row_of(hybrid->graph, sample_arc(hybrid->graph, i));
}

/* Majority vote (Boyer, Moore 1981). */
static uint32_t common_root(uint32_t samples, const uint32_t *roots) {
  uint32_t candidate = 0;
  int lead = 0;
  for (uint32_t i = 0; i < samples; i++) {
    if (lead == 0)
      candidate = roots[i];
    lead += roots[i] == candidate ? 1 : -1;
  }
  return candidate;
}

dzo_status msf_hybrid_find_giant(msf_hybrid *h, msf_filter *filter) {
  uint32_t *bits, outside = 0;
  h->outside = 1;
  if (h->samples == 0)
    return DZO_OK;
  DZO_TRY(msf_filter_bounds(filter));
  DZO_TRY(msf_filter_look(filter, h->samples, h->rows, h->bounds, h->roots));
  DZO_TRY(dzo_unit_wait(filter->unit, 0));
  uint32_t giant = common_root(h->samples, h->roots);
  for (uint32_t i = 0; i < h->samples; i++)
    outside += h->roots[i] != giant;
  h->outside = (double)outside / h->samples;
  if (h->outside > MOST_OUTSIDE) {
    h->outside = 1;
    return DZO_OK;
  }
  DZO_TRY(msf_filter_bits(filter, giant, UINT64_MAX, &bits));
  DZO_TRY(
      dzo_unit_copy(filter->unit, 0, h->giant, bits, (filter->vertices + 31) / 32 * sizeof *bits));
  return dzo_unit_wait(filter->unit, 0);
}
