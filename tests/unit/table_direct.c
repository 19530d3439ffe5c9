/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Batches that are done straight in the slots of a table in GPU memory, against a plain map: keys
 * that repeat and meet, slots that were erased, buckets that are full, the overflow, and a GPU that
 * fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "table_pair.h"

#if defined(DZO_TEST_TINY) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 8, MOST = 500, FILL = 1500, FINE = 1, STRIDE = 5 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 12, MOST = 1000, FILL = 3000, FINE = 4, STRIDE = 2 };
#else
enum { ROUNDS = 30, MOST = 2000, FILL = 8000, FINE = 4, STRIDE = 2 };
#endif

#if defined(DZO_TEST_TINY) || defined(DZO_TEST_SMALL)
enum { WALKS = 4000 };
#else
enum { WALKS = 1 << 18 };
#endif

static const table_gpu_sizes straight = {
    .region_slots = 512, .piece = 2500, .host_piece = 700, .direct = UINT64_MAX, .heavy = 100000};

/* Or parts. */
static void make_regions_work(pair_of *p, bool regions, bool parts) {
  table_gpu_sizes *sizes = &((table_gpu *)p->table)->sizes;
  sizes->direct = regions || parts ? 1 : UINT64_MAX;
  sizes->parted = parts ? UINT64_MAX : 0;
}

/* ---- Random batches -------------------------------------------------------------------------- */

/* Now and then a batch goes through regions, so that either finds what the other left. */
static void random_batches(bool wide, double load) {
  pair_of p = pair_begin(pair_open_or_skip(), wide, load, &straight);
  for (int i = 0; i < ROUNDS; i++) {
    queries q = make_queries(1 + pair_draw(&p) % MOST);
    pair_fill(&p, &q, pair_draw(&p) % 3 == 0 ? 50 : 2 * MOST);
    make_regions_work(&p, i % 5 == 4, i % 3 == 2);
    pair_run_both(&p, &q, (dzo_table_operation)(pair_draw(&p) % 8), i % 3 != 0);
    free_queries(&q);
    pair_compare(&p);
    if (i % 11 == 10)
      assert_int_equal(table_engine_cuda.shrink(p.table), DZO_OK);
  }
  pair_end(&p);
}

static void random_batches_narrow(void **state) {
  (void)state;
  random_batches(false, 0.9);
  random_batches(false, 0.95);
}

static void random_batches_wide(void **state) {
  (void)state;
  random_batches(true, 0.9);
  random_batches(true, 0.95);
}

static void equal_keys(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    pair_of p = pair_begin(pair_open_or_skip(), variant & 1, 0.9, &straight);
    for (int operation = 0; operation < DZO_TABLE_MIXED; operation++) {
      queries q = make_queries(MOST / 2);
      pair_fill(&p, &q, 1);
      for (uint64_t i = 0; i < q.count; i++)
        q.keys[i] = variant & 2 ? 17 + i % 2 : 17;
      pair_run_both(&p, &q, (dzo_table_operation)operation, operation % 2);
      pair_compare(&p);
      if (operation % 3 == 2)
        pair_run_both(&p, &q, DZO_TABLE_ERASE, true);
      free_queries(&q);
    }
    pair_end(&p);
  }
}

/* ---- Full tables ----------------------------------------------------------------------------- */

