/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table_pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "device/transfer.h"

uint64_t pair_draw(pair_of *p) { return dzo_random_word(7, p->random++); }

uint64_t pair_mask(const pair_of *p) { return p->plan.wide ? UINT64_MAX : UINT32_MAX; }

dzo_context *pair_open_or_skip(void) {
  dzo_context *context;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  if (dzo_context_gpu(context) != NULL)
    return context;
  dzo_context_destroy(context);
  skip();
  return NULL;
}

pair_of pair_begin(dzo_context *context, bool wide, double load, const table_gpu_sizes *sizes) {
  pair_of p = {.context = context,
               .unit = dzo_context_gpu(context),
               .plan = {.context = context, .wide = wide, .max_load = load, .seed = 5}};
  assert_int_equal(table_gpu_create(&p.plan, sizes, &p.table), DZO_OK);
  p.oracle = oracle_table_make(wide ? 64 : 32);
  return p;
}

pair_of pair_begin_fixed(dzo_context *context, bool wide, double load, uint64_t capacity,
                         const table_gpu_sizes *sizes) {
  pair_of p = pair_begin(context, wide, load, sizes);
  table_engine_cuda.destroy(p.table);
  p.plan.fixed = true;
  p.plan.capacity = capacity;
  assert_int_equal(table_gpu_create(&p.plan, sizes, &p.table), DZO_OK);
  return p;
}

void pair_end(pair_of *p) {
  table_engine_cuda.destroy(p->table);
  oracle_table_free(p->oracle);
  dzo_context_destroy(p->context);
}

/* ---- Batches --------------------------------------------------------------------------------- */

queries make_queries(uint64_t count) {
  queries q = {count,
               calloc(count + 1, 8),
               calloc(count + 1, 8),
               calloc(count + 1, 8),
               calloc(count + 1, 1),
               calloc(count + 1, 1)};
  return q;
}

void free_queries(queries *q) {
  free(q->keys);
  free(q->values);
  free(q->results);
  free(q->codes);
  free(q->answers);
}

void *pair_words(const pair_of *p, const uint64_t *from, uint64_t count, bool gpu) {
  size_t each = p->plan.wide ? 8 : 4;
  char *host = malloc(count * each + 1);
  for (uint64_t i = 0; i < count; i++)
    memcpy(host + i * each, &from[i], each);
  if (!gpu)
    return host;
  void *device;
  assert_int_equal(dzo_unit_allocate(p->unit, count + 1, each, &device), DZO_OK);
  assert_int_equal(dzo_unit_send(p->unit, device, host, count * each), DZO_OK);
  free(host);
  return device;
}

static void *bytes(const pair_of *p, const uint8_t *from, uint64_t count, bool gpu) {
  void *to = NULL;
  if (gpu) {
    assert_int_equal(dzo_unit_allocate(p->unit, count + 1, 1, &to), DZO_OK);
    assert_int_equal(dzo_unit_send(p->unit, to, from, count), DZO_OK);
  } else {
    to = malloc(count + 1);
    memcpy(to, from, count);
  }
  return to;
}

static void fetch_words(const pair_of *p, uint64_t *to, void *from, uint64_t count, bool gpu) {
  size_t each = p->plan.wide ? 8 : 4;
  char *host = from;
  if (gpu) {
    host = malloc(count * each + 1);
    assert_int_equal(dzo_unit_fetch(p->unit, host, from, count * each), DZO_OK);
  }
  for (uint64_t i = 0; i < count; i++) {
    to[i] = 0;
    memcpy(&to[i], host + i * each, each);
  }
  if (gpu)
    free(host);
}

void pair_drop(const pair_of *p, void *pointer, bool gpu) {
  if (gpu)
    dzo_unit_release(p->unit, pointer);
  else
    free(pointer);
}

dzo_status pair_run(pair_of *p, queries *q, dzo_table_operation operation, unsigned flags, bool gpu,
                    dzo_table_batch *batch) {
  dzo_table_batch_init(batch);
  batch->operation = operation;
  batch->flags = flags;
  batch->count = q->count;
  void *keys = pair_words(p, q->keys, q->count, gpu),
       *values = pair_words(p, q->values, q->count, gpu);
  void *results = pair_words(p, q->results, q->count, gpu);
  void *codes = bytes(p, q->codes, q->count, gpu), *answers = bytes(p, q->answers, q->count, gpu);
  bool finds = operation == DZO_TABLE_FIND || operation == DZO_TABLE_MIXED;
  batch->keys = keys;
  batch->values = operation == DZO_TABLE_FIND || operation == DZO_TABLE_ERASE ? NULL : values;
  batch->results = finds ? results : NULL;
  batch->operations = operation == DZO_TABLE_MIXED ? codes : NULL;
  batch->answers = answers;
  dzo_status status = table_engine_cuda.run(p->table, batch);
  if (status != DZO_E_DEVICE) {
    fetch_words(p, q->results, results, q->count, gpu);
    if (gpu)
      assert_int_equal(dzo_unit_fetch(p->unit, q->answers, answers, q->count), DZO_OK);
    else
      memcpy(q->answers, answers, q->count);
  }
  pair_drop(p, keys, gpu);
  pair_drop(p, values, gpu);
  pair_drop(p, results, gpu);
  pair_drop(p, codes, gpu);
  pair_drop(p, answers, gpu);
  return status;
}

