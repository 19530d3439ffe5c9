/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Small files in memory. */
#ifndef DZO_TESTS_IO_BYTES_H
#define DZO_TESTS_IO_BYTES_H

#include <stddef.h>

#include "base/context.h"
#include "io/reader.h"

enum { MOST_BYTES = 1 << 16 };

typedef struct bytes {
  unsigned char data[MOST_BYTES];
  size_t size;
} bytes;

static inline dzo_status read_memory(dzo_context *context, const bytes *b, dzo_format format,
                                     dzo_edge_list **out) {
  dzo_input *input;
  *out = NULL;
  DZO_TRY(dzo_input_open_memory(context, "file", b->data, b->size, DZO_INPUT_WHOLE, &input));
  dzo_status status = dzo_edge_list_read_input(context, input, format, out);
  dzo_input_close(input);
  return status;
}

#endif
