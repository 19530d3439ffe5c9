/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A table on the GPU from a kernel of one's own. For CUDA sources; needs no library at run time
 * beyond the view that dzo_table_view_begin() gives, passed to the kernel by value:
 *
 *     __global__ void visit(dzo_table_view view, const uint32_t *keys, uint32_t *counts, int n) {
 *       int i = blockIdx.x * blockDim.x + threadIdx.x;
 *       if (i < n)
 *         dzo_table_view_add(view, keys[i], 1u, &counts[i]);
 *     }
 *
 * Any number of threads of any number of kernels may do all of this at once. Operations on one key
 * take effect one after another, each at a moment between its call and its return. A look-up never
 * waits, and neither does anything that changes or erases a key of 32 bits; what stores a new key
 * may wait for others that store, and so do all writers of 64-bit keys, for as long as these take.
 * No order is promised between operations on different keys by different threads, unless the
 * program orders them by fences. The full story: docs/table.md.
 *
 * Keys and values are unsigned integers of 4 bytes in a table of 32-bit keys and values, of 8 in
 * one of 64; nothing else works. The table does not grow: a new key that finds no room is REFUSED.
 * Needs CUDA 11 and compute capability 7.0. */
#ifndef DZO_TABLE_DEVICE_CUH
#define DZO_TABLE_DEVICE_CUH

#include <stdint.h>

#include "dzo/table.h"
#include "dzo/table_device_slots.cuh"

/* ---- What follows is not part of the interface, up to the functions at the end ----------------
 */

/* ---- Locks ------------------------------------------------------------------------------------
 */

/* A bit of an array. Whoever takes it sees what was done by those who had it before. */
static __device__ __forceinline__ bool dzo_view_try(unsigned *bits, uint64_t i) {
  unsigned bit = 1u << (i & 31);
  bool taken = (atomicOr(&bits[i / 32], bit) & bit) == 0;
  if (taken)
    __threadfence();
  return taken;
}
static __device__ __forceinline__ void dzo_view_release(unsigned *bits, uint64_t i) {
  __threadfence();
  atomicAnd(&bits[i / 32], ~(1u << (i & 31)));
}

/* What is to be done with a key. */
enum dzo_view_action {
  DZO_VIEW_FIND,
  DZO_VIEW_INSERT,
  DZO_VIEW_ASSIGN,
  DZO_VIEW_ADD,
  DZO_VIEW_ERASE
};
static __device__ __forceinline__ bool dzo_view_stores(dzo_view_action action) {
  return action == DZO_VIEW_INSERT || action == DZO_VIEW_ASSIGN || action == DZO_VIEW_ADD;
}

/* ---- 32 bits: a slot is one word, and every change of it one compare-and-swap -----------------
 */

static __device__ __forceinline__ dzo_view_u64 dzo_view_pack(uint32_t key, uint32_t value) {
  return (dzo_view_u64)key << 32 | value;
}
static __device__ __forceinline__ bool dzo_view_swap(unsigned char *slot, dzo_view_u64 *expected,
                                                     dzo_view_u64 word) {
  dzo_view_u64 found = atomicCAS((dzo_view_u64 *)slot, *expected, word);
  bool done = found == *expected;
  *expected = found;
  return done;
}
#define DZO_VIEW_EMPTY32 (~0ull)
#define DZO_VIEW_ERASED32 (~0ull - 1)

/* Do it to the key in this slot. False: it is there no more. */
static __device__ __forceinline__ bool dzo_view_change(dzo_view_action action, unsigned char *slot,
                                                       uint32_t key, uint32_t *seen,
                                                       uint32_t value) {
  if (action == DZO_VIEW_FIND || action == DZO_VIEW_INSERT)
    return true;
  dzo_view_u64 word = dzo_view_pack(key, *seen);
  while ((uint32_t)(word >> 32) == key) {
    *seen = (uint32_t)word;
    dzo_view_u64 next = action == DZO_VIEW_ERASE    ? DZO_VIEW_ERASED32
                        : action == DZO_VIEW_ASSIGN ? dzo_view_pack(key, value)
                                                    : dzo_view_pack(key, *seen + value);
    if (dzo_view_swap(slot, &word, next))
      return true;
  }
  return false;
}

enum dzo_view_outcome { DZO_VIEW_DONE, DZO_VIEW_AGAIN, DZO_VIEW_FULL };

