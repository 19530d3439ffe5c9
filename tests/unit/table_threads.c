/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Single operations on one table from many threads at once: histories judged for linearizability,
 * and sums, duplicates, memory and look-ups that must never fail, under growth, erasing and moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/item.h"
#include "failing_memory.h"
#include "handle_tables.h"
#include "linearizable.h"

#if defined(__SANITIZE_THREAD__)
enum { SLOWER = 12 };
#elif defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif

static const table_shape shapes[] = {
    {.wide = false, .region_buckets = 2}, {.wide = true, .region_buckets = 2},
    {.wide = false, .region_buckets = 8}, {.wide = true, .region_buckets = 8, .max_load = 0.95},
    {.wide = false, .max_load = 0.95},    {.wide = true, .max_load = 0.95},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- Threads --------------------------------------------------------------------------------- */

enum { MOST_THREADS = 96 };

typedef struct crew crew;
typedef struct member {
  crew *all;
  dzo_table_handle *handle;
  uint64_t number;
  draws random;
  event *events; /* of histories */
  uint64_t count;
} member;

typedef void (*member_fn)(member *m);

struct crew {
  dzo_table *table;
  int threads;
  member_fn fn;
  uint64_t clock, stop; /* accessed atomically */
  uint64_t rounds, keys, base;
  int64_t *net;   /* of each key: inserted less erased; accessed atomically */
  uint64_t *sums; /* of each key: added; accessed atomically */
  bool wide;
  member members[MOST_THREADS];
};

static void *run_member(void *argument) {
  member *m = argument;
  m->all->fn(m);
  return NULL;
}

static void run_crew(crew *c, int threads, member_fn fn, uint64_t seed) {
  pthread_t ids[MOST_THREADS];
  c->threads = threads;
  c->fn = fn;
  for (int i = 0; i < threads; i++) {
    member *m = &c->members[i];
    *m = (member){.all = c,
                  .number = (uint64_t)i,
                  .random = {seed * 1000 + (uint64_t)i, 0},
                  .events = m->events};
    assert_int_equal(dzo_table_handle_create(c->table, &m->handle), DZO_OK);
  }
  for (int i = 0; i < threads; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, run_member, &c->members[i]), 0);
  for (int i = 0; i < threads; i++)
    assert_int_equal(pthread_join(ids[i], NULL), 0);
  for (int i = 0; i < threads; i++)
    dzo_table_handle_destroy(c->members[i].handle);
}

/* In threads, where cmocka cannot stop a test. */
#define must(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* ---- Histories ------------------------------------------------------------------------------- */

static uint64_t tick(crew *c) { return __atomic_fetch_add(&c->clock, 1, __ATOMIC_SEQ_CST); }

static event timed(member *m, dzo_table_operation operation, uint64_t key, uint64_t value) {
  event e = {.key = key, .operation = operation, .value = value};
  e.begin = tick(m->all);
  e.answer = operate(m->handle, operation, key, value, &e.seen);
  e.end = tick(m->all);
  return e;
}

/* A few keys that all use, noted, among many that come and go, so that the table grows, moves pairs
 * and clears up meanwhile. */
static void note_history(member *m) {
  static const dzo_table_operation operations[] = {DZO_TABLE_FIND,   DZO_TABLE_FIND,
                                                   DZO_TABLE_INSERT, DZO_TABLE_ASSIGN,
                                                   DZO_TABLE_ADD,    DZO_TABLE_ERASE};
  crew *c = m->all;
  uint64_t noise = (c->base + 1) << 20 | m->number << 12;
  for (uint64_t i = 0; i < c->rounds; i++) {
    uint64_t key = c->base + draw_below(&m->random, c->keys);
    if (draw_below(&m->random, 16) == 0)
      key = (c->wide ? UINT64_MAX : UINT32_MAX) - draw_below(&m->random, 2);
    m->events[m->count++] =
        timed(m, operations[draw_below(&m->random, 6)], key, draw_below(&m->random, 1000));
    for (uint64_t k = 0; k < 2; k++)
      if (draw_below(&m->random, 8) == 0)
        must(operate(m->handle, DZO_TABLE_ERASE, noise + draw_below(&m->random, 64), 0, NULL) !=
             DZO_TABLE_REFUSED);
      else
        must(operate(m->handle, DZO_TABLE_INSERT, noise + draw_below(&m->random, 64), k, NULL) !=
             DZO_TABLE_REFUSED);
  }
}

static void forget(dzo_table *table, bool wide) {
  uint64_t keys[2] = {UINT64_MAX, UINT64_MAX - 1};
  uint32_t narrow[2] = {UINT32_MAX, UINT32_MAX - 1};
  run_batch(table, DZO_TABLE_ERASE, 2, wide ? (void *)keys : (void *)narrow, NULL);
}

