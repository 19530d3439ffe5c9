/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "graph/partition.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "graph/edge_list.h"

enum {
  BUCKET_ARCS = 1 << 15, /* wanted: what a bucket takes to sort should fit the L2 cache */
  MAX_LOG_BUCKETS = 11,  /* unless there are more than 2^27 vertices */
  MAX_SHIFT = 16,
  MAX_CHUNKS = 256,
  MIN_CHUNK = 1 << 16,
  SLOTS = 32,   /* arcs of a bucket that are gathered before they are written as whole lines */
  POLL = 1 << 7 /* edges; so few, since the first ones touch most pages of a graph, in seconds */
};

/* Each chunk of edges has, for each bucket, a range of positions of its own, in the order of the
 * chunks; so the result does not depend on who handles which chunk when. */
typedef struct deal_job {
  dzo_context *context;
  const dzo_edges *edges;
  dzo_graph *graph;
  dzo_partition *out;
  uint64_t chunk_edges, chunks;
  uint64_t *counts;      /* [chunks][buckets], then the first position of each */
  uint64_t *loop_counts; /* [chunks], then the first position of each */
  uint64_t first_bad;    /* position; accessed atomically */
  int failed;            /* accessed atomically */
} deal_job;

void dzo_partition_free(dzo_partition *partition) {
  dzo_free(partition->bucket_offsets);
  dzo_free(partition->rows);
}

static unsigned ceil_log2(uint64_t x) { return x <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(x - 1); }

static void choose_buckets(const dzo_edges *edges, dzo_partition *out) {
  unsigned vertex_bits = ceil_log2(edges->vertices);
  unsigned log_buckets = ceil_log2(edges->count / (BUCKET_ARCS / 2) + 1);
  if (log_buckets > MAX_LOG_BUCKETS)
    log_buckets = MAX_LOG_BUCKETS;
  out->shift = vertex_bits > log_buckets ? vertex_bits - log_buckets : 0;
  if (out->shift > MAX_SHIFT)
    out->shift = MAX_SHIFT;
  out->buckets = edges->vertices == 0 ? 0 : ((edges->vertices - 1) >> out->shift) + 1;
}

static uint64_t chunk_end(const deal_job *job, uint64_t chunk) {
  uint64_t end = (chunk + 1) * job->chunk_edges;
  return end < job->edges->count ? end : job->edges->count;
}

static bool is_bad(const dzo_edges *e, uint64_t i) {
  return e->u[i] >= e->vertices || e->v[i] >= e->vertices ||
         (e->numbers != NULL &&
          (e->numbers[i] == UINT64_MAX || (i > 0 && e->numbers[i] <= e->numbers[i - 1])));
}

static void count_chunk(deal_job *job, uint64_t chunk) {
  const dzo_edges *e = job->edges;
  unsigned shift = job->out->shift;
  uint64_t *counts = job->counts + chunk * job->out->buckets;
  uint64_t loops = 0;
  for (uint64_t i = chunk * job->chunk_edges, end = chunk_end(job, chunk); i < end; i++) {
    if (DZO_UNLIKELY(is_bad(e, i))) {
      dzo_min_u64(&job->first_bad, i);
      return;
    }
    if (i % POLL == 0 && dzo_is_cancelled(job->context))
      return;
    uint64_t is_loop = e->u[i] == e->v[i];
    counts[e->u[i] >> shift] += 1 - is_loop;
    counts[e->v[i] >> shift] += 1 - is_loop;
    loops += is_loop;
  }
  job->loop_counts[chunk] = loops;
}

static void count_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  for (uint64_t chunk = begin; chunk < end; chunk++)
    count_chunk(argument, chunk);
}

/* Counts become first positions; returns the number of arcs. */
static uint64_t start_chunks(deal_job *job) {
  uint64_t buckets = job->out->buckets, sum = 0, loops = 0;
  for (uint64_t b = 0; b < buckets; b++) {
    job->out->bucket_offsets[b] = sum;
    for (uint64_t c = 0; c < job->chunks; c++) {
      uint64_t count = job->counts[c * buckets + b];
      job->counts[c * buckets + b] = sum;
      sum += count;
    }
  }
  job->out->bucket_offsets[buckets] = sum;
  for (uint64_t c = 0; c < job->chunks; c++) {
    uint64_t count = job->loop_counts[c];
    job->loop_counts[c] = loops;
    loops += count;
  }
  job->graph->loops = loops;
  return sum;
}

