/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Formats with their capacity inside: Pisinger's blocks, Jooken's, and plain lines. */
#include "io/knapsack_reading.h"

static const dzo_word NOTHING = {"", 0};

static dzo_status ended(dzo_knapsack_reading *r, const char *what) {
  return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "the file ends where %s is to come", what);
}

static dzo_status ended_in_items(dzo_knapsack_reading *r, uint64_t count) {
  return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "the file ends after %llu of %llu items",
                             (unsigned long long)dzo_knapsack_items_read(r),
                             (unsigned long long)count);
}

static dzo_status behind(dzo_knapsack_reading *r, dzo_word word, const char *what) {
  char shown[DZO_SHOWN_BYTES];
  return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "unexpected '%s' behind %s",
                             dzo_word_show(word, shown), what);
}

/* The next word of a line, which moves on. */
static dzo_word next(dzo_word *line) {
  const char *p = line->at, *end = p + line->length;
  dzo_word word = dzo_next_word(&p, end);
  *line = (dzo_word){p, (size_t)(end - p)};
  return word;
}

/* Numbers of items go up by one, from 0 or 1: a gap is a line that is lost. */
static dzo_status check_number(dzo_knapsack_reading *r, dzo_word word, uint64_t *first) {
  char shown[DZO_SHOWN_BYTES];
  uint64_t number, item = dzo_knapsack_items_read(r);
  bool good = dzo_word_u64(word, &number);
  if (good && item == 0 && number <= 1)
    *first = number;
  if (!good || number != item + *first)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected item number %llu, found '%s'",
                               (unsigned long long)(item + *first), dzo_word_show(word, shown));
  return DZO_OK;
}

/* ---- Pisinger's ------------------------------------------------------------------------------ */

/* A line `KEY WORD`. */
static dzo_status take_keyed(dzo_knapsack_reading *r, const char *key, dzo_word *out) {
  dzo_word line;
  char shown[DZO_SHOWN_BYTES];
  if (!dzo_knapsack_line(r, &line))
    return ended(r, key);
  dzo_word word = next(&line);
  *out = next(&line);
  if (!dzo_word_is(word, key) || out->length == 0)
    return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "expected '%s' and a number, found '%s'", key,
                               dzo_word_show(word, shown));
  dzo_word more = next(&line);
  return more.length == 0 ? DZO_OK : behind(r, more, key);
}

static dzo_status take_record(dzo_knapsack_reading *r, dzo_word line, uint64_t *first) {
  const char *p = line.at, *end = p + line.length;
  dzo_word field[4] = {NOTHING, NOTHING, NOTHING, NOTHING}, more;
  for (unsigned i = 0; i < 4; i++)
    (void)dzo_next_field(&p, end, ',', &field[i]);
  if (dzo_next_field(&p, end, ',', &more))
    return behind(r, more, "the item");
  DZO_TRY(check_number(r, field[0], first));
  return dzo_knapsack_take_item(r, field[1], field[2], 1);
}

static bool is_rule(dzo_word line) {
  for (size_t i = 0; i < line.length; i++)
    if (line.at[i] != '-')
      return false;
  return line.length > 0;
}

static dzo_status read_block(dzo_knapsack_reading *r, dzo_word name) {
  dzo_word n, capacity, optimum, time, line;
  uint64_t count, first = 1;
  int64_t known;
  DZO_TRY(take_keyed(r, "n", &n));
  DZO_TRY(dzo_knapsack_take_count(r, n, &count));
  DZO_TRY(take_keyed(r, "c", &capacity));
  r->capacity_line = r->lines.number;
  DZO_TRY(take_keyed(r, "z", &optimum));
  DZO_TRY(dzo_knapsack_take(r, DZO_QUANTITY_VALUE, optimum, "the optimum", &known));
  DZO_TRY(take_keyed(r, "time", &time));
  for (uint64_t i = 0; i < count; i++) {
    if (!dzo_knapsack_line(r, &line))
      return ended_in_items(r, count);
    DZO_TRY(take_record(r, line, &first));
  }
  /* Archives write 0 for what was not solved. */
  return dzo_knapsack_close(r, DZO_KNAPSACK_FILE_PISINGER, name, capacity,
                            known != 0 ? &known : NULL);
}

