/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/memory.h"
#include "io/forest.h"
#include "io/npy.h"
#include "io/numeral.h"
#include "io/output.h"

enum { WIDEST = 3 * 20 + DZO_NUMERAL_MAX + 8 };

dzo_status dzo_forest_format_from_name(const char *name, dzo_forest_format *out) {
  static const char *const names[] = {"edges", "graphhpc", "mtx", "npy"};
  for (int i = 0; i < 4; i++)
    if (name != NULL && strcmp(name, names[i]) == 0) {
      *out = (dzo_forest_format)i;
      return DZO_OK;
    }
  return DZO_E_ARGUMENT;
}

static bool is_float(dzo_weight_type type) {
  return type == DZO_WEIGHT_F32 || type == DZO_WEIGHT_F64;
}

static char *put_value(char *to, dzo_weight_type type, dzo_weight weight) {
  if (is_float(type))
    return dzo_put_f64(to, weight.f64);
  return type == DZO_WEIGHT_I64 ? dzo_put_i64(to, weight.i64) : dzo_put_u64(to, weight.u64);
}

static char *put_name(char *to, const dzo_forest *f, uint64_t v) {
  return dzo_put_u64(to, f->labels != NULL ? f->labels[v] : v + f->first_label);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static char *put_edges(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_forest *f = argument;
  for (uint64_t i = begin; i < end; i++) {
    to = dzo_put_u64(to, f->numbers[i]);
    *to++ = ' ';
    to = put_name(to, f, f->u[i]);
    *to++ = ' ';
    to = put_name(to, f, f->v[i]);
    *to++ = ' ';
    to = put_value(to, f->weight_type, f->weights[i]);
    *to++ = '\n';
  }
  return to;
}

static char *put_mtx(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_forest *f = argument;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t u = f->u[i], v = f->v[i];
    to = dzo_put_u64(to, 1 + (u > v ? u : v));
    *to++ = ' ';
    to = dzo_put_u64(to, 1 + (u > v ? v : u));
    if (f->weight_type != DZO_WEIGHT_NONE) {
      *to++ = ' ';
      to = put_value(to, f->weight_type, f->weights[i]);
    }
    *to++ = '\n';
  }
  return to;
}

static dzo_status write_mtx(const dzo_forest *f, dzo_output *output) {
  const char *field = f->weight_type == DZO_WEIGHT_NONE ? "pattern"
                      : is_float(f->weight_type)        ? "real"
                                                        : "integer";
  DZO_TRY(dzo_output_print(output, "%%%%MatrixMarket matrix coordinate %s symmetric\n", field));
  DZO_TRY(dzo_output_print(output, "%llu %llu %llu\n", (unsigned long long)f->vertices,
                           (unsigned long long)f->vertices, (unsigned long long)f->count));
  return dzo_output_items(output, f->count, WIDEST, put_mtx, f);
}

