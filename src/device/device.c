/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "dzo/context.h"

static void cpu_name(char *name, size_t capacity) {
  (void)snprintf(name, capacity, "CPU");
  FILE *info = fopen("/proc/cpuinfo", "r");
  if (info == NULL)
    return;
  char line[256];
  while (fgets(line, sizeof line, info) != NULL) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || colon == NULL)
      continue;
    const char *model = colon + 1 + strspn(colon + 1, " \t");
    (void)snprintf(name, capacity, "%.*s", (int)strcspn(model, "\n"), model);
    break;
  }
  (void)fclose(info);
}

void dzo_devices(dzo_device_info *devices, int capacity, int *count, const char **reason) {
  *count = 1;
  *reason = "this version of dzo has no GPU engine";
  if (capacity < 1)
    return;
  devices[0] = (dzo_device_info){
      .kind = DZO_DEVICE_CPU, .processors = dzo_processor_count(), .memory = dzo_physical_memory()};
  cpu_name(devices[0].name, sizeof devices[0].name);
}
