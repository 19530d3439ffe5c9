/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#define _GNU_SOURCE
#include "knapsack/hybrid.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"

enum {
  TRIAL = 1 << 17,  /* nodes on one thread before anybody is asked to help */
  SLICE = 1 << 16,  /* between two looks at what others found */
  LONG_WORK = 8,    /* slices after which work is put down where there is no more to take */
  THREAD_SETS = 10, /* a thread's share of the enumerated sets, as a power of two */
  LANE_SETS = 5,    /* and that of a lane */
  GRAB = 64,
  NAP = 50000, /* nanoseconds */
  GPU_LEAST = 1 << 17,
  STEPS = 1 << 12,      /* of a warp in the first launch */
  STEPS_SMALL = 1 << 7, /* on a GPU of few processors, which may be slow */
  STEPS_MOST = 1 << 17,
  PATIENCE = 1 << 9,
  PIECES = TREE_MASK_ITEMS + 1
};
#define THREAD_RATE 2e8    /* nodes a second */
#define PROCESSOR_RATE 1e9 /* of a GPU's multiprocessor */
#define LAUNCH_SECONDS 0.04

/* The work of one round, and who does it. Threads and the GPU take of the same row. */
typedef struct hybrid {
  knapsack_job *job;
  const tree *t;
  unsigned fixed;
  const tree_work *works;         /* NULL: the sets of the first `fixed` items */
  uint64_t count, next;           /* next: accessed atomically */
  uint64_t best;                  /* value that a set has to exceed; accessed atomically */
  int is_stopped;                 /* something was left undone; accessed atomically */
  tree_search *searches;          /* [threads] */
  tree_work *left;                /* [left_room] for the next round */
  uint64_t left_room, left_count; /* the latter accessed atomically */
  hybrid_best found;              /* by the GPU */
  uint64_t gpu_nodes;
  dzo_status gpu_status;
  bool is_aside;   /* the GPU's part has a thread of its own */
  int is_gpu_done; /* accessed atomically */
} hybrid;

/* *count of the works from the result on; 0: there are no more. */
static uint64_t take(hybrid *h, uint64_t *count) {
  uint64_t at = dzo_fetch_add_u64(&h->next, *count);
  if (at >= h->count)
    *count = 0;
  else if (*count > h->count - at)
    *count = h->count - at;
  return at;
}

static void share_best(hybrid *h, uint64_t value) {
  uint64_t seen = dzo_load_u64(&h->best);
  while (value > seen && !dzo_cas_u64(&h->best, &seen, value)) {
  }
}

static tree_work work_at(const hybrid *h, uint64_t index) {
  if (h->works != NULL)
    return h->works[index];
  return (tree_work){.mask = index, .base = (uint8_t)h->fixed, .at = TREE_ROOT};
}

static bool should_end(hybrid *h, int thread) {
  bool ends = thread == 0 ? knapsack_report(h->job, DZO_KNAPSACK_HYBRID,
                                            (knapsack_wide)dzo_load_u64(&h->best), h->t->bound)
                          : knapsack_must_stop(h->job);
  if (ends)
    __atomic_store_n(&h->is_stopped, 1, __ATOMIC_RELAXED);
  return ends;
}

/* ---- The CPU's threads ----------------------------------------------------------------------- */

static void put_down(hybrid *h, const tree_search *search) {
  tree_work pieces[PIECES];
  uint32_t count = tree_search_pieces(search, PIECES, pieces);
  uint64_t place = dzo_fetch_add_u64(&h->left_count, count);
  memcpy(h->left + place, pieces, count * sizeof *pieces);
}

