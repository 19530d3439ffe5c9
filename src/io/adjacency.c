/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "io/adjacency.h"

#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "io/adjacency_hash.h"
#include "io/adjacency_part.h"

enum { CHUNKS_A_ROUND = 256 };

/* ---- What a chunk holds ---------------------------------------------------------------------- */

/* The row with which a chunk begins may have begun before: then it is not known in the chunk which
 * of the row's loop entries are the first of two. What depends on that is kept apart ("head"). */
typedef struct chunk_summary {
  uint64_t up;             /* entries that lead to a larger vertex */
  uint64_t loops;          /* loop entries */
  uint64_t head_loops;     /* of these, in the row that began before */
  uint64_t body_pairs;     /* of the others, the first of each two */
  uint64_t last_loops;     /* in the last row */
  bool starts_row;         /* there is no head */
  bool one_row;            /* the last row is the head */
  bool negative;           /* there is a negative integer */
  dzo_hash_sum sum;        /* up - down */
  dzo_hash_sum body, head; /* first loops of two - second loops */
  uint64_t first_edge;     /* that the chunk gives; set when all are known */
  unsigned first_parity;   /* loop entries, modulo 2, of the head before the chunk */
} chunk_summary;

typedef struct scan_job {
  dzo_adjacency_file *file;
  chunk_summary *chunks;
  uint64_t first_chunk; /* of this round */
  uint64_t bad;         /* first entry that is wrong; accessed atomically */
  int status;           /* of reading; accessed atomically */
  dzo_edge_list *list;  /* while filling */
} scan_job;

static void summarize(const dzo_adjacency_file *file, const dzo_adjacency_part *part,
                      chunk_summary *s) {
  *s = (chunk_summary){0};
  uint64_t row = dzo_adjacency_row(file, part->begin);
  uint64_t row_end = file->offsets[row + 1], parity = 0;
  bool head = part->begin > file->offsets[row];
  s->starts_row = !head;
  s->one_row = head;
  for (uint64_t k = part->begin; k < part->end; k++) {
    while (k >= row_end) {
      row_end = file->offsets[++row + 1];
      head = s->one_row = false;
      s->last_loops = 0;
    }
    uint64_t v = part->neighbours[k - part->begin], weight = part->weights[k - part->begin];
    s->negative |= (int64_t)weight < 0;
    if (v != row) {
      s->up += row < v;
      dzo_hash_add(
          &s->sum,
          dzo_hash_entry((uint32_t)(row < v ? row : v), (uint32_t)(row < v ? v : row), weight),
          row > v);
      continue;
    }
    parity = s->last_loops++ % 2;
    s->loops++;
    s->head_loops += head;
    s->body_pairs += !head && parity == 0;
    dzo_hash_add(head ? &s->head : &s->body, dzo_hash_entry((uint32_t)v, (uint32_t)v, weight),
                 parity != 0);
  }
}

