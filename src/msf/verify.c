/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Verification of spanning forests by the cycle property, in the manner of J. Komlos, "Linear
 * verification for spanning trees", Combinatorica 5 (1985), and V. King, "A simpler minimum
 * spanning tree verification algorithm", Algorithmica 18 (1997), with a simpler tree.
 *
 * The claimed edges are linked in ascending order into a union-find forest, by size and without
 * path compression: a cycle shows itself there, and the tree is at most log2(n) deep. The heaviest
 * edge between u and v in the claim is the last link on the way from u to v in that shallow tree
 * (R. E. Tarjan, "Applications of path compression on balanced trees", J. ACM 26 (1979)).
 *
 * Most edges of most graphs need no climb: `reach` bounds from above, in 16 bits, the heaviest edge
 * between a vertex and the root of the largest tree, and an edge that is no lighter than the bounds
 * of both its ends is settled. A maximum forest is the minimum forest of complemented keys. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "dzo/msf.h"
#include "graph/weight_map.h"

enum {
  DIGIT_BITS = 11,
  DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS,
  BUCKETS = 1 << DIGIT_BITS,
  FAR_AWAY = UINT16_MAX, /* the reach of a vertex outside the largest tree */
  GRAIN = 1 << 15,
  POLL = 1 << 22, /* items between two looks at progress and cancellation */
  AHEAD = 16,     /* links from now that are prefetched */
  TEXT = 160
};
/* Inside this file: the claim is wrong, and the message says why. */
#define REFUTED DZO_E_FORMAT
#define NO_LINK UINT32_MAX
#define NOWHERE UINT64_MAX

/* A claimed edge and its key: the pattern of its weight, complemented for a maximum forest. */
typedef struct forest_edge {
  uint64_t key;
  uint32_t u, v;
} forest_edge;

/* A vertex of the union-find forest. */
typedef struct node {
  uint32_t link; /* index of the forest edge that linked it to its parent; NO_LINK for a root */
  uint32_t up;   /* its parent; for a root the vertices of its tree */
} node;

/* A claimed pair and the lightest edge seen that joins it. */
typedef struct pair_slot {
  uint64_t ends; /* smaller endpoint * 2^32 + larger; NOWHERE: a free slot */
  uint64_t key;
  uint32_t found;
} pair_slot;

typedef struct checker {
  dzo_context *context;
  const dzo_edges *edges;
  const dzo_msf_claim *claim;
  uint64_t flip;        /* all ones for a maximum forest */
  uint64_t first, span; /* patterns outside first .. first + span are those of NaN */
  uint64_t culprit;     /* smallest index at fault in the running pass; NOWHERE: none yet */
  forest_edge *forest;  /* [claim->count] */
  forest_edge *spare;   /* [claim->count], for sorting */
  node *nodes;          /* [vertices] */
  uint32_t largest;     /* root of the largest tree */
  uint16_t *reach;      /* [vertices] in units of 2^shift above base, rounded up */
  uint64_t base;        /* key of the lightest forest edge */
  unsigned shift;
  pair_slot *slots; /* [slot_mask + 1] */
  uint64_t slot_mask;
} checker;

void dzo_msf_claim_init(dzo_msf_claim *claim) { *claim = (dzo_msf_claim){.size = sizeof *claim}; }

/* ---- Words for messages ---------------------------------------------------------------------- */

static uint64_t label_of(const dzo_edges *edges, uint32_t v) {
  return edges->labels != NULL ? edges->labels[v] : v + edges->first_label;
}

static uint64_t number_of(const dzo_edges *edges, uint64_t at) {
  return edges->numbers != NULL ? edges->numbers[at] : edges->first_number + at;
}

static void print_weight(const checker *c, uint64_t key, char text[TEXT]) {
  dzo_weight_type type = c->edges->weight_type;
  dzo_weight w = dzo_weight_of_pattern(type, key ^ c->flip);
  if (type == DZO_WEIGHT_I64)
    snprintf(text, TEXT, "%" PRId64, w.i64);
  else if (type == DZO_WEIGHT_F32)
    snprintf(text, TEXT, "%.9g", w.f64);
  else if (type == DZO_WEIGHT_F64)
    snprintf(text, TEXT, "%.17g", w.f64);
  else
    snprintf(text, TEXT, "%" PRIu64, w.u64);
}

