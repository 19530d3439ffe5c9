/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_BASE_CONTEXT_H
#define DZO_BASE_CONTEXT_H

#include <stdarg.h>
#include <stdbool.h>

#include "dzo/context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dzo_context {
  dzo_allocator allocator;
  dzo_device device;
  int device_index;
  int threads;
  uint64_t memory;
  uint64_t gpu_memory;
  dzo_progress_fn progress;
  void *progress_user;
  uint64_t keep; /* bytes of freed blocks to keep, at most */
  uint64_t kept; /* bytes of those kept */
  struct dzo_block *kept_blocks;
  int kept_busy;        /* its lock */
  int cancelled;        /* accessed atomically */
  uint64_t memory_used; /* accessed atomically */
  uint64_t memory_peak; /* accessed atomically */
  int message_busy;     /* a lock: allocations may fail on several threads at once */
  char message[512];
  char notice[512];
  struct dzo_unit *gpu; /* device/context.c: opened at its first use */
  bool gpu_tried;       /* it was, or could not be */
};

/* A context without devices; dzo_context_create() is in device/context.c, which knows them. */
dzo_status dzo_context_make(const dzo_context_options *options, dzo_context **out);
void dzo_context_free(dzo_context *context);

/* Record what went wrong and hand `status` back: return dzo_fail(context, DZO_E_FORMAT, "%s:%llu:
 * ...", ...). Safe in a team; the last message stays. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 3, 4)))
#endif
dzo_status
dzo_fail(dzo_context *context, dzo_status status, const char *format, ...);

/* Record what the running call had to do differently than asked. Calling thread only; the first
 * notice stays, since what follows comes of it. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 2, 3)))
#endif
void
dzo_notice(dzo_context *context, const char *format, ...);

/* Clear message and notice; every public function that takes a context begins with it. */
void dzo_begin(dzo_context *context);

/* Report progress and poll for cancellation: DZO_OK or DZO_E_CANCELLED. Calling thread only. */
dzo_status dzo_progress(dzo_context *context, const char *phase, uint64_t done, uint64_t total);

/* Has a cancel been asked for? Any thread. */
bool dzo_is_cancelled(const dzo_context *context);

#define DZO_TRY(expression)                                                                        \
  do {                                                                                             \
    dzo_status dzo_try_status = (expression);                                                      \
    if (dzo_try_status != DZO_OK)                                                                  \
      return dzo_try_status;                                                                       \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
