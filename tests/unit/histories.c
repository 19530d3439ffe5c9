/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The judge of the concurrent tests, judged: histories whose verdict is known by hand, and small
 * random ones against trying all orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "linearizable.h"

enum {
  ABSENT = DZO_TABLE_ABSENT,
  FOUND = DZO_TABLE_FOUND,
  NEW = DZO_TABLE_INSERTED,
  REFUSED = DZO_TABLE_REFUSED
};
enum {
  FIND = DZO_TABLE_FIND,
  INSERT = DZO_TABLE_INSERT,
  ASSIGN = DZO_TABLE_ASSIGN,
  ADD = DZO_TABLE_ADD,
  ERASE = DZO_TABLE_ERASE
};

static event on(uint64_t begin, uint64_t end, int operation, uint64_t value, int answer,
                uint64_t seen) {
  return (event){begin, end, 7, (dzo_table_operation)operation, value, (dzo_table_answer)answer,
                 seen};
}

#define judge(...)                                                                                 \
  linearizable((const event[]){__VA_ARGS__}, sizeof((const event[]){__VA_ARGS__}) / sizeof(event), \
               UINT64_MAX, 1000000)

static void test_one_after_another(void **unused) {
  (void)unused;
  assert_int_equal(linearizable(NULL, 0, UINT64_MAX, 10), VERDICT_GOOD);
  assert_int_equal(judge(on(1, 2, FIND, 0, ABSENT, 0), on(3, 4, INSERT, 5, NEW, 5),
                         on(5, 6, INSERT, 6, FOUND, 5), on(7, 8, ASSIGN, 9, FOUND, 5),
                         on(9, 10, ADD, 3, FOUND, 9), on(11, 12, FIND, 0, FOUND, 12),
                         on(13, 14, ERASE, 0, FOUND, 12), on(15, 16, ERASE, 0, ABSENT, 0),
                         on(17, 18, ASSIGN, 1, NEW, 1), on(19, 20, ERASE, 0, FOUND, 1),
                         on(21, 22, ADD, 2, NEW, 2), on(23, 24, FIND, 0, FOUND, 2)),
                   VERDICT_GOOD);
  /* Each of these answers alone is wrong. */
  assert_int_equal(judge(on(1, 2, FIND, 0, FOUND, 0)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, ERASE, 0, FOUND, 0)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, INSERT, 3, FOUND, 3)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 4)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 4, INSERT, 4, NEW, 4)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 4, FIND, 0, ABSENT, 0)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 4, FIND, 0, FOUND, 4)), VERDICT_BAD);
  assert_int_equal(
      judge(on(1, 2, ADD, 3, NEW, 3), on(3, 4, ADD, 4, FOUND, 3), on(5, 6, FIND, 0, FOUND, 8)),
      VERDICT_BAD);
}

static void test_refused(void **unused) {
  (void)unused;
  assert_int_equal(judge(on(1, 2, INSERT, 3, REFUSED, 0), on(3, 4, FIND, 0, ABSENT, 0),
                         on(5, 6, ADD, 3, REFUSED, 0)),
                   VERDICT_GOOD);
  /* A key that is there is never refused. */
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 4, ASSIGN, 4, REFUSED, 0)),
                   VERDICT_BAD);
  assert_int_equal(judge(on(1, 2, FIND, 0, REFUSED, 0)), VERDICT_BAD);
}

