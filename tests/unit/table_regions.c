/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engine that keeps a table in GPU memory, with regions so small that few keys fill many of
 * them, against a plain map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "device/transfer.h"
#include "table/gpu.h"
#include "table_oracle.h"

#if defined(DZO_TEST_TINY) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 4, MOST = 700, MANY = 1500, FINE = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 12, MOST = 2000, MANY = 4000, FINE = 8 };
#else
enum { ROUNDS = 30, MOST = 5000, MANY = 20000, FINE = 8 };
#endif

typedef struct pair_of {
  dzo_context *context;
  dzo_unit *unit;
  void *table;
  oracle_table *oracle;
  table_plan plan;
  uint64_t random;
  uint64_t inserted, refused; /* by the last batch */
} pair_of;

static uint64_t draw(pair_of *p) { return dzo_random_word(7, p->random++); }

static uint64_t mask_of(const pair_of *p) { return p->plan.wide ? UINT64_MAX : UINT32_MAX; }

static dzo_context *open_or_skip(void) {
  dzo_context *context;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  if (dzo_context_gpu(context) != NULL)
    return context;
  dzo_context_destroy(context);
  skip();
  return NULL;
}

static pair_of begin(dzo_context *context, bool wide, double load, uint32_t region_slots) {
  pair_of p = {.context = context,
               .unit = dzo_context_gpu(context),
               .plan = {.context = context, .wide = wide, .max_load = load, .seed = 5}};
  table_gpu_sizes sizes = {
      .region_slots = region_slots, .piece = 3000, .host_piece = 700, .direct = 1000, .heavy = 500};
  assert_int_equal(table_gpu_create(&p.plan, &sizes, &p.table), DZO_OK);
  p.oracle = oracle_table_make(wide ? 64 : 32);
  return p;
}

static pair_of begin_fixed(dzo_context *context, bool wide, double load, uint64_t capacity) {
  pair_of p = begin(context, wide, load, 64);
  table_engine_cuda.destroy(p.table);
  p.plan.fixed = true;
  p.plan.capacity = capacity;
  table_gpu_sizes sizes = {.region_slots = 1024, .host_piece = 900, .heavy = 300};
  assert_int_equal(table_gpu_create(&p.plan, &sizes, &p.table), DZO_OK);
  return p;
}

static void end(pair_of *p) {
  table_engine_cuda.destroy(p->table);
  oracle_table_free(p->oracle);
  dzo_context_destroy(p->context);
}

/* ---- Batches --------------------------------------------------------------------------------- */

typedef struct queries {
  uint64_t count;
  uint64_t *keys, *values, *results;
  uint8_t *codes, *answers;
} queries;

static queries make_queries(uint64_t count) {
  queries q = {count,
               calloc(count + 1, 8),
               calloc(count + 1, 8),
               calloc(count + 1, 8),
               calloc(count + 1, 1),
               calloc(count + 1, 1)};
  return q;
}

static void free_queries(queries *q) {
  free(q->keys);
  free(q->values);
  free(q->results);
  free(q->codes);
  free(q->answers);
}

