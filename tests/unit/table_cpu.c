/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU's engine against an array. Regions are tiny, so that a few thousand pairs are many
 * regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clones.h"
#include "table/engine.h"
#include "table_model.h"

#if defined(DZO_SANITIZED)
enum { TURNS = 10, STRIDE = 4 };
#else
enum { TURNS = 40, STRIDE = 1 };
#endif

/* ---- Random histories ------------------------------------------------------------------------ */

static void reshape(model *m) {
  uint64_t turn = draw(m) % 12;
  if (turn == 0) {
    assert_int_equal(table_engine_cpu.clear(m->table), DZO_OK);
    memset(m->there, 0, sizeof m->there);
    m->pairs = 0;
  } else if (turn == 1 && !m->s.fixed) {
    assert_int_equal(table_engine_cpu.shrink(m->table), DZO_OK);
  } else if (turn == 2 && !m->s.fixed) {
    uint64_t capacity = draw(m) % (2 * MOST_KEYS);
    assert_int_equal(table_engine_cpu.reserve(m->table, capacity), DZO_OK);
    assert_true(table_engine_cpu.capacity(m->table) >= capacity);
  } else if (turn == 3) {
    table_cpu_recount(m->table);
  } else if (turn == 4) {
    check_export(m);
  }
  check_stats(m);
}

/* Was it ever full? */
static bool play(const setting *s, uint64_t seed) {
  model *m = make_model(s, seed);
  bool was_full = false;
  for (unsigned round = 0; round < s->rounds; round++) {
    uint64_t count = 1 + draw(m) % (round % 3 == 0 ? 20 : s->most);
    uint32_t keys = round % 5 == 4 ? 1 + (uint32_t)(draw(m) % 3) : s->universe;
    fill(m, count, keys);
    uint64_t most = m->pairs;
    m->answered = s->fixed || draw(m) % 2 != 0;
    dzo_table_operation operation = (dzo_table_operation)(draw(m) % 8);
    dzo_status status = run(m, operation, count, draw(m) % 4 != 0);
    if (status == DZO_E_LIMIT) {
      most = m->pairs > most ? m->pairs : most;
      assert_true(s->fixed && (operation == DZO_TABLE_MIXED || most >= s->capacity));
      was_full = true;
    } else {
      assert_int_equal(status, DZO_OK);
    }
    reshape(m);
    if (round % 8 == 7)
      check_contents(m);
  }
  check_contents(m);
  check_export(m);
  free_model(m);
  return was_full;
}

static const setting growing = {.threads = 3,
                                .region_buckets = 4,
                                .piece = 900,
                                .direct = 30,
                                .max_load = 0.9,
                                .universe = MOST_KEYS,
                                .choose = choose_any,
                                .rounds = 60,
                                .most = MOST_QUERIES};

static void batches_mean_their_queries_in_order(void **state) {
  (void)state;
  static const double loads[] = {0.25, 0.9, 0.95};
  static const uint64_t region_buckets[] = {2, 3, 4, 64, 4096};
  for (unsigned turn = 0; turn < TURNS; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.threads = 1 + (int)turn % 4;
    s.max_load = loads[turn % 3];
    s.region_buckets = region_buckets[turn % 5];
    s.piece = turn % 4 == 0 ? MOST_QUERIES : 900;
    (void)play(&s, turn + 1);
  }
}

static void fixed_tables_take_what_they_were_made_for(void **state) {
  (void)state;
  static const uint64_t capacities[] = {0, 1, 17, 500, 1000, 3000};
  unsigned full = 0;
  for (unsigned turn = 0; turn < 12; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.fixed = true;
    s.capacity = capacities[turn / 2];
    s.threads = 1 + (int)turn % 3;
    s.max_load = turn % 3 == 0 ? 0.95 : 0.8;
    full += play(&s, turn + 100);
  }
  assert_true(full >= 9);
}

static void keys_may_all_be_of_one_region(void **state) {
  (void)state;
  for (unsigned turn = 0; turn < 4; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.fixed = turn / 2 != 0;
    s.capacity = 700;
    s.universe = 2000;
    s.choose = choose_one_region;
    s.rounds = 40;
    assert_true(play(&s, turn + 200) == s.fixed);
  }
}

static void keys_may_all_be_of_one_bucket(void **state) {
  (void)state;
  for (unsigned turn = 0; turn < 2; turn++) {
    setting s = growing;
    s.wide = true;
    s.fixed = turn != 0;
    s.capacity = 900;
    s.universe = 1900;
    s.region_buckets = 64;
    s.choose = choose_one_bucket;
    s.rounds = 40;
    assert_true(play(&s, turn + 300) == s.fixed);
  }
}

