/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A warp solves a small problem as the CPU does (small_reduce.c, small.c): what every optimal set
 * agrees on is fixed, then a table decides on the rest. Its row of values lies in shared memory and
 * is updated in place from high capacities to low ones; of each level a bit for each capacity is
 * kept, which says whether the item is taken there. Fixing may find other items than on the CPU,
 * the set is the same. Problems whose row does not fit go on a list for a launch with fewer warps
 * and larger rows. */
#include "device/cuda.h"
#include "knapsack/small_gpu.h"

typedef unsigned long long u64;
typedef long long i64;
typedef uint32_t u32;

enum { LANES = 32, ROUNDS = 3, PAIRS = 1 << 15, BLOCK_BITS = 512, CELLS = 4 };

/* A launch: rows and items that a warp has room for, words of bits in `bits` for each. */
typedef struct small_class {
  u32 row, items, words;
} small_class;

/* What a warp works on; all in shared memory but `bits`, which is there only where it fits. */
typedef struct small_warp {
  u32 *row;
  uint2 *item;    /* value, weight */
  u32 *mask;      /* items inside the incumbent; later, items taken */
  uint16_t *kept; /* numbers of the items that the table decides on */
  u32 *bits;
  u32 items, lane;
  int capacity;
} small_warp;

static __device__ __forceinline__ int warp_sum(int x) {
  return (int)__reduce_add_sync(DZO_WARP_ALL, (unsigned)x);
}

static __device__ __forceinline__ i64 warp_sum_wide(i64 x) {
  for (int by = LANES / 2; by > 0; by /= 2)
    x += __shfl_xor_sync(DZO_WARP_ALL, x, by);
  return x;
}

static __device__ __forceinline__ bool is_inside(const small_warp *s, u32 i) {
  return s->mask[i / LANES] >> (i % LANES) & 1;
}

