/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The .mst of a contest graph names edges by arcs. Of an edge's two arcs one has the edge's number;
 * where the other is named, the edge is found by its ends and weight. */
#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "graph/weight_map.h"
#include "io/adjacency_part.h"
#include "io/forest_file.h"
#include "io/reader.h"

typedef struct sought {
  uint32_t low, high;
  uint64_t pattern;
  uint64_t place; /* in the forest */
  uint64_t found; /* the smallest number of such an edge; accessed atomically */
} sought;

typedef struct search {
  const dzo_edges *edges;
  sought *list;
  uint64_t count;
  uint64_t *slots; /* [mask + 1] places in the list, plus 1; 0: free */
  uint64_t mask;
} search;

static uint64_t slot_of(const search *s, uint32_t low, uint32_t high) {
  uint64_t x = ((uint64_t)low << 32 | high) * UINT64_C(0x9e3779b97f4a7c15);
  return (x ^ x >> 32) & s->mask;
}

static void look_up(search *s, uint64_t edge) {
  const dzo_edges *e = s->edges;
  uint32_t u = e->u[edge], v = e->v[edge], low = u < v ? u : v, high = u < v ? v : u;
  for (uint64_t slot = slot_of(s, low, high); s->slots[slot] != 0; slot = (slot + 1) & s->mask) {
    sought *x = &s->list[s->slots[slot] - 1];
    if (x->low == low && x->high == high &&
        x->pattern == dzo_weight_pattern(e->weight_type, e->weights, edge))
      dzo_min_u64(&x->found, dzo_edge_number(e, edge));
  }
}

static void look_up_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  for (uint64_t i = begin; i < end; i++)
    look_up(argument, i);
}

static dzo_status fill_slots(dzo_context *context, search *s) {
  uint64_t slots = 16;
  while (slots < 2 * s->count)
    slots *= 2;
  s->mask = slots - 1;
  s->slots = dzo_calloc(context, slots, sizeof *s->slots);
  if (s->slots == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < s->count; i++) {
    uint64_t slot = slot_of(s, s->list[i].low, s->list[i].high);
    while (s->slots[slot] != 0)
      slot = (slot + 1) & s->mask;
    s->slots[slot] = i + 1;
  }
  return DZO_OK;
}

/* Ends and weight of an entry of the file. */
static dzo_status describe(dzo_adjacency_file *file, uint64_t entry, sought *out) {
  dzo_adjacency_part *part = &file->parts[0];
  DZO_TRY(dzo_adjacency_load(file, entry, entry + 1, part));
  if (part->bad != UINT64_MAX)
    return dzo_adjacency_fail_entry(file, entry);
  uint32_t row = (uint32_t)dzo_adjacency_row(file, entry), v = part->neighbours[0];
  out->low = row < v ? row : v;
  out->high = row < v ? v : row;
  double weight;
  memcpy(&weight, part->weights, sizeof weight);
  out->pattern = dzo_pattern_of_f64(weight);
  out->found = UINT64_MAX;
  return DZO_OK;
}

static dzo_status list_sought(dzo_forest_reading *r, dzo_adjacency_file *file, search *s) {
  for (uint64_t i = 0; i < r->file->count; i++) {
    uint64_t number = r->file->numbers[i];
    if (number >= file->layout.entries || dzo_edge_place(r->edges, number) != UINT64_MAX)
      continue;
    s->list[s->count].place = i;
    DZO_TRY(describe(file, number, &s->list[s->count++]));
  }
  return DZO_OK;
}

static dzo_status resolve(dzo_forest_reading *r, dzo_adjacency_file *file, search *s) {
  s->list = dzo_alloc(r->context, r->file->count, sizeof *s->list);
  if (s->list == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(list_sought(r, file, s));
  if (s->count == 0)
    return DZO_OK;
  DZO_TRY(fill_slots(r->context, s));
  dzo_parallel_for(r->context->threads, r->edges->count, 1 << 16, look_up_range, s);
  for (uint64_t i = 0; i < s->count; i++)
    if (s->list[i].found != UINT64_MAX)
      r->file->numbers[s->list[i].place] = s->list[i].found;
  return DZO_OK;
}

dzo_status dzo_forest_resolve_arcs(dzo_forest_reading *r, const char *path) {
  if (r->edges->weight_type != DZO_WEIGHT_F64)
    return DZO_OK;
  dzo_input *input;
  DZO_TRY(dzo_input_open(r->context, path, DZO_INPUT_WHOLE, &input));
  size_t head_size;
  const unsigned char *head = dzo_input_head(input, &head_size);
  dzo_sample sample = {head, head_size, dzo_input_size(input)};
  dzo_status status = DZO_OK;
  if (dzo_reader_graphhpc.detect(&sample)) {
    dzo_adjacency_file file;
    search s = {.edges = r->edges};
    status = dzo_adjacency_open(r->context, input, dzo_graphhpc_layout, 1, &file);
    if (status == DZO_OK)
      status = resolve(r, &file, &s);
    dzo_free(s.list);
    dzo_free(s.slots);
    dzo_adjacency_close(&file);
  }
  dzo_input_close(input);
  return status;
}
