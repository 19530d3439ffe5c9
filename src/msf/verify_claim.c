/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Claimed forests: finding the edges that are named by number or by endpoints. */
#include <inttypes.h>

#include "base/memory.h"
#include "base/options.h"
#include "msf/verify.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

dzo_status msf_check_arguments(dzo_context *context, const dzo_edges *edges,
                               const dzo_msf_claim *given, dzo_msf_claim *claim) {
  if (edges == NULL || given == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "edges and claim must not be NULL");
  dzo_msf_claim_init(claim);
  if (!dzo_options_read(claim, sizeof *claim, given))
    return dzo_fail(context, DZO_E_ARGUMENT, "the claim was not set up by dzo_msf_claim_init()");
  if (edges->vertices > UINT32_MAX)
    return dzo_fail(context, DZO_E_ARGUMENT, "%" PRIu64 " vertices are more than 2^32 - 1",
                    edges->vertices);
  if ((unsigned)edges->weight_type > DZO_WEIGHT_F64)
    return dzo_fail(context, DZO_E_ARGUMENT, "%d is no weight type", (int)edges->weight_type);
  if (edges->count > 0 && (edges->u == NULL || edges->v == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "the edges have no endpoints");
  if (edges->count > 0 && edges->weight_type != DZO_WEIGHT_NONE && edges->weights == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "the edges have no weights");
  if (claim->count > 0 && claim->numbers == NULL && (claim->u == NULL || claim->v == NULL))
    return dzo_fail(context, DZO_E_ARGUMENT, "the claim has neither edge numbers nor endpoints");
  return DZO_OK;
}

static void check_ascent(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  msf_checker *c = argument;
  const uint64_t *numbers = c->edges->numbers;
  for (uint64_t i = begin > 0 ? begin : 1; i < end; i++) {
    if (numbers[i - 1] >= numbers[i]) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
  }
}

static dzo_status check_numbers(msf_checker *c) {
  const dzo_edges *e = c->edges;
  if (e->numbers == NULL)
    return DZO_OK;
  DZO_TRY(msf_run_pass(c, "prepare", e->count, check_ascent));
  if (c->culprit != MSF_NOWHERE)
    return dzo_fail(c->context, DZO_E_ARGUMENT,
                    "edge numbers must ascend, but %" PRIu64 " follows %" PRIu64,
                    e->numbers[c->culprit], e->numbers[c->culprit - 1]);
  return DZO_OK;
}

/* ---- A claim of edge numbers ----------------------------------------------------------------- */

/* Where the edge with this number stands, MSF_NOWHERE if there is none. `hint`, the place of an
 * edge asked for before, makes ascending questions quick. */
static uint64_t position_of(const dzo_edges *edges, uint64_t number, uint64_t hint) {
  const uint64_t *numbers = edges->numbers;
  if (numbers == NULL)
    return number - edges->first_number < edges->count ? number - edges->first_number : MSF_NOWHERE;
  uint64_t low = 0, high = edges->count;
  if (hint < edges->count && numbers[hint] <= number) {
    uint64_t step = 1;
    for (low = hint; edges->count - low > step && numbers[low + step] <= number; step *= 2)
      low += step;
    high = edges->count - low > step ? low + step : edges->count;
  }
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (numbers[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  return low < edges->count && numbers[low] == number ? low : MSF_NOWHERE;
}

static void look_up_numbers(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  msf_checker *c = argument;
  const dzo_edges *e = c->edges;
  uint64_t at = 0;
  for (uint64_t i = begin; i < end; i++) {
    at = position_of(e, c->claim->numbers[i], at);
    if (at == MSF_NOWHERE || msf_edge_at_is_malformed(c, at)) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
    uint64_t pattern = dzo_weight_pattern(e->weight_type, e->weights, at);
    c->forest[i] = (msf_claimed){pattern ^ c->flip, e->u[at], e->v[at]};
  }
}

static dzo_status collect_by_number(msf_checker *c) {
  DZO_TRY(msf_run_pass(c, "prepare", c->claim->count, look_up_numbers));
  if (c->culprit == MSF_NOWHERE)
    return DZO_OK;
  uint64_t number = c->claim->numbers[c->culprit];
  uint64_t at = position_of(c->edges, number, 0);
  if (at != MSF_NOWHERE)
    return msf_fail_malformed(c, at);
  return dzo_fail(c->context, MSF_REFUTED,
                  "edge %" PRIu64 " (entry %" PRIu64 " of the claim) is not in the graph", number,
                  c->culprit);
}

/* ---- A claim of endpoint pairs --------------------------------------------------------------- */

/* A claimed pair and the lightest edge seen that joins it. */
typedef struct pair_slot {
  uint64_t ends; /* smaller endpoint * 2^32 + larger; MSF_NOWHERE: a free slot */
  uint64_t key;
  uint32_t found;
} pair_slot;

DZO_ITEM uint64_t ends_of(uint32_t u, uint32_t v) {
  return u < v ? (uint64_t)u << 32 | v : (uint64_t)v << 32 | u;
}

/* The slot that holds these ends, or the free one where they belong. */
DZO_ITEM pair_slot *slot_of(const msf_checker *c, uint64_t ends) {
  uint64_t at = (ends ^ ends >> 29) * UINT64_C(0x9e3779b97f4a7c15);
  for (at = (at ^ at >> 32) & c->slot_mask;; at = (at + 1) & c->slot_mask)
    if (c->slots[at].ends == ends || c->slots[at].ends == MSF_NOWHERE)
      return &c->slots[at];
}

static dzo_status fill_slots(msf_checker *c) {
  const dzo_msf_claim *claim = c->claim;
  uint64_t vertices = c->edges->vertices;
  for (uint64_t i = 0; i < claim->count; i++) {
    uint32_t u = claim->u[i], v = claim->v[i];
    if (i % MSF_POLL == 0)
      DZO_TRY(dzo_progress(c->context, "prepare", i, claim->count));
    if (u >= vertices || v >= vertices)
      return dzo_fail(c->context, MSF_REFUTED,
                      "entry %" PRIu64 " of the claim names vertex %" PRIu32
                      ", but there are %" PRIu64 " vertices",
                      i, u > v ? u : v, vertices);
    pair_slot *slot = slot_of(c, ends_of(u, v));
    if (slot->ends != MSF_NOWHERE)
      return dzo_fail(c->context, MSF_REFUTED, "the pair %" PRIu64 "-%" PRIu64 " is named twice",
                      msf_label_of(c->edges, u), msf_label_of(c->edges, v));
    *slot = (pair_slot){ends_of(u, v), UINT64_MAX, 0};
  }
  return DZO_OK;
}

static void offer_edges(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  msf_checker *c = argument;
  const dzo_edges *e = c->edges;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t pattern = dzo_weight_pattern(e->weight_type, e->weights, i);
    if (msf_edge_is_malformed(c, e->u[i], e->v[i], pattern)) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
    pair_slot *slot = slot_of(c, ends_of(e->u[i], e->v[i]));
    if (slot->ends == MSF_NOWHERE)
      continue;
    dzo_min_u64(&slot->key, pattern ^ c->flip);
    dzo_store_u32(&slot->found, 1);
  }
}

static dzo_status collect_by_pair(msf_checker *c) {
  const dzo_msf_claim *claim = c->claim;
  c->slot_mask = 1;
  while (c->slot_mask < 2 * claim->count)
    c->slot_mask = 2 * c->slot_mask + 1;
  c->slots = dzo_alloc(c->context, c->slot_mask + 1, sizeof *c->slots);
  if (c->slots == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i <= c->slot_mask; i++)
    c->slots[i].ends = MSF_NOWHERE;
  DZO_TRY(fill_slots(c));
  DZO_TRY(msf_run_pass(c, "prepare", c->edges->count, offer_edges));
  if (c->culprit != MSF_NOWHERE)
    return msf_fail_malformed(c, c->culprit);
  for (uint64_t i = 0; i < claim->count; i++) {
    const pair_slot *slot = slot_of(c, ends_of(claim->u[i], claim->v[i]));
    if (!slot->found)
      return dzo_fail(c->context, MSF_REFUTED,
                      "no edge of the graph joins the pair %" PRIu64 "-%" PRIu64 " (entry %" PRIu64
                      " of the claim)",
                      msf_label_of(c->edges, claim->u[i]), msf_label_of(c->edges, claim->v[i]), i);
    c->forest[i] = (msf_claimed){slot->key, claim->u[i], claim->v[i]};
  }
  dzo_free(c->slots);
  c->slots = NULL;
  return DZO_OK;
}

/* ---- Either claim ---------------------------------------------------------------------------- */

dzo_status msf_collect_claim(msf_checker *c) {
  DZO_TRY(check_numbers(c));
  return c->claim->numbers != NULL ? collect_by_number(c) : collect_by_pair(c);
}

dzo_status msf_refute_cycle(const msf_checker *c, msf_claimed closing) {
  const dzo_edges *e = c->edges;
  const dzo_msf_claim *claim = c->claim;
  if (claim->numbers == NULL)
    return dzo_fail(c->context, MSF_REFUTED,
                    closing.u == closing.v ? "the pair %" PRIu64 "-%" PRIu64 " is a loop"
                                           : "the pair %" PRIu64 "-%" PRIu64
                                             " closes a cycle in the claim",
                    msf_label_of(e, closing.u), msf_label_of(e, closing.v));
  uint64_t found = MSF_NOWHERE;
  bool twice = false;
  for (uint64_t i = 0, at = 0; i < claim->count && !twice; i++) {
    at = position_of(e, claim->numbers[i], at);
    uint64_t key = dzo_weight_pattern(e->weight_type, e->weights, at) ^ c->flip;
    if (key != closing.key || ends_of(e->u[at], e->v[at]) != ends_of(closing.u, closing.v))
      continue;
    twice = found == at;
    found = at;
  }
  char edge[MSF_TEXT];
  msf_print_edge(c, found, edge);
  return dzo_fail(c->context, MSF_REFUTED, "%s %s", edge,
                  closing.u == closing.v ? "is a loop"
                  : twice                ? "is named twice"
                                         : "closes a cycle in the claim");
}
