/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edge lists of the Koblenz Network Collection (J. Kunegis, WWW 2013 companion): '%' comments, of
 * which the first names the kind of network, then "u v [weight [time]]". */
#include "io/reader.h"
#include "io/text.h"

/* The kind in the first line, "% sym|asym|bip ...", or an empty word. */
static dzo_word network_kind(dzo_lines lines) {
  const char *p, *end;
  if (!dzo_lines_next(&lines, &p, &end) || p == end || *p != '%')
    return (dzo_word){NULL, 0};
  p++;
  dzo_word kind = dzo_next_word(&p, end);
  if (dzo_word_is(kind, "sym") || dzo_word_is(kind, "asym") || dzo_word_is(kind, "bip"))
    return kind;
  return (dzo_word){NULL, 0};
}

/* METIS, which has '%' comments too, is asked before. */
static bool detect_konect(const dzo_sample *sample) {
  dzo_lines lines = dzo_lines_of((const char *)sample->head, sample->head_size);
  const char *p, *end;
  uint64_t value;
  if (network_kind(lines).length > 0)
    return true;
  return lines.next < lines.end && *lines.next == '%' &&
         dzo_lines_next_data(&lines, '%', &p, &end) &&
         dzo_word_u64(dzo_next_word(&p, end), &value) &&
         dzo_word_u64(dzo_next_word(&p, end), &value);
}

static dzo_status konect_prologue(dzo_context *context, const char *text, uint64_t size,
                                  bool complete, dzo_text_layout *layout) {
  dzo_lines lines = dzo_lines_of(text, size);
  const char *p, *end;
  (void)complete;
  if (dzo_word_is(network_kind(lines), "bip"))
    return dzo_text_refuse(context, layout->name, 1, DZO_E_UNSUPPORTED,
                           "the two sides of a bipartite network are numbered apart");
  layout->format = DZO_FORMAT_KONECT;
  layout->offset = (uint64_t)(lines.next - text);
  layout->line = 1;
  layout->comment = '%';
  layout->column[1] = 1;
  layout->column[2] = 2;
  layout->extra_columns = true;
  if (dzo_lines_next_data(&lines, '%', &p, &end) && dzo_count_words(p, end, 3) == 3)
    layout->weight = DZO_WEIGHT_I64;
  return DZO_OK;
}

static dzo_status read_konect(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_text_read(context, input, konect_prologue, out);
}

static dzo_status stream_konect(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_text_stream(context, input, konect_prologue, out);
}

const dzo_reader dzo_reader_konect = {DZO_FORMAT_KONECT, detect_konect, read_konect, stream_konect,
                                      true};
