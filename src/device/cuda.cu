/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* NVIDIA's GPUs as devices. A call that fails for any reason but a lack of memory leaves the unit
 * lost: such errors stick to the process, and no answer may be taken from a GPU that gave one. */
#include "device/cuda.h"

#include <string.h>

#include "base/memory.h"

enum { OLDEST = 75 }; /* compute capability 7.5, the oldest that the compiler knows */

struct cuda_unit {
  dzo_unit unit;
  int before; /* the calling thread's device, put back after a launch */
  cudaStream_t queues[DZO_QUEUES];
  cudaEvent_t marks[DZO_MARKS];
};

/* ---- Whose device is current ------------------------------------------------------------------
 */

/* The device that CUDA's calls mean belongs to the thread, thus to the program around the library:
 * it is put back after each call. */
static int enter(int index) {
  int before = index;
  if (cudaGetDevice(&before) != cudaSuccess || before == index)
    return index;
  (void)cudaSetDevice(index);
  return before;
}

static void leave(int index, int before) {
  if (before != index)
    (void)cudaSetDevice(before);
}

static dzo_status check(dzo_unit *unit, cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return DZO_OK;
  (void)cudaGetLastError();
  if (error == cudaErrorMemoryAllocation)
    return dzo_fail(unit->context, DZO_E_MEMORY, "out of GPU memory (%s)", what);
  return dzo_unit_lose(unit, "%s: %s", what, cudaGetErrorString(error));
}

/* check(a CUDA call on the unit's device) */
#define ON_DEVICE(unit, call, what)                                                                \
  do {                                                                                             \
    int on_device_before = enter((unit)->index);                                                   \
    cudaError_t on_device_error = (call);                                                          \
    dzo_status on_device_status = check(unit, on_device_error, what);                              \
    leave((unit)->index, on_device_before);                                                        \
    return on_device_status;                                                                       \
  } while (0)

static cuda_unit *of(dzo_unit *unit) { return reinterpret_cast<cuda_unit *>(unit); }

/* ---- Which devices there are ------------------------------------------------------------------
 */

static bool usable(int index) {
  int major = 0, minor = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) == cudaSuccess &&
         10 * major + minor >= OLDEST;
}

static const char *why_none(cudaError_t error) {
  int driver = 0;
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    return "the NVIDIA driver sees no GPU";
  if (error != cudaErrorInsufficientDriver)
    return cudaGetErrorString(error);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "there is no NVIDIA driver";
  return "the NVIDIA driver is older than the CUDA runtime in this program";
}

static int cuda_count(const char **reason) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count < 1) {
    *reason = why_none(error);
    (void)cudaGetLastError();
    return 0;
  }
  for (int i = 0; i < count; i++) {
    if (!usable(i))
      continue;
    *reason = "";
    return count;
  }
  *reason = "the GPU is older than compute capability 7.5";
  return 0;
}

static void cuda_describe(int index, dzo_device_info *out) {
  memset(out, 0, sizeof *out);
  out->kind = DZO_DEVICE_CUDA;
  out->index = index;
  cudaDeviceProp properties;
  if (!usable(index) || cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    (void)cudaGetLastError();
    return;
  }
  out->processors = properties.multiProcessorCount;
  out->memory = properties.totalGlobalMem;
  memcpy(out->name, properties.name, sizeof out->name - 1);
}

