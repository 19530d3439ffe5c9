/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The text of a stream as blocks of whole lines, in bounded memory. */
#ifndef DZO_IO_BLOCKS_H
#define DZO_IO_BLOCKS_H

#include "io/input.h"

typedef struct dzo_blocks {
  dzo_context *context;
  dzo_input *input; /* borrowed */
  char *buffer;     /* [capacity] */
  size_t capacity;
  size_t step;        /* bytes of a block, unless a line is longer */
  size_t used, given; /* bytes in the buffer, and those handed out last */
  bool ended;         /* the input has ended: the block handed out is the last */
} dzo_blocks;

/* Start at byte `offset`, which is within the head. To be closed even on failure. */
dzo_status dzo_blocks_open(dzo_context *context, dzo_input *input, uint64_t offset,
                           dzo_blocks *out);
void dzo_blocks_close(dzo_blocks *blocks);
/* The next lines as [*begin, *end), valid until the next call; empty at the end only. */
dzo_status dzo_blocks_next(dzo_blocks *blocks, const char **begin, const char **end);
/* Report how far reading is. */
dzo_status dzo_blocks_progress(const dzo_blocks *blocks);

#endif
