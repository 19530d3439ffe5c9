/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Columns of text. A chunk of lines is cut into slices; their lines are counted, so that each slice
 * knows where its numbers go, and then parsed. What the fast way does not take is left to a slow
 * one, which knows what is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "io/columns_source.h"
#include "io/number.h"
#include "io/text.h"

enum { SLICE = 1 << 17, LEAST_CHUNK = 1 << 18, MOST_CHUNK = 1 << 26, SHARE = 64, MESSAGE = 200 };

typedef struct csv_field {
  unsigned place; /* from 0 */
  dzo_integer type;
} csv_field;

/* Lines that one thread parses. */
typedef struct slice {
  const char *begin, *end;
  uint64_t line;  /* lines before it in the chunk */
  uint64_t count; /* numbers found */
  bool quoted;    /* there are quotes */
  uint64_t bad;   /* 0, or the number of the line in the chunk, from 1, that is wrong */
  char text[MESSAGE];
} slice;

struct dzo_csv_columns {
  dzo_context *context;
  dzo_input *input; /* borrowed */
  dzo_chunks *chunks;
  char separator; /* '\0': blanks */
  unsigned field_count;
  csv_field fields[2]; /* keys and values */
  uint64_t line;       /* lines before the chunk */
  bool wide;
  slice *slices; /* [slice_capacity] */
  uint64_t slice_capacity, slice_count;
  void *keys;       /* [capacity] */
  uint64_t *values; /* [capacity] */
  uint64_t capacity;
};

/* ---- One line, slowly ------------------------------------------------------------------------ */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(char text[MESSAGE], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, MESSAGE, format, arguments);
  va_end(arguments);
  return false;
}

static bool next_column(const dzo_csv_columns *csv, const char **p, const char *end,
                        dzo_word *word) {
  if (csv->separator != '\0')
    return dzo_next_field(p, end, csv->separator, word);
  *word = dzo_next_word(p, end);
  if (word->length > 2 && word->at[0] == '"' && word->at[word->length - 1] == '"')
    *word = (dzo_word){word->at + 1, word->length - 2};
  return word->length > 0;
}

static const char *limits_of(dzo_integer type) {
  static const char *const limits[] = {"0 to 4294967295", "-2147483648 to 2147483647",
                                       "0 to 18446744073709551615",
                                       "-9223372036854775808 to 9223372036854775807"};
  return limits[type];
}

/* An integer of a type as a word. */
static bool fits(dzo_integer type, const dzo_number *n, uint64_t *word) {
  bool huge = n->kind == DZO_NUMBER_UNSIGNED;
  *word = huge ? n->u64 : (uint64_t)n->i64;
  switch (type) {
  case DZO_INTEGER_U32:
    return !huge && n->i64 >= 0 && n->i64 <= UINT32_MAX;
  case DZO_INTEGER_I32:
    return !huge && n->i64 >= INT32_MIN && n->i64 <= INT32_MAX;
  case DZO_INTEGER_U64:
    return huge || n->i64 >= 0;
  case DZO_INTEGER_I64:
    return !huge;
  }
  return false;
}

static bool read_field(const csv_field *field, dzo_word word, uint64_t *out, char text[MESSAGE]) {
  char shown[DZO_SHOWN_BYTES];
  unsigned column = field->place + 1;
  dzo_number n = dzo_parse_number(word.at, word.length);
  dzo_word_show(word, shown);
  if (word.length == 0)
    return refuse(text, "column %u is empty", column);
  if (n.kind == DZO_NUMBER_HUGE)
    return refuse(text, "%s in column %u does not fit 64 bits", shown, column);
  if (n.kind != DZO_NUMBER_INTEGER && n.kind != DZO_NUMBER_UNSIGNED)
    return refuse(text, "expected an integer in column %u, found '%s'", column, shown);
  if (fits(field->type, &n, out))
    return true;
  const char *hint = n.kind == DZO_NUMBER_UNSIGNED        ? "; u64 takes it"
                     : dzo_integer_is_wide(field->type)   ? "; i64 takes it"
                     : dzo_integer_is_signed(field->type) ? "; i64 takes it"
                     : n.i64 < 0 && n.i64 >= INT32_MIN    ? "; i32 takes it"
                     : n.i64 < 0                          ? "; i64 takes it"
                                                          : "; u64 takes it";
  return refuse(text, "%s in column %u is not within %s (%s%s)", shown, column,
                limits_of(field->type), dzo_integer_name(field->type), hint);
}