static void judge_history(crew *c, event *all) {
  uint64_t count = 0, bad = 0;
  for (int i = 0; i < c->threads; i++) {
    memcpy(all + count, c->members[i].events, c->members[i].count * sizeof *all);
    count += c->members[i].count;
  }
  verdict v = linearizable_by_key(all, count, c->wide ? UINT64_MAX : UINT32_MAX, 20000000, &bad);
  if (v != VERDICT_GOOD)
    print_error("history of key %llu: verdict %d\n", (unsigned long long)bad, v);
  assert_int_equal(v, VERDICT_GOOD);
}

static void test_linearizable(void **unused) {
  (void)unused;
  enum { ROUNDS = 400 };
  dzo_context *context = context_of(2);
  event *all = calloc((size_t)MOST_THREADS * ROUNDS, sizeof *all);
  for (int shape = 0; shape < SHAPES; shape++) {
    crew *c = calloc(1, sizeof *c);
    c->table = table_of(context, shapes[shape]);
    c->wide = shapes[shape].wide;
    c->keys = 3;
    for (int i = 0; i < MOST_THREADS; i++)
      c->members[i].events = all + (size_t)i * ROUNDS;
    event *sorted = calloc((size_t)MOST_THREADS * ROUNDS, sizeof *sorted);
    for (uint64_t repeat = 0; repeat < 60 / SLOWER + 1; repeat++) {
      c->base = repeat * 8; /* keys that nobody knows yet */
      c->rounds = repeat % 2 == 0 ? ROUNDS : 60;
      run_crew(c, repeat % 2 == 0 ? 3 : 8, note_history, repeat);
      judge_history(c, sorted);
      forget(c->table, c->wide);
    }
    free(sorted);
    table_free(c->table);
    free(c);
  }
  free(all);
  dzo_context_destroy(context);
}

/* ---- Growth from nothing --------------------------------------------------------------------- */

/* All insert the same keys, each in an order of its own, and their own sums. */
static void insert_all(member *m) {
  crew *c = m->all;
  uint64_t start = draw_below(&m->random, c->keys);
  for (uint64_t i = 0; i < c->keys; i++) {
    uint64_t k = (start + i) % c->keys, seen;
    dzo_table_answer answer = dzo_table_handle_insert(m->handle, 3 * k, m->number, &seen);
    if (answer == DZO_TABLE_INSERTED) {
      must(seen == m->number);
      dzo_fetch_add_u64((uint64_t *)&c->net[k], 1);
      dzo_fetch_add_u64(&c->sums[k], seen);
    }
    must(answer == DZO_TABLE_INSERTED || answer == DZO_TABLE_FOUND);
    must(dzo_table_handle_find(m->handle, 3 * k, &seen) == DZO_TABLE_FOUND);
    must(seen < (uint64_t)c->threads);
    answer = dzo_table_handle_add(m->handle, 3 * k + 1, k, NULL);
    if (answer == DZO_TABLE_INSERTED)
      dzo_fetch_add_u64((uint64_t *)&c->net[k], 1 << 16);
  }
}

static void make_counts(crew *c, uint64_t keys) {
  c->keys = keys;
  c->net = calloc(keys, sizeof *c->net);
  c->sums = calloc(keys, sizeof *c->sums);
}

static void free_crew(crew *c) {
  table_free(c->table);
  free(c->net);
  free(c->sums);
  free(c);
}

static void check_all_inserted(crew *c) {
  uint64_t count;
  pair *pairs = pairs_of(c->table, &count);
  assert_int_equal(count, 2 * c->keys);
  for (uint64_t k = 0; k < c->keys; k++) {
    assert_int_equal(c->net[k], (1 << 16) + 1); /* one thread was the first, each time */
    assert_true(pairs[2 * k].key == 3 * k && pairs[2 * k].value == c->sums[k]);
    assert_true(pairs[2 * k + 1].key == 3 * k + 1);
    assert_true(pairs[2 * k + 1].value == k * (uint64_t)c->threads);
  }
  free(pairs);
}

static void test_growth(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int shape = 0; shape < SHAPES; shape++)
    for (int threads = 2; threads <= 8; threads += 3) {
      crew *c = calloc(1, sizeof *c);
      c->table = table_of(context, shapes[shape]);
      make_counts(c, 60000 / SLOWER);
      run_crew(c, threads, insert_all, (uint64_t)shape);
      check_all_inserted(c);
      free_crew(c);
    }
  dzo_context_destroy(context);
}

/* ---- Coming and going ------------------------------------------------------------------------ */

