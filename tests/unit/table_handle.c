/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Single operations through handles, one thread: what they answer and leave behind, also between
 * batches, in full and fixed tables, without memory, and for keys chosen to collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "handle_tables.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif

static const table_shape shapes[] = {
    {.wide = false, .region_buckets = 2},  {.wide = true, .region_buckets = 2},
    {.wide = false, .region_buckets = 16}, {.wide = true, .region_buckets = 16, .max_load = 0.95},
    {.wide = false, .max_load = 0.95},     {.wide = true},
    {.wide = false, .max_load = 0.25},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- Against a plain map --------------------------------------------------------------------- */

enum { KEYS = 600 };

typedef struct plain_map {
  bool wide;
  bool present[KEYS];
  uint64_t values[KEYS];
  uint64_t count;
} plain_map;

/* Key number i: the ends of the range, where the reserved words are, are among them. */
static uint64_t key_of(const plain_map *map, uint64_t i) {
  uint64_t key = i % 3 == 0 ? i / 3 : i % 3 == 1 ? UINT64_MAX - i / 3 : i << 40 | i << 11 | i;
  return map->wide ? key : key & UINT32_MAX;
}

static uint64_t value_of(const plain_map *map, draws *d) {
  uint64_t kind = draw_below(d, 4);
  uint64_t value = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : kind == 2 ? draw_below(d, 4) : draw(d);
  return map->wide ? value : value & UINT32_MAX;
}

static dzo_table_answer map_operate(plain_map *map, dzo_table_operation operation, uint64_t i,
                                    uint64_t value, uint64_t *seen) {
  bool was = map->present[i];
  bool stores = operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
  if (!was && !stores)
    return DZO_TABLE_ABSENT;
  *seen = was ? map->values[i] : value;
  if (!was || operation == DZO_TABLE_ASSIGN)
    map->values[i] = value;
  else if (operation == DZO_TABLE_ADD)
    map->values[i] = (map->values[i] + value) & (map->wide ? UINT64_MAX : UINT32_MAX);
  map->present[i] = operation != DZO_TABLE_ERASE;
  map->count += map->present[i] && !was;
  map->count -= was && !map->present[i];
  return was ? DZO_TABLE_FOUND : DZO_TABLE_INSERTED;
}

static void compare_one(dzo_table_handle *h, plain_map *map, draws *d, uint64_t keys) {
  static const dzo_table_operation operations[] = {DZO_TABLE_FIND,   DZO_TABLE_INSERT,
                                                   DZO_TABLE_ASSIGN, DZO_TABLE_ADD,
                                                   DZO_TABLE_ERASE,  DZO_TABLE_ERASE};
  dzo_table_operation operation = operations[draw_below(d, 6)];
  uint64_t i = draw_below(d, keys), value = value_of(map, d), seen = 77, expected = 77;
  dzo_table_answer answer = operate(h, operation, key_of(map, i), value, &seen);
  assert_int_equal(answer, map_operate(map, operation, i, value, &expected));
  assert_true(seen == expected);
}

static void compare_all(dzo_table *table, const plain_map *map) {
  uint64_t count;
  pair *pairs = pairs_of(table, &count);
  assert_int_equal(count, map->count);
  for (uint64_t i = 0; i < KEYS; i++) {
    pair wanted = {key_of(map, i), 0};
    pair *found = bsearch(&wanted, pairs, count, sizeof *pairs, compare_pairs);
    assert_int_equal(found != NULL, map->present[i]);
    if (found != NULL)
      assert_true(found->value == map->values[i]);
  }
  for (uint64_t i = 1; i < count; i++)
    assert_true(pairs[i - 1].key < pairs[i].key);
  free(pairs);
}

/* Some batches between sessions of handles, which leave TOMBs of their own. */
static void batches_between(dzo_table *table, plain_map *map, draws *d) {
  for (int round = 0; round < 4; round++) {
    uint64_t words[2 * 64], values[2 * 64];
    uint32_t narrow[64], narrow_values[64];
    dzo_table_operation operation = round % 2 == 0 ? DZO_TABLE_ERASE : DZO_TABLE_ASSIGN;
    for (int k = 0; k < 64; k++) {
      uint64_t i = draw_below(d, KEYS), unused;
      words[k] = key_of(map, i);
      values[k] = value_of(map, d);
      narrow[k] = (uint32_t)words[k];
      narrow_values[k] = (uint32_t)values[k];
      map_operate(map, operation, i, values[k], &unused);
    }
    run_batch(table, operation, 64, map->wide ? (void *)words : (void *)narrow,
              map->wide ? (void *)values : (void *)narrow_values);
  }
}

static void test_plain_map(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int shape = 0; shape < SHAPES; shape++) {
    dzo_table *table = table_of(context, shapes[shape]);
    plain_map map = {.wide = shapes[shape].wide};
    draws d = {100 + (uint64_t)shape, 0};
    for (int session = 0; session < 20; session++) {
      dzo_table_handle *h;
      assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
      uint64_t keys = session % 3 == 0 ? KEYS : session % 3 == 1 ? 7 : 60;
      for (int i = 0; i < 6000 / SLOWER; i++)
        compare_one(h, &map, &d, keys);
      dzo_table_handle_destroy(h);
      compare_all(table, &map);
      batches_between(table, &map, &d);
      compare_all(table, &map);
    }
    table_free(table);
  }
  dzo_context_destroy(context);
}

