/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/metis_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "io/number.h"

enum { LEAST_CHUNK = 1 << 12, MOST_CHUNK = 1 << 20 };

/* A run of lines. */
typedef struct chunk {
  const char *begin, *end;
  uint64_t lines, rows, entries;
  uint64_t line, row, entry; /* numbers of the first ones */
  uint64_t slot, count;      /* of the edges kept */
  uint64_t loops, sums[2];
} chunk;

typedef struct job {
  dzo_metis_rows *rows;
  const char *begin, *end;
  dzo_metis_edges *edges;
  uint64_t chunk_bytes, chunks;
  chunk *chunk;
  uint64_t stopped; /* the first chunk with an error; accessed atomically */
  dzo_text_event *events;
  uint64_t *event_chunk;
} job;

void dzo_metis_hash(uint64_t u, uint64_t v, uint64_t weight, uint64_t hashes[2]) {
  uint64_t pair = (u < v ? u << 32 | v : v << 32 | u) * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t a = (pair ^ (pair >> 29)) + weight * UINT64_C(0xbf58476d1ce4e5b9);
  uint64_t b = (pair ^ (pair >> 32)) - weight * UINT64_C(0x94d049bb133111eb);
  a = (a ^ (a >> 30)) * UINT64_C(0xff51afd7ed558ccd);
  b = (b ^ (b >> 27)) * UINT64_C(0xc4ceb9fe1a85ec53);
  hashes[0] = a ^ (a >> 33);
  hashes[1] = b ^ (b >> 31);
}

static bool is_row(const char *p, const char *end) {
  while (p < end && (unsigned char)*p <= ' ')
    p++;
  return p == end || *p != '%';
}

static uint64_t count_words(const char *p, const char *end) {
  uint64_t words = 0;
  bool blank = true;
  for (; p < end; p++) {
    bool now = (unsigned char)*p <= ' ';
    words += blank && !now;
    blank = now;
  }
  return words;
}

static void count_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  job *j = argument;
  const dzo_metis_header *h = &j->rows->header;
  uint64_t size = (uint64_t)(j->end - j->begin);
  (void)thread;
  for (uint64_t i = begin; i < end; i++) {
    chunk *c = &j->chunk[i];
    uint64_t from = i * j->chunk_bytes, to = from + j->chunk_bytes;
    c->begin = dzo_text_line_begin(j->begin, j->end, j->begin + from);
    c->end = dzo_text_line_begin(j->begin, j->end, j->begin + (to < size ? to : size));
    for (const char *p = c->begin, *next; p < c->end; p = next) {
      const char *stop = memchr(p, '\n', (size_t)(c->end - p));
      next = stop != NULL ? stop + 1 : c->end;
      stop = stop != NULL ? stop : c->end;
      c->lines++;
      if (!is_row(p, stop))
        continue;
      uint64_t words = count_words(p, stop);
      c->rows++;
      c->entries += words > h->skipped ? (words - h->skipped) / (h->weights ? 2 : 1) : 0;
    }
  }
}

static bool refuse(dzo_text_event *event, dzo_status status, const char *what, dzo_word word,
                   const char *rest) {
  char shown[DZO_SHOWN_BYTES];
  event->stop = DZO_TEXT_FAILED;
  event->status = status;
  (void)snprintf(event->text, sizeof event->text, "%s'%s'%s", what, dzo_word_show(word, shown),
                 rest);
  return false;
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && (unsigned char)*p <= ' ')
    p++;
  return p;
}

static bool take_weight(const char **p, const char *end, int64_t *out, dzo_text_event *event) {
  const char *at = skip_blanks(*p, end);
  bool negative = at < end && *at == '-';
  uint64_t value = 0;
  const char *q = dzo_parse_digits(at + negative, end, &value);
  if (q > at + negative && q - at <= 18 && (q == end || (unsigned char)*q <= ' ')) {
    *p = q;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
  }
  dzo_word word = dzo_next_word(p, end);
  dzo_number n = dzo_parse_number(word.at, word.length);
  if (n.kind == DZO_NUMBER_INTEGER) {
    *out = n.i64;
    return true;
  }
  if (word.length == 0)
    return refuse(event, DZO_E_FORMAT, "the weight of the last neighbour is missing, found ", word,
                  "");
  if (n.kind == DZO_NUMBER_UNSIGNED || n.kind == DZO_NUMBER_HUGE)
    return refuse(event, DZO_E_UNSUPPORTED, "weight ", word, " does not fit 64 bits with a sign");
  return refuse(event, DZO_E_FORMAT, "expected an integer weight, found ", word, "");
}