/* To the last pair that it takes, in small batches, each key twice; then some go and come back. */
static void fill_up(bool wide, double load) {
  static const dzo_table_operation operations[] = {DZO_TABLE_INSERT, DZO_TABLE_ASSIGN,
                                                   DZO_TABLE_ADD, DZO_TABLE_MIN, DZO_TABLE_MAX};
  pair_of p = pair_begin_fixed(pair_open_or_skip(), wide, load, FILL, &straight);
  uint64_t made = 0, each = FILL / 10;
  for (int i = 0; made < FILL; i++) {
    uint64_t fresh = each < FILL - made ? each : FILL - made;
    queries q = make_queries(2 * fresh < FILL - made ? 2 * fresh : fresh);
    pair_fill(&p, &q, 1);
    for (uint64_t k = 0; k < q.count; k++)
      q.keys[k] = (1 + made + (k * 7 + 3) % fresh) * UINT64_C(0x9e3779b97f4a7c15) & pair_mask(&p);
    pair_run_both(&p, &q, operations[i % 5], i % 2);
    made += fresh;
    free_queries(&q);
  }
  pair_compare(&p);
  for (int i = 0; i < 4; i++) {
    queries q = make_queries(each);
    pair_fill(&p, &q, 1);
    for (uint64_t k = 0; k < q.count; k++)
      q.keys[k] = (1 + pair_draw(&p) % FILL) * UINT64_C(0x9e3779b97f4a7c15) & pair_mask(&p);
    pair_run_both(&p, &q, DZO_TABLE_ERASE, i % 2);
    pair_run_both(&p, &q, DZO_TABLE_FIND, i % 2);
    uint64_t room = FILL - oracle_table_size(p.oracle);
    q.count = room < each ? room : each;
    pair_run_both(&p, &q, operations[i % 5], i % 2);
    free_queries(&q);
    pair_compare(&p);
  }
  pair_end(&p);
}

static void full_tables(void **state) {
  (void)state;
  fill_up(false, 0.9);
  fill_up(false, 0.97);
  fill_up(true, 0.9);
  fill_up(true, 0.97);
}

/* In one batch: many pairs have to move at the same time, and into the same buckets. On a GPU as
 * many as it has threads. */
static void many_walks(void **state) {
  (void)state;
  static const table_gpu_sizes all = {.direct = UINT64_MAX, .heavy = UINT64_MAX};
  for (int variant = 0; variant < 4; variant++) {
    pair_of p =
        pair_begin_fixed(pair_open_or_skip(), variant & 1, variant & 2 ? 0.95 : 0.8, WALKS, &all);
    queries q = make_queries(WALKS);
    for (uint64_t i = 0; i < q.count; i++) {
      q.keys[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) & pair_mask(&p);
      q.values[i] = pair_value(&p);
    }
    if (variant & 1)
      for (uint64_t i = 0; i < q.count; i++)
        q.keys[i] ^= q.keys[i] >> 29;
    pair_run_both(&p, &q, DZO_TABLE_INSERT, true);
    pair_run_both(&p, &q, DZO_TABLE_FIND, true);
    q.count = WALKS / 2;
    pair_run_both(&p, &q, DZO_TABLE_ERASE, true);
    pair_run_both(&p, &q, DZO_TABLE_INSERT, false);
    q.count = WALKS;
    pair_run_both(&p, &q, DZO_TABLE_FIND, true);
    free_queries(&q);
    pair_end(&p);
  }
}

/* More than fits is refused, as ever. */
static void overfull_tables(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = pair_begin_fixed(pair_open_or_skip(), wide, 0.9, MOST, &straight);
    uint64_t refused = 0;
    for (int i = 0; i < 8; i++) {
      queries q = make_queries(MOST / 3);
      pair_fill(&p, &q, 8 * MOST);
      pair_run_both(&p, &q, i % 3 == 2 ? DZO_TABLE_ASSIGN : DZO_TABLE_INSERT, i % 2);
      refused += p.refused;
      free_queries(&q);
      pair_compare(&p);
    }
    assert_true(refused > 0);
    pair_end(&p);
  }
}

/* Keys of one pair of buckets: all but the first go to the overflow, some are erased there. */
static void chosen_keys(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {
      DZO_TABLE_ADD, DZO_TABLE_ERASE, DZO_TABLE_ASSIGN, DZO_TABLE_FIND, DZO_TABLE_INSERT,
      DZO_TABLE_MAX, DZO_TABLE_ERASE, DZO_TABLE_MIN,    DZO_TABLE_ERASE};
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = pair_begin_fixed(pair_open_or_skip(), wide, 0.9, 4 * FILL, &straight);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
      queries q = make_queries(MOST / 2);
      pair_fill_chosen(&p, &q, i * MOST / 10);
      for (uint64_t k = 0; k < q.count / 4; k++)
        q.keys[k * 3] = q.keys[k];
      pair_run_both(&p, &q, operations[i], i % 2);
      free_queries(&q);
      pair_compare(&p);
    }
    pair_end(&p);
  }
}

