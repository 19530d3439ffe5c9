/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/brute_force.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/clones.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/parallel.h"

enum {
  LOW = 10, /* low items on the CPU: their sums stay in the first-level cache */
  SIDE = 2,
  SETS = 1 << SIDE,
  POLL = 1 << 10, /* groups of SETS high sets, 2^22 subsets */
  RANGES = 1 << 16,
  MEMORY = 1 << 18,
  SPREAD = 21,    /* items of which each thread of a GPU has another set, and those of SIDE */
  GPU_ITEMS = 24, /* below this many, a CPU that may work is done before a GPU has begun */
  PLACES = BRUTE_ITEMS + BRUTE_GPU_LOW_SHORT + BRUTE_GPU_SIDE /* padded with items of nothing */
};

/* Subsets a second of one thread, and of a GPU's multiprocessor. */
#define THREAD_SHORT 8e9
#define THREAD_LONG 5e9
#define THREAD_WIDE 1.5e8
#define PROCESSOR_SHORT 7e10
#define PROCESSOR_LONG 1.8e10
#define LAUNCH_SECONDS 0.05

typedef enum brute_width { SHORT, LONG, WIDE } brute_width;

typedef struct brute_found {
  knapsack_wide value; /* -1: none yet */
  uint64_t high;
  uint64_t padding[5]; /* to 64 bytes, for one thread */
} brute_found;

typedef struct brute_run {
  knapsack_job *job;
  const knapsack_problem *problem;
  brute_width width;
  unsigned low, high; /* items, with those of nothing */
  knapsack_wide low_weight;
  void *weights, *values; /* [1 << low] of the low sets */
  brute_found *found;     /* [threads] */
} brute_run;

static int64_t weight_of(const knapsack_problem *p, unsigned i) {
  return i < p->items ? p->weight[i] : 0;
}
static int64_t value_of(const knapsack_problem *p, unsigned i) {
  return i < p->items ? p->value[i] : 0;
}

/* ---- The low sets ---------------------------------------------------------------------------- */

static brute_width width_of(const knapsack_problem *p, unsigned low, knapsack_wide *low_weight) {
  knapsack_wide weight = 0, value = 0;
  for (unsigned i = 0; i < low; i++) {
    weight += weight_of(p, i);
    value += value_of(p, i);
  }
  *low_weight = weight;
  if (weight < INT32_MAX && value < INT32_MAX)
    return SHORT;
  return weight < KNAPSACK_NARROW && value < KNAPSACK_NARROW ? LONG : WIDE;
}

static void put_sum(void *sums, brute_width width, uint64_t at, knapsack_wide x) {
  if (width == SHORT)
    ((int32_t *)sums)[at] = (int32_t)x;
  else if (width == LONG)
    ((int64_t *)sums)[at] = (int64_t)x;
  else
    ((knapsack_wide *)sums)[at] = x;
}

/* Sums of all sets of the low items, each `stride` numbers behind the one before. */
static void fill_low(const knapsack_problem *p, unsigned low, brute_width width, void *weights,
                     void *values, uint64_t stride) {
  for (uint64_t set = 0; set < UINT64_C(1) << low; set++) {
    knapsack_wide weight = 0, value = 0;
    for (unsigned i = 0; i < low; i++)
      if (set >> i & 1) {
        weight += weight_of(p, i);
        value += value_of(p, i);
      }
    put_sum(weights, width, set * stride, weight);
    put_sum(values, width, set * stride, value);
  }
}

/* ---- On the CPU ------------------------------------------------------------------------------ */