/* "edge 17 (3-9, weight 2.5)" */
static void print_edge(const checker *c, uint64_t at, char text[TEXT]) {
  const dzo_edges *e = c->edges;
  char weight[TEXT];
  print_weight(c, dzo_weight_pattern(e->weight_type, e->weights, at) ^ c->flip, weight);
  snprintf(text, TEXT, "edge %" PRIu64 " (%" PRIu64 "-%" PRIu64 ", weight %.40s)", number_of(e, at),
           label_of(e, e->u[at]), label_of(e, e->v[at]), weight);
}

/* ---- Passes over many items ------------------------------------------------------------------ */

typedef struct slab {
  checker *c;
  dzo_range_fn fn;
  uint64_t begin;
} slab;

static void run_slab_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  const slab *s = argument;
  if (s->begin + begin < dzo_load_u64(&s->c->culprit))
    s->fn(s->c, s->begin + begin, s->begin + end, thread);
}

/* Run `fn` on all items until one is found at fault. The culprit is the smallest such index: ranges
 * before it are always finished. */
static dzo_status run_pass(checker *c, const char *phase, uint64_t count, dzo_range_fn fn) {
  c->culprit = NOWHERE;
  for (uint64_t begin = 0; begin < count && c->culprit == NOWHERE; begin += POLL) {
    DZO_TRY(dzo_progress(c->context, phase, begin, count));
    uint64_t left = count - begin;
    slab s = {c, fn, begin};
    dzo_parallel_for(c->context->threads, left < POLL ? left : POLL, GRAIN, run_slab_range, &s);
  }
  return dzo_progress(c->context, phase, count, count);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

DZO_ITEM bool edge_is_malformed(const checker *c, uint32_t u, uint32_t v, uint64_t pattern) {
  return u >= c->edges->vertices || v >= c->edges->vertices || pattern - c->first > c->span;
}

static dzo_status fail_malformed(const checker *c, uint64_t at) {
  const dzo_edges *e = c->edges;
  uint32_t far = e->u[at] > e->v[at] ? e->u[at] : e->v[at];
  if (far >= e->vertices)
    return dzo_fail(c->context, DZO_E_ARGUMENT,
                    "edge %" PRIu64 " ends at vertex %" PRIu32 ", but there are %" PRIu64
                    " vertices",
                    number_of(e, at), far, e->vertices);
  return dzo_fail(c->context, DZO_E_ARGUMENT,
                  "edge %" PRIu64 " (%" PRIu64 "-%" PRIu64 ") has a weight that is not a number",
                  number_of(e, at), label_of(e, e->u[at]), label_of(e, e->v[at]));
}

static bool edge_at_is_malformed(const checker *c, uint64_t at) {
  const dzo_edges *e = c->edges;
  return edge_is_malformed(c, e->u[at], e->v[at],
                           dzo_weight_pattern(e->weight_type, e->weights, at));
}

static void check_ascent(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  checker *c = argument;
  const uint64_t *numbers = c->edges->numbers;
  for (uint64_t i = begin > 0 ? begin : 1; i < end; i++) {
    if (numbers[i - 1] >= numbers[i]) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
  }
}

static dzo_status check_numbers(checker *c) {
  const dzo_edges *e = c->edges;
  if (e->numbers == NULL)
    return DZO_OK;
  DZO_TRY(run_pass(c, "prepare", e->count, check_ascent));
  if (c->culprit != NOWHERE)
    return dzo_fail(c->context, DZO_E_ARGUMENT,
                    "edge numbers must ascend, but %" PRIu64 " follows %" PRIu64,
                    e->numbers[c->culprit], e->numbers[c->culprit - 1]);
  return DZO_OK;
}

static dzo_status check_arguments(dzo_context *context, const dzo_edges *edges,
                                  const dzo_msf_claim *claim) {
  if (edges == NULL || claim == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "edges and claim must not be NULL");
  if (claim->size != sizeof *claim)
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

/* ---- A claim of edge numbers ----------------------------------------------------------------- */

/* Where the edge with this number stands, NOWHERE if there is none. `hint`, the place of an edge
 * asked for before, makes ascending questions quick. */
static uint64_t position_of(const dzo_edges *edges, uint64_t number, uint64_t hint) {
  const uint64_t *numbers = edges->numbers;
  if (numbers == NULL)
    return number - edges->first_number < edges->count ? number - edges->first_number : NOWHERE;
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
  return low < edges->count && numbers[low] == number ? low : NOWHERE;
}

static void look_up_numbers(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  checker *c = argument;
  const dzo_edges *e = c->edges;
  uint64_t at = 0;
  for (uint64_t i = begin; i < end; i++) {
    at = position_of(e, c->claim->numbers[i], at);
    if (at == NOWHERE || edge_at_is_malformed(c, at)) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
    uint64_t pattern = dzo_weight_pattern(e->weight_type, e->weights, at);
    c->forest[i] = (forest_edge){pattern ^ c->flip, e->u[at], e->v[at]};
  }
}

static dzo_status collect_by_number(checker *c) {
  DZO_TRY(run_pass(c, "prepare", c->claim->count, look_up_numbers));
  if (c->culprit == NOWHERE)
    return DZO_OK;
  uint64_t number = c->claim->numbers[c->culprit];
  uint64_t at = position_of(c->edges, number, 0);
  if (at != NOWHERE)
    return fail_malformed(c, at);
  return dzo_fail(c->context, REFUTED,
                  "edge %" PRIu64 " (entry %" PRIu64 " of the claim) is not in the graph", number,
                  c->culprit);
}

/* ---- A claim of endpoint pairs --------------------------------------------------------------- */

DZO_ITEM uint64_t ends_of(uint32_t u, uint32_t v) {
  return u < v ? (uint64_t)u << 32 | v : (uint64_t)v << 32 | u;
}

/* The slot that holds these ends, or the free one where they belong. */
DZO_ITEM pair_slot *slot_of(const checker *c, uint64_t ends) {
  uint64_t at = (ends ^ ends >> 29) * UINT64_C(0x9e3779b97f4a7c15);
  for (at = (at ^ at >> 32) & c->slot_mask;; at = (at + 1) & c->slot_mask)
    if (c->slots[at].ends == ends || c->slots[at].ends == NOWHERE)
      return &c->slots[at];
}

static dzo_status fill_slots(checker *c) {
  const dzo_msf_claim *claim = c->claim;
  uint64_t vertices = c->edges->vertices;
  for (uint64_t i = 0; i < claim->count; i++) {
    uint32_t u = claim->u[i], v = claim->v[i];
    if (i % POLL == 0)
      DZO_TRY(dzo_progress(c->context, "prepare", i, claim->count));
    if (u >= vertices || v >= vertices)
      return dzo_fail(c->context, REFUTED,
                      "entry %" PRIu64 " of the claim names vertex %" PRIu32
                      ", but there are %" PRIu64 " vertices",
                      i, u > v ? u : v, vertices);
    pair_slot *slot = slot_of(c, ends_of(u, v));
    if (slot->ends != NOWHERE)
      return dzo_fail(c->context, REFUTED, "the pair %" PRIu64 "-%" PRIu64 " is named twice",
                      label_of(c->edges, u), label_of(c->edges, v));
    *slot = (pair_slot){ends_of(u, v), UINT64_MAX, 0};
  }
  return DZO_OK;
}

static void offer_edges(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  checker *c = argument;
  const dzo_edges *e = c->edges;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t pattern = dzo_weight_pattern(e->weight_type, e->weights, i);
    if (edge_is_malformed(c, e->u[i], e->v[i], pattern)) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
    pair_slot *slot = slot_of(c, ends_of(e->u[i], e->v[i]));
    if (slot->ends == NOWHERE)
      continue;
    dzo_min_u64(&slot->key, pattern ^ c->flip);
    dzo_store_u32(&slot->found, 1);
  }
}

static dzo_status collect_by_pair(checker *c) {
  const dzo_msf_claim *claim = c->claim;
  c->slot_mask = 1;
  while (c->slot_mask < 2 * claim->count)
    c->slot_mask = 2 * c->slot_mask + 1;
  c->slots = dzo_alloc(c->context, c->slot_mask + 1, sizeof *c->slots);
  if (c->slots == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i <= c->slot_mask; i++)
    c->slots[i].ends = NOWHERE;
  DZO_TRY(fill_slots(c));
  DZO_TRY(run_pass(c, "prepare", c->edges->count, offer_edges));
  if (c->culprit != NOWHERE)
    return fail_malformed(c, c->culprit);
  for (uint64_t i = 0; i < claim->count; i++) {
    const pair_slot *slot = slot_of(c, ends_of(claim->u[i], claim->v[i]));
    if (!slot->found)
      return dzo_fail(c->context, REFUTED,
                      "no edge of the graph joins the pair %" PRIu64 "-%" PRIu64 " (entry %" PRIu64
                      " of the claim)",
                      label_of(c->edges, claim->u[i]), label_of(c->edges, claim->v[i]), i);
    c->forest[i] = (forest_edge){slot->key, claim->u[i], claim->v[i]};
  }
  dzo_free(c->slots);
  c->slots = NULL;
  return DZO_OK;
}

/* ---- The union-find forest ------------------------------------------------------------------- */

/* Sort the forest edges by key: radix sort from the lowest digit, without those in which all keys
 * agree. */
static dzo_status sort_forest(checker *c) {
  uint64_t count = c->claim->count;
  uint64_t(*counts)[BUCKETS] = dzo_calloc(c->context, DIGITS, sizeof *counts);
  if (counts == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < count; i++)
    for (unsigned d = 0; d < DIGITS; d++)
      counts[d][c->forest[i].key >> d * DIGIT_BITS & (BUCKETS - 1)]++;
  dzo_status status = DZO_OK;
  for (unsigned d = 0; d < DIGITS && status == DZO_OK; d++) {
    unsigned shift = d * DIGIT_BITS;
    if (count == 0 || counts[d][c->forest[0].key >> shift & (BUCKETS - 1)] == count)
      continue;
    uint64_t sum = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
      uint64_t begin = sum;
      sum += counts[d][b];
      counts[d][b] = begin;
    }
    for (uint64_t i = 0; i < count; i++)
      c->spare[counts[d][c->forest[i].key >> shift & (BUCKETS - 1)]++] = c->forest[i];
    forest_edge *sorted = c->spare;
    c->spare = c->forest;
    c->forest = sorted;
    status = dzo_progress(c->context, "prepare", d, DIGITS);
  }
  dzo_free(counts);
  return status;
}

