/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One or two columns of integers, keys and values, from a file of any size, piece by piece: raw
 * little-endian numbers, .npy, or text with columns. gzip and zstd are unpacked on the way. */
#ifndef DZO_IO_COLUMNS_H
#define DZO_IO_COLUMNS_H

#include "io/input.h"
#include "io/integer.h"

typedef enum dzo_columns_format {
  DZO_COLUMNS_AUTO, /* by content: .npy by its magic, text, else raw */
  DZO_COLUMNS_RAW,
  DZO_COLUMNS_NPY,
  DZO_COLUMNS_CSV
} dzo_columns_format;

typedef struct dzo_columns_options {
  dzo_columns_format format;
  bool raw_by_name; /* AUTO: it is RAW even if all its bytes are text */
  /* The types of keys and values. RAW needs that of the keys, and takes it for values too unless
   * told. CSV: I64 unless told; what does not fit is an error. NPY knows by itself. */
  bool key_typed, value_typed;
  dzo_integer key_type, value_type;
  /* A name of the first line, of a field of records, or a number from 1; NULL: the first. */
  const char *column;
  bool column_if_any; /* `column` is for inputs that have several */
  /* NULL: no values. CSV and NPY with several columns: another column; otherwise a file of the same
   * format, a value for each key. */
  const char *values;
  uint64_t piece; /* keys of a piece, about; 0: as the memory planned for allows, and very many
                   * where they are handed out as they lie in a mapped file */
} dzo_columns_options;

typedef struct dzo_columns dzo_columns;

/* What the next piece holds, until the next call. */
typedef struct dzo_piece {
  uint64_t first; /* row of its first key, from 0 */
  uint64_t count;
  const void *keys;       /* [count] uint32_t or uint64_t, as dzo_columns_is_wide() says */
  const uint64_t *values; /* [count] words, or NULL */
} dzo_piece;

/* Open `path` ("-": standard input). DZO_E_IO; DZO_E_FORMAT and DZO_E_UNSUPPORTED name the file
 * and, in text, the line; DZO_E_ARGUMENT: raw without a type. */
dzo_status dzo_columns_open(dzo_context *context, const char *path,
                            const dzo_columns_options *options, dzo_columns **out);
/* The same of an open stream, which the columns own on success. */
dzo_status dzo_columns_open_input(dzo_context *context, dzo_input *input,
                                  const dzo_columns_options *options, dzo_columns **out);
void dzo_columns_close(dzo_columns *columns); /* NULL is fine */

dzo_columns_format dzo_columns_format_of(const dzo_columns *columns);
dzo_integer dzo_columns_key_type(const dzo_columns *columns);
dzo_integer dzo_columns_value_type(const dzo_columns *columns);
/* Rows, where they are known in advance, else the most there can be; UINT64_MAX: nobody knows. */
uint64_t dzo_columns_count(const dzo_columns *columns);
/* Let keys come as words of 64 bits, extended by their sign. Before the first piece. */
void dzo_columns_widen(dzo_columns *columns);
bool dzo_columns_is_wide(const dzo_columns *columns);
/* The next piece; its count is 0 at the end only. Reports progress. */
dzo_status dzo_columns_next(dzo_columns *columns, dzo_piece *piece);

#endif
