/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What a forest's edge numbers stand for: endpoints, weights, and the weights of trees. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/compress.h"
#include "msf/result.h"

enum { ROW_GRAIN = 1 << 12, TREE_GRAIN = 1 << 10 };

typedef struct lookup {
  const dzo_context *context;
  const dzo_msf *msf;
  const dzo_graph *graph;
  uint64_t *bitmap; /* of the forest's edge numbers, or NULL where they are sparse */
  uint64_t *before; /* [words] forest edges before each word of the bitmap */
  uint32_t *u, *v;  /* [count] out, each may be NULL */
  uint64_t *patterns;
  uint64_t found; /* accessed atomically */
} lookup;

/* Position of `number` among the forest's numbers, or count if it is none of them. */
static uint64_t rank_of(const lookup *job, uint64_t number) {
  const dzo_msf *msf = job->msf;
  if (job->bitmap != NULL) {
    uint64_t word = job->bitmap[number / 64], bit = UINT64_C(1) << number % 64;
    if ((word & bit) == 0)
      return msf->count;
    return job->before[number / 64] + (uint64_t)__builtin_popcountll(word & (bit - 1));
  }
  uint64_t low = 0, high = msf->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (msf->edges[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < msf->count && msf->edges[low] == number ? low : msf->count;
}

static void look_up_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  lookup *job = argument;
  const dzo_graph *g = job->graph;
  uint64_t found = 0;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t u = begin; u < end; u++) {
    for (uint64_t arc = g->offsets[u]; arc < g->offsets[u + 1]; arc++) {
      uint64_t rank = rank_of(job, dzo_arc_number(g, arc));
      if (rank == job->msf->count)
        continue;
      uint32_t v = dzo_arc_neighbour(g, arc);
      if (v < u)
        continue;
      found++;
      if (job->u != NULL)
        job->u[rank] = (uint32_t)u;
      if (job->v != NULL)
        job->v[rank] = v;
      if (job->patterns != NULL)
        job->patterns[rank] = dzo_key_pattern(&g->map, dzo_arc_key(g, arc));
    }
  }
  dzo_fetch_add_u64(&job->found, found);
}

static dzo_status index_numbers(dzo_context *context, lookup *job) {
  const dzo_msf *msf = job->msf;
  uint64_t words = job->graph->number_bound / 64 + 1;
  if (words > job->graph->edges)
    return DZO_OK;
  job->bitmap = dzo_calloc(context, words, sizeof *job->bitmap);
  job->before = dzo_alloc(context, words, sizeof *job->before);
  if (job->bitmap == NULL || job->before == NULL)
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < msf->count; i++)
    job->bitmap[msf->edges[i] / 64] |= UINT64_C(1) << msf->edges[i] % 64;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < words; i++) {
    job->before[i] = sum;
    sum += (uint64_t)__builtin_popcountll(job->bitmap[i]);
  }
  return DZO_OK;
}

static void copy_if_wanted(void *out, const void *in, uint64_t bytes) {
  if (out != NULL && bytes > 0)
    memcpy(out, in, (size_t)bytes);
}

static dzo_status fail_other_graph(dzo_context *context) {
  return dzo_fail(context, DZO_E_ARGUMENT, "the graph is not the one this forest was found in");
}

/* Fill those of u, v and patterns that are not NULL. */
static dzo_status look_up(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                          uint32_t *u, uint32_t *v, uint64_t *patterns) {
  if (msf->u != NULL) {
    copy_if_wanted(u, msf->u, msf->count * sizeof *u);
    copy_if_wanted(v, msf->v, msf->count * sizeof *v);
    copy_if_wanted(patterns, msf->patterns, msf->count * sizeof *patterns);
    return DZO_OK;
  }
  if (graph == NULL || graph->vertices != msf->vertices || graph->edges != msf->graph_edges ||
      (msf->count > 0 && msf->edges[msf->count - 1] >= graph->number_bound))
    return fail_other_graph(context);
  lookup job = {
      .context = context, .msf = msf, .graph = graph, .u = u, .v = v, .patterns = patterns};
  dzo_status status = index_numbers(context, &job);
  if (status == DZO_OK)
    dzo_parallel_for(context->threads, graph->vertices, ROW_GRAIN, look_up_rows, &job);
  dzo_free(job.bitmap);
  dzo_free(job.before);
  DZO_TRY(status);
  DZO_TRY(dzo_progress(context, "look up", 1, 1));
  return job.found == msf->count ? DZO_OK : fail_other_graph(context);
}

