/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/csr.h"

#include "base/context.h"
#include "base/memory.h"
#include "graph/compress.h"

void dzo_graph_destroy(dzo_graph *graph) {
  if (graph == NULL)
    return;
  dzo_graph_evict(graph);
  dzo_free(graph->offsets);
  dzo_free(graph->neighbours);
  dzo_compressed_destroy(graph->compressed);
  dzo_free(graph->map.dictionary);
  dzo_free(graph->keys32);
  dzo_free(graph->keys64);
  dzo_free(graph->numbers32);
  dzo_free(graph->numbers64);
  dzo_free(graph->loop_vertices);
  dzo_free(graph->loop_keys);
  dzo_free(graph->loop_numbers);
  dzo_free(graph->labels);
  dzo_free(graph);
}

uint64_t dzo_graph_vertices(const dzo_graph *graph) { return graph->vertices; }

uint64_t dzo_graph_edges(const dzo_graph *graph) { return graph->edges; }

uint64_t dzo_graph_arcs(const dzo_graph *graph) { return graph->arcs; }

uint64_t dzo_graph_bytes(const dzo_graph *graph) {
  uint64_t neighbours;
  dzo_graph_neighbour_bytes(graph, &neighbours, NULL);
  uint64_t an_arc = (graph->keys32 != NULL ? 4u : 0u) + (graph->keys64 != NULL ? 8u : 0u) +
                    (graph->numbers32 != NULL ? 4u : 0u) + (graph->numbers64 != NULL ? 8u : 0u);
  uint64_t a_loop =
      sizeof *graph->loop_vertices + sizeof *graph->loop_keys + sizeof *graph->loop_numbers;
  uint64_t a_vertex = sizeof *graph->offsets + (graph->labels != NULL ? sizeof *graph->labels : 0);
  return sizeof *graph + neighbours + an_arc * graph->arcs + a_loop * graph->loops +
         a_vertex * graph->vertices + sizeof *graph->offsets +
         graph->map.dictionary_size * sizeof *graph->map.dictionary;
}

dzo_weight_type dzo_graph_weight_type(const dzo_graph *graph) { return graph->map.type; }

dzo_row_order dzo_graph_row_order(const dzo_graph *graph) { return graph->row_order; }

int dzo_graph_is_compressed(const dzo_graph *graph) { return graph->compressed != NULL; }

uint64_t dzo_graph_label(const dzo_graph *graph, uint32_t v) {
  return graph->labels != NULL ? graph->labels[v] : v + graph->first_label;
}

void dzo_graph_neighbour_bytes(const dzo_graph *graph, uint64_t *stored, uint64_t *plain) {
  uint64_t all = graph->arcs * sizeof *graph->neighbours;
  if (plain != NULL)
    *plain = all;
  if (stored != NULL)
    *stored = graph->compressed != NULL ? dzo_compressed_bytes(graph->compressed) : all;
}
