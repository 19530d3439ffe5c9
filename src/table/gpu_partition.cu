/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A radix sort by the number of the part, from its low digits to its high ones. Each pass counts
 * the digits of each tile, sums the counts up, and writes each tile, sorted in shared memory, in
 * runs of one digit. Ranks are by position, so the sort is stable. */
#include "table/gpu_partition.h"

#include "device/primitives.h"
#include "dzo/table.h"
#include "table/gpu_word.cuh"

enum { THREADS = 512, WARPS = THREADS / 32, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
enum { TILE_BYTES = 1 << 15 };

template <typename W, bool PAIRS> struct item_of { typedef W type; };
template <typename W> struct item_of<W, true> { typedef typename table_word<W>::slot type; };

/* A tile holds ITEMS of each thread. */
template <typename W, bool PAIRS> struct tile_of {
  enum { ITEMS = TILE_BYTES / THREADS / (int)sizeof(typename item_of<W, PAIRS>::type) };
  enum { COUNT = THREADS * ITEMS };
};

typedef struct pass {
  u64 parts, mix, value;
  u32 count, tiles;
  int shift, bits;
  bool mixed;
  const void *keys, *values; /* of the first pass */
  const void *from;          /* of the others */
  const uint8_t *codes_from;
  void *to;
  uint8_t *codes_to;
  u32 *offsets;
  uint16_t *places; /* NULL: there is no way back */
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

template <typename W, bool PAIRS>
static __device__ __forceinline__ u32 digit_of(const pass &p,
                                               typename item_of<W, PAIRS>::type item) {
  u32 part = table_place_of(item_key<W, PAIRS>::of(item), p.parts).region;
  return part >> p.shift & ((1u << p.bits) - 1);
}

template <typename W> static __device__ __forceinline__ W first_key(const pass &p, u32 i) {
  W key = __ldg((const W *)p.keys + i);
  return p.mixed ? key : table_mixed(key, p.mix);
}

template <typename W, bool PAIRS, bool FIRST> struct item_load;
template <typename W, bool PAIRS> struct item_load<W, PAIRS, false> {
  static __device__ __forceinline__ typename item_of<W, PAIRS>::type from(const pass &p, u32 i) {
    return ((const typename item_of<W, PAIRS>::type *)p.from)[i];
  }
};
template <typename W> struct item_load<W, false, true> {
  static __device__ __forceinline__ W from(const pass &p, u32 i) { return first_key<W>(p, i); }
};
template <typename W> struct item_load<W, true, true> {
  static __device__ __forceinline__ typename table_word<W>::slot from(const pass &p, u32 i) {
    W value = p.values != NULL ? __ldg((const W *)p.values + i) : (W)p.value;
    return table_slot_of(value, first_key<W>(p, i));
  }
};

/* ---- Counting ---------------------------------------------------------------------------------
 */

template <typename W, bool PAIRS, bool FIRST>
static __global__ void __launch_bounds__(THREADS) table_count_digits(pass p) {
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  __shared__ u32 s_count[DIGITS];
  for (u32 d = threadIdx.x; d < DIGITS; d += THREADS)
    s_count[d] = 0;
  __syncthreads();
  u32 digit[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    u32 i = blockIdx.x * TILE + (u32)k * THREADS + threadIdx.x;
    digit[k] = DIGITS;
    if (i >= p.count)
      continue;
    if (FIRST)
      digit[k] = digit_of<W, false>(p, first_key<W>(p, i));
    else
      digit[k] = digit_of<W, PAIRS>(p, item_load<W, PAIRS, false>::from(p, i));
  }
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (digit[k] < DIGITS)
      atomicAdd(&s_count[digit[k]], 1u);
  __syncthreads();
  for (u32 d = threadIdx.x; d < 1u << p.bits; d += THREADS)
    p.offsets[d * p.tiles + blockIdx.x] = s_count[d];
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
  for (u32 w = 0; w < warp && w < DIGITS / 32; w++)
    before += s_warp[w];
  return before + up - x;
}

/* Lanes with the same digit as this one, among those that have one. */
static __device__ __forceinline__ u32 same_digit(u32 digit, bool valid) {
  u32 peers = __ballot_sync(DZO_WARP_ALL, valid);
#pragma unroll
  for (int b = 0; b < DIGIT_BITS; b++) {
    bool set = digit >> b & 1;
    u32 votes = __ballot_sync(DZO_WARP_ALL, set);
    peers &= set ? votes : ~votes;
  }
  return peers;
}

/* How many of the warp's items before this one have its digit; counts them. */
static __device__ __forceinline__ u32 rank_in_warp(u32 digit, bool valid, uint16_t *s_warp) {
  u32 peers = same_digit(digit, valid), lower = peers & dzo_lanes_below();
  u32 before = valid ? s_warp[digit] : 0;
  __syncwarp();
  if (valid && lower == 0)
    s_warp[digit] = (uint16_t)(before + (u32)__popc(peers));
  __syncwarp();
  return before + (u32)__popc(lower);
}

template <typename W, bool PAIRS, bool FIRST>
static __global__ void __launch_bounds__(THREADS) table_write_digits(pass p) {
  typedef typename item_of<W, PAIRS>::type item;
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  __shared__ __align__(16) item s_items[TILE];
  __shared__ uint8_t s_codes[PAIRS ? TILE : 1];
  __shared__ uint16_t s_rank[WARPS][DIGITS];
  __shared__ u32 s_start[DIGITS], s_base[DIGITS], s_sums[WARPS];
  u32 warp = threadIdx.x / 32, lane = dzo_lane(), tile = blockIdx.x * TILE;
  u32 count = p.count - tile < TILE ? p.count - tile : (u32)TILE;
  u32 own = warp * 32 * ITEMS + lane; /* the place of the thread's first item in the tile */
  item items[ITEMS];
  u32 ranks[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++)
    if (own + 32 * k < count)
      items[k] = item_load<W, PAIRS, FIRST>::from(p, tile + own + 32 * k);
  for (u32 d = lane; d < DIGITS; d += 32)
    s_rank[warp][d] = 0;
  __syncwarp();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    bool valid = own + 32 * k < count;
    u32 digit = valid ? digit_of<W, PAIRS>(p, items[k]) : 0;
    ranks[k] = rank_in_warp(digit, valid, s_rank[warp]) | digit << 16;
  }
  __syncthreads();
  u32 d = threadIdx.x, total = 0;
  if (d < DIGITS)
    for (int w = 0; w < WARPS; w++) {
      u32 here = s_rank[w][d];
      s_rank[w][d] = (uint16_t)total;
      total += here;
    }
  u32 start = sum_before(d < DIGITS ? total : 0, s_sums);
  if (d < DIGITS) {
    s_start[d] = start;
    s_base[d] = (d < 1u << p.bits ? p.offsets[d * p.tiles + blockIdx.x] : 0) - start;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    if (own + 32 * k >= count)
      continue;
    u32 digit = ranks[k] >> 16;
    u32 place = s_start[digit] + s_rank[warp][digit] + (ranks[k] & 0xffff);
    s_items[place] = items[k];
    if (PAIRS && p.codes_from != NULL)
      s_codes[place] = p.codes_from[tile + own + 32 * k];
    if (p.places != NULL)
      p.places[tile + own + 32 * k] = (uint16_t)place;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    u32 i = (u32)k * THREADS + threadIdx.x;
    if (i >= count)
      continue;
    item x = s_items[i];
    u32 to = s_base[digit_of<W, PAIRS>(p, x)] + i;
    ((item *)p.to)[to] = x;
    if (PAIRS && p.codes_from != NULL)
      p.codes_to[to] = s_codes[i];
  }
}

/* ---- The way back -----------------------------------------------------------------------------
 */

typedef struct way_back {
  u32 count, tiles;
  int bits;
  const u32 *offsets;
  const uint16_t *places;
  const void *values_from;
  void *values_to; /* NULL: none wanted */
  const uint8_t *answers_from;
  uint8_t *answers_to;
  const uint8_t *codes; /* not NULL: results of FIND only */
} way_back;

template <typename W, bool PAIRS>
static __global__ void __launch_bounds__(THREADS) table_go_back(way_back b) {
  enum { ITEMS = tile_of<W, PAIRS>::ITEMS, TILE = tile_of<W, PAIRS>::COUNT };
  __shared__ W s_values[TILE];
  __shared__ uint8_t s_bytes[TILE]; /* digits, then answers */
  __shared__ u32 s_start[DIGITS + 1], s_base[DIGITS], s_sums[WARPS];
  u32 tile = blockIdx.x * TILE, digits = 1u << b.bits;
  u32 count = b.count - tile < TILE ? b.count - tile : (u32)TILE;
  u32 d = threadIdx.x, here = 0, offset = 0;
  if (d < digits) {
    u32 at = d * b.tiles + blockIdx.x;
    offset = b.offsets[at];
    here = (at + 1 < digits * b.tiles ? b.offsets[at + 1] : b.count) - offset;
  }
  u32 start = sum_before(here, s_sums);
  if (d < DIGITS) {
    s_start[d] = start;
    s_base[d] = offset - start;
  }
  if (d == 0)
    s_start[DIGITS] = count;
  __syncthreads();
  for (u32 e = threadIdx.x / 32; e < digits; e += WARPS)
    for (u32 i = s_start[e] + dzo_lane(); i < s_start[e + 1]; i += 32)
      s_bytes[i] = (uint8_t)e;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    u32 i = (u32)k * THREADS + threadIdx.x;
    if (i >= count)
      continue;
    u32 from = s_base[s_bytes[i]] + i;
    if (b.values_to != NULL)
      s_values[i] = ((const W *)b.values_from)[from];
    if (b.answers_to != NULL)
      s_bytes[i] = b.answers_from[from];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    u32 i = (u32)k * THREADS + threadIdx.x;
    if (i >= count)
      continue;
    u32 place = b.places[tile + i];
    if (b.values_to != NULL && (b.codes == NULL || b.codes[tile + i] == DZO_TABLE_FIND))
      ((W *)b.values_to)[tile + i] = s_values[place];
    if (b.answers_to != NULL)
      b.answers_to[tile + i] = s_bytes[place];
  }
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
  uint64_t tile = TILE_BYTES / item_bytes(p);
  p->tiles = (p->count + tile - 1) / tile;
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
  for (int i = 0; i < 2; i++) {
    p->items[i] = take(base, &used, p->count * item_bytes(p));
    p->codes[i] = p->coded ? (uint8_t *)take(base, &used, p->count) : NULL;
    p->values[i] = p->back && p->results ? take(base, &used, p->count * word) : NULL;
    p->answers[i] = p->back ? (uint8_t *)take(base, &used, p->count) : NULL;
  }
  for (int i = 0; i < p->passes; i++) {
    uint64_t counts = p->tiles << p->bits[i];
    p->places[i] = p->back ? (uint16_t *)take(base, &used, p->count * sizeof(uint16_t)) : NULL;
    p->offsets[i] = (u32 *)take(base, &used, counts * sizeof(u32));
    most = counts > most ? counts : most;
  }
  p->scratch_bytes = dzo_gpu_sum_bytes(unit, most);
  p->scratch = take(base, &used, p->scratch_bytes);
  return used;
}

