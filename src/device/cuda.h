/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* For .cu files only: launching kernels, and the few device functions that CUDA spells with inline
 * assembly or cooperative groups. tests/simt gives the same names for the CPU, so that the same .cu
 * files are tested where there is no GPU. Rules that this needs: every lane of a warp reaches a
 * collective (full mask); shared memory is static, 48 KB at most, or else DZO_BLOCK_MEMORY; what
 * threads share without a barrier goes through atomics or dzo_load_shared()/dzo_store_shared(). */
#ifndef DZO_DEVICE_CUDA_H
#define DZO_DEVICE_CUDA_H

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "device/device.h"

/* The stream of a queue, and what a launch came to: DZO_OK or, the unit being lost now,
 * DZO_E_DEVICE. Both are in device/cuda.cu. */
cudaStream_t dzo_cuda_stream(dzo_unit *unit, int queue);
extern "C" dzo_status dzo_cuda_launched(dzo_unit *unit, cudaError_t error);
/* May this launch go ahead? (Not lost, no failure injected.) */
extern "C" dzo_status dzo_cuda_may_launch(dzo_unit *unit);

/* DZO_LAUNCH(unit, queue, kernel, blocks, threads, arguments...) is a dzo_status. */
#define DZO_LAUNCH(unit, queue, kernel, blocks, threads, ...)                                      \
  (dzo_cuda_may_launch(unit) != DZO_OK                                                             \
       ? DZO_E_DEVICE                                                                              \
       : (kernel<<<(unsigned)(blocks), (unsigned)(threads), 0, dzo_cuda_stream(unit, queue)>>>(    \
              __VA_ARGS__),                                                                        \
          dzo_cuda_launched(unit, cudaGetLastError())))

/* The same, each block with `bytes` of shared memory beside its static one, at most unit->shared in
 * all. In the kernel, DZO_BLOCK_MEMORY(type, name); declares `type *name`, which is where they
 * begin, aligned to 16 bytes; once in a kernel. */
#define DZO_LAUNCH_SHARED(unit, queue, kernel, blocks, threads, bytes, ...)                        \
  (dzo_cuda_may_launch(unit) != DZO_OK ||                                                          \
           dzo_cuda_launched(unit, dzo_allow_shared(unit, kernel, (size_t)(bytes))) != DZO_OK      \
       ? DZO_E_DEVICE                                                                              \
       : (kernel<<<(unsigned)(blocks), (unsigned)(threads), (size_t)(bytes),                       \
                   dzo_cuda_stream(unit, queue)>>>(__VA_ARGS__),                                   \
          dzo_cuda_launched(unit, cudaGetLastError())))
#define DZO_BLOCK_MEMORY(type, name)                                                               \
  extern __shared__ uint4 dzo_block_memory[];                                                      \
  type *name = reinterpret_cast<type *>(dzo_block_memory)

template <typename Kernel>
static inline cudaError_t dzo_allow_shared(dzo_unit *unit, Kernel kernel, size_t bytes) {
  int before = unit->index;
  (void)cudaGetDevice(&before);
  if (before != unit->index)
    (void)cudaSetDevice(unit->index);
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (before != unit->index)
    (void)cudaSetDevice(before);
  return error;
}

/* All blocks run at once and may call dzo_grid_sync(); `blocks` at most DZO_RESIDENT_BLOCKS. */
#define DZO_LAUNCH_TOGETHER(unit, queue, kernel, blocks, threads, ...)                             \
  dzo_launch(unit, queue, true, false, kernel, (unsigned)(blocks), (unsigned)(threads), __VA_ARGS__)

/* The same two for kernels that follow each other in a queue, of which the GPU makes one ready
 * while it is still at work on the one before. All that such a kernel does stands behind
 * dzo_after_previous(), which every thread calls. */
#define DZO_LAUNCH_CHAINED(unit, queue, kernel, blocks, threads, ...)                              \
  dzo_launch(unit, queue, false, true, kernel, (unsigned)(blocks), (unsigned)(threads), __VA_ARGS__)
