/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One block after another on one real thread. */
#ifndef SIMT_BLOCK_H
#define SIMT_BLOCK_H

#include <pthread.h>

#include "fiber.h"

enum { SIMT_MOST_THREADS = 1024, SIMT_MOST_WARPS = SIMT_MOST_THREADS / 32 };
/* As many threads of a block are different ones to ThreadSanitizer; with more it takes too long. */
enum { SIMT_SHADOWS = 64 };

/* Where blocks that run together meet. */
struct simt_grid {
  pthread_mutex_t lock;
  pthread_cond_t all_here;
  unsigned blocks, arrived, ended;
  uint64_t round;
};

struct simt_where {
  simt_kind kind;
  const char *file;
  int line;
};

struct simt_warp {
  simt_exchange exchange[2]; /* of the collective now, and of the one before */
  unsigned parity;
  unsigned lanes, arrived, ended;
  simt_where where;
};

struct simt_block {
  const simt_launch *launch;
  simt_grid *grid; /* of blocks that run together */
  uint64_t random;
  unsigned threads, ended;
  /* The barrier of the block. */
  unsigned arrived, count, counted, barriers;
  uint64_t barrier[2]; /* for simt_release() only */
  simt_where where;
  simt_warp warps[SIMT_MOST_WARPS];
  /* Threads that can run: a ring. */
  uint16_t ready[SIMT_MOST_THREADS];
  unsigned first_ready, ready_count;
  /* Where each thread that has begun and waits is: NULL before it begins. */
  simt_fiber *fiber_of[SIMT_MOST_THREADS];
  simt_where waits[SIMT_MOST_THREADS]; /* file NULL: does not wait */
  unsigned fiber_count;
  void *shadows[SIMT_SHADOWS];
  simt_fiber *idle_first, *idle_last; /* those without a thread */
  uint64_t blocks_run;
  char *memory; /* the launch's block_memory, anew for each launch */
  size_t memory_bytes;
  simt_fiber *running;
  simt_fiber host;
};

simt_block *simt_block_create();
void simt_block_run(simt_block *block, const simt_launch *launch, unsigned index, simt_grid *grid,
                    uint64_t seed);

#endif
