/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* METIS / DIMACS 10: "n m [1]", then a line of neighbours, each with its weight, a vertex. The
 * format's manual wants positive integer weights and no loops. */
#include "base/context.h"
#include "io/numeral.h"
#include "io/write.h"
#include "io/write_entries.h"

enum { WIDEST = 2 + 10 + 20 };

static dzo_status check_metis(dzo_context *context, const dzo_graph *graph) {
  if (graph->loops > 0)
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "the metis format holds no loops: edge %llu joins vertex %llu to itself",
                    (unsigned long long)graph->loop_numbers[0],
                    (unsigned long long)dzo_graph_label(graph, graph->loop_vertices[0]));
  return dzo_check_integers(context, graph, DZO_FORMAT_METIS, 1, INT64_MAX,
                            "positive integer weights only");
}

static char *put_entry(const dzo_graph *g, uint64_t arc, char *to) {
  to = dzo_put_u64(to, 1 + (uint64_t)dzo_arc_neighbour(g, arc));
  *to++ = ' ';
  if (g->map.type == DZO_WEIGHT_NONE)
    return to;
  int64_t value = 0;
  (void)dzo_weight_as_i64(g->map.type, dzo_key_weight(&g->map, dzo_arc_key(g, arc)), &value);
  to = dzo_put_i64(to, value);
  *to++ = ' ';
  return to;
}

/* The row in which item `item` stands: items are the arcs and, after those of each row, its end. */
static uint64_t row_of_item(const dzo_graph *g, uint64_t item) {
  uint64_t low = 0, high = g->vertices;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (g->offsets[middle] + middle <= item)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static char *put_items(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_graph *g = argument;
  uint64_t row = row_of_item(g, begin);
  for (uint64_t item = begin; item < end; item++) {
    uint64_t arc = item - row;
    if (arc < g->offsets[row + 1]) {
      to = put_entry(g, arc, to);
    } else {
      *to++ = '\n';
      row++;
    }
  }
  return to;
}

static dzo_status write_metis(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  (void)context;
  DZO_TRY(dzo_output_print(output, "%llu %llu%s\n", (unsigned long long)graph->vertices,
                           (unsigned long long)graph->edges,
                           graph->map.type != DZO_WEIGHT_NONE ? " 1" : ""));
  return dzo_output_items(output, graph->arcs + graph->vertices, WIDEST, put_items, graph);
}

const dzo_writer dzo_writer_metis = {
    .format = DZO_FORMAT_METIS, .check_graph = check_metis, .graph = write_metis};