/* Worth as the bits of a float, which order as it does. Kept where the row will be. */
static __device__ u32 find_break(const small_warp *s) {
  u32 least = ~0u, most = 0;
  for (u32 i = s->lane; i < s->items; i += LANES) {
    u32 worth = __float_as_uint(__fdiv_rn((float)s->item[i].x, (float)s->item[i].y));
    s->row[i] = worth;
    least = min(least, worth);
    most = max(most, worth);
  }
  u32 low = __reduce_min_sync(DZO_WARP_ALL, least), high = __reduce_max_sync(DZO_WARP_ALL, most);
  while (low < high) {
    u32 middle = low + (high - low + 1) / 2;
    int sum = 0;
    for (u32 i = s->lane; i < s->items; i += LANES)
      sum += s->row[i] >= middle ? (int)s->item[i].y : 0;
    if (warp_sum(sum) > s->capacity)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

typedef struct small_incumbent {
  int value, weight;
  u32 breaking;
} small_incumbent;

/* Items better than the break's worth, then those of that worth until one does not fit. */
static __device__ small_incumbent break_set(small_warp *s) {
  u32 at = find_break(s);
  small_incumbent set = {0, 0, ~0u};
  for (u32 base = 0; base < s->items; base += LANES) {
    u32 i = base + s->lane;
    bool in = i < s->items && s->row[i] > at;
    u32 word = __ballot_sync(DZO_WARP_ALL, in);
    if (s->lane == 0)
      s->mask[base / LANES] = word;
    set.value += in ? (int)s->item[i].x : 0;
    set.weight += in ? (int)s->item[i].y : 0;
  }
  set.value = warp_sum(set.value);
  set.weight = warp_sum(set.weight);
  for (u32 base = 0; base < s->items && set.breaking == ~0u; base += LANES) {
    u32 i = base + s->lane;
    u32 ties = __ballot_sync(DZO_WARP_ALL, i < s->items && s->row[i] == at), put = 0;
    for (; ties != 0; ties &= ties - 1) {
      u32 tie = base + (u32)__ffs((int)ties) - 1;
      uint2 item = s->item[tie];
      if (set.weight + (int)item.y > s->capacity) {
        set.breaking = tie;
        break;
      }
      put |= ties & (0u - ties);
      set.value += (int)item.x;
      set.weight += (int)item.y;
    }
    if (s->lane == 0)
      s->mask[base / LANES] |= put;
  }
  __syncwarp();
  return set;
}

/* A lane's best exchange: what comes in, what goes out (itself: nothing). */
typedef struct small_exchange {
  int gain;
  u32 in, out;
} small_exchange;

static __device__ __forceinline__ void try_outsiders(const small_warp *s, int space, int loss,
                                                     u32 out, small_exchange *best) {
  for (u32 j = s->lane; j < s->items; j += LANES) {
    uint2 item = s->item[j];
    int gain = (int)item.x - loss;
    if ((int)item.y <= space && gain > best->gain && !is_inside(s, j))
      *best = {gain, j, out == ~0u ? j : out};
  }
}

/* Put one item in, perhaps for one taken out, as gains the most. False: none gains. */
static __device__ bool exchange(small_warp *s, small_incumbent *set) {
  int space = s->capacity - set->weight;
  small_exchange best = {0, 0, 0};
  try_outsiders(s, space, 0, ~0u, &best);
  u32 tries = PAIRS / s->items;
  for (u32 base = 0; base < s->items; base += LANES)
    for (u32 word = s->mask[base / LANES]; word != 0 && tries > 0; word &= word - 1, tries--) {
      u32 out = base + (u32)__ffs((int)word) - 1;
      try_outsiders(s, space + (int)s->item[out].y, (int)s->item[out].x, out, &best);
    }
  int gain = (int)__reduce_max_sync(DZO_WARP_ALL, (unsigned)best.gain);
  if (gain == 0)
    return false;
  int from = __ffs((int)__ballot_sync(DZO_WARP_ALL, best.gain == gain)) - 1;
  u32 in = __shfl_sync(DZO_WARP_ALL, best.in, from);
  u32 out = __shfl_sync(DZO_WARP_ALL, best.out, from);
  set->value += gain;
  set->weight += (int)s->item[in].y - (in == out ? 0 : (int)s->item[out].y);
  __syncwarp();
  if (s->lane == 0) {
    s->mask[in / LANES] |= 1u << (in % LANES);
    if (in != out)
      s->mask[out / LANES] &= ~(1u << (out % LANES));
  }
  __syncwarp();
  return true;
}

/* What is left of a problem: the first `items` of item[] and kept[]. */
typedef struct small_left {
  u32 items;
  int capacity, weight, value; /* value: of the items fixed inside */
} small_left;

/* Fix what can be, and close the ranks of the others. */
static __device__ small_left reduce(small_warp *s) {
  small_incumbent set = break_set(s);
  for (int round = 0; round < ROUNDS; round++)
    if (!exchange(s, &set))
      break;
  i64 value = s->item[set.breaking].x, weight = s->item[set.breaking].y, sum = 0;
  for (u32 i = s->lane; i < s->items; i += LANES) {
    i64 gain = (i64)s->item[i].x * weight - value * (i64)s->item[i].y;
    sum += gain > 0 ? gain : 0;
  }
  i64 slack = value * s->capacity + warp_sum_wide(sum) - (i64)set.value * weight;
  small_left left = {0, 0, 0, 0};
  int fixed = 0;
  for (u32 base = 0; base < s->items; base += LANES) {
    u32 i = base + s->lane;
    uint2 item = i < s->items ? s->item[i] : make_uint2(0, 0);
    i64 gain = (i64)item.x * weight - value * (i64)item.y;
    bool in = i < s->items && gain > slack, keep = i < s->items && !in && gain >= -slack;
    u32 keeps = __ballot_sync(DZO_WARP_ALL, keep), ins = __ballot_sync(DZO_WARP_ALL, in);
    __syncwarp();
    if (keep) {
      u32 at = left.items + (u32)__popc(keeps & dzo_lanes_below());
      s->item[at] = item;
      s->kept[at] = (uint16_t)i;
    }
    if (s->lane == 0)
      s->mask[base / LANES] = ins;
    left.items += (u32)__popc(keeps);
    left.value += in ? (int)item.x : 0;
    left.weight += keep ? (int)item.y : 0;
    fixed += in ? (int)item.y : 0;
    __syncwarp();
  }
  left.value = warp_sum(left.value);
  left.weight = warp_sum(left.weight);
  left.capacity = min(s->capacity - warp_sum(fixed), left.weight);
  return left;
}

/* One level in place, capacities high down to low: beyond `edge` the row is not yet there, and its
 * value is `all`, that of all items so far. */
static __device__ void level(const small_warp *s, uint2 item, int low, int high, int edge, int all,
                             u32 *bits) {
  int weight = (int)item.y;
  for (int base = high & -LANES; base > low - LANES; base -= CELLS * LANES) {
    int best[CELLS];
    u32 word = 0;
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      int x = base - k * LANES + (int)s->lane;
      bool active = x >= low && x <= high;
      int stay = !active || x > edge ? all : (int)s->row[x];
      int with = active && x >= weight ? (int)(s->row[x - weight] + item.x) : -1;
      u32 takes = __ballot_sync(DZO_WARP_ALL, with > stay);
      word = s->lane == (u32)k ? takes : word;
      best[k] = max(stay, with);
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      int x = base - k * LANES + (int)s->lane;
      if (x >= low && x <= high)
        s->row[x] = (u32)best[k];
    }
    int at = base / LANES - (int)s->lane;
    if (s->lane < CELLS && at >= low / LANES)
      bits[at] = word;
  }
  __syncwarp();
}

/* All levels; the value at the last capacity. Adds up the cells. */
static __device__ int table(const small_warp *s, const small_left *left, u32 words, u64 *cells) {
  if (s->lane == 0)
    s->row[0] = 0;
  __syncwarp();
  int edge = 0, all = 0, behind = left->weight;
  for (u32 j = 0; j < left->items; j++) {
    uint2 item = s->item[j];
    behind -= (int)item.y;
    int low = max(0, left->capacity - behind), high = min(left->capacity, edge + (int)item.y);
    level(s, item, low, high, edge, all, s->bits + (u64)j * words);
    edge = high;
    all += (int)item.x;
    *cells += (u64)(high - low + 1);
  }
  return (int)s->row[left->capacity];
}

/* Back from the last capacity; by one lane. */
static __device__ void trace(small_warp *s, const small_left *left, u32 words) {
  int x = left->capacity, before = left->weight;
  for (u32 j = left->items; j-- > 0;) {
    uint2 item = s->item[j];
    before -= (int)item.y;
    if (s->bits[(u64)j * words + (u32)x / LANES] >> ((u32)x % LANES) & 1) {
      s->mask[s->kept[j] / LANES] |= 1u << (s->kept[j] % LANES);
      x -= (int)item.y;
    }
    x = min(x, before);
  }
}

/* False: it needs more room than this launch has. */
static __device__ bool solve(const small_gpu_batch *b, const small_class *most, small_warp *s,
                             u32 number, u32 *block_bits, u32 *bits, u64 *cells) {
  u32 first = b->offset[number];
  s->items = b->offset[number + 1] - first;
  s->capacity = b->capacity[number];
  if (s->items > most->items)
    return false;
  for (u32 i = s->lane; i < s->items; i += LANES)
    s->item[i] = make_uint2(b->item[first + i].value, b->item[first + i].weight);
  __syncwarp();
  small_left left = reduce(s);
  u32 words = (u32)left.capacity / LANES + 1;
  u64 needed = (u64)words * left.items;
  if ((u32)left.capacity >= most->row || needed > most->words)
    return false;
  s->bits = needed <= BLOCK_BITS ? block_bits : bits;
  int best = left.value + table(s, &left, words, cells);
  if (s->lane == 0) {
    trace(s, &left, words);
    b->best[number] = best;
  }
  __syncwarp();
  for (u32 i = s->lane; i < s->items; i += LANES)
    b->taken[first + i] = (uint8_t)is_inside(s, i);
  return true;
}

/* The problems of a list, or all; those that are too large go on the next list, where there is one.
 */
static __global__ void __launch_bounds__(LANES)
    small_solve(small_gpu_batch b, small_class most, int list) {
  DZO_BLOCK_MEMORY(u32, memory);
  __shared__ u32 block_bits[BLOCK_BITS], mask[SMALL_GPU_ITEMS / LANES];
  small_warp s;
  s.lane = threadIdx.x;
  s.item = reinterpret_cast<uint2 *>(memory);
  s.row = memory + 2 * most.items;
  s.kept = reinterpret_cast<uint16_t *>(s.row + most.row);
  s.mask = mask;
  u64 *counters = reinterpret_cast<u64 *>(b.counters), cells = 0;
  u32 count = list == 0 ? b.count : (u32)counters[SMALL_GPU_LATER + list - 1];
  const u32 *numbers = list == 0 ? NULL : b.later + (u64)(list - 1) * b.count;
  for (u32 k = blockIdx.x; k < count; k += gridDim.x) {
    u32 number = list == 0 ? k : numbers[k];
    bool solved = b.capacity[number] >= 0 && solve(&b, &most, &s, number, block_bits,
                                                   b.bits + (u64)blockIdx.x * most.words, &cells);
    bool later = !solved && b.capacity[number] >= 0 && list < 2;
    if (s.lane == 0 && later)
      b.later[(u64)list * b.count + (u32)atomicAdd(&counters[SMALL_GPU_LATER + list], 1ull)] =
          number;
    if (s.lane == 0 && !solved && !later)
      b.best[number] = -1;
    __syncwarp();
  }
  if (s.lane == 0)
    atomicAdd(&counters[SMALL_GPU_CELLS], cells);
}

/* Rows of 4 KB, of 24 KB, and as large as a block may have. */
static small_class class_of(const dzo_unit *unit, int list) {
  u32 all = DZO_KNAPSACK_SMALL / LANES + 2 * SMALL_GPU_ITEMS;
  if (list == 0)
    return {1024, 128, 4096};
  u64 fixed = (2 * sizeof(u32) + sizeof(uint16_t)) * SMALL_GPU_ITEMS +
              (BLOCK_BITS + SMALL_GPU_ITEMS / LANES) * sizeof(u32);
  u64 room = (unit->shared - fixed) / sizeof(u32) / LANES * LANES;
  u32 row = list == 1 && room > 6144 ? 6144 : (u32)room;
  return {row, SMALL_GPU_ITEMS, all};
}

static unsigned blocks_of(const dzo_unit *unit, int list) {
  static const unsigned each[3] = {27, 6, 1};
  return each[list] * (unsigned)unit->processors;
}

uint64_t small_gpu_bit_words(const dzo_unit *unit) {
  u64 most = 0;
  for (int list = 0; list < 3; list++) {
    u64 words = (u64)class_of(unit, list).words * blocks_of(unit, list);
    most = words > most ? words : most;
  }
  return most;
}

dzo_status small_gpu_launch(dzo_unit *unit, int queue, const small_gpu_batch *batch) {
  for (int list = 0; list < 3; list++) {
    small_class most = class_of(unit, list);
    u64 bytes = (2 * sizeof(u32) + sizeof(uint16_t)) * (u64)most.items + sizeof(u32) * most.row;
    unsigned blocks = blocks_of(unit, list);
    blocks = batch->count < blocks ? batch->count : blocks;
    DZO_TRY(DZO_LAUNCH_SHARED(unit, queue, small_solve, blocks, LANES, bytes, *batch, most, list));
  }
  return DZO_OK;
}
