/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A hash table on the GPU, used by kernels of one's own: how often is each number a square modulo a
 * prime? All threads count at once, in one table.
 *
 *   nvcc table_kernel.cu $(pkg-config --cflags --libs dzo) -o table_kernel
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>

#include <dzo/dzo.h>
#include <dzo/table_device.cuh>

static const uint32_t PRIME = 1000003;

static __global__ void count_squares(dzo_table_view view, uint32_t prime) {
  uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < prime)
    dzo_table_view_add(view, (uint32_t)((uint64_t)x * x % prime), 1u, (uint32_t *)NULL);
}

/* Forget the numbers that came but once. */
static __global__ void erase_single(dzo_table_view view, uint32_t prime) {
  uint32_t number = blockIdx.x * blockDim.x + threadIdx.x, count;
  if (number < prime && dzo_table_view_find(view, number, &count) == DZO_TABLE_FOUND && count == 1)
    dzo_table_view_erase(view, number, &count);
}

static dzo_status run(dzo_table *table) {
  unsigned blocks = (PRIME + 255) / 256;
  dzo_table_view view;
  dzo_status status = dzo_table_view_begin(table, &view);
  if (status != DZO_OK)
    return status;
  count_squares<<<blocks, 256>>>(view, PRIME);
  status = dzo_table_view_end(table); /* waits for the kernel, and counts */
  if (status == DZO_OK)
    printf("%" PRIu64 " squares modulo %" PRIu32 "\n", dzo_table_size(table), PRIME);
  if (status == DZO_OK)
    status = dzo_table_view_begin(table, &view);
  if (status != DZO_OK)
    return status;
  erase_single<<<blocks, 256>>>(view, PRIME);
  status = dzo_table_view_end(table);
  if (status == DZO_OK)
    printf("%" PRIu64 " of them twice\n", dzo_table_size(table));
  return status;
}

int main(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  dzo_context *context = NULL;
  dzo_status status = dzo_context_create(&options, &context);
  if (status != DZO_OK) {
    int count;
    const char *reason;
    dzo_devices(NULL, 0, &count, &reason);
    fprintf(stderr, "%s: %s\n", dzo_status_text(status), reason);
    return 4;
  }
  dzo_table_options plan;
  dzo_table_options_init(&plan);
  plan.key_bits = plan.value_bits = 32;
  plan.capacity = PRIME; /* kernels do not make it grow */
  dzo_table *table = NULL;
  status = dzo_table_create(context, &plan, &table);
  if (status == DZO_OK)
    status = run(table);
  if (status != DZO_OK)
    fprintf(stderr, "%s: %s\n", dzo_status_text(status), dzo_context_message(context));
  dzo_table_destroy(table);
  dzo_context_destroy(context);
  return status == DZO_OK ? 0 : 1;
}