#define DZO_LAUNCH_TOGETHER_CHAINED(unit, queue, kernel, blocks, threads, ...)                     \
  dzo_launch(unit, queue, true, true, kernel, (unsigned)(blocks), (unsigned)(threads), __VA_ARGS__)

template <typename... Parameters, typename... Arguments>
static inline dzo_status dzo_launch(dzo_unit *unit, int queue, bool together, bool chained,
                                    void (*kernel)(Parameters...), unsigned blocks,
                                    unsigned threads, Arguments... arguments) {
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (chained && unit->chains) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (together) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count++].val.cooperative = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = dzo_cuda_stream(unit, queue);
  config.attrs = attributes;
  config.numAttrs = count;
  return dzo_cuda_launched(
      unit, cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

/* Blocks of this many threads that the GPU holds at once. */
template <typename Kernel>
static inline unsigned dzo_resident_blocks(dzo_unit *unit, Kernel kernel, unsigned threads) {
  int each = 0, before = unit->index;
  (void)cudaGetDevice(&before);
  if (before != unit->index)
    (void)cudaSetDevice(unit->index);
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, (int)threads, 0) != cudaSuccess)
    each = 1;
  if (before != unit->index)
    (void)cudaSetDevice(before);
  return (unsigned)(each > 0 ? each : 1) * (unsigned)unit->processors;
}
#define DZO_RESIDENT_BLOCKS(unit, kernel, threads) dzo_resident_blocks(unit, kernel, threads)

#define DZO_WARP_ALL 0xffffffffu

/* Wait until all that came before in the queue is done; those after may be made ready. */
__device__ __forceinline__ void dzo_after_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void dzo_grid_sync() { cooperative_groups::this_grid().sync(); }
__device__ __forceinline__ unsigned dzo_lane() { return threadIdx.x & 31u; }
/* Bits of the lanes below this one. */
__device__ __forceinline__ unsigned dzo_lanes_below() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
/* As CUDA has it from compute capability 8.0 on. */
__device__ __forceinline__ unsigned __reduce_or_sync(unsigned mask, unsigned bits) {
  for (int distance = 16; distance > 0; distance /= 2)
    bits |= __shfl_xor_sync(mask, bits, distance);
  return bits;
}
__device__ __forceinline__ unsigned __reduce_add_sync(unsigned mask, unsigned x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(mask, x, distance);
  return x;
}
__device__ __forceinline__ unsigned __reduce_min_sync(unsigned mask, unsigned x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x = min(x, __shfl_xor_sync(mask, x, distance));
  return x;
}
__device__ __forceinline__ unsigned __reduce_max_sync(unsigned mask, unsigned x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x = max(x, __shfl_xor_sync(mask, x, distance));
  return x;
}
#endif
/* Relaxed accesses to what other threads may touch now; past the first-level cache. */
template <typename T> __device__ __forceinline__ T dzo_load_shared(const T *p) { return __ldcg(p); }
template <typename T> __device__ __forceinline__ void dzo_store_shared(T *p, T x) { __stcg(p, x); }
/* A word that this thread waits for another block to change: the compiler may take an access of the
 * above for one that nobody interferes with, and keep half of what it read before. */
template <typename T> __device__ __forceinline__ T dzo_poll_shared(const T *p) {
  return *(const volatile T *)p;
}
/* Through the first-level cache: what others change now may be seen as it was. */
template <typename T> __device__ __forceinline__ T dzo_load_stale(const T *p) { return __ldca(p); }
/* The same for words in a block's __shared__ memory. */
template <typename T> __device__ __forceinline__ T dzo_load_block(const T *p) {
  return *(const volatile T *)p;
}
template <typename T> __device__ __forceinline__ void dzo_store_block(T *p, T x) {
  *(volatile T *)p = x;
}
__device__ __forceinline__ uint4 dzo_load_block(const uint4 *p) {
  uint4 x;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"((unsigned)__cvta_generic_to_shared(p))
               : "memory");
  return x;
}
__device__ __forceinline__ ulonglong2 dzo_load_block(const ulonglong2 *p) {
  ulonglong2 x;
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];"
               : "=l"(x.x), "=l"(x.y)
               : "r"((unsigned)__cvta_generic_to_shared(p))
               : "memory");
  return x;
}

#endif
