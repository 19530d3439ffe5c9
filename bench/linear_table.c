/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "bench/linear_table.h"

#include <string.h>

#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

enum { GRAIN = 1 << 14 };

struct linear_table {
  dzo_context *context;
  uint64_t slots;
  int bits;
  void *pairs; /* [slots] pair32 or pair64 */
};

typedef struct linear_job {
  const linear_table *table;
  const void *keys, *values;
  void *results;
  uint64_t counted; /* accessed atomically */
} linear_job;

/* Where in 0 .. slots - 1 a key's search begins. */
static uint64_t start32(uint32_t key, uint64_t slots) {
  key = (key ^ (key >> 16)) * 0x85ebca6bu;
  key = (key ^ (key >> 13)) * 0xc2b2ae35u;
  key ^= key >> 16;
  return (key * slots) >> 32;
}

static uint64_t start64(uint64_t key, uint64_t slots) {
  key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdu;
  key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53u;
  key ^= key >> 33;
  return ((key >> 32) * slots) >> 32;
}

#define BITS 32
#include "bench/linear_table_width.h"
#undef BITS
#define BITS 64
#include "bench/linear_table_width.h"

dzo_status linear_table_create(dzo_context *context, uint64_t slots, int bits, linear_table **out) {
  *out = NULL;
  linear_table *t = dzo_alloc(context, 1, sizeof *t);
  if (t == NULL)
    return DZO_E_MEMORY;
  slots = slots < 1 ? 1 : slots > UINT32_MAX ? UINT32_MAX : slots;
  *t = (linear_table){context, slots, bits, dzo_alloc(context, slots, (size_t)bits / 4)};
  if (t->pairs == NULL) {
    dzo_free(t);
    return DZO_E_MEMORY;
  }
  linear_table_clear(t);
  *out = t;
  return DZO_OK;
}

void linear_table_destroy(linear_table *t) {
  if (t == NULL)
    return;
  dzo_free(t->pairs);
  dzo_free(t);
}

static void clear_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const linear_table *t = argument;
  size_t size = (size_t)t->bits / 4;
  memset((char *)t->pairs + begin * size, 0xff, (size_t)(end - begin) * size);
}

void linear_table_clear(linear_table *t) {
  dzo_parallel_for(t->context->threads, t->slots, GRAIN, clear_range, t);
}

static uint64_t run(const linear_table *t, dzo_range_fn fn, uint64_t count, const void *keys,
                    const void *values, void *results) {
  linear_job job = {t, keys, values, results, 0};
  dzo_parallel_for(t->context->threads, count, GRAIN, fn, &job);
  return job.counted;
}

uint64_t linear_table_insert(linear_table *t, uint64_t count, const void *keys,
                             const void *values) {
  return run(t, t->bits == 32 ? insert32 : insert64, count, keys, values, NULL);
}

uint64_t linear_table_find(const linear_table *t, uint64_t count, const void *keys, void *results) {
  return run(t, t->bits == 32 ? find32 : find64, count, keys, NULL, results);
}

uint64_t linear_table_erase(linear_table *t, uint64_t count, const void *keys) {
  return run(t, t->bits == 32 ? erase32 : erase64, count, keys, NULL, NULL);
}
