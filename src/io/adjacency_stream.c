/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/weight_map.h"
#include "io/adjacency_part.h"

typedef struct adjacency_stream {
  dzo_adjacency_file file;
  uint64_t next; /* entry */
  dzo_adjacency_walk walk;
  bool one_pass; /* symmetry is checked while reading */
  dzo_adjacency_sums sums;
  /* One a part. */
  dzo_adjacency_sums *part_sums;
  int *part_status;
  /* The chunk. */
  uint64_t capacity;
  dzo_adjacency_target to;
} adjacency_stream;

static void destroy(adjacency_stream *s) {
  dzo_free(s->part_sums);
  dzo_free(s->part_status);
  dzo_free(s->to.u);
  dzo_free(s->to.v);
  dzo_free(s->to.weights);
  dzo_free(s->to.numbers);
  dzo_adjacency_close(&s->file);
  dzo_free(s);
}

static void close_stream(void *user) {
  adjacency_stream *s = user;
  dzo_input *input = s->file.input;
  destroy(s);
  dzo_input_close(input);
}

static void load_part(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  adjacency_stream *s = argument;
  for (uint64_t i = begin; i < end; i++) {
    dzo_adjacency_part *part = &s->file.parts[i];
    uint64_t first = s->next + i * DZO_ADJACENCY_CHUNK, left = s->file.layout.entries - first;
    s->part_status[i] = (int)dzo_adjacency_load(
        &s->file, first, first + (left < DZO_ADJACENCY_CHUNK ? left : DZO_ADJACENCY_CHUNK), part);
    if (s->part_status[i] == DZO_OK && part->bad == UINT64_MAX && s->one_pass)
      dzo_adjacency_sum(&s->file, part, &s->part_sums[i]);
  }
}

/* Load as many parts as there are and as the chunk has room for, and put their edges. */
static dzo_status take_parts(adjacency_stream *s) {
  uint64_t left = (s->file.layout.entries - s->next - 1) / DZO_ADJACENCY_CHUNK + 1;
  uint64_t room = (s->capacity - s->to.at) / DZO_ADJACENCY_CHUNK;
  uint64_t parts = (uint64_t)s->file.part_count;
  parts = parts < left ? parts : left;
  parts = parts < room ? parts : room;
  dzo_parallel_for(s->file.context->threads, parts, 1, load_part, s);
  for (uint64_t i = 0; i < parts; i++) {
    const dzo_adjacency_part *part = &s->file.parts[i];
    if (s->part_status[i] != DZO_OK)
      return (dzo_status)s->part_status[i];
    if (part->bad != UINT64_MAX)
      return dzo_adjacency_fail_entry(&s->file, part->bad);
    if (s->one_pass)
      dzo_adjacency_add_sum(&s->sums, &s->part_sums[i], s->walk.parity);
    dzo_adjacency_emit(&s->file, part, &s->walk, &s->to);
    s->next = part->end;
  }
  return DZO_OK;
}

static dzo_status check_sums(adjacency_stream *s) {
  return dzo_adjacency_check_symmetric(&s->file, s->sums.pairs[0] == 0 && s->sums.pairs[1] == 0,
                                       s->sums.loops[0] == 0 && s->sums.loops[1] == 0);
}

static dzo_status next_chunk(void *user, dzo_context *context, dzo_edges *chunk) {
  adjacency_stream *s = user;
  *chunk = (dzo_edges){.vertices = s->file.layout.vertices, .weight_type = s->file.type};
  uint64_t entries = s->file.layout.entries, first = s->next;
  s->to.at = 0;
  while (s->next < entries && s->capacity - s->to.at >= DZO_ADJACENCY_CHUNK)
    DZO_TRY(take_parts(s));
  if (s->next == entries && s->one_pass)
    DZO_TRY(check_sums(s));
  DZO_TRY(dzo_progress(context, "read", s->next, entries));
  chunk->count = s->to.at;
  chunk->u = s->to.u;
  chunk->v = s->to.v;
  chunk->weights = s->to.weights;
  if (s->to.numbers != NULL)
    chunk->numbers = s->to.numbers;
  else
    chunk->first_number = first;
  /* Entries that give no edge must not look like the end. */
  return chunk->count == 0 && s->next < entries ? next_chunk(user, context, chunk) : DZO_OK;
}

static dzo_status make_room(adjacency_stream *s) {
  dzo_context *context = s->file.context;
  size_t weight = dzo_weight_bytes(s->file.type);
  uint64_t chunk = dzo_stream_chunk_edges(context, 4 + 4 + 8 + weight);
  uint64_t all =
      s->file.layout.entries > DZO_ADJACENCY_CHUNK ? s->file.layout.entries : DZO_ADJACENCY_CHUNK;
  s->capacity = chunk < all ? chunk : all;
  if (s->capacity < DZO_ADJACENCY_CHUNK)
    s->capacity = DZO_ADJACENCY_CHUNK;
  s->to.end = s->capacity;
  s->to.u = dzo_alloc(context, s->capacity, sizeof *s->to.u);
  s->to.v = dzo_alloc(context, s->capacity, sizeof *s->to.v);
  if (s->to.u == NULL || s->to.v == NULL)
    return DZO_E_MEMORY;
  if (weight > 0 && (s->to.weights = dzo_alloc(context, s->capacity, weight)) == NULL)
    return DZO_E_MEMORY;
  if (s->file.layout.symmetry != DZO_DIRECTED &&
      (s->to.numbers = dzo_alloc(context, s->capacity, sizeof *s->to.numbers)) == NULL)
    return DZO_E_MEMORY;
  uint64_t parts = (uint64_t)s->file.part_count;
  s->part_sums = dzo_calloc(context, parts, sizeof *s->part_sums);
  s->part_status = dzo_calloc(context, parts, sizeof *s->part_status);
  return s->part_sums != NULL && s->part_status != NULL ? DZO_OK : DZO_E_MEMORY;
}

static dzo_status open_stream(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                              adjacency_stream *s) {
  DZO_TRY(dzo_adjacency_open(context, input, layout, context->threads, &s->file));
  const dzo_adjacency *a = &s->file.layout;
  s->one_pass = a->symmetry == DZO_SYMMETRIC_LOOPS2 && a->stored == DZO_STORED_F64;
  s->file.type = DZO_WEIGHT_F64;
  if (!s->one_pass)
    DZO_TRY(dzo_adjacency_scan(&s->file, 2));
  return make_room(s);
}

dzo_status dzo_adjacency_stream(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                                dzo_edge_source *out) {
  adjacency_stream *s = dzo_calloc(context, 1, sizeof *s);
  if (s == NULL)
    return DZO_E_MEMORY;
  dzo_status status = open_stream(context, input, layout, s);
  if (status != DZO_OK) {
    destroy(s);
    return status;
  }
  *out = (dzo_edge_source){.user = s, .next = next_chunk, .close = close_stream};
  return DZO_OK;
}
