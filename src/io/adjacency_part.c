/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/adjacency_part.h"

#include "base/bytes.h"
#include "base/context.h"
#include "base/memory.h"
#include "io/entries.h"

enum { OFFSETS_AT_ONCE = 1 << 13 };

uint64_t dzo_adjacency_row(const dzo_adjacency_file *file, uint64_t entry) {
  return dzo_row_of(file->offsets, file->layout.vertices, entry);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static dzo_status fail_offset(const dzo_adjacency_file *file, uint64_t index, const char *what) {
  const dzo_adjacency *a = &file->layout;
  uint64_t stored = index - (a->offsets_are_ends && index > 0);
  return dzo_fail(file->context, DZO_E_FORMAT, "%s: byte %llu: row offset %llu of vertex %llu %s",
                  dzo_input_name(file->input),
                  (unsigned long long)(a->offsets_at + stored * a->offset_bytes),
                  (unsigned long long)file->offsets[index], (unsigned long long)index, what);
}

static dzo_status check_offsets(const dzo_adjacency_file *file) {
  const dzo_adjacency *a = &file->layout;
  if (file->offsets[0] != 0)
    return fail_offset(file, 0, "is not 0");
  for (uint64_t v = 0; v < a->vertices; v++)
    if (file->offsets[v + 1] < file->offsets[v])
      return fail_offset(file, v + 1, "is less than the one before");
  if (file->offsets[a->vertices] != a->entries)
    return fail_offset(file, a->vertices, "is not the number of entries that the header gives");
  return DZO_OK;
}

static dzo_status load_offsets(dzo_adjacency_file *file) {
  const dzo_adjacency *a = &file->layout;
  unsigned char bytes[OFFSETS_AT_ONCE * 8];
  uint64_t first = a->offsets_are_ends ? 1 : 0, count = a->vertices + 1 - first;
  file->offsets = dzo_alloc(file->context, a->vertices + 1, sizeof *file->offsets);
  if (file->offsets == NULL)
    return DZO_E_MEMORY;
  file->offsets[0] = 0;
  for (uint64_t begin = 0; begin < count; begin += OFFSETS_AT_ONCE) {
    uint64_t now = count - begin < OFFSETS_AT_ONCE ? count - begin : OFFSETS_AT_ONCE;
    DZO_TRY(dzo_input_read_at(file->context, file->input, a->offsets_at + begin * a->offset_bytes,
                              bytes, now * a->offset_bytes));
    uint64_t *to = file->offsets + first + begin;
    for (uint64_t i = 0; i < now; i++)
      to[i] = a->offset_bytes == 8 ? dzo_get64(bytes + 8 * i) : dzo_get32(bytes + 4 * i);
  }
  return check_offsets(file);
}

static dzo_status make_parts(dzo_adjacency_file *file, int parts) {
  const dzo_adjacency *a = &file->layout;
  file->parts = dzo_calloc(file->context, (uint64_t)parts, sizeof *file->parts);
  if (file->parts == NULL)
    return DZO_E_MEMORY;
  file->part_count = parts;
  uint64_t step = a->neighbour_step > a->weight_step ? a->neighbour_step : a->weight_step;
  bool in_memory = dzo_input_data(file->input) != NULL;
  uint64_t most = a->entries < DZO_ADJACENCY_CHUNK ? a->entries : DZO_ADJACENCY_CHUNK;
  for (int i = 0; i < parts; i++) {
    dzo_adjacency_part *part = &file->parts[i];
    part->neighbours = dzo_alloc(file->context, most, sizeof *part->neighbours);
    part->weights = dzo_calloc(file->context, most, sizeof *part->weights);
    part->raw = in_memory ? NULL : dzo_alloc(file->context, most, step);
    if (part->neighbours == NULL || part->weights == NULL || (part->raw == NULL && !in_memory))
      return DZO_E_MEMORY;
  }
  return DZO_OK;
}

static dzo_status find_layout(dzo_adjacency_file *file, dzo_layout_fn layout) {
  if (dzo_input_size(file->input) == UINT64_MAX)
    DZO_TRY(dzo_input_load(file->context, file->input));
  size_t head_size;
  const unsigned char *head = dzo_input_head(file->input, &head_size);
  uint64_t size = dzo_input_size(file->input);
  const char *name = dzo_input_name(file->input), *wrong;
  dzo_adjacency *a = &file->layout;
  wrong = layout(head, head_size, size, a);
  if (wrong == dzo_layout_size_differs)
    return dzo_fail(file->context, DZO_E_FORMAT,
                    "%s: byte %llu: the file has %llu bytes, which is not what the header's %llu "
                    "vertices and %llu entries take",
                    name, (unsigned long long)size, (unsigned long long)size,
                    (unsigned long long)a->vertices, (unsigned long long)a->entries);
  if (wrong != NULL)
    return dzo_fail(file->context, DZO_E_FORMAT, "%s: header: %s", name, wrong);
  if (a->vertices > UINT32_MAX)
    return dzo_fail(file->context, DZO_E_UNSUPPORTED,
                    "%s: header: %llu vertices are more than 2^32 - 1", name,
                    (unsigned long long)a->vertices);
  return DZO_OK;
}

dzo_status dzo_adjacency_open(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                              int parts, dzo_adjacency_file *out) {
  *out = (dzo_adjacency_file){.context = context, .input = input};
  DZO_TRY(find_layout(out, layout));
  DZO_TRY(load_offsets(out));
  return make_parts(out, parts);
}

void dzo_adjacency_close(dzo_adjacency_file *file) {
  for (int i = 0; i < file->part_count; i++) {
    dzo_free(file->parts[i].neighbours);
    dzo_free(file->parts[i].weights);
    dzo_free(file->parts[i].raw);
  }
  dzo_free(file->parts);
  dzo_free(file->offsets);
  dzo_free(file->chunks);
  *file = (dzo_adjacency_file){0};
}

/* ---- Decoding -------------------------------------------------------------------------------- */

/* Bytes of the file from `at` on, in memory or copied to `raw`. */
static dzo_status fetch(dzo_adjacency_file *file, uint64_t at, uint64_t bytes, unsigned char *raw,
                        const unsigned char **out) {
  const unsigned char *data = dzo_input_data(file->input);
  *out = data != NULL ? data + at : raw;
  return data != NULL ? DZO_OK : dzo_input_read_at(file->context, file->input, at, raw, bytes);
}

/* The bytes of `count` items of which the last needs only its own width. */
static uint64_t span(uint64_t count, uint32_t step, uint32_t width) {
  return (count - 1) * step + width;
}

static void decode_neighbours(const dzo_adjacency_file *file, const unsigned char *from,
                              dzo_adjacency_part *part) {
  const dzo_adjacency *a = &file->layout;
  uint64_t count = part->end - part->begin;
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *item = from + i * a->neighbour_step;
    uint64_t v = a->neighbour_bytes == 8 ? dzo_get64(item) : dzo_get32(item);
    if (DZO_UNLIKELY(v >= a->vertices) && part->bad == UINT64_MAX)
      part->bad = part->begin + i;
    part->neighbours[i] = (uint32_t)v;
  }
}

