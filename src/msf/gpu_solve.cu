/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The minimum spanning forest of a graph in device memory: the plan, the workspace, the launches.
 * Steps hand over in device memory; the host reads the control block once, at the end.
 *
 *   prepare   sample: which edges are light              (gpu_threshold.cuh)
 *   extract   one pass over the arcs: picks, light edges (gpu_extract.cuh, gpu_presorted.cuh)
 *   pick      vertices without a light arc               (gpu_round.cuh)
 *   hook      round one                                  (gpu_round.cuh)
 *   light     rounds on the light edges                  (gpu_rounds.cuh, gpu_boruvka.cuh)
 *   label     components of vertices, order of the scan  (gpu_label.cuh)
 *   scan      arcs that still lead out                   (gpu_scan.cuh)
 *   rest      rounds on these                            (gpu_boruvka.cuh) */
#include "msf/gpu_solve.h"

#include <stdio.h>
#include <string.h>

#include "msf/gpu_boruvka.cuh"
#include "msf/gpu_extract.cuh"
#include "msf/gpu_presorted.cuh"
#include "msf/gpu_scan.cuh"
#include "msf/gpu_short.cuh"
#include "msf/gpu_threshold.cuh"

/* Measured on R-MAT, SSCA2 and uniform graphs of degree 32: see docs/spanning-forest.md. */
static const double LIGHT_EDGES_PER_VERTEX = 1.5;
/* Where rows are sorted by weight, light edges cost less. */
static const double LIGHT_EDGES_WHERE_SORTED = 1.75;
/* Those in the first of their parts, in the first two. */
static const double FIRST_EDGES_PER_VERTEX[] = {0.3, 0.7};
/* So many where after the light ones too many edges are left. */
static const double MORE_LIGHT_EDGES_PER_VERTEX = 4;
/* What is promised of the workspace, beside MOST_WASTE; vertices take BYTES_OF_VERTEX of it. */
static const double MOST_BYTES_OF_VERTEX = 24, MOST_BYTES_OF_EDGE = 16;
/* Where that was too little, the list has room for so much more. */
static const double ROOMY = 1.5;
/* With no more edges a vertex all are taken at once. */
static const double FEW_EDGES_PER_VERTEX = 2.5;

enum {
  FEW_VERTICES = 3 << 19, /* whose light edges are merged at once: rounds are not worth more */
  SMALL = 1 << 16,        /* arcs of a graph whose edges are all taken at once */
  MOST_SUPERTILES = 20000,
  LEAST_SUPER = 10,
  MOST_SUPER = 15,
  LEAST_IN_SUPER = 128, /* light edges expected of a supertile, lest pages stay empty */
  MOST_WARPS = 10240,   /* of any kernel that writes a list */
  MOST_CHUNK = 4,
  BYTES_OF_VERTEX = 22,
  BYTES_OF_PAGE = 14, /* beside its entries */
  BYTES_OF_SUPER = 76,
  MOST_WASTE = 1 << 23, /* bytes of pages that may stay empty beyond that */
  STEPS = 8,            /* of a timed run */
  FEW_PAGES = 1 << 14,  /* of which each warp takes one at a time */
  SLACK = 64            /* elements behind arrays */
};

typedef struct solve {
  dzo_unit *unit;
  const msf_gpu_graph *graph;
  msf_gpu_tuning tuning;
  msf_gpu_forest *forest;
  msf_work work;
  bool everything;
  bool labelled;        /* work.label holds components of the list so far */
  msf_control *control; /* read back */
  bool *too_many;       /* unless NULL: set it rather than work in phases */
  int marks;
} solve;

/* ---- The plan -------------------------------------------------------------------------------- */

static bool wide_keys(msf_key_type type) {
  return type == MSF_KEY_U64 || type == MSF_KEY_I64 || type == MSF_KEY_F64;
}

