/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _DEFAULT_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/context.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21 };

/* Stands in the 64 bytes before each block. */
typedef struct block {
  dzo_context *context;
  uint64_t bytes; /* this header included */
} block;

static void count_bytes(dzo_context *context, uint64_t bytes) {
  uint64_t used = __atomic_add_fetch(&context->memory_used, bytes, __ATOMIC_RELAXED);
  uint64_t peak = __atomic_load_n(&context->memory_peak, __ATOMIC_RELAXED);
  while (used > peak && !__atomic_compare_exchange_n(&context->memory_peak, &peak, used, false,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static void ask_for_huge_pages(void *pointer, uint64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < 2 * (uint64_t)HUGE_PAGE)
    return;
  uintptr_t begin = ((uintptr_t)pointer + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t end = ((uintptr_t)pointer + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
  (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)pointer;
  (void)bytes;
#endif
}

void *dzo_alloc(dzo_context *context, uint64_t count, size_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || bytes > SIZE_MAX / 2) {
    dzo_fail(context, DZO_E_MEMORY, "cannot allocate %llu items of %llu bytes",
             (unsigned long long)count, (unsigned long long)size);
    return NULL;
  }
  bytes = (bytes + 2 * ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  char *base = context->allocator.allocate(context->allocator.user, bytes);
  if (base == NULL) {
    dzo_fail(context, DZO_E_MEMORY, "cannot allocate %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  ask_for_huge_pages(base, bytes);
  *(block *)(void *)base = (block){context, bytes};
  count_bytes(context, bytes);
  return base + ALIGNMENT;
}

void *dzo_calloc(dzo_context *context, uint64_t count, size_t size) {
  void *pointer = dzo_alloc(context, count, size);
  if (pointer != NULL)
    memset(pointer, 0, (size_t)count * size);
  return pointer;
}

void *dzo_realloc(dzo_context *context, void *pointer, uint64_t count, size_t size) {
  void *moved = dzo_alloc(context, count, size);
  if (moved == NULL || pointer == NULL)
    return moved;
  const block *old = (const block *)(const void *)((char *)pointer - ALIGNMENT);
  uint64_t keep = old->bytes - ALIGNMENT;
  memcpy(moved, pointer, keep < count * size ? keep : (size_t)(count * size));
  dzo_free(pointer);
  return moved;
}

void dzo_free(void *pointer) {
  if (pointer == NULL)
    return;
  block *head = (block *)(void *)((char *)pointer - ALIGNMENT);
  dzo_context *context = head->context;
  __atomic_sub_fetch(&context->memory_used, head->bytes, __ATOMIC_RELAXED);
  context->allocator.release(context->allocator.user, head);
}
