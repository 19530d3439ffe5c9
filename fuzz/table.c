/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The fuzz target for saved tables. The input is loaded with its checksums and without them; what
 * loads must hold each key once, and come out of a second saving and loading as it was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what) {
  if (holds)
    return;
  (void)fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

typedef struct bytes {
  uint8_t *data;
  size_t count, at;
} bytes;

/* Not all that is asked for, as a pipe does. */
static dzo_status read_bytes(void *user, void *data, size_t count, size_t *got) {
  bytes *b = user;
  size_t left = b->count - b->at;
  *got = count < left ? count : left;
  if (*got > 40)
    *got -= *got / 3;
  memcpy(data, b->data + b->at, *got);
  b->at += *got;
  return DZO_OK;
}

static dzo_status write_bytes(void *user, const void *data, size_t count) {
  bytes *b = user;
  uint8_t *more = realloc(b->data, b->count + count);
  if (more == NULL)
    abort();
  memcpy(more + b->count, data, count);
  b->data = more;
  b->count += count;
  return DZO_OK;
}

static void check_message(const dzo_context *context, dzo_status status) {
  const char *message = dzo_context_message(context);
  check(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY,
        "another status");
  check(message[0] != '\0', "no message");
  for (; *message != '\0'; message++)
    check(*message >= ' ' && *message <= '~', "an unprintable message");
}

typedef struct totals {
  uint64_t pairs, keys, values;
} totals;

static int add_pair(void *user, uint64_t key, uint64_t value) {
  totals *t = user;
  t->pairs++;
  t->keys += key;
  t->values += value;
  return 0;
}

static totals totals_of(dzo_table *table) {
  totals t = {0, 0, 0};
  check(dzo_table_for_each(table, add_pair, &t) == DZO_OK, "the walk fails");
  check(t.pairs == dzo_table_size(table), "the walk and the size differ");
  return t;
}

static void check_again(dzo_context *context, dzo_table *table) {
  bytes b = {NULL, 0, 0};
  dzo_table *again = NULL;
  check(dzo_table_save(table, write_bytes, &b) == DZO_OK, "it cannot be saved");
  check(dzo_table_load(context, read_bytes, &b, &again) == DZO_OK, "it cannot be loaded again");
  totals first = totals_of(table), second = totals_of(again);
  check(memcmp(&first, &second, sizeof first) == 0, "it is another table when loaded again");
  dzo_table_destroy(again);
  free(b.data);
}

static void load(dzo_context *context, uint8_t *data, size_t size, int summed) {
  bytes b = {data, size, 0};
  dzo_table *table = NULL;
  dzo_status status = summed ? dzo_table_load(context, read_bytes, &b, &table)
                             : table_load_unsummed(context, read_bytes, &b, &table);
  check((status == DZO_OK) == (table != NULL), "a table in spite of failure");
  if (status != DZO_OK)
    check_message(context, status);
  else
    check_again(context, table);
  dzo_table_destroy(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dzo_context_options options;
  dzo_context *context;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CPU;
  options.threads = 1;
  options.memory = 1 << 24;
  if (dzo_context_create(&options, &context) != DZO_OK)
    return 0;
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL)
    abort();
  memcpy(copy, data, size);
  load(context, copy, size, 1);
  load(context, copy, size, 0);
  free(copy);
  check(dzo_context_memory_used(context) == 0, "a leak");
  dzo_context_destroy(context);
  return 0;
}
