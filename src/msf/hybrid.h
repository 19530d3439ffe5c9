/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Both processors on one forest: the CPU's threads drop what the GPU need not see. */
#ifndef DZO_MSF_HYBRID_H
#define DZO_MSF_HYBRID_H

#include "base/context.h"
#include "base/item.h"
#include "graph/csr.h"
#include "msf/gpu_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the forest so far tells the CPU: its edges of keys up to `bound` (flipped for a maximum)
 * join all vertices whose bits are set, so an edge between two of them that comes later is ruled
 * out. A bit a vertex stays in the caches, where the GPU's hierarchy would not. */
typedef struct msf_sieve_view {
  uint64_t bound;
  uint32_t *bits; /* [vertices / 32 + 1] */
} msf_sieve_view;

enum { MSF_SIEVE_VIEWS = 8, MSF_SIEVE_SAMPLES = 512 };

/* The driver asks the GPU after each merge, and publishes what comes back; packing threads use the
 * newest view. Older ones stay, since they may be in use. */
typedef struct msf_sieve {
  msf_sieve_view *view; /* accessed atomically: the newest, or NULL */
  msf_sieve_view views[MSF_SIEVE_VIEWS];
  int published;
  const dzo_graph *graph;
  uint64_t flip;
  uint32_t samples;
  uint64_t keys[MSF_SIEVE_SAMPLES]; /* flipped */
  uint32_t *vertices;               /* staging, [2 * samples]: the ends of each sample */
  uint32_t *roots;                  /* staging, [2 * samples] */
  uint64_t *bounds;                 /* staging, [2 * samples] */
  uint32_t *bits;                   /* staging, [vertices / 32 + 1] */
  uint64_t wanted_bound;
} msf_sieve;

/* Staging memory for a graph. */
uint64_t msf_sieve_bytes(const dzo_graph *graph);
void msf_sieve_open(msf_sieve *sieve, const dzo_graph *graph, uint64_t flip,
                    const msf_filter *filter, void *staging);
void msf_sieve_close(msf_sieve *sieve);

/* Three steps after a merge, each when the work of the one before is done on queue 0. Ask for the
 * samples' bounds; choose by them, and ask for the bits (false: it is not worth it); publish. */
dzo_status msf_sieve_ask(msf_sieve *sieve, msf_filter *filter);
dzo_status msf_sieve_choose(msf_sieve *sieve, msf_filter *filter, bool *worth);
dzo_status msf_sieve_publish(msf_sieve *sieve, dzo_context *context);

/* The pure part: of `samples` edges with these keys and ends, the root and the bound that rule out
 * most of them, and how many. */
uint32_t msf_sieve_best(uint32_t samples, const uint64_t *keys, const uint64_t *bounds,
                        const uint32_t *roots, uint32_t *root, uint64_t *bound);

static inline bool msf_sieve_has(const msf_sieve_view *view, uint32_t v) {
  return view->bits[v / 32] >> v % 32 & 1;
}

#ifdef __cplusplus
}
#endif
#endif
