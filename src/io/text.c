/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/text.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "io/number.h"

enum { LEAST_CHUNK = 1 << 12, MOST_CHUNK = 1 << 20 };

/* ---- The fast way through a line ------------------------------------------------------------- */

#define HOT static inline __attribute__((always_inline))

/* Blanks within a line; a tab that separates columns is none. */
HOT const char *skip_blanks(const char *p, const char *end, char separator) {
  while (p < end && (*p == ' ' || *p == '\r' || (*p == '\t' && separator != '\t')))
    p++;
  return p;
}

/* From behind a column to the begin of the next one, or NULL. */
HOT const char *next_column(const char *p, const char *end, char separator) {
  const char *q = skip_blanks(p, end, separator);
  if (separator == '\0')
    return q > p ? q : NULL;
  return q < end && *q == separator ? skip_blanks(q + 1, end, separator) : NULL;
}

HOT const char *fast_end(const dzo_text_layout *l, const char *p, const char *end, uint64_t *out) {
  uint64_t value = 0;
  const char *q = dzo_parse_digits(p, end, &value);
  if (q == p || q - p > 19)
    return NULL;
  *out = value - l->first_label;
  if (l->declared && *out >= l->vertices)
    return NULL;
  return q;
}

HOT const char *fast_weight(const char *p, const char *end, dzo_weight_type type,
                            const dzo_text_layout *l, dzo_text_edge *edge, bool *decimals) {
  if (type == DZO_WEIGHT_F64) {
    bool integer;
    p = dzo_parse_double(p, end, &edge->weight.f64, &integer);
    *decimals |= !integer;
    bool exact = l->real || !integer ||
                 (edge->weight.f64 < 9007199254740992.0 && edge->weight.f64 > -9007199254740992.0);
    return exact ? p : NULL;
  }
  bool negative = p < end && *p == '-';
  if (negative && type == DZO_WEIGHT_U64)
    return NULL;
  p += negative;
  uint64_t value = 0;
  const char *q = dzo_parse_digits(p, end, &value);
  if (q == p || q - p > 18)
    return NULL;
  edge->weight.u64 = negative ? 0 - value : value;
  return q;
}

/* Parse the line at p and return the begin of the next, or NULL if it is not a plain edge. */
HOT const char *fast_line(const dzo_text_layout *l, const char *p, const char *end,
                          dzo_weight_type type, dzo_text_edge *edge, bool *decimals) {
  char separator = l->separator;
  p = skip_blanks(p, end, separator);
  if (l->tag != '\0') {
    if (end - p < 2 || *p != l->tag)
      return NULL;
    p = next_column(p + 1, end, '\0');
  }
  if (l->part == DZO_ARRAY_NONE) {
    if (p == NULL || (p = fast_end(l, p, end, &edge->end[0])) == NULL)
      return NULL;
    p = next_column(p, end, separator);
    if (p == NULL || (p = fast_end(l, p, end, &edge->end[1])) == NULL)
      return NULL;
    if (type != DZO_WEIGHT_NONE)
      p = next_column(p, end, separator);
  }
  if (p == NULL ||
      (type != DZO_WEIGHT_NONE && (p = fast_weight(p, end, type, l, edge, decimals)) == NULL))
    return NULL;
  const char *q = skip_blanks(p, end, separator);
  if (q == end)
    return end;
  if (*q == '\n')
    return q + 1;
  if (!l->extra_columns || (separator == '\0' ? q == p : *q != separator))
    return NULL;
  const char *stop = memchr(q, '\n', (size_t)(end - q));
  return stop != NULL ? stop + 1 : end;
}

/* ---- Blocks, cut into chunks of lines -------------------------------------------------------- */

typedef struct chunk {
  const char *begin, *end;
  uint64_t lines, line; /* how many, and the number of the first */
  uint64_t slot;        /* where its edges go */
  uint64_t room;        /* slots it may need */
  uint64_t count;       /* edges found */
  bool decimals;
} chunk;

