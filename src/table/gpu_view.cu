/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
#include "table/gpu_view.h"

#include "device/cuda.h"
#include "dzo/table_device.cuh"

enum {
  THREADS = 256,
  LEAST_STASH = 1024,
  STASH_SHARE = 10, /* of the slots, one in so many: at loads that a table is made for, about half
                     * of them would be used by keys that find their buckets full */
  TRIES = 6
};

/* Words that the kernels below count in; they stand behind the stash. */
typedef struct stash_counts {
  unsigned long long pairs, refused;
} stash_counts;

static uint64_t slots_of(const table_layout *t) {
  return t->regions * t->buckets * t->bucket_slots;
}

template <typename Word>
static __device__ __forceinline__ ulonglong2 pair_at(const void *slots, uint64_t i) {
  return dzo_view_read((const unsigned char *)slots + i * 2 * sizeof(Word), (Word)0);
}

/* The overflow into the stash, of which nobody else knows yet. Each key once. */
static __device__ __forceinline__ bool stash_take(unsigned char *slot, unsigned *, uint32_t,
                                                  uint32_t key, uint32_t value) {
  dzo_view_u64 expected = DZO_VIEW_EMPTY32;
  return dzo_view_swap(slot, &expected, dzo_view_pack(key, value));
}
static __device__ __forceinline__ bool stash_take(unsigned char *slot, unsigned *claims, uint32_t i,
                                                  dzo_view_u64 key, dzo_view_u64 value) {
  /* The bit stays: a slot is taken but once here. */
  unsigned bit = 1u << (i & 31);
  if ((atomicOr(&claims[i / 32], bit) & bit) != 0)
    return false;
  dzo_view_store_slot(slot, make_ulonglong2(value, key));
  return true;
}

template <typename Word>
static __global__ void stash_overflow(table_layout t, dzo_table_view view, unsigned *claims,
                                      stash_counts *counts) {
  dzo_view_layout v = dzo_view_decode(view);
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < t.over_count;
       i += (uint64_t)gridDim.x * blockDim.x) {
    if (t.over_gone[i] != 0)
      continue;
    Word key = ((const Word *)t.over_keys)[i], value = ((const Word *)t.over_values)[i];
    uint32_t at = dzo_view_find_place(v, key).stash;
    bool done = false;
    for (int n = 0; n < DZO_VIEW_PROBES && !done; n++) {
      done = stash_take(v.stash + (uint64_t)at * 2 * sizeof(Word), claims, at, key, value);
      at = dzo_view_after(v, at);
    }
    if (!done)
      atomicAdd(&counts->refused, 1ull);
  }
}

/* slots NULL: only counted. */
template <typename Word>
static __global__ void stash_list(const void *stash, uint32_t slots, stash_counts *counts,
                                  Word *out) {
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < slots;
       i += (uint64_t)gridDim.x * blockDim.x) {
    ulonglong2 pair = pair_at<Word>(stash, i);
    if ((Word)pair.y == (Word) ~(Word)0)
      continue;
    unsigned long long to = atomicAdd(&counts->pairs, 1ull);
    if (out == NULL)
      continue;
    out[2 * to] = (Word)pair.x;
    out[2 * to + 1] = (Word)pair.y;
  }
}

/* ---- Host -------------------------------------------------------------------------------------
 */

static stash_counts *counts_of(const table_gpu_view *view, bool wide) {
  return (stash_counts *)((char *)view->stash + (uint64_t)view->stash_slots * (wide ? 16 : 8));
}

static dzo_status read_counts(dzo_unit *unit, const table_gpu_view *view, bool wide,
                              stash_counts *counts) {
  DZO_TRY(dzo_unit_copy(unit, 0, counts, counts_of(view, wide), sizeof *counts));
  return dzo_unit_wait(unit, 0);
}

static dzo_status allocate(dzo_unit *unit, bool wide, const table_layout *t, table_gpu_view *view) {
  uint64_t buckets = t->regions * t->buckets, stash = view->stash_slots;
  uint64_t locks = (buckets + 1 + 31) / 32;
  /* Of a 32-bit table, only to bring in the overflow. */
  uint64_t claims = (wide ? slots_of(t) + stash + 31 : stash + 31) / 32;
  DZO_TRY(dzo_unit_allocate(unit, locks, 4, (void **)&view->locks));
  DZO_TRY(dzo_unit_allocate(unit, claims, 4, (void **)&view->claims));
  DZO_TRY(dzo_unit_allocate(unit, stash * (wide ? 16 : 8) + sizeof(stash_counts), 1, &view->stash));
  DZO_TRY(dzo_unit_fill(unit, 0, view->locks, 0, locks * 4));
  DZO_TRY(dzo_unit_fill(unit, 0, view->claims, 0, claims * 4));
  /* All ones: EMPTY. */
  DZO_TRY(dzo_unit_fill(unit, 0, view->stash, 0xff, stash * (wide ? 16 : 8)));
  return dzo_unit_fill(unit, 0, counts_of(view, wide), 0, sizeof(stash_counts));
}