static void plan_keys(msf_work *w, const msf_gpu_graph *graph) {
  int bits = wide_keys(graph->key_type) ? 64 : 32;
  u64 all = MSF_NEVER >> (64 - bits), top = 1ull << (bits - 1);
  w->keys = graph->key_type == MSF_KEY_NONE ? NULL : graph->keys;
  w->real = graph->key_type == MSF_KEY_F32 || graph->key_type == MSF_KEY_F64;
  w->negative = w->real ? all ^ top : 0;
  w->flip = w->real || graph->key_type == MSF_KEY_I64 ? top : 0;
  if (graph->maximum && w->keys != NULL)
    w->flip ^= all;
  w->mapped = w->real || w->flip != 0;
  w->aligned = w->keys != NULL && (uintptr_t)w->keys % 16 == 0;
}

static int plan_super(const msf_work *w, const msf_gpu_tuning *tuning) {
  if (tuning->super_log != 0)
    return tuning->super_log;
  double arcs_per_edge = w->light > 0 ? (double)w->arcs / (w->light * w->n) : 2;
  int log = LEAST_SUPER;
  while (log < MOST_SUPER && (double)(1 << log) / arcs_per_edge < LEAST_IN_SUPER)
    log++;
  while (w->arcs >> log > MOST_SUPERTILES)
    log++;
  return log;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Pages that the promise leaves for the list. It is enough: what vertices pick is not listed, and
 * pays for what stays empty and for a sample's error. */
static uint64_t promised_pages(const msf_work *w, double entry, double page) {
  double edges = w->light > 0 ? w->light * w->n : 0.5 * (double)w->arcs;
  double bytes = (MOST_BYTES_OF_VERTEX - BYTES_OF_VERTEX) * w->n + entry * edges -
                 (double)BYTES_OF_SUPER * w->supertiles;
  return bytes > 0 ? (uint64_t)(bytes / page) + 1 : 1;
}

static void plan_list(msf_work *w, const msf_gpu_tuning *tuning, bool wide) {
  double entry = MOST_BYTES_OF_EDGE + (wide ? sizeof(u32) : 0);
  double page = MSF_PAGE * entry + BYTES_OF_PAGE;
  uint64_t pages = promised_pages(w, entry, page), waste;
  if (tuning->roomy)
    pages = (uint64_t)(ROOMY * (double)pages);
  if (tuning->capacity != 0) /* one vertex's edges of equal weight have to fit */
    pages = (tuning->capacity > w->n ? tuning->capacity : w->n) / MSF_PAGE + 1;
  w->chunk = (u32)least_of(pages / FEW_PAGES + 1, MOST_CHUNK);
  waste = MSF_PARTS * (uint64_t)w->supertiles + w->chunk * least_of(MOST_WARPS, w->supertiles);
  if (w->light > 0)
    waste += least_of(MOST_WARPS, w->n / 32 + 1);
  if (tuning->roomy || tuning->capacity != 0)
    pages += waste;
  else
    pages += least_of(waste, (uint64_t)(MOST_WASTE / page));
  w->capacity = (u32)least_of(pages, UINT32_MAX / MSF_PAGE - 2);
}

/* Parts of the light edges, where there is more than one. */
static void plan_parts(msf_work *w, const msf_gpu_tuning *tuning) {
  double first = tuning->first, second = tuning->second;
  if (first < 0 || (first == 0 && w->light == 0))
    return;
  if (first == 0)
    first = FIRST_EDGES_PER_VERTEX[0];
  if (second == 0)
    second = FIRST_EDGES_PER_VERTEX[1];
  if (w->light > 0 && first >= w->light)
    return;
  if (tuning->first == 0 && w->light > 0 && w->n <= FEW_VERTICES)
    return;
  w->part[0] = first;
  w->part[1] = second < first ? first : w->light > 0 && second > w->light ? w->light : second;
}

/* Are all edges light? */
static bool takes_everything(const msf_gpu_graph *graph, const msf_gpu_tuning *tuning) {
  double edges = 0.5 * (double)graph->arcs, vertices = graph->vertices;
  if (tuning->light != 0)
    return tuning->light < 0 || edges <= tuning->light * vertices;
  return edges <= FEW_EDGES_PER_VERTEX * vertices || graph->arcs <= SMALL;
}

static bool make_plan(msf_work *w, const msf_gpu_graph *graph, const msf_gpu_tuning *tuning) {
  memset(w, 0, sizeof *w);
  w->n = graph->vertices;
  w->arcs = graph->arcs;
  w->offsets = (const u64 *)graph->offsets;
  w->reader = arc_reader_of(graph);
  plan_keys(w, graph);
  bool everything = takes_everything(graph, tuning);
  w->presorted = graph->presorted && !graph->maximum && !everything;
  if (!everything)
    w->light = tuning->light != 0 ? tuning->light
               : w->presorted     ? LIGHT_EDGES_WHERE_SORTED
                                  : LIGHT_EDGES_PER_VERTEX;
  plan_parts(w, tuning);
  w->by_neighbour = !graph->presorted;
  w->forced_mode = (u32)tuning->scan;
  w->super_log = plan_super(w, tuning);
  w->supertiles = (u32)((graph->arcs + (1ull << w->super_log) - 1) >> w->super_log);
  plan_list(w, tuning, wide_keys(graph->key_type));
  return everything;
}

/* ---- Workspace ------------------------------------------------------------------------------- */

typedef struct carver {
  char *base; /* NULL: only measure */
  uint64_t used;
} carver;

static void *carve(carver *c, uint64_t count, uint64_t size) {
  void *p = c->base == NULL ? NULL : c->base + c->used;
  c->used += (count * size + 255) / 256 * 256;
  return p;
}

static void carve_all(msf_work *w, carver *c, bool wide) {
  uint64_t n = w->n, half = n / 2 + SLACK, pages = w->capacity;
  w->control = (msf_control *)carve(c, 1, sizeof *w->control);
  w->next = (u32 *)carve(c, n + 2 * SLACK, 4);
  w->pick = (u32 *)carve(c, n + 2 * SLACK, 4);
  w->label = (u32 *)carve(c, n, 4);
  w->parent[MSF_LIGHTEST] = w->parent[MSF_REST] = (u32 *)carve(c, n + 2 * SLACK, 4);
  w->parent[MSF_LIGHT] = w->next;
  w->best[0] = (u64 *)carve(c, half, 8);
  w->best[1] = (u64 *)carve(c, n / 4 + SLACK, 8);
  w->super_row = (u32 *)carve(c, w->supertiles + 1, 4);
  w->super_pages = (u32 *)carve(c, MSF_PARTS * (uint64_t)w->supertiles, 4);
  w->super_base = (u32 *)carve(c, MSF_PARTS * (uint64_t)w->supertiles, 4);
  w->records = (msf_record *)carve(c, 2 * (uint64_t)w->supertiles, sizeof *w->records);
  w->entries = (uint4 *)carve(c, pages * MSF_PAGE, 16);
  w->entry_high = wide ? (u32 *)carve(c, pages * MSF_PAGE, 4) : NULL;
  w->home = (uint2 *)carve(c, pages, 8);
  w->page_at = (u32 *)carve(c, pages, 4);
  for (int i = 0; i < 2; i++)
    w->group_count[i] = (u32 *)carve(c, pages / MSF_LEAST_WIDTH + SLACK, 4);
  w->ties = (u32 *)carve(c, MSF_TIES, 4);
  w->pairs = (u64 *)carve(c, 2 * MSF_PAIRS, 8);
  w->place = w->next;
  w->listed = w->pick;
  w->exact[MSF_LIGHTEST] = w->exact[MSF_LIGHT] = w->pair = (u64 *)w->pick;
  w->exact[MSF_REST] = (u64 *)w->next;
  w->member_count = (u32 *)w->best[0];
  w->member_base = w->member_count + half;
  w->giant_bits = (u32 *)w->best[1];
}

static uint64_t workspace_bytes(const msf_gpu_graph *graph, const msf_gpu_tuning *tuning) {
  msf_work work;
  carver c = {NULL, 0};
  make_plan(&work, graph, tuning);
  carve_all(&work, &c, wide_keys(graph->key_type));
  return c.used;
}

uint64_t msf_gpu_workspace_bytes(const msf_gpu_graph *graph) {
  msf_gpu_tuning automatic = {};
  return workspace_bytes(graph, &automatic);
}

/* ---- Launches -------------------------------------------------------------------------------- */

#define TRY(expression)                                                                            \
  do {                                                                                             \
    dzo_status status_ = (expression);                                                             \
    if (status_ != DZO_OK)                                                                         \
      return status_;                                                                              \
  } while (0)

/* Are neighbours there as they are? */
static bool plain(const msf_work *w) { return w->reader.neighbours != NULL; }

static dzo_status step_done(solve *s) {
  bool counts = s->forest->timed && s->marks <= STEPS; /* phases come again and again */
  return counts ? dzo_unit_mark(s->unit, 0, s->marks++) : DZO_OK;
}

/* No more blocks than there is work for, and than run at once. */
static unsigned blocks_for(unsigned resident, uint64_t work, uint64_t each) {
  uint64_t blocks = (work + each - 1) / each;
  return blocks < 1 ? 1 : blocks < resident ? (unsigned)blocks : resident;
}

template <typename K, bool MAPPED, bool PLAIN> static dzo_status launch_extract(solve *s) {
  typedef msf_extract_shape<K> shape;
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, (msf_k_extract<K, MAPPED, PLAIN>), shape::THREADS);
  unsigned blocks = blocks_for(most, s->work.supertiles, shape::WARPS);
  return DZO_LAUNCH_CHAINED(s->unit, 0, (msf_k_extract<K, MAPPED, PLAIN>), blocks, shape::THREADS,
                            s->work);
}

