/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/seed.h"

#include <stdio.h>

#include "device/primitives.h"
#include "msf/arcs.cuh"
#include "msf/jump.cuh"

enum {
  THREADS = 256,
  WARP = 32,
  GROUP = 8,   /* lanes that search one short row */
  SHORT = 32,  /* rows of fewer arcs are short */
  PART = 1024, /* arcs of a part of a long row */
  WAVES = 16   /* blocks a multiprocessor, at most */
};

#define NO_VERTEX UINT32_MAX

/* Numbers that the host reads after each round. */
typedef struct seed_counts {
  uint64_t taken;      /* arcs of the forest so far */
  uint64_t components; /* after this round */
  uint64_t growing;    /* of those, the ones that found an arc in this round */
  uint32_t changed[3]; /* for msf_jump() */
} seed_counts;

/* Segments 0 .. n - 1 are the rows (empty where a row is long), those behind are parts of long
 * rows. All arrays are device memory. */
typedef struct seed_state {
  arc_reader reader;
  const uint64_t *offsets;
  uint32_t vertices;
  uint32_t segments;
  uint32_t *part_vertex; /* [segments - n] */
  uint64_t *part_end;    /* [segments - n] */
  uint64_t *cursor;      /* [segments] arcs before it stay inside the component; the end: all */
  uint64_t *found_key;   /* [segments] minimal arc that leaves the component */
  uint64_t *found_arc;   /* [segments] or ARC_NONE */
  uint32_t *found_to;    /* [segments] */
  uint32_t *component;   /* [n] of each vertex */
  uint64_t *best_key;    /* [n] of each component: the three parts of the order, one by one */
  uint64_t *best_ends;   /* [n] */
  uint64_t *best_arc;    /* [n] */
  uint32_t *hook;        /* [n] */
  uint32_t *flags;       /* [n + 1] */
  uint32_t *sums;        /* [n + 1] */
  void *scratch;
  uint64_t scratch_bytes;
  seed_counts *counts;
  uint64_t *arcs; /* the forest's */
} seed_state;

static __device__ __forceinline__ uint32_t thread_first() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t thread_stride() { return gridDim.x * blockDim.x; }

/* ---- Segments -------------------------------------------------------------------------------- */

static __global__ void seed_count_parts(seed_state s) {
  for (uint32_t v = thread_first(); v <= s.vertices; v += thread_stride()) {
    uint64_t degree = v < s.vertices ? s.offsets[v + 1] - s.offsets[v] : 0;
    s.flags[v] = degree > PART ? (uint32_t)((degree + PART - 1) / PART) : 0;
  }
}

static __global__ void seed_cut_rows(seed_state s) {
  for (uint32_t v = thread_first(); v < s.vertices; v += thread_stride()) {
    uint64_t begin = s.offsets[v], end = s.offsets[v + 1];
    s.component[v] = v;
    s.cursor[v] = s.flags[v] > 0 ? end : begin;
    for (uint32_t i = 0; i < s.flags[v]; i++) {
      uint32_t part = s.sums[v] + i;
      uint64_t stop = begin + (uint64_t)(i + 1) * PART;
      s.part_vertex[part] = v;
      s.part_end[part] = stop < end ? stop : end;
      s.cursor[s.vertices + part] = begin + (uint64_t)i * PART;
    }
  }
}

/* ---- Step 1: the minimum --------------------------------------------------------------------- */

typedef struct seed_arc {
  uint64_t key, arc; /* ordered so; for the arcs of one vertex this is the order of the forest */
  uint32_t to;
} seed_arc;

/* The least of WIDTH lanes side by side. */
template <int WIDTH> static __device__ __forceinline__ void seed_least(seed_arc *best) {
  for (int step = WIDTH / 2; step > 0; step /= 2) {
    uint64_t key = __shfl_xor_sync(DZO_WARP_ALL, best->key, step);
    uint64_t arc = __shfl_xor_sync(DZO_WARP_ALL, best->arc, step);
    uint32_t to = __shfl_xor_sync(DZO_WARP_ALL, best->to, step);
    if (key < best->key || (key == best->key && arc < best->arc)) {
      best->key = key;
      best->arc = arc;
      best->to = to;
    }
  }
}

