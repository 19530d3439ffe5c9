/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The text format of the 9th DIMACS Implementation Challenge (shortest paths, 2006): 'c' comments,
 * one 'p sp vertices arcs', 'a from to weight' lines; each line is one edge. Its suffix .gr is also
 * that of Galois' binary format. */
#include "io/reader.h"
#include "io/text.h"

/* The first line that is neither empty nor a comment. */
static bool first_line(dzo_lines *lines, const char **p, const char **end, bool *comments) {
  *comments = false;
  while (dzo_lines_next(lines, p, end)) {
    const char *q = *p;
    dzo_word word = dzo_next_word(&q, *end);
    if (word.length > 0 && !dzo_word_is(word, "c"))
      return true;
    *comments = *comments || word.length > 0;
  }
  return false;
}

static bool detect_dimacs(const dzo_sample *sample) {
  dzo_lines lines = dzo_lines_of((const char *)sample->head, sample->head_size);
  const char *p, *end;
  bool comments;
  if (!first_line(&lines, &p, &end, &comments))
    return comments;
  dzo_word word = dzo_next_word(&p, end);
  return dzo_word_is(word, "p") || (dzo_word_is(word, "a") && dzo_next_word(&p, end).length > 0);
}

static dzo_status dimacs_prologue(dzo_context *context, const char *text, uint64_t size,
                                  bool complete, dzo_text_layout *layout) {
  dzo_lines lines = dzo_lines_of(text, size);
  const char *p, *end, *name = layout->name;
  char shown[DZO_SHOWN_BYTES];
  bool comments;
  if (!first_line(&lines, &p, &end, &comments))
    return dzo_text_refuse(context, name, lines.number > 0 ? lines.number : 1,
                           complete ? DZO_E_FORMAT : DZO_E_UNSUPPORTED,
                           complete ? "the file ends before 'p sp VERTICES ARCS'"
                                    : "too many comments to stream");
  dzo_word tag = dzo_next_word(&p, end), problem = dzo_next_word(&p, end);
  if (!dzo_word_is(tag, "p"))
    return dzo_text_refuse(context, name, lines.number, DZO_E_FORMAT,
                           "expected 'p sp VERTICES ARCS', found '%s'", dzo_word_show(tag, shown));
  if (!dzo_word_is(problem, "sp"))
    return dzo_text_refuse(context, name, lines.number, DZO_E_UNSUPPORTED,
                           "problem '%s' is not 'sp'", dzo_word_show(problem, shown));
  if (!dzo_word_u64(dzo_next_word(&p, end), &layout->vertices) ||
      !dzo_word_u64(dzo_next_word(&p, end), &layout->count) || dzo_next_word(&p, end).length > 0)
    return dzo_text_refuse(context, name, lines.number, DZO_E_FORMAT,
                           "expected 'p sp VERTICES ARCS'");
  if (layout->vertices > UINT32_MAX)
    return dzo_text_refuse(context, name, lines.number, DZO_E_UNSUPPORTED,
                           "%llu vertices, more than 2^32 - 1",
                           (unsigned long long)layout->vertices);
  layout->format = DZO_FORMAT_DIMACS;
  layout->offset = (uint64_t)(lines.next - text);
  layout->line = lines.number + 1;
  layout->comment = 'c';
  layout->comment_stands_alone = true;
  layout->tag = 'a';
  layout->column[1] = 1;
  layout->column[2] = 2;
  layout->weight = DZO_WEIGHT_I64;
  layout->integers_only = true;
  layout->declared = true;
  layout->counted = true;
  layout->first_label = 1;
  return DZO_OK;
}

static dzo_status read_dimacs(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  return dzo_text_read(context, input, dimacs_prologue, out);
}

static dzo_status stream_dimacs(dzo_context *context, dzo_input *input, dzo_edge_source *out) {
  return dzo_text_stream(context, input, dimacs_prologue, out);
}

const dzo_reader dzo_reader_dimacs = {DZO_FORMAT_DIMACS, detect_dimacs, read_dimacs, stream_dimacs,
                                      true};