dzo_status dzo_msf_endpoints_into(dzo_context *context, const dzo_msf *msf, const dzo_graph *graph,
                                  uint32_t *u, uint32_t *v, dzo_weight *weight) {
  dzo_begin(context);
  if (msf == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "dzo_msf_endpoints_into: no forest");
  /* A weight is as large as a pattern: it is turned into one where it lies. */
  DZO_TRY(look_up(context, msf, graph, u, v, weight != NULL ? &weight->u64 : NULL));
  for (uint64_t i = 0; weight != NULL && i < msf->count; i++)
    weight[i] = dzo_weight_of_pattern(msf->weight_type, weight[i].u64);
  return DZO_OK;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

typedef struct tree_job {
  const dzo_msf *msf;
  const uint64_t *patterns; /* [count] grouped by tree */
  const uint64_t *ends;     /* [components] end of each tree's patterns */
  dzo_weight_sum *out;
} tree_job;

static void sum_trees(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const tree_job *job = argument;
  dzo_weight_type type = job->msf->weight_type;
  for (uint64_t tree = begin; tree < end; tree++) {
    uint64_t i = tree == 0 ? 0 : job->ends[tree - 1];
    job->out[tree] = (dzo_weight_sum){.type = type};
    if (i == job->ends[tree])
      continue;
    msf_sum sum;
    msf_sum_init(&sum);
    for (; i < job->ends[tree]; i++)
      msf_sum_add(&sum, type, job->patterns[i]);
    job->out[tree] = msf_sum_weight(&sum, type);
  }
}

/* Group the patterns by the trees of their edges: a counting sort. */
static void group_by_tree(const dzo_msf *msf, const uint32_t *u, const uint64_t *patterns,
                          uint64_t *ends, uint64_t *grouped) {
  for (uint64_t i = 0; i < msf->count; i++)
    ends[msf->component_of[u[i]]]++;
  uint64_t sum = 0;
  for (uint64_t tree = 0; tree < msf->components; tree++) {
    uint64_t here = ends[tree];
    ends[tree] = sum;
    sum += here;
  }
  for (uint64_t i = 0; i < msf->count; i++)
    grouped[ends[msf->component_of[u[i]]]++] = patterns[i];
}

dzo_status dzo_msf_tree_weights_into(dzo_context *context, const dzo_msf *msf,
                                     const dzo_graph *graph, dzo_weight_sum *out) {
  dzo_begin(context);
  if (msf == NULL || out == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT,
                    "dzo_msf_tree_weights_into: no forest, or nowhere to "
                    "put the weights");
  uint32_t *u = dzo_alloc(context, msf->count, sizeof *u);
  uint64_t *patterns = dzo_alloc(context, msf->count, sizeof *patterns);
  uint64_t *grouped = dzo_alloc(context, msf->count, sizeof *grouped);
  uint64_t *ends = dzo_calloc(context, msf->components, sizeof *ends);
  dzo_status status = DZO_E_MEMORY;
  if (u != NULL && patterns != NULL && grouped != NULL && ends != NULL)
    status = look_up(context, msf, graph, u, NULL, patterns);
  if (status == DZO_OK) {
    group_by_tree(msf, u, patterns, ends, grouped);
    tree_job job = {msf, grouped, ends, out};
    dzo_parallel_for(context->threads, msf->components, TREE_GRAIN, sum_trees, &job);
  }
  dzo_free(ends);
  dzo_free(grouped);
  dzo_free(patterns);
  dzo_free(u);
  return status;
}
