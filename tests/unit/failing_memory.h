/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A context whose k-th allocation from now fails. */
#ifndef DZO_TESTS_FAILING_MEMORY_H
#define DZO_TESTS_FAILING_MEMORY_H

#include <stdlib.h>

#include "dzo/context.h"

typedef struct failing_memory {
  int64_t left; /* allocations until one fails; < 0: none does. Accessed atomically */
  int64_t alive;
} failing_memory;

static inline void *failing_allocate(void *user, size_t bytes) {
  failing_memory *f = (failing_memory *)user;
  if (__atomic_load_n(&f->left, __ATOMIC_RELAXED) >= 0 &&
      __atomic_fetch_sub(&f->left, 1, __ATOMIC_RELAXED) == 0)
    return NULL;
  __atomic_fetch_add(&f->alive, 1, __ATOMIC_RELAXED);
  return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static inline void failing_release(void *user, void *pointer) {
  __atomic_fetch_sub(&((failing_memory *)user)->alive, 1, __ATOMIC_RELAXED);
  free(pointer);
}

static inline dzo_context *failing_context(failing_memory *f, int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  options.allocator.user = f;
  options.allocator.allocate = failing_allocate;
  options.allocator.release = failing_release;
  f->left = -1;
  f->alive = 0;
  dzo_context *context = NULL;
  return dzo_context_create(&options, &context) == DZO_OK ? context : NULL;
}

#endif
