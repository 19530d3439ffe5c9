/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_heavy.h"

#include "table/gpu.h"
#include "table/gpu_aggregate.h"
#include "table/gpu_find.h"
#include "table/gpu_rest.h"

/* Batches from so many queries on are worth a sample; and are made one query a key if there seem to
 * be so many to a key, or one in so many has a frequent key. */
enum { SHARED = 3, HOT_SHARE = 8, LEAST_REGIONS = 16, BUSY = 8 };
#define WORTH_LOOKING (UINT64_C(2) << 20)

static uint64_t round_up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static bool kind_of(int operation, table_aggregate_kind *kind) {
  switch (operation) {
  case DZO_TABLE_INSERT:
    *kind = TABLE_AGGREGATE_FIRST;
    return true;
  case DZO_TABLE_ASSIGN:
    *kind = TABLE_AGGREGATE_LAST;
    return true;
  case DZO_TABLE_ADD:
    *kind = TABLE_AGGREGATE_ADD;
    return true;
  case DZO_TABLE_MIN:
    *kind = TABLE_AGGREGATE_MIN;
    return true;
  case DZO_TABLE_MAX:
    *kind = TABLE_AGGREGATE_MAX;
    return true;
  default:
    return false;
  }
}

/* How many keys there are, from how many queries of the sample met an earlier one's. Where some
 * keys are more frequent than others it is too few. */
static uint64_t estimate_keys(const table_aggregate_sample *s, uint64_t count) {
  uint64_t met = s->taken - s->distinct;
  if (s->taken == count)
    return s->distinct;
  return met > 0 ? (uint64_t)s->taken * s->taken / (2 * met) : count;
}

static bool is_shared(const table_aggregate_sample *s, uint64_t count) {
  return s->hot_taken > s->taken / HOT_SHARE || estimate_keys(s, count) < count / SHARED;
}

/* An empty table may be made of the sums at once, if it is not much too large. */
static bool may_fill(const table_gpu *g, const table_piece *piece, const table_aggregate *job) {
  uint64_t regions = g->t.regions;
  if (g->wide || g->pairs > 0 || g->t.over_count > 0 || piece->answers != NULL ||
      job->kind == TABLE_AGGREGATE_FIRST || job->kind == TABLE_AGGREGATE_LAST)
    return false;
  return regions >= LEAST_REGIONS && regions <= TABLE_AGGREGATE_PARTS &&
         table_gpu_slots(g) / 2 <= piece->count;
}

/* Parts a region, so that the GPU has enough to do. */
static uint32_t fill_times(const table_gpu *g) {
  uint64_t regions = g->t.regions, enough = (uint64_t)g->unit->processors * BUSY;
  return regions >= enough ? 1 : (uint32_t)((enough + regions - 1) / regions);
}

static uint64_t spill_bytes(const table_gpu *g, uint64_t regions) {
  return regions * TABLE_STASH * table_gpu_slot_bytes(g);
}

/* First positions and answers of the unique queries have memory of their own: the workspace may
 * have to go before they are needed. */
static dzo_status take_answers(table_gpu *g, table_piece *piece) {
  table_heavy *h = &piece->heavy;
  if (piece->answers == NULL)
    return DZO_OK;
  DZO_TRY(dzo_unit_allocate(g->unit, piece->count, sizeof *h->first, (void **)&h->first));
  return dzo_unit_allocate(g->unit, piece->count, 1, (void **)&h->unique_answers);
}

void table_heavy_drop(table_gpu *g, table_piece *piece) {
  table_heavy *h = &piece->heavy;
  dzo_unit_release(g->unit, h->first);
  dzo_unit_release(g->unit, h->unique_answers);
  dzo_unit_release(g->unit, h->kept);
  *h = (table_heavy){0};
}

/* A table that has grown may want more than was foreseen. */
dzo_status table_heavy_keep(table_gpu *g, table_piece *piece, uint64_t bytes) {
  table_heavy *h = &piece->heavy;
  if (!h->used || h->kept != NULL || bytes <= h->reserved)
    return DZO_OK;
  uint64_t words = piece->count * table_gpu_word(g), array = round_up(words);
  DZO_TRY(dzo_unit_allocate(g->unit, 2 * array, 1, &h->kept));
  char *keys = h->kept, *values = keys + array;
  DZO_TRY(dzo_unit_copy(g->unit, 0, keys, piece->keys, words));
  DZO_TRY(dzo_unit_copy(g->unit, 0, values, piece->values, words));
  piece->keys = keys;
  piece->values = values;
  return dzo_unit_wait(g->unit, 0);
}

/* The piece becomes that of its unique queries. */
static void become_unique(table_piece *piece, const table_aggregate *job) {
  table_heavy *h = &piece->heavy;
  h->used = true;
  h->count = piece->count;
  h->keys = piece->keys;
  h->answers = piece->answers;
  double share = (double)job->unique / (double)piece->count;
  piece->left = job->unique + (uint64_t)((double)(piece->left - piece->count) * share);
  piece->count = job->unique;
  piece->keys = job->out_keys;
  piece->values = job->out_values;
  piece->mixed = true;
  if (piece->answers != NULL)
    piece->answers = h->unique_answers;
}

