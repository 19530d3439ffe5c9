/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Our own file: a graph as it is prepared. Little-endian: a header of 128 bytes (see native.c),
 * then the arrays of dzo_graph that there are, each at a multiple of 64 bytes, then a checksum. */
#ifndef DZO_IO_NATIVE_H
#define DZO_IO_NATIVE_H

#include "graph/csr.h"
#include "io/input.h"
#include "io/output.h"

/* Load the graph of a whole input. Everything is checked, so that a damaged file is an error:
 * DZO_E_FORMAT "FILE: byte N: reason"; a file of a later version is DZO_E_UNSUPPORTED. */
dzo_status dzo_graph_load(dzo_context *context, dzo_input *input, dzo_graph **out);
/* The same without the checksums, to test and to fuzz the checks behind them. */
dzo_status dzo_graph_load_unsummed(dzo_context *context, dzo_input *input, dzo_graph **out);
dzo_status dzo_graph_save(dzo_context *context, const dzo_graph *graph, dzo_output *output);

/* Arrays of a graph in a file. */
typedef struct dzo_section {
  void *field; /* of the graph: where the pointer to the array is */
  uint64_t count;
  uint32_t width; /* of an item: 1, 2, 4 or 8 bytes */
  uint64_t at;    /* position in the file; set by dzo_sections_place() */
} dzo_section;

enum { DZO_MOST_SECTIONS = 16 };

/* The sections by which graph damage is named. */
typedef struct dzo_sections {
  dzo_section list[DZO_MOST_SECTIONS];
  int count;
  int offsets, neighbours, keys, numbers, dictionary, loops; /* places in the list, or -1 */
} dzo_sections;

/* Is a graph that was read from a file consistent in itself? */
dzo_status dzo_graph_check_loaded(dzo_context *context, const dzo_graph *graph,
                                  const dzo_sections *sections, const char *name);

#endif
