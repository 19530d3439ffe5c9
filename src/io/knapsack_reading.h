/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What the readers of knapsack instances share. A file is read with the decimal places known so
 * far; where numbers turn out to have more, it is read once more. */
#ifndef DZO_IO_KNAPSACK_READING_H
#define DZO_IO_KNAPSACK_READING_H

#include "io/decimal.h"
#include "io/knapsack.h"
#include "io/text.h"

typedef enum dzo_knapsack_quantity {
  DZO_QUANTITY_VALUE,
  DZO_QUANTITY_WEIGHT
} dzo_knapsack_quantity;

typedef struct dzo_knapsack_reading {
  dzo_context *context;
  const char *name; /* of the input, for messages */
  const dzo_knapsack_read_options *options;
  dzo_knapsack_set *set;
  dzo_lines lines;
  /* By quantity: decimal places that numbers are scaled to; those that they have, and where. */
  int places[2], found[2];
  uint64_t found_line[2];
  uint64_t open;          /* the first item of the instance that is being read */
  uint64_t capacity_line; /* where its capacity stands; 0: on the line last taken */
} dzo_knapsack_reading;

/* Fail with "NAME:LINE: ...", the line last taken. */
#define DZO_KNAPSACK_REFUSE(reading, status, ...)                                                  \
  dzo_text_refuse((reading)->context, (reading)->name, (reading)->lines.number, status, __VA_ARGS__)

/* Items of the instance that is being read. */
static inline uint64_t dzo_knapsack_items_read(const dzo_knapsack_reading *r) {
  return r->set->items - r->open;
}
/* The next line that holds something and is no comment. */
static inline bool dzo_knapsack_line(dzo_knapsack_reading *r, dzo_word *line) {
  const char *p, *end;
  if (!dzo_lines_next_data(&r->lines, '#', &p, &end))
    return false;
  *line = (dzo_word){p, (size_t)(end - p)};
  return true;
}

/* A number; `what` is for messages: "the capacity"; NULL: that of the item to come. */
dzo_status dzo_knapsack_take(dzo_knapsack_reading *r, dzo_knapsack_quantity quantity, dzo_word word,
                             const char *what, int64_t *out);
/* A count of items, at most DZO_KNAPSACK_ITEMS. */
dzo_status dzo_knapsack_take_count(dzo_knapsack_reading *r, dzo_word word, uint64_t *out);
/* One more item. Copies 1 where there is only one. */
dzo_status dzo_knapsack_add(dzo_knapsack_reading *r, int64_t value, int64_t weight, int64_t copies);
/* The same of words. */
dzo_status dzo_knapsack_take_item(dzo_knapsack_reading *r, dzo_word value, dzo_word weight,
                                  int64_t copies);
/* Name the item last added; quotes within are doubled. */
dzo_status dzo_knapsack_name_item(dzo_knapsack_reading *r, dzo_word name);
/* Complete the instance. `capacity` empty: the file has none. */
dzo_status dzo_knapsack_close(dzo_knapsack_reading *r, dzo_knapsack_format format, dzo_word name,
                              dzo_word capacity, const int64_t *optimum);

/* One reader a format: append all instances of the text. */
dzo_status dzo_knapsack_read_pisinger(dzo_knapsack_reading *r);
dzo_status dzo_knapsack_read_jooken(dzo_knapsack_reading *r);
dzo_status dzo_knapsack_read_plain(dzo_knapsack_reading *r);
dzo_status dzo_knapsack_read_csv(dzo_knapsack_reading *r);
/* Does a line name the columns of a CSV file? */
bool dzo_knapsack_is_csv(dzo_word line);

/* The four files of which `path` is one, or all but the end of their names. */
typedef struct dzo_knapsack_fsu {
  uint64_t stem;      /* bytes of the path before "_c" */
  const char *suffix; /* ".txt" */
} dzo_knapsack_fsu;
bool dzo_knapsack_is_fsu_path(const char *path, dzo_knapsack_fsu *fsu);
dzo_status dzo_knapsack_read_fsu(dzo_knapsack_reading *r, const char *path,
                                 const dzo_knapsack_fsu *fsu);

#endif
