/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "device/primitives.h"
#include "msf/gpu_check_tree.cuh"
#include "msf/jump.cuh"

enum {
  THREADS = 256,
  WAVES = 16,  /* blocks a multiprocessor, at most */
  CHUNK = 2048 /* arcs that a warp goes through at once */
};

#define FAR_AWAY UINT32_MAX /* the reach of a vertex outside the hub's tree */

/* ---- Arcs against the claim ------------------------------------------------------------------ */

/* Keys in units of 2^shift from the least of the claim, to fit 32 bits. */
typedef struct check_scale {
  uint64_t least;
  int shift;
} check_scale;

static __global__ void check_find_hub(check_state s) {
  uint64_t most = 0;
  for (uint32_t v = check_first(); v < s.vertices; v += check_stride()) {
    uint64_t degree = s.offsets[v + 1] - s.offsets[v];
    uint64_t offer = (degree < UINT32_MAX ? degree : UINT32_MAX) << 32 | v;
    most = offer > most ? offer : most;
  }
  for (int step = 16; step > 0; step /= 2) {
    uint64_t other = __shfl_xor_sync(DZO_WARP_ALL, most, step);
    most = other > most ? other : most;
  }
  if (dzo_lane() == 0)
    atomicMax((unsigned long long *)&s.counts->hub, (unsigned long long)most);
}

/* reach[v] is no less than the heaviest claimed edge between v and the hub. */
static __global__ void check_measure_reach(check_state s, uint32_t hub, check_scale scale) {
  uint64_t rounding = (UINT64_C(1) << scale.shift) - 1;
  for (uint32_t v = check_first(); v < s.vertices; v += check_stride()) {
    uint32_t rank = v == hub ? 0 : check_heaviest(s, v, hub), units = FAR_AWAY;
    if (v == hub) {
      units = 0;
    } else if (rank != CHECK_APART) {
      uint64_t above = s.key[rank] - scale.least;
      units = (uint32_t)((above >> scale.shift) + ((above & rounding) != 0));
    }
    s.reach[v] = units;
  }
}

/* Is the edge u - v in order: within one tree, and no lighter than the claim's way between? */
static __device__ __forceinline__ bool check_edge(const check_state &s, check_scale scale,
                                                  uint32_t u, uint32_t v, uint64_t key) {
  uint64_t units = key < scale.least ? 0 : (key - scale.least) >> scale.shift;
  units = units < FAR_AWAY ? units : FAR_AWAY - 1;
  uint32_t far = max(__ldg(s.reach + u), __ldg(s.reach + v));
  if (key >= scale.least && far <= units)
    return true;
  uint32_t rank = check_heaviest(s, u, v);
  return rank != CHECK_APART && __ldg(s.key + rank) <= key;
}

