/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches whose arrays the engine does not take: keys and values of different widths, or memory of
 * a GPU where the engine works on the host's. They go through words in host memory, piece after
 * piece, which keeps their order. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "table/table.h"

enum { PIECE = 1 << 20, WIDEN_GRAIN = 1 << 15 };

/* Room for a piece. `raw` are the caller's arrays where they have to be fetched. */
typedef struct piece_room {
  void *raw_keys, *raw_values, *raw_results;
  uint8_t *operations, *answers;
  uint64_t *keys, *values, *results; /* words, of mixed tables */
} piece_room;

typedef struct piece_run {
  dzo_table *table;
  const dzo_table_batch *batch; /* the caller's */
  table_memory memory;
  bool mixed;
  size_t key_bytes, value_bytes;
  piece_room room;
} piece_run;

/* ---- Room ------------------------------------------------------------------------------------ */

static bool take(dzo_context *context, bool wanted, uint64_t count, size_t size, void **out) {
  *out = NULL;
  if (!wanted)
    return true;
  *out = dzo_alloc(context, count, size);
  return *out != NULL;
}

static void free_room(piece_room *room) {
  dzo_free(room->raw_keys);
  dzo_free(room->raw_values);
  dzo_free(room->raw_results);
  dzo_free(room->operations);
  dzo_free(room->answers);
  dzo_free(room->keys);
  dzo_free(room->values);
  dzo_free(room->results);
}

/* An ADD without values adds ones, whose words differ where values stand in the upper half. */
static bool needs_values(const piece_run *run) {
  return run->mixed && (run->batch->values != NULL || run->batch->operation == DZO_TABLE_ADD ||
                        run->batch->operation == DZO_TABLE_MIXED);
}

static bool take_room(piece_run *run) {
  dzo_context *context = run->table->context;
  const dzo_table_batch *b = run->batch;
  piece_room *r = &run->room;
  uint64_t n = b->count < PIECE ? b->count : PIECE;
  bool far = run->memory == TABLE_MEMORY_GPU;
  void *at[5];
  bool good = take(context, far, n, run->key_bytes, &r->raw_keys) &&
              take(context, far && b->values != NULL, n, run->value_bytes, &r->raw_values) &&
              take(context, far && b->results != NULL, n, run->value_bytes, &r->raw_results) &&
              take(context, far && b->operations != NULL, n, 1, &at[0]);
  r->operations = good ? at[0] : NULL;
  good = good && take(context, far && b->answers != NULL, n, 1, &at[1]);
  r->answers = good ? at[1] : NULL;
  good = good && take(context, run->mixed, n, sizeof(uint64_t), &at[2]);
  r->keys = good ? at[2] : NULL;
  good = good && take(context, needs_values(run), n, sizeof(uint64_t), &at[3]);
  r->values = good ? at[3] : NULL;
  good = good && take(context, run->mixed && b->results != NULL, n, sizeof(uint64_t), &at[4]);
  r->results = good ? at[4] : NULL;
  return good;
}

/* ---- Widths ---------------------------------------------------------------------------------- */

typedef struct widen_job {
  const void *from; /* NULL: `constant` */
  size_t bytes;     /* of an item of `from` */
  int shift;
  uint64_t constant;
  uint64_t *to;
} widen_job;

static void widen_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const widen_job *job = argument;
  for (uint64_t i = begin; i < end; i++)
    job->to[i] = (job->from != NULL ? table_word_at(job->from, job->bytes, i) : job->constant)
                 << job->shift;
}

typedef struct narrow_job {
  const uint64_t *from;
  const uint8_t *operations; /* only what FIND has left, where there are any */
  size_t bytes;
  int shift;
  void *to;
} narrow_job;

static void narrow_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const narrow_job *job = argument;
  for (uint64_t i = begin; i < end; i++) {
    if (job->operations != NULL && job->operations[i] != DZO_TABLE_FIND)
      continue;
    uint64_t value = job->from[i] >> job->shift;
    if (job->bytes == sizeof(uint64_t))
      ((uint64_t *)job->to)[i] = value;
    else
      ((uint32_t *)job->to)[i] = (uint32_t)value;
  }
}

/* ---- A piece --------------------------------------------------------------------------------- */

static const void *offset(const void *array, uint64_t items, size_t bytes) {
  return array != NULL ? (const char *)array + items * bytes : NULL;
}

static void *offset_out(void *array, uint64_t items, size_t bytes) {
  return array != NULL ? (char *)array + items * bytes : NULL;
}

static dzo_status fetch_one(const piece_run *run, const void *from, void *room, uint64_t bytes) {
  return from != NULL ? table_fetch(run->table, run->memory, room, from, bytes) : DZO_OK;
}

/* The piece in host memory, as wide as the caller has it. What a mixed batch leaves of its results
 * as it was is fetched, too. */
