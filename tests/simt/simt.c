/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The shim itself: known answers of each primitive, and mistakes that it must find. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/primitives.h"
#include "kernels.h"

#define must(call) assert_int_equal((call), DZO_OK)

static dzo_context *context;

static dzo_unit *open_unit(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  must(dzo_context_create(&options, &context));
  dzo_unit *unit = dzo_context_gpu(context);
  assert_non_null(unit);
  return unit;
}

static void *device_memory(dzo_unit *unit, size_t bytes, int fill) {
  void *memory;
  must(dzo_unit_allocate(unit, bytes, 1, &memory));
  assert_int_equal((uintptr_t)memory % 256, 0);
  must(dzo_unit_fill(unit, 0, memory, fill, bytes));
  return memory;
}

static void fetch(dzo_unit *unit, void *to, const void *from, size_t bytes) {
  must(dzo_unit_copy(unit, 0, to, from, bytes));
  must(dzo_unit_wait(unit, 0));
}

static void shuffles_sum_blocks(void **state) {
  dzo_unit *unit = *state;
  enum { COUNT = 10000, THREADS = 256, BLOCKS = (COUNT + THREADS - 1) / THREADS };
  uint32_t in[COUNT];
  uint64_t out[BLOCKS];
  for (uint32_t i = 0; i < COUNT; i++)
    in[i] = i * 2654435761u;
  uint32_t *gpu_in = device_memory(unit, sizeof in, 1);
  uint64_t *gpu_out = device_memory(unit, sizeof out, 2);
  must(dzo_unit_copy(unit, 0, gpu_in, in, sizeof in));
  must(kernels_sums(unit, gpu_in, COUNT, gpu_out, BLOCKS, THREADS));
  fetch(unit, out, gpu_out, sizeof out);
  for (uint32_t b = 0; b < BLOCKS; b++) {
    uint64_t sum = 0;
    for (uint32_t i = b * THREADS; i < (b + 1) * THREADS && i < COUNT; i++)
      sum += in[i];
    assert_int_equal(out[b], sum);
  }
  dzo_unit_release(unit, gpu_in);
  dzo_unit_release(unit, gpu_out);
}

static void ballots_gather(void **state) {
  dzo_unit *unit = *state;
  enum { COUNT = 5000 };
  uint32_t in[COUNT], out[COUNT], found = 0;
  bool seen[COUNT] = {false};
  for (uint32_t i = 0; i < COUNT; i++)
    in[i] = i * i / 7;
  uint32_t *gpu_in = device_memory(unit, sizeof in, 1),
           *gpu_out = device_memory(unit, sizeof out, 2);
  uint32_t *gpu_found = device_memory(unit, sizeof found, 0);
  must(dzo_unit_copy(unit, 0, gpu_in, in, sizeof in));
  must(kernels_gather(unit, gpu_in, COUNT, gpu_out, gpu_found));
  fetch(unit, &found, gpu_found, sizeof found);
  fetch(unit, out, gpu_out, sizeof out);
  assert_true(found <= COUNT);
  for (uint32_t i = 0; i < found; i++) {
    assert_true(out[i] < COUNT && !seen[out[i]] && in[out[i]] % 2 == 1);
    seen[out[i]] = true;
  }
  for (uint32_t i = 0; i < COUNT; i++)
    assert_int_equal(seen[i], in[i] % 2);
  dzo_unit_release(unit, gpu_in);
  dzo_unit_release(unit, gpu_out);
  dzo_unit_release(unit, gpu_found);
}

static uint64_t expected_of_collectives(uint32_t lane, uint32_t threads) {
  uint32_t thirds = 0;
  for (uint32_t i = 0; i < 32; i += 3)
    thirds |= 1u << i;
  uint64_t r = thirds;
  r = r * 31 + 2;
  r = r * 31 + 2;
  r = r * 31 + (lane + 3) % 32 * 5;
  r = r * 31 + (lane < 3 ? lane : lane - 3) * 5;
  r = r * 31 + (lane + 3 > 31 ? lane : lane + 3) * 5;
  r = r * 31 + ((uint64_t)(lane ^ 5) << 40);
  return r * 31 + (threads + 4) / 5;
}