/* Every edge by its arc u -> v, u < v. */
static __global__ void check_examine(check_state s, check_scale scale) {
  bool packed = s.reader.neighbours == NULL;
  uint64_t stride = (uint64_t)(check_stride() / 32) * CHUNK;
  for (uint64_t at = (uint64_t)(check_first() / 32) * CHUNK; at < s.arcs; at += stride) {
    uint64_t end = s.arcs - at < CHUNK ? s.arcs : at + CHUNK;
    unsigned before = 0;
    uint32_t u = arc_row(s.offsets, s.vertices, 0, at);
    for (uint64_t first = at; first < end; first += 32) {
      uint64_t arc = first + dzo_lane();
      uint32_t v = packed ? arc_warp_next(s.reader, first, &before) : 0;
      if (arc >= end)
        continue;
      v = packed ? v : __ldg(s.reader.neighbours + arc);
      u = arc_row(s.offsets, s.vertices, u, arc);
      if (v >= s.vertices || (u < v && !check_edge(s, scale, u, v, arc_key(s.reader, arc))))
        check_lower(&s.counts->culprit, arc);
    }
  }
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static __global__ void check_compare_labels(check_state s, const uint32_t *labels) {
  uint64_t stride = (uint64_t)(check_stride() / 32) * CHUNK;
  for (uint64_t at = (uint64_t)(check_first() / 32) * CHUNK; at < s.arcs; at += stride) {
    uint64_t end = s.arcs - at < CHUNK ? s.arcs : at + CHUNK;
    uint32_t u = arc_row(s.offsets, s.vertices, 0, at);
    for (uint64_t arc = at + dzo_lane(); arc < end; arc += 32) {
      uint32_t v = arc_neighbour(s.reader, arc);
      u = arc_row(s.offsets, s.vertices, u, arc);
      if (v >= s.vertices || labels[u] != labels[v])
        check_lower(&s.counts->culprit, arc);
    }
  }
}

/* flags[] are zero; every label is to be used. */
static __global__ void check_use_labels(check_state s, const uint32_t *labels,
                                        uint32_t components) {
  for (uint32_t v = check_first(); v < s.vertices; v += check_stride()) {
    if (labels[v] >= components)
      check_lower(&s.counts->bad_claim, v);
    else if (dzo_load_shared(s.flags + labels[v]) == 0)
      dzo_store_shared(s.flags + labels[v], 1u);
  }
}

/* In check_counts, bad_claim is a vertex here, and cycle the least label that nobody has. */
static __global__ void check_find_unused(check_state s, uint32_t components) {
  for (uint32_t c = check_first(); c < components; c += check_stride())
    if (s.flags[c] == 0)
      check_lower(&s.counts->cycle, c);
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* Two edges for a message: an arc, and a claimed one. */
typedef struct check_pair {
  uint64_t arc[2], key[2];
  uint32_t u[2], v[2];
} check_pair;

static __device__ void check_describe(const check_state &s, uint64_t arc, int which,
                                      check_pair *out) {
  out->arc[which] = arc;
  out->key[which] = arc_key(s.reader, arc) ^ s.reader.flip;
  out->u[which] = arc_row(s.offsets, s.vertices, 0, arc);
  out->v[which] = arc_neighbour(s.reader, arc);
}

/* `rank` is a claimed edge, or CHECK_NONE for the heaviest on the claim's way between the ends of
 * `arc`; arc[1] is ARC_NONE where there is no such way. */
static __global__ void check_explain(check_state s, uint64_t arc, uint32_t rank, check_pair *out) {
  if (check_first() != 0)
    return;
  out->arc[1] = ARC_NONE;
  check_describe(s, arc == ARC_NONE ? s.claim[s.place[rank]] : arc, 0, out);
  if (arc == ARC_NONE || out->v[0] >= s.vertices)
    return;
  rank = check_heaviest(s, out->u[0], out->v[0]);
  if (rank != CHECK_APART)
    check_describe(s, s.claim[s.place[rank]], 1, out);
}

static dzo_status refute(msf_gpu_verdict *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static dzo_status refute(msf_gpu_verdict *out, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(out->reason, sizeof out->reason, format, list);
  va_end(list);
  out->valid = false;
  return DZO_OK;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The next array of a block; with a NULL block, only counts. */
static void *carve(char *block, uint64_t *used, uint64_t count, uint64_t size) {
  void *at = block == NULL ? NULL : block + *used;
  *used += (count * size + 255) / 256 * 256;
  return at;
}

static uint64_t lay_out(uint64_t n, uint64_t count, char *block, check_state *s) {
  uint64_t used = 0;
  s->counts = (check_counts *)carve(block, &used, 1, sizeof(check_counts));
  s->claimed_key = (uint64_t *)carve(block, &used, count, sizeof(uint64_t));
  s->claimed_place = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->claimed_u = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->claimed_v = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->key = (uint64_t *)carve(block, &used, count, sizeof(uint64_t));
  s->place = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->a = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->b = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->alive = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->next_alive = (uint32_t *)carve(block, &used, count, sizeof(uint32_t));
  s->best = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->hook = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->flags = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->sums = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->nodes = (uint2 *)carve(block, &used, 2 * n, sizeof(uint2));
  s->reach = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  uint64_t sum_bytes = dzo_gpu_sum_bytes(n + 1), sort_bytes = dzo_gpu_sort_bytes(count);
  s->scratch_bytes = sum_bytes > sort_bytes ? sum_bytes : sort_bytes;
  s->scratch = carve(block, &used, s->scratch_bytes, 1);
  return used;
}

uint64_t msf_gpu_check_bytes(const msf_gpu_graph *graph, uint64_t count) {
  check_state unused;
  return lay_out(graph->vertices, count, NULL, &unused);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef struct check_run {
  dzo_unit *unit;
  const msf_gpu_graph *graph;
  check_state s;
  check_counts counts; /* as last read */
  msf_gpu_verdict *out;
} check_run;

static unsigned blocks_for(const dzo_unit *unit, uint64_t threads) {
  uint64_t blocks = (threads + THREADS - 1) / THREADS;
  uint64_t most = (uint64_t)unit->processors * WAVES;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

static dzo_status read_counts(check_run *r) {
  DZO_TRY(dzo_unit_copy(r->unit, 0, &r->counts, r->s.counts, sizeof r->counts));
  return dzo_unit_wait(r->unit, 0);
}

static dzo_status clear_counts(check_run *r) {
  r->counts = {};
  r->counts.bad_claim = UINT64_MAX;
  r->counts.culprit = UINT64_MAX;
  r->counts.cycle = CHECK_NONE;
  DZO_TRY(dzo_unit_copy(r->unit, 0, r->s.counts, &r->counts, sizeof r->counts));
  return dzo_unit_wait(r->unit, 0);
}

/* Read and sort the claim. */
static dzo_status read_claim(check_run *r) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  unsigned blocks = blocks_for(unit, s.count);
  if (s.count == 0)
    return DZO_OK;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_read_claim, blocks, THREADS, s));
  DZO_TRY(read_counts(r));
  r->out->sum_low = r->counts.low + (r->counts.high << 32);
  r->out->sum_high = (r->counts.high >> 32) + (r->out->sum_low < r->counts.low);
  if (r->counts.bad_claim != UINT64_MAX) {
    uint64_t arc;
    DZO_TRY(dzo_unit_copy(unit, 0, &arc, s.claim + r->counts.bad_claim, sizeof arc));
    DZO_TRY(dzo_unit_wait(unit, 0));
    if (arc >= s.arcs)
      return refute(r->out, "arc %" PRIu64 " is not in the graph, which has %" PRIu64, arc, s.arcs);
    return refute(r->out, "arc %" PRIu64 " is a loop", arc);
  }
  DZO_TRY(dzo_gpu_sort_u64_u32(unit, 0, s.scratch, s.scratch_bytes, s.claimed_key, s.key,
                               s.claimed_place, s.place, s.count, 0,
                               arc_key_bits(r->graph->key_type)));
  return DZO_LAUNCH(unit, 0, check_rank_claim, blocks, THREADS, s);
}

/* One level of `nodes` nodes from `base` on; *above is how many the next one has. */
static dzo_status build_level(check_run *r, uint32_t base, uint32_t nodes, uint32_t edges,
                              uint32_t *above) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  unsigned each_node = blocks_for(unit, nodes), each_edge = blocks_for(unit, edges);
  unsigned together = DZO_RESIDENT_BLOCKS(unit, msf_jump, THREADS);
  together = each_node < together ? each_node : together;
  uint64_t flags = (uint64_t)nodes + 1;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_clear_level, each_node, THREADS, s, nodes));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_choose, each_edge, THREADS, s, edges));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_hook, each_node, THREADS, s, nodes));
  DZO_TRY(
      DZO_LAUNCH_TOGETHER(unit, 0, msf_jump, together, THREADS, s.hook, nodes, s.counts->changed));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_flag_roots, blocks_for(unit, flags), THREADS, s, nodes));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, s.scratch, s.scratch_bytes, s.flags, s.sums, flags));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_link, each_node, THREADS, s, base, nodes));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_carry_edges, each_edge, THREADS, s, edges));
  DZO_TRY(dzo_unit_copy(unit, 0, above, s.sums + nodes, sizeof *above));
  return read_counts(r);
}

