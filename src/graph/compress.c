/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/compress.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"

enum {
  ESCAPE = 1023,   /* the code of an exception */
  WINDOW = ESCAPE, /* codes 0 .. WINDOW - 1 are distances from the base */
  ENCODE_GRAIN = 256
};

static uint64_t exceptions_begin(const dzo_compressed *c, uint64_t block) {
  return c->group_exception[block / DZO_GROUP_BLOCKS] + c->block_exception[block];
}

static unsigned code_at(const dzo_compressed *c, uint64_t block, unsigned j) {
  unsigned high = c->high[block * DZO_BLOCK_PLANE + j % DZO_BLOCK_PLANE];
  return c->low[block * DZO_BLOCK_ARCS + j] | (high >> 2 * (j / DZO_BLOCK_PLANE) & 3u) << 8;
}

/* Exceptions of a block before its arc `end`. */
static uint64_t count_escapes(const dzo_compressed *c, uint64_t block, unsigned end) {
  uint64_t count = 0;
  for (unsigned j = 0; j < end; j++)
    count += code_at(c, block, j) == ESCAPE;
  return count;
}

uint32_t dzo_compressed_at(const dzo_compressed *c, uint64_t arc) {
  uint64_t block = arc / DZO_BLOCK_ARCS;
  unsigned j = (unsigned)(arc % DZO_BLOCK_ARCS);
  unsigned code = code_at(c, block, j);
  if (DZO_LIKELY(code != ESCAPE))
    return c->bases[block] + code;
  return c->exceptions[exceptions_begin(c, block) + count_escapes(c, block, j)];
}

static bool has_exceptions(const dzo_compressed *c, uint64_t block) {
  uint64_t next = block + 1;
  return next % DZO_GROUP_BLOCKS == 0 || c->block_exception[next] != c->block_exception[block];
}

/* Arcs begin .. end - 1 of one block. */
static void decode_part(const dzo_compressed *c, uint64_t block, unsigned begin, unsigned end,
                        uint32_t *out) {
  uint32_t base = c->bases[block];
  if (!has_exceptions(c, block)) {
    for (unsigned j = begin; j < end; j++)
      out[j - begin] = base + code_at(c, block, j);
    return;
  }
  uint64_t next = exceptions_begin(c, block) + count_escapes(c, block, begin);
  for (unsigned j = begin; j < end; j++) {
    unsigned code = code_at(c, block, j);
    out[j - begin] = code == ESCAPE ? c->exceptions[next++] : base + code;
  }
}

/* A whole block: plane by plane, so that a compiler sees constant shifts and vectorises. */
static void decode_block(const dzo_compressed *c, uint64_t block, uint32_t *restrict out) {
  const uint8_t *low = c->low + block * DZO_BLOCK_ARCS;
  const uint8_t *high = c->high + block * DZO_BLOCK_PLANE;
  uint32_t base = c->bases[block];
  for (unsigned p = 0; p < DZO_BLOCK_ARCS / DZO_BLOCK_PLANE; p++)
    for (unsigned j = 0; j < DZO_BLOCK_PLANE; j++)
      out[p * DZO_BLOCK_PLANE + j] =
          base + (low[p * DZO_BLOCK_PLANE + j] | (uint32_t)(high[j] >> 2 * p & 3) << 8);
  if (!has_exceptions(c, block))
    return;
  uint64_t next = exceptions_begin(c, block);
  for (unsigned j = 0; j < DZO_BLOCK_ARCS; j++)
    if (out[j] == base + ESCAPE)
      out[j] = c->exceptions[next++];
}

void dzo_compressed_decode(const dzo_compressed *c, uint64_t begin, uint64_t end, uint32_t *out) {
  while (begin < end) {
    uint64_t block = begin / DZO_BLOCK_ARCS;
    uint64_t block_end = (block + 1) * DZO_BLOCK_ARCS;
    uint64_t stop = block_end < end ? block_end : end;
    if (stop - begin == DZO_BLOCK_ARCS)
      decode_block(c, block, out);
    else
      decode_part(c, block, (unsigned)(begin % DZO_BLOCK_ARCS),
                  (unsigned)(begin % DZO_BLOCK_ARCS + (stop - begin)), out);
    out += stop - begin;
    begin = stop;
  }
}

uint64_t dzo_compressed_bytes(const dzo_compressed *c) {
  return sizeof *c + c->blocks * (sizeof *c->bases + DZO_BLOCK_ARCS + DZO_BLOCK_PLANE) +
         (c->blocks + 1) * sizeof *c->block_exception +
         (c->blocks / DZO_GROUP_BLOCKS + 1) * sizeof *c->group_exception +
         c->exception_count * sizeof *c->exceptions;
}

void dzo_compressed_destroy(dzo_compressed *c) {
  if (c == NULL)
    return;
  dzo_free(c->bases);
  dzo_free(c->low);
  dzo_free(c->high);
  dzo_free(c->block_exception);
  dzo_free(c->group_exception);
  dzo_free(c->exceptions);
  dzo_free(c);
}

/* ---- Encoding -------------------------------------------------------------------------------- */

typedef struct encode_job {
  const dzo_context *context;
  const uint32_t *neighbours;
  dzo_compressed *c;
} encode_job;

static unsigned block_size(const dzo_compressed *c, uint64_t block) {
  uint64_t left = c->arcs - block * DZO_BLOCK_ARCS;
  return left < DZO_BLOCK_ARCS ? (unsigned)left : DZO_BLOCK_ARCS;
}