/* The table has all of it. */
static dzo_status become_filled(table_gpu *g, table_piece *piece, const table_aggregate *job) {
  piece->heavy.used = piece->heavy.filled = true;
  piece->heavy.count = piece->count;
  g->pairs = job->unique;
  if (job->spilled == 0)
    return DZO_OK;
  dzo_status status =
      table_gpu_add_over(g->unit, &g->t, g->wide, job->spill, job->spilled, g->counters);
  if (status != DZO_E_MEMORY)
    return status;
  if (table_piece_rescue(g, job->spill, job->spilled) != DZO_OK)
    return dzo_unit_lose(g->unit, "no memory is left for pairs beside their buckets");
  return DZO_OK;
}

/* The result stands behind all that the piece itself will want of the workspace. */
static dzo_status aggregate(table_gpu *g, table_piece *piece, table_aggregate *job, char *result) {
  uint64_t array = round_up(piece->count * table_gpu_word(g));
  job->out_keys = result;
  job->out_values = result + array;
  DZO_TRY(take_answers(g, piece));
  job->out_first = piece->heavy.first;
  if (may_fill(g, piece, job) &&
      estimate_keys(&job->sample, piece->count) <= table_gpu_capacity(g)) {
    job->into = &g->t;
    job->most = table_gpu_capacity(g);
    job->times = fill_times(g);
    job->spill = result + 2 * array;
  }
  DZO_TRY(table_aggregate_run(g->unit, 0, job));
  if (job->filled)
    return become_filled(g, piece, job);
  become_unique(piece, job);
  piece->heavy.reserved = (uint64_t)(result - (char *)job->workspace);
  return DZO_OK;
}

bool table_heavy_is_worth(const table_gpu *g, const table_piece *piece) {
  uint64_t least = g->sizes.heavy > 0 ? g->sizes.heavy : WORTH_LOOKING;
  table_aggregate_kind kind;
  return piece->count >= least && piece->count <= TABLE_AGGREGATE_MOST &&
         kind_of(piece->operation, &kind);
}

dzo_status table_heavy_begin(table_gpu *g, table_piece *piece, uint64_t piece_bytes) {
  table_aggregate job = {.wide = g->wide, .mix = g->t.mix, .count = piece->count};
  (void)kind_of(piece->operation, &job.kind);
  bool first = piece->answers != NULL;
  uint64_t regions = may_fill(g, piece, &job) ? g->t.regions : 0, parts = regions * fill_times(g);
  uint64_t bytes = round_up(table_aggregate_bytes(g->unit, g->wide, first, piece->count, parts));
  bytes = bytes > round_up(piece_bytes) ? bytes : round_up(piece_bytes);
  uint64_t all = bytes + 2 * round_up(piece->count * table_gpu_word(g)) + spill_bytes(g, regions);
  uint64_t there = g->unit->workspace_bytes, wanted = all + (first ? 5 * piece->count : 0);
  if (wanted > there && wanted > there + dzo_unit_available(g->unit))
    return DZO_OK;
  job.keys = piece->keys;
  job.values = piece->values;
  void *workspace;
  DZO_TRY(dzo_unit_workspace(g->unit, all, &workspace));
  job.workspace = workspace;
  DZO_TRY(table_aggregate_look(g->unit, 0, &job));
  if (!is_shared(&job.sample, piece->count))
    return DZO_OK;
  dzo_status status = aggregate(g, piece, &job, (char *)workspace + bytes);
  if (status == DZO_OK)
    return DZO_OK;
  table_heavy_drop(g, piece);
  /* For want of memory it is done the other way. */
  return status == DZO_E_MEMORY ? DZO_OK : status;
}

/* Some keys were refused: which, every query has to be asked. */
static dzo_status find_refused(table_gpu *g, const table_heavy *h, uint64_t *refused) {
  uint8_t *answers = h->answers;
  if (answers == NULL)
    DZO_TRY(dzo_unit_allocate(g->unit, h->count, 1, (void **)&answers));
  dzo_status status = table_gpu_zero_counters(g);
  if (status == DZO_OK)
    status = table_gpu_find(g->unit, &g->t, g->wide, h->count, h->keys, false, NULL, answers,
                            g->counters);
  if (status == DZO_OK)
    status = table_heavy_refuse(g->unit, answers, h->count, g->counters);
  if (status == DZO_OK)
    status = table_gpu_read_counters(g);
  if (status == DZO_OK)
    status = dzo_unit_wait(g->unit, 0);
  *refused = g->seen->refused;
  if (answers != h->answers)
    dzo_unit_release(g->unit, answers);
  return status;
}

static dzo_status put_answers(table_gpu *g, const table_piece *piece, uint64_t *refused) {
  const table_heavy *h = &piece->heavy;
  if (*refused > 0)
    DZO_TRY(find_refused(g, h, refused));
  else if (h->answers != NULL)
    DZO_TRY(dzo_unit_fill(g->unit, 0, h->answers, DZO_TABLE_FOUND, h->count));
  if (h->answers == NULL)
    return DZO_OK;
  DZO_TRY(table_heavy_answers(g->unit, h->first, h->unique_answers, piece->count, h->answers));
  return dzo_unit_wait(g->unit, 0);
}

dzo_status table_heavy_end(table_gpu *g, table_piece *piece, const dzo_table_batch *unique,
                           dzo_table_batch *batch) {
  uint64_t refused = unique->refused, count = piece->heavy.count;
  dzo_status status = put_answers(g, piece, &refused);
  table_heavy_drop(g, piece);
  batch->inserted += unique->inserted;
  batch->refused += refused;
  batch->found += count - unique->inserted - refused;
  return status;
}
