/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_mirror.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "graph/weight_map.h"

enum { WORDS_GRAIN = 1 << 11, PIECE = 1 << 16, ROOM_MIN = 1 << 10 };

/* ---- Adding ---------------------------------------------------------------------------------- */

static dzo_status make_room(msf_mirror *m, uint64_t count) {
  if (m->count + count <= m->room)
    return DZO_OK;
  uint64_t room = m->room + m->room / 2 + ROOM_MIN;
  if (room < m->count + count)
    room = m->count + count;
  stream_edge *edges = dzo_realloc(m->context, m->edges, room, sizeof *edges);
  if (edges == NULL)
    return DZO_E_MEMORY;
  m->edges = edges;
  m->room = room;
  return DZO_OK;
}

static uint64_t key_at(const msf_mirror *m, const msf_packed *packed, const char *slot,
                       uint32_t i) {
  const void *keys = slot + packed->keys;
  if (m->key_bytes == 0)
    return dzo_weight_pattern(DZO_WEIGHT_NONE, NULL, i) ^ m->flip;
  return (m->key_bytes == 8 ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i]) ^ m->flip;
}

static void add_edge(msf_mirror *m, const msf_packed *packed, const char *slot, uint32_t i) {
  const uint32_t *u = (const uint32_t *)(const void *)(slot + packed->u);
  const uint32_t *v = (const uint32_t *)(const void *)(slot + packed->v);
  const uint32_t *ids = (const uint32_t *)(const void *)(slot + packed->ids);
  m->edges[m->count++] = (stream_edge){
      .key = key_at(m, packed, slot, i), .number = packed->first_id + ids[i], .u = u[i], .v = v[i]};
}

dzo_status msf_mirror_add(msf_mirror *m, const msf_packed *packed, const char *slot,
                          const uint32_t *masks) {
  uint64_t count = 0, words = ((uint64_t)packed->edges + 31) / 32;
  for (uint64_t w = 0; masks != NULL && w < words; w++)
    count += (uint64_t)__builtin_popcount(masks[w]);
  DZO_TRY(make_room(m, masks != NULL ? count : packed->edges));
  if (masks == NULL) {
    for (uint32_t i = 0; i < packed->edges; i++)
      add_edge(m, packed, slot, i);
    return DZO_OK;
  }
  for (uint64_t w = 0; w < words; w++)
    for (uint32_t bits = masks[w]; bits != 0; bits &= bits - 1)
      add_edge(m, packed, slot, (uint32_t)(32 * w) + (uint32_t)__builtin_ctz(bits));
  return DZO_OK;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

typedef struct keep_job {
  const stream_edge *from;
  stream_edge *to;
  const uint32_t *bits;
  uint64_t *counts; /* [ranges of words] */
} keep_job;

static void count_bits(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const keep_job *job = argument;
  uint64_t count = 0;
  for (uint64_t w = begin; w < end; w++)
    count += (uint64_t)__builtin_popcount(job->bits[w]);
  job->counts[begin / WORDS_GRAIN] = count;
}

static void copy_kept(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const keep_job *job = argument;
  stream_edge *to = job->to + job->counts[begin / WORDS_GRAIN];
  for (uint64_t w = begin; w < end; w++)
    for (uint32_t bits = job->bits[w]; bits != 0; bits &= bits - 1)
      *to++ = job->from[32 * w + (uint64_t)__builtin_ctz(bits)];
}

dzo_status msf_mirror_keep(msf_mirror *m, const uint32_t *bits) {
  uint64_t words = (m->count + 31) / 32, ranges = (words + WORDS_GRAIN - 1) / WORDS_GRAIN;
  keep_job job = {
      .from = m->edges, .bits = bits, .counts = dzo_alloc(m->context, ranges, sizeof *job.counts)};
  if (job.counts == NULL)
    return DZO_E_MEMORY;
  int threads = m->context->threads;
  dzo_parallel_for(threads, words, WORDS_GRAIN, count_bits, &job);
  uint64_t kept = 0;
  for (uint64_t r = 0; r < ranges; r++) {
    uint64_t here = job.counts[r];
    job.counts[r] = kept;
    kept += here;
  }
  job.to = dzo_alloc(m->context, kept, sizeof *job.to);
  if (job.to != NULL) {
    dzo_parallel_for(threads, words, WORDS_GRAIN, copy_kept, &job);
    dzo_free(m->edges);
    m->edges = job.to;
    m->count = m->room = kept;
  }
  dzo_free(job.counts);
  return job.to != NULL ? DZO_OK : DZO_E_MEMORY;
}

/* ---- The rest of a stream -------------------------------------------------------------------- */

dzo_status msf_rest_open(msf_rest *rest, dzo_context *context) {
  rest->u = dzo_alloc(context, PIECE, sizeof *rest->u);
  rest->v = dzo_alloc(context, PIECE, sizeof *rest->v);
  rest->numbers = dzo_alloc(context, PIECE, sizeof *rest->numbers);
  rest->weights = dzo_alloc(context, PIECE, sizeof *rest->weights);
  bool have = rest->u != NULL && rest->v != NULL && rest->numbers != NULL && rest->weights != NULL;
  return have ? DZO_OK : DZO_E_MEMORY;
}

void msf_rest_close(msf_rest *rest) {
  dzo_free(rest->u);
  dzo_free(rest->v);
  dzo_free(rest->numbers);
  dzo_free(rest->weights);
}

static void put_weight(dzo_weight_type type, void *weights, uint64_t i, uint64_t pattern) {
  dzo_weight w = dzo_weight_of_pattern(type, pattern);
  switch (type) {
  case DZO_WEIGHT_NONE:
    break;
  case DZO_WEIGHT_U32:
    ((uint32_t *)weights)[i] = (uint32_t)w.u64;
    break;
  case DZO_WEIGHT_I64:
    ((int64_t *)weights)[i] = w.i64;
    break;
  case DZO_WEIGHT_U64:
    ((uint64_t *)weights)[i] = w.u64;
    break;
  case DZO_WEIGHT_F32:
    ((float *)weights)[i] = (float)w.f64;
    break;
  case DZO_WEIGHT_F64:
    ((double *)weights)[i] = w.f64;
    break;
  }
}

static void next_of_mirror(msf_rest *rest, dzo_edges *chunk) {
  const msf_mirror *m = rest->mirror;
  uint64_t left = m->count - rest->at, count = left < PIECE ? left : PIECE;
  dzo_weight_type type = rest->frame.weight_type;
  for (uint64_t i = 0; i < count; i++) {
    const stream_edge *e = &m->edges[rest->at + i];
    rest->u[i] = e->u;
    rest->v[i] = e->v;
    rest->numbers[i] = e->number;
    put_weight(type, rest->weights, i, e->key ^ m->flip);
  }
  *chunk = rest->frame;
  chunk->count = count;
  chunk->u = rest->u;
  chunk->v = rest->v;
  chunk->weights = type == DZO_WEIGHT_NONE ? NULL : rest->weights;
  chunk->numbers = rest->numbers;
  rest->at += count;
}

dzo_status msf_rest_next(void *user, dzo_context *context, dzo_edges *chunk) {
  msf_rest *rest = user;
  if (rest->at < rest->mirror->count) {
    next_of_mirror(rest, chunk);
    return DZO_OK;
  }
  bool first = !rest->chunk_given;
  rest->chunk_given = true;
  if (first && (rest->chunk.count > 0 || rest->ended))
    *chunk = rest->chunk;
  else
    DZO_TRY(rest->source->next(rest->source->user, context, chunk));
  rest->later += chunk->count;
  return DZO_OK;
}
