/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Items in columns separated by commas, semicolons or tabs (RFC 4180, but a quoted field ends on
 * its line), an item a line. The first line names the columns. */
#include <string.h>

#include "io/knapsack_reading.h"

enum { MOST_COLUMNS = 1024, NO_COLUMN = MOST_COLUMNS, ROLES = 4 };
typedef enum role { VALUE, WEIGHT, COUNT, NAME } role;

static const char *const role_names[ROLES] = {"value", "weight", "count", "name"};

/* The usual names, the likeliest first. */
static const char *const usual[ROLES][14] = {
    {"value", "profit", "values", "profits", "price", "benefit", "utility", "worth", "reward",
     "gain", "val", "v", "p", NULL},
    {"weight", "size", "weights", "sizes", "cost", "volume", "length", "mass", "wt", "w", NULL},
    {"count", "copies", "quantity", "qty", "available", NULL},
    {"name", "item", "id", "label", "title", "description", NULL}};
static const char *const group_names[] = {"class", "group", "choice", NULL};
static const char *const endless[] = {"inf",       "infinity", "infinite", "+inf", "unlimited",
                                      "unbounded", "any",      "*",        NULL};

static bool is_one_of(dzo_word word, const char *const *names) {
  while (*names != NULL && !dzo_word_is(word, *names))
    names++;
  return *names != NULL;
}

static bool is_number(dzo_word word) {
  dzo_decimal decimal;
  return dzo_parse_decimal(word.at, word.length, &decimal) != DZO_DECIMAL_BAD;
}

/* "weight (kg)" is a weight. */
static dzo_word without_unit(dzo_word name) {
  for (size_t i = 1; i < name.length; i++)
    if (name.at[i] == '(' || name.at[i] == '[') {
      while (i > 0 && name.at[i - 1] == ' ')
        i--;
      return (dzo_word){name.at, i};
    }
  return name;
}

bool dzo_knapsack_is_csv(dzo_word line) {
  const char *p = line.at, *end = p + line.length;
  char separator = dzo_csv_separator(p, end);
  dzo_word field;
  /* Tabs separate numbers in other formats, too. */
  if (separator == '\0')
    return false;
  while (dzo_next_field(&p, end, separator, &field))
    if (separator != '\t' || !is_number(field))
      return true;
  return false;
}

/* ---- The first line -------------------------------------------------------------------------- */

typedef struct header {
  char separator;
  unsigned columns;
  bool names;            /* it does not hold numbers alone */
  unsigned place[ROLES]; /* from 0, or NO_COLUMN */
  dzo_word line;
} header;

static dzo_word field_of(const header *h, unsigned place) {
  const char *p = h->line.at, *end = p + h->line.length;
  dzo_word field = {"", 0};
  for (unsigned i = 0; i <= place; i++)
    if (!dzo_next_field(&p, end, h->separator, &field))
      return (dzo_word){"", 0};
  return field;
}

static unsigned find_usual(const header *h, const char *const *names) {
  for (; *names != NULL; names++)
    for (unsigned i = 0; i < h->columns; i++)
      if (dzo_word_is(without_unit(field_of(h, i)), *names))
        return i;
  return NO_COLUMN;
}

static dzo_status find_asked(dzo_knapsack_reading *r, const header *h, const char *column,
                             unsigned *place) {
  dzo_word wanted = {column, strlen(column)};
  char shown[DZO_SHOWN_BYTES];
  uint64_t number;
  for (unsigned i = 0; h->names && i < h->columns; i++) {
    dzo_word field = field_of(h, i);
    if (field.length == wanted.length && memcmp(field.at, wanted.at, wanted.length) == 0) {
      *place = i;
      return DZO_OK;
    }
  }
  if (!dzo_word_u64(wanted, &number) || number == 0 || number > h->columns)
    return dzo_fail(r->context, DZO_E_ARGUMENT, "%s:%llu: there is no column '%s'", r->name,
                    (unsigned long long)r->lines.number, dzo_word_show(wanted, shown));
  *place = (unsigned)number - 1;
  return DZO_OK;
}

static dzo_status refuse_missing(dzo_knapsack_reading *r, const header *h, role wanted) {
  if (!h->names)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT,
                               "the first line names no columns; tell which (--value-column, "
                               "--weight-column)");
  return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "no column of the %ss: none is called %s, %s or %s",
                             role_names[wanted], usual[wanted][0], usual[wanted][1],
                             usual[wanted][4]);
}

