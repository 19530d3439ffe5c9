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
#include "table/gpu.h"
#include "table/gpu_aggregate.h"

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
  uint64_t most; /* pairs of a table; 0: all that it has room for */
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

/* A job's arrays in GPU memory. */
typedef struct arrays {
  void *keys, *values;
  record *records;
} arrays;

static void begin(gpu *g, const trial *t, uint64_t regions, arrays *a, table_aggregate *job) {
  uint64_t bytes = t->count * (t->wide ? 8 : 4);
  void *keys = malloc(bytes + 1), *values = malloc(bytes + 1);
  a->keys = device(g, bytes);
  a->values = device(g, bytes);
  a->records = make(t, keys, values);
  assert_int_equal(dzo_unit_copy(g->unit, 0, a->keys, keys, bytes), DZO_OK);
  assert_int_equal(dzo_unit_copy(g->unit, 0, a->values, values, bytes), DZO_OK);
  assert_int_equal(dzo_unit_wait(g->unit, 0), DZO_OK);
  free(keys);
  free(values);
  *job = (table_aggregate){.wide = t->wide, .kind = t->kind, .mix = MIX, .count = t->count};
  job->keys = a->keys;
  job->values = t->values ? a->values : NULL;
  job->workspace = device(g, table_aggregate_bytes(g->unit, t->wide, t->first, t->count, regions));
  job->out_keys = device(g, bytes);
  job->out_values = device(g, bytes);
  job->out_first = t->first ? device(g, t->count * 4) : NULL;
}

static void end(gpu *g, arrays *a, table_aggregate *job) {
  void *all[] = {a->keys,       a->values,       job->workspace,
                 job->out_keys, job->out_values, job->out_first};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    dzo_unit_release(g->unit, all[i]);
  free(a->records);
}

static void check(gpu *g, trial t) {
  table_aggregate job;
  arrays a;
  begin(g, &t, 0, &a, &job);
  if (t.count % 2 == 1) {
    assert_int_equal(table_aggregate_look(g->unit, 0, &job), DZO_OK);
    assert_true(job.looked && job.sample.distinct > 0 && job.sample.distinct <= job.sample.taken);
  }
  assert_int_equal(table_aggregate_run(g->unit, 0, &job), DZO_OK);
  assert_true(!job.filled);
  compare(g, &t, &job, a.records);
  end(g, &a, &job);
}

/* ---- Into a table ---------------------------------------------------------------------------- */

typedef struct slot {
  uint32_t value, key;
} slot;

static bool is_empty(slot s) { return s.key == TABLE_FREE32 && s.value == UINT32_MAX; }

/* A pair is in its first bucket; or in its second, if the first has no EMPTY slot. */
static void assert_place(const table_layout *t, const slot *slots, uint64_t at) {
  table_place place = table_place32(slots[at].key, t->regions);
  uint64_t base = (uint64_t)place.region * t->buckets, bucket = at / t->bucket_slots;
  uint64_t first = base + table_first_bucket(place, t->buckets);
  if (bucket == first)
    return;
  assert_int_equal(bucket, base + table_second_bucket32(slots[at].key, t->buckets));
  for (uint64_t i = 0; i < t->bucket_slots; i++)
    assert_false(is_empty(slots[first * t->bucket_slots + i]));
}

static uint64_t read_table(gpu *g, const table_layout *t, const table_aggregate *job, slot *slots,
                           record *got) {
  uint64_t count = t->regions * t->buckets * t->bucket_slots, pairs = 0;
  download(g, slots, t->slots, (count + 1) * sizeof *slots);
  for (uint64_t i = 0; i < count; i++)
    if (slots[i].key != TABLE_FREE32) {
      assert_place(t, slots, i);
      got[pairs++] = (record){slots[i].key, slots[i].value, 0};
    } else {
      assert_true(is_empty(slots[i]));
    }
  if (slots[count].key == 0)
    got[pairs++] = (record){TABLE_FREE32, slots[count].value, 0};
  else
    assert_true(is_empty(slots[count]));
  if (job->filled)
    download(g, slots, job->spill, job->spilled * sizeof *slots);
  for (uint64_t i = 0; i < job->spilled && job->filled; i++)
    got[pairs++] = (record){slots[i].key, slots[i].value, 0};
  return pairs;
}

