/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The parts of reading forests. */
#ifndef DZO_IO_FOREST_FILE_H
#define DZO_IO_FOREST_FILE_H

#include "io/forest.h"
#include "io/input.h"

/* A reading in progress. Arrays grow as lines come. */
typedef struct dzo_forest_reading {
  dzo_context *context;
  const char *name;
  const unsigned char *data;
  uint64_t size;
  const dzo_edges *edges;
  dzo_forest_file *file;
  uint64_t capacity;
} dzo_forest_reading;

/* Place of the edge with this number, or UINT64_MAX. */
uint64_t dzo_edge_place(const dzo_edges *edges, uint64_t number);

dzo_status dzo_forest_read_text(dzo_forest_reading *r);
/* Numbers that no edge has, but that are entries of the contest graph in `path`, become those of
 * the edges which the entries stand for. Other numbers, and other files, are left alone. */
dzo_status dzo_forest_resolve_arcs(dzo_forest_reading *r, const char *path);

#endif
