/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <string.h>

#include "base/options.h"
#include "graph/csr.h"
#include "io/native.h"
#include "io/reader.h"

void dzo_read_options_init(dzo_read_options *options) {
  *options = (dzo_read_options){.size = sizeof *options, .format = DZO_FORMAT_AUTO};
}

static dzo_status check(dzo_context *context, const char *path, const dzo_read_options *options,
                        const void *out, dzo_format *format) {
  dzo_read_options o;
  dzo_read_options_init(&o);
  *format = o.format;
  if (path == NULL || out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "a path and a place for the result are needed");
  if (!dzo_options_read(&o, sizeof o, options))
    return dzo_fail(context, DZO_E_ARGUMENT, "read options of another size; use _init");
  *format = o.format;
  if (*format != DZO_FORMAT_AUTO && dzo_reader_of(*format) == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "unknown format %d", (int)*format);
  return DZO_OK;
}

dzo_status dzo_read_open(dzo_context *context, const char *path, const dzo_read_options *options,
                         const void *out, dzo_input_mode mode, dzo_format *format,
                         dzo_input **input) {
  if (context == NULL)
    return DZO_E_ARGUMENT;
  dzo_begin(context);
  DZO_TRY(check(context, path, options, out, format));
  return dzo_input_open(context, path, mode, input);
}

dzo_status dzo_reader_choose(dzo_context *context, const dzo_input *input, dzo_format format,
                             const dzo_reader **out) {
  *out = dzo_reader_of(format);
  return *out != NULL ? DZO_OK : dzo_reader_detect(context, input, out);
}

dzo_status dzo_edge_list_read_input(dzo_context *context, dzo_input *input, dzo_format format,
                                    dzo_edge_list **out) {
  const dzo_reader *reader;
  *out = NULL;
  DZO_TRY(dzo_reader_choose(context, input, format, &reader));
  return reader->read(context, input, out);
}

dzo_status dzo_edge_list_read(dzo_context *context, const char *path,
                              const dzo_read_options *options, dzo_edge_list **out) {
  dzo_format format;
  dzo_input *input;
  if (out != NULL)
    *out = NULL;
  DZO_TRY(dzo_read_open(context, path, options, out, DZO_INPUT_WHOLE, &format, &input));
  dzo_status status = dzo_edge_list_read_input(context, input, format, out);
  dzo_input_close(input);
  return status;
}

/* The graph of a whole input. */
static dzo_status build(dzo_context *context, dzo_input *input, dzo_format format,
                        dzo_graph **out) {
  const dzo_reader *reader;
  dzo_edge_list *list;
  dzo_edges edges;
  DZO_TRY(dzo_reader_choose(context, input, format, &reader));
  if (reader->format == DZO_FORMAT_DZO)
    return dzo_graph_load(context, input, out);
  DZO_TRY(reader->read(context, input, &list));
  dzo_edge_list_view(list, &edges);
  dzo_status status = dzo_graph_from_edges(context, &edges, out);
  if (status == DZO_OK)
    (*out)->format = reader->format;
  dzo_edge_list_destroy(list);
  return status;
}

dzo_status dzo_graph_read(dzo_context *context, const char *path, const dzo_read_options *options,
                          dzo_graph **out) {
  dzo_format format;
  dzo_input *input;
  if (out != NULL)
    *out = NULL;
  DZO_TRY(dzo_read_open(context, path, options, out, DZO_INPUT_WHOLE, &format, &input));
  dzo_status status = build(context, input, format, out);
  dzo_input_close(input);
  return status;
}
