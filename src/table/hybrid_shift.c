/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Ranges of the hash that move from a GPU without room to the CPU. The pairs are first copied, and
 * only when all are there erased where they were, so that a failure between leaves the table as it
 * was. A GPU that has not even the memory to erase gives up all its ranges, and is cleared.
 * Cancelling has to wait for it. */
#include "base/memory.h"
#include "table/hybrid.h"

enum { ERASED = 1 << 14 }; /* at once */

/* Ranges from..to - 1 are on their way. */
typedef struct shift_run {
  table_hybrid *h;
  uint32_t from, to;
  void *keys, *values; /* [TABLE_EXPORT_ROOM] words */
  uint64_t cursor;
  uint64_t count; /* pairs of the piece that are on their way */
  bool end;
  bool cancelled; /* meanwhile */
} shift_run;

static void put(const shift_run *run, uint64_t to, uint64_t i) {
  if (run->h->wide) {
    ((uint64_t *)run->keys)[to] = ((uint64_t *)run->keys)[i];
    ((uint64_t *)run->values)[to] = ((uint64_t *)run->values)[i];
  } else {
    ((uint32_t *)run->keys)[to] = ((uint32_t *)run->keys)[i];
    ((uint32_t *)run->values)[to] = ((uint32_t *)run->values)[i];
  }
}

/* The next piece, of which only what moves is kept. */
static dzo_status next_piece(shift_run *run) {
  table_hybrid *h = run->h;
  uint64_t got = 0;
  run->count = 0;
  run->end = run->cursor == UINT64_MAX;
  if (run->end)
    return DZO_OK;
  dzo_status status = h->engine[ON_GPU]->export_some(
      h->part[ON_GPU], &run->cursor, TABLE_EXPORT_ROOM, run->keys, run->values, &got);
  DZO_TRY(table_hybrid_fail(h, ON_GPU, status));
  for (uint64_t i = 0; i < got; i++) {
    uint64_t key = table_word_at(run->keys, table_hybrid_word(h), i);
    uint32_t range = table_part(table_hash(key, h->seed), TABLE_HYBRID_RANGES);
    if (range >= run->from && range < run->to)
      put(run, run->count++, i);
  }
  return DZO_OK;
}

static dzo_status run_batch(shift_run *run, int part, dzo_table_batch *batch) {
  table_hybrid *h = run->h;
  dzo_status status;
  while ((status = table_hybrid_fail(h, part, h->engine[part]->run(h->part[part], batch))) ==
         DZO_E_CANCELLED) {
    run->cancelled = true;
    dzo_context_resume(h->context); /* what was done of it is no harm to do again */
  }
  return status == DZO_E_LIMIT ? DZO_E_MEMORY : status;
}

static dzo_status change(shift_run *run, int part, dzo_table_operation operation) {
  size_t word = table_hybrid_word(run->h);
  uint64_t most = operation == DZO_TABLE_ERASE ? ERASED : run->count;
  for (uint64_t at = 0; at < run->count; at += most) {
    dzo_table_batch batch;
    dzo_table_batch_init(&batch);
    batch.operation = operation;
    batch.count = run->count - at < most ? run->count - at : most;
    batch.keys = (char *)run->keys + at * word;
    if (operation == DZO_TABLE_INSERT)
      batch.values = (char *)run->values + at * word;
    DZO_TRY(run_batch(run, part, &batch));
  }
  return DZO_OK;
}

static void put_key(const shift_run *run, uint64_t i, uint64_t key) {
  if (run->h->wide)
    ((uint64_t *)run->keys)[i] = key;
  else
    ((uint32_t *)run->keys)[i] = (uint32_t)key;
}