template <typename K, bool MAPPED, bool PLAIN> static dzo_status extract_presorted(solve *s) {
  unsigned most =
      DZO_RESIDENT_BLOCKS(s->unit, (msf_k_extract_presorted<K, MAPPED, PLAIN>), MSF_THREADS);
  unsigned blocks = blocks_for(most, s->work.supertiles, MSF_WARPS);
  return DZO_LAUNCH_CHAINED(s->unit, 0, (msf_k_extract_presorted<K, MAPPED, PLAIN>), blocks,
                            MSF_THREADS, s->work);
}

template <typename K> static dzo_status extract_short(solve *s) {
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, msf_k_extract_short<K>, MSF_THREADS);
  unsigned blocks = blocks_for(most, s->work.supertiles, MSF_WARPS);
  return DZO_LAUNCH_CHAINED(s->unit, 0, msf_k_extract_short<K>, blocks, MSF_THREADS, s->work);
}

template <typename K> static dzo_status extract(solve *s) {
  msf_work *w = &s->work;
  unsigned blocks = 1 + blocks_for(1024, w->n, MSF_SAMPLE_THREADS);
  TRY(DZO_LAUNCH_CHAINED(s->unit, 0, (msf_k_prepare<K>), blocks, MSF_SAMPLE_THREADS, *w));
  TRY(step_done(s));
  if (s->everything && w->part[0] == 0 && plain(w))
    TRY(extract_short<K>(s));
  else if (w->presorted && !plain(w))
    TRY((extract_presorted<K, true, false>(s)));
  else if (w->presorted && (sizeof(K) == 8 || w->mapped || w->keys == NULL))
    TRY((extract_presorted<K, true, true>(s)));
  else if (w->presorted)
    TRY((extract_presorted<u32, false, true>(s)));
  else if (!plain(w))
    TRY((launch_extract<K, true, false>(s)));
  else if (sizeof(K) == 8 || w->mapped)
    TRY((launch_extract<K, true, true>(s)));
  else
    TRY((launch_extract<u32, false, true>(s)));
  return step_done(s);
}