/* Take one of the free slots of a bucket that were seen. */
static __device__ __forceinline__ dzo_view_outcome
dzo_view_take(unsigned char *base, const dzo_view_seen<uint32_t> &seen, dzo_view_u64 word) {
  int at = seen.erased >= 0 ? seen.erased : seen.empty;
  dzo_view_u64 expected = seen.erased >= 0 ? DZO_VIEW_ERASED32 : DZO_VIEW_EMPTY32;
  if (at < 0)
    return DZO_VIEW_FULL;
  return dzo_view_swap(base + (uint64_t)(uint32_t)at * 8, &expected, word) ? DZO_VIEW_DONE
                                                                           : DZO_VIEW_AGAIN;
}

/* Store a key that is nowhere and whose first bucket has no EMPTY slot, with the bucket's lock
 * held: so nobody else stores the same key. AGAIN: it was there, or somebody else took the slot. */
static __device__ __forceinline__ dzo_view_outcome dzo_view_store(const dzo_view_layout &t,
                                                                  const dzo_view_place &p,
                                                                  uint32_t key, uint32_t value) {
  unsigned char *first = t.slots + p.first * t.bucket_slots * 8;
  unsigned char *second = t.slots + p.second * t.bucket_slots * 8;
  dzo_view_seen<uint32_t> one, two, aside = {-1, 0, -1, -1};
  dzo_view_look(first, t.bucket_slots, key, &one);
  dzo_view_look(second, t.bucket_slots, key, &two);
  if (two.empty < 0)
    dzo_view_look_aside(t, p.stash, key, &aside);
  if (one.at >= 0 || two.at >= 0 || aside.at >= 0)
    return DZO_VIEW_AGAIN;
  dzo_view_u64 word = dzo_view_pack(key, value);
  dzo_view_outcome outcome = dzo_view_take(first, one, word);
  if (outcome == DZO_VIEW_FULL)
    outcome = dzo_view_take(second, two, word);
  return outcome == DZO_VIEW_FULL ? dzo_view_take(t.stash, aside, word) : outcome;
}

/* The key whose mixed form says "free": alone in the slot behind all others, as key 0. */
static __device__ __forceinline__ dzo_table_answer dzo_view_lone(const dzo_view_layout &t,
                                                                 dzo_view_action action,
                                                                 uint32_t value, uint32_t *seen) {
  unsigned char *slot = t.slots + t.regions * t.buckets * t.bucket_slots * 8;
  for (;;) {
    dzo_view_u64 word = dzo_view_load_word(slot);
    *seen = (uint32_t)word;
    if (word >> 32 == 0) {
      if (dzo_view_change(action, slot, 0, seen, value))
        return DZO_TABLE_FOUND;
      continue;
    }
    *seen = value;
    if (!dzo_view_stores(action))
      return DZO_TABLE_ABSENT;
    if (dzo_view_swap(slot, &word, dzo_view_pack(0, value)))
      return DZO_TABLE_INSERTED;
  }
}

static __device__ __forceinline__ dzo_table_answer dzo_view_run(const dzo_view_layout &t,
                                                                dzo_view_action action,
                                                                uint32_t key, uint32_t value,
                                                                uint32_t *seen) {
  key = dzo_view_mixed(key, t.mix);
  if (key == dzo_view_width<4>::FREE)
    return dzo_view_lone(t, action, value, seen);
  dzo_view_place p = dzo_view_find_place(t, key);
  for (;;) {
    dzo_view_found<uint32_t> found = dzo_view_search(t, p, key);
    *seen = found.slot != NULL ? found.value : value;
    if (found.slot != NULL) {
      if (dzo_view_change(action, found.slot, key, seen, value))
        return DZO_TABLE_FOUND;
      continue;
    }
    if (!dzo_view_stores(action))
      return DZO_TABLE_ABSENT;
    /* While the first bucket has an EMPTY slot, new keys take the first such slot and no other: so
     * two threads with the same key meet there, and need no lock. */
    dzo_view_u64 empty = DZO_VIEW_EMPTY32;
    if (found.open != NULL) {
      if (dzo_view_swap(found.open, &empty, dzo_view_pack(key, value)))
        return DZO_TABLE_INSERTED;
      continue;
    }
    if (!dzo_view_try(t.locks, p.first)) {
      __nanosleep(64);
      continue;
    }
    dzo_view_outcome outcome = dzo_view_store(t, p, key, value);
    dzo_view_release(t.locks, p.first);
    if (outcome != DZO_VIEW_AGAIN)
      return outcome == DZO_VIEW_DONE ? DZO_TABLE_INSERTED : DZO_TABLE_REFUSED;
  }
}

/* ---- 64 bits: a slot is read and written at once; all who write a key hold the lock of its first
 * bucket ------------------------------------------------------------------------------------------
 */

