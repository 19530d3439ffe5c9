/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Single operations in permuted schedules. One thread runs at a time; wherever it touches what
 * others may see, chance decides who is next. So what takes a processor's bad luck elsewhere (a
 * look-up that is stopped between two words while a pair moves twice) happens all the time, and a
 * seed brings it back. The table's sources are compiled for this test with TABLE_STEP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <semaphore.h>

#include "handle_tables.h"
#include "linearizable.h"

enum { THREADS = 3, OPERATIONS = 24, PUSHES = 150, MOST_EVENTS = 512 };

/* ---- Turns ----------------------------------------------------------------------------------- */

typedef struct stage {
  draws random;
  uint64_t stays[THREADS]; /* of so many steps, one gives the turn away */
  sem_t turns[THREADS];
  bool ended[THREADS];
} stage;

static stage play;
static _Thread_local int self = -1; /* not on the stage */

static int choose(void) {
  int first = (int)draw_below(&play.random, THREADS);
  for (int i = 0; i < THREADS; i++)
    if (!play.ended[(first + i) % THREADS])
      return (first + i) % THREADS;
  return -1;
}

static void give_turn(bool come_back) {
  int next = choose();
  if (next == self)
    return;
  if (next >= 0)
    sem_post(&play.turns[next]);
  if (come_back)
    sem_wait(&play.turns[self]);
}

void table_schedule_step(int waits);
void table_schedule_step(int waits) {
  if (self >= 0 && (waits || draw_below(&play.random, play.stays[self]) == 0))
    give_turn(true);
}

/* ---- Actors ---------------------------------------------------------------------------------- */

typedef struct actor {
  int number;
  dzo_table_handle *handle;
  draws random;
  uint64_t keys;
  bool wide, apart; /* apart: the first looks for the lower half, the others change the upper */
} actor;

static event noted[MOST_EVENTS];
static size_t noted_count;
static uint64_t now, missed;

/* The last number is a key of all ones. */
static uint64_t key_of(const actor *a, uint64_t i) {
  return i + 1 < a->keys ? i : a->wide ? UINT64_MAX : UINT32_MAX;
}

static void act(actor *a, dzo_table_operation operation, uint64_t i, uint64_t value) {
  event e = {.begin = now++, .key = key_of(a, i), .operation = operation, .value = value};
  e.answer = operate(a->handle, operation, e.key, value, &e.seen);
  e.end = now++;
  noted[noted_count++] = e;
}

/* Look for pairs that are only moved, until the others have ended. */
static void look_on(actor *a) {
  while (!play.ended[1] || !play.ended[2]) {
    uint64_t i = draw_below(&a->random, a->keys / 2), seen = 0;
    if (dzo_table_handle_find(a->handle, i, &seen) != DZO_TABLE_FOUND || seen != i)
      missed++;
  }
}

static void *run_actor(void *argument) {
  static const dzo_table_operation operations[] = {
      DZO_TABLE_FIND, DZO_TABLE_FIND,   DZO_TABLE_FIND,  DZO_TABLE_INSERT,
      DZO_TABLE_ADD,  DZO_TABLE_ASSIGN, DZO_TABLE_ERASE, DZO_TABLE_ERASE};
  actor *a = argument;
  self = a->number;
  sem_wait(&play.turns[self]);
  if (a->apart && a->number == 0)
    look_on(a);
  for (int i = 0; i < (a->apart ? PUSHES : OPERATIONS) && (a->number > 0 || !a->apart); i++) {
    uint64_t half = a->keys / 2, key = draw_below(&a->random, a->keys);
    unsigned first = a->apart ? 3 : 0, kinds = a->number > 0 ? 8 : 4;
    if (a->apart)
      key = half + key % half;
    act(a, operations[first + draw_below(&a->random, kinds - first)], key,
        draw_below(&a->random, 100));
  }
  play.ended[self] = true;
  give_turn(false);
  return NULL;
}

static uint64_t moved; /* while all acted */

static uint64_t versions(const dzo_table *table) {
  const table_cpu_store *s = &table->share->level->s;
  uint64_t sum = 0;
  for (uint64_t region = 0; region < (uint64_t)1 << s->bits; region++)
    sum += s->regions[region].version;
  return sum;
}

