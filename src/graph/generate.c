/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/generate.h"

#include <math.h>

#include "base/memory.h"
#include "base/options.h"

enum { GRAIN = 1 << 14, SLICE_GRAINS = 64, MAX_SCALE = 31, MAX_CLIQUE = 1 << 20 };

/* Edges that no machine holds; below it, counts of edges and draws cannot overflow. */
#define MAX_EDGES 0x1p52

void dzo_generate_options_init(dzo_generate_options *options) {
  *options = (dzo_generate_options){
      .size = sizeof *options,
      .scale = 16,
      .degree = 32,
      .weight_type = DZO_WEIGHT_F64,
      .seed = 2387,
      .max_clique = 49,
      .inter_clique = 0.1,
      .keep = 0.7,
  };
}

/* ---- What the generators share ---- */

typedef struct slice {
  dzo_range_fn fn;
  void *argument;
  uint64_t first;
} slice;

static void run_slice(void *argument, uint64_t begin, uint64_t end, int thread) {
  const slice *s = argument;
  s->fn(s->argument, s->first + begin, s->first + end, thread);
}

dzo_status dzo_generate_items(dzo_context *context, uint64_t count, uint64_t grain, dzo_range_fn fn,
                              void *argument) {
  uint64_t step = grain * SLICE_GRAINS;
  for (uint64_t done = 0; done < count; done += step) {
    DZO_TRY(dzo_progress(context, "generate", done, count));
    slice s = {fn, argument, done};
    uint64_t items = count - done < step ? count - done : step;
    dzo_parallel_for(context->threads, items, grain, run_slice, &s);
  }
  return dzo_progress(context, "generate", count, count);
}

uint64_t dzo_generate_edge_count(const dzo_generate_options *options) {
  return (uint64_t)(ldexp(options->degree, (int)options->scale - 1) + 0.5);
}

uint32_t *dzo_generate_identity(dzo_context *context, uint64_t count) {
  uint32_t *permutation = dzo_alloc(context, count, sizeof *permutation);
  for (uint64_t i = 0; permutation != NULL && i < count; i++)
    permutation[i] = (uint32_t)i;
  return permutation;
}

typedef struct permute_job {
  dzo_edge_list *list;
  const uint32_t *permutation;
} permute_job;

static void permute_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const permute_job *job = argument;
  uint32_t *u = job->list->u, *v = job->list->v;
  for (uint64_t i = begin; i < end; i++) {
    u[i] = job->permutation[u[i]];
    v[i] = job->permutation[v[i]];
  }
}

dzo_status dzo_generate_permute(dzo_context *context, dzo_edge_list *list,
                                const uint32_t *permutation) {
  permute_job job = {list, permutation};
  return dzo_generate_items(context, list->count, GRAIN, permute_range, &job);
}

typedef struct weights_job {
  dzo_edge_list *list;
  uint64_t state;
} weights_job;

static void weights_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const weights_job *job = argument;
  uint64_t state = dzo_lcg48_apply(dzo_lcg48_jump_of(begin), job->state);
  for (uint64_t i = begin; i < end; i++) {
    state = dzo_lcg48_next(state);
    dzo_generate_weight(job->list, i, state);
  }
}

dzo_status dzo_generate_weights(dzo_context *context, dzo_edge_list *list, uint64_t state) {
  weights_job job = {list, state};
  if (list->weight_type == DZO_WEIGHT_NONE)
    return DZO_OK;
  return dzo_generate_items(context, list->count, GRAIN, weights_range, &job);
}

/* ---- Uniform ---- */

typedef struct uniform_job {
  dzo_edge_list *list;
  uint64_t seed;
  unsigned scale;
} uniform_job;

/* Edge i takes word 2i for its endpoints, from the top down, and word 2i + 1 for its weight. */
static void uniform_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const uniform_job *job = argument;
  for (uint64_t i = begin; i < end; i++) {
    uint64_t ends = dzo_uniform_ends(job->seed, i, job->scale);
    job->list->u[i] = (uint32_t)(ends >> 32);
    job->list->v[i] = (uint32_t)ends;
    dzo_generate_weight(job->list, i, dzo_random_word(job->seed, 2 * i + 1) >> 16);
  }
}

