/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The header is the text of a Python dictionary, {'descr': TYPE, 'fortran_order': False, 'shape':
 * (N,), }, where TYPE is a string or a list of tuples (name, type) or (name, type, shape). */
#include "io/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

enum { PREFIX = 10, WORD = 64, MOST_DIMENSIONS = 3 };

static const unsigned char MAGIC[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* ---- Writing --------------------------------------------------------------------------------- */

static size_t put_fields(char *text, size_t size, const dzo_npy_field *fields, unsigned count) {
  if (fields[0].name == NULL)
    return (size_t)snprintf(text, size, "{'descr': '%s', ", fields[0].type);
  size_t used = (size_t)snprintf(text, size, "{'descr': ");
  for (unsigned i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s('%s', '%s')", i == 0 ? "[" : ", ",
                             fields[i].name, fields[i].type);
  return used + (size_t)snprintf(text + used, size - used, "], ");
}

size_t dzo_npy_make_header(char header[DZO_NPY_HEADER], const dzo_npy_field *fields,
                           unsigned field_count, uint64_t count) {
  enum { DIGITS = 20 };
  char text[DZO_NPY_HEADER];
  size_t used = put_fields(text, sizeof text, fields, field_count);
  used +=
      (size_t)snprintf(text + used, sizeof text - used,
                       "'fortran_order': False, 'shape': (%llu,), }", (unsigned long long)count);
  size_t digits = (size_t)snprintf(NULL, 0, "%llu", (unsigned long long)count);
  size_t size =
      PREFIX + used + (DIGITS - digits) < DZO_NPY_HEADER / 2 ? DZO_NPY_HEADER / 2 : DZO_NPY_HEADER;
  /* The magic, version 1.0, and the length of the text that follows, 16 bits. */
  memset(header, ' ', size);
  memcpy(header, MAGIC, sizeof MAGIC);
  header[6] = 1;
  header[7] = 0;
  header[8] = (char)(size - PREFIX);
  header[9] = 0;
  memcpy(header + PREFIX, text, used);
  header[size - 1] = '\n';
  return size;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The header being read; `failed` once it is not as it should be. */
typedef struct scanner {
  const char *at, *end;
  bool failed;
} scanner;

typedef struct description {
  uint64_t offset; /* of the data */
  bool fortran;
  unsigned dimensions;
  uint64_t shape[MOST_DIMENSIONS];
  bool records;
  char type[WORD];  /* where not of records */
  const char *list; /* the list of fields, where of records */
  const char *end;
} description;

static void skip_blanks(scanner *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t'))
    s->at++;
}

static bool take(scanner *s, char c) {
  skip_blanks(s);
  if (s->failed || s->at == s->end || *s->at != c)
    return false;
  s->at++;
  return true;
}

static void expect(scanner *s, char c) { s->failed = !take(s, c) || s->failed; }

static void take_string(scanner *s, char word[WORD]) {
  size_t length = 0;
  word[0] = '\0';
  skip_blanks(s);
  char quote = s->at < s->end ? *s->at : '\0';
  if (quote != '\'' && quote != '"') {
    s->failed = true;
    return;
  }
  for (s->at++; s->at < s->end && *s->at != quote; s->at++)
    if (length + 1 < WORD)
      word[length++] = *s->at;
  word[length] = '\0';
  expect(s, quote);
}

static uint64_t take_number(scanner *s) {
  uint64_t value = 0;
  skip_blanks(s);
  const char *start = s->at;
  for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
    if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
        __builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value))
      s->failed = true;
  s->failed = s->failed || s->at == start;
  return value;
}

static bool take_word(scanner *s, const char *word) {
  skip_blanks(s);
  size_t length = strlen(word);
  if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
    return false;
  s->at += length;
  return true;
}

/* (), (N,) or (N, M). */
static void take_shape(scanner *s, description *d) {
  expect(s, '(');
  while (!s->failed && !take(s, ')')) {
    uint64_t length = take_number(s);
    if (d->dimensions < MOST_DIMENSIONS)
      d->shape[d->dimensions++] = length;
    if (!take(s, ',')) {
      expect(s, ')');
      return;
    }
  }
}

/* A field of a list; false at its end. */
static bool take_field(scanner *s, char name[WORD], char type[WORD], bool *plain) {
  if (s->failed || take(s, ']'))
    return false;
  expect(s, '(');
  take_string(s, name);
  expect(s, ',');
  skip_blanks(s);
  *plain = s->at < s->end && (*s->at == '\'' || *s->at == '"');
  if (!*plain)
    return false; /* a field that is itself a record, or has a title */
  take_string(s, type);
  if (!take(s, ','))
    expect(s, ')');
  else
    *plain = take(s, ')'); /* or an array */
  (void)take(s, ',');
  return *plain && !s->failed;
}

static void skip_list(scanner *s) {
  char word[WORD];
  int depth = 0;
  do {
    skip_blanks(s);
    if (s->at == s->end) {
      s->failed = true;
      return;
    }
    char c = *s->at;
    if (c == '\'' || c == '"') {
      take_string(s, word);
      continue;
    }
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    s->at++;
  } while (depth > 0 && !s->failed);
}

static void take_type(scanner *s, description *d) {
  skip_blanks(s);
  d->records = s->at < s->end && *s->at == '[';
  if (!d->records) {
    take_string(s, d->type);
    return;
  }
  d->list = s->at + 1;
  skip_list(s);
  d->end = s->at;
}

static void take_entry(scanner *s, description *d) {
  char key[WORD];
  take_string(s, key);
  expect(s, ':');
  if (strcmp(key, "descr") == 0) {
    take_type(s, d);
  } else if (strcmp(key, "shape") == 0) {
    take_shape(s, d);
  } else if (strcmp(key, "fortran_order") == 0) {
    d->fortran = take_word(s, "True");
    s->failed = s->failed || (!d->fortran && !take_word(s, "False"));
  } else {
    s->failed = true;
  }
}

/* false: it is none, or damaged, or longer than the head. */
static bool describe(const unsigned char *head, size_t size, description *d) {
  *d = (description){0};
  if (!dzo_npy_is(head, size) || size < PREFIX + 2)
    return false;
  uint64_t length = head[6] == 1 ? (uint64_t)head[8] | (uint64_t)head[9] << 8 : dzo_get32(head + 8);
  uint64_t begin = head[6] == 1 ? PREFIX : PREFIX + 2;
  if (head[6] < 1 || head[6] > 3 || length > size - begin)
    return false;
  d->offset = begin + length;
  scanner s = {(const char *)head + begin, (const char *)head + d->offset, false};
  expect(&s, '{');
  while (!s.failed && !take(&s, '}')) {
    take_entry(&s, d);
    if (!take(&s, ',')) {
      expect(&s, '}');
      break;
    }
  }
  return !s.failed && (d->records || d->type[0] != '\0');
}

bool dzo_npy_is(const unsigned char *head, size_t size) {
  return size >= sizeof MAGIC && memcmp(head, MAGIC, sizeof MAGIC) == 0;
}

bool dzo_npy_has_columns(const unsigned char *head, size_t size) {
  description d;
  return describe(head, size, &d) && (d.records || d.dimensions > 1);
}

/* The bytes of a simple type, 0 for what is none. */
static uint64_t type_bytes(const char *type) {
  uint64_t bytes = 0;
  if (type[0] == '\0' || strchr("<>|=", type[0]) == NULL || strchr("iufbcSVmM", type[1]) == NULL)
    return 0;
  for (const char *p = type + 2; *p >= '0' && *p <= '9' && bytes < UINT32_MAX; p++)
    bytes = bytes * 10 + (uint64_t)(*p - '0');
  return bytes;
}

static bool is_integer(const char *type, dzo_npy_column *out) {
  uint64_t bytes = type_bytes(type);
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return false;
  if (type[1] != 'i' && type[1] != 'u' && !(type[1] == 'b' && bytes == 1))
    return false;
  out->bytes = (unsigned)bytes;
  out->is_signed = type[1] == 'i';
  out->big_endian = type[0] == '>';
  return true;
}

/* A number from 1, or 0. */
static uint64_t column_number(const char *column) {
  uint64_t number = 0;
  for (; *column >= '0' && *column <= '9' && number < UINT32_MAX; column++)
    number = number * 10 + (uint64_t)(*column - '0');
  return *column == '\0' ? number : 0;
}

static void show(const char *text, char shown[WORD]) {
  size_t i = 0;
  for (; text[i] != '\0' && i + 1 < WORD; i++)
    shown[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  shown[i] = '\0';
}

static dzo_status find_in_records(dzo_context *context, const char *name, const description *d,
                                  const char *column, dzo_npy_column *out) {
  scanner s = {d->list, d->end, false};
  char field[WORD], type[WORD], shown[WORD], found[WORD] = "";
  bool plain = true, is_found = false;
  uint64_t number = column != NULL ? column_number(column) : 1, place = 0, at = 0;
  while (take_field(&s, field, type, &plain)) {
    uint64_t bytes = type_bytes(type);
    bool wanted = column != NULL && strcmp(field, column) == 0;
    if (bytes == 0)
      return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: a field of the records is no number", name);
    if (wanted || (++place == number && !is_found)) {
      is_found = true;
      out->offset = d->offset + at;
      memcpy(found, type, sizeof found);
    }
    at += bytes;
  }
  if (s.failed || !plain)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: its records hold more than simple fields",
                    name);
  out->stride = at;
  show(column != NULL ? column : "1", shown);
  if (!is_found)
    return dzo_fail(context, DZO_E_FORMAT, "%s: there is no field '%s'", name, shown);
  char shown_type[WORD];
  show(found, shown_type);
  if (!is_integer(found, out))
    return dzo_fail(context, DZO_E_UNSUPPORTED,
                    "%s: field '%s' holds '%s', not integers of up to 64 bits", name, shown,
                    shown_type);
  return DZO_OK;
}

static dzo_status find_in_array(dzo_context *context, const char *name, const description *d,
                                const char *column, dzo_npy_column *out) {
  char shown[WORD];
  show(d->type, shown);
  if (!is_integer(d->type, out))
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: holds '%s', not integers of up to 64 bits",
                    name, shown);
  uint64_t columns = d->dimensions == 2 ? d->shape[1] : 1;
  uint64_t number = column != NULL ? column_number(column) : 1;
  if (d->fortran && d->dimensions == 2 && columns > 1)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: lies column by column (fortran_order)", name);
  show(column != NULL ? column : "1", shown);
  if (number == 0 || number > columns)
    return dzo_fail(context, DZO_E_FORMAT, "%s: there is no column '%s', but %llu", name, shown,
                    (unsigned long long)columns);
  out->offset = d->offset + (number - 1) * out->bytes;
  out->stride = columns * out->bytes;
  return columns <= UINT32_MAX ? DZO_OK
                               : dzo_fail(context, DZO_E_FORMAT, "%s: has too many columns", name);
}

dzo_status dzo_npy_find(dzo_context *context, const char *name, const unsigned char *head,
                        size_t size, const char *column, dzo_npy_column *out) {
  description d;
  *out = (dzo_npy_column){0};
  if (!describe(head, size, &d))
    return dzo_fail(context, DZO_E_FORMAT, "%s: has a damaged .npy header", name);
  if (d.dimensions == 0 || d.dimensions > 2 || (d.records && d.dimensions > 1))
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%s: has %s%u dimensions, 1%s wanted", name,
                    d.dimensions == MOST_DIMENSIONS ? "at least " : "", d.dimensions,
                    d.records ? " is" : " or 2 are");
  out->count = d.shape[0];
  if (out->count == UINT64_MAX) /* which stands for a count that nobody knows */
    return dzo_fail(context, DZO_E_FORMAT, "%s: promises too many numbers", name);
  return d.records ? find_in_records(context, name, &d, column, out)
                   : find_in_array(context, name, &d, column, out);
}
