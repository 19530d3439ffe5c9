/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "bench/read_bandwidth.h"

#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

enum { PASSES = 5, GRAIN = 1 << 17 };

#define WORDS (UINT64_C(1) << 25)

typedef struct reader {
  uint64_t *words;
  uint64_t sum; /* accessed atomically */
} reader;

static void touch(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  reader *r = argument;
  memset(r->words + begin, 1, (end - begin) * sizeof *r->words);
}

static void read_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  reader *r = argument;
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; i++)
    sum += r->words[i];
  dzo_fetch_add_u64(&r->sum, sum);
}

dzo_status read_bandwidth(dzo_context *context, double *bytes_per_second) {
  *bytes_per_second = 0;
  reader r = {.words = dzo_alloc(context, WORDS, sizeof *r.words)};
  if (r.words == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, WORDS, GRAIN, touch, &r);
  double best = 0;
  for (int pass = 0; pass < PASSES; pass++) {
    double begun = dzo_clock();
    dzo_parallel_for(context->threads, WORDS, GRAIN, read_range, &r);
    double rate = (double)(WORDS * sizeof *r.words) / (dzo_clock() - begun);
    best = rate > best ? rate : best;
  }
  dzo_free(r.words);
  /* Every word is made of ones; a compiler that skipped the reading would be found out. */
  if (r.sum != (uint64_t)PASSES * WORDS * UINT64_C(0x0101010101010101))
    return dzo_fail(context, DZO_E_INTERNAL, "the bandwidth measurement read wrong values");
  *bytes_per_second = best;
  return DZO_OK;
}