/* The first of WIDTH lanes side by side that has an arc, as arcs ascend. */
template <int WIDTH> static __device__ __forceinline__ void seed_earliest(seed_arc *best) {
  unsigned have = __ballot_sync(DZO_WARP_ALL, best->arc != ARC_NONE);
  unsigned first = dzo_lane() & ~(unsigned)(WIDTH - 1);
  have = have >> first & (unsigned)((UINT64_C(1) << WIDTH) - 1);
  int from = have != 0 ? (int)first + __ffs((int)have) - 1 : (int)dzo_lane();
  best->key = __shfl_sync(DZO_WARP_ALL, best->key, from);
  best->arc = __shfl_sync(DZO_WARP_ALL, best->arc, from);
  best->to = __shfl_sync(DZO_WARP_ALL, best->to, from);
}

/* Offer an arc of a segment in component `home` to this lane's best; arcs come in order. */
template <bool SORTED>
static __device__ __forceinline__ void seed_look(const seed_state &s, uint32_t home, uint64_t arc,
                                                 uint32_t to, seed_arc *best) {
  if (best->arc != ARC_NONE && (SORTED || arc_key(s.reader, arc) >= best->key))
    return;
  if (__ldg(s.component + to) == home)
    return;
  best->key = arc_key(s.reader, arc);
  best->arc = arc;
  best->to = to;
}

/* The whole warp on one segment, 32 arcs a step. */
template <bool SORTED>
static __device__ __forceinline__ seed_arc seed_search_long(const seed_state &s, uint64_t begin,
                                                            uint64_t end, uint32_t home) {
  seed_arc best = {UINT64_MAX, ARC_NONE, NO_VERTEX};
  bool packed = s.reader.neighbours == NULL;
  uint64_t at = begin & ~(uint64_t)(WARP - 1);
  unsigned before = packed ? arc_warp_begin(s.reader, at) : 0;
  for (; at < end; at += WARP) {
    uint64_t arc = at + dzo_lane();
    uint32_t to = packed ? arc_warp_next(s.reader, at, &before) : 0;
    if (arc >= begin && arc < end)
      seed_look<SORTED>(s, home, arc, packed ? to : __ldg(s.reader.neighbours + arc), &best);
    if (SORTED && __any_sync(DZO_WARP_ALL, best.arc != ARC_NONE))
      break;
  }
  if (SORTED)
    seed_earliest<WARP>(&best);
  else
    seed_least<WARP>(&best);
  return best;
}

/* GROUP lanes on one segment; the other groups of the warp on theirs. */
template <bool SORTED>
static __device__ __forceinline__ seed_arc seed_search_short(const seed_state &s, uint64_t begin,
                                                             uint64_t end, uint32_t home) {
  seed_arc best = {UINT64_MAX, ARC_NONE, NO_VERTEX};
  unsigned group = dzo_lane() & ~(unsigned)(GROUP - 1);
  bool done = begin >= end;
  for (uint64_t at = begin; __any_sync(DZO_WARP_ALL, !done); at += GROUP) {
    uint64_t arc = at + (dzo_lane() & (GROUP - 1));
    if (!done && arc < end)
      seed_look<SORTED>(s, home, arc, arc_neighbour(s.reader, arc), &best);
    done = done || at + GROUP >= end;
    if (SORTED) {
      unsigned have = __ballot_sync(DZO_WARP_ALL, best.arc != ARC_NONE);
      done = done || (have >> group & ((1u << GROUP) - 1)) != 0;
    }
  }
  if (SORTED)
    seed_earliest<GROUP>(&best);
  else
    seed_least<GROUP>(&best);
  return best;
}

/* Each lane has a segment; the warp searches the short ones among them, four at a time, and then
 * the others one by one. */
