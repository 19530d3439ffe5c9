/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CUDA backend of a library built without CUDA: it counts no device and says why, so that none
 * of its other functions is ever called. */
#include "device/device.h"
#include "device/primitives.h"
#include "device/rates.h"

static int no_count(const char **reason) {
  *reason = "this dzo was built without CUDA";
  return 0;
}

static dzo_status no_open(dzo_context *context, int index, dzo_unit **out) {
  (void)index;
  *out = NULL;
  return dzo_fail(context, DZO_E_DEVICE, "this dzo was built without CUDA");
}

const dzo_backend dzo_backend_cuda = {
    .kind = DZO_DEVICE_CUDA, .name = "cuda", .count = no_count, .open = no_open};

dzo_status dzo_gpu_read_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  (void)unit;
  (void)bytes;
  *rate = 0;
  return DZO_E_DEVICE;
}

dzo_status dzo_gpu_random_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  return dzo_gpu_read_rate(unit, bytes, rate);
}

dzo_status dzo_gpu_bus_rate(dzo_unit *unit, uint64_t bytes, double *rate) {
  return dzo_gpu_read_rate(unit, bytes, rate);
}

uint64_t dzo_gpu_sort_keys_bytes(dzo_unit *unit, uint64_t count) {
  (void)unit;
  (void)count;
  return 0;
}

uint64_t dzo_gpu_sum_bytes(dzo_unit *unit, uint64_t count) {
  (void)unit;
  (void)count;
  return 0;
}
