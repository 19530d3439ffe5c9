/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The rows of a METIS file: one line a vertex, parsed in parallel, block by block. */
#ifndef DZO_IO_METIS_ROWS_H
#define DZO_IO_METIS_ROWS_H

#include "io/text.h"

typedef struct dzo_metis_header {
  const char *name; /* borrowed */
  uint64_t vertices, edges;
  bool weights;     /* of edges */
  uint64_t skipped; /* numbers before the neighbours of a row: sizes and weights of vertices */
  uint64_t offset;  /* of the first row in the text */
  uint64_t line;    /* its number */
} dzo_metis_header;

/* How far the rows have been read. */
typedef struct dzo_metis_rows {
  dzo_context *context;
  dzo_metis_header header;
  uint64_t row, line, entry; /* the next */
  uint64_t loops;
  uint64_t sums[2]; /* of hashes of the entries u < v, less those of u > v */
} dzo_metis_rows;

/* The edges of a block: the entries whose row is not larger than the neighbour. */
typedef struct dzo_metis_edges {
  uint64_t capacity, count;
  uint32_t *u, *v;
  int64_t *weights; /* or NULL */
  uint64_t *numbers;
} dzo_metis_edges;

/* Parse whole lines into `edges`, replacing what is there. DZO_E_FORMAT names the first bad line.
 */
dzo_status dzo_metis_parse(dzo_metis_rows *rows, const char *begin, const char *end,
                           dzo_metis_edges *edges);
/* Check what the header promises, and that every entry has its twin. `text` is the whole content if
 * it is in memory, to name the line of one that has none; else NULL. */
dzo_status dzo_metis_finish(const dzo_metis_rows *rows, const char *text, uint64_t size);
void dzo_metis_edges_release(dzo_metis_edges *edges);

/* Name an entry without a twin, whose existence the sums have shown. */
dzo_status dzo_metis_refuse_unpaired(const dzo_metis_rows *rows, const char *text, uint64_t size);

/* Sums over an undirected edge, by two independent hashes. */
void dzo_metis_hash(uint64_t u, uint64_t v, uint64_t weight, uint64_t hashes[2]);

/* METIS as a source of edges; see source.c. On success it owns the input. */
dzo_status dzo_metis_stream(dzo_context *context, dzo_input *input, dzo_edge_source *out);

/* "n m [fmt [ncon]]" at the first line that is no comment. */
dzo_status dzo_metis_take_header(dzo_context *context, const char *name, const char *text,
                                 uint64_t size, bool complete, dzo_metis_header *out);

#endif