template <bool SORTED>
static __device__ __forceinline__ seed_arc seed_search_32(const seed_state &s, uint64_t begin,
                                                          uint64_t end, uint32_t home) {
  seed_arc mine = {UINT64_MAX, ARC_NONE, NO_VERTEX};
  unsigned lane = dzo_lane(), bit = 1u << lane;
  unsigned waiting = __ballot_sync(DZO_WARP_ALL, begin < end && end - begin < SHORT);
  while (waiting != 0) {
    unsigned rest = waiting, taken = waiting;
    for (unsigned skipped = 0; skipped < lane / GROUP; skipped++)
      rest &= rest - 1;
    for (int group = 0; group < WARP / GROUP; group++)
      waiting &= waiting - 1;
    taken &= ~waiting;
    int row = rest != 0 ? __ffs((int)rest) - 1 : 0;
    uint64_t from = __shfl_sync(DZO_WARP_ALL, begin, row);
    uint64_t to = __shfl_sync(DZO_WARP_ALL, end, row);
    uint32_t there = __shfl_sync(DZO_WARP_ALL, home, row);
    seed_arc found = seed_search_short<SORTED>(s, from, rest != 0 ? to : from, there);
    int group = __popc(taken & dzo_lanes_below()) * GROUP;
    found.key = __shfl_sync(DZO_WARP_ALL, found.key, group & (WARP - 1));
    found.arc = __shfl_sync(DZO_WARP_ALL, found.arc, group & (WARP - 1));
    found.to = __shfl_sync(DZO_WARP_ALL, found.to, group & (WARP - 1));
    if ((taken & bit) != 0)
      mine = found;
  }
  waiting = __ballot_sync(DZO_WARP_ALL, begin < end && end - begin >= SHORT);
  for (; waiting != 0; waiting &= waiting - 1) {
    int row = __ffs((int)waiting) - 1;
    uint64_t from = __shfl_sync(DZO_WARP_ALL, begin, row);
    uint64_t to = __shfl_sync(DZO_WARP_ALL, end, row);
    seed_arc found = seed_search_long<SORTED>(s, from, to, __shfl_sync(DZO_WARP_ALL, home, row));
    if ((int)lane == row)
      mine = found;
  }
  return mine;
}

static __device__ __forceinline__ void seed_lower(uint64_t *least, uint64_t x) {
  if (x < dzo_load_shared(least))
    atomicMin((unsigned long long *)least, (unsigned long long)x);
}

static __device__ __forceinline__ uint32_t seed_vertex(const seed_state &s, uint32_t segment) {
  return segment < s.vertices ? segment : s.part_vertex[segment - s.vertices];
}

template <bool SORTED> static __global__ void seed_search(seed_state s) {
  for (uint32_t first = thread_first() & ~(WARP - 1u); first < s.segments;
       first += thread_stride()) {
    uint32_t segment = first + dzo_lane(), home = 0;
    uint64_t begin = 0, end = 0;
    if (segment < s.segments) {
      uint32_t v = seed_vertex(s, segment);
      home = s.component[v];
      begin = s.cursor[segment];
      end = segment < s.vertices ? s.offsets[v + 1] : s.part_end[segment - s.vertices];
    }
    seed_arc found = seed_search_32<SORTED>(s, begin, end, home);
    if (segment >= s.segments)
      continue;
    s.found_arc[segment] = found.arc;
    if (found.arc != ARC_NONE) {
      s.found_key[segment] = found.key;
      s.found_to[segment] = found.to;
      seed_lower(s.best_key + home, found.key);
    }
    if (found.arc == ARC_NONE || SORTED)
      s.cursor[segment] = found.arc == ARC_NONE ? end : found.arc;
  }
}

static __device__ __forceinline__ uint64_t seed_ends(uint32_t u, uint32_t v) {
  return u < v ? (uint64_t)u << 32 | v : (uint64_t)v << 32 | u;
}

/* Among the arcs of the least key of each component, the least endpoints ... */
static __global__ void seed_offer_ends(seed_state s) {
  for (uint32_t i = thread_first(); i < s.segments; i += thread_stride()) {
    if (s.found_arc[i] == ARC_NONE)
      continue;
    uint32_t v = seed_vertex(s, i), c = s.component[v];
    if (s.found_key[i] == s.best_key[c])
      seed_lower(s.best_ends + c, seed_ends(v, s.found_to[i]));
  }
}

/* ... and among those, parallel arcs from one vertex, the first. */
static __global__ void seed_offer_arc(seed_state s) {
  for (uint32_t i = thread_first(); i < s.segments; i += thread_stride()) {
    if (s.found_arc[i] == ARC_NONE)
      continue;
    uint32_t v = seed_vertex(s, i), c = s.component[v];
    if (s.found_key[i] == s.best_key[c] && seed_ends(v, s.found_to[i]) == s.best_ends[c])
      seed_lower(s.best_arc + c, s.found_arc[i]);
  }
}

static __global__ void seed_clear(seed_state s, uint32_t components) {
  for (uint32_t c = thread_first(); c < components; c += thread_stride()) {
    s.best_key[c] = UINT64_MAX;
    s.best_ends[c] = UINT64_MAX;
    s.best_arc[c] = ARC_NONE;
  }
  if (thread_first() == 0) {
    s.counts->growing = 0;
    s.counts->changed[0] = 0;
  }
}

