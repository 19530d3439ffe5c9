/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/memory.h"
#include "graph/edge_list.h"
#include "io/forest_file.h"

void dzo_forest_file_release(dzo_forest_file *file) {
  dzo_free(file->numbers);
  dzo_free(file->u);
  dzo_free(file->v);
  *file = (dzo_forest_file){0};
}

/* DZO_E_FORMAT "FILE: byte N: what". */
static dzo_status fail_at(const dzo_forest_reading *r, uint64_t byte, const char *what) {
  return dzo_fail(r->context, DZO_E_FORMAT, "%s: byte %llu: %s", r->name, (unsigned long long)byte,
                  what);
}

uint64_t dzo_edge_place(const dzo_edges *edges, uint64_t number) {
  if (edges->numbers == NULL)
    return number >= edges->first_number && number - edges->first_number < edges->count
               ? number - edges->first_number
               : UINT64_MAX;
  uint64_t low = 0, high = edges->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (edges->numbers[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < edges->count && edges->numbers[low] == number ? low : UINT64_MAX;
}

static dzo_status make_numbers(dzo_forest_reading *r, uint64_t count) {
  r->file->count = count;
  r->file->numbers = dzo_alloc(r->context, count, sizeof *r->file->numbers);
  return r->file->numbers != NULL ? DZO_OK : DZO_E_MEMORY;
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

static const char npy_magic[] = "\x93NUMPY";

static bool is_npy(const dzo_forest_reading *r) {
  return r->size >= 10 && memcmp(r->data, npy_magic, 6) == 0;
}

/* The item type in the header, "<u8" say. */
static bool find_type(const char *header, char kind[2]) {
  const char *at = strstr(header, "'descr':");
  if (at == NULL || (at = strchr(at + 8, '\'')) == NULL)
    return false;
  if (at[1] != '<' || (at[2] != 'u' && at[2] != 'i') || (at[3] != '4' && at[3] != '8') ||
      at[4] != '\'')
    return false;
  kind[0] = at[2];
  kind[1] = at[3];
  return true;
}

static bool find_count(const char *header, uint64_t *count) {
  const char *at = strstr(header, "'shape':");
  if (at == NULL || (at = strchr(at, '(')) == NULL)
    return false;
  char *end;
  *count = strtoull(at + 1, &end, 10);
  return end != at + 1 && end[0] == ',' && end[1] == ')';
}

static dzo_status read_npy(dzo_forest_reading *r) {
  enum { MOST = 4096 };
  char header[MOST + 1], kind[2];
  uint64_t start = r->data[6] == 1 ? 10 : 12, length, count;
  if (r->size < start)
    return fail_at(r, r->size, "the file ends within its header");
  length =
      r->data[6] == 1 ? (uint64_t)r->data[8] | (uint64_t)r->data[9] << 8 : dzo_get32(r->data + 8);
  if (length > MOST || length > r->size - start)
    return fail_at(r, 8, "the length of the header is wrong");
  memcpy(header, r->data + start, length);
  header[length] = '\0';
  if (!find_type(header, kind) || !find_count(header, &count))
    return fail_at(r, start, "not a one-dimensional array of little-endian 4- or 8-byte integers");
  uint64_t width = kind[1] == '8' ? 8 : 4, bytes = r->size - start - length;
  if (bytes % width != 0 || bytes / width != count)
    return fail_at(r, start, "the size of the file is not what the array's shape takes");
  DZO_TRY(make_numbers(r, count));
  const unsigned char *from = r->data + start + length;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t number = width == 8 ? dzo_get64(from + 8 * i) : dzo_get32(from + 4 * i);
    if (kind[0] == 'i' && number >> (8 * width - 1) != 0)
      return fail_at(r, start + length + i * width, "an edge number is negative");
    r->file->numbers[i] = number;
  }
  return DZO_OK;
}

/* ---- The contest's .mst ---------------------------------------------------------------------- */

enum { MST_HEADER = 12 };

static bool is_mst(const dzo_forest_reading *r) {
  if (r->size < MST_HEADER)
    return false;
  uint64_t trees = dzo_get32(r->data), edges = dzo_get64(r->data + 4);
  uint64_t rest = r->size - MST_HEADER;
  return trees <= rest / 16 && edges == (rest - 16 * trees) / 8 && rest % 8 == 0;
}

static dzo_status read_mst(dzo_forest_reading *r) {
  uint64_t trees = dzo_get32(r->data), count = dzo_get64(r->data + 4), taken = 0;
  const unsigned char *bounds = r->data + MST_HEADER, *numbers = bounds + 16 * trees;
  DZO_TRY(make_numbers(r, count));
  for (uint64_t t = 0; t < trees; t++) {
    uint64_t begin = dzo_get64(bounds + 16 * t), end = dzo_get64(bounds + 16 * t + 8);
    if (begin > end || end > count || end - begin > count - taken)
      return fail_at(r, MST_HEADER + 16 * t, "the edges of a tree are out of range");
    for (uint64_t i = begin; i < end; i++)
      r->file->numbers[taken++] = dzo_get64(numbers + 8 * i);
  }
  if (taken != count)
    return fail_at(r, 4, "the trees do not have as many edges as there are");
  return DZO_OK;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static dzo_status read_content(dzo_forest_reading *r, const char *graph_path) {
  if (is_npy(r))
    return read_npy(r);
  if (!is_mst(r))
    return dzo_forest_read_text(r);
  DZO_TRY(read_mst(r));
  return graph_path != NULL ? dzo_forest_resolve_arcs(r, graph_path) : DZO_OK;
}

dzo_status dzo_forest_read(dzo_context *context, const char *path, const dzo_edges *edges,
                           const char *graph_path, dzo_forest_file *out) {
  dzo_begin(context);
  *out = (dzo_forest_file){0};
  dzo_input *input;
  DZO_TRY(dzo_input_open(context, path, DZO_INPUT_WHOLE, &input));
  dzo_forest_reading r = {.context = context,
                          .name = dzo_input_name(input),
                          .data = dzo_input_data(input),
                          .size = dzo_input_size(input),
                          .edges = edges,
                          .file = out};
  dzo_status status = read_content(&r, graph_path);
  dzo_input_close(input);
  if (status != DZO_OK)
    dzo_forest_file_release(out);
  return status;
}