static void collectives_give_what_cuda_says(void **state) {
  dzo_unit *unit = *state;
  enum { BLOCKS = 5, THREADS = 160 };
  uint64_t out[BLOCKS * THREADS];
  uint64_t *gpu_out = device_memory(unit, sizeof out, 1);
  must(kernels_collectives(unit, gpu_out, BLOCKS, THREADS));
  fetch(unit, out, gpu_out, sizeof out);
  for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
    assert_int_equal(out[i], expected_of_collectives(i % THREADS % 32, THREADS));
  dzo_unit_release(unit, gpu_out);
}

static void atomics_lose_nothing(void **state) {
  dzo_unit *unit = *state;
  enum { BLOCKS = 50 };
  uint64_t n = BLOCKS * 96;
  uint32_t small[5] = {0, UINT32_MAX, 0, 0, UINT32_MAX};
  uint64_t large[4] = {0, UINT64_MAX, 0, 0};
  uint32_t *gpu_small = device_memory(unit, sizeof small, 1);
  uint64_t *gpu_large = device_memory(unit, sizeof large, 1);
  must(dzo_unit_copy(unit, 0, gpu_small, small, sizeof small));
  must(dzo_unit_copy(unit, 0, gpu_large, large, sizeof large));
  must(kernels_atomics(unit, gpu_small, gpu_large, BLOCKS));
  fetch(unit, small, gpu_small, sizeof small);
  fetch(unit, large, gpu_large, sizeof large);
  assert_int_equal(small[0], n * (n - 1) / 2);
  assert_int_equal(small[1], 5);
  assert_int_equal(small[2], n - 1);
  assert_int_equal(small[3], UINT32_MAX);
  assert_int_equal(small[4], 0x80000000u);
  assert_int_equal(large[0], (n * (n - 1) / 2) << 20);
  assert_int_equal(large[1], 9);
  assert_int_equal(large[2], (n - 1) << 32);
  assert_int_equal(large[3], 3 * n);
  dzo_unit_release(unit, gpu_small);
  dzo_unit_release(unit, gpu_large);
}

static void all_blocks_meet(void **state) {
  dzo_unit *unit = *state;
  enum { MOST = 64, ROUNDS = 20 };
  unsigned blocks = kernels_resident(unit);
  assert_in_range(blocks, 1, MOST);
  uint64_t sums[2 * MOST], expected[2][MOST] = {{0}};
  uint64_t *gpu_sums = device_memory(unit, sizeof sums, 0);
  must(kernels_rounds(unit, gpu_sums, ROUNDS, blocks));
  fetch(unit, sums, gpu_sums, sizeof sums);
  for (int r = 0; r < ROUNDS; r++) {
    uint64_t all = 0;
    for (unsigned b = 0; b < blocks; b++)
      all += expected[r % 2][b];
    for (unsigned b = 0; b < blocks; b++)
      expected[(r + 1) % 2][b] = all + b;
  }
  for (unsigned b = 0; b < blocks; b++)
    assert_int_equal(sums[ROUNDS % 2 * blocks + b], expected[ROUNDS % 2][b]);
  dzo_unit_release(unit, gpu_sums);
}

static void waiting_threads_let_others_run(void **state) {
  dzo_unit *unit = *state;
  uint32_t out[50];
  uint32_t *turn = device_memory(unit, sizeof *turn, 0),
           *gpu_out = device_memory(unit, sizeof out, 1);
  must(kernels_turns(unit, turn, gpu_out));
  fetch(unit, out, gpu_out, sizeof out);
  for (uint32_t i = 0; i < 50; i++)
    assert_int_equal(out[i], 2 * i);
  dzo_unit_release(unit, turn);
  dzo_unit_release(unit, gpu_out);
}

