/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Real threads that run blocks. */
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

#ifdef SIMT_TSAN
enum { RESIDENT = 2, WORKERS = 2 };
#else
enum { RESIDENT = 4, WORKERS = 3 };
#endif

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  unsigned started;  /* workers there are */
  unsigned wanted;   /* workers that the launch wants */
  unsigned running;  /* workers that have not finished it */
  uint64_t launches; /* so far; a worker takes part once in each */
  const simt_launch *launch;
  simt_grid *grid;
  unsigned next; /* block to be taken, in the order of the launch; accessed atomically */
  unsigned step, at;
} pool = {PTHREAD_MUTEX_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          0,
          0,
          0,
          0,
          NULL,
          NULL,
          0,
          0,
          0};

unsigned simt_resident_blocks() { return RESIDENT; }

uint64_t simt_random_seed(uint64_t use) {
  static uint64_t seed;
  uint64_t x = __atomic_load_n(&seed, __ATOMIC_RELAXED);
  if (x == 0) {
    const char *text = getenv("SIMT_SEED");
    x = (text != NULL ? strtoull(text, NULL, 10) : 1) << 1 | 1;
    __atomic_store_n(&seed, x, __ATOMIC_RELAXED);
  }
  x = (x * 0xd1342543de82ef95ULL) ^ use;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x != 0 ? x : 1;
}

/* __shared__ variables are the program's only thread-local ones but for simt_here, and like a GPU's
 * they begin with what was there before. */
static int poison_in(struct dl_phdr_info *object, size_t, void *pattern) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    char *begin = (char *)object->dlpi_tls_data;
    if (object->dlpi_phdr[i].p_type != PT_TLS || begin == NULL)
      continue;
    size_t bytes = object->dlpi_phdr[i].p_memsz;
    if ((char *)&simt_here < begin || (char *)&simt_here >= begin + bytes)
      continue;
    simt_place here = simt_here;
    memset(begin, *(int *)pattern, bytes);
    simt_here = here;
    return 1;
  }
  return 0;
}

static unsigned block_in_order(unsigned i) {
  return (unsigned)(((uint64_t)i * pool.step + pool.at) % pool.launch->blocks);
}

static void end_block(simt_grid *grid) {
  pthread_mutex_lock(&grid->lock);
  grid->ended++;
  if (grid->arrived > 0)
    simt_die("a block of %s has ended while others are in dzo_grid_sync", pool.launch->name);
  pthread_mutex_unlock(&grid->lock);
}

static void take_part(simt_block *block, unsigned worker, uint64_t launch) {
  int pattern = (int)(0xa5 ^ (launch & 0x3f));
  dl_iterate_phdr(poison_in, &pattern);
  if (pool.grid != NULL) {
    simt_block_run(block, pool.launch, block_in_order(worker), pool.grid, launch << 32);
    end_block(pool.grid);
    return;
  }
  for (;;) {
    unsigned i = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED);
    if (i >= pool.launch->blocks)
      return;
    simt_block_run(block, pool.launch, block_in_order(i), NULL, launch << 32);
  }
}

static void *work(void *argument) {
  unsigned self = (unsigned)(uintptr_t)argument;
  simt_block *block = simt_block_create();
  uint64_t seen = 0;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    while (pool.launches == seen || self >= pool.wanted || pool.running == 0)
      pthread_cond_wait(&pool.work, &pool.lock);
    seen = pool.launches;
    pthread_mutex_unlock(&pool.lock);
    take_part(block, self, seen);
    pthread_mutex_lock(&pool.lock);
    if (--pool.running == 0)
      pthread_cond_signal(&pool.done);
  }
  return NULL;
}

static void start_workers(unsigned count) {
  for (; pool.started < count; pool.started++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)pool.started) != 0)
      simt_die("no thread for a worker");
    pthread_detach(thread);
  }
}

static unsigned coprime_step(unsigned blocks, uint64_t random) {
  unsigned step = 1 + (unsigned)(random % blocks);
  for (unsigned a = step, b = blocks;;) {
    while (b != 0) {
      unsigned rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1)
      return step;
    a = --step;
    b = blocks;
  }
}

/* One launch at a time: the caller holds the runtime's lock. */
void simt_run(const simt_launch *launch) {
  simt_grid grid = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, launch->blocks, 0, 0, 0};
  pthread_mutex_lock(&pool.lock);
  pool.launches++;
  pool.launch = launch;
  pool.grid = launch->together ? &grid : NULL;
  pool.next = 0;
  uint64_t random = simt_random_seed(pool.launches);
  pool.step = coprime_step(launch->blocks, random);
  pool.at = (unsigned)((random >> 32) % launch->blocks);
  pool.wanted = launch->blocks;
  if (!launch->together && launch->blocks > WORKERS)
    pool.wanted = WORKERS;
  start_workers(pool.wanted);
  pool.running = pool.wanted;
  pthread_cond_broadcast(&pool.work);
  while (pool.running > 0)
    pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}
