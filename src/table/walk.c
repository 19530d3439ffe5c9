/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* All pairs, in pieces so that memory stays bounded: export, for_each and copy. */
#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "table/table.h"

/* ---- Pieces ---------------------------------------------------------------------------------- */

dzo_status table_walk_begin(table_walk *walk, dzo_context *context, const dzo_table *table) {
  const table_engine *engine = table->engine;
  uint64_t room = TABLE_EXPORT_ROOM, size = engine->size(table->state);
  size_t bytes = table_word_bytes(&table->options);
  if (engine->export_some == NULL)
    room = size;
  *walk = (table_walk){.table = table, .memory = dzo_alloc(context, room, 2 * bytes)};
  if (walk->memory == NULL)
    return DZO_E_MEMORY;
  walk->keys = walk->memory;
  walk->values = (char *)walk->memory + room * bytes;
  return DZO_OK;
}

dzo_status table_walk_next(table_walk *walk) {
  const dzo_table *table = walk->table;
  const table_engine *engine = table->engine;
  walk->done += walk->count;
  walk->count = 0;
  if (engine->export_some == NULL) {
    if (walk->cursor == UINT64_MAX)
      return DZO_OK;
    walk->cursor = UINT64_MAX;
    walk->count = engine->size(table->state);
    return engine->export_into(table->state, walk->keys, walk->values);
  }
  while (walk->cursor != UINT64_MAX && walk->count == 0)
    DZO_TRY(engine->export_some(table->state, &walk->cursor, TABLE_EXPORT_ROOM, walk->keys,
                                walk->values, &walk->count));
  return DZO_OK;
}

void table_walk_end(table_walk *walk) {
  dzo_free(walk->memory);
  walk->memory = NULL;
}

/* ---- Export ---------------------------------------------------------------------------------- */

/* The piece's keys or values, as wide as the caller has them, in place. */
static const void *narrow_piece(const table_walk *walk, void *words, int bits, int shift) {
  const dzo_table_options *o = &walk->table->options;
  if ((size_t)bits / 8 == table_word_bytes(o))
    return words;
  const uint64_t *from = words;
  uint32_t *to = words;
  for (uint64_t i = 0; i < walk->count; i++) {
    uint32_t item = (uint32_t)(from[i] >> shift);
    memcpy(&to[i], &item, sizeof item);
  }
  return words;
}

static dzo_status put_piece(const table_walk *walk, table_memory memory, void *words, int bits,
                            int shift, void *out) {
  if (out == NULL)
    return DZO_OK;
  size_t bytes = (size_t)bits / 8;
  const void *items = narrow_piece(walk, words, bits, shift);
  return table_send(walk->table, memory, (char *)out + walk->done * bytes, items,
                    walk->count * bytes);
}

static dzo_status export_pieces(dzo_table *table, table_memory memory, void *keys, void *values) {
  const dzo_table_options *o = &table->options;
  table_walk walk;
  DZO_TRY(table_walk_begin(&walk, table->context, table));
  dzo_status status;
  while ((status = table_walk_next(&walk)) == DZO_OK && walk.count > 0) {
    status = put_piece(&walk, memory, walk.keys, o->key_bits, 0, keys);
    if (status == DZO_OK)
      status = put_piece(&walk, memory, walk.values, o->value_bits, table_value_shift(o), values);
    if (status != DZO_OK)
      break;
  }
  table_walk_end(&walk);
  return status;
}

dzo_status dzo_table_export_into(dzo_table *table, void *keys, void *values) {
  const char *name = "dzo_table_export_into";
  DZO_TRY(table_enter(table, name));
  const void *const arrays[] = {keys, values};
  table_memory memory;
  DZO_TRY(table_memory_of(table, arrays, 2, name, &memory));
  if (memory == TABLE_MEMORY_NONE || table->engine->size(table->state) == 0)
    return DZO_OK;
  dzo_status status = table_takes(table, memory)
                          ? table->engine->export_into(table->state, keys, values)
                          : export_pieces(table, memory, keys, values);
  return table_leave(table, status);
}

/* ---- Visits ---------------------------------------------------------------------------------- */

static dzo_status visit_piece(const table_walk *walk, dzo_table_visit_fn visit, void *user) {
  const dzo_table_options *o = &walk->table->options;
  size_t bytes = table_word_bytes(o);
  for (uint64_t i = 0; i < walk->count; i++)
    if (visit(user, table_word_at(walk->keys, bytes, i),
              table_value_of(o, table_word_at(walk->values, bytes, i))) != 0)
      return dzo_fail(walk->table->context, DZO_E_CANCELLED, "the visitor ended the walk");
  return DZO_OK;
}

