/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches are worked in pieces. A large piece is cut by the upper bits of the hash into parts, in
 * which queries keep their order, and each part is one thread's, with all regions that it is about.
 * So equal keys meet in order, and nobody has to lock anything. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "table/cpu.h"
#include "table/engine.h"

typedef struct batch_job {
  table_cpu *table;
  dzo_table_batch *batch;
  uint64_t done;  /* in whole pieces */
  uint64_t left;  /* to be done */
  bool no_memory; /* to grow, or in the overflow; or growing was cancelled */
  /* The workspace, of a piece; NULL: none yet. */
  uint64_t workspace; /* queries that it takes */
  void *items;
  uint32_t *tags, *starts;
  table_cpu_lines *lines; /* [threads] */
} batch_job;

static size_t word_bytes(const table_cpu *t) { return t->wide ? 8 : 4; }

static const table_cpu_width *width_of(const table_cpu *t) {
  return t->wide ? &table_cpu_wide : &table_cpu_narrow;
}

static bool is_creating(dzo_table_operation operation) {
  return operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
}

static const void *const_words(const table_cpu *t, const void *words, uint64_t at) {
  return words != NULL ? (const char *)words + at * word_bytes(t) : NULL;
}

static void *words_at(const table_cpu *t, void *words, uint64_t at) {
  return words != NULL ? (char *)words + at * word_bytes(t) : NULL;
}

/* ---- What a piece is made of ----------------------------------------------------------------- */

static table_cpu_cut cut_at(const batch_job *job, uint64_t begin) {
  const dzo_table_batch *b = job->batch;
  return (table_cpu_cut){
      .store = job->table->store,
      .keys = const_words(job->table, b->keys, begin),
      .values = const_words(job->table, b->values, begin),
      .value = b->operation == DZO_TABLE_ADD,
      .operations = b->operations != NULL ? b->operations + begin : NULL,
  };
}

static table_cpu_task task_at(const batch_job *job, uint64_t begin, uint64_t *room) {
  const dzo_table_batch *b = job->batch;
  return (table_cpu_task){
      .table = job->table,
      .store = job->table->store,
      .operation = b->operation,
      .answers = b->answers != NULL ? b->answers + begin : NULL,
      .results = words_at(job->table, b->results, begin),
      .bounded = job->table->fixed || job->no_memory,
      .room = room,
  };
}

/* Pairs that the overflow must still take: what a fixed table says that it holds, counted as if all
 * that is erased in this piece were erased at first. */
static uint64_t overflow_room(const batch_job *job, uint64_t begin, uint64_t count) {
  const table_cpu *t = job->table;
  if (!t->fixed)
    return 0;
  uint64_t capacity = table_cpu_limit(t, t->store);
  if (job->batch->operations != NULL)
    for (uint64_t i = begin; i < begin + count; i++)
      capacity += job->batch->operations[i] == DZO_TABLE_ERASE;
  return capacity > t->pairs ? capacity - t->pairs : 0;
}

static void add_counts(const table_cpu_task *task, table_cpu_task *sums) {
  (void)dzo_fetch_add_u64(&sums->count, task->count);
  (void)dzo_fetch_add_u64(&sums->found, task->found);
  (void)dzo_fetch_add_u64(&sums->inserted, task->inserted);
  (void)dzo_fetch_add_u64(&sums->refused, task->refused);
  (void)dzo_fetch_add_u64(&sums->erased, task->erased);
  if (task->starved)
    __atomic_store_n(&sums->starved, true, __ATOMIC_RELAXED);
}

/* ---- Growing --------------------------------------------------------------------------------- */

static bool is_growing(const batch_job *job) {
  return is_creating(job->batch->operation) && !job->table->fixed && !job->no_memory;
}

/* New pairs that may come before the table should be looked at again: a little more than it is made
 * for, since most queries may be for keys that it has. */
static uint64_t quota_of(const batch_job *job) {
  const table_cpu *t = job->table;
  uint64_t limit = table_cpu_limit(t, t->store);
  if (!is_growing(job))
    return UINT64_MAX;
  return (limit > t->pairs ? limit - t->pairs : 0) + t->store->slots / 64 + 1;
}

/* For how many pairs to make the table next: twice as many, or up to eight times where so many of
 * the last queries were for new keys that the ones to come must bring as many (keys of D, drawn
 * evenly, of which p are there, are new at a rate of 1 - p / D). */
static uint64_t next_capacity(const batch_job *job, const table_cpu_task *sums) {
  const table_cpu *t = job->table;
  uint64_t capacity = 2 * table_cpu_limit(t, t->store), left = job->left - sums->count;
  uint64_t known = sums->count - sums->inserted;
  for (unsigned times = 4; times <= 8; times *= 2)
    if (known * times < sums->count && capacity < left)
      capacity *= 2;
  return capacity > t->pairs ? capacity : t->pairs;
}

