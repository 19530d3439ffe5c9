/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The steps of the CPU solver that do not look at keys. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "msf/cpu.h"
#include "msf/engine.h"
#include "msf/sample.h"
#include "msf/solver.h"

enum { AHEAD = 16, GRAIN = 1 << 14 };

/* ---- Rows ------------------------------------------------------------------------------------ */

uint64_t msf_row_units(const msf_solver *s) {
  return s->graph->arcs + (uint64_t)DZO_MSF_ROW_COST * s->n;
}

uint32_t msf_row_at(const msf_solver *s, uint64_t unit) {
  const uint64_t *offsets = s->graph->offsets;
  uint64_t low = 0, high = s->n;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (offsets[middle] + DZO_MSF_ROW_COST * middle < unit)
      low = middle + 1;
    else
      high = middle;
  }
  return (uint32_t)low;
}

/* ---- Contraction ----------------------------------------------------------------------------- */

typedef struct contraction {
  uint32_t *hook, *dense;
  uint32_t *roots; /* [ranges + 1] roots in each range of GRAIN, then before it */
} contraction;

/* Climb to the root, halving the path (Tarjan, van Leeuwen 1984). Threads may halve the same path;
 * a compare-and-swap keeps a late one from undoing what flatten() made final. */
static uint32_t find_root(uint32_t *hook, uint32_t i) {
  for (;;) {
    uint32_t up = dzo_load_u32(&hook[i]);
    uint32_t above = dzo_load_u32(&hook[up]);
    if (up == above)
      return up;
    (void)dzo_cas_u32(&hook[i], &up, above);
    i = above;
  }
}

static void flatten(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  contraction *c = argument;
  uint32_t roots = 0;
  for (uint64_t i = begin; i < end; i++) {
    if (end - i > AHEAD)
      DZO_PREFETCH(&c->hook[dzo_load_u32(&c->hook[i + AHEAD])]);
    uint32_t root = find_root(c->hook, (uint32_t)i);
    dzo_store_u32(&c->hook[i], root);
    roots += root == i;
  }
  c->roots[begin / GRAIN] = roots;
}

static void number_roots(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const contraction *c = argument;
  uint32_t next = c->roots[begin / GRAIN];
  for (uint64_t i = begin; i < end; i++)
    if (c->hook[i] == i)
      c->dense[i] = next++;
}

static void number_rest(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const contraction *c = argument;
  for (uint64_t i = begin; i < end; i++)
    if (c->hook[i] != i)
      c->dense[i] = c->dense[c->hook[i]];
}

