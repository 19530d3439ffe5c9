/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#ifndef DZO_GRAPH_DISTINCT_H
#define DZO_GRAPH_DISTINCT_H

#include "dzo/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distinct weight patterns of `edges`, ascending, if a sample promises few of them and there
 * are at most `limit`; otherwise *out = NULL and *count = 0. The caller frees *out. */
dzo_status dzo_distinct_patterns(dzo_context *context, const dzo_edges *edges, uint64_t limit,
                                 uint64_t **out, uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
