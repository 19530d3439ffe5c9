/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "base/radix.h"

#include <string.h>

#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

enum {
  BLOCK = 1 << 16,
  DIGIT_BITS = 8,
  DIGITS = 1 << DIGIT_BITS,
  MOST_THREADS = 256,
  SMALL = 1 << 12
};

typedef struct radix_job {
  dzo_context *context;
  bool stopped; /* accessed atomically: somebody saw a cancel and left work undone */
  const uint64_t *from;
  uint64_t *to;
  uint64_t count;
  unsigned words, word, shift;
  uint64_t mask;
  uint64_t (*places)[DIGITS]; /* [shares] counts, then places */
} radix_job;

static uint64_t share(const radix_job *j, int thread, int threads) {
  uint64_t each = j->count / (uint64_t)threads, rest = j->count % (uint64_t)threads,
           t = (uint64_t)thread;
  return each * t + (t < rest ? t : rest);
}

/* Look between blocks whether to go on. */
static bool goes_on(radix_job *j) {
  if (!dzo_is_cancelled(j->context))
    return true;
  __atomic_store_n(&j->stopped, true, __ATOMIC_RELAXED);
  return false;
}

DZO_ITEM uint64_t end_of_block(uint64_t begin, uint64_t end) {
  return end - begin < BLOCK ? end : begin + BLOCK;
}

static void count_digits(void *argument, int thread, int threads) {
  radix_job *j = argument;
  uint64_t *places = j->places[thread], end = share(j, thread + 1, threads);
  memset(places, 0, sizeof *j->places);
  for (uint64_t i = share(j, thread, threads); i < end && goes_on(j);)
    for (uint64_t stop = end_of_block(i, end); i < stop; i++)
      places[j->from[i * j->words + j->word] >> j->shift & j->mask]++;
}

DZO_ITEM void move_share(radix_job *j, unsigned words, int thread, int threads) {
  uint64_t places[DIGITS], end = share(j, thread + 1, threads);
  unsigned word = j->word, shift = j->shift;
  uint64_t mask = j->mask;
  memcpy(places, j->places[thread], sizeof places);
  for (uint64_t i = share(j, thread, threads); i < end && goes_on(j);)
    for (uint64_t stop = end_of_block(i, end); i < stop; i++) {
      const uint64_t *record = j->from + i * words;
      uint64_t place = places[record[word] >> shift & mask]++;
      memcpy(j->to + place * words, record, words * sizeof *record);
    }
}

static void move_records(void *argument, int thread, int threads) {
  radix_job *j = argument;
  if (j->words == 1)
    move_share(j, 1, thread, threads);
  else
    move_share(j, 2, thread, threads);
}

/* Turn counts into places; false if all records share one digit. */
static bool find_places(radix_job *j, int threads) {
  uint64_t sum = 0;
  for (unsigned digit = 0; digit < DIGITS; digit++) {
    uint64_t before = sum;
    for (int t = 0; t < threads; t++) {
      uint64_t count = j->places[t][digit];
      j->places[t][digit] = sum;
      sum += count;
    }
    if (sum - before == j->count)
      return false;
  }
  return true;
}

dzo_status dzo_radix_sort(dzo_context *context, uint64_t **records, uint64_t count, unsigned words,
                          unsigned word, unsigned first, unsigned last, const char *phase) {
  int threads = context->threads < MOST_THREADS ? context->threads : MOST_THREADS;
  threads = count < SMALL ? 1 : threads;
  if (count < 2)
    return DZO_OK;
  radix_job job = {.context = context, .count = count, .words = words, .word = word};
  uint64_t *other = dzo_alloc(context, count, words * sizeof *other);
  job.places = dzo_alloc(context, (uint64_t)threads, sizeof *job.places);
  dzo_status status = other != NULL && job.places != NULL ? DZO_OK : DZO_E_MEMORY;
  for (job.shift = first; status == DZO_OK && job.shift < last; job.shift += DIGIT_BITS) {
    job.from = *records;
    job.to = other;
    job.mask = last - job.shift < DIGIT_BITS ? (1u << (last - job.shift)) - 1 : DIGITS - 1;
    dzo_team_run(threads, count_digits, &job);
    if (!job.stopped && find_places(&job, threads)) {
      dzo_team_run(threads, move_records, &job);
      other = *records;
      *records = job.to;
    }
    status = dzo_progress(context, phase, job.shift - first, last - first);
    if (status == DZO_OK && job.stopped)
      status = dzo_fail(context, DZO_E_CANCELLED, "cancelled during %s", phase);
  }
  dzo_free(other);
  dzo_free(job.places);
  return status;
}
