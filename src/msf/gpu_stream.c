/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A graph in host memory, streamed to the GPU: threads pack chunks, the calling thread sends them.
 */
#include "msf/gpu_stream.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "msf/gpu_ring.h"
#include "split/belt.h"

typedef struct graph_stream {
  dzo_context *context;
  const dzo_graph *graph;
  bool hybrid;
  msf_ring ring;
  msf_packer packer;
  msf_packed *packed; /* [slots] */
  dzo_belt *belt;
  uint64_t chunks;
  uint64_t edges;         /* sent */
  uint64_t sieved;        /* chunks that the CPU filtered */
  double pack_seconds[2]; /* of all threads, as they are and sieved */
  double clock;           /* when the step that runs began */
  char steps[128];        /* done, and their milliseconds */
  msf_sieve sieve;
  enum { AT_REST, ASKED, CHOSEN } view; /* how far the next view of the sieve is */
  uint64_t view_merges;                 /* the merge that it is of */
  uint64_t view_chunk;                  /* sent when the last step was asked for */
  dzo_status status;
} graph_stream;

/* Marks besides those of the ring. */
enum { VIEWED = 17 };

static void note(graph_stream *s, const char *step) {
  double now = dzo_clock();
  size_t used = strlen(s->steps);
  (void)snprintf(s->steps + used, sizeof s->steps - used, "%s%s %.1f", used > 0 ? ", " : "", step,
                 1e3 * (now - s->clock));
  s->clock = now;
}

/* ---- Packing and sending --------------------------------------------------------------------- */

static void pack_chunk(graph_stream *s, uint64_t chunk, int thread) {
  msf_pack(&s->packer, chunk, thread, msf_ring_slot(&s->ring, chunk),
           &s->packed[chunk % s->ring.slots]);
  dzo_belt_made(s->belt, chunk);
}

static dzo_status release_slots(graph_stream *s) {
  DZO_TRY(msf_ring_reclaim(&s->ring));
  dzo_belt_release(s->belt, msf_ring_released(&s->ring));
  return DZO_OK;
}

/* Until chunk `chunk` is packed, by this thread if no other does. */
static dzo_status await_chunk(graph_stream *s, uint64_t chunk) {
  for (;;) {
    uint64_t mine;
    switch (dzo_belt_look(s->belt, chunk)) {
    case DZO_BELT_MADE:
      return DZO_OK;
    case DZO_BELT_MAKING:
      dzo_belt_wait(s->belt, chunk);
      return DZO_OK;
    case DZO_BELT_UNCLAIMED:
      if (dzo_belt_try_claim(s->belt, &mine))
        pack_chunk(s, mine, 0);
      else
        DZO_TRY(release_slots(s));
    }
  }
}

/* After a merge, a new view for the sieve, a step at a time: what a step waits for is likely to be
 * done when enough chunks have been sent after it, so that copies do not run dry meanwhile. */
static dzo_status renew_sieve(graph_stream *s) {
  msf_filter *filter = &s->ring.filter;
  bool worth;
  if (s->view_merges != s->ring.merges) {
    s->view_merges = s->ring.merges;
    s->view = s->sieve.samples > 0 ? ASKED : AT_REST;
    if (s->view == AT_REST)
      return DZO_OK;
    DZO_TRY(msf_sieve_ask(&s->sieve, filter));
  } else if (s->view == AT_REST || s->ring.submitted - s->view_chunk < s->ring.slots / 3) {
    return DZO_OK;
  } else if (s->view == ASKED) {
    DZO_TRY(dzo_unit_wait_mark(s->ring.unit, VIEWED));
    DZO_TRY(msf_sieve_choose(&s->sieve, filter, &worth));
    s->view = worth ? CHOSEN : AT_REST;
  } else {
    DZO_TRY(dzo_unit_wait_mark(s->ring.unit, VIEWED));
    s->view = AT_REST;
    return msf_sieve_publish(&s->sieve, s->context);
  }
  s->view_chunk = s->ring.submitted;
  return dzo_unit_mark(s->ring.unit, 0, VIEWED);
}

static dzo_status send_chunks(graph_stream *s) {
  for (uint64_t chunk = 0; chunk < s->chunks; chunk++) {
    DZO_TRY(await_chunk(s, chunk));
    const msf_packed *packed = &s->packed[chunk % s->ring.slots];
    s->edges += packed->edges;
    s->sieved += packed->sieved;
    s->pack_seconds[packed->sieved] += packed->seconds;
    DZO_TRY(msf_ring_submit(&s->ring, packed));
    if (s->packer.sieve != NULL)
      DZO_TRY(renew_sieve(s));
    while (s->ring.submitted - msf_ring_released(&s->ring) > s->ring.slots / 2)
      DZO_TRY(release_slots(s));
    if (chunk % s->ring.group_chunks == 0)
      DZO_TRY(dzo_progress(s->context, "solve", chunk + 1, s->chunks));
  }
  return DZO_OK;
}

