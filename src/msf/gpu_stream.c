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
  uint64_t edges; /* sent */
  dzo_status status;
} graph_stream;

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

static dzo_status send_chunks(graph_stream *s) {
  for (uint64_t chunk = 0; chunk < s->chunks; chunk++) {
    DZO_TRY(await_chunk(s, chunk));
    const msf_packed *packed = &s->packed[chunk % s->ring.slots];
    s->edges += packed->edges;
    DZO_TRY(msf_ring_submit(&s->ring, packed));
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
  uint64_t *arcs, *keys;
  uint32_t *labels;
} forest_job;

enum { U, ID, KEY, KEY_HIGH }; /* columns as they are fetched */

static void take_edges(void *argument, uint64_t first, const uint32_t *const *columns,
                       uint64_t begin, uint64_t end) {
  const forest_job *job = argument;
  const uint64_t *offsets = job->s->graph->offsets;
  bool wide = job->s->packer.key_bytes == 8;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = columns[KEY][i];
    if (wide)
      key |= (uint64_t)columns[KEY_HIGH][i] << 32;
    job->arcs[first + i] = offsets[columns[U][i]] + columns[ID][i];
    job->keys[first + i] = key ^ job->s->packer.flip;
  }
}

static void take_labels(void *argument, uint64_t first, const uint32_t *const *columns,
                        uint64_t begin, uint64_t end) {
  const forest_job *job = argument;
  memcpy(job->labels + first + begin, columns[0] + begin, (end - begin) * sizeof *job->labels);
}

static dzo_status fetch_forest(graph_stream *s, forest_job *job, uint64_t count) {
  msf_filter *filter = &s->ring.filter;
  uint32_t *const edges[] = {filter->columns[MSF_U], filter->columns[MSF_ID],
                             filter->columns[MSF_KEY], filter->columns[MSF_KEY_HIGH]};
  uint32_t *labels;
  job->arcs = dzo_alloc(s->context, count, sizeof *job->arcs);
  job->keys = dzo_alloc(s->context, count, sizeof *job->keys);
  if (job->arcs == NULL || job->keys == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(msf_filter_labels(filter, &labels));
  DZO_TRY(
      msf_ring_fetch(&s->ring, edges, s->packer.key_bytes == 8 ? 4 : 3, count, take_edges, job));
  return msf_ring_fetch(&s->ring, &labels, 1, s->graph->vertices, take_labels, job);
}

static dzo_status take_forest(graph_stream *s, dzo_msf *out) {
  uint64_t count;
  uint32_t components;
  DZO_TRY(msf_ring_merge(&s->ring));
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  DZO_TRY(msf_ring_components(&s->ring, &components));
  forest_job job = {.s = s};
  job.labels = dzo_alloc(s->context, s->graph->vertices, sizeof *job.labels);
  dzo_status status = job.labels != NULL ? fetch_forest(s, &job, count) : DZO_E_MEMORY;
  if (status == DZO_OK) {
    msf_arcs found = {job.arcs, count, job.keys, job.labels, components};
    status = msf_result_from_arcs(s->context, s->graph, &found, out);
  } else {
    dzo_free(job.labels);
  }
  dzo_free(job.arcs);
  dzo_free(job.keys);
  return status;
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
                          .lists = s->packer.lists || s->hybrid,
                          .threads = s->context->threads};
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
  return dzo_belt_create(context, s->chunks, shape.slots, &s->belt);
}

static dzo_status run(graph_stream *s, dzo_msf *out) {
  double begin = dzo_clock();
  DZO_TRY(open_stream(s));
  double opened = dzo_clock();
  dzo_team_run(s->context->threads, work, s);
  DZO_TRY(s->status);
  double sent = dzo_clock();
  DZO_TRY(take_forest(s, out));
  double end = dzo_clock();
  out->device = s->hybrid ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
  (void)snprintf(
      out->plan, sizeof out->plan,
      "streamed to the GPU in %llu chunks of %llu arcs: %llu edges, %llu merges of up to "
      "%llu; open %.1f, send %.1f, result %.1f",
      (unsigned long long)s->chunks, (unsigned long long)s->packer.units,
      (unsigned long long)s->edges, (unsigned long long)s->ring.merges,
      (unsigned long long)s->ring.filter.shape.capacity, 1e3 * (opened - begin),
      1e3 * (sent - opened), 1e3 * (end - sent));
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
  return status;
}

dzo_status msf_solve_streamed(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  return solve(unit, graph, maximum, false, out);
}

dzo_status msf_solve_hybrid(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  return solve(unit, graph, maximum, true, out);
}
