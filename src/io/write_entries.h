/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the writers of adjacency formats share: pieces of rows as items for dzo_output_items(). The
 * argument of every put function is a dzo_entries. */
#ifndef DZO_IO_WRITE_ENTRIES_H
#define DZO_IO_WRITE_ENTRIES_H

#include "io/entries.h"
#include "io/output.h"

/* Offsets and neighbours, little-endian; items: indices of offsets, or entries. */
char *dzo_put_offsets32(const void *argument, uint64_t begin, uint64_t end, char *to);
char *dzo_put_offsets64(const void *argument, uint64_t begin, uint64_t end, char *to);
char *dzo_put_neighbours(const void *argument, uint64_t begin, uint64_t end, char *to);
/* Weights of entries, which must be representable. */
char *dzo_put_weights_i32(const void *argument, uint64_t begin, uint64_t end, char *to);
char *dzo_put_weights_i64(const void *argument, uint64_t begin, uint64_t end, char *to);
char *dzo_put_weights_f64(const void *argument, uint64_t begin, uint64_t end, char *to);

/* Is every weight an integer between the bounds? Otherwise DZO_E_UNSUPPORTED "... holds REASON". */
dzo_status dzo_check_integers(dzo_context *context, const dzo_graph *graph, dzo_format format,
                              int64_t lowest, int64_t highest, const char *reason);

#endif
