/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Stands for src/device/cuda.h: the same names, for the CPU. */
#ifndef DZO_DEVICE_CUDA_H
#define DZO_DEVICE_CUDA_H

#include <cuda_runtime.h>

#include <utility>

#include "device/device.h"

cudaStream_t dzo_cuda_stream(dzo_unit *unit, int queue);
extern "C" dzo_status dzo_cuda_launched(dzo_unit *unit, cudaError_t error);
extern "C" dzo_status dzo_cuda_may_launch(dzo_unit *unit);

#define DZO_LAUNCH(unit, queue, kernel, blocks, threads, ...)                                      \
  simt_start(unit, queue, #kernel, kernel, (unsigned)(blocks), (unsigned)(threads), false, 0,      \
             ##__VA_ARGS__)
#define DZO_LAUNCH_TOGETHER(unit, queue, kernel, blocks, threads, ...)                             \
  simt_start(unit, queue, #kernel, kernel, (unsigned)(blocks), (unsigned)(threads), true, 0,       \
             ##__VA_ARGS__)
#define DZO_LAUNCH_CHAINED DZO_LAUNCH
#define DZO_LAUNCH_TOGETHER_CHAINED DZO_LAUNCH_TOGETHER
#define DZO_LAUNCH_SHARED(unit, queue, kernel, blocks, threads, bytes, ...)                        \
  simt_start(unit, queue, #kernel, kernel, (unsigned)(blocks), (unsigned)(threads), false,         \
             (size_t)(bytes), ##__VA_ARGS__)
#define DZO_BLOCK_MEMORY(type, name) type *name = (type *)simt_block_memory()

template <typename... Parameters> struct simt_call {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  /* Copies of the arguments, for each thread, are none of ThreadSanitizer's business. */
  template <size_t... at>
  __attribute__((no_sanitize("thread"))) void run(std::index_sequence<at...>) const {
    kernel(std::get<at>(arguments)...);
  }
  static void run_thread(const void *call) {
    ((const simt_call *)call)->run(std::index_sequence_for<Parameters...>());
  }
  static void destroy(const void *call) { delete (const simt_call *)call; }
};

template <typename T>
static inline void simt_check_argument(const char *kernel, int at, const T &x) {
  if constexpr (std::is_pointer<T>::value)
    simt_check_pointer(kernel, at, (const void *)x);
}

template <typename... Parameters, typename... Arguments>
static inline dzo_status simt_start(dzo_unit *unit, int queue, const char *name,
                                    void (*kernel)(Parameters...), unsigned blocks,
                                    unsigned threads, bool together, size_t block_memory,
                                    Arguments... arguments) {
  if (dzo_cuda_may_launch(unit) != DZO_OK)
    return DZO_E_DEVICE;
  typedef simt_call<Parameters...> call_type;
  call_type *call = new call_type{kernel, {static_cast<Parameters>(arguments)...}};
  int at = 0;
  std::apply([&](const auto &...x) { (simt_check_argument(name, at++, x), ...); }, call->arguments);
  simt_launch launch = {name, call_type::run_thread, call, blocks, threads, together, block_memory};
  (void)at;
  return dzo_cuda_launched(
      unit, simt_launch_in(dzo_cuda_stream(unit, queue), &launch, call_type::destroy));
}

template <typename Kernel>
static inline unsigned dzo_resident_blocks(dzo_unit *, Kernel, unsigned) {
  return simt_resident_blocks();
}
#define DZO_RESIDENT_BLOCKS(unit, kernel, threads) dzo_resident_blocks(unit, kernel, threads)

#define DZO_WARP_ALL 0xffffffffu

static inline void dzo_after_previous() {}
static inline void dzo_grid_sync(SIMT_FROM) {
  simt_block_barrier(SIMT_GRID_SYNC, false, SIMT_WHERE);
}
static inline unsigned dzo_lane() { return simt_here.thread.x & 31u; }
static inline unsigned dzo_lanes_below() { return (1u << dzo_lane()) - 1; }
template <typename T> static inline T dzo_load_shared(const T *p) { return simt_load(p); }
template <typename T> static inline void dzo_store_shared(T *p, T x) { simt_store(p, x); }
template <typename T> static inline T dzo_poll_shared(const T *p) { return simt_load(p); }
template <typename T> static inline T dzo_load_stale(const T *p) { return simt_load(p); }
template <typename T> static inline T dzo_load_block(const T *p) { return simt_load(p); }
template <typename T> static inline void dzo_store_block(T *p, T x) { simt_store(p, x); }

#endif
