/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/sample.h"

#include <stdlib.h>

#include "base/memory.h"
#include "graph/compress.h"

/* Measured on R-MAT, SSCA2 and uniform graphs of degree 32: see docs/spanning-forest.md. */
static const double LIGHT_EDGES_PER_VERTEX = 1.5;
/* Where the light edges would be this part of all, take all at once. */
static const double MOST = 0.5;
enum { SPARE = 1 << 14 };
/* Of a graph with fewer edges, a sample would cost more than it saves. */
enum { SMALL = 1 << 15 };
/* Arcs sampled at one place: finding the row of an arc is most of a sample's price. */
enum { RUN = 4 };

__extension__ typedef unsigned __int128 wide;

typedef struct sampled {
  uint64_t key;    /* flipped */
  uint32_t vertex; /* smaller endpoint */
} sampled;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static uint32_t row_of(const dzo_graph *g, uint64_t arc) {
  uint64_t low = 0, high = g->vertices;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (g->offsets[middle] <= arc)
      low = middle;
    else
      high = middle;
  }
  return (uint32_t)low;
}

static int compare(const void *a, const void *b) {
  const sampled *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/* Sample arcs, sorted by the order; only those that join two components if `crossing`. */
static unsigned take_sample(const msf_solver *s, bool crossing, sampled *out) {
  const dzo_graph *g = s->graph;
  unsigned count = 0;
  if (g->arcs == 0)
    return 0;
  uint32_t u = 0;
  for (uint64_t i = 0; i < DZO_MSF_SAMPLES; i++) {
    uint64_t arc = ((uint64_t)((wide)mix(i / RUN) * g->arcs >> 64) + i % RUN) % g->arcs;
    if (i % RUN == 0 || arc < g->offsets[u])
      u = row_of(g, arc);
    while (g->offsets[u + 1] <= arc)
      u++;
    uint32_t v = dzo_arc_neighbour(g, arc);
    if (crossing && s->label[u] == s->label[v])
      continue;
    out[count++] = (sampled){(dzo_arc_key(g, arc) ^ s->flip) & s->key_mask, u < v ? u : v};
  }
  qsort(out, count, sizeof *out, compare);
  return count;
}

/* The prefix that ends with the sample at `part` of `count`. */
static void prefix_at(const sampled *samples, unsigned count, double part, msf_prefix *out) {
  unsigned index = (unsigned)(part * count);
  if (index >= count)
    index = count - 1;
  *out = (msf_prefix){samples[index].key, samples[index].vertex, false};
}

/* Grows with the slack whatever was expected, so that some slack is enough. */
static uint64_t with_spare(double expected, double slack, uint64_t edges) {
  double capacity = (expected + SPARE) * slack;
  uint64_t most = edges < DZO_MSF_LIST_MAX ? edges : DZO_MSF_LIST_MAX;
  return capacity < (double)most ? (uint64_t)capacity : most;
}

dzo_status msf_choose_prefix(msf_solver *s, msf_prefix *out, uint64_t *capacity) {
  uint64_t edges = s->graph->arcs / 2;
  double wanted = LIGHT_EDGES_PER_VERTEX * (double)s->n;
  if (wanted > DZO_MSF_LIST_MAX / 2)
    wanted = DZO_MSF_LIST_MAX / 2;
  *out = (msf_prefix){.key = UINT64_MAX, .all = true};
  *capacity = 0;
  if (wanted >= MOST * (double)edges || edges < SMALL)
    return DZO_OK;
  sampled *samples = dzo_alloc(s->context, DZO_MSF_SAMPLES, sizeof *samples);
  if (samples == NULL)
    return DZO_E_MEMORY;
  unsigned count = take_sample(s, false, samples);
  prefix_at(samples, count, wanted / (double)edges, out);
  *capacity = with_spare(wanted, 1.3, edges);
  dzo_free(samples);
  return DZO_OK;
}

dzo_status msf_choose_crossing(msf_solver *s, uint64_t target, double slack, msf_prefix *out,
                               uint64_t *capacity) {
  uint64_t edges = s->graph->arcs / 2;
  *out = (msf_prefix){.key = UINT64_MAX, .all = true};
  *capacity = with_spare((double)edges, slack, edges);
  if (edges < SMALL)
    return DZO_OK;
  sampled *samples = dzo_alloc(s->context, DZO_MSF_SAMPLES, sizeof *samples);
  if (samples == NULL)
    return DZO_E_MEMORY;
  unsigned count = take_sample(s, true, samples);
  double expected = (double)edges * count / DZO_MSF_SAMPLES;
  if (expected > (double)target) {
    prefix_at(samples, count, (double)target / expected, out);
    expected = (double)target;
  }
  *capacity = with_spare(expected, slack, edges);
  dzo_free(samples);
  return DZO_OK;
}
