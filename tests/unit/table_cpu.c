/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU's engine against an array: keys are the numbers of a list of distinct ones, and the array
 * says for each whether it is there and with which value. Regions are tiny, so that a few thousand
 * pairs are many regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clones.h"
#include "base/random.h"
#include "failing_memory.h"
#include "table/cpu.h"
#include "table/engine.h"

enum { MOST_KEYS = 6000, MOST_QUERIES = 5000 };
#if defined(DZO_SANITIZED)
enum { TURNS = 10 };
#else
enum { TURNS = 40 };
#endif

/* ---- A table and what should be in it -------------------------------------------------------- */

typedef struct setting {
  bool wide, fixed;
  int threads;
  uint64_t region_buckets, piece, direct, capacity;
  double max_load;
  uint32_t universe; /* keys */
  void (*choose)(const struct setting *setting, uint64_t hash_seed, uint64_t *keys);
  unsigned rounds, most; /* batches, and queries of a batch */
} setting;

typedef struct model {
  setting s;
  dzo_context *context;
  failing_memory memory;
  table_cpu *table;
  uint64_t random, drawn;
  uint64_t keys[MOST_KEYS], values[MOST_KEYS];
  bool there[MOST_KEYS], was_refused[MOST_KEYS], answered;
  uint64_t pairs;
  /* A batch. */
  uint32_t which[MOST_QUERIES];
  uint64_t words[MOST_QUERIES];
  uint8_t operations[MOST_QUERIES], answers[MOST_QUERIES];
  uint64_t key_words[MOST_QUERIES], value_words[MOST_QUERIES], results[MOST_QUERIES];
} model;

static uint64_t draw(model *m) { return dzo_random_word(m->random, m->drawn++); }

static uint64_t all_ones(const setting *s) { return s->wide ? UINT64_MAX : UINT32_MAX; }

static void put_word(const setting *s, void *words, uint64_t i, uint64_t word) {
  if (s->wide)
    ((uint64_t *)words)[i] = word;
  else
    ((uint32_t *)words)[i] = (uint32_t)word;
}

static uint64_t get_word(const setting *s, const void *words, uint64_t i) {
  return s->wide ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}

/* Distinct, the extremes among them. */
static void choose_any(const setting *s, uint64_t hash_seed, uint64_t *keys) {
  (void)hash_seed;
  for (uint32_t i = 0; i < s->universe; i++)
    keys[i] = (i * (s->wide ? 0x9e3779b97f4a7c15u : 0x9e3779b1u) + 7) & all_ones(s);
  keys[0] = 0;
  keys[1] = all_ones(s);
  keys[2] = all_ones(s) - 1;
  keys[3] = all_ones(s) - 2;
}

/* Whose hash begins with the same 12 bits: all in one region for long. */
static void choose_one_region(const setting *s, uint64_t hash_seed, uint64_t *keys) {
  uint64_t key = 0;
  for (uint32_t i = 0; i < s->universe; i++, key++) {
    while (table_hash(key, hash_seed) >> 52 != 0x5a5)
      key++;
    keys[i] = key;
  }
}

/* table_hash() the other way round. */
static uint64_t undo_shift(uint64_t x, unsigned shift) {
  uint64_t y = x;
  for (unsigned known = shift; known < 64; known += shift)
    y = x ^ (y >> shift);
  return y;
}
static uint64_t undo_hash(uint64_t hash, uint64_t seed) {
  uint64_t x = undo_shift(hash, 31) * 0x319642b2d24d8ec3u;
  x = undo_shift(x, 27) * 0x96de1b173f119089u;
  return undo_shift(x, 30) ^ seed;
}

/* All of the same two buckets, of 64 bits: an adversary who knows the seed. */
static void choose_one_bucket(const setting *s, uint64_t hash_seed, uint64_t *keys) {
  uint64_t middle = 0;
  for (uint32_t i = 0; i < s->universe; i++, middle++) {
    uint64_t hash = UINT64_C(0xabcd) << 48 | 0x12345678;
    while (((hash | middle << 32) * 0x9e3779b97f4a7c15u) >> 59 != 0xd)
      middle++;
    assert_true(middle < 1 << 16);
    keys[i] = undo_hash(hash | middle << 32, hash_seed);
    assert_true(table_hash(keys[i], hash_seed) == (hash | middle << 32));
  }
}

static model *make_model(const setting *s, uint64_t seed) {
  model *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->s = *s;
  m->random = seed;
  m->context = failing_context(&m->memory, s->threads);
  assert_non_null(m->context);
  table_plan plan = {m->context, s->wide, s->fixed, s->capacity, s->max_load, seed};
  table_cpu_sizes sizes = {s->region_buckets, s->piece, s->direct};
  assert_int_equal(table_cpu_create(&plan, &sizes, &m->table), DZO_OK);
  s->choose(s, m->table->seed, m->keys);
  m->answered = true;
  return m;
}

