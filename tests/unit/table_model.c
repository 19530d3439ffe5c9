/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table_model.h"

#include "base/random.h"
#include "table/engine.h"

uint64_t draw(model *m) { return dzo_random_word(m->random, m->drawn++); }

static uint64_t all_ones(const setting *s) { return s->wide ? UINT64_MAX : UINT32_MAX; }

void put_word(const setting *s, void *words, uint64_t i, uint64_t word) {
  if (s->wide)
    ((uint64_t *)words)[i] = word;
  else
    ((uint32_t *)words)[i] = (uint32_t)word;
}

static uint64_t get_word(const setting *s, const void *words, uint64_t i) {
  return s->wide ? ((const uint64_t *)words)[i] : ((const uint32_t *)words)[i];
}

/* Distinct, the extremes among them. */
void choose_any(const setting *s, uint64_t hash_seed, uint64_t *keys) {
  (void)hash_seed;
  for (uint32_t i = 0; i < s->universe; i++)
    keys[i] = (i * (s->wide ? 0x9e3779b97f4a7c15u : 0x9e3779b1u) + 7) & all_ones(s);
  keys[0] = 0;
  keys[1] = all_ones(s);
  keys[2] = all_ones(s) - 1;
  keys[3] = all_ones(s) - 2;
}

/* Whose hash begins with the same 12 bits: all in one region for long. */
void choose_one_region(const setting *s, uint64_t hash_seed, uint64_t *keys) {
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
void choose_one_bucket(const setting *s, uint64_t hash_seed, uint64_t *keys) {
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

model *make_model(const setting *s, uint64_t seed) {
  model *m = calloc(1, sizeof *m);
  assert_non_null(m);
  m->s = *s;
  m->random = seed;
  m->context = failing_context(&m->memory, s->threads);
  assert_non_null(m->context);
  table_plan plan = {m->context, s->wide, s->fixed, s->capacity, s->max_load, seed};
  table_cpu_sizes sizes = {s->region_buckets, s->piece, s->direct, 4 * s->piece};
  assert_int_equal(table_cpu_create(&plan, &sizes, &m->table), DZO_OK);
  s->choose(s, m->table->seed, m->keys);
  m->answered = true;
  return m;
}

void free_model(model *m) {
  table_engine_cpu.destroy(m->table);
  dzo_context_destroy(m->context);
  assert_int_equal(m->memory.alive, 0);
  free(m);
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* What a query must answer, and does to the array; refusals are taken as they come. */
void follow(model *m, uint64_t i, dzo_table_operation operation, uint64_t value, sums *sums) {
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

dzo_status run(model *m, dzo_table_operation operation, uint64_t count, bool valued) {
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
void fill(model *m, uint64_t count, uint32_t keys) {
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
void check_contents(model *m) {
  m->answered = true;
  for (uint32_t begin = 0; begin < m->s.universe; begin += MOST_QUERIES) {
    uint32_t count = m->s.universe - begin;
    count = count < MOST_QUERIES ? count : MOST_QUERIES;
    for (uint32_t i = 0; i < count; i++)
      m->which[i] = begin + i;
    assert_int_equal(run(m, DZO_TABLE_FIND, count, false), DZO_OK);
  }
}

void check_export(model *m) {
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

void check_stats(model *m) {
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
