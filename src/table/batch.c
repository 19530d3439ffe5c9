/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches: what is checked before an engine sees one. */
#include <inttypes.h>
#include <string.h>

#include "base/item.h"
#include "base/options.h"
#include "base/parallel.h"
#include "device/device.h"
#include "device/transfer.h"
#include "table/table.h"

enum { CHECK_GRAIN = 1 << 18 };

void dzo_table_batch_init(dzo_table_batch *batch) {
  *batch = (dzo_table_batch){.size = sizeof *batch};
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Memory of the context's GPU. Only the GPU's own engine works there. */
static bool is_gpu_memory(const dzo_table *table, const void *pointer) {
  if (table->engine->owns != NULL)
    return table->engine->owns(table->state, pointer);
  return table->context->gpu != NULL && dzo_unit_owns(table->context->gpu, pointer);
}

dzo_status table_memory_of(const dzo_table *table, const void *const *arrays, int count,
                           const char *name, table_memory *memory) {
  *memory = TABLE_MEMORY_NONE;
  for (int i = 0; i < count; i++) {
    if (arrays[i] == NULL)
      continue;
    table_memory here = is_gpu_memory(table, arrays[i]) ? TABLE_MEMORY_GPU : TABLE_MEMORY_HOST;
    if (*memory != TABLE_MEMORY_NONE && *memory != here)
      return dzo_fail(table->context, DZO_E_ARGUMENT,
                      "%s: some arrays are in host memory and some in the GPU's", name);
    *memory = here;
  }
  return DZO_OK;
}

bool table_takes(const dzo_table *table, table_memory memory) {
  return !table_is_mixed(&table->options) &&
         (memory != TABLE_MEMORY_GPU || table->engine->owns != NULL);
}

dzo_status table_fetch(const dzo_table *table, table_memory memory, void *to, const void *from,
                       uint64_t bytes) {
  if (memory == TABLE_MEMORY_GPU)
    return dzo_unit_fetch(table->context->gpu, to, from, bytes);
  memcpy(to, from, bytes);
  return DZO_OK;
}

dzo_status table_send(const dzo_table *table, table_memory memory, void *to, const void *from,
                      uint64_t bytes) {
  if (memory == TABLE_MEMORY_GPU)
    return dzo_unit_send(table->context->gpu, to, from, bytes);
  memcpy(to, from, bytes);
  return DZO_OK;
}

/* ---- Operations ------------------------------------------------------------------------------ */

typedef struct operation_check {
  int threads;
  const uint8_t *operations;
  uint64_t first; /* position of operations[0] in the batch */
  uint64_t bad;   /* the first that is none; accessed atomically */
} operation_check;

static void check_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  operation_check *check = argument;
  uint8_t most = 0;
  for (uint64_t i = begin; i < end; i++)
    most = check->operations[i] > most ? check->operations[i] : most;
  if (most < DZO_TABLE_MIXED)
    return;
  uint64_t i = begin;
  while (check->operations[i] < DZO_TABLE_MIXED)
    i++;
  dzo_min_u64(&check->bad, check->first + i);
}

static void check_piece(void *argument, const void *piece, uint64_t first, uint64_t bytes) {
  operation_check *check = argument;
  check->operations = piece;
  check->first = first;
  dzo_parallel_for(check->threads, bytes, CHECK_GRAIN, check_range, check);
}

