/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_sift.h"

#include "device/primitives.h"
#include "dzo/table.h"
#include "table/gpu_find.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, EACH = 4 };
enum { FILTER_BITS = 2 }; /* of the filter, for each query of the batch */

/* ---- The filter -------------------------------------------------------------------------------
 */

typedef struct filter_place {
  u32 word, bits;
} filter_place;

static __device__ __forceinline__ u32 folded(u32 key) { return key; }
static __device__ __forceinline__ u32 folded(u64 key) { return (u32)(key ^ key >> 32); }

template <typename W>
static __device__ __forceinline__ filter_place place_in_filter(W mixed, u32 words) {
  u32 x = folded(mixed) * 0x85ebca6bu;
  x = (x ^ (x >> 16)) * 0xc2b2ae35u;
  u32 y = x * 0x9e3779b1u;
  return {__umulhi(x, words), 1u << (y >> 27) | 1u << (y >> 22 & 31)};
}

/* A thread takes several queries, so that their loads are on their way together. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_note(table_sift s, u64 mix) {
  u32 first = blockIdx.x * THREADS * EACH + threadIdx.x;
  bool changes[EACH];
  W keys[EACH] = {};
#pragma unroll
  for (u32 k = 0; k < EACH; k++)
    changes[k] =
        first + k * THREADS < s.count && __ldcs(s.codes + first + k * THREADS) != DZO_TABLE_FIND;
#pragma unroll
  for (u32 k = 0; k < EACH; k++)
    if (changes[k])
      keys[k] = __ldcs((const W *)s.keys + first + k * THREADS);
#pragma unroll
  for (u32 k = 0; k < EACH; k++) {
    filter_place at = place_in_filter(table_mixed(keys[k], mix), s.filter_words);
    if (changes[k])
      atomicOr(s.filter + at.word, at.bits);
  }
}

/* What a query of the rest is likely to come to; only other answers have to be delivered. */
static __device__ __forceinline__ uint8_t expected(u32 code) {
  return (uint8_t)(code == DZO_TABLE_FIND || code == DZO_TABLE_ERASE ? DZO_TABLE_FOUND
                                                                     : DZO_TABLE_INSERTED);
}

static __device__ __forceinline__ void put_answer(const table_sift &s, u32 i, bool rest, u32 code,
                                                  bool found) {
  if (s.answers != NULL)
    __stcs(s.answers + i, rest    ? expected(code)
                          : found ? (uint8_t)DZO_TABLE_FOUND
                                  : (uint8_t)DZO_TABLE_ABSENT);
}

/* What the block's warps bring, of those before this one; and the sum of all. */
static __device__ __forceinline__ u32 before_warp(const u32 *s_counts, u32 *sum) {
  u32 before = 0, all = 0;
#pragma unroll
  for (u32 w = 0; w < WARPS; w++) {
    before += w < threadIdx.x / 32 ? s_counts[w] : 0;
    all += s_counts[w];
  }
  *sum = all;
  return before;
}

static __device__ __forceinline__ void put_rest(const table_sift &s, u32 to, u32 i, u32 code) {
  s.from[to] = i;
  s.rest_codes[to] = (uint8_t)code;
}

/* ---- In any order -----------------------------------------------------------------------------
 */

/* Room in the rest is asked for before the finds look, and needed after. */
template <typename W, int S>
static __global__ void __launch_bounds__(THREADS)
    sift_any(table_layout t, table_sift s, table_counters *counters) {
  __shared__ u32 s_erases[WARPS], s_stores[WARPS], s_finds[WARPS], s_base[2];
  u32 i = blockIdx.x * THREADS + threadIdx.x, code = DZO_TABLE_FIND, sums[3];
  W key = 0, value = 0;
  if (i < s.count) {
    code = __ldcs(s.codes + i);
    key = __ldcs((const W *)s.keys + i);
  }
  bool erase = code == DZO_TABLE_ERASE, store = code != DZO_TABLE_FIND && !erase, found = false;
  u32 erases = __ballot_sync(DZO_WARP_ALL, erase), stores = __ballot_sync(DZO_WARP_ALL, store);
  if (dzo_lane() == 0) {
    s_erases[threadIdx.x / 32] = (u32)__popc(erases);
    s_stores[threadIdx.x / 32] = (u32)__popc(stores);
  }
  __syncthreads();
  u32 to = before_warp(erase ? s_erases : s_stores, &sums[0]) +
           (u32)__popc((erase ? erases : stores) & dzo_lanes_below());
  u64 base = 0;
  if (threadIdx.x == 0) {
    (void)before_warp(s_erases, &sums[0]);
    (void)before_warp(s_stores, &sums[1]);
    base = atomicAdd((u64 *)s.cursor, (u64)sums[1] << 32 | sums[0]);
  }
  if (i < s.count && !erase && !store) {
    found = table_get<W, S, false>(t, table_mixed(key, t.mix), &value);
    if (s.results != NULL)
      __stcs((W *)s.results + i, found ? value : 0);
  }
  if (i < s.count)
    put_answer(s, i, erase || store, code, found);
  if (store && s.values != NULL)
    value = __ldcs((const W *)s.values + i);
  u32 finds = __ballot_sync(DZO_WARP_ALL, found);
  if (dzo_lane() == 0)
    s_finds[threadIdx.x / 32] = (u32)__popc(finds);
  if (threadIdx.x == 0) {
    s_base[0] = (u32)base;
    s_base[1] = s.stores_at + (u32)(base >> 32);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    (void)before_warp(s_finds, &sums[2]);
    if (sums[2] > 0)
      atomicAdd((u64 *)&counters->found, (u64)sums[2]);
  }
  if (!erase && !store)
    return;
  to += s_base[erase ? 0 : 1];
  put_rest(s, to, i, code);
  ((W *)s.rest_keys)[to] = key;
  if (store)
    ((W *)s.rest_values)[to] = value;
}

