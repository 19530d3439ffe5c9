/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A processor and its memory behind one table of functions: the CPU, and each CUDA GPU. Engines
 * move data and order work through this; kernels are launched in .cu files (device/cuda.h). */
#ifndef DZO_DEVICE_DEVICE_H
#define DZO_DEVICE_DEVICE_H

#include "base/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened processor. It belongs to one context and, like it, serves one call at a time. */
typedef struct dzo_unit dzo_unit;

/* Work of one queue runs in order; different queues overlap. Queue 0 is the one engines solve on.
 */
enum { DZO_QUEUES = 4, DZO_MARKS = 40 };

typedef struct dzo_backend {
  dzo_device kind; /* DZO_DEVICE_CPU or DZO_DEVICE_CUDA */
  const char *name;
  /* How many there are; *reason says why none, or is "". Never fails hard. */
  int (*count)(const char **reason);
  void (*describe)(int index, dzo_device_info *out);
  dzo_status (*open)(dzo_context *context, int index, dzo_unit **out);
  void (*close)(dzo_unit *unit);
  /* Device memory, aligned to 256 bytes. DZO_E_MEMORY where there is no more. */
  dzo_status (*allocate)(dzo_unit *unit, uint64_t bytes, void **out);
  void (*release)(dzo_unit *unit, void *pointer);
  uint64_t (*free_bytes)(dzo_unit *unit);
  /* Host memory that copies at full speed while kernels run (pinned). */
  dzo_status (*allocate_staging)(dzo_unit *unit, uint64_t bytes, void **out);
  void (*release_staging)(dzo_unit *unit, void *pointer);
  /* Asynchronous where the host side is staging memory; to, from: device, host or staging. */
  dzo_status (*copy)(dzo_unit *unit, int queue, void *to, const void *from, uint64_t bytes);
  dzo_status (*fill)(dzo_unit *unit, int queue, void *pointer, int byte, uint64_t bytes);
  /* Block the caller until the queue is empty. */
  dzo_status (*wait)(dzo_unit *unit, int queue);
  /* A mark stands in a queue behind the work so far; another queue, or the caller, can wait for it.
   */
  dzo_status (*mark)(dzo_unit *unit, int queue, int mark);
  dzo_status (*queue_after)(dzo_unit *unit, int queue, int mark);
  dzo_status (*wait_mark)(dzo_unit *unit, int mark);
  /* Milliseconds between two marks that have been reached. */
  dzo_status (*elapsed)(dzo_unit *unit, int from, int to, double *milliseconds);
  /* Is this device memory of the unit, or memory that the driver moves there (and not host memory)?
   */
  bool (*owns)(dzo_unit *unit, const void *pointer);
  /* Block until all work on the device is done, that of the program around the library included.
   * NULL: nothing to wait for. */
  dzo_status (*wait_all)(dzo_unit *unit);
  /* Of the runtime that was built in and the driver that was found, as 1000 * major + 10 * minor; 0
   * for none. NULL: neither. */
  void (*versions)(int *runtime, int *driver);
  /* Is this host memory that copies at full speed? May be NULL: none is known to be. */
  bool (*pinned)(dzo_unit *unit, const void *pointer);
  /* Has a mark that was set been reached? May be NULL: it is not known. */
  bool (*reached)(dzo_unit *unit, int mark);
} dzo_backend;

/* What every unit begins with; backends keep more behind it. */
struct dzo_unit {
  const dzo_backend *backend;
  dzo_context *context;
  int index;
  int processors;      /* multiprocessors of a GPU */
  uint64_t limit;      /* bytes of device memory it may take: the context's gpu_memory, or all */
  uint64_t used;       /* bytes taken */
  uint64_t peak;       /* most ever taken */
  uint64_t cache;      /* bytes of its second-level cache */
  uint64_t shared;     /* bytes of shared memory that one block may have */
  uint64_t shared_all; /* and that all blocks of a multiprocessor have together */
  bool chains;         /* it can make a kernel ready while the one before still runs */
  bool lost;           /* an error stuck; every call now returns DZO_E_DEVICE */
  char reason[256];    /* why it is lost */
  uint64_t operations; /* calls so far, for tests that make the k-th fail */
  uint64_t fail_at;    /* 0: none; else the operation that is made to fail, and all after it */
  struct dzo_unit_block *blocks; /* what was allocated and not yet released */
  void *workspace;
  uint64_t workspace_bytes;
  void *staging;
  uint64_t staging_bytes;
  void *mailbox;
  double bus_rate; /* bytes a second from pinned memory to the device; 0: nobody has measured it */
};