static void note_status(scan_job *job, dzo_status status) {
  int expected = DZO_OK;
  (void)__atomic_compare_exchange_n(&job->status, &expected, (int)status, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

static bool load_chunk(scan_job *job, uint64_t chunk, dzo_adjacency_part *part) {
  uint64_t begin = chunk * DZO_ADJACENCY_CHUNK, left = job->file->layout.entries - begin;
  if (dzo_is_cancelled(job->file->context))
    return false;
  dzo_status status = dzo_adjacency_load(
      job->file, begin, begin + (left < DZO_ADJACENCY_CHUNK ? left : DZO_ADJACENCY_CHUNK), part);
  if (status != DZO_OK)
    note_status(job, status);
  else if (part->bad != UINT64_MAX)
    dzo_min_u64(&job->bad, part->bad);
  return status == DZO_OK && part->bad == UINT64_MAX;
}

static void scan_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  scan_job *job = argument;
  dzo_adjacency_part *part = &job->file->parts[thread];
  for (uint64_t c = job->first_chunk + begin; c < job->first_chunk + end; c++)
    if (load_chunk(job, c, part))
      summarize(job->file, part, &job->chunks[c]);
}

static uint64_t chunk_count(const dzo_adjacency_file *file) {
  return (file->layout.entries + DZO_ADJACENCY_CHUNK - 1) / DZO_ADJACENCY_CHUNK;
}

/* Run `fn` over all chunks; progress goes from `done` to done + chunks of `total`. */
static dzo_status run_rounds(scan_job *job, dzo_range_fn fn, uint64_t done, uint64_t total) {
  dzo_adjacency_file *file = job->file;
  uint64_t chunks = chunk_count(file);
  for (job->first_chunk = 0; job->first_chunk < chunks; job->first_chunk += CHUNKS_A_ROUND) {
    uint64_t left = chunks - job->first_chunk;
    uint64_t now = left < CHUNKS_A_ROUND ? left : CHUNKS_A_ROUND;
    dzo_parallel_for(file->context->threads, now, 1, fn, job);
    if (job->bad != UINT64_MAX)
      return dzo_adjacency_fail_entry(file, job->bad);
    if (job->status != DZO_OK)
      return (dzo_status)job->status;
    DZO_TRY(dzo_progress(file->context, "read", done + job->first_chunk + now, total));
  }
  return DZO_OK;
}

/* ---- What all chunks mean together ----------------------------------------------------------- */

typedef struct totals {
  uint64_t up, loops;
  bool negative;
  dzo_hash_sum sum, loop_sum;
} totals;

/* Find the parity with which each chunk begins, and add up. */
static totals combine(const scan_job *job) {
  totals t = {0};
  unsigned parity = 0;
  for (uint64_t c = 0; c < chunk_count(job->file); c++) {
    chunk_summary *s = &job->chunks[c];
    s->first_parity = s->starts_row ? 0 : parity;
    t.up += s->up;
    t.loops += s->loops;
    t.negative |= s->negative;
    dzo_hash_add(&t.sum, s->sum, false);
    dzo_hash_add(&t.loop_sum, s->body, false);
    dzo_hash_add(&t.loop_sum, s->head, s->first_parity != 0);
    parity = (unsigned)((s->last_loops + (s->one_row ? parity : 0)) % 2);
  }
  return t;
}

static dzo_weight_type type_of(dzo_stored_weight stored, bool negative) {
  switch (stored) {
  case DZO_STORED_NONE:
    return DZO_WEIGHT_NONE;
  case DZO_STORED_I32:
    return negative ? DZO_WEIGHT_I64 : DZO_WEIGHT_U32;
  case DZO_STORED_I64:
    return DZO_WEIGHT_I64;
  case DZO_STORED_F64:
    return DZO_WEIGHT_F64;
  }
  return DZO_WEIGHT_NONE;
}

dzo_status dzo_adjacency_check_symmetric(dzo_adjacency_file *file, bool pairs, bool loops) {
  if (!pairs)
    return dzo_adjacency_fail_pair(file);
  return loops ? DZO_OK : dzo_adjacency_fail_loop(file);
}

static dzo_status decide(dzo_adjacency_file *file, const totals *t) {
  file->type = type_of(file->layout.stored, t->negative);
  dzo_symmetry *symmetry = &file->layout.symmetry;
  if (*symmetry == DZO_SYMMETRY_UNKNOWN)
    *symmetry = dzo_hash_is_zero(t->sum) ? DZO_SYMMETRIC : DZO_DIRECTED;
  if (*symmetry == DZO_DIRECTED)
    return DZO_OK;
  return dzo_adjacency_check_symmetric(file, dzo_hash_is_zero(t->sum),
                                       *symmetry != DZO_SYMMETRIC_LOOPS2 ||
                                           dzo_hash_is_zero(t->loop_sum));
}

dzo_status dzo_adjacency_scan(dzo_adjacency_file *file, uint64_t passes) {
  scan_job job = {.file = file, .bad = UINT64_MAX};
  job.chunks = dzo_calloc(file->context, chunk_count(file), sizeof *job.chunks);
  if (job.chunks == NULL)
    return DZO_E_MEMORY;
  dzo_status status = run_rounds(&job, scan_chunks, 0, passes * chunk_count(file));
  if (status == DZO_OK) {
    totals t = combine(&job);
    status = decide(file, &t);
  }
  if (status != DZO_OK) {
    dzo_free(job.chunks);
    return status;
  }
  file->chunks = job.chunks;
  return DZO_OK;
}

/* ---- Filling an edge list -------------------------------------------------------------------- */

static uint64_t edges_of(const dzo_adjacency_file *file, const chunk_summary *s, uint64_t entries) {
  switch (file->layout.symmetry) {
  case DZO_SYMMETRIC:
    return s->up + s->loops;
  case DZO_SYMMETRIC_LOOPS2:
    return s->up + s->body_pairs + (s->head_loops + (s->first_parity == 0)) / 2;
  case DZO_SYMMETRY_UNKNOWN:
  case DZO_DIRECTED:
    break;
  }
  return entries;
}

static uint64_t start_chunks(dzo_adjacency_file *file) {
  uint64_t count = 0, left = file->layout.entries;
  chunk_summary *chunks = file->chunks;
  for (uint64_t c = 0; c < chunk_count(file); c++) {
    uint64_t entries = left < DZO_ADJACENCY_CHUNK ? left : DZO_ADJACENCY_CHUNK;
    chunks[c].first_edge = count;
    count += edges_of(file, &chunks[c], entries);
    left -= entries;
  }
  return count;
}

static void fill_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  scan_job *job = argument;
  dzo_adjacency_part *part = &job->file->parts[thread];
  dzo_edge_list *list = job->list;
  for (uint64_t c = job->first_chunk + begin; c < job->first_chunk + end; c++) {
    if (!load_chunk(job, c, part))
      continue;
    dzo_adjacency_walk walk = {.parity = job->chunks[c].first_parity};
    uint64_t next = c + 1 < chunk_count(job->file) ? job->chunks[c + 1].first_edge : list->count;
    dzo_adjacency_target to = {.u = list->u,
                               .v = list->v,
                               .weights = list->weights,
                               .numbers = list->numbers,
                               .at = job->chunks[c].first_edge,
                               .end = next};
    dzo_adjacency_emit(job->file, part, &walk, &to);
  }
}

