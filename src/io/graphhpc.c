/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GraphHPC-2015 contest's binary: u32 n, u64 arcs, u8 directed = 0, u8 align = 0,
 * u64 offsets[n + 1], u32 neighbours[arcs], f64 weights[arcs]; little-endian, packed. */
#include "base/bytes.h"
#include "io/adjacency.h"

enum { HEADER = 14, DIRECTED = 12, ALIGN = 13 };

const char *dzo_graphhpc_layout(const unsigned char *head, size_t head_size, uint64_t size,
                                dzo_adjacency *out) {
  if (head_size < HEADER)
    return "it takes 14 bytes";
  uint64_t at = HEADER;
  *out = (dzo_adjacency){.format = DZO_FORMAT_GRAPHHPC,
                         .vertices = dzo_get32(head),
                         .entries = dzo_get64(head + 4),
                         .offsets_at = at,
                         .offset_bytes = 8,
                         .neighbour_bytes = 4,
                         .neighbour_step = 4,
                         .stored = DZO_STORED_F64,
                         .weight_step = 8,
                         .symmetry = DZO_SYMMETRIC_LOOPS2};
  if (head[DIRECTED] != 0)
    return "byte 12 marks the graph as directed, which no contest graph is";
  if (head[ALIGN] != 0)
    return "byte 13, the alignment, is not 0";
  bool fits = dzo_layout_take(&at, out->vertices + 1, 8, size);
  out->neighbours_at = at;
  fits = fits && dzo_layout_take(&at, out->entries, 4, size);
  out->weights_at = at;
  fits = fits && dzo_layout_take(&at, out->entries, 8, size);
  return fits && (at == size || size == UINT64_MAX) ? NULL : dzo_layout_size_differs;
}

static bool detect(const dzo_sample *sample) {
  return dzo_adjacency_detect(sample, dzo_graphhpc_layout);
}

static dzo_status read_graphhpc(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_adjacency_read(context, input, dzo_graphhpc_layout, out);
}

static dzo_status stream_graphhpc(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_adjacency_stream(context, input, dzo_graphhpc_layout, out);
}

const dzo_reader dzo_reader_graphhpc = {.format = DZO_FORMAT_GRAPHHPC,
                                        .detect = detect,
                                        .read = read_graphhpc,
                                        .stream = stream_graphhpc};
