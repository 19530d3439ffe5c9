/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Aggregation on the GPU that is linked, against sorting on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "device/device.h"
#include "table/gpu_aggregate.h"
#include "table/gpu_layout.h"

static const uint64_t MIX = UINT64_C(0x123456789abcdef1);

typedef struct gpu {
  dzo_context *context;
  dzo_unit *unit;
} gpu;

static gpu gpu_or_skip(void) {
  gpu g = {0};
  assert_int_equal(dzo_context_create(NULL, &g.context), DZO_OK);
  g.unit = dzo_context_gpu(g.context);
  if (g.unit == NULL) {
    dzo_context_destroy(g.context);
    skip();
  }
  return g;
}

static void *device(gpu *g, uint64_t bytes) {
  void *pointer = NULL;
  assert_int_equal(dzo_unit_allocate(g->unit, bytes + 16, 1, &pointer), DZO_OK);
  return pointer;
}

static void download(gpu *g, void *host, const void *pointer, uint64_t bytes) {
  assert_int_equal(dzo_unit_copy(g->unit, 0, host, pointer, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(g->unit, 0), DZO_OK);
}

/* ---- Words of either width ------------------------------------------------------------------- */

static void put_word(void *words, bool wide, uint64_t i, uint64_t x) {
  if (wide)
    ((uint64_t *)words)[i] = x;
  else
    ((uint32_t *)words)[i] = (uint32_t)x;
}

static uint64_t get_word(const void *words, bool wide, uint64_t i) {
  return wide ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}

static uint64_t mixed(bool wide, uint64_t key) {
  return wide ? table_mixed64(key, MIX) : table_mixed32((uint32_t)key, MIX);
}

/* ---- What is expected ------------------------------------------------------------------------ */

typedef struct record {
  uint64_t key, value;
  uint64_t position;
} record;

static int by_key(const void *a, const void *b) {
  const record *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static uint64_t combine(table_aggregate_kind kind, bool wide, uint64_t a, uint64_t b) {
  switch (kind) {
  case TABLE_AGGREGATE_ADD:
    return wide ? a + b : (uint32_t)(a + b);
  case TABLE_AGGREGATE_MIN:
    return a < b ? a : b;
  case TABLE_AGGREGATE_MAX:
    return a > b ? a : b;
  case TABLE_AGGREGATE_FIRST:
    return a;
  default:
    return b;
  }
}

/* Sorts by (mixed) key, then position, and leaves one of each key. */
static uint64_t reduce(record *records, uint64_t count, table_aggregate_kind kind, bool wide) {
  uint64_t unique = 0;
  qsort(records, count, sizeof *records, by_key);
  for (uint64_t i = 0; i < count; i++) {
    record *last = unique > 0 ? &records[unique - 1] : NULL;
    if (last != NULL && last->key == records[i].key)
      last->value = combine(kind, wide, last->value, records[i].value);
    else
      records[unique++] = records[i];
  }
  return unique;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

typedef enum shape { UNIFORM, SKEWED, EQUAL, UNIQUE, COLLIDING, SHAPES } shape;

static uint64_t key_of(shape shape, bool wide, uint64_t i, uint64_t keys) {
  uint64_t word = dzo_random_word(5, i), id = word % keys;
  switch (shape) {
  case UNIFORM:
    break;
  case SKEWED: /* half of the records have one key, a quarter another, ... */
    id = (word & 0xffff) == 0 ? word >> 16 : (uint64_t)__builtin_ctzll(word);
    break;
  case EQUAL:
    return UINT64_MAX;
  case UNIQUE:
    id = i;
    break;
  default: /* chosen so that the mixed keys are next to each other, all ones among them */
    return wide ? table_unmixed64(~(id % keys), MIX)
                : table_unmixed32((uint32_t) ~(id % keys), MIX);
  }
  uint64_t key = id * UINT64_C(0x9e3779b97f4a7c15);
  return id == 3 ? 0 : id == 4 ? UINT64_MAX : wide ? key : (uint32_t)key;
}

typedef struct trial {
  bool wide, first, values;
  table_aggregate_kind kind;
  shape shape;
  uint64_t count, keys;
} trial;

static record *make(const trial *t, void *keys, void *values) {
  record *records = calloc(t->count + 1, sizeof *records);
  assert_non_null(records);
  for (uint64_t i = 0; i < t->count; i++) {
    uint64_t value = dzo_random_word(6, i);
    put_word(keys, t->wide, i, key_of(t->shape, t->wide, i, t->keys));
    put_word(values, t->wide, i, value);
    value = t->values ? get_word(values, t->wide, i) : t->kind == TABLE_AGGREGATE_ADD;
    records[i] = (record){mixed(t->wide, get_word(keys, t->wide, i)), value, i};
  }
  return records;
}

static void compare(gpu *g, const trial *t, const table_aggregate *job, record *expected) {
  uint64_t unique = reduce(expected, t->count, t->kind, t->wide), word = t->wide ? 8 : 4;
  assert_int_equal(job->unique, unique);
  void *keys = malloc(unique * word + 1), *values = malloc(unique * word + 1);
  uint32_t *first = calloc(unique + 1, 4);
  record *got = calloc(unique + 1, sizeof *got);
  assert_true(keys != NULL && values != NULL && first != NULL && got != NULL);
  download(g, keys, job->out_keys, unique * word);
  download(g, values, job->out_values, unique * word);
  if (t->first)
    download(g, first, job->out_first, unique * 4);
  for (uint64_t i = 0; i < unique; i++)
    got[i] = (record){get_word(keys, t->wide, i), get_word(values, t->wide, i), first[i]};
  qsort(got, unique, sizeof *got, by_key);
  for (uint64_t i = 0; i < unique; i++) {
    assert_int_equal(got[i].key, expected[i].key);
    assert_int_equal(got[i].value, expected[i].value);
    if (t->first)
      assert_int_equal(got[i].position, expected[i].position);
  }
  free(keys);
  free(values);
  free(first);
  free(got);
}

static void check(gpu *g, trial t) {
  uint64_t bytes = t.count * (t.wide ? 8 : 4);
  void *host_keys = malloc(bytes + 1), *host_values = malloc(bytes + 1);
  void *keys = device(g, bytes), *values = device(g, bytes);
  record *records = make(&t, host_keys, host_values);
  assert_int_equal(dzo_unit_copy(g->unit, 0, keys, host_keys, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(g->unit, 0, values, host_values, bytes), DZO_OK);
  table_aggregate job = {.wide = t.wide, .kind = t.kind, .mix = MIX, .count = t.count};
  job.keys = keys;
  job.values = t.values ? values : NULL;
  job.workspace = device(g, table_aggregate_bytes(g->unit, t.wide, t.first, t.count));
  job.out_keys = device(g, bytes);
  job.out_values = device(g, bytes);
  job.out_first = t.first ? device(g, t.count * 4) : NULL;
  if (t.count % 2 == 1) {
    assert_int_equal(table_aggregate_look(g->unit, 0, &job), DZO_OK);
    assert_true(job.looked && job.sample.distinct > 0 && job.sample.distinct <= job.sample.taken);
  }
  assert_int_equal(table_aggregate_run(g->unit, 0, &job), DZO_OK);
  compare(g, &t, &job, records);
  void *all[] = {keys, values, job.workspace, job.out_keys, job.out_values, job.out_first};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    dzo_unit_release(g->unit, all[i]);
  free(host_keys);
  free(host_values);
  free(records);
}

#if defined(__SANITIZE_THREAD__)
static const uint64_t counts[] = {33, 8191, 9001};
enum { MANY = 12001, STRIDE = 3 };
#elif defined(__SANITIZE_ADDRESS__)
static const uint64_t counts[] = {1, 33, 8191, 9001};
enum { MANY = 30001, STRIDE = 1 };
#elif defined(DZO_TEST_TINY) || defined(DZO_TEST_SMALL)
static const uint64_t counts[] = {1, 2, 33, 8191, 20003};
enum { MANY = 60001, STRIDE = 1 };
#else
static const uint64_t counts[] = {1, 2, 33, 8191, 8192, 100003, 300001};
enum { MANY = 2000001, STRIDE = 1 };
#endif
enum { COUNTS = sizeof counts / sizeof *counts };

static void test_every_kind(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  for (int c = 0; c < COUNTS; c++)
    for (int which = c % STRIDE; which < 40; which += STRIDE) {
      trial t = {.wide = which & 1, .first = which >> 1 & 1, .values = which % 5 != 0};
      t.kind = (table_aggregate_kind)(which % 5);
      t.shape = (shape)(((unsigned)which / 5 + (unsigned)c) % SHAPES);
      t.count = counts[c];
      t.keys = counts[c] / 5 + 1;
      check(&g, t);
    }
  dzo_context_destroy(g.context);
}

static void test_many(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  for (int s = 0; s < SHAPES; s++)
    for (int wide = 0; wide < 2; wide++) {
      trial t = {.wide = wide, .first = s % 2 == 0, .values = true, .shape = (shape)s};
      t.kind = s % 2 == 0 ? TABLE_AGGREGATE_ADD : TABLE_AGGREGATE_LAST;
      t.count = MANY;
      t.keys = s == UNIFORM ? 2000 : MANY / 2;
      check(&g, t);
    }
  dzo_context_destroy(g.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind),
      cmocka_unit_test(test_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