/* All levels; a cycle is a refutation. */
static dzo_status build_tree(check_run *r) {
  check_state *s = &r->s;
  uint32_t base = 0, nodes = s->vertices, edges = s->count, above;
  while (nodes > 0) {
    DZO_TRY(build_level(r, base, nodes, edges, &above));
    if (r->counts.cycle != CHECK_NONE)
      break;
    base += nodes;
    nodes = above;
    edges = r->counts.alive;
    uint32_t *alive = s->alive;
    s->alive = s->next_alive;
    s->next_alive = alive;
  }
  return DZO_OK;
}

static dzo_status explain(check_run *r, uint64_t arc, uint32_t rank, check_pair *pair) {
  void *block;
  DZO_TRY(dzo_unit_allocate(r->unit, 1, sizeof *pair, &block));
  dzo_status status =
      DZO_LAUNCH(r->unit, 0, check_explain, 1, 32, r->s, arc, rank, (check_pair *)block);
  if (status == DZO_OK)
    status = dzo_unit_copy(r->unit, 0, pair, block, sizeof *pair);
  if (status == DZO_OK)
    status = dzo_unit_wait(r->unit, 0);
  dzo_unit_release(r->unit, block);
  return status;
}

static dzo_status refute_cycle(check_run *r) {
  check_pair p;
  DZO_TRY(explain(r, ARC_NONE, r->counts.cycle, &p));
  return refute(r->out, "arc %" PRIu64 " (%u-%u) closes a cycle in the claim", p.arc[0], p.u[0],
                p.v[0]);
}