template <typename K, bool PLAIN, u32 SHARE>
static dzo_status pick_shares(solve *s, uint64_t rows) {
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, (msf_k_pick_rest<K, PLAIN, SHARE>), MSF_THREADS);
  unsigned blocks = MSF_PARTS + blocks_for(most, rows, MSF_WARPS * SHARE);
  return DZO_LAUNCH_CHAINED(s->unit, 0, (msf_k_pick_rest<K, PLAIN, SHARE>), blocks, MSF_THREADS,
                            s->work, s->everything);
}

template <typename K, bool PLAIN> static dzo_status pick_rest(solve *s) {
  const msf_work *w = &s->work;
  uint64_t rows = w->presorted ? 0 : s->everything ? w->supertiles : w->n;
  if (rows <= FEW_VERTICES)
    TRY((pick_shares<K, PLAIN, MSF_FEW_SHARE>(s, rows)));
  else
    TRY((pick_shares<K, PLAIN, MSF_SHARE>(s, rows)));
  return step_done(s);
}

template <typename K> static dzo_status round_one(solve *s) {
  if (plain(&s->work))
    TRY((pick_rest<K, true>(s)));
  else
    TRY((pick_rest<K, false>(s)));
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, msf_k_hook, MSF_THREADS);
  TRY(DZO_LAUNCH_TOGETHER_CHAINED(s->unit, 0, msf_k_hook, blocks_for(most, s->work.n, MSF_THREADS),
                                  MSF_THREADS, s->work));
  return step_done(s);
}