/* false: the thread has to end. */
static bool search_work(hybrid *h, tree_search *search, tree_work work, uint64_t *unseen,
                        int thread) {
  search->best = (knapsack_wide)dzo_load_u64(&h->best);
  uint64_t before = search->nodes;
  tree_search_begin(search, &work);
  for (int slice = 0; search->is_open; slice++) {
    if (slice >= LONG_WORK && dzo_load_u64(&h->next) >= h->count) {
      put_down(h, search);
      break;
    }
    tree_search_run(search, SLICE);
    if (search->value > 0)
      share_best(h, (uint64_t)search->value);
    knapsack_wide others = (knapsack_wide)dzo_load_u64(&h->best);
    search->best = others > search->best ? others : search->best;
    if (search->is_open && should_end(h, thread))
      return false;
  }
  if (search->value > 0)
    share_best(h, (uint64_t)search->value);
  *unseen += search->nodes - before + 16;
  if (*unseen < SLICE)
    return true;
  *unseen = 0;
  return !should_end(h, thread);
}

static void search_on_thread(void *argument, int thread, int threads) {
  hybrid *h = argument;
  uint64_t grab = h->count / ((uint64_t)threads * 64), unseen = 0;
  grab = grab < 1 ? 1 : grab > GRAB ? GRAB : grab;
  for (;;) {
    uint64_t count = grab, at = take(h, &count);
    if (count == 0)
      return;
    for (uint64_t i = 0; i < count; i++)
      if (!search_work(h, &h->searches[thread], work_at(h, at + i), &unseen, thread)) {
        __atomic_store_n(&h->is_stopped, 1, __ATOMIC_RELAXED);
        return;
      }
  }
}

/* ---- The GPU's part -------------------------------------------------------------------------- */

typedef struct hybrid_there {
  hybrid_launch launch;
  char *memory;
  tree_work *work, *left;  /* the same room, by turns */
  hybrid_control *control; /* staging: what came back */
  hybrid_best *best;       /* [blocks] here */
} hybrid_there;

static bool fits_short(const knapsack_problem *p) {
  return p->value_sum < TREE_SHORT && p->weight_sum < TREE_SHORT;
}

static int32_t to_short(int64_t x) { return x < INT32_MAX ? (int32_t)x : INT32_MAX; }

/* The rows as they are on the GPU. */
static void narrow_rows(const tree *t, tree_row_short *out) {
  const tree_row_long *rows = t->rows;
  for (uint32_t i = 0; i < t->items + 2; i++)
    out[i] = (tree_row_short){.weight = to_short(rows[i].weight),
                              .value = to_short(rows[i].value),
                              .least = to_short(rows[i].least),
                              .pair = to_short(rows[i].pair)};
}

static dzo_status bring(hybrid *h, hybrid_there *there) {
  dzo_unit *unit = h->job->gpu;
  hybrid_launch *l = &there->launch;
  l->is_short = fits_short(h->t->problem);
  l->items = h->t->items;
  l->fixed = h->fixed;
  l->steps = unit->processors < 8 ? STEPS_SMALL : STEPS;
  l->patience = PATIENCE;
  l->capacity = h->t->problem->capacity;
  l->blocks = hybrid_gpu_blocks(unit, l->is_short);
  uint64_t left = hybrid_gpu_left(l->blocks) * sizeof(tree_work),
           best = l->blocks * sizeof *l->best;
  uint64_t room = sizeof(tree_row_long) * (TREE_MASK_ITEMS + 2) + 256;
  DZO_TRY(dzo_unit_workspace(unit, room + 2 * left + best, (void **)&there->memory));
  there->best = dzo_alloc(h->job->context, l->blocks, sizeof *there->best);
  if (there->best == NULL)
    return DZO_E_MEMORY;
  void *mailbox;
  DZO_TRY(dzo_unit_mailbox(unit, &mailbox));
  there->control = mailbox;
  l->control = (hybrid_control *)(void *)there->memory;
  l->rows = there->memory + 256;
  there->work = (tree_work *)(void *)(there->memory + room);
  there->left = (tree_work *)(void *)(there->memory + room + left);
  l->best = (hybrid_best *)(void *)(there->memory + room + 2 * left);
  tree_row_short rows[TREE_MASK_ITEMS + 2];
  if (l->is_short)
    narrow_rows(h->t, rows);
  DZO_TRY(dzo_unit_copy(unit, 0, (void *)(uintptr_t)l->rows, l->is_short ? rows : h->t->rows,
                        (h->t->items + UINT64_C(2)) *
                            (l->is_short ? sizeof *rows : sizeof(tree_row_long))));
  return dzo_unit_wait(unit, 0);
}

