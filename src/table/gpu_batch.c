/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches in pieces. Arrays in host memory travel by queues of their own: the next piece comes
 * while one is worked on, and the answers to the last one go. */
#include <string.h>

#include "base/parallel.h"
#include "table/gpu.h"
#include "table/table.h"

enum { IN_QUEUE = 1, OUT_QUEUE = 2, IN_MARK = 26, OUT_MARK = 28, GRAIN = 1 << 18 };

/* Words of a piece, in bytes: enough for the GPU to be busy, little enough to begin soon. */
#define HOST_PIECE_BYTES (UINT64_C(16) << 20)

/* ---- In GPU memory --------------------------------------------------------------------------- */

static const void *plus(const void *array, uint64_t bytes) {
  return array != NULL ? (const char *)array + bytes : NULL;
}

static void *plus_to(void *array, uint64_t bytes) {
  return array != NULL ? (char *)array + bytes : NULL;
}

static table_piece piece_of(const table_gpu *g, const dzo_table_batch *batch, uint64_t first,
                            uint64_t count) {
  uint64_t word = table_gpu_word(g);
  return (table_piece){.operation = (int)batch->operation,
                       .ordered = (batch->flags & DZO_TABLE_ANY) == 0,
                       .count = count,
                       .left = batch->count - first,
                       .keys = plus(batch->keys, first * word),
                       .values = plus(batch->values, first * word),
                       .codes = plus(batch->operations, first),
                       .results = plus_to(batch->results, first * word),
                       .answers = plus_to(batch->answers, first)};
}

dzo_table_batch table_gpu_part_of(const table_gpu *g, const dzo_table_batch *batch, uint64_t first,
                                  uint64_t most) {
  uint64_t word = table_gpu_word(g), left = batch->count - first;
  dzo_table_batch part = *batch;
  part.count = left < most ? left : most;
  part.keys = plus(batch->keys, first * word);
  part.values = plus(batch->values, first * word);
  part.operations = plus(batch->operations, first);
  part.results = plus_to(batch->results, first * word);
  part.answers = plus_to(batch->answers, first);
  part.found = part.inserted = part.refused = 0;
  return part;
}

dzo_status table_gpu_take_buffers(table_gpu *g, uint64_t bytes) {
  if (bytes <= g->buffer_bytes)
    return DZO_OK;
  dzo_unit_release(g->unit, g->buffers);
  g->buffers = NULL;
  g->buffer_bytes = 0;
  DZO_TRY(dzo_unit_allocate(g->unit, bytes, 1, (void **)&g->buffers));
  g->buffer_bytes = bytes;
  return DZO_OK;
}

dzo_status table_gpu_end_batch(table_gpu *g, const dzo_table_batch *batch) {
  if (batch->refused > 0)
    return dzo_fail(g->context, DZO_E_LIMIT, "the table is full: %llu of %llu queries were refused",
                    (unsigned long long)batch->refused, (unsigned long long)batch->count);
  return DZO_OK;
}

dzo_status table_gpu_refuse_from(table_gpu *g, dzo_table_batch *batch, uint64_t first) {
  uint64_t rest = batch->count - first;
  batch->refused += rest;
  if (batch->answers != NULL && rest > 0)
    DZO_TRY(dzo_unit_fill(g->unit, 0, batch->answers + first, DZO_TABLE_REFUSED, rest));
  return dzo_unit_wait(g->unit, 0);
}

/* So many new keys at first: of the first piece of a batch all may be. */
static uint64_t first_piece(const table_gpu *g, const dzo_table_batch *batch, uint64_t most) {
  uint64_t capacity = table_gpu_capacity(g), least = UINT64_C(1) << 20;
  if (g->fixed || batch->operation == DZO_TABLE_FIND || batch->operation == DZO_TABLE_ERASE)
    return most;
  uint64_t room = capacity > g->pairs ? capacity - g->pairs : 0,
           piece = room > least ? room : least;
  return piece < most ? piece : most;
}

static uint64_t next_piece(const table_gpu *g, uint64_t last, uint64_t most, uint64_t left) {
  uint64_t piece = g->fresh < 0.5 || g->fixed ? most : 8 * last;
  if (piece + piece / 4 > left)
    piece = left;
  return piece < most ? piece : most;
}