static dzo_status generate_uniform(dzo_context *context, const dzo_generate_options *options,
                                   dzo_edge_list **out) {
  uint64_t count = dzo_generate_edge_count(options);
  DZO_TRY(dzo_edge_list_create(context, UINT64_C(1) << options->scale, count, options->weight_type,
                               out));
  uniform_job job = {*out, options->seed, options->scale};
  return dzo_generate_items(context, count, GRAIN, uniform_range, &job);
}

/* ---- Grid ---- */

/* 2^(scale / 2) rows, numbered row by row. Vertex x may have an edge to the right, edge 2x of the
 * whole grid, and one downwards, edge 2x + 1. Edge e is kept if the top 53 bits of word 2e are
 * below `keep`; word 2e + 1 gives its weight. */
typedef struct grid_job {
  dzo_edge_list *list; /* NULL while counting */
  uint64_t seed;
  uint64_t rows, columns;
  double keep;
  uint64_t *first; /* kept edges of each range of vertices, then of all ranges before */
} grid_job;

static bool grid_keeps(const grid_job *job, uint64_t edge) {
  return dzo_grid_keeps(job->seed, edge, job->keep);
}

static void grid_put(const grid_job *job, uint64_t at, uint64_t u, uint64_t v, uint64_t edge) {
  if (job->list == NULL)
    return;
  job->list->u[at] = (uint32_t)u;
  job->list->v[at] = (uint32_t)v;
  dzo_generate_weight(job->list, at, dzo_random_word(job->seed, 2 * edge + 1) >> 16);
}

static void grid_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const grid_job *job = argument;
  uint64_t at = job->list != NULL ? job->first[begin / GRAIN] : 0;
  for (uint64_t x = begin; x < end; x++) {
    if ((x + 1) % job->columns != 0 && grid_keeps(job, 2 * x))
      grid_put(job, at++, x, x + 1, 2 * x);
    if (x + job->columns < job->rows * job->columns && grid_keeps(job, 2 * x + 1))
      grid_put(job, at++, x, x + job->columns, 2 * x + 1);
  }
  if (job->list == NULL)
    job->first[begin / GRAIN] = at;
}

static uint64_t sum_before(uint64_t *counts, uint64_t size) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < size; i++) {
    uint64_t count = counts[i];
    counts[i] = sum;
    sum += count;
  }
  return sum;
}

static dzo_status grid_fill(dzo_context *context, const dzo_generate_options *options,
                            grid_job *job, dzo_edge_list **out) {
  uint64_t vertices = job->rows * job->columns;
  DZO_TRY(dzo_generate_items(context, vertices, GRAIN, grid_range, job));
  uint64_t count = sum_before(job->first, (vertices - 1) / GRAIN + 1);
  DZO_TRY(dzo_edge_list_create(context, vertices, count, options->weight_type, out));
  job->list = *out;
  return dzo_generate_items(context, vertices, GRAIN, grid_range, job);
}

static dzo_status generate_grid(dzo_context *context, const dzo_generate_options *options,
                                dzo_edge_list **out) {
  grid_job job = {
      .seed = options->seed,
      .rows = UINT64_C(1) << options->scale / 2,
      .columns = UINT64_C(1) << (options->scale - options->scale / 2),
      .keep = options->keep,
  };
  job.first = dzo_alloc(context, (job.rows * job.columns - 1) / GRAIN + 1, sizeof *job.first);
  if (job.first == NULL)
    return DZO_E_MEMORY;
  dzo_status status = grid_fill(context, options, &job, out);
  dzo_free(job.first);
  return status;
}

/* ---- Entry ---- */