static dzo_status fill(dzo_adjacency_file *file, dzo_edge_list **out) {
  dzo_context *context = file->context;
  uint64_t count = start_chunks(file);
  dzo_edge_list *list;
  DZO_TRY(dzo_edge_list_create(context, file->layout.vertices, count, file->type, &list));
  list->format = file->layout.format;
  dzo_status status = DZO_OK;
  if (file->layout.symmetry != DZO_DIRECTED) {
    list->numbers = dzo_alloc(context, count, sizeof *list->numbers);
    if (list->numbers == NULL)
      status = DZO_E_MEMORY;
  }
  scan_job job = {.file = file, .chunks = file->chunks, .bad = UINT64_MAX, .list = list};
  if (status == DZO_OK)
    status = run_rounds(&job, fill_chunks, chunk_count(file), 2 * chunk_count(file));
  if (status != DZO_OK) {
    dzo_edge_list_destroy(list);
    return status;
  }
  *out = list;
  return DZO_OK;
}

dzo_status dzo_adjacency_read(dzo_context *context, dzo_input *input, dzo_layout_fn layout,
                              dzo_edge_list **out) {
  *out = NULL;
  dzo_adjacency_file file;
  dzo_status status = dzo_adjacency_open(context, input, layout, context->threads, &file);
  if (status == DZO_OK)
    status = dzo_adjacency_scan(&file, 2);
  if (status == DZO_OK)
    status = fill(&file, out);
  dzo_adjacency_close(&file);
  return status;
}

/* ---- One pass -------------------------------------------------------------------------------- */

void dzo_adjacency_sum(const dzo_adjacency_file *file, const dzo_adjacency_part *part,
                       dzo_adjacency_sums *out) {
  chunk_summary s;
  summarize(file, part, &s);
  *out = (dzo_adjacency_sums){{s.sum.a, s.sum.b}, {s.body.a, s.body.b}, {s.head.a, s.head.b}};
}

void dzo_adjacency_add_sum(dzo_adjacency_sums *total, const dzo_adjacency_sums *part,
                           unsigned parity) {
  for (int i = 0; i < 2; i++) {
    total->pairs[i] += part->pairs[i];
    total->loops[i] += part->loops[i] + (parity != 0 ? 0 - part->head[i] : part->head[i]);
  }
}
