/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/context.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/parallel.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

enum { MAX_THREADS = 1024 };

const char *dzo_version(void) {
  return TEXT(DZO_VERSION_MAJOR) "." TEXT(DZO_VERSION_MINOR) "." TEXT(DZO_VERSION_PATCH);
}

void dzo_context_options_init(dzo_context_options *options) {
  *options = (dzo_context_options){.size = sizeof *options};
}

static void *system_allocate(void *user, size_t bytes) {
  (void)user;
  return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void system_release(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

dzo_status dzo_context_make(const dzo_context_options *options, dzo_context **out) {
  dzo_context_options o;
  dzo_context_options_init(&o);
  if (!dzo_options_read(&o, sizeof o, options) || o.threads < 0 || o.threads > MAX_THREADS ||
      (o.allocator.allocate == NULL) != (o.allocator.release == NULL))
    return DZO_E_ARGUMENT;
  if (o.device != DZO_DEVICE_AUTO && o.device != DZO_DEVICE_CPU && o.device != DZO_DEVICE_CUDA &&
      o.device != DZO_DEVICE_HYBRID)
    return DZO_E_ARGUMENT;

  dzo_allocator allocator = o.allocator;
  if (allocator.allocate == NULL)
    allocator = (dzo_allocator){NULL, system_allocate, system_release};
  dzo_context *context = allocator.allocate(allocator.user, sizeof *context);
  if (context == NULL)
    return DZO_E_MEMORY;
  *context = (dzo_context){
      .allocator = allocator,
      .device = o.device,
      .device_index = o.device_index,
      .threads = o.threads > 0 ? o.threads : dzo_processor_count(),
      .memory = o.memory > 0 ? o.memory : dzo_physical_memory(),
      .gpu_memory = o.gpu_memory,
      .progress = o.progress,
      .progress_user = o.progress_user,
      .keep = o.keep,
  };
  *out = context;
  return DZO_OK;
}

void dzo_context_free(dzo_context *context) {
  dzo_memory_release_kept(context);
  dzo_allocator allocator = context->allocator;
  allocator.release(allocator.user, context);
}

const char *dzo_context_message(const dzo_context *context) { return context->message; }

const char *dzo_context_notice(const dzo_context *context) { return context->notice; }

int dzo_context_threads(const dzo_context *context) { return context->threads; }

void dzo_context_cancel(dzo_context *context) {
  __atomic_store_n(&context->cancelled, 1, __ATOMIC_RELAXED);
}

void dzo_context_resume(dzo_context *context) {
  __atomic_store_n(&context->cancelled, 0, __ATOMIC_RELAXED);
}

uint64_t dzo_context_memory_used(const dzo_context *context) {
  return __atomic_load_n(&context->memory_used, __ATOMIC_RELAXED);
}

uint64_t dzo_context_memory_peak(const dzo_context *context) {
  return __atomic_load_n(&context->memory_peak, __ATOMIC_RELAXED);
}

dzo_status dzo_fail(dzo_context *context, dzo_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  while (__atomic_exchange_n(&context->message_busy, 1, __ATOMIC_ACQUIRE) != 0) {
  }
  (void)vsnprintf(context->message, sizeof context->message, format, arguments);
  __atomic_store_n(&context->message_busy, 0, __ATOMIC_RELEASE);
  va_end(arguments);
  return status;
}

void dzo_notice(dzo_context *context, const char *format, ...) {
  if (context->notice[0] != '\0')
    return;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(context->notice, sizeof context->notice, format, arguments);
  va_end(arguments);
}

void dzo_begin(dzo_context *context) {
  context->message[0] = '\0';
  context->notice[0] = '\0';
}

bool dzo_is_cancelled(const dzo_context *context) {
  return __atomic_load_n(&context->cancelled, __ATOMIC_RELAXED) != 0;
}

dzo_status dzo_progress(dzo_context *context, const char *phase, uint64_t done, uint64_t total) {
  if (context->progress != NULL &&
      context->progress(context->progress_user, phase, done, total) != 0)
    dzo_context_cancel(context);
  if (dzo_is_cancelled(context))
    return dzo_fail(context, DZO_E_CANCELLED, "cancelled during %s", phase);
  return DZO_OK;
}