static uint64_t decode_weight(dzo_stored_weight stored, const unsigned char *item) {
  if (stored == DZO_STORED_I32)
    return (uint64_t)(int64_t)(int32_t)dzo_get32(item);
  uint64_t bits = dzo_get64(item);
  return stored == DZO_STORED_F64 && bits == UINT64_C(1) << 63 ? 0 : bits; /* -0 is 0 */
}

static bool is_nan_bits(uint64_t bits) {
  return (bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff) << 52;
}

static void decode_weights(const dzo_adjacency_file *file, const unsigned char *from,
                           dzo_adjacency_part *part) {
  const dzo_adjacency *a = &file->layout;
  uint64_t count = part->end - part->begin;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = decode_weight(a->stored, from + i * a->weight_step);
    if (DZO_UNLIKELY(is_nan_bits(bits)) && a->stored == DZO_STORED_F64 &&
        part->bad > part->begin + i)
      part->bad = part->begin + i;
    part->weights[i] = bits;
  }
}

dzo_status dzo_adjacency_load(dzo_adjacency_file *file, uint64_t begin, uint64_t end,
                              dzo_adjacency_part *part) {
  const dzo_adjacency *a = &file->layout;
  const unsigned char *from;
  part->begin = begin;
  part->end = end;
  part->bad = UINT64_MAX;
  if (begin == end)
    return DZO_OK;
  DZO_TRY(fetch(file, a->neighbours_at + begin * a->neighbour_step,
                span(end - begin, a->neighbour_step, a->neighbour_bytes), part->raw, &from));
  decode_neighbours(file, from, part);
  if (a->stored == DZO_STORED_NONE)
    return DZO_OK;
  DZO_TRY(fetch(file, a->weights_at + begin * a->weight_step,
                span(end - begin, a->weight_step, a->stored == DZO_STORED_I32 ? 4 : 8), part->raw,
                &from));
  decode_weights(file, from, part);
  return DZO_OK;
}