/* Each component hooks to the one that its arc leads to. */
static __global__ void seed_hook(seed_state s, uint32_t components) {
  for (uint32_t c = thread_first(); c < components; c += thread_stride()) {
    uint32_t to = c;
    if (s.best_arc[c] != ARC_NONE) {
      uint64_t ends = s.best_ends[c];
      uint32_t a = s.component[(uint32_t)(ends >> 32)], b = s.component[(uint32_t)ends];
      to = a ^ b ^ c;
    }
    s.hook[c] = to;
  }
}

/* ---- Step 2: cycles -------------------------------------------------------------------------- */

/* Two components that chose each other chose the same edge, as the order is strict; the smaller
 * becomes a root. All others take their arcs. */
static __global__ void seed_cut_cycles(seed_state s, uint32_t components) {
  for (uint32_t first = thread_first() & ~(WARP - 1u); first < components;
       first += thread_stride()) {
    uint32_t c = first + dzo_lane();
    bool take = false, root = false;
    if (c < components) {
      uint32_t to = dzo_load_shared(s.hook + c);
      root = to != c && c < to && dzo_load_shared(s.hook + to) == c;
      take = to != c && !root;
      if (root)
        dzo_store_shared(s.hook + c, c);
    }
    unsigned takers = __ballot_sync(DZO_WARP_ALL, take);
    unsigned roots = __ballot_sync(DZO_WARP_ALL, root);
    unsigned long long at = 0;
    if (dzo_lane() == 0 && takers != 0)
      at = atomicAdd((unsigned long long *)&s.counts->taken, (unsigned long long)__popc(takers));
    if (dzo_lane() == 0 && roots != 0)
      atomicAdd((unsigned long long *)&s.counts->growing, (unsigned long long)__popc(roots));
    at = __shfl_sync(DZO_WARP_ALL, at, 0);
    if (take)
      s.arcs[at + (unsigned)__popc(takers & dzo_lanes_below())] = s.best_arc[c];
  }
}

/* ---- Step 4: new numbers --------------------------------------------------------------------- */

static __global__ void seed_flag_roots(seed_state s, uint32_t components) {
  for (uint32_t c = thread_first(); c <= components; c += thread_stride())
    s.flags[c] = c < components && s.hook[c] == c;
}

static __global__ void seed_renumber(seed_state s, uint32_t components) {
  for (uint32_t v = thread_first(); v < s.vertices; v += thread_stride())
    s.component[v] = __ldg(s.sums + __ldg(s.hook + s.component[v]));
  if (thread_first() == 0)
    s.counts->components = s.sums[components];
}

/* ---- Workspace ------------------------------------------------------------------------------- */

/* Parts of long rows: each has at least PART / 2 arcs on average. */
static uint64_t most_parts(const msf_gpu_graph *graph) { return graph->arcs / (PART / 2) + 1; }

/* The next array of a block; with a NULL block, only counts. */
static void *carve(char *block, uint64_t *used, uint64_t count, uint64_t size) {
  void *at = block == NULL ? NULL : block + *used;
  *used += (count * size + 255) / 256 * 256;
  return at;
}

static uint64_t lay_out(dzo_unit *unit, const msf_gpu_graph *graph, char *block, seed_state *s) {
  uint64_t n = graph->vertices, parts = most_parts(graph), segments = n + parts, used = 0;
  s->part_vertex = (uint32_t *)carve(block, &used, parts, sizeof(uint32_t));
  s->part_end = (uint64_t *)carve(block, &used, parts, sizeof(uint64_t));
  s->cursor = (uint64_t *)carve(block, &used, segments, sizeof(uint64_t));
  s->found_key = (uint64_t *)carve(block, &used, segments, sizeof(uint64_t));
  s->found_arc = (uint64_t *)carve(block, &used, segments, sizeof(uint64_t));
  s->found_to = (uint32_t *)carve(block, &used, segments, sizeof(uint32_t));
  s->component = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->best_key = (uint64_t *)carve(block, &used, n, sizeof(uint64_t));
  s->best_ends = (uint64_t *)carve(block, &used, n, sizeof(uint64_t));
  s->best_arc = (uint64_t *)carve(block, &used, n, sizeof(uint64_t));
  s->hook = (uint32_t *)carve(block, &used, n, sizeof(uint32_t));
  s->flags = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->sums = (uint32_t *)carve(block, &used, n + 1, sizeof(uint32_t));
  s->counts = (seed_counts *)carve(block, &used, 1, sizeof(seed_counts));
  s->scratch_bytes = dzo_gpu_sum_bytes(unit, n + 1);
  s->scratch = carve(block, &used, s->scratch_bytes, 1);
  return used;
}

