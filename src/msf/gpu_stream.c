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
#include "device/transfer.h"
#include "msf/cpu.h"
#include "msf/gpu_ring.h"
#include "msf/hybrid.h"
#include "split/belt.h"
#include "split/route.h"

typedef struct graph_stream {
  dzo_context *context;
  const dzo_graph *graph;
  msf_ring ring;
  msf_packer packer;
  msf_hybrid hybrid;
  bool two_passes;       /* light edges, then what is outside the giant */
  msf_packed *packed;    /* [slots] */
  dzo_belt *belt;        /* of the pass that runs */
  uint64_t chunks;       /* of it */
  uint64_t base;         /* the ring's number of its first chunk */
  bool overflow;         /* it sent less than it should: a slot was too short */
  uint64_t edges;        /* sent, in all passes */
  uint64_t all_chunks;   /* likewise */
  double pack_seconds;   /* of all threads */
  msf_choice whole_rows; /* of a graph in memory that the bus may fetch them from */
  dzo_route route;       /* then: who takes the next chunk; under the lock */
  int route_lock;
  double bus_bytes;    /* a second */
  double unit_seconds; /* of the threads together, to pack a unit; under the lock */
  uint64_t whole;      /* chunks of whole rows sent */
  double clock;        /* when the step that runs began */
  char steps[128];     /* done, and their milliseconds */
  dzo_status status;
} graph_stream;

static void note(graph_stream *s, const char *step) {
  double now = dzo_clock();
  size_t used = strlen(s->steps);
  (void)snprintf(s->steps + used, sizeof s->steps - used, "%s%s %.1f", used > 0 ? ", " : "", step,
                 1e3 * (now - s->clock));
  s->clock = now;
}

/* ---- Packing and sending --------------------------------------------------------------------- */

static msf_packed *packed_at(const graph_stream *s, uint64_t chunk) {
  return &s->packed[(s->base + chunk) % s->ring.slots];
}

static void lock_route(graph_stream *s) {
  while (__atomic_exchange_n(&s->route_lock, 1, __ATOMIC_ACQUIRE) != 0) {
  }
}

static void unlock_route(graph_stream *s) { __atomic_store_n(&s->route_lock, 0, __ATOMIC_RELEASE); }

/* Is the bus to fetch this chunk as it is? That takes no thread, but the lower arcs travel, too,
 * which are the more the later the rows are. */
static bool is_fetched_whole(graph_stream *s, uint64_t chunk) {
  if (s->whole_rows == MSF_NEVER || s->packer.packing != MSF_PACK_ALL)
    return false;
  if (s->whole_rows == MSF_ALWAYS)
    return true;
  double units = (double)s->packer.units, upper = 1 - (double)chunk / (double)s->chunks;
  double bus = units * (4.0 + s->packer.key_bytes) / s->bus_bytes;
  lock_route(s);
  const dzo_route_cost costs[] = {{{units * s->unit_seconds, bus * upper}}, {{0, bus}}};
  int way = dzo_route_choose(&s->route, 2, costs);
  unlock_route(s);
  return way == 1;
}

/* What packing took, against what it took lately. */
static void learn_rate(graph_stream *s, const msf_packed *packed) {
  int packers = s->context->threads > 1 ? s->context->threads - 1 : 1;
  double measured = packed->seconds / (double)packed->units / packers;
  lock_route(s);
  s->unit_seconds += (measured - s->unit_seconds) / 16;
  unlock_route(s);
}

static void pack_chunk(graph_stream *s, uint64_t chunk, int thread) {
  if (is_fetched_whole(s, chunk))
    msf_pack_whole(&s->packer, chunk, packed_at(s, chunk));
  else
    msf_pack(&s->packer, chunk, thread, msf_ring_slot(&s->ring, s->base + chunk),
             packed_at(s, chunk));
  dzo_belt_made(s->belt, chunk);
}

