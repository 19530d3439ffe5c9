/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Matrix Market exchange format (R. F. Boisvert, R. Pozo, K. A. Remington, NISTIR 5935, 1996):
 * the entry (i, j) of a square matrix is an edge between i and j, in whichever triangle it stands.
 */
#include <string.h>

#include "io/reader.h"
#include "io/text.h"

static const char BANNER[] = "%%matrixmarket";

/* The words behind the banner. */
typedef struct header {
  bool array;
  enum { REAL, INTEGER, PATTERN } field;
  enum { GENERAL, SYMMETRIC, SKEW } symmetry;
} header;

static bool detect_mtx(const dzo_sample *sample) {
  dzo_lines lines = dzo_lines_of((const char *)sample->head, sample->head_size);
  const char *p, *end;
  if (!dzo_lines_next(&lines, &p, &end))
    return false;
  return dzo_word_is(dzo_next_word(&p, end), BANNER);
}

static dzo_status take_header(dzo_context *context, const char *name, const char *p,
                              const char *end, header *out) {
  char shown[DZO_SHOWN_BYTES];
  dzo_word banner = dzo_next_word(&p, end), object = dzo_next_word(&p, end);
  dzo_word form = dzo_next_word(&p, end), field = dzo_next_word(&p, end);
  dzo_word symmetry = dzo_next_word(&p, end), further = dzo_next_word(&p, end);
  if (!dzo_word_is(banner, BANNER))
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT,
                           "expected '%%%%MatrixMarket', found '%s'", dzo_word_show(banner, shown));
  if (symmetry.length == 0 || further.length > 0)
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT,
                           "expected '%%%%MatrixMarket matrix coordinate|array FIELD SYMMETRY'");
  if (!dzo_word_is(object, "matrix"))
    return dzo_text_refuse(context, name, 1,
                           dzo_word_is(object, "vector") ? DZO_E_UNSUPPORTED : DZO_E_FORMAT,
                           "'%s' is no matrix", dzo_word_show(object, shown));
  out->array = dzo_word_is(form, "array");
  if (!out->array && !dzo_word_is(form, "coordinate"))
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT,
                           "'%s' is neither 'coordinate' nor 'array'", dzo_word_show(form, shown));
  if (dzo_word_is(field, "complex") || dzo_word_is(symmetry, "hermitian"))
    return dzo_text_refuse(context, name, 1, DZO_E_UNSUPPORTED,
                           "complex and hermitian matrices have no order of weights");
  bool real = dzo_word_is(field, "real") || dzo_word_is(field, "double");
  bool integer = dzo_word_is(field, "integer") || dzo_word_is(field, "unsigned-integer");
  if (!real && !integer && !dzo_word_is(field, "pattern"))
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT,
                           "'%s' is none of 'real', 'integer', 'pattern'",
                           dzo_word_show(field, shown));
  out->field = real ? REAL : integer ? INTEGER : PATTERN;
  bool general = dzo_word_is(symmetry, "general"), skew = dzo_word_is(symmetry, "skew-symmetric");
  if (!general && !skew && !dzo_word_is(symmetry, "symmetric"))
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT,
                           "'%s' is none of 'general', 'symmetric', 'skew-symmetric'",
                           dzo_word_show(symmetry, shown));
  out->symmetry = general ? GENERAL : skew ? SKEW : SYMMETRIC;
  if (out->field == PATTERN && (out->array || skew))
    return dzo_text_refuse(context, name, 1, DZO_E_FORMAT, "a pattern cannot be %s",
                           out->array ? "an array" : "skew-symmetric");
  return DZO_OK;
}

/* Entries that an array of this symmetry stores: below 2^64, since rows are below 2^32. */
static uint64_t array_entries(const header *h, uint64_t n) {
  switch (h->symmetry) {
  case SYMMETRIC:
    return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
  case SKEW:
    return n == 0 ? 0 : n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
  default:
    return n * n;
  }
}

static dzo_status take_sizes(dzo_context *context, const header *h, const char *p, const char *end,
                             uint64_t line, dzo_text_layout *layout) {
  uint64_t rows, columns, entries = 0;
  const char *name = layout->name;
  bool good = dzo_word_u64(dzo_next_word(&p, end), &rows) &&
              dzo_word_u64(dzo_next_word(&p, end), &columns) &&
              (h->array || dzo_word_u64(dzo_next_word(&p, end), &entries)) &&
              dzo_next_word(&p, end).length == 0;
  if (!good)
    return dzo_text_refuse(context, name, line, DZO_E_FORMAT, "expected the sizes: %s",
                           h->array ? "rows columns" : "rows columns entries");
  if (rows != columns)
    return dzo_text_refuse(context, name, line,
                           h->symmetry == GENERAL ? DZO_E_UNSUPPORTED : DZO_E_FORMAT,
                           "a rectangular matrix (%llu x %llu) is no graph of its rows",
                           (unsigned long long)rows, (unsigned long long)columns);
  if (rows > UINT32_MAX)
    return dzo_text_refuse(context, name, line, DZO_E_UNSUPPORTED,
                           "%llu vertices, more than 2^32 - 1", (unsigned long long)rows);
  layout->declared = true;
  layout->vertices = rows;
  layout->counted = true;
  layout->count = h->array ? array_entries(h, rows) : entries;
  return DZO_OK;
}

static dzo_status mtx_prologue(dzo_context *context, const char *text, uint64_t size, bool complete,
                               dzo_text_layout *layout) {
  dzo_lines lines = dzo_lines_of(text, size);
  const char *p = NULL, *end = NULL;
  header h = {false, REAL, GENERAL};
  (void)dzo_lines_next(&lines, &p, &end);
  DZO_TRY(take_header(context, layout->name, p, end, &h));
  do {
    if (!dzo_lines_next(&lines, &p, &end))
      return dzo_text_refuse(
          context, layout->name, lines.number, complete ? DZO_E_FORMAT : DZO_E_UNSUPPORTED,
          complete ? "the file ends before the sizes" : "too many comments to stream");
  } while (p == end || *p == '%');
  layout->format = DZO_FORMAT_MTX;
  DZO_TRY(take_sizes(context, &h, p, end, lines.number, layout));
  layout->offset = (uint64_t)(lines.next - text);
  layout->line = lines.number + 1;
  layout->comment = '%';
  layout->column[1] = 1;
  layout->column[2] = 2;
  layout->first_label = 1;
  layout->weight = h.field == REAL      ? DZO_WEIGHT_F64
                   : h.field == INTEGER ? DZO_WEIGHT_I64
                                        : DZO_WEIGHT_NONE;
  layout->real = h.field == REAL;
  layout->integers_only = h.field == INTEGER;
  layout->no_loops = h.symmetry == SKEW && !h.array;
  if (h.array)
    layout->part = h.symmetry == GENERAL     ? DZO_ARRAY_ALL
                   : h.symmetry == SYMMETRIC ? DZO_ARRAY_LOWER
                                             : DZO_ARRAY_STRICT_LOWER;
  return DZO_OK;
}

static dzo_status read_mtx(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_text_read(context, input, mtx_prologue, out);
}

static dzo_status stream_mtx(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_text_stream(context, input, mtx_prologue, out);
}

const dzo_reader dzo_reader_mtx = {DZO_FORMAT_MTX, detect_mtx, read_mtx, stream_mtx, true};
