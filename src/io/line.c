/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One line of text, in full generality and with messages: the slow way, for what the fast way in
 * text.c does not take. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/number.h"
#include "io/text.h"

/* ---- Lines and words ------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void trim(const char **line, const char **end) {
  while (*line < *end && is_blank(**line))
    ++*line;
  while (*line < *end && is_blank((*end)[-1]))
    --*end;
}

dzo_lines dzo_lines_of(const char *text, uint64_t size) {
  if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
    return (dzo_lines){text + 3, text + size, 0};
  return (dzo_lines){text, text + size, 0};
}

bool dzo_lines_next(dzo_lines *lines, const char **line, const char **line_end) {
  if (lines->next == lines->end)
    return false;
  *line = lines->next;
  const char *stop = memchr(*line, '\n', (size_t)(lines->end - *line));
  *line_end = stop != NULL ? stop : lines->end;
  lines->next = stop != NULL ? stop + 1 : lines->end;
  lines->number++;
  trim(line, line_end);
  return true;
}

dzo_word dzo_next_word(const char **p, const char *end) {
  while (*p < end && is_blank(**p))
    ++*p;
  const char *at = *p;
  while (*p < end && !is_blank(**p))
    ++*p;
  return (dzo_word){at, (size_t)(*p - at)};
}

unsigned dzo_count_words(const char *p, const char *end, unsigned most) {
  unsigned count = 0;
  while (count < most && dzo_next_word(&p, end).length > 0)
    count++;
  return count;
}

bool dzo_lines_next_data(dzo_lines *lines, char comment, const char **line, const char **line_end) {
  while (dzo_lines_next(lines, line, line_end))
    if (*line < *line_end && **line != comment)
      return true;
  return false;
}

bool dzo_word_is(dzo_word word, const char *lower_case) {
  if (word.length != strlen(lower_case))
    return false;
  for (size_t i = 0; i < word.length; i++) {
    char c = word.at[i];
    if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower_case[i])
      return false;
  }
  return true;
}

static bool all_digits(dzo_word word) {
  for (size_t i = 0; i < word.length; i++)
    if (word.at[i] < '0' || word.at[i] > '9')
      return false;
  return word.length > 0;
}

bool dzo_word_u64(dzo_word word, uint64_t *value) {
  *value = 0;
  if (!all_digits(word))
    return false;
  for (size_t i = 0; i < word.length; i++)
    if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
        __builtin_add_overflow(*value, (uint64_t)(word.at[i] - '0'), value))
      return false;
  return true;
}

const char *dzo_word_show(dzo_word word, char buffer[DZO_SHOWN_BYTES]) {
  enum { SHOWN = 40 };
  size_t shown = word.length <= SHOWN ? word.length : SHOWN;
  for (size_t i = 0; i < shown; i++)
    buffer[i] = word.at[i] >= ' ' && word.at[i] <= '~' ? word.at[i] : '?';
  (void)snprintf(buffer + shown, DZO_SHOWN_BYTES - shown, "%s", shown < word.length ? "..." : "");
  return buffer;
}

/* ---- Messages -------------------------------------------------------------------------------- */

dzo_status dzo_text_refuse(dzo_context *context, const char *name, uint64_t line, dzo_status status,
                           const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return dzo_fail(context, status, "%s:%llu: %s", name, (unsigned long long)line, text);
}

dzo_status dzo_text_refuse_event(dzo_context *context, const char *name,
                                 const dzo_text_event *event) {
  return dzo_text_refuse(context, name, event->line, event->status, "%s", event->text);
}

#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 3, 4)))
#endif
static bool
stop(dzo_text_event *event, dzo_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  event->stop = DZO_TEXT_FAILED;
  event->status = status;
  (void)vsnprintf(event->text, sizeof event->text, format, arguments);
  va_end(arguments);
  return false;
}

static bool want(dzo_text_event *event, dzo_text_stop what) {
  event->stop = what;
  return false;
}

/* ---- Ends and weights ------------------------------------------------------------------------ */