/* Words as the engine has them; in device memory if `gpu`. */
static void *words(const pair_of *p, const uint64_t *from, uint64_t count, bool gpu) {
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

static void drop(const pair_of *p, void *pointer, bool gpu) {
  if (gpu)
    dzo_unit_release(p->unit, pointer);
  else
    free(pointer);
}

static dzo_status run(pair_of *p, queries *q, dzo_table_operation operation, unsigned flags,
                      bool gpu, dzo_table_batch *batch) {
  dzo_table_batch_init(batch);
  batch->operation = operation;
  batch->flags = flags;
  batch->count = q->count;
  void *keys = words(p, q->keys, q->count, gpu), *values = words(p, q->values, q->count, gpu);
  void *results = words(p, q->results, q->count, gpu);
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
  drop(p, keys, gpu);
  drop(p, values, gpu);
  drop(p, results, gpu);
  drop(p, codes, gpu);
  drop(p, answers, gpu);
  return status;
}

/* Refused queries are taken to be right; the map does all others, and says the same. */
static void run_both(pair_of *p, queries *q, dzo_table_operation operation, bool gpu) {
  uint64_t *before = malloc((q->count + 1) * 8);
  dzo_table_batch batch;
  uint64_t counts[4] = {0, 0, 0, 0};
  memcpy(before, q->results, q->count * 8);
  dzo_status status = run(p, q, operation, 0, gpu, &batch);
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

/* All that the table holds is in the map, each key once, and there is no more in the map. */
static void compare(pair_of *p) {
  uint64_t size = table_engine_cuda.size(p->table);
  assert_int_equal(size, oracle_table_size(p->oracle));
  queries q = make_queries(size);
  void *keys = words(p, q.keys, size, false), *values = words(p, q.values, size, false);
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

/* ---- Random batches -------------------------------------------------------------------------- */

/* Keys of a small range, and those that the layout has other uses for. */
static uint64_t some_key(pair_of *p, uint64_t range) {
  uint64_t r = draw(p), mix = table_layout_mix(p->plan.seed);
  uint64_t lone =
      p->plan.wide ? table_unmixed64(UINT64_MAX, mix) : table_unmixed32(UINT32_MAX, mix);
  switch (r % 50) {
  case 0:
    return lone;
  case 1:
    return ((r >> 8) % 3 - 1) & mask_of(p);
  default:
    return ((r >> 8) % range * UINT64_C(0x9e3779b97f4a7c15)) & mask_of(p);
  }
}

static uint64_t some_value(pair_of *p) {
  uint64_t r = draw(p);
  return (r % 4 == 0 ? (r >> 8) % 3 - 2 : r >> 3) & mask_of(p);
}

static void fill(pair_of *p, queries *q, uint64_t range) {
  for (uint64_t i = 0; i < q->count; i++) {
    q->keys[i] = some_key(p, range);
    q->values[i] = some_value(p);
    q->codes[i] = (uint8_t)(draw(p) % 7);
    q->results[i] = i & mask_of(p);
  }
}

static void random_batches(bool wide, double load, uint32_t region_slots) {
  pair_of p = begin(open_or_skip(), wide, load, region_slots);
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t range = draw(&p) % 3 == 0 ? 100 : MOST;
    queries q = make_queries(1 + draw(&p) % MOST);
    fill(&p, &q, range);
    run_both(&p, &q, (dzo_table_operation)(i % 8), i % 3 != 0);
    free_queries(&q);
    compare(&p);
    if (i % 11 == 10)
      assert_int_equal(table_engine_cuda.shrink(p.table), DZO_OK);
    if (i % 13 == 12) {
      assert_int_equal(table_engine_cuda.clear(p.table), DZO_OK);
      oracle_table_clear(p.oracle);
    }
    if (i % 7 == 6)
      assert_int_equal(table_engine_cuda.reserve(p.table, 2 * MOST), DZO_OK);
  }
  end(&p);
}

static void random_batches_narrow(void **state) {
  (void)state;
  random_batches(false, 0.9, 64);
}
static void random_batches_wide(void **state) {
  (void)state;
  random_batches(true, 0.9, 64);
}
static void random_batches_narrow_full(void **state) {
  (void)state;
  random_batches(false, 0.95, 256);
}
static void random_batches_wide_full(void **state) {
  (void)state;
  random_batches(true, 0.95, 256);
}
static void random_batches_large_regions(void **state) {
  (void)state;
  random_batches(false, 0.5, 2000);
}

/* ---- Hard cases ------------------------------------------------------------------------------ */

static void equal_keys(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(open_or_skip(), wide, 0.9, 64);
    for (int operation = 0; operation <= DZO_TABLE_MIXED; operation++) {
      queries q = make_queries(MOST / 2);
      fill(&p, &q, 1);
      for (uint64_t i = 0; i < q.count; i++)
        q.keys[i] = 17;
      run_both(&p, &q, (dzo_table_operation)operation, operation % 2);
      free_queries(&q);
      compare(&p);
    }
    end(&p);
  }
}

/* Keys whose mixed keys have the same region and buckets. */
static void fill_chosen(pair_of *p, queries *q, uint64_t from) {
  uint64_t mix = table_layout_mix(p->plan.seed);
  for (uint64_t i = 0; i < q->count; i++) {
    q->keys[i] =
        p->plan.wide ? table_unmixed64(from + i, mix) : table_unmixed32((uint32_t)(from + i), mix);
    q->values[i] = some_value(p);
    q->codes[i] = (uint8_t)(draw(p) % 7);
  }
}

static void chosen_keys(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {
      DZO_TABLE_INSERT, DZO_TABLE_FIND,  DZO_TABLE_ASSIGN, DZO_TABLE_ERASE, DZO_TABLE_MIXED,
      DZO_TABLE_ADD,    DZO_TABLE_MIXED, DZO_TABLE_FIND,   DZO_TABLE_ERASE, DZO_TABLE_INSERT};
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(open_or_skip(), wide, 0.9, 64);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
      queries q = make_queries(MANY / 4);
      fill_chosen(&p, &q, i * MANY / 10);
      run_both(&p, &q, operations[i], i % 2);
      free_queries(&q);
      compare(&p);
    }
    assert_int_equal(table_engine_cuda.reserve(p.table, MANY), DZO_OK);
    compare(&p);
    end(&p);
  }
}