typedef struct job {
  dzo_context *context;
  const dzo_text_layout *layout;
  dzo_text_block *block;
  dzo_text_edges *edges;
  bool plain; /* the columns are in order, so that the fast way may be tried */
  uint64_t chunk_bytes, chunks;
  chunk *chunk;
  uint64_t stopped;       /* the first chunk that stopped; accessed atomically */
  uint64_t done;          /* bytes; accessed atomically */
  dzo_text_event *events; /* [threads], each thread's only one */
  uint64_t *event_chunk;  /* [threads] */
} job;

static uint64_t count_newlines(const char *p, const char *end) {
  uint64_t total = 0;
  while (end - p >= 8) {
    uint64_t words = (uint64_t)(end - p) / 8, sums = 0;
    words = words < 255 ? words : 255;
    for (uint64_t i = 0; i < words; i++, p += 8) {
      uint64_t x;
      memcpy(&x, p, sizeof x);
      x ^= UINT64_C(0x0a0a0a0a0a0a0a0a);
      x = ~(((x & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7f7f7f7f7f7f7f7f)) | x);
      sums += x >> 7 & UINT64_C(0x0101010101010101);
    }
    for (; sums != 0; sums >>= 8)
      total += sums & 255;
  }
  for (; p < end; p++)
    total += *p == '\n';
  return total;
}

const char *dzo_text_line_begin(const char *begin, const char *end, const char *p) {
  if (p == begin || p >= end)
    return p < end ? p : end;
  const char *stop = memchr(p - 1, '\n', (size_t)(end - p + 1));
  return stop != NULL ? stop + 1 : end;
}

static void count_lines(void *argument, uint64_t begin, uint64_t end, int thread) {
  job *j = argument;
  (void)thread;
  uint64_t size = (uint64_t)(j->block->end - j->block->begin);
  uint64_t shortest = j->layout->part == DZO_ARRAY_NONE ? 4 : 2;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t from = i * j->chunk_bytes, to = from + j->chunk_bytes;
    chunk *c = &j->chunk[i];
    c->begin = dzo_text_line_begin(j->block->begin, j->block->end, j->block->begin + from);
    c->end = dzo_text_line_begin(j->block->begin, j->block->end,
                                 j->block->begin + (to < size ? to : size));
    c->lines = count_newlines(c->begin, c->end);
    c->lines += c->end > c->begin && c->end[-1] != '\n';
    uint64_t most = (uint64_t)(c->end - c->begin) / shortest + 1;
    c->room = c->lines < most ? c->lines : most;
  }
}

HOT bool store(dzo_text_edges *edges, uint64_t at, dzo_weight_type type, bool wide, bool ends,
               const dzo_text_edge *edge) {
  if (ends && wide) {
    edges->u64[0][at] = edge->end[0];
    edges->u64[1][at] = edge->end[1];
  } else if (ends) {
    if (((edge->end[0] | edge->end[1]) >> 32) != 0)
      return false;
    edges->u32[0][at] = (uint32_t)edge->end[0];
    edges->u32[1][at] = (uint32_t)edge->end[1];
  }
  if (type != DZO_WEIGHT_NONE)
    ((uint64_t *)edges->weights)[at] = edge->weight.u64;
  return true;
}

/* Parse a chunk; false if it stopped. */
HOT bool parse_lines(job *j, chunk *c, dzo_weight_type type, bool wide, dzo_text_event *event) {
  const dzo_text_layout l = *j->layout;
  bool decimals = false, ends = l.part == DZO_ARRAY_NONE;
  uint64_t line = c->line, at = c->slot;
  for (const char *p = c->begin, *next; p < c->end; p = next, line++) {
    dzo_text_edge edge = {{0, 0}, {0}, false};
    next = j->plain ? fast_line(&l, p, c->end, type, &edge, &decimals) : NULL;
    if (DZO_UNLIKELY(next == NULL)) {
      const char *stop = memchr(p, '\n', (size_t)(c->end - p));
      next = stop != NULL ? stop + 1 : c->end;
      dzo_line_kind kind = dzo_text_parse_line(&l, p, stop != NULL ? stop : c->end, &edge, event);
      event->line = line;
      if (kind == DZO_LINE_STOP)
        return false;
      if (kind == DZO_LINE_EMPTY)
        continue;
      decimals = decimals || edge.decimal;
    }
    if (DZO_UNLIKELY(!store(j->edges, at, type, wide, ends, &edge))) {
      event->stop = DZO_TEXT_WANTS_WIDE;
      event->line = line;
      return false;
    }
    at++;
  }
  c->count = at - c->slot;
  c->decimals = decimals;
  return true;
}