/* Is there a quote that nothing closes? */
static bool is_open(const char *line, const char *end) {
  bool quoted = false;
  for (; line < end; line++)
    quoted ^= *line == '"';
  return quoted;
}

/* Lines that end with a carriage return alone would be one, of which most was not read. */
#define RETURN_WITHIN "a carriage return within the line; lines end with a line feed"

static bool has_return(const char *line, const char *end) {
  return line < end && memchr(line, '\r', (size_t)(end - line)) != NULL;
}

static bool read_slowly(const dzo_csv_columns *csv, const char *line, const char *end,
                        uint64_t words[2], char text[MESSAGE]) {
  unsigned place = 0, found = 0;
  const char *p = line;
  dzo_word word;
  if (csv->separator != '\0' && is_open(line, end))
    return refuse(text, "a quoted field does not end on its line");
  if (has_return(line, end))
    return refuse(text, "%s", RETURN_WITHIN);
  for (; found < csv->field_count && next_column(csv, &p, end, &word); place++)
    for (unsigned f = 0; f < csv->field_count; f++)
      if (csv->fields[f].place == place) {
        if (!read_field(&csv->fields[f], word, &words[f], text))
          return false;
        found++;
      }
  if (found == csv->field_count)
    return true;
  unsigned wanted = 0;
  for (unsigned f = 0; f < csv->field_count; f++)
    wanted = csv->fields[f].place > wanted ? csv->fields[f].place : wanted;
  return refuse(text, "column %u is missing", wanted + 1);
}

/* ---- One line, fast -------------------------------------------------------------------------- */

/* From within column `*place` to the begin of column `to`; NULL: there is none. */
DZO_ITEM const char *skip_words(const char *p, const char *end, unsigned *place, unsigned to) {
  for (; *place < to; ++*place) {
    while (p < end && !is_blank(*p))
      p++;
    while (p < end && is_blank(*p))
      p++;
    if (p == end)
      return NULL;
  }
  return p;
}

DZO_ITEM const char *skip_to(const char *p, const char *end, char separator, unsigned *place,
                             unsigned to) {
  if (separator == '\0')
    return skip_words(p, end, place, to);
  for (; *place < to; ++*place) {
    bool quoted = false;
    for (; p < end && (quoted || *p != separator); p++)
      quoted ^= *p == '"';
    if (p == end)
      return NULL;
    p++;
  }
  return p;
}

/* Digits, perhaps with a sign, up to the end of the column; NULL: look closer. */
DZO_ITEM const char *read_fast(const char *p, const char *end, char separator, dzo_integer type,
                               uint64_t *word) {
  bool negative = p < end && *p == '-';
  const char *start = p += negative;
  uint64_t value = 0;
  p = dzo_parse_digits(p, end, &value);
  bool ends =
      p == end || *p == (separator != '\0' ? separator : ' ') || (*p == '\r' && p + 1 == end);
  if (p == start || p - start > 19 || !ends)
    return NULL;
  uint64_t most = dzo_integer_is_wide(type) ? UINT64_MAX : UINT32_MAX;
  most = dzo_integer_is_signed(type) ? most >> 1 : most;
  if (value > most || (negative && !dzo_integer_is_signed(type)))
    return NULL;
  *word = negative ? 0 - value : value;
  return p;
}

