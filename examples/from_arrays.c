/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The minimum spanning forest of a graph in arrays.
 *
 *   cc from_arrays.c $(pkg-config --cflags --libs dzo) -o from_arrays && ./from_arrays
 */
#include <inttypes.h>
#include <stdio.h>

#include <dzo/dzo.h>

int main(void) {
  /*   0 ---4--- 1        5
   *   | \       |        |
   *   8   7     2       0.5
   *   |     \   |        |
   *   3 ---1--- 2        4   */
  static const uint32_t u[] = {0, 0, 0, 1, 2, 4}, v[] = {1, 3, 2, 2, 3, 5};
  static const double weights[] = {4, 8, 7, 2, 1, 0.5};
  dzo_edges edges = {
      .vertices = 6, .count = 6, .u = u, .v = v, .weight_type = DZO_WEIGHT_F64, .weights = weights};
  dzo_context *context = NULL;
  dzo_graph *graph = NULL;
  dzo_msf *forest = NULL;
  dzo_status status = dzo_context_create(NULL, &context);
  if (status == DZO_OK)
    status = dzo_graph_from_edges(context, &edges, &graph);
  if (status == DZO_OK)
    status = dzo_msf_run(context, graph, NULL, &forest);
  if (status == DZO_OK) {
    for (uint64_t i = 0; i < dzo_msf_count(forest); i++) {
      uint64_t edge = dzo_msf_edges(forest)[i];
      printf("edge %" PRIu64 ": %" PRIu32 " - %" PRIu32 ", weight %g\n", edge, u[edge], v[edge],
             weights[edge]);
    }
    printf("%" PRIu64 " trees, weight %g\n", dzo_msf_components(forest),
           dzo_msf_weight(forest).real);
  } else {
    fprintf(stderr, "%s: %s\n", dzo_status_text(status),
            context != NULL ? dzo_context_message(context) : "");
  }
  dzo_msf_destroy(forest);
  dzo_graph_destroy(graph);
  dzo_context_destroy(context);
  return status == DZO_OK ? 0 : 1;
}
