/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A finished forest, and the pieces that every solver makes it of. */
#ifndef DZO_MSF_RESULT_H
#define DZO_MSF_RESULT_H

#include "base/exact_sum.h"
#include "dzo/msf.h"
#include "graph/weight_map.h"

struct dzo_msf {
  uint64_t vertices;
  uint64_t graph_edges;
  uint64_t count;
  uint64_t *edges; /* [count] edge numbers, ascending */
  uint32_t components;
  uint32_t *component_of; /* [vertices] */
  dzo_weight_type weight_type;
  dzo_weight_sum weight;
  /* Of a stream only, whose edges cannot be looked up again: [count] each. */
  uint32_t *u;
  uint32_t *v;
  uint64_t *patterns;
  char plan[160];
};

/* Renumber the components 0 .. components - 1 in label[] by their smallest vertices. */
dzo_status msf_number_components(dzo_context *context, uint32_t *label, uint64_t vertices,
                                 uint32_t components);

/* The set bits of a bitmap, ascending, as a new array. */
dzo_status msf_list_edges(dzo_context *context, const uint64_t *bitmap, uint64_t words,
                          uint64_t **edges, uint64_t *count);

bool msf_type_is_real(dzo_weight_type type);

/* An exact sum of weights given as patterns. */
typedef struct msf_sum {
  uint64_t count;
  uint64_t low, high; /* integers: 128 bits of the patterns' sum */
  dzo_exact_sum real; /* floats */
} msf_sum;

void msf_sum_init(msf_sum *sum);
void msf_sum_merge(msf_sum *sum, const msf_sum *other);
dzo_weight_sum msf_sum_weight(const msf_sum *sum, dzo_weight_type type);

DZO_ITEM void msf_sum_add(msf_sum *sum, dzo_weight_type type, uint64_t pattern) {
  if (type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64) {
    dzo_exact_sum_add(&sum->real, dzo_weight_of_pattern(type, pattern).f64);
    return;
  }
  sum->count++;
  sum->low += pattern;
  sum->high += sum->low < pattern;
}

#endif