static dzo_status release_slots(graph_stream *s) {
  DZO_TRY(msf_ring_reclaim(&s->ring));
  uint64_t released = msf_ring_released(&s->ring);
  dzo_belt_release(s->belt, released > s->base ? released - s->base : 0);
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

/* The last rows have few upper arcs: a merge after this chunk runs while they are packed, and
 * leaves little for the one that all wait for. */
static uint64_t early_merge(const graph_stream *s) {
  bool worth = s->packer.packing == MSF_PACK_ALL && s->chunks >= 64;
  return worth ? s->chunks * 13 / 20 : UINT64_MAX;
}

static dzo_status send_chunks(graph_stream *s) {
  bool is_second = s->packer.packing != MSF_PACK_LIGHT && s->two_passes;
  for (uint64_t chunk = 0; chunk < s->chunks; chunk++) {
    DZO_TRY(await_chunk(s, chunk));
    const msf_packed *packed = packed_at(s, chunk);
    s->overflow = packed->overflow;
    if (s->overflow && s->packer.packing == MSF_PACK_ALL)
      return dzo_fail(s->context, DZO_E_UNSUPPORTED, "a vertex has 2^32 arcs or more");
    if (s->overflow)
      return DZO_OK;
    s->edges += packed->edges;
    s->pack_seconds += packed->seconds;
    s->whole += packed->whole != NULL;
    if (s->whole_rows == MSF_BY_RATES && packed->whole == NULL)
      learn_rate(s, packed);
    DZO_TRY(msf_ring_submit(&s->ring, packed));
    while (s->ring.submitted - msf_ring_released(&s->ring) > s->ring.slots / 2)
      DZO_TRY(release_slots(s));
    if (chunk == early_merge(s))
      msf_ring_merge_soon(&s->ring);
    if (chunk % 4 == 0)
      DZO_TRY(dzo_progress(s->context, "solve", chunk + 1 + (is_second ? s->chunks : 0),
                           s->chunks * (s->two_passes ? 2 : 1)));
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

/* One pass over the graph, in chunks of `units`. */
static dzo_status send_pass(graph_stream *s, msf_packing packing, uint64_t units) {
  uint64_t count;
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  s->packer.packing = packing;
  s->packer.units = units;
  s->chunks = msf_packer_chunks(&s->packer);
  s->all_chunks += s->chunks;
  s->base = s->ring.submitted;
  s->overflow = false;
  DZO_TRY(dzo_belt_create(s->context, s->chunks, s->ring.slots, &s->belt));
  dzo_team_run(s->context->threads, work, s);
  dzo_belt_destroy(s->belt);
  s->belt = NULL;
  return s->status;
}

/* Chunks of which a quarter of a slot should be filled, where this part of all arcs is packed; not
 * so long that threads would be idle. */
static uint64_t picked_units(const graph_stream *s, double part) {
  const dzo_graph *g = s->graph;
  double units = (double)s->packer.list_edges / 4 / (part > 1e-3 ? part : 1e-3);
  uint64_t most = (g->arcs + g->vertices) / (4 * (uint64_t)s->context->threads) + 64;
  return units < (double)most ? (uint64_t)units + 1 : most;
}

/* Light edges first, then what is outside their giant tree. */
static dzo_status send_twice(graph_stream *s, uint64_t units) {
  DZO_TRY(send_pass(s, MSF_PACK_LIGHT, picked_units(s, s->hybrid.light / 2)));
  note(s, "light");
  if (s->overflow) {
    DZO_TRY(msf_ring_restart(&s->ring));
    return send_pass(s, MSF_PACK_ALL, units);
  }
  DZO_TRY(msf_ring_merge(&s->ring));
  DZO_TRY(msf_hybrid_find_giant(&s->hybrid, &s->ring.filter));
  note(s, "giant");
  /* The forest's keys are below those that follow, so that edges sent again are ruled out. */
  if (s->hybrid.outside == 1)
    return send_pass(s, MSF_PACK_ALL, units);
  s->ring.filter.loose = true;
  DZO_TRY(send_pass(s, MSF_PACK_OUTSIDE, picked_units(s, s->hybrid.outside)));
  return s->overflow ? send_pass(s, MSF_PACK_ALL, units) : DZO_OK;
}

/* ---- The forest ------------------------------------------------------------------------------ */

typedef struct forest_job {
  const graph_stream *s;
  msf_sum *sums; /* [threads] */
  uint32_t *labels;
} forest_job;

enum { U, ID, LABEL, KEY, KEY_HIGH, BLOCK = 64 }; /* columns as they are fetched */

/* The numbers of up to BLOCK edges, each of which is somewhere in memory. */
static void look_up(const dzo_graph *g, const msf_piece *piece, uint64_t at, unsigned count) {
  uint64_t arcs[BLOCK];
  for (unsigned i = 0; i < count; i++) {
    arcs[i] = g->offsets[piece->columns[U][at + i]] + piece->columns[ID][at + i];
    if (g->numbers32 != NULL)
      DZO_PREFETCH(&g->numbers32[arcs[i]]);
    else
      DZO_PREFETCH(&g->numbers64[arcs[i]]);
  }
  for (unsigned i = 0; i < count; i++)
    piece->answers[at + i] = dzo_arc_number(g, arcs[i]);
}

/* Integers are added up as keys. */
static void add_keys(const forest_job *job, const msf_piece *piece, uint64_t begin, uint64_t end,
                     msf_sum *sum) {
  const dzo_graph *g = job->s->graph;
  uint64_t low = 0, high = 0;
  uint32_t flip = (uint32_t)job->s->packer.flip;
  for (uint64_t i = begin; i < end; i++)
    low += piece->columns[KEY][i] ^ flip;
  for (uint64_t i = begin; g->keys64 != NULL && i < end; i++)
    high += piece->columns[KEY_HIGH][i] ^ flip;
  msf_sum_add_keys(sum, end - begin, g->map.base, low, high);
}

static void add_weights(const forest_job *job, const msf_piece *piece, uint64_t begin, uint64_t end,
                        msf_sum *sum) {
  const dzo_graph *g = job->s->graph;
  uint64_t key_mask = g->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t key = piece->columns[KEY][i];
    if (g->keys64 != NULL)
      key |= (uint64_t)piece->columns[KEY_HIGH][i] << 32;
    key = (key ^ job->s->packer.flip) & key_mask;
    msf_sum_add(sum, g->map.type, dzo_key_pattern(&g->map, key));
  }
}

/* Numbers and weights of edges; beside them comes the tree of a vertex for each. */
static void take_edges(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                       int thread) {
  const forest_job *job = argument;
  const dzo_graph *g = job->s->graph;
  memcpy(job->labels + piece->first + begin, piece->columns[LABEL] + begin,
         (end - begin) * sizeof *job->labels);
  for (uint64_t at = begin; at < end; at += BLOCK)
    look_up(g, piece, at, end - at < BLOCK ? (unsigned)(end - at) : BLOCK);
  if (g->map.kind == DZO_KEY_OFFSET && !msf_type_is_real(g->map.type))
    add_keys(job, piece, begin, end, &job->sums[thread]);
  else
    add_weights(job, piece, begin, end, &job->sums[thread]);
}

static int bits_below(uint64_t bound) {
  int bits = 1;
  while (bits < 64 && bound >> bits != 0)
    bits++;
  return bits;
}

static void widen(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                  int thread) {
  (void)thread;
  uint64_t *to = (uint64_t *)argument + piece->first;
  for (uint64_t i = begin; i < end; i++)
    to[i] = piece->columns[0][i];
}

/* Edge numbers are looked up here and sorted there. */
static dzo_status fetch_edges(graph_stream *s, forest_job *job, uint32_t *labels, dzo_msf *out) {
  msf_filter *filter = &s->ring.filter;
  const dzo_graph *g = s->graph;
  uint32_t *const columns[] = {filter->columns[MSF_U], filter->columns[MSF_ID], labels,
                               filter->columns[MSF_KEY], filter->columns[MSF_KEY_HIGH]};
  int bits = bits_below(g->number_bound);
  uint32_t *sorted;
  DZO_TRY(msf_ring_fetch(&s->ring, columns, g->keys64 != NULL ? 5 : 4, out->count, take_edges, job,
                         filter->first));
  for (int t = 1; t < s->context->threads; t++)
    msf_sum_merge(&job->sums[0], &job->sums[t]);
  out->weight = msf_sum_weight(&job->sums[0], g->map.type);
  note(s, "numbers");
  DZO_TRY(msf_filter_sort_numbers(filter, out->count, bits, &sorted));
  if (bits <= 32)
    return msf_ring_fetch(&s->ring, &sorted, 1, out->count, widen, out->edges, NULL);
  return msf_ring_fetch_words(&s->ring, sorted, 2 * out->count, (uint32_t *)out->edges);
}

/* The trees of vertices come with edges, as far as there are any. */
static dzo_status fetch_forest(graph_stream *s, dzo_msf *out) {
  dzo_context *context = s->context;
  uint32_t *labels;
  forest_job job = {.s = s, .labels = out->component_of};
  job.sums = dzo_alloc(context, (uint64_t)context->threads, sizeof *job.sums);
  if (job.sums == NULL)
    return DZO_E_MEMORY;
  for (int t = 0; t < context->threads; t++)
    msf_sum_init(&job.sums[t]);
  dzo_status status = msf_filter_labels(&s->ring.filter, &labels);
  if (status == DZO_OK)
    status = fetch_edges(s, &job, labels, out);
  dzo_free(job.sums);
  DZO_TRY(status);
  return msf_ring_fetch_words(&s->ring, labels + out->count, s->graph->vertices - out->count,
                              out->component_of + out->count);
}

/* Memory for the result: fresh pages are touched while the GPU merges. */
static dzo_status make_room(graph_stream *s, dzo_msf *out) {
  uint64_t most = s->ring.known, vertices = s->graph->vertices;
  out->edges = dzo_alloc(s->context, most, sizeof *out->edges);
  out->component_of = dzo_alloc(s->context, vertices, sizeof *out->component_of);
  if (out->edges == NULL || out->component_of == NULL)
    return DZO_E_MEMORY;
  dzo_unit_touch(s->ring.unit, out->edges, most * sizeof *out->edges);
  dzo_unit_touch(s->ring.unit, out->component_of, vertices * sizeof *out->component_of);
  return DZO_OK;
}

static dzo_status take_forest(graph_stream *s, dzo_msf *out) {
  DZO_TRY(msf_ring_merge(&s->ring));
  DZO_TRY(make_room(s, out));
  DZO_TRY(msf_ring_settle(&s->ring, &out->count));
  DZO_TRY(msf_ring_components(&s->ring, &out->components));
  note(s, "merge");
  if (out->count + out->components != s->graph->vertices)
    return dzo_fail(s->context, DZO_E_INTERNAL, "a forest of the wrong size");
  return fetch_forest(s, out);
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
                                     .ranked = s->two_passes,
                                     .flip = s->packer.flip},
                          .edges = g->arcs / 2,
                          .whole = s->whole_rows == MSF_ALWAYS && !s->two_passes,
                          .mixed = s->whole_rows == MSF_BY_RATES && !s->two_passes,
                          .key_bytes = s->packer.key_bytes,
                          .lists = s->packer.lists,
                          .extra = s->two_passes ? msf_hybrid_bytes(g) : 0,
                          .threads = s->context->threads};
}

