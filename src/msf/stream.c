/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Forests of edges that are seen once. Kept are the forest of what was seen, in order, and a batch
 * of newer edges that it does not rule out; a full batch is merged by Kruskal's algorithm. An edge
 * is ruled out at once if it is heavier than the heaviest edge between its endpoints in the forest
 * (cycle property). That edge is found by climbing two paths of the union-by-size tree that
 * Kruskal's algorithm leaves behind, at most log2(n) steps each (Tarjan 1979). */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"
#include "msf/cpu.h"
#include "msf/stream_edge.h"

enum { MIN_BATCH = 1 << 16, FILTER_GRAIN = 1 << 13, BUFFER = 256, MAX_PIECES = 16 };

/* A vertex of the union tree. Roots have parent == themselves; the others were linked to their
 * parent by the forest edge number `rank` in the order, of this key. */
typedef struct link {
  uint64_t key;
  uint32_t parent;
  uint32_t rank; /* of a root: the size of its tree */
} link;

typedef struct stream {
  dzo_context *context;
  uint64_t flip;
  dzo_weight_type type;
  bool started;
  uint64_t vertices; /* seen so far; links has room for `room` */
  uint64_t room;
  const uint64_t *labels; /* of the current chunk */
  uint64_t edges;         /* seen, loops included */
  link *links;            /* [room] */
  stream_edge *forest;    /* [count] in the order */
  uint64_t count;
  stream_edge *batch; /* [capacity] */
  uint64_t batched;   /* accessed atomically */
  uint64_t capacity;
  uint64_t merges;
} stream;

/* ---- The filter ------------------------------------------------------------------------------ */

/* Is `e` after the forest edge that made this link? */
static bool after_link(const stream *s, const stream_edge *e, const link *l) {
  if (e->key != l->key)
    return e->key > l->key;
  return stream_before(s->labels, &s->forest[l->rank], e);
}

static bool linked_before(const link *a, const link *b) { return a->rank < b->rank; }

/* Do the forest's edges before `e` already join its endpoints? */
static bool is_ruled_out(const stream *s, const stream_edge *e) {
  uint32_t u = e->u, v = e->v;
  while (u != v) {
    const link *a = &s->links[u], *b = &s->links[v];
    bool a_is_root = a->parent == u, b_is_root = b->parent == v;
    if (a_is_root && b_is_root)
      return false;
    bool climb_a = !a_is_root && (b_is_root || linked_before(a, b));
    const link *l = climb_a ? a : b;
    if (!after_link(s, e, l))
      return false;
    if (climb_a)
      u = l->parent;
    else
      v = l->parent;
  }
  return true;
}

typedef struct filter_job {
  stream *s;
  const dzo_edges *chunk;
  uint64_t first;
  uint64_t bad; /* accessed atomically: the first edge of the chunk that is not legal */
} filter_job;

static bool is_nan(dzo_weight_type type, const void *weights, uint64_t i) {
  if (type == DZO_WEIGHT_F64)
    return ((const double *)weights)[i] != ((const double *)weights)[i];
  if (type == DZO_WEIGHT_F32)
    return ((const float *)weights)[i] != ((const float *)weights)[i];
  return false;
}

static void flush(stream *s, const stream_edge *buffer, unsigned count) {
  if (count == 0)
    return;
  uint64_t at = dzo_fetch_add_u64(&s->batched, count);
  memcpy(s->batch + at, buffer, count * sizeof *buffer);
}

