/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Counting and joining with hash tables: which customer ordered how often, and what is the city of
 * each order?
 *
 *   cc table.c $(pkg-config --cflags --libs dzo) -o table && ./table
 */
#include <inttypes.h>
#include <stdio.h>

#include <dzo/dzo.h>

enum { CUSTOMERS = 4, ORDERS = 7 };
static const uint32_t customers[CUSTOMERS] = {17, 4, 99, 0}, cities[CUSTOMERS] = {1, 2, 1, 3};
static const uint32_t orders[ORDERS] = {4, 17, 4, 5, 0, 17, 4}; /* of which customer */

static int print_pair(void *user, uint64_t key, uint64_t value) {
  uint64_t *total = user;
  *total += value;
  printf("customer %2" PRIu64 ": %" PRIu64 " orders\n", key, value);
  return 0; /* go on */
}

/* A count is a sum of ones, which are what ADD takes where it gets no values. */
static dzo_status count(dzo_table *table) {
  uint64_t distinct, total = 0;
  dzo_status status = dzo_table_add(table, ORDERS, orders, NULL, &distinct);
  if (status == DZO_OK)
    status = dzo_table_for_each(table, print_pair, &total);
  if (status == DZO_OK)
    printf("%" PRIu64 " orders by %" PRIu64 " customers\n", total, distinct);
  return status;
}

/* The table holds one side; the other looks up its keys. */
static dzo_status join(dzo_table *table) {
  uint32_t city[ORDERS];
  uint8_t found[ORDERS];
  dzo_status status = dzo_table_clear(table);
  if (status == DZO_OK)
    status = dzo_table_insert(table, CUSTOMERS, customers, cities, NULL);
  if (status == DZO_OK)
    status = dzo_table_find(table, ORDERS, orders, city, found, NULL);
  for (int i = 0; i < ORDERS && status == DZO_OK; i++) {
    if (found[i] == DZO_TABLE_FOUND)
      printf("order %d: city %" PRIu32 "\n", i, city[i]);
    else
      printf("order %d: no such customer\n", i);
  }
  return status;
}

int main(void) {
  dzo_context *context = NULL;
  dzo_table *table = NULL;
  dzo_table_options options;
  dzo_table_options_init(&options);
  options.key_bits = 32;
  options.value_bits = 32;
  dzo_status status = dzo_context_create(NULL, &context);
  if (status == DZO_OK)
    status = dzo_table_create(context, &options, &table);
  if (status == DZO_OK)
    status = count(table);
  if (status == DZO_OK)
    status = join(table);
  if (status != DZO_OK)
    fprintf(stderr, "%s: %s\n", dzo_status_text(status),
            context != NULL ? dzo_context_message(context) : "");
  dzo_table_destroy(table);
  dzo_context_destroy(context);
  return status == DZO_OK ? 0 : 1;
}
