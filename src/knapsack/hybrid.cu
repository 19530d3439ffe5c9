/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "knapsack/hybrid.h"

#include "device/cuda.h"

typedef unsigned long long u64;

/* REFILL: idle lanes that it takes to fetch work; LOOK: steps between two looks at what others
 * found. FEW: lanes that had better let others help. */
enum { THREADS = 256, REFILL = 8, LOOK = 16, WARPS = THREADS / 32, FEW = 8 };

#define HYBRID_WIDTH(width, number)                                                                \
  template <> struct hybrid_width<number> {                                                        \
    typedef number sum;                                                                            \
    typedef tree_row_##width row;                                                                  \
    typedef tree_node_##width node;                                                                \
    static __device__ __forceinline__ void find(const row *rows, node *n) {                        \
      tree_find_##width(rows, n);                                                                  \
    }                                                                                              \
    static __device__ __forceinline__ sum value(const row *rows, const node *n) {                  \
      return tree_value_##width(rows, n);                                                          \
    }                                                                                              \
    static __device__ __forceinline__ bool promises(const row *rows, const node *n, sum best) {    \
      return tree_promises_##width(rows, n, best);                                                 \
    }                                                                                              \
    static __device__ __forceinline__ void skip(const row *rows, node *n, uint32_t item) {         \
      tree_skip_##width(rows, n, item);                                                            \
    }                                                                                              \
    static __device__ __forceinline__ void take_back(const row *rows, node *n, uint32_t item) {    \
      tree_take_back_##width(rows, n, item);                                                       \
    }                                                                                              \
    static __device__ __forceinline__ uint32_t skim(const row *rows, uint32_t items,               \
                                                    const node *n, uint32_t from, uint32_t at,     \
                                                    sum best) {                                    \
      return tree_skim_##width(rows, items, n, from, at, best);                                    \
    }                                                                                              \
  }
template <typename Sum> struct hybrid_width;
HYBRID_WIDTH(short, int32_t);
HYBRID_WIDTH(long, int64_t);

/* One lane's search. */
template <typename Sum> struct hybrid_lane {
  typename hybrid_width<Sum>::node node;
  u64 mask;          /* items skipped */
  uint32_t base;     /* none before is touched */
  uint32_t from, at; /* children to come: at - 1, .. from */
  bool is_busy;
  Sum best;  /* what a set has to exceed */
  Sum value; /* of the best set that this lane found */
  u64 taken; /* and the set */
  u64 nodes;
};

static __device__ __forceinline__ u64 bits_below(uint32_t item) {
  return item < 64 ? (1ull << item) - 1 : ~0ull;
}

/* Behind the last skipped item, at `base` at least. */
static __device__ __forceinline__ uint32_t first_child(u64 mask, uint32_t base) {
  uint32_t behind = 64 - (uint32_t)__clzll((long long)mask);
  return behind > base ? behind : base;
}

template <typename Sum>
static __device__ __forceinline__ void offer(hybrid_lane<Sum> *lane, Sum value, u64 mask,
                                             uint32_t stop, u64 *shared_best) {
  if (value <= lane->best)
    return;
  lane->best = lane->value = value;
  lane->taken = bits_below(stop) & ~mask;
  atomicMax(shared_best, (u64)value);
}

template <typename Sum>
static __device__ void begin_work(hybrid_lane<Sum> *lane, const hybrid_launch *job,
                                  const typename hybrid_width<Sum>::row *rows, tree_work work,
                                  u64 *shared_best) {
  typedef hybrid_width<Sum> width;
  lane->node = {(Sum)job->capacity, 0, 0};
  lane->mask = work.mask;
  lane->base = work.base;
  for (u64 rest = work.mask; rest != 0; rest &= rest - 1)
    width::skip(rows, &lane->node, (uint32_t)__ffsll((long long)rest) - 1);
  lane->from = first_child(lane->mask, lane->base);
  if (rows[lane->from].weight > lane->node.room)
    return;
  lane->node.stop = lane->from;
  width::find(rows, &lane->node);
  lane->at = work.at;
  lane->is_busy = true;
  if (work.at != TREE_ROOT)
    return;
  lane->at = lane->node.stop + 1;
  lane->nodes++;
  offer(lane, width::value(rows, &lane->node), lane->mask, lane->node.stop, shared_best);
  lane->is_busy = width::promises(rows, &lane->node, lane->best);
}