dzo_status msf_contract(msf_solver *s, uint32_t *hook, uint32_t count, uint32_t *dense,
                        uint32_t *roots) {
  uint64_t ranges = ((uint64_t)count + GRAIN - 1) / GRAIN;
  contraction c = {hook, dense, dzo_alloc(s->context, ranges + 1, sizeof *c.roots)};
  if (c.roots == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(s->threads, count, GRAIN, flatten, &c);
  uint32_t sum = 0;
  for (uint64_t i = 0; i < ranges; i++) {
    uint32_t here = c.roots[i];
    c.roots[i] = sum;
    sum += here;
  }
  dzo_parallel_for(s->threads, count, GRAIN, number_roots, &c);
  dzo_parallel_for(s->threads, count, GRAIN, number_rest, &c);
  dzo_free(c.roots);
  *roots = sum;
  return DZO_OK;
}

typedef struct relabelling {
  uint32_t *label;
  const uint32_t *map;
} relabelling;

static void relabel(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const relabelling *r = argument;
  for (uint64_t v = begin; v < end; v++)
    r->label[v] = r->map[r->label[v]];
}

void msf_relabel(msf_solver *s, const uint32_t *map) {
  relabelling r = {s->label, map};
  dzo_parallel_for(s->threads, s->n, GRAIN, relabel, &r);
}

uint32_t msf_find_giant(const msf_solver *s) {
  enum { SAMPLES = 256 };
  uint32_t candidate = DZO_MSF_NONE;
  int lead = 0;
  /* Majority vote (Boyer, Moore 1981), then a count. */
  for (uint64_t i = 0; i < SAMPLES; i++) {
    uint32_t label = s->label[i * s->n / SAMPLES];
    if (lead == 0)
      candidate = label;
    lead += label == candidate ? 1 : -1;
  }
  int found = 0;
  for (uint64_t i = 0; i < SAMPLES; i++)
    found += s->label[i * s->n / SAMPLES] == candidate;
  return found * 4 >= SAMPLES ? candidate : DZO_MSF_NONE;
}

/* ---- Phases ---------------------------------------------------------------------------------- */

dzo_status msf_finish(msf_solver *s, msf_phase_fn phase) {
  uint64_t target = 4 * (uint64_t)s->n;
  if (target > DZO_MSF_LIST_MAX / 2)
    target = DZO_MSF_LIST_MAX / 2;
  double slack = 1.1;
  for (;;) {
    msf_prefix bound;
    uint64_t capacity;
    DZO_TRY(msf_choose_crossing(s, target, slack, &bound, &capacity));
    bool full;
    DZO_TRY(phase(s, &bound, capacity, &full));
    if (!full && (bound.all || s->components == 1))
      return DZO_OK;
    if (full) { /* the sample was wrong: ask for less, and have more room */
      slack *= 2;
      target = target / 2 + 1;
    }
  }
}

/* ---- Notes ----------------------------------------------------------------------------------- */

void msf_note(msf_solver *s, const char *step) {
  double now = dzo_clock();
  size_t used = strlen(s->plan);
  (void)snprintf(s->plan + used, sizeof s->plan - used, "%s%s %.1f", used > 0 ? ", " : "", step,
                 1e3 * (now - s->clock));
  s->clock = now;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

/* A row whose arcs 32 bits cannot number: four thousand million parallel edges at one vertex. */
static dzo_status check_degrees(const msf_solver *s) {
  const uint64_t *offsets = s->graph->offsets;
  if (s->graph->arcs <= UINT32_MAX)
    return DZO_OK;
  for (uint32_t v = 0; v < s->n; v++)
    if (offsets[v + 1] - offsets[v] > UINT32_MAX)
      return dzo_fail(s->context, DZO_E_UNSUPPORTED, "vertex %lu has 2^32 or more edges",
                      (unsigned long)v);
  return DZO_OK;
}

void msf_free_picks(msf_solver *s) {
  dzo_free(s->hook);
  dzo_free(s->pick);
  s->hook = NULL;
  s->pick = NULL;
}

static bool solver_alloc(msf_solver *s) {
  dzo_context *context = s->context;
  s->hook = dzo_alloc(context, s->n, sizeof *s->hook);
  s->pick = dzo_alloc(context, s->n, sizeof *s->pick);
  s->label = dzo_alloc(context, s->n, sizeof *s->label);
  s->sums = dzo_alloc(context, (uint64_t)s->threads, sizeof *s->sums);
  if (s->hook == NULL || s->pick == NULL || s->label == NULL || s->sums == NULL ||
      msf_taken_init(context, &s->taken, s->graph->number_bound, s->graph->edges, s->n) != DZO_OK)
    return false;
  for (int t = 0; t < s->threads; t++)
    msf_sum_init(&s->sums[t]);
  return true;
}

static dzo_status solver_result(msf_solver *s, dzo_msf *out) {
  for (int t = 1; t < s->threads; t++)
    msf_sum_merge(&s->sums[0], &s->sums[t]);
  out->weight = msf_sum_weight(&s->sums[0], s->graph->map.type);
  DZO_TRY(msf_number_components(s->context, s->label, s->n, s->components));
  DZO_TRY(msf_taken_list(s->context, &s->taken, &out->edges, &out->count));
  if (out->count + s->components != s->n)
    return dzo_fail(s->context, DZO_E_INTERNAL, "a forest of the wrong size");
  out->components = s->components;
  out->component_of = s->label;
  s->label = NULL;
  return DZO_OK;
}

dzo_status msf_solve_cpu(dzo_context *context, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  msf_solver s = {.context = context,
                  .graph = graph,
                  .threads = context->threads,
                  .key_mask = graph->map.wide ? UINT64_MAX : UINT32_MAX,
                  .scan = msf_scan_best(),
                  .n = (uint32_t)graph->vertices,
                  .giant = DZO_MSF_NONE,
                  .clock = dzo_clock()};
  s.flip = maximum ? s.key_mask : 0;
  s.presorted = !maximum && graph->row_order == DZO_ROWS_BY_WEIGHT;
  DZO_TRY(check_degrees(&s));
  dzo_status status = DZO_E_MEMORY;
  bool ready = solver_alloc(&s);
  msf_note(&s, "allocate");
  if (ready)
    status = graph->keys64 != NULL ? msf_solve_keys64(&s) : msf_solve_keys32(&s);
  msf_free_picks(&s);
  if (status == DZO_OK)
    status = solver_result(&s, out);
  msf_note(&s, "result");
  memcpy(out->plan, s.plan, sizeof out->plan);
  out->device = DZO_DEVICE_CPU;
  dzo_free(s.label);
  msf_taken_free(&s.taken);
  dzo_free(s.sums);
  return status;
}

const msf_engine msf_engine_cpu = {"cpu", msf_solve_cpu, msf_stream_cpu};
