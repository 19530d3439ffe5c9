/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One call of each kind on a small table, for tests that make something fail meanwhile. */
#ifndef DZO_TESTS_TABLE_CALLS_H
#define DZO_TESTS_TABLE_CALLS_H

#include "table_checks.h"

/* Saved tables, in memory. */
enum { TABLE_HEADER = 64, MOST_BYTES = 4096 };
typedef struct table_bytes {
  unsigned char data[MOST_BYTES];
  size_t count, at;
  int64_t calls_left; /* until one fails with DZO_E_IO; < 0: none does */
} table_bytes;
dzo_status write_table_bytes(void *user, const void *data, size_t count);
dzo_status read_table_bytes(void *user, void *data, size_t count, size_t *got);
/* Loads it and throws it away; `summed`: looks at checksums. */
dzo_status load_table_bytes(dzo_context *context, const table_bytes *from, bool summed);

static const int table_widths[][2] = {{32, 32}, {64, 64}, {64, 32}, {32, 64}};
enum { TABLE_WIDTHS = sizeof table_widths / sizeof *table_widths };
dzo_table_options options_of_width(int width);

/* Each returns the status of the call, and leaves the table as its map says. */
typedef struct table_call {
  const char *name;
  dzo_status (*call)(checked_table *t);
} table_call;
extern const table_call table_calls[];
extern const int table_call_count;

/* A table with some pairs, that may fail. */
void open_some_table(checked_table *t, dzo_context *context, int width);
/* Does the table still hold what its map does, and go on? */
void expect_to_go_on(checked_table *t);

#endif