/* For each room the greatest value of a low set that fits in, or -1. Compiled to vectors. */
#define MAKE_COMPARE(name, sum)                                                                    \
  DZO_CLONES static void name(const sum *restrict weight, const sum *restrict value,               \
                              const sum room[SETS], sum best[SETS]) {                              \
    sum room0 = room[0], room1 = room[1], room2 = room[2], room3 = room[3];                        \
    sum best0 = -1, best1 = -1, best2 = -1, best3 = -1;                                            \
    for (int i = 0; i < 1 << LOW; i++) {                                                           \
      sum x = weight[i] <= room0 ? value[i] : -1, y = weight[i] <= room1 ? value[i] : -1;          \
      sum z = weight[i] <= room2 ? value[i] : -1, u = weight[i] <= room3 ? value[i] : -1;          \
      best0 = x > best0 ? x : best0;                                                               \
      best1 = y > best1 ? y : best1;                                                               \
      best2 = z > best2 ? z : best2;                                                               \
      best3 = u > best3 ? u : best3;                                                               \
    }                                                                                              \
    best[0] = best0, best[1] = best1, best[2] = best2, best[3] = best3;                            \
  }
MAKE_COMPARE(compare_short, int32_t)
MAKE_COMPARE(compare_long, int64_t)
MAKE_COMPARE(compare_wide, knapsack_wide)

static void compare(const brute_run *run, const knapsack_wide *room, knapsack_wide *best) {
  int32_t short_room[SETS], short_best[SETS];
  int64_t long_room[SETS], long_best[SETS];
  if (run->width == WIDE) {
    compare_wide(run->weights, run->values, room, best);
    return;
  }
  for (int i = 0; i < SETS; i++) {
    short_room[i] = run->width == SHORT ? (int32_t)room[i] : 0;
    long_room[i] = (int64_t)room[i];
  }
  if (run->width == SHORT)
    compare_short(run->weights, run->values, short_room, short_best);
  else
    compare_long(run->weights, run->values, long_room, long_best);
  for (int i = 0; i < SETS; i++)
    best[i] = run->width == SHORT ? short_best[i] : long_best[i];
}

/* The high sets that share the items of `group` among those behind the first SIDE. */
static void try_group(const brute_run *run, uint64_t group, knapsack_wide weight,
                      knapsack_wide value, brute_found *found) {
  const knapsack_problem *p = run->problem;
  knapsack_wide room[SETS], worth[SETS], best[SETS];
  for (unsigned set = 0; set < SETS; set++) {
    room[set] = p->capacity - weight;
    worth[set] = value;
    for (unsigned i = 0; i < SIDE; i++)
      if (set >> i & 1) {
        room[set] -= weight_of(p, run->low + i);
        worth[set] += value_of(p, run->low + i);
      }
    if (room[set] < 0)
      room[set] = -1;
    if (room[set] > run->low_weight)
      room[set] = run->low_weight;
  }
  compare(run, room, best);
  for (unsigned set = 0; set < SETS; set++)
    if (best[set] >= 0 && best[set] + worth[set] > found->value) {
      found->value = best[set] + worth[set];
      found->high = group << SIDE | set;
    }
}

static bool should_end(const brute_run *run, int thread) {
  if (thread != 0)
    return knapsack_must_stop(run->job);
  knapsack_wide value = run->found[0].value;
  return knapsack_report(run->job, DZO_KNAPSACK_BRUTE_FORCE, value < 0 ? 0 : value,
                         run->problem->value_sum);
}

