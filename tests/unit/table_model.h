/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The CPU's engine beside an array: keys are the numbers of a list of distinct ones, and the array
 * says for each whether it is there and with which value. */
#ifndef DZO_TESTS_TABLE_MODEL_H
#define DZO_TESTS_TABLE_MODEL_H

#include "failing_memory.h"
#include "table/cpu.h"

enum { MOST_KEYS = 6000, MOST_QUERIES = 5000 };

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

typedef struct sums {
  uint64_t found, inserted, refused;
} sums;

/* A random word. */
uint64_t draw(model *m);
/* Write a word of the table's width. */
void put_word(const setting *s, void *words, uint64_t i, uint64_t word);
/* Lists of distinct keys: the extremes among them; of one region for long; of 64 bits and of the
 * same two buckets, by an adversary who knows the seed. */
void choose_any(const setting *s, uint64_t hash_seed, uint64_t *keys);
void choose_one_region(const setting *s, uint64_t hash_seed, uint64_t *keys);
void choose_one_bucket(const setting *s, uint64_t hash_seed, uint64_t *keys);
model *make_model(const setting *s, uint64_t seed);
void free_model(model *m);
/* What a query must answer, and does to the array; refusals are taken as they come. */
void follow(model *m, uint64_t i, dzo_table_operation operation, uint64_t value, sums *sums);
/* Run the batch of m->which, words and operations, and check it. `valued`: with values. */
dzo_status run(model *m, dzo_table_operation operation, uint64_t count, bool valued);
/* A batch of random keys from `keys` of the list, beginning anywhere. */
void fill(model *m, uint64_t count, uint32_t keys);
/* Every key is found or not, and everything exported is what should be there. */
void check_contents(model *m);
void check_export(model *m);
void check_stats(model *m);

#endif
