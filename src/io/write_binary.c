/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The binary adjacency formats with integer weights: ECL .egr, GAP .sg / .wsg, Galois .gr. All are
 * written symmetric; a loop is one entry. */
#include "base/bytes.h"
#include "base/context.h"
#include "io/write.h"
#include "io/write_entries.h"

typedef dzo_status (*put_rows_fn)(const dzo_entries *rows, dzo_output *output);

static dzo_status write_rows(dzo_context *context, const dzo_graph *graph, dzo_output *output,
                             put_rows_fn put) {
  dzo_entries rows;
  DZO_TRY(dzo_entries_create(context, graph, 1, &rows));
  dzo_status status = put(&rows, output);
  dzo_entries_destroy(&rows);
  return status;
}

/* Vertices and entries of 31 bits. */
static dzo_status check_31_bits(dzo_context *context, dzo_format format, const char *what,
                                uint64_t count) {
  if (count <= INT32_MAX)
    return DZO_OK;
  return dzo_fail(context, DZO_E_UNSUPPORTED, "the %s format holds at most 2^31 - 1 %s, not %llu",
                  dzo_format_name(format), what, (unsigned long long)count);
}

/* ---- ECL: i32 n, arcs, offsets[n + 1], neighbours[arcs], weights[arcs] or nothing -------------
 */

static dzo_status check_egr(dzo_context *context, const dzo_graph *graph) {
  DZO_TRY(check_31_bits(context, DZO_FORMAT_EGR, "vertices", graph->vertices));
  DZO_TRY(check_31_bits(context, DZO_FORMAT_EGR, "arcs", graph->arcs + graph->loops));
  return dzo_check_integers(context, graph, DZO_FORMAT_EGR, INT32_MIN, INT32_MAX,
                            "32-bit integer weights only");
}

static dzo_status put_egr(const dzo_entries *rows, dzo_output *output) {
  char header[8];
  (void)dzo_put32(dzo_put32(header, (uint32_t)rows->graph->vertices), (uint32_t)rows->entries);
  DZO_TRY(dzo_output_write(output, header, sizeof header));
  DZO_TRY(dzo_output_items(output, rows->graph->vertices + 1, 4, dzo_put_offsets32, rows));
  DZO_TRY(dzo_output_items(output, rows->entries, 4, dzo_put_neighbours, rows));
  if (rows->graph->map.type == DZO_WEIGHT_NONE)
    return DZO_OK;
  return dzo_output_items(output, rows->entries, 4, dzo_put_weights_i32, rows);
}

static dzo_status write_egr(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  return write_rows(context, graph, output, put_egr);
}

const dzo_writer dzo_writer_egr = {
    .format = DZO_FORMAT_EGR, .check_graph = check_egr, .graph = write_egr};

/* ---- GAP: u8 directed, i64 arcs, n, offsets[n + 1], then i32 neighbours, or pairs of neighbour
 * and weight ------------------------------------------------------------------------------------
 */

static dzo_status check_gap(dzo_context *context, const dzo_graph *graph) {
  DZO_TRY(check_31_bits(context, DZO_FORMAT_GAP, "vertices", graph->vertices));
  return dzo_check_integers(context, graph, DZO_FORMAT_GAP, INT32_MIN, INT32_MAX,
                            "32-bit integer weights only");
}

static char *put_gap_pairs(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_entries *rows = argument;
  dzo_entry_cursor cursor = dzo_entries_seek(rows, begin), again = cursor;
  for (uint64_t k = begin; k < end; k++) {
    to = dzo_put32(to, dzo_entries_next_neighbour(rows, &cursor));
    int64_t value = 0;
    (void)dzo_weight_as_i64(rows->graph->map.type, dzo_entries_next_weight(rows, &again), &value);
    to = dzo_put32(to, (uint32_t)value);
  }
  return to;
}

