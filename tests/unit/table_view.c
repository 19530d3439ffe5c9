/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables in GPU memory as a user's kernels use them: what many threads saw must be what one
 * operation after another gives, and no key may be there twice. The tables are laid out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linearizable.h"
#include "table/engine.h"
#include "table/gpu_view.h"
#include "view_kernels.h"

#if defined(DZO_TEST_TINY) || defined(DZO_TEST_SMALL)
enum { SMALL = 1, ROUNDS = 3, OPERATIONS = 20000 };
#else
enum { SMALL = 0, ROUNDS = 6, OPERATIONS = 400000 };
#endif

typedef struct fixture {
  dzo_context *context;
  dzo_unit *unit;
  bool wide;
  table_layout layout;
  uint64_t slots;
  table_gpu_view extra;
  dzo_table_view view;
} fixture;

static void *device(fixture *f, uint64_t count, size_t size) {
  void *pointer = NULL;
  assert_int_equal(dzo_unit_allocate(f->unit, count, size, &pointer), DZO_OK);
  assert_int_equal(dzo_unit_fill(f->unit, 0, pointer, 0, count * size), DZO_OK);
  return pointer;
}

static void *uploaded(fixture *f, const void *host, uint64_t bytes) {
  void *pointer = device(f, bytes, 1);
  assert_int_equal(dzo_unit_copy(f->unit, 0, pointer, host, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(f->unit, 0), DZO_OK);
  return pointer;
}

static void download(fixture *f, void *host, const void *pointer, uint64_t bytes) {
  assert_int_equal(dzo_unit_copy(f->unit, 0, host, pointer, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(f->unit, 0), DZO_OK);
}

/* An empty table, and a view of it. */
static fixture open_or_skip(bool wide, uint64_t regions, uint32_t buckets, uint32_t bucket_slots) {
  fixture f = {.wide = wide};
  assert_int_equal(dzo_context_create(NULL, &f.context), DZO_OK);
  f.unit = dzo_context_gpu(f.context);
  if (f.unit == NULL) {
    dzo_context_destroy(f.context);
    skip();
  }
  f.slots = regions * buckets * bucket_slots;
  f.layout = (table_layout){.regions = regions, .buckets = buckets, .bucket_slots = bucket_slots};
  f.layout.mix = table_layout_mix(regions);
  f.layout.slots = device(&f, f.slots + 1, wide ? 16 : 8);
  assert_int_equal(dzo_unit_fill(f.unit, 0, f.layout.slots, 0xff, (f.slots + 1) * (wide ? 16 : 8)),
                   DZO_OK);
  assert_int_equal(table_gpu_view_open(f.unit, wide, &f.layout, &f.extra, &f.view), DZO_OK);
  return f;
}

static void close_fixture(fixture *f) {
  table_gpu_view_close(f->unit, &f->extra);
  dzo_unit_release(f->unit, f->layout.slots);
  dzo_context_destroy(f->context);
}

/* ---- Loads: what the answers add up to is what is there ---------------------------------------
 */

static void check_ranges(fixture *f, view_load load, view_range *ranges, view_outcome *outcome) {
  uint32_t *times = device(f, load.keys, sizeof *times);
  const uint64_t mix = f->layout.mix;
  assert_int_equal(
      view_subtract(f->unit, f->wide, f->layout.slots, f->slots, mix, load, ranges, times, outcome),
      DZO_OK);
  assert_int_equal(view_subtract(f->unit, f->wide, f->extra.stash, f->extra.stash_slots, mix, load,
                                 ranges, times, outcome),
                   DZO_OK);
  view_range *left = calloc(load.ranges, sizeof *left);
  uint32_t *host_times = calloc(load.keys, sizeof *host_times);
  view_outcome result;
  assert_true(left != NULL && host_times != NULL);
  download(f, left, ranges, load.ranges * sizeof *left);
  download(f, host_times, times, load.keys * sizeof *host_times);
  download(f, &result, outcome, sizeof result);
  assert_int_equal(result.wrong, 0);
  for (uint32_t i = 0; i < load.ranges; i++) {
    assert_int_equal(left[i].pairs, 0);
    assert_int_equal(f->wide ? left[i].sum : (uint32_t)left[i].sum, 0);
  }
  for (uint64_t i = 0; i < load.keys; i++)
    assert_in_range(host_times[i], 0, 1);
  free(left);
  free(host_times);
  dzo_unit_release(f->unit, times);
}

static void run_load(bool wide, uint64_t regions, uint32_t buckets, uint32_t bucket_slots,
                     view_load load, unsigned blocks, unsigned threads) {
  fixture f = open_or_skip(wide, regions, buckets, bucket_slots);
  view_range *ranges = device(&f, load.ranges, sizeof *ranges);
  view_outcome *outcome = device(&f, 1, sizeof *outcome);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(view_run_load(f.unit, wide, &f.view, load, blocks, threads, ranges, outcome),
                     DZO_OK);
    load.offset += (uint64_t)blocks * threads * load.each;
  }
  check_ranges(&f, load, ranges, outcome);
  dzo_unit_release(f.unit, ranges);
  dzo_unit_release(f.unit, outcome);
  close_fixture(&f);
}

/* Roomy, nearly full, and with most of its keys in the stash. */
static void test_loads(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    view_load load = {.keys = OPERATIONS / 20, .ranges = 64, .erase = 64, .find = 64};
    uint32_t slots = (uint32_t)load.keys;
    load.each = OPERATIONS / 512;
    run_load(wide, 3, slots / 12 + 1, 8, load, 4, 128);
    load.erase = 16;
    run_load(wide, 4, slots / 4 / 4 + 1, 4, load, 4, 128);
    load.keys = 900;
    load.erase = 100;
    run_load(wide, 1, 7, 4, load, 4, 128);
    load.keys = 3;
    load.each = OPERATIONS / 5000 + 1;
    run_load(wide, 1, 1, 8, load, 4, 128);
  }
}

