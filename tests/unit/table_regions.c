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

#include "table_pair.h"

#if defined(DZO_TEST_TINY) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 4, MOST = 700, MANY = 1500, FINE = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 12, MOST = 1500, MANY = 3000, FINE = 8 };
#else
enum { ROUNDS = 16, MOST = 4000, MANY = 10000, FINE = 8 };
#endif

/* Every second batch is done without regions where it is small. */
static void take_turns(pair_of *p, int i) {
  ((table_gpu *)p->table)->sizes.direct = i % 2 == 0 ? 1000 : 1;
}

static pair_of begin(dzo_context *context, bool wide, double load, uint32_t region_slots) {
  table_gpu_sizes sizes = {
      .region_slots = region_slots, .piece = 3000, .host_piece = 700, .direct = 1000, .heavy = 500};
  return pair_begin(context, wide, load, &sizes);
}

static pair_of begin_fixed(dzo_context *context, bool wide, double load, uint64_t capacity) {
  table_gpu_sizes sizes = {.region_slots = 1024, .host_piece = 900, .heavy = 300};
  return pair_begin_fixed(context, wide, load, capacity, &sizes);
}

/* ---- Random batches -------------------------------------------------------------------------- */

static void random_batches(bool wide, double load, uint32_t region_slots) {
  pair_of p = begin(pair_open_or_skip(), wide, load, region_slots);
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t range = pair_draw(&p) % 3 == 0 ? 100 : MOST;
    queries q = make_queries(1 + pair_draw(&p) % MOST);
    pair_fill(&p, &q, range);
    take_turns(&p, i / 8 + i);
    pair_run_both(&p, &q, (dzo_table_operation)(i % 8), i % 3 != 0);
    free_queries(&q);
    pair_compare(&p);
    if (i % 11 == 10)
      assert_int_equal(table_engine_cuda.shrink(p.table), DZO_OK);
    if (i % 13 == 12) {
      assert_int_equal(table_engine_cuda.clear(p.table), DZO_OK);
      oracle_table_clear(p.oracle);
    }
    if (i % 7 == 6)
      assert_int_equal(table_engine_cuda.reserve(p.table, 2 * MOST), DZO_OK);
  }
  pair_end(&p);
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
    pair_of p = begin(pair_open_or_skip(), wide, 0.9, 64);
    for (int operation = 0; operation <= DZO_TABLE_MIXED; operation++) {
      queries q = make_queries(MOST / 2);
      take_turns(&p, operation);
      pair_fill(&p, &q, 1);
      for (uint64_t i = 0; i < q.count; i++)
        q.keys[i] = 17;
      pair_run_both(&p, &q, (dzo_table_operation)operation, operation % 2);
      free_queries(&q);
      pair_compare(&p);
    }
    pair_end(&p);
  }
}

static void chosen_keys(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {
      DZO_TABLE_INSERT, DZO_TABLE_FIND,  DZO_TABLE_ASSIGN, DZO_TABLE_ERASE, DZO_TABLE_MIXED,
      DZO_TABLE_ADD,    DZO_TABLE_MIXED, DZO_TABLE_FIND,   DZO_TABLE_ERASE, DZO_TABLE_INSERT};
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(pair_open_or_skip(), wide, 0.9, 64);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
      queries q = make_queries(MANY / 4);
      take_turns(&p, (int)i / 2);
      pair_fill_chosen(&p, &q, i * MANY / 10);
      pair_run_both(&p, &q, operations[i], i % 2);
      free_queries(&q);
      pair_compare(&p);
    }
    assert_int_equal(table_engine_cuda.reserve(p.table, MANY), DZO_OK);
    pair_compare(&p);
    pair_end(&p);
  }
}

/* Every second key is chosen, so that a region has no room for those while most of its buckets are
 * empty: the others must be found all the same. */
static void chosen_among_others(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(pair_open_or_skip(), wide, 0.9, 2000);
    queries q = make_queries(3000);
    pair_fill_chosen(&p, &q, 0);
    for (uint64_t i = 0; i < q.count; i += 2)
      q.keys[i] = pair_draw(&p) & pair_mask(&p);
    pair_run_both(&p, &q, DZO_TABLE_INSERT, true);
    pair_run_both(&p, &q, DZO_TABLE_FIND, true);
    pair_run_both(&p, &q, DZO_TABLE_MIXED, false);
    pair_run_both(&p, &q, DZO_TABLE_INSERT, false);
    pair_compare(&p);
    pair_run_both(&p, &q, DZO_TABLE_ERASE, true);
    pair_compare(&p);
    free_queries(&q);
    pair_end(&p);
  }
}

