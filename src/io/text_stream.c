/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Text as a source of edges, in blocks of a few megabytes.
 *
 * All chunks have one type of weight. Where the format does not declare it, it is settled when the
 * source is opened: by the whole first block, and by samples of a few lines all over the input if
 * that is a regular file. A weight further down that does not fit is an error that names its line.
 * Vertices that are not declared are numbered by first appearance. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "io/blocks.h"
#include "io/metis_rows.h"
#include "io/text.h"
#include "io/vertex_ids.h"

enum { SAMPLES = 64, SAMPLE_BYTES = 4096 };

typedef struct text_stream {
  dzo_context *context;
  dzo_input *input; /* owned */
  dzo_text_layout layout;
  dzo_blocks blocks;
  dzo_text_block block; /* the one parsed last */
  dzo_text_edges edges;
  uint64_t given; /* edges before this block */
  bool pending;   /* the block is parsed but not handed out */
  dzo_vertex_ids *ids;
  uint32_t *end[2]; /* [ends_capacity], where the parser does not make them */
  uint64_t ends_capacity;
} text_stream;

static void close_text(void *user) {
  text_stream *s = user;
  dzo_text_edges_release(&s->edges);
  dzo_vertex_ids_destroy(s->ids);
  dzo_free(s->end[0]);
  dzo_free(s->end[1]);
  dzo_blocks_close(&s->blocks);
  dzo_input_close(s->input);
  dzo_free(s);
}

/* Parse a block when the type of weights is settled. */
static dzo_status parse(text_stream *s) {
  dzo_text_event happened, *event = &happened;
  DZO_TRY(dzo_text_parse(s->context, &s->layout, &s->block, &s->edges, event));
  if (event->stop == DZO_TEXT_GOES_ON)
    return DZO_OK;
  if (event->stop == DZO_TEXT_FAILED || event->stop == DZO_TEXT_CONFLICT)
    return dzo_text_refuse_event(s->context, s->layout.name, event);
  return dzo_text_refuse(
      s->context, s->layout.name, event->line, DZO_E_UNSUPPORTED,
      event->stop == DZO_TEXT_WANTS_F64
          ? "a decimal after a stream of integers; begin the file with a decimal, or do not stream"
          : "an integer over 2^63 - 1 after a stream of smaller ones; do not stream");
}

static dzo_status next_block(text_stream *s, bool first) {
  s->block.line += s->block.lines;
  s->given += s->edges.count;
  DZO_TRY(dzo_blocks_next(&s->blocks, &s->block.begin, &s->block.end));
  DZO_TRY(first ? dzo_text_settle(s->context, &s->layout, &s->block, &s->edges) : parse(s));
  DZO_TRY(dzo_text_check(s->context, &s->layout, &s->block, &s->edges, s->given, s->blocks.ended));
  return dzo_blocks_progress(&s->blocks);
}

static dzo_status make_ends(text_stream *s) {
  uint64_t count = s->edges.count;
  if (count > s->ends_capacity) {
    for (int i = 0; i < 2; i++) {
      dzo_free(s->end[i]);
      s->end[i] = dzo_alloc(s->context, s->edges.capacity, sizeof *s->end[i]);
      s->ends_capacity = 0;
      if (s->end[i] == NULL)
        return DZO_E_MEMORY;
    }
    s->ends_capacity = s->edges.capacity;
  }
  if (s->layout.part != DZO_ARRAY_NONE)
    dzo_text_array_ends(&s->layout, s->given, count, s->end[0], s->end[1]);
  else
    DZO_TRY(dzo_vertex_ids_add(s->context, s->ids, s->edges.u64, count, s->end[0], s->end[1]));
  return DZO_OK;
}

static dzo_status next_text(void *user, dzo_context *context, dzo_edges *chunk) {
  text_stream *s = user;
  (void)context;
  if (!s->pending && s->blocks.ended) {
    s->given += s->edges.count;
    s->edges.count = 0;
  }
  while (!s->pending && !s->blocks.ended) {
    DZO_TRY(next_block(s, false));
    s->pending = s->edges.count > 0;
  }
  s->pending = false;
  bool made = s->layout.part != DZO_ARRAY_NONE || !s->layout.declared;
  if (made)
    DZO_TRY(make_ends(s));
  *chunk = (dzo_edges){
      .vertices = s->layout.declared ? s->layout.vertices : dzo_vertex_ids_count(s->ids),
      .count = s->edges.count,
      .u = made ? s->end[0] : s->edges.u32[0],
      .v = made ? s->end[1] : s->edges.u32[1],
      .weight_type = s->layout.weight,
      .weights = s->edges.weights,
      .first_number = s->given,
      .labels = s->layout.declared ? NULL : dzo_vertex_ids_labels(s->ids),
      .first_label = s->layout.declared ? s->layout.first_label : 0,
  };
  return DZO_OK;
}