static void sort_few(uint32_t *values, unsigned count) {
  for (unsigned i = 1; i < count; i++) {
    uint32_t x = values[i];
    unsigned j = i;
    for (; j > 0 && values[j - 1] > x; j--)
      values[j] = values[j - 1];
    values[j] = x;
  }
}

/* The base whose window holds most of the values; the smallest such. */
static uint32_t choose_base(const uint32_t *values, unsigned count, unsigned *held) {
  uint32_t low = UINT32_MAX, high = 0;
  for (unsigned j = 0; j < count; j++) {
    low = values[j] < low ? values[j] : low;
    high = values[j] > high ? values[j] : high;
  }
  *held = count;
  if (high - low < WINDOW)
    return low;
  uint32_t sorted[DZO_BLOCK_ARCS];
  for (unsigned j = 0; j < count; j++)
    sorted[j] = values[j];
  sort_few(sorted, count);
  unsigned first = 0;
  *held = 0;
  for (unsigned i = 0, end = 0; i < count; i++) {
    while (end < count && sorted[end] - sorted[i] < WINDOW)
      end++;
    if (end - i > *held) {
      *held = end - i;
      first = i;
    }
  }
  return sorted[first];
}

/* Until prefix sums are taken, block_exception holds the block's own count. */
static void choose_bases(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  encode_job *job = argument;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t b = begin; b < end; b++) {
    unsigned count = block_size(job->c, b), held;
    job->c->bases[b] = choose_base(job->neighbours + b * DZO_BLOCK_ARCS, count, &held);
    job->c->block_exception[b] = (uint16_t)(count - held);
  }
}

static void start_exceptions(dzo_compressed *c) {
  uint64_t sum = 0, group_sum = 0;
  for (uint64_t b = 0; b < c->blocks; b++) {
    if (b % DZO_GROUP_BLOCKS == 0) {
      c->group_exception[b / DZO_GROUP_BLOCKS] = sum;
      group_sum = sum;
    }
    uint64_t count = c->block_exception[b];
    c->block_exception[b] = (uint16_t)(sum - group_sum);
    sum += count;
  }
  if (c->blocks % DZO_GROUP_BLOCKS == 0) {
    c->group_exception[c->blocks / DZO_GROUP_BLOCKS] = sum;
    group_sum = sum;
  }
  c->block_exception[c->blocks] = (uint16_t)(sum - group_sum);
  c->exception_count = sum;
}

static void encode_blocks(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  encode_job *job = argument;
  dzo_compressed *c = job->c;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t b = begin; b < end; b++) {
    const uint32_t *values = job->neighbours + b * DZO_BLOCK_ARCS;
    uint32_t base = c->bases[b];
    uint64_t next = exceptions_begin(c, b);
    unsigned count = block_size(c, b);
    uint8_t *low = c->low + b * DZO_BLOCK_ARCS, *high = c->high + b * DZO_BLOCK_PLANE;
    memset(low, 0, DZO_BLOCK_ARCS);
    memset(high, 0, DZO_BLOCK_PLANE);
    for (unsigned j = 0; j < count; j++) {
      uint32_t code = values[j] - base;
      if (values[j] < base || code >= WINDOW) {
        code = ESCAPE;
        c->exceptions[next++] = values[j];
      }
      low[j] = (uint8_t)code;
      high[j % DZO_BLOCK_PLANE] |= (uint8_t)(code >> 8 << 2 * (j / DZO_BLOCK_PLANE));
    }
  }
}

static dzo_status encode(dzo_context *context, const uint32_t *neighbours, dzo_compressed *c) {
  c->bases = dzo_alloc(context, c->blocks, sizeof *c->bases);
  c->low = dzo_alloc(context, c->blocks, DZO_BLOCK_ARCS);
  c->high = dzo_alloc(context, c->blocks, DZO_BLOCK_PLANE);
  c->block_exception = dzo_alloc(context, c->blocks + 1, sizeof *c->block_exception);
  c->group_exception =
      dzo_alloc(context, c->blocks / DZO_GROUP_BLOCKS + 1, sizeof *c->group_exception);
  if (c->bases == NULL || c->low == NULL || c->high == NULL || c->block_exception == NULL ||
      c->group_exception == NULL)
    return DZO_E_MEMORY;
  encode_job job = {context, neighbours, c};
  dzo_parallel_for(context->threads, c->blocks, ENCODE_GRAIN, choose_bases, &job);
  DZO_TRY(dzo_progress(context, "compress", 1, 2));
  start_exceptions(c);
  c->exceptions = dzo_alloc(context, c->exception_count, sizeof *c->exceptions);
  if (c->exceptions == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, c->blocks, ENCODE_GRAIN, encode_blocks, &job);
  return dzo_progress(context, "compress", 2, 2);
}

dzo_status dzo_graph_compress(dzo_context *context, dzo_graph *graph) {
  dzo_begin(context);
  if (graph == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no graph was given (NULL)");
  if (graph->compressed != NULL)
    return DZO_OK;
  dzo_graph_evict(graph);
  dzo_compressed *c = dzo_calloc(context, 1, sizeof *c);
  if (c == NULL)
    return DZO_E_MEMORY;
  c->arcs = graph->arcs;
  c->blocks = graph->arcs / DZO_BLOCK_ARCS + (graph->arcs % DZO_BLOCK_ARCS != 0);
  dzo_status status = encode(context, graph->neighbours, c);
  if (status != DZO_OK) {
    dzo_compressed_destroy(c);
    return status;
  }
  dzo_free(graph->neighbours);
  graph->neighbours = NULL;
  graph->compressed = c;
  return DZO_OK;
}
