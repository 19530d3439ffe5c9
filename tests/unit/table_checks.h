/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table beside the plain map that it has to equal: every batch runs on both, and everything that
 * the table says is compared. */
#ifndef DZO_TESTS_TABLE_CHECKS_H
#define DZO_TESTS_TABLE_CHECKS_H

#include "table_oracle.h"

typedef struct checked_table {
  dzo_context *context;
  dzo_table *table;
  oracle_table *oracle;
  int key_bits, value_bits;
  bool fixed;
  uint64_t capacity;  /* that a fixed table has to hold */
  uint64_t refused;   /* queries so far */
  bool may_fail;      /* for want of memory, or cancelled: then what is refused is not done */
  bool may_lose;      /* with its GPU: then nothing is looked at */
  uint64_t fail_at;   /* not 0: so many operations into a batch its GPU fails, */
  uint64_t room;      /* or so many bytes are left on it */
  dzo_status status;  /* of the last batch */
  const char *device; /* for messages */
} checked_table;

/* Queries, as wide as can be; keys and values fit the table's widths. */
typedef struct checked_batch {
  dzo_table_operation operation;
  bool any;
  bool on_gpu; /* hand over device memory */
  bool wants_results, wants_answers;
  uint64_t count;
  uint64_t *keys;
  uint64_t *values;    /* NULL: none are handed over */
  uint8_t *operations; /* of a MIXED one */
} checked_batch;

/* Fails the test where `status` is bad. */
void table_must(const dzo_context *context, dzo_status status);

/* An empty table and map; options may be NULL. */
void checked_table_open(checked_table *t, dzo_context *context, const dzo_table_options *options);
void checked_table_close(checked_table *t);

/* Runs it on both. Of a table that is fixed or may fail, or in any order, answers are always looked
 * at. */
void checked_table_run(checked_table *t, const checked_batch *batch);

/* Are the contents those of the map? By export, into memory of the GPU if `on_gpu`. */
void checked_table_compare(const checked_table *t, bool on_gpu);

/* The unit of the table's GPU, or NULL where it has none. */
struct dzo_unit *checked_table_gpu(const checked_table *t);

#endif
