/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* What comes back from the GPU, by way of the ring's staging slots. */
#include <string.h>

#include "base/parallel.h"
#include "msf/gpu_ring.h"

enum { PIECE_MAX = 1 << 22, FETCH_GRAIN = 1 << 13 };

dzo_status msf_ring_forest(msf_ring *ring, const msf_filter_control **control) {
  *control = ring->control;
  return dzo_unit_wait_mark(ring->unit, MSF_RING_MERGED);
}

typedef struct fetch_job {
  msf_piece piece;
  msf_take_fn take;
  void *argument;
} fetch_job;

static void take_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  const fetch_job *job = argument;
  job->take(job->argument, &job->piece, begin, end, thread);
}

/* What is fetched, in pieces of `words` items, which take turns with the halves of the slots. */
typedef struct fetch {
  int queue;
  uint32_t *const *columns;
  int number;
  int places; /* columns, and where answers go */
  uint64_t count, words;
} fetch;

/* Where column k of a piece arrives; behind the columns are the answers. */
static uint32_t *landing(const msf_ring *ring, const fetch *f, uint64_t at, int k) {
  uint64_t half = at / f->words % 2;
  return (uint32_t *)(void *)ring->staging + f->words * (half * (uint64_t)f->places + (uint64_t)k);
}

static uint64_t words_at(const fetch *f, uint64_t at) {
  return f->count - at < f->words ? f->count - at : f->words;
}

static dzo_status ask(msf_ring *ring, const fetch *f, uint64_t at) {
  for (int k = 0; k < f->number; k++)
    DZO_TRY(dzo_unit_copy(ring->unit, f->queue, landing(ring, f, at, k), f->columns[k] + at,
                          words_at(f, at) * sizeof(uint32_t)));
  return dzo_unit_mark(ring->unit, f->queue, (int)(at / f->words % 2));
}

static dzo_status fetch_by(int queue, msf_ring *ring, uint32_t *const *columns, int number,
                           uint64_t count, msf_take_fn take, void *argument, uint64_t *answers) {
  fetch f = {.queue = queue, .columns = columns, .number = number, .count = count};
  f.places = answers != NULL ? number + 2 : number;
  f.words = ring->slots * ring->slot_bytes / 2 / sizeof(uint32_t) / (uint64_t)f.places;
  f.words = f.words < PIECE_MAX ? f.words & ~UINT64_C(1) : PIECE_MAX;
  if (count > 0)
    DZO_TRY(ask(ring, &f, 0));
  for (uint64_t at = 0; at < count; at += f.words) {
    if (count - at > f.words)
      DZO_TRY(ask(ring, &f, at + f.words));
    DZO_TRY(dzo_unit_wait_mark(ring->unit, (int)(at / f.words % 2)));
    fetch_job job = {.piece.first = at, .take = take, .argument = argument};
    for (int k = 0; k < number; k++)
      job.piece.columns[k] = landing(ring, &f, at, k);
    if (answers != NULL)
      job.piece.answers = (uint64_t *)(void *)landing(ring, &f, at, number);
    dzo_parallel_for(ring->unit->context->threads, words_at(&f, at), FETCH_GRAIN, take_range, &job);
    if (answers != NULL)
      DZO_TRY(dzo_unit_copy(ring->unit, queue, answers + at, job.piece.answers,
                            words_at(&f, at) * sizeof *answers));
  }
  return answers != NULL ? dzo_unit_wait(ring->unit, queue) : DZO_OK;
}

dzo_status msf_ring_fetch(msf_ring *ring, uint32_t *const *columns, int number, uint64_t count,
                          msf_take_fn take, void *argument, uint64_t *answers) {
  return fetch_by(MSF_RING_FILTERS, ring, columns, number, count, take, argument, answers);
}

static void take_words(void *argument, const msf_piece *piece, uint64_t begin, uint64_t end,
                       int thread) {
  (void)thread;
  uint32_t *to = argument;
  memcpy(to + piece->first + begin, piece->columns[0] + begin, (end - begin) * sizeof *to);
}

dzo_status msf_ring_fetch_words(msf_ring *ring, int queue, uint32_t *words, uint64_t count,
                                uint32_t *to) {
  return fetch_by(queue, ring, &words, 1, count, take_words, to, NULL);
}
