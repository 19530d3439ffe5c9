/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the files of the command `knapsack` share. */
#ifndef DZO_CLI_KNAPSACK_H
#define DZO_CLI_KNAPSACK_H

#include "cli/cli.h"
#include "cli/json.h"
#include "io/decimal.h"
#include "io/knapsack.h"

typedef struct knapsack_settings {
  cli_common common;
  const char *format;
  const char *capacity; /* NULL: that of the file */
  const char *algorithm;
  uint64_t fixed; /* 0: as suits the device */
  double time_limit;
  const char *output;
  const char *value_column, *weight_column, *count_column, *name_column;
} knapsack_settings;

/* Answers to the instances of a set, in arrays as dzo_knapsack_batch has them. */
typedef struct knapsack_job {
  cli_call *call;
  const knapsack_settings *settings;
  dzo_knapsack_set set;
  uint64_t *file_ends; /* [files] instances read when a file was done */
  uint8_t *outcomes;
  dzo_int128 *value_sums, *weight_sums, *bounds;
  int64_t *taken; /* [items of the set] */
  /* One instance alone: who solved it and how. */
  dzo_knapsack_algorithm algorithm;
  dzo_device device;
  uint64_t nodes, cells;
  char plan[256];
  char reason[256]; /* why some answers are not proved the best, or "" */
  bool verified;
  double read, solve, verify, write, total; /* seconds */
} knapsack_job;

/* ---- Words (knapsack_names.c) ---------------------------------------------------------------- */

extern const char *const cli_knapsack_formats[]; /* by dzo_knapsack_format */
extern const char *const cli_knapsack_algorithms[];
dzo_knapsack_format cli_knapsack_format(const char *name);
dzo_knapsack_algorithm cli_knapsack_algorithm(const char *name);
/* "optimal", "feasible", "infeasible" */
const char *cli_knapsack_outcome(uint8_t outcome);
/* A sum of values or weights of an instance as decimal text. */
void cli_knapsack_value_text(const dzo_knapsack_origin *origin, dzo_int128 sum,
                             char text[DZO_DECIMAL_TEXT]);
void cli_knapsack_weight_text(const dzo_knapsack_origin *origin, dzo_int128 sum,
                              char text[DZO_DECIMAL_TEXT]);
dzo_int128 cli_knapsack_wide(int64_t x);
/* How far the best may be above what was found, as a part of that; 0 if it is the best, infinite
 * where nothing of value was found. */
double cli_knapsack_gap(dzo_int128 value, dzo_int128 bound);
/* An instance of a set, as the solver takes it. */
void cli_knapsack_instance(const dzo_knapsack_set *set, uint64_t k, dzo_knapsack_instance *out);

/* ---- The command ----------------------------------------------------------------------------- */

/* Read the files into job->set. */
cli_exit cli_knapsack_read(knapsack_job *job);
/* Answer all; CLI_LIMIT if some answers are not proved. */
cli_exit cli_knapsack_solve(knapsack_job *job);
/* Add up what is taken, and compare with the optimum that a file tells. */
cli_exit cli_knapsack_check(knapsack_job *job);
/* The solution to settings->output. */
cli_exit cli_knapsack_write(knapsack_job *job);
void cli_knapsack_report(const knapsack_job *job);
/* The file that an instance is from. */
const char *cli_knapsack_file(const knapsack_job *job, uint64_t k);
/* The columns of a CSV file, for the two commands that read instances. */
dzo_knapsack_read_options cli_knapsack_read_options(const knapsack_settings *settings);

#endif