static void compare_table(gpu *g, const trial *t, const table_aggregate *job, record *expected) {
  uint64_t room = (job->into->regions + 1) * (job->into->buckets * job->into->bucket_slots + 1024);
  slot *slots = malloc(room * sizeof *slots);
  record *got = malloc(room * sizeof *got);
  assert_true(slots != NULL && got != NULL);
  uint64_t pairs = read_table(g, job->into, job, slots, got);
  assert_int_equal(pairs, job->filled ? job->unique : 0);
  if (job->filled) {
    assert_int_equal(pairs, reduce(expected, t->count, t->kind, t->wide));
    qsort(got, pairs, sizeof *got, by_key);
    for (uint64_t i = 0; i < pairs; i++)
      assert_true(got[i].key == expected[i].key && got[i].value == expected[i].value);
  } else {
    compare(g, t, job, expected);
  }
  free(slots);
  free(got);
}

/* A table of so many buckets a region, each of `times` parts. Returns whether it was filled. */
static bool fill_by(gpu *g, trial t, uint32_t regions, uint32_t times, uint32_t buckets,
                    uint32_t bucket_slots) {
  uint64_t slots = (uint64_t)regions * buckets * bucket_slots + 1;
  table_layout layout = {.regions = regions, .buckets = buckets, .bucket_slots = bucket_slots};
  table_aggregate job;
  arrays a;
  begin(g, &t, (uint64_t)regions * times, &a, &job);
  layout.mix = MIX;
  layout.slots = device(g, slots * sizeof(slot));
  job.spill = device(g, (uint64_t)regions * 1024 * sizeof(slot));
  job.into = &layout;
  job.most = t.most > 0 ? t.most : slots;
  job.times = times;
  assert_int_equal(dzo_unit_fill(g->unit, 0, layout.slots, 0xff, slots * sizeof(slot)), DZO_OK);
  assert_int_equal(table_aggregate_run(g->unit, 0, &job), DZO_OK);
  compare_table(g, &t, &job, a.records);
  bool filled = job.filled;
  end(g, &a, &job);
  dzo_unit_release(g->unit, layout.slots);
  dzo_unit_release(g->unit, job.spill);
  return filled;
}

/* Of the kinds, widths and shapes every STRIDE-th, others for each count. */
#if defined(__SANITIZE_THREAD__)
static const uint64_t counts[] = {33, 8191, 9001};
enum { MANY = 9001, STRIDE = 6, FILLED = 8003 };
#elif defined(__SANITIZE_ADDRESS__)
static const uint64_t counts[] = {1, 33, 8191, 9001};
enum { MANY = 12001, STRIDE = 3, FILLED = 12001 };
#elif defined(DZO_TEST_TINY)
static const uint64_t counts[] = {33, 8191, 20003};
enum { MANY = 40001, STRIDE = 3, FILLED = 20003 };
#elif defined(DZO_TEST_SMALL)
static const uint64_t counts[] = {1, 2, 33, 8191, 20003};
enum { MANY = 30001, STRIDE = 2, FILLED = 20003 };
#else
static const uint64_t counts[] = {1, 2, 33, 8191, 8192, 100003, 300001};
enum { MANY = 2000001, STRIDE = 1, FILLED = 90001 };
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

/* The same from tiles, and from what was gathered. */
static bool fill(gpu *g, trial t, uint32_t regions, uint32_t buckets, uint32_t bucket_slots) {
  bool filled = fill_by(g, t, regions, 1, buckets, bucket_slots);
  assert_int_equal(fill_by(g, t, regions, 19, buckets, bucket_slots), filled);
  return filled;
}

