/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the tests of files share: a folder of their own, whole files, and edges as a bag. */
#ifndef DZO_TESTS_IO_FILES_H
#define DZO_TESTS_IO_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "dzo/graph.h"

/* A context of so many threads; NULL if there is none to be had. */
dzo_context *files_context(int threads);

/* Make and remove the folder of this test program. */
int files_begin(void **state);
int files_end(void **state);
/* A path in the folder; one of a few buffers that take turns. */
const char *files_path(const char *name);
/* Files in the folder, whatever their names. */
int files_count(void);

void files_put(const char *path, const void *data, size_t size);
/* malloc'ed, and with a zero behind the end; NULL if there is no such file. */
char *files_get(const char *path, size_t *size);
bool files_equal(const char *path, const void *data, size_t size);

/* Does the second list hold the same edges, in whatever order? Vertices are compared by label, or
 * with `labels` false by number; weights by value, whatever the type. */
bool same_edges(const dzo_edges *a, const dzo_edges *b, bool labels);

/* The status must be DZO_OK, or the test fails with the context's message. */
void must(dzo_context *context, dzo_status status);
void must_fail(dzo_context *context, dzo_status status, dzo_status expected, const char *part);

#endif