static dzo_status count_all(deal_job *job) {
  dzo_context *context = job->context;
  job->out->bucket_offsets =
      dzo_alloc(context, job->out->buckets + 1, sizeof *job->out->bucket_offsets);
  job->counts = dzo_calloc(context, job->chunks * job->out->buckets, sizeof *job->counts);
  job->loop_counts = dzo_calloc(context, job->chunks, sizeof *job->loop_counts);
  if (job->out->bucket_offsets == NULL || job->counts == NULL || job->loop_counts == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, job->chunks, 1, count_chunks, job);
  if (job->first_bad != UINT64_MAX)
    return dzo_edges_fail(context, job->edges, job->first_bad);
  DZO_TRY(dzo_progress(context, "build", DZO_BUILD_COUNTED, DZO_BUILD_DONE));
  job->graph->arcs = start_chunks(job);
  return DZO_OK;
}

static dzo_status allocate_arrays(dzo_context *context, const dzo_edges *e, dzo_graph *g,
                                  dzo_partition *out) {
  g->number_bound = e->count == 0 ? 0 : dzo_edge_number(e, e->count - 1) + 1;
  bool narrow = g->number_bound <= UINT64_C(1) << 32, keyed = e->weight_type != DZO_WEIGHT_NONE;
  g->neighbours = dzo_alloc(context, g->arcs, sizeof *g->neighbours);
  if (keyed && g->map.wide)
    g->keys64 = dzo_alloc(context, g->arcs, sizeof *g->keys64);
  else if (keyed)
    g->keys32 = dzo_alloc(context, g->arcs, sizeof *g->keys32);
  if (narrow)
    g->numbers32 = dzo_alloc(context, g->arcs, sizeof *g->numbers32);
  else
    g->numbers64 = dzo_alloc(context, g->arcs, sizeof *g->numbers64);
  g->loop_vertices = dzo_alloc(context, g->loops, sizeof *g->loop_vertices);
  g->loop_keys = dzo_alloc(context, g->loops, sizeof *g->loop_keys);
  g->loop_numbers = dzo_alloc(context, g->loops, sizeof *g->loop_numbers);
  out->rows = dzo_alloc(context, g->arcs, sizeof *out->rows);
  bool good = g->neighbours != NULL && (!keyed || g->keys32 != NULL || g->keys64 != NULL) &&
              (g->numbers32 != NULL || g->numbers64 != NULL) && g->loop_vertices != NULL &&
              g->loop_keys != NULL && g->loop_numbers != NULL && out->rows != NULL;
  return good ? DZO_OK : DZO_E_MEMORY;
}

/* ---- Dealing --------------------------------------------------------------------------------- */

/* What one chunk has gathered: SLOTS records a bucket, at their positions modulo SLOTS. A record is
 * the neighbour, the row in the bucket, the key and the number, side by side, so that adding an arc
 * touches one cache line. */
typedef struct dealer {
  uint64_t *next;  /* [buckets] next position */
  uint64_t *first; /* [buckets] positions before belong to other chunks */
  char *records;   /* [buckets][SLOTS] of record_width bytes */
} dealer;

enum { ROW_AT = 4, KEY_AT = 8, MAX_RECORD = 24 };

DZO_ITEM size_t record_width(size_t key_width, size_t number_width) {
  return (KEY_AT + key_width + number_width + 7) / 8 * 8;
}

typedef struct arc_arrays {
  uint32_t *neighbours;
  uint16_t *rows;
  void *keys;
  void *numbers;
} arc_arrays;

/* Whole cache lines past the cache, which they would only sweep: twice as fast as plain stores. */
DZO_ITEM void stream_line(char *to, const char *from, size_t bytes) {
#if defined(__SSE2__)
  for (size_t k = 0; k < bytes; k += sizeof(__m128i))
    _mm_stream_si128((__m128i *)(void *)(to + k),
                     _mm_load_si128((const __m128i *)(const void *)(from + k)));
#else
  memcpy(to, from, bytes);
#endif
}

