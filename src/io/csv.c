/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Columns separated by commas, semicolons or tabs (RFC 4180, but a quoted field ends on its line):
 * one edge a line. A first line that does not begin with two numbers names the columns. */
#include <string.h>

#include "io/number.h"
#include "io/reader.h"
#include "io/text.h"

enum { MOST_COLUMNS = 256, NO_COLUMN = MOST_COLUMNS };

static const char *const FIRST_NAMES[] = {"source", "src", "from", "u", "fromnodeid", NULL};
static const char *const SECOND_NAMES[] = {"target", "dst", "to", "v", "tonodeid", NULL};
static const char *const WEIGHT_NAMES[] = {"weight",   "w",      "rating", "value", "cost",
                                           "distance", "length", "dist",   NULL};

static bool is_one_of(dzo_word word, const char *const *names) {
  while (*names != NULL && !dzo_word_is(word, *names))
    names++;
  return *names != NULL;
}

static bool is_number(dzo_word word) {
  return dzo_parse_number(word.at, word.length).kind != DZO_NUMBER_BAD;
}

char dzo_csv_separator(const char *p, const char *end) {
  static const char CANDIDATES[] = {';', ',', '\t'};
  unsigned seen[3] = {0, 0, 0};
  bool quoted = false;
  for (; p < end; p++) {
    quoted ^= *p == '"';
    for (unsigned i = 0; i < 3; i++)
      seen[i] += !quoted && *p == CANDIDATES[i];
  }
  unsigned best = seen[1] > seen[0] ? 1 : 0;
  return seen[best] > 0 ? CANDIDATES[best] : seen[2] > 0 ? '\t' : '\0';
}

typedef struct first_line {
  char separator;
  bool header;       /* it names columns */
  bool known;        /* it names both ends */
  unsigned columns;  /* of it */
  unsigned place[3]; /* by name, or NO_COLUMN */
} first_line;

static first_line look_at(const char *p, const char *end) {
  first_line first = {.separator = dzo_csv_separator(p, end),
                      .place = {NO_COLUMN, NO_COLUMN, NO_COLUMN}};
  static const char *const *const NAMES[3] = {FIRST_NAMES, SECOND_NAMES, WEIGHT_NAMES};
  dzo_word field;
  if (first.separator == '\0')
    return first;
  for (; first.columns < MOST_COLUMNS && dzo_next_field(&p, end, first.separator, &field);
       first.columns++) {
    first.header = first.header || (first.columns < 2 && !is_number(field));
    for (unsigned i = 0; i < 3; i++)
      if (first.place[i] == NO_COLUMN && is_one_of(field, NAMES[i]))
        first.place[i] = first.columns;
  }
  first.known = first.header && first.place[0] != NO_COLUMN && first.place[1] != NO_COLUMN;
  return first;
}

static bool detect_csv(const dzo_sample *sample) {
  dzo_lines lines = dzo_lines_of((const char *)sample->head, sample->head_size);
  const char *p, *end;
  if (!dzo_lines_next_data(&lines, '#', &p, &end))
    return false;
  first_line first = look_at(p, end);
  if (first.separator == '\0' || (first.separator == '\t' && !first.header))
    return false;
  if (first.known || !first.header)
    return first.columns >= 2;
  if (!dzo_lines_next_data(&lines, '#', &p, &end))
    return false;
  first_line second = look_at(p, end);
  return second.separator == first.separator && !second.header && second.columns >= 2;
}

static dzo_status csv_prologue(dzo_context *context, const char *text, uint64_t size, bool complete,
                               dzo_text_layout *layout) {
  dzo_lines lines = dzo_lines_of(text, size), before = lines;
  const char *p, *end;
  (void)complete;
  do {
    before = lines;
    if (!dzo_lines_next(&lines, &p, &end))
      p = end = lines.end;
  } while (p < end ? *p == '#' : lines.next < lines.end);
  first_line first = look_at(p, end);
  if (p < end && first.separator == '\0')
    return dzo_text_refuse(context, layout->name, lines.number, DZO_E_FORMAT,
                           "expected columns separated by ',', ';' or tabs");
  if (first.header)
    before = lines;
  layout->format = DZO_FORMAT_CSV;
  layout->offset = (uint64_t)(before.next - text);
  layout->line = before.number + 1;
  layout->comment = '#';
  layout->separator = first.separator == '\0' ? ',' : first.separator;
  layout->extra_columns = true;
  layout->column[0] = first.known ? first.place[0] : 0;
  layout->column[1] = first.known ? first.place[1] : 1;
  layout->column[2] = first.header && first.place[2] != NO_COLUMN ? first.place[2] : 2;
  bool weights = first.known ? first.place[2] != NO_COLUMN : first.columns >= 3;
  layout->weight = weights ? DZO_WEIGHT_I64 : DZO_WEIGHT_NONE;
  return DZO_OK;
}

static dzo_status read_csv(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_text_read(context, input, csv_prologue, out);
}

static dzo_status stream_csv(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_text_stream(context, input, csv_prologue, out);
}

const dzo_reader dzo_reader_csv = {DZO_FORMAT_CSV, detect_csv, read_csv, stream_csv, true};