/* Regions so many that a batch takes three passes to them, and so small that some have no room. */
static void many_regions(void **state) {
  (void)state;
  pair_of p = begin(pair_open_or_skip(), false, 0.9, 4);
  table_engine_cuda.destroy(p.table);
  p.plan.fixed = true;
  p.plan.capacity = 240000;
  table_gpu_sizes sizes = {.region_slots = 4};
  assert_int_equal(table_gpu_create(&p.plan, &sizes, &p.table), DZO_OK);
  queries q = make_queries(MOST);
  pair_fill(&p, &q, MOST);
  for (uint64_t i = 0; i < q.count / 4; i++) /* too many for their regions */
    q.keys[4 * i] = table_unmixed32((uint32_t)i % 3000 * 16, table_layout_mix(p.plan.seed));
  pair_run_both(&p, &q, DZO_TABLE_INSERT, true);
  pair_run_both(&p, &q, DZO_TABLE_MIXED, true);
  pair_compare(&p);
  free_queries(&q);
  pair_end(&p);
}

/* A fixed table takes at least its capacity, whatever the keys. */
static void full_tables(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    uint64_t capacity = MANY / 5;
    pair_of p = begin_fixed(pair_open_or_skip(), variant & 1, variant & 2 ? 0.9 : 0.95, capacity);
    queries q = make_queries(MANY);
    for (uint64_t i = 0; i < q.count; i++) {
      q.keys[i] = pair_draw(&p) & pair_mask(&p);
      q.values[i] = pair_value(&p);
    }
    if (variant == 3)
      pair_fill_chosen(&p, &q, 0);
    pair_run_both(&p, &q, DZO_TABLE_INSERT, variant & 1);
    assert_true(p.inserted >= capacity);
    assert_true(p.refused > 0);
    pair_compare(&p);
    pair_run_both(&p, &q, DZO_TABLE_FIND, false);
    q.count = MANY / 10;
    pair_run_both(&p, &q, DZO_TABLE_ERASE, false);
    pair_run_both(&p, &q, DZO_TABLE_ADD, true);
    for (uint64_t i = 0; i < q.count; i++)
      q.codes[i] = (uint8_t)(pair_draw(&p) % 7);
    pair_run_both(&p, &q, DZO_TABLE_MIXED, true);
    pair_compare(&p);
    free_queries(&q);
    pair_end(&p);
  }
}

/* In any order: what is there in the end is one of what was offered. */
static void any_order(void **state) {
  (void)state;
  pair_of p = begin(pair_open_or_skip(), false, 0.9, 64);
  pair_check_any_order(&p, MOST);
  pair_end(&p);
}

/* Where nobody asks for answers, other ways may be taken: the counts and the contents are the same.
 */
static void no_answers(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {DZO_TABLE_INSERT, DZO_TABLE_ERASE,
                                                   DZO_TABLE_FIND,   DZO_TABLE_ADD,
                                                   DZO_TABLE_ERASE,  DZO_TABLE_MIN};
  for (int variant = 0; variant < 4; variant++) {
    pair_of p = begin(pair_open_or_skip(), variant & 1, variant & 2 ? 0.9 : 0.95, 512);
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
      queries q = make_queries(1 + pair_draw(&p) % 3 * MOST / 3);
      pair_fill(&p, &q, MOST / 2);
      uint64_t counts[4] = {0, 0, 0, 0}, result;
      for (uint64_t i = 0; i < q.count; i++)
        counts[oracle_table_run(p.oracle, operations[o], q.keys[i], q.values[i], &result)]++;
      void *keys = pair_words(&p, q.keys, q.count, true),
           *values = pair_words(&p, q.values, q.count, true);
      dzo_table_batch batch;
      dzo_table_batch_init(&batch);
      batch.operation = operations[o];
      batch.count = q.count;
      batch.keys = keys;
      batch.values = values;
      assert_int_equal(table_engine_cuda.run(p.table, &batch), DZO_OK);
      assert_int_equal(batch.found, counts[DZO_TABLE_FOUND]);
      assert_int_equal(batch.inserted, counts[DZO_TABLE_INSERTED]);
      pair_drop(&p, keys, true);
      pair_drop(&p, values, true);
      free_queries(&q);
      pair_compare(&p);
    }
    pair_end(&p);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Whatever fails, the call says so, and the next one too. */
static void failing_operations(void **state) {
  (void)state;
  bool done = false;
  for (uint64_t k = 1; !done; k += 1 + k / FINE) {
    pair_of p = begin(pair_open_or_skip(), false, 0.9, 64);
    queries q = make_queries(900);
    pair_fill(&p, &q, 500);
    p.unit->fail_at = p.unit->operations + k;
    dzo_table_batch batch;
    dzo_table_batch_init(&batch);
    batch.operation = DZO_TABLE_MIXED;
    batch.count = q.count;
    uint32_t *keys = pair_words(&p, q.keys, q.count, false);
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
    pair_end(&p);
  }
}

/* A table that may not grow further refuses, and stays right. */
static void little_memory(void **state) {
  (void)state;
  pair_of p = begin(pair_open_or_skip(), false, 0.9, 64);
  queries q = make_queries(MANY);
  pair_fill(&p, &q, MANY);
  for (uint64_t i = 0; i < q.count; i++)
    q.keys[i] = i;
  p.unit->limit = p.unit->used + MANY * 4;
  dzo_table_batch batch;
  dzo_status status = pair_run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch);
  assert_int_equal(status, DZO_E_MEMORY);
  for (uint64_t i = 0; i < q.count; i++) {
    uint64_t result;
    assert_int_not_equal(q.answers[i], DZO_TABLE_FOUND);
    if (q.answers[i] == DZO_TABLE_INSERTED)
      (void)oracle_table_run(p.oracle, DZO_TABLE_INSERT, q.keys[i], q.values[i], &result);
  }
  assert_int_equal(batch.inserted + batch.refused, q.count);
  p.unit->limit = UINT64_MAX;
  pair_compare(&p);
  pair_run_both(&p, &q, DZO_TABLE_INSERT, false);
  pair_compare(&p);
  free_queries(&q);
  pair_end(&p);
}