/* The next kernel is the last one of a solve. */
static void report_next(solve *s, bool last) { s->work.report = last ? s->control : NULL; }

/* Boruvka's rounds on the light edges, or on the rest. */
template <typename K, bool REST> static dzo_status rounds(solve *s, bool compose) {
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, (msf_k_boruvka<K, REST>), MSF_ROUND_THREADS);
  unsigned blocks = blocks_for(most, s->work.n, MSF_ROUND_THREADS * (REST ? 16 : 4));
  TRY(DZO_LAUNCH_TOGETHER_CHAINED(s->unit, 0, (msf_k_boruvka<K, REST>), blocks, MSF_ROUND_THREADS,
                                  s->work, compose));
  return step_done(s);
}

static dzo_status label_vertices(solve *s) {
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, msf_k_label, MSF_THREADS);
  TRY(DZO_LAUNCH_TOGETHER_CHAINED(s->unit, 0, msf_k_label, blocks_for(most, s->work.n, MSF_THREADS),
                                  MSF_THREADS, s->work));
  s->labelled = true;
  return step_done(s);
}

static dzo_status relabel(solve *s, bool again, u32 *labels) {
  return DZO_LAUNCH_CHAINED(s->unit, 0, msf_k_relabel, blocks_for(4096, s->work.n, MSF_THREADS),
                            MSF_THREADS, s->work, again, labels);
}

template <typename K, bool PLAIN, bool COUNT> static dzo_status scan_as(solve *s, msf_digit digit) {
  unsigned most = DZO_RESIDENT_BLOCKS(s->unit, (msf_k_scan<K, PLAIN, COUNT>), MSF_THREADS);
  unsigned blocks = blocks_for(most, s->work.n, MSF_THREADS);
  return DZO_LAUNCH_CHAINED(s->unit, 0, (msf_k_scan<K, PLAIN, COUNT>), blocks, MSF_THREADS, s->work,
                            digit);
}

template <typename K> static dzo_status scan(solve *s) {
  if (plain(&s->work))
    TRY((scan_as<K, true, false>(s, {})));
  else
    TRY((scan_as<K, false, false>(s, {})));
  return step_done(s);
}

static dzo_status read_control(solve *s) {
  TRY(dzo_unit_copy(s->unit, 0, s->control, s->work.control, sizeof *s->control));
  return dzo_unit_wait(s->unit, 0);
}

/* ---- When the list was too small ------------------------------------------------------------- */

/* The largest prefix of the edges that are left whose edges fit: counted exactly, a byte at a time.
 * Needed only where a sample misled, and where a scan finds more than there is room for. */
template <typename K> static dzo_status choose_prefix(solve *s, uint64_t room) {
  msf_control *c = s->control;
  msf_digit digit = {0, 0, 0, false};
  uint64_t below = 0;
  int levels = (int)sizeof(K) + 4;
  for (int level = 0; level < levels; level++) {
    digit.of_vertex = level >= (int)sizeof(K);
    digit.shift = 8 * (digit.of_vertex ? levels - 1 - level : (int)sizeof(K) - 1 - level);
    TRY(dzo_unit_fill(s->unit, 0, s->work.control->histogram, 0, sizeof c->histogram));
    TRY((scan_as<K, false, true>(s, digit)));
    TRY(dzo_unit_copy(s->unit, 0, c->histogram, s->work.control->histogram, sizeof c->histogram));
    TRY(dzo_unit_wait(s->unit, 0));
    int byte = 0;
    while (byte < 256 && below + c->histogram[byte] <= room)
      below += c->histogram[byte++];
    if (byte == 256 && level == 0) {
      c->high = {MSF_NEVER, MSF_NONE, 1};
      return DZO_OK;
    }
    if (digit.of_vertex)
      digit.vertex |= (u32)byte << digit.shift;
    else
      digit.key |= (u64)byte << digit.shift;
  }
  if (below == 0)
    return dzo_fail(s->unit->context, DZO_E_MEMORY,
                    "the GPU's list of edges is too short for the parallel edges of one vertex");
  /* All before the edge that is one too many. */
  c->high = {digit.vertex != 0 ? digit.key : digit.key - 1, digit.vertex - 1, 0};
  return DZO_OK;
}

