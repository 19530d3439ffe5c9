/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches of a table that may outgrow the GPU. While the GPU has all of it, they go there as they
 * are: parting takes longer than the CPU's share of the work would save. Otherwise a piece is
 * parted by the ranges of the hash, each part keeping its order; both processors work at once; the
 * answers go back to their positions. Equal keys are in one part, so that the order by position
 * holds.
 *
 * What a part refuses, though the table has room, is tried again when it has been made: by more
 * room in a part of a fixed table, or by moving ranges from a GPU that is full to the CPU. A batch
 * of one operation may do so afterwards, since all queries of a key that was refused were. In a
 * mixed batch a look-up would have missed it, so room is made before, and only what a part left
 * undone from some query to its end is tried again. */
#include <string.h>

#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "table/hybrid.h"

enum { BLOCK = 1 << 14 };

/* Queries to be run, and where their answers go: query i is number at[i] of the batch, or number
 * first + i where there is no `at`. */
typedef struct source {
  uint64_t count;
  const void *keys, *values;
  const uint8_t *operations;
  const uint64_t *at;
  uint64_t first;
} source;

typedef struct hybrid_run {
  table_hybrid *h;
  dzo_table_batch *batch;
  const source *from;
  uint64_t on_gpu; /* queries of the source */
  dzo_table_batch part[TABLE_PARTS];
  dzo_status status[TABLE_PARTS];
} hybrid_run;

/* ---- Room ------------------------------------------------------------------------------------ */

void table_hybrid_free_room(table_parted *p) {
  dzo_free(p->keys);
  dzo_free(p->values);
  dzo_free(p->results);
  dzo_free(p->operations);
  dzo_free(p->answers);
  dzo_free(p->positions);
  dzo_free(p->counts);
  *p = (table_parted){0};
}

static dzo_status take_room(table_hybrid *h, uint64_t count) {
  table_parted *p = &h->parted;
  if (p->room >= count)
    return DZO_OK;
  table_hybrid_free_room(p);
  size_t word = table_hybrid_word(h);
  p->keys = dzo_alloc(h->context, count, word);
  p->values = dzo_alloc(h->context, count, word);
  p->results = dzo_alloc(h->context, count, word);
  p->operations = dzo_alloc(h->context, count, 1);
  p->answers = dzo_alloc(h->context, count, 1);
  p->positions = dzo_alloc(h->context, count, sizeof *p->positions);
  p->counts = dzo_alloc(h->context, count / BLOCK + 1, sizeof *p->counts);
  if (p->keys != NULL && p->values != NULL && p->results != NULL && p->operations != NULL &&
      p->answers != NULL && p->positions != NULL && p->counts != NULL) {
    p->room = count;
    return DZO_OK;
  }
  table_hybrid_free_room(p);
  return DZO_E_MEMORY;
}

/* ---- Parting --------------------------------------------------------------------------------- */

static void copy_word(size_t word, void *to, uint64_t i, const void *from, uint64_t j) {
  if (word == sizeof(uint64_t))
    ((uint64_t *)to)[i] = ((const uint64_t *)from)[j];
  else
    ((uint32_t *)to)[i] = ((const uint32_t *)from)[j];
}

static void count_block(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const hybrid_run *run = argument;
  size_t word = table_hybrid_word(run->h);
  uint32_t count = 0;
  for (uint64_t i = begin; i < end; i++)
    count += table_hybrid_is_gpu(run->h, table_word_at(run->from->keys, word, i));
  run->h->parted.counts[begin / BLOCK] = count;
}

static void part_block(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const hybrid_run *run = argument;
  const source *from = run->from;
  const table_parted *p = &run->h->parted;
  size_t word = table_hybrid_word(run->h);
  uint64_t gpu = p->counts[begin / BLOCK], cpu = run->on_gpu + begin - gpu;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = table_word_at(from->keys, word, i);
    uint64_t to = table_hybrid_is_gpu(run->h, key) ? gpu++ : cpu++;
    copy_word(word, p->keys, to, from->keys, i);
    if (from->values != NULL)
      copy_word(word, p->values, to, from->values, i);
    if (from->operations != NULL)
      p->operations[to] = from->operations[i];
    p->positions[to] = (uint32_t)i;
  }
}

