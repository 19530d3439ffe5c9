/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Renumbering so that linked vertices have near numbers. Vertices are grouped by the member of
 * their closed neighbourhood that a hash ranks first (shingles: Broder, 1997; Chierichetti et al.,
 * "On compressing social networks", 2009), which is the same for nearly all of a clique; a majority
 * vote among neighbours (Boyer and Moore, 1981) brings the strays home. The groups are then
 * numbered in breadth-first order. Needs the memory of the graph a second time. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/row_sort.h"

enum { GRAIN = 1 << 11, POLL = 1 << 12 };

typedef struct renumber_job {
  dzo_context *context;
  const dzo_graph *graph;
  dzo_graph *result;
  uint32_t *shingles;      /* [vertices] */
  uint32_t *groups;        /* [vertices] group of each vertex, named by one of the vertices */
  uint32_t *group_starts;  /* [vertices + 1] in members */
  uint32_t *group_members; /* [vertices] */
  uint32_t *queue;         /* [vertices] groups to visit */
  uint64_t *queued;        /* [vertices / 64 + 1] bit set of groups */
  uint32_t *old_of;        /* [vertices] */
  uint32_t *new_of;        /* [vertices] */
} renumber_job;

/* A bijection of 32 bits: the finaliser of MurmurHash3 (A. Appleby). */
static uint32_t rank(uint32_t x) {
  x ^= x >> 16;
  x *= UINT32_C(0x85EBCA6B);
  x ^= x >> 13;
  x *= UINT32_C(0xC2B2AE35);
  return x ^ x >> 16;
}

static void find_shingles(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const renumber_job *job = argument;
  const dzo_graph *g = job->graph;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t v = begin; v < end; v++) {
    uint32_t best = (uint32_t)v, best_rank = rank(best);
    for (uint64_t arc = g->offsets[v]; arc < g->offsets[v + 1]; arc++) {
      uint32_t its_rank = rank(g->neighbours[arc]);
      if (its_rank < best_rank) {
        best = g->neighbours[arc];
        best_rank = its_rank;
      }
    }
    job->shingles[v] = best;
  }
}

/* The shingle that more than half of the neighbours have, or else one's own. */
static uint32_t vote(const renumber_job *job, uint64_t v) {
  const dzo_graph *g = job->graph;
  const uint32_t *shingles = job->shingles;
  uint32_t candidate = shingles[v];
  uint64_t lead = 0, votes = 0, begin = g->offsets[v], end = g->offsets[v + 1];
  for (uint64_t arc = begin; arc < end; arc++) {
    uint32_t shingle = shingles[g->neighbours[arc]];
    if (shingle == candidate) {
      lead++;
    } else if (lead == 0) {
      candidate = shingle;
      lead = 1;
    } else {
      lead--;
    }
  }
  for (uint64_t arc = begin; arc < end; arc++)
    votes += shingles[g->neighbours[arc]] == candidate;
  return 2 * votes > end - begin ? candidate : shingles[v];
}

static void vote_all(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const renumber_job *job = argument;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t v = begin; v < end; v++)
    job->groups[v] = vote(job, v);
}

static void list_members(const renumber_job *job) {
  uint64_t n = job->graph->vertices;
  uint32_t *starts = job->group_starts;
  memset(starts, 0, (size_t)(n + 1) * sizeof *starts);
  for (uint64_t v = 0; v < n; v++)
    starts[job->groups[v]]++;
  uint32_t sum = 0;
  for (uint64_t group = 0; group <= n; group++) {
    uint32_t count = starts[group];
    starts[group] = sum;
    sum += count;
  }
  /* Each start moves on to the next group's; then all shift back by one. */
  for (uint64_t v = 0; v < n; v++)
    job->group_members[starts[job->groups[v]]++] = (uint32_t)v;
  memmove(starts + 1, starts, (size_t)n * sizeof *starts);
  starts[0] = 0;
}

static void enqueue(const renumber_job *job, uint32_t group, uint64_t *tail) {
  uint64_t bit = UINT64_C(1) << group % 64;
  if (job->queued[group / 64] & bit)
    return;
  job->queued[group / 64] |= bit;
  job->queue[(*tail)++] = group;
}