/* ---- Particular cases ------------------------------------------------------------------------ */

/* Exactly `capacity` distinct keys into a fixed table, and then all others. */
static void a_fixed_table_refuses_only_what_is_beyond(void **state) {
  (void)state;
  for (unsigned turn = 0; turn < 4; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.fixed = true;
    s.capacity = 2000;
    s.max_load = 0.95;
    s.choose = turn < 2 ? choose_any : choose_one_region;
    s.universe = 4000;
    model *m = make_model(&s, turn);
    for (uint32_t i = 0; i < 4000; i++)
      m->which[i] = i;
    assert_int_equal(run(m, DZO_TABLE_INSERT, 2000, true), DZO_OK);
    assert_int_equal(m->pairs, 2000);
    assert_int_equal(run(m, DZO_TABLE_INSERT, 4000, true), DZO_E_LIMIT);
    assert_true(m->pairs >= 2000 && m->pairs < 4000);
    check_contents(m);
    for (uint32_t i = 0; i < 4000; i++)
      m->which[i] = i;
    assert_int_equal(run(m, DZO_TABLE_ERASE, 4000, false), DZO_OK);
    assert_int_equal(m->pairs, 0);
    assert_int_equal(run(m, DZO_TABLE_INSERT, 2000, true), DZO_OK);
    free_model(m);
  }
}

/* Not one of fewer than it says that it holds is refused, though each comes alone, all want the
 * same two buckets, and it was made for a few less. */
static void a_fixed_table_holds_what_it_says(void **state) {
  (void)state;
  setting s = growing;
  s.wide = s.fixed = true;
  s.capacity = 1001;
  s.choose = choose_one_bucket;
  s.universe = 1900;
  s.region_buckets = 1 << 13;
  model *m = make_model(&s, 1);
  uint64_t holds = table_engine_cpu.capacity(m->table);
  assert_true(holds > s.capacity);
  for (uint32_t i = 0; i < holds; i++) {
    m->which[0] = i;
    assert_int_equal(run(m, DZO_TABLE_INSERT, 1, true), DZO_OK);
  }
  assert_int_equal(m->pairs, holds);
  free_model(m);
}

/* Erased slots are used again: a table that always holds as many pairs never needs more memory. */
static void erased_slots_are_free(void **state) {
  (void)state;
  for (unsigned wide = 0; wide < 2; wide++) {
    setting s = growing;
    s.wide = wide != 0;
    s.capacity = 2000;
    s.region_buckets = 32;
    model *m = make_model(&s, wide);
    uint64_t bytes = table_engine_cpu.bytes(m->table);
    for (unsigned turn = 0; turn < 40; turn++) {
      for (uint32_t i = 0; i < 2000; i++)
        m->which[i] = (turn * 2000 + i) % MOST_KEYS;
      assert_int_equal(run(m, DZO_TABLE_INSERT, 2000, true), DZO_OK);
      assert_int_equal(run(m, DZO_TABLE_ERASE, 2000, false), DZO_OK);
    }
    assert_int_equal(m->pairs, 0);
    assert_true(table_engine_cpu.bytes(m->table) <= bytes + bytes / 4);
    free_model(m);
  }
}

static void reserved_room_is_there(void **state) {
  (void)state;
  for (uint64_t capacity = 1; capacity < 3000; capacity += 1 + capacity / 3) {
    setting s = growing;
    model *m = make_model(&s, capacity);
    assert_int_equal(table_engine_cpu.reserve(m->table, capacity), DZO_OK);
    uint64_t room = table_engine_cpu.capacity(m->table);
    assert_true(room >= capacity);
    for (uint32_t i = 0; i < capacity; i++)
      m->which[i] = i;
    assert_int_equal(run(m, DZO_TABLE_INSERT, capacity, true), DZO_OK);
    assert_int_equal(table_engine_cpu.capacity(m->table), room);
    free_model(m);
  }
}

/* Many queries for few keys, of which threads make tables of their own. */
static void hot_keys_mean_the_same(void **state) {
  (void)state;
  for (unsigned turn = 0; turn < 20; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.threads = 4;
    s.region_buckets = 64;
    s.piece = MOST_QUERIES;
    s.universe = 40;
    s.capacity = 400;
    model *m = make_model(&s, turn);
    for (unsigned round = 0; round < 12; round++) {
      fill(m, MOST_QUERIES, s.universe);
      m->answered = round >= 10;
      dzo_table_operation operation = (dzo_table_operation)(1 + (turn + round) % 6);
      m->memory.left = round % 2 == 0 ? -1 : (int64_t)(draw(m) % 20); /* it can do without */
      assert_int_equal(run(m, operation, MOST_QUERIES, round % 3 != 0), DZO_OK);
    }
    m->memory.left = -1;
    check_contents(m);
    free_model(m);
  }
}