static bool take_neighbour(const dzo_metis_header *h, const char **p, const char *end,
                           uint64_t *out, dzo_text_event *event) {
  uint64_t value = 0;
  const char *q = dzo_parse_digits(*p, end, &value);
  if (q > *p && q - *p <= 19 && (q == end || (unsigned char)*q <= ' ') && value - 1 < h->vertices) {
    *p = q;
    *out = value - 1;
    return true;
  }
  char rest[64];
  dzo_word word = dzo_next_word(p, end);
  if (!dzo_word_u64(word, &value))
    return refuse(event, DZO_E_FORMAT, "expected a neighbour, found ", word, "");
  if (value - 1 < h->vertices) { /* leading zeros */
    *out = value - 1;
    return true;
  }
  (void)snprintf(rest, sizeof rest, " is outside 1..%llu", (unsigned long long)h->vertices);
  return refuse(event, DZO_E_FORMAT, "neighbour ", word, rest);
}

/* Parse the row on [p, end), whose first entry is number `entry`. */
static bool parse_row(const job *j, chunk *c, uint64_t row, const char *p, const char *end,
                      uint64_t *entry, dzo_text_event *event) {
  const dzo_metis_header *h = &j->rows->header;
  dzo_metis_edges *e = j->edges;
  p = skip_blanks(p, end);
  if (p == end)
    return true;
  if (row >= h->vertices)
    return refuse(event, DZO_E_FORMAT, "a row behind the last vertex begins with ",
                  dzo_next_word(&p, end), "");
  for (uint64_t i = 0; i < h->skipped; i++) {
    dzo_word word = dzo_next_word(&p, end);
    if (dzo_parse_number(word.at, word.length).kind != DZO_NUMBER_INTEGER)
      return refuse(event, DZO_E_FORMAT, "expected a vertex size or weight, found ", word, "");
  }
  for (p = skip_blanks(p, end); p < end; p = skip_blanks(p, end)) {
    uint64_t neighbour, hashes[2];
    int64_t weight = 0;
    if (!take_neighbour(h, &p, end, &neighbour, event))
      return false;
    if (h->weights && !take_weight(&p, end, &weight, event))
      return false;
    if (neighbour == row) {
      c->loops++;
    } else {
      dzo_metis_hash(row, neighbour, (uint64_t)weight, hashes);
      uint64_t sign = row < neighbour ? 1 : UINT64_MAX;
      c->sums[0] += sign * hashes[0];
      c->sums[1] += sign * hashes[1];
    }
    if (row <= neighbour) {
      uint64_t at = c->slot + c->count++;
      e->u[at] = (uint32_t)row;
      e->v[at] = (uint32_t)neighbour;
      e->numbers[at] = *entry;
      if (h->weights)
        e->weights[at] = weight;
    }
    ++*entry;
  }
  return true;
}

static bool parse_chunk(const job *j, chunk *c, dzo_text_event *event) {
  uint64_t row = c->row, entry = c->entry;
  event->line = c->line;
  for (const char *p = c->begin, *next; p < c->end; p = next, event->line++) {
    const char *stop = memchr(p, '\n', (size_t)(c->end - p));
    next = stop != NULL ? stop + 1 : c->end;
    stop = stop != NULL ? stop : c->end;
    if (is_row(p, stop) && !parse_row(j, c, row++, p, stop, &entry, event))
      return false;
  }
  return true;
}

static void parse_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  job *j = argument;
  for (uint64_t i = begin; i < end; i++) {
    if (i > dzo_load_u64(&j->stopped) || dzo_is_cancelled(j->rows->context))
      return;
    if (!parse_chunk(j, &j->chunk[i], &j->events[thread])) {
      j->event_chunk[thread] = i;
      dzo_min_u64(&j->stopped, i);
      return;
    }
  }
}

void dzo_metis_edges_release(dzo_metis_edges *edges) {
  dzo_free(edges->u);
  dzo_free(edges->v);
  dzo_free(edges->weights);
  dzo_free(edges->numbers);
  *edges = (dzo_metis_edges){.capacity = 0};
}

