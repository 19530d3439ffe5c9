/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Knapsack instances from files: which format it is, and reading it once or, where there are
 * decimals, twice. */
#include "io/knapsack.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/knapsack_reading.h"

const char *dzo_knapsack_format_name(dzo_knapsack_format format) {
  static const char *const names[] = {"auto", "pisinger", "jooken", "plain", "csv", "fsu"};
  return (unsigned)format < sizeof names / sizeof names[0] ? names[format] : NULL;
}

/* ---- Detection ------------------------------------------------------------------------------- */

typedef struct first_lines {
  dzo_word line[3];
  unsigned count;
} first_lines;

static first_lines look_at(const dzo_input *input) {
  first_lines first = {.count = 0};
  dzo_lines lines = dzo_lines_of((const char *)dzo_input_data(input), dzo_input_size(input));
  const char *p, *end;
  while (first.count < 3 && dzo_lines_next_data(&lines, '#', &p, &end))
    first.line[first.count++] = (dzo_word){p, (size_t)(end - p)};
  return first;
}

static unsigned words_of(dzo_word line) {
  return dzo_count_words(line.at, line.at + line.length, 5);
}

/* `KEY number` */
static bool is_keyed(dzo_word line, const char *key) {
  const char *p = line.at, *end = p + line.length;
  dzo_word word = dzo_next_word(&p, end), number = dzo_next_word(&p, end);
  dzo_decimal decimal;
  return dzo_word_is(word, key) &&
         dzo_parse_decimal(number.at, number.length, &decimal) == DZO_DECIMAL_GOOD;
}

static bool is_numbers(dzo_word line, unsigned count) {
  const char *p = line.at, *end = p + line.length;
  dzo_decimal decimal;
  for (unsigned i = 0; i < count; i++) {
    dzo_word word = dzo_next_word(&p, end);
    if (dzo_parse_decimal(word.at, word.length, &decimal) == DZO_DECIMAL_BAD)
      return false;
  }
  return dzo_next_word(&p, end).length == 0;
}

static dzo_knapsack_format format_of(const first_lines *first) {
  if (first->count == 3 && is_keyed(first->line[1], "n") && is_keyed(first->line[2], "c"))
    return DZO_KNAPSACK_FILE_PISINGER;
  if (first->count > 0 && dzo_knapsack_is_csv(first->line[0]))
    return DZO_KNAPSACK_FILE_CSV;
  if (first->count > 1 && is_numbers(first->line[0], 1) && words_of(first->line[1]) == 3)
    return DZO_KNAPSACK_FILE_JOOKEN;
  if (first->count > 0 && is_numbers(first->line[0], 2))
    return DZO_KNAPSACK_FILE_PLAIN;
  return DZO_KNAPSACK_FILE_AUTO;
}

