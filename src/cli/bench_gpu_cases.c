/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The graphs of dzo bench msf in GPU memory. */
#include <string.h>

#include "cli/bench_gpu.h"

#define NARROW DZO_WEIGHT_U32
#define WIDE DZO_WEIGHT_F64

static const gpu_case full[] = {
    {"rmat", 20, GPU_BY_NEIGHBOUR, NARROW, true, 0.45},
    {"rmat", 22, GPU_BY_NEIGHBOUR, NARROW, true, 1.4},
    {"rmat", 24, GPU_BY_NEIGHBOUR, NARROW, true, 5.0},
    {"rmat", 24, GPU_BY_WEIGHT, NARROW, true, 4.0},
    {"ssca2", 20, GPU_BY_NEIGHBOUR, NARROW, true, 0.75},
    {"ssca2", 22, GPU_BY_NEIGHBOUR, NARROW, true, 2.6},
    {"ssca2", 24, GPU_BY_NEIGHBOUR, NARROW, true, 10},
    {"ssca2", 24, GPU_BY_WEIGHT, NARROW, true, 8.5},
    {"uniform", 22, GPU_BY_NEIGHBOUR, NARROW, true, 1.5},
    {"grid", 24, GPU_BY_NEIGHBOUR, NARROW, true, 2.2},
    {"rmat", 22, GPU_BY_NEIGHBOUR, WIDE, false, 2.1},
    {"rmat", 24, GPU_BY_NEIGHBOUR, WIDE, false, 7.5},
    {"ssca2", 24, GPU_BY_NEIGHBOUR, WIDE, false, 15},
    {"uniform", 22, GPU_BY_NEIGHBOUR, WIDE, false, 2.25},
    {"grid", 24, GPU_BY_NEIGHBOUR, WIDE, false, 3.3},
    {"ssca2", 24, GPU_RENUMBERED, NARROW, true, 0},
    {"ssca2", 24, GPU_COMPRESSED, NARROW, true, 0},
    {"rmat", 24, GPU_RENUMBERED, NARROW, true, 0},
    {"rmat", 24, GPU_COMPRESSED, NARROW, true, 0},
    {"rmat", 27, GPU_BY_NEIGHBOUR, NARROW, false, 55},
};

/* What --quick and --scale run. */
static const gpu_case any_scale[] = {
    {"rmat", 0, GPU_BY_NEIGHBOUR, NARROW, true, 0},
    {"rmat", 0, GPU_BY_WEIGHT, NARROW, true, 0},
    {"rmat", 0, GPU_BY_NEIGHBOUR, WIDE, false, 0},
    {"ssca2", 0, GPU_BY_NEIGHBOUR, NARROW, true, 0},
    {"ssca2", 0, GPU_BY_WEIGHT, NARROW, true, 0},
    {"ssca2", 0, GPU_RENUMBERED, NARROW, true, 0},
    {"ssca2", 0, GPU_COMPRESSED, NARROW, true, 0},
    {"uniform", 0, GPU_BY_NEIGHBOUR, NARROW, true, 0},
    {"grid", 0, GPU_BY_NEIGHBOUR, NARROW, true, 0},
};

enum { QUICK_SCALE = 16 };

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

cli_exit gpu_each_case(const bench_settings *settings, gpu_visit visit, void *user) {
  bool any = settings->quick || settings->scale != 0;
  const gpu_case *cases = any ? any_scale : full;
  size_t count = any ? LENGTH(any_scale) : LENGTH(full);
  for (size_t i = 0; i < count; i++) {
    gpu_case which = cases[i];
    if (any)
      which.scale = settings->scale != 0 ? (unsigned)settings->scale : QUICK_SCALE;
    if (strcmp(settings->graph, "all") != 0 && strcmp(settings->graph, which.kind) != 0)
      continue;
    cli_exit result = visit(user, &which);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}
