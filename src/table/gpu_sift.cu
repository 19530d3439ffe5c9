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

/* Keys that are changed often are looked up before, so that not all wait for one word. A thread
 * takes several queries, so that their loads are on their way together. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_note(table_sift s, u64 mix) {
  u32 first = blockIdx.x * THREADS * EACH + threadIdx.x;
  bool changes[EACH];
  W keys[EACH] = {};
  filter_place at[EACH];
  u32 there[EACH];
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
    at[k] = place_in_filter(table_mixed(keys[k], mix), s.filter_words);
    there[k] = changes[k] ? dzo_load_shared(s.filter + at[k].word) : at[k].bits;
  }
#pragma unroll
  for (u32 k = 0; k < EACH; k++)
    if ((there[k] & at[k].bits) != at[k].bits)
      atomicOr(s.filter + at[k].word, at[k].bits);
}

/* ---- Finds ------------------------------------------------------------------------------------
 */

static __device__ __forceinline__ bool goes_first(const table_sift &s, u32 code) {
  return code == DZO_TABLE_ERASE && !s.ordered;
}

/* What a query of the rest is likely to come to; only other answers have to be delivered. */
static __device__ __forceinline__ uint8_t expected(u32 code) {
  return (uint8_t)(code == DZO_TABLE_FIND || code == DZO_TABLE_ERASE ? DZO_TABLE_FOUND
                                                                     : DZO_TABLE_INSERTED);
}

/* What a block leaves, and what it found. All threads. */
static __device__ __forceinline__ void count_rest(const table_sift &s, bool rest, u32 code,
                                                  bool found, table_counters *counters) {
  __shared__ u32 s_first, s_other, s_found;
  if (threadIdx.x == 0)
    s_first = s_other = s_found = 0;
  __syncthreads();
  u32 votes = __ballot_sync(DZO_WARP_ALL, rest);
  u32 first = __ballot_sync(DZO_WARP_ALL, rest && goes_first(s, code));
  u32 finds = __ballot_sync(DZO_WARP_ALL, found);
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (dzo_lane() == 0) {
    if (i < s.count)
      s.rest[i / 32] = votes;
    if (first != 0)
      atomicAdd(&s_first, (u32)__popc(first));
    if (votes != first)
      atomicAdd(&s_other, (u32)__popc(votes & ~first));
    if (finds != 0)
      atomicAdd(&s_found, (u32)__popc(finds));
  }
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  s.places[blockIdx.x] = s_first;
  s.places[s.blocks + blockIdx.x] = s_other;
  if (blockIdx.x == 0)
    s.places[2 * s.blocks] = 0;
  if (s_found > 0)
    atomicAdd((u64 *)&counters->found, (u64)s_found);
}

/* The filter should stay in the second-level cache. */
template <typename W, int S, bool ORDERED>
static __global__ void __launch_bounds__(THREADS)
    sift_finds(table_layout t, table_sift s, table_counters *counters) {
  u32 i = blockIdx.x * THREADS + threadIdx.x, code = DZO_TABLE_FIND;
  bool rest = false, found = false;
  if (i < s.count) {
    code = __ldcs(s.codes + i);
    rest = code != DZO_TABLE_FIND;
  }
  if (i < s.count && !rest) {
    W key = table_mixed(__ldcs((const W *)s.keys + i), t.mix), value = 0;
    if (ORDERED) {
      filter_place at = place_in_filter(key, s.filter_words);
      rest = (dzo_load_shared(s.filter + at.word) & at.bits) == at.bits;
    }
    found = !rest && table_get<W, S, ORDERED>(t, key, &value);
    if (!rest && s.results != NULL)
      __stcs((W *)s.results + i, found ? value : 0);
  }
  if (i < s.count && s.answers != NULL)
    __stcs(s.answers + i, rest    ? expected(code)
                          : found ? (uint8_t)DZO_TABLE_FOUND
                                  : (uint8_t)DZO_TABLE_ABSENT);
  count_rest(s, rest, code, found, counters);
}

/* ---- The rest ---------------------------------------------------------------------------------
 */

/* Where a block's queries of the rest stand in it, and their codes: those that go first from the
 * front, the others from the back. All lanes of a warp; how many there are of each. */
