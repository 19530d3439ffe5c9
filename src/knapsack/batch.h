/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Many instances: those that are small after a look go together (batch.c), the others one by one,
 * several at a time (batch_single.c). */
#ifndef DZO_KNAPSACK_BATCH_H
#define DZO_KNAPSACK_BATCH_H

#include "knapsack/entry.h"

typedef struct batch_run {
  dzo_knapsack_batch *batch;
  const dzo_knapsack_options *options;
  knapsack_job job;
  uint64_t *singles; /* instances that are solved one by one */
  uint64_t single_count;
  uint64_t outcomes[3]; /* how many have each; accessed atomically */
  unsigned devices;     /* that worked: BATCH_CPU, BATCH_GPU; accessed atomically */
  double cancelled;     /* by dzo_clock(), when that was seen; 0: never; accessed atomically */
} batch_run;

/* The instance number i, alone. */
dzo_knapsack_instance batch_instance(const dzo_knapsack_batch *batch, uint64_t i);

/* Write what is known of instance i, but for the copies that are taken. */
void batch_put(batch_run *run, uint64_t i, dzo_knapsack_outcome outcome, dzo_int128 value,
               dzo_int128 weight, dzo_int128 bound);

/* This device worked. */
enum { BATCH_CPU = 1, BATCH_GPU = 2 };
void batch_note_device(batch_run *run, dzo_device device);

/* Tell the caller that `done` are done; the job stops if it is to. */
void batch_report(batch_run *run, uint64_t done);

/* Solve the singles. DZO_OK, also where the job was stopped; any other status is the call's. */
dzo_status batch_solve_singles(batch_run *run);

#endif
