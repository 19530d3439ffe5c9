/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables for the tests of single operations: of the CPU, with regions as small as one likes, so
 * that rare things happen often. */
#ifndef DZO_TESTS_HANDLE_TABLES_H
#define DZO_TESTS_HANDLE_TABLES_H

#include <pthread.h>
#include <stdlib.h>

#include "base/random.h"
#include "table/cpu.h"
#include "table/handle.h"

typedef struct table_shape {
  bool wide, fixed;
  uint64_t capacity;
  double max_load;
  uint64_t region_buckets; /* at most; 0: as in normal use */
} table_shape;

static inline dzo_context *context_of(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  options.device = DZO_DEVICE_CPU;
  dzo_context *context;
  if (dzo_context_create(&options, &context) != DZO_OK)
    abort();
  return context;
}

static inline dzo_table *table_of(dzo_context *context, table_shape shape) {
  dzo_table *table = calloc(1, sizeof *table);
  table->context = context;
  table->engine = &table_engine_cpu;
  dzo_table_options_init(&table->options);
  table->options.key_bits = table->options.value_bits = shape.wide ? 64 : 32;
  table_plan plan = {.context = context,
                     .wide = shape.wide,
                     .fixed = shape.fixed,
                     .capacity = shape.capacity,
                     .max_load = shape.max_load == 0 ? 0.9 : shape.max_load,
                     .seed = 5};
  table_cpu *state = NULL;
  table_cpu_sizes sizes = {
      .region_buckets = shape.wide ? TABLE_CPU_WIDE_REGION : TABLE_CPU_NARROW_REGION,
      .piece = TABLE_CPU_PIECE,
      .direct = TABLE_CPU_DIRECT,
  };
  if (shape.region_buckets != 0)
    sizes.region_buckets = shape.region_buckets;
  if (table_cpu_create(&plan, &sizes, &state) != DZO_OK)
    abort();
  table->state = state;
  return table;
}

static inline void table_free(dzo_table *table) {
  table_share_free(table->share);
  table->engine->destroy(table->state);
  free(table);
}

static inline uint64_t table_pairs(const dzo_table *table) {
  return table->engine->size(table->state);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static inline dzo_table_answer operate(dzo_table_handle *h, dzo_table_operation operation,
                                       uint64_t key, uint64_t value, uint64_t *seen) {
  switch (operation) {
  case DZO_TABLE_FIND:
    return dzo_table_handle_find(h, key, seen);
  case DZO_TABLE_INSERT:
    return dzo_table_handle_insert(h, key, value, seen);
  case DZO_TABLE_ASSIGN:
    return dzo_table_handle_assign(h, key, value, seen);
  case DZO_TABLE_ADD:
    return dzo_table_handle_add(h, key, value, seen);
  default:
    return dzo_table_handle_erase(h, key, seen);
  }
}

typedef struct draws {
  uint64_t seed, next;
} draws;

static inline uint64_t draw(draws *d) { return dzo_random_word(d->seed, d->next++); }
static inline uint64_t draw_below(draws *d, uint64_t limit) { return draw(d) % limit; }

/* ---- Contents -------------------------------------------------------------------------------- */

typedef struct pair {
  uint64_t key, value;
} pair;

static inline int compare_pairs(const void *a, const void *b) {
  const pair *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* All pairs, ascending; *count of them. */
static inline pair *pairs_of(dzo_table *table, uint64_t *count) {
  bool wide = ((table_cpu *)table->state)->wide;
  uint64_t n = *count = table_pairs(table);
  size_t bytes = wide ? 8 : 4;
  void *keys = calloc(n + 1, bytes), *values = calloc(n + 1, bytes);
  if (table->engine->export_into(table->state, keys, values) != DZO_OK)
    abort();
  pair *pairs = calloc(n + 1, sizeof *pairs);
  for (uint64_t i = 0; i < n; i++)
    pairs[i] = (pair){table_word_at(keys, bytes, i), table_word_at(values, bytes, i)};
  free(keys);
  free(values);
  qsort(pairs, n, sizeof *pairs, compare_pairs);
  return pairs;
}

/* A batch of one operation on words. */
static inline uint64_t run_batch(dzo_table *table, dzo_table_operation operation, uint64_t count,
                                 const void *keys, const void *values) {
  dzo_table_batch batch = {
      .size = sizeof batch, .operation = operation, .count = count, .keys = keys, .values = values};
  if (table->engine->run(table->state, &batch) != DZO_OK)
    abort();
  return batch.found;
}

#endif
