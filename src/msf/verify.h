/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the two halves of the verifier share: verify_claim.c reads the claim, verify.c judges it. */
#ifndef DZO_MSF_VERIFY_H
#define DZO_MSF_VERIFY_H

#include "base/context.h"
#include "base/parallel.h"
#include "dzo/msf.h"
#include "graph/weight_map.h"

/* Inside the verifier: the claim is wrong, and the message says why. */
#define MSF_REFUTED DZO_E_FORMAT
#define MSF_NO_LINK UINT32_MAX
#define MSF_NOWHERE UINT64_MAX

enum {
  MSF_POLL = 1 << 22, /* items between two looks at progress and cancellation */
  MSF_TEXT = 160
};

/* A claimed edge and its key: the pattern of its weight, complemented for a maximum forest. */
typedef struct msf_claimed {
  uint64_t key;
  uint32_t u, v;
} msf_claimed;

/* A vertex of the union-find forest. */
typedef struct msf_set_node {
  uint32_t link; /* place of the claimed edge that joined it to its parent; a root: MSF_NO_LINK */
  uint32_t up;   /* its parent; a root: the vertices of its tree */
} msf_set_node;

typedef struct msf_checker {
  dzo_context *context;
  const dzo_edges *edges;
  const dzo_msf_claim *claim;
  uint64_t flip;        /* all ones for a maximum forest */
  uint64_t first, span; /* patterns outside first .. first + span are those of NaN */
  uint64_t culprit;     /* smallest index at fault in the running pass; MSF_NOWHERE: none yet */
  msf_claimed *forest;  /* [claim->count] */
  msf_claimed *spare;   /* [claim->count], for sorting */
  msf_set_node *nodes;  /* [vertices] */
  uint32_t largest;     /* root of the largest tree */
  uint16_t *reach; /* [vertices + 1] in units of 2^shift above base, rounded up; and FAR_AWAY */
  uint64_t base;   /* key of the lightest forest edge */
  unsigned shift;
  struct pair_slot *slots; /* [slot_mask + 1] of a claim of pairs */
  uint64_t slot_mask;
} msf_checker;

DZO_ITEM bool msf_edge_is_malformed(const msf_checker *c, uint32_t u, uint32_t v,
                                    uint64_t pattern) {
  return u >= c->edges->vertices || v >= c->edges->vertices || pattern - c->first > c->span;
}

DZO_ITEM bool msf_edge_at_is_malformed(const msf_checker *c, uint64_t at) {
  const dzo_edges *e = c->edges;
  return msf_edge_is_malformed(c, e->u[at], e->v[at],
                               dzo_weight_pattern(e->weight_type, e->weights, at));
}

DZO_ITEM uint64_t msf_label_of(const dzo_edges *edges, uint32_t v) {
  return edges->labels != NULL ? edges->labels[v] : v + edges->first_label;
}

DZO_ITEM uint64_t msf_number_of(const dzo_edges *edges, uint64_t at) {
  return edges->numbers != NULL ? edges->numbers[at] : edges->first_number + at;
}

/* Run `fn` on all items until one is found at fault. The culprit is the smallest such index: ranges
 * before it are always finished. */
dzo_status msf_run_pass(msf_checker *c, const char *phase, uint64_t count, dzo_range_fn fn);

/* "edge 17 (3-9, weight 2.5)" */
void msf_print_edge(const msf_checker *c, uint64_t at, char text[MSF_TEXT]);
/* Say what is wrong with a malformed edge. */
dzo_status msf_fail_malformed(const msf_checker *c, uint64_t at);

/* The caller's mistakes: DZO_E_ARGUMENT. Reads what was given into *claim. */
dzo_status msf_check_arguments(dzo_context *context, const dzo_edges *edges,
                               const dzo_msf_claim *given, dzo_msf_claim *claim);
/* Fill c->forest with the claimed edges, in the order of the claim. */
dzo_status msf_collect_claim(msf_checker *c);
/* The claimed edge closes a cycle in the claim: find out where it was named and tell. */
dzo_status msf_refute_cycle(const msf_checker *c, msf_claimed closing);

#endif
