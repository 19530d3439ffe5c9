/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The GAP benchmark suite's serialized graphs (Beamer, Asanovic, Patterson 2015): u8 directed,
 * i64 arcs, i64 n, i64 offsets[n + 1], then i32 neighbours[arcs] (.sg) or pairs of i32 neighbour
 * and i32 weight (.wsg). A directed graph's incoming arcs follow, laid out alike; they say nothing
 * new.
 */
#include "base/bytes.h"
#include "io/adjacency.h"

enum { HEADER = 17 };

/* Where the out-graph ends, and with the in-graph the file. */
static bool take_rows(uint64_t *at, const dzo_adjacency *a, uint64_t step, uint64_t size) {
  return dzo_layout_take(at, a->vertices + 1, 8, size) &&
         dzo_layout_take(at, a->entries, step, size);
}

static bool fits_with(const dzo_adjacency *a, uint32_t step, uint64_t size) {
  uint64_t at = HEADER;
  bool fits = take_rows(&at, a, step, size);
  if (a->symmetry == DZO_DIRECTED)
    fits = fits && take_rows(&at, a, step, size);
  return fits && at == size;
}

static const char *layout(const unsigned char *head, size_t head_size, uint64_t size,
                          dzo_adjacency *out) {
  if (head_size < HEADER)
    return "it takes 17 bytes";
  *out = (dzo_adjacency){.format = DZO_FORMAT_GAP,
                         .vertices = dzo_get64(head + 9),
                         .entries = dzo_get64(head + 1),
                         .offsets_at = HEADER,
                         .offset_bytes = 8,
                         .neighbour_bytes = 4,
                         .symmetry = head[0] == 0 ? DZO_SYMMETRIC : DZO_DIRECTED};
  if (head[0] > 1)
    return "byte 0, which tells directed graphs, is neither 0 nor 1";
  if (out->vertices > INT32_MAX || out->entries > INT64_MAX)
    return "vertices must be 0 .. 2^31 - 1 and entries 0 .. 2^63 - 1";
  bool plain = fits_with(out, 4, size), weighted = !plain && fits_with(out, 8, size);
  if (!plain && !weighted && size != UINT64_MAX)
    return dzo_layout_size_differs;
  out->neighbours_at = HEADER + 8 * (out->vertices + 1);
  out->weights_at = out->neighbours_at + 4;
  out->stored = weighted ? DZO_STORED_I32 : DZO_STORED_NONE;
  out->neighbour_step = out->weight_step = weighted ? 8 : 4;
  return NULL;
}

static bool detect(const dzo_sample *sample) { return dzo_adjacency_detect(sample, layout); }

static dzo_status read_gap(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_adjacency_read(context, input, layout, out);
}

static dzo_status stream_gap(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_adjacency_stream(context, input, layout, out);
}

const dzo_reader dzo_reader_gap = {
    .format = DZO_FORMAT_GAP, .detect = detect, .read = read_gap, .stream = stream_gap};
