/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Which formats there are, and which one an input has. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/reader.h"
#include "io/text.h"

/* Banners and magic numbers first, then binary headers whose sizes must fit, then text, the more
 * particular the earlier. */
const dzo_reader *const dzo_readers[] = {
    &dzo_reader_dzo,      &dzo_reader_mtx,    &dzo_reader_galois, &dzo_reader_gap,
    &dzo_reader_graphhpc, &dzo_reader_egr,    &dzo_reader_dimacs, &dzo_reader_csv,
    &dzo_reader_metis,    &dzo_reader_konect, &dzo_reader_snap,
};
const size_t dzo_reader_count = sizeof dzo_readers / sizeof *dzo_readers;

static const char *const NAMES[] = {
    [DZO_FORMAT_AUTO] = "auto",     [DZO_FORMAT_MTX] = "mtx",
    [DZO_FORMAT_DIMACS] = "dimacs", [DZO_FORMAT_SNAP] = "snap",
    [DZO_FORMAT_CSV] = "csv",       [DZO_FORMAT_KONECT] = "konect",
    [DZO_FORMAT_METIS] = "metis",   [DZO_FORMAT_GRAPHHPC] = "graphhpc",
    [DZO_FORMAT_EGR] = "egr",       [DZO_FORMAT_GAP] = "gap",
    [DZO_FORMAT_GALOIS] = "galois", [DZO_FORMAT_DZO] = "dzo",
};

const char *dzo_format_name(dzo_format format) {
  size_t index = (size_t)format;
  return index < sizeof NAMES / sizeof *NAMES ? NAMES[index] : "unknown";
}

dzo_status dzo_format_from_name(const char *name, dzo_format *out) {
  if (name == NULL || out == NULL)
    return DZO_E_ARGUMENT;
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    if (strcmp(name, NAMES[i]) == 0) {
      *out = (dzo_format)i;
      return DZO_OK;
    }
  return DZO_E_ARGUMENT;
}

const dzo_reader *dzo_reader_of(dzo_format format) {
  for (size_t i = 0; i < dzo_reader_count; i++)
    if (dzo_readers[i]->format == format)
      return dzo_readers[i];
  return NULL;
}

/* Text has no zero bytes; its beginning tells. */
static bool is_text(const dzo_sample *sample) {
  enum { LOOKED_AT = 4096 };
  size_t size = sample->head_size < LOOKED_AT ? sample->head_size : LOOKED_AT;
  return memchr(sample->head, '\0', size) == NULL;
}

static dzo_status refuse_unknown(dzo_context *context, const char *name, const dzo_sample *sample,
                                 bool text) {
  enum { SHOWN_BYTES = 12 };
  char shown[DZO_SHOWN_BYTES] = "";
  if (text) {
    const char *begin = (const char *)sample->head;
    const char *stop = memchr(begin, '\n', sample->head_size);
    dzo_word first = {begin, stop != NULL ? (size_t)(stop - begin) : sample->head_size};
    return dzo_fail(context, DZO_E_FORMAT, "%s:1: no graph format begins with '%s'", name,
                    dzo_word_show(first, shown));
  }
  for (size_t i = 0; i < SHOWN_BYTES && i < sample->head_size; i++)
    (void)snprintf(shown + 3 * i, sizeof shown - 3 * i, "%02x ", sample->head[i]);
  return dzo_fail(context, DZO_E_FORMAT,
                  "%s: byte 0: no graph format of this size begins with the bytes %s(is the file "
                  "complete?)",
                  name, shown);
}

dzo_status dzo_reader_detect(dzo_context *context, const dzo_input *input, const dzo_reader **out) {
  dzo_sample sample = {.size = dzo_input_size(input)};
  sample.head = dzo_input_head(input, &sample.head_size);
  *out = NULL;
  if (sample.head_size == 0)
    return dzo_fail(context, DZO_E_FORMAT, "%s:1: the file is empty", dzo_input_name(input));
  bool text = is_text(&sample);
  for (size_t i = 0; i < dzo_reader_count; i++)
    if ((text || !dzo_readers[i]->text) && dzo_readers[i]->detect(&sample)) {
      *out = dzo_readers[i];
      return DZO_OK;
    }
  return refuse_unknown(context, dzo_input_name(input), &sample, text);
}

uint64_t dzo_stream_chunk_edges(const dzo_context *context, size_t edge_bytes) {
  enum { LEAST = 1 << 16, MOST = 1 << 20 };
  uint64_t edges = context->memory / 16 / (edge_bytes > 0 ? edge_bytes : 1);
  return edges < LEAST ? LEAST : edges > MOST ? MOST : edges;
}
