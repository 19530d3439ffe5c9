/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "split/split.h"

#include <pthread.h>

#include "base/memory.h"

/* A share of what is left, so that the last ranges are short ("guided self-scheduling",
 * Polychronopoulos and Kuck 1987), and the weight of a new measurement against the ones before. */
#define SHARE 0.25
#define FRESH 0.5

enum { HELD = 8 }; /* ranges that a worker may hold */

typedef struct range {
  uint64_t first, count; /* count 0: none */
} range;

typedef struct worker_state {
  range held[HELD];
  double rate;
  uint64_t done;
  bool failed;
} worker_state;

struct dzo_split {
  pthread_mutex_t lock;
  uint64_t chunks, next; /* chunks before `next` were handed out once */
  uint64_t done;
  int workers;
  worker_state worker[DZO_SPLIT_WORKERS];
  range back[DZO_SPLIT_WORKERS * HELD]; /* given back */
  int backs;
};

dzo_status dzo_split_create(dzo_context *context, uint64_t chunks, int workers, dzo_split **out) {
  *out = NULL;
  if (workers < 1 || workers > DZO_SPLIT_WORKERS)
    return dzo_fail(context, DZO_E_ARGUMENT, "%d workers", workers);
  dzo_split *split = dzo_calloc(context, 1, sizeof *split);
  if (split == NULL)
    return DZO_E_MEMORY;
  pthread_mutex_init(&split->lock, NULL);
  split->chunks = chunks;
  split->workers = workers;
  *out = split;
  return DZO_OK;
}

void dzo_split_destroy(dzo_split *split) {
  if (split == NULL)
    return;
  pthread_mutex_destroy(&split->lock);
  dzo_free(split);
}

/* All that follows, under the lock. */

static uint64_t left_of(const dzo_split *split) {
  uint64_t left = split->chunks - split->next;
  for (int i = 0; i < split->backs; i++)
    left += split->back[i].count;
  return left;
}

/* What part of the speed there is the worker has; a worker without a rate is taken for one of many.
 */
static double part_of(const dzo_split *split, int worker) {
  double sum = 0;
  for (int w = 0; w < split->workers; w++)
    sum += split->worker[w].failed ? 0 : split->worker[w].rate;
  double rate = split->worker[worker].rate;
  return rate > 0 ? rate / sum : 0;
}

static uint64_t fair_count(const dzo_split *split, int worker, uint64_t most) {
  double fair = (double)left_of(split) * part_of(split, worker) * SHARE;
  uint64_t count = fair >= (double)most ? most : (uint64_t)fair;
  return count < 1 ? 1 : count;
}

/* Cut `most` chunks off what is left. */
static range cut(dzo_split *split, uint64_t most) {
  range *from = split->backs > 0 ? &split->back[split->backs - 1] : NULL;
  range all = {split->next, split->chunks - split->next};
  range taken = from != NULL ? *from : all;
  if (taken.count > most)
    taken.count = most;
  if (from == NULL) {
    split->next += taken.count;
    return taken;
  }
  from->first += taken.count;
  from->count -= taken.count;
  if (from->count == 0)
    split->backs--;
  return taken;
}

static range *free_hold(worker_state *w) {
  for (int i = 0; i < HELD; i++)
    if (w->held[i].count == 0)
      return &w->held[i];
  return NULL;
}

uint64_t dzo_split_take(dzo_split *split, int worker, uint64_t most, uint64_t *first) {
  pthread_mutex_lock(&split->lock);
  worker_state *w = &split->worker[worker];
  range *hold = free_hold(w);
  range taken = {0, 0};
  if (!w->failed && hold != NULL && most > 0 && left_of(split) > 0) {
    taken = cut(split, fair_count(split, worker, most));
    *hold = taken;
  }
  pthread_mutex_unlock(&split->lock);
  *first = taken.first;
  return taken.count;
}

void dzo_split_done(dzo_split *split, int worker, uint64_t first, double seconds) {
  pthread_mutex_lock(&split->lock);
  worker_state *w = &split->worker[worker];
  for (int i = 0; i < HELD; i++) {
    range *held = &w->held[i];
    if (held->count == 0 || held->first != first)
      continue;
    double rate = (double)held->count / (seconds > 1e-9 ? seconds : 1e-9);
    w->rate = w->rate > 0 ? FRESH * rate + (1 - FRESH) * w->rate : rate;
    w->done += held->count;
    split->done += held->count;
    held->count = 0;
    break;
  }
  pthread_mutex_unlock(&split->lock);
}

void dzo_split_fail(dzo_split *split, int worker) {
  pthread_mutex_lock(&split->lock);
  worker_state *w = &split->worker[worker];
  w->failed = true;
  for (int i = 0; i < HELD; i++) {
    if (w->held[i].count > 0)
      split->back[split->backs++] = w->held[i];
    w->held[i].count = 0;
  }
  pthread_mutex_unlock(&split->lock);
}

bool dzo_split_finished(dzo_split *split) {
  pthread_mutex_lock(&split->lock);
  bool finished = split->done == split->chunks;
  pthread_mutex_unlock(&split->lock);
  return finished;
}

double dzo_split_rate(dzo_split *split, int worker) {
  pthread_mutex_lock(&split->lock);
  double rate = split->worker[worker].rate;
  pthread_mutex_unlock(&split->lock);
  return rate;
}

uint64_t dzo_split_count(dzo_split *split, int worker) {
  pthread_mutex_lock(&split->lock);
  uint64_t done = split->worker[worker].done;
  pthread_mutex_unlock(&split->lock);
  return done;
}
