/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The emulated device and its errors. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static uint64_t operations;
static cudaError_t sticky;
static thread_local cudaError_t last;

void simt_lock() { pthread_mutex_lock(&lock); }
void simt_unlock() { pthread_mutex_unlock(&lock); }

static uint64_t number_of(const char *name) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : 0;
}

cudaError_t simt_note(cudaError_t error) {
  if (error != cudaSuccess)
    last = error;
  return error;
}

cudaError_t simt_operation() {
  uint64_t fail_at = number_of("SIMT_FAIL_AT");
  operations++;
  if (fail_at != 0 && operations >= fail_at)
    sticky = cudaErrorLaunchFailure;
  return simt_note(sticky);
}

cudaError_t cudaGetLastError() {
  cudaError_t error = sticky != cudaSuccess ? sticky : last;
  last = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return sticky != cudaSuccess ? sticky : last; }

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "cudaSuccess";
  case cudaErrorMemoryAllocation:
    return "cudaErrorMemoryAllocation";
  case cudaErrorNoDevice:
    return "cudaErrorNoDevice";
  case cudaErrorLaunchFailure:
    return "cudaErrorLaunchFailure";
  case cudaErrorNotReady:
    return "cudaErrorNotReady";
  default:
    return "cudaErrorUnknown";
  }
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "no error";
  case cudaErrorInvalidValue:
    return "invalid argument";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidConfiguration:
    return "invalid configuration argument";
  case cudaErrorNoDevice:
    return "no CUDA-capable device is detected";
  case cudaErrorInvalidDevice:
    return "invalid device ordinal";
  case cudaErrorNotReady:
    return "device not ready";
  case cudaErrorLaunchFailure:
    return "unspecified launch failure";
  case cudaErrorCooperativeLaunchTooLarge:
    return "too many blocks in cooperative launch";
  default:
    return "unknown error";
  }
}

static bool is_missing() { return number_of("SIMT_NO_GPU") != 0; }

cudaError_t cudaGetDeviceCount(int *count) {
  *count = is_missing() ? 0 : 1;
  return simt_note(is_missing() ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device) {
  *out = cudaDeviceProp();
  if (device != 0 || is_missing())
    return simt_note(cudaErrorInvalidDevice);
  (void)snprintf(out->name, sizeof out->name, "SIMT shim");
  size_t available;
  cudaMemGetInfo(&available, &out->totalGlobalMem);
  out->sharedMemPerBlock = 48 * 1024;
  out->warpSize = 32;
  out->maxThreadsPerBlock = 1024;
  out->maxThreadsPerMultiProcessor = 2048;
  out->major = 9;
  out->multiProcessorCount = (int)simt_resident_blocks() / 2 + (int)simt_resident_blocks() % 2;
  out->l2CacheSize = 1 << 20;
  out->memoryBusWidth = 64;
  out->cooperativeLaunch = out->canMapHostMemory = out->unifiedAddressing = 1;
  out->asyncEngineCount = 2;
  out->concurrentKernels = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, device);
  *value = 0;
  if (error != cudaSuccess)
    return error;
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
    *value = properties.maxThreadsPerBlock;
    break;
  case cudaDevAttrWarpSize:
    *value = properties.warpSize;
    break;
  case cudaDevAttrMultiProcessorCount:
    *value = properties.multiProcessorCount;
    break;
  case cudaDevAttrL2CacheSize:
    *value = properties.l2CacheSize;
    break;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    *value = properties.maxThreadsPerMultiProcessor;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = properties.major;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    *value = SIMT_BLOCK_MEMORY;
    break;
  case cudaDevAttrCooperativeLaunch:
  case cudaDevAttrHostRegisterSupported:
    *value = 1;
    break;
  default:
    break;
  }
  return cudaSuccess;
}

static cudaError_t choose(int device) {
  return simt_note(is_missing()  ? cudaErrorNoDevice
                   : device == 0 ? cudaSuccess
                                 : cudaErrorInvalidDevice);
}
cudaError_t cudaSetDevice(int device) { return choose(device); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return choose(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = is_missing() ? 0 : 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
  simt_lock();
  simt_finish_all();
  sticky = cudaSuccess;
  simt_unlock();
  return cudaSuccess;
}
