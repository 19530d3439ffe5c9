/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edges that are seen once, filtered on the GPU. What cannot be done there (the GPU fails, or the
 * input is odd) is left to the CPU's stream, which goes on from the mirror. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "msf/cpu.h"
#include "msf/gpu_mirror.h"
#include "msf/gpu_ring.h"
#include "msf/gpu_stream.h"

enum { PACK_GRAIN = 1 << 13 };

typedef struct source_stream {
  dzo_context *context;
  const dzo_edge_source *source;
  bool hybrid;
  bool open; /* the ring is */
  bool named;
  dzo_weight_type type;
  uint64_t units; /* edges of a chunk of the ring, at most */
  msf_ring ring;
  msf_packed packed[MSF_SLOTS_MAX];
  uint64_t filled; /* chunks packed for the ring */
  msf_mirror mirror;
  bool replaying;  /* the mirror's own edges are on their way to a new ring */
  dzo_edges chunk; /* of the source, being read */
  uint64_t at;     /* edges of it that were taken */
  bool ended;
  dzo_edges frame;      /* vertices, labels and weight type of what was taken */
  uint64_t edges;       /* taken from the source */
  uint64_t next_number; /* edge numbers must not be below */
} source_stream;

/* What is left to the CPU, without a word, since nothing is wrong with the GPU. */
static dzo_status leave(source_stream *s) {
  s->context->message[0] = '\0';
  return DZO_E_UNSUPPORTED;
}

/* ---- Packing --------------------------------------------------------------------------------- */

typedef struct pack_job {
  const dzo_edges *chunk;
  uint64_t at;
  uint64_t first_number;
  uint32_t *u, *v, *ids;
  void *keys;
  unsigned key_bytes;
  uint64_t bad; /* accessed atomically: an edge that is not legal, or UINT64_MAX */
} pack_job;

static bool is_nan(const dzo_edges *e, uint64_t i) {
  if (e->weight_type == DZO_WEIGHT_F32)
    return __builtin_isnan(((const float *)e->weights)[i]);
  return e->weight_type == DZO_WEIGHT_F64 && __builtin_isnan(((const double *)e->weights)[i]);
}

static void pack_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  pack_job *job = argument;
  const dzo_edges *e = job->chunk;
  for (uint64_t k = begin; k < end; k++) {
    uint64_t i = job->at + k;
    uint32_t u = e->u[i], v = e->v[i];
    if (u >= e->vertices || v >= e->vertices || is_nan(e, i))
      dzo_min_u64(&job->bad, i);
    if (e->numbers != NULL && i > 0 && e->numbers[i] <= e->numbers[i - 1])
      dzo_min_u64(&job->bad, i);
    job->u[k] = u;
    job->v[k] = v;
    job->ids[k] = (uint32_t)(dzo_edge_number(e, i) - job->first_number);
    uint64_t pattern = dzo_weight_pattern(e->weight_type, e->weights, i);
    if (job->key_bytes == 8)
      ((uint64_t *)job->keys)[k] = pattern;
    else if (job->key_bytes == 4)
      ((uint32_t *)job->keys)[k] = (uint32_t)pattern;
  }
}

/* Edges from `at` on whose numbers 32 bits tell apart, at most `most`. */
static uint64_t in_reach(const dzo_edges *e, uint64_t at, uint64_t most) {
  if (e->numbers == NULL || e->numbers[at + most - 1] - e->numbers[at] <= UINT32_MAX)
    return most;
  uint64_t count = 1;
  while (count < most && e->numbers[at + count] > e->numbers[at] &&
         e->numbers[at + count] - e->numbers[at] <= UINT32_MAX)
    count++;
  return count;
}