/* Every second key is chosen, so that a region has no room for those while most of its buckets are
 * empty: the others must be found all the same. */
static void chosen_among_others(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(open_or_skip(), wide, 0.9, 2000);
    queries q = make_queries(5000);
    fill_chosen(&p, &q, 0);
    for (uint64_t i = 0; i < q.count; i += 2)
      q.keys[i] = draw(&p) & mask_of(&p);
    run_both(&p, &q, DZO_TABLE_INSERT, true);
    run_both(&p, &q, DZO_TABLE_FIND, true);
    run_both(&p, &q, DZO_TABLE_MIXED, false);
    run_both(&p, &q, DZO_TABLE_INSERT, false);
    compare(&p);
    run_both(&p, &q, DZO_TABLE_ERASE, true);
    compare(&p);
    free_queries(&q);
    end(&p);
  }
}

/* Regions so many that a batch takes three passes to them, and so small that some have no room. */
static void many_regions(void **state) {
  (void)state;
  pair_of p = begin(open_or_skip(), false, 0.9, 4);
  table_engine_cuda.destroy(p.table);
  p.plan.fixed = true;
  p.plan.capacity = 300000;
  table_gpu_sizes sizes = {.region_slots = 4};
  assert_int_equal(table_gpu_create(&p.plan, &sizes, &p.table), DZO_OK);
  queries q = make_queries(MOST);
  fill(&p, &q, MOST);
  for (uint64_t i = 0; i < q.count / 4; i++) /* too many for their regions */
    q.keys[4 * i] = table_unmixed32((uint32_t)i % 3000 * 16, table_layout_mix(p.plan.seed));
  run_both(&p, &q, DZO_TABLE_INSERT, true);
  run_both(&p, &q, DZO_TABLE_MIXED, true);
  compare(&p);
  free_queries(&q);
  end(&p);
}

/* A fixed table takes at least its capacity, whatever the keys. */
static void full_tables(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    uint64_t capacity = MANY / 5;
    pair_of p = begin_fixed(open_or_skip(), variant & 1, variant & 2 ? 0.9 : 0.95, capacity);
    queries q = make_queries(MANY);
    for (uint64_t i = 0; i < q.count; i++) {
      q.keys[i] = draw(&p) & mask_of(&p);
      q.values[i] = some_value(&p);
    }
    if (variant == 3)
      fill_chosen(&p, &q, 0);
    run_both(&p, &q, DZO_TABLE_INSERT, variant & 1);
    assert_true(p.inserted >= capacity);
    assert_true(p.refused > 0);
    compare(&p);
    run_both(&p, &q, DZO_TABLE_FIND, false);
    q.count = MANY / 10;
    run_both(&p, &q, DZO_TABLE_ERASE, false);
    run_both(&p, &q, DZO_TABLE_ADD, true);
    for (uint64_t i = 0; i < q.count; i++)
      q.codes[i] = (uint8_t)(draw(&p) % 7);
    run_both(&p, &q, DZO_TABLE_MIXED, true);
    compare(&p);
    free_queries(&q);
    end(&p);
  }
}

