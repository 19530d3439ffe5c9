/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the tests of text formats share: reading from memory, whole and streamed, and edges as a
 * line of text. */
#ifndef DZO_TESTS_IO_TEXTS_H
#define DZO_TESTS_IO_TEXTS_H

#include <stddef.h>

#include "dzo/graph.h"

/* A context of so many threads and so much memory to plan for (0: the machine's). */
dzo_context *texts_context(int threads, uint64_t memory);

/* Read a copy of `text`, placed so that an access beyond its end is found by a sanitizer. */
dzo_status texts_read(dzo_context *context, const void *text, size_t size, dzo_format format,
                      dzo_edge_list **out);
/* The same through a source; the chunks are put together. */
dzo_status texts_stream(dzo_context *context, const void *text, size_t size, dzo_format format,
                        dzo_edge_list **out);
/* Put the chunks of a source together and close it. */
dzo_status texts_collect(dzo_context *context, dzo_edge_source *source, dzo_edge_list **out);

/* "mtx 4 i64 1-2:5 3-3:-1": format, vertices, type, and the edges by the names of their ends;
 * numbers are shown, as #number before the edge, where they are not 0, 1, 2, ... */
const char *texts_show(const dzo_edge_list *list);

/* Do the lists agree in every byte, the edges' names (not numbers) of the ends included? */
int texts_same(const dzo_edge_list *a, const dzo_edge_list *b);

/* $DZO_TEST_DATA/mst/NAME, or NULL if there is no such folder. */
const char *texts_data(const char *name);

#endif
