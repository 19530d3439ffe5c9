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
#include <stdlib.h>

#include "base/memory.h"
#include "msf/gpu_check.h"

enum {
  DIGIT_BITS = 11,
  DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS,
  BUCKETS = 1 << DIGIT_BITS,
  FAR_AWAY = UINT16_MAX, /* the reach of a vertex outside the largest tree */
  GRAIN = 1 << 15,
  AHEAD = 16,         /* links from now that are prefetched */
  BLOCK = 512,        /* edges whose paths are searched at once */
  GPU_EDGES = 1 << 22 /* lists of fewer are not worth the way to the GPU */
};

void dzo_msf_claim_init(dzo_msf_claim *claim) { *claim = (dzo_msf_claim){.size = sizeof *claim}; }

/* ---- Words for messages ---------------------------------------------------------------------- */

/* The fewest digits, up to those that tell all numbers apart, that read back as the same. */
static void print_real(double x, bool is_f32, char text[MSF_TEXT]) {
  for (int digits = is_f32 ? 6 : 15; digits <= (is_f32 ? 9 : 17); digits++) {
    snprintf(text, MSF_TEXT, "%.*g", digits, x);
    double back = strtod(text, NULL);
    if (is_f32 ? (float)back == (float)x : back == x)
      return;
  }
}

static void print_weight(const msf_checker *c, uint64_t key, char text[MSF_TEXT]) {
  dzo_weight_type type = c->edges->weight_type;
  dzo_weight w = dzo_weight_of_pattern(type, key ^ c->flip);
  if (type == DZO_WEIGHT_I64)
    snprintf(text, MSF_TEXT, "%" PRId64, w.i64);
  else if (type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64)
    print_real(w.f64, type == DZO_WEIGHT_F32, text);
  else
    snprintf(text, MSF_TEXT, "%" PRIu64, w.u64);
}

void msf_print_edge(const msf_checker *c, uint64_t at, char text[MSF_TEXT]) {
  const dzo_edges *e = c->edges;
  char weight[MSF_TEXT];
  print_weight(c, dzo_weight_pattern(e->weight_type, e->weights, at) ^ c->flip, weight);
  snprintf(text, MSF_TEXT, "edge %" PRIu64 " (%" PRIu64 "-%" PRIu64 ", weight %.40s)",
           msf_number_of(e, at), msf_label_of(e, e->u[at]), msf_label_of(e, e->v[at]), weight);
}

dzo_status msf_fail_malformed(const msf_checker *c, uint64_t at) {
  const dzo_edges *e = c->edges;
  uint32_t far = e->u[at] > e->v[at] ? e->u[at] : e->v[at];
  if (far >= e->vertices)
    return dzo_fail(c->context, DZO_E_ARGUMENT,
                    "edge %" PRIu64 " ends at vertex %" PRIu32 ", but there are %" PRIu64
                    " vertices",
                    msf_number_of(e, at), far, e->vertices);
  return dzo_fail(c->context, DZO_E_ARGUMENT,
                  "edge %" PRIu64 " (%" PRIu64 "-%" PRIu64 ") has a weight that is not a number",
                  msf_number_of(e, at), msf_label_of(e, e->u[at]), msf_label_of(e, e->v[at]));
}

/* ---- Passes over many items ------------------------------------------------------------------ */

typedef struct slab {
  msf_checker *c;
  dzo_range_fn fn;
  uint64_t begin;
} slab;

static void run_slab_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  const slab *s = argument;
  if (s->begin + begin < dzo_load_u64(&s->c->culprit))
    s->fn(s->c, s->begin + begin, s->begin + end, thread);
}

dzo_status msf_run_pass(msf_checker *c, const char *phase, uint64_t count, dzo_range_fn fn) {
  c->culprit = MSF_NOWHERE;
  for (uint64_t begin = 0; begin < count && c->culprit == MSF_NOWHERE; begin += MSF_POLL) {
    DZO_TRY(dzo_progress(c->context, phase, begin, count));
    uint64_t left = count - begin;
    slab s = {c, fn, begin};
    dzo_parallel_for(c->context->threads, left < MSF_POLL ? left : MSF_POLL, GRAIN, run_slab_range,
                     &s);
  }
  return dzo_progress(c->context, phase, count, count);
}

/* ---- The union-find forest ------------------------------------------------------------------- */

/* Sort the forest edges by key: radix sort from the lowest digit, without those in which all keys
 * agree. */
static dzo_status sort_forest(msf_checker *c) {
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
    msf_claimed *sorted = c->spare;
    c->spare = c->forest;
    c->forest = sorted;
    status = dzo_progress(c->context, "prepare", d, DIGITS);
  }
  dzo_free(counts);
  return status;
}

DZO_ITEM uint32_t root_of(const msf_set_node *nodes, uint32_t v) {
  while (nodes[v].link != MSF_NO_LINK)
    v = nodes[v].up;
  return v;
}