/* Pack edges of the source's chunk into the next slot; how many. */
static dzo_status pack_edges(source_stream *s, uint64_t *count) {
  const dzo_edges *e = &s->chunk;
  uint64_t left = e->count - s->at, most = left < s->units ? left : s->units;
  *count = in_reach(e, s->at, most);
  msf_packed *packed = &s->packed[s->filled % s->ring.slots];
  char *slot = msf_ring_slot(&s->ring, s->filled);
  *packed = (msf_packed){.first_id = dzo_edge_number(e, s->at)};
  msf_packed_place(packed, s->mirror.key_bytes, (uint32_t)*count, 0);
  pack_job job = {.chunk = e,
                  .at = s->at,
                  .first_number = packed->first_id,
                  .u = (uint32_t *)(void *)(slot + packed->u),
                  .v = (uint32_t *)(void *)(slot + packed->v),
                  .ids = (uint32_t *)(void *)(slot + packed->ids),
                  .keys = slot + packed->keys,
                  .key_bytes = s->mirror.key_bytes,
                  .bad = UINT64_MAX};
  if (packed->first_id < s->next_number)
    return leave(s);
  dzo_parallel_for(s->context->threads, *count, PACK_GRAIN, pack_range, &job);
  if (job.bad != UINT64_MAX)
    return leave(s);
  s->next_number = dzo_edge_number(e, s->at + *count - 1) + 1;
  return DZO_OK;
}

/* ---- Sending --------------------------------------------------------------------------------- */

static dzo_status retain(void *argument, uint64_t chunk, const uint32_t *masks) {
  source_stream *s = argument;
  const msf_packed *packed = &s->packed[chunk % s->ring.slots];
  if (s->replaying || packed->edges == 0)
    return DZO_OK;
  return msf_mirror_add(&s->mirror, packed, msf_ring_slot(&s->ring, chunk), masks);
}

/* Merge on the GPU, and in the mirror. */
static dzo_status merge(source_stream *s) {
  uint64_t count = 0, words;
  uint32_t *taken;
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  if (count == 0)
    return msf_ring_merge(&s->ring);
  words = (count + 31) / 32;
  uint32_t *bits = dzo_alloc(s->context, words, sizeof *bits);
  dzo_status status = bits != NULL ? msf_ring_merge(&s->ring) : DZO_E_MEMORY;
  if (status == DZO_OK)
    status = msf_filter_taken(&s->ring.filter, count, &taken);
  if (status == DZO_OK)
    status = msf_ring_fetch_words(&s->ring, MSF_RING_FILTERS, taken, words, bits);
  if (status == DZO_OK && count != s->mirror.count)
    status = dzo_fail(s->context, DZO_E_INTERNAL, "the mirror of a stream differs from it");
  if (status == DZO_OK)
    status = msf_mirror_keep(&s->mirror, bits);
  dzo_free(bits);
  return status;
}

/* Merging uses the slots, so there must be room before a chunk is packed. */
static dzo_status make_room(source_stream *s) {
  bool fits;
  DZO_TRY(msf_ring_has_room(&s->ring, s->units, &fits));
  return fits ? DZO_OK : merge(s);
}

/* Send the chunk that was packed last. */
static dzo_status send_packed(source_stream *s) {
  s->filled++;
  DZO_TRY(msf_ring_submit(&s->ring, &s->packed[(s->filled - 1) % s->ring.slots]));
  while (s->filled - msf_ring_released(&s->ring) >= s->ring.slots)
    DZO_TRY(msf_ring_reclaim(&s->ring));
  return DZO_OK;
}

/* ---- Growing --------------------------------------------------------------------------------- */

/* Of the memory that the context may take: a quarter for the mirror, about as much for slots. */
enum { MIRROR_SHARE = 4, PIECE_SHARE = 512 };

static msf_ring_shape shape_of(const source_stream *s, uint64_t room) {
  uint64_t memory = s->context->memory, piece = s->chunk.count;
  if (memory > 0 && piece > memory / PIECE_SHARE)
    piece = memory / PIECE_SHARE + 1;
  return (msf_ring_shape){
      .filter = {.room = room,
                 .wide = s->mirror.key_bytes == 8,
                 .named = s->named,
                 .long_ids = true,
                 .flip = s->mirror.key_bytes == 8 ? s->mirror.flip : s->mirror.flip & UINT32_MAX},
      .edges = UINT64_MAX,
      .piece = piece,
      .most = memory / MIRROR_SHARE / sizeof(stream_edge),
      .key_bytes = s->mirror.key_bytes,
      .lists = true,
      .retain = true,
      .threads = 2};
}