static __device__ __forceinline__ void list_rest(const table_sift &s, u32 begin, uint16_t *s_items,
                                                 u32 *first, u32 *others) {
  u32 at = begin + dzo_lane() * 32, words = 0;
  if (dzo_lane() < WARPS && at < s.count)
    words = s.rest[at / 32];
  *first = *others = 0;
#pragma unroll
  for (u32 k = 0; k < WARPS; k++) {
    u32 word = __shfl_sync(DZO_WARP_ALL, words, (int)k), place = k * 32 + dzo_lane(), code = 0;
    bool rest = (word >> dzo_lane() & 1) != 0;
    if (rest)
      code = s.codes[begin + place];
    u32 votes = __ballot_sync(DZO_WARP_ALL, rest && goes_first(s, code));
    u32 below = word & ~votes & dzo_lanes_below();
    if ((votes >> dzo_lane() & 1) != 0)
      s_items[*first + (u32)__popc(votes & dzo_lanes_below())] = (uint16_t)(code << 8 | place);
    else if (rest)
      s_items[THREADS - 1 - *others - (u32)__popc(below)] = (uint16_t)(code << 8 | place);
    *first += (u32)__popc(votes);
    *others += (u32)__popc(word & ~votes);
  }
  __syncwarp();
}

/* What a block left, a warp gathers. */
template <typename W> static __global__ void __launch_bounds__(THREADS) sift_gather(table_sift s) {
  __shared__ uint16_t s_items[WARPS][THREADS];
  u32 block = blockIdx.x * WARPS + threadIdx.x / 32, begin = block * THREADS, first, others;
  uint16_t *items = s_items[threadIdx.x / 32];
  if (block >= s.blocks)
    return;
  list_rest(s, begin, items, &first, &others);
  u32 to_first = s.places[block], to_others = s.places[s.blocks + block] - first;
  for (u32 j = dzo_lane(); j < first + others; j += 32) {
    u32 item = items[j < first ? j : THREADS - 1 - (j - first)], i = begin + (item & 0xff);
    u32 to = (j < first ? to_first : to_others) + j;
    s.from[to] = i;
    s.rest_codes[to] = (uint8_t)(item >> 8);
    ((W *)s.rest_keys)[to] = ((const W *)s.keys)[i];
    ((W *)s.rest_values)[to] = s.values != NULL ? ((const W *)s.values)[i] : 0;
  }
}

template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_deliver(table_sift s, u32 count) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= count)
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
  s->filter_words = s->ordered ? (u32)(words * FILTER_BITS) : 0;
  s->filter = (u32 *)take(memory, &used, (uint64_t)s->filter_words * sizeof(u32));
  s->rest = (u32 *)take(memory, &used, words * sizeof(u32));
  uint64_t counts = 2 * (uint64_t)s->blocks + 1;
  s->places = (u32 *)take(memory, &used, counts * sizeof(u32));
  s->scratch_bytes = dzo_gpu_sum_bytes(unit, counts);
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

template <typename W, int S>
static dzo_status finds(dzo_unit *unit, const table_layout *t, const table_sift *s,
                        table_counters *counters) {
  if (s->ordered) {
    DZO_TRY(dzo_unit_fill(unit, 0, s->filter, 0, (uint64_t)s->filter_words * sizeof(u32)));
    DZO_TRY(DZO_LAUNCH(unit, 0, sift_note<W>, (s->blocks + EACH - 1) / EACH, THREADS, *s, t->mix));
    DZO_TRY(DZO_LAUNCH(unit, 0, (sift_finds<W, S, true>), s->blocks, THREADS, *t, *s, counters));
  } else {
    DZO_TRY(DZO_LAUNCH(unit, 0, (sift_finds<W, S, false>), s->blocks, THREADS, *t, *s, counters));
  }
  return dzo_gpu_exclusive_sum_u32(unit, 0, s->scratch, s->scratch_bytes, s->places, s->places,
                                   2 * (uint64_t)s->blocks + 1);
}

dzo_status table_sift_finds(dzo_unit *unit, const table_layout *t, bool wide, const table_sift *s,
                            table_counters *counters) {
  if (t->bucket_slots == 4)
    return wide ? finds<u64, 4>(unit, t, s, counters) : finds<u32, 4>(unit, t, s, counters);
  return wide ? finds<u64, 8>(unit, t, s, counters) : finds<u32, 8>(unit, t, s, counters);
}

dzo_status table_sift_gather(dzo_unit *unit, bool wide, const table_sift *s) {
  return wide ? DZO_LAUNCH(unit, 0, sift_gather<u64>, (s->blocks + WARPS - 1) / WARPS, THREADS, *s)
              : DZO_LAUNCH(unit, 0, sift_gather<u32>, (s->blocks + WARPS - 1) / WARPS, THREADS, *s);
}

dzo_status table_sift_deliver(dzo_unit *unit, bool wide, const table_sift *s, uint64_t count) {
  u64 blocks = (count + THREADS - 1) / THREADS;
  return wide ? DZO_LAUNCH(unit, 0, sift_deliver<u64>, blocks, THREADS, *s, (u32)count)
              : DZO_LAUNCH(unit, 0, sift_deliver<u32>, blocks, THREADS, *s, (u32)count);
}