static void work(void *argument, int thread, int threads) {
  (void)threads;
  graph_stream *s = argument;
  if (thread == 0) {
    s->status = send_chunks(s);
    dzo_belt_stop(s->belt);
    return;
  }
  uint64_t chunk;
  while (dzo_belt_claim(s->belt, &chunk))
    pack_chunk(s, chunk, thread);
}

/* ---- The forest ------------------------------------------------------------------------------ */

typedef struct forest_job {
  const graph_stream *s;
  msf_sum *sums; /* [threads] */
} forest_job;

enum { U, ID, KEY, KEY_HIGH, BLOCK = 64 }; /* columns as they are fetched */

/* The numbers of edges, each of which is somewhere in memory, and their weights. */
static void take_edges(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                       int thread) {
  const forest_job *job = argument;
  const dzo_graph *g = job->s->graph;
  uint64_t key_mask = g->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  for (uint64_t at = begin; at < end; at += BLOCK) {
    unsigned count = end - at < BLOCK ? (unsigned)(end - at) : BLOCK;
    uint64_t arcs[BLOCK];
    for (unsigned i = 0; i < count; i++) {
      arcs[i] = g->offsets[piece->columns[U][at + i]] + piece->columns[ID][at + i];
      if (g->numbers32 != NULL)
        DZO_PREFETCH(&g->numbers32[arcs[i]]);
      else
        DZO_PREFETCH(&g->numbers64[arcs[i]]);
    }
    for (unsigned i = 0; i < count; i++) {
      uint64_t key = piece->columns[KEY][at + i];
      if (g->keys64 != NULL)
        key |= (uint64_t)piece->columns[KEY_HIGH][at + i] << 32;
      key = (key ^ job->s->packer.flip) & key_mask;
      piece->answers[at + i] = dzo_arc_number(g, arcs[i]);
      msf_sum_add(&job->sums[thread], g->map.type, dzo_key_pattern(&g->map, key));
    }
  }
}

static int bits_below(uint64_t bound) {
  int bits = 1;
  while (bits < 64 && bound >> bits != 0)
    bits++;
  return bits;
}

/* Edge numbers are looked up here and sorted there. */
static dzo_status fetch_edges(graph_stream *s, forest_job *job, dzo_msf *out) {
  msf_filter *filter = &s->ring.filter;
  const dzo_graph *g = s->graph;
  uint32_t *const columns[] = {filter->columns[MSF_U], filter->columns[MSF_ID],
                               filter->columns[MSF_KEY], filter->columns[MSF_KEY_HIGH]};
  uint64_t *sorted;
  DZO_TRY(msf_ring_fetch(&s->ring, columns, g->keys64 != NULL ? 4 : 3, out->count, take_edges, job,
                         filter->first));
  for (int t = 1; t < s->context->threads; t++)
    msf_sum_merge(&job->sums[0], &job->sums[t]);
  out->weight = msf_sum_weight(&job->sums[0], g->map.type);
  note(s, "numbers");
  DZO_TRY(msf_filter_sort_numbers(filter, out->count, bits_below(g->number_bound), &sorted));
  return msf_ring_fetch_words(&s->ring, (uint32_t *)sorted, 2 * out->count, (uint32_t *)out->edges);
}

static dzo_status fetch_labels(graph_stream *s, dzo_msf *out) {
  uint32_t *labels;
  DZO_TRY(msf_filter_labels(&s->ring.filter, &labels));
  return msf_ring_fetch_words(&s->ring, labels, s->graph->vertices, out->component_of);
}

