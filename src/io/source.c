/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/memory.h"
#include "io/reader.h"

/* A format without a stream of its own: read whole, handed out as one chunk. */
typedef struct list_source {
  dzo_edge_list *list;
  bool given;
} list_source;

static dzo_status next_of_list(void *user, dzo_context *context, dzo_edges *chunk) {
  list_source *s = user;
  (void)context;
  dzo_edge_list_view(s->list, chunk);
  if (s->given)
    chunk->count = 0;
  s->given = true;
  return DZO_OK;
}

static void close_list(void *user) {
  list_source *s = user;
  dzo_edge_list_destroy(s->list);
  dzo_free(s);
}

static dzo_status open_list(dzo_context *context, dzo_input *input, const dzo_reader *reader,
                            dzo_edge_source *out) {
  list_source *s = dzo_calloc(context, 1, sizeof *s);
  if (s == NULL)
    return DZO_E_MEMORY;
  dzo_status status = reader->read(context, input, &s->list);
  if (status != DZO_OK) {
    dzo_free(s);
    return status;
  }
  dzo_input_close(input);
  *out = (dzo_edge_source){s, next_of_list, close_list};
  return DZO_OK;
}

dzo_status dzo_edge_source_open_input(dzo_context *context, dzo_input *input, dzo_format format,
                                      dzo_edge_source *out) {
  const dzo_reader *reader;
  DZO_TRY(dzo_reader_choose(context, input, format, &reader));
  bool whole = reader->stream == NULL || (!reader->text && !dzo_input_is_random(input));
  if (whole)
    DZO_TRY(dzo_input_load(context, input));
  return reader->stream != NULL ? reader->stream(context, input, out)
                                : open_list(context, input, reader, out);
}

dzo_status dzo_edge_source_open(dzo_context *context, const char *path,
                                const dzo_read_options *options, dzo_edge_source *out) {
  dzo_format format;
  dzo_input *input;
  if (out != NULL)
    *out = (dzo_edge_source){NULL, NULL, NULL};
  DZO_TRY(dzo_read_open(context, path, options, out, DZO_INPUT_STREAM, &format, &input));
  dzo_status status = dzo_edge_source_open_input(context, input, format, out);
  if (status != DZO_OK)
    dzo_input_close(input);
  return status;
}
