/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Forests as text: the number of columns of the first line says what all lines are. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "io/forest_file.h"
#include "io/number.h"
#include "io/write.h"

enum { MOST_COLUMNS = 4, FIRST_CAPACITY = 1024 };

typedef struct token {
  const char *text;
  size_t length;
} token;

typedef struct text_reading {
  dzo_forest_reading *r;
  uint64_t line;
  int columns; /* of every line; 0: not known yet */
  bool matrix; /* Matrix Market: vertices count from 1, and a line of sizes comes first */
  bool sizes_seen;
  uint32_t *by_name; /* [vertices] vertices in ascending order of names; NULL: they are */
} text_reading;

static dzo_status fail(const text_reading *t, const char *what, token tok) {
  int shown = tok.length < 40 ? (int)tok.length : 40;
  return dzo_fail(t->r->context, DZO_E_FORMAT, "%s:%llu: %s%s%.*s%s", t->r->name,
                  (unsigned long long)t->line, what, shown > 0 ? " '" : "", shown, tok.text,
                  shown > 0 ? "'" : "");
}

static int split(const char *p, const char *end, token tokens[MOST_COLUMNS + 1]) {
  int count = 0;
  while (count <= MOST_COLUMNS) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == ','))
      p++;
    if (p == end)
      break;
    const char *start = p;
    while (p < end && *p != ' ' && *p != '\t' && *p != '\r' && *p != ',')
      p++;
    tokens[count++] = (token){start, (size_t)(p - start)};
  }
  return count;
}

static bool parse_u64(token tok, uint64_t *value) {
  dzo_number n = dzo_parse_number(tok.text, tok.length);
  *value = n.u64;
  if (n.kind == DZO_NUMBER_INTEGER)
    *value = (uint64_t)n.i64;
  return (n.kind == DZO_NUMBER_INTEGER && n.i64 >= 0) || n.kind == DZO_NUMBER_UNSIGNED;
}

/* ---- Names of vertices ----------------------------------------------------------------------- */

static uint64_t name_at(const text_reading *t, uint64_t rank) {
  return t->r->edges->labels[t->by_name != NULL ? t->by_name[rank] : rank];
}

static void sift_down(const uint64_t *labels, uint32_t *heap, uint64_t count, uint64_t i) {
  uint32_t moved = heap[i];
  for (uint64_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && labels[heap[child]] < labels[heap[child + 1]])
      child++;
    if (labels[moved] >= labels[heap[child]])
      break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
}

/* Readers number vertices in the order of their names; only renumbered graphs need this. */
static dzo_status sort_names(text_reading *t) {
  const dzo_edges *e = t->r->edges;
  uint64_t v = 1;
  while (v < e->vertices && e->labels != NULL && e->labels[v - 1] < e->labels[v])
    v++;
  if (e->labels == NULL || v >= e->vertices)
    return DZO_OK;
  t->by_name = dzo_alloc(t->r->context, e->vertices, sizeof *t->by_name);
  if (t->by_name == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < e->vertices; i++)
    t->by_name[i] = (uint32_t)i;
  for (uint64_t i = e->vertices / 2; i-- > 0;)
    sift_down(e->labels, t->by_name, e->vertices, i);
  for (uint64_t end = e->vertices; end-- > 1;) {
    uint32_t last = t->by_name[end];
    t->by_name[end] = t->by_name[0];
    t->by_name[0] = last;
    sift_down(e->labels, t->by_name, end, 0);
  }
  return DZO_OK;
}

static bool find_vertex(const text_reading *t, uint64_t name, uint32_t *vertex) {
  const dzo_edges *e = t->r->edges;
  if (e->labels == NULL || t->matrix) {
    uint64_t first = t->matrix ? 1 : e->first_label;
    *vertex = (uint32_t)(name - first);
    return name >= first && name - first < e->vertices;
  }
  uint64_t low = 0, high = e->vertices;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (name_at(t, middle) < name)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == e->vertices || name_at(t, low) != name)
    return false;
  *vertex = t->by_name != NULL ? t->by_name[low] : (uint32_t)low;
  return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static dzo_status make_room(text_reading *t) {
  dzo_forest_reading *r = t->r;
  if (r->file->count < r->capacity)
    return DZO_OK;
  uint64_t capacity = r->capacity == 0 ? FIRST_CAPACITY : 2 * r->capacity;
  bool named = t->columns == 1 || t->columns == 4;
  if (named) {
    uint64_t *numbers = dzo_realloc(r->context, r->file->numbers, capacity, sizeof *numbers);
    if (numbers == NULL)
      return DZO_E_MEMORY;
    r->file->numbers = numbers;
  } else {
    uint32_t *u = dzo_realloc(r->context, r->file->u, capacity, sizeof *u);
    if (u == NULL)
      return DZO_E_MEMORY;
    r->file->u = u;
    uint32_t *v = dzo_realloc(r->context, r->file->v, capacity, sizeof *v);
    if (v == NULL)
      return DZO_E_MEMORY;
    r->file->v = v;
  }
  r->capacity = capacity;
  return DZO_OK;
}