static void cuda_versions(int *runtime, int *driver) {
  *runtime = CUDART_VERSION;
  *driver = 0;
  if (cudaDriverGetVersion(driver) != cudaSuccess)
    (void)cudaGetLastError();
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* Has this program machine code for the device? */
static __global__ void probe() {}

static cudaError_t make_queues(cuda_unit *cuda) {
  for (int i = 0; i < DZO_QUEUES; i++) {
    cudaError_t error = cudaStreamCreateWithFlags(&cuda->queues[i], cudaStreamNonBlocking);
    if (error != cudaSuccess)
      return error;
  }
  for (int i = 0; i < DZO_MARKS; i++) {
    cudaError_t error = cudaEventCreate(&cuda->marks[i]);
    if (error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

static void close_on_device(cuda_unit *cuda) {
  for (int i = 0; i < DZO_MARKS; i++)
    if (cuda->marks[i] != NULL)
      (void)cudaEventDestroy(cuda->marks[i]);
  for (int i = 0; i < DZO_QUEUES; i++)
    if (cuda->queues[i] != NULL)
      (void)cudaStreamDestroy(cuda->queues[i]);
  (void)cudaGetLastError();
}

static cudaError_t open_on_device(cuda_unit *cuda, int index) {
  int cache = 0, shared = 0, shared_all = 0;
  size_t free = 0, total = 0;
  cudaFuncAttributes attributes = {};
  cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&cuda->unit.processors, cudaDevAttrMultiProcessorCount, index);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, index);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&shared_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, index);
  if (error == cudaSuccess)
    error = cudaMemGetInfo(&free, &total);
  if (error == cudaSuccess)
    error = make_queues(cuda);
  cuda->unit.cache = (uint64_t)cache;
  cuda->unit.shared = (uint64_t)shared;
  cuda->unit.shared_all = (uint64_t)shared_all;
  cuda->unit.limit = total;
  cuda->unit.chains =
      attributes.ptxVersion >= 90; /* that of all kernels, as they were built alike */
  return error;
}

static dzo_status cuda_open(dzo_context *context, int index, dzo_unit **out) {
  if (!usable(index))
    return dzo_fail(context, DZO_E_DEVICE, "it is older than compute capability 7.5");
  cuda_unit *cuda = static_cast<cuda_unit *>(dzo_calloc(context, 1, sizeof *cuda));
  if (cuda == NULL)
    return DZO_E_MEMORY;
  int before = enter(index);
  cudaError_t error = open_on_device(cuda, index);
  if (error != cudaSuccess) {
    close_on_device(cuda);
    leave(index, before);
    dzo_free(cuda);
    return dzo_fail(context, DZO_E_DEVICE, "%s", cudaGetErrorString(error));
  }
  leave(index, before);
  *out = &cuda->unit;
  return DZO_OK;
}

static void cuda_close(dzo_unit *unit) {
  int before = enter(unit->index);
  close_on_device(of(unit));
  leave(unit->index, before);
  dzo_free(unit);
}

/* ---- Memory -----------------------------------------------------------------------------------
 */

static dzo_status cuda_allocate(dzo_unit *unit, uint64_t bytes, void **out) {
  ON_DEVICE(unit, cudaMalloc(out, bytes), "allocating");
}

static void cuda_release(dzo_unit *unit, void *pointer) {
  int before = enter(unit->index);
  if (cudaFree(pointer) != cudaSuccess)
    (void)cudaGetLastError();
  leave(unit->index, before);
}

static uint64_t cuda_free_bytes(dzo_unit *unit) {
  size_t free = 0, total = 0;
  int before = enter(unit->index);
  if (cudaMemGetInfo(&free, &total) != cudaSuccess)
    (void)cudaGetLastError();
  leave(unit->index, before);
  return free;
}

static dzo_status cuda_allocate_staging(dzo_unit *unit, uint64_t bytes, void **out) {
  ON_DEVICE(unit, cudaHostAlloc(out, bytes, cudaHostAllocPortable), "allocating pinned memory");
}

static void cuda_release_staging(dzo_unit *unit, void *pointer) {
  int before = enter(unit->index);
  if (cudaFreeHost(pointer) != cudaSuccess)
    (void)cudaGetLastError();
  leave(unit->index, before);
}

static cudaMemoryType type_of(dzo_unit *unit, const void *pointer, int *device) {
  cudaPointerAttributes attributes;
  int before = enter(unit->index);
  cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
  if (error != cudaSuccess)
    (void)cudaGetLastError();
  leave(unit->index, before);
  *device = error == cudaSuccess ? attributes.device : -1;
  return error == cudaSuccess ? attributes.type : cudaMemoryTypeUnregistered;
}

static bool cuda_owns(dzo_unit *unit, const void *pointer) {
  int device;
  return type_of(unit, pointer, &device) == cudaMemoryTypeDevice && device == unit->index;
}

static bool cuda_pinned(dzo_unit *unit, const void *pointer) {
  int device;
  return type_of(unit, pointer, &device) == cudaMemoryTypeHost;
}

/* ---- Work -------------------------------------------------------------------------------------
 */

static dzo_status cuda_copy(dzo_unit *unit, int queue, void *to, const void *from, uint64_t bytes) {
  ON_DEVICE(unit, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(unit)->queues[queue]),
            "copying");
}