static void test_at_the_same_time(void **unused) {
  (void)unused;
  /* A look-up beside an insert sees it or not, but not first so and then otherwise. */
  assert_int_equal(
      judge(on(1, 6, INSERT, 3, NEW, 3), on(2, 3, FIND, 0, ABSENT, 0), on(4, 5, FIND, 0, FOUND, 3)),
      VERDICT_GOOD);
  assert_int_equal(
      judge(on(1, 6, INSERT, 3, NEW, 3), on(2, 3, FIND, 0, FOUND, 3), on(4, 5, FIND, 0, ABSENT, 0)),
      VERDICT_BAD);
  /* Two inserts: one is new, and the other saw its value. */
  assert_int_equal(judge(on(1, 4, INSERT, 3, NEW, 3), on(2, 3, INSERT, 4, FOUND, 3)), VERDICT_GOOD);
  assert_int_equal(judge(on(1, 4, INSERT, 3, NEW, 3), on(2, 3, INSERT, 4, NEW, 4)), VERDICT_BAD);
  assert_int_equal(judge(on(1, 4, INSERT, 3, FOUND, 4), on(2, 3, INSERT, 4, FOUND, 3)),
                   VERDICT_BAD);
  /* Two erases of one copy. */
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 6, ERASE, 0, FOUND, 3),
                         on(4, 5, ERASE, 0, FOUND, 3)),
                   VERDICT_BAD);
  /* An assignment that its eraser did not see, but that a look-up before it did. */
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 10, ERASE, 0, FOUND, 3),
                         on(4, 9, ASSIGN, 4, FOUND, 3), on(5, 6, FIND, 0, FOUND, 4)),
                   VERDICT_BAD);
  /* One assignment that took effect twice, before the erase and after it. */
  assert_int_equal(judge(on(1, 2, INSERT, 3, NEW, 3), on(3, 12, ASSIGN, 4, NEW, 4),
                         on(4, 5, FIND, 0, FOUND, 4), on(6, 7, ERASE, 0, FOUND, 4),
                         on(8, 9, FIND, 0, FOUND, 4)),
                   VERDICT_BAD);
  /* Sums may come in any order, but each once. */
  assert_int_equal(judge(on(1, 8, ADD, 1, NEW, 1), on(2, 7, ADD, 2, FOUND, 5),
                         on(3, 6, ADD, 4, FOUND, 1), on(9, 10, FIND, 0, FOUND, 7)),
                   VERDICT_GOOD);
  assert_int_equal(judge(on(1, 8, ADD, 1, NEW, 1), on(2, 7, ADD, 2, FOUND, 1),
                         on(3, 6, ADD, 4, FOUND, 1), on(9, 10, FIND, 0, FOUND, 7)),
                   VERDICT_BAD);
}

static void test_mask(void **unused) {
  (void)unused;
  event wrap[] = {on(1, 2, INSERT, UINT32_MAX, NEW, UINT32_MAX),
                  on(3, 4, ADD, 3, FOUND, UINT32_MAX), on(5, 6, FIND, 0, FOUND, 2)};
  assert_int_equal(linearizable(wrap, 3, UINT32_MAX, 1000), VERDICT_GOOD);
  assert_int_equal(linearizable(wrap, 3, UINT64_MAX, 1000), VERDICT_BAD);
}

static void test_keys_apart(void **unused) {
  (void)unused;
  event two[] = {on(1, 2, INSERT, 3, NEW, 3), on(3, 4, INSERT, 4, NEW, 4),
                 on(5, 6, FIND, 0, FOUND, 3), on(7, 8, FIND, 0, FOUND, 4)};
  two[1].key = two[3].key = 8;
  uint64_t bad = 0;
  assert_int_equal(linearizable_by_key(two, 4, UINT64_MAX, 1000, &bad), VERDICT_GOOD);
  for (int i = 0; i < 4; i++)
    if (two[i].key == 8 && two[i].operation == DZO_TABLE_FIND)
      two[i].seen = 3;
  assert_int_equal(linearizable_by_key(two, 4, UINT64_MAX, 1000, &bad), VERDICT_BAD);
  assert_int_equal(bad, 8);
}

/* Can the operations in `left` follow, given this state? By trying all orders. */
static bool some_order(const event *e, int count, unsigned left, bool present, uint64_t value) {
  if (left == 0)
    return true;
  for (int i = 0; i < count; i++) {
    if (!(left >> i & 1))
      continue;
    bool may = true;
    for (int j = 0; j < count; j++)
      may = may && !((left >> j & 1) && e[j].end < e[i].begin);
    bool stores = e[i].operation != DZO_TABLE_FIND && e[i].operation != DZO_TABLE_ERASE;
    bool then = present;
    uint64_t after = value;
    if (present) {
      may = may && e[i].answer == DZO_TABLE_FOUND && e[i].seen == value;
      after = e[i].operation == DZO_TABLE_ASSIGN ? e[i].value
              : e[i].operation == DZO_TABLE_ADD  ? value + e[i].value
                                                 : value;
      then = e[i].operation != DZO_TABLE_ERASE;
    } else if (stores) {
      may = may && e[i].answer == DZO_TABLE_INSERTED && e[i].seen == e[i].value;
      after = e[i].value;
      then = true;
    } else {
      may = may && e[i].answer == DZO_TABLE_ABSENT;
    }
    if (may && some_order(e, count, left & ~(1u << i), then, after))
      return true;
  }
  return false;
}