/* Keys and values that come and go in a table which never holds many take no memory. */
static void test_churn_is_bounded(void **unused) {
  (void)unused;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 1);
  for (int shape = 0; shape < SHAPES; shape++) {
    dzo_table *table = table_of(context, shapes[shape]);
    dzo_table_handle *h;
    assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
    uint64_t most = 0;
    for (uint64_t i = 0; i < 200000 / SLOWER; i++) {
      assert_int_equal(dzo_table_handle_insert(h, i, i, NULL), DZO_TABLE_INSERTED);
      if (i >= 300)
        assert_int_equal(dzo_table_handle_erase(h, i - 300, NULL), DZO_TABLE_FOUND);
      if (i == 20000 / SLOWER)
        most = 4 * context->memory_used;
      if (i > 20000 / SLOWER)
        assert_true(context->memory_used <= most);
    }
    dzo_table_handle_destroy(h);
    assert_int_equal(table_pairs(table), 300);
    table_free(table);
  }
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
}

/* ---- Full ------------------------------------------------------------------------------------ */

static void test_fixed(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  for (int shape = 0; shape < SHAPES; shape++) {
    table_shape s = shapes[shape];
    s.fixed = true;
    for (s.capacity = 1; s.capacity < 5000; s.capacity = s.capacity * 5 + 2) {
      dzo_table *table = table_of(context, s);
      dzo_table_handle *h;
      assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
      uint64_t in = 0, next = 1, seen;
      for (; next < 4 * s.capacity + 40; next++) {
        dzo_table_answer answer = dzo_table_handle_insert(h, next, next + 5, &seen);
        assert_true(answer == DZO_TABLE_INSERTED || in >= s.capacity);
        assert_true(answer == DZO_TABLE_INSERTED || answer == DZO_TABLE_REFUSED);
        in += answer == DZO_TABLE_INSERTED;
      }
      /* What is in it can be changed and erased, and makes room. */
      uint64_t there = 0;
      for (uint64_t key = 1; key < next; key++)
        if (dzo_table_handle_find(h, key, &seen) == DZO_TABLE_FOUND) {
          assert_int_equal(seen, key + 5);
          assert_int_equal(dzo_table_handle_add(h, key, 1, &seen), DZO_TABLE_FOUND);
          assert_int_equal(dzo_table_handle_erase(h, key, &seen), DZO_TABLE_FOUND);
          assert_int_equal(seen, key + 6);
          there++;
        }
      assert_int_equal(there, in);
      for (uint64_t key = next; key < next + s.capacity; key++)
        assert_int_equal(dzo_table_handle_insert(h, key, 1, &seen), DZO_TABLE_INSERTED);
      dzo_table_handle_destroy(h);
      assert_int_equal(table_pairs(table), s.capacity);
      table_free(table);
    }
  }
  dzo_context_destroy(context);
}

