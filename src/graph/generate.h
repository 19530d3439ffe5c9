/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_GRAPH_GENERATE_H
#define DZO_GRAPH_GENERATE_H

#include "base/context.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "graph/generate_item.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The generators, one each; the options are checked. */
dzo_status dzo_generate_rmat(dzo_context *context, const dzo_generate_options *options,
                             dzo_edge_list **out);
dzo_status dzo_generate_ssca2(dzo_context *context, const dzo_generate_options *options,
                              dzo_edge_list **out);

/* A caller's options, completed and checked. DZO_E_ARGUMENT. */
dzo_status dzo_generate_options_read(dzo_context *context, dzo_generator generator,
                                     const dzo_generate_options *given, dzo_generate_options *out);

/* 2^scale * degree / 2 to the nearest integer. */
uint64_t dzo_generate_edge_count(const dzo_generate_options *options);

/* The cliques of an SSCA2 graph. */
typedef struct dzo_cliques {
  uint64_t count;
  uint64_t largest;
  uint32_t *first;     /* [count + 1] vertices */
  uint64_t *edges;     /* [count + 1] edges in the cliques before */
  uint32_t *clique_of; /* [vertices] */
} dzo_cliques;

/* Draw them; *state moves behind the draws of the cliques and of their edges. Free what there is
 * also after a failure. */
dzo_status dzo_ssca2_draw_cliques(dzo_context *context, const dzo_generate_options *options,
                                  dzo_cliques *out, uint64_t *state);
void dzo_cliques_free(dzo_cliques *cliques);
/* How many draws the links of a vertex take depends on the draws: states[i] is the state before the
 * links of vertex i * step; *state moves behind all. */
dzo_status dzo_ssca2_link_states(dzo_context *context, const dzo_generate_options *options,
                                 const dzo_cliques *cliques, unsigned step, uint64_t *states,
                                 uint64_t *state);

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

/* Weight i of a list is `unit` / 2^48 as dzo_generate_store() has it. */
DZO_ITEM void dzo_generate_weight(dzo_edge_list *list, uint64_t i, uint64_t unit) {
  dzo_generate_store(list->weight_type, list->weights, i, unit);
}

#ifdef __cplusplus
}
#endif
#endif
