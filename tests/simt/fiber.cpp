/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(SIMT_ASAN) || defined(SIMT_TSAN)
enum { STACK_BYTES = 256 * 1024 };
#else
enum { STACK_BYTES = 64 * 1024 };
#endif

static thread_local struct {
  simt_fiber *from; /* who switched to the fiber that begins */
  simt_fiber *to;
} switching;

static inline void finish_switch(simt_fiber *now) {
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(now->fake_stack, NULL, NULL);
#endif
  (void)now;
}

void simt_fiber_of_thread(simt_fiber *fiber) {
  *fiber = simt_fiber();
  fiber->started = true;
  pthread_attr_t attributes;
  void *stack;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &stack, &bytes) != 0)
    simt_die("the thread's stack is not known");
  pthread_attr_destroy(&attributes);
  fiber->stack = stack;
  fiber->stack_bytes = bytes;
#ifdef SIMT_TSAN
  fiber->shadow = __tsan_get_current_fiber();
#endif
}

static void begin() {
  simt_fiber *self = switching.to;
  finish_switch(self);
  self->body(self);
  simt_die("a fiber ended");
}

void *simt_shadow_create() {
#ifdef SIMT_TSAN
  return __tsan_create_fiber(0);
#else
  return NULL;
#endif
}

simt_fiber *simt_fiber_create(void (*body)(simt_fiber *), void *user, void *shadow) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory = (char *)mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0)
    simt_die("no memory for the stack of a fiber");
  simt_fiber *fiber = new simt_fiber();
  fiber->body = body;
  fiber->user = user;
  fiber->stack = memory + page;
  fiber->stack_bytes = STACK_BYTES;
  getcontext(&fiber->begin);
  fiber->begin.uc_stack.ss_sp = memory + page;
  fiber->begin.uc_stack.ss_size = STACK_BYTES;
  fiber->begin.uc_link = NULL;
  makecontext(&fiber->begin, begin, 0);
  fiber->shadow = shadow;
  return fiber;
}

/* __builtin_longjmp must not be in the function of its __builtin_setjmp. */
__attribute__((noinline, noreturn, no_sanitize("thread", "address"))) static void
go_on(simt_fiber *to) {
  if (to->started)
    __builtin_longjmp(to->resume, 1);
  to->started = true;
  switching.to = to;
  setcontext(&to->begin);
  __builtin_trap();
}

__attribute__((noinline, no_sanitize("thread", "address"))) void simt_fiber_switch(simt_fiber *from,
                                                                                   simt_fiber *to) {
#ifdef SIMT_ASAN
  __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef SIMT_TSAN
  if (from->shadow != to->shadow)
    __tsan_switch_to_fiber(to->shadow, __tsan_switch_to_fiber_no_sync);
#endif
  if (__builtin_setjmp(from->resume) == 0)
    go_on(to);
  /* Nothing of before is in registers here but what the frame keeps. */
  finish_switch(from);
}

void simt_release(void *address) {
#ifdef SIMT_TSAN
  __tsan_release(address);
#endif
  (void)address;
}

void simt_acquire(void *address) {
#ifdef SIMT_TSAN
  __tsan_acquire(address);
#endif
  (void)address;
}

void simt_release_as(void *shadow, const simt_fiber *running, void *address) {
#ifdef SIMT_TSAN
  __tsan_switch_to_fiber(shadow, __tsan_switch_to_fiber_no_sync);
  __tsan_release(address);
  __tsan_switch_to_fiber(running->shadow, __tsan_switch_to_fiber_no_sync);
#endif
  (void)shadow, (void)running, (void)address;
}