static void test_no_memory(void **unused) {
  (void)unused;
  uint64_t refused = 0;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 1);
  for (int shape = 0; shape < SHAPES; shape++) {
    dzo_table *table = table_of(context, shapes[shape]);
    dzo_table_handle *h;
    int64_t tries = 0;
    for (memory.left = 0; dzo_table_handle_create(table, &h) != DZO_OK; memory.left = ++tries)
      assert_int_equal(table->handles, 0);
    assert_true(tries >= 3);
    uint64_t in = 0, seen;
    for (uint64_t key = 0; key < 2000; key++) {
      memory.left = (int64_t)(key % 7); /* the next one, the one after, ... */
      dzo_table_answer answer = dzo_table_handle_insert(h, key, key, &seen);
      if (answer == DZO_TABLE_REFUSED) {
        memory.left = -1;
        refused++;
        assert_int_equal(dzo_table_handle_find(h, key, &seen), DZO_TABLE_ABSENT);
        answer = dzo_table_handle_insert(h, key, key, &seen);
      }
      assert_int_equal(answer, DZO_TABLE_INSERTED);
      in++;
    }
    memory.left = 0; /* ending needs none */
    dzo_table_handle_destroy(h);
    memory.left = -1;
    assert_int_equal(table_pairs(table), in);
    uint64_t count;
    pair *pairs = pairs_of(table, &count);
    for (uint64_t i = 0; i < count; i++)
      assert_true(pairs[i].key == i && pairs[i].value == i);
    free(pairs);
    table_free(table);
  }
  assert_true(refused > 0);
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
}

typedef struct stingy {
  size_t most; /* bytes of a block */
  uint64_t refused;
} stingy;

static void *allocate_little(void *user, size_t bytes) {
  stingy *s = user;
  s->refused += bytes > s->most;
  return bytes > s->most ? NULL : aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void release_little(void *user, void *pointer) {
  (void)user;
  free(pointer);
}

/* A table that cannot grow does not try with every key. */
static void test_never_memory(void **unused) {
  (void)unused;
  stingy s = {SIZE_MAX, 0};
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = 1;
  options.device = DZO_DEVICE_CPU;
  options.allocator.user = &s;
  options.allocator.allocate = allocate_little;
  options.allocator.release = release_little;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  for (int shape = 0; shape < SHAPES; shape++) {
    table_shape limited = shapes[shape];
    limited.capacity = 2000;
    dzo_table *table = table_of(context, limited);
    dzo_table_handle *h;
    assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
    s = (stingy){12000, 0};
    uint64_t in = 0, refused = 0, seen;
    for (uint64_t key = 0; key < 20000; key++) {
      dzo_table_answer answer = dzo_table_handle_insert(h, key, key + 1, &seen);
      in += answer == DZO_TABLE_INSERTED;
      refused += answer == DZO_TABLE_REFUSED;
    }
    assert_int_equal(in + refused, 20000);
    assert_true(in >= 2000);
    assert_true(s.refused < refused + 200);
    for (uint64_t key = 0; key < 20000; key++)
      if (dzo_table_handle_find(h, key, &seen) == DZO_TABLE_FOUND) {
        assert_int_equal(seen, key + 1);
        in--;
      }
    assert_int_equal(in, 0);
    dzo_table_handle_destroy(h);
    s.most = SIZE_MAX;
    table_free(table);
  }
  dzo_context_destroy(context);
}

/* ---- Chosen keys and values ------------------------------------------------------------------ */

static uint64_t unshift(uint64_t x, int by) {
  uint64_t y = x;
  for (int i = 0; i < 64 / by; i++)
    y = x ^ (y >> by);
  return y;
}

static uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; i++)
    x *= 2 - odd * x;
  return x;
}

/* The key of a hash. */
static uint64_t unhash(uint64_t hash, uint64_t seed) {
  uint64_t x = unshift(hash, 31) * inverse(0x94d049bb133111ebu);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9u);
  return unshift(x, 30) ^ seed;
}

/* Thousands of keys for the same two buckets, whatever the size: each operation must still end, and
 * the table may not grow without need. */
static void test_colliding(void **unused) {
  (void)unused;
  enum { COUNT = 3000 };
  dzo_context *context = context_of(1);
  dzo_table *table = table_of(context, (table_shape){.wide = true});
  uint64_t seed = ((table_cpu *)table->state)->seed, seen;
  assert_true(table_hash(unhash(12345, seed), seed) == 12345);
  dzo_table_handle *h;
  assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
  for (uint64_t round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < COUNT; i++)
      assert_int_equal(dzo_table_handle_insert(h, unhash(i, seed), i, &seen), DZO_TABLE_INSERTED);
    for (uint64_t i = 0; i < COUNT; i++) {
      assert_int_equal(dzo_table_handle_find(h, unhash(i, seed), &seen), DZO_TABLE_FOUND);
      assert_int_equal(seen, i);
    }
    assert_true(table->context->memory_used < 4 << 20);
    for (uint64_t i = 0; i < COUNT; i++)
      assert_int_equal(dzo_table_handle_erase(h, unhash(i, seed), &seen), DZO_TABLE_FOUND);
  }
  dzo_table_handle_destroy(h);
  assert_int_equal(table_pairs(table), 0);
  table_free(table);
  dzo_context_destroy(context);
}

