/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How the shim runs a kernel on the CPU. A block's threads are fibers of one real thread; they
 * switch at barriers and collectives and, now and then, at accesses to shared data, in an order
 * that SIMT_SEED decides. Blocks run on real threads. */
#ifndef SIMT_H
#define SIMT_H

#include <stddef.h>
#include <stdint.h>

#include <tuple>
#include <type_traits>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/* Where the running fiber is; one a real thread. */
struct simt_place {
  uint3 thread;
  uint3 block;
  uint3 block_size;
  uint3 grid_size;
  struct simt_block *running; /* NULL outside kernels */
  unsigned until_switch;      /* accesses to shared data until the fiber is interrupted */
};
extern __thread simt_place simt_here;

/* Kernel code calls this before each access to what other threads may touch. */
void simt_interrupt();
__attribute__((no_sanitize("thread"))) static inline void simt_touch() {
  if (--simt_here.until_switch == 0)
    simt_interrupt();
}

enum simt_kind : unsigned {
  SIMT_SYNCWARP,
  SIMT_BALLOT,
  SIMT_ANY,
  SIMT_ALL,
  SIMT_SHFL,
  SIMT_SHFL_UP,
  SIMT_SHFL_DOWN,
  SIMT_SHFL_XOR,
  SIMT_REDUCE,
  SIMT_MATCH,
  SIMT_SYNCTHREADS,
  SIMT_GRID_SYNC,
  SIMT_KINDS
};

/* What the lanes of a warp brought to a collective that all have reached. */
struct simt_exchange {
  uint64_t value[32];
  uint32_t mask; /* of the lanes whose value is not 0 */
  unsigned lanes;
};
const simt_exchange *simt_collective(simt_kind kind, unsigned mask, uint64_t value,
                                     const char *file, int line);
/* How many threads brought a value other than 0. */
unsigned simt_block_barrier(simt_kind kind, bool value, const char *file, int line);

/* One launch: `run(arguments)` is one thread of the kernel. */
struct simt_launch {
  const char *name;
  void (*run)(const void *arguments);
  const void *arguments;
  unsigned blocks, threads;
  bool together;
  size_t block_memory; /* bytes of a block's own, beside its __shared__ variables */
};
/* As much as a block may have of it. */
enum { SIMT_BLOCK_MEMORY = 1 << 17 };
void *simt_block_memory();
void simt_run(const simt_launch *launch);
unsigned simt_resident_blocks();

/* The seed of the schedules, SIMT_SEED or 1, mixed with what tells one use from another. */
uint64_t simt_random_seed(uint64_t use);
static inline uint64_t simt_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return x * 0x2545f4914f6cdd1dULL >> 16;
}

/* Ends the program: the kernel breaks a rule. */
[[noreturn]] void simt_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