/* ---- By position ------------------------------------------------------------------------------
 */

/* The filter should stay in the second-level cache. */
template <typename W, int S>
static __global__ void __launch_bounds__(THREADS)
    sift_ordered(table_layout t, table_sift s, table_counters *counters) {
  __shared__ u32 s_rest[WARPS], s_finds[WARPS];
  u32 i = blockIdx.x * THREADS + threadIdx.x, code = DZO_TABLE_FIND, sums[2];
  bool rest = false, found = false;
  if (i < s.count) {
    code = __ldcs(s.codes + i);
    rest = code != DZO_TABLE_FIND;
  }
  if (i < s.count && !rest) {
    W key = table_mixed(__ldcs((const W *)s.keys + i), t.mix), value = 0;
    filter_place at = place_in_filter(key, s.filter_words);
    rest = (dzo_load_shared(s.filter + at.word) & at.bits) == at.bits;
    found = !rest && table_get<W, S, true>(t, key, &value);
    if (!rest && s.results != NULL)
      __stcs((W *)s.results + i, found ? value : 0);
  }
  if (i < s.count)
    put_answer(s, i, rest, code, found);
  u32 votes = __ballot_sync(DZO_WARP_ALL, rest), finds = __ballot_sync(DZO_WARP_ALL, found);
  if (dzo_lane() == 0) {
    s_rest[threadIdx.x / 32] = (u32)__popc(votes);
    s_finds[threadIdx.x / 32] = (u32)__popc(finds);
    if (i < s.count)
      s.rest[i / 32] = votes;
  }
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  (void)before_warp(s_rest, &sums[0]);
  (void)before_warp(s_finds, &sums[1]);
  s.places[blockIdx.x] = sums[0];
  if (blockIdx.x == 0)
    s.places[s.blocks] = 0;
  if (sums[1] > 0)
    atomicAdd((u64 *)&counters->found, (u64)sums[1]);
}

/* What a block left, a warp gathers: where it stands first, so that all lanes have something to do
 * then. */
template <typename W> static __global__ void __launch_bounds__(THREADS) sift_gather(table_sift s) {
  __shared__ uint8_t s_items[WARPS][THREADS];
  u32 block = blockIdx.x * WARPS + threadIdx.x / 32, begin = block * THREADS, count = 0;
  uint8_t *items = s_items[threadIdx.x / 32];
  if (block >= s.blocks)
    return;
  u32 words = 0;
  if (dzo_lane() < WARPS && begin + dzo_lane() * 32 < s.count)
    words = s.rest[begin / 32 + dzo_lane()];
#pragma unroll
  for (u32 k = 0; k < WARPS; k++) {
    u32 word = __shfl_sync(DZO_WARP_ALL, words, (int)k);
    if ((word >> dzo_lane() & 1) != 0)
      items[count + (u32)__popc(word & dzo_lanes_below())] = (uint8_t)(k * 32 + dzo_lane());
    count += (u32)__popc(word);
  }
  __syncwarp();
  for (u32 j = dzo_lane(); j < count; j += 32) {
    u32 i = begin + items[j], to = s.places[block] + j, code = s.codes[i];
    put_rest(s, to, i, code);
    ((W *)s.rest_keys)[to] = ((const W *)s.keys)[i];
    ((W *)s.rest_values)[to] = s.values != NULL ? ((const W *)s.values)[i] : 0;
  }
}

/* ---- Answers ----------------------------------------------------------------------------------
 */

template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_deliver(table_sift s, u32 first, u32 end) {
  u32 i = first + blockIdx.x * THREADS + threadIdx.x;
  if (i >= end)
    return;
  u32 code = s.rest_codes[i];
  bool answer = s.answers != NULL && s.rest_answers[i] != expected(code);
  bool result = s.results != NULL && code == DZO_TABLE_FIND;
  if (!answer && !result)
    return;
  u32 to = s.from[i];
  if (answer)
    s.answers[to] = s.rest_answers[i];
  if (result)
    ((W *)s.results)[to] = ((const W *)s.rest_results)[i];
}

