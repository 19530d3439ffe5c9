/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A warp solves a small problem as the CPU does (small_reduce.c, small.c): what every optimal set
 * agrees on is fixed, then a table decides on the rest. Its row of values lies in shared memory and
 * is updated in place from high capacities to low ones; of each level a bit for each capacity is
 * kept, which says whether the item is taken there. Fixing may find other items than on the CPU,
 * the set is the same. Where too much is left for a warp, a block fills the table, with two rows.
 */
#include "device/cuda.h"
#include "knapsack/small_gpu.h"

typedef unsigned long long u64;
typedef long long i64;
typedef uint32_t u32;

enum {
  LANES = 32,
  ROUNDS = 3,
  PAIRS = 1 << 15,
  CELLS = 4,
  WARP_ROW = 1024,
  WARP_BITS = 512, /* words */
  WEIGHT_BITS = 21 /* of a weight, when the number of its item stands above them */
};

/* A launch: what the table of a list may have at most. */
typedef struct small_class {
  u32 row, words; /* cells of a row; words of bits */
} small_class;
typedef struct small_classes {
  small_class of[SMALL_GPU_LISTS];
} small_classes;

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
  int weight = (int)item.y, least = max(low, weight), most = min(high, edge);
  for (int base = high & -LANES; base > low - LANES; base -= CELLS * LANES) {
    int best[CELLS];
    u32 word = 0;
    bool whole = base - (CELLS - 1) * LANES >= least && base + LANES - 1 <= most;
    if (whole) {
      const u32 *stay = s->row + base + s->lane, *take = stay - weight;
#pragma unroll
      for (int k = 0; k < CELLS; k++) {
        best[k] = (int)stay[-k * LANES];
        int with = (int)(take[-k * LANES] + item.x);
        u32 takes = __ballot_sync(DZO_WARP_ALL, with > best[k]);
        word = s->lane == (u32)k ? takes : word;
        best[k] = max(best[k], with);
      }
    } else {
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
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
      int x = base - k * LANES + (int)s->lane;
      if (whole || (x >= low && x <= high))
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

/* Leave it to a block: the items that are left replace the problem's. */
static __device__ void hand_over(const small_gpu_batch *b, const small_classes *classes,
                                 const small_warp *s, u32 number, const small_left *left) {
  u32 first = b->offset[number], list = 0, words = (u32)left->capacity / LANES + 1;
  while (list < SMALL_GPU_LISTS && ((u32)left->capacity >= classes->of[list].row ||
                                    (u64)words * left->items > classes->of[list].words))
    list++;
  for (u32 j = s->lane; j < left->items; j += LANES)
    b->item[first + j] = {s->item[j].x, s->item[j].y | (u32)s->kept[j] << WEIGHT_BITS};
  if (s->lane != 0)
    return;
  if (list == SMALL_GPU_LISTS) {
    b->best[number] = -1;
    return;
  }
  u64 at = atomicAdd(reinterpret_cast<u64 *>(b->counters) + list, 1ull);
  b->rest[(u64)list * b->count + at] = {number, left->items, left->capacity, left->value};
}

static __device__ void solve(const small_gpu_batch *b, const small_classes *classes, small_warp *s,
                             u32 number, u64 *cells) {
  u32 first = b->offset[number];
  s->items = b->offset[number + 1] - first;
  s->capacity = b->capacity[number];
  for (u32 i = s->lane; i < s->items; i += LANES)
    s->item[i] = make_uint2(b->item[first + i].value, b->item[first + i].weight);
  __syncwarp();
  small_left left = reduce(s);
  u32 words = (u32)left.capacity / LANES + 1;
  bool fits = left.capacity < WARP_ROW && (u64)words * left.items <= WARP_BITS;
  if (fits) {
    int best = left.value + table(s, &left, words, cells);
    if (s->lane == 0) {
      trace(s, &left, words);
      b->best[number] = best;
    }
  } else {
    hand_over(b, classes, s, number, &left);
  }
  __syncwarp();
  for (u32 i = s->lane; i < s->items; i += LANES)
    b->taken[first + i] = (uint8_t)is_inside(s, i);
  __syncwarp();
}

/* Items, row and numbers of the kept items come from the block's memory. */
static __global__ void __launch_bounds__(LANES)
    small_solve(small_gpu_batch b, small_classes classes, u32 items) {
  DZO_BLOCK_MEMORY(u32, memory);
  __shared__ u32 bits[WARP_BITS], mask[SMALL_GPU_ITEMS / LANES];
  small_warp s;
  s.lane = threadIdx.x;
  s.item = reinterpret_cast<uint2 *>(memory);
  s.row = memory + 2 * items;
  s.kept = reinterpret_cast<uint16_t *>(s.row + WARP_ROW);
  s.mask = mask;
  s.bits = bits;
  u64 cells = 0;
  for (u32 number = blockIdx.x; number < b.count; number += gridDim.x)
    if (b.capacity[number] >= 0)
      solve(&b, &classes, &s, number, &cells);
  if (s.lane == 0)
    atomicAdd(reinterpret_cast<u64 *>(b.counters) + SMALL_GPU_CELLS, cells);
}

/* ---- Tables by blocks ------------------------------------------------------------------------ */

/* CELLS times 32 cells by a warp, from capacity `base` on, all of which have both choices. */
static __device__ __forceinline__ u32 whole_cells(const u32 *in, u32 *out, int base, uint2 item) {
  const int lane = (int)dzo_lane();
  const u32 *stay = in + base + lane, *take = stay - (int)item.y;
  int best[CELLS], with[CELLS];
  u32 word = 0;
#pragma unroll
  for (int k = 0; k < CELLS; k++) {
    best[k] = (int)stay[k * LANES];
    with[k] = (int)(take[k * LANES] + item.x);
  }
#pragma unroll
  for (int k = 0; k < CELLS; k++) {
    u32 takes = __ballot_sync(DZO_WARP_ALL, with[k] > best[k]);
    word = lane == k ? takes : word;
    out[base + k * LANES + lane] = (u32)max(best[k], with[k]);
  }
  return word;
}

/* The same for those of low .. high, where a choice may be missing. */
static __device__ __forceinline__ u32 part_cells(const u32 *in, u32 *out, int base, uint2 item,
                                                 int low, int high, int edge, int all) {
  const int lane = (int)dzo_lane();
  u32 word = 0;
  for (int k = 0; k < CELLS; k++) {
    int x = base + k * LANES + lane;
    bool active = x >= low && x <= high;
    int stay = !active || x > edge ? all : (int)in[x];
    int with = active && x >= (int)item.y ? (int)(in[x - (int)item.y] + item.x) : -1;
    u32 takes = __ballot_sync(DZO_WARP_ALL, with > stay);
    word = lane == k ? takes : word;
    if (active)
      out[x] = (u32)max(stay, with);
  }
  return word;
}

/* One level by all threads of a block, from a row into another; as level() does otherwise. */
static __device__ void block_level(const u32 *in, u32 *out, uint2 item, int low, int high, int edge,
                                   int all, u32 *bits) {
  const int lane = (int)dzo_lane(), least = max(low, (int)item.y), most = min(high, edge);
  for (int base = (low & -LANES) + (int)(threadIdx.x - dzo_lane()) * CELLS; base <= high;
       base += (int)blockDim.x * CELLS) {
    bool whole = base >= least && base + CELLS * LANES - 1 <= most;
    u32 word = whole ? whole_cells(in, out, base, item)
                     : part_cells(in, out, base, item, low, high, edge, all);
    if (lane < CELLS && base + lane * LANES <= high)
      bits[base / LANES + lane] = word;
  }
}

/* By one thread, back from the last capacity. */
static __device__ void block_trace(const uint2 *item, const small_gpu_rest *rest, int weight,
                                   const u32 *bits, u32 words, uint8_t *taken) {
  int x = rest->capacity;
  for (u32 j = rest->items; j-- > 0;) {
    int one = (int)(item[j].y & ((1u << WEIGHT_BITS) - 1));
    weight -= one;
    if (bits[(u64)j * words + (u32)x / LANES] >> ((u32)x % LANES) & 1) {
      taken[item[j].y >> WEIGHT_BITS] = 1;
      x -= one;
    }
    x = min(x, weight);
  }
}

/* Two rows, and the items before them. */
static __device__ void block_solve(const small_gpu_batch *b, const small_gpu_rest *rest,
                                   uint2 *item, u32 *rows, u32 row, u32 *bits, u64 *cells) {
  u32 first = b->offset[rest->number], words = (u32)rest->capacity / LANES + 1;
  for (u32 j = threadIdx.x; j < rest->items; j += blockDim.x)
    item[j] = make_uint2(b->item[first + j].value, b->item[first + j].weight);
  if (threadIdx.x == 0)
    rows[0] = 0;
  __syncthreads();
  int behind = 0, edge = 0, all = 0;
  for (u32 j = 0; j < rest->items; j++)
    behind += (int)(item[j].y & ((1u << WEIGHT_BITS) - 1));
  int weight = behind;
  for (u32 j = 0; j < rest->items; j++) {
    uint2 one = make_uint2(item[j].x, item[j].y & ((1u << WEIGHT_BITS) - 1));
    behind -= (int)one.y;
    int low = max(0, rest->capacity - behind), high = min(rest->capacity, edge + (int)one.y);
    block_level(rows + j % 2 * row, rows + (j + 1) % 2 * row, one, low, high, edge, all,
                bits + (u64)j * words);
    edge = high;
    all += (int)one.x;
    *cells += (u64)(high - low + 1);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    b->best[rest->number] = rest->value + (int)rows[rest->items % 2 * row + (u32)rest->capacity];
    block_trace(item, rest, weight, bits, words, b->taken + first);
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(1024)
    small_tables(small_gpu_batch b, small_class most, u32 list) {
  DZO_BLOCK_MEMORY(u32, memory);
  u64 *counters = reinterpret_cast<u64 *>(b.counters), cells = 0;
  u32 count = (u32)counters[list];
  uint2 *item = reinterpret_cast<uint2 *>(memory);
  for (u32 k = blockIdx.x; k < count; k += gridDim.x)
    block_solve(&b, &b.rest[(u64)list * b.count + k], item, memory + 2 * b.most_items, most.row,
                b.bits + (u64)blockIdx.x * most.words, &cells);
  if (threadIdx.x == 0)
    atomicAdd(&counters[SMALL_GPU_CELLS], cells);
}

/* ---- Launches -------------------------------------------------------------------------------- */

static const struct {
  u32 row, words, threads, blocks; /* blocks: of a multiprocessor */
} shapes[SMALL_GPU_LISTS] = {
    {2304, 8192, 128, 12},
    {5120, 16384, 256, 5},
    {10240, DZO_KNAPSACK_SMALL / LANES + SMALL_GPU_ITEMS, 512, 2},
    {28000, DZO_KNAPSACK_SMALL / LANES + SMALL_GPU_ITEMS, 1024, 1},
};

static small_class class_of(const dzo_unit *unit, int list) {
  u32 room = (u32)(unit->shared - SMALL_GPU_ITEMS * sizeof(uint2)) / (2 * sizeof(u32));
  return {shapes[list].row < room ? shapes[list].row : room, shapes[list].words};
}

uint64_t small_gpu_bit_words(const dzo_unit *unit) {
  u64 most = 0;
  for (int list = 0; list < SMALL_GPU_LISTS; list++) {
    u64 words = (u64)shapes[list].words * shapes[list].blocks * (unsigned)unit->processors;
    most = words > most ? words : most;
  }
  return most;
}

/* Blocks of so many bytes of shared memory that the GPU holds at once. */
static u32 blocks_for(const dzo_unit *unit, u64 bytes) {
  u64 each = unit->shared_all / (bytes + 1024);
  return (u32)(each > 32 ? 32 : each < 1 ? 1 : each) * (u32)unit->processors;
}

dzo_status small_gpu_launch(dzo_unit *unit, int queue, const small_gpu_batch *batch) {
  u32 items = (batch->most_items + LANES - 1) / LANES * LANES;
  u64 bytes = (sizeof(uint2) + sizeof(uint16_t)) * (u64)items + sizeof(u32) * WARP_ROW;
  u64 fixed = sizeof(u32) * (WARP_BITS + SMALL_GPU_ITEMS / LANES);
  small_classes classes;
  for (int list = 0; list < SMALL_GPU_LISTS; list++)
    classes.of[list] = class_of(unit, list);
  u32 blocks = blocks_for(unit, bytes + fixed);
  blocks = batch->count < blocks ? batch->count : blocks;
  DZO_TRY(
      DZO_LAUNCH_SHARED(unit, queue, small_solve, blocks, LANES, bytes, *batch, classes, items));
  for (int list = 0; list < SMALL_GPU_LISTS; list++) {
    u64 rows = sizeof(uint2) * (u64)batch->most_items + 2 * sizeof(u32) * (u64)classes.of[list].row;
    u32 most = shapes[list].blocks * (u32)unit->processors;
    DZO_TRY(DZO_LAUNCH_SHARED(unit, queue, small_tables, batch->count < most ? batch->count : most,
                              shapes[list].threads, rows, *batch, classes.of[list], (u32)list));
  }
  return DZO_OK;
}