/* A ring with some room to grow, or, if there is no memory for that, without. */
static dzo_status open_ring(source_stream *s, uint64_t vertices) {
  dzo_unit *unit = s->ring.unit;
  msf_ring_shape shape = shape_of(s, vertices + vertices / 2 + 64);
  if (msf_ring_fit(&shape, unit) != DZO_OK) {
    shape = shape_of(s, vertices + 1);
    DZO_TRY(msf_ring_fit(&shape, unit));
    s->context->message[0] = '\0';
  }
  if (shape.filter.room > MSF_FILTER_VERTICES_MAX)
    return dzo_fail(s->context, DZO_E_UNSUPPORTED, "%llu vertices are too many for the GPU",
                    (unsigned long long)vertices);
  DZO_TRY(msf_ring_open(&s->ring, unit, &shape));
  s->ring.retain = retain;
  s->ring.retain_argument = s;
  s->units = shape.units;
  s->filled = 0;
  return DZO_OK;
}

static dzo_status set_vertices(source_stream *s, uint64_t vertices, const uint64_t *labels) {
  msf_filter *filter = &s->ring.filter;
  uint64_t before = filter->vertices;
  if (vertices > before && s->named)
    DZO_TRY(dzo_unit_copy(s->ring.unit, 0, filter->names + before, labels + before,
                          (vertices - before) * sizeof *labels));
  return vertices > before || before == 0 ? msf_filter_vertices(filter, vertices) : DZO_OK;
}

static void pack_mirror(source_stream *s, uint64_t at, uint64_t count) {
  msf_packed *packed = &s->packed[s->filled % s->ring.slots];
  char *slot = msf_ring_slot(&s->ring, s->filled);
  const stream_edge *edges = s->mirror.edges + at;
  *packed = (msf_packed){.first_id = edges[0].number};
  msf_packed_place(packed, s->mirror.key_bytes, (uint32_t)count, 0);
  for (uint64_t i = 0; i < count; i++) {
    ((uint32_t *)(void *)(slot + packed->u))[i] = edges[i].u;
    ((uint32_t *)(void *)(slot + packed->v))[i] = edges[i].v;
    ((uint32_t *)(void *)(slot + packed->ids))[i] = (uint32_t)(edges[i].number - edges[0].number);
    uint64_t pattern = edges[i].key ^ s->mirror.flip;
    if (s->mirror.key_bytes == 8)
      ((uint64_t *)(void *)(slot + packed->keys))[i] = pattern;
    else if (s->mirror.key_bytes == 4)
      ((uint32_t *)(void *)(slot + packed->keys))[i] = (uint32_t)pattern;
  }
}

/* The mirror's edges to a new ring, which keeps them all. */
static dzo_status replay(source_stream *s) {
  uint64_t count;
  s->replaying = true;
  for (uint64_t at = 0; at < s->mirror.count; at += count) {
    const stream_edge *edges = s->mirror.edges + at;
    uint64_t left = s->mirror.count - at, most = left < s->units ? left : s->units;
    for (count = 1; count < most && edges[count].number - edges[0].number <= UINT32_MAX;)
      count++;
    pack_mirror(s, at, count);
    DZO_TRY(send_packed(s));
  }
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  s->replaying = false;
  return DZO_OK;
}