/* ---- From the host ----------------------------------------------------------------------------
 */

/* Takes `bytes` of the memory. */
static void *take(void *memory, uint64_t *used, uint64_t bytes) {
  void *at = memory != NULL ? (char *)memory + *used : NULL;
  *used += (bytes + 255) / 256 * 256;
  return at;
}

uint64_t table_sift_place(dzo_unit *unit, table_sift *s, void *memory) {
  uint64_t used = 0, words = ((uint64_t)s->count + 31) / 32;
  s->blocks = (s->count + THREADS - 1) / THREADS;
  s->cursor = (uint64_t *)take(memory, &used, sizeof *s->cursor);
  if (!s->ordered)
    return used;
  s->filter_words = (u32)(words * FILTER_BITS);
  s->filter = (u32 *)take(memory, &used, (uint64_t)s->filter_words * sizeof(u32));
  s->rest = (u32 *)take(memory, &used, words * sizeof(u32));
  s->places = (u32 *)take(memory, &used, ((uint64_t)s->blocks + 1) * sizeof(u32));
  s->scratch_bytes = dzo_gpu_sum_bytes(unit, (uint64_t)s->blocks + 1);
  s->scratch = take(memory, &used, s->scratch_bytes);
  return used;
}

uint64_t table_sift_place_rest(table_sift *s, bool wide, uint64_t count, void *memory) {
  uint64_t used = 0, word = wide ? 8 : 4;
  s->rest_keys = take(memory, &used, count * word);
  s->rest_values = take(memory, &used, count * word);
  s->rest_results = take(memory, &used, s->ordered && s->results != NULL ? count * word : 0);
  s->from = (u32 *)take(memory, &used, count * sizeof(u32));
  s->rest_codes = (uint8_t *)take(memory, &used, count);
  s->rest_answers = (uint8_t *)take(memory, &used, count);
  return used;
}

dzo_status table_sift_any(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                          table_counters *c) {
  DZO_TRY(dzo_unit_fill(unit, 0, s->cursor, 0, sizeof *s->cursor));
  if (t->bucket_slots == 4)
    return wide ? DZO_LAUNCH(unit, 0, (sift_any<u64, 4>), s->blocks, THREADS, *t, *s, c)
                : DZO_LAUNCH(unit, 0, (sift_any<u32, 4>), s->blocks, THREADS, *t, *s, c);
  return wide ? DZO_LAUNCH(unit, 0, (sift_any<u64, 8>), s->blocks, THREADS, *t, *s, c)
              : DZO_LAUNCH(unit, 0, (sift_any<u32, 8>), s->blocks, THREADS, *t, *s, c);
}

template <typename W, int S>
static dzo_status ordered(dzo_unit *unit, const table_layout *t, const table_sift *s,
                          table_counters *counters) {
  DZO_TRY(dzo_unit_fill(unit, 0, s->filter, 0, (uint64_t)s->filter_words * sizeof(u32)));
  DZO_TRY(DZO_LAUNCH(unit, 0, sift_note<W>, (s->blocks + EACH - 1) / EACH, THREADS, *s, t->mix));
  DZO_TRY(DZO_LAUNCH(unit, 0, (sift_ordered<W, S>), s->blocks, THREADS, *t, *s, counters));
  return dzo_gpu_exclusive_sum_u32(unit, 0, s->scratch, s->scratch_bytes, s->places, s->places,
                                   (uint64_t)s->blocks + 1);
}

dzo_status table_sift_ordered(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                              table_counters *counters) {
  if (t->bucket_slots == 4)
    return wide ? ordered<u64, 4>(unit, t, s, counters) : ordered<u32, 4>(unit, t, s, counters);
  return wide ? ordered<u64, 8>(unit, t, s, counters) : ordered<u32, 8>(unit, t, s, counters);
}

dzo_status table_sift_gather(dzo_unit *unit, bool wide, const table_sift *s) {
  u32 blocks = (s->blocks + WARPS - 1) / WARPS;
  return wide ? DZO_LAUNCH(unit, 0, sift_gather<u64>, blocks, THREADS, *s)
              : DZO_LAUNCH(unit, 0, sift_gather<u32>, blocks, THREADS, *s);
}

dzo_status table_sift_deliver(dzo_unit *unit, bool wide, const table_sift *s, uint64_t first,
                              uint64_t count) {
  u64 blocks = (count + THREADS - 1) / THREADS;
  u32 begin = (u32)first, end = (u32)(first + count);
  if (count == 0)
    return DZO_OK;
  return wide ? DZO_LAUNCH(unit, 0, sift_deliver<u64>, blocks, THREADS, *s, begin, end)
              : DZO_LAUNCH(unit, 0, sift_deliver<u32>, blocks, THREADS, *s, begin, end);
}
