/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Both steps of the method walk along a merge path (O. Green, R. McColl, D. Bader, "GPU merge
 * path", ICS 2012) of two rising sequences x and y. Adding an item merges a list with itself,
 * shifted; the scan merges the first list with what the capacity leaves beside the second, read
 * backwards: where the path takes an x, y is the smallest that is not below, so that the sum of
 * the second list behind it is the greatest that fits beside x. No list is ever sorted. */
#include "knapsack/two_list_gpu.h"

#include "device/cuda.h"

enum { THREADS = 256, WARPS = THREADS / 32 };
#define FAR (INT64_C(1) << 62)

/* The sums that a block merges at a time; one thread's share is odd, so that the threads of a warp
 * meet few bank conflicts. */
template <bool VALUES> struct tile_size {
  static const int share = VALUES ? 9 : 15;
  static const int tile = THREADS * share;
  static const int room = tile + share + 4; /* and what stands behind the ends */
};

/* Two rising sequences. */
struct path {
  const int64_t *x, *x_value;
  const int64_t *y, *y_value;
  uint64_t xs, ys;
  int64_t shift, gain; /* adding: y[j] is y[j] + shift, worth gain more. Scanning: shift - y[-j] */
};

template <bool SCAN> static __device__ __forceinline__ uint64_t y_place(const path &p, uint64_t j) {
  return SCAN ? p.ys - 1 - j : j;
}
template <bool SCAN> static __device__ __forceinline__ int64_t y_at(const path &p, uint64_t j) {
  int64_t y = p.y[y_place<SCAN>(p, j)];
  return SCAN ? p.shift - y : p.shift + y;
}

/* How many x are among the first `diagonal` of the merged sequence? Between low and high. By a
 * whole warp, which probes 32 places at once. */
template <bool SCAN>
static __device__ __forceinline__ uint64_t split(const path &p, uint64_t diagonal, uint64_t low,
                                                 uint64_t high) {
  while (low < high) {
    uint64_t length = high - low, step = (length + 32) / 33;
    uint64_t probe = low + (dzo_lane() + 1) * step - 1;
    bool taken = probe < high && p.x[probe] <= y_at<SCAN>(p, diagonal - 1 - probe);
    unsigned count = (unsigned)__popc(__ballot_sync(DZO_WARP_ALL, taken));
    uint64_t next = low + (count + 1) * step - 1;
    low += count * step;
    if (count < 32 && next < high)
      high = next;
  }
  return low;
}

template <bool SCAN>
static __device__ __forceinline__ uint64_t split_of(const path &p, uint64_t diagonal) {
  uint64_t low = diagonal > p.ys ? diagonal - p.ys : 0;
  return split<SCAN>(p, diagonal, low, diagonal < p.xs ? diagonal : p.xs);
}

/* The same inside a tile, by one thread. */
static __device__ __forceinline__ int split_in_tile(const int64_t *x, const int64_t *y, int xs,
                                                    int ys, int diagonal) {
  int low = diagonal > ys ? diagonal - ys : 0, high = diagonal < xs ? diagonal : xs;
  while (low < high) {
    int middle = (low + high) / 2;
    if (x[middle] <= y[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* A window of the path in shared memory: xs of x and an end that is never taken, then ys of y and
 * the next one, or ends. */
template <bool VALUES> struct window {
  int64_t key[tile_size<VALUES>::room];
  int64_t value[VALUES ? tile_size<VALUES>::room : 1];
  int64_t value_before[2]; /* adding: of the x and the y that stand before the window */
  uint64_t next;           /* where x goes on */
  uint64_t place;          /* where it begins */
};

template <bool VALUES, bool SCAN>
static __device__ __forceinline__ void load(window<VALUES> *w, const path &p, uint64_t i,
                                            uint64_t j, int xs, int ys) {
  const int share = tile_size<VALUES>::share;
#pragma unroll
  for (int s = 0; s < share; s++) {
    int k = s * THREADS + (int)threadIdx.x;
    if (k < xs) {
      w->key[k] = p.x[i + k];
      if (VALUES)
        w->value[k] = p.x_value[i + k];
    } else if (k < xs + ys) {
      uint64_t at = j + (unsigned)(k - xs);
      w->key[k + 1] = y_at<SCAN>(p, at);
      if (VALUES)
        w->value[k + 1] = p.y_value[y_place<SCAN>(p, at)] + p.gain;
    }
  }
  if (threadIdx.x == 0) {
    w->key[xs] = FAR;
    if (VALUES && !SCAN) {
      w->value_before[0] = i > 0 ? p.x_value[i - 1] : 0;
      w->value_before[1] = j > 0 ? p.y_value[j - 1] + p.gain : 0;
    }
  }
  if ((int)threadIdx.x <= share) {
    int k = xs + 1 + ys + (int)threadIdx.x;
    bool real = SCAN && threadIdx.x == 0 && j + (unsigned)ys < p.ys;
    w->key[k] = real ? y_at<SCAN>(p, j + (unsigned)ys) : SCAN ? -FAR : FAR;
    if (VALUES)
      w->value[k] = real ? p.y_value[y_place<SCAN>(p, j + (unsigned)ys)] : 0;
  }
}

/* One thread's share of a window: what is merged stands in key and value. */
template <bool VALUES>
static __device__ __forceinline__ void merge(const window<VALUES> *w, int xs, int ys, int diagonal,
                                             int64_t *key, int64_t *value) {
  const int share = tile_size<VALUES>::share;
  int i = split_in_tile(w->key, w->key + xs + 1, xs, ys, diagonal), j = diagonal - i + xs + 1;
  int64_t x = w->key[i], y = w->key[j], x_value = 0, y_value = 0;
  if (VALUES) {
    x_value = i > 0 ? w->value[i - 1] : w->value_before[0];
    y_value = j > xs + 1 ? w->value[j - 1] : w->value_before[1];
  }
#pragma unroll
  for (int s = 0; s < share; s++) {
    bool take_x = x <= y;
    key[s] = take_x ? x : y;
    int at = take_x ? i : j;
    if (VALUES) {
      int64_t got = w->value[at];
      x_value = take_x ? got : x_value;
      y_value = take_x ? y_value : got;
      value[s] = x_value > y_value ? x_value : y_value;
    }
    i += take_x, j += !take_x;
    /* Past the last sum of all, x may stand behind its end: what follows is not stored. */
    int64_t next = w->key[at + 1];
    x = take_x ? next : x;
    y = take_x ? y : next;
  }
}

/* Where a block's run of tiles begins, and the first split. */
template <bool VALUES, bool SCAN>
static __device__ __forceinline__ void begin_run(window<VALUES> *w, const path &p,
                                                 uint64_t diagonal) {
  if (threadIdx.x < 32) {
    uint64_t i = split_of<SCAN>(p, diagonal);
    if (threadIdx.x == 0)
      w->next = i;
    __syncwarp();
  }
}

/* Load the next window; *xs and *ys are its sizes. Between barriers. */
template <bool VALUES, bool SCAN>
static __device__ __forceinline__ void next_window(window<VALUES> *w, const path &p,
                                                   uint64_t diagonal, int *xs, int *ys) {
  const int tile = tile_size<VALUES>::tile;
  uint64_t all = p.xs + p.ys, end = diagonal + tile < all ? diagonal + tile : all;
  if (threadIdx.x < 32) {
    uint64_t i = w->next, j = diagonal - i, size = end - diagonal;
    uint64_t low = j + size > p.ys ? i + (j + size - p.ys) : i;
    uint64_t to = split<SCAN>(p, end, low, i + size < p.xs ? i + size : p.xs);
    __syncwarp();
    if (threadIdx.x == 0) {
      w->place = i;
      w->next = to;
    }
  }
  __syncthreads();
  uint64_t i = w->place;
  *xs = (int)(w->next - i);
  *ys = (int)(end - diagonal) - *xs;
  load<VALUES, SCAN>(w, p, i, diagonal - i, *xs, *ys);
  __syncthreads();
}

template <bool VALUES>
static __global__ void add(path p, uint64_t run, int64_t *keys_out, int64_t *values_out) {
  const int share = tile_size<VALUES>::share, tile = tile_size<VALUES>::tile;
  __shared__ window<VALUES> w;
  uint64_t all = p.xs + p.ys, from = blockIdx.x * run;
  uint64_t to = from + run < all ? from + run : all;
  if (from >= all)
    return;
  begin_run<VALUES, false>(&w, p, from);
  for (uint64_t diagonal = from; diagonal < to; diagonal += tile) {
    int xs, ys, mine = (int)threadIdx.x * share;
    int64_t key[share], value[VALUES ? share : 1];
    next_window<VALUES, false>(&w, p, diagonal, &xs, &ys);
    if (mine < xs + ys)
      merge<VALUES>(&w, xs, ys, mine, key, value);
    __syncthreads();
    if (mine < xs + ys)
#pragma unroll
      for (int s = 0; s < share; s++) {
        w.key[mine + s] = key[s];
        if (VALUES)
          w.value[mine + s] = value[s];
      }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < share; s++) {
      int k = s * THREADS + (int)threadIdx.x;
      if (k < xs + ys) {
        keys_out[diagonal + k] = w.key[k];
        if (VALUES)
          values_out[diagonal + k] = w.value[k];
      }
    }
    /* The next window is loaded behind a barrier, but `next` is read before it. */
    __syncthreads();
  }
}

/* The best pair of one thread's share. */
template <bool VALUES>
static __device__ __forceinline__ void look(const window<VALUES> *w, int xs, int ys, int diagonal,
                                            int64_t capacity, int64_t base, two_list_record *best) {
  const int share = tile_size<VALUES>::share;
  int i = split_in_tile(w->key, w->key + xs + 1, xs, ys, diagonal), j = diagonal - i + xs + 1;
  int64_t x = w->key[i], y = w->key[j];
#pragma unroll
  for (int s = 0; s < share; s++) {
    bool take_x = x <= y && diagonal + s < xs + ys;
    /* Of ends, the sum may be any. */
    uint64_t pair = VALUES ? (uint64_t)w->value[i] + (uint64_t)w->value[j]
                           : (uint64_t)capacity + (uint64_t)x - (uint64_t)y;
    int64_t value = (int64_t)((uint64_t)base + pair);
    if (take_x && value > best->value) {
      best->value = value;
      best->weight[0] = x;
      best->weight[1] = capacity - y;
    }
    i += take_x, j += !take_x;
    int64_t next = w->key[take_x ? i : j];
    x = take_x ? next : x;
    y = take_x ? y : next;
  }
}

static __device__ __forceinline__ void better(two_list_record *best, const two_list_record &other) {
  if (other.value > best->value)
    *best = other;
}

/* The best of all threads of a block, in thread 0. */
static __device__ __forceinline__ void gather(two_list_record *best, two_list_record *warps) {
  for (int distance = 16; distance > 0; distance /= 2) {
    two_list_record other;
    other.value = __shfl_down_sync(DZO_WARP_ALL, best->value, distance);
    other.weight[0] = __shfl_down_sync(DZO_WARP_ALL, best->weight[0], distance);
    other.weight[1] = __shfl_down_sync(DZO_WARP_ALL, best->weight[1], distance);
    other.scan = best->scan;
    better(best, other);
  }
  if (dzo_lane() == 0)
    warps[threadIdx.x / 32] = *best;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < WARPS; i++)
      better(best, warps[i]);
}

struct quest {
  int64_t capacity, base, goal;
  uint64_t number;
  two_list_record *records;
  unsigned *found;
};

template <bool VALUES> static __global__ void scan(path p, uint64_t run, quest s) {
  const int share = tile_size<VALUES>::share, tile = tile_size<VALUES>::tile;
  __shared__ window<VALUES> w;
  __shared__ two_list_record warps[WARPS];
  uint64_t all = p.xs + p.ys, from = blockIdx.x * run;
  uint64_t to = from + run < all ? from + run : all;
  if (from >= all)
    return;
  two_list_record best = s.records[blockIdx.x];
  int64_t before = best.value;
  best.scan = s.number;
  begin_run<VALUES, true>(&w, p, from);
  for (uint64_t diagonal = from; diagonal < to; diagonal += tile) {
    int xs, ys, mine = (int)threadIdx.x * share;
    bool done = best.value >= s.goal || (threadIdx.x == 0 && dzo_load_shared(s.found) != 0);
    if (__syncthreads_or(done))
      break;
    next_window<VALUES, true>(&w, p, diagonal, &xs, &ys);
    if (mine < xs + ys)
      look<VALUES>(&w, xs, ys, mine, s.capacity, s.base, &best);
  }
  __syncthreads();
  gather(&best, warps);
  if (threadIdx.x != 0 || best.value <= before)
    return;
  s.records[blockIdx.x] = best;
  if (best.value >= s.goal)
    dzo_store_shared(s.found, 1u);
}

/* Blocks, and how many sums each merges: whole tiles, evenly. */
template <typename Kernel>
static unsigned shape(dzo_unit *unit, Kernel kernel, uint64_t tile, uint64_t all, uint64_t *run) {
  uint64_t tiles = (all + tile - 1) / tile, most = DZO_RESIDENT_BLOCKS(unit, kernel, THREADS);
  uint64_t blocks = tiles < most ? tiles : most, each = (tiles + blocks - 1) / blocks;
  *run = each * tile;
  return (unsigned)((tiles + each - 1) / each);
}

extern "C" dzo_status two_list_gpu_add(dzo_unit *unit, const two_list_device *in, int64_t weight,
                                       int64_t value, two_list_device *out) {
  path p = {in->weight, in->value, in->weight, in->value, in->count, in->count, weight, value};
  uint64_t run;
  out->count = 2 * in->count;
  if (in->value == NULL) {
    unsigned blocks = shape(unit, add<false>, tile_size<false>::tile, out->count, &run);
    return DZO_LAUNCH(unit, 0, add<false>, blocks, THREADS, p, run, out->weight, (int64_t *)NULL);
  }
  unsigned blocks = shape(unit, add<true>, tile_size<true>::tile, out->count, &run);
  return DZO_LAUNCH(unit, 0, add<true>, blocks, THREADS, p, run, out->weight, out->value);
}

extern "C" unsigned two_list_gpu_records(dzo_unit *unit, bool values) {
  return values ? DZO_RESIDENT_BLOCKS(unit, scan<true>, THREADS)
                : DZO_RESIDENT_BLOCKS(unit, scan<false>, THREADS);
}

extern "C" dzo_status two_list_gpu_scan(dzo_unit *unit, const two_list_scan *s) {
  const two_list_device *a = s->first, *b = s->second;
  path p = {a->weight, a->value, b->weight, b->value, a->count, b->count, s->capacity, 0};
  quest q = {s->capacity, s->base, s->goal, s->number, s->records, s->found};
  uint64_t run, all = a->count + b->count;
  if (a->value == NULL) {
    unsigned blocks = shape(unit, scan<false>, tile_size<false>::tile, all, &run);
    return DZO_LAUNCH(unit, 0, scan<false>, blocks, THREADS, p, run, q);
  }
  unsigned blocks = shape(unit, scan<true>, tile_size<true>::tile, all, &run);
  return DZO_LAUNCH(unit, 0, scan<true>, blocks, THREADS, p, run, q);
}