/* Refused keys are counted, and all else is right. */
static void test_full(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    view_load load = {.keys = 4000, .ranges = 16, .erase = 20, .find = 20};
    load.each = SMALL ? 20 : 200;
    run_load(wide, 2, 3, 4, load, 4, 128);
  }
}

/* A billion operations, where there is a GPU that can. */
static void test_many_operations(void **state) {
  (void)state;
  const uint32_t million = 1 << 20;
  view_load load = {.keys = 16 * million, .ranges = 4096, .erase = 40, .find = 100};
  load.each = 4000;
  if (SMALL)
    skip();
  run_load(false, 64, million / 32, 8, load, 1056, 256);
  load.keys = 12 * million;
  load.each = 1000;
  run_load(true, 64, million / 32, 8, load, 1056, 256);
}

/* ---- Histories --------------------------------------------------------------------------------
 */

static void check_history(bool wide, uint32_t buckets, view_load load, unsigned blocks,
                          unsigned threads) {
  fixture f = open_or_skip(wide, 1, buckets, 4);
  uint64_t count = (uint64_t)blocks * threads * load.each, bad = 0;
  event *events = device(&f, count, sizeof *events), *host = calloc(count, sizeof *host);
  uint64_t *clock = device(&f, 1, sizeof *clock);
  assert_non_null(host);
  assert_int_equal(view_run_history(f.unit, wide, &f.view, load, blocks, threads, events, clock),
                   DZO_OK);
  download(&f, host, events, count * sizeof *events);
  verdict v = linearizable_by_key(host, count, wide ? UINT64_MAX : UINT32_MAX, 50000000, &bad);
  if (v != VERDICT_GOOD)
    print_message("history of key %llu\n", (unsigned long long)bad);
  assert_int_equal(v, VERDICT_GOOD);
  free(host);
  dzo_unit_release(f.unit, events);
  dzo_unit_release(f.unit, clock);
  close_fixture(&f);
}

