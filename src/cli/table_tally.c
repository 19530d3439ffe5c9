/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Counts and aggregates in a table, exactly.
 *
 * Counts of 32-bit keys take 32 bits until there are too many records for them. A sum may leave 64
 * bits for a while and come back, so sums that might do so are kept as two: of the lower 32 bits of
 * the values, and of what is above. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/table.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

enum { GRAIN = 1 << 15 };
#define SIGN (UINT64_C(1) << 63)

struct table_tally {
  table_job *job;
  dzo_context *context;
  dzo_integer value_type;
  bool wide_keys, wide_values;
  dzo_table *table;
  dzo_table *high; /* sums of the upper halves, or NULL */
  uint64_t records;
  uint64_t promised; /* records that there will be, 0: nobody knows */
  u128 bound;        /* no sum is farther from 0 */
  uint64_t *scratch[2];
  uint64_t capacity; /* of scratch */
};

static bool is_signed(const table_tally *t) { return dzo_integer_is_signed(t->value_type); }

/* ---- Making ---------------------------------------------------------------------------------- */

dzo_status cli_tally_create(table_job *job, dzo_columns *columns, table_tally **out) {
  dzo_context *context = job->call->context;
  *out = NULL;
  table_tally *t = dzo_calloc(context, 1, sizeof *t);
  if (t == NULL)
    return DZO_E_MEMORY;
  uint64_t records = dzo_columns_count(columns);
  t->job = job;
  if (records != UINT64_MAX && dzo_columns_format_of(columns) != DZO_COLUMNS_CSV)
    t->promised = records;
  t->context = context;
  t->value_type = dzo_columns_value_type(columns);
  t->wide_keys = dzo_columns_is_wide(columns);
  t->wide_values = t->wide_keys || job->aggregate != TABLE_AGGREGATE_COUNT ||
                   (job->operation == TABLE_COUNT && records > UINT32_MAX && records != UINT64_MAX);
  dzo_status status = cli_table_create_for(job, t->wide_keys ? 64 : 32, t->wide_values ? 64 : 32,
                                           records != UINT64_MAX ? records : 0, &t->table);
  if (status != DZO_OK) {
    cli_tally_destroy(t);
    return status;
  }
  *out = t;
  return DZO_OK;
}

void cli_tally_destroy(table_tally *t) {
  if (t == NULL)
    return;
  dzo_table_destroy(t->table);
  dzo_table_destroy(t->high);
  dzo_free(t->scratch[0]);
  dzo_free(t->scratch[1]);
  dzo_free(t);
}

static dzo_status make_scratch(table_tally *t, uint64_t count, int arrays) {
  if (count > t->capacity) {
    for (int i = 0; i < 2; i++) {
      dzo_free(t->scratch[i]);
      t->scratch[i] = NULL;
    }
    t->capacity = count;
  }
  for (int i = 0; i < arrays; i++) {
    if (t->scratch[i] == NULL)
      t->scratch[i] = dzo_alloc(t->context, t->capacity, sizeof *t->scratch[i]);
    if (t->scratch[i] == NULL)
      return DZO_E_MEMORY;
  }
  return DZO_OK;
}

/* ---- Values as the table has them ------------------------------------------------------------ */

typedef struct conversion {
  const uint64_t *from;
  uint64_t *to[2];
  bool is_signed;
  uint64_t farthest; /* from 0; accessed atomically */
} conversion;

/* Signed integers in the order of unsigned ones. */
static void flip(void *argument, uint64_t begin, uint64_t end, int thread) {
  const conversion *c = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    c->to[0][i] = c->from[i] ^ SIGN;
}

/* The lower 32 bits, and what is above, so that value = high * 2^32 + low. */
static void halve(void *argument, uint64_t begin, uint64_t end, int thread) {
  const conversion *c = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t x = c->from[i];
    c->to[0][i] = x & UINT32_MAX;
    c->to[1][i] = x >> 32 | (c->is_signed && (x & SIGN) != 0 ? UINT64_MAX << 32 : 0);
  }
}

