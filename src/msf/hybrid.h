/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Both processors on one forest: the CPU's threads drop what the GPU need not see. */
#ifndef DZO_MSF_HYBRID_H
#define DZO_MSF_HYBRID_H

#include "base/context.h"
#include "base/item.h"
#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the forest so far tells the CPU: the edges of keys up to `bound` (flipped for a maximum)
 * join all vertices whose bits are set, so an edge between two of them that comes later is ruled
 * out. A bit a vertex stays in the caches, where the GPU's hierarchy would not. */
typedef struct msf_sieve_view {
  uint64_t bound;
  uint32_t *bits; /* [vertices / 32] */
} msf_sieve_view;

typedef struct msf_sieve {
  msf_sieve_view *view; /* accessed atomically: the newest, or NULL */
} msf_sieve;

DZO_ITEM bool msf_sieve_has(const msf_sieve_view *view, uint32_t v) {
  return view->bits[v / 32] >> v % 32 & 1;
}

#ifdef __cplusplus
}
#endif
#endif