static void free_model(model *m) {
  table_engine_cpu.destroy(m->table);
  dzo_context_destroy(m->context);
  assert_int_equal(m->memory.alive, 0);
  free(m);
}

/* ---- Batches --------------------------------------------------------------------------------- */

typedef struct sums {
  uint64_t found, inserted, refused;
} sums;

/* What a query must answer, and does to the array; refusals are taken as they come. */
static void follow(model *m, uint64_t i, dzo_table_operation operation, uint64_t value,
                   sums *sums) {
  uint32_t k = m->which[i];
  uint64_t before = m->values[k];
  bool creates = operation != DZO_TABLE_FIND && operation != DZO_TABLE_ERASE;
  if (!m->answered)
    m->answers[i] = m->there[k] ? DZO_TABLE_FOUND : creates ? DZO_TABLE_INSERTED : DZO_TABLE_ABSENT;
  if (!m->there[k] && creates && m->answers[i] == DZO_TABLE_REFUSED) {
    m->was_refused[k] = true;
    sums->refused++;
    return;
  }
  if (!m->there[k]) {
    assert_int_equal(m->answers[i], creates ? DZO_TABLE_INSERTED : DZO_TABLE_ABSENT);
    assert_false(creates && m->was_refused[k]);
    if (creates)
      m->values[k] = value;
    m->there[k] = creates;
    m->pairs += creates;
    sums->inserted += creates;
  } else {
    assert_int_equal(m->answers[i], DZO_TABLE_FOUND);
    sums->found++;
    if (operation == DZO_TABLE_ASSIGN || (operation == DZO_TABLE_MIN && value < before) ||
        (operation == DZO_TABLE_MAX && value > before))
      m->values[k] = value;
    else if (operation == DZO_TABLE_ADD)
      m->values[k] = (before + value) & all_ones(&m->s);
    else if (operation == DZO_TABLE_ERASE) {
      m->there[k] = false;
      m->pairs--;
    }
  }
  if (operation == DZO_TABLE_FIND)
    assert_true(get_word(&m->s, m->results, i) == (m->there[k] ? before : 0));
}

static void check_contents(model *m);

static dzo_status run(model *m, dzo_table_operation operation, uint64_t count, bool valued) {
  for (uint64_t i = 0; i < count; i++) {
    put_word(&m->s, m->key_words, i, m->keys[m->which[i]]);
    put_word(&m->s, m->value_words, i, m->words[i]);
  }
  memset(m->answers, 0xee, sizeof m->answers);
  memset(m->was_refused, 0, sizeof m->was_refused);
  bool finds = operation == DZO_TABLE_FIND || operation == DZO_TABLE_MIXED;
  dzo_table_batch b = {.size = sizeof b,
                       .operation = operation,
                       .count = count,
                       .keys = m->key_words,
                       .values = valued ? m->value_words : NULL,
                       .operations = operation == DZO_TABLE_MIXED ? m->operations : NULL,
                       .results = finds ? m->results : NULL,
                       .answers = m->answered ? m->answers : NULL};
  dzo_status status = table_engine_cpu.run(m->table, &b);
  sums sums = {0};
  uint64_t plain = operation == DZO_TABLE_ADD;
  for (uint64_t i = 0; i < count; i++)
    follow(m, i, operation == DZO_TABLE_MIXED ? (dzo_table_operation)m->operations[i] : operation,
           valued ? m->words[i] : plain, &sums);
  assert_int_equal(b.found, sums.found);
  assert_int_equal(b.inserted, sums.inserted);
  assert_int_equal(b.refused, sums.refused);
  assert_int_equal(table_engine_cpu.size(m->table), m->pairs);
  return status;
}

/* A batch of random keys from `keys` of the list, beginning anywhere. */
static void fill(model *m, uint64_t count, uint32_t keys) {
  uint64_t first = draw(m) % m->s.universe;
  for (uint64_t i = 0; i < count; i++) {
    static const uint64_t extremes[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT32_MAX};
    m->which[i] = (uint32_t)((first + draw(m) % keys) % m->s.universe);
    uint64_t word = draw(m);
    m->words[i] = (word % 8 == 0 ? extremes[word / 8 % 5] : word) & all_ones(&m->s);
    m->operations[i] = (uint8_t)(draw(m) % DZO_TABLE_MIXED);
  }
}

static void check_pair(model *m, uint64_t key, uint64_t value, bool *seen) {
  for (uint32_t k = 0; k < m->s.universe; k++)
    if (m->keys[k] == key) {
      assert_true(m->there[k] && !seen[k] && m->values[k] == value);
      seen[k] = true;
      return;
    }
  fail_msg("a key that nobody put there");
}