static void test_histories(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++)
    for (int wide = 0; wide < 2; wide++) {
      view_load load = {.keys = 40, .ranges = 1, .erase = 70, .find = 60};
      load.offset = (uint64_t)round << 32;
      load.each = 10;
      check_history(wide, 2, load, 2, 64);
      load.keys = 5;
      load.each = 3;
      check_history(wide, 1, load, 2, 32);
      load.keys = 9;
      load.erase = 100;
      check_history(wide, 1, load, 3, 32);
    }
}

/* ---- Single answers ---------------------------------------------------------------------------
 */

static uint64_t run_one(fixture *f, dzo_table_operation operation, uint64_t key, uint64_t value,
                        dzo_table_answer *answer) {
  uint64_t size = f->wide ? 8 : 4, seen = 0;
  uint8_t said = 0xff;
  void *k = uploaded(f, &key, size), *v = uploaded(f, &value, size), *s = device(f, 1, 8);
  uint8_t *a = device(f, 1, 1);
  assert_int_equal(view_run_batch(f->unit, f->wide, &f->view, operation, 1, k, v, s, a), DZO_OK);
  download(f, &seen, s, size);
  download(f, &said, a, 1);
  *answer = (dzo_table_answer)said;
  void *all[] = {k, v, s, a};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    dzo_unit_release(f->unit, all[i]);
  return seen;
}

static void expect(fixture *f, dzo_table_operation operation, uint64_t key, uint64_t value,
                   dzo_table_answer answer, uint64_t seen) {
  dzo_table_answer said;
  uint64_t mask = f->wide ? UINT64_MAX : UINT32_MAX;
  assert_int_equal(run_one(f, operation, key & mask, value & mask, &said), seen & mask);
  assert_int_equal(said, answer);
}

/* Every operation on a key: the lone one, those of all zeros and all ones, and any other. */
static void test_answers(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    fixture f = open_or_skip(wide, 3, 5, 8);
    uint64_t mix = f.layout.mix;
    uint64_t lone = wide ? table_unmixed64(UINT64_MAX, mix) : table_unmixed32(UINT32_MAX, mix);
    uint64_t keys[] = {lone, 0, UINT64_MAX, 12345, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      uint64_t k = keys[i], ones = UINT64_MAX;
      expect(&f, DZO_TABLE_FIND, k, 0, DZO_TABLE_ABSENT, 0);
      expect(&f, DZO_TABLE_ERASE, k, 0, DZO_TABLE_ABSENT, 0);
      expect(&f, DZO_TABLE_INSERT, k, ones, DZO_TABLE_INSERTED, ones);
      expect(&f, DZO_TABLE_INSERT, k, 5, DZO_TABLE_FOUND, ones);
      expect(&f, DZO_TABLE_ADD, k, 3, DZO_TABLE_FOUND, ones);
      expect(&f, DZO_TABLE_ASSIGN, k, ones - 1, DZO_TABLE_FOUND, 2);
      expect(&f, DZO_TABLE_FIND, k, 0, DZO_TABLE_FOUND, ones - 1);
      expect(&f, DZO_TABLE_ERASE, k, 0, DZO_TABLE_FOUND, ones - 1);
      expect(&f, DZO_TABLE_FIND, k, 0, DZO_TABLE_ABSENT, 0);
      expect(&f, DZO_TABLE_ADD, k, 7, DZO_TABLE_INSERTED, 7);
      expect(&f, DZO_TABLE_ERASE, k, 0, DZO_TABLE_FOUND, 7);
      expect(&f, DZO_TABLE_ASSIGN, k, 0, DZO_TABLE_INSERTED, 0);
      expect(&f, DZO_TABLE_FIND, k, 0, DZO_TABLE_FOUND, 0);
    }
    f.view.words[0] = wide ? 4 : 8; /* words of the wrong width are nobody's */
    expect(&f, DZO_TABLE_INSERT, 1, 1, DZO_TABLE_REFUSED, 0);
    expect(&f, DZO_TABLE_FIND, 0, 1, DZO_TABLE_ABSENT, 0);
    close_fixture(&f);
  }
}

