/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Mixed batches of a table in GPU memory whose finds are sifted out, in order of position and in
 * any: keys that are found, stored and erased in one batch, pieces, growth, full tables, the
 * overflow, and a GPU that fails or has no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random_graphs.h"
#include "table/gpu.h"
#include "table/table.h"
#include "table_checks.h"

#if defined(DZO_TEST_TINY) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 6, MOST = 500, STEP = 13 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 8, MOST = 1000, STEP = 9 };
#else
enum { ROUNDS = 12, MOST = 1500, STEP = 4 };
#endif

static dzo_context *open_or_skip(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.threads = 2;
  dzo_context *context = NULL;
  if (dzo_context_create(&options, &context) != DZO_OK) {
    print_message("skipped: there is no GPU\n");
    skip();
  }
  return context;
}

static table_gpu *gpu_of(const checked_table *t) { return t->table->state; }

/* A table of small pieces, whose mixed batches are all sifted that may be. */
static checked_table open_table(dzo_context *context, int bits, double load, uint64_t capacity) {
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = options.value_bits = bits;
  options.fixed = capacity > 0;
  options.capacity = capacity;
  options.max_load = load;
  checked_table t;
  checked_table_open(&t, context, &options);
  table_gpu_sizes *sizes = &gpu_of(&t)->sizes;
  sizes->sift = 1;
  sizes->piece = MOST / 2 + 33;
  sizes->direct = MOST / 4;
  sizes->heavy = 1 << 20;
  return t;
}

/* Of `range` keys, among them those at the ends and the one whose mixed key says "free". */
static uint64_t draw_key(const checked_table *t, random_source *random, uint64_t range) {
  uint64_t mix = gpu_of(t)->t.mix, all = t->key_bits == 64 ? UINT64_MAX : UINT32_MAX;
  switch (random_below(random, 40)) {
  case 0:
    return 0;
  case 1:
    return all;
  case 2:
    return t->key_bits == 64 ? table_unmixed64(all, mix) : table_unmixed32((uint32_t)all, mix);
  default:
    return random_below(random, range) * UINT64_C(0x9e3779b97f4a7c15) & all;
  }
}

static checked_batch make_batch(const checked_table *t, random_source *random, uint64_t count,
                                uint64_t range, uint64_t changes) {
  checked_batch b = {.operation = DZO_TABLE_MIXED,
                     .on_gpu = true,
                     .wants_results = true,
                     .wants_answers = true,
                     .count = count,
                     .keys = malloc(count * sizeof *b.keys),
                     .values = malloc(count * sizeof *b.values),
                     .operations = malloc(count)};
  assert_true(b.keys != NULL && b.values != NULL && b.operations != NULL);
  for (uint64_t i = 0; i < count; i++) {
    b.keys[i] = draw_key(t, random, range);
    b.values[i] = random_bits(random) & (t->value_bits == 64 ? UINT64_MAX : UINT32_MAX);
    b.operations[i] = random_below(random, 100) < changes ? (uint8_t)(1 + random_below(random, 6))
                                                          : (uint8_t)DZO_TABLE_FIND;
  }
  return b;
}

static void free_batch(checked_batch *b) {
  free(b->keys);
  free(b->values);
  free(b->operations);
}

/* ---- Random batches -------------------------------------------------------------------------- */

/* Few keys, so that each is found, stored and erased in one batch, or many; mostly finds, or half;
 * with answers and results, or without. */
static void random_batches(int bits, double load, uint64_t capacity, bool any) {
  checked_table t = open_table(open_or_skip(), bits, load, capacity);
  random_source random = {(uint64_t)bits + capacity + any};
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t count = 1 + random_below(&random, MOST);
    checked_batch b =
        make_batch(&t, &random, count, i % 3 == 0 ? 60 : 3 * MOST, i % 4 == 3 ? 50 : 15);
    b.any = any;
    b.wants_results = i % 5 != 4;
    b.wants_answers = i % 7 != 6;
    if (i % 6 == 5) {
      free(b.values);
      b.values = NULL;
    }
    gpu_of(&t)->sizes.direct = i % 2 == 0 ? 1 : MOST / 4;
    checked_table_run(&t, &b);
    free_batch(&b);
    checked_table_compare(&t, i % 2 == 0);
  }
  assert_int_equal(t.refused > 0, capacity > 0);
  dzo_context *context = t.context;
  checked_table_close(&t);
  dzo_context_destroy(context);
}

static void in_order(void **state) {
  (void)state;
  random_batches(32, 0.9, 0, false);
  random_batches(32, 0.95, 0, false);
  random_batches(64, 0.9, 0, false);
}

