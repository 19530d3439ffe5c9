/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/transfer.h"
#include "msf/gpu_check_run.cuh"

/* Edges that go through the GPU at a time. */
#define PIECE (UINT64_C(1) << 22)

/* A piece of the list, in device memory, and what makes keys of its weights. */
typedef struct check_piece {
  uint32_t *u, *v;
  void *weights;
  uint64_t count;
  dzo_weight_type type;
  uint64_t flip, first, span; /* as in msf_checker */
} check_piece;

static __global__ void check_split_claim(check_state s, const msf_claimed *claim) {
  for (uint32_t i = check_first(); i < s.count; i += check_stride()) {
    uint32_t u = claim[i].u, v = claim[i].v;
    bool bad = u >= s.vertices || v >= s.vertices || u == v;
    if (bad)
      check_lower(&s.counts->bad_claim, i);
    s.claimed_key[i] = claim[i].key;
    s.claimed_place[i] = i;
    s.claimed_u[i] = bad ? 0 : u;
    s.claimed_v[i] = bad ? 0 : v;
  }
}

static __global__ void check_examine_piece(check_state s, check_scale scale, check_piece piece) {
  for (uint64_t i = check_first(); i < piece.count; i += check_stride()) {
    uint32_t u = piece.u[i], v = piece.v[i];
    uint64_t pattern = dzo_weight_pattern(piece.type, piece.weights, i);
    if (u >= s.vertices || v >= s.vertices || pattern - piece.first > piece.span ||
        (u != v && !check_edge(s, scale, u, v, pattern ^ piece.flip)))
      check_lower(&s.counts->culprit, i);
  }
}

static dzo_status read_claim(check_run *r, const msf_checker *checker) {
  dzo_unit *unit = r->unit;
  void *claim;
  if (r->s.count == 0)
    return DZO_OK;
  DZO_TRY(dzo_unit_allocate(unit, r->s.count, sizeof(msf_claimed), &claim));
  dzo_status status =
      dzo_unit_send(unit, claim, checker->forest, (uint64_t)r->s.count * sizeof(msf_claimed));
  if (status == DZO_OK)
    status = DZO_LAUNCH(unit, 0, check_split_claim, blocks_for(unit, r->s.count), THREADS, r->s,
                        (const msf_claimed *)claim);
  if (status == DZO_OK)
    status = read_counts(r);
  dzo_unit_release(unit, claim);
  return status;
}

/* The piece's arrays are reused: queue 0 keeps copies behind the kernel before them. */
static dzo_status examine_list(check_run *r, const dzo_edges *edges, check_piece *piece) {
  check_scale scale;
  size_t size = dzo_weight_bytes(piece->type);
  DZO_TRY(check_measure(r, &scale));
  for (uint64_t at = 0; at < edges->count; at += piece->count) {
    DZO_TRY(dzo_progress(r->unit->context, "verify", at, edges->count));
    piece->count = edges->count - at < PIECE ? edges->count - at : PIECE;
    DZO_TRY(dzo_unit_send(r->unit, piece->u, edges->u + at, piece->count * sizeof *piece->u));
    DZO_TRY(dzo_unit_send(r->unit, piece->v, edges->v + at, piece->count * sizeof *piece->v));
    if (size > 0)
      DZO_TRY(dzo_unit_send(r->unit, piece->weights, (const char *)edges->weights + at * size,
                            piece->count * size));
    DZO_TRY(DZO_LAUNCH(r->unit, 0, check_examine_piece, blocks_for(r->unit, piece->count), THREADS,
                       r->s, scale, *piece));
  }
  DZO_TRY(read_counts(r));
  return dzo_progress(r->unit->context, "verify", edges->count, edges->count);
}

static dzo_status check_list(check_run *r, const msf_checker *checker, check_piece *piece,
                             bool *right) {
  DZO_TRY(clear_counts(r));
  DZO_TRY(read_claim(r, checker));
  if (r->counts.bad_claim != UINT64_MAX)
    return DZO_OK;
  DZO_TRY(check_build(r));
  if (r->counts.cycle != CHECK_NONE)
    return DZO_OK;
  DZO_TRY(examine_list(r, checker->edges, piece));
  *right = r->counts.culprit == UINT64_MAX;
  return DZO_OK;
}

/* Memory for a piece: one block that begins with u. */
static dzo_status open_piece(dzo_unit *unit, const msf_checker *checker, check_piece *piece) {
  const dzo_edges *edges = checker->edges;
  uint64_t most = edges->count < PIECE ? edges->count : PIECE;
  size_t size = dzo_weight_bytes(edges->weight_type);
  most = (most + 1) / 2 * 2; /* keeps the weights aligned */
  void *block;
  DZO_TRY(dzo_unit_allocate(unit, most, 2 * sizeof *piece->u + size, &block));
  piece->u = (uint32_t *)block;
  piece->v = piece->u + most;
  piece->weights = piece->v + most;
  piece->type = edges->weight_type;
  piece->flip = checker->flip;
  piece->first = checker->first;
  piece->span = checker->span;
  return DZO_OK;
}

dzo_status msf_gpu_check_list(dzo_unit *unit, const msf_checker *checker, bool *right) {
  const dzo_edges *edges = checker->edges;
  *right = false;
  if (edges->vertices == 0 || edges->vertices >= UINT32_C(1) << 30 ||
      checker->claim->count >= edges->vertices)
    return DZO_OK;
  check_run r = {};
  check_piece piece = {};
  void *block;
  r.unit = unit;
  r.key_bits = 64;
  DZO_TRY(check_open(&r, (uint32_t)edges->vertices, checker->claim->count, &block));
  dzo_status status = open_piece(unit, checker, &piece);
  if (status == DZO_OK)
    status = check_list(&r, checker, &piece, right);
  dzo_unit_release(unit, piece.u);
  dzo_unit_release(unit, block);
  return status;
}
