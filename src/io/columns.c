/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/columns.h"

#include <string.h>

#include "base/memory.h"
#include "io/columns_source.h"

enum { LEAST_PIECE = 1 << 16, MOST_PIECE = 1 << 24, MAPPED_PIECE = 1 << 28, SHARE = 32 };

struct dzo_columns {
  dzo_context *context;
  dzo_input *input; /* owned */
  dzo_columns_format format;
  dzo_integer key_type, value_type;
  bool has_values, wide;
  bool fixed_piece; /* its size was asked for */
  uint64_t count, row;
  dzo_csv_columns *csv;
  dzo_strided keys, values;
};

/* ---- What is it? ----------------------------------------------------------------------------- */

/* The bytes of a well-formed character at p, 0 if there is none. */
static size_t character(const unsigned char *p, size_t left) {
  if (*p < 0x80)
    return *p >= ' ' || *p == '\t' || *p == '\n' || *p == '\r';
  size_t bytes = *p >= 0xf0 && *p < 0xf5 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 0;
  if (bytes == 0 || *p >= 0xf5)
    return 0;
  for (size_t i = 1; i < bytes && i < left; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  return bytes;
}

/* UTF-8 without control characters. */
static bool is_text(const unsigned char *head, size_t size) {
  enum { ENOUGH = 1 << 12 };
  size_t end = size < ENOUGH ? size : ENOUGH;
  for (size_t i = 0; i < end;) {
    size_t bytes = character(head + i, end - i);
    if (bytes == 0)
      return false;
    i += bytes;
  }
  return true;
}

static dzo_status detect(dzo_columns *c, const dzo_columns_options *options) {
  size_t size;
  const unsigned char *head = dzo_input_head(c->input, &size);
  c->format = options->format;
  if (c->format == DZO_COLUMNS_AUTO && dzo_npy_is(head, size))
    c->format = DZO_COLUMNS_NPY;
  if (c->format == DZO_COLUMNS_AUTO)
    c->format = !options->raw_by_name && is_text(head, size) ? DZO_COLUMNS_CSV : DZO_COLUMNS_RAW;
  if (c->format == DZO_COLUMNS_RAW && !options->key_typed)
    return dzo_fail(c->context, DZO_E_ARGUMENT,
                    "%s: holds neither text nor a .npy array; raw numbers need a type",
                    dzo_input_name(c->input));
  if (c->format == DZO_COLUMNS_NPY && !dzo_npy_is(head, size))
    return dzo_fail(c->context, DZO_E_FORMAT, "%s: is no .npy file", dzo_input_name(c->input));
  return DZO_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static uint64_t piece_of(const dzo_context *context, const dzo_columns_options *options) {
  if (options->piece > 0)
    return options->piece;
  uint64_t piece = context->memory / SHARE / sizeof(uint64_t);
  return piece < LEAST_PIECE ? LEAST_PIECE : piece > MOST_PIECE ? MOST_PIECE : piece;
}

static dzo_integer type_of(const dzo_npy_column *column) {
  if (column->bytes == 8)
    return column->is_signed ? DZO_INTEGER_I64 : DZO_INTEGER_U64;
  return column->is_signed ? DZO_INTEGER_I32 : DZO_INTEGER_U32;
}

/* What a raw file holds, if it is all of one type. */
static dzo_status raw_column(dzo_context *context, const dzo_input *input, dzo_integer type,
                             dzo_npy_column *out) {
  uint64_t bytes = dzo_integer_bytes(type), size = dzo_input_size(input);
  *out =
      (dzo_npy_column){0, bytes, UINT64_MAX, (unsigned)bytes, dzo_integer_is_signed(type), false};
  if (size == UINT64_MAX)
    return DZO_OK;
  if (size % bytes != 0)
    return dzo_fail(context, DZO_E_FORMAT, "%s: its %llu bytes are no whole number of %s",
                    dzo_input_name(input), (unsigned long long)size, dzo_integer_name(type));
  out->count = size / bytes;
  return DZO_OK;
}

static dzo_status npy_column(dzo_context *context, const dzo_input *input, const char *name,
                             dzo_npy_column *out) {
  size_t size;
  const unsigned char *head = dzo_input_head(input, &size);
  return dzo_npy_find(context, dzo_input_name(input), head, size, name, out);
}

static dzo_status open_binary(dzo_columns *c, dzo_input *input, bool owner, const char *name,
                              dzo_integer raw_type, uint64_t piece, dzo_strided *out,
                              dzo_integer *type) {
  dzo_npy_column column;
  DZO_TRY(c->format == DZO_COLUMNS_RAW ? raw_column(c->context, input, raw_type, &column)
                                       : npy_column(c->context, input, name, &column));
  *type = type_of(&column);
  uint64_t mapped = c->fixed_piece ? piece : MAPPED_PIECE;
  dzo_status status = dzo_strided_open(c->context, input, owner, &column, piece, mapped, out);
  if (status != DZO_OK)
    out->owner = false; /* the caller's still */
  return status;
}

/* Another column of the same array, or another file. */
static dzo_status open_values(dzo_columns *c, const dzo_columns_options *options, uint64_t piece) {
  size_t size;
  const unsigned char *head = dzo_input_head(c->input, &size);
  dzo_integer raw_type = options->value_typed ? options->value_type : options->key_type;
  bool beside = c->format == DZO_COLUMNS_NPY && dzo_npy_has_columns(head, size);
  if (beside && !dzo_input_is_random(c->input))
    return dzo_fail(c->context, DZO_E_UNSUPPORTED,
                    "%s: two columns of .npy are read from a regular file that is not packed",
                    dzo_input_name(c->input));
  if (beside)
    return open_binary(c, c->input, false, options->values, raw_type, piece, &c->values,
                       &c->value_type);
  dzo_input *input;
  DZO_TRY(dzo_input_open(c->context, options->values, DZO_INPUT_STREAM, &input));
  dzo_status status =
      open_binary(c, input, true, NULL, raw_type, piece, &c->values, &c->value_type);
  if (status != DZO_OK)
    dzo_input_close(input);
  return status;
}

static const char *column_of(const dzo_columns *c, const dzo_columns_options *options) {
  size_t size;
  const unsigned char *head = dzo_input_head(c->input, &size);
  return options->column_if_any && !dzo_npy_has_columns(head, size) ? NULL : options->column;
}

static dzo_status open_numbers(dzo_columns *c, const dzo_columns_options *options) {
  uint64_t piece = piece_of(c->context, options);
  const char *column = column_of(c, options);
  if (c->format == DZO_COLUMNS_RAW && column != NULL && strcmp(column, "1") != 0)
    return dzo_fail(c->context, DZO_E_FORMAT, "%s: raw numbers have no column '%s'",
                    dzo_input_name(c->input), column);
  DZO_TRY(
      open_binary(c, c->input, false, column, options->key_type, piece, &c->keys, &c->key_type));
  if (c->has_values)
    DZO_TRY(open_values(c, options, piece));
  c->count = c->keys.column.count;
  uint64_t values = c->has_values ? c->values.column.count : c->count;
  if (c->count == UINT64_MAX || values == UINT64_MAX || values == c->count)
    return DZO_OK;
  return dzo_fail(c->context, DZO_E_FORMAT, "%s: holds %llu values for %llu keys", options->values,
                  (unsigned long long)values, (unsigned long long)c->count);
}

static dzo_status open_text(dzo_columns *c, const dzo_columns_options *options) {
  uint64_t size = dzo_input_size(c->input);
  c->key_type = options->key_typed ? options->key_type : DZO_INTEGER_I64;
  c->value_type = options->value_typed ? options->value_type : DZO_INTEGER_I64;
  /* A line has a digit and its end. */
  c->count = size == UINT64_MAX ? UINT64_MAX : size / 2 + 1;
  return dzo_csv_columns_open(c->context, c->input, options, &c->csv);
}

dzo_status dzo_columns_open_input(dzo_context *context, dzo_input *input,
                                  const dzo_columns_options *options, dzo_columns **out) {
  *out = NULL;
  dzo_columns *c = dzo_calloc(context, 1, sizeof *c);
  if (c == NULL)
    return DZO_E_MEMORY;
  c->context = context;
  c->input = input;
  c->has_values = options->values != NULL;
  c->fixed_piece = options->piece > 0;
  dzo_status status = detect(c, options);
  if (status == DZO_OK)
    status = c->format == DZO_COLUMNS_CSV ? open_text(c, options) : open_numbers(c, options);
  c->wide = dzo_integer_is_wide(c->key_type);
  if (status != DZO_OK) {
    c->input = NULL;
    dzo_columns_close(c);
    return status;
  }
  *out = c;
  return DZO_OK;
}

dzo_status dzo_columns_open(dzo_context *context, const char *path,
                            const dzo_columns_options *options, dzo_columns **out) {
  dzo_input *input;
  *out = NULL;
  DZO_TRY(dzo_input_open(context, path, DZO_INPUT_STREAM, &input));
  dzo_status status = dzo_columns_open_input(context, input, options, out);
  if (status != DZO_OK)
    dzo_input_close(input);
  return status;
}

void dzo_columns_close(dzo_columns *c) {
  if (c == NULL)
    return;
  dzo_csv_columns_close(c->csv);
  dzo_strided_close(&c->values);
  dzo_strided_close(&c->keys);
  dzo_input_close(c->input);
  dzo_free(c);
}

/* ---- Reading --------------------------------------------------------------------------------- */

dzo_columns_format dzo_columns_format_of(const dzo_columns *c) { return c->format; }

dzo_integer dzo_columns_key_type(const dzo_columns *c) { return c->key_type; }

dzo_integer dzo_columns_value_type(const dzo_columns *c) { return c->value_type; }

uint64_t dzo_columns_count(const dzo_columns *c) { return c->count; }

void dzo_columns_widen(dzo_columns *c) { c->wide = true; }

bool dzo_columns_is_wide(const dzo_columns *c) { return c->wide; }

/* As many as there are both keys and values at hand. */
static dzo_status next_numbers(dzo_columns *c, dzo_piece *piece) {
  uint64_t keys, values;
  const void *words = NULL;
  DZO_TRY(dzo_strided_look(&c->keys, c->wide, &keys));
  piece->count = keys;
  if (c->has_values) {
    DZO_TRY(dzo_strided_look(&c->values, true, &values));
    if ((keys == 0) != (values == 0))
      return dzo_fail(c->context, DZO_E_FORMAT, "%s: there are not as many values as keys",
                      dzo_input_name(c->values.input));
    piece->count = keys < values ? keys : values;
  }
  if (piece->count == 0)
    return DZO_OK;
  if (c->has_values)
    DZO_TRY(dzo_strided_take(&c->values, true, piece->count, &words));
  piece->values = words;
  return dzo_strided_take(&c->keys, c->wide, piece->count, &piece->keys);
}

dzo_status dzo_columns_next(dzo_columns *c, dzo_piece *piece) {
  *piece = (dzo_piece){.first = c->row};
  DZO_TRY(c->csv != NULL
              ? dzo_csv_columns_next(c->csv, c->wide, &piece->keys, &piece->values, &piece->count)
              : next_numbers(c, piece));
  c->row += piece->count;
  return DZO_OK;
}