/* ---- The rounds ------------------------------------------------------------------------------ */

enum { STEPS = 4, FIRST_MARK = 16 };

typedef struct seed_run {
  dzo_unit *unit;
  seed_state s;
  bool sorted;
  bool timed;
  unsigned rounds;
  double spent[STEPS]; /* ms */
} seed_run;

static unsigned blocks_for(const dzo_unit *unit, uint64_t threads) {
  uint64_t blocks = (threads + THREADS - 1) / THREADS;
  uint64_t most = (uint64_t)unit->processors * WAVES;
  return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* The end of step `step` of a round; step -1 is its beginning. */
static dzo_status mark_step(const seed_run *r, int step) {
  return r->timed ? dzo_unit_mark(r->unit, 0, FIRST_MARK + 1 + step) : DZO_OK;
}

static dzo_status add_times(seed_run *r) {
  for (int step = 0; r->timed && step < STEPS; step++) {
    double ms;
    DZO_TRY(dzo_unit_elapsed(r->unit, FIRST_MARK + step, FIRST_MARK + 1 + step, &ms));
    r->spent[step] += ms;
  }
  return DZO_OK;
}

static dzo_status cut_rows(seed_run *r) {
  dzo_unit *unit = r->unit;
  seed_state *s = &r->s;
  uint32_t n = s->vertices, parts = 0;
  DZO_TRY(dzo_unit_fill(unit, 0, s->counts, 0, sizeof *s->counts));
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_count_parts, blocks_for(unit, (uint64_t)n + 1), THREADS, *s));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, s->scratch, s->scratch_bytes, s->flags, s->sums,
                                    (uint64_t)n + 1));
  DZO_TRY(dzo_unit_copy(unit, 0, &parts, s->sums + n, sizeof parts));
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_cut_rows, blocks_for(unit, n), THREADS, *s));
  DZO_TRY(dzo_unit_wait(unit, 0));
  s->segments = n + parts;
  return DZO_OK;
}

static dzo_status find_minima(seed_run *r, uint32_t components) {
  dzo_unit *unit = r->unit;
  const seed_state &s = r->s;
  unsigned each_component = blocks_for(unit, components);
  unsigned each_segment = blocks_for(unit, s.segments);
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_clear, each_component, THREADS, s, components));
  if (r->sorted)
    DZO_TRY(DZO_LAUNCH(unit, 0, seed_search<true>, each_segment, THREADS, s));
  else
    DZO_TRY(DZO_LAUNCH(unit, 0, seed_search<false>, each_segment, THREADS, s));
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_offer_ends, each_segment, THREADS, s));
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_offer_arc, each_segment, THREADS, s));
  return DZO_LAUNCH(unit, 0, seed_hook, each_component, THREADS, s, components);
}

static dzo_status merge(seed_run *r, uint32_t components) {
  unsigned most = DZO_RESIDENT_BLOCKS(r->unit, msf_jump, THREADS);
  unsigned blocks = blocks_for(r->unit, components);
  return DZO_LAUNCH_TOGETHER(r->unit, 0, msf_jump, blocks < most ? blocks : most, THREADS,
                             r->s.hook, components, r->s.counts->changed);
}

static dzo_status renumber(seed_run *r, uint32_t components) {
  dzo_unit *unit = r->unit;
  const seed_state &s = r->s;
  uint64_t count = (uint64_t)components + 1;
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_flag_roots, blocks_for(unit, count), THREADS, s, components));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, s.scratch, s.scratch_bytes, s.flags, s.sums, count));
  return DZO_LAUNCH(unit, 0, seed_renumber, blocks_for(unit, s.vertices), THREADS, s, components);
}