/* ---- Without order or answers ---------------------------------------------------------------- */

static void any_order(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = pair_begin(pair_open_or_skip(), wide, 0.9, &straight);
    pair_check_any_order(&p, MOST);
    pair_end(&p);
  }
}

/* Of new keys that are assigned twice, the pair keeps the value of whoever did not make it. */
static void assign_twice_in_any_order(void **state) {
  (void)state;
  enum { KEYS = MOST / 4, TRIES = 8 };
  for (int wide = 0; wide < 2; wide++) {
    pair_of p = pair_begin(pair_open_or_skip(), wide, 0.9, &straight);
    for (int try = 0; try < TRIES; try++) {
      queries q = make_queries(2 * KEYS);
      for (uint64_t i = 0; i < q.count; i++) {
        q.keys[i] = (uint64_t)try * KEYS + i / 2;
        q.values[i] = i;
      }
      dzo_table_batch batch;
      assert_int_equal(pair_run(&p, &q, DZO_TABLE_ASSIGN, DZO_TABLE_ANY, false, &batch), DZO_OK);
      assert_int_equal(batch.inserted, KEYS);
      uint8_t first[KEYS];
      for (uint64_t k = 0; k < KEYS; k++)
        first[k] = q.answers[2 * k] == DZO_TABLE_INSERTED;
      assert_int_equal(pair_run(&p, &q, DZO_TABLE_FIND, 0, false, &batch), DZO_OK);
      for (uint64_t k = 0; k < KEYS; k++)
        assert_int_equal(q.results[2 * k], first[k] != 0 ? 2 * k + 1 : 2 * k);
      free_queries(&q);
    }
    pair_end(&p);
  }
}

/* A mixed batch in which the order makes no difference: sums, and look-ups of other keys. Of the
 * keys some find both their buckets full, and come several times. */
static void mixed_in_any_order(void **state) {
  (void)state;
  for (int parts = 0; parts < 2; parts++) {
    pair_of p = pair_begin_fixed(pair_open_or_skip(), false, 0.9, 8 * FILL, &straight);
    queries old = make_queries(40), chosen = make_queries(MOST / 3), q = make_queries(MOST);
    for (uint64_t i = 0; i < old.count; i++)
      old.keys[i] = old.values[i] = 1000000 + i;
    pair_run_both(&p, &old, DZO_TABLE_INSERT, true);
    pair_fill_chosen(&p, &chosen, 0);
    pair_fill(&p, &q, 1);
    uint64_t inserted = oracle_table_size(p.oracle), result;
    for (uint64_t i = 0; i < q.count; i++) {
      q.codes[i] = i % 3 == 0 ? DZO_TABLE_FIND : DZO_TABLE_ADD;
      q.keys[i] = i % 3 == 0 ? old.keys[i % old.count] : chosen.keys[i % (MOST / 3)];
      (void)oracle_table_run(p.oracle, (dzo_table_operation)q.codes[i], q.keys[i], q.values[i],
                             &result);
    }
    inserted = oracle_table_size(p.oracle) - inserted;
    dzo_table_batch batch;
    ((table_gpu *)p.table)->sizes.piece = MOST;
    make_regions_work(&p, false, parts);
    assert_int_equal(pair_run(&p, &q, DZO_TABLE_MIXED, DZO_TABLE_ANY, true, &batch), DZO_OK);
    assert_int_equal(batch.inserted, inserted);
    assert_int_equal(batch.found, q.count - inserted);
    for (uint64_t i = 0; i < q.count; i += 3)
      assert_int_equal(q.results[i], q.keys[i]);
    free_queries(&old);
    free_queries(&chosen);
    free_queries(&q);
    pair_compare(&p);
    pair_end(&p);
  }
}