/* Every key is found or not, and everything exported is what should be there. */
static void check_contents(model *m) {
  m->answered = true;
  for (uint32_t begin = 0; begin < m->s.universe; begin += MOST_QUERIES) {
    uint32_t count = m->s.universe - begin;
    count = count < MOST_QUERIES ? count : MOST_QUERIES;
    for (uint32_t i = 0; i < count; i++)
      m->which[i] = begin + i;
    assert_int_equal(run(m, DZO_TABLE_FIND, count, false), DZO_OK);
  }
}

static void check_export(model *m) {
  uint64_t *keys = calloc(m->pairs + 1, sizeof *keys), *values = calloc(m->pairs + 1, 8);
  bool *seen = calloc(MOST_KEYS, sizeof *seen);
  assert_true(keys != NULL && values != NULL && seen != NULL);
  assert_int_equal(table_engine_cpu.export_into(m->table, keys, values), DZO_OK);
  for (uint64_t i = 0; i < m->pairs; i++)
    check_pair(m, get_word(&m->s, keys, i), get_word(&m->s, values, i), seen);
  uint64_t cursor = 0, sum = 0;
  memset(seen, 0, MOST_KEYS * sizeof *seen);
  while (cursor != UINT64_MAX) {
    uint64_t some_keys[20], some_values[20], count;
    assert_int_equal(
        table_engine_cpu.export_some(m->table, &cursor, 20, some_keys, some_values, &count),
        DZO_OK);
    for (uint64_t i = 0; i < count; i++)
      check_pair(m, get_word(&m->s, some_keys, i), get_word(&m->s, some_values, i), seen);
    sum += count;
  }
  assert_int_equal(sum, m->pairs);
  free(keys);
  free(values);
  free(seen);
}

static void check_stats(model *m) {
  dzo_table_stats stats = {.size = sizeof stats};
  assert_int_equal(table_engine_cpu.stats(m->table, &stats), DZO_OK);
  uint64_t sum = 0;
  for (unsigned i = 0; i < DZO_TABLE_PROBES; i++)
    sum += stats.probes[i];
  assert_int_equal(sum, m->pairs);
  assert_int_equal(stats.pairs, m->pairs);
  assert_true(stats.bytes == table_engine_cpu.bytes(m->table));
  assert_true(stats.max_depth <= 2 && stats.mean_depth <= 2);
  if (!m->s.fixed)
    assert_true(m->pairs <= table_engine_cpu.capacity(m->table));
}

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

static void play(const setting *s, uint64_t seed) {
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
  assert_true(was_full || !s->fixed);
  free_model(m);
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
    play(&s, turn + 1);
  }
}

static void fixed_tables_take_what_they_were_made_for(void **state) {
  (void)state;
  static const uint64_t capacities[] = {0, 1, 17, 500, 1000, 4000};
  for (unsigned turn = 0; turn < 12; turn++) {
    setting s = growing;
    s.wide = turn % 2 != 0;
    s.fixed = true;
    s.capacity = capacities[turn / 2];
    s.threads = 1 + (int)turn % 3;
    s.max_load = turn % 3 == 0 ? 0.95 : 0.8;
    play(&s, turn + 100);
  }
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
    play(&s, turn + 200);
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
    play(&s, turn + 300);
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
  for (int64_t fail_at = 0; fail_at < 60; fail_at++) {
    setting s = growing;
    s.wide = fail_at % 2 != 0;
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
  assert_true(failures > 20);
}

static void a_table_without_memory_is_not_made(void **state) {
  (void)state;
  failing_memory memory;
  dzo_context *context = failing_context(&memory, 2);
  table_plan plan = {context, false, false, 1000, 0.9, 0};
  table_cpu_sizes sizes = {4, 100, 10};
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
  dzo_context_resume(m->context);
  assert_int_equal(table_engine_cpu.size(m->table), pairs);
  check_contents(m);
  free_model(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_mean_their_queries_in_order),
      cmocka_unit_test(fixed_tables_take_what_they_were_made_for),
      cmocka_unit_test(keys_may_all_be_of_one_region),
      cmocka_unit_test(keys_may_all_be_of_one_bucket),
      cmocka_unit_test(a_fixed_table_refuses_only_what_is_beyond),
      cmocka_unit_test(erased_slots_are_free),
      cmocka_unit_test(reserved_room_is_there),
      cmocka_unit_test(hot_keys_mean_the_same),
      cmocka_unit_test(too_large_is_no_memory),
      cmocka_unit_test(lack_of_memory_refuses),
      cmocka_unit_test(a_table_without_memory_is_not_made),
      cmocka_unit_test(what_was_cancelled_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
