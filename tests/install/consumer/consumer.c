/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Calls one function of each part of the library, so that linking fails if a library is missing. */
#include <stdio.h>

#include <dzo/dzo.h>

static int solve(dzo_context *context) {
  /* A triangle with one heavy side, and a vertex apart. */
  static const uint32_t u[] = {0, 1, 2}, v[] = {1, 2, 0}, weights[] = {1, 2, 9};
  dzo_edges edges = {
      .vertices = 4, .count = 3, .u = u, .v = v, .weight_type = DZO_WEIGHT_U32, .weights = weights};
  dzo_graph *graph = NULL;
  dzo_msf *forest = NULL;
  int good = dzo_graph_from_edges(context, &edges, &graph) == DZO_OK &&
             dzo_msf_run(context, graph, NULL, &forest) == DZO_OK && dzo_msf_count(forest) == 2 &&
             dzo_msf_components(forest) == 2 && dzo_msf_weight(forest).low == 3;
  dzo_msf_destroy(forest);
  dzo_graph_destroy(graph);
  return good;
}

static int count(dzo_context *context) {
  static const uint64_t keys[] = {0, UINT64_MAX, 0};
  uint64_t distinct = 0, values[3];
  dzo_table *table = NULL;
  int good = dzo_table_create(context, NULL, &table) == DZO_OK &&
             dzo_table_add(table, 3, keys, NULL, &distinct) == DZO_OK && distinct == 2 &&
             dzo_table_find(table, 3, keys, values, NULL, NULL) == DZO_OK && values[0] == 2 &&
             values[1] == 1;
  dzo_table_destroy(table);
  return good;
}

static int fill(dzo_context *context) {
  static const int64_t values[] = {6, 10, 12}, weights[] = {1, 2, 3};
  dzo_knapsack_instance instance;
  dzo_knapsack_instance_init(&instance);
  instance.count = 3;
  instance.values = values;
  instance.weights = weights;
  instance.capacity = 5;
  dzo_knapsack *knapsack = NULL;
  int good = dzo_knapsack_run(context, &instance, NULL, &knapsack) == DZO_OK &&
             dzo_knapsack_value(knapsack).low == 22 && dzo_knapsack_count(knapsack) == 2;
  dzo_knapsack_destroy(knapsack);
  return good;
}

int main(void) {
  dzo_context *context = NULL;
  if (dzo_context_create(NULL, &context) != DZO_OK)
    return 1;
  int good = solve(context) && count(context) && fill(context);
  dzo_edge_list *none = NULL;
  good = good && dzo_edge_list_read(context, "no such file", NULL, &none) == DZO_E_IO;
  if (!good)
    (void)fprintf(stderr, "wrong answer: %s\n", dzo_context_message(context));
  dzo_context_destroy(context);
  if (good)
    (void)printf("dzo %s\n", dzo_version());
  return good ? 0 : 1;
}
