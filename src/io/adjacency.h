/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the binary adjacency formats share: a header gives the places of offsets, neighbours and
 * weights in the file, and from there on they are read alike, whole or as a stream. */
#ifndef DZO_IO_ADJACENCY_H
#define DZO_IO_ADJACENCY_H

#include "io/reader.h"

/* How weights are stored. Integers are read as u32 if none is negative, else as i64. */
typedef enum dzo_stored_weight {
  DZO_STORED_NONE,
  DZO_STORED_I32,
  DZO_STORED_I64,
  DZO_STORED_F64
} dzo_stored_weight;

/* What the rows of a format mean. */
typedef enum dzo_symmetry {
  DZO_SYMMETRIC,        /* each edge stands in both rows, a loop in one entry */
  DZO_SYMMETRIC_LOOPS2, /* the same, but a loop is two entries, which follow each other */
  DZO_SYMMETRY_UNKNOWN, /* DZO_SYMMETRIC if the entries are, else DZO_DIRECTED */
  DZO_DIRECTED          /* each entry is an edge */
} dzo_symmetry;

typedef struct dzo_adjacency {
  dzo_format format;
  uint64_t vertices;
  uint64_t entries;
  uint64_t offsets_at; /* positions in the file, in bytes */
  uint32_t offset_bytes;
  bool offsets_are_ends; /* the first offset, 0, is left out */
  uint64_t neighbours_at;
  uint32_t neighbour_bytes; /* 4 or 8 */
  uint32_t neighbour_step;  /* from one to the next */
  dzo_stored_weight stored;
  uint64_t weights_at;
  uint32_t weight_step;
  dzo_symmetry symmetry;
} dzo_adjacency;

/* Find the layout by the header. NULL if all is well, else what is wrong. `size` is that of the
 * whole content; where it is UINT64_MAX, unknown, the layout need only tell where the offsets are.
 */
typedef const char *(*dzo_layout_fn)(const unsigned char *head, size_t head_size, uint64_t size,
                                     dzo_adjacency *out);
const char *dzo_graphhpc_layout(const unsigned char *head, size_t head_size, uint64_t size,
                                dzo_adjacency *out);
extern const char dzo_layout_size_differs[]; /* what is wrong: fails with the header's numbers */

/* Does an array of `count` items of `bytes` bytes from position `at` on end at or before `size`?
 * Moves *at behind it. Overflow is a no. */
bool dzo_layout_take(uint64_t *at, uint64_t count, uint64_t bytes, uint64_t size);

/* Does the layout fit, and do the offsets in the head ascend from 0? */
bool dzo_adjacency_detect(const dzo_sample *sample, dzo_layout_fn layout);
dzo_status dzo_adjacency_read(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                              dzo_edge_list **out);
/* On success the source owns the input. */
dzo_status dzo_adjacency_stream(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                                dzo_edge_source *out);

#endif