static dzo_status refuse_unknown(dzo_context *context, const char *name, const first_lines *first) {
  char shown[DZO_SHOWN_BYTES];
  if (first->count == 0)
    return dzo_fail(context, DZO_E_FORMAT, "%s: there is nothing in it", name);
  const char *hint = "";
  if (first->count == 1 && is_numbers(first->line[0], words_of(first->line[0])))
    hint = "; a single line of numbers could be in any order: write `n capacity`, then a value and "
           "a weight on each line";
  else if (is_numbers(first->line[0], 1))
    hint = "; of a set of four files, name one as NAME_c.txt, NAME_w.txt, NAME_p.txt or NAME_s.txt";
  return dzo_fail(context, DZO_E_FORMAT,
                  "%s: no knapsack instance of a known format; it begins with '%s'%s", name,
                  dzo_word_show(first->line[0], shown), hint);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* How far a set was filled. */
typedef struct mark {
  uint64_t count, items, text_size;
} mark;

static mark mark_of(const dzo_knapsack_set *set) {
  return (mark){set->count, set->items, set->text_size};
}

static void go_back(dzo_knapsack_set *set, mark m) {
  set->count = m.count;
  set->items = m.items;
  set->text_size = m.text_size;
}

/* What to read: an input, or four files. */
typedef struct content {
  dzo_input *input;
  dzo_knapsack_format format;
  const char *path;
  dzo_knapsack_fsu fsu;
} content;

static dzo_status read_content(dzo_knapsack_reading *r, const content *c) {
  if (c->format == DZO_KNAPSACK_FILE_FSU)
    return dzo_knapsack_read_fsu(r, c->path, &c->fsu);
  r->name = dzo_input_name(c->input);
  r->lines = dzo_lines_of((const char *)dzo_input_data(c->input), dzo_input_size(c->input));
  switch (c->format) {
  case DZO_KNAPSACK_FILE_PISINGER:
    return dzo_knapsack_read_pisinger(r);
  case DZO_KNAPSACK_FILE_JOOKEN:
    return dzo_knapsack_read_jooken(r);
  case DZO_KNAPSACK_FILE_CSV:
    return dzo_knapsack_read_csv(r);
  case DZO_KNAPSACK_FILE_PLAIN:
  case DZO_KNAPSACK_FILE_FSU:
  case DZO_KNAPSACK_FILE_AUTO:
    break;
  }
  return dzo_knapsack_read_plain(r);
}

/* With the places that the first reading found, the second finds no more. */
static dzo_status read_scaled(dzo_knapsack_reading *r, const content *c) {
  mark begin = mark_of(r->set);
  r->open = begin.items;
  dzo_status status = read_content(r, c);
  if (status == DZO_OK && (r->found[0] > r->places[0] || r->found[1] > r->places[1])) {
    go_back(r->set, begin);
    memcpy(r->places, r->found, sizeof r->places);
    r->open = begin.items;
    status = read_content(r, c);
  }
  if (status == DZO_OK && r->set->count == begin.count)
    status = dzo_fail(r->context, DZO_E_FORMAT, "%s: there is no instance in it", r->name);
  if (status != DZO_OK)
    go_back(r->set, begin);
  return status;
}

dzo_status dzo_knapsack_read_input(dzo_context *context, dzo_input *input,
                                   const dzo_knapsack_read_options *options,
                                   dzo_knapsack_set *set) {
  const char *name = dzo_input_name(input);
  first_lines first = look_at(input);
  content c = {.input = input, .format = options->format};
  if (c.format == DZO_KNAPSACK_FILE_FSU)
    return dzo_fail(context, DZO_E_FORMAT,
                    "%s: the name of one of four files does not end like this; NAME_c.txt, "
                    "NAME_w.txt, NAME_p.txt and NAME_s.txt do",
                    name);
  if (c.format == DZO_KNAPSACK_FILE_AUTO)
    c.format = format_of(&first);
  if (first.count == 0 || c.format == DZO_KNAPSACK_FILE_AUTO)
    return refuse_unknown(context, name, &first);
  dzo_knapsack_reading r = {.context = context, .name = name, .options = options, .set = set};
  return read_scaled(&r, &c);
}

static dzo_status read_four(dzo_context *context, const char *path, const dzo_knapsack_fsu *fsu,
                            const dzo_knapsack_read_options *options, dzo_knapsack_set *set) {
  content c = {.format = DZO_KNAPSACK_FILE_FSU, .path = path, .fsu = *fsu};
  dzo_knapsack_reading r = {.context = context, .name = path, .options = options, .set = set};
  return read_scaled(&r, &c);
}

/* By its name one of four, and by its content a column. */
static bool is_one_of_four(const dzo_input *input, const char *path,
                           const dzo_knapsack_read_options *options, dzo_knapsack_fsu *fsu) {
  if (!dzo_knapsack_is_fsu_path(path, fsu))
    return false;
  if (options->format != DZO_KNAPSACK_FILE_AUTO)
    return options->format == DZO_KNAPSACK_FILE_FSU;
  first_lines first = look_at(input);
  return first.count > 0 && is_numbers(first.line[0], 1) &&
         format_of(&first) == DZO_KNAPSACK_FILE_AUTO;
}

/* "p01" stands for p01_c.txt and its siblings. */
static dzo_status read_stem(dzo_context *context, const char *path, dzo_status why,
                            const dzo_knapsack_read_options *options, dzo_knapsack_set *set) {
  char message[sizeof context->message];
  dzo_knapsack_fsu fsu = {strlen(path), ".txt"};
  dzo_input *input;
  (void)snprintf(message, sizeof message, "%s", context->message);
  char *name = dzo_alloc(context, fsu.stem + sizeof "_c.txt", 1);
  if (name == NULL)
    return DZO_E_MEMORY;
  memcpy(name, path, fsu.stem);
  memcpy(name + fsu.stem, "_c.txt", sizeof "_c.txt");
  dzo_status status = dzo_input_open(context, name, DZO_INPUT_WHOLE, &input);
  dzo_free(name);
  if (status == DZO_E_IO)
    return dzo_fail(context, why, "%s", message);
  DZO_TRY(status);
  dzo_input_close(input);
  return read_four(context, path, &fsu, options, set);
}

dzo_status dzo_knapsack_read(dzo_context *context, const char *path,
                             const dzo_knapsack_read_options *options, dzo_knapsack_set *set) {
  dzo_begin(context);
  dzo_input *input;
  dzo_knapsack_fsu fsu;
  bool may_be_stem =
      options->format == DZO_KNAPSACK_FILE_AUTO || options->format == DZO_KNAPSACK_FILE_FSU;
  dzo_status status = dzo_input_open(context, path, DZO_INPUT_WHOLE, &input);
  if (status == DZO_E_IO && may_be_stem)
    return read_stem(context, path, status, options, set);
  DZO_TRY(status);
  if (is_one_of_four(input, path, options, &fsu))
    status = read_four(context, path, &fsu, options, set);
  else
    status = dzo_knapsack_read_input(context, input, options, set);
  dzo_input_close(input);
  return status;
}