static dzo_status refute_arc(check_run *r) {
  check_pair p;
  DZO_TRY(explain(r, r->counts.culprit, CHECK_NONE, &p));
  if (p.v[0] >= r->s.vertices)
    return refute(r->out, "arc %" PRIu64 " of the graph leads to vertex %u, which is not there",
                  p.arc[0], p.v[0]);
  if (p.arc[1] == ARC_NONE)
    return refute(r->out,
                  "arc %" PRIu64 " (%u-%u) joins two trees of the claim, which does not span the "
                  "graph",
                  p.arc[0], p.u[0], p.v[0]);
  return refute(r->out,
                "arc %" PRIu64 " (%u-%u, key %" PRIu64 ") is before arc %" PRIu64
                " (%u-%u, key %" PRIu64 "), on the claim's path between its ends",
                p.arc[0], p.u[0], p.v[0], p.key[0], p.arc[1], p.u[1], p.v[1], p.key[1]);
}

/* The claim is a forest; does it span, and is each arc in order? */
static dzo_status examine(check_run *r) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  check_scale scale = {0, 0};
  uint64_t most = 0;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_find_hub, blocks_for(unit, s.vertices), THREADS, s));
  if (s.count > 0) {
    DZO_TRY(dzo_unit_copy(unit, 0, &scale.least, s.key, sizeof scale.least));
    DZO_TRY(dzo_unit_copy(unit, 0, &most, s.key + s.count - 1, sizeof most));
  }
  DZO_TRY(read_counts(r));
  while ((most - scale.least) >> scale.shift >= FAR_AWAY - 1)
    scale.shift++;
  uint32_t hub = (uint32_t)r->counts.hub;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_measure_reach, blocks_for(unit, s.vertices), THREADS, s, hub,
                     scale));
  uint64_t warps = s.arcs / CHUNK + 1;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_examine, blocks_for(unit, warps * 32), THREADS, s, scale));
  DZO_TRY(read_counts(r));
  if (r->counts.culprit != UINT64_MAX)
    return refute_arc(r);
  r->out->valid = true;
  r->out->components = (uint64_t)s.vertices - s.count;
  return DZO_OK;
}