/* Count what a task, or all of a round, have done, and grow if need be. */
static void settle(batch_job *job, const table_cpu_task *sums) {
  table_cpu *t = job->table;
  job->batch->found += sums->found;
  job->batch->inserted += sums->inserted;
  job->batch->refused += sums->refused;
  job->no_memory |= sums->starved;
  t->pairs += sums->inserted;
  t->pairs -= sums->erased;
  if (t->pairs > table_cpu_limit(t, t->store) && is_growing(job))
    job->no_memory = table_cpu_resize(t, next_capacity(job, sums)) != DZO_OK;
  job->left -= sums->count;
}

/* ---- One thread ------------------------------------------------------------------------------ */

static bool is_for_one(const batch_job *job, uint64_t count) {
  return count <= job->table->sizes.direct || job->table->store->bits == 0;
}

/* Returns how many are done: fewer if what is left is work for many. */
static uint64_t run_directly(batch_job *job, uint64_t begin, uint64_t count, uint64_t *room,
                             bool forced) {
  enum { AT_ONCE = 256 };
  _Alignas(64) uint64_t items[2 * AT_ONCE];
  uint32_t tags[AT_ONCE];
  const table_cpu_width *width = width_of(job->table);
  uint64_t done = 0;
  while (done < count && (forced || is_for_one(job, count - done))) {
    table_cpu_cut cut = cut_at(job, begin + done);
    table_cpu_task task = task_at(job, begin + done, room);
    task.count = count - done < AT_ONCE ? count - done : AT_ONCE;
    task.quota = quota_of(job);
    task.items = cut.items = items;
    if (cut.operations != NULL)
      task.tags = cut.tags = tags;
    width->pack(&cut, 0, task.count);
    width->work(&task);
    done += task.count;
    settle(job, &task);
  }
  return done;
}

/* ---- Many threads ---------------------------------------------------------------------------- */

typedef struct piece_job {
  table_cpu_cut cut;
  table_cpu_lines *lines;
  uint64_t parts;
  uint32_t *ends;   /* [parts] of each part in the items */
  uint32_t *begins; /* [parts] of what is not done of it */
  table_cpu_task task, sums;
  uint16_t turns[TABLE_CPU_PARTS]; /* parts, in the order in which they are worked */
} piece_job;

static void count_chunk(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const piece_job *p = argument;
  uint32_t *counts = p->cut.starts + begin / p->cut.chunk * p->parts;
  memset(counts, 0, p->parts * sizeof *counts);
  width_of(p->task.table)->count(&p->cut, begin, end, counts);
}

static void scatter_chunk(void *argument, uint64_t begin, uint64_t end, int thread) {
  const piece_job *p = argument;
  width_of(p->task.table)
      ->scatter(&p->cut, begin, end, p->cut.starts + begin / p->cut.chunk * p->parts,
                &p->lines[thread]);
}

/* Have a part's buckets in the cache before it is worked, if most of them will be needed: one after
 * another they come several times faster than here and there. Reads, since prefetches do not make
 * processors foresee the next. */
static void fetch_part(const piece_job *p, uint64_t part, uint64_t queries) {
  enum { MOST_BYTES = 1 << 19 };
  const table_cpu_store *s = p->task.store;
  uint64_t buckets = s->buckets << (s->bits - p->cut.bits);
  if (queries < buckets / 2 || buckets > MOST_BYTES / (8 * TABLE_CPU_WORDS))
    return;
  for (uint64_t b = part * buckets; b < (part + 1) * buckets; b++)
    (void)dzo_load_u64(table_cpu_bucket(s, b));
}

static void work_part(piece_job *p, uint64_t part) {
  uint32_t from = p->begins[part];
  table_cpu_task task = p->task;
  task.items = (const char *)p->cut.items + from * 2 * word_bytes(task.table);
  task.tags = p->cut.tags != NULL ? p->cut.tags + from : NULL;
  task.count = p->ends[part] - from;
  fetch_part(p, part, task.count);
  width_of(task.table)->work(&task);
  add_counts(&task, &p->sums);
  p->begins[part] = from + (uint32_t)task.count;
}

static void work_parts(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  piece_job *p = argument;
  for (uint64_t turn = begin; turn < end; turn++)
    work_part(p, p->turns[turn]);
}

/* List the parts that are not done, heavy ones, those of hot keys, first, so that nobody has to
 * wait for one that began last. */
static uint64_t list_parts(piece_job *p, uint64_t heavy) {
  uint64_t count = 0;
  for (unsigned light = 0; light < 2; light++)
    for (uint64_t part = 0; part < p->parts; part++) {
      uint64_t left = p->ends[part] - p->begins[part];
      if (left > 0 && (left <= heavy) == (light != 0))
        p->turns[count++] = (uint16_t)part;
    }
  return count;
}