/* Open and close; close also releases what is still allocated. */
dzo_status dzo_unit_open(const dzo_backend *backend, dzo_context *context, int index,
                         dzo_unit **out);
void dzo_unit_close(dzo_unit *unit); /* NULL is fine */

/* Calls through the table that check `lost`, count, keep to the limit and note what went wrong.
 * A failure of the device itself sets `lost` and is DZO_E_DEVICE; running out is DZO_E_MEMORY. */
dzo_status dzo_unit_allocate(dzo_unit *unit, uint64_t count, size_t size, void **out);
void dzo_unit_release(dzo_unit *unit, void *pointer); /* NULL is fine */
uint64_t dzo_unit_available(dzo_unit *unit);          /* bytes that may still be taken */
dzo_status dzo_unit_allocate_staging(dzo_unit *unit, uint64_t count, size_t size, void **out);
void dzo_unit_release_staging(dzo_unit *unit, void *pointer);
dzo_status dzo_unit_copy(dzo_unit *unit, int queue, void *to, const void *from, uint64_t bytes);
dzo_status dzo_unit_fill(dzo_unit *unit, int queue, void *pointer, int byte, uint64_t bytes);
dzo_status dzo_unit_wait(dzo_unit *unit, int queue);
dzo_status dzo_unit_mark(dzo_unit *unit, int queue, int mark);
dzo_status dzo_unit_queue_after(dzo_unit *unit, int queue, int mark);
dzo_status dzo_unit_wait_mark(dzo_unit *unit, int mark);
bool dzo_unit_reached(dzo_unit *unit, int mark); /* false where it is not known; never waits */
dzo_status dzo_unit_elapsed(dzo_unit *unit, int from, int to, double *milliseconds);
bool dzo_unit_owns(dzo_unit *unit, const void *pointer);
bool dzo_unit_pinned(dzo_unit *unit, const void *pointer);
dzo_status dzo_unit_wait_all(dzo_unit *unit);

/* For backends and launches. Begin an operation: DZO_E_DEVICE if the unit is lost, or becomes so
 * because this operation is the one that a test wants to fail. */
dzo_status dzo_unit_begin(dzo_unit *unit);
/* The device failed: the unit is lost from now on. Is DZO_E_DEVICE. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 2, 3)))
#endif
dzo_status
dzo_unit_lose(dzo_unit *unit, const char *format, ...);

/* Workspace: one block of device memory that grows and stays with the unit, so that repeated solves
 * allocate nothing. Only one user at a time. */
dzo_status dzo_unit_workspace(dzo_unit *unit, uint64_t bytes, void **out);
void dzo_unit_workspace_release(dzo_unit *unit);
/* The same of staging memory, which is slow to get. */
dzo_status dzo_unit_staging(dzo_unit *unit, uint64_t bytes, void **out);
void dzo_unit_staging_release(dzo_unit *unit);
/* Staging memory of this many bytes for what a call reads when it is done; the next call of anybody
 * may use it. */
enum { DZO_MAILBOX = 4096 };
dzo_status dzo_unit_mailbox(dzo_unit *unit, void **out);

/* The GPU of a context: opened at its first use, NULL where the context has none or lost it (the
 * context's notice then says why). */
dzo_unit *dzo_context_gpu(dzo_context *context);
/* The same where nothing else will do: DZO_E_DEVICE where there is none, DZO_E_DEVICE_FAILED where
 * it is lost; the reason is the message, not the notice. */
dzo_status dzo_context_need_gpu(dzo_context *context, dzo_unit **out);

/* The CUDA backend; where the library is built without CUDA, one that counts none and says so. */
extern const dzo_backend dzo_backend_cuda;
extern const dzo_backend dzo_backend_cpu;

#ifdef __cplusplus
}
#endif
#endif