/* Keys in one column, and values in one behind it, of a line that may not be a comment. */
DZO_ITEM bool read_line_fast(const dzo_csv_columns *csv, const char *p, const char *end,
                             uint64_t words[2]) {
  unsigned place = 0;
  if (p == end || *p == '#' || is_blank(*p))
    return false;
  for (unsigned f = 0; f < csv->field_count; f++) {
    if (csv->fields[f].place < place)
      return false;
    p = skip_to(p, end, csv->separator, &place, csv->fields[f].place);
    p = p != NULL ? read_fast(p, end, csv->separator, csv->fields[f].type, &words[f]) : NULL;
    if (p == NULL)
      return false;
  }
  return true;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static void put(dzo_csv_columns *csv, uint64_t at, const uint64_t words[2]) {
  if (csv->wide)
    ((uint64_t *)csv->keys)[at] = words[0];
  else
    ((uint32_t *)csv->keys)[at] = (uint32_t)words[0];
  if (csv->field_count > 1)
    csv->values[at] = words[1];
}

static void parse_slice(dzo_csv_columns *csv, slice *s) {
  uint64_t line = s->line, words[2] = {0, 0};
  s->count = s->bad = 0;
  for (const char *p = s->begin; p < s->end;) {
    const char *stop = memchr(p, '\n', (size_t)(s->end - p));
    const char *begin = p, *end = stop != NULL ? stop : s->end;
    p = stop != NULL ? stop + 1 : s->end;
    line++;
    bool open = s->quoted && csv->separator != '\0' && is_open(begin, end);
    if (open || !read_line_fast(csv, begin, end, words)) {
      while (begin < end && is_blank(*begin) && *begin != csv->separator)
        begin++;
      while (begin < end && is_blank(end[-1]) && end[-1] != csv->separator)
        end--;
      if (begin == end || *begin == '#')
        continue;
      if (!read_slowly(csv, begin, end, words, s->text)) {
        s->bad = line;
        return;
      }
    }
    put(csv, s->line + s->count++, words);
  }
}

static uint64_t count_lines(const char *p, const char *end) {
  uint64_t lines = 0;
  for (const char *q = p; q < end; q++)
    lines += *q == '\n';
  return lines + (p < end && end[-1] != '\n');
}

static void count_slices(void *argument, uint64_t begin, uint64_t end, int thread) {
  dzo_csv_columns *csv = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++) {
    slice *s = &csv->slices[i];
    s->count = count_lines(s->begin, s->end);
    s->quoted = memchr(s->begin, '"', (size_t)(s->end - s->begin)) != NULL;
  }
}

static void parse_slices(void *argument, uint64_t begin, uint64_t end, int thread) {
  dzo_csv_columns *csv = argument;
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    parse_slice(csv, &csv->slices[i]);
}

static dzo_status cut(dzo_csv_columns *csv, const char *data, uint64_t size) {
  uint64_t most = size / SLICE + 1;
  if (most > csv->slice_capacity) {
    dzo_free(csv->slices);
    csv->slices = dzo_alloc(csv->context, most, sizeof *csv->slices);
    csv->slice_capacity = csv->slices != NULL ? most : 0;
    if (csv->slices == NULL)
      return DZO_E_MEMORY;
  }
  csv->slice_count = 0;
  for (const char *p = data, *end = data + size; p < end;) {
    const char *stop =
        (uint64_t)(end - p) > SLICE ? memchr(p + SLICE, '\n', (size_t)(end - p) - SLICE) : NULL;
    slice *s = &csv->slices[csv->slice_count++];
    s->begin = p;
    s->end = p = stop != NULL ? stop + 1 : end;
  }
  return DZO_OK;
}

static dzo_status make_room(dzo_csv_columns *csv, uint64_t lines) {
  if (lines <= csv->capacity)
    return DZO_OK;
  uint64_t capacity = lines + lines / 8;
  dzo_free(csv->keys);
  dzo_free(csv->values);
  csv->capacity = 0;
  csv->keys = dzo_alloc(csv->context, capacity, csv->wide ? 8 : 4);
  csv->values = csv->field_count > 1 ? dzo_alloc(csv->context, capacity, 8) : NULL;
  if (csv->keys == NULL || (csv->field_count > 1 && csv->values == NULL))
    return DZO_E_MEMORY;
  csv->capacity = capacity;
  return DZO_OK;
}