typedef struct draws {
  uint64_t seed, next;
} draws;

static uint64_t draw_below(draws *d, uint64_t limit) {
  return dzo_random_word(d->seed, d->next++) % limit;
}

/* Histories that come of a true run, of which half are then damaged, so that both verdicts occur.
 */
static void random_history(draws *d, event *e, int count) {
  uint64_t clock = 0, value = 0;
  bool present = false;
  for (int i = 0; i < count; i++) {
    static const int operations[] = {FIND, INSERT, ASSIGN, ADD, ERASE};
    e[i] = on(0, 0, operations[draw_below(d, 5)], draw_below(d, 3), ABSENT, 0);
    uint64_t middle = clock += 10;
    e[i].begin = middle - draw_below(d, 40) % middle;
    e[i].end = middle + draw_below(d, 40);
    bool stores = e[i].operation != DZO_TABLE_FIND && e[i].operation != DZO_TABLE_ERASE;
    e[i].answer = present ? DZO_TABLE_FOUND : stores ? DZO_TABLE_INSERTED : DZO_TABLE_ABSENT;
    e[i].seen = present ? value : stores ? e[i].value : 0;
    if (e[i].operation == DZO_TABLE_ASSIGN || (stores && !present))
      value = e[i].value;
    else if (e[i].operation == DZO_TABLE_ADD)
      value += e[i].value;
    present = stores || (present && e[i].operation != DZO_TABLE_ERASE);
  }
  if (draw_below(d, 2)) {
    event *victim = &e[draw_below(d, (uint64_t)count)];
    victim->seen = draw_below(d, 4);
    if (draw_below(d, 2))
      victim->answer = (dzo_table_answer)draw_below(d, 3);
  }
}

/* Make all times differ, keeping their order. */
static void spread_times(event *e, int count) {
  for (int i = 0; i < count; i++) {
    e[i].begin = e[i].begin * 64 + (uint64_t)i;
    e[i].end = e[i].end * 64 + 32 + (uint64_t)i;
  }
}

static void test_all_orders(void **unused) {
  (void)unused;
  draws d = {17, 0};
  int good = 0, bad = 0;
  for (int round = 0; round < 4000; round++) {
    event e[7];
    int count = 1 + (int)draw_below(&d, 7);
    random_history(&d, e, count);
    spread_times(e, count);
    bool expected = some_order(e, count, (1u << count) - 1, false, 0);
    assert_int_equal(linearizable(e, (size_t)count, UINT64_MAX, 1000000),
                     expected ? VERDICT_GOOD : VERDICT_BAD);
    *(expected ? &good : &bad) += 1;
  }
  assert_true(good > 1000 && bad > 500);
}

/* A long history is decided, and a hopeless one is given up when told to. */
static void test_long(void **unused) {
  (void)unused;
  enum { LONG = 3000 };
  static event e[LONG];
  for (uint64_t i = 0; i < LONG; i++)
    e[i] = on(10 * i + 1, 10 * i + 35, ADD, 1, i == 0 ? NEW : FOUND, i == 0 ? 1 : i);
  assert_int_equal(linearizable(e, LONG, UINT64_MAX, 1000000), VERDICT_GOOD);
  e[LONG / 2].seen = 1;
  assert_int_equal(linearizable(e, LONG, UINT64_MAX, 1000000), VERDICT_BAD);
  assert_int_equal(linearizable(e, LONG, UINT64_MAX, 100), VERDICT_UNDECIDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_after_another),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_at_the_same_time),
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_keys_apart),
      cmocka_unit_test(test_all_orders),
      cmocka_unit_test(test_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
