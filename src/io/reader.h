/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a graph format must offer. One file a format; readers.c lists them. */
#ifndef DZO_IO_READER_H
#define DZO_IO_READER_H

#include "graph/edge_list.h"
#include "io/input.h"

/* What detection sees of an input. */
typedef struct dzo_sample {
  const unsigned char *head;
  size_t head_size; /* all of a small input, else 256 KiB */
  uint64_t size;    /* of the whole content; UINT64_MAX: unknown (standard input, packed) */
} dzo_sample;

typedef struct dzo_reader {
  dzo_format format;
  /* Is this content of this format? Binary formats check magic numbers, or that the sizes in the
   * header give exactly sample->size (or are plausible where that is unknown). Formats are asked
   * in the order of readers.c and the first yes wins. */
  bool (*detect)(const dzo_sample *sample);
  /* Read a whole input (dzo_input_data() is there). Sets the list's `format`. On failure *out is
   * NULL. */
  dzo_status (*read)(dzo_context *context, dzo_input *input, dzo_edge_list **out);
  /* Make a source of edges in bounded chunks from a stream; on success the source owns the input
   * and its close() closes it. Binary formats use dzo_input_read_at(), which always works here: an
   * input that cannot be read at random was loaded whole before. NULL: the format is read whole and
   * handed out in one chunk. */
  dzo_status (*stream)(dzo_context *context, dzo_input *input, dzo_edge_source *out);
  bool text; /* streamed with dzo_input_read(), from any input */
} dzo_reader;

extern const dzo_reader dzo_reader_mtx;
extern const dzo_reader dzo_reader_dimacs;
extern const dzo_reader dzo_reader_snap;
extern const dzo_reader dzo_reader_csv;
extern const dzo_reader dzo_reader_konect;
extern const dzo_reader dzo_reader_metis;
extern const dzo_reader dzo_reader_graphhpc;
extern const dzo_reader dzo_reader_egr;
extern const dzo_reader dzo_reader_gap;
extern const dzo_reader dzo_reader_galois;
extern const dzo_reader dzo_reader_dzo;

/* All readers, in the order in which detection asks them. */
extern const dzo_reader *const dzo_readers[];
extern const size_t dzo_reader_count;

/* The reader of `format`, NULL for AUTO and formats that cannot be read. */
const dzo_reader *dzo_reader_of(dzo_format format);
/* Find the format by content. DZO_E_FORMAT says that no format fits and shows the first bytes. */
dzo_status dzo_reader_detect(dzo_context *context, const dzo_input *input, const dzo_reader **out);
/* The reader of `format`, or for AUTO the one that fits. */
dzo_status dzo_reader_choose(dzo_context *context, const dzo_input *input, dzo_format format,
                             const dzo_reader **out);
/* How each public function that reads begins: check the arguments, which `out` is one of, and open.
 */
dzo_status dzo_read_open(dzo_context *context, const char *path, const dzo_read_options *options,
                         const void *out, dzo_input_mode mode, dzo_format *format,
                         dzo_input **input);
/* dzo_edge_list_read of an open whole input; format AUTO: found by content. */
dzo_status dzo_edge_list_read_input(dzo_context *context, dzo_input *input, dzo_format format,
                                    dzo_edge_list **out);

/* dzo_edge_source_open of an open stream, which the source owns on success. */
dzo_status dzo_edge_source_open_input(dzo_context *context, dzo_input *input, dzo_format format,
                                      dzo_edge_source *out);

/* Edge chunk sizes for streams: edges that fit into a sixteenth of the memory planned for, between
 * 2^16 and 2^20. `edge_bytes` is what one edge takes in the reader's buffers. */
uint64_t dzo_stream_chunk_edges(const dzo_context *context, size_t edge_bytes);

#endif
