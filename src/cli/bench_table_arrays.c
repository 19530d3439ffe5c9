/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* dzo bench table: keys, values and answers, on the host and where the tables are. */
#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/bench_table.h"
#include "device/transfer.h"

enum { GRAIN = 1 << 16 };

dzo_status table_array_make(table_bench *bench, uint64_t count, size_t size, table_array *out) {
  *out = (table_array){.bench = bench, .bytes = count * size};
  out->host = dzo_alloc(bench->context, count, size);
  if (out->host == NULL)
    return DZO_E_MEMORY;
  return bench->unit == NULL ? DZO_OK : dzo_unit_allocate(bench->unit, count, size, &out->device);
}

void table_array_free(table_array *array) {
  if (array->device != NULL)
    dzo_unit_release(array->bench->unit, array->device);
  dzo_free(array->host);
  *array = (table_array){0};
}

dzo_status table_array_send(table_array *array) {
  if (array->device == NULL)
    return DZO_OK;
  return dzo_unit_send(array->bench->unit, array->device, array->host, array->bytes);
}

dzo_status table_array_fetch(table_array *array) {
  if (array->device == NULL)
    return DZO_OK;
  return dzo_unit_fetch(array->bench->unit, array->host, array->device, array->bytes);
}

void *table_array_at(const table_array *array, uint64_t first, size_t size) {
  return (char *)(array->device != NULL ? array->device : array->host) + first * size;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Bijections, so that different indices give different keys: xor-shifts and odd factors. */
static uint32_t scatter32(uint32_t x) {
  x = (x ^ x >> 16) * 0x21f0aaadu;
  x = (x ^ x >> 15) * 0xd35a2d97u;
  return x ^ x >> 15;
}

static uint64_t scatter64(uint64_t x) {
  x = (x ^ x >> 32) * UINT64_C(0xe9846af9b1a615d);
  x = (x ^ x >> 32) * UINT64_C(0xe9846af9b1a615d);
  return x ^ x >> 28;
}

uint64_t table_key(int bits, uint64_t i) {
  return bits == 32 ? scatter32((uint32_t)i) : scatter64(i);
}

uint64_t table_value(int bits, uint64_t key) {
  uint64_t value = key * UINT64_C(0x9e3779b97f4a7c15) + 1;
  return bits == 32 ? (uint32_t)value : value;
}

typedef struct fill_job {
  const table_fill *fill;
  void *words;
} fill_job;

static void fill_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const fill_job *job = argument;
  const table_fill *f = job->fill;
  uint32_t *narrow = job->words;
  uint64_t *wide = job->words;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t word = table_key(f->bits, f->first + i * f->stride % f->modulus);
    if (f->values)
      word = table_value(f->bits, word);
    if (f->bits == 32)
      narrow[i] = (uint32_t)word;
    else
      wide[i] = word;
  }
}

dzo_status table_array_fill(table_array *array, const table_fill *fill, uint64_t count) {
  fill_job job = {fill, array->host};
  dzo_parallel_for(array->bench->threads, count, GRAIN, fill_range, &job);
  return table_array_send(array);
}

/* ---- Answers --------------------------------------------------------------------------------- */

typedef struct check_job {
  int bits;
  const void *keys, *results;
  const uint8_t *answers;
  uint64_t wrong; /* accessed atomically */
} check_job;

static uint64_t word_at(const void *words, int bits, uint64_t i) {
  return bits == 32 ? ((const uint32_t *)words)[i] : ((const uint64_t *)words)[i];
}

static void check_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  check_job *job = argument;
  uint64_t wrong = 0;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = word_at(job->keys, job->bits, i);
    wrong += (job->answers != NULL && job->answers[i] != DZO_TABLE_FOUND) ||
             word_at(job->results, job->bits, i) != table_value(job->bits, key);
  }
  if (wrong > 0)
    dzo_fetch_add_u64(&job->wrong, wrong);
}

bool table_found_all(int bits, const table_array *keys, const table_array *results,
                     const table_array *answers, uint64_t count) {
  check_job job = {bits, keys->host, results->host, NULL, 0};
  if (answers != NULL)
    job.answers = answers->host;
  dzo_parallel_for(keys->bench->threads, count, GRAIN, check_range, &job);
  return job.wrong == 0;
}
