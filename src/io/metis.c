/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* METIS graph files (G. Karypis, METIS manual 5.1, section 4.1.1; also those of the 10th DIMACS
 * Challenge): "vertices edges [fmt [ncon]]", then the neighbours of each vertex on a line of its
 * own, empty for an isolated vertex; '%' comments. */
#include <string.h>

#include "base/memory.h"
#include "io/metis_rows.h"
#include "io/reader.h"

enum { BLOCK_BYTES = 1 << 26 };

/* fmt: up to three digits 0 or 1, for vertex sizes, vertex weights, edge weights. */
static bool take_fmt(dzo_word fmt, dzo_word ncon, dzo_metis_header *out) {
  uint64_t weights_each = 1;
  if (fmt.length > 3 || (ncon.length > 0 && !dzo_word_u64(ncon, &weights_each)) ||
      weights_each > 1 << 20)
    return false;
  bool digit[3] = {false, false, false};
  for (size_t i = 0; i < fmt.length; i++) {
    if (fmt.at[i] != '0' && fmt.at[i] != '1')
      return false;
    digit[3 - fmt.length + i] = fmt.at[i] == '1';
  }
  out->skipped = (digit[0] ? 1 : 0) + (digit[1] ? weights_each : 0);
  out->weights = digit[2];
  return true;
}

dzo_status dzo_metis_take_header(dzo_context *context, const char *name, const char *text,
                                 uint64_t size, bool complete, dzo_metis_header *out) {
  dzo_lines lines = dzo_lines_of(text, size);
  const char *p, *end;
  *out = (dzo_metis_header){.name = name};
  if (!dzo_lines_next_data(&lines, '%', &p, &end))
    return dzo_text_refuse(context, name, lines.number > 0 ? lines.number : 1,
                           complete ? DZO_E_FORMAT : DZO_E_UNSUPPORTED,
                           complete ? "the file ends before 'VERTICES EDGES [FMT [NCON]]'"
                                    : "too many comments to stream");
  dzo_word n = dzo_next_word(&p, end), m = dzo_next_word(&p, end);
  dzo_word fmt = dzo_next_word(&p, end), ncon = dzo_next_word(&p, end);
  if (!dzo_word_u64(n, &out->vertices) || !dzo_word_u64(m, &out->edges) ||
      !take_fmt(fmt, ncon, out) || dzo_next_word(&p, end).length > 0)
    return dzo_text_refuse(context, name, lines.number, DZO_E_FORMAT,
                           "expected 'VERTICES EDGES [FMT [NCON]]'");
  if (out->vertices > UINT32_MAX)
    return dzo_text_refuse(context, name, lines.number, DZO_E_UNSUPPORTED,
                           "%llu vertices, more than 2^32 - 1", (unsigned long long)out->vertices);
  out->offset = (uint64_t)(lines.next - text);
  out->line = lines.number + 1;
  return DZO_OK;
}

dzo_status dzo_metis_finish(const dzo_metis_rows *rows, const char *text, uint64_t size) {
  const dzo_metis_header *h = &rows->header;
  uint64_t last = rows->line - 1;
  if (rows->row < h->vertices)
    return dzo_text_refuse(rows->context, h->name, last, DZO_E_FORMAT,
                           "the file ends after %llu of %llu rows", (unsigned long long)rows->row,
                           (unsigned long long)h->vertices);
  if (rows->sums[0] != 0 || rows->sums[1] != 0)
    return dzo_metis_refuse_unpaired(rows, text, size);
  uint64_t edges = (rows->entry - rows->loops) / 2 + rows->loops;
  if (edges != h->edges && (rows->entry % 2 != 0 || rows->entry / 2 != h->edges))
    return dzo_text_refuse(rows->context, h->name, h->line - 1, DZO_E_FORMAT,
                           "%llu edges are promised, the rows hold %llu",
                           (unsigned long long)h->edges, (unsigned long long)edges);
  return DZO_OK;
}

/* ---- Detection ------------------------------------------------------------------------------- */

/* What the rows in a sample look like. */
typedef struct look {
  uint64_t rows, entries;
  unsigned least, most; /* words of a row, empty ones and the header left out */
  bool empty;           /* an empty row before others */
  bool fits;            /* all is as it must be */
} look;