dzo_status dzo_adjacency_fail_entry(dzo_adjacency_file *file, uint64_t entry) {
  const dzo_adjacency *a = &file->layout;
  unsigned char bytes[8];
  uint64_t at = a->neighbours_at + entry * a->neighbour_step;
  DZO_TRY(dzo_input_read_at(file->context, file->input, at, bytes, a->neighbour_bytes));
  uint64_t v = a->neighbour_bytes == 8 ? dzo_get64(bytes) : dzo_get32(bytes);
  if (v >= a->vertices)
    return dzo_fail(file->context, DZO_E_FORMAT,
                    "%s: byte %llu: neighbour %llu is not below the %llu vertices",
                    dzo_input_name(file->input), (unsigned long long)at, (unsigned long long)v,
                    (unsigned long long)a->vertices);
  return dzo_fail(file->context, DZO_E_FORMAT, "%s: byte %llu: the weight of entry %llu is NaN",
                  dzo_input_name(file->input),
                  (unsigned long long)(a->weights_at + entry * a->weight_step),
                  (unsigned long long)entry);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void put_edge(const dzo_adjacency_file *file, const dzo_adjacency_part *part, uint64_t k,
                     uint64_t row, dzo_adjacency_target *to) {
  uint64_t at = to->at++, bits = part->weights[k - part->begin];
  to->u[at] = (uint32_t)row;
  to->v[at] = part->neighbours[k - part->begin];
  if (to->numbers != NULL)
    to->numbers[at] = k;
  if (file->type == DZO_WEIGHT_U32)
    ((uint32_t *)to->weights)[at] = (uint32_t)bits;
  else if (file->type != DZO_WEIGHT_NONE)
    memcpy((char *)to->weights + 8 * at, &bits, sizeof bits);
}

void dzo_adjacency_emit(const dzo_adjacency_file *file, const dzo_adjacency_part *part,
                        dzo_adjacency_walk *walk, dzo_adjacency_target *to) {
  if (part->begin == part->end)
    return;
  uint64_t row = dzo_adjacency_row(file, part->begin), row_end = file->offsets[row + 1];
  unsigned parity = walk->parity;
  dzo_symmetry symmetry = file->layout.symmetry;
  for (uint64_t k = part->begin; k < part->end; k++) {
    while (k >= row_end) {
      row_end = file->offsets[++row + 1];
      parity = 0;
    }
    uint64_t v = part->neighbours[k - part->begin];
    bool kept = row < v || symmetry == DZO_DIRECTED;
    if (row == v) {
      kept = symmetry != DZO_SYMMETRIC_LOOPS2 || parity == 0;
      parity ^= 1;
    }
    if (kept && to->at < to->end)
      put_edge(file, part, k, row, to);
  }
  walk->parity = part->end == row_end ? 0 : parity;
}
