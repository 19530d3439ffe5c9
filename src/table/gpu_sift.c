/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A mixed batch in GPU memory whose finds are sifted out. */
#include "table/gpu_sift.h"

#include "table/gpu.h"

/* Batches from so many queries on, of which at most a share is left. In any order erases are better
 * by themselves, too. */
enum { WORTH_SIFTING = 1 << 22, MOST_CHANGES = 4 };

bool table_sift_suits(const table_gpu *g, const dzo_table_batch *batch) {
  uint64_t least = g->sizes.sift > 0 ? g->sizes.sift : WORTH_SIFTING, count = batch->count;
  if (batch->operation != DZO_TABLE_MIXED || count < least)
    return false;
  if ((batch->flags & DZO_TABLE_ANY) != 0)
    return g->stores <= count - count / MOST_CHANGES;
  return g->stores + g->erases <= count / MOST_CHANGES;
}

/* One batch of what is left, or none of it if something before has `failed`: then it is refused. */
static dzo_status run_rest(table_gpu *g, dzo_table_batch *rest, dzo_table_batch *part,
                           dzo_status failed) {
  dzo_status status = failed;
  if (rest->count == 0)
    return failed;
  if (failed == DZO_OK)
    status = table_gpu_run_resident(g, rest);
  else
    DZO_TRY(table_gpu_refuse_from(g, rest, 0));
  if (status == DZO_E_LIMIT)
    status = DZO_OK;
  part->found += rest->found;
  part->inserted += rest->inserted;
  part->refused += rest->refused;
  return status;
}

/* Queries first .. first + count - 1 of the rest. */
static dzo_table_batch rest_of(const table_gpu *g, const table_sift *s,
                               dzo_table_operation operation, uint64_t first, uint64_t count) {
  uint64_t at = first * table_gpu_word(g);
  dzo_table_batch rest;
  dzo_table_batch_init(&rest);
  rest.operation = operation;
  rest.flags = s->ordered ? 0 : DZO_TABLE_ANY;
  rest.count = count;
  rest.keys = (const char *)s->rest_keys + at;
  rest.answers = s->answers != NULL ? s->rest_answers + first : NULL;
  if (operation == DZO_TABLE_ERASE)
    return rest;
  rest.values = (const char *)s->rest_values + at;
  rest.operations = s->rest_codes + first;
  rest.results = s->ordered && s->results != NULL ? s->rest_results : NULL;
  return rest;
}

static bool goes_on(dzo_status status) {
  return status == DZO_OK || status == DZO_E_MEMORY || status == DZO_E_CANCELLED;
}

/* How much is left: in any order erases and stores, by position only others. */
typedef struct sift_rest {
  uint64_t erases, others;
} sift_rest;

static dzo_status change(table_gpu *g, const table_sift *s, const sift_rest *rest,
                         dzo_table_batch *part) {
  uint64_t at = s->stores_at;
  dzo_table_batch erases = rest_of(g, s, DZO_TABLE_ERASE, 0, rest->erases),
                  others = rest_of(g, s, DZO_TABLE_MIXED, at, rest->others);
  dzo_status status = run_rest(g, &erases, part, DZO_OK);
  if (!goes_on(status))
    return status;
  bool all_store = g->all_store; /* of the batch, whose next part may have to go as it is */
  g->all_store = !s->ordered;
  status = run_rest(g, &others, part, status);
  g->all_store = all_store;
  if (!goes_on(status))
    return status;
  DZO_TRY(table_sift_deliver(g->unit, g->wide, s, 0, rest->erases));
  DZO_TRY(table_sift_deliver(g->unit, g->wide, s, at, rest->others));
  return status;
}

static dzo_status take_rest(table_gpu *g, table_sift *s, uint64_t count) {
  DZO_TRY(table_gpu_take_buffers(g, table_sift_place_rest(s, g->wide, count, NULL)));
  table_sift_place_rest(s, g->wide, count, g->buffers);
  return DZO_OK;
}