static dzo_status make_room(dzo_metis_rows *rows, dzo_metis_edges *edges, uint64_t room) {
  dzo_context *context = rows->context;
  edges->count = 0;
  if (edges->u != NULL && edges->capacity >= room)
    return DZO_OK;
  dzo_metis_edges_release(edges);
  edges->u = dzo_alloc(context, room, sizeof *edges->u);
  edges->v = dzo_alloc(context, room, sizeof *edges->v);
  edges->numbers = dzo_alloc(context, room, sizeof *edges->numbers);
  if (rows->header.weights)
    edges->weights = dzo_alloc(context, room, sizeof *edges->weights);
  if (edges->u == NULL || edges->v == NULL || edges->numbers == NULL ||
      (rows->header.weights && edges->weights == NULL))
    return DZO_E_MEMORY;
  edges->capacity = room;
  return DZO_OK;
}

static void move_down(void *array, size_t size, uint64_t to, const chunk *c) {
  if (array != NULL)
    memmove((char *)array + to * size, (char *)array + c->slot * size, (size_t)c->count * size);
}

/* Go over the chunks in order: close the gaps between their edges and add their sums. */
static void gather(job *j) {
  dzo_metis_edges *e = j->edges;
  dzo_metis_rows *rows = j->rows;
  for (uint64_t i = 0; i < j->chunks; i++) {
    const chunk *c = &j->chunk[i];
    move_down(e->u, sizeof *e->u, e->count, c);
    move_down(e->v, sizeof *e->v, e->count, c);
    move_down(e->weights, sizeof *e->weights, e->count, c);
    move_down(e->numbers, sizeof *e->numbers, e->count, c);
    e->count += c->count;
    rows->loops += c->loops;
    rows->sums[0] += c->sums[0];
    rows->sums[1] += c->sums[1];
    rows->line += c->lines;
    rows->row += c->rows;
    rows->entry += c->entries;
  }
}

static dzo_status run(job *j) {
  dzo_metis_rows *rows = j->rows;
  int threads = rows->context->threads;
  dzo_parallel_for(threads, j->chunks, 1, count_rows, j);
  uint64_t line = rows->line, row = rows->row, entry = rows->entry, room = 0;
  for (uint64_t i = 0; i < j->chunks; i++) {
    chunk *c = &j->chunk[i];
    c->line = line;
    c->row = row;
    c->entry = entry;
    c->slot = room;
    line += c->lines;
    row += c->rows;
    entry += c->entries;
    room += c->entries;
  }
  DZO_TRY(make_room(rows, j->edges, room));
  dzo_parallel_for(threads, j->chunks, 1, parse_chunks, j);
  if (dzo_is_cancelled(rows->context))
    return dzo_progress(rows->context, "read", 1, 1);
  for (int t = 0; t < threads; t++)
    if (j->events[t].stop != DZO_TEXT_GOES_ON && j->event_chunk[t] == j->stopped)
      return dzo_text_refuse_event(rows->context, rows->header.name, &j->events[t]);
  gather(j);
  return DZO_OK;
}

dzo_status dzo_metis_parse(dzo_metis_rows *rows, const char *begin, const char *end,
                           dzo_metis_edges *edges) {
  uint64_t size = (uint64_t)(end - begin), threads = (uint64_t)rows->context->threads;
  uint64_t bytes = size / (4 * threads);
  bytes = bytes < LEAST_CHUNK ? LEAST_CHUNK : bytes > MOST_CHUNK ? MOST_CHUNK : bytes;
  job j = {.rows = rows,
           .begin = begin,
           .end = end,
           .edges = edges,
           .chunk_bytes = bytes,
           .chunks = size == 0 ? 0 : (size - 1) / bytes + 1,
           .stopped = UINT64_MAX};
  j.chunk = dzo_calloc(rows->context, j.chunks, sizeof *j.chunk);
  j.events = dzo_calloc(rows->context, threads, sizeof *j.events);
  j.event_chunk = dzo_calloc(rows->context, threads, sizeof *j.event_chunk);
  dzo_status status = DZO_E_MEMORY;
  if (j.chunk != NULL && j.events != NULL && j.event_chunk != NULL)
    status = run(&j);
  dzo_free(j.chunk);
  dzo_free(j.events);
  dzo_free(j.event_chunk);
  return status;
}