void pair_run_both(pair_of *p, queries *q, dzo_table_operation operation, bool gpu) {
  uint64_t *before = malloc((q->count + 1) * 8);
  dzo_table_batch batch;
  uint64_t counts[4] = {0, 0, 0, 0};
  memcpy(before, q->results, q->count * 8);
  dzo_status status = pair_run(p, q, operation, 0, gpu, &batch);
  for (uint64_t i = 0; i < q->count; i++) {
    uint64_t result = 0;
    dzo_table_operation code =
        operation == DZO_TABLE_MIXED ? (dzo_table_operation)q->codes[i] : operation;
    counts[q->answers[i] & 3]++;
    if (q->answers[i] == DZO_TABLE_REFUSED) {
      assert_false(oracle_table_get(p->oracle, q->keys[i], &result));
      continue;
    }
    int expected = oracle_table_run(p->oracle, code, q->keys[i], q->values[i], &result);
    if (expected != q->answers[i])
      fail_msg("query %llu of %llu, operation %d (%d), key %llx: %d instead of %d",
               (unsigned long long)i, (unsigned long long)q->count, (int)operation, (int)code,
               (unsigned long long)q->keys[i], q->answers[i], expected);
    if (operation == DZO_TABLE_FIND || (operation == DZO_TABLE_MIXED && code == DZO_TABLE_FIND))
      assert_int_equal(q->results[i], result);
    else
      assert_int_equal(q->results[i], before[i]);
  }
  assert_int_equal(status, counts[DZO_TABLE_REFUSED] > 0 ? DZO_E_LIMIT : DZO_OK);
  assert_int_equal(batch.found, counts[DZO_TABLE_FOUND]);
  assert_int_equal(batch.inserted, counts[DZO_TABLE_INSERTED]);
  assert_int_equal(batch.refused, counts[DZO_TABLE_REFUSED]);
  p->inserted = batch.inserted;
  p->refused = batch.refused;
  free(before);
}

void pair_compare(pair_of *p) {
  uint64_t size = table_engine_cuda.size(p->table);
  assert_int_equal(size, oracle_table_size(p->oracle));
  queries q = make_queries(size);
  void *keys = pair_words(p, q.keys, size, false), *values = pair_words(p, q.values, size, false);
  assert_int_equal(table_engine_cuda.export_into(p->table, keys, values), DZO_OK);
  fetch_words(p, q.keys, keys, size, false);
  fetch_words(p, q.values, values, size, false);
  oracle_table *seen = oracle_table_make(64);
  for (uint64_t i = 0; i < size; i++) {
    uint64_t value = 0;
    assert_true(oracle_table_get(p->oracle, q.keys[i], &value));
    assert_int_equal(q.values[i], value);
    oracle_table_set(seen, q.keys[i], 1);
  }
  assert_int_equal(oracle_table_size(seen), size);
  oracle_table_free(seen);
  dzo_table_stats stats;
  assert_int_equal(table_engine_cuda.stats(p->table, &stats), DZO_OK);
  assert_int_equal(stats.pairs, size);
  assert_true(stats.slots >= size - stats.overflow);
  free(keys);
  free(values);
  free_queries(&q);
}

static uint64_t some_key(pair_of *p, uint64_t range) {
  uint64_t r = pair_draw(p), mix = table_layout_mix(p->plan.seed);
  uint64_t lone =
      p->plan.wide ? table_unmixed64(UINT64_MAX, mix) : table_unmixed32(UINT32_MAX, mix);
  switch (r % 50) {
  case 0:
    return lone;
  case 1:
    return ((r >> 8) % 3 - 1) & pair_mask(p);
  default:
    return ((r >> 8) % range * UINT64_C(0x9e3779b97f4a7c15)) & pair_mask(p);
  }
}

uint64_t pair_value(pair_of *p) {
  uint64_t r = pair_draw(p);
  return (r % 4 == 0 ? (r >> 8) % 3 - 2 : r >> 3) & pair_mask(p);
}

void pair_fill(pair_of *p, queries *q, uint64_t range) {
  for (uint64_t i = 0; i < q->count; i++) {
    q->keys[i] = some_key(p, range);
    q->values[i] = pair_value(p);
    q->codes[i] = (uint8_t)(pair_draw(p) % 7);
    q->results[i] = i & pair_mask(p);
  }
}

void pair_fill_chosen(pair_of *p, queries *q, uint64_t from) {
  uint64_t mix = table_layout_mix(p->plan.seed);
  for (uint64_t i = 0; i < q->count; i++) {
    q->keys[i] =
        p->plan.wide ? table_unmixed64(from + i, mix) : table_unmixed32((uint32_t)(from + i), mix);
    q->values[i] = pair_value(p);
    q->codes[i] = (uint8_t)(pair_draw(p) % 7);
  }
}

void pair_check_any_order(pair_of *p, uint64_t count) {
  queries q = make_queries(count);
  dzo_table_batch batch;
  for (uint64_t i = 0; i < q.count; i++) {
    q.keys[i] = i % 100;
    q.values[i] = i;
  }
  assert_int_equal(pair_run(p, &q, DZO_TABLE_INSERT, DZO_TABLE_ANY, true, &batch), DZO_OK);
  assert_int_equal(batch.inserted, 100);
  assert_int_equal(pair_run(p, &q, DZO_TABLE_ASSIGN, DZO_TABLE_ANY, true, &batch), DZO_OK);
  assert_int_equal(batch.found, q.count);
  assert_int_equal(pair_run(p, &q, DZO_TABLE_FIND, DZO_TABLE_ANY, true, &batch), DZO_OK);
  for (uint64_t i = 0; i < q.count; i++)
    assert_int_equal(q.results[i] % 100, i % 100);
  assert_int_equal(pair_run(p, &q, DZO_TABLE_ERASE, DZO_TABLE_ANY, false, &batch), DZO_OK);
  assert_int_equal(batch.found, 100);
  free_queries(&q);
}