static void filter(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  filter_job *job = argument;
  stream *s = job->s;
  const dzo_edges *chunk = job->chunk;
  stream_edge buffer[BUFFER];
  unsigned count = 0;
  for (uint64_t i = job->first + begin; i < job->first + end; i++) {
    stream_edge e = {.number = dzo_edge_number(chunk, i), .u = chunk->u[i], .v = chunk->v[i]};
    if (e.u >= chunk->vertices || e.v >= chunk->vertices || is_nan(s->type, chunk->weights, i)) {
      dzo_min_u64(&job->bad, i);
      continue;
    }
    if (e.u == e.v)
      continue;
    e.key = dzo_weight_pattern(s->type, chunk->weights, i) ^ s->flip;
    if (is_ruled_out(s, &e))
      continue;
    buffer[count++] = e;
    if (count == BUFFER) {
      flush(s, buffer, count);
      count = 0;
    }
  }
  flush(s, buffer, count);
}

static dzo_status report_bad(const stream *s, const dzo_edges *chunk, uint64_t i) {
  unsigned long long number = dzo_edge_number(chunk, i);
  if (chunk->u[i] >= chunk->vertices || chunk->v[i] >= chunk->vertices)
    return dzo_fail(s->context, DZO_E_ARGUMENT, "edge %llu: endpoint %lu of %llu vertices", number,
                    (unsigned long)(chunk->u[i] >= chunk->vertices ? chunk->u[i] : chunk->v[i]),
                    (unsigned long long)chunk->vertices);
  return dzo_fail(s->context, DZO_E_ARGUMENT, "edge %llu: the weight is not a number", number);
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Sorted pieces of the batch, and the forest, as one ascending sequence. */
typedef struct merger {
  const uint64_t *labels;
  const stream_edge *next[MAX_PIECES + 1];
  const stream_edge *end[MAX_PIECES + 1];
  int pieces;
} merger;

static const stream_edge *merger_next(merger *m) {
  int first = -1;
  for (int i = 0; i < m->pieces; i++)
    if (m->next[i] < m->end[i] &&
        (first < 0 || stream_before(m->labels, m->next[i], m->next[first])))
      first = i;
  return first < 0 ? NULL : m->next[first]++;
}

typedef struct sort_job {
  stream *s;
  uint64_t piece;
} sort_job;

static void sort_piece(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const sort_job *job = argument;
  stream_sort(job->s->batch + begin, end - begin, job->s->labels);
}

static merger start_merger(stream *s) {
  uint64_t threads = (uint64_t)s->context->threads;
  uint64_t pieces = threads < MAX_PIECES ? threads : MAX_PIECES;
  sort_job job = {s, (s->batched + pieces - 1) / pieces};
  dzo_parallel_for(s->context->threads, s->batched, job.piece, sort_piece, &job);
  merger m = {.labels = s->labels,
              .next = {s->forest},
              .end = {s->count > 0 ? s->forest + s->count : s->forest}};
  m.pieces = 1;
  for (uint64_t at = 0; at < s->batched; at += job.piece, m.pieces++) {
    m.next[m.pieces] = s->batch + at;
    m.end[m.pieces] = s->batch + (s->batched - at < job.piece ? s->batched : at + job.piece);
  }
  return m;
}

static uint32_t find_root(uint32_t *root, uint32_t v) {
  while (root[v] != v) {
    root[v] = root[root[v]];
    v = root[v];
  }
  return v;
}

static void clear_links(stream *s) {
  for (uint64_t v = 0; v < s->vertices; v++)
    s->links[v] = (link){0, (uint32_t)v, 1};
}

/* Link the roots of a forest edge, the smaller tree below the larger. `root` is the same forest
 * with halved paths, for finding only. */
static void link_roots(stream *s, uint32_t *root, uint32_t a, uint32_t b, uint64_t key,
                       uint32_t rank) {
  if (s->links[a].rank > s->links[b].rank) {
    uint32_t swap = a;
    a = b;
    b = swap;
  }
  s->links[b].rank += s->links[a].rank;
  s->links[a] = (link){key, b, rank};
  root[a] = b;
}

static void kruskal(stream *s, merger *m, uint32_t *root, stream_edge *out, uint64_t *count) {
  for (uint64_t v = 0; v < s->vertices; v++)
    root[v] = (uint32_t)v;
  clear_links(s);
  for (const stream_edge *e = merger_next(m); e != NULL; e = merger_next(m)) {
    uint32_t a = find_root(root, e->u), b = find_root(root, e->v);
    if (a == b)
      continue;
    link_roots(s, root, a, b, e->key, (uint32_t)*count);
    out[(*count)++] = *e;
  }
}

/* Merge the batch into the forest. */
static dzo_status merge(stream *s) {
  if (s->batched == 0)
    return DZO_OK;
  uint64_t most = s->count + s->batched;
  if (most > s->vertices)
    most = s->vertices;
  stream_edge *forest = dzo_alloc(s->context, most, sizeof *forest);
  uint32_t *root = dzo_alloc(s->context, s->vertices, sizeof *root);
  if (forest == NULL || root == NULL) {
    dzo_free(forest);
    dzo_free(root);
    return DZO_E_MEMORY;
  }
  merger m = start_merger(s);
  uint64_t count = 0;
  kruskal(s, &m, root, forest, &count);
  dzo_free(root);
  dzo_free(s->forest);
  s->forest = forest;
  s->count = count;
  s->batched = 0;
  s->merges++;
  return DZO_OK;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Vertices may turn up as the stream goes on. */
static dzo_status grow(stream *s, uint64_t vertices) {
  if (vertices > UINT32_MAX)
    return dzo_fail(s->context, DZO_E_UNSUPPORTED, "%llu vertices: at most 2^32 - 1",
                    (unsigned long long)vertices);
  if (vertices > s->room) {
    uint64_t room = s->room + s->room / 2;
    if (room < vertices)
      room = vertices;
    link *links = dzo_realloc(s->context, s->links, room, sizeof *links);
    if (links == NULL)
      return DZO_E_MEMORY;
    s->links = links;
    s->room = room;
  }
  for (uint64_t v = s->vertices; v < vertices; v++)
    s->links[v] = (link){0, (uint32_t)v, 1};
  if (vertices > s->vertices)
    s->vertices = vertices;
  return DZO_OK;
}

/* A batch of half as many edges as there are vertices: merging costs about as much as the forest is
 * long, and a longer batch would cost memory. */
static dzo_status grow_batch(stream *s) {
  uint64_t wanted = s->vertices / 2;
  if (wanted < MIN_BATCH)
    wanted = MIN_BATCH;
  if (wanted <= s->capacity)
    return DZO_OK;
  stream_edge *batch = dzo_realloc(s->context, s->batch, wanted, sizeof *batch);
  if (batch == NULL)
    return DZO_E_MEMORY;
  s->batch = batch;
  s->capacity = wanted;
  return DZO_OK;
}

static dzo_status check_chunk(const stream *s, const dzo_edges *chunk) {
  DZO_TRY(dzo_edges_check_shape(s->context, chunk));
  if (s->started && chunk->weight_type != s->type)
    return dzo_fail(s->context, DZO_E_ARGUMENT, "the weight type changes within the stream");
  if (chunk->vertices < s->vertices)
    return dzo_fail(s->context, DZO_E_ARGUMENT, "the stream had %llu vertices, and now has %llu",
                    (unsigned long long)s->vertices, (unsigned long long)chunk->vertices);
  return DZO_OK;
}

static dzo_status take_chunk(stream *s, const dzo_edges *chunk) {
  DZO_TRY(check_chunk(s, chunk));
  s->started = true;
  s->type = chunk->weight_type;
  s->labels = chunk->labels;
  DZO_TRY(grow(s, chunk->vertices));
  DZO_TRY(grow_batch(s));
  for (uint64_t at = 0; at < chunk->count;) {
    if (s->capacity - s->batched < s->capacity / 8)
      DZO_TRY(merge(s));
    uint64_t room = s->capacity - s->batched, left = chunk->count - at;
    uint64_t count = left < room ? left : room;
    filter_job job = {s, chunk, at, UINT64_MAX};
    dzo_parallel_for(s->context->threads, count, FILTER_GRAIN, filter, &job);
    if (job.bad != UINT64_MAX)
      return report_bad(s, chunk, job.bad);
    at += count;
    s->edges += count;
    DZO_TRY(dzo_progress(s->context, "solve", s->edges, 0));
  }
  return DZO_OK;
}

/* ---- The result ------------------------------------------------------------------------------ */

static dzo_status result_arrays(const stream *s, dzo_msf *out) {
  dzo_context *context = s->context;
  out->edges = dzo_alloc(context, s->count, sizeof *out->edges);
  out->u = dzo_alloc(context, s->count, sizeof *out->u);
  out->v = dzo_alloc(context, s->count, sizeof *out->v);
  out->patterns = dzo_alloc(context, s->count, sizeof *out->patterns);
  out->component_of = dzo_alloc(context, s->vertices, sizeof *out->component_of);
  if (out->edges == NULL || out->u == NULL || out->v == NULL || out->patterns == NULL ||
      out->component_of == NULL)
    return DZO_E_MEMORY;
  return DZO_OK;
}

static void fill_components(const stream *s, dzo_msf *out) {
  uint32_t next = 0;
  for (uint64_t v = 0; v < s->vertices; v++)
    if (s->links[v].parent == v)
      out->component_of[v] = next++;
  for (uint64_t v = 0; v < s->vertices; v++) {
    uint32_t root = (uint32_t)v;
    while (s->links[root].parent != root)
      root = s->links[root].parent;
    if (root != v)
      out->component_of[v] = out->component_of[root];
  }
  out->components = next;
}

static dzo_status make_result(stream *s, dzo_msf *out) {
  DZO_TRY(merge(s));
  dzo_free(s->batch);
  s->batch = NULL;
  out->vertices = s->vertices;
  out->graph_edges = s->edges;
  out->weight_type = s->type;
  out->device = DZO_DEVICE_CPU;
  out->count = s->count;
  DZO_TRY(result_arrays(s, out));
  fill_components(s, out);
  DZO_TRY(msf_number_components(s->context, out->component_of, s->vertices, out->components));
  stream_sort_by_number(s->forest, s->count);
  msf_sum sum;
  msf_sum_init(&sum);
  for (uint64_t i = 0; i < s->count; i++) {
    const stream_edge *e = &s->forest[i];
    bool ordered = stream_name(s->labels, e->u) < stream_name(s->labels, e->v);
    out->edges[i] = e->number;
    out->u[i] = ordered ? e->u : e->v;
    out->v[i] = ordered ? e->v : e->u;
    out->patterns[i] = e->key ^ s->flip;
    msf_sum_add(&sum, s->type, out->patterns[i]);
  }
  out->weight = msf_sum_weight(&sum, s->type);
  (void)snprintf(out->plan, sizeof out->plan, "streamed, %llu merges of up to %llu edges",
                 (unsigned long long)s->merges, (unsigned long long)s->capacity);
  return DZO_OK;
}

static dzo_status run(stream *s, const dzo_edge_source *source, dzo_msf *out) {
  for (;;) {
    dzo_edges chunk = {0};
    DZO_TRY(source->next(source->user, s->context, &chunk));
    if (chunk.count == 0) {
      if (!s->started)
        s->type = chunk.weight_type;
      s->labels = chunk.labels != NULL ? chunk.labels : s->labels;
      DZO_TRY(grow(s, chunk.vertices));
      break;
    }
    DZO_TRY(take_chunk(s, &chunk));
  }
  return make_result(s, out);
}

dzo_status msf_stream_cpu(dzo_context *context, const dzo_edge_source *source, bool maximum,
                          dzo_msf *out) {
  stream s = {.context = context, .flip = maximum ? UINT64_MAX : 0};
  dzo_status status = run(&s, source, out);
  dzo_free(s.links);
  dzo_free(s.forest);
  dzo_free(s.batch);
  return status;
}