DZO_ITEM uint32_t root_of(const node *nodes, uint32_t v) {
  while (nodes[v].link != NO_LINK)
    v = nodes[v].up;
  return v;
}

/* The forest edge closes a cycle in the claim: find out where it was named and tell. */
static dzo_status refute_cycle(const checker *c, forest_edge closing) {
  const dzo_edges *e = c->edges;
  const dzo_msf_claim *claim = c->claim;
  if (claim->numbers == NULL)
    return dzo_fail(c->context, REFUTED,
                    closing.u == closing.v ? "the pair %" PRIu64 "-%" PRIu64 " is a loop"
                                           : "the pair %" PRIu64 "-%" PRIu64
                                             " closes a cycle in the claim",
                    label_of(e, closing.u), label_of(e, closing.v));
  uint64_t found = NOWHERE;
  bool twice = false;
  for (uint64_t i = 0, at = 0; i < claim->count && !twice; i++) {
    at = position_of(e, claim->numbers[i], at);
    uint64_t key = dzo_weight_pattern(e->weight_type, e->weights, at) ^ c->flip;
    if (key != closing.key || ends_of(e->u[at], e->v[at]) != ends_of(closing.u, closing.v))
      continue;
    twice = found == at;
    found = at;
  }
  char edge[TEXT];
  print_edge(c, found, edge);
  return dzo_fail(c->context, REFUTED, "%s %s", edge,
                  closing.u == closing.v ? "is a loop"
                  : twice                ? "is named twice"
                                         : "closes a cycle in the claim");
}