/* Streamed lines become visible to other threads in order. */
static void end_streaming(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/* One field of the records begin .. end - 1 of a bucket, to the array that collects it. */
DZO_ITEM void flush_field(void *array, const char *records, size_t record, size_t field_at,
                          size_t width, uint64_t begin, uint64_t end) {
  _Alignas(64) char field[SLOTS * sizeof(uint64_t)];
  if (width == 0)
    return;
  char *to = (char *)array + begin * width;
  if (end - begin == SLOTS) {
    for (size_t j = 0; j < SLOTS; j++)
      memcpy(field + j * width, records + j * record + field_at, width);
    stream_line(to, field, SLOTS * width);
    return;
  }
  for (uint64_t j = begin; j < end; j++)
    memcpy(to + (j - begin) * width, records + j % SLOTS * record + field_at, width);
}

DZO_ITEM void flush(const arc_arrays *to, const dealer *d, uint64_t bucket, uint64_t begin,
                    uint64_t end, size_t key_width, size_t number_width) {
  size_t record = record_width(key_width, number_width);
  const char *records = d->records + bucket * SLOTS * record;
  flush_field(to->neighbours, records, record, 0, sizeof(uint32_t), begin, end);
  flush_field(to->rows, records, record, ROW_AT, sizeof(uint16_t), begin, end);
  flush_field(to->keys, records, record, KEY_AT, key_width, begin, end);
  flush_field(to->numbers, records, record, KEY_AT + key_width, number_width, begin, end);
}

DZO_ITEM void put_arc(const arc_arrays *to, const dealer *d, unsigned shift, uint32_t row,
                      uint32_t neighbour, uint64_t key, uint64_t number, size_t key_width,
                      size_t number_width) {
  uint64_t bucket = row >> shift, at = d->next[bucket]++;
  size_t record = record_width(key_width, number_width);
  char *slot = d->records + (bucket * SLOTS + at % SLOTS) * record;
  uint32_t row_in_bucket = row & ((UINT32_C(1) << shift) - 1), key32 = (uint32_t)key,
           number32 = (uint32_t)number;
  uint16_t row16 = (uint16_t)row_in_bucket;
  memcpy(slot, &neighbour, sizeof neighbour);
  memcpy(slot + ROW_AT, &row16, sizeof row16);
  memcpy(slot + KEY_AT, key_width == 8 ? (void *)&key : (void *)&key32, key_width);
  memcpy(slot + KEY_AT + key_width, number_width == 8 ? (void *)&number : (void *)&number32,
         number_width);
  if (at % SLOTS != SLOTS - 1)
    return;
  uint64_t line = at - (SLOTS - 1), first = d->first[bucket];
  if (DZO_LIKELY(line >= first))
    flush(to, d, bucket, line, line + SLOTS, key_width, number_width);
  else
    flush(to, d, bucket, first, at + 1, key_width, number_width);
}

static void put_loop(const deal_job *job, uint64_t chunk, uint64_t i, uint64_t key) {
  dzo_graph *g = job->graph;
  uint64_t at = job->loop_counts[chunk]++;
  g->loop_vertices[at] = job->edges->u[i];
  g->loop_keys[at] = key;
  g->loop_numbers[at] = dzo_edge_number(job->edges, i);
}

/* Inlined for each pair of widths. */
DZO_ITEM void deal_edges(const deal_job *job, const dealer *d, uint64_t chunk, size_t key_width,
                         size_t number_width) {
  const dzo_edges e = *job->edges;
  const dzo_weight_map map = job->graph->map;
  const dzo_graph *g = job->graph;
  const arc_arrays to = {g->neighbours, job->out->rows,
                         key_width == 8 ? (void *)g->keys64 : (void *)g->keys32,
                         number_width == 8 ? (void *)g->numbers64 : (void *)g->numbers32};
  unsigned shift = job->out->shift;
  for (uint64_t i = chunk * job->chunk_edges, end = chunk_end(job, chunk); i < end; i++) {
    if (DZO_UNLIKELY(i % POLL == 0) && dzo_is_cancelled(job->context))
      return;
    uint32_t u = e.u[i], v = e.v[i];
    uint64_t key =
        key_width == 0 ? 0 : dzo_pattern_key(&map, dzo_weight_pattern(map.type, e.weights, i));
    if (DZO_UNLIKELY(u == v)) {
      put_loop(job, chunk, i, key);
      continue;
    }
    uint64_t number = dzo_edge_number(&e, i);
    put_arc(&to, d, shift, u, v, key, number, key_width, number_width);
    put_arc(&to, d, shift, v, u, key, number, key_width, number_width);
  }
  for (uint64_t b = 0; b < job->out->buckets; b++) {
    uint64_t line = d->next[b] - d->next[b] % SLOTS;
    flush(&to, d, b, line > d->first[b] ? line : d->first[b], d->next[b], key_width, number_width);
  }
}

static void deal_chunk(const deal_job *job, const dealer *d, uint64_t chunk) {
  const dzo_graph *g = job->graph;
  bool wide_numbers = g->numbers64 != NULL;
  if (g->keys32 == NULL && g->keys64 == NULL)
    wide_numbers ? deal_edges(job, d, chunk, 0, 8) : deal_edges(job, d, chunk, 0, 4);
  else if (g->keys64 == NULL)
    wide_numbers ? deal_edges(job, d, chunk, 4, 8) : deal_edges(job, d, chunk, 4, 4);
  else
    wide_numbers ? deal_edges(job, d, chunk, 8, 8) : deal_edges(job, d, chunk, 8, 4);
}

static void dealer_free(dealer *d) {
  dzo_free(d->next);
  dzo_free(d->first);
  dzo_free(d->records);
}

static bool dealer_make(dzo_context *context, uint64_t buckets, dealer *d) {
  *d = (dealer){
      .next = dzo_alloc(context, buckets, sizeof *d->next),
      .first = dzo_alloc(context, buckets, sizeof *d->first),
      .records = dzo_alloc(context, buckets, SLOTS * MAX_RECORD),
  };
  return d->next != NULL && d->first != NULL && d->records != NULL;
}

/* A cancel is found by those who poll. */
static void report_dealing(const deal_job *job, uint64_t chunk) {
  uint64_t share = (DZO_BUILD_DEALT - DZO_BUILD_COUNTED) * chunk / job->chunks;
  (void)dzo_progress(job->context, "build", DZO_BUILD_COUNTED + share, DZO_BUILD_DONE);
}

static void deal_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  deal_job *job = argument;
  uint64_t buckets = job->out->buckets;
  dealer d;
  if (!dealer_make(job->context, buckets, &d)) {
    __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
    dealer_free(&d);
    return;
  }
  for (uint64_t chunk = begin; chunk < end && !dzo_is_cancelled(job->context); chunk++) {
    memcpy(d.next, job->counts + chunk * buckets, buckets * sizeof *d.next);
    memcpy(d.first, d.next, buckets * sizeof *d.first);
    if (thread == 0)
      report_dealing(job, chunk);
    deal_chunk(job, &d, chunk);
  }
  end_streaming();
  dealer_free(&d);
}

