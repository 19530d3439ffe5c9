/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A radix sort by the number of the part, from its low digits to its high ones. Each pass counts
 * the digits of each tile, sums the counts up, and writes each tile, sorted in shared memory, in
 * runs of one digit. Ranks are by position, so the sort is stable. */
#include "table/gpu_partition.h"

#include <string.h>

#include "device/primitives.h"
#include "dzo/table.h"
#include "table/gpu_word.cuh"

enum { THREADS = 1024, WARPS = THREADS / 32, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
enum { BLOCKS = (int)TABLE_THREADS_MOST / THREADS }; /* of a multiprocessor */
enum { TILE_BYTES = 1 << 15, MOST_ITEMS = 4 /* more would not fit the registers */ };

template <typename W, bool PAIRS> struct item_of { typedef W type; };
template <typename W> struct item_of<W, true> { typedef typename table_word<W>::slot type; };

/* A tile holds ITEMS of each thread. */
template <typename W, bool PAIRS> struct tile_of {
  enum { FIT = TILE_BYTES / THREADS / (int)sizeof(typename item_of<W, PAIRS>::type) };
  enum { ITEMS = (int)FIT < (int)MOST_ITEMS ? (int)FIT : (int)MOST_ITEMS };
  enum { COUNT = THREADS * ITEMS };
};

typedef struct pass {
  u64 mix, value;
  u32 parts, count;
  u32 blocks, each; /* each block does so many tiles, one after another */
  int shift, bits;
  bool mixed;
  const void *keys, *values; /* of the first pass */
  const void *from;          /* of the others */
  const uint8_t *codes_from;
  void *to;
  uint8_t *codes_to;
  u32 *offsets; /* [1 << bits][blocks] */
  table_way way;
} pass;

/* The mixed key of an item, of whichever kind. */
template <typename W, bool PAIRS> struct item_key {
  static __device__ __forceinline__ W of(W item) { return item; }
};
template <typename W> struct item_key<W, true> {
  static __device__ __forceinline__ W of(typename table_word<W>::slot item) {
    return table_slot_key(item);
  }
};

static __device__ __forceinline__ u32 part_of(u32 mixed, u32 parts) {
  return __umulhi(mixed, parts);
}
static __device__ __forceinline__ u32 part_of(u64 mixed, u32 parts) {
  return table_place64(mixed, parts).region;
}

template <typename W> static __device__ __forceinline__ u32 digit_of(const pass &p, W mixed) {
  return part_of(mixed, p.parts) >> p.shift & ((1u << p.bits) - 1);
}

/* The items first, first + 32, ... of those below `end`. Keys and values are each loaded in one go,
 * so that many loads are on their way. */
template <typename W, bool PAIRS, bool FIRST, int ITEMS> struct item_load {
  typedef typename item_of<W, PAIRS>::type item;
  static __device__ __forceinline__ void into(const pass &p, u32 first, u32 left, item *items) {
    const item *from = (const item *)p.from + first;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if (32u * k < left)
        items[k] = from[32 * k];
  }
};

template <typename W, int ITEMS, int STEP>
static __device__ __forceinline__ void load_keys(const pass &p, u32 first, u32 left, W *keys) {
  const W *from = (const W *)p.keys + first;
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)STEP * k < left)
      keys[k] = __ldg(from + STEP * k);
  if (p.mixed)
    return;
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    keys[k] = table_mixed(keys[k], p.mix);
}

