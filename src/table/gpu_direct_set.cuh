/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The keys of the queries that were noted: an open table in the workspace, of which only as much is
 * cleared and used as there are noted queries. */
#ifndef DZO_TABLE_GPU_DIRECT_SET_CUH
#define DZO_TABLE_GPU_DIRECT_SET_CUH

#include "dzo/table.h"
#include "table/gpu_direct.cuh"

enum : u32 { TABLE_SET_NONE = 0xffffffffu };
enum { TABLE_SET_LEAST = 32 };

static __host__ __device__ __forceinline__ u64 table_set_round(u64 bytes) {
  return (bytes + 255) / 256 * 256;
}
static __host__ __device__ __forceinline__ u32 table_set_room(u64 keys) {
  return (u32)(keys + keys / 2 + TABLE_SET_LEAST);
}
/* Of the locks of all buckets, which only pairs of 64-bit words need. */
static __host__ __device__ __forceinline__ u64 table_lock_words(const table_layout *t) {
  return (t->regions * t->buckets + 31) / 32;
}
static __host__ __device__ __forceinline__ bool table_set_has_sums(int operation) {
  return operation != DZO_TABLE_INSERT && operation != DZO_TABLE_ASSIGN &&
         operation != DZO_TABLE_MIXED;
}

/* The arrays, the sums last; how many bytes they take. */
static __host__ __device__ __forceinline__ u64 table_set_place(bool wide, bool sums, u32 room,
                                                               table_direct_set *s, char *memory) {
  u64 entries = (u64)room + 1, used = 0;
  s->room = room;
  s->keys = memory;
  used += table_set_round(entries * 8);
  s->first = (u32 *)(memory + used);
  used += wide ? table_set_round(entries * 4) : 0;
  s->claimer = (u32 *)(memory + used);
  used += table_set_round(entries * 4);
  s->last = (u32 *)(memory + used);
  used += table_set_round(entries * 4);
  s->sums = sums ? memory + used : NULL;
  return sums ? used + table_set_round(entries * (wide ? 8 : 4)) : used;
}

static __device__ __forceinline__ u32 table_set_start(const table_direct_set &s, u64 key) {
  u32 x = (u32)(key >> 32) * 0x85ebca6bu ^ (u32)key ^ s.salt;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return __umulhi(x ^ x >> 16, s.room);
}

/* What an entry is found by: the key, for 32-bit words with the first position behind it, so that
 * one compare-and-swap makes an entry. */
template <typename W> struct table_set_word;
template <> struct table_set_word<u32> {
  static __device__ __forceinline__ u64 of(u32 key, u32 i) { return (u64)key << 32 | i; }
  static __device__ __forceinline__ u32 key_of(u64 word) { return (u32)(word >> 32); }
};
template <> struct table_set_word<u64> {
  static __device__ __forceinline__ u64 of(u64 key, u32) { return key; }
  static __device__ __forceinline__ u64 key_of(u64 word) { return word; }
};

static __device__ __forceinline__ u32 table_set_first(const table_direct_set &s, u32 entry, u32) {
  return (u32)dzo_load_shared((const u64 *)s.keys + entry);
}
static __device__ __forceinline__ u32 table_set_first(const table_direct_set &s, u32 entry, u64) {
  return dzo_load_shared(&s.first[entry]);
}

/* The entry of a key that is in the set, or TABLE_SET_NONE. */
template <typename W> static __device__ u32 table_set_find(const table_direct_set &s, W key) {
  if (key == table_word<W>::FREE)
    return table_set_first(s, s.room, key) != TABLE_SET_NONE ? s.room : (u32)TABLE_SET_NONE;
  for (u32 i = table_set_start(s, key);; i = i + 1 == s.room ? 0 : i + 1) {
    W there = table_set_word<W>::key_of(dzo_load_shared((const u64 *)s.keys + i));
    if (there == key)
      return i;
    if (there == table_word<W>::FREE)
      return TABLE_SET_NONE;
  }
}

/* Query i is one of the entry's. */
static __device__ __forceinline__ void table_set_lower(const table_direct &d, u32 entry, u32 key,
                                                       u32 i) {
  atomicMin((u64 *)d.set.keys + entry, table_set_word<u32>::of(key, i));
}
static __device__ __forceinline__ void table_set_lower(const table_direct &d, u32 entry, u64,
                                                       u32 i) {
  atomicMin(&d.set.first[entry], i);
}
template <typename W>
static __device__ __forceinline__ void table_set_note(const table_direct &d, u32 entry, W key,
                                                      u32 i) {
  table_set_lower(d, entry, key, i);
  if (d.operation == DZO_TABLE_ASSIGN)
    atomicMin(&d.set.last[entry], ~i);
}

/* The same, making the entry of a key that has none. */
template <typename W> static __device__ u32 table_set_make(const table_direct &d, W key, u32 i) {
  const table_direct_set &s = d.set;
  u64 *words = (u64 *)s.keys, mine = table_set_word<W>::of(key, i);
  u32 at = key == table_word<W>::FREE ? s.room : table_set_start(s, key);
  for (; at != s.room; at = at + 1 == s.room ? 0 : at + 1) {
    u64 there = dzo_load_shared(&words[at]);
    if (there == ~0ull)
      there = atomicCAS(&words[at], ~0ull, mine);
    if (there == ~0ull && sizeof(W) == 4 && d.operation != DZO_TABLE_ASSIGN)
      return at;
    if (there == ~0ull || table_set_word<W>::key_of(there) == key)
      break;
  }
  table_set_note<W>(d, at, key, i);
  return at;
}

#endif
