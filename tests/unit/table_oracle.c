/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table_oracle.h"

#include <stdlib.h>

enum { CHAINS = 1 << 16 };

typedef struct node {
  struct node *next;
  uint64_t key, value;
  uint64_t round; /* in which it was asked for */
} node;

struct oracle_table {
  int value_bits;
  uint64_t size;
  uint64_t round;
  node *chains[CHAINS];
};

static uint64_t combine(dzo_table_operation operation, uint64_t old, uint64_t value) {
  switch (operation) {
  case DZO_TABLE_ASSIGN:
    return value;
  case DZO_TABLE_ADD:
    return old + value;
  case DZO_TABLE_MIN:
    return value < old ? value : old;
  case DZO_TABLE_MAX:
    return value > old ? value : old;
  default:
    return old;
  }
}

dzo_table_answer oracle_step(dzo_table_operation operation, uint64_t value, int value_bits,
                             bool *there, uint64_t *stored, uint64_t *result) {
  uint64_t mask = value_bits == 64 ? UINT64_MAX : UINT32_MAX;
  bool was_there = *there;
  *result = operation == DZO_TABLE_FIND && was_there ? *stored : 0;
  if (operation == DZO_TABLE_ERASE)
    *there = false;
  if (operation == DZO_TABLE_FIND || operation == DZO_TABLE_ERASE)
    return was_there ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  value &= mask;
  *stored = was_there ? combine(operation, *stored, value) & mask : value;
  *there = true;
  return was_there ? DZO_TABLE_FOUND : DZO_TABLE_INSERTED;
}

oracle_table *oracle_table_make(int value_bits) {
  oracle_table *oracle = calloc(1, sizeof *oracle);
  if (oracle == NULL)
    abort();
  oracle->value_bits = value_bits;
  return oracle;
}

void oracle_table_clear(oracle_table *oracle) {
  for (int c = 0; c < CHAINS; c++) {
    while (oracle->chains[c] != NULL) {
      node *first = oracle->chains[c];
      oracle->chains[c] = first->next;
      free(first);
    }
  }
  oracle->size = 0;
}

void oracle_table_free(oracle_table *oracle) {
  oracle_table_clear(oracle);
  free(oracle);
}

uint64_t oracle_table_size(const oracle_table *oracle) { return oracle->size; }

static unsigned chain_of(uint64_t key) {
  return (unsigned)((key ^ key >> 16 ^ key >> 32 ^ key >> 48) % CHAINS);
}

/* Where the pointer to the key's node stands, or would stand. */
static node **place_of(oracle_table *oracle, uint64_t key) {
  node **at = &oracle->chains[chain_of(key)];
  while (*at != NULL && (*at)->key != key)
    at = &(*at)->next;
  return at;
}

void oracle_table_new_round(oracle_table *oracle) { oracle->round++; }

bool oracle_table_get_once(oracle_table *oracle, uint64_t key, uint64_t *value, bool *again) {
  node *found = *place_of(oracle, key);
  if (found == NULL)
    return false;
  *value = found->value;
  *again = found->round == oracle->round;
  found->round = oracle->round;
  return true;
}

bool oracle_table_get(const oracle_table *oracle, uint64_t key, uint64_t *value) {
  for (const node *at = oracle->chains[chain_of(key)]; at != NULL; at = at->next) {
    if (at->key == key) {
      *value = at->value;
      return true;
    }
  }
  *value = 0;
  return false;
}

static void add_node(oracle_table *oracle, node **at, uint64_t key, uint64_t value) {
  *at = calloc(1, sizeof **at);
  if (*at == NULL)
    abort();
  (*at)->key = key;
  (*at)->value = value;
  oracle->size++;
}

void oracle_table_set(oracle_table *oracle, uint64_t key, uint64_t value) {
  node **at = place_of(oracle, key);
  if (*at == NULL)
    add_node(oracle, at, key, value);
  else
    (*at)->value = value;
}

dzo_table_answer oracle_table_run(oracle_table *oracle, dzo_table_operation operation, uint64_t key,
                                  uint64_t value, uint64_t *result) {
  node **at = place_of(oracle, key), *found = *at;
  bool was_there = found != NULL, there = was_there;
  uint64_t stored = there ? found->value : 0;
  dzo_table_answer answer =
      oracle_step(operation, value, oracle->value_bits, &there, &stored, result);
  if (there && !was_there) {
    add_node(oracle, at, key, stored);
  } else if (there) {
    found->value = stored;
  } else if (was_there) {
    *at = found->next;
    free(found);
    oracle->size--;
  }
  return answer;
}
