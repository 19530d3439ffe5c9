/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Calls through a backend's table that count, keep to the limit, and note what went wrong. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "device/device.h"

/* One allocation, of device or of staging memory. */
struct dzo_unit_block {
  struct dzo_unit_block *next;
  void *pointer;
  uint64_t bytes;
  bool staging;
};

enum { ALIGNMENT = 256 };

/* ---- Opening and failing ----------------------------------------------------------------------
 */

dzo_status dzo_unit_open(const dzo_backend *backend, dzo_context *context, int index,
                         dzo_unit **out) {
  *out = NULL;
  dzo_unit *unit = NULL;
  DZO_TRY(backend->open(context, index, &unit));
  unit->backend = backend;
  unit->context = context;
  unit->index = index;
  if (context->gpu_memory > 0 && context->gpu_memory < unit->limit)
    unit->limit = context->gpu_memory;
  *out = unit;
  return DZO_OK;
}

static void release_block(dzo_unit *unit, struct dzo_unit_block *block) {
  if (block->staging) {
    unit->backend->release_staging(unit, block->pointer);
  } else {
    unit->backend->release(unit, block->pointer);
    unit->used -= block->bytes;
  }
  dzo_free(block);
}

void dzo_unit_close(dzo_unit *unit) {
  if (unit == NULL)
    return;
  while (unit->blocks != NULL) {
    struct dzo_unit_block *block = unit->blocks;
    unit->blocks = block->next;
    release_block(unit, block);
  }
  unit->backend->close(unit);
}

dzo_status dzo_unit_lose(dzo_unit *unit, const char *format, ...) {
  if (!unit->lost) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(unit->reason, sizeof unit->reason, format, arguments);
    va_end(arguments);
    unit->lost = true;
  }
  return dzo_fail(unit->context, DZO_E_DEVICE, "GPU %d failed: %s", unit->index, unit->reason);
}

dzo_status dzo_unit_begin(dzo_unit *unit) {
  uint64_t operation = ++unit->operations;
  if (unit->lost)
    return dzo_unit_lose(unit, "lost");
  if (unit->fail_at != 0 && operation >= unit->fail_at)
    return dzo_unit_lose(unit, "a failure made for a test, at operation %" PRIu64, operation);
  return DZO_OK;
}

/* ---- Memory -----------------------------------------------------------------------------------
 */

static dzo_status keep_block(dzo_unit *unit, void *pointer, uint64_t bytes, bool staging) {
  struct dzo_unit_block *block = dzo_alloc(unit->context, 1, sizeof *block);
  if (block == NULL)
    return DZO_E_MEMORY;
  *block = (struct dzo_unit_block){unit->blocks, pointer, bytes, staging};
  unit->blocks = block;
  return DZO_OK;
}

static void drop_block(dzo_unit *unit, const void *pointer) {
  if (pointer == NULL)
    return;
  for (struct dzo_unit_block **at = &unit->blocks; *at != NULL; at = &(*at)->next) {
    struct dzo_unit_block *block = *at;
    if (block->pointer != pointer)
      continue;
    *at = block->next;
    release_block(unit, block);
    return;
  }
}

