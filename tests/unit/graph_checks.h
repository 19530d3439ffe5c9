/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a graph should be, computed plainly; a difference fails the test. */
#ifndef DZO_TESTS_GRAPH_CHECKS_H
#define DZO_TESTS_GRAPH_CHECKS_H

#include "graph/csr.h"
#include "graph/edge_list.h"

enum { TYPES = 6, TEAMS = 4 };

/* Contexts of 1, 2, 3 and 8 threads, made and destroyed by a group's setup and teardown. */
extern dzo_context *teams[TEAMS];
int make_teams(void **state);
int break_teams(void **state);

/* The call succeeded, or failed as expected. */
void must(dzo_context *context, dzo_status status);
void must_fail(dzo_context *context, dzo_status status, dzo_status expected, const char *message);

/* 0 if weight i is `w`, compared as values. */
int compare_weights(const dzo_edges *edges, uint64_t i, dzo_weight w);

/* The graph of these edges, rows by neighbour. */
void expect_graph(const dzo_graph *graph, const dzo_edges *edges);

/* Call fn with its first, second, ... allocation failing until it succeeds: each time it is
 * DZO_E_MEMORY with a message, and all it allocated is freed. At least `least` failures. */
void fail_each_allocation(dzo_status (*fn)(dzo_context *context, void *argument), void *argument,
                          int least);

#endif
