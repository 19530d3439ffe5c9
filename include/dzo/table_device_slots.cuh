/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* How dzo/table_device.cuh sees a table, and looks for a key in it. Not part of the interface: only
 * that header includes it. */
#ifndef DZO_TABLE_DEVICE_SLOTS_CUH
#define DZO_TABLE_DEVICE_SLOTS_CUH

#include <stdint.h>

#include "dzo/table.h"

typedef unsigned long long dzo_view_u64; /* of CUDA's atomics */

/* The table, as the view has it. A slot is two words, {value, key}; keys are mixed. A key has two
 * buckets; it is in the second only if the first has no EMPTY slot, and in the stash, an open
 * table, only if neither has. Here no key is ever moved, and no slot becomes EMPTY: so whoever sees
 * an EMPTY slot knows that the key is not farther on. */
struct dzo_view_layout {
  unsigned char *slots; /* the last one, behind all buckets, is for the key that says "free" */
  uint64_t regions;
  uint32_t buckets, bucket_slots; /* of a region; of a bucket */
  uint64_t mix;
  unsigned *locks;  /* a bit for each bucket, and one more */
  unsigned *claims; /* 64-bit words: a bit for each slot of the table, then of the stash */
  unsigned char *stash;
  uint32_t stash_slots;
};

static __host__ __device__ __forceinline__ dzo_view_layout
dzo_view_decode(const dzo_table_view &view) {
  dzo_view_layout t;
  t.slots = (unsigned char *)view.words[1];
  t.regions = view.words[2];
  t.buckets = (uint32_t)view.words[3];
  t.bucket_slots = (uint32_t)(view.words[3] >> 32);
  t.mix = view.words[4];
  t.locks = (unsigned *)view.words[5];
  t.claims = (unsigned *)view.words[6];
  t.stash = (unsigned char *)view.words[7];
  t.stash_slots = (uint32_t)view.words[8];
  return t;
}

enum {
  DZO_VIEW_PROBES = 128, /* slots of the stash that a key may be in */
  DZO_VIEW_QUAD = 4      /* slots that are read at once */
};

/* Accesses that race by design. All of them are relaxed, at the level of the GPU. */
#ifndef DZO_VIEW_MEMORY
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4)
#define DZO_VIEW_B128 1
#endif
/* Two words, each at once. */
static __device__ __forceinline__ ulonglong2 dzo_view_load_two(const void *p) {
  ulonglong2 x;
  asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(x.x), "=l"(x.y) : "l"(p) : "memory");
  return x;
}
/* 16 bytes at once. */
static __device__ __forceinline__ ulonglong2 dzo_view_load_slot(const void *p) {
#ifdef DZO_VIEW_B128
  ulonglong2 x;
  asm volatile("{ .reg .b128 t; ld.relaxed.gpu.b128 t, [%2]; mov.b128 {%0, %1}, t; }"
               : "=l"(x.x), "=l"(x.y)
               : "l"(p)
               : "memory");
  return x;
#else
  return dzo_view_load_two(p);
#endif
}
static __device__ __forceinline__ void dzo_view_store_slot(void *p, ulonglong2 x) {
#ifdef DZO_VIEW_B128
  asm volatile("{ .reg .b128 t; mov.b128 t, {%1, %2}; st.relaxed.gpu.b128 [%0], t; }"
               :
               : "l"(p), "l"(x.x), "l"(x.y)
               : "memory");
#else
  asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" : : "l"(p), "l"(x.x), "l"(x.y) : "memory");
#endif
}
static __device__ __forceinline__ dzo_view_u64 dzo_view_load_word(const void *p) {
  dzo_view_u64 x;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
  return x;
}
#endif

/* ---- Words of either width --------------------------------------------------------------------
 */

template <int BYTES> struct dzo_view_width;
template <> struct dzo_view_width<4> {
  typedef uint32_t word;
  enum : uint32_t { FREE = 0xffffffffu, EMPTY = 0xffffffffu, ERASED = 0xfffffffeu };
  enum { SLOT = 8 };
};
template <> struct dzo_view_width<8> {
  typedef dzo_view_u64 word;
  enum : dzo_view_u64 { FREE = ~0ull, EMPTY = ~0ull, ERASED = ~0ull - 1 };
  enum { SLOT = 16 };
};