dzo_status dzo_knapsack_read_pisinger(dzo_knapsack_reading *r) {
  dzo_word line;
  while (dzo_knapsack_line(r, &line))
    if (!is_rule(line))
      DZO_TRY(read_block(r, line));
  return DZO_OK;
}

/* ---- Jooken's -------------------------------------------------------------------------------- */

static dzo_status take_single(dzo_knapsack_reading *r, const char *what, dzo_word *out) {
  dzo_word line;
  if (!dzo_knapsack_line(r, &line))
    return ended(r, what);
  *out = next(&line);
  dzo_word more = next(&line);
  return more.length == 0 ? DZO_OK : behind(r, more, what);
}

static dzo_status read_jooken(dzo_knapsack_reading *r, dzo_word n) {
  dzo_word line, capacity;
  uint64_t count, first = 0;
  DZO_TRY(dzo_knapsack_take_count(r, n, &count));
  for (uint64_t i = 0; i < count; i++) {
    if (!dzo_knapsack_line(r, &line))
      return ended_in_items(r, count);
    DZO_TRY(check_number(r, next(&line), &first));
    dzo_word value = next(&line), weight = next(&line), more = next(&line);
    if (more.length > 0)
      return behind(r, more, "the item");
    DZO_TRY(dzo_knapsack_take_item(r, value, weight, 1));
  }
  DZO_TRY(take_single(r, "the capacity", &capacity));
  return dzo_knapsack_close(r, DZO_KNAPSACK_FILE_JOOKEN, NOTHING, capacity, NULL);
}

dzo_status dzo_knapsack_read_jooken(dzo_knapsack_reading *r) {
  dzo_word line;
  while (dzo_knapsack_line(r, &line)) {
    dzo_word n = next(&line), more = next(&line);
    if (more.length > 0)
      return behind(r, more, "the number of items");
    DZO_TRY(read_jooken(r, n));
  }
  return DZO_OK;
}

/* ---- Plain ----------------------------------------------------------------------------------- */

/* Some write all values on one line, and all weights on the next. Of two items that would look like
 * two items a line each, which is what it is taken for. */
static bool is_by_rows(const dzo_knapsack_reading *r, uint64_t count) {
  enum { MOST = 1 << 30 };
  dzo_lines ahead = r->lines;
  const char *p, *end;
  if (count == 2)
    return false;
  for (int i = 0; i < 2; i++)
    if (!dzo_lines_next_data(&ahead, '#', &p, &end) || dzo_count_words(p, end, MOST) != count)
      return false;
  return true;
}

static dzo_status take_rows(dzo_knapsack_reading *r, uint64_t count) {
  dzo_word values = NOTHING, weights = NOTHING;
  (void)dzo_knapsack_line(r, &values);
  (void)dzo_knapsack_line(r, &weights);
  for (uint64_t i = 0; i < count; i++)
    DZO_TRY(dzo_knapsack_take_item(r, next(&values), next(&weights), 1));
  return DZO_OK;
}

static dzo_status take_pairs(dzo_knapsack_reading *r, uint64_t count) {
  dzo_word line;
  for (uint64_t i = 0; i < count; i++) {
    if (!dzo_knapsack_line(r, &line))
      return ended_in_items(r, count);
    dzo_word value = next(&line), weight = next(&line), more = next(&line);
    if (more.length > 0)
      return behind(r, more, "the item");
    DZO_TRY(dzo_knapsack_take_item(r, value, weight, 1));
  }
  return DZO_OK;
}

dzo_status dzo_knapsack_read_plain(dzo_knapsack_reading *r) {
  dzo_word line;
  while (dzo_knapsack_line(r, &line)) {
    dzo_word n = next(&line), capacity = next(&line), more = next(&line);
    uint64_t count;
    if (capacity.length == 0)
      return DZO_KNAPSACK_REFUSE(r, DZO_E_FORMAT, "the capacity is missing");
    if (more.length > 0)
      return behind(r, more, "the capacity");
    r->capacity_line = r->lines.number;
    DZO_TRY(dzo_knapsack_take_count(r, n, &count));
    DZO_TRY(is_by_rows(r, count) ? take_rows(r, count) : take_pairs(r, count));
    DZO_TRY(dzo_knapsack_close(r, DZO_KNAPSACK_FILE_PLAIN, NOTHING, capacity, NULL));
  }
  return DZO_OK;
}
