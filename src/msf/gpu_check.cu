/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "msf/gpu_check_run.cuh"

enum { CHUNK = 2048 /* arcs that a warp goes through at once */ };

/* ---- The claim ------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t check_warp_sum(uint64_t x) {
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(DZO_WARP_ALL, x, step);
  return x;
}

/* The key of the i-th claimed arc, whose ends are noted. */
static __device__ __forceinline__ uint64_t check_read_arc(const check_state &s, uint32_t i) {
  uint64_t arc = s.claim[i], key = 0;
  uint32_t u = 0, v = 0;
  if (arc < s.arcs) {
    u = arc_row(s.offsets, s.vertices, 0, arc);
    v = arc_neighbour(s.reader, arc);
    key = arc_key(s.reader, arc);
  }
  if (u == v || v >= s.vertices) {
    check_lower(&s.counts->bad_claim, i);
    u = v = 0;
  }
  s.claimed_key[i] = key;
  s.claimed_place[i] = i;
  s.claimed_u[i] = u;
  s.claimed_v[i] = v;
  return key ^ s.reader.flip;
}

static __global__ void check_read_claim(check_state s) {
  for (uint32_t first = check_first() & ~31u; first < s.count; first += check_stride()) {
    uint32_t i = first + dzo_lane();
    uint64_t key = i < s.count ? check_read_arc(s, i) : 0;
    uint64_t low = check_warp_sum((uint32_t)key), high = check_warp_sum(key >> 32);
    if (dzo_lane() == 0) {
      atomicAdd((unsigned long long *)&s.counts->low, (unsigned long long)low);
      atomicAdd((unsigned long long *)&s.counts->high, (unsigned long long)high);
    }
  }
}

/* ---- Arcs against the claim ------------------------------------------------------------------ */

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

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Read the claim. */
static dzo_status read_claim(check_run *r) {
  dzo_unit *unit = r->unit;
  const check_state &s = r->s;
  if (s.count == 0)
    return DZO_OK;
  DZO_TRY(DZO_LAUNCH(unit, 0, check_read_claim, blocks_for(unit, s.count), THREADS, s));
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
  check_scale scale;
  DZO_TRY(check_measure(r, &scale));
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
  DZO_TRY(check_build(r));
  return r->counts.cycle != CHECK_NONE ? refute_cycle(r) : examine(r);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static dzo_status begin(check_run *r, const msf_gpu_graph *graph, uint64_t count, void **block) {
  if (graph->vertices >= UINT32_C(1) << 30 || graph->arcs >= UINT64_C(1) << 36)
    return dzo_fail(r->unit->context, DZO_E_UNSUPPORTED,
                    "the GPU takes fewer than 2^30 vertices and 2^36 arcs");
  DZO_TRY(check_open(r, graph->vertices, count, block));
  r->s.reader = arc_reader_of(graph);
  r->s.offsets = graph->offsets;
  r->s.arcs = graph->arcs;
  r->key_bits = arc_key_bits(graph->key_type);
  return DZO_OK;
}

dzo_status msf_gpu_check(dzo_unit *unit, const msf_gpu_graph *graph, const uint64_t *arcs,
                         uint64_t count, msf_gpu_verdict *out) {
  check_run r = {};
  r.unit = unit;
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
  DZO_TRY(begin(&r, graph, count, &block));
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
  r.out = out;
  *out = {};
  if (components > graph->vertices)
    return refute(out, "%" PRIu64 " components, but %u vertices", components, graph->vertices);
  out->valid = graph->vertices == 0;
  if (out->valid)
    return DZO_OK;
  void *block;
  DZO_TRY(begin(&r, graph, 0, &block));
  dzo_status status = check_labels(&r, labels, (uint32_t)components);
  dzo_unit_release(unit, block);
  return status;
}