static dzo_status fetch_piece(const piece_run *run, uint64_t first, dzo_table_batch *piece) {
  const piece_room *r = &run->room;
  uint64_t n = piece->count;
  const dzo_table_batch *b = run->batch;
  piece->keys = offset(b->keys, first, run->key_bytes);
  piece->values = offset(b->values, first, run->value_bytes);
  piece->operations = offset(b->operations, first, 1);
  piece->results = offset_out(b->results, first, run->value_bytes);
  piece->answers = offset_out(b->answers, first, 1);
  if (run->memory != TABLE_MEMORY_GPU)
    return DZO_OK;
  DZO_TRY(fetch_one(run, piece->keys, r->raw_keys, n * run->key_bytes));
  DZO_TRY(fetch_one(run, piece->values, r->raw_values, n * run->value_bytes));
  DZO_TRY(fetch_one(run, piece->operations, r->operations, n));
  if (piece->operations != NULL)
    DZO_TRY(fetch_one(run, piece->results, r->raw_results, n * run->value_bytes));
  piece->keys = r->raw_keys;
  piece->values = r->raw_values;
  piece->operations = r->operations;
  piece->results = r->raw_results;
  piece->answers = r->answers;
  return DZO_OK;
}

static dzo_status send_piece(const piece_run *run, uint64_t first, const dzo_table_batch *piece) {
  if (run->memory != TABLE_MEMORY_GPU)
    return DZO_OK;
  const dzo_table_batch *b = run->batch;
  if (b->results != NULL)
    DZO_TRY(table_send(run->table, run->memory, offset_out(b->results, first, run->value_bytes),
                       piece->results, piece->count * run->value_bytes));
  if (b->answers != NULL)
    DZO_TRY(table_send(run->table, run->memory, b->answers + first, piece->answers, piece->count));
  return DZO_OK;
}

/* The same queries in words. */
static void widen_piece(const piece_run *run, const dzo_table_batch *piece,
                        dzo_table_batch *words) {
  const piece_room *r = &run->room;
  const dzo_table_options *o = &run->table->options;
  int threads = run->table->context->threads;
  *words = *piece;
  if (!run->mixed)
    return;
  widen_job keys = {piece->keys, run->key_bytes, 0, 0, r->keys};
  dzo_parallel_for(threads, piece->count, WIDEN_GRAIN, widen_range, &keys);
  words->keys = r->keys;
  words->results = r->results;
  words->values = r->values;
  if (r->values == NULL)
    return;
  uint64_t one = piece->operation == DZO_TABLE_ADD ? 1 : 0;
  widen_job values = {piece->values, run->value_bytes, table_value_shift(o), one, r->values};
  dzo_parallel_for(threads, piece->count, WIDEN_GRAIN, widen_range, &values);
}

static dzo_status run_piece(const piece_run *run, uint64_t first, dzo_table_batch *piece) {
  dzo_table_batch words;
  DZO_TRY(fetch_piece(run, first, piece));
  widen_piece(run, piece, &words);
  dzo_table *table = run->table;
  dzo_status status = table->engine->run(table->state, &words);
  piece->found = words.found;
  piece->inserted = words.inserted;
  piece->refused = words.refused;
  if (status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED)
    return status;
  if (run->mixed && piece->results != NULL) {
    narrow_job narrow = {run->room.results, piece->operations, run->value_bytes,
                         table_value_shift(&table->options), piece->results};
    dzo_parallel_for(table->context->threads, piece->count, WIDEN_GRAIN, narrow_range, &narrow);
  }
  dzo_status sent = send_piece(run, first, piece);
  return sent != DZO_OK ? sent : status;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* What is left undone by an end before the end. */
static dzo_status refuse_from(const piece_run *run, dzo_table_batch *batch, uint64_t first) {
  if (run->memory != TABLE_MEMORY_GPU || batch->answers == NULL) {
    table_refuse_rest(batch, first);
    return DZO_OK;
  }
  batch->refused += batch->count - first;
  memset(run->room.answers, DZO_TABLE_REFUSED, batch->count < PIECE ? batch->count : PIECE);
  for (uint64_t at = first; at < batch->count; at += PIECE) {
    uint64_t n = batch->count - at < PIECE ? batch->count - at : PIECE;
    DZO_TRY(table_send(run->table, run->memory, batch->answers + at, run->room.answers, n));
  }
  return DZO_OK;
}

static dzo_status run_all(const piece_run *run, dzo_table_batch *batch) {
  dzo_status last = DZO_OK;
  for (uint64_t at = 0; at < batch->count; at += PIECE) {
    dzo_table_batch piece = *run->batch;
    piece.count = batch->count - at < PIECE ? batch->count - at : PIECE;
    piece.found = piece.inserted = piece.refused = 0;
    dzo_status status = run_piece(run, at, &piece);
    batch->found += piece.found;
    batch->inserted += piece.inserted;
    batch->refused += piece.refused;
    if (status == DZO_E_LIMIT)
      last = status;
    else if (status != DZO_OK) {
      if (status == DZO_E_MEMORY || status == DZO_E_CANCELLED)
        DZO_TRY(refuse_from(run, batch, at + piece.count));
      return status;
    }
  }
  return last;
}

dzo_status table_run_pieces(dzo_table *table, dzo_table_batch *batch, table_memory memory) {
  const dzo_table_options *o = &table->options;
  dzo_table_batch all = *batch;
  piece_run run = {.table = table,
                   .batch = &all,
                   .memory = memory,
                   .mixed = table_is_mixed(o),
                   .key_bytes = (size_t)o->key_bits / 8,
                   .value_bytes = (size_t)o->value_bits / 8};
  dzo_status status = DZO_E_MEMORY;
  if (take_room(&run))
    status = run_all(&run, batch);
  else if (memory != TABLE_MEMORY_GPU)
    table_refuse_rest(batch, 0);
  free_room(&run.room);
  return status;
}