/* In any order: what is there in the end is one of what was offered. */
static void any_order(void **state) {
  (void)state;
  pair_of p = begin(open_or_skip(), false, 0.9, 64);
  queries q = make_queries(MOST);
  dzo_table_batch batch;
  for (uint64_t i = 0; i < q.count; i++) {
    q.keys[i] = i % 100;
    q.values[i] = i;
  }
  assert_int_equal(run(&p, &q, DZO_TABLE_INSERT, DZO_TABLE_ANY, true, &batch), DZO_OK);
  assert_int_equal(batch.inserted, 100);
  assert_int_equal(run(&p, &q, DZO_TABLE_ASSIGN, DZO_TABLE_ANY, true, &batch), DZO_OK);
  assert_int_equal(batch.found, q.count);
  assert_int_equal(run(&p, &q, DZO_TABLE_FIND, DZO_TABLE_ANY, true, &batch), DZO_OK);
  for (uint64_t i = 0; i < q.count; i++)
    assert_int_equal(q.results[i] % 100, i % 100);
  assert_int_equal(run(&p, &q, DZO_TABLE_ERASE, DZO_TABLE_ANY, false, &batch), DZO_OK);
  assert_int_equal(batch.found, 100);
  free_queries(&q);
  end(&p);
}

/* Where nobody asks for answers, other ways may be taken: the counts and the contents are the same.
 */
static void no_answers(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {DZO_TABLE_INSERT, DZO_TABLE_ERASE,
                                                   DZO_TABLE_FIND,   DZO_TABLE_ADD,
                                                   DZO_TABLE_ERASE,  DZO_TABLE_MIN};
  for (int variant = 0; variant < 4; variant++) {
    pair_of p = begin(open_or_skip(), variant & 1, variant & 2 ? 0.9 : 0.95, 512);
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
      queries q = make_queries(1 + draw(&p) % 3 * MOST / 3);
      fill(&p, &q, MOST / 2);
      uint64_t counts[4] = {0, 0, 0, 0}, result;
      for (uint64_t i = 0; i < q.count; i++)
        counts[oracle_table_run(p.oracle, operations[o], q.keys[i], q.values[i], &result)]++;
      void *keys = words(&p, q.keys, q.count, true), *values = words(&p, q.values, q.count, true);
      dzo_table_batch batch;
      dzo_table_batch_init(&batch);
      batch.operation = operations[o];
      batch.count = q.count;
      batch.keys = keys;
      batch.values = values;
      assert_int_equal(table_engine_cuda.run(p.table, &batch), DZO_OK);
      assert_int_equal(batch.found, counts[DZO_TABLE_FOUND]);
      assert_int_equal(batch.inserted, counts[DZO_TABLE_INSERTED]);
      drop(&p, keys, true);
      drop(&p, values, true);
      free_queries(&q);
      compare(&p);
    }
    end(&p);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Whatever fails, the call says so, and the next one too. */
static void failing_operations(void **state) {
  (void)state;
  bool done = false;
  for (uint64_t k = 1; !done; k += 1 + k / FINE) {
    pair_of p = begin(open_or_skip(), false, 0.9, 64);
    queries q = make_queries(900);
    fill(&p, &q, 500);
    p.unit->fail_at = p.unit->operations + k;
    dzo_table_batch batch;
    dzo_table_batch_init(&batch);
    batch.operation = DZO_TABLE_MIXED;
    batch.count = q.count;
    uint32_t *keys = words(&p, q.keys, q.count, false);
    batch.keys = batch.values = keys;
    batch.operations = q.codes;
    batch.answers = q.answers;
    dzo_status status = table_engine_cuda.run(p.table, &batch);
    done = status == DZO_OK;
    if (!done) {
      assert_int_equal(status, DZO_E_DEVICE);
      assert_int_equal(table_engine_cuda.run(p.table, &batch), DZO_E_DEVICE);
    }
    free(keys);
    free_queries(&q);
    end(&p);
  }
}

/* A table that may not grow further refuses, and stays right. */
static void little_memory(void **state) {
  (void)state;
  pair_of p = begin(open_or_skip(), false, 0.9, 64);
  queries q = make_queries(MANY);
  fill(&p, &q, MANY);
  for (uint64_t i = 0; i < q.count; i++)
    q.keys[i] = i;
  p.unit->limit = p.unit->used + MANY * 4;
  dzo_table_batch batch;
  dzo_status status = run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch);
  assert_int_equal(status, DZO_E_MEMORY);
  for (uint64_t i = 0; i < q.count; i++) {
    uint64_t result;
    assert_int_not_equal(q.answers[i], DZO_TABLE_FOUND);
    if (q.answers[i] == DZO_TABLE_INSERTED)
      (void)oracle_table_run(p.oracle, DZO_TABLE_INSERT, q.keys[i], q.values[i], &result);
  }
  assert_int_equal(batch.inserted + batch.refused, q.count);
  p.unit->limit = UINT64_MAX;
  compare(&p);
  run_both(&p, &q, DZO_TABLE_INSERT, false);
  compare(&p);
  free_queries(&q);
  end(&p);
}