static dzo_status cuda_fill(dzo_unit *unit, int queue, void *pointer, int byte, uint64_t bytes) {
  ON_DEVICE(unit, cudaMemsetAsync(pointer, byte, bytes, of(unit)->queues[queue]), "filling");
}

static dzo_status cuda_wait(dzo_unit *unit, int queue) {
  ON_DEVICE(unit, cudaStreamSynchronize(of(unit)->queues[queue]), "waiting for its work");
}

static dzo_status cuda_mark(dzo_unit *unit, int queue, int mark) {
  ON_DEVICE(unit, cudaEventRecord(of(unit)->marks[mark], of(unit)->queues[queue]), "marking");
}

static dzo_status cuda_queue_after(dzo_unit *unit, int queue, int mark) {
  ON_DEVICE(unit, cudaStreamWaitEvent(of(unit)->queues[queue], of(unit)->marks[mark], 0),
            "ordering queues");
}

static dzo_status cuda_wait_mark(dzo_unit *unit, int mark) {
  ON_DEVICE(unit, cudaEventSynchronize(of(unit)->marks[mark]), "waiting for a mark");
}

/* An error shows when the mark is waited for. */
static bool cuda_reached(dzo_unit *unit, int mark) {
  int before = enter(unit->index);
  cudaError_t error = cudaEventQuery(of(unit)->marks[mark]);
  if (error != cudaSuccess)
    (void)cudaGetLastError();
  leave(unit->index, before);
  return error == cudaSuccess;
}

static dzo_status cuda_elapsed(dzo_unit *unit, int from, int to, double *milliseconds) {
  float time = 0;
  int before = enter(unit->index);
  cudaError_t error = cudaEventElapsedTime(&time, of(unit)->marks[from], of(unit)->marks[to]);
  dzo_status status = check(unit, error, "timing");
  leave(unit->index, before);
  *milliseconds = (double)time;
  return status;
}

static dzo_status cuda_wait_all(dzo_unit *unit) {
  ON_DEVICE(unit, cudaDeviceSynchronize(), "waiting for all work");
}

/* ---- Launching --------------------------------------------------------------------------------
 */

cudaStream_t dzo_cuda_stream(dzo_unit *unit, int queue) { return of(unit)->queues[queue]; }

extern "C" dzo_status dzo_cuda_may_launch(dzo_unit *unit) {
  DZO_TRY(dzo_unit_begin(unit));
  of(unit)->before = enter(unit->index);
  /* An error that the program around the library has not looked at would be taken for ours. */
  (void)cudaGetLastError();
  return DZO_OK;
}

extern "C" dzo_status dzo_cuda_launched(dzo_unit *unit, cudaError_t error) {
  dzo_status status = check(unit, error, "starting a kernel");
  leave(unit->index, of(unit)->before);
  return status;
}

extern "C" const dzo_backend dzo_backend_cuda = {.kind = DZO_DEVICE_CUDA,
                                                 .name = "cuda",
                                                 .count = cuda_count,
                                                 .describe = cuda_describe,
                                                 .open = cuda_open,
                                                 .close = cuda_close,
                                                 .allocate = cuda_allocate,
                                                 .release = cuda_release,
                                                 .free_bytes = cuda_free_bytes,
                                                 .allocate_staging = cuda_allocate_staging,
                                                 .release_staging = cuda_release_staging,
                                                 .copy = cuda_copy,
                                                 .fill = cuda_fill,
                                                 .wait = cuda_wait,
                                                 .mark = cuda_mark,
                                                 .queue_after = cuda_queue_after,
                                                 .wait_mark = cuda_wait_mark,
                                                 .elapsed = cuda_elapsed,
                                                 .owns = cuda_owns,
                                                 .wait_all = cuda_wait_all,
                                                 .versions = cuda_versions,
                                                 .pinned = cuda_pinned,
                                                 .reached = cuda_reached};