template <typename W, bool PAIRS, bool FIRST>
static dzo_status run_pass(dzo_unit *unit, const table_partition *p, const pass *q) {
  DZO_TRY(DZO_LAUNCH(unit, 0, (table_count_digits<W, PAIRS, FIRST>), q->tiles, THREADS, *q));
  DZO_TRY(dzo_gpu_exclusive_sum_u32(unit, 0, p->scratch, p->scratch_bytes, q->offsets, q->offsets,
                                    (uint64_t)q->tiles << q->bits));
  return DZO_LAUNCH(unit, 0, (table_write_digits<W, PAIRS, FIRST>), q->tiles, THREADS, *q);
}

template <typename W>
static dzo_status run_kind(dzo_unit *unit, const table_partition *p, const pass *q, bool first) {
  if (p->pairs)
    return first ? run_pass<W, true, true>(unit, p, q) : run_pass<W, true, false>(unit, p, q);
  return first ? run_pass<W, false, true>(unit, p, q) : run_pass<W, false, false>(unit, p, q);
}

dzo_status table_partition_run(dzo_unit *unit, table_partition *p, const void *keys, bool mixed,
                               const void *values, uint64_t value, const uint8_t *codes) {
  p->at = 1;
  for (int i = 0; i < p->passes; i++) {
    p->at ^= 1;
    pass q = {};
    q.parts = p->parts;
    q.mix = p->mix;
    q.value = value;
    q.count = (u32)p->count;
    q.tiles = (u32)p->tiles;
    q.shift = p->shift[i];
    q.bits = p->bits[i];
    q.mixed = mixed;
    q.keys = keys;
    q.values = values;
    q.from = p->items[p->at ^ 1];
    q.codes_from = i == 0 ? codes : p->codes[p->at ^ 1];
    q.to = p->items[p->at];
    q.codes_to = p->codes[p->at];
    q.offsets = p->offsets[i];
    q.places = p->places[i];
    DZO_TRY(p->wide ? run_kind<u64>(unit, p, &q, i == 0) : run_kind<u32>(unit, p, &q, i == 0));
  }
  return DZO_OK;
}

