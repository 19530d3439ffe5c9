/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The Galois system's binary .gr: u64 version, u64 bytes of a weight, u64 n, u64 arcs, u64 ends[n],
 * then in version 1 u32 neighbours[arcs] and 4 bytes if the arcs are odd, in version 2
 * u64 neighbours[arcs]; then the weights. A file does not say what its weights are: those of 4 and
 * 8 bytes are read as signed integers. */
#include "base/bytes.h"
#include "io/adjacency.h"

enum { HEADER = 32 };

static const char *layout(const unsigned char *head, size_t head_size, uint64_t size,
                          dzo_adjacency *out) {
  if (head_size < HEADER)
    return "it takes 32 bytes";
  uint64_t version = dzo_get64(head), weight_bytes = dzo_get64(head + 8), at = HEADER;
  *out = (dzo_adjacency){.format = DZO_FORMAT_GALOIS,
                         .vertices = dzo_get64(head + 16),
                         .entries = dzo_get64(head + 24),
                         .offsets_at = at,
                         .offset_bytes = 8,
                         .offsets_are_ends = true,
                         .symmetry = DZO_SYMMETRY_UNKNOWN};
  if (version != 1 && version != 2)
    return "the version is neither 1 nor 2";
  if (weight_bytes != 0 && weight_bytes != 4 && weight_bytes != 8)
    return "a weight takes neither 0, 4 nor 8 bytes";
  out->neighbour_bytes = out->neighbour_step = version == 1 ? 4 : 8;
  out->weight_step = (uint32_t)weight_bytes;
  out->stored = weight_bytes == 0   ? DZO_STORED_NONE
                : weight_bytes == 4 ? DZO_STORED_I32
                                    : DZO_STORED_I64;
  bool fits = dzo_layout_take(&at, out->vertices, 8, size);
  out->neighbours_at = at;
  fits = fits && dzo_layout_take(&at, out->entries, out->neighbour_bytes, size);
  bool complete = fits && weight_bytes == 0 && at == size; /* nothing to align */
  if (version == 1 && out->entries % 2 != 0 && !complete)
    fits = fits && dzo_layout_take(&at, 1, 4, size);
  out->weights_at = at;
  fits = fits && dzo_layout_take(&at, out->entries, weight_bytes, size);
  return fits && (at == size || size == UINT64_MAX) ? NULL : dzo_layout_size_differs;
}

static bool detect(const dzo_sample *sample) { return dzo_adjacency_detect(sample, layout); }

static dzo_status read_galois(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_adjacency_read(context, input, layout, out);
}

static dzo_status stream_galois(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_adjacency_stream(context, input, layout, out);
}

const dzo_reader dzo_reader_galois = {
    .format = DZO_FORMAT_GALOIS, .detect = detect, .read = read_galois, .stream = stream_galois};
