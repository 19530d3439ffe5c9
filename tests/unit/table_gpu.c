/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Tables on a GPU that fails at its first, second, third, ... operation, that has too little
 * memory, or that shares a table with the CPU: what is lost is told, and nothing else happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "device/transfer.h"
#include "failing_memory.h"
#include "table/hybrid.h"
#include "table_calls.h"

/* Without a real GPU each operation takes long, so that not every one fails, and of the widths two
 * are tried: 32 bits, and 64-bit keys with 32-bit values. */
#if defined(__SANITIZE_THREAD__)
enum { STEP = 17 };
#elif defined(__SANITIZE_ADDRESS__)
enum { STEP = 7 };
#elif defined(DZO_TEST_SMALL)
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif
#if defined(DZO_TEST_SMALL)
enum { WIDTH_STEP = 2 };
#else
enum { WIDTH_STEP = 1 };
#endif
enum { ENOUGH = 100000 };

static const dzo_device devices[] = {DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};

static dzo_context *open_context(dzo_device device, uint64_t gpu_memory) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.gpu_memory = gpu_memory;
  options.threads = 2;
  dzo_context *context = NULL;
  (void)dzo_context_create(&options, &context);
  return context;
}

/* Before a test has anything, since skipping leaves it behind. */
static void need_gpu(void) {
  dzo_context *context = open_context(DZO_DEVICE_CUDA, 0);
  if (context == NULL) {
    print_message("skipped: there is no GPU\n");
    skip();
  }
  dzo_context_destroy(context);
}

static void expect_message(const dzo_context *context, dzo_status status, dzo_status expected,
                           const char *part) {
  const char *message = dzo_context_message(context);
  if (status != expected || strstr(message, part) == NULL || strchr(message, '\n') != NULL)
    fail_msg("%s: '%s', without '%s'", dzo_status_name(status), message, part);
}

/* Both parts get their share, and of few queries. */
static void use_both(const checked_table *t) {
  if (dzo_table_device(t->table) != DZO_DEVICE_HYBRID)
    return;
  table_hybrid *h = t->table->state;
  h->alone = 1;
  assert_int_equal(table_hybrid_shift(h), DZO_OK);
}

/* ---- A GPU that fails ------------------------------------------------------------------------ */

/* Everything says so from now on, and the context goes on with the CPU. */
static void expect_lost(const checked_table *t) {
  uint64_t key = 1, value;
  dzo_table *other = NULL;
  const char *reason = "a failure made for a test";
  expect_message(t->context, dzo_table_insert(t->table, 1, &key, NULL, NULL), DZO_E_DEVICE_FAILED,
                 reason);
  expect_message(t->context, dzo_table_export_into(t->table, &key, &value), DZO_E_DEVICE_FAILED,
                 reason);
  expect_message(t->context, dzo_table_clear(t->table), DZO_E_DEVICE_FAILED, reason);
  expect_message(t->context, dzo_table_copy(t->table, t->context, &other), DZO_E_DEVICE_FAILED,
                 reason);
  assert_null(other);
  table_must(t->context, dzo_table_create(t->context, NULL, &other));
  assert_true(dzo_context_notice(t->context)[0] != '\0');
  assert_int_equal(dzo_table_device(other), DZO_DEVICE_CPU);
  table_must(t->context, dzo_table_insert(other, 1, &key, NULL, NULL));
  dzo_table_destroy(other);
}

static bool makes_a_table(const table_call *call) {
  return strcmp(call->name, "create") == 0 || strcmp(call->name, "load") == 0;
}

/* False if the call got through without a failure. */
static bool fails_at(const table_call *call, dzo_device device, int width, uint64_t k) {
  dzo_context *context = open_context(device, 0);
  checked_table t;
  open_some_table(&t, context, width);
  assert_int_equal(dzo_table_device(t.table), device);
  use_both(&t);
  dzo_unit *unit = dzo_context_gpu(context);
  unit->fail_at = unit->operations + k;
  t.may_lose = true;
  dzo_status status = call->call(&t);
  bool lost = unit->lost;
  unit->fail_at = 0;
  if (lost) {
    if (status == DZO_OK && makes_a_table(call)) /* on the CPU */
      assert_non_null(strstr(dzo_context_notice(context), "a failure made for a test"));
    else
      expect_message(context, status, DZO_E_DEVICE_FAILED, "a failure made for a test");
    expect_lost(&t);
  } else {
    table_must(context, status);
    t.may_lose = false;
    expect_to_go_on(&t);
  }
  checked_table_close(&t);
  dzo_context_destroy(context);
  return lost;
}

