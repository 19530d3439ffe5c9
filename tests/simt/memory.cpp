/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Device and pinned memory: blocks of host memory that the shim remembers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>

#include "runtime.h"

enum : size_t { LARGE = 1 << 20 };
static const size_t total_bytes = (size_t)4 << 30;

namespace {
struct memory_block {
  size_t bytes;
  cudaMemoryType type;
  bool registered; /* the caller's own memory */
};
typedef std::map<uintptr_t, memory_block> memory_blocks;
} // namespace

static memory_blocks *blocks = new memory_blocks();
static size_t used;

/* The block that `pointer` is in, or at whose end it is. */
static memory_blocks::iterator block_of(const void *pointer) {
  memory_blocks::iterator at = blocks->upper_bound((uintptr_t)pointer);
  if (at == blocks->begin())
    return blocks->end();
  --at;
  return (uintptr_t)pointer - at->first <= at->second.bytes ? at : blocks->end();
}

cudaMemoryType simt_memory_type(const void *pointer) {
  memory_blocks::iterator at = block_of(pointer);
  return at == blocks->end() ? cudaMemoryTypeUnregistered : at->second.type;
}

void simt_check_copy(const void *pointer, size_t bytes) {
  memory_blocks::iterator at = block_of(pointer);
  /* What begins at its end is other memory, of the host's. */
  uintptr_t end = at != blocks->end() ? at->first + at->second.bytes : 0;
  if ((uintptr_t)pointer < end && (uintptr_t)pointer + bytes > end)
    simt_die("a copy or fill of %zu bytes reaches beyond its block of %zu", bytes,
             at->second.bytes);
}

void simt_check_pointer(const char *kernel, int parameter, const void *pointer) {
  simt_lock();
  if (pointer != NULL && simt_memory_type(pointer) == cudaMemoryTypeUnregistered)
    simt_die("kernel %s: parameter %d is a pointer to memory a GPU does not reach", kernel,
             parameter);
  simt_unlock();
}

void simt_check_range(const char *what, const void *pointer, uint64_t bytes) {
  simt_lock();
  memory_blocks::iterator at = block_of(pointer);
  if (bytes > 0 &&
      (at == blocks->end() || (uintptr_t)pointer + bytes > at->first + at->second.bytes))
    simt_die("%s: an array of %llu bytes is not wholly in device memory", what,
             (unsigned long long)bytes);
  simt_unlock();
}

/* Fresh memory; for large blocks ThreadSanitizer takes longer over malloc() than over pages. */
static void *fresh(size_t bytes) {
  void *memory = NULL;
#ifdef SIMT_TSAN
  if (bytes >= LARGE) {
    memory = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
  }
#endif
#ifdef SIMT_ASAN
  bytes -= bytes > 0; /* it fences in each allocation */
#endif
  /* Nothing else begins where it ends: a pointer to there tells which it is of. */
  return posix_memalign(&memory, 256, bytes + 1) == 0 ? memory : NULL;
}

static void end(void *memory, size_t bytes) {
#ifdef SIMT_TSAN
  if (bytes >= LARGE) {
    munmap(memory, bytes + 1);
    return;
  }
#endif
  (void)bytes;
  free(memory);
}

/* Garbage; of a large block only in its beginning and its end, or it takes too long. */
static void poison(char *memory, size_t bytes) {
  if (bytes <= 2 * LARGE) {
    memset(memory, 0xcb, bytes);
    return;
  }
  memset(memory, 0xcb, LARGE);
  memset(memory + bytes - LARGE, 0xcb, LARGE);
}

static cudaError_t take(void **out, size_t bytes, cudaMemoryType type) {
  *out = NULL;
  simt_lock();
  cudaError_t error = simt_operation();
  size_t size = bytes == 0 ? 256 : (bytes + 255) / 256 * 256;
  if (error == cudaSuccess && type == cudaMemoryTypeDevice && size > total_bytes - used)
    error = cudaErrorMemoryAllocation;
  void *memory = error == cudaSuccess ? fresh(bytes) : NULL;
  if (error == cudaSuccess && memory == NULL)
    error = cudaErrorMemoryAllocation;
  if (error == cudaSuccess) {
    poison((char *)memory, bytes);
    (*blocks)[(uintptr_t)memory] = {bytes, type, false};
    if (type == cudaMemoryTypeDevice)
      used += size;
    *out = memory;
  }
  simt_note(error);
  simt_unlock();
  return error;
}

static cudaError_t give_back(void *pointer, cudaMemoryType type, bool registered) {
  if (pointer == NULL)
    return cudaSuccess;
  simt_lock();
  simt_finish_all();
  cudaError_t error = cudaSuccess;
  memory_blocks::iterator at = blocks->find((uintptr_t)pointer);
  if (at == blocks->end() || at->second.type != type || at->second.registered != registered) {
    error = cudaErrorInvalidValue;
  } else {
    if (type == cudaMemoryTypeDevice)
      used -= at->second.bytes == 0 ? 256 : (at->second.bytes + 255) / 256 * 256;
    size_t bytes = at->second.bytes;
    blocks->erase(at);
    if (!registered)
      end(pointer, bytes);
  }
  simt_note(error);
  simt_unlock();
  return error;
}

cudaError_t cudaMalloc(void **out, size_t bytes) { return take(out, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaFree(void *pointer) { return give_back(pointer, cudaMemoryTypeDevice, false); }
cudaError_t cudaMallocHost(void **out, size_t bytes) {
  return take(out, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned) { return cudaMallocHost(out, bytes); }
cudaError_t cudaFreeHost(void *pointer) { return give_back(pointer, cudaMemoryTypeHost, false); }

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned) {
  simt_lock();
  cudaError_t error = simt_operation();
  if (error == cudaSuccess && simt_memory_type(pointer) != cudaMemoryTypeUnregistered)
    error = cudaErrorHostMemoryAlreadyRegistered;
  if (error == cudaSuccess)
    (*blocks)[(uintptr_t)pointer] = {bytes, cudaMemoryTypeHost, true};
  simt_note(error);
  simt_unlock();
  return error;
}

cudaError_t cudaHostUnregister(void *pointer) {
  return give_back(pointer, cudaMemoryTypeHost, true);
}

cudaError_t cudaHostGetDevicePointer(void **out, void *pointer, unsigned) {
  simt_lock();
  bool pinned = simt_memory_type(pointer) == cudaMemoryTypeHost;
  simt_unlock();
  *out = pinned ? pointer : NULL;
  return simt_note(pinned ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  simt_lock();
  *available = total_bytes - used;
  *total = total_bytes;
  simt_unlock();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *pointer) {
  simt_lock();
  cudaMemoryType type = simt_memory_type(pointer);
  simt_unlock();
  void *same = const_cast<void *>(pointer);
  *out = {type, type == cudaMemoryTypeUnregistered ? -2 : 0,
          type == cudaMemoryTypeUnregistered ? NULL : same,
          type == cudaMemoryTypeDevice ? NULL : same};
  return cudaSuccess;
}
