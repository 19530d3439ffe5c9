/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/gpu_forest.h"

#include <string.h>

#include "base/memory.h"
#include "msf/gpu_numbers.h"

enum { PAGE = 1 << 12 };

dzo_status msf_forest_room(dzo_context *context, dzo_msf *out) {
  if (out->edges == NULL)
    out->edges = dzo_alloc(context, out->vertices, sizeof *out->edges);
  if (out->component_of == NULL)
    out->component_of = dzo_alloc(context, out->vertices, sizeof *out->component_of);
  return out->edges != NULL && out->component_of != NULL ? DZO_OK : DZO_E_MEMORY;
}

static void touch(void *memory, uint64_t bytes, uint64_t part, uint64_t parts) {
  volatile char *byte = memory;
  uint64_t pages = (bytes + PAGE - 1) / PAGE;
  for (uint64_t page = pages * part / parts; page < pages * (part + 1) / parts; page++)
    byte[page * PAGE] = 0;
}

void msf_forest_touch(const dzo_msf *out, int part, int parts) {
  touch(out->edges, out->vertices * sizeof *out->edges, (uint64_t)part, (uint64_t)parts);
  touch(out->component_of, out->vertices * sizeof *out->component_of, (uint64_t)part,
        (uint64_t)parts);
}

dzo_status msf_forest_count(msf_ring *ring, dzo_msf *out) {
  const msf_filter_control *control;
  DZO_TRY(msf_ring_settle(ring, &out->count));
  DZO_TRY(msf_ring_forest(ring, &control));
  out->components = control->components;
  ring->filter.numbered = control->numbered;
  if (out->count + out->components != out->vertices)
    return dzo_fail(ring->unit->context, DZO_E_INTERNAL, "a forest of the wrong size");
  return DZO_OK;
}

/* ---- Weights --------------------------------------------------------------------------------- */

typedef struct weight_job {
  const dzo_graph *graph;
  uint64_t flip;
  msf_sum *sums; /* [threads] */
} weight_job;

static void add_weights(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                        int thread) {
  const weight_job *job = argument;
  const dzo_graph *g = job->graph;
  uint64_t key_mask = g->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = piece->columns[0][i];
    if (g->keys64 != NULL)
      key |= (uint64_t)piece->columns[1][i] << 32;
    key = (key ^ job->flip) & key_mask;
    msf_sum_add(&job->sums[thread], g->map.type, dzo_key_pattern(&g->map, key));
  }
}

static dzo_status sum_weights(msf_ring *ring, const dzo_graph *g, dzo_msf *out) {
  dzo_context *context = ring->unit->context;
  const msf_filter *f = &ring->filter;
  uint32_t *const columns[] = {f->columns[MSF_KEY], f->columns[MSF_KEY_HIGH]};
  weight_job job = {.graph = g, .flip = f->shape.flip};
  job.sums = dzo_alloc(context, (uint64_t)context->threads, sizeof *job.sums);
  if (job.sums == NULL)
    return DZO_E_MEMORY;
  for (int t = 0; t < context->threads; t++)
    msf_sum_init(&job.sums[t]);
  dzo_status status =
      msf_ring_fetch(ring, columns, g->keys64 != NULL ? 2 : 1, out->count, add_weights, &job, NULL);
  for (int t = 1; t < context->threads; t++)
    msf_sum_merge(&job.sums[0], &job.sums[t]);
  out->weight = msf_sum_weight(&job.sums[0], g->map.type);
  dzo_free(job.sums);
  return status;
}

/* Integers are added up as keys, on the GPU. */
static bool are_keys_summed(const dzo_graph *g) {
  return g->map.kind == DZO_KEY_OFFSET && !msf_type_is_real(g->map.type);
}

static void take_sums(const msf_ring *ring, const dzo_graph *g, dzo_msf *out) {
  const uint64_t *sums = ring->control->sums;
  msf_sum sum;
  msf_sum_init(&sum);
  msf_sum_add_keys(&sum, out->count, g->map.base, sums[0], sums[1]);
  out->weight = msf_sum_weight(&sum, g->map.type);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void look_up(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                    int thread) {
  (void)thread;
  msf_look_up(argument, piece->columns[0] + begin, piece->columns[1] + begin, end - begin,
              piece->answers + begin);
}

static void widen(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                  int thread) {
  (void)thread;
  uint64_t *to = (uint64_t *)argument + piece->first;
  for (uint64_t i = begin; i < end; i++)
    to[i] = piece->columns[0][i];
}

static int bits_below(uint64_t bound) {
  int bits = 1;
  while (bits < 64 && bound >> bits != 0)
    bits++;
  return bits;
}

/* The numbers that are not known yet are looked up here; all are sorted there. */
static dzo_status sort_numbers(msf_ring *ring, const dzo_graph *g, msf_found *found) {
  msf_filter *f = &ring->filter;
  uint64_t known = f->numbered;
  uint32_t *const columns[] = {f->columns[MSF_U] + known, f->columns[MSF_ID] + known};
  dzo_graph *graph = (dzo_graph *)(uintptr_t)g; /* look_up() only reads */
  found->bits = bits_below(g->number_bound);
  DZO_TRY(msf_filter_numbers(f));
  DZO_TRY(msf_ring_fetch(ring, columns, 2, found->count - known, look_up, graph, f->first + known));
  return msf_filter_sort_numbers(f, found->count, found->bits, &found->sorted);
}

dzo_status msf_forest_find(msf_ring *ring, const dzo_graph *g, uint64_t count, msf_found *found) {
  msf_filter *f = &ring->filter;
  found->count = count;
  found->summed = are_keys_summed(g);
  if (found->summed) {
    DZO_TRY(msf_filter_sum(f, count));
    DZO_TRY(dzo_unit_copy(ring->unit, MSF_RING_FILTERS, ring->control, f->control,
                          sizeof *ring->control));
  }
  DZO_TRY(msf_filter_labels(f, &found->labels));
  DZO_TRY(dzo_unit_mark(ring->unit, MSF_RING_FILTERS, MSF_RING_MERGED));
  DZO_TRY(dzo_unit_queue_after(ring->unit, MSF_RING_LOOKS, MSF_RING_MERGED));
  return sort_numbers(ring, g, found);
}

dzo_status msf_forest_fetch(msf_ring *ring, const dzo_graph *g, const msf_found *found,
                            dzo_msf *out) {
  uint32_t *sorted = found->sorted;
  /* While the numbers are sorted. */
  DZO_TRY(
      msf_ring_fetch_words(ring, MSF_RING_LOOKS, found->labels, out->vertices, out->component_of));
  if (found->bits <= 32)
    DZO_TRY(msf_ring_fetch(ring, &sorted, 1, out->count, widen, out->edges, NULL));
  else
    DZO_TRY(msf_ring_fetch_words(ring, MSF_RING_FILTERS, sorted, 2 * out->count,
                                 (uint32_t *)out->edges));
  if (!found->summed)
    return sum_weights(ring, g, out);
  DZO_TRY(dzo_unit_wait(ring->unit, MSF_RING_FILTERS));
  take_sums(ring, g, out);
  return DZO_OK;
}