static void describe(bool wide, const table_layout *t, const table_gpu_view *view,
                     dzo_table_view *out) {
  *out = {};
  out->words[0] = wide ? 8 : 4;
  out->words[1] = (uint64_t)t->slots;
  out->words[2] = t->regions;
  out->words[3] = (uint64_t)t->bucket_slots << 32 | t->buckets;
  out->words[4] = t->mix;
  out->words[5] = (uint64_t)view->locks;
  out->words[6] = (uint64_t)view->claims;
  out->words[7] = (uint64_t)view->stash;
  out->words[8] = view->stash_slots;
}

/* The claims of the stash are all 0 again in the end. */
static dzo_status bring_overflow(dzo_unit *unit, bool wide, const table_layout *t,
                                 const table_gpu_view *view, const dzo_table_view *words,
                                 uint64_t *refused) {
  stash_counts counts = {};
  unsigned blocks = (unsigned)unit->processors * 4;
  *refused = 0;
  if (t->over_count == 0)
    return DZO_OK;
  DZO_TRY(wide ? DZO_LAUNCH(unit, 0, stash_overflow<dzo_view_u64>, blocks, THREADS, *t, *words,
                            view->claims, counts_of(view, wide))
               : DZO_LAUNCH(unit, 0, stash_overflow<uint32_t>, blocks, THREADS, *t, *words,
                            view->claims, counts_of(view, wide)));
  DZO_TRY(dzo_unit_fill(unit, 0, view->claims, 0, (uint64_t)(view->stash_slots + 31) / 32 * 4));
  DZO_TRY(read_counts(unit, view, wide, &counts));
  *refused = counts.refused;
  return DZO_OK;
}

extern "C" dzo_status table_gpu_view_open(dzo_unit *unit, bool wide, const table_layout *layout,
                                          table_gpu_view *view, dzo_table_view *out) {
  uint64_t wanted = slots_of(layout) / STASH_SHARE + LEAST_STASH + 2 * layout->over_count;
  for (int i = 0; i < TRIES; i++, wanted *= 2) {
    uint64_t refused = 0;
    *view = {};
    view->stash_slots = wanted < INT32_MAX ? (uint32_t)wanted : INT32_MAX;
    dzo_status status = allocate(unit, wide, layout, view);
    describe(wide, layout, view, out);
    if (status == DZO_OK)
      status = bring_overflow(unit, wide, layout, view, out, &refused);
    if (status == DZO_OK)
      status = dzo_unit_wait(unit, 0);
    if (status == DZO_OK && refused == 0)
      return DZO_OK;
    table_gpu_view_close(unit, view);
    DZO_TRY(status);
  }
  return dzo_fail(unit->context, DZO_E_LIMIT,
                  "table: too many keys outside their buckets for a kernel to use it");
}

static dzo_status list(dzo_unit *unit, bool wide, const table_gpu_view *view, void *slots) {
  unsigned blocks = (unsigned)unit->processors * 4;
  DZO_TRY(dzo_unit_fill(unit, 0, counts_of(view, wide), 0, sizeof(stash_counts)));
  return wide ? DZO_LAUNCH(unit, 0, stash_list<dzo_view_u64>, blocks, THREADS, view->stash,
                           view->stash_slots, counts_of(view, wide), (dzo_view_u64 *)slots)
              : DZO_LAUNCH(unit, 0, stash_list<uint32_t>, blocks, THREADS, view->stash,
                           view->stash_slots, counts_of(view, wide), (uint32_t *)slots);
}

extern "C" dzo_status table_gpu_view_count(dzo_unit *unit, bool wide, const table_gpu_view *view,
                                           uint64_t *count) {
  stash_counts counts = {};
  *count = 0;
  DZO_TRY(list(unit, wide, view, NULL));
  DZO_TRY(read_counts(unit, view, wide, &counts));
  *count = counts.pairs;
  return DZO_OK;
}

extern "C" dzo_status table_gpu_view_take(dzo_unit *unit, bool wide, const table_gpu_view *view,
                                          void *slots) {
  return list(unit, wide, view, slots);
}

extern "C" void table_gpu_view_close(dzo_unit *unit, table_gpu_view *view) {
  dzo_unit_release(unit, view->locks);
  dzo_unit_release(unit, view->claims);
  dzo_unit_release(unit, view->stash);
  *view = {};
}
