/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "device/device.h"

/* One backend's devices, of which those that cannot be used have no processors. */
static void list_devices(const dzo_backend *backend, const char **reason, dzo_device_info *devices,
                         int capacity, int *count) {
  int here = backend->count(reason);
  for (int i = 0; i < here; i++) {
    dzo_device_info info = {.kind = backend->kind, .index = i};
    backend->describe(i, &info);
    if (info.processors == 0)
      continue;
    if (*count < capacity)
      devices[*count] = info;
    *count += 1;
  }
}

void dzo_devices(dzo_device_info *devices, int capacity, int *count, const char **reason) {
  const char *no_cpu;
  *count = 0;
  list_devices(&dzo_backend_cpu, &no_cpu, devices, capacity, count);
  list_devices(&dzo_backend_cuda, reason, devices, capacity, count);
}