static void blocks_have_memory_of_any_size(void **state) {
  dzo_unit *unit = *state;
  enum { THREADS = 96, BLOCKS = 9 };
  uint32_t words[THREADS * BLOCKS], out[THREADS * BLOCKS];
  for (uint32_t i = 0; i < THREADS * BLOCKS; i++)
    words[i] = i * 2654435761u;
  uint32_t *in = device_memory(unit, sizeof words, 0),
           *gpu_out = device_memory(unit, sizeof out, 1);
  must(dzo_unit_copy(unit, 0, in, words, sizeof words));
  must(kernels_turn_around(unit, in, gpu_out, BLOCKS, THREADS));
  fetch(unit, out, gpu_out, sizeof out);
  for (uint32_t i = 0; i < THREADS * BLOCKS; i++)
    assert_int_equal(out[i], words[i / THREADS * THREADS + THREADS - 1 - i % THREADS]);
  dzo_unit_release(unit, in);
  dzo_unit_release(unit, gpu_out);
}

static void many_threads_run(void **state) {
  dzo_unit *unit = *state;
  uint32_t *out = device_memory(unit, sizeof *out, 0);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  must(kernels_busy(unit, out, 40));
#else
  must(kernels_busy(unit, out, 4096));
#endif
  must(dzo_unit_wait(unit, 0));
  dzo_unit_release(unit, out);
}

static void primitives_sort_and_sum(void **state) {
  dzo_unit *unit = *state;
  enum { COUNT = 3000 };
  uint64_t keys[COUNT], sorted[COUNT];
  uint32_t values[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    keys[i] = (uint64_t)(i * 2654435761u) << 13;
    values[i] = i;
  }
  uint64_t *a = device_memory(unit, sizeof keys, 1), *b = device_memory(unit, sizeof keys, 1);
  uint32_t *v = device_memory(unit, sizeof values, 1), *w = device_memory(unit, sizeof values, 1);
  uint64_t bytes = dzo_gpu_sort_bytes(unit, COUNT) + dzo_gpu_sum_bytes(unit, COUNT);
  void *scratch = device_memory(unit, bytes, 1);
  must(dzo_unit_copy(unit, 0, a, keys, sizeof keys));
  must(dzo_unit_copy(unit, 0, v, values, sizeof values));
  must(dzo_gpu_sort_u64_u32(unit, 0, scratch, bytes, a, b, v, w, COUNT, 20, 25));
  fetch(unit, sorted, b, sizeof sorted);
  fetch(unit, values, w, sizeof values);
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(sorted[i], keys[values[i]]);
    uint64_t now = sorted[i] >> 20 & 31, before = i > 0 ? sorted[i - 1] >> 20 & 31 : 0;
    assert_true(before < now || (before == now && (i == 0 || values[i - 1] < values[i])));
  }
  must(dzo_gpu_exclusive_sum_u64(unit, 0, scratch, bytes, a, a, COUNT));
  fetch(unit, sorted, a, sizeof sorted);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(sorted[i], sum);
    sum += keys[i];
  }
  dzo_unit_release(unit, a);
  dzo_unit_release(unit, b);
  dzo_unit_release(unit, v);
  dzo_unit_release(unit, w);
  dzo_unit_release(unit, scratch);
}

/* Marks order queues; what is between two of them has a time. */
static void marks_order_queues(void **state) {
  dzo_unit *unit = *state;
  enum { ROUNDS = 200, WORDS = 64 };
  void *staging;
  uint32_t *memory = device_memory(unit, WORDS * sizeof *memory, 0);
  must(dzo_unit_allocate_staging(unit, WORDS, sizeof(uint32_t), &staging));
  uint32_t *words = staging, last[WORDS];
  must(dzo_unit_wait(unit, 0));
  must(dzo_unit_mark(unit, 0, 3));
  for (uint32_t r = 1; r <= ROUNDS; r++) {
    for (int i = 0; i < WORDS; i++)
      words[i] = r;
    must(dzo_unit_copy(unit, 1, memory, words, sizeof last));
    must(dzo_unit_mark(unit, 1, 0));
    must(dzo_unit_queue_after(unit, 2, 0));
    must(dzo_unit_copy(unit, 2, last, memory, sizeof last)); /* to memory that is not pinned */
    assert_int_equal(last[WORDS - 1], r);
    must(dzo_unit_wait_mark(unit, 0));
  }
  must(dzo_unit_mark(unit, 2, 4));
  must(dzo_unit_wait_mark(unit, 4));
  double time = -1;
  must(dzo_unit_elapsed(unit, 3, 4, &time));
  assert_true(time >= 0);
  dzo_unit_release_staging(unit, staging);
  dzo_unit_release(unit, memory);
}