static void in_any_order(void **state) {
  (void)state;
  random_batches(32, 0.9, 0, true);
  random_batches(32, 0.95, 0, true);
  random_batches(64, 0.95, 0, true);
}

static void full_tables(void **state) {
  (void)state;
  random_batches(32, 0.9, MOST / 16, false);
  random_batches(32, 0.95, MOST / 16, true);
  random_batches(64, 0.9, MOST / 16, true);
}

/* Erases come first in any order, so that a full table takes as many new keys as go. */
static void exchange_in_a_full_table(void **state) {
  (void)state;
  enum { FULL = MOST / 2, GOES = FULL / 8 };
  checked_table t = open_table(open_or_skip(), 32, 0.9, FULL);
  random_source random = {5};
  checked_batch b = make_batch(&t, &random, FULL, 1, 0);
  for (uint64_t i = 0; i < FULL; i++) {
    b.keys[i] = 1000 + i;
    b.operations[i] = DZO_TABLE_INSERT;
  }
  checked_table_run(&t, &b);
  b.any = true;
  for (uint64_t i = 0; i < 2 * GOES; i++) {
    b.operations[i] = i % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_ERASE;
    b.keys[i] = i % 2 == 0 ? i : 1000 + i;
  }
  for (uint64_t i = 2 * GOES; i < FULL; i++)
    b.operations[i] = DZO_TABLE_FIND;
  gpu_of(&t)->sizes.piece = FULL;
  checked_table_run(&t, &b);
  assert_int_equal(t.refused, 0);
  free_batch(&b);
  checked_table_compare(&t, true);
  dzo_context *context = t.context;
  checked_table_close(&t);
  dzo_context_destroy(context);
}

/* Keys of one pair of buckets: most are in the overflow. */
static void chosen_keys(void **state) {
  (void)state;
  for (int any = 0; any < 2; any++) {
    checked_table t = open_table(open_or_skip(), 32, 0.9, 0);
    random_source random = {7};
    for (int round = 0; round < ROUNDS / 3; round++) {
      checked_batch b = make_batch(&t, &random, MOST / 3, MOST / 6, round == 0 ? 95 : 20);
      for (uint64_t i = 0; i < b.count; i++)
        b.keys[i] = table_unmixed32((uint32_t)random_below(&random, MOST / 6), gpu_of(&t)->t.mix);
      b.any = any != 0;
      checked_table_run(&t, &b);
      free_batch(&b);
      checked_table_compare(&t, false);
    }
    dzo_context *context = t.context;
    checked_table_close(&t);
    dzo_context_destroy(context);
  }
}

/* ---- Failures -------------------------------------------------------------------------------- */

static checked_table open_some(dzo_context *context, random_source *random) {
  checked_table t = open_table(context, 32, 0.9, 0);
  checked_batch b = make_batch(&t, random, 300, 200, 100);
  checked_table_run(&t, &b);
  free_batch(&b);
  return t;
}

static void failing_operations(void **state) {
  (void)state;
  bool done[2] = {false, false};
  for (uint64_t k = 1; !done[0] || !done[1]; k += STEP) {
    for (int any = 0; any < 2; any++) {
      dzo_context *context = open_or_skip();
      random_source random = {k};
      checked_table t = open_some(context, &random);
      checked_batch b = make_batch(&t, &random, 300, 200, 20);
      b.any = any != 0;
      t.may_lose = true;
      t.fail_at = k;
      checked_table_run(&t, &b);
      done[any] = t.status == DZO_OK;
      if (!done[any])
        assert_int_equal(t.status, DZO_E_DEVICE_FAILED);
      free_batch(&b);
      checked_table_close(&t);
      dzo_context_destroy(context);
    }
  }
}

/* What was refused is not done, all else is. */
static void little_memory(void **state) {
  (void)state;
  for (int any = 0; any < 2; any++) {
    for (uint64_t room = 1 << 10; room < 1 << 19; room += room / 2 * STEP) {
      dzo_context *context = open_or_skip();
      random_source random = {room};
      checked_table t = open_some(context, &random);
      checked_batch b = make_batch(&t, &random, MOST, 4 * MOST, 24);
      gpu_of(&t)->sizes.piece = MOST;
      b.any = any != 0;
      t.may_fail = true;
      t.room = room;
      checked_table_run(&t, &b);
      checked_table_compare(&t, false);
      free_batch(&b);
      checked_table_close(&t);
      dzo_context_destroy(context);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_order),      cmocka_unit_test(in_any_order),
      cmocka_unit_test(full_tables),   cmocka_unit_test(exchange_in_a_full_table),
      cmocka_unit_test(chosen_keys),   cmocka_unit_test(failing_operations),
      cmocka_unit_test(little_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