static uint64_t absent_word(const dzo_table_handle *h) { return h->share->level->absent; }

/* The word that means "not there" may be a value. */
static void test_any_value(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  dzo_table *table = table_of(context, (table_shape){.wide = true});
  dzo_table_handle *h;
  assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
  uint64_t seen, words[40];
  for (uint64_t key = 0; key < 40; key++) {
    uint64_t word = words[key] = absent_word(h);
    uint64_t which = key == 39 ? UINT64_MAX : key;
    switch (key % 3) {
    case 0:
      assert_int_equal(dzo_table_handle_insert(h, which, word, &seen), DZO_TABLE_INSERTED);
      break;
    case 1:
      assert_int_equal(dzo_table_handle_assign(h, which, 3, &seen), DZO_TABLE_INSERTED);
      assert_int_equal(dzo_table_handle_assign(h, which, word, &seen), DZO_TABLE_FOUND);
      assert_int_equal(seen, 3);
      break;
    default:
      assert_int_equal(dzo_table_handle_add(h, which, 3, &seen), DZO_TABLE_INSERTED);
      assert_int_equal(dzo_table_handle_add(h, which, word - 3, &seen), DZO_TABLE_FOUND);
      assert_int_equal(seen, 3);
    }
    assert_true(absent_word(h) != word);
    assert_int_equal(dzo_table_handle_find(h, which, &seen), DZO_TABLE_FOUND);
    assert_true(seen == word);
  }
  dzo_table_handle_destroy(h);
  assert_int_equal(table_pairs(table), 40);
  uint64_t count;
  pair *pairs = pairs_of(table, &count);
  for (uint64_t i = 0; i < count; i++)
    assert_true(pairs[i].value == words[i]);
  free(pairs);
  table_free(table);
  dzo_context_destroy(context);
}

/* Narrow keys and values take 32 bits of what they are given, or are refused. */
static void test_widths(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  dzo_table *table = table_of(context, (table_shape){.wide = false});
  dzo_table_handle *h;
  assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
  uint64_t seen;
  assert_int_equal(dzo_table_handle_insert(h, (uint64_t)1 << 32, 1, &seen), DZO_TABLE_REFUSED);
  assert_int_equal(dzo_table_handle_find(h, (uint64_t)1 << 32, &seen), DZO_TABLE_ABSENT);
  assert_int_equal(dzo_table_handle_erase(h, (uint64_t)1 << 32, &seen), DZO_TABLE_ABSENT);
  assert_int_equal(dzo_table_handle_insert(h, 1, ((uint64_t)5 << 32) + 6, &seen),
                   DZO_TABLE_INSERTED);
  assert_int_equal(seen, 6);
  assert_int_equal(dzo_table_handle_add(h, 1, UINT64_MAX, NULL), DZO_TABLE_FOUND);
  assert_int_equal(dzo_table_handle_find(h, 1, &seen), DZO_TABLE_FOUND);
  assert_int_equal(seen, 5);
  dzo_table_handle_destroy(h);
  table_free(table);

  /* 64-bit keys with 32-bit values, which stand in the upper half of their words. */
  table = table_of(context, (table_shape){.wide = true});
  table->options.value_bits = 32;
  assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
  assert_int_equal(dzo_table_handle_add(h, UINT64_MAX - 1, UINT32_MAX, &seen), DZO_TABLE_INSERTED);
  assert_int_equal(seen, UINT32_MAX);
  assert_int_equal(dzo_table_handle_add(h, UINT64_MAX - 1, 3, &seen), DZO_TABLE_FOUND);
  assert_int_equal(dzo_table_handle_find(h, UINT64_MAX - 1, &seen), DZO_TABLE_FOUND);
  assert_int_equal(seen, 2);
  dzo_table_handle_destroy(h);
  table_free(table);
  dzo_context_destroy(context);
}