static void find_farthest(void *argument, uint64_t begin, uint64_t end, int thread) {
  conversion *c = argument;
  uint64_t farthest = 0, sign = c->is_signed ? UINT64_MAX : 0;
  (void)thread;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t x = c->from[i], size = x ^ (sign & (0 - (x >> 63))); /* or 1 less, where negative */
    farthest = size > farthest ? size : farthest;
  }
  uint64_t seen = dzo_load_u64(&c->farthest);
  while (farthest > seen && !dzo_cas_u64(&c->farthest, &seen, farthest)) {
  }
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static dzo_status run(table_tally *t, dzo_table *table, dzo_table_operation operation,
                      const dzo_piece *piece, const void *values) {
  dzo_table_batch batch;
  dzo_table_batch_init(&batch);
  batch.operation = operation;
  batch.flags = DZO_TABLE_ANY;
  batch.count = piece->count;
  batch.keys = piece->keys;
  batch.values = values;
  return cli_table_run_batch(t->job, table, &batch);
}

/* Add all pairs of the table to another one of wider values, or their halves to two. */
static dzo_status pour(table_tally *t, dzo_table *to, dzo_table *high) {
  table_walk walk;
  DZO_TRY(table_walk_begin(&walk, t->context, t->table));
  dzo_status status;
  while ((status = table_walk_next(&walk)) == DZO_OK && walk.count > 0) {
    uint64_t *keys = t->scratch[0], *values = t->scratch[1];
    const dzo_table_options *o = &t->table->options;
    size_t bytes = table_word_bytes(o);
    for (uint64_t i = 0; i < walk.count; i++) {
      uint64_t key = table_word_at(walk.keys, bytes, i);
      uint64_t value = table_value_of(o, table_word_at(walk.values, bytes, i));
      if (t->wide_keys)
        keys[i] = key;
      else
        ((uint32_t *)(void *)keys)[i] = (uint32_t)key;
      values[i] = high != NULL ? value & UINT32_MAX : value;
      if (high != NULL && bytes == sizeof value)
        ((uint64_t *)walk.values)[i] = value;
    }
    dzo_piece piece = {.count = walk.count, .keys = keys};
    status = run(t, to, DZO_TABLE_ADD, &piece, values);
    if (status == DZO_OK && high != NULL) {
      conversion c = {walk.values, {values, walk.values}, is_signed(t), 0};
      halve(&c, 0, walk.count, 0);
      status = run(t, high, DZO_TABLE_ADD, &piece, walk.values);
    }
    if (status != DZO_OK)
      break;
  }
  table_walk_end(&walk);
  return status;
}

/* Go over to tables of wider values: one, or two. */
static dzo_status widen(table_tally *t, bool in_halves) {
  dzo_table *wider = NULL, *high = NULL;
  uint64_t size = dzo_table_size(t->table);
  int key_bits = t->wide_keys ? 64 : 32;
  DZO_TRY(make_scratch(t, TABLE_EXPORT_ROOM > size ? TABLE_EXPORT_ROOM : size, 2));
  dzo_status status = cli_table_create_for(t->job, key_bits, 64, t->records, &wider);
  if (status == DZO_OK && in_halves)
    status = cli_table_create_for(t->job, key_bits, 64, t->records, &high);
  if (status == DZO_OK)
    status = pour(t, wider, high);
  if (status != DZO_OK) {
    dzo_table_destroy(wider);
    dzo_table_destroy(high);
    return status;
  }
  dzo_table_destroy(t->table);
  t->table = wider;
  t->high = high;
  t->wide_values = true;
  return DZO_OK;
}

static dzo_status add_counts(table_tally *t, const dzo_piece *piece) {
  if (t->job->operation == TABLE_DISTINCT)
    return run(t, t->table, DZO_TABLE_INSERT, piece, NULL);
  if (!t->wide_values && piece->count > UINT32_MAX - t->records)
    DZO_TRY(widen(t, false));
  return run(t, t->table, DZO_TABLE_ADD, piece, NULL);
}