static dzo_status find_columns(dzo_knapsack_reading *r, header *h) {
  const dzo_knapsack_read_options *o = r->options;
  const char *const asked[ROLES] = {o->value_column, o->weight_column, o->count_column,
                                    o->name_column};
  char shown[DZO_SHOWN_BYTES];
  for (unsigned i = 0; i < ROLES; i++) {
    h->place[i] = h->names ? find_usual(h, usual[i]) : NO_COLUMN;
    if (asked[i] != NULL)
      DZO_TRY(find_asked(r, h, asked[i], &h->place[i]));
    if (i <= WEIGHT && h->place[i] == NO_COLUMN)
      return refuse_missing(r, h, (role)i);
  }
  if (h->place[VALUE] == h->place[WEIGHT])
    return dzo_fail(r->context, DZO_E_ARGUMENT,
                    "%s: values and weights are to come from the same column", r->name);
  unsigned group = h->names ? find_usual(h, group_names) : NO_COLUMN;
  if (group == NO_COLUMN || group == h->place[NAME])
    return DZO_OK;
  return DZO_KNAPSACK_REFUSE(
      r, DZO_E_UNSUPPORTED,
      "column '%s': one item of each group (the multiple-choice problem) is not solved; without "
      "that column, items are independent",
      dzo_word_show(field_of(h, group), shown));
}

static dzo_status take_header(dzo_knapsack_reading *r, header *h) {
  dzo_lines before = r->lines;
  (void)dzo_knapsack_line(r, &h->line);
  const char *p = h->line.at, *end = p + h->line.length;
  dzo_word field;
  h->separator = dzo_csv_separator(p, end);
  if (h->separator == '\0')
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected columns separated by ',', ';' or tabs");
  for (; h->columns < MOST_COLUMNS && dzo_next_field(&p, end, h->separator, &field); h->columns++)
    h->names = h->names || !is_number(field);
  DZO_TRY(find_columns(r, h));
  if (!h->names)
    r->lines = before;
  return DZO_OK;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static dzo_status take_copies(dzo_knapsack_reading *r, dzo_word word, int64_t *out) {
  char shown[DZO_SHOWN_BYTES];
  unsigned long long item = dzo_knapsack_items_read(r);
  dzo_decimal decimal;
  dzo_word_show(word, shown);
  if (is_one_of(word, endless))
    return DZO_KNAPSACK_REFUSE(r, DZO_E_UNSUPPORTED,
                               "item %llu: '%s' copies (the unbounded problem) are not solved; "
                               "more than capacity / weight are never needed, so give that",
                               item, shown);
  dzo_decimal_kind kind = dzo_parse_decimal(word.at, word.length, &decimal);
  if (kind == DZO_DECIMAL_GOOD && !decimal.negative && dzo_decimal_scale(decimal, 0, out))
    return DZO_OK;
  return DZO_KNAPSACK_REFUSE(
      r, kind == DZO_DECIMAL_HUGE ? DZO_E_UNSUPPORTED : DZO_E_FORMAT,
      "expected the number of copies of item %llu, 0 to 2^63 - 1, found '%s'", item, shown);
}

static dzo_status take_line(dzo_knapsack_reading *r, const header *h, dzo_word line) {
  const char *p = line.at, *end = p + line.length;
  dzo_word role[ROLES] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}}, field;
  int64_t copies = 1;
  for (unsigned i = 0; dzo_next_field(&p, end, h->separator, &field); i++)
    for (unsigned k = 0; k < ROLES; k++)
      if (h->place[k] == i)
        role[k] = field;
  if (h->place[COUNT] != NO_COLUMN)
    DZO_TRY(take_copies(r, role[COUNT], &copies));
  DZO_TRY(dzo_knapsack_take_item(r, role[VALUE], role[WEIGHT], copies));
  return role[NAME].length > 0 ? dzo_knapsack_name_item(r, role[NAME]) : DZO_OK;
}

dzo_status dzo_knapsack_read_csv(dzo_knapsack_reading *r) {
  static const dzo_word NOTHING = {"", 0};
  header h = {.columns = 0};
  const char *end;
  dzo_word line;
  DZO_TRY(take_header(r, &h));
  /* No comments here: a name may begin with '#', and its item is not to be lost. */
  while (dzo_lines_next_data(&r->lines, '\0', &line.at, &end)) {
    line.length = (size_t)(end - line.at);
    DZO_TRY(take_line(r, &h, line));
  }
  return dzo_knapsack_close(r, DZO_KNAPSACK_FILE_CSV, NOTHING, NOTHING, NULL);
}