static look look_at_rows(const dzo_metis_header *h, dzo_lines lines) {
  enum { MOST_WORDS = 1 << 20 };
  look l = {.least = MOST_WORDS, .fits = true};
  const char *p, *end;
  uint64_t blanks = 0;
  while (l.fits && dzo_lines_next(&lines, &p, &end)) {
    if (p < end && *p == '%')
      continue;
    if (p == end) {
      blanks++;
      continue;
    }
    l.empty = l.empty || blanks > 0;
    l.rows += blanks + 1;
    blanks = 0;
    unsigned words = 0;
    for (dzo_word word; l.fits && (word = dzo_next_word(&p, end)).length > 0; words++) {
      uint64_t value;
      bool neighbour = words >= h->skipped && (!h->weights || (words - h->skipped) % 2 == 0);
      l.fits = neighbour ? dzo_word_u64(word, &value) && value - 1 < h->vertices
                         : word.at[0] != '.' && memchr(word.at, '.', word.length) == NULL;
      l.entries += neighbour;
    }
    l.least = words < l.least ? words : l.least;
    l.most = words > l.most ? words : l.most;
  }
  l.fits = l.fits && l.rows <= h->vertices;
  l.rows = l.rows + blanks < h->vertices ? l.rows + blanks : h->vertices;
  return l;
}

/* Rows that could as well be edges, two or three words each: do the first ones, as neighbours of
 * vertices, agree with one another, some of them at least? */
static bool rows_agree(const dzo_metis_header *h, dzo_lines lines) {
  enum { MOST_ROWS = 4096 };
  uint32_t neighbours[MOST_ROWS][3];
  uint32_t count[MOST_ROWS];
  uint32_t rows = 0;
  const char *p, *end;
  while (rows < MOST_ROWS && dzo_lines_next(&lines, &p, &end)) {
    if (p < end && *p == '%')
      continue;
    uint64_t value, words = 0;
    count[rows] = 0;
    for (dzo_word word; (word = dzo_next_word(&p, end)).length > 0; words++)
      if (words >= h->skipped && (!h->weights || (words - h->skipped) % 2 == 0) &&
          count[rows] < 3 && dzo_word_u64(word, &value))
        neighbours[rows][count[rows]++] = (uint32_t)(value - 1);
    rows++;
  }
  bool any = false;
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t i = 0; i < count[row]; i++) {
      uint32_t other = neighbours[row][i];
      bool found = other >= rows;
      any = any || !found;
      for (uint32_t k = 0; !found && k < count[other]; k++)
        found = neighbours[other][k] == row;
      if (!found)
        return false;
    }
  return any;
}

