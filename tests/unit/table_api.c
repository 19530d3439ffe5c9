/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a table's entries promise beside their answers: arguments, messages, full tables, saved
 * bytes, memory that runs out at any place, cancelling. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "table_calls.h"

static dzo_context *open_context(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.threads = threads;
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

static void expect_failure(const dzo_context *context, dzo_status status, dzo_status expected,
                           const char *part) {
  assert_int_equal(status, expected);
  const char *message = dzo_context_message(context);
  if (strstr(message, part) == NULL || strchr(message, '\n') != NULL)
    fail_msg("the message is '%s', without '%s'", message, part);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static void options_are_checked(void **state) {
  (void)state;
  dzo_context *context = open_context(1);
  dzo_table *table = NULL;
  dzo_table_options good, o;
  dzo_table_options_init(&good);
  assert_int_equal(dzo_table_create(NULL, &good, &table), DZO_E_ARGUMENT);
  expect_failure(context, dzo_table_create(context, &good, NULL), DZO_E_ARGUMENT, "nowhere");
#define REFUSES(change, part)                                                                      \
  do {                                                                                             \
    o = good;                                                                                      \
    change;                                                                                        \
    table = (dzo_table *)&o;                                                                       \
    expect_failure(context, dzo_table_create(context, &o, &table), DZO_E_ARGUMENT, part);          \
    assert_null(table);                                                                            \
  } while (0)
  REFUSES(o.size = 0, "size");
  REFUSES(o.size = 100000, "size");
  REFUSES(o.key_bits = 16, "16");
  REFUSES(o.value_bits = 0, "0 bits");
  REFUSES(o.fixed = 2, "fixed");
  REFUSES(o.max_load = 0.1, "0.1");
  REFUSES(o.max_load = 1, "max_load");
  REFUSES(o.max_load = -1, "max_load");
  o = good;
  o.capacity = UINT64_MAX / 2;
  expect_failure(context, dzo_table_create(context, &o, &table), DZO_E_MEMORY, "memory");
  assert_null(table);
  table_must(context, dzo_table_create(context, NULL, &table));
  assert_int_equal(dzo_table_key_bits(table), 64);
  assert_int_equal(dzo_table_value_bits(table), 64);
  assert_int_equal(dzo_table_device(table), DZO_DEVICE_CPU);
  expect_failure(context, dzo_table_reserve(table, UINT64_MAX), DZO_E_MEMORY, "memory");
  dzo_table_destroy(table);
  dzo_table_destroy(NULL);
  dzo_context_destroy(context);
}

static void batches_are_checked(void **state) {
  (void)state;
  dzo_context *context = open_context(2);
  dzo_table *table = NULL;
  table_must(context, dzo_table_create(context, NULL, &table));
  uint64_t keys[3] = {1, 2, 3};
  uint8_t operations[3] = {DZO_TABLE_INSERT, DZO_TABLE_FIND, DZO_TABLE_MIXED};
  dzo_table_batch good, b;
  dzo_table_batch_init(&good);
  good.count = 3;
  good.keys = keys;
  assert_int_equal(dzo_table_run(NULL, &good), DZO_E_ARGUMENT);
  expect_failure(context, dzo_table_run(table, NULL), DZO_E_ARGUMENT, "no batch");
#define REFUSES_BATCH(change, part)                                                                \
  do {                                                                                             \
    b = good;                                                                                      \
    b.found = b.inserted = b.refused = 7;                                                          \
    change;                                                                                        \
    expect_failure(context, dzo_table_run(table, &b), DZO_E_ARGUMENT, part);                       \
  } while (0)
  REFUSES_BATCH(b.size = 8, "size");
  REFUSES_BATCH(b.operation = (dzo_table_operation)8, "operation 8");
  REFUSES_BATCH(b.operation = (dzo_table_operation)-1, "operation -1");
  REFUSES_BATCH(b.flags = 6, "0x6");
  REFUSES_BATCH(b.keys = NULL, "no keys");
  REFUSES_BATCH(b.count = UINT64_MAX, "18446744073709551615");
  REFUSES_BATCH(b.operation = DZO_TABLE_MIXED, "without operations");
  REFUSES_BATCH((b.operation = DZO_TABLE_MIXED, b.operations = operations), "query 2");
  assert_int_equal(b.found + b.inserted + b.refused, 0);
  assert_int_equal(dzo_table_size(table), 0); /* nothing was done */
  expect_failure(context, dzo_table_insert(table, 1, NULL, NULL, NULL), DZO_E_ARGUMENT,
                 "dzo_table_insert: no keys");
  expect_failure(context, dzo_table_for_each(table, NULL, NULL), DZO_E_ARGUMENT, "for_each");
  expect_failure(context, dzo_table_save(table, NULL, NULL), DZO_E_ARGUMENT, "save");
  dzo_table *other = table;
  expect_failure(context, dzo_table_load(context, NULL, NULL, &other), DZO_E_ARGUMENT, "load");
  assert_null(other);
  expect_failure(context, dzo_table_copy(table, NULL, &other), DZO_E_ARGUMENT, "copy");
  expect_failure(context, dzo_table_stats_into(table, NULL), DZO_E_ARGUMENT, "stats");
  dzo_table_destroy(table);
  dzo_context_destroy(context);
}

/* ---- Small tables ---------------------------------------------------------------------------- */

static int count_visits(void *user, uint64_t key, uint64_t value) {
  (void)key, (void)value;
  uint64_t *left = user;
  return --*left == 0;
}

static void an_empty_table_has_answers(void **state) {
  (void)state;
  dzo_context *context = open_context(2);
  for (int w = 0; w < TABLE_WIDTHS; w++) {
    checked_table t;
    dzo_table_options options = options_of_width(w);
    checked_table_open(&t, context, &options);
    uint64_t keys[2] = {0, UINT64_MAX}, results[2] = {9, 9}, counted = 9, visits = 1;
    uint8_t found[2] = {9, 9};
    table_must(context, dzo_table_find(t.table, 2, keys, results, found, &counted));
    assert_int_equal(counted + found[0] + found[1], 0);
    assert_int_equal(options.value_bits == 64 ? results[0] | results[1] : results[0], 0);
    table_must(context, dzo_table_erase(t.table, 2, keys, &counted));
    assert_int_equal(counted, 0);
    table_must(context, dzo_table_insert(t.table, 0, NULL, NULL, &counted));
    table_must(context, dzo_table_for_each(t.table, count_visits, &visits));
    table_must(context, dzo_table_export_into(t.table, keys, results));
    table_must(context, dzo_table_export_into(t.table, NULL, NULL));
    table_must(context, dzo_table_clear(t.table));
    table_must(context, dzo_table_shrink(t.table));
    dzo_table_stats stats = {.size = sizeof stats};
    table_must(context, dzo_table_stats_into(t.table, &stats));
    assert_true(stats.pairs == 0 && stats.load == 0 && stats.mean_depth == 0);
    assert_int_equal(visits, 1);
    checked_table_compare(&t, false);
    checked_table_close(&t);
  }
  dzo_context_destroy(context);
}

static void the_short_forms_count(void **state) {
  (void)state;
  dzo_context *context = open_context(2);
  dzo_table_options options = options_of_width(2); /* 64-bit keys, 32-bit values */
  dzo_table *table = NULL;
  table_must(context, dzo_table_create(context, &options, &table));
  uint64_t keys[] = {5, 5, 7, UINT64_MAX}, counted, visits = 2;
  uint32_t values[] = {1, 2, 3, UINT32_MAX}, results[4];
  uint8_t found[4];
  table_must(context, dzo_table_insert(table, 4, keys, values, &counted));
  assert_int_equal(counted, 3);
  table_must(context, dzo_table_assign(table, 2, keys, values, &counted));
  assert_int_equal(counted, 0);
  table_must(context, dzo_table_add(table, 4, keys, NULL, &counted)); /* ones */
  assert_int_equal(counted, 0);
  table_must(context, dzo_table_find(table, 4, keys, results, found, &counted));
  const uint32_t right[] = {4, 4, 4, 0};
  assert_memory_equal(results, right, sizeof right);
  assert_int_equal(counted, 4);
  expect_failure(context, dzo_table_for_each(table, count_visits, &visits), DZO_E_CANCELLED,
                 "visitor");
  assert_int_equal(visits, 0);
  table_must(context, dzo_table_erase(table, 2, keys, &counted));
  assert_int_equal(counted, 1);
  table_must(context, dzo_table_contains(table, 4, keys, found, &counted));
  const uint8_t there[] = {0, 0, 1, 1};
  assert_memory_equal(found, there, sizeof there);
  assert_int_equal(counted, 2);
  table_must(context, dzo_table_insert(table, 1, keys, NULL, NULL)); /* zero */
  table_must(context, dzo_table_find(table, 1, keys, results, NULL, NULL));
  assert_int_equal(results[0], 0);
  dzo_table_destroy(table);
  dzo_context_destroy(context);
}

static void a_full_table_says_so_and_goes_on(void **state) {
  (void)state;
  dzo_context *context = open_context(2);
  for (int w = 0; w < TABLE_WIDTHS; w++) {
    dzo_table_options options = options_of_width(w);
    options.fixed = 1;
    for (uint64_t capacity = 0; capacity <= 3000; capacity = 3 * capacity + 1) {
      options.capacity = capacity;
      checked_table t;
      checked_table_open(&t, context, &options);
      enum { MANY = 20000 };
      static uint64_t keys[MANY];
      for (uint64_t i = 0; i < MANY; i++)
        keys[i] = i * i;
      checked_batch b = {.count = MANY, .keys = keys, .values = keys, .wants_answers = true};
      for (int o = DZO_TABLE_FIND; o <= DZO_TABLE_ERASE; o++) {
        b.operation = (dzo_table_operation)o;
        checked_table_run(&t, &b);
      }
      assert_true(t.refused > 0);
      b.operation = DZO_TABLE_INSERT;
      b.count = capacity;
      checked_table_run(&t, &b); /* what was erased made room */
      checked_table_compare(&t, false);
      checked_table_close(&t);
    }
  }
  dzo_context_destroy(context);
}

/* ---- Saved bytes ----------------------------------------------------------------------------- */

static void save_some(dzo_context *context, const dzo_table_options *options, table_bytes *b) {
  dzo_table *table = NULL;
  uint64_t keys[] = {0, 1, UINT64_MAX, 99, 5, UINT64_MAX - 1};
  table_must(context, dzo_table_create(context, options, &table));
  table_must(context, dzo_table_insert(table, 6, keys, keys, NULL));
  *b = (table_bytes){.calls_left = -1};
  table_must(context, dzo_table_save(table, write_table_bytes, b));
  for (int64_t k = 0;; k++) {
    table_bytes again = {.calls_left = k};
    dzo_status status = dzo_table_save(table, write_table_bytes, &again);
    if (again.calls_left >= 0)
      break;
    expect_failure(context, status, DZO_E_IO, "written");
  }
  dzo_table_destroy(table);
}

static void every_damage_is_found(void **state) {
  (void)state;
  dzo_context *context = open_context(2);
  for (int w = 0; w < TABLE_WIDTHS; w++) {
    dzo_table_options options = options_of_width(w);
    options.fixed = w % 2;
    options.capacity = 100;
    table_bytes good, b;
    save_some(context, &options, &good);
    table_must(context, load_table_bytes(context, &good, true));
    for (size_t i = 0; i < good.count; i++) {
      b = good;
      b.count = i;
      expect_failure(context, load_table_bytes(context, &b, true), DZO_E_FORMAT, "ends too early");
      for (int bit = 0; bit < 8; bit++) {
        b = good;
        b.data[i] ^= (unsigned char)(1 << bit);
        expect_failure(context, load_table_bytes(context, &b, true), DZO_E_FORMAT, "byte ");
      }
    }
    for (int64_t k = 0; k < 3; k++) {
      b = good;
      b.calls_left = k;
      expect_failure(context, load_table_bytes(context, &b, true), DZO_E_IO, "read");
    }
    assert_int_equal(dzo_context_memory_used(context), 0);
  }
  dzo_context_destroy(context);
}

static void put_number(table_bytes *b, size_t at, size_t size, uint64_t number) {
  for (size_t i = 0; i < size; i++)
    b->data[at + i] = (unsigned char)(number >> 8 * i);
}

/* Behind the checksums: what somebody made who knows them. */
static void false_headers_are_refused(void **state) {
  (void)state;
  dzo_context *context = open_context(1);
  dzo_table_options options = options_of_width(1);
  options.fixed = 1;
  options.capacity = 6;
  table_bytes good, b;
  save_some(context, &options, &good);
#define CHANGED(at, size, number, expected, part)                                                  \
  do {                                                                                             \
    b = good;                                                                                      \
    put_number(&b, at, size, number);                                                              \
    expect_failure(context, load_table_bytes(context, &b, false), expected, part);                 \
  } while (0)
  CHANGED(8, 4, 2, DZO_E_UNSUPPORTED, "version 2");
  CHANGED(12, 4, 2, DZO_E_FORMAT, "header");
  CHANGED(16, 4, 33, DZO_E_FORMAT, "header");
  CHANGED(20, 4, 0, DZO_E_FORMAT, "header");
  CHANGED(24, 8, UINT64_MAX, DZO_E_FORMAT, "header");
  CHANGED(24, 8, UINT64_C(1) << 40, DZO_E_FORMAT, "ends too early");
  CHANGED(32, 8, UINT64_MAX, DZO_E_FORMAT, "header");
  CHANGED(32, 8, UINT64_C(1) << 44, DZO_E_MEMORY, "17592186044416 pairs");
  CHANGED(40, 8, 0, DZO_E_FORMAT, "header");
  CHANGED(40, 8, UINT64_C(0x7ff8000000000000), DZO_E_FORMAT, "header"); /* not a number */
  b = good;                                                             /* a key twice */
  memcpy(b.data + TABLE_HEADER, b.data + TABLE_HEADER + 16, 16);
  expect_failure(context, load_table_bytes(context, &b, false), DZO_E_FORMAT, "twice");
  b = good; /* what stands behind belongs to others */
  b.count += 5;
  table_must(context, load_table_bytes(context, &b, true));
  dzo_context_destroy(context);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Fails the first, the second, ... allocation of the call, until it gets through. */
static void starve(const table_call *call, int width) {
  for (int64_t k = 0;; k++) {
    failing_memory memory;
    dzo_context *context = failing_context(&memory, 2);
    assert_non_null(context);
    checked_table t;
    open_some_table(&t, context, width);
    __atomic_store_n(&memory.left, k, __ATOMIC_RELAXED);
    dzo_status status = call->call(&t);
    bool failed = __atomic_load_n(&memory.left, __ATOMIC_RELAXED) < 0;
    __atomic_store_n(&memory.left, -1, __ATOMIC_RELAXED);
    if (status != DZO_OK && (!failed || status != DZO_E_MEMORY))
      fail_msg("%s: %s (%s) when allocation %d failed", call->name, dzo_status_name(status),
               dzo_context_message(context), (int)k);
    if (status == DZO_E_MEMORY)
      expect_failure(context, status, DZO_E_MEMORY, "allocate");
    expect_to_go_on(&t);
    checked_table_close(&t);
    assert_int_equal(dzo_context_memory_used(context), 0);
    dzo_context_destroy(context);
    assert_int_equal(memory.alive, 0);
    if (!failed)
      return;
    assert_true(k < 10000);
  }
}

static void memory_that_runs_out_is_survived(void **state) {
  (void)state;
  for (int i = 0; i < table_call_count; i++)
    for (int width = 0; width < TABLE_WIDTHS - 1; width++)
      starve(&table_calls[i], width);
}

/* ---- Cancelling ------------------------------------------------------------------------------ */

static int countdown(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)phase, (void)done, (void)total;
  int *left = user;
  return --*left < 0;
}

static void cancelling_leaves_a_table_that_goes_on(void **state) {
  (void)state;
  for (int i = 0; i < table_call_count; i++) {
    for (int polls = 0; polls < 4; polls++) {
      int left = INT_MAX;
      dzo_context_options options;
      dzo_context_options_init(&options);
      options.device = DZO_DEVICE_CPU;
      options.threads = 2;
      options.progress = countdown;
      options.progress_user = &left;
      dzo_context *context = NULL;
      assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
      checked_table t;
      open_some_table(&t, context, i % TABLE_WIDTHS);
      left = polls;
      dzo_status status = table_calls[i].call(&t);
      if (status == DZO_E_CANCELLED)
        assert_true(left < 0);
      else
        assert_int_equal(status, DZO_OK);
      left = INT_MAX;
      dzo_context_resume(context);
      expect_to_go_on(&t);
      checked_table_close(&t);
      dzo_context_destroy(context);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(batches_are_checked),
      cmocka_unit_test(an_empty_table_has_answers),
      cmocka_unit_test(the_short_forms_count),
      cmocka_unit_test(a_full_table_says_so_and_goes_on),
      cmocka_unit_test(every_damage_is_found),
      cmocka_unit_test(false_headers_are_refused),
      cmocka_unit_test(memory_that_runs_out_is_survived),
      cmocka_unit_test(cancelling_leaves_a_table_that_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