/* Rounded up, so that `used` tells what the device gives. */
static bool total_bytes(uint64_t count, size_t size, uint64_t *bytes) {
  uint64_t total;
  if (__builtin_mul_overflow(count, (uint64_t)size, &total) || total > UINT64_MAX / 2)
    return false;
  *bytes = total == 0 ? ALIGNMENT : (total + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return true;
}

/* Bytes that the limit still allows. */
static uint64_t allowed(const dzo_unit *unit) {
  return unit->used < unit->limit ? unit->limit - unit->used : 0;
}

static dzo_status no_memory(dzo_unit *unit, uint64_t count, size_t size) {
  return dzo_fail(unit->context, DZO_E_MEMORY,
                  "out of GPU memory: %" PRIu64 " items of %zu bytes, with %" PRIu64 " of %" PRIu64
                  " bytes taken",
                  count, size, unit->used, unit->limit);
}

dzo_status dzo_unit_allocate(dzo_unit *unit, uint64_t count, size_t size, void **out) {
  *out = NULL;
  DZO_TRY(dzo_unit_begin(unit));
  uint64_t bytes;
  if (!total_bytes(count, size, &bytes) || bytes > allowed(unit))
    return no_memory(unit, count, size);
  void *pointer = NULL;
  dzo_status status = unit->backend->allocate(unit, bytes, &pointer);
  if (status == DZO_E_MEMORY)
    return no_memory(unit, count, size);
  DZO_TRY(status);
  status = keep_block(unit, pointer, bytes, false);
  if (status != DZO_OK) {
    unit->backend->release(unit, pointer);
    return status;
  }
  unit->used += bytes;
  if (unit->used > unit->peak)
    unit->peak = unit->used;
  *out = pointer;
  return DZO_OK;
}

void dzo_unit_release(dzo_unit *unit, void *pointer) { drop_block(unit, pointer); }

uint64_t dzo_unit_available(dzo_unit *unit) {
  if (unit->lost)
    return 0;
  uint64_t most = allowed(unit);
  uint64_t there = unit->backend->free_bytes(unit) / ALIGNMENT * ALIGNMENT;
  return most < there ? most : there;
}

dzo_status dzo_unit_allocate_staging(dzo_unit *unit, uint64_t count, size_t size, void **out) {
  *out = NULL;
  DZO_TRY(dzo_unit_begin(unit));
  uint64_t bytes;
  void *pointer = NULL;
  dzo_status status = DZO_E_MEMORY;
  if (total_bytes(count, size, &bytes))
    status = unit->backend->allocate_staging(unit, bytes, &pointer);
  if (status == DZO_E_MEMORY)
    return dzo_fail(unit->context, DZO_E_MEMORY,
                    "out of memory for copies to the GPU: %" PRIu64 " items of %zu bytes", count,
                    size);
  DZO_TRY(status);
  status = keep_block(unit, pointer, bytes, true);
  if (status != DZO_OK) {
    unit->backend->release_staging(unit, pointer);
    return status;
  }
  *out = pointer;
  return DZO_OK;
}

void dzo_unit_release_staging(dzo_unit *unit, void *pointer) { drop_block(unit, pointer); }

dzo_status dzo_unit_workspace(dzo_unit *unit, uint64_t bytes, void **out) {
  *out = NULL;
  if (unit->workspace == NULL || unit->workspace_bytes < bytes) {
    dzo_unit_workspace_release(unit);
    DZO_TRY(dzo_unit_allocate(unit, bytes, 1, &unit->workspace));
    unit->workspace_bytes = bytes;
  }
  *out = unit->workspace;
  return unit->lost ? dzo_unit_begin(unit) : DZO_OK;
}

void dzo_unit_workspace_release(dzo_unit *unit) {
  dzo_unit_release(unit, unit->workspace);
  unit->workspace = NULL;
  unit->workspace_bytes = 0;
}

dzo_status dzo_unit_staging(dzo_unit *unit, uint64_t bytes, void **out) {
  *out = NULL;
  if (unit->staging == NULL || unit->staging_bytes < bytes) {
    dzo_unit_staging_release(unit);
    DZO_TRY(dzo_unit_allocate_staging(unit, bytes, 1, &unit->staging));
    unit->staging_bytes = bytes;
  }
  *out = unit->staging;
  return unit->lost ? dzo_unit_begin(unit) : DZO_OK;
}

void dzo_unit_staging_release(dzo_unit *unit) {
  dzo_unit_release_staging(unit, unit->staging);
  unit->staging = NULL;
  unit->staging_bytes = 0;
}

dzo_status dzo_unit_mailbox(dzo_unit *unit, void **out) {
  *out = NULL;
  if (unit->mailbox == NULL)
    DZO_TRY(dzo_unit_allocate_staging(unit, DZO_MAILBOX, 1, &unit->mailbox));
  *out = unit->mailbox;
  return unit->lost ? dzo_unit_begin(unit) : DZO_OK;
}

bool dzo_unit_owns(dzo_unit *unit, const void *pointer) {
  return !unit->lost && pointer != NULL && unit->backend->owns(unit, pointer);
}

bool dzo_unit_pinned(dzo_unit *unit, const void *pointer) {
  return !unit->lost && pointer != NULL && unit->backend->pinned != NULL &&
         unit->backend->pinned(unit, pointer);
}

/* ---- Work -------------------------------------------------------------------------------------
 */

dzo_status dzo_unit_copy(dzo_unit *unit, int queue, void *to, const void *from, uint64_t bytes) {
  DZO_TRY(dzo_unit_begin(unit));
  return bytes == 0 ? DZO_OK : unit->backend->copy(unit, queue, to, from, bytes);
}

dzo_status dzo_unit_fill(dzo_unit *unit, int queue, void *pointer, int byte, uint64_t bytes) {
  DZO_TRY(dzo_unit_begin(unit));
  return bytes == 0 ? DZO_OK : unit->backend->fill(unit, queue, pointer, byte, bytes);
}

dzo_status dzo_unit_wait(dzo_unit *unit, int queue) {
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->wait(unit, queue);
}

dzo_status dzo_unit_mark(dzo_unit *unit, int queue, int mark) {
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->mark(unit, queue, mark);
}

dzo_status dzo_unit_queue_after(dzo_unit *unit, int queue, int mark) {
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->queue_after(unit, queue, mark);
}

dzo_status dzo_unit_wait_mark(dzo_unit *unit, int mark) {
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->wait_mark(unit, mark);
}

bool dzo_unit_reached(dzo_unit *unit, int mark) {
  return !unit->lost && unit->backend->reached != NULL && unit->backend->reached(unit, mark);
}

dzo_status dzo_unit_elapsed(dzo_unit *unit, int from, int to, double *milliseconds) {
  *milliseconds = 0;
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->elapsed(unit, from, to, milliseconds);
}

dzo_status dzo_unit_wait_all(dzo_unit *unit) {
  DZO_TRY(dzo_unit_begin(unit));
  return unit->backend->wait_all == NULL ? DZO_OK : unit->backend->wait_all(unit);
}