/* Link the sorted forest edges. */
static dzo_status link_forest(checker *c) {
  uint64_t count = c->claim->count;
  node *nodes = c->nodes;
  for (uint64_t v = 0; v < c->edges->vertices; v++)
    nodes[v] = (node){NO_LINK, 1};
  for (uint64_t i = 0; i < count; i++) {
    if (i % POLL == 0)
      DZO_TRY(dzo_progress(c->context, "prepare", i, count));
    if (i + AHEAD < count) {
      DZO_PREFETCH(&nodes[c->forest[i + AHEAD].u]);
      DZO_PREFETCH(&nodes[c->forest[i + AHEAD].v]);
    }
    uint32_t a = root_of(nodes, c->forest[i].u), b = root_of(nodes, c->forest[i].v);
    if (a == b)
      return refute_cycle(c, c->forest[i]);
    uint32_t small = nodes[a].up < nodes[b].up ? a : b, large = a ^ b ^ small;
    nodes[large].up += nodes[small].up;
    nodes[small] = (node){(uint32_t)i, large};
  }
  return DZO_OK;
}

static void find_reach(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  checker *c = argument;
  uint64_t rounding = (UINT64_C(1) << c->shift) - 1;
  for (uint64_t i = begin; i < end; i++) {
    uint32_t v = (uint32_t)i, last = NO_LINK;
    for (; c->nodes[v].link != NO_LINK; v = c->nodes[v].up)
      last = c->nodes[v].link;
    uint64_t above = last == NO_LINK ? 0 : c->forest[last].key - c->base;
    uint64_t units = (above >> c->shift) + ((above & rounding) != 0);
    c->reach[i] = v == c->largest ? (uint16_t)units : FAR_AWAY;
  }
}

