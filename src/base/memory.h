/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Memory through the context's allocator, counted, so that a test can fail any allocation and a
 * plan can be held to its budget. All blocks are aligned to 64 bytes; large ones ask for huge
 * pages, which random access into big arrays needs. */
#ifndef DZO_BASE_MEMORY_H
#define DZO_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "dzo/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* count * size bytes; NULL when that overflows or there is no memory, and the context then says how
 * much was asked for. A request of 0 bytes gives a block that may not be touched, never NULL. */
void *dzo_alloc(dzo_context *context, uint64_t count, size_t size);
/* The same, zeroed. */
void *dzo_calloc(dzo_context *context, uint64_t count, size_t size);
/* Move to a block of count * size bytes, keeping what fits; the old block lives on if this gives
 * NULL. */
void *dzo_realloc(dzo_context *context, void *pointer, uint64_t count, size_t size);
/* NULL is fine. Large blocks are kept for the next allocation, up to the context's `keep`. */
void dzo_free(void *pointer);
/* Bytes of memory this machine has, 0 if it does not say. */
uint64_t dzo_physical_memory(void);
/* An allocator that takes from a context, for one that works beside it. */
dzo_allocator dzo_memory_inside(dzo_context *context);
/* Give the blocks kept back to the allocator. */
void dzo_memory_release_kept(dzo_context *context);

#ifdef __cplusplus
}
#endif
#endif
