/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/write_entries.h"

#include "base/bytes.h"
#include "base/context.h"
#include "io/write.h"

char *dzo_put_offsets32(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  for (uint64_t v = begin; v < end; v++)
    to = dzo_put32(to, (uint32_t)rows->offsets[v]);
  return to;
}

char *dzo_put_offsets64(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  for (uint64_t v = begin; v < end; v++)
    to = dzo_put64(to, rows->offsets[v]);
  return to;
}

char *dzo_put_neighbours(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  dzo_entry_cursor cursor = dzo_entries_seek(rows, begin);
  for (uint64_t k = begin; k < end; k++)
    to = dzo_put32(to, dzo_entries_next_neighbour(rows, &cursor));
  return to;
}

static int64_t next_integer(const dzo_entries *rows, dzo_entry_cursor *cursor) {
  int64_t value = 0;
  (void)dzo_weight_as_i64(rows->graph->map.type, dzo_entries_next_weight(rows, cursor), &value);
  return value;
}

char *dzo_put_weights_i32(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  dzo_entry_cursor cursor = dzo_entries_seek(rows, begin);
  for (uint64_t k = begin; k < end; k++)
    to = dzo_put32(to, (uint32_t)next_integer(rows, &cursor));
  return to;
}

char *dzo_put_weights_i64(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  dzo_entry_cursor cursor = dzo_entries_seek(rows, begin);
  for (uint64_t k = begin; k < end; k++)
    to = dzo_put64(to, (uint64_t)next_integer(rows, &cursor));
  return to;
}

char *dzo_put_weights_f64(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  dzo_entry_cursor cursor = dzo_entries_seek(rows, begin);
  for (uint64_t k = begin; k < end; k++)
    to = dzo_put_double(
        to, dzo_weight_as_f64(rows->graph->map.type, dzo_entries_next_weight(rows, &cursor)));
  return to;
}

typedef struct bounds {
  const dzo_graph *graph;
  int64_t lowest, highest;
} bounds;

static bool key_is_outside(const bounds *b, uint64_t key) {
  int64_t value;
  return !dzo_weight_as_i64(b->graph->map.type, dzo_key_weight(&b->graph->map, key), &value) ||
         value < b->lowest || value > b->highest;
}

static bool arc_is_outside(const void *argument, uint64_t arc) {
  const bounds *b = argument;
  return key_is_outside(b, dzo_arc_key(b->graph, arc));
}

static bool loop_is_outside(const void *argument, uint64_t loop) {
  const bounds *b = argument;
  return key_is_outside(b, b->graph->loop_keys[loop]);
}

dzo_status dzo_check_integers(dzo_context *context, const dzo_graph *graph, dzo_format format,
                              int64_t lowest, int64_t highest, const char *reason) {
  if (graph->map.type == DZO_WEIGHT_NONE)
    return DZO_OK;
  bounds b = {graph, lowest, highest};
  uint64_t i = dzo_find_first(context, graph->arcs, arc_is_outside, &b);
  if (i < graph->arcs)
    return dzo_fail_weight(context, format, reason, dzo_arc_number(graph, i), graph->map.type,
                           dzo_key_weight(&graph->map, dzo_arc_key(graph, i)));
  i = dzo_find_first(context, graph->loops, loop_is_outside, &b);
  if (i < graph->loops)
    return dzo_fail_weight(context, format, reason, graph->loop_numbers[i], graph->map.type,
                           dzo_key_weight(&graph->map, graph->loop_keys[i]));
  return DZO_OK;
}