static void a_lost_gpu_takes_the_contents(void **state) {
  (void)state;
  need_gpu();
  for (int i = 0; i < table_call_count; i++) {
    for (int d = 0; d < 2; d++) {
      uint64_t k = 1 + (uint64_t)i % STEP;
      int width = STEP > 1 ? i % 6 / 5 * 2 : (i + d) % TABLE_WIDTHS;
      while (fails_at(&table_calls[i], devices[d], width, k))
        assert_in_range(k += STEP, 1, ENOUGH);
      print_message("%s on device %d: %d operations\n", table_calls[i].name, (int)devices[d],
                    (int)k - 1);
    }
  }
}

/* Something else that the context does loses the GPU. */
static void a_gpu_lost_elsewhere_is_lost_here(void **state) {
  (void)state;
  need_gpu();
  for (int d = 0; d < 2; d++) {
    dzo_context *context = open_context(devices[d], 0);
    checked_table t;
    open_some_table(&t, context, d);
    dzo_unit *unit = dzo_context_gpu(context);
    unit->fail_at = 1;
    assert_int_equal(dzo_unit_wait(unit, 0), DZO_E_DEVICE);
    expect_lost(&t);
    checked_table_close(&t);
    dzo_context_destroy(context);
  }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Of the host, while the GPU works: the first, the second, ... allocation of a call fails. */
static bool starves_at(const table_call *call, dzo_device device, int64_t k) {
  failing_memory memory = {.left = -1};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = device;
  options.threads = 2;
  options.allocator = (dzo_allocator){&memory, failing_allocate, failing_release};
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  checked_table t;
  open_some_table(&t, context, 0);
  use_both(&t);
  __atomic_store_n(&memory.left, k, __ATOMIC_RELAXED);
  dzo_status status = call->call(&t);
  bool failed = __atomic_load_n(&memory.left, __ATOMIC_RELAXED) < 0;
  __atomic_store_n(&memory.left, -1, __ATOMIC_RELAXED);
  if (status != DZO_OK && (!failed || status != DZO_E_MEMORY))
    fail_msg("%s on device %d: %s (%s) when allocation %d failed", call->name, (int)device,
             dzo_status_name(status), dzo_context_message(context), (int)k);
  expect_to_go_on(&t);
  checked_table_close(&t);
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
  return failed;
}

static void host_memory_that_runs_out_is_survived(void **state) {
  (void)state;
  need_gpu();
  for (int i = 0; i < table_call_count; i++)
    for (int d = 0; d < 2; d++)
      for (int64_t k = i % STEP; starves_at(&table_calls[i], devices[d], k);)
        assert_in_range(k += STEP, 0, ENOUGH);
}

enum { PIECE = 15000, SMALL_GPU = 1 << 20 };

static void fill(uint64_t *keys, uint64_t first) {
  for (uint64_t i = 0; i < PIECE; i++)
    keys[i] = (first + i) * 7919;
}

/* A table that needs more than the GPU has stays as it was. */
static void a_full_gpu_says_so(void **state) {
  (void)state;
  need_gpu();
  static uint64_t keys[PIECE];
  dzo_context *context = open_context(DZO_DEVICE_CUDA, SMALL_GPU);
  dzo_table_options options = options_of_width(1);
  options.capacity = SMALL_GPU;
  dzo_table *none = (dzo_table *)&options;
  expect_message(context, dzo_table_create(context, &options, &none), DZO_E_MEMORY, "GPU");
  assert_null(none);
  options.capacity = 0;
  checked_table t;
  checked_table_open(&t, context, &options);
  t.may_fail = true;
  checked_batch b = {.operation = DZO_TABLE_INSERT, .count = PIECE, .keys = keys, .values = keys};
  for (uint64_t first = 0; t.status == DZO_OK; first += PIECE) {
    assert_true(first < 8 * SMALL_GPU / 16);
    fill(keys, first);
    checked_table_run(&t, &b);
  }
  expect_message(context, t.status, DZO_E_MEMORY, "GPU");
  checked_table_compare(&t, false);
  expect_message(context, dzo_table_reserve(t.table, SMALL_GPU), DZO_E_MEMORY, "GPU");
  b.operation = DZO_TABLE_ERASE;
  b.count = 1000; /* for which there is workspace */
  checked_table_run(&t, &b);
  assert_int_equal(t.status, DZO_OK);
  checked_table_compare(&t, false);
  checked_table_close(&t);
  dzo_context_destroy(context);
}

/* Keys that are there need no room, however many are asked for at once. */
static void a_full_gpu_knows_its_keys(void **state) {
  (void)state;
  need_gpu();
  enum { STEP = 3000, GPU = 2 * SMALL_GPU, MOST = GPU / 16 };
  static uint64_t keys[MOST];
  dzo_context *context = open_context(DZO_DEVICE_CUDA, GPU);
  dzo_table_options options = options_of_width(1);
  checked_table t;
  checked_table_open(&t, context, &options);
  t.may_fail = true;
  for (uint64_t i = 0; i < MOST; i++)
    keys[i] = i * 7919;
  checked_batch b = {
      .operation = DZO_TABLE_INSERT, .wants_answers = true, .count = STEP, .keys = keys};
  for (uint64_t first = 0; t.status == DZO_OK; first += STEP) {
    assert_true(first + STEP <= MOST);
    b.keys = b.values = keys + first;
    checked_table_run(&t, &b);
  }
  expect_message(context, t.status, DZO_E_MEMORY, "GPU");
  assert_true(dzo_table_size(t.table) > STEP);
  assert_true(dzo_table_capacity(t.table) < dzo_table_size(t.table) + STEP);
  b.keys = b.values = keys;
  for (b.operation = DZO_TABLE_INSERT; b.operation <= DZO_TABLE_MAX; b.operation++) {
    checked_table_run(&t, &b);
    assert_int_equal(t.status, DZO_OK);
  }
  checked_table_compare(&t, false);
  checked_table_close(&t);
  dzo_context_destroy(context);
}

/* On both processors it goes on, on the CPU. */
static void a_hybrid_table_outgrows_the_gpu(void **state) {
  (void)state;
  need_gpu();
  static uint64_t keys[PIECE];
  static uint8_t operations[PIECE];
  for (int width = 0; width < TABLE_WIDTHS; width += WIDTH_STEP) {
    dzo_context *context = open_context(DZO_DEVICE_HYBRID, SMALL_GPU);
    dzo_table_options options = options_of_width(width);
    checked_table t;
    checked_table_open(&t, context, &options);
    assert_int_equal(dzo_table_device(t.table), DZO_DEVICE_HYBRID);
    const table_hybrid *h = t.table->state;
    uint32_t share = h->share;
    for (uint64_t first = 0; first < 6 * PIECE; first += PIECE) {
      checked_batch b = {.operation = (dzo_table_operation)(1 + first / PIECE % 5),
                         .wants_answers = first / PIECE % 2 == 1,
                         .wants_results = true,
                         .count = PIECE,
                         .keys = keys,
                         .values = keys};
      fill(keys, first);
      if (first / PIECE % 3 == 2) {
        for (int i = 0; i < PIECE; i++)
          operations[i] = (uint8_t)(i % 7);
        b.operation = DZO_TABLE_MIXED;
        b.operations = operations;
      }
      checked_table_run(&t, &b);
    }
    checked_table_compare(&t, false);
    assert_true(h->share < share);
    table_must(context, dzo_table_reserve(t.table, SMALL_GPU / 2));
    checked_table_compare(&t, false);
    checked_table_close(&t);
    dzo_context_destroy(context);
  }
}

/* ---- Whose memory ---------------------------------------------------------------------------- */

static void arrays_are_of_one_memory(void **state) {
  (void)state;
  need_gpu();
  for (int d = 0; d < 2; d++) {
    dzo_context *context = open_context(devices[d], 0);
    dzo_table *table = NULL;
    uint64_t keys[2] = {1, 2};
    uint8_t operations[2] = {DZO_TABLE_INSERT, 99};
    void *there = NULL, *operations_there = NULL;
    dzo_unit *unit = dzo_context_gpu(context);
    table_must(context, dzo_table_create(context, NULL, &table));
    table_must(context, dzo_unit_allocate(unit, 2, sizeof *keys, &there));
    table_must(context, dzo_unit_allocate(unit, 2, 1, &operations_there));
    table_must(context, dzo_unit_send(unit, there, keys, sizeof keys));
    table_must(context, dzo_unit_send(unit, operations_there, operations, sizeof operations));
    expect_message(context, dzo_table_insert(table, 2, there, keys, NULL), DZO_E_ARGUMENT,
                   "host memory");
    expect_message(context, dzo_table_export_into(table, there, keys), DZO_E_ARGUMENT,
                   "host memory");
    dzo_table_batch batch;
    dzo_table_batch_init(&batch);
    batch.operation = DZO_TABLE_MIXED;
    batch.count = 2;
    batch.keys = there;
    batch.operations = operations_there;
    expect_message(context, dzo_table_run(table, &batch), DZO_E_ARGUMENT, "query 1 ");
    assert_int_equal(dzo_table_size(table), 0);
    dzo_unit_release(unit, there);
    dzo_unit_release(unit, operations_there);
    dzo_table_destroy(table);
    dzo_context_destroy(context);
  }
}

static void large_tables_choose_the_gpu(void **state) {
  (void)state;
  need_gpu();
  dzo_context *context = open_context(DZO_DEVICE_AUTO, 0);
  dzo_table *table = NULL;
  dzo_table_options options = options_of_width(0);
  table_must(context, dzo_table_create(context, &options, &table));
  assert_int_equal(dzo_table_device(table), DZO_DEVICE_CPU);
  assert_false(context->gpu_tried); /* nor was it started */
  dzo_table_destroy(table);
  assert_non_null(dzo_context_gpu(context));
  options.capacity = (1 << 16) - 1;
  table_must(context, dzo_table_create(context, &options, &table));
  assert_int_equal(dzo_table_device(table), DZO_DEVICE_CPU);
  dzo_table_destroy(table);
  options.capacity = 1 << 16;
  table_must(context, dzo_table_create(context, &options, &table));
  assert_int_equal(dzo_table_device(table), DZO_DEVICE_CUDA);
  assert_string_equal(dzo_context_notice(context), "");
  dzo_table_destroy(table);
  context->gpu->limit = SMALL_GPU / 2; /* too small for it */
  table_must(context, dzo_table_create(context, &options, &table));
  assert_int_equal(dzo_table_device(table), DZO_DEVICE_CPU);
  dzo_table_destroy(table);
  dzo_context_destroy(context);
}

/* From the CPU to the GPU and back, each way. */
static void copies_go_everywhere(void **state) {
  (void)state;
  need_gpu();
  static const dzo_device route[] = {DZO_DEVICE_CPU,    DZO_DEVICE_CUDA, DZO_DEVICE_CUDA,
                                     DZO_DEVICE_HYBRID, DZO_DEVICE_CPU,  DZO_DEVICE_HYBRID,
                                     DZO_DEVICE_HYBRID, DZO_DEVICE_CUDA, DZO_DEVICE_CPU};
  enum { STATIONS = sizeof route / sizeof *route };
  for (int width = 0; width < TABLE_WIDTHS; width += WIDTH_STEP) {
    dzo_context *contexts[STATIONS];
    for (int i = 0; i < STATIONS; i++)
      contexts[i] = open_context(route[i], 0);
    checked_table t;
    open_some_table(&t, contexts[0], width);
    for (int i = 1; i < STATIONS; i++) {
      dzo_table *copy = NULL;
      table_must(contexts[i], dzo_table_copy(t.table, contexts[i], &copy));
      assert_int_equal(dzo_table_device(copy), route[i]);
      checked_table_compare(&t, false); /* is as it was */
      dzo_table_destroy(t.table);
      t.table = copy;
      t.context = contexts[i];
      use_both(&t);
      expect_to_go_on(&t);
    }
    checked_table_close(&t);
    for (int i = 0; i < STATIONS; i++)
      dzo_context_destroy(contexts[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lost_gpu_takes_the_contents),
      cmocka_unit_test(a_gpu_lost_elsewhere_is_lost_here),
      cmocka_unit_test(host_memory_that_runs_out_is_survived),
      cmocka_unit_test(a_full_gpu_says_so),
      cmocka_unit_test(a_full_gpu_knows_its_keys),
      cmocka_unit_test(a_hybrid_table_outgrows_the_gpu),
      cmocka_unit_test(arrays_are_of_one_memory),
      cmocka_unit_test(large_tables_choose_the_gpu),
      cmocka_unit_test(copies_go_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