static bool weight_agrees(const dzo_edges *e, uint64_t i, token tok) {
  dzo_number n = dzo_parse_number(tok.text, tok.length);
  dzo_weight w = dzo_edges_weight(e, i);
  switch (n.kind) {
  case DZO_NUMBER_INTEGER:
    if (e->weight_type == DZO_WEIGHT_I64)
      return n.i64 == w.i64;
    if (e->weight_type < DZO_WEIGHT_F32)
      return n.i64 >= 0 && (uint64_t)n.i64 == w.u64;
    break;
  case DZO_NUMBER_UNSIGNED:
    if (e->weight_type < DZO_WEIGHT_F32)
      return e->weight_type != DZO_WEIGHT_I64 && n.u64 == w.u64;
    break;
  case DZO_NUMBER_HUGE:
  case DZO_NUMBER_REAL:
    break;
  case DZO_NUMBER_BAD:
  case DZO_NUMBER_NAN:
  case DZO_NUMBER_RANGE:
    return false;
  }
  double x = dzo_weight_as_f64(e->weight_type, w);
  return n.f64 <= x && n.f64 >= x;
}

/* A line that names the edge in full must describe the edge that has this number; a number that no
 * edge has is for the verifier to judge. */
static dzo_status check_named(text_reading *t, uint64_t number, const token *tokens) {
  const dzo_edges *e = t->r->edges;
  uint32_t u, v;
  uint64_t names[2], place = dzo_edge_place(e, number);
  for (int i = 0; i < 2; i++)
    if (!parse_u64(tokens[1 + i], &names[i]))
      return fail(t, "not a vertex:", tokens[1 + i]);
  if (place == UINT64_MAX)
    return DZO_OK;
  if (!find_vertex(t, names[0], &u) || !find_vertex(t, names[1], &v) ||
      !((e->u[place] == u && e->v[place] == v) || (e->u[place] == v && e->v[place] == u)))
    return fail(t, "these are not the ends of edge", tokens[0]);
  if (!weight_agrees(e, place, tokens[3]))
    return fail(t, "the edge of this number has another weight than", tokens[3]);
  return DZO_OK;
}

static dzo_status take_named(text_reading *t, const token *tokens) {
  uint64_t number;
  if (!parse_u64(tokens[0], &number))
    return fail(t, "not an edge number:", tokens[0]);
  if (t->columns == 4)
    DZO_TRY(check_named(t, number, tokens));
  t->r->file->numbers[t->r->file->count++] = number;
  return DZO_OK;
}

static dzo_status take_pair(text_reading *t, const token *tokens) {
  uint32_t ends[2];
  for (int i = 0; i < 2; i++) {
    uint64_t name;
    if (!parse_u64(tokens[i], &name) || !find_vertex(t, name, &ends[i]))
      return fail(t, "not a vertex of the graph:", tokens[i]);
  }
  t->r->file->u[t->r->file->count] = ends[0];
  t->r->file->v[t->r->file->count++] = ends[1];
  return DZO_OK;
}

static dzo_status take_line(text_reading *t, const char *begin, const char *end) {
  token tokens[MOST_COLUMNS + 1];
  int columns = split(begin, end, tokens);
  if (columns == 0 || *tokens[0].text == '#' || *tokens[0].text == '%')
    return DZO_OK;
  if (t->matrix && !t->sizes_seen) {
    t->sizes_seen = true;
    return columns == 3 ? DZO_OK : fail(t, "not the sizes of a coordinate matrix", (token){"", 0});
  }
  if (t->columns == 0)
    t->columns = columns;
  if (columns != t->columns || columns > MOST_COLUMNS ||
      (t->matrix && columns != 2 && columns != 3))
    return fail(t, "not as many columns as the lines before, or not 1 to 4", (token){"", 0});
  DZO_TRY(make_room(t));
  return t->columns == 1 || t->columns == 4 ? take_named(t, tokens) : take_pair(t, tokens);
}

static dzo_status take_lines(text_reading *t) {
  enum { LINES_A_POLL = 1 << 16 };
  const char *p = (const char *)t->r->data, *end = p + t->r->size;
  while (p < end) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (stop == NULL)
      stop = end;
    t->line++;
    DZO_TRY(take_line(t, p, stop));
    p = stop < end ? stop + 1 : end;
    if (t->line % LINES_A_POLL == 0)
      DZO_TRY(dzo_progress(t->r->context, "read", (uint64_t)(p - (const char *)t->r->data),
                           t->r->size));
  }
  return DZO_OK;
}

dzo_status dzo_forest_read_text(dzo_forest_reading *r) {
  static const char banner[] = "%%MatrixMarket";
  text_reading t = {.r = r};
  t.matrix = r->size >= sizeof banner - 1 && memcmp(r->data, banner, sizeof banner - 1) == 0;
  dzo_status status = sort_names(&t);
  if (status == DZO_OK)
    status = take_lines(&t);
  dzo_free(t.by_name);
  if (status != DZO_OK || r->file->numbers != NULL || r->file->u != NULL)
    return status;
  t.columns = 1; /* no lines: a forest without edges */
  return make_room(&t);
}
