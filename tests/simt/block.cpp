/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "block.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread simt_place simt_here;

static const char *const kind_names[SIMT_KINDS] = {
    "__syncwarp",        "__ballot_sync",    "__any_sync",       "__all_sync",
    "__shfl_sync",       "__shfl_up_sync",   "__shfl_down_sync", "__shfl_xor_sync",
    "__reduce_..._sync", "__match_any_sync", "__syncthreads",    "dzo_grid_sync"};

void simt_die(const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const simt_block *block = simt_here.running;
  if (block != NULL)
    (void)fprintf(stderr, "simt: kernel %s, block %u, thread %u: %s\n", block->launch->name,
                  simt_here.block.x, simt_here.thread.x, text);
  else
    (void)fprintf(stderr, "simt: %s\n", text);
  abort();
}

static uint32_t random_below(simt_block *block, uint32_t n) {
  return (uint32_t)((simt_random(&block->random) & 0xffffffffu) * n >> 32);
}

/* Some order of 0 .. n - 1: from `at` on in steps of `step`, coprime to n. */
struct permutation {
  uint32_t at, step, n;
};

static uint32_t common_divisor(uint32_t a, uint32_t b) {
  while (b != 0) {
    uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static permutation permute(simt_block *block, uint32_t n) {
  permutation p = {random_below(block, n), 1, n};
  if (n > 2)
    p.step = 1 + random_below(block, n - 1);
  while (common_divisor(p.step, n) != 1)
    p.step--;
  return p;
}

static uint32_t next_of(permutation *p) {
  uint32_t now = p->at;
  p->at += p->step;
  if (p->at >= p->n)
    p->at -= p->n;
  return now;
}

/* The threads that can run. */
static void make_ready(simt_block *block, unsigned thread, bool soon) {
  if (soon) {
    block->first_ready = (block->first_ready - 1) % SIMT_MOST_THREADS;
    block->ready[block->first_ready] = (uint16_t)thread;
  } else {
    block->ready[(block->first_ready + block->ready_count) % SIMT_MOST_THREADS] = (uint16_t)thread;
  }
  block->ready_count++;
}

/* Make `count` threads from `first` on ready, but not the one that runs. */
static void make_all_ready(simt_block *block, unsigned first, unsigned count) {
  permutation p = permute(block, count);
  bool soon = simt_random(&block->random) & 1;
  for (unsigned i = 0; i < count; i++) {
    unsigned thread = first + next_of(&p);
    block->waits[thread].file = NULL;
    if (thread != simt_here.thread.x)
      make_ready(block, thread, soon);
  }
}

static void describe(const simt_where *where, char *text, size_t capacity) {
  if (where->file == NULL)
    (void)snprintf(text, capacity, "nowhere");
  else
    (void)snprintf(text, capacity, "%s at %s:%d", kind_names[where->kind], where->file,
                   where->line);
}

[[noreturn]] static void die_stuck(const simt_block *block) {
  char one[300] = "", other[300] = "";
  unsigned first = 0;
  for (unsigned i = 0, found = 0; i < block->threads && found < 2; i++) {
    const simt_where *a = &block->waits[i], *b = &block->waits[first];
    if (a->file == NULL || (found == 1 && a->kind == b->kind && a->line == b->line))
      continue;
    describe(a, found == 0 ? one : other, sizeof one);
    if (found++ == 0)
      first = i;
  }
  simt_die("threads wait for each other: some in %s, others %s%s", one,
           other[0] ? "in " : "have ended", other);
}

/* Take the next thread; the caller then runs it. */
static unsigned next_ready(simt_block *block) {
  if (block->ready_count == 0)
    die_stuck(block);
  unsigned thread = block->ready[block->first_ready];
  block->first_ready = (block->first_ready + 1) % SIMT_MOST_THREADS;
  block->ready_count--;
  return thread;
}

static void fiber_body(simt_fiber *self);

/* A fiber for a thread that begins. For ThreadSanitizer, threads of one fiber do not race: so there
 * are more of them than needed. */
static simt_fiber *idle_fiber(simt_block *block) {
#ifdef SIMT_TSAN
  unsigned least = block->threads < SIMT_SHADOWS ? block->threads : (unsigned)SIMT_SHADOWS;
#else
  unsigned least = 1;
#endif
  if (block->idle_first == NULL || block->fiber_count < least)
    return simt_fiber_create(fiber_body, block,
                             block->shadows[block->fiber_count++ % SIMT_SHADOWS]);
  simt_fiber *fiber = block->idle_first;
  block->idle_first = fiber->next;
  return fiber;
}

static void make_idle(simt_block *block, simt_fiber *fiber) {
  fiber->next = NULL;
  if (block->idle_first == NULL)
    block->idle_first = fiber;
  else
    block->idle_last->next = fiber;
  block->idle_last = fiber;
}

static void enter(unsigned thread) { simt_here.thread.x = thread; }

static void go_to(simt_block *block, simt_fiber *from, simt_fiber *to) {
  if (from == to)
    return;
  block->running = to;
  simt_fiber_switch(from, to);
}

/* The running thread waits; run others until it is ready and its turn. */
static void let_others_run(simt_block *block) {
  unsigned self = simt_here.thread.x;
  simt_fiber *mine = block->running;
  block->fiber_of[self] = mine;
  unsigned next = next_ready(block);
  enter(next);
  if (next != self) {
    simt_fiber *to = block->fiber_of[next];
    go_to(block, mine, to != NULL ? to : idle_fiber(block));
  }
}

static void arm(simt_block *block) { simt_here.until_switch = 1 + random_below(block, 100); }

void simt_interrupt() {
  simt_block *block = simt_here.running;
  if (block == NULL) {
    simt_here.until_switch = 0;
    return;
  }
  arm(block);
  if (block->ready_count == 0) {
    if (block->grid != NULL)
      sched_yield();
    return;
  }
  make_ready(block, simt_here.thread.x, false);
  let_others_run(block);
}

static void end_thread(simt_block *block) {
  simt_warp *warp = &block->warps[simt_here.thread.x / 32];
  char text[300];
  if (warp->arrived > 0) {
    describe(&warp->where, text, sizeof text);
    simt_die("ends while other lanes of its warp are in %s", text);
  }
  if (block->arrived > 0) {
    describe(&block->where, text, sizeof text);
    simt_die("ends while other threads of its block are in %s", text);
  }
  warp->ended++;
  block->ended++;
  block->waits[simt_here.thread.x].file = NULL;
}

/* Threads of blocks, one after the other. */
static void fiber_body(simt_fiber *self) {
  simt_block *block = (simt_block *)self->user;
  for (;;) {
    if (self->used != block->blocks_run)
      simt_acquire(block);
    self->used = block->blocks_run;
    block->launch->run(block->launch->arguments);
    end_thread(block);
    make_idle(block, self);
    if (block->ended == block->threads) {
      block->running = &block->host;
      simt_fiber_switch(self, &block->host);
      continue;
    }
    unsigned next = next_ready(block);
    enter(next);
    simt_fiber *to = block->fiber_of[next];
    if (to == NULL)
      to = idle_fiber(block);
    go_to(block, self, to);
  }
}

static void same_place(const simt_where *first, simt_kind kind, const char *file, int line) {
  if (first->kind == kind && first->line == line)
    return;
  char text[300], own[300];
  simt_where here = {kind, file, line};
  describe(first, text, sizeof text);
  describe(&here, own, sizeof own);
  simt_die("is in %s while others, which it should meet, are in %s", own, text);
}

const simt_exchange *simt_collective(simt_kind kind, unsigned mask, uint64_t value,
                                     const char *file, int line) {
  simt_block *block = simt_here.running;
  if (block == NULL)
    simt_die("%s outside a kernel at %s:%d", kind_names[kind], file, line);
  simt_warp *warp = &block->warps[simt_here.thread.x / 32];
  unsigned lane = simt_here.thread.x % 32;
  if (mask != 0xffffffffu)
    simt_die("%s at %s:%d without the full mask", kind_names[kind], file, line);
  if (warp->ended > 0)
    simt_die("is in %s at %s:%d, but lanes of its warp have ended", kind_names[kind], file, line);
  simt_exchange *exchange = &warp->exchange[warp->parity];
  if (warp->arrived == 0) {
    warp->where = {kind, file, line};
    exchange->mask = 0;
  } else {
    same_place(&warp->where, kind, file, line);
  }
  exchange->value[lane] = value;
  exchange->mask |= (uint32_t)(value != 0) << lane;
  /* As CUDA says, votes and shuffles order no memory accesses. */
  if (kind == SIMT_SYNCWARP)
    simt_release(exchange);
  if (++warp->arrived < warp->lanes) {
    block->waits[simt_here.thread.x] = {kind, file, line};
    let_others_run(block);
  } else {
    warp->arrived = 0;
    warp->parity ^= 1;
    make_all_ready(block, simt_here.thread.x - lane, warp->lanes);
    if ((simt_random(&block->random) & 3) == 0) {
      make_ready(block, simt_here.thread.x, false);
      let_others_run(block);
    }
  }
  if (kind == SIMT_SYNCWARP)
    simt_acquire(exchange);
  return exchange;
}

/* The last thread of a block waits, in the block's name, for the other blocks. */
static void meet_grid(simt_grid *grid, const char *file, int line) {
  if (grid == NULL)
    simt_die("dzo_grid_sync at %s:%d in a kernel not launched by DZO_LAUNCH_TOGETHER", file, line);
  pthread_mutex_lock(&grid->lock);
  if (grid->ended > 0)
    simt_die("is in dzo_grid_sync at %s:%d, but other blocks have ended", file, line);
  uint64_t round = grid->round;
  if (++grid->arrived == grid->blocks) {
    grid->arrived = 0;
    grid->round++;
    pthread_cond_broadcast(&grid->all_here);
  }
  while (grid->round == round)
    pthread_cond_wait(&grid->all_here, &grid->lock);
  pthread_mutex_unlock(&grid->lock);
}

unsigned simt_block_barrier(simt_kind kind, bool value, const char *file, int line) {
  simt_block *block = simt_here.running;
  if (block == NULL)
    simt_die("%s outside a kernel at %s:%d", kind_names[kind], file, line);
  if (block->ended > 0)
    simt_die("is in %s at %s:%d, but threads of its block have ended", kind_names[kind], file,
             line);
  if (block->arrived == 0) {
    block->where = {kind, file, line};
    block->count = 0;
  } else {
    same_place(&block->where, kind, file, line);
  }
  block->count += value;
  /* Who is late at this barrier must not seem to come after who is early at the next. */
  void *barrier = &block->barrier[block->barriers % 2];
  simt_release(barrier);
  if (++block->arrived < block->threads) {
    block->waits[simt_here.thread.x] = {kind, file, line};
    let_others_run(block);
  } else {
    if (kind == SIMT_GRID_SYNC) {
      simt_acquire(barrier);
      meet_grid(block->grid, file, line);
      simt_release(barrier);
    }
    block->arrived = 0;
    block->barriers++;
    block->counted = block->count;
    make_all_ready(block, 0, block->threads);
    if ((simt_random(&block->random) & 3) != 0) {
      make_ready(block, simt_here.thread.x, false);
      let_others_run(block);
    }
  }
  simt_acquire(barrier);
  return block->counted;
}

void simt_fence() {
  static int fence;
  simt_release(&fence);
#ifndef SIMT_TSAN
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  simt_acquire(&fence);
}

void *simt_block_memory() {
  const simt_block *block = simt_here.running;
  if (block == NULL || block->launch->block_memory == 0)
    simt_die("DZO_BLOCK_MEMORY in a kernel not launched by DZO_LAUNCH_SHARED");
  return block->memory;
}

/* Of just that size, so that AddressSanitizer sees what goes beyond; it holds garbage. */
static void make_memory(simt_block *block, size_t bytes, uint64_t random) {
  if (bytes == block->memory_bytes)
    return;
  free(block->memory);
  block->memory = NULL;
  block->memory_bytes = bytes;
  if (bytes == 0)
    return;
  block->memory = (char *)aligned_alloc(16, (bytes + 15) & ~(size_t)15);
  if (block->memory == NULL)
    simt_die("no memory for a block");
  memset(block->memory, (int)(random & 0xff), bytes);
}

simt_block *simt_block_create() {
  simt_block *block = new simt_block();
  simt_fiber_of_thread(&block->host);
  for (int i = 0; i < SIMT_SHADOWS; i++)
    block->shadows[i] = simt_shadow_create();
  return block;
}

/* At first whole warps one after the other, in order or backwards; or all threads mixed. */
static void make_new_threads_ready(simt_block *block) {
  unsigned threads = block->threads;
  uint64_t way = simt_random(&block->random) & 3;
  permutation p = permute(block, threads);
  if (way < 2 && threads > 1)
    p.step = way == 0 ? 1 : threads - 1;
  for (unsigned i = 0; i < threads; i++)
    block->ready[i] = (uint16_t)next_of(&p);
  block->first_ready = 0;
  block->ready_count = threads;
}

void simt_block_run(simt_block *block, const simt_launch *launch, unsigned index, simt_grid *grid,
                    uint64_t seed) {
  block->launch = launch;
  block->grid = grid;
  block->random = simt_random_seed(seed + (uint64_t)index * 0x9e3779b97f4a7c15ULL);
  block->threads = launch->threads;
  make_memory(block, launch->block_memory, simt_random(&block->random));
  block->ended = block->arrived = 0;
  for (unsigned i = 0; i * 32 < launch->threads; i++) {
    simt_warp *warp = &block->warps[i];
    unsigned rest = launch->threads - i * 32;
    warp->lanes = rest < 32 ? rest : 32;
    warp->exchange[0].lanes = warp->exchange[1].lanes = warp->lanes;
    warp->arrived = warp->ended = 0;
  }
  for (unsigned i = 0; i < launch->threads; i++) {
    block->fiber_of[i] = NULL;
    block->waits[i].file = NULL;
  }
  make_new_threads_ready(block);
  simt_here.block = {index, 0, 0};
  simt_here.block_size = {launch->threads, 1, 1};
  simt_here.grid_size = {launch->blocks, 1, 1};
  simt_here.running = block;
  arm(block);
  enter(next_ready(block));
  simt_fiber *first = idle_fiber(block);
  block->running = first;
  block->blocks_run++;
  simt_release(block);
  simt_fiber_switch(&block->host, first);
#ifdef SIMT_TSAN
  for (int i = 0; i < SIMT_SHADOWS; i++)
    simt_release_as(block->shadows[i], &block->host, &block->host);
#endif
  simt_acquire(&block->host);
  simt_here.running = NULL;
}
