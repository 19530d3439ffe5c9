/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The part of CUDA that this project uses, on the CPU: in front of the real header on the include
 * path, for tests only. */
#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H

#include "simt.h"

#define DZO_SIMT 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __noinline__ /* as "nothing" it is also right in __attribute__((__noinline__)) */
/* One block at a time runs on a real thread. */
#define __shared__ static thread_local

#define threadIdx (simt_here.thread)
#define blockIdx (simt_here.block)
#define blockDim (simt_here.block_size)
#define gridDim (simt_here.grid_size)
static const int warpSize = 32;

#include "simt_types.h"

#include "simt_api.h"
#include "simt_intrinsics.h"
#include "simt_view.h"

#endif