static dzo_status open_stream(graph_stream *s, uint64_t *units) {
  const dzo_graph *g = s->graph;
  dzo_context *context = s->context;
  if (g->vertices > MSF_FILTER_VERTICES_MAX)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "%llu vertices are too many for the GPU",
                    (unsigned long long)g->vertices);
  msf_ring_shape shape = shape_of(s);
  DZO_TRY(msf_ring_fit(&shape, s->ring.unit));
  DZO_TRY(msf_ring_open(&s->ring, s->ring.unit, &shape));
  DZO_TRY(msf_filter_vertices(&s->ring.filter, g->vertices));
  *units = shape.units;
  s->packer.list_edges = msf_slot_list_edges(s->ring.slot_bytes, s->packer.key_bytes);
  if (s->two_passes) {
    msf_hybrid_open(&s->hybrid, &s->ring.filter, s->ring.extra);
    s->packer.last = s->hybrid.last;
    s->packer.giant = s->hybrid.giant;
  }
  s->packed = dzo_alloc(context, shape.slots, sizeof *s->packed);
  if (g->neighbours == NULL)
    s->packer.decoded = dzo_alloc(context, (uint64_t)context->threads * shape.units, 4);
  bool have = s->packed != NULL && (g->neighbours != NULL || s->packer.decoded != NULL);
  return have ? DZO_OK : DZO_E_MEMORY;
}