static bool take_end(const dzo_text_layout *l, dzo_word word, uint64_t *out,
                     dzo_text_event *event) {
  char shown[DZO_SHOWN_BYTES];
  uint64_t value;
  bool negative =
      word.length > 1 && word.at[0] == '-' && all_digits((dzo_word){word.at + 1, word.length - 1});
  bool fits = dzo_word_u64(word, &value);
  if (!negative && !all_digits(word))
    return stop(event, DZO_E_FORMAT, "expected a vertex number, found '%s'",
                dzo_word_show(word, shown));
  if (l->declared && (!fits || value - l->first_label >= l->vertices)) {
    if (l->vertices == 0)
      return stop(event, DZO_E_FORMAT, "vertex %s in a graph of no vertices",
                  dzo_word_show(word, shown));
    return stop(event, DZO_E_FORMAT, "vertex %s is outside %llu..%llu", dzo_word_show(word, shown),
                (unsigned long long)l->first_label,
                (unsigned long long)(l->first_label + l->vertices - 1));
  }
  if (negative)
    return stop(event, DZO_E_UNSUPPORTED, "vertex %s is negative; names are 0 to 2^64 - 1",
                dzo_word_show(word, shown));
  if (!fits)
    return stop(event, DZO_E_UNSUPPORTED, "vertex %s does not fit 64 bits",
                dzo_word_show(word, shown));
  *out = l->declared ? value - l->first_label : value;
  return true;
}

/* Is this integer exactly a double? */
static bool is_exact(uint64_t magnitude) {
  if (magnitude >> 53 == 0)
    return true;
  int spare = 64 - 53 - __builtin_clzll(magnitude);
  return (magnitude & ((UINT64_C(1) << spare) - 1)) == 0;
}

static bool take_integer(const dzo_text_layout *l, const dzo_number *n, const char *shown,
                         dzo_text_edge *edge, dzo_text_event *event) {
  bool small = n->kind == DZO_NUMBER_INTEGER;
  if (l->weight == DZO_WEIGHT_F64) {
    uint64_t magnitude = !small ? n->u64 : n->i64 < 0 ? 0 - (uint64_t)n->i64 : (uint64_t)n->i64;
    if (!l->real && !is_exact(magnitude))
      return stop(event, DZO_E_FORMAT, "integer %s, among decimals, is not exactly a double",
                  shown);
    edge->weight.f64 = n->f64;
    return true;
  }
  if (l->weight == DZO_WEIGHT_U64 && small && n->i64 < 0) {
    (void)stop(event, DZO_E_UNSUPPORTED,
               "weight %s is negative, others are over 2^63 - 1: no 64-bit type holds both", shown);
    return want(event, DZO_TEXT_CONFLICT);
  }
  if (l->weight == DZO_WEIGHT_I64 && !small)
    return want(event, DZO_TEXT_WANTS_U64);
  edge->weight.u64 = small ? (uint64_t)n->i64 : n->u64;
  return true;
}

static bool take_weight(const dzo_text_layout *l, dzo_word word, dzo_text_edge *edge,
                        dzo_text_event *event) {
  char shown[DZO_SHOWN_BYTES];
  dzo_number n = dzo_parse_number(word.at, word.length);
  dzo_word_show(word, shown);
  switch (n.kind) {
  case DZO_NUMBER_BAD:
    return stop(event, DZO_E_FORMAT, "expected a weight, found '%s'", shown);
  case DZO_NUMBER_NAN:
    return stop(event, DZO_E_FORMAT, "the weight is not a number (%s)", shown);
  case DZO_NUMBER_RANGE:
    return stop(event, DZO_E_UNSUPPORTED, "weight %s is beyond the range of doubles", shown);
  case DZO_NUMBER_REAL:
    if (l->integers_only)
      return stop(event, DZO_E_FORMAT, "weight %s is not an integer", shown);
    if (l->weight != DZO_WEIGHT_F64)
      return want(event, DZO_TEXT_WANTS_F64);
    edge->weight.f64 = n.f64;
    edge->decimal = true;
    return true;
  case DZO_NUMBER_HUGE:
    if (isinf(n.f64))
      return stop(event, DZO_E_UNSUPPORTED, "weight %s is beyond the range of doubles", shown);
    if (!l->real)
      return stop(event, DZO_E_UNSUPPORTED, "integer %s does not fit 64 bits", shown);
    edge->weight.f64 = n.f64;
    return true;
  case DZO_NUMBER_INTEGER:
  case DZO_NUMBER_UNSIGNED:
    break;
  }
  return take_integer(l, &n, shown, edge, event);
}

