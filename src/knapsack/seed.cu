/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/seed.h"

#include "base/memory.h"
#include "device/cuda.h"

typedef unsigned long long u64;

enum { BRUTE_THREADS = 1024, TREE_THREADS = 32 };

/* A launch's argument lies in constant memory. */
struct seed_items {
  int32_t weight[SEED_ITEMS], value[SEED_ITEMS];
  int32_t count, capacity;
};
struct seed_best {
  int32_t value;
  uint32_t thread;
  u64 taken;
};

/* ---- Brute force ----------------------------------------------------------------------------- */

static __global__ void seed_brute(seed_items items, seed_best *out) {
  __shared__ int32_t values[BRUTE_THREADS];
  __shared__ uint32_t threads[BRUTE_THREADS];
  u64 subset = (u64)blockIdx.x * BRUTE_THREADS + threadIdx.x;
  int32_t weight = 0, value = 0;
  for (int i = 0; i < items.count; i++) {
    int32_t bit = (int32_t)(subset >> i & 1);
    weight += bit * items.weight[i];
    value += bit * items.value[i];
  }
  values[threadIdx.x] = weight <= items.capacity ? value : 0;
  threads[threadIdx.x] = weight <= items.capacity ? threadIdx.x : 0;
  for (unsigned half = BRUTE_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && values[threadIdx.x + half] > values[threadIdx.x]) {
      values[threadIdx.x] = values[threadIdx.x + half];
      threads[threadIdx.x] = threads[threadIdx.x + half];
    }
  }
  if (threadIdx.x != 0)
    return;
  u64 taken = (u64)blockIdx.x * BRUTE_THREADS + threads[0];
  out[blockIdx.x] = seed_best{values[0], threads[0], values[0] > 0 ? taken : 0};
}

