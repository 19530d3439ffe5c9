/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of one kind of subsets. Included by two_list_narrow.c and two_list_wide.c, which define
 *   NUMBER   the type of sums
 * Subsets of a list may be merged by several threads: a thread's chunk of the merged list begins
 * at a place that a search finds in both parts, and all that dominates it stands just before. */
#ifndef NUMBER
#error "NUMBER is to be defined by the file that includes this one"
#endif

#include <string.h>

#include "base/item.h"
#include "base/parallel.h"
#include "knapsack/two_list.h"

typedef struct state {
  NUMBER weight, value;
} state;

/* What one thread found. */
typedef struct finding {
  NUMBER value;
  NUMBER weight[2];
  uint32_t others;
} finding;

typedef struct add_job {
  two_list_run *run;
  const state *in;
  uint64_t count, shifted; /* subsets without the item, and with it */
  NUMBER weight, value;    /* the item's */
  state *out;
  uint64_t chunk, chunks;
  uint64_t *kept; /* [chunks] */
  finding found[TWO_LIST_THREADS];
} add_job;

/* How many subsets without the item are among the first `diagonal`? */
static uint64_t split(const add_job *j, uint64_t diagonal) {
  uint64_t low = diagonal > j->shifted ? diagonal - j->shifted : 0;
  uint64_t high = diagonal < j->count ? diagonal : j->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (j->in[middle].weight <= j->in[diagonal - 1 - middle].weight + j->weight)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The other items that fit whole beside a subset, of falling room; the next one is cut. */
typedef struct filler {
  const two_list_run *run;
  uint32_t fit;
  NUMBER weight, value; /* of those that fit */
  int64_t next_weight, next_value;
} filler;

static void filler_move(filler *f, uint32_t fit) {
  const two_list_run *run = f->run;
  f->fit = fit;
  f->weight = (NUMBER)run->other_weight[fit];
  f->value = (NUMBER)run->other_value[fit];
  if (fit < run->others) {
    f->next_weight = run->problem->weight[run->other[fit]];
    f->next_value = run->problem->value[run->other[fit]];
  }
}

static void filler_begin(filler *f, const two_list_run *run, NUMBER room) {
  uint32_t low = 0, high = run->others;
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    if (run->other_weight[middle] <= room)
      low = middle;
    else
      high = middle - 1;
  }
  *f = (filler){.run = run};
  filler_move(f, low);
}

/* May a subset become better than `best` by at least the step? `room` is what it leaves. All sums
 * below are exact: what is missing is compared with the part of the next item. */
DZO_ITEM bool is_promising(const filler *f, NUMBER room, NUMBER lower, NUMBER best) {
  NUMBER missing = best + f->run->step - lower;
  if (f->fit == f->run->others || missing > f->next_value)
    return false;
  return (two_list_product)(room - f->weight) * (uint64_t)f->next_value >=
         (two_list_product)missing * (uint64_t)f->next_weight;
}

/* Merge what stands at first .. first_end of the subsets and second .. second_end of the shifted
 * ones; returns how many are kept. */
static uint64_t merge(const add_job *job, uint64_t i, uint64_t i_end, uint64_t j, uint64_t j_end,
                      state *out, finding *found) {
  const state *in = job->in;
  const NUMBER capacity = (NUMBER)job->run->problem->capacity, weight = job->weight,
               value = job->value;
  NUMBER top = i > 0 ? in[i - 1].value : -1;
  if (j > 0 && in[j - 1].value + value > top)
    top = in[j - 1].value + value;
  NUMBER first = i < i_end ? in[i].weight : capacity;
  if (j < j_end && in[j].weight + weight < first)
    first = in[j].weight + weight;
  filler fill;
  filler_begin(&fill, job->run, capacity - first);
  uint64_t kept = 0;
  while (i < i_end || j < j_end) {
    bool plain = j == j_end || (i < i_end && in[i].weight <= in[j].weight + weight);
    state s = plain ? in[i] : in[j];
    i += plain, j += !plain;
    s.weight += plain ? 0 : weight;
    s.value += plain ? 0 : value;
    if (s.value <= top)
      continue;
    top = s.value;
    if (kept > 0 && out[kept - 1].weight == s.weight)
      kept--;
    NUMBER room = capacity - s.weight;
    while (fill.weight > room)
      filler_move(&fill, fill.fit - 1);
    NUMBER lower = s.value + fill.value;
    if (lower > found->value)
      *found = (finding){lower, {s.weight, 0}, fill.fit};
    if (is_promising(&fill, room, lower, found->value))
      out[kept++] = s;
  }
  return kept;
}

