/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU as a device: its device memory is memory, and each operation is done when it returns. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "device/device.h"

enum { ALIGNMENT = 256 };

typedef struct cpu_unit {
  dzo_unit unit;
  double marks[DZO_MARKS]; /* seconds */
} cpu_unit;

/* In front of an aligned block: where the memory it lies in begins. */
typedef struct block_head {
  void *start;
} block_head;

static int cpu_count(const char **reason) {
  *reason = "";
  return 1;
}

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

static void cpu_describe(int index, dzo_device_info *out) {
  *out = (dzo_device_info){.kind = DZO_DEVICE_CPU,
                           .index = index,
                           .processors = dzo_processor_count(),
                           .memory = dzo_physical_memory()};
  cpu_name(out->name, sizeof out->name);
}

static dzo_status cpu_open(dzo_context *context, int index, dzo_unit **out) {
  (void)index;
  cpu_unit *cpu = dzo_calloc(context, 1, sizeof *cpu);
  if (cpu == NULL)
    return DZO_E_MEMORY;
  cpu->unit.processors = context->threads;
  cpu->unit.limit = context->memory > 0 ? context->memory : UINT64_MAX;
  *out = &cpu->unit;
  return DZO_OK;
}

static void cpu_close(dzo_unit *unit) { dzo_free(unit); }

static dzo_status cpu_allocate(dzo_unit *unit, uint64_t bytes, void **out) {
  char *start = dzo_alloc(unit->context, bytes + ALIGNMENT + sizeof(block_head), 1);
  if (start == NULL)
    return DZO_E_MEMORY;
  uintptr_t after_head = (uintptr_t)start + sizeof(block_head);
  uintptr_t padding = (ALIGNMENT - after_head % ALIGNMENT) % ALIGNMENT;
  char *block = start + sizeof(block_head) + padding;
  ((block_head *)(void *)block)[-1].start = start;
  *out = block;
  return DZO_OK;
}

static void cpu_release(dzo_unit *unit, void *pointer) {
  (void)unit;
  dzo_free(((block_head *)pointer)[-1].start);
}

static uint64_t cpu_free_bytes(dzo_unit *unit) {
  (void)unit;
  uint64_t memory = dzo_physical_memory();
  return memory > 0 ? memory : UINT64_MAX;
}

static dzo_status cpu_copy(dzo_unit *unit, int queue, void *to, const void *from, uint64_t bytes) {
  (void)unit;
  (void)queue;
  memmove(to, from, (size_t)bytes);
  return DZO_OK;
}

static dzo_status cpu_fill(dzo_unit *unit, int queue, void *pointer, int byte, uint64_t bytes) {
  (void)unit;
  (void)queue;
  memset(pointer, byte, (size_t)bytes);
  return DZO_OK;
}

static dzo_status cpu_wait(dzo_unit *unit, int queue) {
  (void)unit;
  (void)queue;
  return DZO_OK;
}

static dzo_status cpu_mark(dzo_unit *unit, int queue, int mark) {
  (void)queue;
  ((cpu_unit *)unit)->marks[mark] = dzo_clock();
  return DZO_OK;
}

static dzo_status cpu_queue_after(dzo_unit *unit, int queue, int mark) {
  (void)unit;
  (void)queue;
  (void)mark;
  return DZO_OK;
}

static dzo_status cpu_wait_mark(dzo_unit *unit, int mark) {
  (void)unit;
  (void)mark;
  return DZO_OK;
}

static dzo_status cpu_elapsed(dzo_unit *unit, int from, int to, double *milliseconds) {
  const cpu_unit *cpu = (const cpu_unit *)unit;
  *milliseconds = 1e3 * (cpu->marks[to] - cpu->marks[from]);
  return DZO_OK;
}

/* Its device memory cannot be told from other memory. */
static bool cpu_owns(dzo_unit *unit, const void *pointer) {
  (void)unit;
  (void)pointer;
  return false;
}

const dzo_backend dzo_backend_cpu = {.kind = DZO_DEVICE_CPU,
                                     .name = "cpu",
                                     .count = cpu_count,
                                     .describe = cpu_describe,
                                     .open = cpu_open,
                                     .close = cpu_close,
                                     .allocate = cpu_allocate,
                                     .release = cpu_release,
                                     .free_bytes = cpu_free_bytes,
                                     .allocate_staging = cpu_allocate,
                                     .release_staging = cpu_release,
                                     .copy = cpu_copy,
                                     .fill = cpu_fill,
                                     .wait = cpu_wait,
                                     .mark = cpu_mark,
                                     .queue_after = cpu_queue_after,
                                     .wait_mark = cpu_wait_mark,
                                     .elapsed = cpu_elapsed,
                                     .owns = cpu_owns};
