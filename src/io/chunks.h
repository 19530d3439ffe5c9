/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The content of an input as a sequence of large chunks: parts of a mapped file, or, where bytes
 * have to be unpacked or come through a pipe, of buffers that a thread fills ahead. */
#ifndef DZO_IO_CHUNKS_H
#define DZO_IO_CHUNKS_H

#include "io/input.h"

typedef struct dzo_chunks dzo_chunks;

typedef struct dzo_chunks_plan {
  uint64_t offset; /* where to begin, within the head */
  uint64_t limit;  /* and how many bytes to hand out at most */
  uint64_t bytes;  /* of a chunk, about */
  uint64_t unit;   /* chunks but the last are a multiple of it; 0: they end with a line */
} dzo_chunks_plan;

/* `input` is a stream that nothing was read of, borrowed. */
dzo_status dzo_chunks_open(dzo_context *context, dzo_input *input, const dzo_chunks_plan *plan,
                           dzo_chunks **out);
void dzo_chunks_close(dzo_chunks *chunks); /* NULL is fine */
/* The next chunk, until the next call; its size is 0 at the end only. Mapped chunks are aligned as
 * the plan's offset is, others to 64 bytes. Reports progress in bytes. DZO_E_UNSUPPORTED for a line
 * that is longer than a chunk. */
dzo_status dzo_chunks_next(dzo_chunks *chunks, const char **data, uint64_t *size);

#endif
