/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _DEFAULT_SOURCE
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/context.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21, KEPT_MIN = 1 << 20 };

/* Stands in the 64 bytes before each block. */
typedef struct dzo_block {
  dzo_context *context;
  uint64_t bytes;         /* this header included */
  struct dzo_block *next; /* of those kept */
} block;

uint64_t dzo_physical_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

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

/* ---- Blocks kept ----------------------------------------------------------------------------- */

static void lock_kept(dzo_context *context) {
  while (__atomic_exchange_n(&context->kept_busy, 1, __ATOMIC_ACQUIRE) != 0) {
  }
}

static void unlock_kept(dzo_context *context) {
  __atomic_store_n(&context->kept_busy, 0, __ATOMIC_RELEASE);
}

/* The smallest kept block of at least `bytes`, if it is not much too large; else NULL. */
static block *take_kept(dzo_context *context, uint64_t bytes) {
  if (bytes < KEPT_MIN || context->keep == 0)
    return NULL;
  lock_kept(context);
  block **best = NULL;
  for (block **at = &context->kept_blocks; *at != NULL; at = &(*at)->next)
    if ((*at)->bytes >= bytes && (*at)->bytes <= bytes + bytes / 4 &&
        (best == NULL || (*at)->bytes < (*best)->bytes))
      best = at;
  block *found = best != NULL ? *best : NULL;
  if (found != NULL) {
    *best = found->next;
    context->kept -= found->bytes;
  }
  unlock_kept(context);
  return found;
}

static bool keep_block(dzo_context *context, block *b) {
  if (b->bytes < KEPT_MIN || context->keep == 0)
    return false;
  lock_kept(context);
  bool keeps = b->bytes <= context->keep && context->kept <= context->keep - b->bytes;
  if (keeps) {
    b->next = context->kept_blocks;
    context->kept_blocks = b;
    context->kept += b->bytes;
  }
  unlock_kept(context);
  return keeps;
}

/* Were there any? */
static bool release_kept(dzo_context *context) {
  lock_kept(context);
  block *list = context->kept_blocks;
  context->kept_blocks = NULL;
  context->kept = 0;
  unlock_kept(context);
  bool any = list != NULL;
  while (list != NULL) {
    block *next = list->next;
    context->allocator.release(context->allocator.user, list);
    list = next;
  }
  return any;
}

void dzo_memory_release_kept(dzo_context *context) { (void)release_kept(context); }

/* A block from those kept or from the allocator, which may need the kept ones' memory. */
static block *get_block(dzo_context *context, uint64_t bytes) {
  block *b = take_kept(context, bytes);
  if (b != NULL)
    return b;
  b = context->allocator.allocate(context->allocator.user, bytes);
  if (b == NULL && release_kept(context))
    b = context->allocator.allocate(context->allocator.user, bytes);
  if (b == NULL)
    return NULL;
  ask_for_huge_pages(b, bytes);
  *b = (block){context, bytes, NULL};
  return b;
}

/* ---- Allocation ------------------------------------------------------------------------------ */

void *dzo_alloc(dzo_context *context, uint64_t count, size_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || bytes > SIZE_MAX / 2) {
    dzo_fail(context, DZO_E_MEMORY, "cannot allocate %llu items of %llu bytes",
             (unsigned long long)count, (unsigned long long)size);
    return NULL;
  }
  bytes = (bytes + 2 * ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
  block *b = get_block(context, bytes);
  if (b == NULL) {
    dzo_fail(context, DZO_E_MEMORY, "cannot allocate %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  count_bytes(context, b->bytes);
  return (char *)b + ALIGNMENT;
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
  if (!keep_block(context, head))
    context->allocator.release(context->allocator.user, head);
}

static void *allocate_inside(void *user, size_t bytes) { return dzo_alloc(user, bytes, 1); }

static void release_inside(void *user, void *pointer) {
  (void)user;
  dzo_free(pointer);
}

dzo_allocator dzo_memory_inside(dzo_context *context) {
  return (dzo_allocator){context, allocate_inside, release_inside};
}