static dzo_status check_contest(dzo_context *context, const dzo_generate_options *o) {
  if (o->seed > UINT32_MAX)
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "seed %llu: the contest's generators take seeds of 32 bits",
                    (unsigned long long)o->seed);
  return DZO_OK;
}

static dzo_status check_degree(dzo_context *context, const dzo_generate_options *o) {
  if (!(o->degree >= 0 && ldexp(o->degree, (int)o->scale) <= MAX_EDGES))
    return dzo_fail(context, DZO_E_ARGUMENT, "degree %g is not possible", o->degree);
  return DZO_OK;
}

static dzo_status check_ssca2(dzo_context *context, const dzo_generate_options *o) {
  if (o->max_clique < 2 || o->max_clique > MAX_CLIQUE)
    return dzo_fail(context, DZO_E_ARGUMENT, "max_clique %u is not in 2..%d", o->max_clique,
                    MAX_CLIQUE);
  if (!(o->inter_clique >= 0 && o->inter_clique <= 1))
    return dzo_fail(context, DZO_E_ARGUMENT, "inter_clique %g is no probability", o->inter_clique);
  return DZO_OK;
}

static dzo_status check(dzo_context *context, dzo_generator generator,
                        const dzo_generate_options *o) {
  if (o->scale < 1 || o->scale > MAX_SCALE)
    return dzo_fail(context, DZO_E_ARGUMENT, "scale %u is not in 1..%d", o->scale, MAX_SCALE);
  if (o->weight_type != DZO_WEIGHT_F64 && o->weight_type != DZO_WEIGHT_F32 &&
      o->weight_type != DZO_WEIGHT_U32 && o->weight_type != DZO_WEIGHT_NONE)
    return dzo_fail(context, DZO_E_ARGUMENT, "generators make weights of f64, f32, u32 or none");
  switch (generator) {
  case DZO_GENERATE_RMAT:
    DZO_TRY(check_contest(context, o));
    return check_degree(context, o);
  case DZO_GENERATE_SSCA2:
    DZO_TRY(check_contest(context, o));
    return check_ssca2(context, o);
  case DZO_GENERATE_UNIFORM:
    return check_degree(context, o);
  case DZO_GENERATE_GRID:
    if (!(o->keep >= 0 && o->keep <= 1))
      return dzo_fail(context, DZO_E_ARGUMENT, "keep %g is no probability", o->keep);
    return DZO_OK;
  }
  return dzo_fail(context, DZO_E_ARGUMENT, "generator %d is unknown", (int)generator);
}

static dzo_status generate(dzo_context *context, dzo_generator generator,
                           const dzo_generate_options *options, dzo_edge_list **out) {
  switch (generator) {
  case DZO_GENERATE_RMAT:
    return dzo_generate_rmat(context, options, out);
  case DZO_GENERATE_SSCA2:
    return dzo_generate_ssca2(context, options, out);
  case DZO_GENERATE_UNIFORM:
    return generate_uniform(context, options, out);
  case DZO_GENERATE_GRID:
    return generate_grid(context, options, out);
  }
  return DZO_E_INTERNAL;
}

dzo_status dzo_generate_options_read(dzo_context *context, dzo_generator generator,
                                     const dzo_generate_options *given, dzo_generate_options *out) {
  dzo_generate_options_init(out);
  if (!dzo_options_read(out, sizeof *out, given))
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_generate_options was not initialised");
  return check(context, generator, out);
}

dzo_status dzo_edge_list_generate(dzo_context *context, dzo_generator generator,
                                  const dzo_generate_options *options, dzo_edge_list **out) {
  dzo_begin(context);
  if (out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no place for the edge list");
  *out = NULL;
  dzo_generate_options o;
  DZO_TRY(dzo_generate_options_read(context, generator, options, &o));
  dzo_edge_list *list = NULL;
  dzo_status status = generate(context, generator, &o, &list);
  if (status != DZO_OK) {
    dzo_edge_list_destroy(list);
    return status;
  }
  *out = list;
  return DZO_OK;
}
