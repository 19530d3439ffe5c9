/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io_texts.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "graph/edge_list.h"
#include "io/reader.h"

enum { SHOWN = 8192 };

dzo_context *texts_context(int threads, uint64_t memory) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.threads = threads;
  options.memory = memory;
  dzo_context *context;
  assert_int_equal(dzo_context_create(&options, &context), DZO_OK);
  return context;
}

static unsigned char *copy_of(const void *text, size_t size) {
  unsigned char *copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  memcpy(copy, text, size);
  return copy;
}

dzo_status texts_read(dzo_context *context, const void *text, size_t size, dzo_format format,
                      dzo_edge_list **out) {
  unsigned char *copy = copy_of(text, size);
  dzo_input *input;
  *out = NULL;
  dzo_status status = dzo_input_open_memory(context, "in", copy, size, DZO_INPUT_WHOLE, &input);
  if (status == DZO_OK) {
    status = dzo_edge_list_read_input(context, input, format, out);
    dzo_input_close(input);
  }
  free(copy);
  return status;
}

static void *grow(void *array, uint64_t count, const void *more, uint64_t added, size_t size) {
  if (more == NULL)
    return array;
  void *moved = realloc(array, (size_t)(count + added + 1) * size);
  assert_non_null(moved);
  if (added > 0)
    memcpy((char *)moved + count * size, more, (size_t)added * size);
  return moved;
}

dzo_status texts_collect(dzo_context *context, dzo_edge_source *source, dzo_edge_list **out) {
  dzo_edges all = {0}, chunk = {0};
  uint32_t *u = NULL, *v = NULL;
  uint64_t *numbers = NULL;
  void *weights = NULL;
  dzo_status status;
  *out = NULL;
  while ((status = source->next(source->user, context, &chunk)) == DZO_OK && chunk.count > 0) {
    if (chunk.numbers == NULL)
      assert_int_equal(chunk.first_number, all.count);
    size_t bytes = chunk.weight_type == DZO_WEIGHT_NONE                                         ? 0
                   : chunk.weight_type == DZO_WEIGHT_U32 || chunk.weight_type == DZO_WEIGHT_F32 ? 4
                                                                                                : 8;
    assert_true(all.count == 0 || all.weight_type == chunk.weight_type);
    for (uint64_t i = 0; i < chunk.count; i++)
      assert_true(chunk.u[i] < chunk.vertices && chunk.v[i] < chunk.vertices);
    u = grow(u, all.count, chunk.u, chunk.count, sizeof *u);
    v = grow(v, all.count, chunk.v, chunk.count, sizeof *v);
    numbers = grow(numbers, all.count, chunk.numbers, chunk.count, sizeof *numbers);
    weights = grow(weights, all.count, chunk.weights, chunk.count, bytes);
    chunk.count += all.count;
    all = chunk;
  }
  if (status == DZO_OK) {
    chunk.count = all.count;
    chunk.u = u;
    chunk.v = v;
    chunk.weights = all.count > 0 ? weights : NULL;
    chunk.numbers = all.count > 0 ? numbers : NULL;
    chunk.first_number = 0;
    if (all.count == 0)
      chunk.weight_type = DZO_WEIGHT_NONE;
    status = dzo_edge_list_copy(context, &chunk, out);
  }
  source->close(source->user);
  free(u);
  free(v);
  free(numbers);
  free(weights);
  return status;
}

dzo_status texts_stream(dzo_context *context, const void *text, size_t size, dzo_format format,
                        dzo_edge_list **out) {
  unsigned char *copy = copy_of(text, size);
  dzo_input *input;
  dzo_edge_source source;
  *out = NULL;
  dzo_status status = dzo_input_open_memory(context, "in", copy, size, DZO_INPUT_STREAM, &input);
  if (status == DZO_OK) {
    status = dzo_edge_source_open_input(context, input, format, &source);
    if (status == DZO_OK)
      status = texts_collect(context, &source, out);
    else
      dzo_input_close(input);
  }
  free(copy);
  return status;
}

static uint64_t name_of(const dzo_edge_list *list, uint32_t v) {
  return list->labels != NULL ? list->labels[v] : v + list->first_label;
}

const char *texts_show(const dzo_edge_list *list) {
  static char text[SHOWN];
  size_t at = (size_t)snprintf(text, SHOWN, "%s %" PRIu64 " %s", dzo_format_name(list->format),
                               list->vertices, dzo_weight_type_name(list->weight_type));
  for (uint64_t i = 0; i < list->count && at < SHOWN - 128; i++) {
    at += (size_t)snprintf(text + at, SHOWN - at, " ");
    if (list->numbers != NULL && list->numbers[i] != i)
      at += (size_t)snprintf(text + at, SHOWN - at, "#%" PRIu64 " ", list->numbers[i]);
    at += (size_t)snprintf(text + at, SHOWN - at, "%" PRIu64 "-%" PRIu64, name_of(list, list->u[i]),
                           name_of(list, list->v[i]));
    if (list->weight_type == DZO_WEIGHT_I64)
      at += (size_t)snprintf(text + at, SHOWN - at, ":%" PRId64, ((int64_t *)list->weights)[i]);
    if (list->weight_type == DZO_WEIGHT_U64)
      at += (size_t)snprintf(text + at, SHOWN - at, ":%" PRIu64, ((uint64_t *)list->weights)[i]);
    if (list->weight_type == DZO_WEIGHT_F64)
      at += (size_t)snprintf(text + at, SHOWN - at, ":%.17g", ((double *)list->weights)[i]);
  }
  return text;
}

int texts_same(const dzo_edge_list *a, const dzo_edge_list *b) {
  if (a->vertices != b->vertices || a->count != b->count)
    return 0;
  if (a->count > 0 && a->weight_type != b->weight_type)
    return 0;
  for (uint64_t i = 0; i < a->count; i++) {
    if (name_of(a, a->u[i]) != name_of(b, b->u[i]) || name_of(a, a->v[i]) != name_of(b, b->v[i]))
      return 0;
    uint64_t x = a->numbers != NULL ? a->numbers[i] : i, y = b->numbers != NULL ? b->numbers[i] : i;
    if (x != y)
      return 0;
  }
  size_t bytes = a->weight_type == DZO_WEIGHT_NONE                                      ? 0
                 : a->weight_type == DZO_WEIGHT_U32 || a->weight_type == DZO_WEIGHT_F32 ? 4
                                                                                        : 8;
  return a->count == 0 || bytes == 0 || memcmp(a->weights, b->weights, a->count * bytes) == 0;
}

const char *texts_data(const char *name) {
  static char path[1024];
  const char *folder = getenv("DZO_TEST_DATA");
  if (folder == NULL || folder[0] == '\0')
    return NULL;
  (void)snprintf(path, sizeof path, "%s/mst/%s", folder, name);
  return path;
}