/* What is put off and then refused for want of memory has no results of other batches. */
static void little_memory_for_the_rest(void **state) {
  (void)state;
  pair_of p = begin_fixed(open_or_skip(), true, 0.9, 20000);
  table_engine_cuda.destroy(p.table);
  assert_int_equal(table_gpu_create(&p.plan, NULL, &p.table), DZO_OK);
  queries q = make_queries(4000);
  dzo_table_batch batch;
  for (uint64_t i = 0; i < q.count; i++) {
    q.keys[i] = i;
    q.values[i] = 1 + i;
    q.codes[i] = i % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_FIND;
  }
  assert_int_equal(run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch), DZO_OK);
  assert_int_equal(run(&p, &q, DZO_TABLE_MIXED, 0, false, &batch), DZO_OK);
  fill_chosen(&p, &q, 0);
  for (uint64_t i = 0; i < q.count; i++)
    q.codes[i] = i % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_FIND;
  p.unit->limit = p.unit->used;
  assert_int_equal(run(&p, &q, DZO_TABLE_MIXED, 0, false, &batch), DZO_E_MEMORY);
  assert_true(batch.refused > 0);
  for (uint64_t i = 0; i < q.count; i++)
    if (q.answers[i] == DZO_TABLE_REFUSED && q.codes[i] == DZO_TABLE_FIND)
      assert_int_equal(q.results[i], 0);
  p.unit->limit = UINT64_MAX;
  free_queries(&q);
  end(&p);
}

/* A GPU of 64 KB of shared memory has regions that are large enough. */
static void little_shared_memory(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(open_or_skip(), wide, 0.9, 64);
    table_engine_cuda.destroy(p.table);
    p.unit->shared = p.unit->shared_all = 64 << 10;
    p.plan.fixed = true;
    p.plan.capacity = MANY;
    assert_int_equal(table_gpu_create(&p.plan, NULL, &p.table), DZO_OK);
    queries q = make_queries(MANY);
    for (uint64_t i = 0; i < q.count; i++)
      q.keys[i] = draw(&p) & mask_of(&p);
    run_both(&p, &q, DZO_TABLE_INSERT, true);
    dzo_table_stats stats;
    assert_int_equal(table_engine_cuda.stats(p.table, &stats), DZO_OK);
    assert_true(stats.overflow <= 1 + q.count / 1000);
    free_queries(&q);
    end(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_batches_narrow),
      cmocka_unit_test(random_batches_wide),
      cmocka_unit_test(random_batches_narrow_full),
      cmocka_unit_test(random_batches_wide_full),
      cmocka_unit_test(random_batches_large_regions),
      cmocka_unit_test(equal_keys),
      cmocka_unit_test(chosen_keys),
      cmocka_unit_test(chosen_among_others),
      cmocka_unit_test(many_regions),
      cmocka_unit_test(full_tables),
      cmocka_unit_test(any_order),
      cmocka_unit_test(no_answers),
      cmocka_unit_test(failing_operations),
      cmocka_unit_test(little_memory),
      cmocka_unit_test(little_memory_for_the_rest),
      cmocka_unit_test(little_shared_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
