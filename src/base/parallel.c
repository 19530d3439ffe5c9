/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A team of threads for each thread that calls, made when first needed and parked between calls.
 * A share of the work is taken, not given: whoever is awake takes the next one, so on a busy
 * machine nobody waits for a thread that the kernel has not run yet (a barrier that spins does, and
 * made a solve on two threads many times slower than on one). */
#define _GNU_SOURCE
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/item.h"

enum { MAX_WORKERS = 1023, SPINS = 4000 };

typedef struct team_job {
  dzo_team_fn fn;
  void *argument;
  int threads;
  int next;  /* accessed atomically: the next share to take, from 1 */
  int users; /* accessed atomically, changed under the lock: workers inside */
} team_job;

typedef struct team {
  pthread_mutex_t lock;
  pthread_cond_t start, done;
  team_job *job;       /* under the lock; NULL between calls */
  unsigned generation; /* accessed atomically, changed under the lock: calls so far */
  bool quit;           /* under the lock */
  pid_t owner;         /* after a fork, the workers are not there */
  int workers;
  pthread_t ids[MAX_WORKERS];
} team;

static _Thread_local team *own_team;
static _Thread_local bool in_team; /* a team within a team runs on the thread that asks */
static pthread_key_t team_key;
static bool team_key_made;
static pthread_once_t team_key_once = PTHREAD_ONCE_INIT;

/* Share 0 is the caller's, so that it can report progress from it; the others anybody's. */
static void run_shares(team_job *job, bool is_caller) {
  bool nested = in_team;
  in_team = true;
  if (is_caller)
    job->fn(job->argument, 0, job->threads);
  for (;;) {
    int share = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
    if (share >= job->threads)
      break;
    job->fn(job->argument, share, job->threads);
  }
  in_team = nested;
}

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* A little patience saves going to sleep between two calls that follow each other closely. */
static void spin_while_generation(const team *t, unsigned seen) {
  for (int i = 0; i < SPINS; i++) {
    if (__atomic_load_n(&t->generation, __ATOMIC_RELAXED) != seen)
      return;
    pause_briefly();
  }
}

static void *worker_run(void *argument) {
  team *t = argument;
  unsigned seen = 0;
  pthread_mutex_lock(&t->lock);
  while (!t->quit) {
    if (t->generation == seen) {
      pthread_mutex_unlock(&t->lock);
      spin_while_generation(t, seen);
      pthread_mutex_lock(&t->lock);
      while (t->generation == seen && !t->quit)
        pthread_cond_wait(&t->start, &t->lock);
      continue;
    }
    seen = t->generation;
    team_job *job = t->job;
    if (job == NULL)
      continue;
    __atomic_add_fetch(&job->users, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&t->lock);
    run_shares(job, false);
    pthread_mutex_lock(&t->lock);
    if (__atomic_sub_fetch(&job->users, 1, __ATOMIC_RELAXED) == 0)
      pthread_cond_signal(&t->done);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

static void end_workers(team *t) {
  pthread_mutex_lock(&t->lock);
  t->quit = true;
  pthread_cond_broadcast(&t->start);
  pthread_mutex_unlock(&t->lock);
  for (int i = 0; i < t->workers; i++)
    pthread_join(t->ids[i], NULL);
  pthread_cond_destroy(&t->done);
  pthread_cond_destroy(&t->start);
  pthread_mutex_destroy(&t->lock);
}

/* Of the thread that ends. A fork left the workers, and what they locked, behind. */
static void team_destroy(void *argument) {
  team *t = argument;
  if (t->owner == getpid())
    end_workers(t);
  free(t);
  own_team = NULL;
  (void)pthread_setspecific(team_key, NULL);
}

static void make_team_key(void) {
  team_key_made = pthread_key_create(&team_key, team_destroy) == 0;
}

/* A new team for the calling thread, which takes it along when it ends. */
static team *make_team(void) {
  (void)pthread_once(&team_key_once, make_team_key);
  team *t = team_key_made ? calloc(1, sizeof *t) : NULL;
  if (t == NULL || pthread_setspecific(team_key, t) != 0) {
    free(t);
    return NULL;
  }
  t->owner = getpid();
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->start, NULL);
  pthread_cond_init(&t->done, NULL);
  return t;
}

/* Signals are the program's: its handlers run on its own threads, and a blocking call of theirs is
 * interrupted. Faults stay with the thread that causes them. */
static void block_signals(sigset_t *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t blocked;
  (void)sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    (void)sigdelset(&blocked, faults[i]);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, before);
}

static void add_workers(team *t, int wanted) {
  sigset_t before;
  if (t->workers >= wanted)
    return;
  block_signals(&before);
  while (t->workers < wanted && pthread_create(&t->ids[t->workers], NULL, worker_run, t) == 0)
    t->workers++;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The calling thread's team with up to `workers` workers, or NULL. */
static team *find_team(int workers) {
  if (own_team != NULL && own_team->owner != getpid())
    team_destroy(own_team);
  if (own_team == NULL)
    own_team = make_team();
  if (own_team != NULL)
    add_workers(own_team, workers < MAX_WORKERS ? workers : MAX_WORKERS);
  return own_team;
}

static void open_job(team *t, team_job *job) {
  pthread_mutex_lock(&t->lock);
  t->job = job;
  __atomic_add_fetch(&t->generation, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&t->start);
  pthread_mutex_unlock(&t->lock);
}

/* No worker comes in any more; wait for those inside. */
static void close_job(team *t, team_job *job) {
  for (int i = 0; i < SPINS && __atomic_load_n(&job->users, __ATOMIC_RELAXED) > 0; i++)
    pause_briefly();
  pthread_mutex_lock(&t->lock);
  t->job = NULL;
  while (__atomic_load_n(&job->users, __ATOMIC_RELAXED) > 0)
    pthread_cond_wait(&t->done, &t->lock);
  pthread_mutex_unlock(&t->lock);
}

void dzo_team_run(int threads, dzo_team_fn fn, void *argument) {
  team_job job = {fn, argument, threads < 1 ? 1 : threads, 1, 0};
  team *t = job.threads > 1 && !in_team ? find_team(job.threads - 1) : NULL;
  if (t == NULL) {
    run_shares(&job, true);
    return;
  }
  open_job(t, &job);
  run_shares(&job, true);
  close_job(t, &job);
}

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

typedef struct beside_job {
  dzo_beside_fn fn;
  void *argument;
} beside_job;

static void *run_there(void *argument) {
  const beside_job *job = argument;
  in_team = true;
  job->fn(job->argument);
  return NULL;
}

void dzo_run_beside(dzo_beside_fn here, void *here_argument, dzo_beside_fn there,
                    void *there_argument) {
  beside_job job = {there, there_argument};
  pthread_t id;
  sigset_t before;
  block_signals(&before);
  bool started = pthread_create(&id, NULL, run_there, &job) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!started)
    there(there_argument);
  here(here_argument);
  if (started)
    pthread_join(id, NULL);
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
