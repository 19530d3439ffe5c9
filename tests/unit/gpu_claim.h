/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A claim on a forest in the memory of a GPU, which a test can damage before it is checked. */
#ifndef DZO_TESTS_GPU_CLAIM_H
#define DZO_TESTS_GPU_CLAIM_H

#include "device_graphs.h"
#include "forest_checks.h"
#include "msf/gpu_check.h"

/* The GPU that claims are checked on; opened and closed by the setup and teardown of a group. */
extern gpu_host claim_host;
int open_claim_host(void **state);
int close_claim_host(void **state);

typedef struct trial {
  random_source random;
  random_graph *made;
  const dzo_edges *edges; /* numbered by place */
  bool maximum;
  oracle_forest *forest;
  dzo_graph *graph;
  device_graph device;
  uint64_t *arcs_of; /* [2 * edges] of each edge, by place; ARC_LESS for loops */
  uint64_t count;
  uint64_t *places; /* [count] claimed edges, with room for more */
  uint64_t *claim;  /* [count] one arc of each; what is checked */
} trial;

#define ARC_LESS UINT64_MAX

/* A claim on the oracle's forest of t->edges, whose random source, edges and direction are set;
 * `raw`: keys are weights as they are. */
void trial_prepare(trial *t, preparation how, bool raw, uint64_t ties);
/* The same of a random graph. */
void trial_start(trial *t, uint64_t seed, uint64_t most, uint64_t ties);
void trial_end(trial *t);

uint64_t any_arc(trial *t, uint64_t place);
/* Claim one arc of each of the places. */
void fill_claim(trial *t);
bool in_forest(const trial *t, uint64_t place);
/* An edge outside the forest, by chance; false after too many misses. */
bool pick_outsider(trial *t, uint64_t *place);
uint64_t pick_entry(trial *t);

msf_gpu_verdict verdict_on(const trial *t);
/* Does the check of lists, which only says yes or no, agree? */
void expect_list(const trial *t, bool right, const char *what);

#endif