/* Number the members of a group and enqueue the groups next to it. */
static void visit(const renumber_job *job, uint32_t group, uint64_t *numbered, uint64_t *tail) {
  const dzo_graph *g = job->graph;
  for (uint32_t i = job->group_starts[group]; i < job->group_starts[group + 1]; i++) {
    uint32_t v = job->group_members[i];
    job->old_of[*numbered] = v;
    job->new_of[v] = (uint32_t)(*numbered)++;
    for (uint64_t arc = g->offsets[v]; arc < g->offsets[v + 1]; arc++) {
      uint32_t next = job->groups[g->neighbours[arc]];
      if (next != group)
        enqueue(job, next, tail);
    }
  }
}

static dzo_status number_groups(dzo_context *context, const renumber_job *job) {
  uint64_t n = job->graph->vertices, numbered = 0, head = 0, tail = 0;
  for (uint64_t v = 0; v < n; v++) {
    enqueue(job, job->groups[v], &tail);
    while (head < tail) {
      if (head % POLL == 0)
        DZO_TRY(dzo_progress(context, "renumber", numbered, n));
      visit(job, job->queue[head++], &numbered, &tail);
    }
  }
  return DZO_OK;
}

static dzo_status choose_numbers(dzo_context *context, renumber_job *job) {
  uint64_t n = job->graph->vertices;
  job->shingles = dzo_alloc(context, n, sizeof *job->shingles);
  job->groups = dzo_alloc(context, n, sizeof *job->groups);
  job->group_starts = dzo_alloc(context, n + 1, sizeof *job->group_starts);
  job->group_members = dzo_alloc(context, n, sizeof *job->group_members);
  job->queued = dzo_calloc(context, n / 64 + 1, sizeof *job->queued);
  job->old_of = dzo_alloc(context, n, sizeof *job->old_of);
  job->new_of = dzo_alloc(context, n, sizeof *job->new_of);
  if (job->shingles == NULL || job->groups == NULL || job->group_starts == NULL ||
      job->group_members == NULL || job->queued == NULL || job->old_of == NULL ||
      job->new_of == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, n, GRAIN, find_shingles, job);
  DZO_TRY(dzo_progress(context, "renumber", 0, n));
  dzo_parallel_for(context->threads, n, GRAIN, vote_all, job);
  DZO_TRY(dzo_progress(context, "renumber", 0, n));
  job->queue = job->shingles; /* done with */
  list_members(job);
  return number_groups(context, job);
}

static void scratch_free(renumber_job *job) {
  dzo_free(job->shingles);
  dzo_free(job->groups);
  dzo_free(job->group_starts);
  dzo_free(job->group_members);
  dzo_free(job->queued);
  dzo_free(job->old_of);
  dzo_free(job->new_of);
}

/* ---- Moving the rows ------------------------------------------------------------------------- */

static void copy_part(void *to, uint64_t to_at, const void *from, uint64_t from_at, uint64_t count,
                      size_t size) {
  if (from != NULL && count > 0)
    memcpy((char *)to + to_at * size, (const char *)from + from_at * size, (size_t)count * size);
}

static void move_rows(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const renumber_job *job = argument;
  const dzo_graph *from = job->graph;
  dzo_graph *to = job->result;
  if (dzo_is_cancelled(job->context))
    return;
  for (uint64_t r = begin; r < end; r++) {
    uint64_t old = from->offsets[job->old_of[r]], at = to->offsets[r];
    uint64_t count = to->offsets[r + 1] - at;
    for (uint64_t i = 0; i < count; i++)
      to->neighbours[at + i] = job->new_of[from->neighbours[old + i]];
    copy_part(to->keys32, at, from->keys32, old, count, sizeof *to->keys32);
    copy_part(to->keys64, at, from->keys64, old, count, sizeof *to->keys64);
    copy_part(to->numbers32, at, from->numbers32, old, count, sizeof *to->numbers32);
    copy_part(to->numbers64, at, from->numbers64, old, count, sizeof *to->numbers64);
  }
}

/* An array of `to` like that of `from`; true unless there is no memory. */
#define ALLOCATE_LIKE(context, to, from, count)                                                    \
  ((from) == NULL || ((to) = dzo_alloc(context, count, sizeof *(to))) != NULL)