/* ---- Columns --------------------------------------------------------------------------------- */

bool dzo_next_field(const char **p, const char *end, char separator, dzo_word *field) {
  if (*p == NULL)
    return false;
  const char *at = *p, *q = at;
  bool quoted = false;
  for (; q < end && (quoted || *q != separator); q++)
    quoted ^= *q == '"';
  *p = q < end ? q + 1 : NULL;
  trim(&at, &q);
  if (q - at >= 2 && *at == '"' && q[-1] == '"') {
    at++;
    q--;
    trim(&at, &q);
  }
  *field = (dzo_word){at, (size_t)(q - at)};
  return true;
}

/* Find the columns of the layout; *found counts all columns, *further is the first one behind. */
static void split(const dzo_text_layout *l, const char *line, const char *end, dzo_word column[3],
                  unsigned *found, dzo_word *further) {
  unsigned last = 0;
  for (unsigned i = 0; i < 3; i++)
    last = l->column[i] > last && (i < 2 || l->weight != DZO_WEIGHT_NONE) ? l->column[i] : last;
  for (*found = 0; *found <= last + 1; ++*found) {
    dzo_word word;
    if (l->separator != '\0' ? !dzo_next_field(&line, end, l->separator, &word)
                             : (word = dzo_next_word(&line, end)).length == 0)
      return;
    for (unsigned i = 0; i < 3; i++)
      if (l->column[i] == *found)
        column[i] = word;
    if (*found == last + 1)
      *further = word;
  }
}

static bool take_columns(const dzo_text_layout *l, const char *line, const char *end,
                         dzo_text_edge *edge, dzo_text_event *event) {
  static const char *const WHAT[3] = {"first vertex", "second vertex", "weight"};
  char shown[DZO_SHOWN_BYTES];
  dzo_word column[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}}, further = {NULL, 0};
  unsigned found, needed = l->weight != DZO_WEIGHT_NONE ? 3 : 2;
  split(l, line, end, column, &found, &further);
  for (unsigned i = 0; i < needed; i++) {
    if (column[i].length == 0)
      return stop(event, DZO_E_FORMAT, "the %s is missing", WHAT[i]);
    if (!(i < 2 ? take_end(l, column[i], &edge->end[i], event)
                : take_weight(l, column[i], edge, event)))
      return false;
  }
  if (further.at != NULL && !l->extra_columns)
    return stop(event, DZO_E_FORMAT, "unexpected '%s' behind the %s%s",
                dzo_word_show(further, shown), WHAT[needed - 1],
                l->format == DZO_FORMAT_SNAP && needed == 3 ? "; the konect format allows it" : "");
  return true;
}

dzo_line_kind dzo_text_parse_line(const dzo_text_layout *l, const char *line, const char *end,
                                  dzo_text_edge *edge, dzo_text_event *event) {
  char shown[DZO_SHOWN_BYTES];
  trim(&line, &end);
  if (line == end)
    return DZO_LINE_EMPTY;
  if (l->comment != '\0' && *line == l->comment &&
      (!l->comment_stands_alone || line + 1 == end || is_blank(line[1])))
    return DZO_LINE_EMPTY;
  bool good;
  if (l->tag != '\0') {
    const char *p = line;
    dzo_word tag = dzo_next_word(&p, end);
    if (tag.length != 1 || tag.at[0] != l->tag) {
      (void)stop(event, DZO_E_FORMAT, "expected a line that begins with '%c', found '%s'", l->tag,
                 dzo_word_show(tag, shown));
      return DZO_LINE_STOP;
    }
    line = p;
  }
  if (l->part == DZO_ARRAY_NONE) {
    good = take_columns(l, line, end, edge, event);
  } else {
    dzo_word word = dzo_next_word(&line, end), further = dzo_next_word(&line, end);
    good = take_weight(l, word, edge, event);
    if (good && further.length > 0)
      good = stop(event, DZO_E_FORMAT, "expected one value a line, found '%s' behind it",
                  dzo_word_show(further, shown));
  }
  return good ? DZO_LINE_EDGE : DZO_LINE_STOP;
}