/* Each key's pairs are counted: those inserted less those erased are 0 or 1 in the end. */
static void churn(member *m) {
  crew *c = m->all;
  for (uint64_t i = 0; i < c->rounds; i++) {
    uint64_t k = draw_below(&m->random, c->keys), seen = 0;
    switch (draw_below(&m->random, 4)) {
    case 0:
      if (dzo_table_handle_erase(m->handle, k, &seen) == DZO_TABLE_FOUND) {
        must(seen % c->keys == k);
        dzo_fetch_add_u64((uint64_t *)&c->net[k], (uint64_t)-1);
      }
      break;
    case 1:
      if (dzo_table_handle_find(m->handle, k, &seen) == DZO_TABLE_FOUND)
        must(seen % c->keys == k);
      break;
    case 2:
      if (dzo_table_handle_assign(m->handle, k, k + c->keys, &seen) == DZO_TABLE_INSERTED)
        dzo_fetch_add_u64((uint64_t *)&c->net[k], 1);
      must(seen % c->keys == k);
      break;
    default:
      if (dzo_table_handle_insert(m->handle, k, k, &seen) == DZO_TABLE_INSERTED)
        dzo_fetch_add_u64((uint64_t *)&c->net[k], 1);
      must(seen % c->keys == k);
    }
  }
}

static void check_churned(crew *c) {
  uint64_t count, expected = 0;
  pair *pairs = pairs_of(c->table, &count);
  for (uint64_t k = 0; k < c->keys; k++) {
    assert_true(c->net[k] == 0 || c->net[k] == 1);
    if (c->net[k] == 1) {
      assert_true(expected < count && pairs[expected].key == k);
      assert_true(pairs[expected].value % c->keys == k);
      expected++;
    }
  }
  assert_int_equal(count, expected);
  free(pairs);
}

static void test_churn(void **unused) {
  (void)unused;
  dzo_context *context = context_of(2);
  for (int shape = 0; shape < SHAPES; shape++)
    for (uint64_t keys = 5; keys <= 5000; keys *= 10) {
      crew *c = calloc(1, sizeof *c);
      c->table = table_of(context, shapes[shape]);
      make_counts(c, keys);
      c->rounds = 60000 / SLOWER;
      for (uint64_t session = 0; session < 3; session++) {
        run_crew(c, 4, churn, session);
        check_churned(c);
      }
      free_crew(c);
    }
  dzo_context_destroy(context);
}

/* New keys come as old ones go, for ever: the table may not grow for ever. */
static void replace_keys(member *m) {
  crew *c = m->all;
  enum { ALIVE = 200 };
  uint64_t base = m->number << 28;
  for (uint64_t i = 0; i < c->rounds; i++) {
    must(dzo_table_handle_insert(m->handle, base + i, i, NULL) == DZO_TABLE_INSERTED);
    if (i >= ALIVE)
      must(dzo_table_handle_erase(m->handle, base + i - ALIVE, NULL) == DZO_TABLE_FOUND);
  }
}

static void test_bounded_memory(void **unused) {
  (void)unused;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int shape = 0; shape < SHAPES; shape++) {
    crew *c = calloc(1, sizeof *c);
    c->table = table_of(context, shapes[shape]);
    c->rounds = 200000 / SLOWER;
    context->memory_peak = context->memory_used;
    run_crew(c, 4, replace_keys, 1);
    assert_int_equal(table_pairs(c->table), 800);
    assert_true(context->memory_peak < 1 << 19);
    free_crew(c);
  }
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
}

/* ---- Look-ups during moves ------------------------------------------------------------------- */

/* Thread 0 looks, for ever, for keys that are always there, and for some that never are; the others
 * fill the table around them, so that pairs move. */
static void look_or_push(member *m) {
  crew *c = m->all;
  uint64_t seen;
  if (m->number > 0) {
    for (uint64_t i = 0; i < c->rounds; i++) {
      uint64_t key = c->keys + draw_below(&m->random, 4 * c->keys);
      must(operate(m->handle, draw_below(&m->random, 2) ? DZO_TABLE_INSERT : DZO_TABLE_ERASE, key,
                   1, &seen) != DZO_TABLE_REFUSED);
    }
    dzo_fetch_add_u64(&c->stop, 1);
    return;
  }
  while (dzo_load_u64(&c->stop) + 1 < (uint64_t)c->threads) {
    uint64_t k = draw_below(&m->random, c->keys);
    must(dzo_table_handle_find(m->handle, k, &seen) == DZO_TABLE_FOUND);
    must(seen == 7 * k + 1);
    must(dzo_table_handle_find(m->handle, k + (1 << 30), &seen) == DZO_TABLE_ABSENT);
    m->count++;
  }
}