static void no_answers(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {
      DZO_TABLE_INSERT, DZO_TABLE_ASSIGN, DZO_TABLE_ADD,   DZO_TABLE_ERASE,
      DZO_TABLE_MAX,    DZO_TABLE_ASSIGN, DZO_TABLE_ERASE, DZO_TABLE_MIN};
  for (int variant = 0; variant < 4; variant++) {
    pair_of p = pair_begin(pair_open_or_skip(), variant & 1, variant & 2 ? 0.9 : 0.95, &straight);
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
      queries q = make_queries(MOST);
      pair_fill(&p, &q, MOST / 2);
      uint64_t counts[4] = {0, 0, 0, 0}, result;
      for (uint64_t i = 0; i < q.count; i++)
        counts[oracle_table_run(p.oracle, operations[o], q.keys[i], q.values[i], &result)]++;
      void *keys = pair_words(&p, q.keys, q.count, true);
      void *values = pair_words(&p, q.values, q.count, true);
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

/* Whatever fails, the call says so, and the next one too. The first batch only claims, the second
 * has duplicates and full buckets, the third erases. */
static void failing_operations(void **state) {
  (void)state;
  static const dzo_table_operation operations[] = {DZO_TABLE_INSERT, DZO_TABLE_ASSIGN,
                                                   DZO_TABLE_ERASE};
  for (int o = 0; o < 3; o++) {
    bool done = false;
    for (uint64_t k = 1; !done; k += 1 + k / FINE) {
      pair_of p = pair_begin_fixed(pair_open_or_skip(), true, 0.97, 1000, &straight);
      queries q = make_queries(480);
      pair_fill_chosen(&p, &q, 0);
      if (o == 0)
        pair_fill(&p, &q, 1 << 20);
      if (o > 0)
        pair_run_both(&p, &q, DZO_TABLE_INSERT, true);
      p.unit->fail_at = p.unit->operations + k;
      uint64_t *keys = malloc(q.count * 8);
      for (uint64_t i = 0; i < q.count; i++)
        keys[i] = q.keys[i / 2];
      dzo_table_batch batch;
      dzo_table_batch_init(&batch);
      batch.operation = operations[o];
      batch.count = q.count;
      batch.keys = keys;
      batch.values = o < 2 ? keys : NULL;
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
}

/* Regions want less workspace; and pairs for the overflow find a place all the same. */
static void little_memory(void **state) {
  (void)state;
  for (uint64_t room = 1 << 12; room < 1 << 20; room += room / 2 * STRIDE) {
    pair_of p = pair_begin_fixed(pair_open_or_skip(), room / 64 % 2 != 0, 0.9, 8000, &straight);
    queries q = make_queries(MOST / 2);
    pair_fill_chosen(&p, &q, 0);
    p.unit->limit = p.unit->used + 3 * MOST * 8 + room;
    dzo_table_batch batch;
    dzo_status status = pair_run(&p, &q, DZO_TABLE_INSERT, 0, false, &batch);
    if (status != DZO_OK && status != DZO_E_MEMORY)
      fail_msg("room %d: %s", (int)room, dzo_context_message(p.context));
    for (uint64_t i = 0; i < q.count; i++) {
      uint64_t result;
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
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_batches_narrow),
      cmocka_unit_test(random_batches_wide),
      cmocka_unit_test(equal_keys),
      cmocka_unit_test(full_tables),
      cmocka_unit_test(many_walks),
      cmocka_unit_test(overfull_tables),
      cmocka_unit_test(chosen_keys),
      cmocka_unit_test(any_order),
      cmocka_unit_test(assign_twice_in_any_order),
      cmocka_unit_test(mixed_in_any_order),
      cmocka_unit_test(no_answers),
      cmocka_unit_test(failing_operations),
      cmocka_unit_test(little_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
