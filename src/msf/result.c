/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "msf/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

/* Edge numbers this many times sparser than the edges are kept in a list, not in a bitmap. */
enum { GRAIN = 1 << 14, SPARSE = 64, CLEAR_GRAIN = 1 << 18 /* a large page */ };

/* Turn counts of `ranges` ranges into what stands before each; the total. */
static uint64_t accumulate(uint64_t *counts, uint64_t ranges) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < ranges; i++) {
    uint64_t here = counts[i];
    counts[i] = sum;
    sum += here;
  }
  return sum;
}

/* ---- Components numbered by smallest vertex -------------------------------------------------- */

typedef struct numbering {
  uint32_t *label;
  uint32_t *first;  /* [components] smallest vertex of each */
  uint32_t *number; /* [components] */
  uint64_t *counts; /* [ranges] of first vertices */
} numbering;

static void find_first(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const numbering *job = argument;
  for (uint64_t v = begin; v < end; v++) {
    uint32_t *first = &job->first[job->label[v]], seen = dzo_load_u32(first);
    while (v < seen && !dzo_cas_u32(first, &seen, (uint32_t)v)) {
    }
  }
}

static void count_firsts(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const numbering *job = argument;
  uint64_t count = 0;
  for (uint64_t v = begin; v < end; v++)
    count += job->first[job->label[v]] == v;
  job->counts[begin / GRAIN] = count;
}

static void number_firsts(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const numbering *job = argument;
  uint64_t next = job->counts[begin / GRAIN];
  for (uint64_t v = begin; v < end; v++)
    if (job->first[job->label[v]] == v)
      job->number[job->label[v]] = (uint32_t)next++;
}

static void renumber(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const numbering *job = argument;
  for (uint64_t v = begin; v < end; v++)
    job->label[v] = job->number[job->label[v]];
}

dzo_status msf_number_components(dzo_context *context, uint32_t *label, uint64_t vertices,
                                 uint32_t components) {
  uint64_t ranges = (vertices + GRAIN - 1) / GRAIN;
  numbering job = {.label = label,
                   .first = dzo_alloc(context, components, sizeof(uint32_t)),
                   .number = dzo_alloc(context, components, sizeof(uint32_t)),
                   .counts = dzo_alloc(context, ranges, sizeof(uint64_t))};
  dzo_status status = DZO_E_MEMORY;
  if (job.first != NULL && job.number != NULL && job.counts != NULL) {
    for (uint32_t c = 0; c < components; c++)
      job.first[c] = UINT32_MAX;
    int threads = context->threads;
    dzo_parallel_for(threads, vertices, GRAIN, find_first, &job);
    dzo_parallel_for(threads, vertices, GRAIN, count_firsts, &job);
    (void)accumulate(job.counts, ranges);
    dzo_parallel_for(threads, vertices, GRAIN, number_firsts, &job);
    dzo_parallel_for(threads, vertices, GRAIN, renumber, &job);
    status = DZO_OK;
  }
  dzo_free(job.counts);
  dzo_free(job.number);
  dzo_free(job.first);
  return status;
}

/* ---- The edge numbers taken ------------------------------------------------------------------ */

static void clear_words(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  uint64_t *words = argument;
  memset(words + begin, 0, (size_t)(end - begin) * sizeof *words);
}

dzo_status msf_taken_init(dzo_context *context, msf_taken *taken, uint64_t number_bound,
                          uint64_t edges, uint64_t capacity) {
  *taken = (msf_taken){.words = number_bound / 64 + 1, .capacity = capacity};
  if (number_bound / SPARSE <= edges)
    taken->bitmap = dzo_alloc(context, taken->words, sizeof *taken->bitmap);
  else
    taken->list = dzo_alloc(context, capacity, sizeof *taken->list);
  if (taken->bitmap != NULL)
    dzo_parallel_for(context->threads, taken->words, CLEAR_GRAIN, clear_words, taken->bitmap);
  return taken->bitmap != NULL || taken->list != NULL ? DZO_OK : DZO_E_MEMORY;
}

