/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The ECL graph format (M. Burtscher): i32 n, i32 arcs, i32 offsets[n + 1], i32 neighbours[arcs],
 * and i32 weights[arcs] or the end of the file. */
#include "base/bytes.h"
#include "io/adjacency.h"

enum { HEADER = 8 };

static const char *layout(const unsigned char *head, size_t head_size, uint64_t size,
                          dzo_adjacency *out) {
  if (head_size < HEADER)
    return "it takes 8 bytes";
  uint64_t at = HEADER;
  *out = (dzo_adjacency){.format = DZO_FORMAT_EGR,
                         .vertices = dzo_get32(head),
                         .entries = dzo_get32(head + 4),
                         .offsets_at = at,
                         .offset_bytes = 4,
                         .neighbour_bytes = 4,
                         .neighbour_step = 4,
                         .stored = DZO_STORED_I32,
                         .weight_step = 4,
                         .symmetry = DZO_SYMMETRY_UNKNOWN};
  if (out->vertices > INT32_MAX || out->entries > INT32_MAX)
    return "vertices and entries must be 0 .. 2^31 - 1";
  bool fits = dzo_layout_take(&at, out->vertices + 1, 4, size);
  out->neighbours_at = at;
  fits = fits && dzo_layout_take(&at, out->entries, 4, size);
  if (fits && (at == size || out->entries == 0))
    out->stored = DZO_STORED_NONE;
  out->weights_at = at;
  if (out->stored != DZO_STORED_NONE)
    fits = fits && dzo_layout_take(&at, out->entries, 4, size);
  return fits && (at == size || size == UINT64_MAX) ? NULL : dzo_layout_size_differs;
}

static bool detect(const dzo_sample *sample) { return dzo_adjacency_detect(sample, layout); }

static dzo_status read_egr(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_adjacency_read(context, input, layout, out);
}

static dzo_status stream_egr(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_adjacency_stream(context, input, layout, out);
}

const dzo_reader dzo_reader_egr = {
    .format = DZO_FORMAT_EGR, .detect = detect, .read = read_egr, .stream = stream_egr};
