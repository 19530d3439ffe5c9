/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sets of four files, as J. Burkardt's KNAPSACK_01 has them: a column of numbers each, for the
 * capacity (_c), weights (_w), values (_p) and an optimal selection (_s), which may be missing. */
#include <string.h>

#include "base/memory.h"
#include "io/knapsack_reading.h"

bool dzo_knapsack_is_fsu_path(const char *path, dzo_knapsack_fsu *fsu) {
  const char *base = strrchr(path, '/');
  base = base != NULL ? base + 1 : path;
  const char *dot = strchr(base, '.');
  size_t length = dot != NULL ? (size_t)(dot - base) : strlen(base);
  if (length < 2 || base[length - 2] != '_' || strchr("cwps", base[length - 1]) == NULL)
    return false;
  *fsu = (dzo_knapsack_fsu){(uint64_t)(base - path) + length - 2, base + length};
  return true;
}

/* One of the files. */
typedef struct column {
  char *name;
  dzo_input *input; /* NULL: not there */
  dzo_lines lines;
} column;

enum { CAPACITY, WEIGHTS, VALUES, SELECTION, COLUMNS };

static dzo_status open_column(dzo_context *context, const char *path, const dzo_knapsack_fsu *fsu,
                              char letter, column *c) {
  size_t suffix = strlen(fsu->suffix) + 1;
  c->name = dzo_alloc(context, fsu->stem + 2 + suffix, 1);
  if (c->name == NULL)
    return DZO_E_MEMORY;
  memcpy(c->name, path, fsu->stem);
  c->name[fsu->stem] = '_';
  c->name[fsu->stem + 1] = letter;
  memcpy(c->name + fsu->stem + 2, fsu->suffix, suffix);
  DZO_TRY(dzo_input_open(context, c->name, DZO_INPUT_WHOLE, &c->input));
  c->lines = dzo_lines_of((const char *)dzo_input_data(c->input), dzo_input_size(c->input));
  return DZO_OK;
}

/* Messages are about this file from here on. */
static void turn_to(dzo_knapsack_reading *r, column *c) {
  r->name = c->name;
  r->lines = c->lines;
}

/* The next number of a column, a line each; empty at the end. */
static dzo_status take_word(dzo_knapsack_reading *r, column *c, dzo_word *out) {
  char shown[DZO_SHOWN_BYTES];
  turn_to(r, c);
  *out = (dzo_word){"", 0};
  if (!dzo_knapsack_line(r, out))
    return DZO_OK;
  c->lines = r->lines;
  const char *p = out->at, *end = p + out->length;
  dzo_word word = dzo_next_word(&p, end), more = dzo_next_word(&p, end);
  *out = word;
  if (more.length == 0)
    return DZO_OK;
  return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected one number a line, found '%s' behind it",
                             dzo_word_show(more, shown));
}

static dzo_status take_items(dzo_knapsack_reading *r, column columns[COLUMNS]) {
  for (;;) {
    dzo_word value, weight;
    int64_t v, w;
    DZO_TRY(take_word(r, &columns[VALUES], &value));
    if (value.length > 0)
      DZO_TRY(dzo_knapsack_take(r, DZO_QUANTITY_VALUE, value, NULL, &v));
    DZO_TRY(take_word(r, &columns[WEIGHTS], &weight));
    if (value.length == 0 && weight.length == 0)
      return DZO_OK;
    if (value.length == 0 || weight.length == 0)
      return dzo_fail(r->context, DZO_E_FORMAT, "%s: ends after %llu items, and %s has more",
                      columns[value.length == 0 ? VALUES : WEIGHTS].name,
                      (unsigned long long)dzo_knapsack_items_read(r),
                      columns[value.length == 0 ? WEIGHTS : VALUES].name);
    DZO_TRY(dzo_knapsack_take(r, DZO_QUANTITY_WEIGHT, weight, NULL, &w));
    DZO_TRY(dzo_knapsack_add(r, v, w, 1));
  }
}

/* What the selection is worth; a sum beyond 64 bits is not told. */
static dzo_status take_selection(dzo_knapsack_reading *r, column *c, int64_t *sum, bool *told) {
  const int64_t *values = r->set->values + r->open;
  uint64_t count = dzo_knapsack_items_read(r);
  dzo_word word;
  char shown[DZO_SHOWN_BYTES];
  *sum = 0;
  *told = c->input != NULL;
  for (uint64_t i = 0; i < count && c->input != NULL; i++) {
    uint64_t taken;
    DZO_TRY(take_word(r, c, &word));
    if (!dzo_word_u64(word, &taken) || taken > 1)
      return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected 0 or 1 for item %llu, found '%s'",
                                 (unsigned long long)i, dzo_word_show(word, shown));
    if (taken == 1 && __builtin_add_overflow(*sum, values[i], sum))
      *told = false;
  }
  return DZO_OK;
}

static dzo_status read_columns(dzo_knapsack_reading *r, const char *path,
                               const dzo_knapsack_fsu *fsu, column columns[COLUMNS]) {
  static const char letters[] = "cwp";
  dzo_word capacity, name = {path, fsu->stem};
  int64_t optimum;
  bool told;
  for (int i = 0; i < SELECTION; i++)
    DZO_TRY(open_column(r->context, path, fsu, letters[i], &columns[i]));
  dzo_status status = open_column(r->context, path, fsu, 's', &columns[SELECTION]);
  if (status != DZO_OK && status != DZO_E_IO)
    return status;
  DZO_TRY(take_items(r, columns));
  DZO_TRY(take_selection(r, &columns[SELECTION], &optimum, &told));
  DZO_TRY(take_word(r, &columns[CAPACITY], &capacity));
  if (capacity.length == 0 && r->options->capacity == NULL)
    return dzo_fail(r->context, DZO_E_FORMAT, "%s: there is no capacity in it",
                    columns[CAPACITY].name);
  for (size_t i = name.length; i > 0; i--)
    if (name.at[i - 1] == '/') {
      name = (dzo_word){name.at + i, name.length - i};
      break;
    }
  return dzo_knapsack_close(r, DZO_KNAPSACK_FILE_FSU, name, capacity, told ? &optimum : NULL);
}

dzo_status dzo_knapsack_read_fsu(dzo_knapsack_reading *r, const char *path,
                                 const dzo_knapsack_fsu *fsu) {
  column columns[COLUMNS] = {{NULL, NULL, {NULL, NULL, 0}}};
  dzo_status status = read_columns(r, path, fsu, columns);
  for (int i = 0; i < COLUMNS; i++) {
    if (columns[i].input != NULL)
      dzo_input_close(columns[i].input);
    dzo_free(columns[i].name);
  }
  r->name = path;
  return status;
}
