/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_CONTEXT_H
#define DZO_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "dzo/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DZO_VERSION_MAJOR 0
#define DZO_VERSION_MINOR 1
#define DZO_VERSION_PATCH 0

/* "0.1.0", of the library that runs, which may be newer than the header. */
DZO_API const char *dzo_version(void);

/* Where an engine runs. Same call, same answer, byte for byte.
 *   AUTO    the GPU where there is one and the work is worth its while, otherwise the CPU; never
 *           fails for want of a GPU
 *   CPU     the CPU's threads alone
 *   CUDA    the NVIDIA GPU number device_index
 *   HYBRID  that GPU and the CPU's threads on one problem, or the better of them alone where both
 *           together would not be faster
 * Where the GPU is missing, CUDA and HYBRID fail with DZO_E_DEVICE when the context is created, and
 * dzo_devices() tells the reason. What needs more GPU memory than there is, or than gpu_memory
 * allows, is streamed through the GPU in pieces. A GPU that fails during a call is given up: that
 * call and the later ones with this context are done by the CPU, as dzo_context_notice() says. */
typedef enum dzo_device {
  DZO_DEVICE_AUTO = 0,
  DZO_DEVICE_CPU = 1,
  DZO_DEVICE_CUDA = 2,
  DZO_DEVICE_HYBRID = 3
} dzo_device;

/* Memory hooks. Both are called from any thread. `allocate` returns at least `bytes` bytes aligned
 * to 64, or NULL; `release` takes what `allocate` returned, never NULL. */
typedef struct dzo_allocator {
  void *user;
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *pointer);
} dzo_allocator;

/* Called now and then from the calling thread of a long operation: `phase` is a short word ("read",
 * "build", "solve"), `done` of `total` units are complete (total 0: unknown). Return 0 to go on;
 * anything else cancels the operation, which then returns DZO_E_CANCELLED. It must return: other
 * threads may be at work for the call, so no longjmp() and no C++ exception may leave it. */
typedef int (*dzo_progress_fn)(void *user, const char *phase, uint64_t done, uint64_t total);

/* A struct that begins with its `size` may be shorter than the library's (defaults for the rest) or
 * longer (zeros behind), so that callers built with older and newer headers are served. */
typedef struct dzo_context_options {
  size_t size;             /* sizeof(dzo_context_options), set by dzo_context_options_init() */
  dzo_device device;       /* default DZO_DEVICE_AUTO */
  int device_index;        /* which GPU, default 0 */
  int threads;             /* CPU threads, 1..1024; 0 (default): one for each processor */
  uint64_t memory;         /* bytes of host memory to plan for; 0 (default): what the machine has */
  uint64_t gpu_memory;     /* bytes of GPU memory to take at most, in all calls of this context
                            * together; 0 (default): what is free. A caller's own device memory
                            * does not count */
  dzo_allocator allocator; /* zeros (default): the C library's */
  dzo_progress_fn progress; /* NULL (default): none */
  void *progress_user;
  uint64_t keep; /* bytes of freed memory to keep for the next allocations, since fresh memory costs
                  * a page fault each page; 0 (default): none. Not in dzo_context_memory_used() */
} dzo_context_options;

/* The processors, the memory, and the last error. One context serves one call at a time; different
 * contexts are independent and may be used from different threads. Each thread that calls has its
 * own helper threads, which end with it. After a fork() the child may use what no call was using,
 * but no GPU, which CUDA does not hand down: there the CPU does the work. */
typedef struct dzo_context dzo_context;

/* Fill `options` with the defaults. */
DZO_API void dzo_context_options_init(dzo_context_options *options);

/* Create a context; `options` NULL means the defaults. On failure *out is NULL. DZO_E_ARGUMENT,
 * DZO_E_MEMORY, DZO_E_DEVICE. */
DZO_API dzo_status dzo_context_create(const dzo_context_options *options, dzo_context **out);

/* Free a context; objects made with it must be gone before. NULL is fine. */
DZO_API void dzo_context_destroy(dzo_context *context);

/* What went wrong in the last failing call: one line, with file, line and value where there are
 * any. "" if nothing did. Valid until the next call with this context. */
DZO_API const char *dzo_context_message(const dzo_context *context);

/* What the last call did otherwise than asked, though it succeeded: one line, such as "the GPU
 * failed (reason); solved on the CPU". "" if nothing. Valid until the next call with this context.
 */
DZO_API const char *dzo_context_notice(const dzo_context *context);

/* CPU threads this context uses. */
DZO_API int dzo_context_threads(const dzo_context *context);

/* Ask the running call to stop soon with DZO_E_CANCELLED. Safe in a signal handler and from any
 * thread. The request stays until dzo_context_resume(). */
DZO_API void dzo_context_cancel(dzo_context *context);
DZO_API void dzo_context_resume(dzo_context *context);

/* Bytes of host memory this context has allocated now, and the most it ever had. */
DZO_API uint64_t dzo_context_memory_used(const dzo_context *context);
DZO_API uint64_t dzo_context_memory_peak(const dzo_context *context);

/* One processor dzo could use. */
typedef struct dzo_device_info {
  dzo_device kind; /* DZO_DEVICE_CPU or DZO_DEVICE_CUDA */
  int index;       /* of its kind */
  int processors;  /* CPU threads or GPU multiprocessors */
  uint64_t memory; /* bytes */
  char name[128];
} dzo_device_info;

/* Write up to `capacity` devices to `devices` and how many there are to *count; the CPU is always
 * the first. *reason says why there is no GPU, or is "" if there is one. Never fails hard. */
DZO_API void dzo_devices(dzo_device_info *devices, int capacity, int *count, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
