/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The minimum spanning forest of a graph file, one edge a line.
 *
 *   cc spanning_forest.c $(pkg-config --cflags --libs dzo) -o spanning_forest
 *   ./spanning_forest roads.gr.gz
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <dzo/dzo.h>

static int print_forest(dzo_context *context, const dzo_graph *graph, const dzo_msf *forest) {
  uint64_t count = dzo_msf_count(forest);
  uint32_t *u = malloc((count + 1) * sizeof *u), *v = malloc((count + 1) * sizeof *v);
  int good = u != NULL && v != NULL &&
             dzo_msf_endpoints_into(context, forest, graph, u, v, NULL) == DZO_OK;
  for (uint64_t i = 0; good && i < count; i++)
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", dzo_msf_edges(forest)[i],
           dzo_graph_label(graph, u[i]), dzo_graph_label(graph, v[i]));
  free(u);
  free(v);
  return good;
}

static void print_summary(const dzo_msf *forest) {
  dzo_weight_sum weight = dzo_msf_weight(forest);
  fprintf(stderr, "%" PRIu64 " edges in %" PRIu64 " trees, ", dzo_msf_count(forest),
          dzo_msf_components(forest));
  if (weight.type == DZO_WEIGHT_F32 || weight.type == DZO_WEIGHT_F64)
    fprintf(stderr, "weight %.17g\n", weight.real);
  else if (weight.high == -(int64_t)(weight.low >> 63))
    fprintf(stderr, "weight %" PRId64 "\n", (int64_t)weight.low);
  else
    fprintf(stderr, "weight %" PRId64 " * 2^64 + %" PRIu64 "\n", weight.high, weight.low);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  dzo_context *context = NULL;
  dzo_graph *graph = NULL;
  dzo_msf *forest = NULL;
  int good = 0;
  if (dzo_context_create(NULL, &context) == DZO_OK &&
      dzo_graph_read(context, argv[1], NULL, &graph) == DZO_OK &&
      dzo_msf_run(context, graph, NULL, &forest) == DZO_OK) {
    good = print_forest(context, graph, forest);
    print_summary(forest);
  }
  if (!good)
    fprintf(stderr, "%s\n", context ? dzo_context_message(context) : "cannot start");
  dzo_msf_destroy(forest);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  return good ? 0 : 1;
}
