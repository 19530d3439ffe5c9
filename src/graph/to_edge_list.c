/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include <stdlib.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/compress.h"
#include "graph/edge_list.h"

enum { GRAIN = 1 << 12, SPARSE = 64, WORD = 64 };

/* Where an edge goes in the list: how many edges have smaller numbers. While the numbers are dense
 * a bit map with counts answers; else a sorted array of them does. */
typedef struct rank_table {
  uint64_t *words;  /* [bound / 64 + 1] */
  uint64_t *before; /* [bound / 64 + 1] edges in the words before */
  uint64_t *sorted; /* [edges] */
  uint64_t edges;
} rank_table;

typedef struct list_job {
  const dzo_context *context;
  const dzo_graph *graph;
  dzo_edge_list *list;
  rank_table rank;
  uint64_t filled; /* of rank.sorted; accessed atomically */
} list_job;

static void rank_free(rank_table *rank) {
  dzo_free(rank->words);
  dzo_free(rank->before);
  dzo_free(rank->sorted);
}

static void add_number(list_job *job, uint64_t number) {
  rank_table *rank = &job->rank;
  if (rank->words != NULL)
    dzo_fetch_or_u64(&rank->words[number / WORD], UINT64_C(1) << number % WORD);
  else
    rank->sorted[dzo_fetch_add_u64(&job->filled, 1)] = number;
}

static uint64_t rank_of(const rank_table *rank, uint64_t number) {
  if (rank->words != NULL) {
    uint64_t below = rank->words[number / WORD] & ((UINT64_C(1) << number % WORD) - 1);
    return rank->before[number / WORD] + (uint64_t)__builtin_popcountll(below);
  }
  if (rank->sorted == NULL)
    return number;
  uint64_t low = 0, high = rank->edges;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (rank->sorted[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add_numbers(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  list_job *job = argument;
  const dzo_graph *g = job->graph;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t u = begin; u < end; u++)
    for (uint64_t arc = g->offsets[u]; arc < g->offsets[u + 1]; arc++)
      if (u < dzo_arc_neighbour(g, arc))
        add_number(job, dzo_arc_number(g, arc));
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void finish_ranks(rank_table *rank, uint64_t words) {
  if (rank->words == NULL) {
    qsort(rank->sorted, (size_t)rank->edges, sizeof *rank->sorted, compare_u64);
    return;
  }
  uint64_t sum = 0;
  for (uint64_t w = 0; w < words; w++) {
    rank->before[w] = sum;
    sum += (uint64_t)__builtin_popcountll(rank->words[w]);
  }
}

static dzo_status make_ranks(dzo_context *context, list_job *job) {
  const dzo_graph *g = job->graph;
  rank_table *rank = &job->rank;
  uint64_t words = g->number_bound / WORD + 1;
  bool dense = g->number_bound / SPARSE <= g->edges;
  rank->edges = g->edges;
  job->list->numbers = dzo_alloc(context, g->edges, sizeof *job->list->numbers);
  if (dense) {
    rank->words = dzo_calloc(context, words, sizeof *rank->words);
    rank->before = dzo_alloc(context, words, sizeof *rank->before);
  } else {
    rank->sorted = dzo_alloc(context, g->edges, sizeof *rank->sorted);
  }
  if (job->list->numbers == NULL || (dense && (rank->words == NULL || rank->before == NULL)) ||
      (!dense && rank->sorted == NULL))
    return DZO_E_MEMORY;
  for (uint64_t i = 0; i < g->loops; i++)
    add_number(job, g->loop_numbers[i]);
  dzo_parallel_for(context->threads, g->vertices, GRAIN, add_numbers, job);
  DZO_TRY(dzo_progress(context, "list", 1, 2));
  finish_ranks(rank, words);
  return DZO_OK;
}

static void put_weight(dzo_edge_list *list, uint64_t i, dzo_weight w) {
  switch (list->weight_type) {
  case DZO_WEIGHT_NONE:
    return;
  case DZO_WEIGHT_U32:
    ((uint32_t *)list->weights)[i] = (uint32_t)w.u64;
    return;
  case DZO_WEIGHT_I64:
    ((int64_t *)list->weights)[i] = w.i64;
    return;
  case DZO_WEIGHT_U64:
    ((uint64_t *)list->weights)[i] = w.u64;
    return;
  case DZO_WEIGHT_F32:
    ((float *)list->weights)[i] = (float)w.f64;
    return;
  case DZO_WEIGHT_F64:
    ((double *)list->weights)[i] = w.f64;
    return;
  }
}

static void put_edge(const list_job *job, uint64_t number, uint32_t u, uint32_t v, uint64_t key) {
  dzo_edge_list *list = job->list;
  uint64_t i = rank_of(&job->rank, number);
  list->u[i] = u;
  list->v[i] = v;
  put_weight(list, i, dzo_key_weight(&job->graph->map, key));
  if (list->numbers != NULL)
    list->numbers[i] = number;
}

static void put_edges(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const list_job *job = argument;
  const dzo_graph *g = job->graph;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t u = begin; u < end; u++)
    for (uint64_t arc = g->offsets[u]; arc < g->offsets[u + 1]; arc++) {
      uint32_t v = dzo_arc_neighbour(g, arc);
      if (u < v)
        put_edge(job, dzo_arc_number(g, arc), (uint32_t)u, v, dzo_arc_key(g, arc));
    }
}

static dzo_status fill(dzo_context *context, list_job *job) {
  const dzo_graph *g = job->graph;
  job->list->format = g->format;
  job->list->first_label = g->first_label;
  if (g->labels != NULL) {
    job->list->labels = dzo_alloc(context, g->vertices, sizeof *g->labels);
    if (job->list->labels == NULL)
      return DZO_E_MEMORY;
    memcpy(job->list->labels, g->labels, (size_t)g->vertices * sizeof *g->labels);
  }
  if (g->number_bound != g->edges)
    DZO_TRY(make_ranks(context, job));
  for (uint64_t i = 0; i < g->loops; i++)
    put_edge(job, g->loop_numbers[i], g->loop_vertices[i], g->loop_vertices[i], g->loop_keys[i]);
  dzo_parallel_for(context->threads, g->vertices, GRAIN, put_edges, job);
  return dzo_progress(context, "list", 2, 2);
}

dzo_status dzo_graph_to_edge_list(dzo_context *context, const dzo_graph *graph,
                                  dzo_edge_list **out) {
  *out = NULL;
  list_job job = {.context = context, .graph = graph};
  DZO_TRY(dzo_edge_list_create(context, graph->vertices, graph->edges, graph->map.type, &job.list));
  dzo_status status = fill(context, &job);
  rank_free(&job.rank);
  if (status != DZO_OK) {
    dzo_edge_list_destroy(job.list);
    return status;
  }
  *out = job.list;
  return DZO_OK;
}