/* Link the sorted forest edges. */
static dzo_status link_forest(msf_checker *c) {
  uint64_t count = c->claim->count;
  msf_set_node *nodes = c->nodes;
  for (uint64_t v = 0; v < c->edges->vertices; v++)
    nodes[v] = (msf_set_node){MSF_NO_LINK, 1};
  for (uint64_t i = 0; i < count; i++) {
    if (i % MSF_POLL == 0)
      DZO_TRY(dzo_progress(c->context, "prepare", i, count));
    if (i + AHEAD < count) {
      DZO_PREFETCH(&nodes[c->forest[i + AHEAD].u]);
      DZO_PREFETCH(&nodes[c->forest[i + AHEAD].v]);
    }
    uint32_t a = root_of(nodes, c->forest[i].u), b = root_of(nodes, c->forest[i].v);
    if (a == b)
      return msf_refute_cycle(c, c->forest[i]);
    uint32_t small = nodes[a].up < nodes[b].up ? a : b, large = a ^ b ^ small;
    nodes[large].up += nodes[small].up;
    nodes[small] = (msf_set_node){(uint32_t)i, large};
  }
  return DZO_OK;
}

static void find_reach(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  msf_checker *c = argument;
  uint64_t rounding = (UINT64_C(1) << c->shift) - 1;
  for (uint64_t i = begin; i < end; i++) {
    uint32_t v = (uint32_t)i, last = MSF_NO_LINK;
    for (; c->nodes[v].link != MSF_NO_LINK; v = c->nodes[v].up)
      last = c->nodes[v].link;
    uint64_t above = last == MSF_NO_LINK ? 0 : c->forest[last].key - c->base;
    uint64_t units = (above >> c->shift) + ((above & rounding) != 0);
    c->reach[i] = v == c->largest ? (uint16_t)units : FAR_AWAY;
  }
}

static dzo_status measure_reach(msf_checker *c) {
  uint64_t vertices = c->edges->vertices, count = c->claim->count;
  uint32_t most = 0;
  for (uint64_t v = 0; v < vertices; v++) {
    if (c->nodes[v].link == MSF_NO_LINK && c->nodes[v].up > most) {
      most = c->nodes[v].up;
      c->largest = (uint32_t)v;
    }
  }
  c->base = count > 0 ? c->forest[0].key : 0;
  uint64_t widest = count > 0 ? c->forest[count - 1].key - c->base : 0;
  while (widest >> c->shift >= FAR_AWAY - 1)
    c->shift++;
  c->reach[vertices] = FAR_AWAY;
  return msf_run_pass(c, "prepare", vertices, find_reach);
}

/* ---- The cycle property ---------------------------------------------------------------------- */

/* A search for the heaviest forest edge between the ends of an edge. */
typedef struct climb {
  uint64_t at;   /* place of the edge */
  uint64_t key;  /* of the edge */
  uint32_t u, v; /* where the search is */
  uint32_t last; /* heaviest link so far; MSF_NO_LINK at the end: the ends are in different trees */
} climb;

/* One step up by the lighter link; false at the end. */
DZO_ITEM bool climb_on(const msf_set_node *nodes, climb *s) {
  if (s->u == s->v)
    return false;
  msf_set_node a = nodes[s->u], b = nodes[s->v];
  bool from_u = a.link < b.link;
  s->last = from_u ? a.link : b.link;
  if (s->last == MSF_NO_LINK)
    return false;
  s->u = from_u ? a.up : s->u;
  s->v = from_u ? s->v : b.up;
  return true;
}

/* List the edges of begin .. end - 1 that `reach` does not settle, malformed ones among them, and
 * how many there are. Free of branches, so that many reads are under way at once. */
DZO_ITEM uint64_t list_open(const msf_checker *c, dzo_weight_type type, uint64_t begin,
                            uint64_t end, climb *open) {
  const msf_checker k = *c;
  const dzo_edges e = *k.edges;
  uint64_t count = 0;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t u = e.u[i] < e.vertices ? e.u[i] : e.vertices;
    uint64_t v = e.v[i] < e.vertices ? e.v[i] : e.vertices;
    uint64_t pattern = dzo_weight_pattern(type, e.weights, i), key = pattern ^ k.flip;
    uint64_t units = (key - k.base) >> k.shift;
    units = units < FAR_AWAY ? units : FAR_AWAY - 1;
    bool settled = (key >= k.base) & (k.reach[u] <= units) & (k.reach[v] <= units) &
                   (pattern - k.first <= k.span);
    open[count] = (climb){i, key, e.u[i], e.v[i], MSF_NO_LINK};
    count += !settled;
  }
  return count;
}

/* Take malformed edges and loops off the list, and prefetch for the others. */
static uint64_t sift_open(msf_checker *c, climb *open, uint64_t count) {
  uint64_t left = 0;
  for (uint64_t j = 0; j < count; j++) {
    if (msf_edge_at_is_malformed(c, open[j].at)) {
      dzo_min_u64(&c->culprit, open[j].at);
    } else if (open[j].u != open[j].v) {
      DZO_PREFETCH(&c->nodes[open[j].u]);
      DZO_PREFETCH(&c->nodes[open[j].v]);
      open[left++] = open[j];
    }
  }
  return left;
}

