/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _XOPEN_SOURCE 700
#include "io_files.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_BYTES = 512, PATHS = 8 };

static char folder[PATH_BYTES];

dzo_context *files_context(int threads) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  dzo_context *context = NULL;
  return dzo_context_create(&options, &context) == DZO_OK ? context : NULL;
}

int files_begin(void **state) {
  (void)state;
  const char *base = getenv("TMPDIR");
  (void)snprintf(folder, sizeof folder, "%s/dzo-test-XXXXXX", base != NULL ? base : "/tmp");
  return mkdtemp(folder) != NULL ? 0 : -1;
}

/* Call `visit` for each file of the folder. */
static int each_file(void (*visit)(const char *path)) {
  DIR *listing = opendir(folder);
  if (listing == NULL)
    return -1;
  int count = 0;
  for (struct dirent *item; (item = readdir(listing)) != NULL;) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
      continue;
    count++;
    if (visit != NULL)
      visit(files_path(item->d_name));
  }
  (void)closedir(listing);
  return count;
}

static void remove_file(const char *path) { (void)remove(path); }

int files_end(void **state) {
  (void)state;
  (void)each_file(remove_file);
  return rmdir(folder);
}

int files_count(void) { return each_file(NULL); }

const char *files_path(const char *name) {
  static char paths[PATHS][PATH_BYTES];
  static unsigned next;
  char *path = paths[next++ % PATHS];
  (void)snprintf(path, PATH_BYTES, "%.200s/%.255s", folder, name);
  return path;
}

void files_put(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

char *files_get(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return NULL;
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long length = ftell(file);
  assert_true(length >= 0);
  rewind(file);
  char *data = malloc((size_t)length + 1);
  assert_non_null(data);
  *size = fread(data, 1, (size_t)length, file);
  data[*size] = '\0';
  (void)fclose(file);
  assert_int_equal(*size, length);
  return data;
}

bool files_equal(const char *path, const void *data, size_t size) {
  size_t length;
  char *content = files_get(path, &length);
  bool equal = content != NULL && length == size && memcmp(content, data, size) == 0;
  if (!equal && content != NULL)
    print_message("%s holds:\n%.*s\n", path, (int)(length < 2000 ? length : 2000), content);
  free(content);
  return equal;
}

/* ---- Edges as a bag -------------------------------------------------------------------------- */

typedef struct plain_edge {
  uint64_t low, high;
  long double weight; /* holds 64-bit integers and doubles exactly */
} plain_edge;

static long double weight_of(const dzo_edges *e, uint64_t i) {
  switch (e->weight_type) {
  case DZO_WEIGHT_NONE:
    return 1;
  case DZO_WEIGHT_U32:
    return ((const uint32_t *)e->weights)[i];
  case DZO_WEIGHT_I64:
    return (long double)((const int64_t *)e->weights)[i];
  case DZO_WEIGHT_U64:
    return (long double)((const uint64_t *)e->weights)[i];
  case DZO_WEIGHT_F32:
    return ((const float *)e->weights)[i];
  case DZO_WEIGHT_F64:
    return ((const double *)e->weights)[i];
  }
  return 0;
}

static uint64_t name_of(const dzo_edges *e, uint32_t v, bool labels) {
  if (!labels)
    return v;
  return e->labels != NULL ? e->labels[v] : v + e->first_label;
}

static int compare_edges(const void *left, const void *right) {
  const plain_edge *a = left, *b = right;
  if (a->low != b->low)
    return a->low < b->low ? -1 : 1;
  if (a->high != b->high)
    return a->high < b->high ? -1 : 1;
  return (a->weight > b->weight) - (a->weight < b->weight);
}

static plain_edge *sorted(const dzo_edges *e, bool labels) {
  plain_edge *list = calloc(e->count + 1, sizeof *list);
  assert_non_null(list);
  for (uint64_t i = 0; i < e->count; i++) {
    uint64_t u = name_of(e, e->u[i], labels), v = name_of(e, e->v[i], labels);
    list[i] = (plain_edge){u < v ? u : v, u < v ? v : u, weight_of(e, i)};
  }
  qsort(list, e->count, sizeof *list, compare_edges);
  return list;
}

bool same_edges(const dzo_edges *a, const dzo_edges *b, bool labels) {
  if (a->count != b->count)
    return false;
  plain_edge *x = sorted(a, labels), *y = sorted(b, labels);
  bool same = true;
  for (uint64_t i = 0; i < a->count && same; i++)
    same = compare_edges(&x[i], &y[i]) == 0;
  free(x);
  free(y);
  return same;
}

void must(dzo_context *context, dzo_status status) {
  if (status != DZO_OK)
    fail_msg("%s: %s", dzo_status_name(status), dzo_context_message(context));
}

void must_fail(dzo_context *context, dzo_status status, dzo_status expected, const char *part) {
  assert_string_equal(dzo_status_name(status), dzo_status_name(expected));
  if (strstr(dzo_context_message(context), part) == NULL)
    fail_msg("'%s' does not contain '%s'", dzo_context_message(context), part);
}