/* The best of each 1,024, until one is left. */
static __global__ void seed_reduce(const seed_best *in, u64 count, seed_best *out) {
  __shared__ seed_best best[BRUTE_THREADS];
  u64 at = (u64)blockIdx.x * BRUTE_THREADS + threadIdx.x;
  best[threadIdx.x] = at < count ? in[at] : seed_best{0, 0, 0};
  for (unsigned half = BRUTE_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && best[threadIdx.x + half].value > best[threadIdx.x].value)
      best[threadIdx.x] = best[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = best[0];
}

/* ---- Horowitz-Sahni below ten items ---------------------------------------------------------- */

/* What is free, what is taken and what could be had at most; through all items each time. */
static __device__ int32_t bound_of(const seed_items &items, const uint8_t *x, int at, int32_t *free,
                                   int32_t *value) {
  int32_t left = items.capacity, sum = 0;
  for (int i = 0; i < at; i++) {
    left -= x[i] * items.weight[i];
    sum += x[i] * items.value[i];
  }
  *free = left;
  *value = sum;
  for (; at < items.count && items.weight[at] <= left; at++) {
    left -= items.weight[at];
    sum += items.value[at];
  }
  if (at < items.count && left > 0)
    sum += (int32_t)((int64_t)left * items.value[at] / items.weight[at]);
  return sum;
}

static __global__ void seed_tree(seed_items items, int fixed, seed_best *out) {
  uint32_t thread = blockIdx.x * TREE_THREADS + threadIdx.x;
  uint8_t x[SEED_ITEMS];
  seed_best best = {0, thread, 0};
  for (int i = 0; i < items.count; i++)
    x[i] = i < fixed ? (uint8_t)(thread >> i & 1) : (uint8_t)0;
  int at = fixed;
  for (;;) {
    int32_t free, value;
    int32_t bound = bound_of(items, x, at, &free, &value);
    if (free < 0)
      break;
    if (bound > best.value) {
      for (; at < items.count && items.weight[at] <= free; at++) {
        x[at] = 1;
        free -= items.weight[at];
        value += items.value[at];
      }
      if (value > best.value) {
        best.value = value;
        best.taken = 0;
        for (int i = 0; i < at; i++)
          best.taken |= (u64)x[i] << i;
      }
      if (at < items.count) {
        x[at++] = 0;
        continue;
      }
    }
    for (at--; at >= fixed && x[at] == 0; at--) {
    }
    if (at < fixed)
      break;
    x[at++] = 0;
  }
  out[thread] = best;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool is_small_enough(const knapsack_problem *p) {
  return p->items <= SEED_ITEMS && p->value_sum < INT32_MAX && p->weight_sum < INT32_MAX;
}

static void fill(const knapsack_problem *p, const uint32_t *order, seed_items *items) {
  *items = {};
  items->count = (int32_t)p->items;
  items->capacity = (int32_t)p->capacity;
  for (uint32_t i = 0; i < p->items; i++) {
    items->weight[i] = (int32_t)p->weight[order != NULL ? order[i] : i];
    items->value[i] = (int32_t)p->value[order != NULL ? order[i] : i];
  }
}

/* `count` results to one, on the host. `in` has room for all, `out` for one of 1,024. */
static dzo_status reduce(dzo_unit *unit, seed_best *in, seed_best *out, u64 count,
                         seed_best *best) {
  while (count > 1) {
    u64 blocks = (count + BRUTE_THREADS - 1) / BRUTE_THREADS;
    DZO_TRY(DZO_LAUNCH(unit, 0, seed_reduce, blocks, BRUTE_THREADS, in, count, out));
    seed_best *other = in;
    in = out;
    out = other;
    count = blocks;
  }
  DZO_TRY(dzo_unit_copy(unit, 0, best, in, sizeof *best));
  return dzo_unit_wait(unit, 0);
}

static dzo_status unsupported(dzo_unit *unit) {
  return dzo_fail(unit->context, DZO_E_UNSUPPORTED,
                  "the thesis' methods take %d items, with sums below 2^31", SEED_ITEMS);
}

extern "C" dzo_status knapsack_seed_brute_force(dzo_unit *unit, const knapsack_problem *problem,
                                                knapsack_seed_answer *answer) {
  *answer = {};
  if (!is_small_enough(problem))
    return unsupported(unit);
  seed_items items;
  fill(problem, NULL, &items);
  u64 subsets = 1ull << problem->items;
  u64 blocks = subsets < BRUTE_THREADS ? 1 : subsets / BRUTE_THREADS;
  u64 second = (blocks + BRUTE_THREADS - 1) / BRUTE_THREADS;
  seed_best *memory, best = {};
  DZO_TRY(dzo_unit_allocate(unit, blocks + second, sizeof *memory, (void **)&memory));
  dzo_status status = DZO_LAUNCH(unit, 0, seed_brute, blocks, BRUTE_THREADS, items, memory);
  if (status == DZO_OK)
    status = reduce(unit, memory, memory + blocks, blocks, &best);
  dzo_unit_release(unit, memory);
  answer->value = best.value;
  answer->taken = best.taken & ((1ull << problem->items) - 1);
  return status;
}

extern "C" dzo_status knapsack_seed_hybrid(dzo_unit *unit, const knapsack_problem *problem,
                                           knapsack_seed_answer *answer) {
  *answer = {};
  if (!is_small_enough(problem))
    return unsupported(unit);
  uint32_t order[SEED_ITEMS];
  DZO_TRY(knapsack_sort(unit->context, problem, order));
  seed_items items;
  fill(problem, order, &items);
  int fixed = problem->items < SEED_FIXED ? (int)problem->items : SEED_FIXED;
  u64 threads = fixed < 5 ? (u64)TREE_THREADS : 1ull << fixed;
  seed_best *memory, best = {};
  DZO_TRY(dzo_unit_allocate(unit, threads + 1, sizeof *memory, (void **)&memory));
  dzo_status status =
      DZO_LAUNCH(unit, 0, seed_tree, threads / TREE_THREADS, TREE_THREADS, items, fixed, memory);
  if (status == DZO_OK)
    status = reduce(unit, memory, memory + threads, threads, &best);
  dzo_unit_release(unit, memory);
  answer->value = best.value;
  for (uint32_t i = 0; i < problem->items; i++)
    answer->taken |= (uint64_t)(best.taken >> i & 1) << order[i];
  return status;
}