/* Close the gaps that empty lines and comments left. */
static uint64_t close_gaps(dzo_csv_columns *csv) {
  size_t width = csv->wide ? 8 : 4;
  uint64_t count = 0;
  for (uint64_t i = 0; i < csv->slice_count; i++) {
    const slice *s = &csv->slices[i];
    if (count != s->line) {
      char *keys = csv->keys;
      memmove(keys + count * width, keys + s->line * width, (size_t)s->count * width);
      if (csv->field_count > 1)
        memmove(csv->values + count, csv->values + s->line, (size_t)s->count * 8);
    }
    count += s->count;
  }
  return count;
}

static dzo_status parse_chunk(dzo_csv_columns *csv, const char *data, uint64_t size,
                              uint64_t *count) {
  int threads = csv->context->threads;
  DZO_TRY(cut(csv, data, size));
  dzo_parallel_for(threads, csv->slice_count, 1, count_slices, csv);
  uint64_t lines = 0;
  for (uint64_t i = 0; i < csv->slice_count; i++) {
    csv->slices[i].line = lines;
    lines += csv->slices[i].count;
  }
  DZO_TRY(make_room(csv, lines));
  dzo_parallel_for(threads, csv->slice_count, 1, parse_slices, csv);
  for (uint64_t i = 0; i < csv->slice_count; i++)
    if (csv->slices[i].bad > 0)
      return dzo_text_refuse(csv->context, dzo_input_name(csv->input),
                             csv->line + csv->slices[i].bad, DZO_E_FORMAT, "%s",
                             csv->slices[i].text);
  csv->line += lines;
  *count = close_gaps(csv);
  return DZO_OK;
}

dzo_status dzo_csv_columns_next(dzo_csv_columns *csv, bool wide, const void **keys,
                                const uint64_t **values, uint64_t *count) {
  *count = 0;
  csv->wide = wide;
  while (*count == 0) {
    const char *data;
    uint64_t size;
    DZO_TRY(dzo_chunks_next(csv->chunks, &data, &size));
    if (size == 0)
      break;
    DZO_TRY(parse_chunk(csv, data, size, count));
  }
  *keys = csv->keys;
  *values = csv->values;
  return DZO_OK;
}

/* ---- The first line -------------------------------------------------------------------------- */

typedef struct first_line {
  const char *begin, *end;
  uint64_t number;         /* of the line */
  uint64_t offset, behind; /* of its begin and of the line behind it */
} first_line;

/* The first line that is neither empty nor a comment; or none, at the end of the text. */
static first_line find_first(const char *text, uint64_t size) {
  dzo_lines lines = dzo_lines_of(text, size), before;
  first_line first = {NULL, NULL, 1, 0, 0};
  do {
    before = lines;
    if (!dzo_lines_next(&lines, &first.begin, &first.end)) {
      first.begin = first.end = lines.end;
      break;
    }
  } while (first.begin == first.end || *first.begin == '#');
  first.number = before.number + 1;
  first.offset = (uint64_t)(before.next - text);
  first.behind = (uint64_t)(lines.next - text);
  return first;
}

static bool is_integer(dzo_word word) {
  dzo_number n = dzo_parse_number(word.at, word.length);
  return n.kind == DZO_NUMBER_INTEGER || n.kind == DZO_NUMBER_UNSIGNED || n.kind == DZO_NUMBER_HUGE;
}