/* From counts to where each chunk's share of each part begins. */
static void sum_counts(const piece_job *p, uint64_t chunks) {
  uint32_t sum = 0;
  for (uint64_t part = 0; part < p->parts; part++)
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
      uint32_t *start = &p->cut.starts[chunk * p->parts + part];
      uint32_t here = *start;
      *start = sum;
      sum += here;
    }
}

static uint64_t chunks_of(const batch_job *job) {
  return 2 * (uint64_t)job->table->context->threads;
}

static void free_workspace(batch_job *job) {
  dzo_free(job->items);
  dzo_free(job->tags);
  dzo_free(job->starts);
  dzo_free(job->lines);
  job->items = NULL;
  job->lines = NULL;
  job->tags = job->starts = NULL;
  job->workspace = 0;
}

/* For a piece of so many queries. False: there is no memory. */
static bool have_workspace(batch_job *job, uint64_t count) {
  const dzo_table_batch *b = job->batch;
  dzo_context *context = job->table->context;
  bool tagged = b->operations != NULL || b->answers != NULL || b->results != NULL;
  if (count <= job->workspace)
    return true;
  free_workspace(job);
  uint64_t starts = (chunks_of(job) + 1) * TABLE_CPU_PARTS;
  job->items = dzo_alloc(context, count, 2 * word_bytes(job->table));
  job->tags = tagged ? dzo_alloc(context, count, sizeof *job->tags) : NULL;
  job->starts = dzo_alloc(context, starts, sizeof *job->starts);
  job->lines = dzo_alloc(context, (uint64_t)context->threads, sizeof *job->lines);
  if (job->items != NULL && job->starts != NULL && job->lines != NULL &&
      (job->tags != NULL || !tagged)) {
    job->workspace = count;
    return true;
  }
  free_workspace(job);
  return false;
}

/* Cut a piece into parts. */
static void cut_piece(piece_job *p, const batch_job *job, uint64_t begin, uint64_t count) {
  uint64_t chunks = chunks_of(job);
  int threads = job->table->context->threads;
  p->cut = cut_at(job, begin);
  p->cut.bits = job->table->store->bits;
  while (UINT64_C(1) << p->cut.bits > TABLE_CPU_PARTS)
    p->cut.bits--;
  p->parts = UINT64_C(1) << p->cut.bits;
  p->cut.chunk = (count + chunks - 1) / chunks;
  p->cut.items = job->items;
  p->cut.tags = job->tags;
  p->lines = job->lines;
  p->begins = job->starts;
  p->cut.starts = job->starts + p->parts;
  chunks = (count + p->cut.chunk - 1) / p->cut.chunk;
  dzo_parallel_for(threads, count, p->cut.chunk, count_chunk, p);
  sum_counts(p, chunks);
  memcpy(p->begins, p->cut.starts, p->parts * sizeof *p->begins);
  dzo_parallel_for(threads, count, p->cut.chunk, scatter_chunk, p);
  p->ends = p->cut.starts + (chunks - 1) * p->parts;
}

