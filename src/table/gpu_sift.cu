/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_sift.h"

#include "device/primitives.h"
#include "dzo/table.h"
#include "table/gpu_find.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };
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

/* Keys that are changed often are looked up before, so that not all wait for one word. */
template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_note(table_sift s, u64 mix) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= s.count || s.codes[i] == DZO_TABLE_FIND)
    return;
  filter_place at = place_in_filter(table_mixed(((const W *)s.keys)[i], mix), s.filter_words);
  if ((dzo_load_shared(s.filter + at.word) & at.bits) != at.bits)
    atomicOr(s.filter + at.word, at.bits);
}

/* ---- Finds ------------------------------------------------------------------------------------
 */

static __device__ __forceinline__ bool goes_first(const table_sift &s, u32 code) {
  return code == DZO_TABLE_ERASE && !s.ordered;
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

template <typename W, int S, bool ORDERED>
static __global__ void __launch_bounds__(THREADS)
    sift_find(table_layout t, table_sift s, table_counters *counters) {
  u32 i = blockIdx.x * THREADS + threadIdx.x, code = DZO_TABLE_FIND;
  bool rest = false, found = false;
  if (i < s.count) {
    code = s.codes[i];
    rest = code != DZO_TABLE_FIND;
  }
  if (i < s.count && !rest) {
    W key = table_mixed(__ldcs((const W *)s.keys + i), t.mix), value = 0;
    if (ORDERED) {
      filter_place at = place_in_filter(key, s.filter_words);
      rest = (dzo_load_shared(s.filter + at.word) & at.bits) == at.bits;
    }
    if (!rest) {
      found = table_get<W, S>(t, key, &value);
      if (s.results != NULL)
        ((W *)s.results)[i] = found ? value : 0;
      if (s.answers != NULL)
        s.answers[i] = found ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
    }
  }
  count_rest(s, rest, code, found, counters);
}

/* ---- The rest ---------------------------------------------------------------------------------
 */

template <typename W> static __global__ void __launch_bounds__(THREADS) sift_gather(table_sift s) {
  __shared__ u32 s_first[WARPS], s_other[WARPS];
  u32 i = blockIdx.x * THREADS + threadIdx.x, warp = threadIdx.x / 32, code = 0;
  bool rest = i < s.count && (s.rest[i / 32] >> (i & 31) & 1) != 0;
  if (rest)
    code = s.codes[i];
  bool first = rest && goes_first(s, code);
  u32 votes = __ballot_sync(DZO_WARP_ALL, first);
  u32 others = __ballot_sync(DZO_WARP_ALL, rest && !first);
  if (dzo_lane() == 0) {
    s_first[warp] = (u32)__popc(votes);
    s_other[warp] = (u32)__popc(others);
  }
  __syncthreads();
  if (!rest)
    return;
  u32 to = s.places[(first ? 0 : s.blocks) + blockIdx.x] +
           (u32)__popc((first ? votes : others) & dzo_lanes_below());
  for (u32 w = 0; w < warp; w++)
    to += first ? s_first[w] : s_other[w];
  s.from[to] = i;
  s.rest_codes[to] = (uint8_t)code;
  ((W *)s.rest_keys)[to] = ((const W *)s.keys)[i];
  ((W *)s.rest_values)[to] = s.values != NULL ? ((const W *)s.values)[i] : 0;
}

template <typename W>
static __global__ void __launch_bounds__(THREADS) sift_deliver(table_sift s, u32 count) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= count)
    return;
  u32 to = s.from[i];
  if (s.answers != NULL)
    s.answers[to] = s.rest_answers[i];
  if (s.results != NULL && s.rest_codes[i] == DZO_TABLE_FIND)
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
    DZO_TRY(DZO_LAUNCH(unit, 0, sift_note<W>, s->blocks, THREADS, *s, t->mix));
    DZO_TRY(DZO_LAUNCH(unit, 0, (sift_find<W, S, true>), s->blocks, THREADS, *t, *s, counters));
  } else {
    DZO_TRY(DZO_LAUNCH(unit, 0, (sift_find<W, S, false>), s->blocks, THREADS, *t, *s, counters));
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
  return wide ? DZO_LAUNCH(unit, 0, sift_gather<u64>, s->blocks, THREADS, *s)
              : DZO_LAUNCH(unit, 0, sift_gather<u32>, s->blocks, THREADS, *s);
}

dzo_status table_sift_deliver(dzo_unit *unit, bool wide, const table_sift *s, uint64_t count) {
  u64 blocks = (count + THREADS - 1) / THREADS;
  return wide ? DZO_LAUNCH(unit, 0, sift_deliver<u64>, blocks, THREADS, *s, (u32)count)
              : DZO_LAUNCH(unit, 0, sift_deliver<u32>, blocks, THREADS, *s, (u32)count);
}