/* A key that the GPU's part does not have. */
static dzo_status find_absent(shift_run *run, uint64_t *key) {
  uint8_t *answers = run->values;
  for (uint64_t first = 0;; first += ERASED) {
    dzo_table_batch batch;
    dzo_table_batch_init(&batch);
    batch.operation = DZO_TABLE_FIND;
    batch.count = ERASED;
    batch.keys = run->keys;
    batch.answers = answers;
    for (uint64_t i = 0; i < ERASED; i++)
      put_key(run, i, first + i);
    DZO_TRY(run_batch(run, ON_GPU, &batch));
    for (uint64_t i = 0; i < ERASED; i++)
      if (answers[i] == DZO_TABLE_ABSENT) {
        *key = first + i;
        return DZO_OK;
      }
  }
}

/* Erases as many keys as the GPU may ever have to, which are not there. The workspace stays. */
static dzo_status try_to_erase(shift_run *run) {
  uint64_t key = 0;
  DZO_TRY(find_absent(run, &key));
  for (uint64_t i = 0; i < ERASED; i++)
    put_key(run, i, key);
  run->count = ERASED;
  return change(run, ON_GPU, DZO_TABLE_ERASE);
}

/* Over all pieces of the GPU's pairs. Once more until there is nothing to erase. */
static dzo_status change_all(shift_run *run, int part, dzo_table_operation operation) {
  run->cursor = 0;
  for (;;) {
    DZO_TRY(next_piece(run));
    if (run->end)
      return DZO_OK;
    DZO_TRY(change(run, part, operation));
  }
}

static dzo_status erase_moved(shift_run *run) {
  table_hybrid *h = run->h;
  uint64_t before;
  do {
    before = table_hybrid_size_of(h, ON_GPU);
    DZO_TRY(change_all(run, ON_GPU, DZO_TABLE_ERASE));
  } while (table_hybrid_size_of(h, ON_GPU) < before);
  return DZO_OK;
}

/* A fixed part refuses what it was not made for. */
static dzo_status make_room(const shift_run *run) {
  table_hybrid *h = run->h;
  uint64_t size = table_hybrid_size_of(h, ON_CPU) + table_hybrid_size_of(h, ON_GPU);
  if (!h->fixed || size <= h->engine[ON_CPU]->capacity(h->part[ON_CPU]))
    return DZO_OK;
  return h->engine[ON_CPU]->reserve(h->part[ON_CPU], size);
}

/* The CPU has copies of what moves. */
static dzo_status forget_moved(shift_run *run) {
  table_hybrid *h = run->h;
  h->share = run->from;
  if (run->from > 0)
    return erase_moved(run);
  DZO_TRY(table_hybrid_fail(h, ON_GPU, h->engine[ON_GPU]->clear(h->part[ON_GPU])));
  dzo_status status = table_hybrid_fail(h, ON_GPU, h->engine[ON_GPU]->shrink(h->part[ON_GPU]));
  return status == DZO_E_MEMORY ? DZO_OK : status;
}

static dzo_status move_pairs(shift_run *run) {
  dzo_status status = run->from > 0 ? try_to_erase(run) : DZO_OK;
  if (status == DZO_E_MEMORY)
    run->from = 0;
  else if (status != DZO_OK)
    return status;
  DZO_TRY(make_room(run));
  status = change_all(run, ON_CPU, DZO_TABLE_INSERT);
  if (status == DZO_OK)
    return forget_moved(run);
  if (status == DZO_E_MEMORY)
    DZO_TRY(change_all(run, ON_CPU, DZO_TABLE_ERASE));
  return status;
}

dzo_status table_hybrid_shift(table_hybrid *h) {
  if (h->share == 0)
    return DZO_E_MEMORY;
  shift_run run = {.h = h, .from = h->share / 2, .to = h->share};
  dzo_progress_fn progress = h->context->progress;
  h->context->progress = NULL;
  run.keys = dzo_alloc(h->context, TABLE_EXPORT_ROOM, table_hybrid_word(h));
  run.values = dzo_alloc(h->context, TABLE_EXPORT_ROOM, table_hybrid_word(h));
  dzo_status status = DZO_E_MEMORY;
  if (run.keys != NULL && run.values != NULL)
    status = move_pairs(&run);
  dzo_free(run.keys);
  dzo_free(run.values);
  h->context->progress = progress;
  if (run.cancelled)
    dzo_context_cancel(h->context);
  return status;
}