static void test_never_missed(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  for (int shape = 0; shape < SHAPES; shape++)
    for (uint64_t keys = 8; keys <= 512; keys *= 4) {
      crew *c = calloc(1, sizeof *c);
      c->table = table_of(context, shapes[shape]);
      make_counts(c, keys);
      dzo_table_handle *h;
      assert_int_equal(dzo_table_handle_create(c->table, &h), DZO_OK);
      for (uint64_t k = 0; k < keys; k++)
        assert_int_equal(dzo_table_handle_insert(h, k, 7 * k + 1, NULL), DZO_TABLE_INSERTED);
      c->rounds = 60000 / SLOWER;
      run_crew(c, 3, look_or_push, keys);
      dzo_table_handle_destroy(h);
      free_crew(c);
    }
  dzo_context_destroy(context);
}

/* ---- Full and fixed -------------------------------------------------------------------------- */

/* More keys than a fixed table holds: those that are refused are not in it, all others are. */
static void overfill(member *m) {
  crew *c = m->all;
  for (uint64_t i = 0; i < c->keys; i++) {
    uint64_t k = (i * 7 + m->number * 13) % c->keys, seen;
    dzo_table_answer answer = dzo_table_handle_insert(m->handle, k, k, &seen);
    if (answer == DZO_TABLE_INSERTED)
      dzo_fetch_add_u64((uint64_t *)&c->net[k], 1);
    else if (answer == DZO_TABLE_REFUSED)
      dzo_fetch_add_u64(&c->sums[k], 1);
    if (i % 5 == 0 && dzo_table_handle_erase(m->handle, k, &seen) == DZO_TABLE_FOUND)
      dzo_fetch_add_u64((uint64_t *)&c->net[k], (uint64_t)-1);
  }
}

static void test_fixed(void **unused) {
  (void)unused;
  dzo_context *context = context_of(1);
  for (int shape = 0; shape < SHAPES; shape++) {
    table_shape s = shapes[shape];
    s.fixed = true;
    s.capacity = 700;
    crew *c = calloc(1, sizeof *c);
    c->table = table_of(context, s);
    make_counts(c, 5000);
    run_crew(c, 4, overfill, 3);
    uint64_t refused = 0;
    for (uint64_t k = 0; k < c->keys; k++)
      refused += c->sums[k];
    assert_true(refused > 0);
    check_churned(c);
    free_crew(c);
  }
  dzo_context_destroy(context);
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* Handles that come and go beside others that work, and one that does nothing at all. */
static void come_and_go(member *m) {
  crew *c = m->all;
  for (uint64_t i = 0; i < c->rounds; i++) {
    dzo_table_handle *h;
    must(dzo_table_handle_create(c->table, &h) == DZO_OK);
    for (uint64_t k = 0; k < 50; k++)
      must(dzo_table_handle_insert(h, m->number << 20 | i << 8 | k, k, NULL) == DZO_TABLE_INSERTED);
    dzo_table_handle_destroy(h);
  }
}

static void test_many_handles(void **unused) {
  (void)unused;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  for (int shape = 0; shape < SHAPES; shape++) {
    crew *c = calloc(1, sizeof *c);
    c->table = table_of(context, shapes[shape]);
    c->rounds = 1 + 12 / SLOWER;
    dzo_table_handle *idle;
    assert_int_equal(dzo_table_handle_create(c->table, &idle), DZO_OK);
    run_crew(c, MOST_THREADS, come_and_go, 3);
    /* What was outgrown is freed though one handle sleeps. */
    assert_null(c->table->share->retired);
    dzo_table_handle_destroy(idle);
    assert_int_equal(table_pairs(c->table), 50 * c->rounds * MOST_THREADS);
    free_crew(c);
  }
  dzo_context_destroy(context);
  assert_int_equal(memory.alive, 0);
}

/* The first handles of several threads at once. */
static void *first_handle(void *argument) {
  dzo_table *table = argument;
  for (uint64_t i = 0; i < 40; i++) {
    dzo_table_handle *h;
    must(dzo_table_handle_create(table, &h) == DZO_OK);
    must(dzo_table_handle_add(h, i, 1, NULL) != DZO_TABLE_REFUSED);
    dzo_table_handle_destroy(h);
  }
  return NULL;
}

static void test_first_handles(void **unused) {
  (void)unused;
  enum { THREADS = 4 };
  dzo_context *context = context_of(2);
  for (int shape = 0; shape < SHAPES; shape++) {
    dzo_table *table = table_of(context, shapes[shape]);
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&ids[i], NULL, first_handle, table), 0);
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_join(ids[i], NULL), 0);
    uint64_t count;
    pair *pairs = pairs_of(table, &count);
    assert_int_equal(count, 40);
    for (uint64_t i = 0; i < count; i++)
      assert_int_equal(pairs[i].value, THREADS);
    free(pairs);
    table_free(table);
  }
  dzo_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linearizable), cmocka_unit_test(test_growth),
      cmocka_unit_test(test_churn),        cmocka_unit_test(test_bounded_memory),
      cmocka_unit_test(test_never_missed), cmocka_unit_test(test_fixed),
      cmocka_unit_test(test_many_handles), cmocka_unit_test(test_first_handles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