/* ---- The overflow -----------------------------------------------------------------------------
 */

static void put_word(void *words, bool wide, uint64_t i, uint64_t x) {
  if (wide)
    ((uint64_t *)words)[i] = x;
  else
    ((uint32_t *)words)[i] = (uint32_t)x;
}

enum { OVER = 300 };

/* Mixed keys 1000, 2000, ..., of which each third is gone. */
static void give_overflow(fixture *f) {
  uint64_t keys[OVER], values[OVER], word = f->wide ? 8 : 4;
  uint8_t gone[OVER];
  for (uint64_t i = 0; i < OVER; i++) {
    put_word(keys, f->wide, i, 1000 * (i + 1));
    put_word(values, f->wide, i, i);
    gone[i] = i % 3 == 0;
  }
  f->layout.over_keys = uploaded(f, keys, OVER * word);
  f->layout.over_values = uploaded(f, values, OVER * word);
  f->layout.over_gone = uploaded(f, gone, OVER);
  f->layout.over_count = OVER;
}

static uint64_t over_key(const fixture *f, uint64_t i) {
  uint64_t mixed = 1000 * (i + 1);
  return f->wide ? table_unmixed64(mixed, f->layout.mix)
                 : table_unmixed32((uint32_t)mixed, f->layout.mix);
}

static void test_overflow(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    fixture f = open_or_skip(wide, 1, 1, 4);
    uint64_t count = 0, i = 0;
    for (uint64_t stored = 0; stored < 4; i++, stored++) /* the bucket is full */
      expect(&f, DZO_TABLE_INSERT, 77 + i, i, DZO_TABLE_INSERTED, i);
    table_gpu_view_close(f.unit, &f.extra);
    give_overflow(&f);
    assert_int_equal(table_gpu_view_open(f.unit, wide, &f.layout, &f.extra, &f.view), DZO_OK);
    for (i = 0; i < OVER; i += 7)
      expect(&f, DZO_TABLE_FIND, over_key(&f, i), 0,
             i % 3 == 0 ? DZO_TABLE_ABSENT : DZO_TABLE_FOUND, i % 3 == 0 ? 0 : i);
    expect(&f, DZO_TABLE_ERASE, over_key(&f, 1), 0, DZO_TABLE_FOUND, 1);
    expect(&f, DZO_TABLE_INSERT, over_key(&f, 0), 9, DZO_TABLE_INSERTED, 9);
    expect(&f, DZO_TABLE_ADD, over_key(&f, 2), 9, DZO_TABLE_FOUND, 2);
    assert_int_equal(table_gpu_view_count(f.unit, wide, &f.extra, &count), DZO_OK);
    assert_int_equal(count, OVER / 3 * 2);
    void *slots = device(&f, count, 16);
    assert_int_equal(table_gpu_view_take(f.unit, wide, &f.extra, slots), DZO_OK);
    uint64_t host[2 * OVER], sum = 0;
    download(&f, host, slots, count * (wide ? 16 : 8));
    for (i = 0; i < count; i++)
      sum += wide ? host[2 * i + 1] : ((uint32_t *)host)[2 * i + 1];
    uint64_t expected = UINT64_C(1000) - 2000;
    for (i = 0; i < OVER; i++)
      expected += i % 3 == 0 ? 0 : 1000 * (i + 1);
    assert_int_equal(sum, expected);
    void *all[] = {slots, (void *)(uintptr_t)f.layout.over_keys, f.layout.over_values,
                   f.layout.over_gone};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
      dzo_unit_release(f.unit, all[n]);
    close_fixture(&f);
  }
}

/* ---- Tables of the library --------------------------------------------------------------------
 */

