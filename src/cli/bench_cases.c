/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The graphs of dzo bench msf. */
#include <string.h>

#include "cli/bench.h"

#define DEGREE 32.0
#define KEEP 0.7

#define RMAT(scale, sorted)                                                                        \
  { "rmat", DZO_GENERATE_RMAT, scale, DEGREE, KEEP, sorted }
#define SSCA2(scale, sorted)                                                                       \
  { "ssca2", DZO_GENERATE_SSCA2, scale, DEGREE, KEEP, sorted }
#define UNIFORM(scale, sorted)                                                                     \
  { "uniform", DZO_GENERATE_UNIFORM, scale, DEGREE, KEEP, sorted }
#define GRID(scale, sorted)                                                                        \
  { "grid", DZO_GENERATE_GRID, scale, DEGREE, KEEP, sorted }

static const bench_case full[] = {
    RMAT(20, false), RMAT(22, false),    RMAT(22, true),     SSCA2(20, false), SSCA2(22, false),
    SSCA2(22, true), UNIFORM(20, false), UNIFORM(22, false), GRID(22, false),
};

static const bench_case quick[] = {
    RMAT(16, false),  RMAT(18, false), RMAT(18, true),     SSCA2(16, false),
    SSCA2(18, false), SSCA2(18, true), UNIFORM(18, false), GRID(18, false),
};

/* What --scale runs. */
static const bench_case any_scale[] = {
    RMAT(0, false), RMAT(0, true),     SSCA2(0, false),
    SSCA2(0, true), UNIFORM(0, false), GRID(0, false),
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

cli_exit bench_each_case(const bench_settings *settings, bench_visit visit, void *user) {
  const bench_case *cases = settings->quick ? quick : full;
  size_t count = settings->quick ? LENGTH(quick) : LENGTH(full);
  if (settings->scale != 0) {
    cases = any_scale;
    count = LENGTH(any_scale);
  }
  for (size_t i = 0; i < count; i++) {
    bench_case which = cases[i];
    if (settings->scale != 0)
      which.scale = (unsigned)settings->scale;
    if (strcmp(settings->graph, "all") != 0 && strcmp(settings->graph, which.kind) != 0)
      continue;
    cli_exit result = visit(user, &which);
    if (result != CLI_DONE)
      return result;
  }
  return CLI_DONE;
}
