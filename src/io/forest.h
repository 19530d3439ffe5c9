/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Files of spanning forests: those the program writes, and those that `dzo verify` takes from
 * anywhere. */
#ifndef DZO_IO_FOREST_H
#define DZO_IO_FOREST_H

#include "dzo/graph.h"

typedef enum dzo_forest_format {
  DZO_FOREST_EDGES,    /* text, a line an edge: number u v weight; the input's vertex names */
  DZO_FOREST_GRAPHHPC, /* the contest's .mst: edge numbers, tree by tree */
  DZO_FOREST_MTX,      /* a symmetric Matrix Market matrix of the forest's edges */
  DZO_FOREST_NPY       /* edge numbers, a NumPy array of uint64 */
} dzo_forest_format;

/* "edges", "graphhpc", "mtx" or "npy"; DZO_E_ARGUMENT for another name. */
dzo_status dzo_forest_format_from_name(const char *name, dzo_forest_format *out);

/* A forest to write; all arrays are the caller's. */
typedef struct dzo_forest {
  uint64_t vertices;
  uint64_t count;          /* edges of the forest */
  const uint64_t *numbers; /* [count] ascending */
  const uint32_t *u;       /* [count]; not for NPY */
  const uint32_t *v;       /* [count]; not for NPY */
  dzo_weight_type weight_type;
  const dzo_weight *weights; /* [count]; for EDGES and MTX */
  uint64_t components;
  const uint32_t *component_of; /* [vertices] 0 .. components - 1; for GRAPHHPC and components */
  const uint64_t *labels;       /* [vertices] or NULL: v + first_label; for EDGES and components */
  uint64_t first_label;
} dzo_forest;

/* Through a temporary file that is renamed when complete; "-": standard output. */
dzo_status dzo_forest_write(dzo_context *context, const dzo_forest *forest,
                            dzo_forest_format format, const char *path);
/* The tree of each vertex: a line "vertex component" each, by the input's names; or, where the name
 * ends in .npy, an array of uint32 by vertex. */
dzo_status dzo_components_write(dzo_context *context, const dzo_forest *forest, const char *path);

/* A forest read from a file: edge numbers, or else pairs of vertices. */
typedef struct dzo_forest_file {
  uint64_t count;
  uint64_t *numbers; /* [count]; or NULL: then u and v */
  uint32_t *u;       /* [count] */
  uint32_t *v;       /* [count] */
} dzo_forest_file;

/* Read a claimed forest of `edges`. Understood by content: text lines "number u v weight" (whose
 * number, endpoints and weight must agree), "u v weight", "u v" or "number", with '#' and '%'
 * comments; the contest's .mst; .npy arrays of 32- or 64-bit integers; a Matrix Market coordinate
 * matrix. Names of vertices are those of `edges`. `graph_path` is the file that `edges` were read
 * from, or NULL: the .mst of a contest graph may name an edge by either of its arcs, and only the
 * file knows both. DZO_E_FORMAT names file, line and reason. */
dzo_status dzo_forest_read(dzo_context *context, const char *path, const dzo_edges *edges,
                           const char *graph_path, dzo_forest_file *out);
void dzo_forest_file_release(dzo_forest_file *file);

#endif
