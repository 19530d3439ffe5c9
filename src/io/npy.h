/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Headers of NumPy's .npy files, versions 1 to 3: arrays of integers with one dimension or two, and
 * arrays of records with integers among their fields. */
#ifndef DZO_IO_NPY_H
#define DZO_IO_NPY_H

#include "base/context.h"
#include "io/integer.h"

/* The most bytes of a header that is written here. */
enum { DZO_NPY_HEADER = 256 };

/* One field of a record, or all there is. */
typedef struct dzo_npy_field {
  const char *name; /* NULL in an array that is not of records */
  const char *type; /* as NumPy says it: "<u4" */
} dzo_npy_field;
/* The header of an array of `count` records; returns its bytes, which do not depend on `count`. */
size_t dzo_npy_make_header(char header[DZO_NPY_HEADER], const dzo_npy_field *fields,
                           unsigned field_count, uint64_t count);

/* Where the integers of one column lie. */
typedef struct dzo_npy_column {
  uint64_t offset; /* of the first, in the file */
  uint64_t stride; /* bytes from one to the next */
  uint64_t count;
  unsigned bytes; /* of one: 1, 2, 4 or 8 */
  bool is_signed;
  bool big_endian;
} dzo_npy_column;

bool dzo_npy_is(const unsigned char *head, size_t size);
/* Does it hold records, or several columns, so that a column has to be named? */
bool dzo_npy_has_columns(const unsigned char *head, size_t size);
/* Find a column by the name of a field, or by its number from 1; NULL: the first. DZO_E_FORMAT and
 * DZO_E_UNSUPPORTED begin with `name`. */
dzo_status dzo_npy_find(dzo_context *context, const char *name, const unsigned char *head,
                        size_t size, const char *column, dzo_npy_column *out);

#endif
