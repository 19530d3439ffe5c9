/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "graph/compress.h"
#include "msf/hybrid.h"

static uint64_t words_of(const dzo_graph *graph) { return graph->vertices / 32 + 1; }

uint64_t msf_sieve_bytes(const dzo_graph *graph) {
  return 2 * MSF_SIEVE_SAMPLES * (sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
         words_of(graph) * sizeof(uint32_t);
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

void msf_sieve_open(msf_sieve *sieve, const dzo_graph *graph, uint64_t flip,
                    const msf_filter *filter, void *staging) {
  uint32_t looks = msf_filter_looks(filter) / 2;
  uint32_t samples = looks < MSF_SIEVE_SAMPLES ? looks : MSF_SIEVE_SAMPLES;
  *sieve = (msf_sieve){.graph = graph, .flip = flip, .samples = graph->arcs > 0 ? samples : 0};
  sieve->bounds = staging;
  sieve->vertices = (uint32_t *)(void *)(sieve->bounds + 2 * MSF_SIEVE_SAMPLES);
  sieve->roots = sieve->vertices + 2 * MSF_SIEVE_SAMPLES;
  sieve->bits = sieve->roots + 2 * MSF_SIEVE_SAMPLES;
  for (uint32_t i = 0; i < sieve->samples; i++) {
    uint64_t arc = dzo_random_word(graph->arcs, i) % graph->arcs;
    sieve->vertices[2 * i] = row_of(graph, arc);
    sieve->vertices[2 * i + 1] = dzo_arc_neighbour(graph, arc);
    sieve->keys[i] = dzo_arc_key(graph, arc) ^ flip;
  }
}

void msf_sieve_close(msf_sieve *sieve) {
  for (int i = 0; i < sieve->published; i++)
    dzo_free(sieve->views[i].bits);
  sieve->published = 0;
}

dzo_status msf_sieve_ask(msf_sieve *sieve, msf_filter *filter) {
  DZO_TRY(msf_filter_bounds(filter));
  return msf_filter_look(filter, 2 * sieve->samples, sieve->vertices, sieve->bounds, sieve->roots);
}

/* Majority vote (Boyer, Moore 1981). */
static uint32_t common_root(uint32_t samples, const uint32_t *roots) {
  uint32_t candidate = 0;
  int lead = 0;
  for (uint32_t i = 0; i < 2 * samples; i++) {
    if (lead == 0)
      candidate = roots[i];
    lead += roots[i] == candidate ? 1 : -1;
  }
  return candidate;
}

uint32_t msf_sieve_best(uint32_t samples, const uint64_t *keys, const uint64_t *bounds,
                        const uint32_t *roots, uint32_t *root, uint64_t *bound) {
  uint32_t best = 0, below = 0, giant = common_root(samples, roots);
  uint64_t needed[MSF_SIEVE_SAMPLES], late[MSF_SIEVE_SAMPLES];
  for (uint32_t i = 0; i < samples; i++) {
    if (roots[2 * i] != giant || roots[2 * i + 1] != giant)
      continue;
    needed[below] = bounds[2 * i] > bounds[2 * i + 1] ? bounds[2 * i] : bounds[2 * i + 1];
    late[below++] = keys[i];
  }
  *root = giant;
  *bound = 0;
  for (uint32_t c = 0; c < below; c++) {
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < below; i++)
      dropped += needed[i] <= needed[c] && late[i] >= needed[c];
    if (dropped > best) {
      best = dropped;
      *bound = needed[c];
    }
  }
  return best;
}

dzo_status msf_sieve_choose(msf_sieve *sieve, msf_filter *filter, bool *worth) {
  uint32_t root, *bits;
  uint32_t dropped = msf_sieve_best(sieve->samples, sieve->keys, sieve->bounds, sieve->roots, &root,
                                    &sieve->wanted_bound);
  *worth = sieve->published < MSF_SIEVE_VIEWS && dropped >= sieve->samples / 4 && dropped > 0;
  if (!*worth)
    return DZO_OK;
  DZO_TRY(msf_filter_bits(filter, root, sieve->wanted_bound, &bits));
  return dzo_unit_copy(filter->unit, 0, sieve->bits, bits,
                       (filter->vertices + 31) / 32 * sizeof *bits);
}

dzo_status msf_sieve_publish(msf_sieve *sieve, dzo_context *context) {
  msf_sieve_view *view = &sieve->views[sieve->published];
  view->bits = dzo_alloc(context, words_of(sieve->graph), sizeof *view->bits);
  if (view->bits == NULL)
    return DZO_E_MEMORY;
  memcpy(view->bits, sieve->bits, words_of(sieve->graph) * sizeof *view->bits);
  view->bound = sieve->wanted_bound;
  sieve->published++;
  __atomic_store_n(&sieve->view, view, __ATOMIC_RELEASE);
  return DZO_OK;
}
