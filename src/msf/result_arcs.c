/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* From the arcs of a forest to the result: edge numbers, exact weight, trees. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "msf/result.h"

enum { GRAIN = 1 << 13, BLOCK = 64 };

typedef struct arcs_job {
  const dzo_graph *graph;
  const msf_arcs *found;
  msf_taken taken;
  msf_sum *sums; /* [threads] */
} arcs_job;

static void prefetch_arcs(const arcs_job *job, const uint64_t *arcs, unsigned count) {
  const dzo_graph *g = job->graph;
  for (unsigned i = 0; i < count; i++) {
    if (g->numbers32 != NULL)
      DZO_PREFETCH(&g->numbers32[arcs[i]]);
    else
      DZO_PREFETCH(&g->numbers64[arcs[i]]);
    if (job->found->keys == NULL && g->keys32 != NULL)
      DZO_PREFETCH(&g->keys32[arcs[i]]);
    else if (job->found->keys == NULL && g->keys64 != NULL)
      DZO_PREFETCH(&g->keys64[arcs[i]]);
  }
}

/* A block at a time, since every access is somewhere in memory: arcs, numbers, then the bitmap. */
static void take_block(arcs_job *job, uint64_t begin, unsigned count, msf_sum *sum) {
  const dzo_graph *g = job->graph;
  const uint64_t *arcs = job->found->arcs + begin;
  uint64_t numbers[BLOCK];
  prefetch_arcs(job, arcs, count);
  for (unsigned i = 0; i < count; i++) {
    numbers[i] = dzo_arc_number(g, arcs[i]);
    if (job->taken.bitmap != NULL)
      DZO_PREFETCH_WRITE(&job->taken.bitmap[numbers[i] / 64]);
  }
  for (unsigned i = 0; i < count; i++) {
    uint64_t key = job->found->keys != NULL ? job->found->keys[begin + i] : dzo_arc_key(g, arcs[i]);
    msf_taken_add(&job->taken, numbers[i]);
    msf_sum_add(sum, g->map.type, dzo_key_pattern(&g->map, key));
  }
}

static void take_arcs(void *argument, uint64_t begin, uint64_t end, int thread) {
  arcs_job *job = argument;
  while (begin < end) {
    unsigned count = (unsigned)(end - begin < BLOCK ? end - begin : BLOCK);
    take_block(job, begin, count, &job->sums[thread]);
    begin += count;
  }
}

static dzo_status take_all(dzo_context *context, arcs_job *job, dzo_msf *out) {
  const dzo_graph *g = job->graph;
  int threads = context->threads;
  DZO_TRY(msf_taken_init(context, &job->taken, g->number_bound, g->edges, job->found->count));
  job->sums = dzo_alloc(context, (uint64_t)threads, sizeof *job->sums);
  if (job->sums == NULL)
    return DZO_E_MEMORY;
  for (int t = 0; t < threads; t++)
    msf_sum_init(&job->sums[t]);
  dzo_parallel_for(threads, job->found->count, GRAIN, take_arcs, job);
  for (int t = 1; t < threads; t++)
    msf_sum_merge(&job->sums[0], &job->sums[t]);
  out->weight = msf_sum_weight(&job->sums[0], g->map.type);
  return msf_taken_list(context, &job->taken, &out->edges, &out->count);
}

dzo_status msf_result_from_arcs(dzo_context *context, const dzo_graph *graph, const msf_arcs *found,
                                dzo_msf *out) {
  arcs_job job = {.graph = graph, .found = found};
  out->component_of = found->label;
  out->components = found->components;
  dzo_status status = take_all(context, &job, out);
  msf_taken_free(&job.taken);
  dzo_free(job.sums);
  if (status == DZO_OK)
    status = msf_number_components(context, found->label, graph->vertices, found->components);
  if (status == DZO_OK &&
      (out->count != found->count || out->count + found->components != graph->vertices))
    status = dzo_fail(context, DZO_E_INTERNAL, "a forest of the wrong size");
  return status;
}