static dzo_status put_gap(const dzo_entries *rows, dzo_output *output) {
  char header[17] = {0};
  (void)dzo_put64(dzo_put64(header + 1, rows->entries), rows->graph->vertices);
  DZO_TRY(dzo_output_write(output, header, sizeof header));
  DZO_TRY(dzo_output_items(output, rows->graph->vertices + 1, 8, dzo_put_offsets64, rows));
  if (rows->graph->map.type == DZO_WEIGHT_NONE)
    return dzo_output_items(output, rows->entries, 4, dzo_put_neighbours, rows);
  return dzo_output_items(output, rows->entries, 8, put_gap_pairs, rows);
}

static dzo_status write_gap(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  return write_rows(context, graph, output, put_gap);
}

const dzo_writer dzo_writer_gap = {
    .format = DZO_FORMAT_GAP, .check_graph = check_gap, .graph = write_gap};

/* ---- Galois, version 1: u64 version, bytes of a weight, n, arcs, ends[n], u32 neighbours[arcs],
 * 4 bytes if arcs are odd, weights[arcs]. Our vertices always fit its 32 bits, so there is no need
 * to write version 2. ---------------------------------------------------------------------------
 */

static dzo_status check_galois(dzo_context *context, const dzo_graph *graph) {
  return dzo_check_integers(context, graph, DZO_FORMAT_GALOIS, INT64_MIN, INT64_MAX,
                            "64-bit integer weights only");
}

/* Readers take 4 bytes as signed. */
static bool fits_i32(const dzo_graph *graph, uint64_t key) {
  int64_t value;
  return dzo_weight_as_i64(graph->map.type, dzo_key_weight(&graph->map, key), &value) &&
         value >= INT32_MIN && value <= INT32_MAX;
}

static bool arc_is_wide(const void *argument, uint64_t arc) {
  const dzo_graph *graph = argument;
  return !fits_i32(graph, dzo_arc_key(graph, arc));
}

static bool loop_is_wide(const void *argument, uint64_t loop) {
  const dzo_graph *graph = argument;
  return !fits_i32(graph, graph->loop_keys[loop]);
}

static uint32_t weight_bytes(dzo_context *context, const dzo_graph *graph) {
  if (graph->map.type == DZO_WEIGHT_NONE)
    return 0;
  return dzo_find_first(context, graph->arcs, arc_is_wide, graph) < graph->arcs ||
                 dzo_find_first(context, graph->loops, loop_is_wide, graph) < graph->loops
             ? 8
             : 4;
}

static dzo_status write_galois(dzo_context *context, const dzo_graph *graph, dzo_output *output) {
  dzo_entries rows;
  DZO_TRY(dzo_entries_create(context, graph, 1, &rows));
  uint32_t bytes = weight_bytes(context, graph);
  char header[32], *to = dzo_put64(header, 1);
  to = dzo_put64(to, bytes);
  to = dzo_put64(to, graph->vertices);
  (void)dzo_put64(to, rows.entries);
  dzo_status status = dzo_output_write(output, header, sizeof header);
  dzo_entries ends = rows;
  ends.offsets++;
  if (status == DZO_OK)
    status = dzo_output_items(output, graph->vertices, 8, dzo_put_offsets64, &ends);
  if (status == DZO_OK)
    status = dzo_output_items(output, rows.entries, 4, dzo_put_neighbours, &rows);
  if (status == DZO_OK && rows.entries % 2 != 0)
    status = dzo_output_write(output, "\0\0\0", 4);
  if (status == DZO_OK && bytes > 0)
    status = dzo_output_items(output, rows.entries, bytes,
                              bytes == 4 ? dzo_put_weights_i32 : dzo_put_weights_i64, &rows);
  dzo_entries_destroy(&rows);
  return status;
}

const dzo_writer dzo_writer_galois = {
    .format = DZO_FORMAT_GALOIS, .check_graph = check_galois, .graph = write_galois};