/* Prefix after prefix, until all edges were looked at. */
template <typename K> static dzo_status in_phases(solve *s) {
  msf_control *c = s->control;
  uint64_t spare = least_of(MOST_WARPS, s->work.n / 32 + 1);
  uint64_t room = (s->work.capacity > spare ? s->work.capacity - spare : 1) * (uint64_t)MSF_PAGE;
  uint32_t components = c->list[MSF_REST].components[0];
  if (!s->labelled)
    TRY(label_vertices(s));
  do {
    memset(&c->list[MSF_REST], 0, sizeof c->list[MSF_REST]);
    c->list[MSF_REST].components[0] = components;
    c->list[MSF_REST].hot = MSF_NONE;
    c->mode = MSF_SCAN_PLAIN;
    c->careful = 1;
    c->isolated = 0;
    c->part[MSF_PARTS - 1].everything = 0;
    c->list[MSF_LIGHTEST].overflow = 0;
    TRY(dzo_unit_copy(s->unit, 0, s->work.control, c, sizeof *c));
    TRY(choose_prefix<K>(s, room));
    TRY(dzo_unit_copy(s->unit, 0, s->work.control, c, sizeof *c));
    TRY(scan<K>(s));
    TRY((rounds<K, true>(s, true)));
    bool last = c->high.everything;
    TRY(relabel(s, true, last ? s->forest->labels : NULL));
    TRY(read_control(s));
    if (c->list[MSF_REST].overflow)
      return dzo_fail(s->unit->context, DZO_E_MEMORY, "the GPU's list of edges is too short");
    components = c->list[MSF_REST].left;
  } while (!c->high.everything);
  return DZO_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

template <typename K> static dzo_status solve_keys(solve *s) {
  bool labels = s->forest->labels != NULL, go_on = !s->everything;
  TRY(step_done(s));
  TRY(extract<K>(s));
  TRY(round_one<K>(s));
  report_next(s, !go_on && !labels);
  TRY((rounds<K, false>(s, go_on || labels)));
  if (go_on || labels)
    TRY(label_vertices(s));
  if (go_on) {
    TRY(scan<K>(s));
    report_next(s, !labels);
    TRY((rounds<K, true>(s, labels)));
  }
  report_next(s, labels);
  if (labels)
    TRY(relabel(s, go_on, s->forest->labels));
  report_next(s, false);
  TRY(dzo_unit_wait(s->unit, 0));
  if (s->control->refused)
    return dzo_fail(s->unit->context, DZO_E_UNSUPPORTED, "a vertex has 2^32 arcs or more");
  if (!s->control->list[MSF_LIGHTEST].overflow && !s->control->list[MSF_REST].overflow)
    return DZO_OK;
  if (s->too_many == NULL)
    return in_phases<K>(s);
  *s->too_many = true;
  return DZO_OK;
}

static const char *const SCANS[] = {"none", "giant", "in order", "grouped"};

/* What was done, for those who ask. */
static dzo_status describe(solve *s) {
  const msf_control *c = s->control;
  msf_gpu_forest *f = s->forest;
  double n = s->work.n;
  double share = MSF_PAGE / n;
  int at = snprintf(f->plan, sizeof f->plan, "light %.2f+%.2f+%.2f n, rounds %u+%u+%u, scan %s",
                    c->part_pages[0] * share, c->part_pages[1] * share, c->part_pages[2] * share,
                    c->list[MSF_LIGHTEST].rounds, c->list[MSF_LIGHT].rounds,
                    c->list[MSF_REST].rounds, SCANS[s->everything ? 0 : c->mode]);
  static const char *const steps[STEPS] = {"prepare", "extract", "pick", "hook",
                                           "light",   "label",   "scan", "rest"};
  for (int i = 0; f->timed && i + 1 < s->marks; i++) {
    double ms = 0;
    TRY(dzo_unit_elapsed(s->unit, i, i + 1, &ms));
    if (at > 0 && (size_t)at < sizeof f->plan)
      at += snprintf(f->plan + at, sizeof f->plan - (size_t)at, "%s %s %.3f", i == 0 ? ";" : ",",
                     steps[i], ms);
  }
  return DZO_OK;
}

static dzo_status without_arcs(solve *s) {
  msf_gpu_forest *f = s->forest;
  f->count = 0;
  f->components = s->graph->vertices;
  snprintf(f->plan, sizeof f->plan, "no arcs");
  if (f->labels == NULL || s->graph->vertices == 0)
    return DZO_OK;
  TRY(dzo_unit_fill(s->unit, 0, s->work.control, 0, sizeof *s->work.control));
  TRY(dzo_unit_fill(s->unit, 0, s->work.label, 0xff, s->graph->vertices * sizeof(u32)));
  TRY(relabel(s, false, f->labels));
  return dzo_unit_wait(s->unit, 0);
}

static dzo_status solve_all(solve *s) {
  if (s->graph->arcs == 0)
    return without_arcs(s);
  if (wide_keys(s->graph->key_type))
    TRY(solve_keys<u64>(s));
  else
    TRY(solve_keys<u32>(s));
  s->forest->count = s->control->forest;
  s->forest->components = s->graph->vertices - s->control->forest;
  return describe(s);
}

static dzo_status solve_once(dzo_unit *unit, const msf_gpu_graph *graph,
                             const msf_gpu_tuning *tuning, msf_gpu_forest *forest, bool *too_many) {
  if (graph->vertices >= 1u << 30 || graph->arcs >= 1ull << 36)
    return dzo_fail(unit->context, DZO_E_UNSUPPORTED,
                    "the GPU takes fewer than 2^30 vertices and 2^36 arcs");
  void *memory, *mailbox;
  static_assert(sizeof(msf_control) <= DZO_MAILBOX,
                "the control block is read through the mailbox");
  solve s = {};
  s.unit = unit;
  s.graph = graph;
  s.forest = forest;
  s.too_many = too_many;
  TRY(dzo_unit_mailbox(unit, &mailbox));
  s.control = (msf_control *)mailbox;
  s.everything = make_plan(&s.work, graph, tuning);
  s.work.cache = unit->cache;
  s.work.out = (u64 *)forest->arcs;
  TRY(dzo_unit_workspace(unit, workspace_bytes(graph, tuning), &memory));
  carver c = {(char *)memory, 0};
  carve_all(&s.work, &c, wide_keys(graph->key_type));
  return solve_all(&s);
}

dzo_status msf_gpu_solve_tuned(dzo_unit *unit, const msf_gpu_graph *graph,
                               const msf_gpu_tuning *tuning, msf_gpu_forest *forest) {
  return solve_once(unit, graph, tuning, forest, NULL);
}

/* Where there were too many edges for the list, or too many are left after the light ones, there is
 * more room, and more of them are light; where memory does not allow that, the rest is done in
 * phases. */
dzo_status msf_gpu_solve(dzo_unit *unit, const msf_gpu_graph *graph, msf_gpu_forest *forest) {
  msf_gpu_tuning tuning = {};
  bool too_many = false;
  TRY(solve_once(unit, graph, &tuning, forest, &too_many));
  if (!too_many)
    return DZO_OK;
  if (!takes_everything(graph, &tuning))
    tuning.light = MORE_LIGHT_EDGES_PER_VERTEX;
  tuning.roomy = true;
  dzo_status status = solve_once(unit, graph, &tuning, forest, NULL);
  tuning = {};
  return status == DZO_E_MEMORY ? solve_once(unit, graph, &tuning, forest, NULL) : status;
}
