/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

static void every_status_has_name_and_text(void **state) {
  (void)state;
  assert_string_equal(dzo_status_name(DZO_OK), "DZO_OK");
  assert_string_equal(dzo_status_name(DZO_E_FORMAT), "DZO_E_FORMAT");
  assert_string_equal(dzo_status_text(DZO_E_MEMORY), "out of memory");
  assert_string_equal(dzo_status_name((dzo_status)-999), "DZO_E_UNKNOWN");
}

static void options_are_checked(void **state) {
  (void)state;
  dzo_context *context = (dzo_context *)&state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = -1;
  assert_int_equal(dzo_context_create(&options, &context), DZO_E_ARGUMENT);
  assert_null(context);
  dzo_context_options_init(&options);
  options.size = 1;
  assert_int_equal(dzo_context_create(&options, &context), DZO_E_ARGUMENT);
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  assert_int_equal(dzo_context_create(&options, &context), DZO_E_DEVICE);
  dzo_context_destroy(NULL);
}

static void memory_is_aligned_counted_and_bounded(void **state) {
  (void)state;
  dzo_context *context;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  uint32_t *numbers = dzo_calloc(context, 1000, sizeof *numbers);
  assert_non_null(numbers);
  assert_int_equal((uintptr_t)numbers % 64, 0);
  assert_true(dzo_context_memory_used(context) >= 4000);
  numbers[999] = 7;
  numbers = dzo_realloc(context, numbers, 2000, sizeof *numbers);
  assert_int_equal(numbers[999], 7);
  dzo_free(numbers);
  assert_int_equal(dzo_context_memory_used(context), 0);
  assert_true(dzo_context_memory_peak(context) >= 12000);
  assert_null(dzo_alloc(context, UINT64_MAX / 2, 16));
  assert_true(strlen(dzo_context_message(context)) > 0);
  dzo_free(NULL);
  dzo_context_destroy(context);
}

/* ---- Memory kept ----------------------------------------------------------------------------- */

enum { MEGABYTE = 1 << 20, KEEP = 8 * MEGABYTE };

typedef struct hooks {
  int calls, alive;
  bool fails; /* while anything but the context is alive */
} hooks;

static void *hooked_allocate(void *user, size_t bytes) {
  hooks *h = user;
  h->calls++;
  if (h->fails && h->alive > 1)
    return NULL;
  h->alive++;
  return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void hooked_release(void *user, void *pointer) {
  ((hooks *)user)->alive--;
  free(pointer);
}

static dzo_context *keeping_context(hooks *h, uint64_t keep) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.keep = keep;
  options.allocator = (dzo_allocator){h, hooked_allocate, hooked_release};
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  assert_int_equal(h->alive, 1);
  return context;
}

static void freed_blocks_are_used_again(void **state) {
  (void)state;
  hooks h = {0};
  dzo_context *context = keeping_context(&h, KEEP);
  char *block = dzo_alloc(context, 2 * MEGABYTE, 1);
  memset(block, 1, 2 * MEGABYTE);
  dzo_free(block);
  assert_int_equal(dzo_context_memory_used(context), 0);
  int calls = h.calls;
  char *again = dzo_calloc(context, 2 * MEGABYTE - 1000, 1);
  assert_ptr_equal(again, block);
  assert_int_equal(h.calls, calls);
  assert_true(dzo_context_memory_used(context) >= 2 * MEGABYTE);
  for (int i = 0; i < 2 * MEGABYTE - 1000; i++)
    assert_int_equal(again[i], 0);
  again = dzo_realloc(context, again, 3 * MEGABYTE, 1);
  assert_int_equal(again[2 * MEGABYTE - 1001], 0);
  assert_int_equal(h.calls, calls + 1);
  dzo_free(again);
  dzo_context_destroy(context);
  assert_int_equal(h.alive, 0);
}