static __device__ __forceinline__ uint32_t dzo_view_mixed(uint32_t key, uint64_t mix) {
  uint32_t x = key ^ (uint32_t)mix;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x ^= (uint32_t)(mix >> 32);
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}
static __device__ __forceinline__ dzo_view_u64 dzo_view_mixed(dzo_view_u64 key, uint64_t mix) {
  dzo_view_u64 x = key ^ mix;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/* Where a mixed key may be. */
struct dzo_view_place {
  uint64_t first, second; /* its buckets */
  uint32_t stash;         /* first slot of the stash */
};
static __device__ __forceinline__ dzo_view_place dzo_view_find_place(const dzo_view_layout &t,
                                                                     uint32_t mixed) {
  uint64_t x = mixed * t.regions, region = (x >> 32) * t.buckets;
  uint32_t y = mixed * 0x9e3779b1u;
  dzo_view_place p;
  y = (y ^ (y >> 15)) * 0x85ebca6bu;
  p.first = region + (uint32_t)((x & 0xffffffffu) * t.buckets >> 32);
  p.second = region + (uint32_t)((uint64_t)y * t.buckets >> 32);
  p.stash = (uint32_t)((uint64_t)(mixed * 0xc2b2ae35u) * t.stash_slots >> 32);
  return p;
}
static __device__ __forceinline__ dzo_view_place dzo_view_find_place(const dzo_view_layout &t,
                                                                     dzo_view_u64 mixed) {
  uint64_t x = (mixed >> 32) * t.regions + ((mixed & 0xffffffffu) * t.regions >> 32);
  uint64_t region = (x >> 32) * t.buckets;
  dzo_view_place p;
  p.first = region + (uint32_t)((x & 0xffffffffu) * t.buckets >> 32);
  p.second = region + (uint32_t)((mixed & 0xffffffffu) * t.buckets >> 32);
  p.stash = (uint32_t)((uint64_t)((uint32_t)mixed * 0xc2b2ae35u) * t.stash_slots >> 32);
  return p;
}

/* ---- Looking ----------------------------------------------------------------------------------
 */

/* What a look at some slots showed of a key. */
template <typename Word> struct dzo_view_seen {
  int at;     /* its slot among them, or -1 */
  Word value; /* if it is there */
  int empty;  /* the first slot that is EMPTY, or -1 */
  int erased; /* the first that is free otherwise, or -1 */
};

template <typename Word>
static __device__ __forceinline__ void dzo_view_see(dzo_view_seen<Word> *seen, int i, Word key,
                                                    Word there, Word value) {
  typedef dzo_view_width<sizeof(Word)> width;
  if (there == key) {
    seen->at = i;
    seen->value = value;
  } else if (there == (Word)width::FREE) {
    if (value == (Word)width::EMPTY)
      seen->empty = seen->empty < 0 ? i : seen->empty;
    else
      seen->erased = seen->erased < 0 ? i : seen->erased;
  }
}

static __device__ __forceinline__ void dzo_view_look(const unsigned char *bucket, uint32_t slots,
                                                     uint32_t key, dzo_view_seen<uint32_t> *seen) {
  *seen = {-1, 0, -1, -1};
  for (int i = 0; i < (int)slots && seen->at < 0; i += DZO_VIEW_QUAD) {
    ulonglong2 a = dzo_view_load_two(bucket + 8 * i), b = dzo_view_load_two(bucket + 8 * i + 16);
    dzo_view_see(seen, i, key, (uint32_t)(a.x >> 32), (uint32_t)a.x);
    dzo_view_see(seen, i + 1, key, (uint32_t)(a.y >> 32), (uint32_t)a.y);
    dzo_view_see(seen, i + 2, key, (uint32_t)(b.x >> 32), (uint32_t)b.x);
    dzo_view_see(seen, i + 3, key, (uint32_t)(b.y >> 32), (uint32_t)b.y);
  }
}
static __device__ __forceinline__ void dzo_view_look(const unsigned char *bucket, uint32_t slots,
                                                     dzo_view_u64 key,
                                                     dzo_view_seen<dzo_view_u64> *seen) {
  *seen = {-1, 0, -1, -1};
  for (int i = 0; i < (int)slots && seen->at < 0; i += DZO_VIEW_QUAD) {
    ulonglong2 slot[DZO_VIEW_QUAD];
#pragma unroll
    for (int j = 0; j < DZO_VIEW_QUAD; j++)
      slot[j] = dzo_view_load_slot(bucket + 16 * (i + j));
#pragma unroll
    for (int j = 0; j < DZO_VIEW_QUAD; j++)
      dzo_view_see(seen, i + j, key, slot[j].y, slot[j].x);
  }
}

static __device__ __forceinline__ ulonglong2 dzo_view_read(const unsigned char *slot, uint32_t) {
  dzo_view_u64 x = dzo_view_load_word(slot);
  return make_ulonglong2((uint32_t)x, x >> 32);
}
static __device__ __forceinline__ ulonglong2 dzo_view_read(const unsigned char *slot,
                                                           dzo_view_u64) {
  return dzo_view_load_slot(slot);
}

/* The slot of the stash after this one. */
static __device__ __forceinline__ uint32_t dzo_view_after(const dzo_view_layout &t, uint32_t i) {
  return i + 1 == t.stash_slots ? 0 : i + 1;
}

/* The same in the stash; numbers are those of its slots. */
template <typename Word>
static __device__ __forceinline__ void dzo_view_look_aside(const dzo_view_layout &t, uint32_t from,
                                                           Word key, dzo_view_seen<Word> *seen) {
  *seen = {-1, 0, -1, -1};
  uint32_t i = from;
  for (int n = 0; n < DZO_VIEW_PROBES && seen->at < 0 && seen->empty < 0; n++) {
    ulonglong2 slot =
        dzo_view_read(t.stash + (uint64_t)i * dzo_view_width<sizeof(Word)>::SLOT, key);
    dzo_view_see(seen, (int)i, key, (Word)slot.y, (Word)slot.x);
    i = dzo_view_after(t, i);
  }
}

/* A slot of the key, and what it held when it was seen; NULL: the key is nowhere. `open` is the
 * first EMPTY slot of the first bucket, which ended the search; NULL: it has none. */
template <typename Word> struct dzo_view_found {
  unsigned char *slot;
  Word value;
  unsigned char *open;
};
template <typename Word>
static __device__ __forceinline__ dzo_view_found<Word>
dzo_view_search(const dzo_view_layout &t, const dzo_view_place &p, Word key) {
  enum : uint32_t { SLOT = dzo_view_width<sizeof(Word)>::SLOT };
  unsigned char *first = t.slots + p.first * t.bucket_slots * SLOT;
  unsigned char *second = t.slots + p.second * t.bucket_slots * SLOT;
  dzo_view_found<Word> found = {NULL, 0, NULL};
  dzo_view_seen<Word> seen;
  dzo_view_look(first, t.bucket_slots, key, &seen);
  if (seen.at >= 0)
    found.slot = first + (uint32_t)seen.at * SLOT;
  else if (seen.empty >= 0)
    found.open = first + (uint32_t)seen.empty * SLOT;
  found.value = seen.value;
  if (found.slot != NULL || found.open != NULL)
    return found;
  dzo_view_look(second, t.bucket_slots, key, &seen);
  found.value = seen.value;
  if (seen.at >= 0)
    found.slot = second + (uint32_t)seen.at * SLOT;
  if (seen.at >= 0 || seen.empty >= 0)
    return found;
  dzo_view_look_aside(t, p.stash, key, &seen);
  found.value = seen.value;
  if (seen.at >= 0)
    found.slot = t.stash + (uint64_t)(uint32_t)seen.at * SLOT;
  return found;
}

#endif
