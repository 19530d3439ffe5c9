/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The engines with a GPU: a graph that has a copy there is solved from the copy, any other is
 * streamed. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "device/transfer.h"
#include "graph/resident.h"
#include "msf/engine.h"
#include "msf/gpu.h"
#include "msf/gpu_result.h"
#include "msf/gpu_stream.h"

enum { SUM_GRAIN = 1 << 14, WIDEN_GRAIN = 1 << 16 };

/* ---- Weights ----------------------------------------------------------------------------------
 */

static uint64_t key_bytes(const dzo_weight_map *map) {
  return map->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

typedef struct sum_job {
  int threads;
  const dzo_weight_map *map;
  msf_sum *sums; /* [threads] */
  const void *keys;
} sum_job;

static void sum_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  const sum_job *job = argument;
  const uint32_t *keys32 = job->keys;
  const uint64_t *keys64 = job->keys;
  msf_sum *sum = &job->sums[thread];
  for (uint64_t i = begin; i < end; i++)
    msf_sum_add(sum, job->map->type,
                dzo_key_pattern(job->map, job->map->wide ? keys64[i] : keys32[i]));
}

static void take_keys(void *argument, const void *piece, uint64_t first, uint64_t bytes) {
  (void)first;
  sum_job *job = argument;
  job->keys = piece;
  dzo_parallel_for(job->threads, bytes / key_bytes(job->map), SUM_GRAIN, sum_range, job);
}

/* ---- A resident graph -------------------------------------------------------------------------
 */

msf_gpu_graph msf_gpu_graph_of(const dzo_gpu_csr *csr, bool maximum) {
  msf_gpu_graph graph = {
      .vertices = (uint32_t)csr->vertices,
      .arcs = csr->arcs,
      .offsets = csr->offsets,
      .neighbours = csr->neighbours,
      .compressed = csr->compressed,
      .keys = csr->keys32 != NULL ? (const void *)csr->keys32 : csr->keys64,
      .key_type = MSF_KEY_NONE,
      .presorted = csr->row_order == DZO_ROWS_BY_WEIGHT,
      .maximum = maximum,
  };
  if (csr->keys32 != NULL)
    graph.key_type = csr->raw ? MSF_KEY_F32 : MSF_KEY_U32;
  else if (csr->keys64 != NULL)
    graph.key_type = csr->raw ? MSF_KEY_F64 : MSF_KEY_U64;
  return graph;
}

/* Floating-point weights, and those of a dictionary: by the CPU, exactly. */
static dzo_status sum_keys(dzo_unit *unit, const dzo_graph *graph, const msf_gpu_result *found,
                           dzo_msf *out) {
  dzo_context *context = unit->context;
  int threads = context->threads;
  sum_job job = {.threads = threads,
                 .map = &graph->map,
                 .sums = dzo_alloc(context, (uint64_t)threads, sizeof *job.sums)};
  if (job.sums == NULL)
    return DZO_E_MEMORY;
  for (int t = 0; t < threads; t++)
    msf_sum_init(&job.sums[t]);
  dzo_status status = dzo_unit_fetch_pieces(unit, found->keys,
                                            found->count * key_bytes(&graph->map), take_keys, &job);
  for (int t = 1; t < threads; t++)
    msf_sum_merge(&job.sums[0], &job.sums[t]);
  out->weight = msf_sum_weight(&job.sums[0], graph->map.type);
  dzo_free(job.sums);
  return status;
}

/* Integers were summed by the GPU, as keys: each is `base` less than its pattern. */
static dzo_status sum_weights(dzo_unit *unit, const dzo_graph *graph, const msf_gpu_result *found,
                              dzo_msf *out) {
  const dzo_weight_map *map = &graph->map;
  if (msf_type_is_real(map->type) || map->kind != DZO_KEY_OFFSET)
    return sum_keys(unit, graph, found, out);
  uint64_t sums[2] = {0, 0};
  if (found->count > 0)
    DZO_TRY(dzo_unit_fetch(unit, sums, found->sums, sizeof sums));
  msf_sum sum;
  msf_sum_init(&sum);
  msf_sum_add_keys(&sum, found->count, map->base, sums[0], sums[1]);
  out->weight = msf_sum_weight(&sum, map->type);
  return DZO_OK;
}

/* ---- Numbers ----------------------------------------------------------------------------------
 */

typedef struct widen_job {
  int threads;
  uint64_t *to;
  const uint32_t *from;
} widen_job;

static void widen_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const widen_job *job = argument;
  for (uint64_t i = begin; i < end; i++)
    job->to[i] = job->from[i];
}

static void take_narrow(void *argument, const void *piece, uint64_t first, uint64_t bytes) {
  const widen_job *job = argument;
  widen_job here = {.to = job->to + first / sizeof *here.from, .from = piece};
  dzo_parallel_for(job->threads, bytes / sizeof *here.from, WIDEN_GRAIN, widen_range, &here);
}