static dzo_status allocate_result(dzo_context *context, const dzo_graph *from, dzo_graph *to) {
  bool good = ALLOCATE_LIKE(context, to->offsets, from->offsets, from->vertices + 1) &&
              ALLOCATE_LIKE(context, to->neighbours, from->neighbours, from->arcs) &&
              ALLOCATE_LIKE(context, to->keys32, from->keys32, from->arcs) &&
              ALLOCATE_LIKE(context, to->keys64, from->keys64, from->arcs) &&
              ALLOCATE_LIKE(context, to->numbers32, from->numbers32, from->arcs) &&
              ALLOCATE_LIKE(context, to->numbers64, from->numbers64, from->arcs) &&
              ALLOCATE_LIKE(context, to->labels, from->offsets, from->vertices);
  return good ? DZO_OK : DZO_E_MEMORY;
}

static dzo_status move_graph(dzo_context *context, renumber_job *job) {
  const dzo_graph *from = job->graph;
  dzo_graph *to = job->result;
  DZO_TRY(allocate_result(context, from, to));
  to->offsets[0] = 0;
  for (uint64_t r = 0; r < from->vertices; r++) {
    uint32_t old = job->old_of[r];
    to->offsets[r + 1] = to->offsets[r] + (from->offsets[old + 1] - from->offsets[old]);
    to->labels[r] = dzo_graph_label(from, old);
  }
  dzo_parallel_for(context->threads, from->vertices, GRAIN, move_rows, job);
  DZO_TRY(dzo_progress(context, "renumber", 1, 1));
  bool by_weight = from->row_order == DZO_ROWS_BY_WEIGHT;
  dzo_row_order order = by_weight ? DZO_ROWS_BY_WEIGHT : DZO_ROWS_BY_NEIGHBOUR;
  DZO_TRY(dzo_graph_order_rows(context, to, order));
  to->row_order = order;
  return DZO_OK;
}

#define SWAP(type, a, b)                                                                           \
  do {                                                                                             \
    type swap = (a);                                                                               \
    (a) = (b);                                                                                     \
    (b) = swap;                                                                                    \
  } while (0)

/* What was not moved stays with `graph`. */
static void adopt(dzo_graph *graph, dzo_graph *moved, const uint32_t *new_of) {
  SWAP(uint64_t *, graph->offsets, moved->offsets);
  SWAP(uint32_t *, graph->neighbours, moved->neighbours);
  SWAP(uint32_t *, graph->keys32, moved->keys32);
  SWAP(uint64_t *, graph->keys64, moved->keys64);
  SWAP(uint32_t *, graph->numbers32, moved->numbers32);
  SWAP(uint64_t *, graph->numbers64, moved->numbers64);
  SWAP(uint64_t *, graph->labels, moved->labels);
  graph->row_order = moved->row_order;
  graph->first_label = 0;
  for (uint64_t i = 0; i < graph->loops; i++)
    graph->loop_vertices[i] = new_of[graph->loop_vertices[i]];
}

static dzo_status renumber(dzo_context *context, dzo_graph *graph, dzo_graph *moved) {
  renumber_job job = {.context = context, .graph = graph, .result = moved};
  dzo_status status = choose_numbers(context, &job);
  if (status == DZO_OK)
    status = move_graph(context, &job);
  if (status == DZO_OK)
    adopt(graph, moved, job.new_of);
  scratch_free(&job);
  return status;
}

dzo_status dzo_graph_renumber(dzo_context *context, dzo_graph *graph) {
  dzo_begin(context);
  if (graph == NULL)
    return dzo_fail(context, DZO_E_ARGUMENT, "no graph was given (NULL)");
  if (graph->compressed != NULL)
    return dzo_fail(context, DZO_E_UNSUPPORTED, "a compressed graph cannot be renumbered");
  dzo_graph_evict(graph);
  dzo_graph *moved = dzo_calloc(context, 1, sizeof *moved);
  if (moved == NULL)
    return DZO_E_MEMORY;
  moved->vertices = graph->vertices;
  moved->arcs = graph->arcs;
  moved->row_order = DZO_ROWS_IN_NO_ORDER;
  dzo_status status = renumber(context, graph, moved);
  dzo_graph_destroy(moved);
  return status;
}