dzo_status table_gpu_run_resident(table_gpu *g, dzo_table_batch *batch) {
  uint64_t most = table_piece_most(g, batch), size = first_piece(g, batch, most);
  g->fresh = 1;
  for (uint64_t first = 0; first < batch->count;) {
    uint64_t left = batch->count - first;
    if (first > 0)
      size = next_piece(g, size, most, left);
    table_piece piece = piece_of(g, batch, first, most < left ? most : left);
    piece.cautious = size;
    dzo_status status = dzo_progress(g->context, "table", first, batch->count);
    if (status == DZO_OK)
      status = table_piece_start(g, &piece);
    if (status != DZO_OK && status != DZO_E_MEMORY && status != DZO_E_CANCELLED)
      return status;
    uint64_t done = status == DZO_OK ? piece.taken : 0;
    if (status == DZO_OK)
      status = table_piece_finish(g, &piece, batch);
    first += done;
    size = done;
    if (status == DZO_OK)
      continue;
    if (status != DZO_E_MEMORY && status != DZO_E_CANCELLED)
      return status;
    DZO_TRY(table_gpu_refuse_from(g, batch, first));
    return status;
  }
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  return table_gpu_end_batch(g, batch);
}

/* ---- In host memory -------------------------------------------------------------------------- */

enum { KEYS, VALUES, CODES, RESULTS, ANSWERS, ARRAYS };

/* One array of the batch: in host memory, and of two pieces in turn in GPU memory and, where it is
 * not pinned, in staging memory. */
typedef struct travel {
  char *host;
  uint64_t each; /* bytes of an item */
  char *device[2], *stage[2];
} travel;

typedef struct voyage {
  table_gpu *g;
  dzo_table_batch *batch;
  uint64_t size; /* of a piece */
  travel arrays[ARRAYS];
} voyage;

typedef struct copy_job {
  char *to;
  const char *from;
} copy_job;

static void copy_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const copy_job *job = argument;
  memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
}

static void copy_bytes(const table_gpu *g, char *to, const char *from, uint64_t bytes) {
  copy_job job = {to, from};
  dzo_parallel_for(g->context->threads, bytes, GRAIN, copy_range, &job);
}

static dzo_status pack(voyage *v) {
  table_gpu *g = v->g;
  const dzo_table_batch *b = v->batch;
  uint64_t word = table_gpu_word(g), device = 0, stage = 0;
  const void *host[ARRAYS] = {b->keys, b->values, b->operations, b->results, b->answers};
  const uint64_t each[ARRAYS] = {word, word, 1, word, 1};
  char *stages = NULL;
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) {
      DZO_TRY(table_gpu_take_buffers(g, device));
      if (stage > 0)
        DZO_TRY(dzo_unit_staging(g->unit, stage, (void **)&stages));
      device = stage = 0;
    }
    for (int a = 0; a < ARRAYS; a++) {
      if (host[a] == NULL)
        continue;
      travel *t = &v->arrays[a];
      bool pinned = dzo_unit_pinned(g->unit, host[a]);
      uint64_t bytes = (v->size * each[a] + 255) / 256 * 256;
      t->host = (char *)(uintptr_t)host[a];
      t->each = each[a];
      for (int s = 0; s < 2; s++) {
        t->device[s] = pass == 1 ? g->buffers + device : NULL;
        t->stage[s] = pass == 1 && !pinned ? stages + stage : NULL;
        device += bytes;
        stage += pinned ? 0 : bytes;
      }
    }
  }
  return DZO_OK;
}

static uint64_t size_of(const voyage *v, uint64_t i) {
  uint64_t left = v->batch->count - i * v->size;
  return left < v->size ? left : v->size;
}

/* Results of a mixed batch are written only in part, so they travel both ways. */
static bool goes_in(const voyage *v, int a) {
  if (v->arrays[a].host == NULL || a == ANSWERS)
    return false;
  return a != RESULTS || v->batch->operation == DZO_TABLE_MIXED;
}

static dzo_status bring_in(voyage *v, uint64_t i) {
  table_gpu *g = v->g;
  for (int a = 0; a < ARRAYS; a++) {
    if (!goes_in(v, a))
      continue;
    const travel *t = &v->arrays[a];
    uint64_t bytes = size_of(v, i) * t->each;
    char *from = t->host + i * v->size * t->each;
    if (t->stage[i % 2] != NULL) {
      copy_bytes(g, t->stage[i % 2], from, bytes);
      from = t->stage[i % 2];
    }
    DZO_TRY(dzo_unit_copy(g->unit, IN_QUEUE, t->device[i % 2], from, bytes));
  }
  return dzo_unit_mark(g->unit, IN_QUEUE, IN_MARK + (int)(i % 2));
}

static dzo_status send_out(voyage *v, uint64_t i) {
  for (int a = RESULTS; a <= ANSWERS; a++) {
    const travel *t = &v->arrays[a];
    if (t->host == NULL)
      continue;
    char *to = t->stage[i % 2] != NULL ? t->stage[i % 2] : t->host + i * v->size * t->each;
    DZO_TRY(dzo_unit_copy(v->g->unit, OUT_QUEUE, to, t->device[i % 2], size_of(v, i) * t->each));
  }
  return dzo_unit_mark(v->g->unit, OUT_QUEUE, OUT_MARK + (int)(i % 2));
}