static void too_large_is_no_memory(void **state) {
  (void)state;
  setting s = growing;
  model *m = make_model(&s, 1);
  assert_int_equal(table_engine_cpu.reserve(m->table, UINT64_MAX), DZO_E_MEMORY);
  m->memory.left = 1; /* sanitizers have no such block and end the program */
  assert_int_equal(table_engine_cpu.reserve(m->table, UINT64_C(1) << 47), DZO_E_MEMORY);
  fill(m, 100, 50);
  assert_int_equal(run(m, DZO_TABLE_INSERT, 100, true), DZO_OK);
  free_model(m);
}

/* ---- Memory and cancelling ------------------------------------------------------------------- */

/* Whatever allocation fails, the table stays right, and works again when there is memory. */
static void lack_of_memory_refuses(void **state) {
  (void)state;
  unsigned failures = 0;
  for (int64_t fail_at = 0; fail_at < 60; fail_at += STRIDE) {
    setting s = growing;
    s.wide = fail_at / STRIDE % 2 != 0;
    s.choose = fail_at % 3 == 0 ? choose_one_region : choose_any;
    s.universe = 4000;
    model *m = make_model(&s, (uint64_t)fail_at);
    for (unsigned round = 0; round < 6; round++) {
      m->memory.left = fail_at;
      fill(m, 3000, round == 4 ? 50 : s.universe);
      dzo_status status = run(m, round % 2 == 0 ? DZO_TABLE_INSERT : DZO_TABLE_MIXED, 3000, true);
      assert_true(status == DZO_OK || status == DZO_E_MEMORY);
      failures += status != DZO_OK;
      if (round == 3 && table_engine_cpu.shrink(m->table) != DZO_OK)
        failures++;
      m->memory.left = -1;
      check_contents(m);
    }
    fill(m, 3000, s.universe);
    assert_int_equal(run(m, DZO_TABLE_ADD, 3000, true), DZO_OK);
    check_export(m);
    free_model(m);
  }
  assert_true(failures > 20 / STRIDE);
}

static void a_table_without_memory_is_not_made(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  table_plan plan = {context, false, false, 1000, 0.9, 0};
  table_cpu_sizes sizes = {4, 100, 10, 0};
  for (int64_t fail_at = 0; fail_at < 4; fail_at++) {
    table_cpu *t = NULL;
    memory.left = fail_at;
    assert_int_equal(table_cpu_create(&plan, &sizes, &t), DZO_E_MEMORY);
    assert_null(t);
    assert_int_equal(memory.alive, 1);
  }
  dzo_context_destroy(context);
}

static void what_was_cancelled_is_refused(void **state) {
  (void)state;
  setting s = growing;
  model *m = make_model(&s, 5);
  fill(m, 4000, s.universe);
  assert_int_equal(run(m, DZO_TABLE_INSERT, 4000, true), DZO_OK);
  dzo_context_cancel(m->context);
  fill(m, 4000, s.universe);
  uint64_t pairs = m->pairs;
  for (uint64_t i = 0; i < 4000; i++)
    put_word(&s, m->key_words, i, m->keys[m->which[i]]);
  for (int operation = 0; operation < DZO_TABLE_MIXED; operation++) {
    dzo_table_batch b = {.size = sizeof b,
                         .operation = (dzo_table_operation)operation,
                         .count = 4000,
                         .keys = m->key_words,
                         .answers = m->answers};
    assert_int_equal(table_engine_cpu.run(m->table, &b), DZO_E_CANCELLED);
    assert_int_equal(b.refused, 4000);
    for (uint64_t i = 0; i < 4000; i++)
      assert_int_equal(m->answers[i], DZO_TABLE_REFUSED);
  }
  uint64_t capacity = table_engine_cpu.capacity(m->table);
  assert_int_equal(table_engine_cpu.reserve(m->table, 4 * capacity), DZO_E_CANCELLED);
  assert_int_equal(table_engine_cpu.capacity(m->table), capacity);
  dzo_context_resume(m->context);
  assert_int_equal(table_engine_cpu.size(m->table), pairs);
  check_contents(m);
  free_model(m);
}

typedef struct stopper {
  unsigned calls, last;
  uint64_t done;
} stopper;

static int stop_later(void *user, const char *phase, uint64_t done, uint64_t total) {
  stopper *s = user;
  assert_string_equal(phase, "table");
  assert_true(done < total);
  s->done = done;
  return ++s->calls == s->last;
}