static dzo_status reopen_ring(source_stream *s, uint64_t vertices, const uint64_t *labels) {
  DZO_TRY(merge(s));
  uint64_t count;
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  s->ring.filter.vertices = 0;
  DZO_TRY(open_ring(s, vertices));
  DZO_TRY(set_vertices(s, vertices, labels));
  return replay(s);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Odd chunks are left to the CPU, which says what is wrong with them. */
static bool is_regular(const source_stream *s, const dzo_edges *chunk) {
  if (dzo_edges_check_shape(s->context, chunk) != DZO_OK)
    return false;
  return !s->open || (chunk->weight_type == s->type && chunk->vertices >= s->ring.filter.vertices &&
                      (chunk->labels != NULL) == s->named);
}

static dzo_status open_stream(source_stream *s, const dzo_edges *chunk) {
  s->type = chunk->weight_type;
  s->named = chunk->labels != NULL;
  bool narrow = s->type == DZO_WEIGHT_U32 || s->type == DZO_WEIGHT_F32;
  s->mirror.key_bytes = s->type == DZO_WEIGHT_NONE ? 0 : narrow ? 4 : 8;
  DZO_TRY(open_ring(s, chunk->vertices));
  s->open = true;
  return set_vertices(s, chunk->vertices, chunk->labels);
}

static dzo_status frame_chunk(source_stream *s) {
  const dzo_edges *chunk = &s->chunk;
  s->frame = *chunk;
  if (!s->open)
    return open_stream(s, chunk);
  if (chunk->vertices > s->ring.filter.shape.room)
    return reopen_ring(s, chunk->vertices, chunk->labels);
  return set_vertices(s, chunk->vertices, chunk->labels);
}

static dzo_status take_chunk(source_stream *s) {
  const dzo_edges *chunk = &s->chunk;
  if (!is_regular(s, chunk))
    return leave(s);
  DZO_TRY(frame_chunk(s));
  while (s->at < chunk->count) {
    uint64_t count;
    DZO_TRY(make_room(s));
    DZO_TRY(pack_edges(s, &count));
    s->at += count;
    s->edges += count;
    DZO_TRY(send_packed(s));
    DZO_TRY(dzo_progress(s->context, "solve", s->edges, 0));
  }
  return DZO_OK;
}

/* ---- The result ------------------------------------------------------------------------------ */

static void fill_edges(source_stream *s, dzo_msf *out) {
  const msf_mirror *m = &s->mirror;
  const uint64_t *labels = s->frame.labels;
  msf_sum sum;
  msf_sum_init(&sum);
  for (uint64_t i = 0; i < m->count; i++) {
    const stream_edge *e = &m->edges[i];
    bool ordered = stream_name(labels, e->u) < stream_name(labels, e->v);
    out->edges[i] = e->number;
    out->u[i] = ordered ? e->u : e->v;
    out->v[i] = ordered ? e->v : e->u;
    out->patterns[i] = e->key ^ m->flip;
    msf_sum_add(&sum, s->type, out->patterns[i]);
  }
  out->weight = msf_sum_weight(&sum, s->type);
}

/* The source's last chunk has no edges, but may have more vertices. */
static dzo_status take_end(source_stream *s) {
  if (!s->open)
    return leave(s);
  if (s->chunk.vertices <= s->ring.filter.vertices)
    return DZO_OK;
  if (s->named && s->chunk.labels == NULL)
    return leave(s);
  s->frame.labels = s->chunk.labels;
  s->frame.vertices = s->chunk.vertices;
  if (s->chunk.vertices > s->ring.filter.shape.room)
    return reopen_ring(s, s->chunk.vertices, s->chunk.labels);
  return set_vertices(s, s->chunk.vertices, s->chunk.labels);
}

static dzo_status make_result(source_stream *s, dzo_msf *out) {
  DZO_TRY(merge(s));
  uint64_t count;
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  out->vertices = s->ring.filter.vertices;
  out->graph_edges = s->edges;
  out->weight_type = s->type;
  out->count = s->mirror.count;
  const msf_filter_control *control;
  DZO_TRY(msf_ring_forest(&s->ring, &control));
  out->components = control->components;
  out->edges = dzo_alloc(s->context, out->count, sizeof *out->edges);
  out->u = dzo_alloc(s->context, out->count, sizeof *out->u);
  out->v = dzo_alloc(s->context, out->count, sizeof *out->v);
  out->patterns = dzo_alloc(s->context, out->count, sizeof *out->patterns);
  out->component_of = dzo_alloc(s->context, out->vertices, sizeof *out->component_of);
  if (out->edges == NULL || out->u == NULL || out->v == NULL || out->patterns == NULL ||
      out->component_of == NULL)
    return DZO_E_MEMORY;
  uint32_t *labels;
  DZO_TRY(msf_filter_labels(&s->ring.filter, &labels));
  DZO_TRY(
      msf_ring_fetch_words(&s->ring, MSF_RING_FILTERS, labels, out->vertices, out->component_of));
  fill_edges(s, out);
  out->device = s->hybrid ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
  (void)snprintf(
      out->plan, sizeof out->plan, "streamed through the GPU: %llu merges of up to %llu edges",
      (unsigned long long)s->ring.merges, (unsigned long long)s->ring.filter.shape.capacity);
  return DZO_OK;
}

/* ---- The CPU takes over ---------------------------------------------------------------------- */

/* What is packed and was not yet told to the mirror. */
static dzo_status mirror_rest(source_stream *s) {
  if (!s->open || s->replaying)
    return DZO_OK;
  for (uint64_t chunk = s->ring.retained; chunk < s->filled; chunk++)
    DZO_TRY(msf_mirror_add(&s->mirror, &s->packed[chunk % s->ring.slots],
                           msf_ring_slot(&s->ring, chunk), NULL));
  return DZO_OK;
}

/* The part of a chunk from edge `at` on. */
static dzo_edges chunk_from(const dzo_edges *chunk, uint64_t at) {
  dzo_edges rest = *chunk;
  rest.count -= at;
  rest.first_number += at;
  if (at == 0)
    return rest;
  rest.u += at;
  rest.v += at;
  rest.numbers = chunk->numbers != NULL ? chunk->numbers + at : NULL;
  if (chunk->weights != NULL)
    rest.weights = (const char *)chunk->weights + at * dzo_weight_bytes(chunk->weight_type);
  return rest;
}

static dzo_status go_on(source_stream *s, bool maximum, dzo_msf *out) {
  DZO_TRY(mirror_rest(s));
  msf_rest rest = {.mirror = &s->mirror, .frame = s->frame, .ended = s->ended, .source = s->source};
  rest.chunk = chunk_from(&s->chunk, s->at);
  uint64_t mirrored = s->mirror.count;
  dzo_status status = msf_rest_open(&rest, s->context);
  dzo_edge_source source = {.user = &rest, .next = msf_rest_next};
  if (status == DZO_OK)
    status = msf_stream_cpu(s->context, &source, maximum, out);
  msf_rest_close(&rest);
  if (status == DZO_OK)
    out->graph_edges += s->edges - mirrored;
  return status;
}

static dzo_status take_over(source_stream *s, bool maximum, dzo_msf *out) {
  char reason[sizeof s->context->message];
  memcpy(reason, s->context->message, sizeof reason);
  dzo_begin(s->context);
  if (reason[0] != '\0')
    dzo_notice(s->context, "%s; solved on the CPU", reason);
  msf_reset(out);
  return go_on(s, maximum, out);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* *failed: by the source, or on purpose; not by the GPU. */
static dzo_status run(source_stream *s, dzo_msf *out, bool *failed) {
  for (;;) {
    dzo_edges chunk = {0};
    *failed = true;
    DZO_TRY(s->source->next(s->source->user, s->context, &chunk));
    *failed = false;
    s->chunk = chunk;
    s->at = 0;
    s->ended = chunk.count == 0;
    if (s->ended)
      break;
    DZO_TRY(take_chunk(s));
  }
  DZO_TRY(take_end(s));
  return make_result(s, out);
}

dzo_status msf_stream_gpu(dzo_unit *unit, const dzo_edge_source *source, bool maximum, bool hybrid,
                          dzo_msf *out) {
  source_stream s = {.context = unit->context, .source = source, .hybrid = hybrid};
  s.ring.unit = unit;
  s.mirror = (msf_mirror){.context = unit->context, .flip = maximum ? UINT64_MAX : 0};
  bool failed = false;
  dzo_status status = run(&s, out, &failed);
  if (status != DZO_OK)
    msf_ring_abandon(&s.ring);
  if (!failed && (status == DZO_E_DEVICE || status == DZO_E_MEMORY || status == DZO_E_UNSUPPORTED))
    status = take_over(&s, maximum, out);
  dzo_free(s.mirror.edges);
  return status;
}
