/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sorting and prefix sums on a GPU, by NVIDIA's CUB. All arrays are device memory; `scratch` is the
 * caller's, of the size that the _bytes function tells for that unit. */
#ifndef DZO_DEVICE_PRIMITIVES_H
#define DZO_DEVICE_PRIMITIVES_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stable radix sort by the bits begin .. end - 1 of the keys. Input and output arrays must not
 * overlap. */
uint64_t dzo_gpu_sort_bytes(dzo_unit *unit, uint64_t count);
dzo_status dzo_gpu_sort_u64_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint32_t *values_in, uint32_t *values_out, uint64_t count,
                                int begin, int end);
dzo_status dzo_gpu_sort_u64_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                const uint64_t *keys_in, uint64_t *keys_out,
                                const uint64_t *values_in, uint64_t *values_out, uint64_t count,
                                int begin, int end);

/* The same for keys alone. Both arrays are overwritten; *sorted is the one that holds the result.
 * The scratch is small, whatever the count. */
uint64_t dzo_gpu_sort_keys_bytes(dzo_unit *unit, uint64_t count);
dzo_status dzo_gpu_sort_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                            uint64_t *keys, uint64_t *other, uint64_t count, int begin, int end,
                            uint64_t **sorted);

/* out[i] = in[0] + ... + in[i - 1], modulo 2^64; may be in place where the types agree. */
uint64_t dzo_gpu_sum_bytes(dzo_unit *unit, uint64_t count);
dzo_status dzo_gpu_exclusive_sum_u32(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint32_t *in, uint32_t *out, uint64_t count);
dzo_status dzo_gpu_exclusive_sum_u64(dzo_unit *unit, int queue, void *scratch, uint64_t bytes,
                                     const uint64_t *in, uint64_t *out, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