/* One play: a table almost full of `keys` keys. */
static void perform(dzo_context *context, table_shape shape, uint64_t keys, bool apart,
                    uint64_t seed) {
  dzo_table *table = table_of(context, shape);
  pthread_t ids[THREADS];
  actor actors[THREADS];
  noted_count = missed = 0;
  now = 0;
  play.random = (draws){seed, 0};
  for (int i = 0; i < THREADS; i++) {
    actors[i] = (actor){i, NULL, {seed + 1, (uint64_t)i << 32}, keys, shape.wide, apart};
    assert_int_equal(dzo_table_handle_create(table, &actors[i].handle), DZO_OK);
    sem_init(&play.turns[i], 0, 0);
    play.ended[i] = false;
    play.stays[i] = 1 + draw_below(&play.random, apart && i > 0 ? 50 : 12);
  }
  for (uint64_t i = 0; i < keys; i++)
    if (draw_below(&play.random, 8) != 0 || (apart && i < keys / 2))
      act(&actors[0], DZO_TABLE_INSERT, i, i);
  uint64_t before = versions(table);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, run_actor, &actors[i]), 0);
  sem_post(&play.turns[0]);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(ids[i], NULL), 0);
  moved += versions(table) - before;
  if (missed > 0)
    print_error("seed %llu: a look-up failed\n", (unsigned long long)seed);
  assert_int_equal(missed, 0);
  for (uint64_t i = 0; i < keys; i++)
    act(&actors[0], DZO_TABLE_FIND, i, 0);
  uint64_t bad = 0;
  verdict v =
      linearizable_by_key(noted, noted_count, shape.wide ? UINT64_MAX : UINT32_MAX, 1000000, &bad);
  if (v != VERDICT_GOOD)
    print_error("seed %llu, key %llu: verdict %d\n", (unsigned long long)seed,
                (unsigned long long)bad, v);
  assert_int_equal(v, VERDICT_GOOD);
  for (int i = 0; i < THREADS; i++) {
    dzo_table_handle_destroy(actors[i].handle);
    sem_destroy(&play.turns[i]);
  }
  uint64_t count;
  pair *pairs = pairs_of(table, &count);
  for (uint64_t i = 1; i < count; i++)
    assert_true(pairs[i - 1].key < pairs[i].key);
  free(pairs);
  table_free(table);
}

static dzo_context *context;

static void perform_all(table_shape shape, uint64_t keys, bool apart, uint64_t times) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  times /= 4;
#endif
  for (uint64_t seed = 0; seed < times; seed++)
    perform(context, shape, keys + seed % 3, apart, seed);
}

static const table_shape narrow_small = {.capacity = 16, .max_load = 0.95, .region_buckets = 2};
static const table_shape narrow_large = {.capacity = 36, .max_load = 0.95, .region_buckets = 5};
static const table_shape wide_small = {
    .wide = true, .capacity = 7, .max_load = 0.95, .region_buckets = 2};
static const table_shape wide_large = {
    .wide = true, .capacity = 19, .max_load = 0.95, .region_buckets = 5};

static table_shape fixed(table_shape shape) {
  shape.fixed = true;
  return shape;
}

static void test_narrow(void **unused) {
  (void)unused;
  perform_all(narrow_small, 16, false, 600);
  perform_all(narrow_large, 38, false, 600);
}

static void test_wide(void **unused) {
  (void)unused;
  perform_all(wide_small, 8, false, 600);
  perform_all(wide_large, 19, false, 600);
}

static void test_fixed(void **unused) {
  (void)unused;
  perform_all(fixed(narrow_large), 50, false, 400);
  perform_all(fixed(wide_large), 26, false, 400);
}

/* Pairs that are only looked for, and moved. */
static void test_moves(void **unused) {
  (void)unused;
  moved = 0;
  table_shape full = fixed(narrow_large);
  full.max_load = 1;
  perform_all(full, 60, true, 400);
  full = fixed(wide_large);
  full.max_load = 1;
  perform_all(full, 30, true, 400);
  assert_true(moved > 500);
}

static void test_growing(void **unused) {
  (void)unused;
  perform_all((table_shape){.max_load = 0.5, .region_buckets = 2}, 30, false, 400);
  perform_all((table_shape){.wide = true, .max_load = 0.5, .region_buckets = 2}, 30, false, 400);
}

int main(void) {
  context = context_of(1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_narrow), cmocka_unit_test(test_wide),    cmocka_unit_test(test_fixed),
      cmocka_unit_test(test_moves),  cmocka_unit_test(test_growing),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  dzo_context_destroy(context);
  return failed;
}
