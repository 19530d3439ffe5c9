/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the answer must be, by the plainest means: Kruskal over qsort'ed edges, sums in big
 * integers. Shares no code with the library. */
#ifndef DZO_TESTS_ORACLE_H
#define DZO_TESTS_ORACLE_H

#include <stdbool.h>

#include "dzo/msf.h"

typedef struct oracle_forest {
  uint64_t vertices;
  uint64_t count;
  uint64_t *numbers; /* [count] ascending */
  uint64_t *places;  /* [count] where each stands in the edge list */
  uint32_t *u, *v;   /* [count] u < v */
  dzo_weight *weights;
  uint64_t components;
  uint32_t *component_of; /* [vertices] numbered by smallest vertex */
  dzo_weight_sum total;
  dzo_weight_sum *trees; /* [components] */
} oracle_forest;

/* The forest by the order (weight, smaller endpoint, larger endpoint, number); by `shuffle` != 0,
 * ties are broken by an order drawn from that seed instead. */
oracle_forest *oracle_solve(const dzo_edges *edges, int maximum, uint64_t shuffle);
void oracle_free(oracle_forest *forest);

/* The i-th weight, as dzo_weight has it. */
dzo_weight oracle_weight(const dzo_edges *edges, uint64_t i);
/* < 0, 0, > 0. */
int oracle_compare_weights(dzo_weight_type type, dzo_weight a, dzo_weight b);
/* The same sum; `real` is compared for floating types (NaN equals NaN), high and low for others. */
bool oracle_same_sum(dzo_weight_sum a, dzo_weight_sum b);

/* Are these edges (places in the list) a spanning forest: each once, no cycle, as many as spanning
 * takes? */
bool oracle_spans(const dzo_edges *edges, const uint64_t *places, uint64_t count);
/* And of least (most) weight: its weights, sorted, are those of the oracle's forest. */
bool oracle_accepts(const dzo_edges *edges, const oracle_forest *forest, const uint64_t *places,
                    uint64_t count);

#endif
