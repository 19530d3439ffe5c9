/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/primitives.h"

/* CUB includes <iostream>, whose streams would have to be constructed by the C++ library: say that
 * libstdc++'s was included. CUB only wants the declarations. */
#include <ostream>
#define _GLIBCXX_IOSTREAM 1
#define CCCL_DISABLE_NVTX 1 /* no hooks for profilers, which an environment variable loads */

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "device/cuda.h"

/* CUB keeps what it knows of the devices in a static object, which is made at its first use,
 * without the C++ library's lock (-fno-threadsafe-statics). Nobody sorts or sums before asking for
 * sizes, so those questions are put one at a time. */
static int asking; /* accessed atomically */

/* Sizes depend on the device; returns the thread's, which is put back. */
static int begin_asking(const dzo_unit *unit) {
  int before = unit->index;
  while (__atomic_exchange_n(&asking, 1, __ATOMIC_ACQUIRE) != 0) {
  }
  (void)cudaGetDevice(&before);
  if (before != unit->index)
    (void)cudaSetDevice(unit->index);
  return before;
}

static uint64_t end_asking(const dzo_unit *unit, int before, size_t bytes) {
  (void)cudaGetLastError();
  if (before != unit->index)
    (void)cudaSetDevice(before);
  __atomic_store_n(&asking, 0, __ATOMIC_RELEASE);
  return bytes + 256;
}

/* CUB wants to know an array's type, and sizes depend on it: the widest is asked for. */
uint64_t dzo_gpu_sort_bytes(dzo_unit *unit, uint64_t count) {
  size_t bytes = 0;
  int before = begin_asking(unit);
  (void)cub::DeviceRadixSort::SortPairs(
      NULL, bytes, static_cast<const uint64_t *>(NULL), static_cast<uint64_t *>(NULL),
      static_cast<const uint64_t *>(NULL), static_cast<uint64_t *>(NULL), count, 0, 64);
  return end_asking(unit, before, bytes);
}

template <typename Value>
static dzo_status sort_pairs(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                             const uint64_t *keys_in, uint64_t *keys_out, const Value *values_in,
                             Value *values_out, uint64_t count, int begin, int end) {
  if (count == 0)
    return DZO_OK;
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  size_t size = bytes;
  return dzo_cuda_launched(
      unit, cub::DeviceRadixSort::SortPairs(scratch, size, keys_in, keys_out, values_in, values_out,
                                            count, begin, end, dzo_cuda_stream(unit, queue)));
}

dzo_status dzo_gpu_sort_u64_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint32_t *values_in, uint32_t *values_out, uint64_t count,
                                int begin, int end) {
  return sort_pairs(unit, queue, scratch, bytes, keys_in, keys_out, values_in, values_out, count,
                    begin, end);
}

dzo_status dzo_gpu_sort_u64_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint64_t *values_in, uint64_t *values_out, uint64_t count,
                                int begin, int end) {
  return sort_pairs(unit, queue, scratch, bytes, keys_in, keys_out, values_in, values_out, count,
                    begin, end);
}

uint64_t dzo_gpu_sort_keys_bytes(dzo_unit *unit, uint64_t count) {
  size_t bytes = 0;
  int before = begin_asking(unit);
  cub::DoubleBuffer<uint64_t> keys(NULL, NULL);
  (void)cub::DeviceRadixSort::SortKeys(NULL, bytes, keys, count, 0, 64);
  return end_asking(unit, before, bytes);
}

dzo_status dzo_gpu_sort_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                            uint64_t *keys, uint64_t *other, uint64_t count, int begin, int end,
                            uint64_t **sorted) {
  *sorted = keys;
  if (count == 0 || begin >= end)
    return DZO_OK;
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  size_t size = bytes;
  cub::DoubleBuffer<uint64_t> buffer(keys, other);
  cudaError_t error = cub::DeviceRadixSort::SortKeys(scratch, size, buffer, count, begin, end,
                                                     dzo_cuda_stream(unit, queue));
  *sorted = buffer.Current();
  return dzo_cuda_launched(unit, error);
}

uint64_t dzo_gpu_sum_bytes(dzo_unit *unit, uint64_t count) {
  size_t bytes = 0;
  int before = begin_asking(unit);
  (void)cub::DeviceScan::ExclusiveSum(NULL, bytes, static_cast<const uint64_t *>(NULL),
                                      static_cast<uint64_t *>(NULL), count);
  return end_asking(unit, before, bytes);
}

template <typename Number>
static dzo_status exclusive_sum(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const Number *in, Number *out, uint64_t count) {
  if (count == 0)
    return DZO_OK;
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  size_t size = bytes;
  return dzo_cuda_launched(unit, cub::DeviceScan::ExclusiveSum(scratch, size, in, out, count,
                                                               dzo_cuda_stream(unit, queue)));
}

dzo_status dzo_gpu_exclusive_sum_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint32_t *in, uint32_t *out, uint64_t count) {
  return exclusive_sum(unit, queue, scratch, bytes, in, out, count);
}

dzo_status dzo_gpu_exclusive_sum_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint64_t *in, uint64_t *out, uint64_t count) {
  return exclusive_sum(unit, queue, scratch, bytes, in, out, count);
}