/* What came before the cancel is done, and nothing after it. */
static void a_cancelled_batch_says_what_is_done(void **state) {
  (void)state;
  for (unsigned turn = 0; turn < 12; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.threads = 2;
    model *m = make_model(&s, turn);
    stopper stop = {.last = 1 + turn % 4};
    m->table->sizes.pass = 0; /* many pieces */
    fill(m, 2000, s.universe);
    assert_int_equal(run(m, DZO_TABLE_ADD, 2000, true), DZO_OK);
    m->context->progress = stop_later;
    m->context->progress_user = &stop;
    fill(m, MOST_QUERIES, s.universe);
    for (uint64_t i = 0; i < MOST_QUERIES; i++) {
      put_word(&s, m->key_words, i, m->keys[m->which[i]]);
      put_word(&s, m->value_words, i, m->words[i]);
    }
    dzo_table_batch b = {.size = sizeof b,
                         .operation = turn % 3 == 0 ? DZO_TABLE_MIXED : DZO_TABLE_MAX,
                         .count = MOST_QUERIES,
                         .keys = m->key_words,
                         .values = m->value_words,
                         .operations = turn % 3 == 0 ? m->operations : NULL,
                         .results = turn % 3 == 0 ? m->results : NULL,
                         .answers = m->answers};
    assert_int_equal(table_engine_cpu.run(m->table, &b), DZO_E_CANCELLED);
    m->context->progress = NULL;
    dzo_context_resume(m->context);
    assert_int_equal(b.refused, MOST_QUERIES - stop.done);
    sums sums = {0};
    for (uint64_t i = 0; i < stop.done; i++)
      follow(m, i, turn % 3 == 0 ? (dzo_table_operation)m->operations[i] : DZO_TABLE_MAX,
             m->words[i], &sums);
    for (uint64_t i = stop.done; i < MOST_QUERIES; i++)
      assert_int_equal(m->answers[i], DZO_TABLE_REFUSED);
    assert_int_equal(b.found, sums.found);
    check_contents(m);
    free_model(m);
  }
}

/* As large as users' tables are made: little more memory than the pairs. */
static void a_full_table_takes_little_more_than_its_pairs(void **state) {
  (void)state;
  enum { PAIRS = 300000 };
  uint64_t *keys = calloc(PAIRS, sizeof *keys);
  assert_non_null(keys);
  for (unsigned wide = 0; wide < 2; wide++) {
    failing_memory memory;
    dzo_context *context = failing_context(&memory, 2);
    assert_non_null(context);
    table_plan plan = {context, wide != 0, true, PAIRS, 0.95, 1};
    void *table;
    assert_int_equal(table_engine_cpu.create(&plan, &table), DZO_OK);
    setting s = {.wide = wide != 0};
    for (uint32_t i = 0; i < PAIRS; i++)
      put_word(&s, keys, i, i);
    dzo_table_batch b = {
        .size = sizeof b, .operation = DZO_TABLE_INSERT, .count = PAIRS, .keys = keys};
    assert_int_equal(table_engine_cpu.run(table, &b), DZO_OK);
    assert_int_equal(b.inserted, PAIRS);
    uint64_t pair_bytes = wide != 0 ? 16 : 8;
    assert_true(table_engine_cpu.bytes(table) < PAIRS * pair_bytes * 11 / 10);
    b.operation = DZO_TABLE_FIND;
    assert_int_equal(table_engine_cpu.run(table, &b), DZO_OK);
    assert_int_equal(b.found, PAIRS);
    table_engine_cpu.destroy(table);
    dzo_context_destroy(context);
  }
  free(keys);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_mean_their_queries_in_order),
      cmocka_unit_test(fixed_tables_take_what_they_were_made_for),
      cmocka_unit_test(keys_may_all_be_of_one_region),
      cmocka_unit_test(keys_may_all_be_of_one_bucket),
      cmocka_unit_test(a_fixed_table_refuses_only_what_is_beyond),
      cmocka_unit_test(a_fixed_table_holds_what_it_says),
      cmocka_unit_test(erased_slots_are_free),
      cmocka_unit_test(reserved_room_is_there),
      cmocka_unit_test(hot_keys_mean_the_same),
      cmocka_unit_test(too_large_is_no_memory),
      cmocka_unit_test(lack_of_memory_refuses),
      cmocka_unit_test(a_table_without_memory_is_not_made),
      cmocka_unit_test(what_was_cancelled_is_refused),
      cmocka_unit_test(a_cancelled_batch_says_what_is_done),
      cmocka_unit_test(a_full_table_takes_little_more_than_its_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