static void only_blocks_that_fit_are_used_again(void **state) {
  (void)state;
  hooks h = {0};
  dzo_context *context = keeping_context(&h, KEEP);
  char *large = dzo_alloc(context, 4 * MEGABYTE, 1), *fits = dzo_alloc(context, 2 * MEGABYTE, 1);
  dzo_free(large);
  dzo_free(fits);
  int calls = h.calls;
  char *half = dzo_alloc(context, 2 * MEGABYTE - 10, 1);
  assert_ptr_equal(half, fits);
  char *small = dzo_alloc(context, MEGABYTE + 1, 1), *larger = dzo_alloc(context, 5 * MEGABYTE, 1);
  assert_int_equal(h.calls, calls + 2);
  dzo_free(half);
  dzo_free(small);
  dzo_free(larger);
  dzo_context_destroy(context);
  assert_int_equal(h.alive, 0);
}

static void what_is_kept_is_bounded(void **state) {
  (void)state;
  for (uint64_t keep = 0; keep <= KEEP; keep += 4 * MEGABYTE) {
    hooks h = {0};
    dzo_context *context = keeping_context(&h, keep);
    char *blocks[6];
    for (int i = 0; i < 6; i++)
      blocks[i] = dzo_alloc(context, 3 * MEGABYTE, 1);
    for (int i = 0; i < 6; i++)
      dzo_free(blocks[i]);
    assert_int_equal(h.alive, 1 + keep / (3 * MEGABYTE + 64));
    dzo_free(dzo_alloc(context, KEEP + 1, 1)); /* larger than all that may be kept */
    dzo_free(dzo_alloc(context, 1000, 1));     /* not worth it */
    assert_int_equal(h.alive, 1 + keep / (3 * MEGABYTE + 64));
    dzo_context_destroy(context);
    assert_int_equal(h.alive, 0);
  }
}

static void kept_blocks_make_way(void **state) {
  (void)state;
  hooks h = {0};
  dzo_context *context = keeping_context(&h, KEEP);
  dzo_free(dzo_alloc(context, 3 * MEGABYTE, 1));
  dzo_free(dzo_alloc(context, 2 * MEGABYTE, 1));
  assert_int_equal(h.alive, 3);
  h.fails = true;
  char *block = dzo_alloc(context, 6 * MEGABYTE, 1); /* fails, and again when all is given back */
  assert_non_null(block);
  assert_int_equal(h.alive, 2);
  assert_null(dzo_alloc(context, 7 * MEGABYTE, 1)); /* nothing is kept: tried once */
  assert_true(strlen(dzo_context_message(context)) > 0);
  h.fails = false;
  dzo_free(block);
  dzo_context_destroy(context);
  assert_int_equal(h.alive, 0);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

typedef struct sum_job {
  uint64_t total;
  uint64_t calls;
} sum_job;

static void sum_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  sum_job *job = argument;
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; i++)
    sum += i;
  dzo_fetch_add_u64(&job->total, sum);
  dzo_fetch_add_u64(&job->calls, 1);
}

static void every_item_is_visited_once(void **state) {
  (void)state;
  const uint64_t counts[] = {0, 1, 7, 64, 1000, 99991};
  for (int threads = 1; threads <= 8; threads++) {
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      sum_job job = {0, 0};
      dzo_parallel_for(threads, counts[i], 16, sum_range, &job);
      assert_int_equal(job.total, counts[i] == 0 ? 0 : counts[i] * (counts[i] - 1) / 2);
      assert_int_equal(job.calls, (counts[i] + 15) / 16);
    }
  }
}

static int stop(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)user, (void)phase, (void)total;
  return done > 5;
}

static void progress_can_cancel(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.progress = stop;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  assert_int_equal(dzo_progress(context, "solve", 5, 10), DZO_OK);
  assert_int_equal(dzo_progress(context, "solve", 6, 10), DZO_E_CANCELLED);
  assert_int_equal(dzo_progress(context, "solve", 1, 10), DZO_E_CANCELLED);
  dzo_context_resume(context);
  assert_int_equal(dzo_progress(context, "solve", 1, 10), DZO_OK);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_name_and_text),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(memory_is_aligned_counted_and_bounded),
      cmocka_unit_test(freed_blocks_are_used_again),
      cmocka_unit_test(only_blocks_that_fit_are_used_again),
      cmocka_unit_test(what_is_kept_is_bounded),
      cmocka_unit_test(kept_blocks_make_way),
      cmocka_unit_test(every_item_is_visited_once),
      cmocka_unit_test(progress_can_cancel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
