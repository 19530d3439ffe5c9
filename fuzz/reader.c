/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One fuzz target for each graph reader: DZO_FUZZ_FORMAT is its name ("auto": detection too). The
 * input is read whole and streamed; edges must lie within the graph, both ways must agree, and
 * nothing may leak. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/edge_list.h"
#include "io/native.h"
#include "io/reader.h"

#ifndef DZO_FUZZ_FORMAT
#define DZO_FUZZ_FORMAT "auto"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what) {
  if (holds)
    return;
  (void)fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

static void check_ends(const dzo_edges *edges) {
  check(edges->vertices <= UINT32_MAX, "too many vertices");
  for (uint64_t i = 0; i < edges->count; i++)
    check(edges->u[i] < edges->vertices && edges->v[i] < edges->vertices, "an end out of range");
  for (uint64_t i = 1; i < edges->count && edges->numbers != NULL; i++)
    check(edges->numbers[i - 1] < edges->numbers[i], "numbers do not ascend");
}

static void check_message(const dzo_context *context, dzo_status status) {
  const char *message = dzo_context_message(context);
  check(status == DZO_E_FORMAT || status == DZO_E_UNSUPPORTED || status == DZO_E_MEMORY,
        "another status");
  check(message[0] != '\0', "no message");
  for (; *message != '\0'; message++)
    check(*message >= ' ' && *message <= '~', "an unprintable message");
}

/* Edges of a stream, or UINT64_MAX if it failed. */
static uint64_t count_stream(dzo_context *context, const uint8_t *data, size_t size,
                             dzo_format format) {
  dzo_input *input;
  dzo_edge_source source;
  dzo_edges chunk;
  dzo_status status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_STREAM, &input);
  if (status == DZO_OK) {
    status = dzo_edge_source_open_input(context, input, format, &source);
    if (status != DZO_OK)
      dzo_input_close(input);
  }
  if (status != DZO_OK) {
    check_message(context, status);
    return UINT64_MAX;
  }
  uint64_t count = 0;
  while ((status = source.next(source.user, context, &chunk)) == DZO_OK && chunk.count > 0) {
    check_ends(&chunk);
    count += chunk.count;
  }
  source.close(source.user);
  if (status != DZO_OK)
    check_message(context, status);
  return status == DZO_OK ? count : UINT64_MAX;
}

static uint64_t count_whole(dzo_context *context, const uint8_t *data, size_t size,
                            dzo_format format) {
  dzo_input *input;
  dzo_edge_list *list = NULL;
  dzo_status status = dzo_input_open_memory(context, "input", data, size, DZO_INPUT_WHOLE, &input);
  if (status == DZO_OK) {
    status = dzo_edge_list_read_input(context, input, format, &list);
    dzo_input_close(input);
  }
  if (status != DZO_OK) {
    check(list == NULL, "a list in spite of failure");
    check_message(context, status);
    return UINT64_MAX;
  }
  dzo_edges edges;
  dzo_edge_list_view(list, &edges);
  check_ends(&edges);
  uint64_t count = edges.count;
  dzo_edge_list_destroy(list);
  return count;
}

/* Our own format once more without its checksums, which random damage does not get past. */
static void load_unsummed(dzo_context *context, const uint8_t *data, size_t size) {
  dzo_input *input;
  dzo_graph *graph;
  dzo_edge_list *list;
  if (dzo_input_open_memory(context, "input", data, size, DZO_INPUT_WHOLE, &input) != DZO_OK)
    return;
  dzo_status status = dzo_graph_load_unsummed(context, input, &graph);
  dzo_input_close(input);
  if (status != DZO_OK) {
    check_message(context, status);
    return;
  }
  if (dzo_graph_to_edge_list(context, graph, &list) == DZO_OK) {
    dzo_edges edges;
    dzo_edge_list_view(list, &edges);
    check_ends(&edges);
    dzo_edge_list_destroy(list);
  }
  dzo_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dzo_context_options options;
  dzo_context *context;
  dzo_format format;
  dzo_context_options_init(&options);
  options.threads = 1;
  options.memory = 1 << 24;
  check(dzo_format_from_name(DZO_FUZZ_FORMAT, &format) == DZO_OK, "no such format");
  if (dzo_context_create(&options, &context) != DZO_OK)
    return 0;
  uint64_t whole = count_whole(context, data, size, format);
  uint64_t streamed = count_stream(context, data, size, format);
  check(whole == streamed, "the stream has other edges than the list");
  if (format == DZO_FORMAT_DZO)
    load_unsummed(context, data, size);
  check(dzo_context_memory_used(context) == 0, "a leak");
  dzo_context_destroy(context);
  return 0;
}
