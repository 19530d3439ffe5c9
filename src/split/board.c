/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "split/board.h"

#include <pthread.h>

#include "base/memory.h"

typedef struct board_job {
  uint64_t parts, taken, done;
} board_job;

struct dzo_board {
  pthread_mutex_t lock;
  pthread_cond_t posted_one, done_one;
  uint32_t room;
  uint64_t posted; /* jobs */
  uint64_t open;   /* all parts of the jobs before are taken */
  bool stopped;
  board_job *jobs; /* [room] job j is at j % room */
};

dzo_status dzo_board_create(dzo_context *context, uint32_t room, dzo_board **out) {
  *out = NULL;
  dzo_board *board = dzo_calloc(context, 1, sizeof *board);
  board_job *jobs = dzo_calloc(context, room, sizeof *jobs);
  if (board == NULL || jobs == NULL) {
    dzo_free(board);
    dzo_free(jobs);
    return DZO_E_MEMORY;
  }
  board->room = room;
  board->jobs = jobs;
  pthread_mutex_init(&board->lock, NULL);
  pthread_cond_init(&board->posted_one, NULL);
  pthread_cond_init(&board->done_one, NULL);
  *out = board;
  return DZO_OK;
}

void dzo_board_destroy(dzo_board *board) {
  if (board == NULL)
    return;
  pthread_cond_destroy(&board->done_one);
  pthread_cond_destroy(&board->posted_one);
  pthread_mutex_destroy(&board->lock);
  dzo_free(board->jobs);
  dzo_free(board);
}

void dzo_board_post(dzo_board *board, uint64_t parts) {
  pthread_mutex_lock(&board->lock);
  board->jobs[board->posted++ % board->room] = (board_job){.parts = parts};
  pthread_cond_broadcast(&board->posted_one);
  pthread_mutex_unlock(&board->lock);
}

bool dzo_board_take(dzo_board *board, bool wait, uint64_t *job, uint64_t *part) {
  pthread_mutex_lock(&board->lock);
  while (wait && !board->stopped && board->open == board->posted)
    pthread_cond_wait(&board->posted_one, &board->lock);
  bool is = board->open < board->posted;
  if (is) {
    board_job *here = &board->jobs[board->open % board->room];
    *job = board->open;
    *part = here->taken++;
    board->open += here->taken == here->parts;
  }
  pthread_mutex_unlock(&board->lock);
  return is;
}

void dzo_board_finish(dzo_board *board, uint64_t job) {
  pthread_mutex_lock(&board->lock);
  board_job *here = &board->jobs[job % board->room];
  here->done++;
  if (here->done == here->parts)
    pthread_cond_signal(&board->done_one);
  pthread_mutex_unlock(&board->lock);
}

bool dzo_board_is_done(dzo_board *board, bool wait, uint64_t job) {
  pthread_mutex_lock(&board->lock);
  const board_job *here = &board->jobs[job % board->room];
  while (wait && here->done < here->parts)
    pthread_cond_wait(&board->done_one, &board->lock);
  bool done = here->done == here->parts;
  pthread_mutex_unlock(&board->lock);
  return done;
}

void dzo_board_stop(dzo_board *board) {
  pthread_mutex_lock(&board->lock);
  board->stopped = true;
  pthread_cond_broadcast(&board->posted_one);
  pthread_mutex_unlock(&board->lock);
}