/* One launch, and what came of it; *left pieces of work are in there->left. */
static dzo_status launch(hybrid *h, hybrid_there *there, uint64_t *left, uint64_t *taken) {
  dzo_unit *unit = h->job->gpu;
  hybrid_launch *l = &there->launch;
  l->left = there->left;
  *there->control = (hybrid_control){.best = dzo_load_u64(&h->best)};
  DZO_TRY(dzo_unit_copy(unit, 0, l->control, there->control, sizeof *there->control));
  double begun = dzo_clock();
  DZO_TRY(hybrid_gpu_run(unit, l));
  DZO_TRY(dzo_unit_copy(unit, 0, there->best, l->best, l->blocks * sizeof *l->best));
  DZO_TRY(dzo_unit_copy(unit, 0, there->control, l->control, sizeof *there->control));
  DZO_TRY(dzo_unit_wait(unit, 0));
  double took = dzo_clock() - begun;
  if (took < LAUNCH_SECONDS / 2 && l->steps < STEPS_MOST)
    l->steps *= 2;
  else if (took > 2 * LAUNCH_SECONDS && l->steps > STEPS_SMALL)
    l->steps /= 2;
  for (unsigned i = 0; i < l->blocks; i++)
    if (there->best[i].value > h->found.value)
      h->found = there->best[i];
  if (h->found.value > 0)
    share_best(h, (uint64_t)h->found.value);
  h->gpu_nodes += there->control->nodes;
  *left = there->control->left;
  *taken = there->control->next;
  return DZO_OK;
}

/* Some of the round's works, to their end. What is left over goes first, so it never piles up. */
static dzo_status search_range(hybrid *h, hybrid_there *there, uint64_t begin, uint64_t end) {
  hybrid_launch *l = &there->launch;
  uint64_t left = 0, taken;
  if (h->works != NULL) {
    left = end - begin;
    DZO_TRY(dzo_unit_copy(h->job->gpu, 0, there->left, h->works + begin, left * sizeof *h->works));
    begin = end;
  }
  while (begin < end || left > 0) {
    if (should_end(h, h->is_aside ? 1 : 0))
      return DZO_OK;
    if (left > 0) {
      tree_work *other = there->work;
      there->work = there->left;
      there->left = other;
    }
    l->work = left > 0 ? there->work : NULL;
    l->begin = left > 0 ? 0 : begin;
    l->end = left > 0 ? left : end;
    uint64_t count = l->end - l->begin;
    DZO_TRY(launch(h, there, &left, &taken));
    if (l->work == NULL)
      begin += taken < count ? taken : count;
    else if (taken < count) {
      /* Not all of what was left over was even begun: it stays behind what is left now. */
      DZO_TRY(dzo_unit_copy(h->job->gpu, 0, there->left + left, there->work + taken,
                            (count - taken) * sizeof(tree_work)));
      left += count - taken;
    }
  }
  return DZO_OK;
}

static dzo_status search_on_gpu(hybrid *h) {
  hybrid_there there = {0};
  dzo_status status = bring(h, &there);
  while (status == DZO_OK) {
    uint64_t seen = dzo_load_u64(&h->next), rest = seen < h->count ? h->count - seen : 0;
    uint64_t count = rest < GPU_LEAST || !h->is_aside ? rest : rest - rest / 32;
    if (h->works != NULL && count > hybrid_gpu_left(there.launch.blocks))
      count = hybrid_gpu_left(there.launch.blocks);
    if (count == 0)
      break;
    uint64_t at = take(h, &count);
    status = search_range(h, &there, at, at + count);
    if (__atomic_load_n(&h->is_stopped, __ATOMIC_RELAXED))
      break;
  }
  dzo_free(there.best);
  return status;
}