static dzo_status take_numbers(dzo_unit *unit, const msf_gpu_result *found, uint64_t *edges) {
  uint64_t bytes = found->count * sizeof *edges;
  if (!found->narrow)
    return dzo_unit_fetch(unit, edges, found->numbers, bytes);
  widen_job job = {unit->context->threads, edges, NULL};
  dzo_unit_touch(unit, edges, bytes);
  return dzo_unit_fetch_pieces(unit, found->numbers, found->count * sizeof *job.from, take_narrow,
                               &job);
}

static dzo_status take_result(dzo_unit *unit, const dzo_graph *graph, const msf_gpu_result *found,
                              dzo_msf *out) {
  dzo_context *context = unit->context;
  out->count = found->count;
  out->components = found->components;
  out->edges = dzo_alloc(context, found->count, sizeof *out->edges);
  out->component_of = dzo_alloc(context, graph->vertices, sizeof *out->component_of);
  if (out->edges == NULL || out->component_of == NULL)
    return DZO_E_MEMORY;
  DZO_TRY(sum_weights(unit, graph, found, out));
  DZO_TRY(dzo_unit_fetch(unit, out->component_of, found->labels,
                         graph->vertices * sizeof *out->component_of));
  return take_numbers(unit, found, out->edges);
}

/* The workspace of the solver serves for the result, which comes after it. */
static dzo_status make_result(dzo_context *context, const struct dzo_resident *copy,
                              const dzo_graph *graph, const msf_gpu_forest *forest, dzo_msf *out) {
  if (forest->count + forest->components != graph->vertices)
    return dzo_fail(context, DZO_E_INTERNAL, "a forest of the wrong size");
  dzo_unit *unit = copy->csr.unit;
  msf_gpu_result found = {.graph = &copy->csr,
                          .arcs = copy->arcs,
                          .count = forest->count,
                          .labels = copy->labels,
                          .components = forest->components};
  found.workspace_bytes = msf_gpu_result_bytes(&copy->csr, found.count);
  DZO_TRY(dzo_unit_workspace(unit, found.workspace_bytes, &found.workspace));
  DZO_TRY(msf_gpu_result_make(unit, &found));
  return take_result(unit, graph, &found, out);
}

static dzo_status solve_resident(dzo_context *context, const struct dzo_resident *copy,
                                 const dzo_graph *graph, bool maximum, dzo_msf *out) {
  DZO_TRY(dzo_progress(context, "solve", 0, 2));
  double begun = dzo_clock();
  msf_gpu_graph g = msf_gpu_graph_of(&copy->csr, maximum);
  msf_gpu_forest forest = {.arcs = copy->arcs, .labels = copy->labels};
  if (g.vertices > 0)
    DZO_TRY(msf_gpu_solve(copy->csr.unit, &g, &forest));
  double solved = dzo_clock();
  DZO_TRY(dzo_progress(context, "solve", 1, 2));
  DZO_TRY(make_result(context, copy, graph, &forest, out));
  out->device = DZO_DEVICE_CUDA;
  (void)snprintf(out->plan, sizeof out->plan, "cuda: solve %.1f, result %.1f; %.180s",
                 1e3 * (solved - begun), 1e3 * (dzo_clock() - solved), forest.plan);
  return DZO_OK;
}

/* ---- Engines ----------------------------------------------------------------------------------
 */

static dzo_status
solve_copy_or(dzo_status (*streamed)(dzo_unit *, const dzo_graph *, bool, dzo_msf *),
              dzo_context *context, const dzo_graph *graph, bool maximum, dzo_msf *out) {
  dzo_unit *unit = dzo_context_gpu(context);
  const struct dzo_resident *copy = dzo_graph_resident(context, graph);
  if (copy != NULL) {
    dzo_status status = solve_resident(context, copy, graph, maximum, out);
    if (status != DZO_E_MEMORY)
      return status;
    msf_reset(out);
    dzo_unit_workspace_release(unit);
  }
  return streamed(unit, graph, maximum, out);
}

static dzo_status solve_cuda(dzo_context *context, const dzo_graph *graph, bool maximum,
                             dzo_msf *out) {
  return solve_copy_or(msf_solve_streamed, context, graph, maximum, out);
}

static dzo_status stream_cuda(dzo_context *context, const dzo_edge_source *source, bool maximum,
                              dzo_msf *out) {
  return msf_stream_gpu(dzo_context_gpu(context), source, maximum, false, out);
}

/* From a copy the GPU is done before the CPU has begun, so it works alone. */
static dzo_status solve_hybrid(dzo_context *context, const dzo_graph *graph, bool maximum,
                               dzo_msf *out) {
  return solve_copy_or(msf_solve_hybrid, context, graph, maximum, out);
}

static dzo_status stream_hybrid(dzo_context *context, const dzo_edge_source *source, bool maximum,
                                dzo_msf *out) {
  return msf_stream_gpu(dzo_context_gpu(context), source, maximum, true, out);
}

const msf_engine msf_engine_cuda = {"cuda", solve_cuda, stream_cuda};
const msf_engine msf_engine_hybrid = {"hybrid", solve_hybrid, stream_hybrid};