static dzo_table_batch part_batch(const hybrid_run *run, uint64_t first, uint64_t count) {
  const table_parted *p = &run->h->parted;
  size_t skip = first * table_hybrid_word(run->h);
  dzo_table_batch part = *run->batch;
  part.count = count;
  part.keys = (const char *)p->keys + skip;
  part.values = run->from->values != NULL ? (const char *)p->values + skip : NULL;
  part.operations = run->from->operations != NULL ? p->operations + first : NULL;
  part.results = run->batch->results != NULL ? (char *)p->results + skip : NULL;
  part.answers = p->answers + first;
  part.found = part.inserted = part.refused = 0;
  return part;
}

static void part_source(hybrid_run *run) {
  table_hybrid *h = run->h;
  uint64_t n = run->from->count;
  int threads = h->context->threads;
  dzo_parallel_for(threads, n, BLOCK, count_block, run);
  uint32_t before = 0;
  for (uint64_t b = 0; b * BLOCK < n; b++) {
    uint32_t count = h->parted.counts[b];
    h->parted.counts[b] = before;
    before += count;
  }
  run->on_gpu = before;
  dzo_parallel_for(threads, n, BLOCK, part_block, run);
  run->part[ON_GPU] = part_batch(run, 0, before);
  run->part[ON_CPU] = part_batch(run, before, n - before);
}

/* ---- Room in the parts ----------------------------------------------------------------------- */

static bool stores(uint8_t operation) {
  return operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
}

/* Before a mixed batch: as many pairs as it may store. A part of a fixed table never needs more
 * than all that the table was promised to hold. *shifted: the parts are others now. */
static dzo_status make_room(hybrid_run *run, int part, bool *shifted) {
  table_hybrid *h = run->h;
  const dzo_table_batch *batch = &run->part[part];
  const table_engine *engine = h->engine[part];
  uint64_t wanted = table_hybrid_size_of(h, part);
  for (uint64_t i = 0; i < batch->count; i++)
    wanted += stores(batch->operations[i]);
  if (h->fixed && wanted > h->capacity)
    wanted = h->capacity;
  if (wanted <= engine->capacity(h->part[part]))
    return DZO_OK;
  dzo_status status = table_hybrid_fail(h, part, engine->reserve(h->part[part], wanted));
  if (status != DZO_E_MEMORY)
    return status;
  /* The CPU's part may still find that it needs less. */
  *shifted = part == ON_GPU && table_hybrid_shift(h) == DZO_OK;
  return DZO_OK;
}

static dzo_status part_with_room(hybrid_run *run) {
  for (;;) {
    part_source(run);
    if (run->from->operations == NULL)
      return DZO_OK;
    bool shifted = false;
    for (int part = 0; part < TABLE_PARTS; part++)
      if (!shifted && run->part[part].count > 0)
        DZO_TRY(make_room(run, part, &shifted));
    if (!shifted)
      return DZO_OK;
  }
}

/* ---- Running --------------------------------------------------------------------------------- */

static void run_part(hybrid_run *run, int part) {
  table_hybrid *h = run->h;
  if (run->part[part].count == 0)
    return;
  run->status[part] = h->engine[part]->run(h->part[part], &run->part[part]);
}

static void run_cpu(void *argument) { run_part(argument, ON_CPU); }
static void run_gpu(void *argument) { run_part(argument, ON_GPU); }