/* ---- Together -------------------------------------------------------------------------------- */

static void here(void *argument) {
  hybrid *h = argument;
  /* One of the threads has the GPU's part to look after. */
  int threads = h->job->threads - (h->is_aside && h->job->threads > 1);
  dzo_team_run(threads, search_on_thread, h);
  /* The caller hears of the GPU's part from this thread alone. */
  while (h->is_aside && !__atomic_load_n(&h->is_gpu_done, __ATOMIC_ACQUIRE)) {
    (void)should_end(h, 0);
    struct timespec nap = {0, NAP};
    (void)nanosleep(&nap, NULL);
  }
}

static void there(void *argument) {
  hybrid *h = argument;
  h->gpu_status = search_on_gpu(h);
  __atomic_store_n(&h->is_gpu_done, 1, __ATOMIC_RELEASE);
}

/* The enumerated sets, and then what threads put down. */
static dzo_status search_rounds(hybrid *h) {
  tree_work *works = NULL;
  h->count = UINT64_C(1) << h->fixed;
  if (h->job->gpu != NULL && !h->job->cpu) {
    h->gpu_status = search_on_gpu(h);
    return h->gpu_status;
  }
  while (h->count > 0 && !h->is_stopped && h->gpu_status == DZO_OK) {
    h->is_aside = h->job->gpu != NULL;
    h->is_gpu_done = 0;
    h->next = h->left_count = 0;
    if (h->is_aside)
      dzo_run_beside(here, h, there, h);
    else
      here(h);
    dzo_free(works);
    works = NULL;
    h->count = h->left_count;
    if (h->count == 0)
      break;
    works = dzo_alloc(h->job->context, h->count, sizeof *works);
    if (works == NULL)
      return DZO_E_MEMORY;
    memcpy(works, h->left, h->count * sizeof *works);
    h->works = works;
  }
  dzo_free(works);
  h->works = NULL;
  return h->gpu_status;
}

static unsigned log2_of(uint64_t x) {
  unsigned log = 0;
  while (x >>= 1)
    log++;
  return log;
}

static unsigned choose_fixed(const knapsack_job *job, const tree *t) {
  unsigned most = t->items > 40 ? 40 : t->items;
  if (job->fixed != 0)
    return job->fixed < most ? job->fixed : most;
  unsigned sets = log2_of((uint64_t)job->threads) + THREAD_SETS;
  if (job->gpu != NULL)
    sets = log2_of((uint64_t)hybrid_gpu_blocks(job->gpu, fits_short(t->problem)) *
                   hybrid_gpu_threads()) +
           LANE_SETS;
  most = most > 8 ? most - 8 : 1;
  return sets < most ? sets : most;
}

static dzo_status make_searches(hybrid *h) {
  int threads = h->job->threads;
  h->left_room = (uint64_t)threads * GRAB * PIECES;
  h->left = dzo_alloc(h->job->context, h->left_room, sizeof *h->left);
  h->searches = dzo_calloc(h->job->context, (uint64_t)threads, sizeof *h->searches);
  if (h->left == NULL || h->searches == NULL)
    return DZO_E_MEMORY;
  for (int i = 0; i < threads; i++)
    DZO_TRY(tree_search_make(h->job->context, h->t, &h->searches[i]));
  return DZO_OK;
}

static void keep_found(hybrid *h, knapsack_answer *answer) {
  for (int i = 0; h->searches != NULL && i < h->job->threads; i++) {
    answer->nodes += h->searches[i].nodes;
    if (h->searches[i].tree != NULL)
      tree_search_keep(&h->searches[i], answer);
  }
  answer->nodes += h->gpu_nodes;
  if (h->found.value <= answer->value)
    return;
  for (uint32_t i = 0; i < h->t->items; i++)
    answer->taken[h->t->order[i]] = h->found.taken >> i & 1;
  answer->value = h->found.value;
}