static char *put_components(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_forest *f = argument;
  for (uint64_t v = begin; v < end; v++) {
    to = put_name(to, f, v);
    *to++ = ' ';
    to = dzo_put_u64(to, f->component_of[v]);
    *to++ = '\n';
  }
  return to;
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

static dzo_status write_npy_header(dzo_output *output, const char *type, uint64_t count) {
  char header[DZO_NPY_HEADER];
  dzo_npy_field field = {NULL, type};
  return dzo_output_write(output, header, dzo_npy_make_header(header, &field, 1, count));
}

static char *put_numbers(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const uint64_t *numbers = argument;
  for (uint64_t i = begin; i < end; i++)
    to = dzo_put64(to, numbers[i]);
  return to;
}

static char *put_u32(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const uint32_t *values = argument;
  for (uint64_t i = begin; i < end; i++)
    to = dzo_put32(to, values[i]);
  return to;
}

static dzo_status write_npy(const dzo_forest *f, dzo_output *output) {
  DZO_TRY(write_npy_header(output, "<u8", f->count));
  return dzo_output_items(output, f->count, 8, put_numbers, f->numbers);
}

/* ---- The contest's .mst: u32 trees, u64 edges, u64 (begin, end) of each tree in u64 edges[] ----
 */

typedef struct trees {
  uint64_t *ends;    /* [components + 1] tree c has the edges ends[c] .. ends[c + 1] - 1 */
  uint64_t *numbers; /* [count] tree by tree */
} trees;

static dzo_status sort_by_tree(dzo_context *context, const dzo_forest *f, trees *t) {
  t->ends = dzo_calloc(context, f->components + 1, sizeof *t->ends);
  t->numbers = dzo_alloc(context, f->count, sizeof *t->numbers);
  if (t->ends == NULL || t->numbers == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < f->count; i++)
    t->ends[f->component_of[f->u[i]] + 1]++;
  for (uint64_t c = 0; c < f->components; c++)
    t->ends[c + 1] += t->ends[c];
  /* ends[c] moves from the begin of tree c to its end, which is where tree c + 1 begins. */
  for (uint64_t i = 0; i < f->count; i++)
    t->numbers[t->ends[f->component_of[f->u[i]]]++] = f->numbers[i];
  for (uint64_t c = f->components; c > 0; c--)
    t->ends[c] = t->ends[c - 1];
  t->ends[0] = 0;
  return DZO_OK;
}

static char *put_trees(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const trees *t = argument;
  for (uint64_t c = begin; c < end; c++)
    to = dzo_put64(dzo_put64(to, t->ends[c]), t->ends[c + 1]);
  return to;
}

static dzo_status put_mst(const dzo_forest *f, const trees *t, dzo_output *output) {
  char header[12];
  (void)dzo_put64(dzo_put32(header, (uint32_t)f->components), f->count);
  DZO_TRY(dzo_output_write(output, header, sizeof header));
  DZO_TRY(dzo_output_items(output, f->components, 16, put_trees, t));
  return dzo_output_items(output, f->count, 8, put_numbers, t->numbers);
}

static dzo_status write_mst(dzo_context *context, const dzo_forest *f, dzo_output *output) {
  trees t = {0};
  dzo_status status = sort_by_tree(context, f, &t);
  if (status == DZO_OK)
    status = put_mst(f, &t, output);
  dzo_free(t.ends);
  dzo_free(t.numbers);
  return status;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static dzo_status write_as(dzo_context *context, const dzo_forest *f, dzo_forest_format format,
                           dzo_output *output) {
  switch (format) {
  case DZO_FOREST_EDGES:
    return dzo_output_items(output, f->count, WIDEST, put_edges, f);
  case DZO_FOREST_GRAPHHPC:
    return write_mst(context, f, output);
  case DZO_FOREST_MTX:
    return write_mtx(f, output);
  case DZO_FOREST_NPY:
    return write_npy(f, output);
  }
  return dzo_fail(context, DZO_E_ARGUMENT, "there is no forest format %d", (int)format);
}

dzo_status dzo_forest_write(dzo_context *context, const dzo_forest *forest,
                            dzo_forest_format format, const char *path) {
  dzo_begin(context);
  dzo_output *output;
  DZO_TRY(dzo_output_open(context, path, &output));
  return dzo_output_close(output, write_as(context, forest, format, output));
}

static bool ends_in_npy(const char *path) {
  size_t length = strlen(path);
  return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

static dzo_status put_component_file(const dzo_forest *f, const char *path, dzo_output *output) {
  if (!ends_in_npy(path))
    return dzo_output_items(output, f->vertices, 2 + 20 + 10, put_components, f);
  DZO_TRY(write_npy_header(output, "<u4", f->vertices));
  return dzo_output_items(output, f->vertices, 4, put_u32, f->component_of);
}

dzo_status dzo_components_write(dzo_context *context, const dzo_forest *forest, const char *path) {
  dzo_begin(context);
  dzo_output *output;
  DZO_TRY(dzo_output_open(context, path, &output));
  return dzo_output_close(output, put_component_file(forest, path, output));
}