static dzo_table *table_or_skip(dzo_context **context, bool wide, bool fixed, uint64_t capacity) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  if (dzo_context_create(&options, context) != DZO_OK)
    skip();
  dzo_table_options plan;
  dzo_table_options_init(&plan);
  plan.key_bits = plan.value_bits = wide ? 64 : 32;
  plan.fixed = fixed;
  plan.capacity = capacity;
  dzo_table *table = NULL;
  assert_int_equal(dzo_table_create(*context, &plan, &table), DZO_OK);
  return table;
}

/* Every pair of the table is taken from its range: nothing is left, and no key is there twice. */
static void check_contents(dzo_table *table, bool wide, view_load load, view_range *ranges) {
  uint64_t size = dzo_table_size(table), word = wide ? 8 : 4;
  const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15), inverse = UINT64_C(0xf1de83e19937733d);
  void *keys = malloc(size * word + 1), *values = malloc(size * word + 1);
  uint8_t *seen = calloc(load.keys, 1);
  assert_true(keys != NULL && values != NULL && seen != NULL);
  assert_int_equal(spread * inverse, 1);
  dzo_status status = dzo_table_export_into(table, keys, values);
  if (status != DZO_OK)
    print_message("%s\n", dzo_context_message(table->context));
  assert_int_equal(status, DZO_OK);
  for (uint64_t i = 0; i < size; i++) {
    uint64_t key = wide ? ((uint64_t *)keys)[i] : ((uint32_t *)keys)[i];
    uint64_t id = wide ? key * inverse : (uint32_t)(key * inverse);
    assert_true(id < load.keys && seen[id] == 0);
    seen[id] = 1;
    ranges[id % load.ranges].pairs--;
    ranges[id % load.ranges].sum -=
        wide ? ((uint64_t *)values)[i] : (uint64_t)((uint32_t *)values)[i];
  }
  for (uint32_t i = 0; i < load.ranges; i++) {
    assert_int_equal(ranges[i].pairs, 0);
    assert_int_equal(wide ? ranges[i].sum : (uint32_t)ranges[i].sum, 0);
  }
  free(keys);
  free(values);
  free(seen);
}

/* What a batch stored is found by kernels, and what they made of it by the next batch. */
static void exchange(bool wide) {
  enum { COUNT = 3000 };
  fixture f = {.wide = wide};
  dzo_table *table = table_or_skip(&f.context, wide, false, 10);
  f.unit = dzo_context_gpu(f.context);
  uint64_t keys[COUNT], values[COUNT], seen[COUNT] = {0}, word = wide ? 8 : 4, found = 0;
  uint8_t answers[COUNT];
  for (uint64_t i = 0; i < COUNT; i++) {
    put_word(keys, wide, i, i * UINT64_C(0x9e3779b97f4a7c15));
    put_word(values, wide, i, ~i);
  }
  assert_int_equal(dzo_table_insert(table, COUNT, keys, values, NULL), DZO_OK);
  assert_int_equal(dzo_table_view_begin(table, &f.view), DZO_OK);
  void *k = uploaded(&f, keys, COUNT * word), *v = uploaded(&f, values, COUNT * word);
  void *s = device(&f, COUNT, word);
  uint8_t *a = device(&f, COUNT, 1);
  assert_int_equal(view_run_batch(f.unit, wide, &f.view, DZO_TABLE_ADD, COUNT, k, v, s, a), DZO_OK);
  download(&f, seen, s, COUNT * word);
  download(&f, answers, a, COUNT);
  assert_memory_equal(seen, values, COUNT * word);
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(answers[i], DZO_TABLE_FOUND);
  assert_int_equal(view_run_batch(f.unit, wide, &f.view, DZO_TABLE_ERASE, COUNT / 2, k, v, s, a),
                   DZO_OK);
  assert_int_equal(dzo_table_view_end(table), DZO_OK);
  assert_int_equal(dzo_table_size(table), COUNT - COUNT / 2);
  assert_int_equal(dzo_table_find(table, COUNT, keys, seen, answers, &found), DZO_OK);
  assert_int_equal(found, COUNT - COUNT / 2);
  for (uint64_t i = COUNT / 2; i < COUNT; i++)
    assert_int_equal(wide ? seen[i] : ((uint32_t *)seen)[i], wide ? 2 * ~i : (uint32_t)(2 * ~i));
  void *all[] = {k, v, s, a};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    dzo_unit_release(f.unit, all[i]);
  dzo_table_destroy(table);
  dzo_context_destroy(f.context);
}

