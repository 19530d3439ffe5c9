/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_GRAPH_GENERATE_H
#define DZO_GRAPH_GENERATE_H

#include "base/context.h"
#include "base/parallel.h"
#include "base/random.h"
#include "graph/edge_list.h"

/* The generators, one each; the options are checked. */
dzo_status dzo_generate_rmat(dzo_context *context, const dzo_generate_options *options,
                             dzo_edge_list **out);
dzo_status dzo_generate_ssca2(dzo_context *context, const dzo_generate_options *options,
                              dzo_edge_list **out);

/* 2^scale * degree / 2 to the nearest integer. */
uint64_t dzo_generate_edge_count(const dzo_generate_options *options);

/* Handle 0 .. count - 1 on the context's threads in ranges of `grain`, report progress as
 * "generate" and stop when cancelled. */
dzo_status dzo_generate_items(dzo_context *context, uint64_t count, uint64_t grain, dzo_range_fn fn,
                              void *argument);

/* For loops that one thread runs: report progress and poll now and then. */
DZO_ITEM dzo_status dzo_generate_poll(dzo_context *context, uint64_t done, uint64_t total) {
  return done % (1 << 20) == 0 ? dzo_progress(context, "generate", done, total) : DZO_OK;
}

/* The permutation of 0 .. count - 1 that leaves each in place; NULL without memory. */
uint32_t *dzo_generate_identity(dzo_context *context, uint64_t count);
/* Replace every endpoint x by permutation[x]. */
dzo_status dzo_generate_permute(dzo_context *context, dzo_edge_list *list,
                                const uint32_t *permutation);
/* Weight i is draw i after `state`. */
dzo_status dzo_generate_weights(dzo_context *context, dzo_edge_list *list, uint64_t state);

/* Store a weight of `unit` / 2^48, unit < 2^48, as the list's type: F64 exactly; of F32 and U32 the
 * top 24 bits, as a fraction and as an integer. */
DZO_ITEM void dzo_generate_weight(dzo_edge_list *list, uint64_t i, uint64_t unit) {
  uint32_t top = (uint32_t)(unit >> 24);
  switch (list->weight_type) {
  case DZO_WEIGHT_F64:
    ((double *)list->weights)[i] = dzo_lcg48_real(unit);
    break;
  case DZO_WEIGHT_F32:
    ((float *)list->weights)[i] = (float)top * 0x1p-24f;
    break;
  case DZO_WEIGHT_U32:
    ((uint32_t *)list->weights)[i] = top;
    break;
  default:
    break;
  }
}

#endif
