/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Sharing work: a belt that many threads fill in order, and a board of jobs for idle threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parallel.h"
#include "split/belt.h"
#include "split/board.h"

static dzo_context *context;

static int open_context(void **state) {
  (void)state;
  return dzo_context_create(NULL, &context) == DZO_OK ? 0 : -1;
}

static int close_context(void **state) {
  (void)state;
  int leaks = dzo_context_memory_used(context) != 0;
  dzo_context_destroy(context);
  return leaks;
}

/* ---- The belt, with threads ------------------------------------------------------------------ */

enum { SLOTS = 5, CHUNKS = 3000 };

typedef struct belt_job {
  dzo_belt *belt;
  uint64_t slot[SLOTS]; /* what was made in each */
  uint64_t used, stop_at;
} belt_job;

static void make(belt_job *job, uint64_t chunk) {
  job->slot[chunk % SLOTS] = chunk * chunk + 1;
  dzo_belt_made(job->belt, chunk);
}

static void make_or_use(void *argument, int thread, int threads) {
  (void)threads;
  belt_job *job = argument;
  uint64_t chunk;
  if (thread > 0) {
    while (dzo_belt_claim(job->belt, &chunk))
      make(job, chunk);
    return;
  }
  for (uint64_t c = 0; c < job->stop_at; c++) {
    for (dzo_belt_state s; (s = dzo_belt_look(job->belt, c)) != DZO_BELT_MADE;) {
      if (s == DZO_BELT_MAKING)
        dzo_belt_wait(job->belt, c);
      else if (dzo_belt_try_claim(job->belt, &chunk)) /* else another was faster */
        make(job, chunk);
    }
    assert_int_equal(job->slot[c % SLOTS], c * c + 1);
    job->used++;
    dzo_belt_release(job->belt, c + 1);
  }
  dzo_belt_stop(job->belt);
}

static void a_belt_keeps_the_order(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    for (int stopped = 0; stopped < 2; stopped++) {
      belt_job job = {.stop_at = stopped ? CHUNKS / 2 : CHUNKS};
      assert_int_equal(dzo_belt_create(context, CHUNKS, SLOTS, &job.belt), DZO_OK);
      dzo_team_run(threads, make_or_use, &job);
      assert_int_equal(job.used, job.stop_at);
      dzo_belt_destroy(job.belt);
    }
  }
}

/* One thread takes things from the front, others make them from the back on: each is taken once. */
static void meet(void *argument, int thread, int threads) {
  belt_job *job = argument;
  uint64_t chunk, front = 0, back = 0;
  if (thread > 0) {
    while (dzo_belt_claim(job->belt, &chunk))
      make(job, chunk);
    return;
  }
  for (bool more = true; more;) {
    dzo_belt_state s = dzo_belt_look(job->belt, back);
    bool is_front =
        s != DZO_BELT_MADE && front < CHUNKS && dzo_belt_limit(job->belt, CHUNKS - front - 1);
    front += is_front;
    more =
        is_front || s != DZO_BELT_UNCLAIMED || dzo_belt_look(job->belt, back) != DZO_BELT_UNCLAIMED;
    if (is_front || !more)
      continue;
    dzo_belt_wait(job->belt, back);
    assert_int_equal(job->slot[back % SLOTS], back * back + 1);
    dzo_belt_release(job->belt, ++back);
  }
  assert_int_equal(front + back, CHUNKS);
  assert_false(dzo_belt_claim(job->belt, &chunk)); /* nobody waits for more */
  assert_true(threads > 1 || back == 0);
}

static void both_ends_meet(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    belt_job job = {.used = 0};
    assert_int_equal(dzo_belt_create(context, CHUNKS, SLOTS, &job.belt), DZO_OK);
    dzo_team_run(threads, meet, &job);
    dzo_belt_destroy(job.belt);
  }
}

static void a_belt_is_cut_behind_what_is_claimed(void **state) {
  (void)state;
  dzo_belt *belt;
  uint64_t chunk;
  assert_int_equal(dzo_belt_create(context, 10, SLOTS, &belt), DZO_OK);
  for (int i = 0; i < 3; i++)
    assert_true(dzo_belt_try_claim(belt, &chunk));
  assert_false(dzo_belt_limit(belt, 2));
  assert_true(dzo_belt_limit(belt, 4));
  assert_true(dzo_belt_limit(belt, 9)); /* no chunk comes back */
  assert_true(dzo_belt_try_claim(belt, &chunk));
  assert_false(dzo_belt_claim(belt, &chunk));
  assert_true(dzo_belt_limit(belt, 4));
  dzo_belt_destroy(belt);
}

/* ---- The board, with threads ----------------------------------------------------------------- */

enum { ROOM = 3, JOBS = 200, PARTS = 7 };

typedef struct board_job {
  dzo_board *board;
  uint64_t done[JOBS][PARTS]; /* times that each part was */
} board_job;

static void do_part(board_job *b, uint64_t job, uint64_t part) {
  b->done[job][part]++; /* nobody else has this part */
  dzo_board_finish(b->board, job);
}

static void post_or_do(void *argument, int thread, int threads) {
  (void)threads;
  board_job *b = argument;
  uint64_t job, part;
  if (thread > 0) {
    while (dzo_board_take(b->board, true, &job, &part))
      do_part(b, job, part);
    return;
  }
  for (uint64_t j = 0; j < JOBS; j++) {
    while (j >= ROOM && !dzo_board_is_done(b->board, false, j - ROOM))
      if (dzo_board_take(b->board, false, &job, &part))
        do_part(b, job, part);
    dzo_board_post(b->board, 1 + j % PARTS);
  }
  while (dzo_board_take(b->board, false, &job, &part))
    do_part(b, job, part);
  for (uint64_t j = JOBS - ROOM; j < JOBS; j++)
    assert_true(dzo_board_is_done(b->board, true, j));
  dzo_board_stop(b->board);
}

static void every_part_is_done_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    board_job b = {0};
    assert_int_equal(dzo_board_create(context, ROOM, &b.board), DZO_OK);
    dzo_team_run(threads, post_or_do, &b);
    for (uint64_t j = 0; j < JOBS; j++)
      for (uint64_t p = 0; p < PARTS; p++)
        assert_int_equal(b.done[j][p], p <= j % PARTS);
    dzo_board_destroy(b.board);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_belt_keeps_the_order, open_context, close_context),
      cmocka_unit_test_setup_teardown(both_ends_meet, open_context, close_context),
      cmocka_unit_test_setup_teardown(a_belt_is_cut_behind_what_is_claimed, open_context,
                                      close_context),
      cmocka_unit_test_setup_teardown(every_part_is_done_once, open_context, close_context),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