static bool parse_chunk(job *j, chunk *c, dzo_text_event *event) {
  bool wide = j->edges->wide;
  switch (j->layout->weight) {
  case DZO_WEIGHT_NONE:
    return wide ? parse_lines(j, c, DZO_WEIGHT_NONE, true, event)
                : parse_lines(j, c, DZO_WEIGHT_NONE, false, event);
  case DZO_WEIGHT_F64:
    return wide ? parse_lines(j, c, DZO_WEIGHT_F64, true, event)
                : parse_lines(j, c, DZO_WEIGHT_F64, false, event);
  case DZO_WEIGHT_U64:
    return parse_lines(j, c, DZO_WEIGHT_U64, wide, event);
  default:
    return wide ? parse_lines(j, c, DZO_WEIGHT_I64, true, event)
                : parse_lines(j, c, DZO_WEIGHT_I64, false, event);
  }
}

static void parse_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  job *j = argument;
  for (uint64_t i = begin; i < end; i++) {
    if (i > dzo_load_u64(&j->stopped) || dzo_is_cancelled(j->context))
      return;
    chunk *c = &j->chunk[i];
    if (!parse_chunk(j, c, &j->events[thread])) {
      j->event_chunk[thread] = i;
      dzo_min_u64(&j->stopped, i);
      return;
    }
    uint64_t bytes = (uint64_t)(c->end - c->begin);
    uint64_t done = dzo_fetch_add_u64(&j->done, bytes) + bytes;
    if (thread == 0 && j->block->report)
      (void)dzo_progress(j->context, "read", done, (uint64_t)(j->block->end - j->block->begin));
  }
}

void dzo_text_edges_release(dzo_text_edges *edges) {
  for (int i = 0; i < 2; i++) {
    dzo_free(edges->u32[i]);
    dzo_free(edges->u64[i]);
  }
  dzo_free(edges->weights);
  *edges = (dzo_text_edges){.wide = edges->wide};
}

/* Have room for `room` edges of the layout, dropping what is there. */
static dzo_status make_room(dzo_context *context, const dzo_text_layout *l, dzo_text_edges *edges,
                            uint64_t room) {
  bool ends = l->part == DZO_ARRAY_NONE, weights = l->weight != DZO_WEIGHT_NONE;
  bool has_ends = edges->wide ? edges->u64[0] != NULL : edges->u32[0] != NULL;
  edges->count = 0;
  edges->type = l->weight;
  if (edges->capacity >= room && (has_ends || !ends) && (edges->weights != NULL || !weights))
    return DZO_OK;
  dzo_text_edges_release(edges);
  edges->type = l->weight;
  for (int i = 0; i < 2 && ends; i++) {
    if (edges->wide)
      edges->u64[i] = dzo_alloc(context, room, sizeof **edges->u64);
    else
      edges->u32[i] = dzo_alloc(context, room, sizeof **edges->u32);
    if (edges->u64[i] == NULL && edges->u32[i] == NULL)
      return DZO_E_MEMORY;
  }
  if (weights && (edges->weights = dzo_alloc(context, room, 8)) == NULL)
    return DZO_E_MEMORY;
  edges->capacity = room;
  return DZO_OK;
}

static void move_down(void *array, size_t size, uint64_t to, uint64_t from, uint64_t count) {
  if (array != NULL)
    memmove((char *)array + to * size, (char *)array + from * size, (size_t)count * size);
}