static void run_parts(hybrid_run *run) {
  table_hybrid *h = run->h;
  run->status[ON_CPU] = run->status[ON_GPU] = DZO_OK;
  if (run->part[ON_CPU].count < h->alone || run->part[ON_GPU].count < h->alone) {
    run_cpu(run);
    run_gpu(run);
  } else {
    dzo_run_beside(run_cpu, run, run_gpu, run);
  }
  (void)table_hybrid_fail(h, ON_GPU, run->status[ON_GPU]);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void merge_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const hybrid_run *run = argument;
  const source *from = run->from;
  const table_parted *p = &run->h->parted;
  const dzo_table_batch *batch = run->batch;
  size_t word = table_hybrid_word(run->h);
  for (uint64_t i = begin; i < end; i++) {
    uint64_t at = p->positions[i];
    uint64_t to = from->at != NULL ? from->at[at] : from->first + at;
    if (batch->answers != NULL)
      batch->answers[to] = p->answers[i];
    if (batch->results != NULL && (from->operations == NULL || p->operations[i] == DZO_TABLE_FIND))
      copy_word(word, batch->results, to, p->results, i);
  }
}

static void merge(hybrid_run *run) {
  dzo_parallel_for(run->h->context->threads, run->from->count, BLOCK, merge_range, run);
  for (int part = 0; part < TABLE_PARTS; part++) {
    run->batch->found += run->part[part].found;
    run->batch->inserted += run->part[part].inserted;
    run->batch->refused += run->part[part].refused;
  }
}

/* ---- Once more ------------------------------------------------------------------------------- */

/* Are the refused queries of the part in one piece, at its end? */
static bool stopped(const dzo_table_batch *part) {
  uint64_t at = part->count;
  while (at > 0 && part->answers[at - 1] == DZO_TABLE_REFUSED)
    at--;
  return part->count - at == part->refused;
}

static bool may_try_again(const hybrid_run *run, int part) {
  const dzo_table_batch *batch = &run->part[part];
  return run->status[part] != DZO_E_CANCELLED && (run->from->operations == NULL || stopped(batch));
}

/* Can what the parts refused be tried again, with the room that is made here? */
static dzo_status make_more_room(hybrid_run *run, bool *again) {
  table_hybrid *h = run->h;
  *again = false;
  if (!may_try_again(run, ON_CPU) || !may_try_again(run, ON_GPU))
    return DZO_OK;
  for (int part = 0; part < TABLE_PARTS; part++) {
    if (run->part[part].refused == 0)
      continue;
    const table_engine *engine = h->engine[part];
    dzo_status status = run->status[part];
    uint64_t has = engine->capacity(h->part[part]);
    uint64_t wanted = table_hybrid_size_of(h, part) + run->part[part].refused;
    if (wanted > h->capacity)
      wanted = h->capacity;
    if (status == DZO_E_LIMIT && wanted > has) {
      status = table_hybrid_fail(h, part, engine->reserve(h->part[part], wanted));
      *again |= status == DZO_OK;
    }
    if (status == DZO_E_MEMORY && part == ON_GPU) {
      status = table_hybrid_shift(h);
      *again |= status == DZO_OK;
    }
    if (status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED)
      return status;
  }
  return DZO_OK;
}

typedef struct refused_queries {
  source source;
  void *keys, *values;
  uint8_t *operations;
  uint64_t *at;
} refused_queries;

static void free_refused(refused_queries *r) {
  dzo_free(r->keys);
  dzo_free(r->values);
  dzo_free(r->operations);
  dzo_free(r->at);
  *r = (refused_queries){.keys = NULL};
}

static dzo_status make_refused(const table_hybrid *h, uint64_t count, refused_queries *r) {
  size_t word = table_hybrid_word(h);
  *r = (refused_queries){.keys = dzo_alloc(h->context, count, word),
                         .values = dzo_alloc(h->context, count, word),
                         .operations = dzo_alloc(h->context, count, 1),
                         .at = dzo_alloc(h->context, count, sizeof *r->at)};
  if (r->keys != NULL && r->values != NULL && r->operations != NULL && r->at != NULL)
    return DZO_OK;
  free_refused(r);
  return DZO_E_MEMORY;
}

