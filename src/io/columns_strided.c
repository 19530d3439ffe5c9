/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Numbers at equal distances: handed out where they lie if they can be, else converted. */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/columns_source.h"

enum { GRAIN = 1 << 15 };

/* Could they be used where they are, if only the width is the one that is wanted? */
static bool may_lie_ready(const dzo_npy_column *c) {
  return c->stride == c->bytes && !c->big_endian && DZO_LITTLE32(1) == 1;
}

dzo_status dzo_strided_open(dzo_context *context, dzo_input *input, bool owner,
                            const dzo_npy_column *column, uint64_t piece, uint64_t mapped,
                            dzo_strided *out) {
  *out = (dzo_strided){
      .context = context, .input = input, .owner = owner, .column = *column, .piece = piece};
  uint64_t limit = UINT64_MAX, size = dzo_input_size(input);
  if (column->count != UINT64_MAX && __builtin_mul_overflow(column->count, column->stride, &limit))
    return dzo_fail(context, DZO_E_FORMAT, "%s: promises too many numbers", dzo_input_name(input));
  /* The offset may lie within the first record. */
  uint64_t begin = column->offset;
  if (limit != UINT64_MAX && limit > 0)
    limit -= column->stride - column->bytes;
  if (limit != UINT64_MAX && size != UINT64_MAX && (begin > size || limit > size - begin))
    return dzo_fail(context, DZO_E_FORMAT, "%s: ends at byte %llu, %llu more are promised",
                    dzo_input_name(input), (unsigned long long)size,
                    (unsigned long long)(limit - (begin > size ? 0 : size - begin)));
  bool ready = dzo_input_is_random(input) && column->bytes >= 4 && may_lie_ready(column);
  dzo_chunks_plan plan = {begin, limit, (ready ? mapped : piece) * column->stride, column->stride};
  return dzo_chunks_open(context, input, &plan, &out->chunks);
}

void dzo_strided_close(dzo_strided *s) {
  dzo_chunks_close(s->chunks);
  dzo_free(s->words);
  if (s->owner)
    dzo_input_close(s->input);
  *s = (dzo_strided){0};
}

/* ---- Conversion ------------------------------------------------------------------------------ */

DZO_ITEM uint64_t number_at(const dzo_npy_column *c, const char *at) {
  uint8_t x8;
  uint16_t x16;
  uint32_t x32;
  switch (c->bytes) {
  case 1:
    memcpy(&x8, at, 1);
    return c->is_signed ? (uint64_t)(int64_t)(int8_t)x8 : x8;
  case 2:
    memcpy(&x16, at, 2);
    x16 = c->big_endian == (DZO_LITTLE32(1) == 1) ? __builtin_bswap16(x16) : x16;
    return c->is_signed ? (uint64_t)(int64_t)(int16_t)x16 : x16;
  case 4:
    x32 = dzo_get32(at);
    x32 = c->big_endian ? __builtin_bswap32(x32) : x32;
    return c->is_signed ? (uint64_t)(int64_t)(int32_t)x32 : x32;
  default:
    return c->big_endian ? __builtin_bswap64(dzo_get64(at)) : dzo_get64(at);
  }
}

typedef struct conversion {
  const dzo_npy_column *column;
  const char *from;
  void *to;
  bool wide;
} conversion;

static void convert(void *argument, uint64_t begin, uint64_t end, int thread) {
  const conversion *j = argument;
  dzo_npy_column c = *j->column;
  (void)thread;
  if (j->wide)
    for (uint64_t i = begin; i < end; i++)
      ((uint64_t *)j->to)[i] = number_at(&c, j->from + i * c.stride);
  else
    for (uint64_t i = begin; i < end; i++)
      ((uint32_t *)j->to)[i] = (uint32_t)number_at(&c, j->from + i * c.stride);
}

static bool lies_ready(const dzo_strided *s, bool wide) {
  const dzo_npy_column *c = &s->column;
  unsigned width = wide ? 8 : 4;
  return c->bytes == width && may_lie_ready(c) && (uintptr_t)s->chunk % width == 0;
}

static dzo_status convert_all(dzo_strided *s, bool wide, uint64_t count, const void **words) {
  if (count > s->capacity) {
    dzo_free(s->words);
    s->words = dzo_alloc(s->context, count, 8);
    s->capacity = s->words != NULL ? count : 0;
    if (s->words == NULL)
      return DZO_E_MEMORY;
  }
  conversion job = {&s->column, s->chunk, s->words, wide};
  dzo_parallel_for(s->context->threads, count, GRAIN, convert, &job);
  *words = s->words;
  return DZO_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static dzo_status refuse_end(const dzo_strided *s) {
  const dzo_npy_column *c = &s->column;
  if (c->count == UINT64_MAX)
    return dzo_fail(s->context, DZO_E_FORMAT, "%s: ends within a number of %u bytes",
                    dzo_input_name(s->input), c->bytes);
  return dzo_fail(s->context, DZO_E_FORMAT, "%s: ends after %llu of %llu numbers",
                  dzo_input_name(s->input), (unsigned long long)s->taken,
                  (unsigned long long)c->count);
}

static dzo_status next_chunk(dzo_strided *s) {
  DZO_TRY(dzo_chunks_next(s->chunks, &s->chunk, &s->chunk_bytes));
  bool ended = s->chunk_bytes == 0;
  return ended && s->column.count != UINT64_MAX && s->taken < s->column.count ? refuse_end(s)
                                                                              : DZO_OK;
}

dzo_status dzo_strided_look(dzo_strided *s, bool wide, uint64_t *count) {
  const dzo_npy_column *c = &s->column;
  *count = 0;
  if (s->chunk_bytes == 0)
    DZO_TRY(next_chunk(s));
  if (s->chunk_bytes == 0)
    return DZO_OK;
  /* The last number may lack what follows it in its record. */
  uint64_t odd = s->chunk_bytes % c->stride;
  if (odd != 0 && odd < c->bytes)
    return refuse_end(s);
  *count = s->chunk_bytes / c->stride + (odd != 0);
  if (*count > s->piece && !lies_ready(s, wide))
    *count = s->piece;
  return DZO_OK;
}

dzo_status dzo_strided_take(dzo_strided *s, bool wide, uint64_t count, const void **words) {
  *words = s->chunk;
  if (!lies_ready(s, wide))
    DZO_TRY(convert_all(s, wide, count, words));
  uint64_t used = count * s->column.stride;
  used = used < s->chunk_bytes ? used : s->chunk_bytes;
  s->chunk += used;
  s->chunk_bytes -= used;
  s->taken += count;
  return DZO_OK;
}