dzo_status dzo_table_for_each(dzo_table *table, dzo_table_visit_fn visit, void *user) {
  DZO_TRY(table_enter(table, "dzo_table_for_each"));
  dzo_context *context = table->context;
  if (visit == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_table_for_each: nothing to call");
  table_walk walk;
  uint64_t size = table->engine->size(table->state);
  DZO_TRY(table_walk_begin(&walk, context, table));
  dzo_status status;
  while ((status = table_walk_next(&walk)) == DZO_OK && walk.count > 0) {
    status = visit_piece(&walk, visit, user);
    if (status == DZO_OK)
      status = dzo_progress(context, "walk", walk.done + walk.count, size);
    if (status != DZO_OK)
      break;
  }
  table_walk_end(&walk);
  return table_leave(table, status);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

dzo_status table_insert_words(dzo_table *table, uint64_t count, const void *keys,
                              const void *values) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = DZO_TABLE_INSERT;
  batch.count = count;
  batch.keys = keys;
  batch.values = values;
  if (count == 0)
    return DZO_OK;
  DZO_TRY(table->engine->run(table->state, &batch));
  if (batch.inserted != count)
    return dzo_fail(table->context, DZO_E_FORMAT, "a key stands twice in it");
  return DZO_OK;
}

/* Between tables on one GPU, if its memory has room for the pairs. */
static dzo_status copy_on_gpu(dzo_table *from, dzo_table *to, bool *done) {
  dzo_unit *unit = to->context->gpu;
  uint64_t size = from->engine->size(from->state);
  size_t word = table_word_bytes(&from->options);
  void *keys = NULL, *values = NULL;
  *done = false;
  dzo_status status = dzo_unit_allocate(unit, size, word, &keys);
  if (status == DZO_OK)
    status = dzo_unit_allocate(unit, size, word, &values);
  if (status == DZO_OK) {
    *done = true;
    status = from->engine->export_into(from->state, keys, values);
  } else if (status == DZO_E_MEMORY) {
    to->context->message[0] = '\0';
    status = DZO_OK;
  }
  if (status == DZO_OK && *done)
    status = table_insert_words(to, size, keys, values);
  dzo_unit_release(unit, keys);
  dzo_unit_release(unit, values);
  return status;
}

static dzo_status copy_pairs(dzo_table *from, dzo_table *to) {
  table_walk walk;
  uint64_t size = from->engine->size(from->state);
  if (from->context == to->context && from->engine->owns != NULL && to->engine->owns != NULL) {
    bool done;
    DZO_TRY(copy_on_gpu(from, to, &done));
    if (done)
      return DZO_OK;
  }
  DZO_TRY(table_walk_begin(&walk, to->context, from));
  dzo_status status;
  while ((status = table_walk_next(&walk)) == DZO_OK && walk.count > 0) {
    status = table_insert_words(to, walk.count, walk.keys, walk.values);
    if (status == DZO_OK)
      status = dzo_progress(to->context, "copy", walk.done + walk.count, size);
    if (status != DZO_OK)
      break;
  }
  table_walk_end(&walk);
  return status;
}

/* Whichever context the caller asks tells it. */
static void share_message(dzo_context *a, dzo_context *b) {
  if (a == b)
    return;
  if (a->message[0] == '\0')
    memcpy(a->message, b->message, sizeof a->message);
  else
    memcpy(b->message, a->message, sizeof b->message);
}

dzo_status dzo_table_copy(dzo_table *table, dzo_context *context, dzo_table **out) {
  if (out != NULL)
    *out = NULL;
  DZO_TRY(table_enter(table, "dzo_table_copy"));
  if (context == NULL || out == NULL)
    return dzo_fail(table->context, DZO_E_ARGUMENT,
                    "dzo_table_copy: no context, or nowhere to put the copy");
  if (context != table->context)
    dzo_begin(context);
  dzo_table_options options = table->options;
  uint64_t size = table->engine->size(table->state);
  if (options.capacity < size)
    options.capacity = size;
  dzo_table *copy = NULL;
  dzo_status status = table_make(context, &options, options.capacity, &copy);
  if (status == DZO_OK) {
    copy->options.capacity = table->options.capacity;
    status = copy_pairs(table, copy);
    dzo_status source = table_leave(table, DZO_OK); /* which of the two GPUs failed? */
    status = source != DZO_OK ? source : table_leave(copy, status);
  }
  if (status != DZO_OK) {
    dzo_table_destroy(copy);
    share_message(context, table->context);
    return status;
  }
  *out = copy;
  return DZO_OK;
}