void msf_taken_free(msf_taken *taken) {
  dzo_free(taken->bitmap);
  dzo_free(taken->list);
  *taken = (msf_taken){0};
}

typedef struct listing {
  const uint64_t *bitmap;
  uint64_t *counts; /* [ranges of GRAIN words] */
  uint64_t *edges;
} listing;

static void count_bits(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const listing *job = argument;
  uint64_t count = 0;
  for (uint64_t i = begin; i < end; i++)
    count += (uint64_t)__builtin_popcountll(job->bitmap[i]);
  job->counts[begin / GRAIN] = count;
}

static void list_bits(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  const listing *job = argument;
  uint64_t *out = job->edges + job->counts[begin / GRAIN];
  for (uint64_t i = begin; i < end; i++)
    for (uint64_t word = job->bitmap[i]; word != 0; word &= word - 1)
      *out++ = i * 64 + (uint64_t)__builtin_ctzll(word);
}

static dzo_status list_bitmap(dzo_context *context, const msf_taken *taken, uint64_t **edges,
                              uint64_t *count) {
  uint64_t ranges = (taken->words + GRAIN - 1) / GRAIN;
  listing job = {.bitmap = taken->bitmap, .counts = dzo_alloc(context, ranges, sizeof(uint64_t))};
  if (job.counts == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(context->threads, taken->words, GRAIN, count_bits, &job);
  *count = accumulate(job.counts, ranges);
  job.edges = dzo_alloc(context, *count, sizeof *job.edges);
  if (job.edges != NULL)
    dzo_parallel_for(context->threads, taken->words, GRAIN, list_bits, &job);
  dzo_free(job.counts);
  *edges = job.edges;
  return job.edges != NULL ? DZO_OK : DZO_E_MEMORY;
}

static int compare_numbers(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

dzo_status msf_taken_list(dzo_context *context, msf_taken *taken, uint64_t **edges,
                          uint64_t *count) {
  if (taken->bitmap != NULL)
    return list_bitmap(context, taken, edges, count);
  qsort(taken->list, (size_t)taken->count, sizeof *taken->list, compare_numbers);
  *edges = taken->list;
  *count = taken->count;
  taken->list = NULL;
  return DZO_OK;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

void msf_sum_init(msf_sum *sum) {
  *sum = (msf_sum){0};
  dzo_exact_sum_init(&sum->real);
}

void msf_sum_merge(msf_sum *sum, const msf_sum *other) {
  sum->count += other->count;
  sum->low += other->low;
  sum->high += other->high + (sum->low < other->low);
  dzo_exact_sum_merge(&sum->real, &other->real);
}

static void add_shifted(msf_sum *sum, uint64_t x, int bits) {
  uint64_t low = x << bits;
  sum->low += low;
  sum->high += (bits > 0 ? x >> (64 - bits) : 0) + (sum->low < low);
}

void msf_sum_add_keys(msf_sum *sum, uint64_t count, uint64_t base, uint64_t low, uint64_t high) {
  enum { HALF = 32 };
  sum->count += count;
  add_shifted(sum, low, 0);
  add_shifted(sum, high, HALF);
  add_shifted(sum, (base & UINT32_MAX) * count, 0);
  add_shifted(sum, (base >> HALF) * count, HALF);
}

dzo_weight_sum msf_sum_weight(const msf_sum *sum, dzo_weight_type type) {
  dzo_weight_sum out = {.type = type};
  if (msf_type_is_real(type)) {
    out.real = dzo_exact_sum_round(&sum->real);
    return out;
  }
  uint64_t high = sum->high, low = sum->low;
  if (type == DZO_WEIGHT_I64) { /* each pattern is 2^63 above its weight */
    uint64_t less_low = sum->count << 63, less_high = sum->count >> 1;
    high -= less_high + (low < less_low);
    low -= less_low;
  }
  out.low = low;
  out.high = (int64_t)high;
  return out;
}