static void tell_plan(const graph_stream *s, dzo_msf *out) {
  (void)snprintf(
      out->plan, sizeof out->plan,
      "streamed%s: %llu chunks, %llu of them whole rows, %llu edges, %llu merges of %llu; "
      "%s; packing %.1f",
      s->two_passes ? " light first" : "", (unsigned long long)s->all_chunks,
      (unsigned long long)s->whole, (unsigned long long)s->edges,
      (unsigned long long)s->ring.merges, (unsigned long long)s->ring.filter.shape.capacity,
      s->steps, 1e3 * s->pack_seconds);
}

/* Do two passes promise to be faster, at this rate of the bus? */
static bool pays_twice(const graph_stream *s, double bus_rate) {
  msf_rates rates = msf_expected_rates(s->context->threads, true);
  rates.bus_bytes = bus_rate;
  msf_estimate e = msf_estimate_times(&rates, s->graph->vertices, s->graph->arcs,
                                      s->packer.key_bytes, s->whole_rows != MSF_NEVER);
  return e.twice < 0.98 * e.cuda && e.twice < 0.98 * e.mixed;
}

/* Two passes are looked into unless it is known that they do not pay: it takes a millisecond. */
static void plan_passes(graph_stream *s, msf_choice two_passes) {
  const dzo_unit *unit = s->ring.unit;
  bool known = two_passes == MSF_BY_RATES && unit->bus_rate > 0;
  if (two_passes == MSF_NEVER || (known && !pays_twice(s, unit->bus_rate)))
    return;
  s->two_passes = msf_hybrid_plan(&s->hybrid, s->graph, s->packer.flip);
}