/* Parts stay what they are when the table grows, since more bits of the hash come behind theirs. */
static void run_in_parts(batch_job *job, uint64_t begin, uint64_t count, uint64_t *room) {
  piece_job p = {.task.table = job->table};
  cut_piece(&p, job, begin, count);
  uint64_t heavy = 2 * count / p.parts, left;
  while ((left = list_parts(&p, heavy)) > 0) {
    uint64_t quota = quota_of(job);
    p.task = task_at(job, begin, room);
    p.task.quota = quota == UINT64_MAX ? quota : quota / left + 1;
    p.sums = (table_cpu_task){0};
    dzo_parallel_for(job->table->context->threads, left, 1, work_parts, &p);
    settle(job, &p.sums);
  }
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Is the table small and are most queries for keys that it has, so that shares are worth their
 * while? */
static bool is_for_shares(const batch_job *job, uint64_t count) {
  const dzo_table_batch *b = job->batch;
  const table_cpu *t = job->table;
  uint64_t done = b->count - job->left;
  return t->context->threads > 1 && is_growing(job) && b->operation != DZO_TABLE_MIXED &&
         b->answers == NULL && t->store->bits <= 2 && t->sizes.direct < count / 4 &&
         done >= 2 * t->sizes.direct && b->inserted < done / 8;
}

static bool run_in_shares(batch_job *job, uint64_t begin, uint64_t count) {
  table_cpu *t = job->table;
  dzo_table_batch piece = *job->batch;
  piece.count = count;
  piece.keys = const_words(t, piece.keys, begin);
  piece.values = const_words(t, piece.values, begin);
  if (!table_cpu_run_shares(t, &piece))
    return false;
  job->batch->found += piece.found;
  job->batch->inserted += piece.inserted;
  job->batch->refused += piece.refused;
  job->no_memory |= piece.refused > 0;
  job->left -= count;
  return true;
}

static void run_piece(batch_job *job, uint64_t count) {
  if (is_for_shares(job, count) && run_in_shares(job, job->done, count)) {
    job->done += count;
    return;
  }
  uint64_t room = overflow_room(job, job->done, count);
  uint64_t done = run_directly(job, job->done, count, &room, false), left = count - done;
  if (left > 0 && have_workspace(job, count))
    run_in_parts(job, job->done + done, left, &room);
  else if (left > 0)
    (void)run_directly(job, job->done + done, left, &room, true);
  job->done += count;
}

/* How many queries to work next. Each piece goes once over the table, so that a large table is
 * worth a large piece, if there is memory for its workspace. */
static uint64_t next_piece(batch_job *job) {
  const table_cpu *t = job->table;
  uint64_t left = job->batch->count - job->done, large = t->sizes.piece;
  while (large < left && 2 * large <= t->sizes.pass && 2 * large <= t->store->slots)
    large *= 2;
  large = large < left ? large : left;
  uint64_t most = t->context->memory / 8 / (2 * word_bytes(t) + sizeof *job->tags);
  if (large > t->sizes.piece && large <= most && have_workspace(job, large))
    return large;
  return left < t->sizes.piece ? left : t->sizes.piece;
}

/* The rest of a batch that ends early. */
static void refuse_rest(batch_job *job) {
  dzo_table_batch *b = job->batch;
  uint64_t left = b->count - job->done;
  if (b->answers != NULL)
    memset(b->answers + job->done, DZO_TABLE_REFUSED, left);
  if (b->results != NULL && b->operation == DZO_TABLE_FIND)
    memset(words_at(job->table, b->results, job->done), 0, left * word_bytes(job->table));
  b->refused += left;
}

static dzo_status run_pieces(batch_job *job) {
  table_cpu *t = job->table;
  const dzo_table_batch *b = job->batch;
  while (job->done < b->count) {
    if ((job->done > 0 || dzo_is_cancelled(t->context)) &&
        dzo_progress(t->context, "table", job->done, b->count) != DZO_OK) {
      refuse_rest(job);
      return DZO_E_CANCELLED;
    }
    run_piece(job, next_piece(job));
  }
  if (b->refused == 0)
    return DZO_OK;
  if (job->no_memory)
    return dzo_is_cancelled(t->context) ? dzo_progress(t->context, "table", job->done, b->count)
                                        : DZO_E_MEMORY;
  return dzo_fail(t->context, DZO_E_LIMIT, "the table is full: %llu of %llu queries were refused",
                  (unsigned long long)b->refused, (unsigned long long)b->count);
}

/* ---- Look-ups -------------------------------------------------------------------------------- */

typedef struct search_job {
  table_cpu_search search;
  uint64_t found; /* accessed atomically */
} search_job;

static void search_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  search_job *job = argument;
  (void)dzo_fetch_add_u64(&job->found,
                          width_of(job->search.table)->search(&job->search, begin, end));
}

static dzo_status run_search(batch_job *job) {
  table_cpu *t = job->table;
  dzo_table_batch *b = job->batch;
  while (job->done < b->count) {
    if ((job->done > 0 || dzo_is_cancelled(t->context)) &&
        dzo_progress(t->context, "table", job->done, b->count) != DZO_OK) {
      refuse_rest(job);
      return DZO_E_CANCELLED;
    }
    uint64_t left = b->count - job->done;
    uint64_t count = left < TABLE_CPU_LOOKUPS ? left : TABLE_CPU_LOOKUPS;
    search_job s = {{t, const_words(t, b->keys, job->done), words_at(t, b->results, job->done),
                     b->answers != NULL ? b->answers + job->done : NULL},
                    0};
    dzo_parallel_for(t->context->threads, count, t->sizes.direct, search_range, &s);
    b->found += s.found;
    job->done += count;
  }
  return DZO_OK;
}

void table_cpu_run_alone(table_cpu *t, dzo_table_batch *batch) {
  batch_job job = {.table = t, .batch = batch, .left = batch->count};
  uint64_t room = 0;
  batch->found = batch->inserted = batch->refused = 0;
  t->serial++;
  (void)run_directly(&job, 0, batch->count, &room, true);
}

dzo_status table_cpu_run(void *state, dzo_table_batch *batch) {
  table_cpu *t = state;
  batch_job job = {.table = t, .batch = batch, .left = batch->count};
  batch->found = batch->inserted = batch->refused = 0;
  t->serial++;
  if (batch->operation == DZO_TABLE_FIND)
    return run_search(&job);
  dzo_status status = run_pieces(&job);
  free_workspace(&job);
  return status;
}