static bool detect_metis(const dzo_sample *sample) {
  const char *text = (const char *)sample->head, *p, *end;
  uint64_t size = sample->head_size;
  bool complete = sample->size == size;
  while (!complete && size > 0 && text[size - 1] != '\n')
    size--;
  dzo_lines lines = dzo_lines_of(text, size);
  dzo_metis_header h = {.name = ""};
  if (!dzo_lines_next_data(&lines, '%', &p, &end))
    return false;
  dzo_word n = dzo_next_word(&p, end), m = dzo_next_word(&p, end);
  dzo_word fmt = dzo_next_word(&p, end), ncon = dzo_next_word(&p, end);
  if (!dzo_word_u64(n, &h.vertices) || !dzo_word_u64(m, &h.edges) || h.vertices > UINT32_MAX ||
      !take_fmt(fmt, ncon, &h) || dzo_next_word(&p, end).length > 0)
    return false;
  look l = look_at_rows(&h, lines);
  bool all_rows = !complete || l.rows == h.vertices;
  bool all_edges = !complete || (l.entries % 2 == 0 && l.entries / 2 == h.edges);
  bool like_edges = l.least == l.most && (l.most == 2 || l.most == 3);
  if (like_edges)
    return l.fits && all_rows && all_edges && rows_agree(&h, lines);
  if (complete && l.most == 0) /* no edges: "n 0" and empty lines, or a single edge "u v" */
    return h.edges == 0 && all_rows;
  if (!complete)
    return l.fits;
  return (all_rows || all_edges) && (l.fits || l.most > 4 || l.empty);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void append(void *to, uint64_t at, const void *from, uint64_t count, size_t size) {
  if (count > 0 && from != NULL)
    memcpy((char *)to + at * size, from, (size_t)count * size);
}

static dzo_status resize(dzo_context *context, void **array, uint64_t count, size_t size) {
  void *moved = dzo_realloc(context, *array, count, size);
  if (moved == NULL)
    return DZO_E_MEMORY;
  *array = moved;
  return DZO_OK;
}

/* All edges so far. */
static dzo_status collect(dzo_context *context, const dzo_metis_edges *part, dzo_metis_edges *all,
                          uint64_t expected) {
  uint64_t needed = all->count + part->count;
  if (needed > all->capacity) {
    uint64_t room = needed > expected ? needed + needed / 2 : expected;
    void *arrays[4] = {all->u, all->v, all->numbers, all->weights};
    static const size_t SIZES[4] = {4, 4, 8, 8};
    dzo_status status = DZO_OK;
    for (int i = 0; i < 4 && status == DZO_OK; i++)
      if (i < 3 || part->weights != NULL)
        status = resize(context, &arrays[i], room, SIZES[i]);
    all->u = arrays[0];
    all->v = arrays[1];
    all->numbers = arrays[2];
    all->weights = arrays[3];
    DZO_TRY(status);
    all->capacity = room;
  }
  append(all->u, all->count, part->u, part->count, sizeof *all->u);
  append(all->v, all->count, part->v, part->count, sizeof *all->v);
  append(all->numbers, all->count, part->numbers, part->count, sizeof *all->numbers);
  append(all->weights, all->count, part->weights, part->count, sizeof *all->weights);
  all->count = needed;
  return DZO_OK;
}

static dzo_status read_rows(dzo_metis_rows *rows, const char *text, uint64_t size,
                            dzo_metis_edges *part, dzo_metis_edges *all) {
  const char *begin = text + rows->header.offset, *end = text + size;
  for (const char *p = begin, *next; p < end; p = next) {
    next = dzo_text_line_begin(begin, end, end - p > BLOCK_BYTES ? p + BLOCK_BYTES : end);
    DZO_TRY(dzo_metis_parse(rows, p, next, part));
    /* By the share of the text that is done, what all of it will hold; a little more. */
    double scale = (double)(end - begin) / (double)(next - begin) * 1.05;
    uint64_t expected = (uint64_t)((double)(all->count + part->count) * scale) + 16;
    DZO_TRY(collect(rows->context, part, all, next == end ? all->count + part->count : expected));
    DZO_TRY(dzo_progress(rows->context, "read", (uint64_t)(next - text), size));
  }
  return dzo_metis_finish(rows, text, size);
}

/* Move the edges into a new list. */
static dzo_status make_list(dzo_metis_rows *rows, dzo_metis_edges *all, dzo_edge_list **out) {
  const dzo_metis_header *h = &rows->header;
  dzo_edge_list *list = dzo_calloc(rows->context, 1, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  list->context = rows->context;
  list->format = DZO_FORMAT_METIS;
  list->vertices = h->vertices;
  list->count = all->count;
  list->u = all->u;
  list->v = all->v;
  list->weight_type = h->weights ? DZO_WEIGHT_I64 : DZO_WEIGHT_NONE;
  list->weights = all->weights;
  list->numbers = all->numbers;
  list->first_label = 1;
  *all = (dzo_metis_edges){.capacity = 0};
  *out = list;
  return DZO_OK;
}

static dzo_status read_metis(dzo_context *context, dzo_input *input, dzo_edge_list **out) {
  const char *text = (const char *)dzo_input_data(input);
  uint64_t size = dzo_input_size(input);
  dzo_metis_rows rows = {.context = context};
  dzo_metis_edges part = {.capacity = 0}, all = {.capacity = 0};
  *out = NULL;
  DZO_TRY(dzo_metis_take_header(context, dzo_input_name(input), text, size, true, &rows.header));
  rows.line = rows.header.line;
  dzo_status status = read_rows(&rows, text, size, &part, &all);
  if (status == DZO_OK && all.u == NULL) /* no rows at all: empty arrays */
    status = collect(context, &part, &all, 1);
  if (status == DZO_OK)
    status = make_list(&rows, &all, out);
  dzo_metis_edges_release(&part);
  dzo_metis_edges_release(&all);
  return status;
}

const dzo_reader dzo_reader_metis = {DZO_FORMAT_METIS, detect_metis, read_metis, dzo_metis_stream,
                                     true};