/* Do it to the key in this slot, of whose value only the holder of the lock disposes. */
static __device__ __forceinline__ void dzo_view_change(dzo_view_action action, unsigned char *slot,
                                                       dzo_view_u64 key, dzo_view_u64 seen,
                                                       dzo_view_u64 value) {
  typedef dzo_view_width<8> width;
  if (action == DZO_VIEW_ERASE)
    dzo_view_store_slot(slot, make_ulonglong2(width::ERASED, width::FREE));
  else if (action == DZO_VIEW_ASSIGN)
    dzo_view_store_slot(slot, make_ulonglong2(value, key));
  else if (action == DZO_VIEW_ADD)
    dzo_view_store_slot(slot, make_ulonglong2(seen + value, key));
}

/* Take a free slot: those who want the same one agree by its bit. */
static __device__ __forceinline__ dzo_view_outcome dzo_view_take(const dzo_view_layout &t,
                                                                 unsigned char *slot,
                                                                 uint64_t claim, dzo_view_u64 key,
                                                                 dzo_view_u64 value) {
  if (!dzo_view_try(t.claims, claim))
    return DZO_VIEW_AGAIN;
  bool free = dzo_view_load_slot(slot).y == (dzo_view_u64)dzo_view_width<8>::FREE;
  if (free)
    dzo_view_store_slot(slot, make_ulonglong2(value, key));
  dzo_view_release(t.claims, claim);
  return free ? DZO_VIEW_DONE : DZO_VIEW_AGAIN;
}

static __device__ __forceinline__ dzo_view_outcome
dzo_view_take_seen(const dzo_view_layout &t, unsigned char *base, uint64_t claims,
                   const dzo_view_seen<dzo_view_u64> &seen, dzo_view_u64 key, dzo_view_u64 value) {
  int at = seen.erased >= 0 ? seen.erased : seen.empty;
  if (at < 0)
    return DZO_VIEW_FULL;
  return dzo_view_take(t, base + (uint64_t)(uint32_t)at * 16, claims + (uint32_t)at, key, value);
}

/* Store a key that is nowhere, with the lock held. */
static __device__ __forceinline__ dzo_view_outcome dzo_view_store(const dzo_view_layout &t,
                                                                  const dzo_view_place &p,
                                                                  dzo_view_u64 key,
                                                                  dzo_view_u64 value) {
  uint64_t first = p.first * t.bucket_slots, second = p.second * t.bucket_slots;
  dzo_view_seen<dzo_view_u64> seen;
  dzo_view_look(t.slots + first * 16, t.bucket_slots, key, &seen);
  dzo_view_outcome outcome = dzo_view_take_seen(t, t.slots + first * 16, first, seen, key, value);
  if (outcome != DZO_VIEW_FULL)
    return outcome;
  dzo_view_look(t.slots + second * 16, t.bucket_slots, key, &seen);
  outcome = dzo_view_take_seen(t, t.slots + second * 16, second, seen, key, value);
  if (outcome != DZO_VIEW_FULL)
    return outcome;
  dzo_view_look_aside(t, p.stash, key, &seen);
  return dzo_view_take_seen(t, t.stash, t.regions * t.buckets * t.bucket_slots, seen, key, value);
}

/* All that is done with the lock held. */
static __device__ __forceinline__ dzo_view_outcome dzo_view_run_locked(
    const dzo_view_layout &t, const dzo_view_place &p, dzo_view_action action, dzo_view_u64 key,
    dzo_view_u64 value, dzo_view_u64 *seen, dzo_table_answer *answer) {
  dzo_view_found<dzo_view_u64> found = dzo_view_search(t, p, key);
  *answer = DZO_TABLE_FOUND;
  *seen = found.slot != NULL ? found.value : value;
  if (found.slot != NULL) {
    dzo_view_change(action, found.slot, key, found.value, value);
    return DZO_VIEW_DONE;
  }
  *answer = DZO_TABLE_ABSENT;
  if (!dzo_view_stores(action))
    return DZO_VIEW_DONE;
  *answer = DZO_TABLE_INSERTED;
  return dzo_view_store(t, p, key, value);
}

static __device__ __forceinline__ dzo_table_answer dzo_view_look_lone(const dzo_view_layout &t,
                                                                      dzo_view_u64 value,
                                                                      dzo_view_u64 *seen) {
  ulonglong2 slot = dzo_view_load_slot(t.slots + t.regions * t.buckets * t.bucket_slots * 16);
  *seen = slot.y == 0 ? slot.x : value;
  return slot.y == 0 ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
}