static dzo_status add_halves(table_tally *t, const dzo_piece *piece) {
  if (t->records > UINT32_MAX - piece->count)
    return dzo_fail(t->context, DZO_E_LIMIT,
                    "sums that may leave 64 bits are kept of 2^32 records at most");
  DZO_TRY(make_scratch(t, piece->count, 2));
  conversion c = {piece->values, {t->scratch[0], t->scratch[1]}, is_signed(t), 0};
  dzo_parallel_for(t->context->threads, piece->count, GRAIN, halve, &c);
  DZO_TRY(run(t, t->table, DZO_TABLE_ADD, piece, t->scratch[0]));
  return run(t, t->high, DZO_TABLE_ADD, piece, t->scratch[1]);
}

static dzo_status add_sums(table_tally *t, const dzo_piece *piece) {
  if (t->high != NULL)
    return add_halves(t, piece);
  conversion c = {piece->values, {NULL, NULL}, is_signed(t), 0};
  dzo_parallel_for(t->context->threads, piece->count, GRAIN, find_farthest, &c);
  t->bound += ((u128)c.farthest + 1) * piece->count;
  if (t->bound <= (is_signed(t) ? INT64_MAX : UINT64_MAX))
    return run(t, t->table, DZO_TABLE_ADD, piece, piece->values);
  DZO_TRY(widen(t, true));
  return add_halves(t, piece);
}

static dzo_status add_extremes(table_tally *t, const dzo_piece *piece) {
  const uint64_t *values = piece->values;
  if (is_signed(t)) {
    DZO_TRY(make_scratch(t, piece->count, 1));
    conversion c = {values, {t->scratch[0], NULL}, true, 0};
    dzo_parallel_for(t->context->threads, piece->count, GRAIN, flip, &c);
    values = t->scratch[0];
  }
  return run(t, t->table, t->job->aggregate == TABLE_AGGREGATE_MIN ? DZO_TABLE_MIN : DZO_TABLE_MAX,
             piece, values);
}

/* ---- Room ahead ------------------------------------------------------------------------------ */

/* How many different keys there will be, if all are drawn as the first ones were: of D keys, drawn
 * evenly, the first n bring n - n^2 / 2D. */
static uint64_t foresee(const table_tally *t, uint64_t drawn, uint64_t distinct) {
  double n = (double)drawn, all = (double)t->promised;
  if (drawn == distinct)
    return t->promised;
  double keys = n * n / (2 * (n - (double)distinct));
  return (uint64_t)(-keys * expm1(-all / keys));
}

/* Where most keys are new, the table is better made large at once than grown by and by: memory
 * costs as much as the counting. Skewed keys seem fewer than they are, and the table grows. An
 * eighth more than all spares the last keys to be made room for among others. */
static dzo_status look_ahead(table_tally *t) {
  uint64_t distinct = dzo_table_size(t->table);
  if (distinct < t->records / 4 * 3)
    return DZO_OK;
  uint64_t expected = foresee(t, t->records, distinct);
  uint64_t bytes = (t->wide_keys || t->wide_values ? 16 : 8) * expected;
  if (bytes > t->context->memory / 3)
    return DZO_OK;
  dzo_status status = dzo_table_reserve(t->table, expected + expected / 8);
  return status == DZO_E_MEMORY ? DZO_OK : status;
}

/* Some of the first piece, so that the rest finds room. */
static dzo_status add_sample(table_tally *t, const dzo_piece *piece, dzo_piece *rest) {
  enum { SAMPLE = 1 << 22 };
  *rest = *piece;
  if (t->records > 0 || t->job->aggregate != TABLE_AGGREGATE_COUNT || piece->count < 4 * SAMPLE ||
      t->promised == 0)
    return DZO_OK;
  dzo_piece sample = {.count = SAMPLE, .keys = piece->keys};
  DZO_TRY(add_counts(t, &sample));
  t->records += SAMPLE;
  rest->count -= SAMPLE;
  rest->keys = (const char *)piece->keys + SAMPLE * (t->wide_keys ? 8 : 4);
  return look_ahead(t);
}

static dzo_status add_piece(table_tally *t, const dzo_piece *piece) {
  dzo_status status = DZO_OK;
  switch (t->job->aggregate) {
  case TABLE_AGGREGATE_COUNT:
    status = add_counts(t, piece);
    break;
  case TABLE_AGGREGATE_SUM:
    status = add_sums(t, piece);
    break;
  case TABLE_AGGREGATE_MIN:
  case TABLE_AGGREGATE_MAX:
    status = add_extremes(t, piece);
    break;
  }
  t->records += piece->count;
  return status;
}