static dzo_status sift_any(table_gpu *g, table_sift *s, sift_rest *rest) {
  uint64_t erases = g->erases < s->count ? g->erases : s->count,
           stores = g->stores < s->count ? g->stores : s->count;
  uint64_t *cursor;
  DZO_TRY(dzo_unit_mailbox(g->unit, (void **)&cursor));
  DZO_TRY(take_rest(g, s, erases + stores));
  s->stores_at = (uint32_t)erases;
  DZO_TRY(table_gpu_zero_counters(g));
  DZO_TRY(table_sift_any(g->unit, &g->t, g->wide, s, g->counters));
  DZO_TRY(dzo_unit_copy(g->unit, 0, cursor, s->cursor, sizeof *s->cursor));
  DZO_TRY(table_gpu_read_counters(g));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  *rest = (sift_rest){*cursor & UINT32_MAX, *cursor >> 32};
  return DZO_OK;
}

static dzo_status sift_ordered(table_gpu *g, table_sift *s, sift_rest *rest) {
  uint32_t *sum;
  DZO_TRY(dzo_unit_mailbox(g->unit, (void **)&sum));
  DZO_TRY(table_gpu_zero_counters(g));
  DZO_TRY(table_sift_ordered(g->unit, &g->t, g->wide, s, g->counters));
  DZO_TRY(dzo_unit_copy(g->unit, 0, sum, s->places + s->blocks, sizeof *sum));
  DZO_TRY(table_gpu_read_counters(g));
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  *rest = (sift_rest){0, *sum};
  DZO_TRY(take_rest(g, s, *sum));
  return table_sift_gather(g->unit, g->wide, s);
}

/* The finds, and what is left. DZO_E_MEMORY: nothing is changed. */
static dzo_status sift(table_gpu *g, table_sift *s, sift_rest *rest) {
  void *workspace;
  DZO_TRY(dzo_unit_workspace(g->unit, table_sift_place(g->unit, s, NULL), &workspace));
  table_sift_place(g->unit, s, workspace);
  return s->ordered ? sift_ordered(g, s, rest) : sift_any(g, s, rest);
}

static dzo_status sift_part(table_gpu *g, dzo_table_batch *part) {
  table_sift s = {.count = (uint32_t)part->count,
                  .ordered = (part->flags & DZO_TABLE_ANY) == 0,
                  .keys = part->keys,
                  .values = part->values,
                  .codes = part->operations,
                  .results = part->results,
                  .answers = part->answers};
  sift_rest rest;
  dzo_status status = sift(g, &s, &rest);
  if (status == DZO_E_MEMORY) {
    g->context->message[0] = '\0';
    return table_gpu_run_resident(g, part);
  }
  DZO_TRY(status);
  part->found = g->seen->found;
  return change(g, &s, &rest, part);
}

dzo_status table_sift_run(table_gpu *g, dzo_table_batch *batch) {
  uint64_t most = table_piece_usual(g);
  for (uint64_t first = 0; first < batch->count; first += most) {
    dzo_table_batch part = table_gpu_part_of(g, batch, first, most);
    dzo_status status = dzo_progress(g->context, "table", first, batch->count);
    if (status == DZO_OK)
      status = sift_part(g, &part);
    else
      part.count = 0;
    if (status != DZO_OK && status != DZO_E_LIMIT && status != DZO_E_MEMORY &&
        status != DZO_E_CANCELLED)
      return status;
    batch->found += part.found;
    batch->inserted += part.inserted;
    batch->refused += part.refused;
    if (status == DZO_OK || status == DZO_E_LIMIT)
      continue;
    DZO_TRY(table_gpu_refuse_from(g, batch, first + part.count));
    return status;
  }
  DZO_TRY(dzo_unit_wait(g->unit, 0));
  return table_gpu_end_batch(g, batch);
}