/* Look for decimals all over a file that can be read at random. */
static dzo_status sample_weights(text_stream *s) {
  uint64_t size = dzo_input_size(s->input);
  if (s->layout.weight == DZO_WEIGHT_NONE || s->layout.weight == DZO_WEIGHT_F64 ||
      s->layout.integers_only || s->blocks.ended || !dzo_input_is_random(s->input))
    return DZO_OK;
  char sample[SAMPLE_BYTES];
  for (uint64_t i = 1; i <= SAMPLES; i++) {
    uint64_t at = size > SAMPLE_BYTES ? (size - SAMPLE_BYTES) / SAMPLES * i : 0;
    uint64_t bytes = size - at < SAMPLE_BYTES ? size - at : SAMPLE_BYTES;
    DZO_TRY(dzo_input_read_at(s->context, s->input, at, sample, bytes));
    const char *first = memchr(sample, '\n', (size_t)bytes);
    if (first == NULL)
      continue;
    dzo_text_block block = {.begin = first + 1, .end = sample + bytes};
    if (dzo_text_sample_decimals(&s->layout, &block)) {
      s->layout.weight = DZO_WEIGHT_F64;
      return dzo_text_settle(s->context, &s->layout, &s->block, &s->edges);
    }
  }
  return DZO_OK;
}

/* The head, without a last line that it cuts. */
static dzo_status run_prologue(text_stream *s, dzo_text_prologue prologue) {
  size_t size;
  const char *head = (const char *)dzo_input_head(s->input, &size);
  bool complete = dzo_input_size(s->input) == size;
  while (!complete && size > 0 && head[size - 1] != '\n')
    size--;
  s->layout.name = dzo_input_name(s->input);
  return prologue(s->context, head, size, complete, &s->layout);
}

static dzo_status open_text(text_stream *s, dzo_text_prologue prologue) {
  DZO_TRY(run_prologue(s, prologue));
  s->edges.wide = !s->layout.declared;
  s->block.line = s->layout.line;
  DZO_TRY(dzo_blocks_open(s->context, s->input, s->layout.offset, &s->blocks));
  if (!s->layout.declared)
    DZO_TRY(dzo_vertex_ids_create(s->context, &s->ids));
  DZO_TRY(next_block(s, true));
  s->pending = s->edges.count > 0;
  return sample_weights(s);
}

dzo_status dzo_text_stream(dzo_context *context, dzo_input *input, dzo_text_prologue prologue,
                           dzo_edge_source *out) {
  text_stream *s = dzo_calloc(context, 1, sizeof *s);
  if (s == NULL)
    return DZO_E_MEMORY;
  s->context = context;
  s->input = input;
  dzo_status status = open_text(s, prologue);
  if (status != DZO_OK) {
    s->input = NULL; /* stays the caller's */
    close_text(s);
    return status;
  }
  *out = (dzo_edge_source){s, next_text, close_text};
  return DZO_OK;
}

/* ---- METIS ----------------------------------------------------------------------------------- */

typedef struct metis_stream {
  dzo_input *input; /* owned */
  dzo_blocks blocks;
  dzo_metis_rows rows;
  dzo_metis_edges edges;
} metis_stream;

static void close_metis(void *user) {
  metis_stream *s = user;
  dzo_metis_edges_release(&s->edges);
  dzo_blocks_close(&s->blocks);
  dzo_input_close(s->input);
  dzo_free(s);
}

static dzo_status next_metis(void *user, dzo_context *context, dzo_edges *chunk) {
  metis_stream *s = user;
  (void)context;
  s->edges.count = 0;
  while (s->edges.count == 0 && !s->blocks.ended) {
    const char *begin, *end;
    DZO_TRY(dzo_blocks_next(&s->blocks, &begin, &end));
    DZO_TRY(dzo_metis_parse(&s->rows, begin, end, &s->edges));
    if (s->blocks.ended)
      DZO_TRY(dzo_metis_finish(&s->rows, NULL, 0));
    DZO_TRY(dzo_blocks_progress(&s->blocks));
  }
  *chunk = (dzo_edges){
      .vertices = s->rows.header.vertices,
      .count = s->edges.count,
      .u = s->edges.u,
      .v = s->edges.v,
      .weight_type = s->rows.header.weights ? DZO_WEIGHT_I64 : DZO_WEIGHT_NONE,
      .weights = s->edges.weights,
      .numbers = s->edges.numbers,
      .first_label = 1,
  };
  return DZO_OK;
}

static dzo_status open_metis(metis_stream *s) {
  dzo_context *context = s->rows.context;
  size_t size;
  const char *head = (const char *)dzo_input_head(s->input, &size);
  bool complete = dzo_input_size(s->input) == size;
  while (!complete && size > 0 && head[size - 1] != '\n')
    size--;
  DZO_TRY(dzo_metis_take_header(context, dzo_input_name(s->input), head, size, complete,
                                &s->rows.header));
  s->rows.line = s->rows.header.line;
  return dzo_blocks_open(context, s->input, s->rows.header.offset, &s->blocks);
}

dzo_status dzo_metis_stream(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  metis_stream *s = dzo_calloc(context, 1, sizeof *s);
  if (s == NULL)
    return DZO_E_MEMORY;
  s->input = input;
  s->rows.context = context;
  dzo_status status = open_metis(s);
  if (status != DZO_OK) {
    s->input = NULL;
    close_metis(s);
    return status;
  }
  *out = (dzo_edge_source){s, next_metis, close_metis};
  return DZO_OK;
}
