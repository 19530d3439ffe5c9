/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A plain map, against which tables are tested: chains of nodes, one query at a time. It shares
 * nothing with the library but the names of operations and answers. */
#ifndef DZO_TESTS_TABLE_ORACLE_H
#define DZO_TESTS_TABLE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "dzo/table.h"

/* One query on one key, as dzo/table.h describes it. `there` and `stored` say whether the key is in
 * the table, and with which value. *result is the value found, for FIND, else 0. */
dzo_table_answer oracle_step(dzo_table_operation operation, uint64_t value, int value_bits,
                             bool *there, uint64_t *stored, uint64_t *result);

typedef struct oracle_table oracle_table;

oracle_table *oracle_table_make(int value_bits);
void oracle_table_free(oracle_table *oracle);
void oracle_table_clear(oracle_table *oracle);

uint64_t oracle_table_size(const oracle_table *oracle);
bool oracle_table_get(const oracle_table *oracle, uint64_t key, uint64_t *value);
/* The same, and has the key been asked for since oracle_table_new_round()? */
bool oracle_table_get_once(oracle_table *oracle, uint64_t key, uint64_t *value, bool *again);
void oracle_table_new_round(oracle_table *oracle);
void oracle_table_set(oracle_table *oracle, uint64_t key, uint64_t value);

dzo_table_answer oracle_table_run(oracle_table *oracle, dzo_table_operation operation, uint64_t key,
                                  uint64_t value, uint64_t *result);

#endif