static __device__ __forceinline__ dzo_table_answer dzo_view_lone_locked(const dzo_view_layout &t,
                                                                        dzo_view_action action,
                                                                        dzo_view_u64 value,
                                                                        dzo_view_u64 *seen) {
  unsigned char *slot = t.slots + t.regions * t.buckets * t.bucket_slots * 16;
  dzo_table_answer answer = dzo_view_look_lone(t, value, seen);
  if (answer == DZO_TABLE_FOUND)
    dzo_view_change(action, slot, 0, *seen, value);
  if (answer == DZO_TABLE_FOUND || !dzo_view_stores(action))
    return answer;
  dzo_view_store_slot(slot, make_ulonglong2(value, 0));
  return DZO_TABLE_INSERTED;
}

static __device__ __forceinline__ dzo_table_answer dzo_view_run(const dzo_view_layout &t,
                                                                dzo_view_action action,
                                                                dzo_view_u64 key,
                                                                dzo_view_u64 value,
                                                                dzo_view_u64 *seen) {
  key = dzo_view_mixed(key, t.mix);
  bool lone = key == (dzo_view_u64)dzo_view_width<8>::FREE;
  dzo_view_place p = dzo_view_find_place(t, key);
  uint64_t lock = lone ? t.regions * t.buckets : p.first;
  dzo_table_answer answer;
  if (action == DZO_VIEW_FIND) {
    if (lone)
      return dzo_view_look_lone(t, value, seen);
    dzo_view_found<dzo_view_u64> found = dzo_view_search(t, p, key);
    *seen = found.slot != NULL ? found.value : value;
    return found.slot != NULL ? DZO_TABLE_FOUND : DZO_TABLE_ABSENT;
  }
  for (;;) {
    if (!dzo_view_try(t.locks, lock)) {
      __nanosleep(64);
      continue;
    }
    dzo_view_outcome outcome = DZO_VIEW_DONE;
    if (lone)
      answer = dzo_view_lone_locked(t, action, value, seen);
    else
      outcome = dzo_view_run_locked(t, p, action, key, value, seen, &answer);
    dzo_view_release(t.locks, lock);
    if (outcome != DZO_VIEW_AGAIN)
      return outcome == DZO_VIEW_DONE ? answer : DZO_TABLE_REFUSED;
  }
}

/* ---- The interface ----------------------------------------------------------------------------
 */

/* Overloads for the integers of 4 and of 8 bytes: call them with words of the table's width. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_view_call(const dzo_table_view &view,
                                                                 dzo_view_action action, Word key,
                                                                 Word value, Word *out) {
  static_assert(sizeof(Word) == 4 || sizeof(Word) == 8, "keys and values have 4 or 8 bytes");
  typedef typename dzo_view_width<sizeof(Word)>::word word;
  word seen = 0;
  dzo_table_answer answer = dzo_view_stores(action) ? DZO_TABLE_REFUSED : DZO_TABLE_ABSENT;
  if (view.words[0] == sizeof(Word)) /* else the words are not the table's */
    answer = dzo_view_run(dzo_view_decode(view), action, (word)key, (word)value, &seen);
  if (out != NULL)
    *out = (Word)seen;
  return answer;
}

/* FOUND, and *value is the key's; or ABSENT, and *value is 0. Here and below NULL: not wanted. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_table_view_find(const dzo_table_view &view,
                                                                       Word key, Word *value) {
  return dzo_view_call(view, DZO_VIEW_FIND, key, (Word)0, value);
}

/* Those below set *seen to the value that the key had; where it had none, to the value that it has
 * now; and to the value given where it is REFUSED. */

/* Absent: stored, INSERTED; else left as it is, FOUND. REFUSED: absent, and there is no room. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_table_view_insert(const dzo_table_view &view,
                                                                         Word key, Word value,
                                                                         Word *seen) {
  return dzo_view_call(view, DZO_VIEW_INSERT, key, value, seen);
}

/* Absent: stored, INSERTED; else replaced, FOUND; or REFUSED. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_table_view_assign(const dzo_table_view &view,
                                                                         Word key, Word value,
                                                                         Word *seen) {
  return dzo_view_call(view, DZO_VIEW_ASSIGN, key, value, seen);
}

/* Absent: stored, INSERTED; else added to, FOUND; or REFUSED. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_table_view_add(const dzo_table_view &view,
                                                                      Word key, Word value,
                                                                      Word *seen) {
  return dzo_view_call(view, DZO_VIEW_ADD, key, value, seen);
}

/* Erased, FOUND; or ABSENT, and *seen is 0. */
template <typename Word>
static __device__ __forceinline__ dzo_table_answer dzo_table_view_erase(const dzo_table_view &view,
                                                                        Word key, Word *seen) {
  return dzo_view_call(view, DZO_VIEW_ERASE, key, (Word)0, seen);
}

#endif