static __device__ __forceinline__ tree_work work_at(const hybrid_launch *job, u64 index) {
  if (job->work != NULL)
    return job->work[index];
  tree_work work = {index, (uint8_t)job->fixed, TREE_ROOT, {0}};
  return work;
}

/* Look at one child, or go back up: both move by one item and find the stop anew, so lanes that do
 * the one and lanes that do the other go together. A lane goes down only where one of the child's
 * own children needs a look. */
template <typename Sum>
static __device__ __forceinline__ void step(hybrid_lane<Sum> *lane, uint32_t items,
                                            const typename hybrid_width<Sum>::row *rows,
                                            u64 *shared_best) {
  typedef hybrid_width<Sum> width;
  bool down = lane->at > lane->from;
  if (!down && lane->from == lane->base) {
    lane->is_busy = false;
    return;
  }
  uint32_t item = (down ? lane->at : lane->from) - 1;
  typename width::node node = lane->node;
  if (down)
    width::skip(rows, &node, item);
  else
    width::take_back(rows, &node, item);
  width::find(rows, &node);
  u64 mask = lane->mask ^ 1ull << item;
  uint32_t from = item + 1, at = node.stop + 1;
  lane->at = item;
  if (!down) {
    lane->mask = mask;
    lane->from = from = first_child(mask, lane->base);
    lane->node = node;
    at = item;
  } else {
    lane->nodes++;
    offer(lane, width::value(rows, &node), mask, node.stop, shared_best);
    if (!width::promises(rows, &node, lane->best))
      return;
  }
  uint32_t next = width::skim(rows, items, &node, from, at, lane->best);
  lane->nodes += at - next;
  if (down && next == from)
    return;
  lane->node = node;
  lane->mask = mask;
  lane->from = from;
  lane->at = next;
}

static __device__ __forceinline__ void put(const hybrid_launch *job, u64 mask, uint32_t base,
                                           uint32_t at) {
  tree_work work = {mask, (uint8_t)base, (uint8_t)at, {0}};
  job->left[atomicAdd((u64 *)&job->control->left, 1ull)] = work;
}

/* Put down what a lane has not done, in `most` pieces at most: from the top on, children as works
 * of their own, then the rest. */
template <typename Sum>
static __device__ void put_down(const hybrid_lane<Sum> *lane, uint32_t most,
                                const hybrid_launch *job) {
  uint32_t base = lane->base, count = 1;
  while (count < most) {
    u64 deeper = lane->mask & ~bits_below(base), above = lane->mask & bits_below(base);
    uint32_t end = deeper != 0 ? (uint32_t)__ffsll((long long)deeper) - 1 : lane->at;
    for (; base < end && count < most; base++, count++)
      put(job, above | 1ull << base, base + 1, TREE_ROOT);
    if (deeper == 0)
      break;
    if (base < end) {
      put(job, above, base, end);
      count++;
    }
    base = end + 1;
  }
  put(job, lane->mask, base, lane->at);
}

/* What a warp has taken of the work and not yet given to its lanes. */
struct hybrid_share {
  u64 next, end;
  bool is_open; /* there may be more to take */
};

template <typename Sum>
static __device__ void refill(hybrid_lane<Sum> *lane, hybrid_share *share, unsigned idle,
                              const hybrid_launch *job, const typename hybrid_width<Sum>::row *rows,
                              u64 *shared_best) {
  if (share->next == share->end) {
    u64 got = 0;
    if (dzo_lane() == 0)
      got = job->begin + atomicAdd((u64 *)&job->control->next, (u64)HYBRID_GRAB);
    got = __shfl_sync(DZO_WARP_ALL, got, 0);
    share->is_open = got < job->end;
    share->next = got < job->end ? got : job->end;
    share->end = job->end - share->next < HYBRID_GRAB ? job->end : share->next + HYBRID_GRAB;
  }
  u64 mine = share->next + (unsigned)__popc(idle & dzo_lanes_below());
  if (!lane->is_busy && mine < share->end)
    begin_work(lane, job, rows, work_at(job, mine), shared_best);
  share->next += (unsigned)__popc(idle);
  if (share->next > share->end)
    share->next = share->end;
}

