/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Whole files of one edge a line. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "io/text.h"
#include "io/vertex_ids.h"

enum { SAMPLES = 64, END_GRAIN = 1 << 16 };

bool dzo_text_sample_decimals(const dzo_text_layout *layout, const dzo_text_block *block) {
  uint64_t size = (uint64_t)(block->end - block->begin), step = size / SAMPLES + 1;
  for (uint64_t at = 0; at < size; at += step) {
    const char *p = block->begin + at;
    const char *stop = at > 0 ? memchr(p, '\n', (size_t)(block->end - p)) : NULL;
    if (at > 0 && stop == NULL)
      break;
    const char *line = at > 0 ? stop + 1 : p;
    const char *end = memchr(line, '\n', (size_t)(block->end - line));
    dzo_text_edge edge;
    dzo_text_event event;
    if (end != NULL && dzo_text_parse_line(layout, line, end, &edge, &event) == DZO_LINE_STOP &&
        event.stop == DZO_TEXT_WANTS_F64)
      return true;
  }
  return false;
}

dzo_status dzo_text_check(dzo_context *context, const dzo_text_layout *layout,
                          const dzo_text_block *block, const dzo_text_edges *edges, uint64_t before,
                          bool last) {
  uint64_t count = before + edges->count;
  if (layout->counted && count > layout->count)
    return dzo_text_refuse(
        context, layout->name, dzo_text_line_of_edge(layout, block, layout->count - before),
        DZO_E_FORMAT, "more edges than the %llu promised", (unsigned long long)layout->count);
  if (layout->no_loops)
    for (uint64_t i = 0; i < edges->count; i++)
      if (edges->u32[0][i] == edges->u32[1][i])
        return dzo_text_refuse(context, layout->name, dzo_text_line_of_edge(layout, block, i),
                               DZO_E_FORMAT, "a skew-symmetric matrix has no diagonal");
  if (layout->counted && last && count < layout->count)
    return dzo_text_refuse(context, layout->name, block->line + block->lines - 1, DZO_E_FORMAT,
                           "the file ends after %llu of %llu edges", (unsigned long long)count,
                           (unsigned long long)layout->count);
  return DZO_OK;
}

/* The column of a dense triangle in which entry `index` stands, and where it begins. */
static uint64_t triangle_column(uint64_t longest, uint64_t index, uint64_t *start) {
  uint64_t low = 0, high = longest; /* column c begins at c * longest - c (c - 1) / 2 */
  while (high - low > 1) {
    uint64_t c = low + (high - low) / 2;
    if (c * longest - c * (c - 1) / 2 <= index)
      low = c;
    else
      high = c;
  }
  *start = low * longest - (low > 0 ? low * (low - 1) / 2 : 0);
  return low;
}

void dzo_text_array_ends(const dzo_text_layout *layout, uint64_t first, uint64_t count, uint32_t *u,
                         uint32_t *v) {
  uint64_t n = layout->vertices;
  if (count == 0)
    return;
  uint64_t column, row;
  if (layout->part == DZO_ARRAY_ALL) {
    column = first / n;
    row = first % n;
  } else {
    uint64_t start, strict = layout->part == DZO_ARRAY_STRICT_LOWER;
    column = triangle_column(n - strict, first, &start);
    row = column + strict + (first - start);
  }
  for (uint64_t i = 0; i < count; i++) {
    u[i] = (uint32_t)row;
    v[i] = (uint32_t)column;
    if (++row == n) {
      column++;
      row = layout->part == DZO_ARRAY_ALL ? 0 : column + (layout->part == DZO_ARRAY_STRICT_LOWER);
    }
  }
}

typedef struct ends_job {
  const dzo_text_layout *layout;
  dzo_text_edges *edges;
} ends_job;

static void fill_ends(void *argument, uint64_t begin, uint64_t end, int thread) {
  ends_job *j = argument;
  (void)thread;
  dzo_text_array_ends(j->layout, begin, end - begin, j->edges->u32[0] + begin,
                      j->edges->u32[1] + begin);
}

static dzo_status make_array_ends(dzo_context *context, const dzo_text_layout *layout,
                                  dzo_text_edges *edges) {
  for (int i = 0; i < 2; i++) {
    edges->u32[i] = dzo_alloc(context, edges->count, sizeof **edges->u32);
    if (edges->u32[i] == NULL)
      return DZO_E_MEMORY;
  }
  ends_job job = {layout, edges};
  dzo_parallel_for(context->threads, edges->count, END_GRAIN, fill_ends, &job);
  return DZO_OK;
}