enum { MEASURABLE = 1 << 20 }; /* bytes of a slot whose way tells the rate of the bus */

/* What the ways come to, when the ring is open. */
static dzo_status decide(graph_stream *s, msf_stream_ways ways) {
  dzo_unit *unit = s->ring.unit;
  msf_rates rates = msf_expected_rates(s->context->threads, true);
  s->unit_seconds = 1 / rates.packed_arcs;
  bool by_rates = s->two_passes && ways.two_passes == MSF_BY_RATES;
  if (!by_rates && s->whole_rows != MSF_BY_RATES)
    return DZO_OK;
  if (unit->bus_rate <= 0 && s->ring.slot_bytes >= MEASURABLE)
    DZO_TRY(msf_ring_measure(&s->ring, &unit->bus_rate));
  s->bus_bytes = unit->bus_rate > 0 ? unit->bus_rate : rates.bus_bytes;
  if (by_rates)
    s->two_passes = pays_twice(s, s->bus_bytes);
  return DZO_OK;
}

static dzo_status run(graph_stream *s, msf_stream_ways ways, dzo_msf *out) {
  uint64_t units = 0;
  s->clock = dzo_clock();
  DZO_TRY(open_stream(s, &units));
  DZO_TRY(decide(s, ways));
  note(s, "open");
  DZO_TRY(s->two_passes ? send_twice(s, units) : send_pass(s, MSF_PACK_ALL, units));
  note(s, "send");
  DZO_TRY(take_forest(s, out));
  note(s, "result");
  bool shared = s->whole_rows == MSF_BY_RATES && s->whole < s->all_chunks;
  out->device = s->two_passes || shared ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
  tell_plan(s, out);
  return DZO_OK;
}

dzo_status msf_solve_in_ways(dzo_unit *unit, const dzo_graph *graph, bool maximum,
                             msf_stream_ways ways, dzo_msf *out) {
  graph_stream s = {.context = unit->context, .graph = graph};
  s.ring.unit = unit;
  s.packer = (msf_packer){.graph = graph,
                          .key_bytes = key_bytes_of(graph),
                          .lists = graph->row_order != DZO_ROWS_BY_NEIGHBOUR,
                          .scan = msf_scan_best()};
  s.packer.flip = !maximum ? 0 : graph->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  if (ways.whole_rows != MSF_NEVER && msf_is_pinned(unit, graph))
    s.whole_rows = ways.whole_rows;
  plan_passes(&s, ways.two_passes);
  dzo_status status = run(&s, ways, out);
  if (status != DZO_OK)
    msf_ring_abandon(&s.ring);
  dzo_belt_destroy(s.belt);
  dzo_free(s.packed);
  dzo_free(s.packer.decoded);
  return status;
}

dzo_status msf_solve_streamed(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  msf_stream_ways ways = {.two_passes = MSF_NEVER, .whole_rows = MSF_ALWAYS};
  return msf_solve_in_ways(unit, graph, maximum, ways, out);
}

dzo_status msf_solve_hybrid(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  msf_estimate e = msf_estimate_graph(unit->context, graph);
  msf_stream_ways ways = {.two_passes = MSF_BY_RATES, .whole_rows = MSF_BY_RATES};
  if (msf_fastest(&e) != DZO_DEVICE_CPU)
    return msf_solve_in_ways(unit, graph, maximum, ways, out);
  DZO_TRY(msf_solve_cpu(unit->context, graph, maximum, out));
  out->device = DZO_DEVICE_CPU;
  return DZO_OK;
}
