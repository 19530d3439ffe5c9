/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Teams as a host program meets them: which thread does what, forks, threads that end, signals. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/item.h"
#include "base/parallel.h"

enum { CELLS = 5003, GRAIN = 16, CALLERS = 12, PATIENCE_MS = 10000 };

static void sum_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)thread;
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; i++)
    sum += i;
  dzo_fetch_add_u64(argument, sum);
}

static bool sums_right(int threads) {
  uint64_t sum = 0;
  dzo_parallel_for(threads, CELLS, GRAIN, sum_range, &sum);
  return sum == (uint64_t)CELLS * (CELLS - 1) / 2;
}

/* ---- Who does what --------------------------------------------------------------------------- */

typedef struct roll {
  pthread_t caller;
  uint64_t strays; /* calls as thread 0 on another thread; accessed atomically */
  uint64_t shares; /* accessed atomically */
} roll;

static void call_roll(void *argument, int thread, int threads) {
  roll *r = argument;
  (void)threads;
  dzo_fetch_add_u64(&r->shares, 1);
  if (thread == 0 && !pthread_equal(pthread_self(), r->caller))
    dzo_fetch_add_u64(&r->strays, 1);
}

static void call_roll_of_ranges(void *argument, uint64_t begin, uint64_t end, int thread) {
  (void)begin, (void)end;
  call_roll(argument, thread, 0);
}

static void share_0_is_the_callers(void **state) {
  (void)state;
  for (int round = 0; round < 300; round++) {
    int threads = round % 9 + 1;
    roll r = {.caller = pthread_self()};
    dzo_team_run(threads, call_roll, &r);
    dzo_parallel_for(threads, 40, 1, call_roll_of_ranges, &r);
    assert_int_equal(r.strays, 0);
    assert_int_equal(r.shares, threads + 40);
  }
}

/* A member's own team: its share 0 is that member's. */
static void nest_roll(void *argument, int thread, int threads) {
  (void)thread, (void)threads;
  roll r = {.caller = pthread_self()};
  dzo_team_run(5, call_roll, &r);
  dzo_fetch_add_u64(argument, r.shares == 5 && r.strays == 0 && sums_right(3));
}

static void a_team_in_a_team_runs_where_it_is_asked_for(void **state) {
  (void)state;
  for (int threads = 1; threads <= 8; threads++) {
    uint64_t right = 0;
    dzo_team_run(threads, nest_roll, &right);
    assert_int_equal(right, threads);
    assert_true(sums_right(threads));
  }
}

/* Teams of changing size, as of several contexts, leave each other nothing. */
static void sizes_may_change(void **state) {
  (void)state;
  for (int round = 0; round < 2000; round++)
    assert_true(sums_right(1 + round * 7 % 11));
}

/* ---- Threads that end ------------------------------------------------------------------------ */

static int count_tasks(void) {
  DIR *folder = opendir("/proc/self/task");
  int count = 0;
  if (folder == NULL)
    return -1;
  while (readdir(folder) != NULL)
    count++;
  (void)closedir(folder);
  return count;
}

static void *use_team(void *argument) {
  for (int round = 0; round < 20; round++)
    *(bool *)argument &= sums_right(4);
  return NULL;
}

static void a_team_ends_with_its_thread(void **state) {
  (void)state;
  assert_true(sums_right(4));
  int before = count_tasks();
  for (int round = 0; round < 3; round++) {
    pthread_t ids[CALLERS];
    bool right[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
      right[i] = true;
      assert_int_equal(pthread_create(&ids[i], NULL, use_team, &right[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
      assert_int_equal(pthread_join(ids[i], NULL), 0);
      assert_true(right[i]);
    }
  }
  /* A thread that was joined may be listed a moment longer. */
  for (int ms = 0; count_tasks() > before && ms < PATIENCE_MS; ms++)
    (void)usleep(1000);
  assert_int_equal(count_tasks(), before);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

#if defined(__SANITIZE_THREAD__)
#define FORKS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORKS_ARE_WATCHED 1
#endif
#endif

static int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In the child the workers are missing, and may have been anywhere. */
static void a_child_has_a_team_of_its_own(void **state) {
  (void)state;
#ifdef FORKS_ARE_WATCHED
  print_message("skipped: ThreadSanitizer does not allow threads after a fork\n");
  skip();
#endif
  for (int round = 0; round < 20; round++) {
    assert_true(sums_right(4));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      (void)alarm(60);
      bool right = sums_right(4) && sums_right(8);
      pid_t grandchild = right && round == 0 ? fork() : -1;
      if (grandchild == 0)
        _exit(sums_right(4) ? 0 : 1);
      _exit(right && (grandchild < 0 || status_of(grandchild) == 0) ? 0 : 1);
    }
    assert_true(sums_right(4));
    assert_int_equal(status_of(child), 0);
  }
}

/* ---- Signals --------------------------------------------------------------------------------- */

typedef struct masks {
  pthread_t caller;
  uint32_t blocked, open; /* workers seen; accessed atomically */
} masks;

static void look_at_mask(void *argument, int thread, int threads) {
  masks *m = argument;
  (void)threads;
  if (thread == 0)
    (void)usleep(1000); /* let a worker take the other share */
  if (pthread_equal(pthread_self(), m->caller))
    return;
  sigset_t mask;
  (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
  bool right = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1 &&
               sigismember(&mask, SIGSEGV) == 0 && sigismember(&mask, SIGBUS) == 0;
  dzo_store_u32(right ? &m->blocked : &m->open, 1);
}

static void signals_go_to_the_programs_threads(void **state) {
  (void)state;
  sigset_t before, after;
  (void)pthread_sigmask(SIG_BLOCK, NULL, &before);
  masks m = {.caller = pthread_self()};
  for (int round = 0; round < PATIENCE_MS && !dzo_load_u32(&m.blocked); round++)
    dzo_team_run(2, look_at_mask, &m);
  assert_int_equal(m.blocked, 1);
  assert_int_equal(m.open, 0);
  (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
  for (int number = 1; number < SIGRTMIN; number++)
    assert_int_equal(sigismember(&after, number), sigismember(&before, number));
}

/* ---- Beside ---------------------------------------------------------------------------------- */

typedef struct half {
  pthread_t thread;
  bool right; /* were the sums? */
} half;

static void do_half(void *argument) {
  half *h = argument;
  roll r = {.caller = pthread_self()};
  h->thread = pthread_self();
  h->right = sums_right(4);
  dzo_team_run(8, call_roll, &r);
  h->right = h->right && r.shares == 8 && r.strays == 0;
}

static void two_halves_run_beside_each_other(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    half here = {.right = false}, there = {.right = false};
    dzo_run_beside(do_half, &here, do_half, &there);
    assert_true(here.right && there.right);
    assert_true(pthread_equal(here.thread, pthread_self()));
    assert_false(pthread_equal(here.thread, there.thread));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(share_0_is_the_callers),
      cmocka_unit_test(a_team_in_a_team_runs_where_it_is_asked_for),
      cmocka_unit_test(sizes_may_change),
      cmocka_unit_test(a_team_ends_with_its_thread),
      cmocka_unit_test(a_child_has_a_team_of_its_own),
      cmocka_unit_test(signals_go_to_the_programs_threads),
      cmocka_unit_test(two_halves_run_beside_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