static dzo_status take_out(voyage *v, uint64_t i) {
  DZO_TRY(dzo_unit_wait_mark(v->g->unit, OUT_MARK + (int)(i % 2)));
  for (int a = RESULTS; a <= ANSWERS; a++) {
    const travel *t = &v->arrays[a];
    if (t->host != NULL && t->stage[i % 2] != NULL)
      copy_bytes(v->g, t->host + i * v->size * t->each, t->stage[i % 2], size_of(v, i) * t->each);
  }
  return DZO_OK;
}

static table_piece piece_here(const voyage *v, uint64_t i) {
  const dzo_table_batch *b = v->batch;
  const travel *t = v->arrays;
  int s = (int)(i % 2);
  return (table_piece){.operation = (int)b->operation,
                       .ordered = (b->flags & DZO_TABLE_ANY) == 0,
                       .count = size_of(v, i),
                       .left = b->count - i * v->size,
                       .keys = t[KEYS].device[s],
                       .values = t[VALUES].device[s],
                       .codes = (const uint8_t *)t[CODES].device[s],
                       .results = t[RESULTS].device[s],
                       .answers = (uint8_t *)t[ANSWERS].device[s]};
}

/* Piece i, while the next one comes and the last one's answers are taken out. *done: it is, or as
 * much of it as will be. */
static dzo_status run_host_piece(voyage *v, uint64_t i, uint64_t pieces, bool *done) {
  table_gpu *g = v->g;
  *done = false;
  DZO_TRY(dzo_progress(g->context, "table", i * v->size, v->batch->count));
  table_piece piece = piece_here(v, i);
  DZO_TRY(dzo_unit_queue_after(g->unit, 0, IN_MARK + (int)(i % 2)));
  DZO_TRY(table_piece_start(g, &piece));
  *done = true;
  if (i > 0)
    DZO_TRY(take_out(v, i - 1));
  if (i + 1 < pieces)
    DZO_TRY(bring_in(v, i + 1));
  dzo_status status = table_piece_finish(g, &piece, v->batch);
  if (status != DZO_OK && status != DZO_E_MEMORY)
    return status;
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  DZO_TRY(send_out(v, i));
  return status;
}

static dzo_status run_voyage(voyage *v) {
  table_gpu *g = v->g;
  dzo_table_batch *batch = v->batch;
  uint64_t pieces = (batch->count + v->size - 1) / v->size, end = pieces;
  dzo_status status = DZO_OK;
  DZO_TRY(bring_in(v, 0));
  for (uint64_t i = 0; i < pieces && status == DZO_OK; i++) {
    bool done;
    status = run_host_piece(v, i, pieces, &done);
    if (status != DZO_OK)
      end = i + (done ? 1 : 0);
  }
  if (status != DZO_OK && status != DZO_E_MEMORY && status != DZO_E_CANCELLED)
    return status;
  if (end > 0)
    DZO_TRY(take_out(v, end - 1));
  DZO_TRY(dzo_unit_wait(g->unit, IN_QUEUE));
  if (status != DZO_OK && end < pieces)
    table_refuse_rest(batch, end * v->size);
  return status == DZO_OK ? table_gpu_end_batch(g, batch) : status;
}

static dzo_status run_from_host(table_gpu *g, dzo_table_batch *batch) {
  voyage v = {.g = g, .batch = batch};
  uint64_t size =
      g->sizes.host_piece > 0 ? g->sizes.host_piece : HOST_PIECE_BYTES / table_gpu_word(g);
  uint64_t most = table_piece_most(g, batch);
  size = size < most ? size : most;
  v.size = size < batch->count ? size : batch->count;
  g->fresh = 1;
  dzo_status status = pack(&v);
  if (status == DZO_E_MEMORY) {
    table_refuse_rest(batch, 0);
    return status;
  }
  DZO_TRY(status);
  status = run_voyage(&v);
  if (status != DZO_OK && status != DZO_E_LIMIT)
    (void)dzo_unit_wait(g->unit, IN_QUEUE); /* nothing reads the caller's arrays from now on */
  return status;
}

static dzo_status run_anywhere(table_gpu *g, dzo_table_batch *batch) {
  if (!dzo_unit_owns(g->unit, batch->keys))
    return run_from_host(g, batch);
  return table_sift_suits(g, batch) ? table_sift_run(g, batch) : table_gpu_run_resident(g, batch);
}

dzo_status table_gpu_run(table_gpu *g, dzo_table_batch *batch) {
  dzo_status status = run_anywhere(g, batch);
  if (!g->starved)
    return status;
  g->starved = g->fixed = false;
  if (status != DZO_E_LIMIT)
    return status;
  return dzo_fail(g->context, DZO_E_MEMORY,
                  "the GPU has no memory for a larger table: %llu of %llu queries were refused",
                  (unsigned long long)batch->refused, (unsigned long long)batch->count);
}
