/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The only place that knows how threads are made. Everything parallel goes through these two calls.
 * Why not OpenMP: docs/decisions.md. */
#ifndef DZO_BASE_PARALLEL_H
#define DZO_BASE_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs once on each thread, thread = 0 .. threads - 1; 0 is the calling thread. */
typedef void (*dzo_team_fn)(void *argument, int thread, int threads);

/* Run `fn` on a team of `threads` and return when all have. What they wrote is then visible.
 * Members may run one after another, so none may wait for another. */
void dzo_team_run(int threads, dzo_team_fn fn, void *argument);

/* Handles the items begin .. end - 1; thread 0 is the calling thread. */
typedef void (*dzo_range_fn)(void *argument, uint64_t begin, uint64_t end, int thread);

/* Cut 0 .. count - 1 into ranges of `grain` (the last may be shorter; each begins at a multiple of
 * grain), handed out in ascending order to whichever thread is free. */
void dzo_parallel_for(int threads, uint64_t count, uint64_t grain, dzo_range_fn fn, void *argument);

/* Run `there` on a thread of its own while `here` runs on the calling thread, which may use its
 * team, and return when both have. On the other thread a team has no other members. `there` comes
 * first where no thread can be had, so neither may wait for the other. */
typedef void (*dzo_beside_fn)(void *argument);
void dzo_run_beside(dzo_beside_fn here, void *here_argument, dzo_beside_fn there,
                    void *there_argument);

/* Processors this process may run on. */
int dzo_processor_count(void);

#ifdef __cplusplus
}
#endif
#endif