/* Groups in the order of the Gray code, in which neighbours differ by one item. */
static void try_groups(void *argument, uint64_t begin, uint64_t end, int thread) {
  brute_run *run = argument;
  const knapsack_problem *p = run->problem;
  const unsigned first = run->low + SIDE;
  knapsack_wide weight = 0, value = 0;
  uint64_t code = begin ^ begin >> 1;
  for (unsigned i = 0; i < BRUTE_ITEMS; i++)
    if (code >> i & 1) {
      weight += weight_of(p, first + i);
      value += value_of(p, first + i);
    }
  for (uint64_t at = begin; at < end; at++) {
    if (at % POLL == 0 && should_end(run, thread))
      return;
    try_group(run, code, weight, value, &run->found[thread]);
    unsigned i = (unsigned)__builtin_ctzll(at + 1);
    int64_t sign = code >> i & 1 ? -1 : 1;
    weight += sign * (knapsack_wide)weight_of(p, first + i);
    value += sign * (knapsack_wide)value_of(p, first + i);
    code ^= UINT64_C(1) << i;
  }
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Which low set goes best with that high one. */
static uint64_t best_low(const knapsack_problem *p, unsigned low, uint64_t high) {
  knapsack_wide room = p->capacity, best = -1;
  for (unsigned i = 0; i < BRUTE_ITEMS; i++)
    if (high >> i & 1)
      room -= weight_of(p, low + i);
  uint64_t found = 0;
  for (uint64_t set = 0; set < UINT64_C(1) << low; set++) {
    knapsack_wide weight = 0, value = 0;
    for (unsigned i = 0; i < low; i++)
      if (set >> i & 1) {
        weight += weight_of(p, i);
        value += value_of(p, i);
      }
    if (weight <= room && value > best) {
      best = value;
      found = set;
    }
  }
  return found;
}

/* What is known without the subsets that nobody came to. */
static dzo_status finish_early(knapsack_job *job, const knapsack_problem *p,
                               knapsack_answer *answer) {
  uint32_t order[BRUTE_ITEMS];
  uint8_t taken[BRUTE_ITEMS];
  DZO_TRY(knapsack_sort(job->context, p, order));
  answer->bound = knapsack_dantzig(p, order);
  knapsack_answer greedy = {.taken = taken};
  knapsack_greedy(p, order, &greedy);
  if (greedy.value > answer->value) {
    memcpy(answer->taken, taken, p->items);
    answer->value = greedy.value;
  }
  return DZO_OK;
}

/* Keep the set, and say what is proved. */
static dzo_status finish(knapsack_job *job, const knapsack_problem *p, unsigned low,
                         brute_found best, knapsack_answer *answer) {
  if (best.value > answer->value) {
    uint64_t set = best_low(p, low, best.high);
    for (unsigned i = 0; i < p->items; i++)
      answer->taken[i] = (uint8_t)((i < low ? set >> i : best.high >> (i - low)) & 1);
    answer->value = best.value;
  }
  if (!knapsack_must_stop(job)) {
    answer->bound = answer->value;
    answer->nodes = UINT64_C(1) << p->items;
    return DZO_OK;
  }
  return finish_early(job, p, answer);
}

static dzo_status make_run(knapsack_job *job, const knapsack_problem *p, brute_run *run) {
  unsigned items = p->items < LOW + SIDE ? LOW + SIDE : p->items;
  *run = (brute_run){.job = job, .problem = p, .low = LOW, .high = items - LOW};
  run->width = width_of(p, LOW, &run->low_weight);
  run->weights = dzo_alloc(job->context, 1 << LOW, sizeof(knapsack_wide));
  run->values = dzo_alloc(job->context, 1 << LOW, sizeof(knapsack_wide));
  run->found = dzo_alloc(job->context, (uint64_t)job->threads, sizeof *run->found);
  if (run->weights == NULL || run->values == NULL || run->found == NULL)
    return DZO_E_MEMORY;
  for (int i = 0; i < job->threads; i++)
    run->found[i] = (brute_found){.value = -1};
  fill_low(p, LOW, run->width, run->weights, run->values, 1);
  return DZO_OK;
}

static dzo_status solve_on_cpu(knapsack_job *job, const knapsack_problem *p,
                               knapsack_answer *answer) {
  brute_run run;
  dzo_status status = make_run(job, p, &run);
  if (status == DZO_OK) {
    uint64_t groups = UINT64_C(1) << (run.high - SIDE);
    uint64_t grain = groups / RANGES < POLL ? POLL : groups / RANGES;
    dzo_parallel_for(job->threads, groups, grain, try_groups, &run);
    brute_found best = run.found[0];
    for (int i = 1; i < job->threads; i++)
      if (run.found[i].value > best.value)
        best = run.found[i];
    status = finish(job, p, run.low, best, answer);
  }
  dzo_free(run.found);
  dzo_free(run.values);
  dzo_free(run.weights);
  return status;
}

/* ---- On the GPU ------------------------------------------------------------------------------ */

/* What is on the GPU, and what of it comes back. */
typedef struct brute_there {
  brute_gpu gpu;
  void *memory;
  brute_best *best; /* [blocks] here */
  unsigned items;   /* with those of nothing */
} brute_there;

static brute_width cut_for_gpu(const knapsack_problem *p, unsigned *low, unsigned *items) {
  unsigned least = BRUTE_GPU_LOW_LEAST + BRUTE_GPU_SIDE;
  *items = p->items < least ? least : p->items;
  unsigned most = *items - BRUTE_GPU_SIDE;
  knapsack_wide sum;
  /* The fewer subsets, the smaller the part of each thread, so that all have one. */
  if (*items < BRUTE_GPU_LOW_SHORT + SPREAD)
    most = *items > BRUTE_GPU_LOW_LEAST + SPREAD ? *items - SPREAD : BRUTE_GPU_LOW_LEAST;
  *low = most < BRUTE_GPU_LOW_SHORT ? most : BRUTE_GPU_LOW_SHORT;
  if (width_of(p, *low, &sum) == SHORT)
    return SHORT;
  *low = most < BRUTE_GPU_LOW_LONG ? most : BRUTE_GPU_LOW_LONG;
  return LONG;
}

/* Low pairs, then high items, as they are on the GPU; *pairs bytes of the former. */
static void *make_tables(dzo_context *context, const knapsack_problem *p, const brute_gpu *gpu,
                         uint64_t *pairs, uint64_t *bytes) {
  *pairs = (uint64_t)(gpu->is_short ? sizeof(brute_gpu_short) : sizeof(brute_gpu_long)) << gpu->low;
  *bytes = *pairs + gpu->high * sizeof(brute_gpu_long);
  char *tables = dzo_alloc(context, *bytes, 1);
  if (tables == NULL)
    return NULL;
  uint64_t width = gpu->is_short ? sizeof(int32_t) : sizeof(int64_t);
  fill_low(p, gpu->low, gpu->is_short ? SHORT : LONG, tables, tables + width, 2);
  brute_gpu_long *items = (brute_gpu_long *)(void *)(tables + *pairs);
  for (unsigned i = 0; i < gpu->high; i++)
    items[i] = (brute_gpu_long){weight_of(p, gpu->low + i), value_of(p, gpu->low + i)};
  return tables;
}

static dzo_status bring(knapsack_job *job, const knapsack_problem *p, brute_there *there) {
  dzo_unit *unit = job->gpu;
  brute_gpu *gpu = &there->gpu;
  gpu->is_short = cut_for_gpu(p, &gpu->low, &there->items) == SHORT;
  gpu->high = there->items - gpu->low;
  gpu->capacity = p->capacity;
  gpu->blocks = brute_gpu_blocks(unit, gpu->is_short);
  there->best = dzo_alloc(job->context, gpu->blocks, sizeof *there->best);
  uint64_t pairs, bytes;
  void *tables = there->best != NULL ? make_tables(job->context, p, gpu, &pairs, &bytes) : NULL;
  if (tables == NULL)
    return DZO_E_MEMORY;
  uint64_t results = gpu->blocks * sizeof *gpu->best;
  dzo_status status = dzo_unit_workspace(unit, bytes + results, &there->memory);
  if (status == DZO_OK)
    status = dzo_unit_copy(unit, 0, there->memory, tables, bytes);
  if (status == DZO_OK)
    status = dzo_unit_wait(unit, 0);
  dzo_free(tables);
  gpu->low_sums = there->memory;
  gpu->items = (brute_gpu_long *)(void *)((char *)there->memory + pairs);
  gpu->best = (brute_best *)(void *)((char *)there->memory + bytes);
  return status;
}

/* One launch, and the best that it met. */
static dzo_status launch(dzo_unit *unit, const brute_there *there, uint64_t begin, uint64_t end,
                         brute_found *best) {
  const brute_gpu *gpu = &there->gpu;
  DZO_TRY(brute_gpu_run(unit, gpu, begin, end));
  DZO_TRY(dzo_unit_copy(unit, 0, there->best, gpu->best, gpu->blocks * sizeof *gpu->best));
  DZO_TRY(dzo_unit_wait(unit, 0));
  for (unsigned i = 0; i < gpu->blocks; i++)
    if (there->best[i].value > best->value)
      *best = (brute_found){.value = there->best[i].value, .high = there->best[i].high};
  return DZO_OK;
}

/* Launches grow until they take long enough, and no longer, so that a stop is seen in time. */
static dzo_status launch_all(knapsack_job *job, const knapsack_problem *p, const brute_there *there,
                             brute_found *best) {
  uint64_t groups = UINT64_C(1) << (there->gpu.high - BRUTE_GPU_SIDE);
  uint64_t piece = UINT64_C(1) << 18, begin = 0;
  while (begin < groups) {
    if (knapsack_report(job, DZO_KNAPSACK_BRUTE_FORCE, best->value < 0 ? 0 : best->value,
                        p->value_sum))
      break;
    uint64_t end = groups - begin < piece ? groups : begin + piece;
    double from = dzo_clock();
    DZO_TRY(launch(job->gpu, there, begin, end, best));
    double took = dzo_clock() - from;
    begin = end;
    if (took < LAUNCH_SECONDS / 2)
      piece *= took < LAUNCH_SECONDS / 8 ? 4 : 2;
    else if (took > 2 * LAUNCH_SECONDS && piece > 1 << 12)
      piece /= 2;
  }
  return DZO_OK;
}

static dzo_status solve_on_gpu(knapsack_job *job, const knapsack_problem *p,
                               knapsack_answer *answer) {
  brute_there there = {0};
  brute_found best = {.value = -1};
  answer->device = DZO_DEVICE_CUDA;
  dzo_status status = bring(job, p, &there);
  if (status == DZO_OK)
    status = launch_all(job, p, &there, &best);
  dzo_free(there.best);
  if (status != DZO_OK)
    return status;
  return finish(job, p, there.gpu.low, best, answer);
}

/* ---- The method ------------------------------------------------------------------------------ */

static bool goes_to_gpu(const knapsack_problem *p, const knapsack_job *job) {
  return job->gpu != NULL && knapsack_is_narrow(p) && (!job->cpu || p->items >= GPU_ITEMS);
}

static const char *refusal(const knapsack_problem *problem, const knapsack_job *job, char *why,
                           size_t why_size) {
  if (problem->items <= BRUTE_ITEMS && job->memory >= MEMORY)
    return NULL;
  if (problem->items <= BRUTE_ITEMS) {
    (void)snprintf(why, why_size, "brute force takes %d bytes of memory", MEMORY);
    return why;
  }
  (void)snprintf(why, why_size, "brute force tries all subsets of at most %d items, here are %u",
                 BRUTE_ITEMS, problem->items);
  return why;
}

static knapsack_estimate estimate(const knapsack_problem *problem, const knapsack_job *job) {
  knapsack_wide sum;
  unsigned low, items;
  brute_width width = width_of(problem, LOW, &sum);
  double subsets = ldexp(1, (int)problem->items), rate, begin = 20e-6;
  if (goes_to_gpu(problem, job)) {
    rate = cut_for_gpu(problem, &low, &items) == SHORT ? PROCESSOR_SHORT : PROCESSOR_LONG;
    rate *= job->gpu->processors;
    begin = 200e-6;
  } else {
    rate = width == SHORT ? THREAD_SHORT : width == LONG ? THREAD_LONG : THREAD_WIDE;
    rate *= job->threads;
  }
  double seconds = begin + subsets / rate;
  return (knapsack_estimate){
      .seconds = seconds, .worst = seconds, .memory = MEMORY, .gpu_bytes = MEMORY};
}

static dzo_status solve(knapsack_job *job, const knapsack_problem *problem,
                        knapsack_answer *answer) {
  if (goes_to_gpu(problem, job))
    return solve_on_gpu(job, problem, answer);
  return solve_on_cpu(job, problem, answer);
}

const knapsack_method knapsack_brute_force = {DZO_KNAPSACK_BRUTE_FORCE, refusal, estimate, solve};