/* What may be asked while handles are at work. */
static void test_figures(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  for (int shape = 0; shape < SHAPES; shape++) {
    dzo_table *table = table_of(context, shapes[shape]);
    table_share_figures f;
    assert_false(table_share_ask(table, &f));
    dzo_table_handle *h;
    assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
    for (uint64_t key = 0; key < 1000; key++) {
      assert_int_equal(dzo_table_handle_insert(h, key, 1, NULL), DZO_TABLE_INSERTED);
      assert_true(table_share_ask(table, &f));
      assert_int_equal(f.pairs, key + 1);
      assert_true(f.bytes > 0 && f.capacity * 2 > key);
    }
    dzo_table_handle_destroy(h);
    assert_false(table_share_ask(table, &f));
    assert_int_equal(table_pairs(table), 1000);
    assert_int_equal(table->engine->capacity(table->state), f.capacity);
    table_free(table);
  }
  dzo_context_destroy(context);
}

/* Through the public interface, for all widths: batches, handles, batches. */
static void test_entries(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int widths = 0; widths < 4; widths++) {
    dzo_table_options options;
    dzo_table_options_init(&options);
    options.key_bits = widths & 1 ? 64 : 32;
    options.value_bits = widths & 2 ? 64 : 32;
    dzo_table *table;
    assert_int_equal(dzo_table_create(context, &options, &table), DZO_OK);
    uint64_t keys64[3] = {5, UINT32_MAX, 7}, value64, counted, seen;
    uint32_t keys32[3] = {5, UINT32_MAX, 7}, value32;
    const void *keys = widths & 1 ? (void *)keys64 : (void *)keys32;
    assert_int_equal(dzo_table_add(table, 2, keys, NULL, NULL), DZO_OK);
    dzo_table_handle *h;
    assert_int_equal(dzo_table_handle_create(table, &h), DZO_OK);
    assert_int_equal(dzo_table_add(table, 2, keys, NULL, NULL), DZO_E_ARGUMENT);
    assert_int_equal(dzo_table_clear(table), DZO_E_ARGUMENT);
    assert_int_equal(dzo_table_handle_add(h, UINT32_MAX, UINT32_MAX, &seen), DZO_TABLE_FOUND);
    assert_int_equal(seen, 1);
    assert_int_equal(dzo_table_handle_erase(h, 5, &seen), DZO_TABLE_FOUND);
    assert_int_equal(dzo_table_handle_insert(h, 7, 70, &seen), DZO_TABLE_INSERTED);
    assert_int_equal(dzo_table_size(table), 2);
    assert_true(dzo_table_capacity(table) >= 2 && dzo_table_bytes(table) > 0);
    dzo_table_handle_destroy(h);
    assert_int_equal(dzo_table_size(table), 2);
    void *value = widths & 2 ? (void *)&value64 : (void *)&value32;
    for (int i = 0; i < 3; i++) {
      const void *key = widths & 1 ? (void *)&keys64[i] : (void *)&keys32[i];
      assert_int_equal(dzo_table_find(table, 1, key, value, NULL, &counted), DZO_OK);
      assert_int_equal(counted, i > 0);
      uint64_t expected = i == 0 ? 0 : i == 2 ? 70 : widths & 2 ? (uint64_t)UINT32_MAX + 1 : 0;
      assert_true((widths & 2 ? value64 : value32) == expected);
    }
    dzo_table_destroy(table);
  }
  dzo_context_destroy(context);
}

static void test_arguments(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  dzo_table *table = table_of(context, (table_shape){.wide = false});
  dzo_table_handle *h;
  assert_int_equal(dzo_table_handle_create(NULL, &h), DZO_E_ARGUMENT);
  assert_int_equal(dzo_table_handle_create(table, NULL), DZO_E_ARGUMENT);
  dzo_table_handle_destroy(NULL);
  static const table_engine elsewhere = {.device = DZO_DEVICE_CUDA};
  table->engine = &elsewhere;
  assert_int_equal(dzo_table_handle_create(table, &h), DZO_E_UNSUPPORTED);
  table->engine = &table_engine_cpu;
  table_free(table);
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_map),    cmocka_unit_test(test_churn_is_bounded),
      cmocka_unit_test(test_fixed),        cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_never_memory), cmocka_unit_test(test_colliding),
      cmocka_unit_test(test_any_value),    cmocka_unit_test(test_widths),
      cmocka_unit_test(test_figures),      cmocka_unit_test(test_entries),
      cmocka_unit_test(test_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
