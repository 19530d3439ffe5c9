/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The device layer: over the CPU's backend everywhere, and over the CUDA backend that is linked,
 * where it has a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "device/device.h"

enum { WORDS = 100000, SMALL = 1024 };

/* The backend to test, and whether its device memory is memory that the CPU may touch. */
typedef struct subject {
  const dzo_backend *backend;
  dzo_context *context;
  dzo_unit *unit;
} subject;

static subject subject_of(void **state, uint64_t gpu_memory) {
  subject s = {.backend = *state};
  const char *reason = NULL;
  if (s.backend->count(&reason) == 0) {
    print_message("no device: %s\n", reason);
    assert_true(reason != NULL && reason[0] != '\0');
    skip();
  }
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.gpu_memory = gpu_memory;
  assert_int_equal(dzo_context_create(&options, &s.context), DZO_OK);
  assert_int_equal(dzo_unit_open(s.backend, s.context, 0, &s.unit), DZO_OK);
  return s;
}

/* Nothing is left behind. */
static void end_of(subject *s) {
  dzo_unit_close(s->unit);
  assert_int_equal(dzo_context_memory_used(s->context), 0);
  dzo_context_destroy(s->context);
}

static void *allocated(subject *s, uint64_t bytes) {
  void *pointer = NULL;
  assert_int_equal(dzo_unit_allocate(s->unit, bytes, 1, &pointer), DZO_OK);
  assert_non_null(pointer);
  assert_int_equal((uintptr_t)pointer % 256, 0);
  return pointer;
}

static void *staged(subject *s, uint64_t bytes) {
  void *pointer = NULL;
  assert_int_equal(dzo_unit_allocate_staging(s->unit, bytes, 1, &pointer), DZO_OK);
  assert_non_null(pointer);
  return pointer;
}

static void a_unit_tells_what_it_is(void **state) {
  subject s = subject_of(state, 0);
  dzo_device_info info;
  s.backend->describe(0, &info);
  assert_int_equal(info.kind, s.backend->kind);
  assert_true(strlen(info.name) > 0);
  assert_in_range(info.memory, 1 << 20, UINT64_MAX);
  assert_in_range(s.unit->processors, 1, 100000);
  assert_true(s.unit->limit > 0);
  assert_in_range(dzo_unit_available(s.unit), 1, s.unit->limit);
  end_of(&s);
}

