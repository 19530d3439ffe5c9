/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CUDA backend of a library built without CUDA: it counts no device and says why, so that none
 * of its other functions is ever called. */
#include "device/device.h"

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