template <typename W, int ITEMS> struct item_load<W, false, true, ITEMS> {
  static __device__ __forceinline__ void into(const pass &p, u32 first, u32 left, W *items) {
    load_keys<W, ITEMS, 32>(p, first, left, items);
  }
};
template <typename W, int ITEMS> struct item_load<W, true, true, ITEMS> {
  static __device__ __forceinline__ void into(const pass &p, u32 first, u32 left,
                                              typename table_word<W>::slot *items) {
    const W *from = (const W *)p.values + first;
    W keys[ITEMS] = {}, values[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      values[k] = (W)p.value;
    if (p.values != NULL) {
#pragma unroll
      for (int k = 0; k < ITEMS; k++)
        if (32u * k < left)
          values[k] = __ldg(from + 32 * k);
    }
    load_keys<W, ITEMS, 32>(p, first, left, keys);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      items[k] = table_slot_of(values[k], keys[k]);
  }
};

/* ---- Counting ---------------------------------------------------------------------------------
 */

template <typename W, bool PAIRS, bool FIRST, int ITEMS> struct key_load {
  static __device__ __forceinline__ void into(const pass &p, u32 first, u32 left, W *keys) {
    typename item_of<W, PAIRS>::type items[ITEMS] = {};
    const typename item_of<W, PAIRS>::type *from =
        (const typename item_of<W, PAIRS>::type *)p.from + first;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if ((u32)THREADS * k < left)
        items[k] = from[THREADS * k];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      keys[k] = item_key<W, PAIRS>::of(items[k]);
  }
};
template <typename W, bool PAIRS, int ITEMS> struct key_load<W, PAIRS, true, ITEMS> {
  static __device__ __forceinline__ void into(const pass &p, u32 first, u32 left, W *keys) {
    load_keys<W, ITEMS, THREADS>(p, first, left, keys);
  }
};

/* A counter for each digit and lane, so that the lanes of a warp are never in each other's way. */
template <typename W, bool PAIRS, bool FIRST>
static __global__ void __launch_bounds__(THREADS, BLOCKS) table_count_digits(pass p) {
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  __shared__ u32 s_count[DIGITS * 32];
  u32 digits = 1u << p.bits, lane = dzo_lane();
  for (u32 i = threadIdx.x; i < digits * 32; i += THREADS)
    s_count[i] = 0;
  __syncthreads();
  u32 tile = blockIdx.x * p.each * TILE;
  for (u32 n = 0; n < p.each && tile < p.count; n++, tile += TILE) {
    W keys[ITEMS] = {};
    u32 first = tile + threadIdx.x, left = first < p.count ? p.count - first : 0;
    key_load<W, PAIRS, FIRST, ITEMS>::into(p, first, left, keys);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if ((u32)THREADS * k < left)
        atomicAdd(&s_count[digit_of(p, keys[k]) * 32 + lane], 1u);
  }
  __syncthreads();
  for (u32 d = threadIdx.x; d < digits; d += THREADS) {
    u32 sum = 0;
    for (u32 i = 0; i < 32; i++)
      sum += s_count[d * 32 + (i + d) % 32];
    p.offsets[d * p.blocks + blockIdx.x] = sum;
  }
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

/* Sums of what threads 0 .. DIGITS - 1 bring, of those before each. All threads call. */
static __device__ u32 sum_before(u32 x, u32 *s_warp) {
  u32 up = x, lane = dzo_lane(), warp = threadIdx.x / 32;
  for (u32 by = 1; by < 32; by *= 2) {
    u32 other = __shfl_up_sync(DZO_WARP_ALL, up, by);
    if (lane >= by)
      up += other;
  }
  if (lane == 31)
    s_warp[warp] = up;
  __syncthreads();
  u32 before = 0;
#pragma unroll
  for (u32 w = 0; w < DIGITS / 32; w++)
    before += w < warp ? s_warp[w] : 0;
  return before + up - x;
}

/* What a thread knows of an item: its digit, and how many lanes have the same one, below and in
 * all; later its digit and its rank; in the end its place in the tile. */
template <int ITEMS>
static __device__ __forceinline__ void note_peers(u32 *notes, int bits, u32 left) {
  u32 peers[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    peers[k] = __ballot_sync(DZO_WARP_ALL, 32u * k < left);
  for (int b = 0; b < bits; b++) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      bool set = notes[k] >> b & 1;
      u32 votes = __ballot_sync(DZO_WARP_ALL, set);
      peers[k] &= set ? votes : ~votes;
    }
  }
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    notes[k] |= (u32)__popc(peers[k] & dzo_lanes_below()) << 8 | (u32)__popc(peers[k]) << 16;
}

/* The items of each digit in the warp's part of the tile get ranks, in order of position. */
template <int ITEMS>
static __device__ __forceinline__ void rank_in_warp(u32 *notes, u32 left, uint16_t *s_warp) {
  for (u32 d = dzo_lane(); d < DIGITS; d += 32)
    s_warp[d] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    u32 digit = notes[k] & 0xff, lower = notes[k] >> 8 & 0xff, all = notes[k] >> 16;
    bool valid = 32u * k < left;
    u32 before = valid ? s_warp[digit] : 0;
    __syncwarp();
    if (valid && lower == 0)
      s_warp[digit] = (uint16_t)(before + all);
    __syncwarp();
    notes[k] = digit | (before + lower) << 8;
  }
}

