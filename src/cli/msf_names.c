/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo msf: a stream numbers the vertices as it meets them; a graph in memory numbers them in the
 * order of their names. The files of both are to be the same, so the forest of a stream is told in
 * the order of the names. */
#include <stdlib.h>

#include "base/memory.h"
#include "cli/msf.h"

typedef struct named_vertex {
  uint64_t name;
  uint32_t v;
} named_vertex;

static int by_name(const void *a, const void *b) {
  uint64_t x = ((const named_vertex *)a)->name, y = ((const named_vertex *)b)->name;
  return (x > y) - (x < y);
}

static bool is_ascending(const uint64_t *labels, uint64_t count) {
  for (uint64_t v = 1; v < count; v++)
    if (labels[v - 1] > labels[v])
      return false;
  return true;
}

/* The new arrays of `forest`, in `names`: its names ascending, trees numbered by smallest name. */
static void fill(msf_names *names, const named_vertex *sorted, const dzo_forest *forest) {
  uint32_t trees = 0;
  for (uint64_t c = 0; c < forest->components; c++)
    names->tree[c] = UINT32_MAX;
  for (uint64_t place = 0; place < forest->vertices; place++) {
    uint32_t v = sorted[place].v;
    uint32_t *tree = &names->tree[forest->component_of[v]];
    if (*tree == UINT32_MAX)
      *tree = trees++;
    names->place[v] = (uint32_t)place;
    names->labels[place] = sorted[place].name;
    names->component_of[place] = *tree;
  }
}

static void rename_endpoints(const msf_names *names, uint64_t count, uint32_t *u, uint32_t *v) {
  for (uint64_t i = 0; u != NULL && i < count; i++) {
    uint32_t a = names->place[u[i]], b = names->place[v[i]];
    u[i] = a < b ? a : b;
    v[i] = a < b ? b : a;
  }
}

dzo_status msf_order_by_name(dzo_context *context, dzo_forest *forest, uint32_t *u, uint32_t *v,
                             msf_names *names) {
  uint64_t n = forest->vertices;
  *names = (msf_names){NULL, NULL, NULL, NULL};
  if (forest->labels == NULL || is_ascending(forest->labels, n))
    return DZO_OK;
  named_vertex *sorted = dzo_alloc(context, n, sizeof *sorted);
  names->labels = dzo_alloc(context, n, sizeof *names->labels);
  names->component_of = dzo_alloc(context, n, sizeof *names->component_of);
  names->place = dzo_alloc(context, n, sizeof *names->place);
  names->tree = dzo_alloc(context, forest->components, sizeof *names->tree);
  if (sorted == NULL || names->labels == NULL || names->component_of == NULL ||
      names->place == NULL || names->tree == NULL) {
    dzo_free(sorted);
    return DZO_E_MEMORY;
  }
  for (uint64_t i = 0; i < n; i++)
    sorted[i] = (named_vertex){forest->labels[i], (uint32_t)i};
  qsort(sorted, (size_t)n, sizeof *sorted, by_name);
  fill(names, sorted, forest);
  dzo_free(sorted);
  rename_endpoints(names, forest->count, u, v);
  forest->labels = names->labels;
  forest->component_of = names->component_of;
  return DZO_OK;
}

void msf_names_release(msf_names *names) {
  dzo_free(names->labels);
  dzo_free(names->component_of);
  dzo_free(names->place);
  dzo_free(names->tree);
}
