/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE /* memrchr */
#include "io/blocks.h"

#include <string.h>

#include "base/memory.h"

enum { LEAST_STEP = 1 << 18, MOST_STEP = 1 << 22, SHARE = 128, LEAST_LONGEST = 1 << 26 };

dzo_status dzo_blocks_open(dzo_context *context, dzo_input *input, uint64_t offset,
                           dzo_blocks *out) {
  uint64_t step = context->memory / SHARE;
  *out = (dzo_blocks){.context = context, .input = input};
  out->step = step < LEAST_STEP ? LEAST_STEP : step > MOST_STEP ? MOST_STEP : (size_t)step;
  uint64_t size = dzo_input_size(input);
  if (size < out->step) /* and one more, to meet the end at once */
    out->step = (size_t)size + 1;
  out->capacity = out->step;
  out->buffer = dzo_alloc(context, out->capacity, 1);
  if (out->buffer == NULL)
    return DZO_E_MEMORY;
  while (offset > 0) {
    size_t got, want = offset < out->capacity ? (size_t)offset : out->capacity;
    DZO_TRY(dzo_input_read(context, input, out->buffer, want, &got));
    if (got == 0)
      return dzo_fail(context, DZO_E_INTERNAL, "%s: shorter than its head", dzo_input_name(input));
    offset -= got;
  }
  return DZO_OK;
}

void dzo_blocks_close(dzo_blocks *blocks) {
  dzo_free(blocks->buffer);
  blocks->buffer = NULL;
}

/* A line is longer than the buffer. */
static dzo_status enlarge(dzo_blocks *b) {
  uint64_t longest = b->context->memory / 8;
  longest = longest < LEAST_LONGEST ? LEAST_LONGEST : longest;
  if (b->capacity >= longest)
    return dzo_fail(b->context, DZO_E_UNSUPPORTED, "%s: a line of more than %llu bytes in a stream",
                    dzo_input_name(b->input), (unsigned long long)b->capacity);
  char *moved = dzo_realloc(b->context, b->buffer, 2 * (uint64_t)b->capacity, 1);
  if (moved == NULL)
    return DZO_E_MEMORY;
  b->buffer = moved;
  b->capacity *= 2;
  return DZO_OK;
}

dzo_status dzo_blocks_next(dzo_blocks *b, const char **begin, const char **end) {
  memmove(b->buffer, b->buffer + b->given, b->used - b->given);
  b->used -= b->given;
  b->given = 0;
  size_t searched = 0;
  while (!b->ended) {
    if (b->used == b->capacity)
      DZO_TRY(enlarge(b));
    size_t got, want = b->capacity - b->used;
    DZO_TRY(dzo_input_read(b->context, b->input, b->buffer + b->used, want, &got));
    b->used += got;
    b->ended = got < want;
    const char *stop = memrchr(b->buffer + searched, '\n', b->used - searched);
    if (stop != NULL && !b->ended) {
      b->given = (size_t)(stop + 1 - b->buffer);
      break;
    }
    searched = b->used;
  }
  if (b->ended)
    b->given = b->used;
  *begin = b->buffer;
  *end = b->buffer + b->given;
  return DZO_OK;
}

dzo_status dzo_blocks_progress(const dzo_blocks *blocks) {
  uint64_t done, total;
  dzo_input_progress(blocks->input, &done, &total);
  return dzo_progress(blocks->context, "read", done, total);
}