static dzo_status measure_reach(checker *c) {
  uint64_t vertices = c->edges->vertices, count = c->claim->count;
  uint32_t most = 0;
  for (uint64_t v = 0; v < vertices; v++) {
    if (c->nodes[v].link == NO_LINK && c->nodes[v].up > most) {
      most = c->nodes[v].up;
      c->largest = (uint32_t)v;
    }
  }
  c->base = count > 0 ? c->forest[0].key : 0;
  uint64_t widest = count > 0 ? c->forest[count - 1].key - c->base : 0;
  while (widest >> c->shift >= FAR_AWAY - 1)
    c->shift++;
  return run_pass(c, "prepare", vertices, find_reach);
}

/* ---- The cycle property ---------------------------------------------------------------------- */

/* Index of the heaviest forest edge between u and v, NO_LINK if they are in different trees. */
DZO_ITEM uint32_t heaviest_between(const node *nodes, uint32_t u, uint32_t v) {
  uint32_t last = NO_LINK;
  while (u != v) {
    node a = nodes[u], b = nodes[v];
    if (a.link < b.link)
      u = a.up;
    else if (b.link != NO_LINK)
      v = b.up;
    else
      return NO_LINK;
    last = a.link < b.link ? a.link : b.link;
  }
  return last;
}

DZO_ITEM void examine_as(checker *c, dzo_weight_type type, uint64_t begin, uint64_t end) {
  const checker k = *c;
  const dzo_edges e = *k.edges;
  for (uint64_t i = begin; i < end; i++) {
    uint32_t u = e.u[i], v = e.v[i];
    uint64_t pattern = dzo_weight_pattern(type, e.weights, i);
    if (DZO_UNLIKELY(u >= e.vertices || v >= e.vertices || pattern - k.first > k.span)) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
    uint64_t key = pattern ^ k.flip, units = (key - k.base) >> k.shift;
    if (units >= FAR_AWAY)
      units = FAR_AWAY - 1;
    if (DZO_LIKELY(key >= k.base && k.reach[u] <= units && k.reach[v] <= units) || u == v)
      continue;
    uint32_t heaviest = heaviest_between(k.nodes, u, v);
    if (heaviest == NO_LINK || k.forest[heaviest].key > key) {
      dzo_min_u64(&c->culprit, i);
      return;
    }
  }
}

