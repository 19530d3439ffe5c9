/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/records.h"

#include <string.h>

#include "base/bytes.h"
#include "io/npy.h"
#include "io/numeral.h"

enum { WIDEST_FIELD = 21 }; /* 20 digits and what separates */

static char *put_field(char *to, dzo_integer type, uint64_t word) {
  return dzo_integer_is_signed(type) ? dzo_put_i64(to, (int64_t)word) : dzo_put_u64(to, word);
}

static char *put_text(const dzo_records *r, const uint64_t *words, bool absent, char *to) {
  for (unsigned f = 0; f < r->field_count; f++) {
    if (!absent || f + 1 < r->field_count)
      to = put_field(to, r->fields[f].type, words[f]);
    *to++ = f + 1 < r->field_count ? ',' : '\n';
  }
  return to;
}

static char *put_bytes(const dzo_records *r, const uint64_t *words, bool absent, char *to) {
  for (unsigned f = 0; f < r->field_count; f++)
    to = dzo_integer_is_wide(r->fields[f].type) ? dzo_put64(to, words[f])
                                                : dzo_put32(to, (uint32_t)words[f]);
  if (r->optional)
    *to++ = absent ? 0 : 1;
  return to;
}

static char *put_records(const void *argument, uint64_t begin, uint64_t end, char *to) {
  const dzo_records *r = argument;
  uint64_t words[DZO_RECORDS_TILE][DZO_RECORDS_FIELDS];
  uint8_t absent[DZO_RECORDS_TILE] = {0};
  for (; begin < end; begin += DZO_RECORDS_TILE) {
    uint64_t stop = end - begin < DZO_RECORDS_TILE ? end : begin + DZO_RECORDS_TILE;
    r->fetch(r->argument, begin, stop, words, absent);
    if (r->format == DZO_RECORDS_CSV)
      for (uint64_t i = 0; i < stop - begin; i++)
        to = put_text(r, words[i], absent[i] != 0, to);
    else
      for (uint64_t i = 0; i < stop - begin; i++)
        to = put_bytes(r, words[i], absent[i] != 0, to);
  }
  return to;
}

static size_t make_npy_header(const dzo_records *r, uint64_t count, char header[DZO_NPY_HEADER]) {
  static const char *const types[] = {"<u4", "<i4", "<u8", "<i8"};
  dzo_npy_field fields[DZO_RECORDS_FIELDS + 1];
  unsigned n = r->field_count;
  for (unsigned f = 0; f < n; f++)
    fields[f] = (dzo_npy_field){r->fields[f].name, types[r->fields[f].type]};
  if (r->optional)
    fields[n++] = (dzo_npy_field){"found", "|u1"};
  if (n == 1)
    fields[0].name = NULL;
  return dzo_npy_make_header(header, fields, n, count);
}

dzo_status dzo_records_begin(dzo_context *context, dzo_records *r, uint64_t count) {
  char header[DZO_NPY_HEADER];
  r->promised = count;
  r->written = 0;
  if (r->format == DZO_RECORDS_NPY) {
    if (count == UINT64_MAX && !dzo_output_is_random(r->output))
      return dzo_fail(context, DZO_E_UNSUPPORTED,
                      "the number of records, which .npy begins with, is not known before the end; "
                      "write to a regular file, or as csv or raw");
    return dzo_output_write(r->output, header, make_npy_header(r, count, header));
  }
  for (unsigned f = 0; f < r->field_count && r->format == DZO_RECORDS_CSV; f++)
    DZO_TRY(dzo_output_print(r->output, "%s%c", r->fields[f].name,
                             f + 1 < r->field_count ? ',' : '\n'));
  return DZO_OK;
}

dzo_status dzo_records_write(dzo_records *r, const void *argument, uint64_t count) {
  r->argument = argument;
  r->written += count;
  return dzo_output_items(r->output, count, r->field_count * WIDEST_FIELD + 1, put_records, r);
}

dzo_status dzo_records_end(dzo_records *r) {
  char header[DZO_NPY_HEADER];
  if (r->format != DZO_RECORDS_NPY || r->promised == r->written)
    return DZO_OK;
  return dzo_output_rewrite(r->output, 0, header, make_npy_header(r, r->written, header));
}
