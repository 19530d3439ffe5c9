/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engine that keeps a table in GPU memory beside a plain map, and batches for both. */
#ifndef DZO_TESTS_TABLE_PAIR_H
#define DZO_TESTS_TABLE_PAIR_H

#include "table/gpu.h"
#include "table_oracle.h"

typedef struct pair_of {
  dzo_context *context;
  dzo_unit *unit;
  void *table;
  oracle_table *oracle;
  table_plan plan;
  uint64_t random;
  uint64_t inserted, refused; /* by the last batch */
} pair_of;

/* Skips the test where there is no GPU. */
dzo_context *pair_open_or_skip(void);
/* Takes the context. */
pair_of pair_begin(dzo_context *context, bool wide, double load, const table_gpu_sizes *sizes);
pair_of pair_begin_fixed(dzo_context *context, bool wide, double load, uint64_t capacity,
                         const table_gpu_sizes *sizes);
void pair_end(pair_of *p);

uint64_t pair_draw(pair_of *p);
uint64_t pair_mask(const pair_of *p);

typedef struct queries {
  uint64_t count;
  uint64_t *keys, *values, *results;
  uint8_t *codes, *answers;
} queries;
queries make_queries(uint64_t count);
void free_queries(queries *q);
/* Keys of a small range, and those that the layout has other uses for. */
void pair_fill(pair_of *p, queries *q, uint64_t range);
/* Keys whose mixed keys have the same region and buckets. */
void pair_fill_chosen(pair_of *p, queries *q, uint64_t from);
uint64_t pair_value(pair_of *p);

/* Words as the engine has them; in device memory if `gpu`. */
void *pair_words(const pair_of *p, const uint64_t *from, uint64_t count, bool gpu);
void pair_drop(const pair_of *p, void *pointer, bool gpu);

dzo_status pair_run(pair_of *p, queries *q, dzo_table_operation operation, unsigned flags, bool gpu,
                    dzo_table_batch *batch);
/* Refused queries are taken to be right; the map does all others, and says the same. */
void pair_run_both(pair_of *p, queries *q, dzo_table_operation operation, bool gpu);
/* All that the table holds is in the map, each key once, and there is no more in the map. */
void pair_compare(pair_of *p);
/* `count` queries of 100 keys, in any order: what is there in the end is one of what was offered.
 */
void pair_check_any_order(pair_of *p, uint64_t count);

#endif