static void examine(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  checker *c = argument;
  switch (c->edges->weight_type) {
  case DZO_WEIGHT_NONE:
    examine_as(c, DZO_WEIGHT_NONE, begin, end);
    return;
  case DZO_WEIGHT_U32:
    examine_as(c, DZO_WEIGHT_U32, begin, end);
    return;
  case DZO_WEIGHT_I64:
    examine_as(c, DZO_WEIGHT_I64, begin, end);
    return;
  case DZO_WEIGHT_U64:
    examine_as(c, DZO_WEIGHT_U64, begin, end);
    return;
  case DZO_WEIGHT_F32:
    examine_as(c, DZO_WEIGHT_F32, begin, end);
    return;
  case DZO_WEIGHT_F64:
    examine_as(c, DZO_WEIGHT_F64, begin, end);
    return;
  }
}

static dzo_status check_cycle_property(checker *c) {
  const dzo_edges *e = c->edges;
  DZO_TRY(run_pass(c, "verify", e->count, examine));
  uint64_t at = c->culprit;
  if (at == NOWHERE)
    return DZO_OK;
  if (edge_at_is_malformed(c, at))
    return fail_malformed(c, at);
  char edge[TEXT], weight[TEXT];
  print_edge(c, at, edge);
  uint32_t heaviest = heaviest_between(c->nodes, e->u[at], e->v[at]);
  if (heaviest == NO_LINK)
    return dzo_fail(c->context, REFUTED,
                    "%s joins two trees of the claim, which does not span the graph", edge);
  const forest_edge *h = &c->forest[heaviest];
  print_weight(c, h->key, weight);
  return dzo_fail(
      c->context, REFUTED,
      "%s is %s edge (%" PRIu64 "-%" PRIu64 ", weight %s), on the claim's path between its ends",
      edge, c->claim->maximum ? "heavier than the lightest" : "lighter than the heaviest",
      label_of(e, h->u), label_of(e, h->v), weight);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static dzo_status check_claim(checker *c) {
  uint64_t vertices = c->edges->vertices, count = c->claim->count;
  if (count > 0 && count >= vertices)
    return dzo_fail(c->context, REFUTED,
                    "the claim names %" PRIu64 " edges, but a forest of %" PRIu64
                    " vertices has at most %" PRIu64,
                    count, vertices, vertices > 0 ? vertices - 1 : 0);
  DZO_TRY(check_numbers(c));
  c->forest = dzo_alloc(c->context, count, sizeof *c->forest);
  c->spare = dzo_alloc(c->context, count, sizeof *c->spare);
  if (c->forest == NULL || c->spare == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(c->claim->numbers != NULL ? collect_by_number(c) : collect_by_pair(c));
  DZO_TRY(sort_forest(c));
  dzo_free(c->spare);
  c->spare = NULL;
  c->nodes = dzo_alloc(c->context, vertices, sizeof *c->nodes);
  c->reach = dzo_alloc(c->context, vertices, sizeof *c->reach);
  if (c->nodes == NULL || c->reach == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(link_forest(c));
  DZO_TRY(measure_reach(c));
  return check_cycle_property(c);
}

dzo_status dzo_msf_verify(dzo_context *context, const dzo_edges *edges, const dzo_msf_claim *claim,
                          int *valid) {
  dzo_begin(context);
  if (valid == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "valid must not be NULL");
  *valid = 0;
  DZO_TRY(check_arguments(context, edges, claim));
  checker c = {.context = context,
               .edges = edges,
               .claim = claim,
               .flip = claim->maximum ? UINT64_MAX : 0,
               .span = UINT64_MAX,
               .culprit = NOWHERE};
  if (edges->weight_type == DZO_WEIGHT_F32) {
    c.first = dzo_pattern_of_f32(-INFINITY);
    c.span = dzo_pattern_of_f32(INFINITY) - c.first;
  } else if (edges->weight_type == DZO_WEIGHT_F64) {
    c.first = dzo_pattern_of_f64(-(double)INFINITY);
    c.span = dzo_pattern_of_f64((double)INFINITY) - c.first;
  }
  dzo_status status = check_claim(&c);
  dzo_free(c.slots);
  dzo_free(c.reach);
  dzo_free(c.nodes);
  dzo_free(c.spare);
  dzo_free(c.forest);
  if (status == REFUTED)
    return DZO_OK;
  *valid = status == DZO_OK;
  return status;
}