/* Close the gaps that lines without an edge have left. */
static void close_gaps(job *j) {
  dzo_text_edges *e = j->edges;
  uint64_t count = 0;
  e->decimals = false;
  for (uint64_t i = 0; i < j->chunks; i++) {
    const chunk *c = &j->chunk[i];
    if (c->slot != count)
      for (int k = 0; k < 2; k++) {
        move_down(e->u32[k], sizeof **e->u32, count, c->slot, c->count);
        move_down(e->u64[k], sizeof **e->u64, count, c->slot, c->count);
      }
    if (c->slot != count)
      move_down(e->weights, 8, count, c->slot, c->count);
    count += c->count;
    e->decimals = e->decimals || c->decimals;
  }
  e->count = count;
}

static dzo_status run(job *j, dzo_text_event *event) {
  dzo_context *context = j->context;
  int threads = context->threads;
  dzo_parallel_for(threads, j->chunks, 1, count_lines, j);
  uint64_t room = 0;
  j->block->lines = 0;
  for (uint64_t i = 0; i < j->chunks; i++) {
    chunk *c = &j->chunk[i];
    c->line = j->block->line + j->block->lines;
    c->slot = room;
    j->block->lines += c->lines;
    room += c->room;
  }
  DZO_TRY(make_room(context, j->layout, j->edges, room));
  dzo_parallel_for(threads, j->chunks, 1, parse_chunks, j);
  if (dzo_is_cancelled(context))
    return dzo_progress(context, "read", j->done, j->done);
  for (int t = 0; t < threads; t++)
    if (j->events[t].stop != DZO_TEXT_GOES_ON && j->event_chunk[t] == j->stopped)
      *event = j->events[t];
  if (event->stop == DZO_TEXT_GOES_ON)
    close_gaps(j);
  return DZO_OK;
}

dzo_status dzo_text_parse(dzo_context *context, const dzo_text_layout *layout,
                          dzo_text_block *block, dzo_text_edges *edges, dzo_text_event *event) {
  uint64_t size = (uint64_t)(block->end - block->begin), threads = (uint64_t)context->threads;
  uint64_t bytes = size / (4 * threads);
  bytes = bytes < LEAST_CHUNK ? LEAST_CHUNK : bytes > MOST_CHUNK ? MOST_CHUNK : bytes;
  job j = {
      .context = context,
      .layout = layout,
      .block = block,
      .edges = edges,
      .plain = layout->part != DZO_ARRAY_NONE ||
               (layout->column[0] == 0 && layout->column[1] == 1 &&
                (layout->column[2] == 2 || layout->weight == DZO_WEIGHT_NONE)),
      .chunk_bytes = bytes,
      .chunks = size == 0 ? 0 : (size - 1) / bytes + 1,
      .stopped = UINT64_MAX,
  };
  *event = (dzo_text_event){.stop = DZO_TEXT_GOES_ON};
  j.chunk = dzo_calloc(context, j.chunks, sizeof *j.chunk);
  j.events = dzo_calloc(context, threads, sizeof *j.events);
  j.event_chunk = dzo_calloc(context, threads, sizeof *j.event_chunk);
  dzo_status status = DZO_E_MEMORY;
  if (j.chunk != NULL && j.events != NULL && j.event_chunk != NULL)
    status = run(&j, event);
  dzo_free(j.chunk);
  dzo_free(j.events);
  dzo_free(j.event_chunk);
  return status;
}

uint64_t dzo_text_line_of_edge(const dzo_text_layout *layout, const dzo_text_block *block,
                               uint64_t index) {
  uint64_t line = block->line;
  for (const char *p = block->begin; p < block->end; line++) {
    dzo_text_edge edge;
    dzo_text_event event;
    const char *stop = memchr(p, '\n', (size_t)(block->end - p));
    const char *end = stop != NULL ? stop : block->end;
    if (dzo_text_parse_line(layout, p, end, &edge, &event) != DZO_LINE_EMPTY && index-- == 0)
      return line;
    p = stop != NULL ? stop + 1 : block->end;
  }
  return line;
}
