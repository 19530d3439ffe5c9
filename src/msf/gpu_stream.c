/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A graph in host memory, streamed to the GPU: threads pack chunks, the calling thread sends them.
 */
#include "msf/gpu_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "device/transfer.h"
#include "msf/cpu.h"
#include "msf/gpu_forest.h"
#include "msf/gpu_numbers.h"
#include "msf/hybrid.h"
#include "split/belt.h"

typedef struct graph_stream {
  dzo_context *context;
  const dzo_graph *graph;
  dzo_msf *out;
  msf_ring ring;
  msf_packer packer;
  msf_hybrid hybrid;
  bool two_passes;       /* light edges, then what is outside the giant */
  bool twice_open;       /* there is memory for that */
  msf_packed *packed;    /* [slots] */
  dzo_belt *belt;        /* of the pass that runs */
  uint64_t chunks;       /* of it */
  uint64_t base;         /* the ring's number of its first chunk */
  bool overflow;         /* it sent less than it should: a slot was too short */
  uint64_t units;        /* sent in it */
  bool early;            /* the early merge is still to come */
  uint64_t edges;        /* sent, in all passes */
  uint64_t all_chunks;   /* likewise */
  double pack_seconds;   /* of all threads */
  msf_choice whole_rows; /* of a graph in memory that the bus may fetch them from */
  double part;           /* then: of all rows and arcs, threads may pack the last so large part */
  msf_ends ends;
  uint64_t whole;      /* chunks of whole rows sent */
  uint64_t looking;    /* some threads are to look numbers up, accessed atomically */
  msf_numbers numbers; /* looked up before the end */
  uint64_t early_numbers;
  double clock;    /* when the step that runs began */
  char steps[128]; /* done, and their milliseconds */
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

/* Do the bus and the threads share the rows of the pass that runs? */
static bool by_rows(const graph_stream *s) {
  return s->whole_rows != MSF_NEVER && s->packer.packing == MSF_PACK_ALL;
}

static msf_packed *packed_at(const graph_stream *s, uint64_t chunk) {
  return &s->packed[(s->base + chunk) % s->ring.slots];
}

/* Chunk `chunk` of the belt. */
static void pack_chunk(graph_stream *s, uint64_t chunk, int thread) {
  msf_pack(&s->packer, chunk, thread, msf_ring_slot(&s->ring, s->base + chunk),
           packed_at(s, chunk));
  dzo_belt_made(s->belt, chunk);
}

/* The part of all edges that was sent in this pass, if vertices have no order: the later a row, the
 * fewer of its arcs lead upwards. */
static double seen(const graph_stream *s) {
  if (by_rows(s))
    return msf_ends_seen(&s->ends);
  double rest = 1 - (double)s->units / (double)(s->graph->arcs + s->graph->vertices);
  return 1 - rest * rest;
}

/* Do threads pack as much as they can? */
static bool shares_all(const graph_stream *s) { return by_rows(s) && s->part > 0.5; }

/* Where they do, and there is GPU memory for few merges, edge numbers are looked up from the middle
 * on, by most threads, since all are busy to the end. */
static bool looks_soon(const graph_stream *s) { return shares_all(s) && !s->ring.is_short; }

/* Will most of the forest stay? */
static bool is_late(const graph_stream *s) {
  return s->packer.packing != MSF_PACK_LIGHT && seen(s) > (looks_soon(s) ? 0.45 : 0.55);
}

/* Until copies have left their slots; the GPU must not wait for this thread meanwhile. */
static dzo_status release_slots(graph_stream *s) {
  while (!msf_ring_left(&s->ring)) {
    DZO_TRY(msf_ring_go_on(&s->ring));
    DZO_TRY(msf_numbers_go_on(&s->numbers, is_late(s)));
  }
  DZO_TRY(msf_ring_reclaim(&s->ring));
  if (by_rows(s)) {
    msf_ends_release(&s->ends, msf_ring_released(&s->ring));
    return DZO_OK;
  }
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

/* A merge that runs while the last edges are sent leaves little for the one that all wait for, and
 * numbers can be looked up meanwhile. */
static void merge_early(graph_stream *s) {
  double part = looks_soon(s) ? 0.5 : by_rows(s) && s->part > 0 ? 0.8 : 0.88;
  if (!s->early || seen(s) < part)
    return;
  msf_ring_merge_soon(&s->ring);
  dzo_store_u64(&s->looking, 1);
  s->early = false;
}

/* Chunks on their way at most, behind this one; few, so that threads learn soon which slots are
 * free, and what they packed need not wait. */
static uint64_t chunks_ahead(const graph_stream *s, const msf_packed *packed) {
  enum { WHOLE = 2, PACKED = MSF_GROUPS - 2 };
  return !by_rows(s) ? s->ring.slots / 2 : packed->whole != NULL && shares_all(s) ? WHOLE : PACKED;
}

static dzo_status send_one(graph_stream *s, const msf_packed *packed) {
  bool is_second = s->packer.packing != MSF_PACK_LIGHT && s->two_passes;
  s->overflow = packed->overflow;
  if (s->overflow && s->packer.packing == MSF_PACK_ALL)
    return dzo_fail(s->context, DZO_E_UNSUPPORTED, "a vertex has 2^32 arcs or more");
  if (s->overflow)
    return DZO_OK;
  s->edges += packed->edges;
  s->pack_seconds += packed->seconds;
  s->whole += packed->whole != NULL;
  s->units += packed->units;
  DZO_TRY(msf_ring_submit(&s->ring, packed));
  while (s->ring.submitted - msf_ring_released(&s->ring) > chunks_ahead(s, packed))
    DZO_TRY(release_slots(s));
  merge_early(s);
  DZO_TRY(msf_numbers_go_on(&s->numbers, is_late(s)));
  uint64_t all = s->graph->arcs + s->graph->vertices;
  if (s->all_chunks++ % 4 == 0)
    return dzo_progress(s->context, "solve", s->units + (is_second ? all : 0),
                        all * (s->two_passes ? 2 : 1));
  return DZO_OK;
}

static dzo_status send_chunks(graph_stream *s) {
  for (uint64_t chunk = 0; chunk < s->chunks; chunk++) {
    DZO_TRY(await_chunk(s, chunk));
    DZO_TRY(send_one(s, packed_at(s, chunk)));
    if (s->overflow)
      return DZO_OK;
  }
  return DZO_OK;
}

static dzo_status send_rows(graph_stream *s) {
  msf_packed packed;
  while (msf_ends_next(&s->ends, s->ring.submitted, &packed))
    DZO_TRY(send_one(s, &packed));
  return DZO_OK;
}

/* Is a thread to look numbers up from now on, whatever there is to pack? */
static bool is_to_look(graph_stream *s, int thread, int threads) {
  int looking = looks_soon(s) ? threads * 5 / 8 : (threads + 3) / 4;
  return thread <= looking && dzo_load_u64(&s->looking) != 0;
}

/* Until the bus and the threads meet; some look numbers up when most edges were sent. */
static void pack_rows(graph_stream *s, int thread, int threads) {
  msf_forest_touch(s->out, thread - 1, threads - 1);
  while (s->part > 0 && !is_to_look(s, thread, threads) && msf_ends_pack(&s->ends, thread))
    continue;
}

static void work(void *argument, int thread, int threads) {
  graph_stream *s = argument;
  if (thread == 0) {
    s->status = by_rows(s) ? send_rows(s) : send_chunks(s);
    dzo_belt_stop(by_rows(s) ? s->ends.belt : s->belt);
    msf_numbers_stop(&s->numbers);
    return;
  }
  uint64_t chunk;
  if (by_rows(s))
    pack_rows(s, thread, threads);
  else
    while (dzo_belt_claim(s->belt, &chunk))
      pack_chunk(s, chunk, thread);
  /* Looks are all over the memory, which the bus reads, too: more threads would slow it down. */
  if (thread <= threads / 2)
    msf_numbers_work(&s->numbers);
}

static uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/* Staging memory behind the ring's: for two passes, for numbers, and for both ends. */
static uint64_t extra_bytes(const graph_stream *s, uint64_t units) {
  uint64_t hybrid = s->two_passes ? rounded(msf_hybrid_bytes(s->graph)) : 0;
  return hybrid + rounded(msf_numbers_bytes(s->graph)) +
         msf_ends_bytes(&s->packer, units, s->part, s->context->threads);
}

static void *extra_of(const graph_stream *s) {
  return (char *)s->ring.extra + (s->twice_open ? rounded(msf_hybrid_bytes(s->graph)) : 0);
}

static dzo_status open_rows(graph_stream *s) {
  if (s->ring.filter.loose || s->ring.merges > 0)
    s->part = 0; /* light edges went before, from one end */
  s->ring.filter.both_ends = s->part > 0;
  char *memory = (char *)extra_of(s) + rounded(msf_numbers_bytes(s->graph));
  msf_ends_close(&s->ends);
  return msf_ends_open(&s->ends, s->context, &s->packer, s->part, memory);
}

/* One pass over the graph, in chunks of `units`. */
static dzo_status send_pass(graph_stream *s, msf_packing packing, uint64_t units) {
  uint64_t count;
  DZO_TRY(msf_ring_settle(&s->ring, &count));
  s->packer.packing = packing;
  s->packer.units = units;
  s->chunks = msf_packer_chunks(&s->packer);
  s->base = s->ring.submitted;
  s->overflow = false;
  s->units = 0;
  s->early = packing == MSF_PACK_ALL && s->chunks >= 64;
  if (by_rows(s))
    DZO_TRY(open_rows(s));
  if (by_rows(s))
    DZO_TRY(msf_forest_room(s->context, s->out));
  if (packing != MSF_PACK_LIGHT)
    DZO_TRY(msf_numbers_open(&s->numbers, &s->ring, s->graph, extra_of(s)));
  if (!by_rows(s))
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

static void touch_part(void *argument, int thread, int threads) {
  msf_forest_touch(((graph_stream *)argument)->out, thread, threads);
}

/* Memory for the result: fresh pages are touched while the GPU merges, or, by threads that have
 * little to pack, before. */
static dzo_status make_room(graph_stream *s) {
  bool have = s->out->edges != NULL;
  DZO_TRY(msf_forest_room(s->context, s->out));
  if (!have)
    dzo_team_run(s->context->threads, touch_part, s);
  return DZO_OK;
}

static dzo_status take_forest(graph_stream *s, dzo_msf *out) {
  DZO_TRY(msf_ring_merge(&s->ring));
  DZO_TRY(make_room(s));
  DZO_TRY(msf_forest_count(&s->ring, out));
  note(s, "merge");
  s->early_numbers = s->ring.filter.numbered;
  msf_found found;
  DZO_TRY(msf_forest_find(&s->ring, s->graph, out->count, &found));
  note(s, "numbers");
  return msf_forest_fetch(&s->ring, s->graph, &found, out);
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
                          .whole = s->whole_rows != MSF_NEVER && !s->two_passes,
                          .key_bytes = s->packer.key_bytes,
                          .lists = s->packer.lists,
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
  shape.extra = extra_bytes(s, shape.units);
  DZO_TRY(msf_ring_open(&s->ring, s->ring.unit, &shape));
  DZO_TRY(msf_filter_vertices(&s->ring.filter, g->vertices));
  *units = shape.units;
  s->packer.list_edges = msf_slot_list_edges(s->ring.slot_bytes, s->packer.key_bytes);
  s->twice_open = s->two_passes;
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
      "%llu numbers before the end; %s; packing %.1f",
      s->two_passes ? " light first" : "", (unsigned long long)s->all_chunks,
      (unsigned long long)s->whole, (unsigned long long)s->edges,
      (unsigned long long)s->ring.merges, (unsigned long long)s->ring.filter.shape.capacity,
      (unsigned long long)s->early_numbers, s->steps, 1e3 * s->pack_seconds);
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

enum { KEYS_LOOKED_AT = 1024 };
#define EQUAL_KEYS 0.02

/* Are two edges likely to be of equal key? From both ends, many ties are left to the merges. */
static bool are_keys_few(const dzo_graph *g) {
  uint64_t keys[KEYS_LOOKED_AT], equal = 0, run = 0;
  if (g->keys32 == NULL && g->keys64 == NULL)
    return true;
  for (uint64_t i = 0; i < KEYS_LOOKED_AT; i++)
    keys[i] = dzo_arc_key(g, dzo_random_word(g->arcs, i) % g->arcs);
  qsort(keys, KEYS_LOOKED_AT, sizeof *keys, compare_keys);
  for (uint64_t i = 1; i < KEYS_LOOKED_AT; i++) {
    run = keys[i] == keys[i - 1] ? run + 1 : 0;
    equal += 2 * run;
  }
  return (double)equal > EQUAL_KEYS * KEYS_LOOKED_AT * KEYS_LOOKED_AT;
}

static double bus_rate(const dzo_unit *unit) {
  return unit->bus_rate > 0 ? unit->bus_rate : msf_expected_rates(1, true).bus_bytes;
}

/* So many of the last rows and arcs are left to the threads even where the GPU is to solve, and the
 * bus: of them, one arc in ten leads upwards where vertices have no order. More of them where the
 * GPU has so little memory that what arrives has to wait for merges. */
#define LEAST_PACKED 0.2
#define LEAST_PACKED_SHORT 0.35

/* What threads are to pack of a graph in pinned memory. */
static void plan_ends(graph_stream *s, const msf_stream_ways *ways) {
  const dzo_graph *g = s->graph;
  double bytes = (double)g->arcs * (4.0 + s->packer.key_bytes);
  double seconds = bytes / bus_rate(s->ring.unit);
  if (s->whole_rows == MSF_NEVER || ways->both_ends == MSF_NEVER || g->arcs == 0)
    return;
  bool worth = msf_ends_time(1, seconds) < seconds && !are_keys_few(g);
  bool is_short =
      bytes > (double)(dzo_unit_available(s->ring.unit) + s->ring.unit->workspace_bytes);
  if (ways->both_ends == MSF_ALWAYS)
    s->part = ways->part;
  else if (worth)
    s->part = s->whole_rows != MSF_ALWAYS ? 1 : is_short ? LEAST_PACKED_SHORT : LEAST_PACKED;
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
  bool by_rates = s->two_passes && ways.two_passes == MSF_BY_RATES;
  if (!by_rates && s->whole_rows != MSF_BY_RATES)
    return DZO_OK;
  if (unit->bus_rate <= 0 && s->ring.slot_bytes >= MEASURABLE)
    DZO_TRY(msf_ring_measure(&s->ring, &unit->bus_rate));
  if (by_rates)
    s->two_passes = pays_twice(s, bus_rate(unit));
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
  graph_stream s = {.context = unit->context, .graph = graph, .out = out};
  s.ring.unit = unit;
  s.packer = (msf_packer){.graph = graph,
                          .key_bytes = key_bytes_of(graph),
                          .lists = graph->row_order != DZO_ROWS_BY_NEIGHBOUR,
                          .scan = msf_scan_best()};
  s.packer.flip = !maximum ? 0 : graph->keys64 != NULL ? UINT64_MAX : UINT32_MAX;
  if (ways.whole_rows != MSF_NEVER && msf_is_pinned(unit, graph))
    s.whole_rows = ways.whole_rows;
  plan_passes(&s, ways.two_passes);
  plan_ends(&s, &ways);
  dzo_status status = run(&s, ways, out);
  if (status != DZO_OK)
    msf_ring_abandon(&s.ring);
  dzo_belt_destroy(s.belt);
  msf_numbers_close(&s.numbers);
  msf_ends_close(&s.ends);
  dzo_free(s.packed);
  dzo_free(s.packer.decoded);
  return status;
}

dzo_status msf_solve_streamed(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  msf_stream_ways ways = {
      .two_passes = MSF_NEVER, .whole_rows = MSF_ALWAYS, .both_ends = MSF_BY_RATES};
  return msf_solve_in_ways(unit, graph, maximum, ways, out);
}

dzo_status msf_solve_hybrid(dzo_unit *unit, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  msf_estimate e = msf_estimate_graph(unit->context, graph);
  msf_stream_ways ways = {
      .two_passes = MSF_BY_RATES, .whole_rows = MSF_BY_RATES, .both_ends = MSF_BY_RATES};
  if (msf_fastest(&e) != DZO_DEVICE_CPU)
    return msf_solve_in_ways(unit, graph, maximum, ways, out);
  DZO_TRY(msf_solve_cpu(unit->context, graph, maximum, out));
  out->device = DZO_DEVICE_CPU;
  return DZO_OK;
}
