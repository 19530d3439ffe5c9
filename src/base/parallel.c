/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE
#include "base/parallel.h"

#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "base/item.h"

#ifdef DZO_PTHREADS
#include <pthread.h>

enum { MAX_TEAM = 1024 };

typedef struct member {
  dzo_team_fn fn;
  void *argument;
  int thread, threads;
  bool started;
} member;

static void *member_run(void *argument) {
  member *m = argument;
  m->fn(m->argument, m->thread, m->threads);
  return NULL;
}

void dzo_team_run(int threads, dzo_team_fn fn, void *argument) {
  pthread_t ids[MAX_TEAM];
  member members[MAX_TEAM];
  for (int t = 1; t < threads; t++) {
    members[t] = (member){fn, argument, t, threads, false};
    members[t].started = pthread_create(&ids[t], NULL, member_run, &members[t]) == 0;
  }
  fn(argument, 0, threads);
  for (int t = 1; t < threads; t++) {
    if (members[t].started)
      pthread_join(ids[t], NULL);
    else
      fn(argument, t, threads);
  }
}
#else
#include <omp.h>

void dzo_team_run(int threads, dzo_team_fn fn, void *argument) {
  if (threads <= 1) {
    fn(argument, 0, 1);
    return;
  }
  /* OpenMP may grant fewer threads than asked for (nesting, a limit); every share must still run.
   */
#pragma omp parallel num_threads(threads)
  for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads())
    fn(argument, t, threads);
}
#endif

typedef struct range_job {
  uint64_t next; /* accessed atomically */
  uint64_t count, grain;
  dzo_range_fn fn;
  void *argument;
} range_job;

static void take_ranges(void *argument, int thread, int threads) {
  (void)threads;
  range_job *job = argument;
  for (;;) {
    uint64_t begin = dzo_fetch_add_u64(&job->next, job->grain);
    if (begin >= job->count)
      return;
    uint64_t left = job->count - begin;
    job->fn(job->argument, begin, begin + (left < job->grain ? left : job->grain), thread);
  }
}

void dzo_parallel_for(int threads, uint64_t count, uint64_t grain, dzo_range_fn fn,
                      void *argument) {
  if (count == 0)
    return;
  if (grain == 0)
    grain = 1;
  uint64_t ranges = (count - 1) / grain + 1;
  range_job job = {0, count, grain, fn, argument};
  dzo_team_run(ranges < (uint64_t)threads ? (int)ranges : threads, take_ranges, &job);
}

int dzo_processor_count(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return CPU_COUNT(&set) < 1024 ? CPU_COUNT(&set) : 1024;
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}
