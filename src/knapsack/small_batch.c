/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Many small problems: the GPU's, then by the CPU's threads what it left. */
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "knapsack/small_gpu.h"
#include "knapsack/small_room.h"

/* Fewer problems than this are done on the CPU before the GPU has begun. */
enum { GRAIN = 32, WORTH_THE_GPU = 1024, LINE = 64 };

typedef struct small_team {
  knapsack_job *job;
  const knapsack_smalls *smalls;
  char *rooms; /* one a thread */
  uint64_t room;
  uint64_t cells; /* accessed atomically */
  uint64_t done;  /* accessed atomically */
} small_team;

static void solve_one(const small_team *t, uint64_t number, void *room, uint64_t *cells) {
  const knapsack_smalls *s = t->smalls;
  uint64_t first = s->offsets[number];
  knapsack_problem problem = {
      .items = (uint32_t)(s->offsets[number + 1] - first),
      .value = s->value + first,
      .weight = s->weight + first,
      .capacity = s->capacity[number],
  };
  knapsack_small_solve(&problem, room, s->taken + first, &s->best[number], cells);
}

static void solve_range(void *argument, uint64_t begin, uint64_t end, int thread) {
  small_team *t = argument;
  const knapsack_smalls *s = t->smalls;
  void *room = t->rooms + (uint64_t)thread * t->room;
  uint64_t cells = 0, done = 0;
  bool stop = false;
  for (uint64_t i = begin; i < end; i++) {
    if (s->best[i] >= 0)
      continue;
    stop = stop || ((i - begin) % 8 == 0 && knapsack_must_stop(t->job));
    if (stop) {
      memset(s->taken + s->offsets[i], 0, s->offsets[i + 1] - s->offsets[i]);
      continue;
    }
    solve_one(t, i, room, &cells);
    done++;
  }
  __atomic_fetch_add(&t->cells, cells, __ATOMIC_RELAXED);
  __atomic_fetch_add(&t->done, done, __ATOMIC_RELAXED);
}

/* What the largest of those that are left needs; 0: none is left. */
static uint64_t room_needed(const knapsack_smalls *s, uint64_t *left) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < s->count; i++) {
    if (s->best[i] >= 0)
      continue;
    ++*left;
    uint64_t bytes = small_room_bytes(s->offsets[i + 1] - s->offsets[i], (uint64_t)s->capacity[i]);
    most = bytes > most ? bytes : most;
  }
  return (most + LINE - 1) / LINE * LINE;
}

static dzo_status run_cpu(knapsack_job *job, const knapsack_smalls *smalls, small_team *team) {
  uint64_t left = 0;
  team->room = room_needed(smalls, &left);
  if (left == 0)
    return DZO_OK;
  int threads =
      left < (uint64_t)job->threads * GRAIN ? (int)((left + GRAIN - 1) / GRAIN) : job->threads;
  team->rooms = dzo_alloc(job->context, (uint64_t)threads * team->room, 1);
  if (team->rooms == NULL)
    return DZO_E_MEMORY;
  dzo_parallel_for(threads, smalls->count, GRAIN, solve_range, team);
  dzo_free(team->rooms);
  return DZO_OK;
}

dzo_status knapsack_small_run(knapsack_job *job, const knapsack_smalls *smalls, uint64_t *cells,
                              dzo_device *device) {
  for (uint64_t i = 0; i < smalls->count; i++)
    smalls->best[i] = -1;
  memset(smalls->taken, 0, smalls->offsets[smalls->count]);
  *device = DZO_DEVICE_CPU;
  bool gpu = job->gpu != NULL && smalls->count > 0 && (!job->cpu || smalls->count >= WORTH_THE_GPU);
  if (gpu) {
    DZO_TRY(small_gpu_run(job, smalls, cells));
    *device = DZO_DEVICE_CUDA;
  }
  small_team team = {.job = job, .smalls = smalls};
  DZO_TRY(run_cpu(job, smalls, &team));
  *cells += team.cells;
  if (gpu && team.done > 0)
    *device = team.done == smalls->count ? DZO_DEVICE_CPU : DZO_DEVICE_HYBRID;
  return DZO_OK;
}
