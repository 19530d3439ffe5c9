/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Could what several threads saw of one key have happened one operation after another? The search
 * of Wing and Gong (1993) with the memory of Lowe (2017): take any operation that no other
 * precedes, try it on the state, and go back where that leads nowhere, never twice from the same
 * place. */
#ifndef DZO_TESTS_LINEARIZABLE_H
#define DZO_TESTS_LINEARIZABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dzo/table.h"

typedef struct event {
  uint64_t begin, end; /* times taken before and after: of two operations, the one that ended before
                        * the other began came first */
  uint64_t key;
  dzo_table_operation operation; /* FIND, INSERT, ASSIGN, ADD or ERASE */
  uint64_t value;                /* that was given */
  dzo_table_answer answer;
  uint64_t seen; /* the value the key had; where it had none, that it has now */
} event;

typedef enum verdict {
  VERDICT_BAD,
  VERDICT_GOOD,
  VERDICT_UNDECIDED /* the search was given up */
} verdict;

/* Events of one key in any order, which was absent before. `mask` cuts sums to the values' bits.
 * `steps` bounds the search. */
verdict linearizable(const event *events, size_t count, uint64_t mask, uint64_t steps);

/* The same for any number of keys: sorts the events by key. *bad: a key whose events are not. */
verdict linearizable_by_key(event *events, size_t count, uint64_t mask, uint64_t steps,
                            uint64_t *bad);

#endif
