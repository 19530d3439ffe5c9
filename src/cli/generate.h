/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_CLI_GENERATE_H
#define DZO_CLI_GENERATE_H

#include "cli/cli.h"
#include "cli/json.h"
#include "dzo/knapsack.h"

typedef struct generate_settings {
  cli_common common;
  uint64_t scale;
  double degree;
  const char *weights;
  const char *format;
  const char *output;
  uint64_t max_clique;
  double inter_clique;
  double keep;
  /* Keys */
  uint64_t count;
  const char *distribution;
  const char *type;
  uint64_t range;    /* 0: all of the type */
  uint64_t distinct; /* 0: not given */
  double exponent;
  /* Knapsacks; `range` too */
  const char *kind; /* the class */
  uint64_t items;
  uint64_t part, parts; /* the capacity is this part of the weights */
} generate_settings;

extern const char *const generate_distributions[];
extern const char *const generate_key_types[];

extern const char *const generate_classes[]; /* by dzo_knapsack_class */

/* Seconds of the steps; generate is less than 0 where what is made is written at once. */
typedef struct generate_times {
  double generate, write, verify, total;
} generate_times;

/* The end of each report: who worked, how long, and whether it was verified. */
void generate_end_json(cli_json *json, const cli_call *call, const char *device,
                       const generate_times *times);

/* dzo generate knapsack. */
cli_exit generate_knapsack(cli_call *call);
/* dzo generate keys. */
cli_exit generate_keys(cli_call *call);

#endif