dzo_status table_check_operations(const dzo_table *table, const dzo_table_batch *batch,
                                  table_memory memory, const char *name) {
  dzo_context *context = table->context;
  operation_check check = {.threads = context->threads, .bad = UINT64_MAX};
  if (memory == TABLE_MEMORY_GPU)
    DZO_TRY(
        dzo_unit_fetch_pieces(context->gpu, batch->operations, batch->count, check_piece, &check));
  else
    check_piece(&check, batch->operations, 0, batch->count);
  if (check.bad == UINT64_MAX)
    return DZO_OK;
  return dzo_fail(context, DZO_E_ARGUMENT,
                  "%s: query %" PRIu64 " of the batch has an operation that is none", name,
                  check.bad);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* Only the arrays that the operation uses. */
static void drop_unused(dzo_table_batch *batch) {
  bool mixed = batch->operation == DZO_TABLE_MIXED;
  if (!mixed)
    batch->operations = NULL;
  if (!mixed && batch->operation != DZO_TABLE_FIND)
    batch->results = NULL;
  if (batch->operation == DZO_TABLE_FIND || batch->operation == DZO_TABLE_ERASE)
    batch->values = NULL;
}

static dzo_status check_batch(dzo_table *table, dzo_table_batch *batch, const char *name,
                              table_memory *memory) {
  dzo_context *context = table->context;
  if ((int)batch->operation < DZO_TABLE_FIND || batch->operation > DZO_TABLE_MIXED)
    return dzo_fail(context, DZO_E_ARGUMENT, "%s: there is no operation %d", name,
                    (int)batch->operation);
  if ((batch->flags & ~(unsigned)DZO_TABLE_ANY) != 0)
    return dzo_fail(context, DZO_E_ARGUMENT, "%s: flags %#x are not known", name, batch->flags);
  if (batch->count > 0 && batch->keys == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "%s: no keys", name);
  if (batch->count > UINT64_MAX / 16)
    return dzo_fail(context, DZO_E_ARGUMENT, "%s: no arrays have %" PRIu64 " items", name,
                    batch->count);
  drop_unused(batch);
  if (batch->count > 0 && batch->operation == DZO_TABLE_MIXED && batch->operations == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "%s: a mixed batch without operations", name);
  const void *const arrays[] = {batch->keys, batch->values, batch->operations, batch->results,
                                batch->answers};
  DZO_TRY(table_memory_of(table, arrays, 5, name, memory));
  if (batch->count == 0 || batch->operations == NULL)
    return DZO_OK;
  if (*memory == TABLE_MEMORY_GPU && table_takes(table, *memory))
    return DZO_OK; /* the engine looks where they are */
  return table_check_operations(table, batch, *memory, name);
}

static dzo_status run_checked(dzo_table *table, dzo_table_batch *batch, table_memory memory) {
  if (batch->count == 0)
    return DZO_OK;
  dzo_status status = table_takes(table, memory) ? table->engine->run(table->state, batch)
                                                 : table_run_pieces(table, batch, memory);
  if (status == DZO_E_LIMIT)
    return dzo_fail(table->context, DZO_E_LIMIT,
                    "the table is full: %" PRIu64 " of %" PRIu64 " queries were refused",
                    batch->refused, batch->count);
  return status;
}

static dzo_status run_named(dzo_table *table, dzo_table_batch *batch, const char *name) {
  DZO_TRY(table_enter(table, name));
  dzo_table_batch b;
  dzo_table_batch_init(&b);
  if (batch == NULL || batch->size < sizeof b || !dzo_options_read(&b, sizeof b, batch))
    return dzo_fail(table->context, DZO_E_ARGUMENT, "%s: no batch, or one of another size", name);
  b.found = b.inserted = b.refused = 0;
  table_memory memory = TABLE_MEMORY_NONE;
  dzo_status status = check_batch(table, &b, name, &memory);
  if (status == DZO_OK)
    status = run_checked(table, &b, memory);
  batch->found = b.found;
  batch->inserted = b.inserted;
  batch->refused = b.refused;
  return table_leave(table, status);
}

void table_refuse_rest(dzo_table_batch *batch, uint64_t first) {
  if (batch->answers != NULL)
    memset(batch->answers + first, DZO_TABLE_REFUSED, batch->count - first);
  batch->refused += batch->count - first;
}

/* ---- Entries --------------------------------------------------------------------------------- */

dzo_status dzo_table_run(dzo_table *table, dzo_table_batch *batch) {
  return run_named(table, batch, "dzo_table_run");
}

static dzo_status store(dzo_table *table, dzo_table_operation operation, uint64_t count,
                        const void *keys, const void *values, uint64_t *counted, const char *name) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = operation;
  batch.count = count;
  batch.keys = keys;
  batch.values = values;
  dzo_status status = run_named(table, &batch, name);
  if (counted != NULL)
    *counted = batch.inserted;
  return status;
}

static dzo_status look(dzo_table *table, dzo_table_operation operation, uint64_t count,
                       const void *keys, void *results, uint8_t *found, uint64_t *counted,
                       const char *name) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = operation;
  batch.count = count;
  batch.keys = keys;
  batch.results = results;
  batch.answers = found; /* ABSENT is 0 and FOUND is 1 */
  dzo_status status = run_named(table, &batch, name);
  if (counted != NULL)
    *counted = batch.found;
  return status;
}

dzo_status dzo_table_insert(dzo_table *table, uint64_t count, const void *keys, const void *values,
                            uint64_t *counted) {
  return store(table, DZO_TABLE_INSERT, count, keys, values, counted, "dzo_table_insert");
}

dzo_status dzo_table_assign(dzo_table *table, uint64_t count, const void *keys, const void *values,
                            uint64_t *counted) {
  return store(table, DZO_TABLE_ASSIGN, count, keys, values, counted, "dzo_table_assign");
}

dzo_status dzo_table_add(dzo_table *table, uint64_t count, const void *keys, const void *values,
                         uint64_t *counted) {
  return store(table, DZO_TABLE_ADD, count, keys, values, counted, "dzo_table_add");
}

dzo_status dzo_table_find(dzo_table *table, uint64_t count, const void *keys, void *results,
                          uint8_t *found, uint64_t *counted) {
  return look(table, DZO_TABLE_FIND, count, keys, results, found, counted, "dzo_table_find");
}

dzo_status dzo_table_contains(dzo_table *table, uint64_t count, const void *keys, uint8_t *found,
                              uint64_t *counted) {
  return look(table, DZO_TABLE_FIND, count, keys, NULL, found, counted, "dzo_table_contains");
}

dzo_status dzo_table_erase(dzo_table *table, uint64_t count, const void *keys, uint64_t *counted) {
  return look(table, DZO_TABLE_ERASE, count, keys, NULL, NULL, counted, "dzo_table_erase");
}
