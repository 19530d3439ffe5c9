/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Records of integers, written as CSV with a line of names, as NumPy's .npy, or raw: the same
 * little-endian bytes as in .npy, without its header. */
#ifndef DZO_IO_RECORDS_H
#define DZO_IO_RECORDS_H

#include "io/integer.h"
#include "io/output.h"

typedef enum dzo_records_format {
  DZO_RECORDS_CSV,
  DZO_RECORDS_NPY,
  DZO_RECORDS_RAW
} dzo_records_format;

enum { DZO_RECORDS_FIELDS = 4, DZO_RECORDS_TILE = 256 };

typedef struct dzo_records_field {
  const char *name;
  dzo_integer type;
} dzo_records_field;

/* Set words[i][f] to field f of record begin + i, for no more than DZO_RECORDS_TILE records; and
 * absent[i] where the last field of some may be missing. Any thread. */
typedef void (*dzo_records_fetch)(const void *argument, uint64_t begin, uint64_t end,
                                  uint64_t (*words)[DZO_RECORDS_FIELDS], uint8_t *absent);

typedef struct dzo_records {
  dzo_output *output;
  dzo_records_format format;
  unsigned field_count;
  dzo_records_field fields[DZO_RECORDS_FIELDS];
  bool optional; /* the last field may be missing: empty in CSV; else 0, and a byte `found` follows
                  * that is 0 or 1 */
  uint64_t promised; /* set by begin */
  uint64_t written;
  dzo_records_fetch fetch;
  const void *argument;
} dzo_records;

/* Write what comes before the records, of which there will be `count`; UINT64_MAX: nobody knows
 * yet, DZO_E_UNSUPPORTED where the format and the output do not allow that. */
dzo_status dzo_records_begin(dzo_context *context, dzo_records *records, uint64_t count);
/* Append the records 0 .. count - 1 of `argument`. */
dzo_status dzo_records_write(dzo_records *records, const void *argument, uint64_t count);
/* Complete what was begun. */
dzo_status dzo_records_end(dzo_records *records);

#endif