static void test_exchange(void **state) {
  (void)state;
  exchange(false);
  exchange(true);
}

/* Lent to kernels several times over, which make it fuller than it was made for. */
static void lend(bool wide, bool fixed, uint64_t capacity, view_load load) {
  fixture f = {.wide = wide};
  dzo_table *table = table_or_skip(&f.context, wide, fixed, capacity);
  f.unit = dzo_context_gpu(f.context);
  view_range *ranges = device(&f, load.ranges, sizeof *ranges);
  view_range *host = calloc(load.ranges, sizeof *host);
  view_outcome *outcome = device(&f, 1, sizeof *outcome), said;
  assert_non_null(host);
  for (int round = 0; round < 3; round++) {
    assert_int_equal(dzo_table_view_begin(table, &f.view), DZO_OK);
    assert_int_equal(view_run_load(f.unit, wide, &f.view, load, 4, 128, ranges, outcome), DZO_OK);
    assert_int_equal(dzo_table_view_end(table), DZO_OK);
    download(&f, host, ranges, load.ranges * sizeof *host);
    download(&f, &said, outcome, sizeof said);
    assert_int_equal(said.wrong, 0);
    check_contents(table, wide, load, host);
    load.offset += UINT64_C(1) << 40;
  }
  free(host);
  dzo_unit_release(f.unit, ranges);
  dzo_unit_release(f.unit, outcome);
  dzo_table_destroy(table);
  dzo_context_destroy(f.context);
}

static void test_lending(void **state) {
  (void)state;
  for (int wide = 0; wide < 2; wide++) {
    view_load load = {.keys = 3000, .ranges = 8, .erase = 50, .find = 50, .each = 40};
    lend(wide, false, 100, load);
    lend(wide, true, 2500, load);
    load.keys = OPERATIONS / 10;
    load.each = OPERATIONS / 512;
    lend(wide, false, load.keys, load);
  }
}

static void test_misuse(void **state) {
  (void)state;
  dzo_context *context = NULL;
  dzo_table *table = table_or_skip(&context, false, false, 10);
  dzo_table_view view;
  uint32_t key = 1;
  assert_int_equal(dzo_table_view_end(table), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_view_begin(table, NULL), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_view_begin(NULL, &view), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_view_end(NULL), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_view_begin(table, &view), DZO_OK);
  assert_int_equal(dzo_table_view_begin(table, &view), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_insert(table, 1, &key, &key, NULL), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_view_end(table), DZO_OK);
  assert_int_equal(dzo_table_insert(table, 1, &key, &key, NULL), DZO_OK);
  assert_int_equal(dzo_table_view_begin(table, &view), DZO_OK);
  dzo_table_destroy(table); /* lent as it is */
  dzo_table_options plan;
  dzo_table_options_init(&plan);
  plan.key_bits = 32;
  assert_int_equal(dzo_table_create(context, &plan, &table), DZO_OK);
  assert_int_equal(dzo_table_view_begin(table, &view), DZO_E_UNSUPPORTED);
  dzo_table_destroy(table);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exchange),        cmocka_unit_test(test_lending),
      cmocka_unit_test(test_misuse),          cmocka_unit_test(test_answers),
      cmocka_unit_test(test_overflow),        cmocka_unit_test(test_histories),
      cmocka_unit_test(test_loads),           cmocka_unit_test(test_full),
      cmocka_unit_test(test_many_operations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