/* Tables half full, and as full as tables get; and those that are too small. */
static void test_fill(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  trial t = {.values = true, .count = FILLED, .keys = FILLED / 4, .shape = UNIFORM};
  uint32_t even = (uint32_t)(t.keys / 3 / 4);
  assert_true(fill(&g, t, 3, even * 2, 4));
  t.most = t.keys / 2;
  assert_false(fill(&g, t, 3, even * 2, 4));
  t.most = 0;
  assert_true(fill(&g, t, 3, even * 10 / 9, 4));
  t.kind = TABLE_AGGREGATE_MAX;
  assert_true(fill(&g, t, 3, even / 2 * 20 / 19, 8));
  assert_false(fill(&g, t, 3, even * 9 / 10, 4));
  t.kind = TABLE_AGGREGATE_MIN;
  t.shape = SKEWED;
  assert_true(fill(&g, t, 7, 64, 4));
  t.kind = TABLE_AGGREGATE_ADD;
  t.shape = EQUAL;
  assert_true(fill(&g, t, 2, 16, 8));
  t.values = false;
  t.shape = COLLIDING;
  assert_false(fill(&g, t, 5, even, 4));
  t.keys = 300;
  assert_true(fill(&g, t, 1, 400, 4));
  dzo_context_destroy(g.context);
}

/* ---- By a table ------------------------------------------------------------------------------ */

enum { SOME = 4000 };

static void run_table(gpu *g, void *table, dzo_table_operation operation, const uint32_t *keys,
                      uint32_t *words, dzo_table_batch *batch) {
  void *device_keys = device(g, SOME * 4), *device_words = device(g, SOME * 4);
  assert_int_equal(dzo_unit_copy(g->unit, 0, device_keys, keys, SOME * 4), DZO_OK);
  assert_int_equal(dzo_unit_copy(g->unit, 0, device_words, words, SOME * 4), DZO_OK);
  assert_int_equal(dzo_unit_wait(g->unit, 0), DZO_OK);
  dzo_table_batch_init(batch);
  batch->operation = operation;
  batch->count = SOME;
  batch->keys = device_keys;
  batch->values = operation == DZO_TABLE_FIND ? NULL : device_words;
  batch->results = operation == DZO_TABLE_FIND ? device_words : NULL;
  assert_int_equal(table_engine_cuda.run(table, batch), DZO_OK);
  if (operation == DZO_TABLE_FIND)
    download(g, words, device_words, SOME * 4);
  dzo_unit_release(g->unit, device_keys);
  dzo_unit_release(g->unit, device_words);
}

/* Records of so many keys, twice, to a table that was made for `capacity` of them. */
static void sums_of(gpu *g, uint32_t keys, uint64_t capacity, bool fixed) {
  table_plan plan = {
      .context = g->context, .max_load = 0.9, .seed = 5, .capacity = capacity, .fixed = fixed};
  table_gpu_sizes sizes = {.region_slots = 64, .heavy = 100};
  static uint32_t list[SOME], values[SOME], sums[SOME];
  void *table;
  dzo_table_batch batch;
  assert_int_equal(table_gpu_create(&plan, &sizes, &table), DZO_OK);
  memset(sums, 0, sizeof sums);
  for (uint32_t i = 0; i < SOME; i++) {
    list[i] = (uint32_t)(dzo_random_word(7, i) % keys);
    values[i] = (uint32_t)dzo_random_word(8, i);
    sums[list[i]] += values[i];
  }
  uint64_t unique = 0;
  for (uint32_t k = 0; k < keys; k++)
    unique += sums[k] != 0;
  for (uint32_t times = 1; times <= 2; times++) {
    run_table(g, table, DZO_TABLE_ADD, list, values, &batch);
    assert_int_equal(batch.inserted, times == 1 ? unique : 0);
    assert_int_equal(batch.inserted + batch.found, SOME);
    assert_int_equal(table_engine_cuda.size(table), unique);
    static uint32_t found[SOME];
    run_table(g, table, DZO_TABLE_FIND, list, found, &batch);
    assert_int_equal(batch.found, SOME);
    for (uint32_t i = 0; i < SOME; i++)
      assert_int_equal(found[i], times * sums[list[i]]);
  }
  table_engine_cuda.destroy(table);
}

static void test_table(void **state) {
  (void)state;
  gpu g = gpu_or_skip();
  sums_of(&g, 1000, 2000, false); /* filled at once */
  sums_of(&g, 1000, 4000, true);
  sums_of(&g, 1200, 1100, false); /* just so */
  sums_of(&g, 1200, 900, false);  /* has to grow first, as any other */
  dzo_context_destroy(g.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_fill),
      cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