static dzo_status search_enumerated(knapsack_job *job, const tree *t, knapsack_answer *answer) {
  hybrid h = {.job = job, .t = t, .best = (uint64_t)answer->value};
  h.fixed = choose_fixed(job, t);
  dzo_status status = make_searches(&h);
  if (status == DZO_OK)
    status = search_rounds(&h);
  keep_found(&h, answer);
  if (job->gpu != NULL)
    answer->device = job->cpu ? DZO_DEVICE_HYBRID : DZO_DEVICE_CUDA;
  answer->bound = status == DZO_OK && !h.is_stopped ? answer->value : t->bound;
  for (int i = 0; h.searches != NULL && i < job->threads; i++)
    tree_search_free(&h.searches[i]);
  dzo_free(h.searches);
  dzo_free(h.left);
  return status;
}

/* Most trees are so small that asking for help takes longer. */
static dzo_status try_alone(knapsack_job *job, const tree *t, knapsack_answer *answer,
                            bool *is_done) {
  tree_search search;
  DZO_TRY(tree_search_make(job->context, t, &search));
  tree_search_begin(&search, NULL);
  tree_search_run(&search, TRIAL);
  tree_search_keep(&search, answer);
  answer->nodes += search.nodes;
  *is_done = !search.is_open;
  answer->bound = *is_done ? answer->value : t->bound;
  tree_search_free(&search);
  return DZO_OK;
}

static dzo_status search_all(knapsack_job *job, const tree *t, knapsack_answer *answer) {
  bool is_done = false;
  if (job->fixed == 0)
    DZO_TRY(try_alone(job, t, answer, &is_done));
  if (is_done || knapsack_must_stop(job))
    return DZO_OK;
  return search_enumerated(job, t, answer);
}

/* ---- The method ------------------------------------------------------------------------------ */

/* What no lane can hold is for one thread. */
static bool is_for_one(const knapsack_problem *p) {
  return p->items > TREE_MASK_ITEMS || !knapsack_is_narrow(p) || p->items == 0;
}

static uint64_t bytes_of(const knapsack_problem *p, const knapsack_job *job) {
  if (is_for_one(p))
    return tree_bytes(p->items);
  uint64_t each = tree_bytes(p->items) + GRAB * PIECES * sizeof(tree_work);
  return (uint64_t)job->threads * each + (UINT64_C(1) << 18);
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  uint64_t bytes = bytes_of(problem, job);
  if (bytes <= job->memory)
    return NULL;
  (void)snprintf(why, why_size, "%d threads in a tree of %u items take %llu bytes of memory",
                 job->threads, problem->items, (unsigned long long)bytes);
  return why;
}

static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  knapsack_estimate e = knapsack_horowitz_sahni.estimate(problem, job);
  if (is_for_one(problem))
    return e;
  double rate = THREAD_RATE * job->threads;
  if (job->gpu != NULL)
    rate = (job->cpu ? rate : 0) + PROCESSOR_RATE * job->gpu->processors;
  double begin = job->gpu != NULL ? 1e-3 : 3e-4, nodes = e.seconds * THREAD_RATE;
  if (nodes > TRIAL)
    e.seconds = begin + nodes / rate;
  e.memory = bytes_of(problem, job);
  e.worst = begin + e.worst * THREAD_RATE / rate;
  e.gpu_bytes = job->gpu != NULL ? UINT64_C(64) << 20 : 0;
  return e;
}

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  if (is_for_one(problem))
    return knapsack_horowitz_sahni.solve(job, problem, answer);
  tree t;
  DZO_TRY(tree_make(job->context, problem, &t));
  dzo_status status = search_all(job, &t, answer);
  tree_free(&t);
  return status;
}

const knapsack_method knapsack_hybrid = {DZO_KNAPSACK_HYBRID, refusal, estimate, solve};