static dzo_status take_forest(graph_stream *s, dzo_msf *out) {
  dzo_context *context = s->context;
  DZO_TRY(msf_ring_merge(&s->ring));
  DZO_TRY(msf_ring_settle(&s->ring, &out->count));
  DZO_TRY(msf_ring_components(&s->ring, &out->components));
  note(s, "merge");
  if (out->count + out->components != s->graph->vertices)
    return dzo_fail(context, DZO_E_INTERNAL, "a forest of the wrong size");
  out->edges = dzo_alloc(context, out->count, sizeof *out->edges);
  out->component_of = dzo_alloc(context, s->graph->vertices, sizeof *out->component_of);
  forest_job job = {.s = s};
  job.sums = dzo_alloc(context, (uint64_t)context->threads, sizeof *job.sums);
  if (out->edges == NULL || out->component_of == NULL || job.sums == NULL) {
    dzo_free(job.sums);
    return DZO_E_MEMORY;
  }
  for (int t = 0; t < context->threads; t++)
    msf_sum_init(&job.sums[t]);
  dzo_status status = fetch_edges(s, &job, out);
  dzo_free(job.sums);
  return status == DZO_OK ? fetch_labels(s, out) : status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static unsigned key_bytes_of(const dzo_graph *g) {
  return g->keys64 != NULL ? 8 : g->keys32 != NULL ? 4 : 0;
}

static msf_ring_shape shape_of(const graph_stream *s) {
  const dzo_graph *g = s->graph;
  return (msf_ring_shape){.filter = {.room = g->vertices,
                                     .wide = g->keys64 != NULL,
                                     .ordered = true,
                                     .flip = s->packer.flip},
                          .edges = g->arcs / 2,
                          .key_bytes = s->packer.key_bytes,
                          .lists = s->packer.lists,
                          .extra = s->hybrid ? msf_sieve_bytes(g) : 0,
                          .threads = s->context->threads};
}

static dzo_status open_sieve(graph_stream *s) {
  s->packer.kept = dzo_alloc(s->context, (uint64_t)s->context->threads * (s->packer.units + 1),
                             sizeof *s->packer.kept);
  msf_sieve_open(&s->sieve, s->graph, s->packer.flip, &s->ring.filter, s->ring.extra);
  s->packer.sieve = &s->sieve;
  return s->packer.kept != NULL ? DZO_OK : DZO_E_MEMORY;
}

static dzo_status open_stream(graph_stream *s) {
  const dzo_graph *g = s->graph;
  dzo_context *context = s->context;
  if (g->vertices > MSF_FILTER_VERTICES_MAX)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%llu vertices are too many for the GPU",
                    (unsigned long long)g->vertices);
  msf_ring_shape shape = shape_of(s);
  DZO_TRY(msf_ring_fit(&shape, s->ring.unit));
  DZO_TRY(msf_ring_open(&s->ring, s->ring.unit, &shape));
  DZO_TRY(msf_filter_vertices(&s->ring.filter, g->vertices));
  s->packer.units = shape.units;
  s->chunks = msf_packer_chunks(&s->packer);
  s->packed = dzo_alloc(context, shape.slots, sizeof *s->packed);
  if (g->neighbours == NULL)
    s->packer.decoded = dzo_alloc(context, (uint64_t)context->threads * shape.units, 4);
  if (s->packed == NULL || (g->neighbours == NULL && s->packer.decoded == NULL))
    return DZO_E_MEMORY;
  if (s->hybrid && !s->packer.lists)
    DZO_TRY(open_sieve(s));
  return dzo_belt_create(context, s->chunks, shape.slots, &s->belt);
}

static void tell_plan(const graph_stream *s, dzo_msf *out) {
  (void)snprintf(
      out->plan, sizeof out->plan,
      "streamed: %llu chunks (%llu sieved), %llu edges, %llu merges of %llu; %s; packing "
      "%.1f and %.1f",
      (unsigned long long)s->chunks, (unsigned long long)s->sieved, (unsigned long long)s->edges,
      (unsigned long long)s->ring.merges, (unsigned long long)s->ring.filter.shape.capacity,
      s->steps, 1e3 * s->pack_seconds[0], 1e3 * s->pack_seconds[1]);
}

static dzo_status run(graph_stream *s, dzo_msf *out) {
  s->clock = dzo_clock();
  DZO_TRY(open_stream(s));
  note(s, "open");
  dzo_team_run(s->context->threads, work, s);
  DZO_TRY(s->status);
  note(s, "send");
  DZO_TRY(take_forest(s, out));
  note(s, "result");
  out->device = s->hybrid ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
  tell_plan(s, out);
  return DZO_OK;
}

static dzo_status solve(dzo_unit *unit, const dzo_graph *graph, bool maximum, bool hybrid,
                        dzo_msf *out) {
  graph_stream s = {.context = unit->context, .graph = graph, .hybrid = hybrid};
  s.ring.unit = unit;
  s.packer = (msf_packer){.graph = graph,
                          .key_bytes = key_bytes_of(graph),
                          .lists = graph->row_order != DZO_ROWS_BY_NEIGHBOUR};
  s.packer.flip = !maximum ? 0 : graph->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  dzo_status status = run(&s, out);
  dzo_belt_destroy(s.belt);
  dzo_free(s.packed);
  dzo_free(s.packer.decoded);
  dzo_free(s.packer.kept);
  msf_sieve_close(&s.sieve);
  return status;
}

dzo_status msf_solve_streamed(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  return solve(unit, graph, maximum, false, out);
}

dzo_status msf_solve_hybrid(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  return solve(unit, graph, maximum, true, out);
}
