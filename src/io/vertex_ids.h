/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From the names of vertices in an input, any 64-bit numbers, to vertices numbered from 0. */
#ifndef DZO_IO_VERTEX_IDS_H
#define DZO_IO_VERTEX_IDS_H

#include "graph/edge_list.h"
#include "io/text.h"

/* Number the distinct names of all edges in ascending order, in parallel, and move the edges into
 * `list`: its vertices, u, v, labels and first_label are set (labels NULL where the names are 0 ..
 * n-1 or 1 .. n). DZO_E_UNSUPPORTED beyond 2^32 - 1 names. */
dzo_status dzo_vertex_ids_renumber(dzo_context *context, dzo_text_edges *edges,
                                   dzo_edge_list *list);

/* Number names by first appearance, for streams. */
typedef struct dzo_vertex_ids dzo_vertex_ids;
dzo_status dzo_vertex_ids_create(dzo_context *context, dzo_vertex_ids **out);
/* NULL is fine. */
void dzo_vertex_ids_destroy(dzo_vertex_ids *ids);
/* Number the ends names[0][i], names[1][i] in the order of i into u and v. */
dzo_status dzo_vertex_ids_add(dzo_context *context, dzo_vertex_ids *ids, uint64_t *const names[2],
                              uint64_t count, uint32_t *u, uint32_t *v);
uint64_t dzo_vertex_ids_count(const dzo_vertex_ids *ids);
/* [count] the names; valid until the next add. */
const uint64_t *dzo_vertex_ids_labels(const dzo_vertex_ids *ids);

#endif