/* One round; *counts is what it came to. */
static dzo_status run_round(seed_run *r, uint32_t components, seed_counts *counts) {
  dzo_unit *unit = r->unit;
  DZO_TRY(mark_step(r, -1));
  DZO_TRY(find_minima(r, components));
  DZO_TRY(mark_step(r, 0));
  DZO_TRY(DZO_LAUNCH(unit, 0, seed_cut_cycles, blocks_for(unit, components), THREADS, r->s,
                     components));
  DZO_TRY(mark_step(r, 1));
  DZO_TRY(merge(r, components));
  DZO_TRY(mark_step(r, 2));
  DZO_TRY(renumber(r, components));
  DZO_TRY(mark_step(r, 3));
  DZO_TRY(dzo_unit_copy(unit, 0, counts, r->s.counts, sizeof *counts));
  DZO_TRY(dzo_unit_wait(unit, 0));
  r->rounds++;
  return add_times(r);
}

/* Rounds until at most one component is left that has an arc out; that one cannot be. */
static dzo_status run_rounds(seed_run *r, msf_gpu_forest *forest) {
  uint32_t components = r->s.vertices;
  seed_counts counts;
  do {
    DZO_TRY(run_round(r, components, &counts));
    components = (uint32_t)counts.components;
  } while (counts.growing > 1);
  forest->count = counts.taken;
  forest->components = components;
  if (forest->labels == NULL)
    return DZO_OK;
  DZO_TRY(dzo_unit_copy(r->unit, 0, forest->labels, r->s.component,
                        (uint64_t)r->s.vertices * sizeof *r->s.component));
  return dzo_unit_wait(r->unit, 0);
}

static void write_plan(const seed_run *r, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  const char *rows = r->sorted ? "sorted rows" : "rows";
  const char *kind = graph->neighbours == NULL ? ", compressed" : "";
  int used =
      snprintf(forest->plan, sizeof forest->plan, "2015: %s%s, %u rounds", rows, kind, r->rounds);
  if (r->timed)
    snprintf(forest->plan + used, sizeof forest->plan - (size_t)used,
             ", minimum %.3f, cycles %.3f, merge %.3f, renumber %.3f", r->spent[0], r->spent[1],
             r->spent[2], r->spent[3]);
}

dzo_status msf_seed_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  forest->count = 0;
  forest->components = 0;
  forest->plan[0] = '\0';
  if (graph->vertices >= UINT32_C(1) << 30 || graph->arcs >= UINT64_C(1) << 36)
    return dzo_fail(unit->context, DZO_E_UNSUPPORTED,
                    "the GPU takes fewer than 2^30 vertices and 2^36 arcs");
  if (graph->vertices == 0)
    return DZO_OK;
  seed_run r = {};
  r.unit = unit;
  r.sorted = graph->presorted && !graph->maximum;
  r.timed = forest->timed;
  void *block;
  DZO_TRY(dzo_unit_workspace(unit, lay_out(unit, graph, NULL, &r.s), &block));
  lay_out(unit, graph, (char *)block, &r.s);
  r.s.reader = arc_reader_of(graph);
  r.s.offsets = graph->offsets;
  r.s.vertices = graph->vertices;
  r.s.arcs = forest->arcs;
  DZO_TRY(cut_rows(&r));
  DZO_TRY(run_rounds(&r, forest));
  write_plan(&r, graph, forest);
  return DZO_OK;
}

dzo_status msf_seed_solve_host(dzo_unit *unit, const dzo_graph *graph, bool maximum,
                               msf_gpu_forest *forest) {
  if (graph->vertices >= UINT32_C(1) << 30)
    return dzo_fail(unit->context, DZO_E_UNSUPPORTED, "the GPU takes fewer than 2^30 vertices");
  msf_gpu_graph g = {};
  g.vertices = (uint32_t)graph->vertices;
  g.arcs = graph->arcs;
  g.neighbours = graph->neighbours;
  g.compressed = graph->compressed;
  g.keys = graph->keys32 != NULL ? (const void *)graph->keys32 : graph->keys64;
  g.key_type = graph->keys32 != NULL   ? MSF_KEY_U32
               : graph->keys64 != NULL ? MSF_KEY_U64
                                       : MSF_KEY_NONE;
  g.presorted = graph->row_order == DZO_ROWS_BY_WEIGHT;
  g.maximum = maximum;
  void *offsets;
  DZO_TRY(dzo_unit_allocate(unit, graph->vertices + 1, sizeof *graph->offsets, &offsets));
  dzo_status status = dzo_unit_copy(unit, 0, offsets, graph->offsets,
                                    (graph->vertices + 1) * sizeof *graph->offsets);
  g.offsets = (const uint64_t *)offsets;
  if (status == DZO_OK)
    status = msf_seed_solve(unit, &g, forest);
  dzo_unit_release(unit, offsets);
  return status;
}