static void copies_go_there_and_back(void **state) {
  subject s = subject_of(state, 0);
  uint64_t bytes = WORDS * sizeof(uint32_t);
  uint32_t *out = staged(&s, bytes), *back = staged(&s, bytes);
  uint32_t *plain = dzo_alloc(s.context, WORDS, sizeof *plain);
  void *a = allocated(&s, bytes), *b = allocated(&s, bytes);
  assert_non_null(plain);
  for (uint32_t i = 0; i < WORDS; i++)
    out[i] = i * 2654435761u;
  memset(back, 0, bytes);
  memset(plain, 0, bytes);
  assert_int_equal(dzo_unit_copy(s.unit, 0, a, out, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(s.unit, 0, b, a, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(s.unit, 0, back, b, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(s.unit, 0, plain, b, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(s.unit, 0), DZO_OK);
  assert_memory_equal(back, out, bytes);
  assert_memory_equal(plain, out, bytes);
  assert_int_equal(dzo_unit_fill(s.unit, 1, a, 0xa5, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(s.unit, 1, plain, a, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(s.unit, 1), DZO_OK);
  assert_int_equal(plain[0], 0xa5a5a5a5);
  assert_int_equal(plain[WORDS - 1], 0xa5a5a5a5);
  /* Nothing is fine anywhere. */
  assert_int_equal(dzo_unit_copy(s.unit, 0, a, NULL, 0), DZO_OK);
  assert_int_equal(dzo_unit_fill(s.unit, 0, NULL, 0, 0), DZO_OK);
  dzo_free(plain);
  dzo_unit_release(s.unit, a);
  dzo_unit_release(s.unit, b);
  dzo_unit_release_staging(s.unit, out);
  dzo_unit_release_staging(s.unit, back);
  assert_int_equal(s.unit->used, 0);
  end_of(&s);
}

static void queues_wait_for_marks(void **state) {
  subject s = subject_of(state, 0);
  enum { ROUNDS = 20 };
  uint64_t bytes = WORDS * sizeof(uint32_t);
  uint32_t *host = staged(&s, bytes);
  void *device = allocated(&s, bytes);
  for (int round = 0; round < ROUNDS; round++) {
    int fill = round % (DZO_QUEUES - 1) + 1;
    assert_int_equal(dzo_unit_mark(s.unit, fill, 0), DZO_OK);
    assert_int_equal(dzo_unit_fill(s.unit, fill, device, round + 1, bytes), DZO_OK);
    assert_int_equal(dzo_unit_mark(s.unit, fill, DZO_MARKS - 1), DZO_OK);
    assert_int_equal(dzo_unit_queue_after(s.unit, 0, DZO_MARKS - 1), DZO_OK);
    assert_int_equal(dzo_unit_copy(s.unit, 0, host, device, bytes), DZO_OK);
    assert_int_equal(dzo_unit_mark(s.unit, 0, 1), DZO_OK);
    assert_int_equal(dzo_unit_wait_mark(s.unit, 1), DZO_OK);
    assert_int_equal(host[0], 0x01010101u * (unsigned)(round + 1));
    assert_int_equal(host[WORDS - 1], 0x01010101u * (unsigned)(round + 1));
    double milliseconds = -1;
    assert_int_equal(dzo_unit_elapsed(s.unit, 0, 1, &milliseconds), DZO_OK);
    assert_true(milliseconds >= 0 && milliseconds < 60000);
  }
  assert_int_equal(dzo_unit_wait_all(s.unit), DZO_OK);
  end_of(&s); /* which releases what is left */
}

static void the_limit_holds(void **state) {
  subject s = subject_of(state, 10 * SMALL);
  void *more = &s;
  assert_int_equal(s.unit->limit, 10 * SMALL);
  assert_int_equal(dzo_unit_available(s.unit), 10 * SMALL);
  void *a = allocated(&s, 6 * SMALL);
  assert_int_equal(dzo_unit_available(s.unit), 4 * SMALL);
  assert_int_equal(dzo_unit_allocate(s.unit, 5 * SMALL, 1, &more), DZO_E_MEMORY);
  assert_null(more);
  assert_non_null(
      strstr(dzo_context_message(s.context), "out of GPU memory: 5120 items of 1 byte"));
  assert_false(s.unit->lost);
  assert_int_equal(dzo_unit_allocate(s.unit, UINT64_MAX / 4, 8, &more), DZO_E_MEMORY);
  assert_int_equal(dzo_unit_allocate(s.unit, UINT64_MAX, 1, &more), DZO_E_MEMORY);
  void *b = allocated(&s, 4 * SMALL - 3);
  assert_int_equal(dzo_unit_available(s.unit), 0);
  assert_int_equal(s.unit->used, 10 * SMALL);
  dzo_unit_release(s.unit, a);
  assert_int_equal(dzo_unit_available(s.unit), 6 * SMALL);
  dzo_unit_release(s.unit, b);
  dzo_unit_release(s.unit, NULL);
  assert_int_equal(s.unit->peak, 10 * SMALL);
  assert_int_equal(s.unit->used, 0);
  /* A limit may come to lie below what is taken. */
  a = allocated(&s, 6 * SMALL);
  s.unit->limit = 5 * SMALL;
  assert_int_equal(dzo_unit_available(s.unit), 0);
  assert_int_equal(dzo_unit_allocate(s.unit, 1, 1, &more), DZO_E_MEMORY);
  dzo_unit_release(s.unit, a);
  /* Room for the alignment counts. */
  void *c = allocated(&s, 0);
  assert_int_equal(s.unit->used, 256);
  dzo_unit_release(s.unit, c);
  end_of(&s);
}

static void more_than_there_is_is_no_failure(void **state) {
  subject s = subject_of(state, 0);
  if (s.backend->kind == DZO_DEVICE_CPU) { /* which may promise more than it has */
    end_of(&s);
    return;
  }
  void *more = &s;
  s.unit->limit = UINT64_MAX;
  assert_int_equal(dzo_unit_allocate(s.unit, UINT64_C(1) << 50, 1, &more), DZO_E_MEMORY);
  assert_null(more);
  assert_false(s.unit->lost);
  dzo_unit_release(s.unit, allocated(&s, SMALL));
  end_of(&s);
}

static void the_workspace_grows_and_stays(void **state) {
  subject s = subject_of(state, 100 * SMALL);
  void *a, *b;
  assert_int_equal(dzo_unit_workspace(s.unit, 10 * SMALL, &a), DZO_OK);
  assert_int_equal(s.unit->used, 10 * SMALL);
  assert_int_equal(dzo_unit_workspace(s.unit, 5 * SMALL, &b), DZO_OK);
  assert_ptr_equal(a, b);
  assert_int_equal(s.unit->used, 10 * SMALL);
  assert_int_equal(dzo_unit_workspace(s.unit, 60 * SMALL, &b), DZO_OK);
  assert_int_equal(s.unit->used, 60 * SMALL);
  assert_int_equal(s.unit->peak, 60 * SMALL);
  assert_int_equal(dzo_unit_workspace(s.unit, 101 * SMALL, &b), DZO_E_MEMORY);
  assert_null(b);
  assert_int_equal(s.unit->used, 0);
  assert_int_equal(dzo_unit_workspace(s.unit, SMALL, &b), DZO_OK);
  dzo_unit_workspace_release(s.unit);
  dzo_unit_workspace_release(s.unit);
  assert_int_equal(s.unit->used, 0);
  assert_int_equal(dzo_unit_staging(s.unit, SMALL, &a), DZO_OK);
  memset(a, 1, SMALL);
  assert_int_equal(dzo_unit_staging(s.unit, SMALL / 2, &b), DZO_OK);
  assert_ptr_equal(a, b);
  assert_int_equal(dzo_unit_staging(s.unit, 10 * SMALL, &b), DZO_OK);
  memset(b, 1, 10 * SMALL);
  assert_int_equal(dzo_unit_mailbox(s.unit, &a), DZO_OK);
  memset(a, 1, DZO_MAILBOX);
  assert_int_equal(dzo_unit_mailbox(s.unit, &b), DZO_OK);
  assert_ptr_equal(a, b);
  end_of(&s);
}

static void a_failure_sticks(void **state) {
  subject s = subject_of(state, 0);
  void *a = allocated(&s, SMALL), *b = NULL;
  s.unit->fail_at = s.unit->operations + 3;
  assert_int_equal(dzo_unit_fill(s.unit, 0, a, 0, SMALL), DZO_OK);
  assert_int_equal(dzo_unit_wait(s.unit, 0), DZO_OK);
  assert_false(s.unit->lost);
  assert_int_equal(dzo_unit_fill(s.unit, 0, a, 0, SMALL), DZO_E_DEVICE);
  assert_true(s.unit->lost);
  assert_non_null(strstr(s.unit->reason, "made for a test"));
  assert_non_null(strstr(dzo_context_message(s.context), s.unit->reason));
  s.unit->fail_at = 0;
  double milliseconds;
  assert_int_equal(dzo_unit_allocate(s.unit, SMALL, 1, &b), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_allocate_staging(s.unit, SMALL, 1, &b), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_workspace(s.unit, SMALL, &b), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_staging(s.unit, SMALL, &b), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_mailbox(s.unit, &b), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_copy(s.unit, 0, a, a, SMALL), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_wait(s.unit, 0), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_mark(s.unit, 0, 0), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_queue_after(s.unit, 0, 0), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_wait_mark(s.unit, 0), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_elapsed(s.unit, 0, 0, &milliseconds), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_wait_all(s.unit), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_available(s.unit), 0);
  assert_false(dzo_unit_owns(s.unit, a));
  dzo_unit_release(s.unit, a);
  end_of(&s);
}

/* The first reason is the one that counts. */
static void the_first_reason_stays(void **state) {
  subject s = subject_of(state, 0);
  assert_int_equal(dzo_unit_lose(s.unit, "caught %d", 7), DZO_E_DEVICE);
  assert_int_equal(dzo_unit_lose(s.unit, "burnt"), DZO_E_DEVICE);
  assert_string_equal(s.unit->reason, "caught 7");
  assert_string_equal(dzo_context_message(s.context), "GPU 0 failed: caught 7");
  end_of(&s);
}

static void a_gpu_knows_its_memory(void **state) {
  subject s = subject_of(state, 0);
  if (s.backend->kind == DZO_DEVICE_CUDA) {
    int here = 0;
    void *pinned = staged(&s, SMALL);
    char *device = allocated(&s, SMALL);
    assert_true(dzo_unit_owns(s.unit, device));
    assert_true(dzo_unit_owns(s.unit, device + SMALL / 2));
    assert_false(dzo_unit_owns(s.unit, pinned));
    assert_false(dzo_unit_owns(s.unit, &here));
    assert_false(dzo_unit_owns(s.unit, NULL));
  }
  end_of(&s);
}

/* ---- Contexts ---------------------------------------------------------------------------------
 */

static int gpus(void) {
  const char *reason;
  return dzo_backend_cuda.count(&reason);
}

static void devices_are_listed(void **state) {
  (void)state;
  dzo_device_info devices[64];
  int count = -1, again = -1;
  const char *reason = NULL;
  dzo_devices(devices, 64, &count, &reason);
  assert_in_range(count, 1, 64);
  assert_int_equal(devices[0].kind, DZO_DEVICE_CPU);
  assert_true(devices[0].processors > 0 && devices[0].memory > 0);
  for (int i = 1; i < count; i++) {
    assert_int_equal(devices[i].kind, DZO_DEVICE_CUDA);
    assert_true(devices[i].processors > 0 && devices[i].memory > 0);
  }
  assert_int_equal(count > 1, reason[0] == '\0');
  dzo_devices(NULL, 0, &again, &reason);
  assert_int_equal(again, count);
}

static void a_context_opens_its_gpu_once(void **state) {
  (void)state;
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  dzo_unit *gpu = dzo_context_gpu(context);
  assert_int_equal(gpu != NULL, gpus() > 0);
  assert_ptr_equal(dzo_context_gpu(context), gpu);
  assert_string_equal(dzo_context_notice(context), "");
  assert_string_equal(dzo_context_message(context), "");
  dzo_context_destroy(context);
}

static void the_cpu_needs_no_gpu(void **state) {
  (void)state;
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  assert_null(dzo_context_gpu(context));
  assert_string_equal(dzo_context_notice(context), "");
  dzo_context_destroy(context);
}

static void a_device_asked_for_must_be_there(void **state) {
  (void)state;
  static const dzo_device kinds[] = {DZO_DEVICE_CUDA, DZO_DEVICE_HYBRID};
  for (int i = 0; i < 2; i++) {
    dzo_context_options options;
    dzo_context_options_init(&options);
    options.device = kinds[i];
    dzo_context *context = NULL;
    assert_int_equal(dzo_context_create(&options, &context), gpus() > 0 ? DZO_OK : DZO_E_DEVICE);
    assert_int_equal(context != NULL, gpus() > 0);
    dzo_context_destroy(context);
    options.device_index = 1000;
    assert_int_equal(dzo_context_create(&options, &context), DZO_E_DEVICE);
    assert_null(context);
  }
}

static void a_lost_gpu_is_noted(void **state) {
  (void)state;
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  dzo_unit *gpu = dzo_context_gpu(context);
  if (gpu == NULL) {
    dzo_context_destroy(context);
    skip();
  }
  (void)dzo_unit_lose(gpu, "it fell off the bus");
  assert_null(dzo_context_gpu(context));
  assert_non_null(strstr(dzo_context_notice(context), "it fell off the bus"));
  dzo_begin(context);
  assert_string_equal(dzo_context_notice(context), "");
  dzo_context_destroy(context);
}

static void the_first_notice_stays(void **state) {
  (void)state;
  dzo_context *context = NULL;
  assert_int_equal(dzo_context_create(NULL, &context), DZO_OK);
  dzo_notice(context, "first %d", 1);
  dzo_notice(context, "second");
  assert_string_equal(dzo_context_notice(context), "first 1");
  dzo_context_destroy(context);
}

#define ON(backend, test)                                                                          \
  { #test " (" #backend ")", test, NULL, NULL, (void *)(uintptr_t)&dzo_backend_##backend }
#define ON_BOTH(test) ON(cpu, test), ON(cuda, test)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_BOTH(a_unit_tells_what_it_is),
      ON_BOTH(copies_go_there_and_back),
      ON_BOTH(queues_wait_for_marks),
      ON_BOTH(the_limit_holds),
      ON_BOTH(more_than_there_is_is_no_failure),
      ON_BOTH(the_workspace_grows_and_stays),
      ON_BOTH(a_failure_sticks),
      ON_BOTH(the_first_reason_stays),
      ON_BOTH(a_gpu_knows_its_memory),
      cmocka_unit_test(devices_are_listed),
      cmocka_unit_test(a_context_opens_its_gpu_once),
      cmocka_unit_test(the_cpu_needs_no_gpu),
      cmocka_unit_test(a_device_asked_for_must_be_there),
      cmocka_unit_test(a_lost_gpu_is_noted),
      cmocka_unit_test(the_first_notice_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
