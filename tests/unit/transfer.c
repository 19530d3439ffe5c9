/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Copies between a GPU and pageable memory, in pieces and whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/memory.h"
#include "device/transfer.h"

static dzo_context *open_gpu(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  options.threads = threads;
  dzo_context *context;
  return dzo_context_create(&options, &context) == DZO_OK ? context : NULL;
}

/* ThreadSanitizer looks at each byte. */
#if defined(__SANITIZE_THREAD__)
enum { STRIDE = 3 };
#else
enum { STRIDE = 1 };
#endif

static void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s", dzo_context_message(context));
}

/* There and back; the bytes around stay as they were. */
static void check(dzo_context *context, uint64_t bytes) {
  enum { MARGIN = 64, MARGIN_BYTE = 0x5a };
  dzo_unit *unit = dzo_context_gpu(context);
  char *from = dzo_alloc(context, bytes + 1, 1);
  char *to = dzo_alloc(context, bytes + MARGIN, 1);
  void *there;
  assert_true(from != NULL && to != NULL);
  must(context, dzo_unit_allocate(unit, bytes + 1, 1, &there));
  for (uint64_t i = 0; i < bytes; i++)
    from[i] = (char)(i * 7 + (i >> 12));
  memset(to, MARGIN_BYTE, bytes + MARGIN);
  must(context, dzo_unit_send(unit, there, from, bytes));
  must(context, dzo_unit_fetch(unit, to, there, bytes));
  assert_true(memcmp(from, to, bytes) == 0);
  for (int i = 0; i < MARGIN; i++)
    assert_int_equal(to[bytes + (uint64_t)i], MARGIN_BYTE);
  dzo_unit_release(unit, there);
  dzo_free(from);
  dzo_free(to);
}

static void all_sizes_arrive(void **unused) {
  (void)unused;
  const uint64_t piece = UINT64_C(8) << 20;
  const uint64_t sizes[] = {0,         1,         4097,          piece - 1,     piece,
                            piece + 1, 2 * piece, 4 * piece + 3, 9 * piece - 5, 5 * piece};
  for (int threads = 1; threads <= 3; threads += 2) {
    dzo_context *context = open_gpu(threads);
    if (context == NULL) {
      print_message("skipped: there is no GPU\n");
      skip();
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += STRIDE)
      check(context, sizes[i]);
    dzo_context_destroy(context);
  }
}

/* Pinned memory takes no staging memory; its bytes arrive all the same. */
static void pinned_memory_is_copied_as_it_is(void **unused) {
  (void)unused;
  enum { BYTES = 20 << 20 };
  dzo_context *context = open_gpu(2);
  if (context == NULL)
    skip();
  dzo_unit *unit = dzo_context_gpu(context);
  void *from, *to, *there;
  must(context, dzo_unit_allocate_staging(unit, BYTES, 1, &from));
  must(context, dzo_unit_allocate_staging(unit, BYTES, 1, &to));
  must(context, dzo_unit_allocate(unit, BYTES, 1, &there));
  for (int i = 0; i < BYTES; i++)
    ((char *)from)[i] = (char)(i * 13 + (i >> 9));
  memset(to, 0, BYTES);
  must(context, dzo_unit_send(unit, there, from, BYTES));
  must(context, dzo_unit_fetch(unit, to, there, BYTES));
  assert_true(memcmp(from, to, BYTES) == 0);
  assert_int_equal(unit->staging_bytes, 0);
  dzo_context_destroy(context);
}

/* A lost GPU ends the copy. */
static void a_failure_ends_it(void **unused) {
  (void)unused;
  for (uint64_t k = 1; k <= 12; k++) {
    dzo_context *context = open_gpu(1);
    if (context == NULL)
      skip();
    dzo_unit *unit = dzo_context_gpu(context);
    uint64_t bytes = UINT64_C(41) << 20;
    char *memory = dzo_calloc(context, bytes, 1);
    void *there;
    assert_non_null(memory);
    must(context, dzo_unit_allocate(unit, bytes, 1, &there));
    unit->fail_at = unit->operations + k;
    dzo_status status = k % 2 == 0 ? dzo_unit_send(unit, there, memory, bytes)
                                   : dzo_unit_fetch(unit, memory, there, bytes);
    assert_int_equal(status, DZO_E_DEVICE);
    dzo_free(memory);
    dzo_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_sizes_arrive),
                                     cmocka_unit_test(pinned_memory_is_copied_as_it_is),
                                     cmocka_unit_test(a_failure_ends_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