/* The warps' counts of digit d become sums over the warps before. */
static __device__ __forceinline__ u32 sum_over_warps(uint16_t (*s_rank)[DIGITS], u32 d) {
  u32 total = 0;
#pragma unroll
  for (int w = 0; w < WARPS; w++) {
    u32 here = s_rank[w][d];
    s_rank[w][d] = (uint16_t)total;
    total += here;
  }
  return total;
}

template <typename W, bool PAIRS> struct write_shared {
  union {
    uint16_t rank[WARPS][DIGITS];
    u32 count[DIGITS]; /* where any order will do */
    typename item_of<W, PAIRS>::type items[tile_of<W, PAIRS>::COUNT];
  };
  u32 start[DIGITS], base[DIGITS], sums[WARPS];
  uint8_t codes[PAIRS ? (int)tile_of<W, PAIRS>::COUNT : 1];
};

/* Codes to their places. */
template <int ITEMS>
static __device__ void stage_codes(const uint8_t *codes, const u32 *places, u32 left,
                                   uint8_t *s_codes) {
  uint8_t code[ITEMS] = {};
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (32u * k < left)
      code[k] = codes[32 * k];
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (32u * k < left)
      s_codes[places[k]] = code[k];
}

/* The same over the whole tile, in no order. All threads. */
template <int ITEMS>
static __device__ __forceinline__ void rank_in_block(u32 *notes, u32 left, u32 *s_count) {
  if (threadIdx.x < DIGITS)
    s_count[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (32u * k < left)
      notes[k] |= atomicAdd(&s_count[notes[k]], 1u) << 8;
}

/* A tile; *base: where the block's next item of digit threadIdx.x goes. */
template <typename W, bool PAIRS, bool FIRST, bool STABLE>
static __device__ __forceinline__ void write_tile(const pass &p, u32 number, u32 *base,
                                                  write_shared<W, PAIRS> *s) {
  typedef typename item_of<W, PAIRS>::type item;
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  u32 warp = threadIdx.x / 32, tile = number * TILE, d = threadIdx.x;
  u32 count = p.count - tile < TILE ? p.count - tile : (u32)TILE;
  u32 own = warp * 32 * ITEMS + dzo_lane(); /* the place of the thread's first item in the tile */
  u32 left = own < count ? count - own : 0;
  item items[ITEMS] = {};
  u32 notes[ITEMS];
  item_load<W, PAIRS, FIRST, ITEMS>::into(p, tile + own, left, items);
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    notes[k] = 32u * k < left ? digit_of(p, item_key<W, PAIRS>::of(items[k])) : 0;
  if (STABLE) {
    note_peers<ITEMS>(notes, p.bits, left);
    rank_in_warp<ITEMS>(notes, left, s->rank[warp]);
  } else {
    rank_in_block<ITEMS>(notes, left, s->count);
  }
  __syncthreads();
  u32 total = 0;
  if (d < DIGITS)
    total = STABLE ? sum_over_warps(s->rank, d) : s->count[d];
  u32 start = sum_before(total, s->sums);
  if (d < DIGITS) {
    s->start[d] = start;
    s->base[d] = *base - start;
    *base += total;
    if (p.way.places != NULL) {
      p.way.start[number * DIGITS + d] = (uint16_t)start;
      p.way.base[number * DIGITS + d] = s->base[d];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (32u * k < left) {
      u32 digit = notes[k] & 0xff, before = STABLE ? s->rank[warp][digit] : 0;
      notes[k] = s->start[digit] + before + (notes[k] >> 8);
    }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (32u * k < left)
      s->items[notes[k]] = items[k];
  if (PAIRS && p.codes_from != NULL)
    stage_codes<ITEMS>(p.codes_from + tile + own, notes, left, s->codes);
  if (p.way.places != NULL) {
    uint16_t *places = p.way.places + tile + own;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
      if (32u * k < left)
        places[32 * k] = (uint16_t)notes[k];
  }
  __syncthreads();
#pragma unroll 4
  for (u32 i = threadIdx.x; i < count; i += THREADS) {
    item x = s->items[i];
    u32 to = s->base[digit_of(p, item_key<W, PAIRS>::of(x))] + i;
    ((item *)p.to)[to] = x;
    if (PAIRS && p.codes_from != NULL)
      p.codes_to[to] = s->codes[i];
  }
}

template <typename W, bool PAIRS, bool FIRST, bool STABLE>
static __global__ void __launch_bounds__(THREADS, BLOCKS) table_write_digits(pass p) {
  __shared__ __align__(16) char memory[sizeof(write_shared<W, PAIRS>)];
  write_shared<W, PAIRS> *s = (write_shared<W, PAIRS> *)memory;
  u32 first = blockIdx.x * p.each, d = threadIdx.x;
  u32 base = d < 1u << p.bits ? p.offsets[d * p.blocks + blockIdx.x] : 0;
  for (u32 n = first; n < first + p.each; n++) {
    if ((u64)n * tile_of<W, PAIRS>::COUNT >= p.count)
      break;
    write_tile<W, PAIRS, FIRST, STABLE>(p, n, &base, s);
    __syncthreads();
  }
}

/* ---- The way back -----------------------------------------------------------------------------
 */

typedef struct way_back {
  u32 count, digits;
  table_way way;
  const void *values_from;
  void *values_to; /* NULL: none wanted */
  const uint8_t *answers_from;
  uint8_t *answers_to;
  const uint8_t *codes; /* not NULL: results of FIND only */
} way_back;

template <typename T, int ITEMS>
static __device__ __forceinline__ void fetch(const T *from, const u32 *places, u32 left, T *s_to) {
  T x[ITEMS] = {};
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      x[k] = __ldcs(from + places[k]);
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      s_to[k * THREADS] = x[k];
}

template <typename T, int ITEMS>
static __device__ __forceinline__ void deliver(T *to, const T *s_from, const uint16_t *places,
                                               u32 left) {
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      to[k * THREADS] = s_from[places[k]];
}

/* Results of finds only. */
template <typename T, int ITEMS>
static __device__ __forceinline__ void deliver_found(T *to, const T *s_from, const uint16_t *places,
                                                     u32 left, const uint8_t *codes) {
  uint8_t code[ITEMS] = {};
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      code[k] = codes[k * THREADS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left && code[k] == DZO_TABLE_FIND)
      to[k * THREADS] = s_from[places[k]];
}

template <typename W, bool PAIRS>
static __global__ void __launch_bounds__(THREADS, BLOCKS) table_go_back(way_back b) {
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  __shared__ W s_values[TILE];
  __shared__ uint8_t s_bytes[TILE]; /* digits, then answers */
  __shared__ u32 s_start[DIGITS + 1], s_base[DIGITS];
  u32 tile = blockIdx.x * TILE, d = threadIdx.x;
  u32 count = b.count - tile < TILE ? b.count - tile : (u32)TILE;
  u32 left = d < count ? count - d : 0, from[ITEMS] = {};
  uint16_t own[ITEMS] = {};
  const uint16_t *places = b.way.places + tile + d;
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      own[k] = places[k * THREADS];
  if (d < DIGITS) {
    s_start[d] = b.way.start[blockIdx.x * DIGITS + d];
    s_base[d] = b.way.base[blockIdx.x * DIGITS + d];
  }
  if (d == 0)
    s_start[DIGITS] = count;
  __syncthreads();
  for (u32 e = d / 32; e < b.digits; e += WARPS)
    for (u32 i = s_start[e] + dzo_lane(); i < s_start[e + 1]; i += 32)
      s_bytes[i] = (uint8_t)e;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if ((u32)k * THREADS < left)
      from[k] = s_base[s_bytes[k * THREADS + d]] + k * THREADS + d;
  if (b.values_to != NULL)
    fetch<W, ITEMS>((const W *)b.values_from, from, left, s_values + d);
  if (b.answers_to != NULL)
    fetch<uint8_t, ITEMS>(b.answers_from, from, left, s_bytes + d);
  __syncthreads();
  if (b.values_to != NULL && b.codes == NULL)
    deliver<W, ITEMS>((W *)b.values_to + tile + d, s_values, own, left);
  else if (b.values_to != NULL)
    deliver_found<W, ITEMS>((W *)b.values_to + tile + d, s_values, own, left, b.codes + tile + d);
  if (b.answers_to != NULL)
    deliver<uint8_t, ITEMS>(b.answers_to + tile + d, s_bytes, own, left);
}

/* ---- From the host ----------------------------------------------------------------------------
 */

static uint64_t item_bytes(const table_partition *p) {
  return (p->wide ? 8u : 4u) * (p->pairs ? 2u : 1u);
}

static void plan_passes(table_partition *p) {
  int bits = 0;
  while ((p->parts - 1) >> bits != 0)
    bits++;
  p->passes = bits <= DIGIT_BITS ? 1 : (bits + DIGIT_BITS - 1) / DIGIT_BITS;
  for (int i = 0, shift = 0; i < p->passes; i++) {
    p->shift[i] = shift;
    p->bits[i] = (bits - shift + p->passes - i - 1) / (p->passes - i);
    shift += p->bits[i];
  }
  uint64_t fit = TILE_BYTES / item_bytes(p), most = THREADS * MOST_ITEMS;
  uint64_t tile = fit < most ? fit : most;
  p->tiles = (p->count + tile - 1) / tile;
}

/* So many tiles a block does: more than one where there are enough for all multiprocessors. */
static uint64_t tiles_each(const dzo_unit *unit, const table_partition *p) {
  uint64_t each = p->tiles / (24 * (uint64_t)unit->processors);
  return each < 1 ? 1 : each > 4 ? 4 : each;
}

/* Takes `bytes` of the workspace. */
static void *take(char *workspace, uint64_t *used, uint64_t bytes) {
  void *at = workspace != NULL ? workspace + *used : NULL;
  *used += (bytes + 255) / 256 * 256;
  return at;
}

uint64_t table_partition_place(dzo_unit *unit, table_partition *p, void *workspace) {
  char *base = (char *)workspace;
  uint64_t used = 0, word = p->wide ? 8 : 4, most = 0;
  plan_passes(p);
  p->each = tiles_each(unit, p);
  p->blocks = (p->tiles + p->each - 1) / p->each;
  for (int i = 0; i < 2; i++) {
    p->items[i] = take(base, &used, p->count * item_bytes(p));
    p->codes[i] = p->coded ? (uint8_t *)take(base, &used, p->count) : NULL;
    p->values[i] = p->back && p->results ? take(base, &used, p->count * word) : NULL;
    p->answers[i] = p->back ? (uint8_t *)take(base, &used, p->count) : NULL;
  }
  for (int i = 0; i < p->passes; i++) {
    uint64_t counts = p->blocks << p->bits[i];
    most = counts > most ? counts : most;
    table_way *way = &p->ways[i];
    memset(way, 0, sizeof *way);
    if (!p->back)
      continue;
    way->places = (uint16_t *)take(base, &used, p->count * sizeof(uint16_t));
    way->start = (uint16_t *)take(base, &used, p->tiles * DIGITS * sizeof(uint16_t));
    way->base = (u32 *)take(base, &used, p->tiles * DIGITS * sizeof(u32));
  }
  p->offsets = (u32 *)take(base, &used, most * sizeof(u32));
  p->scratch_bytes = dzo_gpu_sum_bytes(unit, most);
  p->scratch = take(base, &used, p->scratch_bytes);
  return used;
}

template <typename W, bool PAIRS, bool FIRST, bool STABLE>
static dzo_status run_pass(dzo_unit *unit, const table_partition *p, const pass *q) {
  DZO_TRY(DZO_LAUNCH(unit, 0, (table_count_digits<W, PAIRS, FIRST>), q->blocks, THREADS, *q));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, p->scratch, p->scratch_bytes, q->offsets, q->offsets,
                                    (uint64_t)q->blocks << q->bits));
  return DZO_LAUNCH(unit, 0, (table_write_digits<W, PAIRS, FIRST, STABLE>), q->blocks, THREADS, *q);
}

template <typename W>
static dzo_status run_kind(dzo_unit *unit, const table_partition *p, const pass *q, bool first) {
  if (p->pairs)
    return first ? run_pass<W, true, true, true>(unit, p, q)
                 : run_pass<W, true, false, true>(unit, p, q);
  if (!first)
    return run_pass<W, false, false, true>(unit, p, q);
  return p->any ? run_pass<W, false, true, false>(unit, p, q)
                : run_pass<W, false, true, true>(unit, p, q);
}

dzo_status table_partition_run(dzo_unit *unit, table_partition *p, const void *keys, bool mixed,
                               const void *values, uint64_t value, const uint8_t *codes) {
  p->at = 1;
  for (int i = 0; i < p->passes; i++) {
    p->at ^= 1;
    pass q = {};
    q.parts = (u32)p->parts;
    q.mix = p->mix;
    q.value = value;
    q.count = (u32)p->count;
    q.blocks = (u32)p->blocks;
    q.each = (u32)p->each;
    q.shift = p->shift[i];
    q.bits = p->bits[i];
    q.mixed = mixed;
    q.keys = keys;
    q.values = values;
    q.from = p->items[p->at ^ 1];
    q.codes_from = i == 0 ? codes : p->codes[p->at ^ 1];
    q.to = p->items[p->at];
    q.codes_to = p->codes[p->at];
    q.offsets = p->offsets;
    q.way = p->ways[i];
    DZO_TRY(p->wide ? run_kind<u64>(unit, p, &q, i == 0) : run_kind<u32>(unit, p, &q, i == 0));
  }
  return DZO_OK;
}

template <typename W>
static dzo_status go_back(dzo_unit *unit, const table_partition *p, const way_back *b) {
  if (p->pairs)
    return DZO_LAUNCH(unit, 0, (table_go_back<W, true>), p->tiles, THREADS, *b);
  return DZO_LAUNCH(unit, 0, (table_go_back<W, false>), p->tiles, THREADS, *b);
}

dzo_status table_partition_back(dzo_unit *unit, table_partition *p, void *results, uint8_t *answers,
                                const uint8_t *codes) {
  for (int i = p->passes - 1, at = 0; i >= 0; i--, at ^= 1) {
    way_back b = {};
    b.count = (u32)p->count;
    b.digits = 1u << p->bits[i];
    b.way = p->ways[i];
    b.values_from = p->values[at];
    b.answers_from = p->answers[at];
    b.values_to = results == NULL ? NULL : i == 0 ? results : p->values[at ^ 1];
    b.answers_to = answers == NULL ? NULL : i == 0 ? answers : p->answers[at ^ 1];
    b.codes = i == 0 ? codes : NULL;
    DZO_TRY(p->wide ? go_back<u64>(unit, p, &b) : go_back<u32>(unit, p, &b));
  }
  return DZO_OK;
}