static dzo_status deal_all(deal_job *job) {
  DZO_TRY(count_all(job));
  DZO_TRY(allocate_arrays(job->context, job->edges, job->graph, job->out));
  dzo_parallel_for(job->context->threads, job->chunks, 1, deal_chunks, job);
  if (job->failed)
    return DZO_E_MEMORY;
  return dzo_progress(job->context, "build", DZO_BUILD_DEALT, DZO_BUILD_DONE);
}

dzo_status dzo_partition_run(dzo_context *context, const dzo_edges *edges, dzo_graph *graph,
                             dzo_partition *out) {
  *out = (dzo_partition){0};
  choose_buckets(edges, out);
  uint64_t chunks = 4 * (uint64_t)context->threads;
  if (chunks > MAX_CHUNKS)
    chunks = MAX_CHUNKS;
  deal_job job = {.context = context, .edges = edges, .graph = graph, .out = out};
  job.first_bad = UINT64_MAX;
  job.chunk_edges = edges->count / chunks + 1;
  if (job.chunk_edges < MIN_CHUNK)
    job.chunk_edges = MIN_CHUNK;
  job.chunks = edges->count / job.chunk_edges + (edges->count % job.chunk_edges != 0);
  dzo_status status = deal_all(&job);
  dzo_free(job.counts);
  dzo_free(job.loop_counts);
  if (status != DZO_OK)
    dzo_partition_free(out);
  return status;
}