/* ---- Mistakes ---------------------------------------------------------------------------------
 */

/* Run in a child process what must be found out, with a message that contains `text`. */
static void dies(kernels_mistake mistake, const char *text) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)signal(SIGABRT, SIG_DFL);
    (void)dup2(ends[1], 2);
    (void)close(ends[0]);
    dzo_unit *unit = open_unit();
    uint32_t *out = device_memory(unit, 4096, 0);
    (void)kernels_wrong(unit, mistake, out);
    (void)dzo_unit_wait(unit, 0);
    _exit(0);
  }
  (void)close(ends[1]);
  char message[4096] = "";
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], message + length, sizeof message - 1 - length)) > 0;)
    length += (size_t)got;
  (void)close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (strstr(message, text) == NULL)
    fail_msg("no \"%s\" in: %s", text, message);
}

static void broken_rules_are_found(void **state) {
  (void)state;
  dies(DIVERGENT_BALLOT, "kernel divergent_ballot");
  dies(DIFFERENT_COLLECTIVES, "kernel different_collectives");
  dies(EARLY_END, "kernel early_end");
  dies(LONELY_BLOCK, "in dzo_grid_sync");
}

/* What a child process with this seed gets from a kernel. */
static uint64_t with_seed(int seed, kernels_mistake mistake) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", seed);
    (void)setenv("SIMT_SEED", text, 1);
    dzo_unit *unit = open_unit();
    uint32_t out[256], *gpu_out = device_memory(unit, sizeof out, 0);
    uint64_t sum = 0;
    (void)kernels_wrong(unit, mistake, gpu_out);
    fetch(unit, out, gpu_out, sizeof out);
    for (int i = 0; i < 256; i++)
      sum = sum * 1000003 + out[i];
    _exit(write(ends[1], &sum, sizeof sum) == sizeof sum ? 0 : 1);
  }
  (void)close(ends[1]);
  uint64_t sum = 0;
  ssize_t got = read(ends[0], &sum, sizeof sum);
  (void)close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(got, sizeof sum);
  return sum;
}

static void seeds_show_races(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  dies(MISSING_BARRIER, "data race");
  return;
#endif
  int different = 0;
  for (int seed = 1; seed <= 5; seed++)
    different += with_seed(seed, MISSING_BARRIER) != with_seed(seed + 1, MISSING_BARRIER);
  assert_true(different >= 4);
  assert_int_equal(with_seed(3, MISSING_BARRIER), with_seed(3, MISSING_BARRIER));
}

static void shared_memory_begins_with_anything(void **state) {
  (void)state;
  assert_int_not_equal(with_seed(1, UNWRITTEN_SHARED), 0);
}

static int open_once(void **state) {
  *state = open_unit();
  return 0;
}

static int close_once(void **state) {
  (void)state;
  dzo_context_destroy(context);
  return 0;
}

int main(void) {
  const struct CMUnitTest mistakes[] = {cmocka_unit_test(broken_rules_are_found),
                                        cmocka_unit_test(seeds_show_races),
                                        cmocka_unit_test(shared_memory_begins_with_anything)};
  const struct CMUnitTest answers[] = {cmocka_unit_test(shuffles_sum_blocks),
                                       cmocka_unit_test(ballots_gather),
                                       cmocka_unit_test(collectives_give_what_cuda_says),
                                       cmocka_unit_test(atomics_lose_nothing),
                                       cmocka_unit_test(all_blocks_meet),
                                       cmocka_unit_test(waiting_threads_let_others_run),
                                       cmocka_unit_test(blocks_have_memory_of_any_size),
                                       cmocka_unit_test(many_threads_run),
                                       cmocka_unit_test(primitives_sort_and_sum),
                                       cmocka_unit_test(marks_order_queues)};
  /* First, since they fork: threads of the shim do not live on in a child. */
  int failed = cmocka_run_group_tests_name("mistakes", mistakes, NULL, NULL);
  return cmocka_run_group_tests_name("answers", answers, open_once, close_once) + failed;
}