dzo_status cli_tally_add(table_tally *t, const dzo_piece *piece) {
  dzo_piece rest;
  DZO_TRY(add_sample(t, piece, &rest));
  return add_piece(t, &rest);
}

/* ---- Taking out ------------------------------------------------------------------------------ */

static dzo_status refuse_sum(const table_tally *t, uint64_t key) {
  dzo_integer type = t->job->key_types[0];
  key = table_extend(type, key);
  bool negative = dzo_integer_is_signed(type) && (key & SIGN) != 0;
  return dzo_fail(t->context, DZO_E_LIMIT, "the sum of the values of key %s%llu is not within %s",
                  negative ? "-" : "", (unsigned long long)(negative ? 0 - key : key),
                  is_signed(t) ? "i64" : "u64");
}

static void put_pair(table_pairs *p, uint64_t key, uint64_t value) {
  if (p->packed) {
    p->items[p->count++] = key << 32 | value;
    return;
  }
  p->items[2 * p->count] = key;
  p->items[2 * p->count++ + 1] = value;
}

static dzo_status take_piece(table_tally *t, const table_walk *walk, table_pairs *out) {
  const dzo_table_options *o = &t->table->options;
  size_t bytes = table_word_bytes(o);
  bool flipped = t->job->aggregate >= TABLE_AGGREGATE_MIN && is_signed(t);
  for (uint64_t i = 0; i < walk->count; i++) {
    uint64_t value = table_value_of(o, table_word_at(walk->values, bytes, i));
    put_pair(out, table_word_at(walk->keys, bytes, i), flipped ? value ^ SIGN : value);
  }
  return DZO_OK;
}

/* Add what is above to the lower halves, of the pairs from `first` on. */
static dzo_status complete_sums(table_tally *t, table_pairs *p, uint64_t first) {
  uint64_t count = p->count - first;
  DZO_TRY(make_scratch(t, count, 2));
  uint64_t *keys = t->scratch[0], *high = t->scratch[1];
  for (uint64_t i = 0; i < count; i++) {
    if (t->wide_keys)
      keys[i] = p->items[2 * (first + i)];
    else
      ((uint32_t *)(void *)keys)[i] = (uint32_t)p->items[2 * (first + i)];
  }
  DZO_TRY(dzo_table_find(t->high, count, keys, high, NULL, NULL));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t *pair = p->items + 2 * (first + i);
    i128 sum = (i128)(is_signed(t) ? (i128)(int64_t)high[i] : (i128)high[i]);
    sum = sum * ((i128)1 << 32) + (i128)pair[1];
    i128 least = is_signed(t) ? INT64_MIN : 0, most = is_signed(t) ? INT64_MAX : (i128)UINT64_MAX;
    if (sum < least || sum > most)
      return refuse_sum(t, pair[0]);
    pair[1] = (uint64_t)sum;
  }
  return DZO_OK;
}

static dzo_status take_all(table_tally *t, table_pairs *out) {
  table_walk walk;
  DZO_TRY(table_walk_begin(&walk, t->context, t->table));
  dzo_status status;
  while ((status = table_walk_next(&walk)) == DZO_OK && walk.count > 0) {
    uint64_t first = out->count;
    status = take_piece(t, &walk, out);
    if (status == DZO_OK && t->high != NULL)
      status = complete_sums(t, out, first);
    if (status == DZO_OK)
      status = dzo_progress(t->context, "collect", out->count, dzo_table_size(t->table));
    if (status != DZO_OK)
      break;
  }
  table_walk_end(&walk);
  return status;
}

dzo_status cli_tally_take(table_tally *t, table_pairs *out) {
  uint64_t size = dzo_table_size(t->table);
  *out = (table_pairs){.packed = !t->wide_keys && !t->wide_values};
  out->items = dzo_alloc(t->context, size, out->packed ? 8 : 16);
  if (out->items == NULL)
    return DZO_E_MEMORY;
  dzo_status status = take_all(t, out);
  dzo_table_destroy(t->table);
  dzo_table_destroy(t->high);
  t->table = t->high = NULL;
  return status;
}
