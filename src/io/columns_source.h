/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What columns.c shares with the ways to read them. */
#ifndef DZO_IO_COLUMNS_SOURCE_H
#define DZO_IO_COLUMNS_SOURCE_H

#include "io/chunks.h"
#include "io/columns.h"
#include "io/npy.h"

/* Numbers at equal distances. */
typedef struct dzo_strided {
  dzo_context *context;
  dzo_input *input; /* owned if `owner` */
  bool owner;
  dzo_npy_column column;
  dzo_chunks *chunks;
  uint64_t taken; /* of column.count */
  uint64_t piece; /* most numbers to convert at a time */
  void *words;    /* [capacity] where they have to be converted */
  uint64_t capacity;
  const char *chunk; /* what is left of it */
  uint64_t chunk_bytes;
} dzo_strided;

/* Without a count (UINT64_MAX) the input's end is the column's. About `piece` numbers are handed
 * out at a time, and `mapped` where they need not be converted. */
dzo_status dzo_strided_open(dzo_context *context, dzo_input *input, bool owner,
                            const dzo_npy_column *column, uint64_t piece, uint64_t mapped,
                            dzo_strided *out);
void dzo_strided_close(dzo_strided *s);
/* How many numbers are at hand, as words of 4 or 8 bytes; 0 at the end only. */
dzo_status dzo_strided_look(dzo_strided *s, bool wide, uint64_t *count);
/* The next `count` of these. */
dzo_status dzo_strided_take(dzo_strided *s, bool wide, uint64_t count, const void **words);

/* Lines of text. */
typedef struct dzo_csv_columns dzo_csv_columns;
dzo_status dzo_csv_columns_open(dzo_context *context, dzo_input *input,
                                const dzo_columns_options *options, dzo_csv_columns **out);
void dzo_csv_columns_close(dzo_csv_columns *csv);
/* The numbers of the next lines; words of 4 or 8 bytes, and values of 8. */
dzo_status dzo_csv_columns_next(dzo_csv_columns *csv, bool wide, const void **keys,
                                const uint64_t **values, uint64_t *count);

#endif