template <typename W>
static dzo_status go_back(dzo_unit *unit, const table_partition *p, const way_back *b) {
  if (p->pairs)
    return DZO_LAUNCH(unit, 0, (table_go_back<W, true>), b->tiles, THREADS, *b);
  return DZO_LAUNCH(unit, 0, (table_go_back<W, false>), b->tiles, THREADS, *b);
}

dzo_status table_partition_back(dzo_unit *unit, table_partition *p, void *results, uint8_t *answers,
                                const uint8_t *codes) {
  for (int i = p->passes - 1, at = 0; i >= 0; i--, at ^= 1) {
    way_back b = {};
    b.count = (u32)p->count;
    b.tiles = (u32)p->tiles;
    b.bits = p->bits[i];
    b.offsets = p->offsets[i];
    b.places = p->places[i];
    b.values_from = p->values[at];
    b.answers_from = p->answers[at];
    b.values_to = results == NULL ? NULL : i == 0 ? results : p->values[at ^ 1];
    b.answers_to = answers == NULL ? NULL : i == 0 ? answers : p->answers[at ^ 1];
    b.codes = i == 0 ? codes : NULL;
    DZO_TRY(p->wide ? go_back<u64>(unit, p, &b) : go_back<u32>(unit, p, &b));
  }
  return DZO_OK;
}
