/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* One look at one bucket or pair, for both widths, in global and in shared memory. */
#ifndef DZO_TABLE_GPU_WORD_CUH
#define DZO_TABLE_GPU_WORD_CUH

#include "device/cuda.h"
#include "table/gpu_layout.h"

typedef uint32_t u32;
typedef unsigned long long u64; /* the 64-bit type of CUDA's atomics */

/* Threads that a multiprocessor works on at a time; no kernel may ask for registers for more. */
enum {
#if !defined(__CUDA_ARCH__)
  TABLE_THREADS_MOST = 2048
#elif __CUDA_ARCH__ == 750
  TABLE_THREADS_MOST = 1024
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100
  TABLE_THREADS_MOST = 1536
#else
  TABLE_THREADS_MOST = 2048
#endif
};

/* What depends on the width W of a word. `slot` is a slot as one load takes it; `item` is what a
 * batch is made of when it is brought to regions: a mixed key, with or without a value. */
template <typename W> struct table_word;
template <> struct table_word<u32> {
  typedef u64 slot;
  enum : u32 { FREE = 0xffffffffu, EMPTY = 0xffffffffu, ERASED = 0xfffffffeu };
};
template <> struct table_word<u64> {
  typedef ulonglong2 slot;
  enum : u64 { FREE = ~0ull, EMPTY = ~0ull, ERASED = ~0ull - 1 };
};

template <typename W> struct table_pair { W value, key; };

__device__ __forceinline__ u32 table_slot_key(u64 s) { return (u32)(s >> 32); }
__device__ __forceinline__ u32 table_slot_value(u64 s) { return (u32)s; }
__device__ __forceinline__ u64 table_slot_key(ulonglong2 s) { return s.y; }
__device__ __forceinline__ u64 table_slot_value(ulonglong2 s) { return s.x; }
__device__ __forceinline__ u64 table_slot_of(u32 value, u32 key) { return (u64)key << 32 | value; }
__device__ __forceinline__ ulonglong2 table_slot_of(u64 value, u64 key) {
  return make_ulonglong2(value, key);
}

__device__ __forceinline__ u32 table_mixed(u32 key, u64 mix) { return table_mixed32(key, mix); }
__device__ __forceinline__ u64 table_mixed(u64 key, u64 mix) { return table_mixed64(key, mix); }
__device__ __forceinline__ u32 table_unmixed(u32 key, u64 mix) { return table_unmixed32(key, mix); }
__device__ __forceinline__ u64 table_unmixed(u64 key, u64 mix) { return table_unmixed64(key, mix); }
__device__ __forceinline__ table_place table_place_of(u32 mixed, u64 regions) {
  return table_place32(mixed, regions);
}
__device__ __forceinline__ table_place table_place_of(u64 mixed, u64 regions) {
  return table_place64(mixed, regions);
}
__device__ __forceinline__ u32 table_second_bucket(u32 mixed, u32 buckets) {
  return table_second_bucket32(mixed, buckets);
}
__device__ __forceinline__ u32 table_second_bucket(u64 mixed, u32 buckets) {
  return table_second_bucket64(mixed, buckets);
}

/* What a bucket of S slots holds for a key: a bit for each slot. */
typedef struct table_seen {
  u32 equal, free, empty;
} table_seen;

/* The slots of a bucket, by loads of 16 bytes. */
template <typename W, int S> struct table_bucket { typename table_word<W>::slot slot[S]; };
template <int S>
__device__ __forceinline__ void table_load(const u64 *bucket, table_bucket<u32, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i += 2) {
    ulonglong2 two = *(const ulonglong2 *)(bucket + i);
    out->slot[i] = two.x;
    out->slot[i + 1] = two.y;
  }
}
template <int S>
__device__ __forceinline__ void table_load(const ulonglong2 *bucket, table_bucket<u64, S> *out) {
#pragma unroll
  for (int i = 0; i < S; i++)
    out->slot[i] = bucket[i];
}

template <typename W, int S>
__device__ __forceinline__ table_seen table_look(const table_bucket<W, S> &b, W key) {
  table_seen seen = {0, 0, 0};
#pragma unroll
  for (int i = 0; i < S; i++) {
    W k = table_slot_key(b.slot[i]), v = table_slot_value(b.slot[i]);
    seen.equal |= (u32)(k == key) << i;
    seen.free |= (u32)(k == table_word<W>::FREE) << i;
    seen.empty |= (u32)(k == table_word<W>::FREE && v == table_word<W>::EMPTY) << i;
  }
  return seen;
}
template <typename W, int S>
__device__ __forceinline__ W table_value_at(const table_bucket<W, S> &b, u32 equal) {
  W value = 0;
#pragma unroll
  for (int i = 0; i < S; i++)
    if (equal >> i & 1)
      value = table_slot_value(b.slot[i]);
  return value;
}

/* The first place in the sorted keys [begin, end) that is not below `key`. */
template <typename W>
__device__ __forceinline__ u64 table_lower_bound(const W *keys, u64 begin, u64 end, W key) {
  while (begin < end) {
    u64 middle = begin + (end - begin) / 2;
    if (keys[middle] < key)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

#endif
