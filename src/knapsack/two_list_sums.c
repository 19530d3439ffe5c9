/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Lists of subsets that are worth their weight (or the same multiple of it): strictly rising sums,
 * merged and walked without branches that depend on them. All that fit the capacity are kept. */
#include <string.h>

#include "base/item.h"
#include "base/parallel.h"
#include "knapsack/two_list.h"

typedef struct add_job {
  two_list_run *run;
  const int64_t *in;
  uint64_t count, shifted; /* sums without the item, and with it */
  int64_t weight;
  int64_t *out;
  uint64_t chunk, chunks;
  uint64_t *kept; /* [chunks] */
} add_job;

/* How many sums without the item are among the first `diagonal`? */
static uint64_t split(const add_job *j, uint64_t diagonal) {
  uint64_t low = diagonal > j->shifted ? diagonal - j->shifted : 0;
  uint64_t high = diagonal < j->count ? diagonal : j->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (j->in[middle] <= j->in[diagonal - 1 - middle] + j->weight)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Sums are kept once. What is written and not kept is written over. */
static uint64_t merge(const int64_t *x, const int64_t *x_end, const int64_t *y,
                      const int64_t *y_end, int64_t shift, int64_t last, int64_t *out) {
  int64_t *to = out;
  while (x < x_end && y < y_end) {
    /* By the sign, since compilers make a branch of a comparison, which half the time goes wrong.
     */
    int64_t a = *x, b = *y + shift, ahead = a - b, sum = a < b ? a : b;
    x += (uint64_t)(ahead - 1) >> 63;
    y += (uint64_t)~ahead >> 63;
    *to = sum;
    to += sum != last;
    last = sum;
  }
  for (; x < x_end; x++) {
    *to = *x;
    to += *x != last;
    last = *x;
  }
  for (; y < y_end; y++) {
    *to = *y + shift;
    to += *y + shift != last;
    last = *y + shift;
  }
  return (uint64_t)(to - out);
}

static void add_chunks(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  add_job *job = argument;
  uint64_t all = job->count + job->shifted;
  for (uint64_t c = begin; c < end; c++) {
    uint64_t from = c * job->chunk, to = from + job->chunk < all ? from + job->chunk : all;
    uint64_t i = split(job, from), i_end = split(job, to), j = from - i, j_end = to - i_end;
    int64_t last = i > 0 ? job->in[i - 1] : -1;
    if (j > 0 && job->in[j - 1] + job->weight > last)
      last = job->in[j - 1] + job->weight;
    job->kept[c] = 0;
    if (!two_list_must_stop(job->run))
      job->kept[c] = merge(job->in + i, job->in + i_end, job->in + j, job->in + j_end, job->weight,
                           last, job->out + from);
  }
}

/* Sums that are at most `room`. */
static uint64_t fitting(const int64_t *in, uint64_t count, int64_t room) {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (in[middle] <= room)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add(two_list_run *run, int which, uint32_t item) {
  two_list_list *list = &run->list[which];
  uint64_t kept[TWO_LIST_CHUNKS];
  add_job job = {.run = run,
                 .in = list->states,
                 .count = list->count,
                 .weight = run->problem->weight[item],
                 .out = run->spare.states,
                 .chunk = run->tuning->chunk,
                 .kept = kept};
  job.shifted = fitting(job.in, job.count, run->problem->capacity - job.weight);
  uint64_t all = job.count + job.shifted;
  job.chunks = two_list_cut(all, &job.chunk);
  dzo_parallel_for(two_list_threads(run, job.chunks), job.chunks, 1, add_chunks, &job);
  two_list_grown(run, which, sizeof *job.out, kept, job.chunk, job.chunks);
  run->states += all;
  uint64_t count = list->count;
  if (count > 0 && job.out[count - 1] > run->best)
    two_list_claim_one(run, which, job.out[count - 1], 0, job.out[count - 1]);
}

/* ---- The walk over both ---------------------------------------------------------------------- */

typedef struct finding {
  int64_t sum;
  int64_t weight[2];
} finding;

typedef struct scan_job {
  two_list_run *run;
  const int64_t *first, *second;
  uint64_t firsts, seconds;
  int64_t capacity, goal;
  uint64_t reached; /* accessed atomically */
  finding found[TWO_LIST_THREADS];
} scan_job;

static void scan_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  scan_job *job = argument;
  if (dzo_load_u64(&job->reached) != 0 || two_list_must_stop(job->run))
    return;
  const int64_t *first = job->first + begin, *first_end = job->first + end, *second = job->second;
  const int64_t *last =
      second + fitting(second, job->seconds, job->capacity - *first); /* behind the partner */
  finding best = job->found[thread];
  while (first < first_end && last > second) {
    int64_t sum = last[-1] - (job->capacity - *first); /* of a fitting pair, 0 at most */
    if (sum <= 0 && sum + job->capacity > best.sum)
      best = (finding){sum + job->capacity, {*first, last[-1]}};
    uint64_t fits = (uint64_t)(sum - 1) >> 63;
    first += fits;
    last -= 1 - fits;
  }
  job->found[thread] = best;
  if (best.sum >= job->goal)
    dzo_store_u64(&job->reached, 1);
}

static void scan(two_list_run *run, int64_t capacity, knapsack_wide value) {
  const two_list_list *list = run->list;
  scan_job job = {.run = run,
                  .first = list[0].states,
                  .second = list[1].states,
                  .firsts = fitting(list[0].states, list[0].count, capacity),
                  .seconds = list[1].count,
                  .capacity = capacity,
                  .goal = (int64_t)(run->goal - value)};
  uint64_t grain = run->tuning->chunk;
  int threads = two_list_threads(run, (job.firsts + grain - 1) / grain), best = 0;
  for (int i = 0; i < threads; i++)
    job.found[i].sum = (int64_t)(run->best - value);
  dzo_parallel_for(threads, job.firsts, grain, scan_range, &job);
  run->states += job.firsts + job.seconds;
  for (int i = 1; i < threads; i++)
    if (job.found[i].sum > job.found[best].sum)
      best = i;
  if (threads == 0 || job.found[best].sum + value <= run->best)
    return;
  two_list_claim_pair(run, run->place, job.found[best].weight, job.found[best].sum + value);
}

static void part(const two_list_list *list, int64_t *weight, int64_t *value) {
  (void)value;
  if (list->count > 0)
    memcpy(weight, list->states, list->count * sizeof *weight);
}

const two_list_kind two_list_sums = {true, sizeof(int64_t), add, scan, part};
