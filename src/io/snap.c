/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Edge lists "u v [weight]", one a line, '#' comments: SNAP's, and GAP's .el and .wel. Also those
 * that begin with the numbers of vertices and edges, on two lines (Sedgewick and Wayne) or on one,
 * which is told by its having two columns before lines of three; vertices are then 0 .. n - 1. */
#include "io/reader.h"
#include "io/text.h"

static bool all_numbers(const char *p, const char *end) {
  uint64_t value;
  dzo_word word;
  for (unsigned i = 0; i < 2 && (word = dzo_next_word(&p, end)).length > 0; i++) {
    if (word.length > 1 && word.at[0] == '-')
      word = (dzo_word){word.at + 1, word.length - 1};
    if (!dzo_word_u64(word, &value))
      return false;
  }
  return true;
}

static bool detect_snap(const dzo_sample *sample) {
  dzo_lines lines = dzo_lines_of((const char *)sample->head, sample->head_size);
  const char *p, *end;
  if (!dzo_lines_next_data(&lines, '#', &p, &end))
    return sample->head_size > 0 && lines.number > 0;
  return all_numbers(p, end) && dzo_count_words(p, end, 5) <= 4;
}

/* Take the numbers of vertices and edges if the edges' lines begin with them. */
static dzo_status take_header(dzo_context *context, dzo_lines *lines, dzo_text_layout *layout) {
  dzo_lines after = *lines;
  const char *p, *end, *q, *q_end;
  if (!dzo_lines_next_data(&after, '#', &p, &end))
    return DZO_OK;
  uint64_t line = after.number, n, m;
  dzo_lines after_two = after;
  unsigned words = dzo_count_words(p, end, 3);
  unsigned next =
      dzo_lines_next_data(&after_two, '#', &q, &q_end) ? dzo_count_words(q, q_end, 4) : 0;
  bool apart = words == 1 && next == 1, together = words == 2 && next == 3;
  if (!apart && !together)
    return DZO_OK;
  dzo_word first = dzo_next_word(&p, end);
  dzo_word second = apart ? dzo_next_word(&q, q_end) : dzo_next_word(&p, end);
  if (!dzo_word_u64(first, &n) || !dzo_word_u64(second, &m))
    return dzo_text_refuse(context, layout->name, line, DZO_E_FORMAT,
                           "expected the numbers of vertices and edges");
  if (n > UINT32_MAX)
    return dzo_text_refuse(context, layout->name, line, DZO_E_UNSUPPORTED,
                           "%llu vertices, more than 2^32 - 1", (unsigned long long)n);
  layout->declared = layout->counted = true;
  layout->vertices = n;
  layout->count = m;
  *lines = apart ? after_two : after;
  return DZO_OK;
}

static dzo_status snap_prologue(dzo_context *context, const char *text, uint64_t size,
                                bool complete, dzo_text_layout *layout) {
  dzo_lines lines = dzo_lines_of(text, size);
  const char *p, *end;
  (void)complete;
  layout->format = DZO_FORMAT_SNAP;
  layout->comment = '#';
  layout->column[1] = 1;
  layout->column[2] = 2;
  DZO_TRY(take_header(context, &lines, layout));
  layout->offset = (uint64_t)(lines.next - text);
  layout->line = lines.number + 1;
  if (dzo_lines_next_data(&lines, '#', &p, &end) && dzo_count_words(p, end, 3) == 3)
    layout->weight = DZO_WEIGHT_I64;
  return DZO_OK;
}

static dzo_status read_snap(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_text_read(context, input, snap_prologue, out);
}

static dzo_status stream_snap(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_text_stream(context, input, snap_prologue, out);
}

const dzo_reader dzo_reader_snap = {DZO_FORMAT_SNAP, detect_snap, read_snap, stream_snap, true};