template <typename Sum>
static __device__ void put_all_down(const hybrid_lane<Sum> *lane, const hybrid_share *share,
                                    const hybrid_launch *job) {
  /* In pieces only where there are not enough: so there are never more than lanes can make. */
  unsigned busy = __ballot_sync(DZO_WARP_ALL, lane->is_busy);
  if (lane->is_busy)
    put_down(lane, share->is_open ? 1 : 32 * HYBRID_PIECES / (uint32_t)__popc(busy) - 1, job);
  for (u64 i = share->next + dzo_lane(); i < share->end; i += 32)
    job->left[atomicAdd((u64 *)&job->control->left, 1ull)] = work_at(job, i);
}

/* The best of the block's lanes. */
static __device__ void report(hybrid_best mine, hybrid_best *out) {
  __shared__ hybrid_best warps[WARPS];
  for (int distance = 16; distance > 0; distance /= 2) {
    hybrid_best other;
    other.value = __shfl_xor_sync(DZO_WARP_ALL, (long long)mine.value, distance);
    other.taken = __shfl_xor_sync(DZO_WARP_ALL, (u64)mine.taken, distance);
    if (other.value > mine.value)
      mine = other;
  }
  if (dzo_lane() == 0)
    warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (unsigned i = 1; i < WARPS; i++)
    if (warps[i].value > mine.value)
      mine = warps[i];
  out[blockIdx.x] = mine;
}

static __device__ __forceinline__ u64 sum_of_warp(u64 x) {
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(DZO_WARP_ALL, x, distance);
  return x;
}

template <typename Sum>
static __global__ void __launch_bounds__(THREADS) hybrid_search(hybrid_launch job) {
  typedef typename hybrid_width<Sum>::row row;
  __shared__ row rows[TREE_MASK_ITEMS + 2];
  for (unsigned i = threadIdx.x; i < job.items + 2; i += THREADS)
    rows[i] = ((const row *)job.rows)[i];
  __syncthreads();
  u64 *shared_best = (u64 *)&job.control->best;
  hybrid_lane<Sum> lane = {};
  lane.best = (Sum)dzo_load_shared(shared_best);
  hybrid_share share = {0, 0, true};
  uint32_t alone = 0;
  for (uint32_t i = 0; i < job.steps; i++) {
    unsigned idle = __ballot_sync(DZO_WARP_ALL, !lane.is_busy);
    if (alone > (__popc(idle) < 32 - FEW ? job.patience : job.patience / 4))
      break;
    if (share.is_open && __popc(idle) >= REFILL)
      refill(&lane, &share, idle, &job, rows, shared_best);
    else if (idle == DZO_WARP_ALL)
      break;
    alone += !share.is_open;
    if (i % LOOK == 0) {
      Sum others = (Sum)dzo_load_shared(shared_best);
      lane.best = others > lane.best ? others : lane.best;
    }
    if (lane.is_busy)
      step(&lane, job.items, rows, shared_best);
  }
  put_all_down(&lane, &share, &job);
  u64 nodes = sum_of_warp(lane.nodes);
  if (dzo_lane() == 0)
    atomicAdd((u64 *)&job.control->nodes, nodes);
  report(hybrid_best{(int64_t)lane.value, lane.taken}, job.best);
}

extern "C" unsigned hybrid_gpu_blocks(dzo_unit *unit, bool is_short) {
  if (is_short)
    return DZO_RESIDENT_BLOCKS(unit, hybrid_search<int32_t>, THREADS);
  return DZO_RESIDENT_BLOCKS(unit, hybrid_search<int64_t>, THREADS);
}

extern "C" unsigned hybrid_gpu_threads(void) { return THREADS; }

extern "C" uint64_t hybrid_gpu_left(unsigned blocks) {
  return (uint64_t)blocks * (THREADS * HYBRID_PIECES + WARPS * HYBRID_GRAB);
}

extern "C" dzo_status hybrid_gpu_run(dzo_unit *unit, const hybrid_launch *launch) {
  if (launch->is_short)
    return DZO_LAUNCH(unit, 0, hybrid_search<int32_t>, launch->blocks, THREADS, *launch);
  return DZO_LAUNCH(unit, 0, hybrid_search<int64_t>, launch->blocks, THREADS, *launch);
}