/* Those of both parts, each in its order. */
static dzo_status gather_refused(const hybrid_run *run, refused_queries *r) {
  const table_hybrid *h = run->h;
  const table_parted *p = &h->parted;
  const source *from = run->from;
  size_t word = table_hybrid_word(h);
  uint64_t count = run->part[ON_CPU].refused + run->part[ON_GPU].refused;
  DZO_TRY(make_refused(h, count, r));
  uint64_t n = 0;
  for (uint64_t i = 0; i < from->count && n < count; i++) {
    if (p->answers[i] != DZO_TABLE_REFUSED)
      continue;
    uint64_t at = p->positions[i];
    copy_word(word, r->keys, n, p->keys, i);
    if (from->values != NULL)
      copy_word(word, r->values, n, p->values, i);
    if (from->operations != NULL)
      r->operations[n] = p->operations[i];
    r->at[n++] = from->at != NULL ? from->at[at] : from->first + at;
  }
  r->source = (source){.count = n,
                       .keys = r->keys,
                       .values = from->values != NULL ? r->values : NULL,
                       .operations = from->operations != NULL ? r->operations : NULL,
                       .at = r->at};
  return DZO_OK;
}

/* The worse of two ends. */
static dzo_status worse(dzo_status a, dzo_status b) {
  static const dzo_status order[] = {DZO_E_DEVICE, DZO_E_DEVICE_FAILED, DZO_E_CANCELLED,
                                     DZO_E_MEMORY, DZO_E_LIMIT};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (a == order[i] || b == order[i])
      return order[i];
  return a != DZO_OK ? a : b;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* One round; what can be tried again is left in `more`, and not counted. */
static dzo_status run_round(hybrid_run *run, refused_queries *more) {
  DZO_TRY(part_with_room(run));
  run_parts(run);
  dzo_status status = worse(run->status[ON_CPU], run->status[ON_GPU]);
  if (status == DZO_E_DEVICE || status == DZO_E_DEVICE_FAILED)
    return status;
  merge(run);
  bool again;
  DZO_TRY(make_more_room(run, &again));
  if (!again || gather_refused(run, more) != DZO_OK)
    return status;
  run->batch->refused -= more->source.count;
  return DZO_OK;
}

static dzo_status run_source(table_hybrid *h, dzo_table_batch *batch, const source *from) {
  refused_queries before = {.keys = NULL}, more = {.keys = NULL};
  dzo_status status;
  source now = *from;
  do {
    hybrid_run run = {.h = h, .batch = batch, .from = &now};
    more = (refused_queries){.keys = NULL};
    status = run_round(&run, &more);
    free_refused(&before);
    before = more;
    now = more.source;
  } while (now.count > 0);
  free_refused(&before);
  return status;
}

static source piece_of(const table_hybrid *h, const dzo_table_batch *batch, uint64_t first) {
  size_t skip = first * table_hybrid_word(h);
  return (source){.count = batch->count - first < h->piece ? batch->count - first : h->piece,
                  .keys = (const char *)batch->keys + skip,
                  .values = batch->values != NULL ? (const char *)batch->values + skip : NULL,
                  .operations = batch->operations != NULL ? batch->operations + first : NULL,
                  .first = first};
}

static dzo_status run_in_parts(table_hybrid *h, dzo_table_batch *batch) {
  dzo_status last = take_room(h, batch->count < h->piece ? batch->count : h->piece);
  if (last != DZO_OK) {
    table_refuse_rest(batch, 0);
    return last;
  }
  for (uint64_t at = 0; at < batch->count;) {
    source piece = piece_of(h, batch, at);
    dzo_status status = run_source(h, batch, &piece);
    at += piece.count;
    if (status == DZO_E_LIMIT)
      last = status;
    if (status == DZO_OK || status == DZO_E_LIMIT)
      continue;
    table_refuse_rest(batch, at);
    return status;
  }
  if (last == DZO_OK)
    h->context->message[0] = '\0'; /* of what was tried again */
  return last;
}

/* ---- As they are ----------------------------------------------------------------------------- */

/* May a batch of one operation make the GPU's part grow? */
static bool may_grow(const table_hybrid *h, const dzo_table_batch *batch) {
  uint64_t has = h->engine[ON_GPU]->capacity(h->part[ON_GPU]);
  uint64_t size = table_hybrid_size_of(h, ON_GPU);
  return !h->fixed && stores((uint8_t)batch->operation) &&
         (size > has || batch->count > has - size);
}

/* The queries that a batch was refused, in order, of which there are batch->refused. */
static dzo_status list_refused(const table_hybrid *h, const dzo_table_batch *batch,
                               const uint8_t *answers, refused_queries *r) {
  size_t word = table_hybrid_word(h);
  uint64_t count = batch->refused, n = 0;
  DZO_TRY(make_refused(h, count, r));
  for (uint64_t i = 0; i < batch->count && n < count; i++) {
    if (answers[i] != DZO_TABLE_REFUSED)
      continue;
    copy_word(word, r->keys, n, batch->keys, i);
    if (batch->values != NULL)
      copy_word(word, r->values, n, batch->values, i);
    r->at[n++] = i;
  }
  return DZO_OK;
}

/* What the GPU had no memory for, once the CPU has some of the ranges. */
static dzo_status run_refused(table_hybrid *h, dzo_table_batch *batch, const uint8_t *answers) {
  refused_queries r;
  size_t word = table_hybrid_word(h);
  if (table_hybrid_shift(h) != DZO_OK || take_room(h, h->piece) != DZO_OK ||
      list_refused(h, batch, answers, &r) != DZO_OK)
    return DZO_E_MEMORY;
  uint64_t count = batch->refused;
  dzo_status status = DZO_OK;
  batch->refused = 0;
  for (uint64_t i = 0; i < count && status == DZO_OK; i += h->piece) {
    source piece = {.count = count - i < h->piece ? count - i : h->piece,
                    .keys = (const char *)r.keys + i * word,
                    .values = batch->values != NULL ? (const char *)r.values + i * word : NULL,
                    .at = r.at + i};
    status = run_source(h, batch, &piece);
    if (status != DZO_OK)
      batch->refused += count - i - piece.count;
  }
  free_refused(&r);
  if (status == DZO_OK)
    h->context->message[0] = '\0';
  return status;
}

static dzo_status run_there(table_hybrid *h, dzo_table_batch *batch) {
  h->reports = true;
  dzo_status status = h->engine[ON_GPU]->run(h->part[ON_GPU], batch);
  h->reports = false;
  return table_hybrid_fail(h, ON_GPU, status);
}

static dzo_status run_as_it_is(table_hybrid *h, dzo_table_batch *batch) {
  bool grows = may_grow(h, batch);
  uint8_t *own = NULL;
  dzo_table_batch there = *batch;
  if (grows && batch->answers == NULL)
    there.answers = own = dzo_alloc(h->context, batch->count, 1);
  if (grows && (there.answers == NULL || batch->operation == DZO_TABLE_MIXED)) {
    dzo_free(own);
    return run_in_parts(h, batch);
  }
  dzo_status status = run_there(h, &there);
  batch->found = there.found;
  batch->inserted = there.inserted;
  batch->refused = there.refused;
  if (status == DZO_E_MEMORY && batch->operation == DZO_TABLE_FIND) {
    batch->found = batch->refused = 0;
    return run_in_parts(h, batch);
  }
  if (status == DZO_E_MEMORY && there.answers != NULL && batch->operation != DZO_TABLE_MIXED)
    status = run_refused(h, batch, there.answers);
  dzo_free(own);
  return status;
}

dzo_status table_hybrid_run(void *state, dzo_table_batch *batch) {
  table_hybrid *h = state;
  batch->found = batch->inserted = batch->refused = 0;
  if (h->share == TABLE_HYBRID_RANGES)
    return run_as_it_is(h, batch);
  return run_in_parts(h, batch);
}