/* Carry on all searches by one step each in turn, since each step is a cache miss. */
static void finish_open(msf_checker *c, climb *open, uint64_t count) {
  const msf_set_node *nodes = c->nodes;
  while (count > 0) {
    uint64_t left = 0;
    for (uint64_t j = 0; j < count; j++) {
      climb s = open[j];
      if (climb_on(nodes, &s)) {
        DZO_PREFETCH(&nodes[s.u]);
        DZO_PREFETCH(s.u == s.v ? (const void *)&c->forest[s.last] : (const void *)&nodes[s.v]);
        open[left++] = s;
      } else if (s.last == MSF_NO_LINK || c->forest[s.last].key > s.key) {
        dzo_min_u64(&c->culprit, s.at);
      }
    }
    count = left;
  }
}

DZO_ITEM void examine_as(msf_checker *c, dzo_weight_type type, uint64_t begin, uint64_t end) {
  climb open[BLOCK];
  for (; begin < end && begin < dzo_load_u64(&c->culprit); begin += BLOCK) {
    uint64_t stop = end - begin < BLOCK ? end : begin + BLOCK;
    uint64_t count = list_open(c, type, begin, stop, open);
    finish_open(c, open, sift_open(c, open, count));
  }
}

static void examine(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  msf_checker *c = argument;
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

static dzo_status check_cycle_property(msf_checker *c) {
  const dzo_edges *e = c->edges;
  DZO_TRY(msf_run_pass(c, "verify", e->count, examine));
  uint64_t at = c->culprit;
  if (at == MSF_NOWHERE)
    return DZO_OK;
  if (msf_edge_at_is_malformed(c, at))
    return msf_fail_malformed(c, at);
  char edge[MSF_TEXT], weight[MSF_TEXT];
  msf_print_edge(c, at, edge);
  climb search = {at, 0, e->u[at], e->v[at], MSF_NO_LINK};
  while (climb_on(c->nodes, &search)) {
  }
  if (search.last == MSF_NO_LINK)
    return dzo_fail(c->context, MSF_REFUTED,
                    "%s joins two trees of the claim, which does not span the graph", edge);
  const msf_claimed *h = &c->forest[search.last];
  print_weight(c, h->key, weight);
  return dzo_fail(
      c->context, MSF_REFUTED,
      "%s is %s edge (%" PRIu64 "-%" PRIu64 ", weight %s), on the claim's path between its ends",
      edge, c->claim->maximum ? "heavier than the lightest" : "lighter than the heaviest",
      msf_label_of(e, h->u), msf_label_of(e, h->v), weight);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Where the caller works with a GPU, it settles right claims of long lists. All others are judged
 * here, as are those that it gave up. */
static bool settled_by_gpu(const msf_checker *c) {
  dzo_context *context = c->context;
  if (c->edges->count < GPU_EDGES ||
      (context->device != DZO_DEVICE_CUDA && context->device != DZO_DEVICE_HYBRID))
    return false;
  bool right = false;
  dzo_unit *unit = dzo_context_gpu(context);
  if (unit == NULL)
    return false;
  dzo_status status = msf_gpu_check_list(unit, c, &right);
  if (status == DZO_E_MEMORY && unit->workspace != NULL) { /* a solve may have left it all taken */
    dzo_unit_workspace_release(unit);
    status = msf_gpu_check_list(unit, c, &right);
  }
  if (status != DZO_OK && status != DZO_E_CANCELLED)
    dzo_notice(context, "%s; verified on the CPU", context->message);
  context->message[0] = '\0';
  return right;
}

static dzo_status check_claim(msf_checker *c) {
  uint64_t vertices = c->edges->vertices, count = c->claim->count;
  if (count > 0 && count >= vertices)
    return dzo_fail(c->context, MSF_REFUTED,
                    "the claim names %" PRIu64 " edges, but a forest of %" PRIu64
                    " vertices has at most %" PRIu64,
                    count, vertices, vertices > 0 ? vertices - 1 : 0);
  c->forest = dzo_alloc(c->context, count, sizeof *c->forest);
  c->spare = dzo_alloc(c->context, count, sizeof *c->spare);
  if (c->forest == NULL || c->spare == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(msf_collect_claim(c));
  if (settled_by_gpu(c))
    return DZO_OK;
  DZO_TRY(sort_forest(c));
  dzo_free(c->spare);
  c->spare = NULL;
  c->nodes = dzo_alloc(c->context, vertices, sizeof *c->nodes);
  c->reach = dzo_alloc(c->context, vertices + 1, sizeof *c->reach);
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
  dzo_msf_claim full;
  DZO_TRY(msf_check_arguments(context, edges, claim, &full));
  msf_checker c = {.context = context,
                   .edges = edges,
                   .claim = &full,
                   .flip = full.maximum ? UINT64_MAX : 0,
                   .span = UINT64_MAX,
                   .culprit = MSF_NOWHERE};
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
  if (status == MSF_REFUTED)
    return DZO_OK;
  *valid = status == DZO_OK;
  return status;
}