/* However little memory is left when a table cannot grow: what finds no slot is refused beforehand.
 */
static void hardly_any_memory(void **state) {
  (void)state;
  for (uint64_t room = 1 << 10; room < 3 << 13; room += 1 << 11) {
    pair_of p = begin(pair_open_or_skip(), true, 0.8, 2000);
    queries q = make_queries(1500);
    table_gpu_sizes *sizes = &((table_gpu *)p.table)->sizes;
    sizes->host_piece = 200;
    sizes->direct = 1500;
    dzo_table_batch batch;
    for (uint64_t i = 0; i < q.count; i++) {
      q.keys[i] = i;
      q.values[i] = room + i;
    }
    q.count = 170;
    pair_run_both(&p, &q, DZO_TABLE_INSERT, false);
    q.count = 1500;
    p.unit->limit = p.unit->used + room;
    dzo_status status = pair_run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch);
    p.unit->limit = UINT64_MAX;
    assert_true(status == DZO_OK || status == DZO_E_MEMORY);
    for (uint64_t i = 0; i < q.count; i++) {
      uint64_t result;
      if (q.answers[i] != DZO_TABLE_REFUSED)
        assert_int_equal(
            oracle_table_run(p.oracle, DZO_TABLE_INSERT, q.keys[i], q.values[i], &result),
            q.answers[i]);
    }
    pair_compare(&p);
    free_queries(&q);
    pair_end(&p);
  }
}

/* What is put off and then refused for want of memory has no results of other batches. */
static void little_memory_for_the_rest(void **state) {
  (void)state;
  pair_of p = begin_fixed(pair_open_or_skip(), true, 0.9, 20000);
  table_engine_cuda.destroy(p.table);
  assert_int_equal(table_gpu_create(&p.plan, NULL, &p.table), DZO_OK);
  queries q = make_queries(4000);
  dzo_table_batch batch;
  for (uint64_t i = 0; i < q.count; i++) {
    q.keys[i] = i;
    q.values[i] = 1 + i;
    q.codes[i] = i % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_FIND;
  }
  assert_int_equal(pair_run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch), DZO_OK);
  assert_int_equal(pair_run(&p, &q, DZO_TABLE_MIXED, 0, false, &batch), DZO_OK);
  pair_fill_chosen(&p, &q, 0);
  for (uint64_t i = 0; i < q.count; i++)
    q.codes[i] = i % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_FIND;
  p.unit->limit = p.unit->used;
  assert_int_equal(pair_run(&p, &q, DZO_TABLE_MIXED, 0, false, &batch), DZO_E_MEMORY);
  assert_true(batch.refused > 0);
  for (uint64_t i = 0; i < q.count; i++)
    if (q.answers[i] == DZO_TABLE_REFUSED && q.codes[i] == DZO_TABLE_FIND)
      assert_int_equal(q.results[i], 0);
  p.unit->limit = UINT64_MAX;
  free_queries(&q);
  pair_end(&p);
}

/* A GPU of 64 KB of shared memory has regions that are large enough. */
static void little_shared_memory(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = begin(pair_open_or_skip(), wide, 0.9, 64);
    table_engine_cuda.destroy(p.table);
    p.unit->shared = p.unit->shared_all = 64 << 10;
    p.plan.fixed = true;
    p.plan.capacity = MANY;
    assert_int_equal(table_gpu_create(&p.plan, NULL, &p.table), DZO_OK);
    queries q = make_queries(MANY);
    for (uint64_t i = 0; i < q.count; i++)
      q.keys[i] = pair_draw(&p) & pair_mask(&p);
    pair_run_both(&p, &q, DZO_TABLE_INSERT, true);
    dzo_table_stats stats;
    assert_int_equal(table_engine_cuda.stats(p.table, &stats), DZO_OK);
    assert_true(stats.overflow <= 1 + q.count / 1000);
    free_queries(&q);
    pair_end(&p);
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
      cmocka_unit_test(hardly_any_memory),
      cmocka_unit_test(little_memory_for_the_rest),
      cmocka_unit_test(little_shared_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
