/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A finished forest, and the pieces that every solver makes it of. */
#ifndef DZO_MSF_RESULT_H
#define DZO_MSF_RESULT_H

#include "base/exact_sum.h"
#include "dzo/msf.h"
#include "graph/csr.h"

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
  dzo_device device; /* who solved it */
  char plan[256];
};

/* Forget what an engine that gave up has filled in. */
void msf_reset(dzo_msf *msf);

/* Renumber the components 0 .. components - 1 in label[] by their smallest vertices. */
dzo_status msf_number_components(dzo_context *context, uint32_t *label, uint64_t vertices,
                                 uint32_t components);

/* Edge numbers taken, by any thread. */
typedef struct msf_taken {
  uint64_t *bitmap; /* [words] by edge number, or NULL */
  uint64_t words;
  uint64_t *list; /* [capacity] where numbers are sparse */
  uint64_t capacity;
  uint64_t count; /* of the list, accessed atomically */
} msf_taken;

/* For up to `capacity` of `edges` edges whose numbers are below number_bound. */
dzo_status msf_taken_init(dzo_context *context, msf_taken *taken, uint64_t number_bound,
                          uint64_t edges, uint64_t capacity);
void msf_taken_free(msf_taken *taken);
/* All of them, ascending, as a new array. Once only. */
dzo_status msf_taken_list(dzo_context *context, msf_taken *taken, uint64_t **edges,
                          uint64_t *count);

DZO_ITEM void msf_taken_add(msf_taken *taken, uint64_t number) {
  if (taken->bitmap != NULL)
    dzo_fetch_or_u64(&taken->bitmap[number / 64], UINT64_C(1) << number % 64);
  else
    taken->list[dzo_fetch_add_u64(&taken->count, 1)] = number;
}

DZO_ITEM bool msf_type_is_real(dzo_weight_type type) {
  return type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64;
}

/* An exact sum of weights given as patterns. */
typedef struct msf_sum {
  uint64_t count;
  uint64_t low, high; /* integers: 128 bits of the patterns' sum */
  dzo_exact_sum real; /* floats */
} msf_sum;

void msf_sum_init(msf_sum *sum);
void msf_sum_merge(msf_sum *sum, const msf_sum *other);
dzo_weight_sum msf_sum_weight(const msf_sum *sum, dzo_weight_type type);
/* Add `count` integers whose patterns are `base` above keys that add up to low + 2^32 high. */
void msf_sum_add_keys(msf_sum *sum, uint64_t count, uint64_t base, uint64_t low, uint64_t high);

DZO_ITEM void msf_sum_add(msf_sum *sum, dzo_weight_type type, uint64_t pattern) {
  if (msf_type_is_real(type)) {
    dzo_exact_sum_add(&sum->real, dzo_weight_of_pattern(type, pattern).f64);
    return;
  }
  sum->count++;
  sum->low += pattern;
  sum->high += sum->low < pattern;
}

#endif