static dzo_status check(check_run *r) {
  DZO_TRY(clear_counts(r));
  DZO_TRY(read_claim(r));
  if (r->out->reason[0] != '\0')
    return DZO_OK;
  DZO_TRY(build_tree(r));
  return r->counts.cycle != CHECK_NONE ? refute_cycle(r) : examine(r);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static dzo_status begin(check_run *r, uint64_t count, void **block) {
  const msf_gpu_graph *graph = r->graph;
  *r->out = {};
  if (graph->vertices >= UINT32_C(1) << 30 || graph->arcs >= UINT64_C(1) << 36)
    return dzo_fail(r->unit->context, DZO_E_UNSUPPORTED,
                    "the GPU takes fewer than 2^30 vertices and 2^36 arcs");
  uint64_t bytes = lay_out(graph->vertices, count, NULL, &r->s);
  DZO_TRY(dzo_unit_allocate(r->unit, bytes, 1, block));
  lay_out(graph->vertices, count, (char *)*block, &r->s);
  r->s.reader = arc_reader_of(graph);
  r->s.offsets = graph->offsets;
  r->s.vertices = graph->vertices;
  r->s.arcs = graph->arcs;
  r->s.count = (uint32_t)count;
  return DZO_OK;
}

dzo_status msf_gpu_check(dzo_unit *unit, const msf_gpu_graph *graph, const uint64_t *arcs,
                         uint64_t count, msf_gpu_verdict *out) {
  check_run r = {};
  r.unit = unit;
  r.graph = graph;
  r.out = out;
  *out = {};
  uint32_t most = graph->vertices > 0 ? graph->vertices - 1 : 0;
  if (count > most)
    return refute(out,
                  "the claim names %" PRIu64 " arcs, but a forest of %u vertices has at most %u "
                  "edges",
                  count, graph->vertices, most);
  out->valid = graph->vertices == 0;
  if (out->valid)
    return DZO_OK;
  void *block;
  DZO_TRY(begin(&r, count, &block));
  r.s.claim = arcs;
  dzo_status status = check(&r);
  dzo_unit_release(unit, block);
  return status;
}

static dzo_status check_labels(check_run *r, const uint32_t *labels, uint32_t components) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  unsigned each_vertex = blocks_for(unit, s.vertices);
  DZO_TRY(clear_counts(r));
  DZO_TRY(dzo_unit_fill(unit, 0, s.flags, 0, (uint64_t)components * sizeof *s.flags));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_use_labels, each_vertex, THREADS, s, labels, components));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_find_unused, each_vertex, THREADS, s, components));
  DZO_TRY(DZO_LAUNCH(unit, 0, check_compare_labels, blocks_for(unit, (s.arcs / CHUNK + 1) * 32),
                     THREADS, s, labels));
  DZO_TRY(read_counts(r));
  if (r->counts.bad_claim != UINT64_MAX)
    return refute(r->out, "vertex %" PRIu64 " has a label beyond the %u there should be",
                  r->counts.bad_claim, components);
  if (r->counts.cycle != CHECK_NONE)
    return refute(r->out, "no vertex has label %u of %u", r->counts.cycle, components);
  if (r->counts.culprit != UINT64_MAX)
    return refute(r->out, "arc %" PRIu64 " joins vertices of different labels", r->counts.culprit);
  r->out->valid = true;
  r->out->components = components;
  return DZO_OK;
}

dzo_status msf_gpu_check_labels(dzo_unit *unit, const msf_gpu_graph *graph, const uint32_t *labels,
                                uint64_t components, msf_gpu_verdict *out) {
  check_run r = {};
  r.unit = unit;
  r.graph = graph;
  r.out = out;
  *out = {};
  if (components > graph->vertices)
    return refute(out, "%" PRIu64 " components, but %u vertices", components, graph->vertices);
  out->valid = graph->vertices == 0;
  if (out->valid)
    return DZO_OK;
  void *block;
  DZO_TRY(begin(&r, 0, &block));
  dzo_status status = check_labels(&r, labels, (uint32_t)components);
  dzo_unit_release(unit, block);
  return status;
}