/* The place of a column by its name in the first line, or by its number. */
static dzo_status find_column(dzo_csv_columns *csv, const first_line *first, const char *column,
                              unsigned *place, bool *named, bool *numeric) {
  const char *p = first->begin;
  dzo_word word, wanted = {column, strlen(column)};
  uint64_t number;
  bool is_number = dzo_word_u64(wanted, &number) && number > 0 && number <= INT32_MAX;
  unsigned i = 0;
  *named = *numeric = false;
  for (; next_column(csv, &p, first->end, &word); i++) {
    if (word.length == wanted.length && memcmp(word.at, column, word.length) == 0 &&
        !is_integer(word)) {
      *place = i;
      *named = true;
      return DZO_OK;
    }
    if (is_number && i + 1 == number)
      *numeric = is_integer(word);
  }
  char shown[DZO_SHOWN_BYTES];
  if (!is_number)
    return dzo_text_refuse(csv->context, dzo_input_name(csv->input), first->number, DZO_E_FORMAT,
                           "there is no column named '%s'", dzo_word_show(wanted, shown));
  if (number > i && first->begin < first->end)
    return dzo_text_refuse(csv->context, dzo_input_name(csv->input), first->number, DZO_E_FORMAT,
                           "there is no column %llu, but %u", (unsigned long long)number, i);
  *place = (unsigned)number - 1;
  return DZO_OK;
}

static dzo_status find_columns(dzo_csv_columns *csv, const first_line *first,
                               const dzo_columns_options *options, bool *header) {
  const char *names[2] = {options->column != NULL ? options->column : "1", options->values};
  *header = false;
  for (unsigned f = 0; f < csv->field_count; f++) {
    bool named, numeric;
    DZO_TRY(find_column(csv, first, names[f], &csv->fields[f].place, &named, &numeric));
    *header = *header || named || !numeric;
  }
  return DZO_OK;
}

static dzo_status start(dzo_csv_columns *csv, const dzo_columns_options *options) {
  size_t size;
  const char *head = (const char *)dzo_input_head(csv->input, &size);
  first_line first = find_first(head, size);
  /* It would be taken for a line of names. */
  if (has_return(first.begin, first.end))
    return dzo_text_refuse(csv->context, dzo_input_name(csv->input), first.number, DZO_E_FORMAT,
                           "%s", RETURN_WITHIN);
  csv->separator = dzo_csv_separator(first.begin, first.end);
  if (csv->separator == '\0' && first.begin < first.end && *first.begin == '"')
    csv->separator = ','; /* one quoted column, whose name may have blanks */
  csv->field_count = options->values != NULL ? 2 : 1;
  csv->fields[0].type = options->key_typed ? options->key_type : DZO_INTEGER_I64;
  csv->fields[1].type = options->value_typed ? options->value_type : DZO_INTEGER_I64;
  bool header;
  DZO_TRY(find_columns(csv, &first, options, &header));
  header = header && first.begin < first.end;
  csv->line = header ? first.number : first.number - 1;
  uint64_t bytes = csv->context->memory / SHARE;
  bytes = bytes < LEAST_CHUNK ? LEAST_CHUNK : bytes > MOST_CHUNK ? MOST_CHUNK : bytes;
  if (options->piece > 0 && options->piece < bytes)
    bytes = options->piece;
  dzo_chunks_plan plan = {header ? first.behind : first.offset, UINT64_MAX, bytes, 0};
  return dzo_chunks_open(csv->context, csv->input, &plan, &csv->chunks);
}

dzo_status dzo_csv_columns_open(dzo_context *context, dzo_input *input,
                                const dzo_columns_options *options, dzo_csv_columns **out) {
  *out = NULL;
  dzo_csv_columns *csv = dzo_calloc(context, 1, sizeof *csv);
  if (csv == NULL)
    return DZO_E_MEMORY;
  csv->context = context;
  csv->input = input;
  dzo_status status = start(csv, options);
  if (status != DZO_OK) {
    dzo_csv_columns_close(csv);
    return status;
  }
  *out = csv;
  return DZO_OK;
}

void dzo_csv_columns_close(dzo_csv_columns *csv) {
  if (csv == NULL)
    return;
  dzo_chunks_close(csv->chunks);
  dzo_free(csv->slices);
  dzo_free(csv->keys);
  dzo_free(csv->values);
  dzo_free(csv);
}
