/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "random_graphs.h"
#include "table/table.h"
#include "table_calls.h"

dzo_table_options options_of_width(int width) {
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = table_widths[width][0];
  options.value_bits = table_widths[width][1];
  return options;
}

/* ---- Saved bytes ----------------------------------------------------------------------------- */

dzo_status write_table_bytes(void *user, const void *data, size_t count) {
  table_bytes *b = user;
  if (b->calls_left-- == 0)
    return DZO_E_IO;
  assert_true(count <= MOST_BYTES - b->count);
  memcpy(b->data + b->count, data, count);
  b->count += count;
  return DZO_OK;
}

dzo_status read_table_bytes(void *user, void *data, size_t count, size_t *got) {
  table_bytes *b = user;
  if (b->calls_left-- == 0)
    return DZO_E_IO;
  *got = b->count - b->at < count ? b->count - b->at : count;
  memcpy(data, b->data + b->at, *got);
  b->at += *got;
  return DZO_OK;
}

dzo_status load_table_bytes(dzo_context *context, const table_bytes *from, bool summed) {
  table_bytes b = *from;
  dzo_table *table = (dzo_table *)&b;
  dzo_status status = summed ? dzo_table_load(context, read_table_bytes, &b, &table)
                             : table_load_unsummed(context, read_table_bytes, &b, &table);
  assert_true((status == DZO_OK) == (table != NULL));
  if (table != NULL)
    assert_true(b.at <= b.count);
  dzo_table_destroy(table);
  return status;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

enum { SOME = 700, MORE = 3000 };

static uint64_t some_keys[MORE];
static uint8_t some_operations[MORE];

static dzo_status run_some(checked_table *t, dzo_table_operation operation, uint64_t count) {
  checked_batch b = {.operation = operation,
                     .wants_results = true,
                     .wants_answers = true,
                     .count = count,
                     .keys = some_keys,
                     .values = some_keys};
  if (operation == DZO_TABLE_MIXED)
    b.operations = some_operations;
  checked_table_run(t, &b);
  return t->status;
}

static dzo_status grow(checked_table *t) { return run_some(t, DZO_TABLE_ADD, MORE); }
static dzo_status mix(checked_table *t) { return run_some(t, DZO_TABLE_MIXED, MORE); }
static dzo_status find(checked_table *t) { return run_some(t, DZO_TABLE_FIND, SOME); }
static dzo_status erase(checked_table *t) { return run_some(t, DZO_TABLE_ERASE, MORE); }
static dzo_status reserve(checked_table *t) { return dzo_table_reserve(t->table, 20000); }
static dzo_status shrink(checked_table *t) { return dzo_table_shrink(t->table); }

static dzo_status export(checked_table *t) {
  static uint64_t keys[MORE], values[MORE];
  assert_true(dzo_table_size(t->table) <= MORE);
  return dzo_table_export_into(t->table, keys, values);
}

static int go_on(void *user, uint64_t key, uint64_t value) {
  (void)user, (void)key, (void)value;
  return 0;
}
static dzo_status walk(checked_table *t) { return dzo_table_for_each(t->table, go_on, NULL); }

static dzo_status stats(checked_table *t) {
  dzo_table_stats s = {.size = sizeof s};
  return dzo_table_stats_into(t->table, &s);
}

static dzo_status copy(checked_table *t) {
  dzo_table *table = (dzo_table *)t;
  dzo_status status = dzo_table_copy(t->table, t->context, &table);
  assert_true((status == DZO_OK) == (table != NULL));
  dzo_table_destroy(table);
  return status;
}

static dzo_status throw_away(void *user, const void *data, size_t count) {
  (void)user, (void)data, (void)count;
  return DZO_OK;
}
static dzo_status save(checked_table *t) { return dzo_table_save(t->table, throw_away, NULL); }

/* A table of one pair that was saved. */
static dzo_status load(checked_table *t) {
  table_bytes saved = {.calls_left = -1};
  uint64_t key = 9;
  dzo_context *context = NULL;
  dzo_table *table = NULL;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.threads = 1;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  table_must(context, dzo_table_create(context, NULL, &table));
  table_must(context, dzo_table_insert(table, 1, &key, NULL, NULL));
  table_must(context, dzo_table_save(table, write_table_bytes, &saved));
  dzo_table_destroy(table);
  dzo_context_destroy(context);
  return load_table_bytes(t->context, &saved, true);
}

static dzo_status clear(checked_table *t) {
  dzo_status status = dzo_table_clear(t->table);
  if (status == DZO_OK)
    oracle_table_clear(t->oracle);
  return status;
}

static dzo_status create(checked_table *t) {
  dzo_table *table = (dzo_table *)t;
  dzo_status status = dzo_table_create(t->context, NULL, &table);
  assert_true((status == DZO_OK) == (table != NULL));
  dzo_table_destroy(table);
  return status;
}

const table_call table_calls[] = {
    {"create", create}, {"grow", grow},     {"mix", mix},         {"find", find},  {"erase", erase},
    {"shrink", shrink}, {"export", export}, {"reserve", reserve}, {"walk", walk},  {"stats", stats},
    {"copy", copy},     {"save", save},     {"load", load},       {"clear", clear}};
const int table_call_count = sizeof table_calls / sizeof *table_calls;

static void fill_some(void) {
  random_source random = {5};
  for (uint64_t i = 0; i < MORE; i++) {
    some_keys[i] = random_below(&random, MORE);
    some_operations[i] = (uint8_t)random_below(&random, DZO_TABLE_MIXED);
  }
}

void open_some_table(checked_table *t, dzo_context *context, int width) {
  fill_some();
  dzo_table_options options = options_of_width(width);
  checked_table_open(t, context, &options);
  t->may_fail = true;
  assert_int_equal(run_some(t, DZO_TABLE_INSERT, SOME), DZO_OK);
}

void expect_to_go_on(checked_table *t) {
  checked_table_compare(t, false);
  assert_int_equal(run_some(t, DZO_TABLE_ASSIGN, MORE), DZO_OK);
  checked_table_compare(t, false);
}
