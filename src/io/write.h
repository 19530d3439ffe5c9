/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a format's writer must offer. One file a family of formats; write.c lists them. */
#ifndef DZO_IO_WRITE_H
#define DZO_IO_WRITE_H

#include "graph/csr.h"
#include "graph/edge_list.h"
#include "io/output.h"

/* At least one of `edges` and `graph`; where one is missing, the other is used after a conversion.
 * The edges have been checked. The checks look for the first thing that the format cannot hold,
 * before any file is made; NULL: it holds everything. */
typedef struct dzo_writer {
  dzo_format format;
  dzo_status (*check_edges)(dzo_context *context, const dzo_edges *edges);
  dzo_status (*edges)(dzo_context *context, const dzo_edges *edges, dzo_output *output);
  dzo_status (*check_graph)(dzo_context *context, const dzo_graph *graph);
  dzo_status (*graph)(dzo_context *context, const dzo_graph *graph, dzo_output *output);
} dzo_writer;

extern const dzo_writer dzo_writer_mtx;
extern const dzo_writer dzo_writer_dimacs;
extern const dzo_writer dzo_writer_snap;
extern const dzo_writer dzo_writer_csv;
extern const dzo_writer dzo_writer_konect;
extern const dzo_writer dzo_writer_metis;
extern const dzo_writer dzo_writer_graphhpc;
extern const dzo_writer dzo_writer_egr;
extern const dzo_writer dzo_writer_gap;
extern const dzo_writer dzo_writer_galois;
extern const dzo_writer dzo_writer_dzo;

/* Write with a writer that has `edges`, to a file of that name. */
dzo_status dzo_write_edges_with(dzo_context *context, const dzo_edges *edges,
                                const dzo_writer *writer, const char *path);

/* The weight of edge i of `edges`. */
dzo_weight dzo_edges_weight(const dzo_edges *edges, uint64_t i);
/* Is this weight an integer within int64, and which? */
bool dzo_weight_as_i64(dzo_weight_type type, dzo_weight weight, int64_t *value);
/* The weight as a double, rounded if it is an integer beyond 2^53. */
double dzo_weight_as_f64(dzo_weight_type type, dzo_weight weight);
/* DZO_E_UNSUPPORTED: "the FORMAT format holds REASON: edge NUMBER has weight WEIGHT". */
dzo_status dzo_fail_weight(dzo_context *context, dzo_format format, const char *reason,
                           uint64_t number, dzo_weight_type type, dzo_weight weight);
/* The first of 0 .. count - 1 for which `bad` holds, or `count`; looks in parallel. */
uint64_t dzo_find_first(dzo_context *context, uint64_t count,
                        bool (*bad)(const void *argument, uint64_t i), const void *argument);

#endif