static void add_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  add_job *job = argument;
  uint64_t all = job->count + job->shifted;
  for (uint64_t c = begin; c < end; c++) {
    uint64_t from = c * job->chunk, to = from + job->chunk < all ? from + job->chunk : all;
    uint64_t i = split(job, from), i_end = split(job, to);
    job->kept[c] = 0;
    if (!two_list_must_stop(job->run))
      job->kept[c] =
          merge(job, i, i_end, from - i, to - i_end, job->out + from, &job->found[thread]);
  }
}

/* Subsets that fit with the item. */
static uint64_t fitting(const state *in, uint64_t count, NUMBER room) {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (in[middle].weight <= room)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int best_of(const finding *found, int threads) {
  int best = 0;
  for (int i = 1; i < threads; i++)
    if (found[i].value > found[best].value)
      best = i;
  return best;
}

static void add(two_list_run *run, int which, uint32_t item) {
  two_list_list *list = &run->list[which];
  uint64_t kept[TWO_LIST_CHUNKS];
  add_job job = {.run = run,
                 .in = list->states,
                 .count = list->count,
                 .weight = run->problem->weight[item],
                 .value = run->problem->value[item],
                 .out = run->spare.states,
                 .chunk = run->tuning->chunk,
                 .kept = kept};
  job.shifted = fitting(job.in, job.count, (NUMBER)run->problem->capacity - job.weight);
  uint64_t all = job.count + job.shifted;
  job.chunks = two_list_cut(all, &job.chunk);
  int threads = two_list_threads(run, job.chunks);
  for (int i = 0; i < threads; i++)
    job.found[i].value = (NUMBER)run->best;
  dzo_parallel_for(threads, job.chunks, 1, add_chunks, &job);
  two_list_grown(run, which, sizeof *job.out, kept, job.chunk, job.chunks);
  run->states += all;
  const finding *best = &job.found[best_of(job.found, threads)];
  if (best->value > run->best)
    two_list_claim_one(run, which, (int64_t)best->weight[0], best->others, best->value);
}

/* ---- The walk over both ---------------------------------------------------------------------- */

typedef struct scan_job {
  two_list_run *run;
  const state *first, *second;
  uint64_t firsts, seconds;
  NUMBER capacity, base;
  finding found[TWO_LIST_THREADS];
} scan_job;

static void scan_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  scan_job *job = argument;
  finding *found = &job->found[thread];
  if (two_list_must_stop(job->run))
    return;
  const state *first = job->first, *second = job->second;
  uint64_t j = fitting(second, job->seconds, job->capacity - first[begin].weight);
  for (uint64_t i = begin; i < end; i++) {
    NUMBER room = job->capacity - first[i].weight;
    while (j > 0 && second[j - 1].weight > room)
      j--;
    if (j == 0)
      return;
    NUMBER value = job->base + first[i].value + second[j - 1].value;
    if (value > found->value)
      *found = (finding){value, {first[i].weight, second[j - 1].weight}, 0};
  }
}

static void scan(two_list_run *run, int64_t capacity, knapsack_wide value) {
  const two_list_list *list = run->list;
  scan_job job = {.run = run,
                  .first = list[0].states,
                  .second = list[1].states,
                  .firsts = list[0].count,
                  .seconds = list[1].count,
                  .capacity = capacity,
                  .base = (NUMBER)value};
  uint64_t grain = run->tuning->chunk;
  int threads = two_list_threads(run, (job.firsts + grain - 1) / grain);
  for (int i = 0; i < threads; i++)
    job.found[i].value = (NUMBER)run->best;
  dzo_parallel_for(threads, job.firsts, grain, scan_range, &job);
  run->states += job.firsts + job.seconds;
  const finding *best = &job.found[best_of(job.found, threads)];
  if (threads == 0 || best->value <= run->best)
    return;
  int64_t weight[2] = {(int64_t)best->weight[0], (int64_t)best->weight[1]};
  two_list_claim_pair(run, run->place, weight, best->value);
}