dzo_status dzo_text_settle(dzo_context *context, dzo_text_layout *layout, dzo_text_block *block,
                           dzo_text_edges *edges) {
  dzo_text_event event, conflict = {.stop = DZO_TEXT_GOES_ON};
  if (layout->weight == DZO_WEIGHT_I64 && !layout->integers_only &&
      dzo_text_sample_decimals(layout, block))
    layout->weight = DZO_WEIGHT_F64;
  for (;;) {
    DZO_TRY(dzo_text_parse(context, layout, block, edges, &event));
    bool conflicting = conflict.stop != DZO_TEXT_GOES_ON;
    switch (event.stop) {
    case DZO_TEXT_GOES_ON:
      return conflicting && !edges->decimals
                 ? dzo_text_refuse_event(context, layout->name, &conflict)
                 : DZO_OK;
    case DZO_TEXT_WANTS_F64:
      layout->weight = DZO_WEIGHT_F64;
      break;
    case DZO_TEXT_WANTS_U64:
      layout->weight = DZO_WEIGHT_U64;
      break;
    case DZO_TEXT_WANTS_WIDE:
      dzo_text_edges_release(edges);
      edges->wide = true;
      break;
    case DZO_TEXT_CONFLICT: /* a decimal further down would decide for doubles */
      conflict = event;
      if (layout->integers_only)
        return dzo_text_refuse_event(context, layout->name, &event);
      layout->weight = DZO_WEIGHT_F64;
      break;
    case DZO_TEXT_FAILED:
      return dzo_text_refuse_event(context, layout->name, conflicting ? &conflict : &event);
    }
  }
}

/* Give back what a block with many comments has left unused. */
static void *shrink_array(dzo_context *context, void *array, uint64_t count, size_t size) {
  void *smaller = array != NULL ? dzo_realloc(context, array, count, size) : NULL;
  return smaller != NULL ? smaller : array;
}

static void shrink(dzo_context *context, dzo_text_edges *edges) {
  uint64_t count = edges->count;
  if (count >= edges->capacity / 4 * 3)
    return;
  for (int i = 0; i < 2; i++) {
    edges->u32[i] = shrink_array(context, edges->u32[i], count, sizeof **edges->u32);
    edges->u64[i] = shrink_array(context, edges->u64[i], count, sizeof **edges->u64);
  }
  edges->weights = shrink_array(context, edges->weights, count, 8);
  edges->capacity = count;
}

/* Move the edges into a new list. */
static dzo_status make_list(dzo_context *context, const dzo_text_layout *layout,
                            dzo_text_edges *edges, dzo_edge_list **out) {
  if (layout->part != DZO_ARRAY_NONE)
    DZO_TRY(make_array_ends(context, layout, edges));
  dzo_edge_list *list = dzo_calloc(context, 1, sizeof *list);
  if (list == NULL)
    return DZO_E_MEMORY;
  list->context = context;
  list->format = layout->format;
  list->count = edges->count;
  list->weight_type = layout->weight;
  list->weights = edges->weights;
  edges->weights = NULL;
  dzo_status status = DZO_OK;
  if (layout->declared) {
    list->vertices = layout->vertices;
    list->first_label = layout->first_label;
    list->u = edges->u32[0];
    list->v = edges->u32[1];
    edges->u32[0] = edges->u32[1] = NULL;
  } else {
    status = dzo_vertex_ids_renumber(context, edges, list);
  }
  if (status != DZO_OK) {
    dzo_edge_list_destroy(list);
    return status;
  }
  *out = list;
  return DZO_OK;
}

static dzo_status read_edges(dzo_context *context, dzo_input *input, dzo_text_layout *layout,
                             dzo_text_edges *edges, dzo_edge_list **out) {
  const char *text = (const char *)dzo_input_data(input);
  dzo_text_block block = {.begin = text + layout->offset,
                          .end = text + dzo_input_size(input),
                          .line = layout->line,
                          .report = true};
  DZO_TRY(dzo_text_settle(context, layout, &block, edges));
  DZO_TRY(dzo_text_check(context, layout, &block, edges, 0, true));
  shrink(context, edges);
  return make_list(context, layout, edges, out);
}

dzo_status dzo_text_read(dzo_context *context, dzo_input *input, dzo_text_prologue prologue,
                         dzo_edge_list **out) {
  dzo_text_layout layout = {.name = dzo_input_name(input)};
  dzo_text_edges edges = {.capacity = 0};
  *out = NULL;
  DZO_TRY(
      prologue(context, (const char *)dzo_input_data(input), dzo_input_size(input), true, &layout));
  dzo_status status = read_edges(context, input, &layout, &edges, out);
  dzo_text_edges_release(&edges);
  return status;
}
